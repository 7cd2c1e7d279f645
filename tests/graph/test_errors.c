// SPDX-License-Identifier: MIT
/*
 * test_graph_errors.c - what is wrong with a graph, in words.
 *
 * Each case is a call that must fail, with the whole sentence that it must fail
 * with. In every graph there are a few tensors to be misused.
 */
#include <stdlib.h>
#include <string.h>

#include <vtpu/graph.h>

#include "unit/tap.h"

/* What cases find in their graph. */
struct scene {
	struct vtpu_graph *g, *other;
	struct vtpu_tensor *images; /* f32 [128,28,28,3] */
	struct vtpu_tensor *pixels; /* u8 [8,28,28,1] */
	struct vtpu_tensor *kernel; /* f32 [3,3,1,32], a parameter */
	struct vtpu_tensor *a, *b;  /* f32 [2,3], [4,5] */
	struct vtpu_tensor *half;   /* bf16 [2,3] */
	struct vtpu_tensor *rows;   /* f32 [4] */
	struct vtpu_tensor *labels; /* s32 [3] */
	struct vtpu_tensor *rate, *step;
	struct vtpu_tensor *foreign; /* of another graph */
};

static bool scene_create(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	if (vtpu_graph_create(&s->g) || vtpu_graph_create(&s->other))
		return false;
	s->images = vtpu_input(s->g, "images", VTPU_DTYPE_F32, VTPU_SHAPE(128, 28, 28, 3));
	s->pixels = vtpu_input(s->g, "pixels", VTPU_DTYPE_U8, VTPU_SHAPE(8, 28, 28, 1));
	vtpu_scope_begin(s->g, "conv1");
	s->kernel = vtpu_parameter(s->g, "weights", VTPU_DTYPE_F32, VTPU_SHAPE(3, 3, 1, 32), NULL);
	vtpu_scope_end(s->g);
	s->a = vtpu_input(s->g, "a", VTPU_DTYPE_F32, VTPU_SHAPE(2, 3));
	s->b = vtpu_input(s->g, "b", VTPU_DTYPE_F32, VTPU_SHAPE(4, 5));
	s->half = vtpu_input(s->g, "half", VTPU_DTYPE_BF16, VTPU_SHAPE(2, 3));
	s->rows = vtpu_input(s->g, "rows", VTPU_DTYPE_F32, VTPU_SHAPE(4));
	s->labels = vtpu_input(s->g, "labels", VTPU_DTYPE_S32, VTPU_SHAPE(3));
	s->rate = vtpu_scalar(s->g, "rate", VTPU_DTYPE_F32);
	s->step = vtpu_scalar(s->g, "step", VTPU_DTYPE_S32);
	s->foreign = vtpu_input(s->other, "foreign", VTPU_DTYPE_F32, VTPU_SHAPE(2, 3));
	return vtpu_graph_status(s->g) == VTPU_OK && vtpu_graph_status(s->other) == VTPU_OK;
}

struct error_case {
	void (*call)(struct scene *s);
	enum vtpu_status status;
	const char *sentence;
};

/* One case a line or two. */
/* clang-format off */
#define G s->g
#define CASE(name, ...) static void name(struct scene *s) { __VA_ARGS__; }

