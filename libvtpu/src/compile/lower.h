/* SPDX-License-Identifier: MIT */
/*
 * lower.h - from operations to steps: what the hooks of operations share.
 *
 * Each operation's hook says in steps what it does, and so how it treats the batch: a
 * step that has something for each image in and out is emitted tile by tile, one that
 * sums over the batch gives a partial value, one without batch runs once. The hook is
 * named in the operation's descriptor (graph/ops), and lives in a file of its family here.
 */
#ifndef VTPU_SRC_COMPILE_LOWER_H
#define VTPU_SRC_COMPILE_LOWER_H

#include "compile/hooks.h"
#include "compile/ir.h"

/** struct view - what a tensor is: a value, perhaps smaller and to be broadcast; a number; a scalar */
struct view {
	enum {
		VIEW_NONE,
		VIEW_VALUE,
		VIEW_NUMBER,
		VIEW_SCALAR,
	} kind;
	struct value *value;
	struct vtpu_shape shape; /* of what is stored, broadcast to the tensor's */
	float number;
	uint32_t scalar; /* of the graph */
};

/** struct lower - lowering at work */
struct lower {
	struct plan *plan;
	struct view *view; /* for each tensor of the graph */
	const bool *live;  /* for each node */
};

/** lower_fail() - an operation that cannot be compiled; the sentence begins with its name. False always */
bool lower_fail(struct lower *l, const struct vtpu_node *node, const char *fmt, ...)
	VTPU_PRINTF(3, 4);

/** lower_view() - what a tensor is */
struct view *lower_view(struct lower *l, const struct vtpu_tensor *t);

/** lower_batch() - is there something for each image in the tensor? */
bool lower_batch(struct lower *l, const struct vtpu_tensor *t);

/** lower_full() - a tensor as a dense value of its own shape and, but for DEFAULT, of type @type; NULL after an error */
struct value *lower_full(struct lower *l, const struct vtpu_node *node,
			 const struct vtpu_tensor *t);

/** lower_elementwise() - one step that computes @e, whose leaves are there, as result 0 of @node; NULL after an error */
struct step *lower_elementwise(struct lower *l, const struct vtpu_node *node,
			       const struct ew_expr *e, enum value_class class);

/** lower_xent_step() - a step of cross-entropy, its results still to come; @weights may be NULL. NULL after an error */
struct step *lower_xent_step(struct lower *l, const struct vtpu_node *node, struct value *x,
			     struct value *labels, struct value *weights);

/** lower_new() - a value for tensor @t, which is its view from now on */
struct value *lower_new(struct lower *l, const struct vtpu_tensor *t, enum value_class class);

/** lower_scalar() - SMEM word of a job's scalar by a rule; UINT32_MAX after an error */
uint32_t lower_scalar(struct lower *l, uint32_t source, enum scalar_rule rule, float base);

/** lower_smem() - SMEM word that holds a single f32: of a scalar, or a copy of a computed value */
bool lower_smem(struct lower *l, const struct vtpu_node *node, const struct vtpu_tensor *t,
		uint32_t *word, struct value **value);

/** lower_leaf() - a tensor as operand of an expression of shape @out; materialised if it is broadcast in the middle */
bool lower_leaf(struct lower *l, const struct vtpu_node *node, const struct vtpu_tensor *t,
		const struct vtpu_shape *out, bool batch, struct ew_leaf *leaf);

/** lower_value_leaf() - a whole value as operand: a full one, or a row of @row elements */
struct ew_leaf lower_value_leaf(struct value *v, uint64_t row);

/** lower_number_leaf() - a number as operand */
struct ew_leaf lower_number_leaf(float number);

/** lower_ew() - a step of one operation on values; the result is a new value like @like */
struct value *lower_ew(struct lower *l, const struct vtpu_node *node, const struct ew_expr *e,
		       const char *name, enum value_class class, uint64_t count);

/** lower_column_sums() - ones times [rows, cols] of @v: a partial value if it is of the batch */
struct value *lower_column_sums(struct lower *l, const struct vtpu_node *node, struct value *v,
				uint64_t cols);

/** lower_permute() - move a tensor of shape @shape (with the batch, if any) to the order of dimensions @order */
struct value *lower_permute(struct lower *l, const struct vtpu_node *node, struct value *v,
			    const struct vtpu_shape *shape, const uint32_t *order);

/** lower_images() - elements of shape that one image has; 0 if it does not go up */
uint64_t lower_image_count(const struct lower *l, const struct vtpu_shape *shape);

/** lower_constant() - bytes as a whole value */
struct value *lower_constant(struct lower *l, const char *name, enum vtpu_dtype type,
			     const void *data, uint64_t count);

#endif /* VTPU_SRC_COMPILE_LOWER_H */
