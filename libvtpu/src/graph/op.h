/* SPDX-License-Identifier: MIT */
/*
 * op.h - what an operation is made of, and what files in graph/ops share.
 *
 * A family of operations is one file in graph/ops: descriptors, shape
 * inference, gradients, lowering, and the public calls that add nodes. To add an
 * operation, add one there, or a file; nothing else knows it by name.
 * docs/graph.md has a worked example.
 */
#ifndef VTPU_SRC_GRAPH_OP_H
#define VTPU_SRC_GRAPH_OP_H

#include <stddef.h>

#include "compile/hooks.h"
#include "graph/graph.h"

#define OP_MAX_INPUTS  8
#define OP_MAX_OUTPUTS 4

/** enum op_flag - what passes may know of an operation */
enum op_flag {
	OP_POINTWISE =
		1, /* element i of the result needs elements i of the inputs, after broadcasting */
	OP_VARIABLE = 2,  /* its result outlives the step, and can be assigned */
	OP_EFFECT = 4,	  /* has a purpose without results: never dropped */
	OP_FED = 8,	  /* gets its value from outside at each step */
	OP_CONSTANT = 16, /* has its value in its attributes */
	OP_MOVE = 32,	  /* moves elements and computes nothing */
};

/** struct op_attr - a field of an attribute struct, for dumps, cache keys and comparison */
struct op_attr {
	const char *name;
	uint16_t offset;
	uint8_t kind; /* enum vtpu_attr_kind; BYTES: field is a pointer, the size_t behind it the count */
	uint8_t count;		  /* elements; 0: one for each dimension of the first input */
	int32_t plain;		  /* value that means nothing special */
	const char *const *words; /* of an ENUM: a word for each value */
};