CASE(conv_channels, vtpu_scope_begin(G, "conv1"); vtpu_conv2d(G, s->images, s->kernel, NULL))
CASE(conv_rank, vtpu_conv2d(G, s->a, s->kernel, NULL))
CASE(conv_type, vtpu_conv2d(G, s->pixels, s->kernel, NULL))
CASE(conv_groups, vtpu_conv2d(G, s->images, s->kernel, &(struct vtpu_conv2d_attrs){ .groups = 3 }))
CASE(conv_stride, vtpu_conv2d(G, vtpu_cast(G, s->pixels, 0), s->kernel, &(struct vtpu_conv2d_attrs){ .stride = { 1, -2 } }))
CASE(conv_window, vtpu_conv2d(G, vtpu_cast(G, s->pixels, 0), s->kernel, &(struct vtpu_conv2d_attrs){ .dilation = { 20, 1 } }))
CASE(conv_pad, vtpu_conv2d(G, vtpu_cast(G, s->pixels, 0), s->kernel, &(struct vtpu_conv2d_attrs){ .pad = { 1, 1, 1, 1 } }))
CASE(conv_grad, vtpu_conv2d_input_grad(G, s->images, s->kernel, NULL, VTPU_SHAPE(128, 28, 28, 1)))
CASE(conv_grad_shape, vtpu_conv2d_weight_grad(G, s->images, s->images, NULL, VTPU_SHAPE(3, 3)))
CASE(pool_window, vtpu_max_pool(G, s->images, NULL))
CASE(pool_taps, vtpu_avg_pool(G, s->images, &(struct vtpu_pool_attrs){ .window = { 17, 17 } }))
CASE(pool_pad, vtpu_max_pool(G, s->images, &(struct vtpu_pool_attrs){ .window = { 2, 2 }, .padding = VTPU_PADDING_EXPLICIT, .pad = { 0, 2, 0, 0 } }))
CASE(pool_size, vtpu_max_pool(G, s->images, &(struct vtpu_pool_attrs){ .window = { 29, 1 } }))
CASE(matmul_sizes, vtpu_matmul(G, s->a, s->b, NULL))
CASE(matmul_transposed, vtpu_matmul(G, s->a, s->b, &(struct vtpu_matmul_attrs){ true, true }))
CASE(matmul_rank, vtpu_matmul(G, s->a, s->rows, NULL))
CASE(matmul_batch, vtpu_matmul(G, vtpu_reshape(G, s->images, VTPU_SHAPE(2, -1, 4)), vtpu_reshape(G, s->b, VTPU_SHAPE(5, 4, 1)), NULL))
CASE(add_shapes, vtpu_add(G, s->a, s->b))
CASE(add_types, vtpu_add(G, s->a, s->half))
CASE(add_bytes, vtpu_add(G, s->pixels, s->pixels))
CASE(bias, vtpu_bias_add(G, s->a, s->rows))
CASE(reshape_size, vtpu_reshape(G, s->a, VTPU_SHAPE(4, 2)))
CASE(reshape_rest, vtpu_reshape(G, s->a, VTPU_SHAPE(4, -1)))
CASE(reshape_two, vtpu_reshape(G, s->a, VTPU_SHAPE(-1, -1)))
CASE(broadcast_shape, vtpu_broadcast(G, s->a, VTPU_SHAPE(3, 2)))
CASE(transpose_order, vtpu_transpose(G, s->a, (const int32_t[]){ 1, 1 }))
CASE(reduce_axes, vtpu_reduce_sum(G, s->a, VTPU_AXIS(2), false))
CASE(argmax_axis, vtpu_argmax(G, s->a, -3))
CASE(xent_rows, vtpu_softmax_xent(G, s->b, s->labels, NULL))
CASE(xent_labels, vtpu_softmax_xent(G, s->b, s->rows, NULL))
CASE(xent_smoothing, vtpu_softmax_xent(G, s->a, s->labels, &(struct vtpu_xent_attrs){ 2 }))
CASE(xent_weights, vtpu_cross_entropy(G, vtpu_reshape(G, s->a, VTPU_SHAPE(3, 2)), s->labels, s->rows, NULL))
CASE(dropout_rate, vtpu_dropout(G, s->a, s->step, s->step, &(struct vtpu_dropout_attrs){ .rate = 1 }))
CASE(dropout_seed, vtpu_dropout(G, s->a, s->labels, s->step, NULL))
CASE(norm_channels, vtpu_batch_norm(G, s->a, s->rows, s->rows, NULL, NULL, NULL))
CASE(norm_half, vtpu_batch_norm(G, vtpu_reshape(G, s->b, VTPU_SHAPE(5, 4)), s->rows, s->rows, vtpu_state(G, "mean", 0, VTPU_SHAPE(4), NULL), NULL, NULL))
CASE(sgd_gradient, vtpu_sgd(G, s->kernel, s->a, s->rate, NULL))
CASE(sgd_rate, vtpu_sgd(G, s->kernel, s->kernel, s->step, NULL))
CASE(sgd_input, vtpu_sgd(G, s->a, s->a, s->rate, NULL))
CASE(adam_step, vtpu_adam(G, s->kernel, s->kernel, s->rate, s->rate, NULL))
CASE(adam_beta, vtpu_adam(G, s->kernel, s->kernel, s->rate, s->step, &(struct vtpu_adam_attrs){ .beta2 = 1 }))
CASE(assign_input, vtpu_assign(G, s->a, s->a))
CASE(assign_shape, vtpu_assign(G, s->kernel, s->a))
CASE(assign_twice, vtpu_assign(G, s->kernel, s->kernel); vtpu_assign(G, s->kernel, s->kernel))
CASE(null_input, vtpu_relu(G, NULL))
CASE(null_second, vtpu_mul(G, s->a, NULL))
CASE(foreign, vtpu_mul(G, s->a, s->foreign))
CASE(same_name, vtpu_input(G, "images", VTPU_DTYPE_F32, VTPU_SHAPE(1)))
CASE(no_name, vtpu_input(G, NULL, VTPU_DTYPE_F32, VTPU_SHAPE(1)))
CASE(bad_name, vtpu_input(G, "two words", VTPU_DTYPE_F32, VTPU_SHAPE(1)))
CASE(bad_slash, vtpu_scope_begin(G, "conv1//x"))
CASE(rename_taken, vtpu_set_name(G, s->a, "images"))
CASE(scope_end, vtpu_scope_end(G))
CASE(zero_dim, vtpu_input(G, "x", VTPU_DTYPE_F32, VTPU_SHAPE(4, 0)))
CASE(large_dim, vtpu_input(G, "x", VTPU_DTYPE_F32, VTPU_SHAPE(1, 1LL << 32)))
CASE(large_tensor, vtpu_input(G, "x", VTPU_DTYPE_F32, VTPU_SHAPE(1 << 20, 1 << 20, 32)))
CASE(overflow, vtpu_input(G, "x", VTPU_DTYPE_F32, VTPU_SHAPE(1 << 30, 1 << 30, 1 << 30, 1 << 30)))
CASE(rank, vtpu_input(G, "x", VTPU_DTYPE_F32, (struct vtpu_shape){ 7, { 1, 1, 1, 1, 1, 1 } }))
CASE(broadcast_overflow, vtpu_add(G, vtpu_input(G, "x", 0, VTPU_SHAPE(1 << 30, 1)), vtpu_input(G, "y", 0, VTPU_SHAPE(1, 1 << 30))))
CASE(no_type, vtpu_input(G, "x", (enum vtpu_dtype)9, VTPU_SHAPE(4)))
CASE(scalar_type, vtpu_scalar(G, "x", VTPU_DTYPE_U8))
CASE(constant_bytes, vtpu_constant(G, "c", VTPU_DTYPE_F32, VTPU_SHAPE(2, 3), "12345", 5))
CASE(initial_kind, vtpu_parameter(G, "p", VTPU_DTYPE_F32, VTPU_SHAPE(2), &(struct vtpu_initial){ .kind = 77 }))
CASE(initial_type, vtpu_parameter(G, "p", VTPU_DTYPE_S32, VTPU_SHAPE(2), &(struct vtpu_initial){ .kind = VTPU_INITIAL_NORMAL }))
CASE(initial_data, vtpu_parameter(G, "p", VTPU_DTYPE_F32, VTPU_SHAPE(2), &(struct vtpu_initial){ .kind = VTPU_INITIAL_DATA }))

