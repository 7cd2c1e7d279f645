/* SPDX-License-Identifier: MIT */
/**
 * @file graph.h
 * Graphs of tensor operations: how a computation is said, before it is compiled.
 *
 * A graph is built by calls that each add an operation and give its result, a
 * tensor. Types and shapes are worked out and checked at the call. Nothing is
 * computed; no device is needed.
 *
 *     vtpu_graph_create(&g);
 *     x = vtpu_input(g, "images", VTPU_DTYPE_U8, VTPU_SHAPE(128, 28, 28, 1));
 *     x = vtpu_affine(g, x, 1 / 255.f, 0, VTPU_DTYPE_F32);
 *     vtpu_scope_begin(g, "conv1");
 *     w = vtpu_parameter(g, "weights", VTPU_DTYPE_F32, VTPU_SHAPE(3, 3, 1, 32), &he);
 *     x = vtpu_relu(g, vtpu_conv2d(g, x, w, NULL));
 *     vtpu_scope_end(g);
 *     vtpu_output(g, x, "features");
 *     status = vtpu_graph_status(g);
 *
 * This header has the graph itself, where values come from and go to,
 * gradients, dumps, and reading. The operations are in <vtpu/graph_ops.h>.
 *
 * Errors. The first error is kept: later calls do nothing and return NULL, and
 * so may be chained without looking. vtpu_graph_status() tells it, with a sentence
 * that names operation, tensors and shapes. A NULL tensor is an error too.
 *
 * Steps. A graph says what one step does. All reads of a parameter in it see the
 * value from before the step; vtpu_assign() and the optimisers say what the
 * parameter is after it. So operations have no order but that of the data.
 *
 * Ownership. Graph, tensors, names and attributes live until
 * vtpu_graph_destroy(). What callers hand over (names, shapes, attributes,
 * data) is copied.
 *
 * Threads. A graph belongs to one thread at a time.
 *
 * Limits. Rank 0..6, each dimension 1..2^31, 2^44 elements a tensor.
 */
#ifndef VTPU_GRAPH_H
#define VTPU_GRAPH_H

#include <stdbool.h>
#include <vtpu/core.h>
#include <vtpu/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vtpu_graph;
/** An operation with its attributes, inputs and results. */
struct vtpu_node;
/** A result of an operation: a type, a shape, a name. */
struct vtpu_tensor;

/** Most dimensions of a tensor. */
#define VTPU_MAX_RANK 6

/** Sizes of a tensor, outermost first, row-major and dense. Rank 0 is a single value. */
struct vtpu_shape {
	uint32_t rank;
	int64_t dim[VTPU_MAX_RANK];
};

/** A shape as an expression: VTPU_SHAPE(128, 28, 28, 1). */
#define VTPU_SHAPE(...) \
	((struct vtpu_shape){ sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), \
			      { __VA_ARGS__ } })

/** The shape of a single value. */
#define VTPU_SHAPE_SCALAR ((struct vtpu_shape){ 0, { 0 } })

/* ---- Graphs ----------------------------------------------------------------- */

/** Begin a graph; free it with vtpu_graph_destroy(). */
VTPU_API enum vtpu_status vtpu_graph_create(struct vtpu_graph **graph);

/** Free a graph and all that belongs to it; NULL is fine. */
VTPU_API void vtpu_graph_destroy(struct vtpu_graph *graph);

/** The first error of any call on this graph, with its sentence; VTPU_OK if there was none. */
VTPU_API enum vtpu_status vtpu_graph_status(const struct vtpu_graph *graph);

/**
 * Begin a scope: names of what is added until vtpu_scope_end() start with "@p name/".
 * Scopes may be nested. A name that was used before goes on with that scope.
 *
 * Names, here and below, are letters, digits and the characters _ . - with
 * slashes between, at most 200 bytes with all scopes around.
 */
VTPU_API void vtpu_scope_begin(struct vtpu_graph *graph, const char *name);

/** End the innermost scope. */
VTPU_API void vtpu_scope_end(struct vtpu_graph *graph);

/**
 * Rename the operation that made @p tensor, within the present scope.
 *
 * Operations are named after what they do ("conv1/relu"; "conv1/relu_1" the
 * second time). Their first result is called the same, others "pool1/max_pool:index".
 * @return @p tensor
 */
VTPU_API struct vtpu_tensor *vtpu_set_name(struct vtpu_graph *graph, struct vtpu_tensor *tensor,
					   const char *name);

/* ---- Where values come from --------------------------------------------------- */

/** What each step is fed. */
VTPU_API struct vtpu_tensor *vtpu_input(struct vtpu_graph *graph, const char *name,
					enum vtpu_dtype type, struct vtpu_shape shape);

/**
 * A single number that each step is given as an argument: learning rate, step,
 * seed. Another value never needs another program.
 * @param type  f32 or s32
 */
VTPU_API struct vtpu_tensor *vtpu_scalar(struct vtpu_graph *graph, const char *name,
					 enum vtpu_dtype type);

