// SPDX-License-Identifier: MIT
/*
 * test_graph.c - graphs: names, shapes, attributes, reading, dumps.
 *
 * Errors are in test_graph_errors.c, gradients in test_graph_gradient.c, steps and
 * initial values in test_graph_step.c.
 */
#include <stdlib.h>
#include <string.h>

#include <vtpu/graph.h>

#include "unit/tap.h"

/* ---- A small network ------------------------------------------------------------------ */

static struct vtpu_graph *network(void)
{
	struct vtpu_initial he = { .kind = VTPU_INITIAL_HE_NORMAL, .seed = 7 };
	struct vtpu_tensor *images, *labels, *rate, *x, *loss, *p[8], *d[8];
	struct vtpu_graph *g = NULL;
	size_t n;

	vtpu_graph_create(&g);
	images = vtpu_input(g, "images", VTPU_DTYPE_U8, VTPU_SHAPE(4, 6, 6, 1));
	labels = vtpu_input(g, "labels", VTPU_DTYPE_U8, VTPU_SHAPE(4));
	rate = vtpu_scalar(g, "rate", VTPU_DTYPE_F32);
	x = vtpu_affine(g, images, 0.1f, -0.5f, VTPU_DTYPE_F32);
	vtpu_scope_begin(g, "conv1");
	p[0] = vtpu_parameter(g, "weights", VTPU_DTYPE_F32, VTPU_SHAPE(3, 3, 1, 2), &he);
	x = vtpu_conv2d(g, x, p[0], &(struct vtpu_conv2d_attrs){ .padding = VTPU_PADDING_SAME });
	x = vtpu_relu(g, x);
	x = vtpu_max_pool(g, x, &(struct vtpu_pool_attrs){ .window = { 2, 2 } });
	vtpu_scope_end(g);
	x = vtpu_flatten(g, x);
	vtpu_scope_begin(g, "dense");
	p[1] = vtpu_parameter(g, "weights", VTPU_DTYPE_F32, VTPU_SHAPE(18, 3), NULL);
	x = vtpu_matmul(g, x, p[1], NULL);
	vtpu_scope_end(g);
	loss = vtpu_cross_entropy(g, x, labels, NULL, NULL);
	vtpu_output(g, loss, "loss");
	n = vtpu_graph_parameters(g, p, 8);
	vtpu_gradients(g, loss, p, n, d);
	for (size_t i = 0; i < n; i++)
		vtpu_sgd(g, p[i], d[i], rate, &(struct vtpu_sgd_attrs){ .momentum = 0.9f });
	return g;
}

