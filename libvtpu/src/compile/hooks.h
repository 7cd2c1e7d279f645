/* SPDX-License-Identifier: MIT */
/*
 * hooks.h - the compiler's hooks of operations, for their descriptors in graph/ops.
 *
 * Each is in a file of its family here, lower_<family>.c; compile/lower.h says what they do.
 */
#ifndef VTPU_SRC_COMPILE_HOOKS_H
#define VTPU_SRC_COMPILE_HOOKS_H

#include <stdbool.h>

struct lower;
struct vtpu_node;

bool lower_input(struct lower *l, const struct vtpu_node *node);
bool lower_scalar_in(struct lower *l, const struct vtpu_node *node);
bool lower_constant_node(struct lower *l, const struct vtpu_node *node);
bool lower_parameter(struct lower *l, const struct vtpu_node *node);
bool lower_output(struct lower *l, const struct vtpu_node *node);
bool lower_assign(struct lower *l, const struct vtpu_node *node);
bool lower_reshape(struct lower *l, const struct vtpu_node *node);
bool lower_broadcast(struct lower *l, const struct vtpu_node *node);
bool lower_transpose(struct lower *l, const struct vtpu_node *node);
bool lower_unary(struct lower *l, const struct vtpu_node *node);
bool lower_binary(struct lower *l, const struct vtpu_node *node);
bool lower_select(struct lower *l, const struct vtpu_node *node);
bool lower_cast(struct lower *l, const struct vtpu_node *node);
bool lower_affine(struct lower *l, const struct vtpu_node *node);
bool lower_bias_add(struct lower *l, const struct vtpu_node *node);
bool lower_matmul(struct lower *l, const struct vtpu_node *node);
bool lower_conv2d(struct lower *l, const struct vtpu_node *node);
bool lower_conv2d_input_grad(struct lower *l, const struct vtpu_node *node);
bool lower_conv2d_weight_grad(struct lower *l, const struct vtpu_node *node);
bool lower_pool(struct lower *l, const struct vtpu_node *node);
bool lower_pool_grad(struct lower *l, const struct vtpu_node *node);
bool lower_reduce(struct lower *l, const struct vtpu_node *node);
bool lower_argmax(struct lower *l, const struct vtpu_node *node);
bool lower_softmax(struct lower *l, const struct vtpu_node *node);
bool lower_xent(struct lower *l, const struct vtpu_node *node);
bool lower_xent_grad(struct lower *l, const struct vtpu_node *node);
bool lower_dropout(struct lower *l, const struct vtpu_node *node);
bool lower_batch_norm(struct lower *l, const struct vtpu_node *node);
bool lower_batch_norm_grad(struct lower *l, const struct vtpu_node *node);
bool lower_sgd(struct lower *l, const struct vtpu_node *node);
bool lower_adam(struct lower *l, const struct vtpu_node *node);

#endif /* VTPU_SRC_COMPILE_HOOKS_H */
