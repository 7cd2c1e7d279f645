// SPDX-License-Identifier: MIT
/*
 * fit.c - fitting: epochs, callbacks, validation, files on the way.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "device/device.h"
#include "train/train.h"

/** struct fit - one that goes on */
struct fit {
	struct vtpu_model *model;
	struct vtpu_fit_options options;
	struct vtpu_loader *loader, *validation;
	struct vtpu_executable *train, *evaluate;
	uint32_t batch, epochs; /* epochs: where the last one ends */
	uint64_t steps;		/* of an epoch */
	struct run run;
	struct snapshot snapshot;
	struct progress_writer writer;
	struct vtpu_fit_report report;
	struct vtpu_fit_progress progress;
	uint64_t epoch_ns;	 /* when it began */
	uint64_t checked, saved; /* steps at the last check and file */
	bool stop;
	bool wrong; /* replicas differed */
};

/* ---- Before the first step -------------------------------------------------------- */

static enum vtpu_status make_loader(struct fit *f, struct vtpu_data *data)
{
	struct vtpu_loader_options o = VTPU_INIT(o);
	enum vtpu_status status;
	struct vtpu_shape shape;
	enum vtpu_dtype type;

	if (f->options.loader) {
		status = vtpu_options(&o, f->options.loader, sizeof(o), "vtpu_loader_options");
		if (status)
			return status;
		o.struct_size = sizeof(o);
	}
	o.batch = f->batch;
	o.shuffle = !f->options.no_shuffle;
	o.seed = f->model->options.seed;
	status = vtpu_loader_create(f->model->device, data, &o, &f->loader);
	if (status)
		return status;
	shape = vtpu_loader_shape(f->loader, &type);
	shape.rank--;
	memmove(shape.dim, shape.dim + 1, shape.rank * sizeof(*shape.dim));
	f->steps = vtpu_loader_batches(f->loader);
	return model_check_data(f->model, data, type, &shape, true);
}

static enum vtpu_status make_programs(struct fit *f)
{
	struct model_program *program;
	enum vtpu_status status;
	uint64_t from = run_now();

	status = model_program(f->model, VTPU_MODEL_TRAIN, f->batch, &program);
	if (status)
		return status;
	f->train = program->executable;
	if (f->options.validation) {
		status = model_program(f->model, VTPU_MODEL_EVALUATE, f->batch, &program);
		if (status)
			return status;
		f->evaluate = program->executable;
	}
	f->report.compile_seconds = (double)(run_now() - from) * 1e-9;
	return report_models(f->model, f->train, f->batch, &f->report);
}

static enum vtpu_status make_validation(struct fit *f)
{
	struct vtpu_data_info info = VTPU_INIT(info);
	enum vtpu_status status;

	if (!f->options.validation)
		return VTPU_OK;
	status = vtpu_data_info(f->options.validation, &info);
	if (!status)
		status = model_check_data(f->model, f->options.validation, info.type, &info.shape,
					  true);
	if (!status)
		status = run_loader(f->model, f->options.validation, f->batch, &f->validation);
	return status ? vtpu_fail_in(status, "validation") : VTPU_OK;
}

static void set_place(struct fit *f)
{
	struct model_place *at = &f->model->place;

	if (f->options.resume && at->batch > f->steps)
		at->batch = f->steps;
	if (!f->options.resume) {
		/* An epoch that was broken off is over. */
		if (at->batch)
			at->epoch++;
		at->batch = at->count = 0;
		at->loss = at->correct = 0;
		at->fit_step = at->step;
		at->fit_epoch = at->epoch;
	}
	f->epochs = at->fit_epoch + f->options.epochs;
	f->checked = f->saved = at->step;
}

static enum vtpu_status prepare(struct fit *f, struct vtpu_data *data,
				const struct vtpu_fit_options *options)
{
	enum vtpu_status status =
		vtpu_options(&f->options, options, sizeof(f->options), "vtpu_fit_options");
	struct vtpu_fit_options *o = &f->options;

	if (status)
		return status;
	if (!data)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "vtpu_model_fit: NULL data");
	if (!o->epochs)
		o->epochs = 1;
	if (!options)
		o->schedule.rate = f->model->options.optimiser == VTPU_OPTIMISER_SGD ? 1e-2f :
										       1e-3f;
	status = schedule_check(&o->schedule);
	f->batch = o->batch;
	if (!status)
		status = model_batch(f->model, &f->batch);
	if (!status)
		status = make_loader(f, data);
	if (!status)
		status = make_validation(f);
	if (!status)
		status = make_programs(f);
	if (!status)
		status = run_open(&f->run, f->model, f->train, f->loader);
	return status;
}