static void gradients(struct scene *s, struct vtpu_tensor *loss, struct vtpu_tensor *wrt)
{
	struct vtpu_tensor *d = NULL;

	vtpu_gradients(G, loss, &wrt, 1, &d);
}
CASE(grad_shape, gradients(s, s->a, s->a))
CASE(grad_type, gradients(s, s->step, s->a))
CASE(grad_null, gradients(s, NULL, s->a))
CASE(grad_no_way, gradients(s, vtpu_reduce_sum(G, s->a, 0, false), s->b))
CASE(grad_argmax, gradients(s, vtpu_reduce_sum(G, vtpu_cast(G, vtpu_argmax(G, s->a, 0), 0), 0, false), s->a))
CASE(grad_integer, gradients(s, s->rate, s->labels))
CASE(grad_foreign, gradients(s, vtpu_reduce_sum(G, s->a, 0, false), s->foreign))
CASE(grad_missing, struct vtpu_tensor *labels = vtpu_input(G, "four", VTPU_DTYPE_U8, VTPU_SHAPE(4));
     vtpu_scope_begin(G, "head");
     gradients(s, vtpu_reduce_sum(G, vtpu_softmax_xent_grad(G, s->rows, s->b, labels, NULL), 0, false), s->b))
CASE(grad_statistics, struct vtpu_tensor *gamma = vtpu_parameter(G, "gamma", 0, VTPU_SHAPE(3), NULL);
     vtpu_batch_norm(G, s->a, gamma, gamma, NULL, NULL, NULL);
     gradients(s, vtpu_reduce_sum(G, vtpu_graph_find(G, "batch_norm:variance"), 0, false), s->a))