static const char network_text[] =
	"images = input() : u8[4,6,6,1]\n"
	"labels = input() : u8[4]\n"
	"rate = scalar() : f32[]\n"
	"affine = affine(images) scale=0.1 shift=-0.5 : f32[4,6,6,1]\n"
	"conv1/weights = parameter() initial=he_normal seed=7 : f32[3,3,1,2]\n"
	"conv1/conv2d = conv2d(affine, conv1/weights) pad=1,1,1,1 : f32[4,6,6,2]\n"
	"conv1/relu = relu(conv1/conv2d) : f32[4,6,6,2]\n"
	"conv1/max_pool, :index = max_pool(conv1/relu) window=2,2 stride=2,2 : f32[4,3,3,2], u8[4,3,3,2]\n"
	"reshape = reshape(conv1/max_pool) shape=[4,18] : f32[4,18]\n"
	"dense/weights = parameter() : f32[18,3]\n"
	"dense/matmul = matmul(reshape, dense/weights) : f32[4,3]\n"
	"cross_entropy/softmax_xent = softmax_xent(dense/matmul, labels) : f32[4]\n"
	"cross_entropy/reduce_mean = reduce_mean(cross_entropy/softmax_xent) axes=0 : f32[]\n"
	"loss = output(cross_entropy/reduce_mean)\n"
	"grad/constant = constant() data=1 : f32[]\n"
	"grad/cross_entropy/reduce_mean/affine = affine(grad/constant) scale=0.25 : f32[]\n"
	"grad/cross_entropy/reduce_mean/reshape = reshape(grad/cross_entropy/reduce_mean/affine) "
	"shape=[1] : f32[1]\n"
	"grad/cross_entropy/reduce_mean/broadcast = broadcast(grad/cross_entropy/reduce_mean/reshape) "
	"shape=[4] : f32[4]\n"
	"grad/cross_entropy/softmax_xent/softmax_xent_grad = "
	"softmax_xent_grad(grad/cross_entropy/reduce_mean/broadcast, dense/matmul, labels) : f32[4,3]\n"
	"grad/dense/matmul/matmul = matmul(grad/cross_entropy/softmax_xent/softmax_xent_grad, "
	"dense/weights) transpose_b=yes : f32[4,18]\n"
	"grad/dense/matmul/matmul_1 = matmul(reshape, "
	"grad/cross_entropy/softmax_xent/softmax_xent_grad) transpose_a=yes : f32[18,3]\n"
	"grad/reshape/reshape = reshape(grad/dense/matmul/matmul) shape=[4,3,3,2] : f32[4,3,3,2]\n"
	"grad/conv1/max_pool/max_pool_grad = max_pool_grad(grad/reshape/reshape, conv1/max_pool:index) "
	"pool.window=2,2 pool.stride=2,2 shape=[4,6,6,2] : f32[4,6,6,2]\n"
	"grad/conv1/relu/constant = constant() data=0 : f32[]\n"
	"grad/conv1/relu/less = less(grad/conv1/relu/constant, conv1/relu) : f32[4,6,6,2]\n"
	"grad/conv1/relu/select = select(grad/conv1/relu/less, grad/conv1/max_pool/max_pool_grad, "
	"grad/conv1/relu/constant) : f32[4,6,6,2]\n"
	"grad/conv1/conv2d/conv2d_weight_grad = conv2d_weight_grad(affine, grad/conv1/relu/select) "
	"conv.pad=1,1,1,1 shape=[3,3,1,2] : f32[3,3,1,2]\n"
	"conv1/weights/velocity = parameter() trainable=no : f32[3,3,1,2]\n"
	"conv1/weights/sgd_momentum, :velocity = sgd_momentum(conv1/weights, "
	"grad/conv1/conv2d/conv2d_weight_grad, conv1/weights/velocity, rate) momentum=0.9 : "
	"f32[3,3,1,2], f32[3,3,1,2]\n"
	"conv1/weights/velocity/assign = assign(conv1/weights/velocity, "
	"conv1/weights/sgd_momentum:velocity)\n"
	"conv1/weights/assign = assign(conv1/weights, conv1/weights/sgd_momentum)\n"
	"dense/weights/velocity = parameter() trainable=no : f32[18,3]\n"
	"dense/weights/sgd_momentum, :velocity = sgd_momentum(dense/weights, grad/dense/matmul/matmul_1, "
	"dense/weights/velocity, rate) momentum=0.9 : f32[18,3], f32[18,3]\n"
	"dense/weights/velocity/assign = assign(dense/weights/velocity, "
	"dense/weights/sgd_momentum:velocity)\n"
	"dense/weights/assign = assign(dense/weights, dense/weights/sgd_momentum)\n";

/* ---- Dumps -------------------------------------------------------------------------------- */

static void show_difference(const char *got, const char *want)
{
	size_t line = 1, i = 0;

	for (; got[i] && got[i] == want[i]; i++)
		line += got[i] == '\n';
	printf("# line %zu: got '%.60s', want '%.60s'\n", line, got + i, want + i);
}

static size_t count(const char *text, const char *word)
{
	size_t n = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		n++;
	return n;
}

