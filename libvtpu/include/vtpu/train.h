/* SPDX-License-Identifier: MIT */
/**
 * @file train.h
 * Models made of layers, and their training.
 *
 *     vtpu_model_create("mnist", VTPU_DTYPE_U8, VTPU_SHAPE(28, 28, 1), &model);
 *     vtpu_model_normalize(model, "standardise", 33.3f, 78.6f);
 *     vtpu_model_conv2d(model, "conv1", 32, 3, &relu);
 *     vtpu_model_max_pool(model, "pool1", 2, NULL);
 *     vtpu_model_flatten(model, "flatten");
 *     vtpu_model_dense(model, "dense1", 10, NULL);
 *     vtpu_model_compile(model, device, &options);
 *     vtpu_model_fit(model, images, &fit, &report);
 *     vtpu_model_evaluate(model, test, 0, &score);
 *     vtpu_model_save(model, "mnist.safetensors");
 *
 * The last layer gives a logit for each class; the loss is the cross-entropy of
 * their softmax, which is not a layer.
 *
 * Errors in layers are kept as in graphs: later calls do nothing, and
 * vtpu_model_status() tells the first. Sentences name layer, shapes and the way out.
 *
 * Bits. The result of training depends on model, data, options, seed and the number
 * of cores, and on nothing else: not on the host, its threads, or whether the run was
 * broken off and resumed from a file.
 *
 * Threads: a model belongs to one thread at a time.
 */
#ifndef VTPU_TRAIN_H
#define VTPU_TRAIN_H

#include <stdbool.h>
#include <stdio.h>
#include <vtpu/compile.h>
#include <vtpu/core.h>
#include <vtpu/data.h>
#include <vtpu/device.h>
#include <vtpu/graph.h>
#include <vtpu/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vtpu_model;

/* ---- Layers --------------------------------------------------------------------- */

/**
 * Begin a model.
 * @param name    for reports and files; copied
 * @param type    of a sample's elements: u8, f32
 * @param sample  shape of one sample, without the batch
 */
VTPU_API enum vtpu_status vtpu_model_create(const char *name, enum vtpu_dtype type,
					    struct vtpu_shape sample, struct vtpu_model **model);

/** Give a model back, and what it holds on a device; NULL is fine. */
VTPU_API void vtpu_model_destroy(struct vtpu_model *model);

/** The first error of the layer calls, with its sentence; VTPU_OK if there was none. */
VTPU_API enum vtpu_status vtpu_model_status(const struct vtpu_model *model);

/** (x - mean) / deviation, to f32: bytes as standardised pixels. Without it u8 samples become f32 as they are. */
VTPU_API void vtpu_model_normalize(struct vtpu_model *model, const char *name, float mean,
				   float deviation);

/** Options of a convolution or dense layer; zero is all defaults. */
struct vtpu_layer_options {
	enum vtpu_activation activation; /**< after the bias; NONE, RELU, SIGMOID, TANH, GELU, SILU */
	bool no_bias;
	struct vtpu_conv2d_attrs conv; /**< of convolutions: stride, padding, dilation, groups */
	struct vtpu_initial
		initial; /**< of the weights; kind 0: Glorot, uniform. The seed is the model's */
};

/** Convolution with @p filters results and a kernel of @p size x @p size. Variables "<name>/weights", "<name>/bias". */
VTPU_API void vtpu_model_conv2d(struct vtpu_model *model, const char *name, uint32_t filters,
				uint32_t size, const struct vtpu_layer_options *options);

/** Largest of each window of @p size x @p size. @param attrs  stride, padding; NULL: stride = size */
VTPU_API void vtpu_model_max_pool(struct vtpu_model *model, const char *name, uint32_t size,
				  const struct vtpu_pool_attrs *attrs);

/** Mean of each window. As vtpu_model_max_pool(). */
VTPU_API void vtpu_model_avg_pool(struct vtpu_model *model, const char *name, uint32_t size,
				  const struct vtpu_pool_attrs *attrs);

/** Each sample as one row. */
VTPU_API void vtpu_model_flatten(struct vtpu_model *model, const char *name);

/** Matrix product with [inputs, @p units] weights, and bias. Variables as of vtpu_model_conv2d(). */
VTPU_API void vtpu_model_dense(struct vtpu_model *model, const char *name, uint32_t units,
			       const struct vtpu_layer_options *options);