/**
 * Values that never change.
 * @param name   NULL: "constant"
 * @param bytes  of @p data; must be what type and shape say
 */
VTPU_API struct vtpu_tensor *vtpu_constant(struct vtpu_graph *graph, const char *name,
					   enum vtpu_dtype type, struct vtpu_shape shape,
					   const void *data, size_t bytes);

/** A number as a constant of rank 0. @param type  f32 or bf16 */
VTPU_API struct vtpu_tensor *vtpu_number(struct vtpu_graph *graph, enum vtpu_dtype type,
					 float value);

/** How a parameter starts. */
enum vtpu_initial_kind {
	VTPU_INITIAL_ZEROS = 0,
	VTPU_INITIAL_CONSTANT = 1,	 /**< mean */
	VTPU_INITIAL_UNIFORM = 2,	 /**< mean - spread up to, not with, mean + spread */
	VTPU_INITIAL_NORMAL = 3,	 /**< standard deviation spread around mean */
	VTPU_INITIAL_HE_UNIFORM = 4,	 /**< uniform, spread sqrt(6 / fan_in) */
	VTPU_INITIAL_HE_NORMAL = 5,	 /**< normal, deviation sqrt(2 / fan_in) */
	VTPU_INITIAL_GLOROT_UNIFORM = 6, /**< uniform, spread sqrt(6 / (fan_in + fan_out)) */
	VTPU_INITIAL_GLOROT_NORMAL = 7,	 /**< normal, deviation sqrt(2 / (fan_in + fan_out)) */
	VTPU_INITIAL_DATA = 8,		 /**< data */
};

/**
 * How a parameter starts; zero is zeros.
 *
 * Random values depend on seed, the parameter's name and the element's index
 * alone, and are the same bits on every machine. fan_in is the product of all
 * dimensions but the last, fan_out the last times those before the last two.
 */
struct vtpu_initial {
	enum vtpu_initial_kind kind;
	float mean;
	float spread;
	uint32_t seed;
	const void *data;  /**< VTPU_INITIAL_DATA: all elements; copied */
	size_t data_bytes; /**< of data; must be what type and shape say */
};

/**
 * A named variable that training changes and that outlives a step.
 * @param initial  NULL: zeros. Random kinds need f32 or bf16
 */
VTPU_API struct vtpu_tensor *vtpu_parameter(struct vtpu_graph *graph, const char *name,
					    enum vtpu_dtype type, struct vtpu_shape shape,
					    const struct vtpu_initial *initial);

/** As vtpu_parameter(), for what training keeps but does not train: running means, moments. */
VTPU_API struct vtpu_tensor *vtpu_state(struct vtpu_graph *graph, const char *name,
					enum vtpu_dtype type, struct vtpu_shape shape,
					const struct vtpu_initial *initial);

/**
 * Work out how a parameter or state starts.
 * @param data   gets its elements
 * @param bytes  room in @p data; must be what type and shape say
 */
VTPU_API enum vtpu_status vtpu_initial_values(const struct vtpu_tensor *parameter, void *data,
					      size_t bytes);

/* ---- Where values go ------------------------------------------------------------ */

/** Make @p tensor a result of each step. @param name  NULL: "<tensor's name>/output" */
VTPU_API void vtpu_output(struct vtpu_graph *graph, struct vtpu_tensor *tensor, const char *name);

/** After the step, @p parameter (or state) is @p value. Once for each in a graph. */
VTPU_API void vtpu_assign(struct vtpu_graph *graph, struct vtpu_tensor *parameter,
			  struct vtpu_tensor *value);

/* ---- Gradients -------------------------------------------------------------------- */

/**
 * Add the operations that compute gradients of a loss.
 * @param loss       a single value, f32 or bf16
 * @param wrt        with respect to what: parameters, or any tensors
 * @param count      number of @p wrt
 * @param gradients  gets a tensor for each of @p wrt, of its type and shape
 *
 * New operations are named "grad/<name of the operation>/...". Where a tensor is
 * used more than once, its gradients are added from the last use to the first.
 * Gradients may be taken of gradients as far as the operations have them.
 *
 * Fails when an operation on the way has no gradient, or when there is no way.
 */
VTPU_API enum vtpu_status vtpu_gradients(struct vtpu_graph *graph, struct vtpu_tensor *loss,
					 struct vtpu_tensor *const *wrt, size_t count,
					 struct vtpu_tensor **gradients);

/* ---- Dumps ------------------------------------------------------------------------ */

/**
 * A graph as text, one line an operation in order of the calls:
 *
 *     conv1/conv2d = conv2d(images, conv1/weights) stride=2,2 : f32[128,13,13,32]
 *
 * Attributes at their plain value (stride 1, no padding) are left out.
 * @param text  gets the text, ending in NUL; free() it
 */
VTPU_API enum vtpu_status vtpu_graph_text(const struct vtpu_graph *graph, char **text);

/** A graph in Graphviz' language, scopes as boxes around operations. @param text  free() it */
VTPU_API enum vtpu_status vtpu_graph_dot(const struct vtpu_graph *graph, char **text);

