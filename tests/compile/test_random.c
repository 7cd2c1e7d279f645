// SPDX-License-Identifier: MIT
/*
 * test_random.c - random graphs, with gradients, against the interpreter; and the same bits from
 * other tiles.
 *
 * usage: test_random [FIRST [COUNT]]     seeds; each failure prints its seed
 */
#include <stdio.h>
#include <stdlib.h>

#include "compile/harness.h"
#include "unit/tap.h"

#define B     24
#define POOL  24
#define BOUND 5e-5

static uint64_t state;

static uint32_t pick(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

/* Tensors that later operations may use. */
struct soup {
	struct vtpu_graph *g;
	struct vtpu_tensor *t[POOL];
	size_t n;
	uint32_t params;
};

static struct vtpu_tensor *any(struct soup *s, uint32_t rank)
{
	for (int tries = 0; tries < 50; tries++) {
		struct vtpu_tensor *t = s->t[pick((uint32_t)s->n)];

		if (vtpu_tensor_shape(t).rank == rank)
			return t;
	}
	return rank == 2 ? s->t[0] : s->t[1];
}

static struct vtpu_tensor *parameter(struct soup *s, struct vtpu_shape shape)
{
	struct vtpu_initial random = { .kind = VTPU_INITIAL_UNIFORM, .spread = 0.4f, .seed = 5 };
	char name[16];

	snprintf(name, sizeof(name), "p%u", s->params++);
	return vtpu_parameter(s->g, name, VTPU_DTYPE_F32, shape, &random);
}

static struct vtpu_tensor *unary(struct soup *s, struct vtpu_tensor *x)
{
	switch (pick(7)) {
	case 0:
		return vtpu_tanh(s->g, x);
	case 1:
		return vtpu_sigmoid(s->g, x);
	case 2:
		return vtpu_relu(s->g, x);
	case 3:
		return vtpu_silu(s->g, x);
	case 4:
		return vtpu_neg(s->g, x);
	case 5:
		return vtpu_gelu(s->g, x);
	default:
		return vtpu_affine(s->g, x, 0.75f, 0.125f, VTPU_DTYPE_F32);
	}
}

static struct vtpu_tensor *binary(struct soup *s, struct vtpu_tensor *x, struct vtpu_tensor *y)
{
	switch (pick(5)) {
	case 0:
		return vtpu_add(s->g, x, y);
	case 1:
		return vtpu_sub(s->g, x, y);
	case 2:
		return vtpu_tanh(s->g, vtpu_mul(s->g, x, y));
	case 3:
		return vtpu_maximum(s->g, x, y);
	default:
		return vtpu_minimum(s->g, x, y);
	}
}

/* Another tensor of the shape of @x: one there is, or something that broadcasts to it. */
static struct vtpu_tensor *partner(struct soup *s, struct vtpu_tensor *x)
{
	struct vtpu_shape shape = vtpu_tensor_shape(x);
	uint32_t last = shape.rank - 1;

	for (size_t i = s->n; i-- > 0 && pick(4);) {
		struct vtpu_shape other = vtpu_tensor_shape(s->t[i]);
		bool same = other.rank == shape.rank && s->t[i] != x;

		for (uint32_t k = 0; k < shape.rank && same; k++)
			same = other.dim[k] == shape.dim[k];
		if (same)
			return s->t[i];
	}
	switch (pick(4)) {
	case 0:
		return parameter(s, VTPU_SHAPE(shape.dim[last]));
	case 1:
		return vtpu_reduce_mean(s->g, x, VTPU_AXIS(last), true);
	case 2: /* of the whole batch: what uses it is in a later region */
		return vtpu_reduce_mean(s->g, x, VTPU_AXIS(last) - 1, false);
	default:
		return vtpu_number(s->g, VTPU_DTYPE_F32, 0.5f);
	}
}

static struct vtpu_tensor *image(struct soup *s)
{
	struct vtpu_tensor *x = any(s, 4);
	struct vtpu_shape shape = vtpu_tensor_shape(x);
	struct vtpu_conv2d_attrs conv = { .stride = { 1 + (int32_t)pick(2), 1 + (int32_t)pick(2) },
					  .padding = pick(2) ? VTPU_PADDING_SAME :
							       VTPU_PADDING_VALID };
	struct vtpu_pool_attrs pool = { .window = { 2, 2 } };

	if (shape.dim[1] < 4 || shape.dim[2] < 4)
		return vtpu_reduce_mean(s->g, x, VTPU_AXIS(1) | VTPU_AXIS(2), false);
	switch (pick(6)) {
	case 0:
		return vtpu_max_pool(s->g, x, &pool);
	case 1:
		return vtpu_avg_pool(s->g, x, &pool);
	case 2:
		x = vtpu_conv2d(s->g, x, parameter(s, VTPU_SHAPE(3, 3, shape.dim[3], 3)), NULL);
		x = vtpu_bias_add(s->g, x, parameter(s, VTPU_SHAPE(3)));
		return vtpu_max_pool(s->g, vtpu_relu(s->g, x), &pool);
	case 3:
		return vtpu_reshape(s->g, x,
				    VTPU_SHAPE(B, shape.dim[1] * shape.dim[2] * shape.dim[3]));
	default:
		return vtpu_tanh(s->g, vtpu_conv2d(s->g, x,
						   parameter(s, VTPU_SHAPE(3, 3, shape.dim[3], 4)),
						   &conv));
	}
}

static struct vtpu_tensor *matrix(struct soup *s)
{
	struct vtpu_tensor *x = any(s, 2);
	int64_t cols = vtpu_tensor_shape(x).dim[1];

	if (pick(3) == 0 && cols > 1)
		return vtpu_softmax(s->g, x);
	x = vtpu_matmul(s->g, x, parameter(s, VTPU_SHAPE(cols, 5)), NULL);
	if (pick(2))
		x = vtpu_bias_add(s->g, x, parameter(s, VTPU_SHAPE(5)));
	return vtpu_tanh(s->g, x);
}

static struct vtpu_graph *make(uint64_t seed)
{
	struct vtpu_tensor *param[64], *grad[64], *loss = NULL, *used[64];
	struct soup s = { 0 };
	size_t n, count = 0;

	state = seed * 0x9e3779b97f4a7c15u + 1;
	vtpu_graph_create(&s.g);
	s.t[s.n++] = vtpu_input(s.g, "x", VTPU_DTYPE_F32, VTPU_SHAPE(B, 6));
	s.t[s.n++] = vtpu_input(s.g, "image", VTPU_DTYPE_F32, VTPU_SHAPE(B, 9, 8, 2));
	for (uint32_t i = 0; i < 6 + pick(8); i++) {
		uint32_t kind = pick(5);
		struct vtpu_tensor *x = s.t[pick((uint32_t)s.n)];

		s.t[s.n++] = kind == 0 ? unary(&s, x) :
			     kind == 1 ? binary(&s, x, partner(&s, x)) :
			     kind == 2 ? matrix(&s) :
					 image(&s);
	}
	/* The last few are results, and are in the loss. */
	for (size_t i = s.n; i-- > 2 && i + 4 > s.n;) {
		struct vtpu_tensor *term = vtpu_reduce_mean(s.g, vtpu_silu(s.g, s.t[i]), 0, false);

		vtpu_output(s.g, s.t[i], NULL);
		loss = loss ? vtpu_add(s.g, loss, term) : term;
	}
	vtpu_output(s.g, loss, "loss");
	n = vtpu_graph_parameters(s.g, param, 64);
	/* Only parameters that the loss depends on have a gradient. */
	for (size_t i = 0; i < n && !vtpu_graph_status(s.g); i++) {
		bool reached[4096] = { false };
		size_t size = vtpu_graph_size(s.g);

		reached[vtpu_node_index(vtpu_tensor_node(param[i]))] = true;
		for (size_t k = 0; k < size && k < 4096; k++) {
			const struct vtpu_node *node = vtpu_graph_node(s.g, k);

			for (size_t j = 0; j < vtpu_node_inputs(node); j++)
				reached[k] |= reached[vtpu_node_index(
					vtpu_tensor_node(vtpu_node_input(node, j)))];
		}
		if (reached[vtpu_node_index(vtpu_tensor_node(loss))])
			used[count++] = param[i];
	}
	if (count && !vtpu_gradients(s.g, loss, used, count, grad)) {
		for (size_t i = 0; i < count; i++)
			vtpu_output(s.g, grad[i], NULL);
	}
	return s.g;
}

static void test(uint64_t seed)
{
	struct how one = { .cores = 3 }, other = { .cores = 3, .tile = 1 + (uint32_t)(seed % 8) };
	struct vtpu_graph *g = make(seed), *h = make(seed);
	struct outcome a, b = { 0 };
	const char *error = run(g, &one, &a);
	double worst = error ? 1 : compare(g, &one, &a, BOUND);

	if (tap_ok(!error && worst <= BOUND, "seed %llu, %zu operations: %s %.2g",
		   (unsigned long long)seed, vtpu_graph_size(g), error ? error : "error", worst)) {
		error = run(h, &other, &b);
		tap_ok(!error && same_bits(&a, &b, false), "seed %llu, tiles of %u%s",
		       (unsigned long long)seed, other.tile, error ? error : "");
	}
	outcome_free(&a);
	outcome_free(&b);
	vtpu_graph_destroy(g);
	vtpu_graph_destroy(h);
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : argc > 1 ? 1 : 60;

	for (uint64_t i = 0; i < count; i++)
		test(first + i);
	return tap_done();
}