/** An activation as a layer of its own, for instance behind batch normalisation. */
VTPU_API void vtpu_model_activation(struct vtpu_model *model, const char *name,
				    enum vtpu_activation activation);

/** Zero a part of the elements in training, see vtpu_dropout(). @param rate  0 <= rate < 1 */
VTPU_API void vtpu_model_dropout(struct vtpu_model *model, const char *name, float rate);

/**
 * Batch normalisation: statistics of the batch (over all cores) in training, running ones
 * otherwise. Rows that only fill up a last batch count in its statistics; let the
 * batch divide the samples, or set drop_last, where that matters. Variables "<name>/gamma", "<name>/beta",
 * "<name>/mean", "<name>/variance". @param attrs  NULL: defaults
 */
VTPU_API void vtpu_model_batch_norm(struct vtpu_model *model, const char *name,
				    const struct vtpu_batch_norm_attrs *attrs);

/**
 * A table: layer, shape of its result, parameters, bytes.
 * @param text  free() it
 */
VTPU_API enum vtpu_status vtpu_model_summary(const struct vtpu_model *model, char **text);

/** Number of trainable numbers. */
VTPU_API uint64_t vtpu_model_parameters(const struct vtpu_model *model);

/* ---- Rates ------------------------------------------------------------------------- */

/** How the learning rate changes. */
enum vtpu_schedule_kind {
	VTPU_SCHEDULE_CONSTANT = 0,
	VTPU_SCHEDULE_STEP = 1,	  /**< times factor after each @p every steps */
	VTPU_SCHEDULE_COSINE = 2, /**< half a cosine from rate down to last */
};

/** A learning rate for each step, given to the device as a number: never a new program. */
struct vtpu_schedule {
	enum vtpu_schedule_kind kind;
	float rate;	 /**< after the warm-up */
	uint32_t warmup; /**< steps from rate / warmup up to rate, before all else */
	uint32_t every;	 /**< STEP: steps, at least 1 */
	float factor;	 /**< STEP: above 0 */
	float last;	 /**< COSINE: rate at the end */
	uint64_t steps;	 /**< COSINE: length with warm-up; 0: of the fit */
};

/** The rate of step @p step (from 0) of @p steps: the same bits on every machine. */
VTPU_API float vtpu_schedule_rate(const struct vtpu_schedule *schedule, uint64_t step,
				  uint64_t steps);

/* ---- Compiling ------------------------------------------------------------------------ */

/** How parameters follow their gradients. */
enum vtpu_optimiser {
	VTPU_OPTIMISER_ADAM = 0,
	VTPU_OPTIMISER_SGD = 1, /**< with momentum, if sgd.momentum is not 0 */
};

/** How to train a model. */
struct vtpu_model_options {
	size_t struct_size; /**< set by VTPU_INIT() */
	uint32_t cores;	    /**< that share each batch; 0: all of the device */
	enum vtpu_optimiser optimiser;
	struct vtpu_adam_attrs adam;
	struct vtpu_sgd_attrs sgd;
	float smoothing;	       /**< of labels, 0..1 */
	enum vtpu_precision precision; /**< of matrix products and convolutions */
	uint32_t seed;		       /**< of initial values, dropout and the order of samples */
	const char *cache_dir;	       /**< see struct vtpu_compile_options; copied */
	const char *dump_dir;	       /**< the same */
};

/**
 * Put a model onto a device, with fresh parameters. Again: begin anew.
 *
 * Programs are made when they are first needed, for each size of batch.
 * Fails with the first error of the layers, and as vtpu_variables_create().
 */
VTPU_API enum vtpu_status vtpu_model_compile(struct vtpu_model *model, struct vtpu_device *device,
					     const struct vtpu_model_options *options);

/** What a compiled model has on its device. NULL before vtpu_model_compile(). It lives until the next one. */
VTPU_API struct vtpu_variables *vtpu_model_variables(struct vtpu_model *model);

/** Which program. */
enum vtpu_model_program {
	VTPU_MODEL_TRAIN = 0,
	VTPU_MODEL_EVALUATE = 1,
	VTPU_MODEL_PREDICT = 2,
};