static void let_go(struct fit *f)
{
	vtpu_loader_destroy(f->loader);
	vtpu_loader_destroy(f->validation);
	snapshot_free(&f->snapshot);
}

/* Would a batch of @batch samples fit? It is tried, and nothing is left of it. */
static bool fits(struct vtpu_model *model, struct vtpu_data *data,
		 const struct vtpu_fit_options *options, uint32_t batch)
{
	const struct model_program *before = model->program;
	struct vtpu_fit_options changed = *options;
	struct fit f = { .model = model };
	bool good;

	changed.batch = batch;
	good = !prepare(&f, data, &changed);
	if (good)
		run_close(&f.run);
	let_go(&f);
	model_drop_programs(model, before);
	return good;
}

/* The batch does not fit the device's memory: the largest that does is found by halving, and named. */
static enum vtpu_status too_large(struct fit *f, struct vtpu_data *data)
{
	uint32_t cores = f->model->cores, good = 0, bad = f->batch / cores;
	char sentence[1024];

	snprintf(sentence, sizeof(sentence), "%s", vtpu_last_error());
	let_go(f);
	f->loader = f->validation = NULL;
	while (bad - good > 1) {
		uint32_t middle = good + (bad - good) / 2;

		if (fits(f->model, data, &f->options, middle * cores))
			good = middle;
		else
			bad = middle;
	}
	if (good)
		return vtpu_fail(VTPU_ERROR_OUT_OF_DEVICE_MEMORY,
				 "a batch of %u samples does not fit (%s); the largest that does is %u",
				 f->batch, sentence, good * cores);
	return vtpu_fail(VTPU_ERROR_OUT_OF_DEVICE_MEMORY,
			 "no batch fits, not one sample for each core: %s", sentence);
}

/* ---- Steps ---------------------------------------------------------------------------- */

static float rate_of(const struct fit *f)
{
	const struct model_place *at = &f->model->place;

	return vtpu_schedule_rate(&f->options.schedule, at->step - at->fit_step,
				  f->steps * f->options.epochs);
}

static enum vtpu_status enter(struct fit *f, bool *more)
{
	struct model_place *at = &f->model->place;
	enum vtpu_status status = run_enter(&f->run, at->step + 1, rate_of(f), more);

	if (status)
		return vtpu_fail_in(status, "step %" PRIu64 " (epoch %u)", at->step + 1, at->epoch);
	if (*more) {
		at->step++;
		at->batch++;
	}
	return VTPU_OK;
}

/* Training again up to the batch whose loss was not finite, which does the same to the bit. */
static bool replay(struct fit *f, uint64_t bad)
{
	struct run_result r;
	bool more = true;

	if (!f->snapshot.bytes || snapshot_restore(f->model, &f->snapshot) ||
	    vtpu_loader_begin(f->loader, f->snapshot.place.epoch, f->snapshot.place.batch))
		return false;
	while (f->model->place.batch < bad)
		if (enter(f, &more) || !more || run_take(&f->run, &r))
			return false;
	return true;
}

static enum vtpu_status not_finite(struct fit *f, const struct run_result *r)
{
	char text[512] = "";
	bool replayed;

	run_drop(&f->run);
	replayed = replay(f, r->index);
	if (replayed)
		watch_find(f->model, f->loader, f->batch, text, sizeof(text));
	else
		model_failed(f->model);
	vtpu_fail(VTPU_ERROR_NUMERIC,
		  "the loss of step %" PRIu64 " (epoch %u, batch %" PRIu64
		  ", rate %g) is %g%s; %s; lower the learning rate, or "
		  "look at the data",
		  r->step, f->model->place.epoch, r->index, (double)r->rate, r->loss, text,
		  replayed ? "the model is as it was before that step" :
			     "load a file that was saved before");
	if (!replayed)
		snprintf(f->model->failure, sizeof(f->model->failure), "%s", vtpu_last_error());
	return VTPU_ERROR_NUMERIC;
}

