/* SPDX-License-Identifier: MIT */
/*
 * train.h - what the files of the training layer share.
 *
 *   layer.c     layers: what each does to a graph
 *   model.c     life of models, on the device too; programs
 *   graphs.c    the graphs that train, evaluate and predict
 *   summary.c   models as tables
 *   schedule.c  learning rates
 *   run.c       batches through a program, one after the other
 *   fit.c       fitting: epochs, callbacks, validation
 *   progress.c  what a person sees of it
 *   report.c    where its time went
 *   evaluate.c  scores and predictions
 *   save.c      files
 *   watch.c     which operation made the first number that is none
 */
#ifndef VTPU_SRC_TRAIN_TRAIN_H
#define VTPU_SRC_TRAIN_TRAIN_H

#include <vtpu/train.h>

#include "core/arena.h"

#define BATCH_PER_CORE 128

/* ---- layer.c ------------------------------------------------------------------ */

struct layer;
struct run;

/** struct layer_graph - a graph that layers are added to */
struct layer_graph {
	struct vtpu_graph *graph;
	bool training;
	bool look;			 /* variables are not changed */
	uint32_t seed;			 /* of initial values */
	struct vtpu_tensor *seed_scalar; /* of dropout; made when needed */
	struct vtpu_tensor *step_scalar;
};

/** layer_step() - the scalar "step", one for each graph */
struct vtpu_tensor *layer_step(struct layer_graph *to);

/** struct layer - one of a model; what is not said is zero */
struct layer {
	const struct layer_kind *kind;
	const char *name;
	uint32_t units, size;
	float rate, mean, deviation;
	struct vtpu_layer_options options;
	struct vtpu_pool_attrs pool;
	struct vtpu_batch_norm_attrs norm;
};

/** struct layer_kind - what all layers of a kind have in common */
struct layer_kind {
	const char *name;
	struct vtpu_tensor *(*build)(struct layer_graph *to, const struct layer *layer,
				     struct vtpu_tensor *x);
};

/** layer_build() - add a layer's operations, in a scope of its name; NULL after an error */
struct vtpu_tensor *layer_build(struct layer_graph *to, const struct layer *layer,
				struct vtpu_tensor *x);

/* ---- model.c ------------------------------------------------------------------- */

/** struct model_program - an executable for batches of one size */
struct model_program {
	enum vtpu_model_program kind;
	uint32_t batch;
	struct vtpu_executable *executable;
	double compile_seconds;
	struct model_program *next;
};

/** struct model_place - how far training is; all of it goes into files */
struct model_place {
	uint64_t step;	   /* steps since the model was compiled */
	uint64_t fit_step; /* of them, before the present fit */
	uint32_t fit_epoch;
	uint32_t epoch; /* that runs, or runs next */
	uint64_t batch; /* of it that is next */
	uint64_t count; /* samples of the epoch so far */
	double loss;	/* summed over them */
	double correct;
};

struct vtpu_model {
	struct arena arena;
	const char *name;
	enum vtpu_dtype type;
	struct vtpu_shape sample;
	struct layer **layer;
	size_t layers, room;
	struct layer_graph probe;    /* all layers, batch 1: finds errors at the call */
	struct vtpu_tensor **result; /* of each layer in it */
	struct vtpu_tensor *last;

	struct vtpu_device *device; /* NULL: not compiled */
	struct vtpu_model_options options;
	uint32_t cores;
	struct vtpu_variables *variables;
	struct model_program *program;
	struct vtpu_stream *stream; /* all steps; made when needed */
	struct model_place place;
	bool damaged;	   /* a job failed in mid-step */
	char failure[512]; /* and what it said */
	struct run *run;   /* of a fit that goes on, or NULL */
};

/** model_shape() - [@batch, sample...] */
struct vtpu_shape model_shape(const struct vtpu_model *model, uint32_t batch);

/** model_classes() - size of the last layer's rows; 0 if it has no rows */
uint32_t model_classes(const struct vtpu_model *model);

/** model_ready() - is it compiled, and not in mid-step? */
enum vtpu_status model_ready(const struct vtpu_model *model, const char *call);

/** model_batch() - fill in and check a batch size */
enum vtpu_status model_batch(const struct vtpu_model *model, uint32_t *batch);

/** model_program() - compiled if it is not yet */
enum vtpu_status model_program(struct vtpu_model *model, enum vtpu_model_program kind,
			       uint32_t batch, struct model_program **program);

/** model_drop_programs() - forget the newest, down to @until; none of them runs */
void model_drop_programs(struct vtpu_model *model, const struct model_program *until);

/** model_stream() - the model's stream, made if need be */
enum vtpu_status model_stream(struct vtpu_model *model);

/** model_failed() - a job failed: variables may be in mid-step; keeps the sentence */
void model_failed(struct vtpu_model *model);

/** model_check_data() - do samples of that type and shape fit? @labels: they are needed */
enum vtpu_status model_check_data(const struct vtpu_model *model, const struct vtpu_data *data,
				  enum vtpu_dtype type, const struct vtpu_shape *sample,
				  bool labels);

