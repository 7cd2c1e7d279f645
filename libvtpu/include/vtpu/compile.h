/* SPDX-License-Identifier: MIT */
/**
 * @file compile.h
 * From a graph to something that runs: variables, the compiler, executables.
 *
 *     vtpu_variables_create(dev, graph, 8, &vars);
 *     struct vtpu_compile_options options = VTPU_INIT(options, .cores = 8);
 *     vtpu_compile(graph, dev, vars, &options, &exe);
 *     vtpu_execute(exe, stream, feeds, 2, scalars, 2, results, 2, &event);
 *
 * Batches. Dimension 0 of every input of rank 1 or more is the batch, the same size
 * for all. It is cut into equal parts, one for each core: core c has rows
 * c * batch / cores and on. Inputs, and results with a row for each image, are plain
 * dense arrays of the whole batch in HBM. What is summed over the batch is summed over the
 * cores, too, and ends up equal on all of them.
 *
 * Bits depend on the number of cores and on nothing else: not on tiles, fusion,
 * host threads or instruction sets.
 *
 * Threads: objects may be used by one thread at a time. Executables of one set of variables
 * run one after the other: enter them into one stream, or order streams by events.
 */
#ifndef VTPU_COMPILE_H
#define VTPU_COMPILE_H

#include <stdbool.h>
#include <vtpu/device.h>
#include <vtpu/graph.h>
#include <vtpu/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Variables -------------------------------------------------------------- */

/**
 * Parameters and states in a device's HBM, by name. Each core has a replica of
 * them, but for moments that optimisers alone use: of these each core has its share.
 */
struct vtpu_variables;

/**
 * Allocate the variables of a graph and give them their initial values.
 * @param device     device
 * @param graph      the graph that trains: one that has all the variables there will be
 * @param cores      that share the batch, 1..64; 0: all of the device
 * @param variables  free them with vtpu_variables_destroy()
 *
 * Graphs that are compiled with these variables later (to evaluate, to predict) must have
 * been made of the same ones, or of some of them: names, types and shapes are compared.
 */
VTPU_API enum vtpu_status vtpu_variables_create(struct vtpu_device *device,
						const struct vtpu_graph *graph, uint32_t cores,
						struct vtpu_variables **variables);

/** Give variables back; executables that use them must be gone, and jobs have ended. NULL is fine. */
VTPU_API void vtpu_variables_destroy(struct vtpu_variables *variables);

/** What there is of a variable. */
struct vtpu_variable_info {
	const char *name; /**< lives as long as the variables */
	enum vtpu_dtype type;
	struct vtpu_shape shape;
	uint64_t bytes;	 /**< dense, of one replica */
	bool trainable;	 /**< made by vtpu_parameter() */
	bool replicated; /**< every core has all of it; else each has a share */
};

/** Number of variables. */
VTPU_API size_t vtpu_variables_count(const struct vtpu_variables *variables);

/** Variable @p index, in order of the graph's calls. @return VTPU_ERROR_NOT_FOUND behind the last */
VTPU_API enum vtpu_status vtpu_variables_info(const struct vtpu_variables *variables, size_t index,
					      struct vtpu_variable_info *info);

/** Find a variable. @return VTPU_ERROR_NOT_FOUND with a sentence that names it */
VTPU_API enum vtpu_status vtpu_variables_find(const struct vtpu_variables *variables,
					      const char *name, size_t *index);

/** Read a variable (replica 0) and wait; not ordered with streams. @param bytes  must be the variable's */
VTPU_API enum vtpu_status vtpu_variables_read(struct vtpu_variables *variables, const char *name,
					      void *data, uint64_t bytes);

/** Write a variable, all replicas, and wait. As vtpu_variables_read(). */
VTPU_API enum vtpu_status vtpu_variables_write(struct vtpu_variables *variables, const char *name,
					       const void *data, uint64_t bytes);

/**
 * Compare all replicas, bit by bit.
 * @return VTPU_ERROR_NUMERIC with a sentence that names the first core and tensor that differ
 */
VTPU_API enum vtpu_status vtpu_variables_check(struct vtpu_variables *variables);

/** Cores that share the batch. */
VTPU_API uint32_t vtpu_variables_cores(const struct vtpu_variables *variables);