/* clang-format off */
/** OP_ATTR() - a row of an attribute table: OP_ATTR(vtpu_conv2d_attrs, stride, INT, 2, 1) */
#define OP_ATTR(type, field, kind, count, plain) \
	{ #field, offsetof(struct type, field), VTPU_ATTR_##kind, count, plain, NULL }
/* clang-format on */

/** struct gradient - a gradient rule at work: from the results' gradients to the inputs' */
struct gradient {
	struct vtpu_graph *graph;
	const struct vtpu_node *node;
	struct vtpu_tensor *const *dy; /* for each result; NULL: the loss does not depend on it */
	const bool *want;	       /* for each input: is its gradient asked for? */
	struct vtpu_tensor **dx;       /* for each input: to be set; NULL means zero */
};

/** struct vtpu_op - an operation */
struct vtpu_op {
	const char *name;
	const char *input[OP_MAX_INPUTS];   /* roles, for sentences; as many as there are inputs */
	const char *output[OP_MAX_OUTPUTS]; /* as many as there are results */
	uint32_t flags;
	uint32_t attr_bytes;
	const struct op_attr *attrs; /* ended by a row without name; NULL: none */

	/**
	 * @infer: checks inputs and attributes, fills in defaults of attributes, and
	 * sets type and shape of each result. Limits of shapes are checked by the core.
	 * Return: true, or what node_fail() returns
	 */
	bool (*infer)(struct vtpu_node *node);

	/**
	 * @gradient: adds the nodes that compute the gradients of the inputs, by the
	 * public calls. NULL: there is none. Errors are the graph's; none need be looked at
	 */
	void (*gradient)(struct gradient *c);

	/** @lower: makes the node into steps of instructions; NULL: the compiler cannot. See compile/lower.h */
	bool (*lower)(struct lower *l, const struct vtpu_node *node);
};

/** OP_REGISTER() - put an operation on the list that vtpu_op_info() reads */
#define OP_REGISTER(op) \
	static const struct vtpu_op *const op##_entry \
		__attribute__((section("vtpu_ops"), used)) = &(op)

/* ---- Adding nodes (graph.c) --------------------------------------------------------- */

/**
 * graph_add() - add a node
 * @name: the user's, checked, in the present scope; NULL: made from the operation's
 * @attrs: copied; NULL: zeros
 *
 * Return: the node, or NULL after an error, which is the graph's
 */
struct vtpu_node *graph_add(struct vtpu_graph *g, const struct vtpu_op *op, const char *name,
			    const void *attrs, struct vtpu_tensor *const *input, uint32_t inputs);

/** graph_call() - graph_add() without a name of its own; returns the first result */
struct vtpu_tensor *graph_call(struct vtpu_graph *g, const struct vtpu_op *op, const void *attrs,
			       struct vtpu_tensor *const *input, uint32_t inputs);

/** OP_CALL() - OP_CALL(g, &op_add, NULL, a, b) */
#define OP_CALL(g, op, attrs, ...) \
	graph_call(g, op, attrs, (struct vtpu_tensor *[]){ __VA_ARGS__ }, \
		   sizeof((struct vtpu_tensor *[]){ __VA_ARGS__ }) / sizeof(struct vtpu_tensor *))

/* ---- For inference (check.c) ---------------------------------------------------------- */

/** node_fail() - an error of @node, which the sentence names first; false always */
bool node_fail(struct vtpu_node *node, enum vtpu_status status, const char *fmt, ...)
	VTPU_PRINTF(3, 4);

/** node_mismatch() - shapes do not fit; false always */
#define node_mismatch(node, ...) node_fail(node, VTPU_ERROR_SHAPE_MISMATCH, __VA_ARGS__)

/** node_invalid() - an attribute or a type is not possible; false always */
#define node_invalid(node, ...) node_fail(node, VTPU_ERROR_INVALID_ARGUMENT, __VA_ARGS__)

/** node_show() - an input in words: "weights 'conv1/weights' [3,3,1,32]" */
const char *node_show(const struct vtpu_node *node, uint32_t input);

/** node_float() - input must be f32 or bf16 */
bool node_float(struct vtpu_node *node, uint32_t input);

/** node_type() - input must have this type */
bool node_type(struct vtpu_node *node, uint32_t input, enum vtpu_dtype type);

/** node_same_type() - all inputs must have the type of the first */
bool node_same_type(struct vtpu_node *node);

/** node_rank() - input must have this rank, whose dimensions are @layout: "[rows, columns]" */
bool node_rank(struct vtpu_node *node, uint32_t input, uint32_t rank, const char *layout);

/** node_shape() - input must have this shape, because of @why: "one for each channel of ..." */
bool node_shape(struct vtpu_node *node, uint32_t input, const struct vtpu_shape *shape,
		const char *why);

/** node_same_shape() - input must have the shape of input @other */
bool node_same_shape(struct vtpu_node *node, uint32_t input, uint32_t other);

/** node_set() - type and shape of a result; true always */
bool node_set(struct vtpu_node *node, uint32_t output, enum vtpu_dtype type,
	      const struct vtpu_shape *shape);

/** node_in_type() - type of an input */
static inline enum vtpu_dtype node_in_type(const struct vtpu_node *node, uint32_t input)
{
	return node->input[input]->type;
}

/** node_in_shape() - shape of an input */
static inline const struct vtpu_shape *node_in_shape(const struct vtpu_node *node, uint32_t input)
{
	return &node->input[input]->shape;
}

/** dtype_is_float() - does the type compute? */
static inline bool dtype_is_float(enum vtpu_dtype type)
{
	return type == VTPU_DTYPE_F32 || type == VTPU_DTYPE_BF16;
}

/* ---- For gradients (gradient.c) ---------------------------------------------------------- */

/** gradient_none() - the rule of what is constant almost everywhere: comparisons */
void gradient_none(struct gradient *c);

/** gradient_unbroadcast() - sum @dy to the shape that was broadcast to its own */
struct vtpu_tensor *gradient_unbroadcast(struct vtpu_graph *g, struct vtpu_tensor *dy,
					 const struct vtpu_shape *shape);

/** gradient_affine() - x * scale + shift in x's own type */
struct vtpu_tensor *gradient_affine(struct vtpu_graph *g, struct vtpu_tensor *x, float scale,
				    float shift);

#endif /* VTPU_SRC_GRAPH_OP_H */
