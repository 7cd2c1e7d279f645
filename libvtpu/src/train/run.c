// SPDX-License-Identifier: MIT
/*
 * run.c - batches through a program, one after the other.
 *
 * Two batches are in flight at most. Their losses are read by the CPU from HBM,
 * where each has a place of its own, once its job has ended: no copy job stands
 * between two steps.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "data/loader.h"
#include "device/device.h"
#include "train/train.h"

uint64_t run_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static const char *const scalar_name[RUN_SCALARS] = { "inverse_count", "rate", "step", "seed" };

/* Which scalars a graph has depends on its layers and its optimiser. */
static void find_scalars(struct run *run)
{
	struct vtpu_io_info info;

	for (size_t k = 0; !vtpu_executable_io(run->executable, VTPU_IO_SCALAR, k, &info); k++)
		for (size_t i = 0; i < RUN_SCALARS; i++)
			run->has[i] |= !strcmp(info.name, scalar_name[i]);
}

static enum vtpu_status result_bytes(struct vtpu_executable *executable, const char *name,
				     uint64_t *bytes)
{
	struct vtpu_io_info info;
	enum vtpu_status status;

	for (size_t i = 0;; i++) {
		status = vtpu_executable_io(executable, VTPU_IO_RESULT, i, &info);
		if (status)
			return status;
		if (!strcmp(info.name, name)) {
			*bytes = (info.place_bytes + 63) & ~63ull;
			return VTPU_OK;
		}
	}
}

enum vtpu_status run_open(struct run *run, struct vtpu_model *model,
			  struct vtpu_executable *executable, struct vtpu_loader *loader)
{
	const struct vtpu_buffer_options options =
		VTPU_INIT(options, .flags = VTPU_BUFFER_MAPPABLE, .label = "train/results");
	uint64_t correct = 0;
	enum vtpu_status status;

	*run = (struct run){ .model = model, .executable = executable, .loader = loader };
	status = result_bytes(executable, "loss", &run->correct_offset);
	if (!status)
		status = result_bytes(executable, "correct", &correct);
	run->slot_bytes = run->correct_offset + correct;
	find_scalars(run);
	if (!status)
		status = model_stream(model);
	if (!status)
		status = vtpu_buffer_alloc(model->device, 2 * run->slot_bytes, &options,
					   &run->buffer);
	if (!status)
		status = vtpu_buffer_map(run->buffer, (void **)&run->host);
	if (status)
		run_close(run);
	return status;
}

static void forget(struct run_pending *p)
{
	vtpu_event_destroy(p->done);
	vtpu_event_destroy(p->ready);
	p->done = p->ready = NULL;
}

void run_drop(struct run *run)
{
	if (run->model->stream)
		vtpu_stream_sync(run->model->stream, VTPU_FOREVER);
	for (int i = 0; i < 2; i++) {
		/* A step whose batch never came has worked on what was there before. */
		run->stale |= run->pending[i].ready &&
			      vtpu_event_wait(run->pending[i].ready, VTPU_FOREVER);
		forget(&run->pending[i]);
	}
	run->pendings = 0;
}

void run_close(struct run *run)
{
	run_drop(run);
	vtpu_buffer_free(run->buffer);
	run->buffer = NULL;
}

static struct vtpu_event *keep(struct vtpu_event *event)
{
	atomic_fetch_add(&event->refs, 1);
	return event;
}

/* Does the newest batch in flight still run? */
static bool cores_work(struct run *run)
{
	bool done = true;

	if (run->pendings)
		vtpu_event_query(run->pending[(run->entered - 1) % 2].done, &done);
	return !done;
}

/* The cores have nothing to do until @ready: that is waiting for input. */
static enum vtpu_status wait_input(struct run *run, struct vtpu_event *ready)
{
	uint64_t from = run_now();
	enum vtpu_status status = vtpu_event_wait(ready, VTPU_FOREVER);

	run->input_ns += run_now() - from;
	run->stale |= status != VTPU_OK;
	return status;
}

