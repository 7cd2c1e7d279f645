/* SPDX-License-Identifier: MIT */
/**
 * @file graph_ops.h
 * The operations of graphs. Included by <vtpu/graph.h>, which has the rules.
 *
 * Layouts. Images are NHWC: [batch, height, width, channels]. Convolution
 * weights are HWIO: [height, width, channels in / groups, channels out].
 * Matrices are [rows, columns]. Channels, classes and features come last.
 *
 * Types. f32 and bf16 compute; u8, s8 and s32 are for data, labels and
 * indices, and become f32 or bf16 by vtpu_cast() or vtpu_affine(). Operands of one
 * operation have one type unless it is said otherwise; nothing is cast in silence.
 *
 * Broadcasting is numpy's: shapes are aligned at the last dimension, and a
 * dimension that is 1 or missing is repeated to the other's size.
 *
 * Attributes. Zero is the default of every field, and NULL attributes are all
 * defaults. What a node keeps has the defaults filled in, and paddings as
 * numbers. The struct that vtpu_node_attrs() gives is named with each call.
 *
 * Every call adds a node and returns its first result, NULL after an error.
 * Calls that are said to be "composed" add several nodes and no new operation.
 */
#ifndef VTPU_GRAPH_OPS_H
#define VTPU_GRAPH_OPS_H

#include <vtpu/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Types and scaling ------------------------------------------------------------ */

/** Attributes of "cast". */
struct vtpu_cast_attrs {
	enum vtpu_dtype type; /**< of the result */
};

/**
 * The same values in another type. Integers from f32 or bf16: to the nearest,
 * ties to even, saturated, NaN is 0. Gradient: cast back; none to integers.
 */
VTPU_API struct vtpu_tensor *vtpu_cast(struct vtpu_graph *graph, struct vtpu_tensor *x,
				       enum vtpu_dtype type);

/** Attributes of "affine". */
struct vtpu_affine_attrs {
	float scale;
	float shift;
	enum vtpu_dtype type; /**< of the result */
};

/**
 * x * scale + shift, from any type to f32 or bf16: bytes to standardised pixels
 * with scale = 1 / deviation, shift = -mean / deviation.
 */
VTPU_API struct vtpu_tensor *vtpu_affine(struct vtpu_graph *graph, struct vtpu_tensor *x,
					 float scale, float shift, enum vtpu_dtype type);

/* ---- Element by element --------------------------------------------------------------- */

VTPU_API struct vtpu_tensor *vtpu_neg(struct vtpu_graph *graph, struct vtpu_tensor *x);
VTPU_API struct vtpu_tensor *vtpu_exp(struct vtpu_graph *graph, struct vtpu_tensor *x);
/** Natural logarithm. */
VTPU_API struct vtpu_tensor *vtpu_ln(struct vtpu_graph *graph, struct vtpu_tensor *x);
VTPU_API struct vtpu_tensor *vtpu_sqrt(struct vtpu_graph *graph, struct vtpu_tensor *x);
/** 1 / sqrt(x). */
VTPU_API struct vtpu_tensor *vtpu_rsqrt(struct vtpu_graph *graph, struct vtpu_tensor *x);
VTPU_API struct vtpu_tensor *vtpu_tanh(struct vtpu_graph *graph, struct vtpu_tensor *x);
/** 1 / (1 + exp(-x)). */
VTPU_API struct vtpu_tensor *vtpu_sigmoid(struct vtpu_graph *graph, struct vtpu_tensor *x);
/** max(x, 0); its gradient at 0 is 0. */
VTPU_API struct vtpu_tensor *vtpu_relu(struct vtpu_graph *graph, struct vtpu_tensor *x);
/** The tanh form: x * sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)). */
VTPU_API struct vtpu_tensor *vtpu_gelu(struct vtpu_graph *graph, struct vtpu_tensor *x);
/** x * sigmoid(x). */
VTPU_API struct vtpu_tensor *vtpu_silu(struct vtpu_graph *graph, struct vtpu_tensor *x);

VTPU_API struct vtpu_tensor *vtpu_add(struct vtpu_graph *graph, struct vtpu_tensor *a,
				      struct vtpu_tensor *b);
VTPU_API struct vtpu_tensor *vtpu_sub(struct vtpu_graph *graph, struct vtpu_tensor *a,
				      struct vtpu_tensor *b);