/** Bytes of HBM that they take, all replicas together. */
VTPU_API uint64_t vtpu_variables_bytes(const struct vtpu_variables *variables);

/* ---- Compiling -------------------------------------------------------------- */

/** What matrix products and convolutions compute in. */
enum vtpu_precision {
	VTPU_PRECISION_F32 = 0, /**< as the graph says */
	/** f32 operands are rounded to bf16; sums, losses, statistics and variables stay f32 */
	VTPU_PRECISION_BF16 = 1,
};

/** How to compile. */
struct vtpu_compile_options {
	size_t struct_size; /**< set by VTPU_INIT() */
	uint32_t cores;	    /**< 0: those of the variables, else all of the device */
	enum vtpu_precision precision;
	const char *name; /**< for reports; NULL: "graph" */
	/** without a device: what to compile for. The result can be looked at, but not run */
	const struct vtpu_hw_geometry *geometry;
	uint32_t tile; /**< images of a tile; 0: chosen by modelled time */
	/** folder for finished programs; NULL: the environment variable VTPU_CACHE_DIR, else none; "": none */
	const char *cache_dir;
	/** folder for a text of each pass; NULL: the environment variable VTPU_DUMP, else none */
	const char *dump_dir;
	bool no_shrink;	 /**< compute rows and columns that nobody uses, too; same bits */
	bool no_fuse;	 /**< an instruction for each operation; bits may differ */
	bool no_overlap; /**< gradients are summed over the cores after the whole backward pass */
};

/** A compiled graph. */
struct vtpu_executable;

/**
 * Compile a graph and load it.
 * @param graph      not needed any more afterwards
 * @param device     NULL: for looking only, see options->geometry
 * @param variables  must stay until the executable is destroyed; NULL: the graph has none, or
 *                   it is for looking only
 * @param options    NULL: all defaults
 * @param executable free it with vtpu_executable_destroy()
 *
 * Fails with the graph's own error; SHAPE_MISMATCH (the batch is not a multiple of the cores);
 * UNSUPPORTED (the sentence names operation and reason); OUT_OF_DEVICE_MEMORY (what does not fit, and
 * the largest batch that would); NOT_FOUND, SHAPE_MISMATCH (variables of another model).
 */
VTPU_API enum vtpu_status vtpu_compile(const struct vtpu_graph *graph, struct vtpu_device *device,
				       struct vtpu_variables *variables,
				       const struct vtpu_compile_options *options,
				       struct vtpu_executable **executable);

/** Give an executable back; its jobs must have ended. NULL is fine. */
VTPU_API void vtpu_executable_destroy(struct vtpu_executable *executable);

/* ---- Running ---------------------------------------------------------------- */

/** Where an input is, or where a result goes: a place in HBM. */
struct vtpu_place {
	const char *name;
	struct vtpu_buffer *buffer;
	uint64_t offset; /**< a multiple of 64 */
};

/** Value of a vtpu_scalar(), of either type. */
struct vtpu_argument {
	const char *name;
	double value; /**< s32: a whole number */
};

/**
 * Enter one step into a stream: one job.
 * @param feeds      one for each input of the graph that is used, in any order
 * @param scalars    one for each scalar of the graph that is used, in any order
 * @param results    one for each output, in any order; see vtpu_executable_io() for sizes
 * @param event      NULL, or gets an event
 *
 * More names than there are is no error if the graph has them and does not use them.
 * Buffers must stay until the job has ended.
 * Fails with NOT_FOUND (a name that the graph has not), INVALID_ARGUMENT (one is missing or twice, or a value is
 * no s32; the sentence names it), and as vtpu_run().
 */
VTPU_API enum vtpu_status vtpu_execute(struct vtpu_executable *executable,
				       struct vtpu_stream *stream, const struct vtpu_place *feeds,
				       size_t nfeeds, const struct vtpu_argument *scalars,
				       size_t nscalars, const struct vtpu_place *results,
				       size_t nresults, struct vtpu_event **event);

/** What vtpu_execute() takes. */
enum vtpu_io_kind {
	VTPU_IO_FEED = 0,
	VTPU_IO_SCALAR = 1,
	VTPU_IO_RESULT = 2,
};