#define SHAPE VTPU_ERROR_SHAPE_MISMATCH
#define ARG   VTPU_ERROR_INVALID_ARGUMENT

static const struct error_case cases[] = {
	{ conv_channels, SHAPE,
	  "conv1/conv2d: weights 'conv1/weights' [3,3,1,32] take 1 x 1 channels (groups x third "
	  "size), but input 'images' [128,28,28,3] has 3; change the third size of the weights, "
	  "or bring the input to [batch, height, width, channels]" },
	{ conv_rank, SHAPE,
	  "conv2d: input 'a' [2,3] has rank 2, and must be [batch, height, width, channels]; use "
	  "vtpu_reshape() before" },
	{ conv_type, ARG,
	  "conv2d: input 'pixels' [8,28,28,1] is u8, and must be f32 or bf16; use vtpu_cast() "
	  "before" },
	{ conv_groups, ARG,
	  "conv2d: weights 'conv1/weights' [3,3,1,32] have 32 channels out, which 3 groups "
	  "cannot share; use a divisor" },
	{ conv_stride, ARG,
	  "conv2d: the stride across is -2; it must be 1 or more" },
	{ conv_window, SHAPE,
	  "conv2d: the window reaches over 41 down, but input 'cast' [8,28,28,1] has only 28 "
	  "with padding; use a smaller window, less dilation or more padding" },
	{ conv_pad, ARG,
	  "conv2d: pad is set, but the padding is not VTPU_PADDING_EXPLICIT; set one of them" },
	{ conv_grad, SHAPE,
	  "conv2d_input_grad: dy 'images' [128,28,28,3] must be [128,26,26,32], the shape of the "
	  "convolution's result" },
	{ conv_grad_shape, ARG,
	  "conv2d_weight_grad: the shape of the result is [3,3], and must be four sizes from 1 "
	  "to 2^31" },
	{ pool_window, ARG,
	  "max_pool: the window is 0x0; it must have 1 to 256 taps" },
	{ pool_taps, ARG,
	  "avg_pool: the window is 17x17; it must have 1 to 256 taps" },
	{ pool_pad, ARG,
	  "max_pool: pad 1 is 2, which makes windows of nothing but padding; it must be less "
	  "than the window's 2" },
	{ pool_size, SHAPE,
	  "max_pool: the window reaches over 29 down, but x 'images' [128,28,28,3] has only 28 "
	  "with padding; use a smaller window, less dilation or more padding" },
	{ matmul_sizes, SHAPE,
	  "matmul: a 'a' [2,3] has 3 columns, but b 'b' [4,5] has 4 rows; these must be equal: "
	  "transpose one, or change its shape" },
	{ matmul_transposed, SHAPE,
	  "matmul: a 'a' [2,3] transposed has 2 columns, but b 'b' [4,5] transposed has 5 rows; "
	  "these must be equal: transpose one, or change its shape" },
	{ matmul_rank, SHAPE,
	  "matmul: a 'a' [2,3] and b 'rows' [4] must have rank 2 or more; use vtpu_reshape()" },
	{ matmul_batch, SHAPE,
	  "matmul: a 'reshape_1' [2,37632,4] and b 'reshape' [5,4,1] differ in dimension 0, "
	  "before the last two" },
	{ add_shapes, SHAPE,
	  "add: a 'a' [2,3] and b 'b' [4,5] do not broadcast: from the last dimension back, "
	  "sizes must be equal, or one of them 1 or missing; use vtpu_reshape() or "
	  "vtpu_transpose()" },
	{ add_types, ARG,
	  "add: a 'a' [2,3] is f32, but b 'half' [2,3] is bf16; bring them to one type with "
	  "vtpu_cast()" },
	{ add_bytes, ARG,
	  "add: a 'pixels' [8,28,28,1] is u8, and must be f32 or bf16; use vtpu_cast() before" },
	{ bias, SHAPE,
	  "bias_add: bias 'rows' [4] must be [3], one for each of the last dimension of x 'a' "
	  "[2,3]" },
	{ reshape_size, SHAPE,
	  "reshape: x 'a' [2,3] has 6 elements, and cannot become [4,2], which has 8; change the "
	  "sizes, or leave one of them -1" },
	{ reshape_rest, SHAPE,
	  "reshape: x 'a' [2,3] has 6 elements, and cannot become [4,-1], which needs a multiple "
	  "of 4; change the sizes, or leave one of them -1" },
	{ reshape_two, ARG,
	  "reshape: x 'a' [2,3] cannot become [-1,-1]: dimensions must be 1 or more, and one may "
	  "be -1" },
	{ broadcast_shape, SHAPE,
	  "broadcast: x 'a' [2,3] cannot be repeated to [3,2]: from the last dimension back, its "
	  "sizes must be equal, 1 or missing; use vtpu_reshape() before" },
	{ transpose_order, ARG,
	  "transpose: the order of x 'a' [2,3] has 1 at place 1; it must have each number from 0 "
	  "to 1 once" },
	{ reduce_axes, ARG,
	  "reduce_sum: x 'a' [2,3] has no dimension 2 to reduce over" },
	{ argmax_axis, ARG,
	  "argmax: x 'a' [2,3] has no dimension -3" },
	{ xent_rows, SHAPE,
	  "softmax_xent: labels 'labels' [3] must be [4], one for each row of logits 'b' [4,5]" },
	{ xent_labels, ARG,
	  "softmax_xent: labels 'rows' [4] is f32, and must be u8 or s32 class numbers" },
	{ xent_smoothing, ARG,
	  "softmax_xent: the smoothing is 2, and must be 0 to 1" },
	{ xent_weights, SHAPE,
	  "cross_entropy/mul: a 'cross_entropy/softmax_xent' [3] and b 'rows' [4] do not "
	  "broadcast: from the last dimension back, sizes must be equal, or one of them 1 or "
	  "missing; use vtpu_reshape() or vtpu_transpose()" },
	{ dropout_rate, ARG,
	  "dropout: the rate is 1, and must be 0 or more and less than 1" },
	{ dropout_seed, SHAPE,
	  "dropout: seed 'labels' [3] has rank 1, and must be a single value, as of "
	  "vtpu_scalar(); use vtpu_reshape() before" },
	{ norm_channels, SHAPE,
	  "batch_norm: gamma 'rows' [4] must be [3], one for each channel of x 'a' [2,3]" },
	{ norm_half, ARG,
	  "batch_norm: running_variance is NULL; give both running statistics, or none" },
	{ sgd_gradient, SHAPE,
	  "conv1/weights/sgd: gradient 'a' [2,3] must have the shape of parameter "
	  "'conv1/weights' [3,3,1,32]" },
	{ sgd_rate, ARG,
	  "conv1/weights/sgd: rate 'step' [] is s32, and must be f32; use vtpu_cast() before" },
	{ sgd_input, ARG,
	  "a/assign: parameter 'a' [2,3] is the result of input and cannot be assigned; make it "
	  "with vtpu_parameter() or vtpu_state()" },
	{ adam_step, ARG,
	  "conv1/weights/adam: step 'rate' [] is f32, and must be s32; use vtpu_cast() before" },
	{ adam_beta, ARG,
	  "conv1/weights/adam: beta2 is 1, and must be 0 or more and less than 1" },
	{ assign_input, ARG,
	  "a/assign: parameter 'a' [2,3] is the result of input and cannot be assigned; make it "
	  "with vtpu_parameter() or vtpu_state()" },
	{ assign_shape, SHAPE,
	  "conv1/weights/assign: value 'a' [2,3] must have the shape of parameter "
	  "'conv1/weights' [3,3,1,32]" },
	{ assign_twice, VTPU_ERROR_EXISTS,
	  "conv1/weights/assign_1: parameter 'conv1/weights' [3,3,1,32] is assigned by "
	  "'conv1/weights/assign' already; assign it once for each step" },
	{ null_input, ARG,
	  "relu: x is NULL; give the tensor that an earlier call returned" },
	{ null_second, ARG,
	  "mul: b is NULL; give the tensor that an earlier call returned" },
	{ foreign, ARG,
	  "mul: b 'foreign' is of another graph; build it in this one too" },
	{ same_name, VTPU_ERROR_EXISTS,
	  "images: there is one of that name already; choose another, or use a scope" },
	{ no_name, ARG,
	  "a name is empty; give one, such as 'conv1'" },
	{ bad_name, ARG,
	  "'two words' cannot be a name; use letters, digits, _ . - and slashes between" },
	{ bad_slash, ARG,
	  "'conv1//x' cannot be a name; use letters, digits, _ . - and slashes between" },
	{ rename_taken, VTPU_ERROR_EXISTS,
	  "a: cannot be called 'images', there is one already; choose another name" },
	{ scope_end, ARG,
	  "vtpu_scope_end() without a scope; call it once for each vtpu_scope_begin()" },
	{ zero_dim, ARG,
	  "x: dimension 1 of the result [4,0] is 0; it must be 1 to 2^31" },
	{ large_dim, ARG,
	  "x: dimension 1 of the result [1,4294967296] is 4294967296; it must be 1 to 2^31" },
	{ large_tensor, VTPU_ERROR_TOO_LARGE,
	  "x: the result [1048576,1048576,32] has more than 2^44 elements; use a smaller batch" },
	{ overflow, VTPU_ERROR_TOO_LARGE,
	  "x: the result [1073741824,1073741824,1073741824,1073741824] has more than 2^44 "
	  "elements; use a smaller batch" },
	{ rank, ARG,
	  "x: rank 7 is over the limit of 6; merge dimensions" },
	{ broadcast_overflow, VTPU_ERROR_TOO_LARGE,
	  "add: the result [1073741824,1073741824] has more than 2^44 elements; use a smaller "
	  "batch" },
	{ no_type, ARG,
	  "x: there is no type 9; use one of enum vtpu_dtype" },
	{ scalar_type, ARG,
	  "x: a scalar argument must be f32 or s32, not u8" },
	{ constant_bytes, SHAPE,
	  "c: f32 [2,3] takes 24 bytes, but the data is 5 bytes" },
	{ initial_kind, ARG,
	  "p: there is no initialiser 77; use one of enum vtpu_initial_kind" },
	{ initial_type, ARG,
	  "p: random values of type s32 cannot be made; use f32 or bf16" },
	{ initial_data, SHAPE,
	  "p: f32 [2] takes 8 bytes, but the data is NULL, 0 bytes" },
	{ grad_shape, SHAPE,
	  "gradients: the loss 'a' [2,3] must be a single value; use vtpu_reduce_mean() or "
	  "vtpu_reduce_sum() before" },
	{ grad_type, ARG,
	  "gradients: the loss 'step' is s32, and must be f32 or bf16" },
	{ grad_null, ARG,
	  "gradients: the loss is NULL" },
	{ grad_no_way, ARG,
	  "gradients: the loss 'reduce_sum' does not depend on 'b', or only through integers and "
	  "comparisons; leave it out" },
	{ grad_argmax, ARG,
	  "gradients: the loss 'reduce_sum' does not depend on 'a', or only through integers and "
	  "comparisons; leave it out" },
	{ grad_integer, ARG,
	  "gradients: 'labels' is s32, and only f32 and bf16 have gradients" },
	{ grad_foreign, ARG,
	  "gradients: tensor 0 is of another graph" },
	{ grad_missing, VTPU_ERROR_UNSUPPORTED,
	  "head/softmax_xent_grad: softmax_xent_grad has no gradient, and is between "
	  "'head/reduce_sum' and what gradients are wanted for; build the loss without it" },
	{ grad_statistics, VTPU_ERROR_UNSUPPORTED,
	  "batch_norm: its results 'mean' and 'variance' have no gradient; build the loss "
	  "without them" },
	{ 0 },
};
/* clang-format on */

