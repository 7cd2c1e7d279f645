/* SPDX-License-Identifier: MIT */
/**
 * @file data.h
 * Where samples come from, and how they become batches in HBM.
 *
 * A data set (struct vtpu_data) says how many samples there are, of what type
 * and shape, and how many classes. A loader (struct vtpu_loader) makes batches
 * of it: shuffled, changed by a function of the caller, and brought into HBM by
 * the device's copy queue while the cores compute.
 *
 *     vtpu_data_mnist(VTPU_DATA_TRAIN, &data);
 *     vtpu_loader_create(device, data, &options, &loader);
 *     for (epoch = 0; epoch < 5; epoch++) {
 *         vtpu_loader_begin(loader, epoch, 0);
 *         while (!(status = vtpu_loader_next(loader, &batch)) && batch.count) {
 *             vtpu_stream_wait(stream, batch.ready);
 *             ... run a step on batch.x, batch.labels, batch.weights; event: done ...
 *             vtpu_loader_release(loader, &batch, done);
 *         }
 *     }
 *
 * Order. Which sample is where in which batch, and what random numbers the
 * caller's function draws, depends on seed, epoch and position alone: it is the
 * same on every machine, with any number of threads.
 *
 * Ownership. Data sets and loaders are the caller's; a loader keeps its data
 * set and its device alive.
 *
 * Threads. A data set may be used from any thread. A loader belongs to one
 * thread at a time, and has threads of its own that end with it.
 */
#ifndef VTPU_DATA_H
#define VTPU_DATA_H

#include <stdbool.h>
#include <vtpu/core.h>
#include <vtpu/device.h>
#include <vtpu/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vtpu_data;
struct vtpu_loader;

/* ---- Data sets ---------------------------------------------------------------- */

/** Which part of a data set that has two. */
enum vtpu_data_part {
	VTPU_DATA_TRAIN = 0,
	VTPU_DATA_TEST = 1,
};

/** What a data set is. Strings live as long as it. */
struct vtpu_data_info {
	size_t struct_size;	    /**< set by VTPU_INIT() */
	const char *name;	    /**< "MNIST train" */
	const char *origin;	    /**< where it was found and why there */
	uint64_t count;		    /**< samples */
	enum vtpu_dtype type;	    /**< of a sample's elements */
	struct vtpu_shape shape;    /**< of a sample: 28, 28, 1 */
	uint32_t classes;	    /**< labels are 0 .. classes - 1; 0: there are no labels */
	enum vtpu_dtype label_type; /**< u8 up to 256 classes, else s32 */
	uint64_t bytes;		    /**< of all samples, without labels */
};

/** Fill in @p info, whose struct_size is set. */
VTPU_API enum vtpu_status vtpu_data_info(const struct vtpu_data *data, struct vtpu_data_info *info);

/**
 * The same in words, without a newline:
 *
 *     MNIST train: 60000 samples u8[28,28,1] in 10 classes, 47.0 MB, from ../shared/mnist (default folder)
 *
 * Lives as long as the data set.
 */
VTPU_API const char *vtpu_data_describe(const struct vtpu_data *data);

/** Give a data set back; NULL is fine. */
VTPU_API void vtpu_data_destroy(struct vtpu_data *data);

/**
 * MNIST or Fashion-MNIST, whichever there is: the folder MNIST_DIR, else
 * "mnist" in the folder VTPU_DATA (default "../shared"), else that of the Debian
 * package dataset-fashion-mnist. Programs should print vtpu_data_describe(), which
 * says what was taken.
 *
 * Fails with NOT_FOUND (the sentence lists where it looked), and as vtpu_data_idx().
 */
VTPU_API enum vtpu_status vtpu_data_mnist(enum vtpu_data_part part, struct vtpu_data **data);

/**
 * CIFAR-10: the files data_batch_N.bin (as many of 1..5 as there are), or
 * test_batch.bin, plain or packed (.gz, .xz), in "cifar10" of the folder
 * VTPU_DATA (default "../shared"). Fails as vtpu_data_cifar10_files(), and with NOT_FOUND.
 */
VTPU_API enum vtpu_status vtpu_data_cifar10(enum vtpu_data_part part, struct vtpu_data **data);

/**
 * Images and labels in idx files, plain or packed by gzip or xz.
 * @param name     for reports; NULL: the images' path
 * @param images   path; u8 elements, dimensions [count, ...]
 * @param labels   path; u8 elements, [count]
 * @param classes  labels are below this; 0: one more than the largest
 * @param data     the data set; images of two dimensions get a third, 1
 *
 * Fails with IO (cannot be read, truncated, wrong magic number, more bytes than
 * announced), SHAPE_MISMATCH (as many labels as images?), INVALID_ARGUMENT (a label out
 * of range: which, and its value), OUT_OF_HOST_MEMORY.
 */
