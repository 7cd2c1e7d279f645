// SPDX-License-Identifier: MIT
/*
 * evaluate.c - scores and predictions.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "train/train.h"

enum vtpu_status evaluate_loader(struct vtpu_model *model, struct vtpu_executable *executable,
				 struct vtpu_loader *loader, struct vtpu_score *score)
{
	double loss = 0, correct = 0;
	struct run_result r;
	enum vtpu_status status;
	uint64_t count = 0;
	struct run run;
	bool more = true;

	status = vtpu_loader_begin(loader, 0, 0);
	if (!status)
		status = run_open(&run, model, executable, loader);
	if (status)
		return status;
	while (!status) {
		status = more ? run_enter(&run, 0, 0, &more) : VTPU_OK;
		if (status || (!more && !run.pendings))
			break;
		if (more && run.pendings < 2)
			continue;
		status = run_take(&run, &r);
		if (!status) {
			loss += r.loss * r.count;
			correct += r.correct;
			count += r.count;
		}
	}
	run_close(&run);
	if (status)
		return status;
	*score = (struct vtpu_score){
		.count = count,
		.correct = (uint64_t)(correct + 0.5),
		.loss = loss / (double)count,
		.accuracy = correct / (double)count,
	};
	return VTPU_OK;
}

/* Programs that only read variables fail without harm to them. */
static void stream_anew(struct vtpu_model *model)
{
	if (model->stream && vtpu_stream_sync(model->stream, VTPU_FOREVER)) {
		vtpu_stream_destroy(model->stream);
		model->stream = NULL;
	}
}

static enum vtpu_status prepare(struct vtpu_model *model, struct vtpu_data *data,
				enum vtpu_model_program kind, uint32_t *batch,
				struct model_program **program, struct vtpu_loader **loader)
{
	struct vtpu_data_info info = VTPU_INIT(info);
	enum vtpu_status status = vtpu_data_info(data, &info);

	if (!status)
		status = model_check_data(model, data, info.type, &info.shape,
					  kind == VTPU_MODEL_EVALUATE);
	if (!status)
		status = model_batch(model, batch);
	if (!status)
		status = model_program(model, kind, *batch, program);
	if (!status)
		status = run_loader(model, data, *batch, loader);
	return status;
}

enum vtpu_status vtpu_model_evaluate(struct vtpu_model *model, struct vtpu_data *data,
				     uint32_t batch, struct vtpu_score *score)
{
	enum vtpu_status status = model_ready(model, "vtpu_model_evaluate");
	struct vtpu_loader *loader = NULL;
	struct model_program *program;

	if (!status && (!data || !score))
		status = vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "vtpu_model_evaluate: NULL");
	if (!status)
		status = prepare(model, data, VTPU_MODEL_EVALUATE, &batch, &program, &loader);
	if (!status) {
		status = evaluate_loader(model, program->executable, loader, score);
		if (status)
			stream_anew(model);
	}
	vtpu_loader_destroy(loader);
	return status ? vtpu_fail_in(status, "evaluating model '%s'", model->name) : VTPU_OK;
}

static enum vtpu_status predict_batch(struct vtpu_model *model, struct vtpu_executable *executable,
				      const struct vtpu_batch *batch, struct vtpu_buffer *result,
				      struct vtpu_event **done)
{
	const struct vtpu_place feed = { "x", batch->x, 0 }, place = { "probabilities", result, 0 };
	enum vtpu_status status = vtpu_stream_wait(model->stream, batch->ready);

	if (!status)
		status =
			vtpu_execute(executable, model->stream, &feed, 1, NULL, 0, &place, 1, done);
	return status;
}

static enum vtpu_status predict_all(struct vtpu_model *model, struct vtpu_executable *executable,
				    struct vtpu_loader *loader, struct vtpu_buffer *result,
				    float *probabilities)
{
	size_t row = model_classes(model) * sizeof(float);
	uint8_t *to = (uint8_t *)probabilities;
	enum vtpu_status status = vtpu_loader_begin(loader, 0, 0);
	struct vtpu_batch batch;

	while (!status) {
		struct vtpu_event *done = NULL;
		uint32_t count;

		status = vtpu_loader_next(loader, &batch);
		count = batch.count;
		if (status || !count)
			break;
		status = predict_batch(model, executable, &batch, result, &done);
		vtpu_loader_release(loader, &batch, done);
		if (!status)
			status = vtpu_event_wait(done, VTPU_FOREVER);
		if (!status)
			status = vtpu_buffer_read(result, 0, to, count * row);
		to += count * row;
		vtpu_event_destroy(done);
	}
	return status;
}

enum vtpu_status vtpu_model_predict(struct vtpu_model *model, struct vtpu_data *data,
				    uint32_t batch, float *probabilities, size_t bytes)
{
	const struct vtpu_buffer_options options = VTPU_INIT(options, .label = "predict/results");
	enum vtpu_status status = model_ready(model, "vtpu_model_predict");
	struct vtpu_data_info info = VTPU_INIT(info);
	struct vtpu_loader *loader = NULL;
	struct vtpu_buffer *result = NULL;
	struct model_program *program;

	if (!status && (!data || !probabilities))
		status = vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "vtpu_model_predict: NULL");
	if (!status)
		status = vtpu_data_info(data, &info);
	if (!status && bytes != info.count * model_classes(model) * sizeof(float))
		status = vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				   "vtpu_model_predict: room for %zu bytes; %" PRIu64
				   " samples and %u classes need %" PRIu64,
				   bytes, info.count, model_classes(model),
				   info.count * model_classes(model) * sizeof(float));
	if (!status)
		status = prepare(model, data, VTPU_MODEL_PREDICT, &batch, &program, &loader);
	if (!status)
		status = model_stream(model);
	if (!status)
		status = vtpu_buffer_alloc(model->device,
					   (uint64_t)batch * model_classes(model) * sizeof(float),
					   &options, &result);
	if (!status) {
		status = predict_all(model, program->executable, loader, result, probabilities);
		if (status)
			stream_anew(model);
	}
	vtpu_loader_destroy(loader);
	vtpu_buffer_free(result);
	return status ? vtpu_fail_in(status, "predicting with model '%s'", model->name) : VTPU_OK;
}
