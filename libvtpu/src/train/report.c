// SPDX-License-Identifier: MIT
/*
 * report.c - where the time of a fit went.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "train/train.h"

static void note_model(struct vtpu_fit_report *report, bool bf16,
		       const struct vtpu_executable_info *info)
{
	*(bf16 ? &report->model_seconds_bf16 : &report->model_seconds_f32) = info->seconds;
	*(bf16 ? &report->hbm_bf16 : &report->hbm_f32) = info->hbm_params + info->hbm_states +
							 info->hbm_feeds + info->hbm_results +
							 info->hbm_temp;
	*(bf16 ? &report->vmem_bf16 : &report->vmem_f32) = info->vmem_bytes;
}

enum vtpu_status report_models(struct vtpu_model *model, struct vtpu_executable *executable,
			       uint32_t batch, struct vtpu_fit_report *report)
{
	struct vtpu_executable_info info = VTPU_INIT(info);
	struct vtpu_compile_options options =
		VTPU_INIT(options, .cores = model->cores,
			  .geometry = vtpu_device_geometry(model->device),
			  .cache_dir = model->options.cache_dir, .dump_dir = "");
	bool ran_bf16 = model->options.precision == VTPU_PRECISION_BF16;
	struct vtpu_executable *plan = NULL;
	struct vtpu_graph *graph = NULL;
	enum vtpu_status status;

	status = vtpu_executable_info(executable, &info);
	if (status)
		return status;
	report->model_seconds = info.seconds;
	report->macs = info.macs;
	note_model(report, ran_bf16, &info);
	options.precision = ran_bf16 ? VTPU_PRECISION_F32 : VTPU_PRECISION_BF16;
	status = model_graph(model, &model->options, VTPU_MODEL_TRAIN, batch, false, &graph);
	if (!status)
		status = vtpu_compile(graph, NULL, NULL, &options, &plan);
	if (!status)
		status = vtpu_executable_info(plan, &info);
	if (!status)
		note_model(report, !ran_bf16, &info);
	vtpu_executable_destroy(plan);
	vtpu_graph_destroy(graph);
	return status;
}

static void share(FILE *out, const char *what, double seconds, const struct vtpu_fit_report *r,
		  const char *note)
{
	fprintf(out, "  %-22s %5.1f %% %9.3f ms/step%s\n", what, 100 * seconds / r->seconds,
		seconds / (double)r->steps * 1e3, note);
}

static void print(FILE *out, const struct vtpu_fit_report *r)
{
	double rest = r->seconds - r->busy_seconds - r->input_seconds;

	fprintf(out,
		"%u epochs, %" PRIu64 " steps, %" PRIu64
		" samples in %.2f s: %.0f samples/s, %.2f ms/step\n",
		r->epochs, r->steps, r->samples, r->seconds, (double)r->samples / r->seconds,
		r->seconds / (double)r->steps * 1e3);
	share(out, "cores at work", r->busy_seconds, r, "");
	share(out, "waiting for input", r->input_seconds, r,
	      r->place == VTPU_LOADER_HBM ? " (batches are gathered in HBM)" :
					    " (batches come from the host)");
	share(out, "host between steps", rest > 0 ? rest : 0, r, "");
	fprintf(out, "  a step has %.2f G multiply-adds: %.1f G a second\n", (double)r->macs * 1e-9,
		(double)(r->macs * r->steps) / r->seconds * 1e-9);
	fprintf(out, "  besides: validation %.2f s, compiling %.3f s\n", r->validation_seconds,
		r->compile_seconds);
	fprintf(out, "  modelled on the chip:  %.3f ms/step in f32, %.3f ms/step in bf16\n",
		r->model_seconds_f32 * 1e3, r->model_seconds_bf16 * 1e3);
	fprintf(out,
		"  a step needs HBM:     %6.2f MB in f32, %6.2f MB in bf16\n"
		"    and of each VMEM:   %6.2f MB in f32, %6.2f MB in bf16\n",
		(double)r->hbm_f32 * 1e-6, (double)r->hbm_bf16 * 1e-6, (double)r->vmem_f32 * 1e-6,
		(double)r->vmem_bf16 * 1e-6);
}

enum vtpu_status vtpu_fit_report_text(const struct vtpu_fit_report *report, char **text)
{
	size_t bytes;
	FILE *out;

	if (!report || !text)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "vtpu_fit_report_text: NULL");
	out = open_memstream(text, &bytes);
	if (!out)
		return vtpu_fail_nomem("a report");
	if (report->steps && report->seconds > 0)
		print(out, report);
	else
		fprintf(out, "no step was done\n");
	if (fclose(out))
		return vtpu_fail_nomem("a report");
	return VTPU_OK;
}