static void run(const struct error_case *c)
{
	enum vtpu_status status, again;
	struct scene s;
	size_t size;

	if (!tap_ok(scene_create(&s), "a graph to misuse"))
		return;
	c->call(&s);
	status = vtpu_graph_status(s.g);
	if (!tap_ok(status == c->status && strcmp(vtpu_last_error(), c->sentence) == 0, "%s",
		    c->sentence))
		printf("# got %s: %s\n", vtpu_status_id(status), vtpu_last_error());
	/* The first error stays, whatever follows, and nothing is added any more. */
	size = vtpu_graph_size(s.g);
	vtpu_scope_end(s.g);
	vtpu_output(s.g, vtpu_relu(s.g, vtpu_matmul(s.g, s.b, NULL, NULL)), "late");
	again = vtpu_graph_status(s.g);
	tap_ok(again == status && strcmp(vtpu_last_error(), c->sentence) == 0 &&
		       vtpu_graph_size(s.g) == size,
	       "it stays the first error");
	vtpu_graph_destroy(s.g);
	vtpu_graph_destroy(s.other);
}

/* Without a graph all calls fail, and none crashes. */
static void check_null(void)
{
	char *text = NULL;

	tap_ok(!vtpu_relu(NULL, NULL) && !vtpu_input(NULL, "x", 0, VTPU_SHAPE(1)) &&
		       !vtpu_cross_entropy(NULL, NULL, NULL, NULL, NULL) &&
		       !vtpu_adam(NULL, NULL, NULL, NULL, NULL, NULL) &&
		       !vtpu_number(NULL, VTPU_DTYPE_U8, 1) && !vtpu_set_name(NULL, NULL, "x"),
	       "without a graph, calls return NULL");
	vtpu_scope_begin(NULL, "x");
	vtpu_scope_end(NULL);
	vtpu_output(NULL, NULL, NULL);
	vtpu_assign(NULL, NULL, NULL);
	tap_ok(vtpu_gradients(NULL, NULL, NULL, 0, NULL) == VTPU_ERROR_INVALID_ARGUMENT &&
		       vtpu_graph_text(NULL, &text) == VTPU_ERROR_INVALID_ARGUMENT && !text,
	       "and say so");
	tap_ok(strcmp(vtpu_last_error(), "the graph to dump is NULL") == 0, "in a sentence");
	vtpu_graph_destroy(NULL);
}

int main(void)
{
	for (const struct error_case *c = cases; c->call; c++)
		run(c);
	check_null();
	return tap_done();
}