VTPU_API enum vtpu_status vtpu_data_idx(const char *name, const char *images, const char *labels,
					uint32_t classes, struct vtpu_data **data);

/**
 * Images of 32x32x3 in CIFAR-10's binary layout, plain or packed by gzip or xz.
 * Planes become channels-last. Fails as vtpu_data_idx().
 */
VTPU_API enum vtpu_status vtpu_data_cifar10_files(const char *name, const char *const *paths,
						  size_t count, struct vtpu_data **data);

/** What samples of the caller's are. */
struct vtpu_data_format {
	size_t struct_size;	 /**< set by VTPU_INIT() */
	const char *name;	 /**< for reports; copied; NULL: "samples" */
	uint64_t count;		 /**< at least 1 */
	enum vtpu_dtype type;	 /**< default f32 */
	struct vtpu_shape shape; /**< of one sample */
	uint32_t classes;	 /**< 0: no labels; at most 2^24 */
};

/**
 * Samples in memory.
 * @param samples  [count][...]; not copied: must stay as long as the data set
 * @param labels   [count], copied; NULL if there are no classes
 */
VTPU_API enum vtpu_status vtpu_data_memory(const struct vtpu_data_format *format,
					   const void *samples, const int32_t *labels,
					   struct vtpu_data **data);

/**
 * Gets one sample from the caller.
 * @param arg     as given
 * @param index   which, 0 .. count - 1, in any order
 * @param sample  room for it
 * @param label   gets its label; not looked at without classes
 * @return NULL, or what went wrong: a string that lives until the data set is destroyed
 *
 * Called from a loader's threads.
 */
typedef const char *(*vtpu_read_fn)(void *arg, uint64_t index, void *sample, int32_t *label);

/**
 * Samples that a function gives.
 * @param parallel  it may be called from several threads at the same time
 */
VTPU_API enum vtpu_status vtpu_data_callback(const struct vtpu_data_format *format,
					     vtpu_read_fn read, void *arg, bool parallel,
					     struct vtpu_data **data);

/**
 * Read one sample, as it is in the data set.
 * @param sample  room for it; NULL: not wanted
 * @param label   NULL: not wanted; -1 without classes
 */
VTPU_API enum vtpu_status vtpu_data_read(const struct vtpu_data *data, uint64_t index, void *sample,
					 int32_t *label);

/* ---- Random numbers for augmentation ----------------------------------------------- */

/** A sequence of random numbers that belongs to one sample in one epoch. Opaque. */
struct vtpu_random {
	uint32_t key[2];
	uint32_t counter[4];
	uint32_t word[4];
	uint32_t left;
};

/** The sequence of (@p seed, @p stream, @p index, @p epoch): the same on every machine. */
VTPU_API struct vtpu_random vtpu_random_make(uint32_t seed, uint32_t stream, uint64_t index,
					     uint32_t epoch);

/** 32 random bits. */
VTPU_API uint32_t vtpu_random_bits(struct vtpu_random *random);

/** A whole number from 0 up to, not with, @p limit; 0 for limit 0. */
VTPU_API uint32_t vtpu_random_below(struct vtpu_random *random, uint32_t limit);

/** A number from 0 up to, not with, 1: a multiple of 2^-24. */
VTPU_API float vtpu_random_float(struct vtpu_random *random);

/* ---- Loaders -------------------------------------------------------------------------- */

/**
 * Makes what the device gets out of a sample: augmentation, decoding.
 * @param arg     as given
 * @param in      the sample, as it is in the data set
 * @param out     what the device gets, of the loader's type and shape
 * @param label   the label, which may be changed; NULL without classes
 * @param random  the sample's own sequence, another in each epoch
 * @return NULL, or what went wrong: a constant string
 *
 * Called from several threads at the same time, for different samples.
 */
typedef const char *(*vtpu_map_fn)(void *arg, const void *in, void *out, int32_t *label,
				   struct vtpu_random *random);

/** Where a loader's batches are put together. */
enum vtpu_loader_place {
	/** in HBM if there is no map function, samples are in memory and take at most a quarter of the free HBM; else on the host */
	VTPU_LOADER_AUTO = 0,
	/** the whole data set goes to HBM once; the copy queue gathers each batch there, and the CPU copies nothing */
	VTPU_LOADER_HBM = 1,
	/** threads fill staging memory, which the copy queue brings to HBM */
	VTPU_LOADER_HOST = 2,
};