/* ---- Reading, for tools --------------------------------------------------------------- */

/** Number of operations. */
VTPU_API size_t vtpu_graph_size(const struct vtpu_graph *graph);

/** Operation @p index, in order of the calls: inputs come before what uses them. NULL behind the last. */
VTPU_API const struct vtpu_node *vtpu_graph_node(const struct vtpu_graph *graph, size_t index);

/** The tensor of that whole name, or NULL. */
VTPU_API struct vtpu_tensor *vtpu_graph_find(const struct vtpu_graph *graph, const char *name);

/**
 * The trainable parameters, in order of the calls.
 * @param list  gets the first @p room of them
 * @return how many there are
 */
VTPU_API size_t vtpu_graph_parameters(const struct vtpu_graph *graph, struct vtpu_tensor **list,
				      size_t room);

/** What it does: "conv2d". A constant string. */
VTPU_API const char *vtpu_node_op(const struct vtpu_node *node);

/** Its name: "conv1/conv2d". */
VTPU_API const char *vtpu_node_name(const struct vtpu_node *node);

/** Its place in the graph, for vtpu_graph_node(). */
VTPU_API size_t vtpu_node_index(const struct vtpu_node *node);

/** Number of inputs. */
VTPU_API size_t vtpu_node_inputs(const struct vtpu_node *node);

/** Input @p index, or NULL behind the last. */
VTPU_API struct vtpu_tensor *vtpu_node_input(const struct vtpu_node *node, size_t index);

/** Number of results. */
VTPU_API size_t vtpu_node_outputs(const struct vtpu_node *node);

/** Result @p index, or NULL behind the last. */
VTPU_API struct vtpu_tensor *vtpu_node_output(const struct vtpu_node *node, size_t index);

/**
 * Its attributes: the struct that <vtpu/graph_ops.h> names for the operation,
 * with all defaults filled in; NULL if the operation has none.
 */
VTPU_API const void *vtpu_node_attrs(const struct vtpu_node *node);

/** What an attribute is an array of. */
enum vtpu_attr_kind {
	VTPU_ATTR_INT = 0,   /**< int32_t */
	VTPU_ATTR_UINT = 1,  /**< uint32_t */
	VTPU_ATTR_FLOAT = 2, /**< float */
	VTPU_ATTR_BOOL = 3,  /**< bool */
	VTPU_ATTR_TYPE = 4,  /**< enum vtpu_dtype */
	VTPU_ATTR_SHAPE = 5, /**< struct vtpu_shape */
	VTPU_ATTR_BYTES = 6, /**< uint8_t */
	VTPU_ATTR_AXES = 7,  /**< uint32_t, a set of VTPU_AXIS() */
	VTPU_ATTR_ENUM = 8,  /**< an enum, of values from 0 */
};

/** An attribute, for tools that know no operation by name. */
struct vtpu_attr {
	const char *name;
	enum vtpu_attr_kind kind;
	size_t count;		  /**< elements */
	bool plain;		  /**< all have the value that means nothing special */
	const void *value;	  /**< @p count of them */
	const char *const *words; /**< VTPU_ATTR_ENUM: a word for each value */
};

/** Attribute @p index; false behind the last. */
VTPU_API bool vtpu_node_attr(const struct vtpu_node *node, size_t index, struct vtpu_attr *attr);

/** Element type; VTPU_DTYPE_DEFAULT for NULL. */
VTPU_API enum vtpu_dtype vtpu_tensor_type(const struct vtpu_tensor *tensor);

/** Shape; rank 0 for NULL. */
VTPU_API struct vtpu_shape vtpu_tensor_shape(const struct vtpu_tensor *tensor);

/** Number of elements; 0 for NULL. */
VTPU_API uint64_t vtpu_tensor_elements(const struct vtpu_tensor *tensor);

/** Name: "conv1/relu". */
VTPU_API const char *vtpu_tensor_name(const struct vtpu_tensor *tensor);

/** The operation that makes it. */
VTPU_API const struct vtpu_node *vtpu_tensor_node(const struct vtpu_tensor *tensor);

/** Which result of that operation it is. */
VTPU_API size_t vtpu_tensor_output(const struct vtpu_tensor *tensor);

/** Of a parameter or state: the operation that changes it, or NULL. */
VTPU_API const struct vtpu_node *vtpu_tensor_update(const struct vtpu_tensor *parameter);

/** What there is to know of an operation without a graph. */
struct vtpu_op_info {
	const char *name; /**< as vtpu_node_op() gives it; a constant string */
	uint32_t inputs;  /**< number of inputs */
	uint32_t outputs; /**< number of results */
	bool gradient;	  /**< has a gradient rule */
};

/** Operation @p index of all that graphs can have, in no order; false behind the last. */
VTPU_API bool vtpu_op_info(size_t index, struct vtpu_op_info *info);

#ifdef __cplusplus
}
#endif

#include <vtpu/graph_ops.h>

#endif /* VTPU_GRAPH_H */