static void tell(struct fit *f, enum vtpu_fit_event event)
{
	const struct model_place *at = &f->model->place;
	struct vtpu_fit_progress *p = &f->progress;

	p->event = event;
	p->seconds = (double)(run_now() - f->epoch_ns) * 1e-9;
	p->step_seconds = p->seconds / (double)(p->step + 1);
	if (at->count && event == VTPU_FIT_STEP) {
		p->loss = at->loss / (double)at->count;
		p->accuracy = at->correct / (double)at->count;
	}
}

static enum vtpu_status take(struct fit *f)
{
	struct model_place *at = &f->model->place;
	enum vtpu_status status;
	struct run_result r;

	status = run_take(&f->run, &r);
	if (status)
		return vtpu_fail_in(status, "step %" PRIu64 " (epoch %u)",
				    at->step - f->run.pendings, at->epoch);
	if (!isfinite(r.loss) && !f->options.allow_nan)
		return not_finite(f, &r);
	at->count += r.count;
	at->loss += r.loss * r.count;
	at->correct += r.correct;
	f->report.steps++;
	f->report.samples += r.count;
	f->progress.step = r.index;
	f->progress.total_step = r.step;
	f->progress.step_loss = r.loss;
	f->progress.rate = r.rate;
	f->progress.val_loss = f->progress.val_accuracy = NAN;
	tell(f, VTPU_FIT_STEP);
	progress_step(&f->writer, &f->progress);
	if (f->options.callback)
		f->stop |= f->options.callback(f->options.callback_arg, &f->progress);
	return VTPU_OK;
}

static enum vtpu_status check_replicas(struct fit *f)
{
	enum vtpu_status status = vtpu_stream_sync(f->model->stream, VTPU_FOREVER);

	if (f->checked == f->model->place.step)
		return status;
	f->checked = f->model->place.step;
	if (!status)
		status = vtpu_variables_check(f->model->variables);
	f->wrong |= status != VTPU_OK;
	return status;
}

/* What would not pass the check, if there are checks, is not saved over what did. */
static enum vtpu_status save(struct fit *f)
{
	enum vtpu_status status = f->options.check_replicas ? check_replicas(f) : VTPU_OK;

	f->saved = f->model->place.step;
	return status ? status : vtpu_model_save(f->model, f->options.checkpoint);
}

/* What is due every so many steps. */
static enum vtpu_status care(struct fit *f)
{
	const struct vtpu_fit_options *o = &f->options;
	uint64_t step = f->model->place.step;
	enum vtpu_status status = VTPU_OK;

	if (o->check_replicas && step - f->checked >= o->check_replicas)
		status = check_replicas(f);
	if (!status && o->checkpoint && o->checkpoint_steps &&
	    step - f->saved >= o->checkpoint_steps)
		status = save(f);
	return status ? vtpu_fail_in(status, "step %" PRIu64 " (epoch %u)", step,
				     f->model->place.epoch) :
			VTPU_OK;
}

/* ---- Epochs -------------------------------------------------------------------------------- */

static uint64_t busy_ns(struct vtpu_model *model)
{
	struct vtpu_core_counters counters = VTPU_INIT(counters);

	return vtpu_device_counters(model->device, 0, &counters) ? 0 : counters.busy_ns;
}

static enum vtpu_status train_epoch(struct fit *f)
{
	uint64_t busy = busy_ns(f->model), input = f->run.input_ns;
	enum vtpu_status status;
	bool more = true;

	f->epoch_ns = run_now();
	status = vtpu_loader_begin(f->loader, f->model->place.epoch, f->model->place.batch);
	while (!status && (more || f->run.pendings)) {
		if (more && !f->stop)
			status = enter(f, &more);
		else
			more = false;
		if (!status && f->run.pendings == (more ? 2 : 1))
			status = take(f);
		if (!status)
			status = care(f);
	}
	f->report.seconds += (double)(run_now() - f->epoch_ns) * 1e-9;
	f->report.busy_seconds += (double)(busy_ns(f->model) - busy) * 1e-9;
	f->report.input_seconds += (double)(f->run.input_ns - input) * 1e-9;
	return status;
}

static enum vtpu_status validate(struct fit *f)
{
	struct vtpu_score score;
	uint64_t from = run_now();
	enum vtpu_status status;

	f->progress.val_loss = f->progress.val_accuracy = NAN;
	if (!f->validation)
		return VTPU_OK;
	status = evaluate_loader(f->model, f->evaluate, f->validation, &score);
	if (status)
		return vtpu_fail_in(status, "validation");
	f->progress.val_loss = score.loss;
	f->progress.val_accuracy = score.accuracy;
	f->report.validation_seconds += (double)(run_now() - from) * 1e-9;
	return VTPU_OK;
}