VTPU_API struct vtpu_tensor *vtpu_mul(struct vtpu_graph *graph, struct vtpu_tensor *a,
				      struct vtpu_tensor *b);
VTPU_API struct vtpu_tensor *vtpu_div(struct vtpu_graph *graph, struct vtpu_tensor *a,
				      struct vtpu_tensor *b);
/** The larger; where they are equal the gradient goes to @p a. */
VTPU_API struct vtpu_tensor *vtpu_maximum(struct vtpu_graph *graph, struct vtpu_tensor *a,
					  struct vtpu_tensor *b);
/** The smaller; where they are equal the gradient goes to @p a. */
VTPU_API struct vtpu_tensor *vtpu_minimum(struct vtpu_graph *graph, struct vtpu_tensor *a,
					  struct vtpu_tensor *b);

/** 1 where a == b, else 0, in the operands' type; no gradient flows through comparisons. */
VTPU_API struct vtpu_tensor *vtpu_equal(struct vtpu_graph *graph, struct vtpu_tensor *a,
					struct vtpu_tensor *b);
/** 1 where a < b, else 0. */
VTPU_API struct vtpu_tensor *vtpu_less(struct vtpu_graph *graph, struct vtpu_tensor *a,
				       struct vtpu_tensor *b);
/** 1 where a <= b, else 0. */
VTPU_API struct vtpu_tensor *vtpu_less_equal(struct vtpu_graph *graph, struct vtpu_tensor *a,
					     struct vtpu_tensor *b);
/** @p a where @p mask is not 0, else @p b; all three of one type and broadcast. No gradient to @p mask. */
VTPU_API struct vtpu_tensor *vtpu_select(struct vtpu_graph *graph, struct vtpu_tensor *mask,
					 struct vtpu_tensor *a, struct vtpu_tensor *b);

/* ---- Shapes ------------------------------------------------------------------------------- */

/** Attributes of "reshape" and "broadcast". */
struct vtpu_shape_attrs {
	struct vtpu_shape shape; /**< of the result */
};

/** The same elements in the same order. One dimension may be -1: what is left for it. */
VTPU_API struct vtpu_tensor *vtpu_reshape(struct vtpu_graph *graph, struct vtpu_tensor *x,
					  struct vtpu_shape shape);

/** [n, ...] as [n, rest]: a reshape. */
VTPU_API struct vtpu_tensor *vtpu_flatten(struct vtpu_graph *graph, struct vtpu_tensor *x);

/** Repeat to a shape, by the rule of broadcasting. */
VTPU_API struct vtpu_tensor *vtpu_broadcast(struct vtpu_graph *graph, struct vtpu_tensor *x,
					    struct vtpu_shape shape);

/** Attributes of "transpose". */
struct vtpu_transpose_attrs {
	int32_t order[VTPU_MAX_RANK]; /**< result's dimension i is the input's order[i] */
};

/** Reorder dimensions. @param order  one number for each; NULL: swap the last two */
VTPU_API struct vtpu_tensor *vtpu_transpose(struct vtpu_graph *graph, struct vtpu_tensor *x,
					    const int32_t *order);

/* ---- Reductions ------------------------------------------------------------------------------ */

/** A dimension in a set of them. */
#define VTPU_AXIS(i) (1u << (i))

/** Attributes of "reduce_sum", "reduce_mean" and "reduce_max". */
struct vtpu_reduce_attrs {
	uint32_t axes; /**< set of VTPU_AXIS(); given as 0: all */
	bool keep;     /**< dimensions reduced stay, as 1 */
};

/** Sum over dimensions. @param axes  set of VTPU_AXIS(); 0: all */
VTPU_API struct vtpu_tensor *vtpu_reduce_sum(struct vtpu_graph *graph, struct vtpu_tensor *x,
					     uint32_t axes, bool keep);
/** Mean over dimensions. */
VTPU_API struct vtpu_tensor *vtpu_reduce_mean(struct vtpu_graph *graph, struct vtpu_tensor *x,
					      uint32_t axes, bool keep);
/** Largest over dimensions. Elements that share the largest share the gradient in equal parts. */
VTPU_API struct vtpu_tensor *vtpu_reduce_max(struct vtpu_graph *graph, struct vtpu_tensor *x,
					     uint32_t axes, bool keep);