/** How to make batches. */
struct vtpu_loader_options {
	size_t struct_size; /**< set by VTPU_INIT() */
	uint32_t batch;	    /**< samples of a batch; required */
	bool shuffle;	    /**< another order in each epoch */
	bool drop_last;	    /**< leave out the last batch if it is not full */
	uint32_t seed;	    /**< of order and random numbers */
	uint64_t first;	    /**< use samples first .. first + count - 1 only */
	uint64_t count;	    /**< 0: all from first on */
	uint32_t depth;	    /**< batches in HBM at the same time, 2..16; 0: 2 */
	uint32_t threads; /**< that put batches together, up to 64; 0: one for each CPU, up to 4 */
	enum vtpu_loader_place place;	    /**< where */
	vtpu_map_fn map;		    /**< NULL: samples as they are */
	void *map_arg;			    /**< handed to it */
	enum vtpu_dtype map_type;	    /**< of what map makes; default: as the data set */
	const struct vtpu_shape *map_shape; /**< of what map makes; NULL: as the data set; copied */
	uint32_t stall_ms;		    /**< vtpu_loader_next() gives up after this; 0: 60 s */
};

/**
 * Make a loader.
 * @param device  device whose HBM gets the batches
 *
 * Fails with INVALID_ARGUMENT, OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, BUSY (no hardware queue is
 * free), DEVICE_LOST.
 */
VTPU_API enum vtpu_status vtpu_loader_create(struct vtpu_device *device, struct vtpu_data *data,
					     const struct vtpu_loader_options *options,
					     struct vtpu_loader **loader);

/**
 * Give a loader back; NULL is fine. Waits for its threads and copies, so also for a
 * function of the caller that is being called. Batches must not be used any more.
 */
VTPU_API void vtpu_loader_destroy(struct vtpu_loader *loader);

/** Batches of an epoch. */
VTPU_API uint64_t vtpu_loader_batches(const struct vtpu_loader *loader);

/** Type and shape of a whole batch's samples: u8[1024,28,28,1]. */
VTPU_API struct vtpu_shape vtpu_loader_shape(const struct vtpu_loader *loader,
					     enum vtpu_dtype *type);

/** Begin an epoch at batch @p first; what was under way is given up. All batches must be released. */
VTPU_API enum vtpu_status vtpu_loader_begin(struct vtpu_loader *loader, uint32_t epoch,
					    uint64_t first);

/** A batch in HBM. */
struct vtpu_batch {
	struct vtpu_buffer *x;	    /**< [batch, ...] samples; rows from count on repeat a sample */
	struct vtpu_buffer *labels; /**< [batch]; NULL without classes */
	struct vtpu_buffer
		*weights; /**< [batch] f32: 1 for samples, 0 for rows that only fill it up */
	struct vtpu_event *ready; /**< when it has arrived; lives until release */
	uint32_t count;		  /**< samples; 0: the epoch is over, and there is no batch */
	uint32_t slot;		  /**< which of the loader's places it is in */
	uint64_t index;		  /**< place in the epoch */
};

/**
 * Get the next batch, waiting until the copy that brings it is entered.
 * @param batch  gets it; count is 0 behind the last
 *
 * Fails when the source fails or does not answer in time: IO (it said why), TIMEOUT,
 * INVALID_ARGUMENT (a label out of range), each naming sample and epoch; as copies fail
 * (vtpu_event_wait()). After that the loader wants a new vtpu_loader_begin(). BUSY: all batches are out,
 * release one.
 */
VTPU_API enum vtpu_status vtpu_loader_next(struct vtpu_loader *loader, struct vtpu_batch *batch);

/**
 * Give a batch back. In the order they came.
 * @param done  its buffers are filled again only after this has ended; NULL: at once
 */
VTPU_API void vtpu_loader_release(struct vtpu_loader *loader, struct vtpu_batch *batch,
				  struct vtpu_event *done);

/**
 * Which samples a batch has, in order.
 * @param index  gets their numbers in the data set; room for a batch
 * @return how many: less than a batch for the last; 0 behind it
 */
VTPU_API uint32_t vtpu_loader_samples(const struct vtpu_loader *loader, uint32_t epoch,
				      uint64_t batch, uint64_t *index);

/** What a loader did since it was made. */
struct vtpu_loader_stats {
	size_t struct_size;	      /**< set by VTPU_INIT() */
	enum vtpu_loader_place place; /**< HBM or HOST */
	uint32_t threads;	      /**< that fill batches */
	uint64_t batches;	      /**< given out */
	uint64_t samples;	      /**< in them */
	uint64_t host_bytes;	      /**< that the CPU wrote into staging memory */
	uint64_t hbm_bytes;	      /**< HBM that it holds */
	uint64_t waited_ns;	      /**< that vtpu_loader_next() waited for batches */
};

/** Fill in @p stats, whose struct_size is set. */
VTPU_API enum vtpu_status vtpu_loader_stats(const struct vtpu_loader *loader,
					    struct vtpu_loader_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* VTPU_DATA_H */