/** The program for batches of @p batch samples, compiled if it is not yet; the model's. */
VTPU_API enum vtpu_status vtpu_model_executable(struct vtpu_model *model,
						enum vtpu_model_program program, uint32_t batch,
						struct vtpu_executable **executable);

/**
 * The graph that such a program is made of, for tools. Destroy it.
 *
 * Inputs "x", "labels" [batch], "weights" [batch] f32; scalars "rate", "step", "seed" and
 * "inverse_count" = 1 / (samples that are no filling). Results "loss" = sum of weighted losses
 * times inverse_count, "correct"; of PREDICT "probabilities" [batch, classes].
 */
VTPU_API enum vtpu_status vtpu_model_graph(const struct vtpu_model *model,
					   const struct vtpu_model_options *options,
					   enum vtpu_model_program program, uint32_t batch,
					   struct vtpu_graph **graph);

/* ---- Training ---------------------------------------------------------------------------- */

/** When a callback is called. */
enum vtpu_fit_event {
	VTPU_FIT_STEP = 0,  /**< a step's loss has arrived; the next step may run already */
	VTPU_FIT_EPOCH = 1, /**< an epoch has ended, validation included */
};

/** Where training is. */
struct vtpu_fit_progress {
	enum vtpu_fit_event event;
	uint32_t epoch;	     /**< from 0 */
	uint32_t epochs;     /**< that there will be */
	uint64_t step;	     /**< of the epoch, from 0; EPOCH: the last */
	uint64_t steps;	     /**< of an epoch */
	uint64_t total_step; /**< since the model was compiled, from 1 */
	double step_loss;    /**< mean loss of the step's samples */
	double loss;	     /**< mean over the epoch's samples so far */
	double accuracy;     /**< right, of the epoch's samples so far, 0..1 */
	double val_loss;     /**< EPOCH with validation; else NaN */
	double val_accuracy; /**< the same */
	double seconds;	     /**< since the epoch began, validation not counted */
	double step_seconds; /**< the same for each step */
	float rate;	     /**< learning rate of the step */
};

/**
 * Called by vtpu_model_fit().
 * @return true: stop here, as if all epochs were done
 *
 * May call vtpu_model_save(), vtpu_model_evaluate() and vtpu_model_predict().
 */
typedef bool (*vtpu_fit_fn)(void *arg, const struct vtpu_fit_progress *progress);

/** How to fit. */
struct vtpu_fit_options {
	size_t struct_size; /**< set by VTPU_INIT() */
	uint32_t epochs;    /**< 0: 1 */
	uint32_t batch;	    /**< samples of a step, all cores together; 0: 128 for each core */
	struct vtpu_schedule schedule; /**< rate is required */
	struct vtpu_data *validation;  /**< looked at after each epoch, all of it; NULL: none */
	bool no_shuffle;
	/** more about batches: map, threads, place, depth, drop_last, first, count; batch, shuffle and seed are not looked at */
	const struct vtpu_loader_options *loader;
	vtpu_fit_fn callback; /**< NULL: none */
	void *callback_arg;   /**< handed to it */
	FILE *progress;	      /**< a bar if it is a terminal, else a line an epoch; NULL: silent */
	const char *checkpoint;	   /**< file to save to after each epoch; NULL: none */
	uint64_t checkpoint_steps; /**< and after every so many steps; 0: not */
	/** go on where the model is: finish the fit that its file was saved in, epochs counted from that fit's begin */
	bool resume;
	bool allow_nan; /**< go on when a loss is no finite number */
	/** compare the cores' variables every so many steps and before each file; 0: never. A core whose variable differs
	 *  is named, and the fit ends. The next step may hide a difference, so only 1 misses none */
	uint64_t check_replicas;
};

