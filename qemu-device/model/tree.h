/* SPDX-License-Identifier: MIT */
/*
 * tree.h - a row reduction, block by block: the results of blocks are joined in a tree over
 * their numbers.
 */
#ifndef VTPU_TREE_H
#define VTPU_TREE_H

#include "unit.h"

_Static_assert(VTPU_REDUCE_BLOCK == VTPU_BLOCK, "a block of a row reduction is a working block");

/** struct vtpu_tree - results of blocks, joined as soon as two of one size are there; zeroed but for @op */
struct vtpu_tree {
	unsigned int op; /* enum vtpu_reduce_op */
	unsigned int depth;
	uint64_t blocks;
	float value[33];
};

static inline void vtpu_tree_join(struct vtpu_tree *t)
{
	t->depth--;
	t->value[t->depth - 1] =
		vtpu_reduce_combine(t->op, t->value[t->depth - 1], t->value[t->depth]);
}

/** vtpu_tree_add() - reduce the next block, of @n elements, after padding it */
static inline void vtpu_tree_add(struct vtpu_tree *t, const struct vtpu_kernels *k, float *x,
				 size_t n)
{
	for (size_t i = n; i % VTPU_REDUCE_PARTIALS; i++)
		x[i] = vtpu_reduce_identity(t->op);
	t->value[t->depth++] = k->reduce(t->op, x, n);
	t->blocks++;
	for (uint64_t done = t->blocks; !(done & 1); done /= 2)
		vtpu_tree_join(t);
}

/** vtpu_tree_end() - the row's result */
static inline float vtpu_tree_end(struct vtpu_tree *t)
{
	while (t->depth > 1)
		vtpu_tree_join(t);
	return t->value[0] + 0.0f;
}

#endif /* VTPU_TREE_H */