/** Attributes of "argmax". */
struct vtpu_argmax_attrs {
	int32_t axis;
};

/** Index of the largest along a dimension, s32; the first of equals. @param axis  below 0: from the end */
VTPU_API struct vtpu_tensor *vtpu_argmax(struct vtpu_graph *graph, struct vtpu_tensor *x,
					 int32_t axis);

/* ---- Matrix products and convolution ------------------------------------------------------------ */

/** Attributes of "matmul". */
struct vtpu_matmul_attrs {
	bool transpose_a; /**< a is [..., k, m] */
	bool transpose_b; /**< b is [..., n, k] */
};

/** [..., m, k] times [..., k, n] is [..., m, n]; dimensions before the last two are the same in both. */
VTPU_API struct vtpu_tensor *vtpu_matmul(struct vtpu_graph *graph, struct vtpu_tensor *a,
					 struct vtpu_tensor *b,
					 const struct vtpu_matmul_attrs *attrs);

/** x[..., c] + bias[c]. */
VTPU_API struct vtpu_tensor *vtpu_bias_add(struct vtpu_graph *graph, struct vtpu_tensor *x,
					   struct vtpu_tensor *bias);

/** What surrounds an image. */
enum vtpu_padding {
	VTPU_PADDING_VALID = 0, /**< nothing */
	VTPU_PADDING_SAME = 1, /**< so that the result has ceil(size / stride); the odd one after */
	VTPU_PADDING_EXPLICIT = 2, /**< pad */
};

/** Attributes of "conv2d". */
struct vtpu_conv2d_attrs {
	int32_t stride[2];	   /**< down, across; 0: 1 */
	int32_t dilation[2];	   /**< distance of taps down, across; 0: 1 */
	enum vtpu_padding padding; /**< kept as VTPU_PADDING_EXPLICIT */
	int32_t pad[4];		   /**< top, bottom, left, right, of zeros */
	int32_t groups;		   /**< 0: 1 */
};

/** Attributes of "conv2d_input_grad" and "conv2d_weight_grad". */
struct vtpu_conv2d_grad_attrs {
	struct vtpu_conv2d_attrs conv; /**< of the convolution */
	struct vtpu_shape shape;       /**< of the result: that of the input, or of the weights */
};

/**
 * Convolution (cross-correlation, as all libraries have it) of NHWC images with HWIO weights.
 * The result is [n, oh, ow, channels out], oh = (h + pads - dilation * (kh - 1) - 1) / stride + 1.
 */
VTPU_API struct vtpu_tensor *vtpu_conv2d(struct vtpu_graph *graph, struct vtpu_tensor *x,
					 struct vtpu_tensor *weights,
					 const struct vtpu_conv2d_attrs *attrs);

/** Gradient of a convolution for its input. @param x  shape of that input */
VTPU_API struct vtpu_tensor *vtpu_conv2d_input_grad(struct vtpu_graph *graph,
						    struct vtpu_tensor *dy,
						    struct vtpu_tensor *weights,
						    const struct vtpu_conv2d_attrs *attrs,
						    struct vtpu_shape x);

/** Gradient of a convolution for its weights. @param weights  shape of these */
VTPU_API struct vtpu_tensor *vtpu_conv2d_weight_grad(struct vtpu_graph *graph,
						     struct vtpu_tensor *x, struct vtpu_tensor *dy,
						     const struct vtpu_conv2d_attrs *attrs,
						     struct vtpu_shape weights);

/* ---- Pooling --------------------------------------------------------------------------------------- */

/** Attributes of "max_pool" and "avg_pool". */
struct vtpu_pool_attrs {
	int32_t window[2];	   /**< down, across; at least 1, at most 256 taps */
	int32_t stride[2];	   /**< 0: window */
	enum vtpu_padding padding; /**< kept as VTPU_PADDING_EXPLICIT */
	int32_t pad[4];		   /**< top, bottom, left, right, less than the window */
};

/** Attributes of "max_pool_grad" and "avg_pool_grad". */
struct vtpu_pool_grad_attrs {
	struct vtpu_pool_attrs pool; /**< of the pooling */
	struct vtpu_shape shape;     /**< of the result: that of the input */
};

/**
 * Largest element of each window; padding is never taken.
 *
 * A second result, "index" of type u8, says which tap it was: row * window
 * width + column, the first of equals.
 */