/** How a fit went. */
struct vtpu_fit_report {
	size_t struct_size;	   /**< set by VTPU_INIT() */
	uint32_t epochs;	   /**< done */
	uint64_t steps;		   /**< done */
	uint64_t samples;	   /**< trained on */
	double loss;		   /**< of the last epoch */
	double accuracy;	   /**< of the last epoch */
	double val_loss;	   /**< after the last epoch; NaN without validation */
	double val_accuracy;	   /**< the same */
	double seconds;		   /**< of wall time, of all epochs, validation not counted */
	double busy_seconds;	   /**< of these, the cores worked */
	double input_seconds;	   /**< of these, the cores waited for input */
	double validation_seconds; /**< of validation */
	double compile_seconds;	   /**< of compiling, before the first step */
	double model_seconds;	   /**< modelled, of one step, as it ran */
	double model_seconds_f32;  /**< the same in f32 */
	double model_seconds_bf16; /**< the same in bf16 */
	uint64_t macs; /**< multiply-adds of a step, of all cores, as the dense program has them */
	uint64_t hbm_f32;   /**< bytes of HBM that a step needs, variables included, in f32 */
	uint64_t hbm_bf16;  /**< the same in bf16 */
	uint64_t vmem_f32;  /**< bytes of VMEM that it needs of each core, in f32 */
	uint64_t vmem_bf16; /**< the same in bf16 */
	bool stopped;	    /**< by the callback */
	enum vtpu_loader_place place; /**< where batches were put together */
};

/**
 * Train.
 * @param data     samples of the model's input (or of what loader->map makes), with labels
 * @param options  NULL: one epoch, at Adam's 1e-3 or SGD's 1e-2
 * @param report   NULL, or filled in, struct_size set
 *
 * One job a step; the loss of a step is fetched while the next one runs.
 *
 * Fails with INVALID_ARGUMENT (a rate that is 0 or infinite, a batch that the cores cannot share, data without
 * labels), SHAPE_MISMATCH (both shapes), OUT_OF_DEVICE_MEMORY (the largest batch that fits), NUMERIC (a loss is
 * no finite number: step and first operation; the model is as it was before that step. Or replicas differ: then
 * the model must be loaded),
 * IO and TIMEOUT (the source), and as jobs fail: then the parameters may be in
 * mid-step, and vtpu_model_load() or vtpu_model_compile() must come before all else.
 */
VTPU_API enum vtpu_status vtpu_model_fit(struct vtpu_model *model, struct vtpu_data *data,
					 const struct vtpu_fit_options *options,
					 struct vtpu_fit_report *report);

/** Where the time of a fit went, some lines. @param text  free() it */
VTPU_API enum vtpu_status vtpu_fit_report_text(const struct vtpu_fit_report *report, char **text);

/** How good a model is. */
struct vtpu_score {
	uint64_t count;	  /**< samples, all there are */
	uint64_t correct; /**< whose largest logit is at their label */
	double loss;	  /**< mean */
	double accuracy;  /**< correct / count */
};

/**
 * Score all samples of a data set; the last batch is filled up with rows of weight 0.
 * @param batch  samples at a time; 0: 128 for each core
 */
VTPU_API enum vtpu_status vtpu_model_evaluate(struct vtpu_model *model, struct vtpu_data *data,
					      uint32_t batch, struct vtpu_score *score);

/**
 * Probabilities of all samples of a data set.
 * @param probabilities  [samples][classes]
 * @param bytes          room there; must be what that takes
 */
VTPU_API enum vtpu_status vtpu_model_predict(struct vtpu_model *model, struct vtpu_data *data,
					     uint32_t batch, float *probabilities, size_t bytes);

/* ---- Files ----------------------------------------------------------------------------------- */

/**
 * Save a compiled model: variables, the optimiser's included, how far training is, layers and
 * graph, as a safetensors file. A file that is there is replaced when the new one is
 * whole on the disk, and stays as it is if that fails.
 */
VTPU_API enum vtpu_status vtpu_model_save(struct vtpu_model *model, const char *path);

/**
 * Load what vtpu_model_save() wrote into a compiled model of the same layers.
 *
 * With fit.resume training then goes on as if it had never stopped, to the same bits.
 * Nothing is changed on failure: IO (cut off, half written, damaged), NOT_FOUND, SHAPE_MISMATCH (another model:
 * the first layer that differs), INVALID_ARGUMENT (another optimiser).
 */
VTPU_API enum vtpu_status vtpu_model_load(struct vtpu_model *model, const char *path);

/** Load the trainable parameters and running statistics alone, from any safetensors file that has them by name. */
VTPU_API enum vtpu_status vtpu_model_load_weights(struct vtpu_model *model, const char *path);

#ifdef __cplusplus
}
#endif

#endif /* VTPU_TRAIN_H */