/* A whole epoch is over: what it was, and where the next begins. */
static enum vtpu_status end_epoch(struct fit *f)
{
	struct model_place *at = &f->model->place;
	enum vtpu_status status;

	f->progress.step = f->steps - 1;
	f->progress.loss = at->count ? at->loss / (double)at->count : NAN;
	f->progress.accuracy = at->count ? at->correct / (double)at->count : NAN;
	tell(f, VTPU_FIT_EPOCH);
	at->epoch++;
	at->batch = at->count = 0;
	at->loss = at->correct = 0;
	status = validate(f);
	if (status)
		return status;
	f->report.epochs++;
	f->report.loss = f->progress.loss;
	f->report.accuracy = f->progress.accuracy;
	f->report.val_loss = f->progress.val_loss;
	f->report.val_accuracy = f->progress.val_accuracy;
	progress_epoch(&f->writer, &f->progress);
	if (f->options.callback)
		f->stop |= f->options.callback(f->options.callback_arg, &f->progress);
	return f->options.checkpoint ? save(f) : VTPU_OK;
}

static enum vtpu_status train(struct fit *f)
{
	struct model_place *at = &f->model->place;
	enum vtpu_status status = VTPU_OK;

	while (!status && !f->stop && at->epoch < f->epochs) {
		f->progress.epoch = at->epoch - at->fit_epoch;
		if (!f->options.allow_nan)
			status = snapshot_take(f->model, &f->snapshot);
		if (!status)
			status = train_epoch(f);
		if (!status && at->batch == f->steps)
			status = end_epoch(f);
	}
	progress_break(&f->writer);
	return status;
}

static void give_report(struct fit *f, struct vtpu_fit_report *report)
{
	struct vtpu_loader_stats stats = VTPU_INIT(stats);
	size_t size = report->struct_size;

	if (f->loader && !vtpu_loader_stats(f->loader, &stats))
		f->report.place = stats.place;
	if (f->stop && !f->report.epochs) {
		f->report.loss = f->progress.loss;
		f->report.accuracy = f->progress.accuracy;
	}
	f->report.struct_size = size;
	f->report.stopped = f->stop;
	memcpy(report, &f->report, size < sizeof(f->report) ? size : sizeof(f->report));
}

/* A job that failed takes its stream along, and the model with it. The sentence stays. */
static void after_failure(struct fit *f, const char *sentence)
{
	struct vtpu_model *model = f->model;
	bool failed = model->stream && vtpu_stream_sync(model->stream, VTPU_FOREVER);

	vtpu_fail(VTPU_ERROR_IO, "%s", sentence);
	if (failed || f->run.stale || f->wrong)
		model_failed(model);
}

enum vtpu_status vtpu_model_fit(struct vtpu_model *model, struct vtpu_data *data,
				const struct vtpu_fit_options *options,
				struct vtpu_fit_report *report)
{
	enum vtpu_status status = model_ready(model, "vtpu_model_fit");
	struct vtpu_fit_report known;
	struct fit f = { .model = model };
	char sentence[2048];

	if (!status && report)
		status = vtpu_options(&known, report, sizeof(known), "vtpu_fit_report");
	if (!status && model->run)
		status = vtpu_fail(VTPU_ERROR_BUSY,
				   "vtpu_model_fit: a fit goes on; this is its callback");
	if (status)
		return status;
	f.report.val_loss = f.report.val_accuracy = NAN;
	status = prepare(&f, data, options);
	if (status == VTPU_ERROR_OUT_OF_DEVICE_MEMORY)
		status = too_large(&f, data);
	if (!status) {
		model->run = &f.run;
		set_place(&f);
		f.progress.epochs = f.options.epochs;
		f.progress.steps = f.steps;
		progress_open(&f.writer, f.options.progress);
		/* It is chance whether the job that failed is waited for before a later one. */
		status = vtpu_stream_cause(model->stream, train(&f));
		if (status)
			snprintf(sentence, sizeof(sentence), "%s", vtpu_last_error());
		run_close(&f.run);
		model->run = NULL;
		if (status)
			after_failure(&f, sentence);
	}
	if (report)
		give_report(&f, report);
	let_go(&f);
	return status ? vtpu_fail_in(status, "model '%s'", model->name) : VTPU_OK;
}