VTPU_API struct vtpu_tensor *vtpu_max_pool(struct vtpu_graph *graph, struct vtpu_tensor *x,
					   const struct vtpu_pool_attrs *attrs);

/** Mean of each window's elements, padding not counted. */
VTPU_API struct vtpu_tensor *vtpu_avg_pool(struct vtpu_graph *graph, struct vtpu_tensor *x,
					   const struct vtpu_pool_attrs *attrs);

/** Gradient of max_pool. @param index  its second result; @param x  shape of its input */
VTPU_API struct vtpu_tensor *vtpu_max_pool_grad(struct vtpu_graph *graph, struct vtpu_tensor *dy,
						struct vtpu_tensor *index,
						const struct vtpu_pool_attrs *attrs,
						struct vtpu_shape x);

/** Gradient of avg_pool. @param x  shape of its input */
VTPU_API struct vtpu_tensor *vtpu_avg_pool_grad(struct vtpu_graph *graph, struct vtpu_tensor *dy,
						const struct vtpu_pool_attrs *attrs,
						struct vtpu_shape x);

/* ---- Losses and metrics -------------------------------------------------------------------------------- */

/** exp(x) over its sum, along the last dimension. */
VTPU_API struct vtpu_tensor *vtpu_softmax(struct vtpu_graph *graph, struct vtpu_tensor *x);

/** Attributes of "softmax_xent" and "softmax_xent_grad". */
struct vtpu_xent_attrs {
	float smoothing; /**< s: the target is 1 - s for the label and s / classes for all; 0..1 */
};

/**
 * Cross-entropy of the softmax of each row.
 * @param logits  [rows, classes]
 * @param labels  [rows] u8 or s32 class numbers. A job that meets another number fails with
 *                VTPU_ERROR_FAULT, which names the operation and the number. Give rows that only
 *                fill a batch any class: whether a weight of 0 spares a row depends on fusion
 * @return [rows] f32
 */
VTPU_API struct vtpu_tensor *vtpu_softmax_xent(struct vtpu_graph *graph, struct vtpu_tensor *logits,
					       struct vtpu_tensor *labels,
					       const struct vtpu_xent_attrs *attrs);

/** Gradient of softmax_xent for the logits. @param dy  [rows] f32 */
VTPU_API struct vtpu_tensor *
vtpu_softmax_xent_grad(struct vtpu_graph *graph, struct vtpu_tensor *dy, struct vtpu_tensor *logits,
		       struct vtpu_tensor *labels, const struct vtpu_xent_attrs *attrs);

/**
 * Mean loss of a batch, composed: sum(weights * softmax_xent) / sum(weights).
 * @param weights  [rows] f32, 0 for rows that only fill the batch; NULL: all 1
 */
VTPU_API struct vtpu_tensor *
vtpu_cross_entropy(struct vtpu_graph *graph, struct vtpu_tensor *logits, struct vtpu_tensor *labels,
		   struct vtpu_tensor *weights, const struct vtpu_xent_attrs *attrs);

/**
 * Rows whose largest logit is at their label, summed with weights, composed; f32, exact up to 2^24.
 * @param weights  [rows] f32; NULL: all 1
 */
VTPU_API struct vtpu_tensor *vtpu_correct(struct vtpu_graph *graph, struct vtpu_tensor *logits,
					  struct vtpu_tensor *labels, struct vtpu_tensor *weights);

/* ---- Layers with a memory ------------------------------------------------------------------------------------ */

/** Attributes of "dropout". */
struct vtpu_dropout_attrs {
	float rate;	 /**< probability that an element becomes 0: 0 <= rate < 1 */
	uint32_t stream; /**< tells layers apart; 0: made from the node's name */
};

/**
 * Zero elements at random, and scale the others by 1 / (1 - rate).
 * @param seed  s32 of rank 0
 * @param step  s32 of rank 0: other elements each step
 *
 * Element i of the whole tensor, row-major, is dropped if the upper 24 bits of
 * word i mod 4 of Philox4x32-10 with key {seed, stream} and counter
 * {i / 4, i / 4 >> 32, step, 0} are below rate * 2^24, rounded to nearest. So it does not depend on
 * how the tensor is cut over cores. Its gradient is itself, applied to dy.
 */