static void check_dumps(const struct vtpu_graph *g)
{
	size_t edges = 0, nodes = vtpu_graph_size(g);
	char *text = NULL, *dot = NULL;

	tap_ok(vtpu_graph_status(g) == VTPU_OK, "a network with loss, gradients and optimiser");
	if (tap_ok(vtpu_graph_text(g, &text) == VTPU_OK, "it has a text") &&
	    !tap_ok(strcmp(text, network_text) == 0, "which says what was built"))
		show_difference(text, network_text);
	for (size_t i = 0; i < nodes; i++)
		edges += vtpu_node_inputs(vtpu_graph_node(g, i));
	if (tap_ok(vtpu_graph_dot(g, &dot) == VTPU_OK, "and a drawing")) {
		tap_is(count(dot, "\tn") + count(dot, "; n") - edges - 1, nodes,
		       "a box for each operation");
		tap_is(count(dot, " -> "), edges, "an arrow for each input");
		tap_is(count(dot, "{"), count(dot, "}"), "all scopes are closed");
		tap_ok(strstr(dot, "subgraph \"cluster_grad/conv1/conv2d\" { label=\"conv2d\"; n"),
		       "scopes are inside each other");
		tap_ok(strstr(dot, "label=\"f32[4,3,3,2]\""), "arrows have types and shapes");
	}
	free(text);
	free(dot);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool inputs_come_first(const struct vtpu_graph *g)
{
	for (size_t i = 0; i < vtpu_graph_size(g); i++) {
		const struct vtpu_node *node = vtpu_graph_node(g, i);

		for (size_t n = 0; n < vtpu_node_inputs(node); n++) {
			if (vtpu_node_index(vtpu_tensor_node(vtpu_node_input(node, n))) >= i)
				return false;
		}
	}
	return true;
}

static bool names_are_found(const struct vtpu_graph *g)
{
	for (size_t i = 0; i < vtpu_graph_size(g); i++) {
		const struct vtpu_node *node = vtpu_graph_node(g, i);

		for (size_t n = 0; n < vtpu_node_outputs(node); n++) {
			struct vtpu_tensor *y = vtpu_node_output(node, n);

			if (vtpu_graph_find(g, vtpu_tensor_name(y)) != y ||
			    vtpu_tensor_output(y) != n || vtpu_tensor_node(y) != node)
				return false;
		}
	}
	return true;
}

static void check_reading(const struct vtpu_graph *g)
{
	struct vtpu_tensor *w = vtpu_graph_find(g, "conv1/weights"), *list[1];
	const struct vtpu_node *conv = vtpu_tensor_node(vtpu_graph_find(g, "conv1/conv2d"));
	const struct vtpu_conv2d_attrs *a = vtpu_node_attrs(conv);
	struct vtpu_op_info info;
	struct vtpu_attr attr;
	size_t found = 0;

	tap_ok(inputs_come_first(g), "inputs come before what uses them");
	tap_ok(names_are_found(g), "each result is found by its name");
	tap_ok(!vtpu_graph_find(g, "conv1") && !vtpu_graph_find(g, "loss") &&
		       !vtpu_graph_find(g, "conv1/max_pool:x") && !vtpu_graph_find(g, NULL),
	       "scopes, outputs and other words are no tensors");
	tap_ok(vtpu_graph_parameters(g, list, 1) == 2 && list[0] == w,
	       "trainable parameters, in order, no more than there is room for");
	tap_ok(strcmp(vtpu_node_op(vtpu_tensor_update(w)), "assign") == 0 &&
		       vtpu_node_input(vtpu_tensor_update(w), 0) == w,
	       "what changes a parameter");
	tap_ok(!vtpu_tensor_update(vtpu_graph_find(g, "images")), "and nothing an input");
	tap_ok(a->stride[0] == 1 && a->dilation[1] == 1 && a->groups == 1 &&
		       a->padding == VTPU_PADDING_EXPLICIT && a->pad[3] == 1,
	       "attributes have their defaults filled in");
	tap_ok(vtpu_node_attr(conv, 0, &attr) && strcmp(attr.name, "stride") == 0 &&
		       attr.kind == VTPU_ATTR_INT && attr.count == 2 && attr.plain &&
		       attr.value == a->stride,
	       "an attribute by its number");
	tap_ok(vtpu_node_attr(conv, 2, &attr) && strcmp(attr.name, "pad") == 0 && !attr.plain &&
		       !vtpu_node_attr(conv, 4, &attr),
	       "one that is not plain, and none behind the last");
	tap_ok(!vtpu_graph_node(g, vtpu_graph_size(g)) && !vtpu_node_input(conv, 2) &&
		       !vtpu_node_output(conv, 1) && !vtpu_graph_size(NULL) &&
		       !vtpu_tensor_elements(NULL) && !vtpu_tensor_type(NULL) &&
		       !vtpu_tensor_shape(NULL).rank,
	       "nothing is behind the last, and nothing in NULL");
	for (size_t i = 0; vtpu_op_info(i, &info); i++)
		found += strcmp(info.name, "conv2d") == 0 && info.inputs == 2 &&
			 info.outputs == 1 && info.gradient;
	tap_is(found, 1, "an operation without a graph");
}

/* ---- Names -------------------------------------------------------------------------------------- */

static void check_names(void)
{
	struct vtpu_tensor *x, *y;
	struct vtpu_graph *g;

	vtpu_graph_create(&g);
	vtpu_scope_begin(g, "block1/conv");
	vtpu_scope_begin(g, "inner");
	x = vtpu_input(g, "x.0-a_B", VTPU_DTYPE_F32, VTPU_SHAPE(2, 4, 4, 3));
	tap_ok(strcmp(vtpu_tensor_name(x), "block1/conv/inner/x.0-a_B") == 0, "scopes in scopes");
	vtpu_scope_end(g);
	for (int i = 0; i < 20000; i++)
		y = vtpu_relu(g, x);
	tap_ok(strcmp(vtpu_tensor_name(y), "block1/conv/relu_19999") == 0,
	       "the 20,000th operation of a kind has its number");
	tap_ok(vtpu_set_name(g, y, "last") == y &&
		       strcmp(vtpu_tensor_name(y), "block1/conv/last") == 0 &&
		       vtpu_graph_find(g, "block1/conv/last") == y &&
		       !vtpu_graph_find(g, "block1/conv/relu_19999"),
	       "a new name replaces the old");
	tap_ok(vtpu_set_name(g, y, "last") == y, "the same name once more");
	vtpu_scope_end(g);
	y = vtpu_max_pool(g, x, &(struct vtpu_pool_attrs){ .window = { 2, 2 } });
	vtpu_set_name(g, y, "pool");
	tap_ok(vtpu_graph_find(g, "pool:index"), "further results follow");
	vtpu_input(g, "relu_1", VTPU_DTYPE_F32, VTPU_SHAPE(1));
	vtpu_relu(g, x);
	vtpu_relu(g, x);
	tap_ok(vtpu_graph_find(g, "relu_2"), "numbers go round names that are taken");
	vtpu_output(g, x, NULL);
	tap_is(vtpu_graph_status(g), VTPU_OK, "no errors");
	vtpu_graph_destroy(g);
}

/* ---- Shapes ---------------------------------------------------------------------------------------- */

static void check_shape(const struct vtpu_tensor *x, enum vtpu_dtype type, struct vtpu_shape want,
			const char *what)
{
	struct vtpu_shape got = vtpu_tensor_shape(x);

	if (!tap_ok(x && vtpu_tensor_type(x) == type && got.rank == want.rank &&
			    memcmp(got.dim, want.dim, want.rank * sizeof(*want.dim)) == 0,
		    "%s", what))
		printf("# %s\n", vtpu_last_error());
}

static void check_shapes(void)
{
	const enum vtpu_dtype f32 = VTPU_DTYPE_F32, bf16 = VTPU_DTYPE_BF16;
	struct vtpu_tensor *image, *weights, *column, *row, *y;
	struct vtpu_graph *g;

	vtpu_graph_create(&g);
	image = vtpu_input(g, "image", bf16, VTPU_SHAPE(8, 11, 7, 6));
	weights = vtpu_input(g, "weights", bf16, VTPU_SHAPE(3, 2, 3, 10));
	column = vtpu_input(g, "column", VTPU_DTYPE_DEFAULT, VTPU_SHAPE(5, 1));
	row = vtpu_input(g, "row", f32, VTPU_SHAPE(3, 1, 4));
	check_shape(column, f32, VTPU_SHAPE(5, 1), "the default type is f32");
	check_shape(vtpu_add(g, column, row), f32, VTPU_SHAPE(3, 5, 4), "broadcasting both ways");
	check_shape(vtpu_select(g, column, row, vtpu_number(g, f32, 1)), f32, VTPU_SHAPE(3, 5, 4),
		    "broadcasting of three");
	y = vtpu_conv2d(g, image, weights,
			&(struct vtpu_conv2d_attrs){ .stride = { 2, 3 },
						     .dilation = { 2, 1 },
						     .padding = VTPU_PADDING_EXPLICIT,
						     .pad = { 1, 2, 0, 3 },
						     .groups = 2 });
	check_shape(y, bf16, VTPU_SHAPE(8, 5, 3, 10), "conv2d with everything");
	y = vtpu_conv2d(g, image, weights,
			&(struct vtpu_conv2d_attrs){
				.stride = { 2, 2 }, .padding = VTPU_PADDING_SAME, .groups = 2 });
	check_shape(y, bf16, VTPU_SHAPE(8, 6, 4, 10), "conv2d, same: ceil(size / stride)");
	tap_ok(((const struct vtpu_conv2d_attrs *)vtpu_node_attrs(vtpu_tensor_node(y)))->pad[3] ==
		       1,
	       "the odd pad is after the image");
	y = vtpu_avg_pool(g, image,
			  &(struct vtpu_pool_attrs){ .window = { 3, 2 }, .stride = { 2, 0 } });
	check_shape(y, bf16, VTPU_SHAPE(8, 5, 3, 6), "avg_pool with one stride given");
	check_shape(vtpu_matmul(g, row, vtpu_input(g, "b", f32, VTPU_SHAPE(3, 2, 4)),
				&(struct vtpu_matmul_attrs){ .transpose_b = true }),
		    f32, VTPU_SHAPE(3, 1, 2), "batched matmul");
	check_shape(vtpu_reduce_sum(g, row, VTPU_AXIS(1) | VTPU_AXIS(2), true), f32,
		    VTPU_SHAPE(3, 1, 1), "reduce, kept");
	check_shape(vtpu_reduce_max(g, row, 0, false), f32, VTPU_SHAPE_SCALAR, "reduce all");
	check_shape(vtpu_argmax(g, row, -1), VTPU_DTYPE_S32, VTPU_SHAPE(3, 1), "argmax");
	check_shape(vtpu_transpose(g, row, NULL), f32, VTPU_SHAPE(3, 4, 1), "transpose");
	check_shape(vtpu_flatten(g, image), bf16, VTPU_SHAPE(8, 462), "flatten");
	check_shape(vtpu_flatten(g, vtpu_number(g, f32, 1)), f32, VTPU_SHAPE(1, 1),
		    "flatten a single value");
	check_shape(vtpu_affine(g, vtpu_cast(g, row, VTPU_DTYPE_S8), 2, 0, bf16), bf16,
		    VTPU_SHAPE(3, 1, 4), "cast and affine");
	y = vtpu_input(g, "c", f32, VTPU_SHAPE(4));
	y = vtpu_batch_norm_infer(g, vtpu_cast(g, row, bf16), y, y, y, y, NULL);
	check_shape(y, bf16, VTPU_SHAPE(3, 1, 4), "batch_norm_infer in bf16");
	tap_is(vtpu_graph_status(g), VTPU_OK, "no errors");
	vtpu_graph_destroy(g);
}

int main(void)
{
	struct vtpu_graph *g = network();

	check_dumps(g);
	check_reading(g);
	vtpu_graph_destroy(g);
	check_names();
	check_shapes();
	return tap_done();
}