/* ---- graphs.c -------------------------------------------------------------------- */

/**
 * model_graph() - as vtpu_model_graph(), of the model's own options
 * @probes: also tell of each operation whether all its numbers are finite, as results "probe/<n>"
 */
enum vtpu_status model_graph(const struct vtpu_model *model,
			     const struct vtpu_model_options *options, enum vtpu_model_program kind,
			     uint32_t batch, bool probes, struct vtpu_graph **graph);

/** model_label_type() - u8 up to 256 classes, else s32 */
enum vtpu_dtype model_label_type(const struct vtpu_model *model);

/* ---- run.c ------------------------------------------------------------------------- */

#define RUN_SCALARS 4

/** struct run_result - of a batch that has ended */
struct run_result {
	uint64_t index; /* batch of the epoch */
	uint32_t count;
	uint64_t step; /* of the model, from 1 */
	float rate;
	double loss; /* mean of the batch */
	double correct;
};

/** struct run - a program fed by a loader; the result of a batch is taken while the next one runs */
struct run {
	struct vtpu_model *model;
	struct vtpu_executable *executable;
	struct vtpu_loader *loader;
	struct vtpu_buffer *buffer; /* results of the two batches in flight */
	const uint8_t *host;	    /* the same, mapped */
	uint64_t slot_bytes, correct_offset;
	bool has[RUN_SCALARS]; /* which the program takes */
	struct run_pending {
		struct vtpu_event *done, *ready;
		struct run_result result;
	} pending[2];
	uint32_t pendings;
	uint64_t entered;  /* batches */
	uint64_t input_ns; /* that the cores waited for input */
	bool stale;	   /* a batch did not come, and its step may have run all the same */
};

enum vtpu_status run_open(struct run *run, struct vtpu_model *model,
			  struct vtpu_executable *executable, struct vtpu_loader *loader);
void run_close(struct run *run);

/**
 * run_enter() - the next batch
 * @step: of the model, and @rate: 0 when not training
 * @more: false: the epoch is over
 */
enum vtpu_status run_enter(struct run *run, uint64_t step, float rate, bool *more);

/** run_take() - wait for the oldest batch in flight, of which there must be one */
enum vtpu_status run_take(struct run *run, struct run_result *result);

/** run_settle() - add what is in flight to @place, and leave it there */
enum vtpu_status run_settle(struct run *run, struct model_place *place);

/** run_drop() - forget what is in flight, once it has ended */
void run_drop(struct run *run);

/** run_loader() - a loader of @data in order, for scores and predictions */
enum vtpu_status run_loader(struct vtpu_model *model, struct vtpu_data *data, uint32_t batch,
			    struct vtpu_loader **loader);

/** run_now() - CLOCK_MONOTONIC in nanoseconds */
uint64_t run_now(void);

/* ---- evaluate.c -------------------------------------------------------------------------- */

/** evaluate_loader() - score all that a loader gives */
enum vtpu_status evaluate_loader(struct vtpu_model *model, struct vtpu_executable *executable,
				 struct vtpu_loader *loader, struct vtpu_score *score);

/* ---- fit.c and around it -------------------------------------------------------------- */

/** struct progress_writer - to a terminal or a file; of NULL does nothing */
struct progress_writer {
	FILE *file;
	bool terminal;
	uint64_t shown_ns; /* of the bar */
};

void progress_open(struct progress_writer *writer, FILE *file);
void progress_step(struct progress_writer *writer, const struct vtpu_fit_progress *progress);
void progress_epoch(struct progress_writer *writer, const struct vtpu_fit_progress *progress);
/** progress_break() - end a bar that is half drawn */
void progress_break(struct progress_writer *writer);

/** schedule_check() - can the rate be trained with? */
enum vtpu_status schedule_check(const struct vtpu_schedule *schedule);

/** report_models() - modelled times of a step, in both precisions */
enum vtpu_status report_models(struct vtpu_model *model, struct vtpu_executable *executable,
			       uint32_t batch, struct vtpu_fit_report *report);

#define SNAPSHOT_MAX ((uint64_t)256 << 20) /* larger models are not watched that closely */

/** struct snapshot - variables of a model at some step; zero is none */
struct snapshot {
	struct model_place place;
	void *bytes;
};

enum vtpu_status snapshot_take(struct vtpu_model *model, struct snapshot *snapshot);
enum vtpu_status snapshot_restore(struct vtpu_model *model, const struct snapshot *snapshot);
void snapshot_free(struct snapshot *snapshot);

/** watch_broken() - a sentence about the first variable that has a number that is not finite, or "" */
void watch_broken(struct vtpu_model *model, char *text, size_t bytes);

/**
 * watch_find() - which operation of a step first makes a number that is not finite
 * @loader: its next batch is that of the step, and the model as it was before it
 * @text: gets a sentence about it, or ""
 */
void watch_find(struct vtpu_model *model, struct vtpu_loader *loader, uint32_t batch, char *text,
		size_t bytes);

#endif /* VTPU_SRC_TRAIN_TRAIN_H */