VTPU_API struct vtpu_tensor *vtpu_dropout(struct vtpu_graph *graph, struct vtpu_tensor *x,
					  struct vtpu_tensor *seed, struct vtpu_tensor *step,
					  const struct vtpu_dropout_attrs *attrs);

/** Attributes of "batch_norm" and "batch_norm_grad". */
struct vtpu_batch_norm_attrs {
	float epsilon; /**< 0: 1e-5 */
	float momentum; /**< weight of this batch in the running statistics; 0: 0.1. Not used by the nodes */
};

/**
 * (x - mean) / sqrt(variance + epsilon) * gamma + beta by the statistics of the
 * batch, of each channel (last dimension).
 * @param gamma         [channels] f32, as the next three
 * @param running_mean  a state, moved towards the batch's mean at the end of
 *                      the step; NULL: none, and then no running_variance either
 * @param running_variance  the same for the variance, that of a sample (n - 1)
 *
 * The node's further results are "mean" and "variance" (of n), [channels] f32.
 */
VTPU_API struct vtpu_tensor *vtpu_batch_norm(struct vtpu_graph *graph, struct vtpu_tensor *x,
					     struct vtpu_tensor *gamma, struct vtpu_tensor *beta,
					     struct vtpu_tensor *running_mean,
					     struct vtpu_tensor *running_variance,
					     const struct vtpu_batch_norm_attrs *attrs);

/** The same by given statistics, composed: x * scale + shift of each channel. */
VTPU_API struct vtpu_tensor *
vtpu_batch_norm_infer(struct vtpu_graph *graph, struct vtpu_tensor *x, struct vtpu_tensor *gamma,
		      struct vtpu_tensor *beta, struct vtpu_tensor *mean,
		      struct vtpu_tensor *variance, const struct vtpu_batch_norm_attrs *attrs);

/* ---- Optimisers --------------------------------------------------------------------------------------------------- */

/** Attributes of "sgd" and "sgd_momentum". */
struct vtpu_sgd_attrs {
	float momentum;	    /**< 0: plain, without a velocity */
	float weight_decay; /**< added to the gradient times the parameter */
	bool nesterov;
};

/**
 * One step of gradient descent on @p parameter:
 *
 *     g = gradient + weight_decay * parameter
 *     velocity = momentum * velocity + g
 *     parameter -= rate * (nesterov ? g + momentum * velocity : velocity)
 *
 * @param rate  f32 of rank 0
 * @return the parameter's value after the step; it is assigned already, and so
 *         is the velocity, a state "<parameter>/velocity"
 */
VTPU_API struct vtpu_tensor *vtpu_sgd(struct vtpu_graph *graph, struct vtpu_tensor *parameter,
				      struct vtpu_tensor *gradient, struct vtpu_tensor *rate,
				      const struct vtpu_sgd_attrs *attrs);

/** Attributes of "adam". */
struct vtpu_adam_attrs {
	float beta1;	    /**< 0: 0.9. A tiny number such as 1e-30 means none */
	float beta2;	    /**< 0: 0.999 */
	float epsilon;	    /**< 0: 1e-8 */
	float weight_decay; /**< added to the gradient times the parameter */
	bool decoupled;	    /**< AdamW: weight_decay shrinks the parameter itself, times rate */
};

/**
 * One step of Adam on @p parameter:
 *
 *     g = gradient + weight_decay * parameter           (without decay if decoupled)
 *     m = beta1 * m + (1 - beta1) * g
 *     v = beta2 * v + (1 - beta2) * g^2
 *     u = m / (1 - beta1^step) / (sqrt(v / (1 - beta2^step)) + epsilon)
 *     parameter -= rate * (u + weight_decay * parameter)  (without decay unless decoupled)
 *
 * @param rate  f32 of rank 0
 * @param step  s32 of rank 0, 1 in the first step
 * @return as vtpu_sgd(); the states are "<parameter>/adam_m" and "<parameter>/adam_v"
 */
VTPU_API struct vtpu_tensor *vtpu_adam(struct vtpu_graph *graph, struct vtpu_tensor *parameter,
				       struct vtpu_tensor *gradient, struct vtpu_tensor *rate,
				       struct vtpu_tensor *step,
				       const struct vtpu_adam_attrs *attrs);

#ifdef __cplusplus
}
#endif

#endif /* VTPU_GRAPH_OPS_H */