static enum vtpu_status execute(struct run *run, const struct vtpu_batch *batch, uint64_t step,
				float rate, struct vtpu_event **done)
{
	uint64_t slot = run->entered % 2 * run->slot_bytes;
	const struct vtpu_place feeds[] = {
		{ "x", batch->x, 0 },
		{ "labels", batch->labels, 0 },
		{ "weights", batch->weights, 0 },
	};
	const struct vtpu_place results[] = {
		{ "loss", run->buffer, slot },
		{ "correct", run->buffer, slot + run->correct_offset },
	};
	const double value[RUN_SCALARS] = {
		1.0 / batch->count,
		(double)rate,
		(double)step,
		(double)(int32_t)run->model->options.seed,
	};
	struct vtpu_argument scalars[RUN_SCALARS];
	size_t n = 0;

	for (size_t i = 0; i < RUN_SCALARS; i++)
		if (run->has[i])
			scalars[n++] = (struct vtpu_argument){ scalar_name[i], value[i] };
	return vtpu_execute(run->executable, run->model->stream, feeds, 3, scalars, n, results, 2,
			    done);
}

enum vtpu_status run_enter(struct run *run, uint64_t step, float rate, bool *more)
{
	struct run_pending *p = &run->pending[run->entered % 2];
	bool idle = !cores_work(run);
	uint64_t from = run_now();
	struct vtpu_event *done = NULL;
	struct vtpu_batch batch;
	enum vtpu_status status;

	status = vtpu_loader_next(run->loader, &batch);
	if (status)
		return status;
	*more = batch.count;
	if (!batch.count)
		return VTPU_OK;
	if (idle || !cores_work(run))
		run->input_ns += run_now() - from;
	*p = (struct run_pending){
		.ready = keep(batch.ready),
		.result = { .index = batch.index, .count = batch.count, .step = step, .rate = rate },
	};
	status = vtpu_stream_wait(run->model->stream, batch.ready);
	if (!status)
		status = execute(run, &batch, step, rate, &done);
	vtpu_loader_release(run->loader, &batch, done);
	if (status) {
		forget(p);
		return status;
	}
	p->done = done;
	run->entered++;
	run->pendings++;
	return run->pendings == 1 ? wait_input(run, p->ready) : VTPU_OK;
}

/* A batch in flight has ended: its numbers. */
static enum vtpu_status result(struct run *run, uint64_t number, struct run_result *to)
{
	struct run_pending *p = &run->pending[number % 2];
	const uint8_t *slot = run->host + number % 2 * run->slot_bytes;
	enum vtpu_status status = vtpu_event_wait(p->done, VTPU_FOREVER);
	float loss, correct;

	if (status)
		return status;
	memcpy(&loss, slot, sizeof(loss));
	memcpy(&correct, slot + run->correct_offset, sizeof(correct));
	*to = p->result;
	to->loss = (double)loss;
	to->correct = (double)correct;
	return VTPU_OK;
}

enum vtpu_status run_take(struct run *run, struct run_result *to)
{
	uint64_t number = run->entered - run->pendings;
	enum vtpu_status status = result(run, number, to);

	if (!status && run->pendings == 2)
		status = wait_input(run, run->pending[(number + 1) % 2].ready);
	forget(&run->pending[number % 2]);
	run->pendings--;
	return status;
}

enum vtpu_status run_settle(struct run *run, struct model_place *place)
{
	enum vtpu_status status = VTPU_OK;
	struct run_result r;

	for (uint32_t i = 0; i < run->pendings && !status; i++) {
		status = result(run, run->entered - run->pendings + i, &r);
		if (!status) {
			place->loss += r.loss * r.count;
			place->correct += r.correct;
			place->count += r.count;
		}
	}
	return status;
}

enum vtpu_status run_loader(struct vtpu_model *model, struct vtpu_data *data, uint32_t batch,
			    struct vtpu_loader **loader)
{
	const struct vtpu_loader_options options = VTPU_INIT(options, .batch = batch);

	return vtpu_loader_create(model->device, data, &options, loader);
}