/** An input, scalar or result of an executable. */
struct vtpu_io_info {
	const char *name; /**< lives as long as the executable */
	enum vtpu_dtype type;
	struct vtpu_shape shape; /**< of the whole batch */
	uint64_t bytes;		 /**< of one array of that shape */
	/** bytes that the bound place must have: @p bytes, or for a result that every core has a copy of (@p
	 *  replica_stride not 0), cores times the stride. The first @p bytes are the result in both cases */
	uint64_t place_bytes;
	uint64_t replica_stride;
	bool used; /**< feeds and scalars that no result or variable depends on need not be given */
};

/** Number of inputs, scalars or results. */
VTPU_API size_t vtpu_executable_io_count(const struct vtpu_executable *executable,
					 enum vtpu_io_kind kind);

/** Input, scalar or result @p index. @return VTPU_ERROR_NOT_FOUND behind the last */
VTPU_API enum vtpu_status vtpu_executable_io(const struct vtpu_executable *executable,
					     enum vtpu_io_kind kind, size_t index,
					     struct vtpu_io_info *info);

/* ---- Looking ---------------------------------------------------------------- */

/** Numbers of an executable. */
struct vtpu_executable_info {
	size_t struct_size; /**< set by VTPU_INIT() */
	uint32_t cores;
	uint64_t batch; /**< 0: no input has one */
	uint32_t tile;	/**< images that are in VMEM at a time, of each core */
	enum vtpu_precision precision;
	uint64_t cycles;	  /**< modelled, of one run */
	double seconds;		  /**< the same, at the modelled clock */
	uint64_t mxu_cycles;	  /**< of all cores together */
	uint64_t macs;		  /**< multiply-adds, of all cores together */
	uint64_t hbm_traffic;	  /**< bytes moved in one run, of all cores together */
	uint64_t exchange;	  /**< bytes that cores send each other in one run, all together */
	uint64_t instances;	  /**< instructions times cores */
	uint64_t hbm_params;	  /**< bytes of HBM, all cores together: of parameters, */
	uint64_t hbm_states;	  /**< of states, */
	uint64_t hbm_feeds;	  /**< of inputs (bound by the caller), */
	uint64_t hbm_results;	  /**< of results (bound by the caller), */
	uint64_t hbm_temp;	  /**< of what does not fit VMEM */
	uint64_t vmem_bytes;	  /**< VMEM that a core uses */
	uint64_t vmem_size;	  /**< VMEM that a core has */
	uint64_t compile_ns;	  /**< host time of vtpu_compile() */
	uint64_t exchange_cycles; /**< summed spans of sums over cores: first send to last arrival */
	double exchange_hidden; /**< part of exchange_cycles that the step would not be shorter without */
	uint32_t regions;	/**< times that the batch is walked */
	bool from_cache;	/**< came from the cache, in memory or on disk */
	const char *
		cache_note; /**< a sentence: where from, or why not; lives as long as the executable */
};

/** Fill in @p info, whose struct_size is set. */
VTPU_API enum vtpu_status vtpu_executable_info(const struct vtpu_executable *executable,
					       struct vtpu_executable_info *info);

/** Time and work of an operation, of one core. */
struct vtpu_op_cost {
	const char *name; /**< of the graph's operation; lives as long as the executable */
	uint32_t instructions;
	uint64_t cycles; /**< that its instructions keep their units busy */
	uint64_t macs;
	uint64_t hbm_bytes;
};

/** Operations with instructions, those that were fused into others not counted. */
VTPU_API size_t vtpu_executable_op_count(const struct vtpu_executable *executable);

/** Operation @p index, in order of the graph. @return VTPU_ERROR_NOT_FOUND behind the last */
VTPU_API enum vtpu_status vtpu_executable_op(const struct vtpu_executable *executable, size_t index,
					     struct vtpu_op_cost *cost);

/** All of the above and what the passes decided, as text. @param text  free() it */
VTPU_API enum vtpu_status vtpu_executable_explain(const struct vtpu_executable *executable,
						  char **text);

/** The program. Lives as long as the executable. */
VTPU_API const struct vtpu_image *vtpu_executable_image(const struct vtpu_executable *executable);

/** The loaded program; NULL without a device. Lives as long as the executable. */
VTPU_API struct vtpu_program *vtpu_executable_program(const struct vtpu_executable *executable);

#ifdef __cplusplus
}
#endif

#endif /* VTPU_COMPILE_H */
