// SPDX-License-Identifier: MIT
/*
 * test_graph_gradient.c - every gradient rule against finite differences.
 *
 * The loss is the case's result times fixed random numbers, summed, so that each
 * element of the result counts on its own. Graph and gradient are interpreted in
 * double precision; the rules themselves are what is tested.
 */
#include <math.h>
#include <string.h>

#include "reference/ref_graph.h"
#include "graph/cases.h"
#include "unit/tap.h"

#define MAX_OPS	  256
#define STEP	  1e-5
#define TOLERANCE 1e-7 /* attributes such as 1 / n are f32 */

/* Operations whose gradients were compared. */
static bool covered[MAX_OPS];

static void mark_covered(const struct vtpu_graph *g)
{
	struct vtpu_op_info info;

	for (size_t i = 0; i < vtpu_graph_size(g); i++) {
		const char *op = vtpu_node_op(vtpu_graph_node(g, i));

		for (size_t n = 0; n < MAX_OPS && vtpu_op_info(n, &info); n++)
			covered[n] |= strcmp(info.name, op) == 0;
	}
}

/* sum(y * r) with r fixed and random. */
static struct vtpu_tensor *weighted(struct vtpu_graph *g, struct vtpu_tensor *y, const char *name)
{
	struct vtpu_initial random = { .kind = VTPU_INITIAL_UNIFORM, .mean = 0.25f, .spread = 1 };
	struct vtpu_tensor *r;

	r = vtpu_state(g, name, VTPU_DTYPE_F32, vtpu_tensor_shape(y), &random);
	return vtpu_reduce_sum(g, vtpu_mul(g, y, r), 0, false);
}

/* Plus the sum of each of @x, so that the loss depends on all of them. */
static struct vtpu_tensor *with_all(struct vtpu_graph *g, struct vtpu_tensor *loss,
				    struct vtpu_tensor *const *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		loss = vtpu_add(g, loss, vtpu_reduce_sum(g, x[i], 0, false));
	return loss;
}

static double loss_at(struct ref_graph *r, const struct vtpu_tensor *loss)
{
	const char *unknown = ref_graph_eval(r);

	return unknown ? NAN : *ref_graph_value(r, loss);
}

/* Largest distance between @gradient and differences of @loss over all elements of @x. */
static double compare(struct ref_graph *r, const struct vtpu_tensor *loss,
		      const struct vtpu_tensor *x, const struct vtpu_tensor *gradient)
{
	double worst = 0, *value = ref_graph_value(r, x);

	for (uint64_t i = 0; i < vtpu_tensor_elements(x); i++) {
		double old = value[i], high, low, slope, got, error;

		value[i] = old + STEP;
		high = loss_at(r, loss);
		value[i] = old - STEP;
		low = loss_at(r, loss);
		value[i] = old;
		loss_at(r, loss);
		got = ref_graph_value(r, gradient)[i];
		slope = (high - low) / (2 * STEP);
		error = fabs(got - slope) / (1 + fabs(slope));
		if (!(error <= worst))
			worst = error;
	}
	return worst;
}

/* @order 1: of the case; 2: of its gradient. */
static void run_case(const struct graph_case *c, int order)
{
	struct vtpu_tensor *x[CASE_INPUTS] = { 0 }, *d[CASE_INPUTS] = { 0 }, *loss;
	struct ref_graph *r = NULL;
	struct vtpu_graph *g;
	double worst = 0;
	size_t n = 0;

	if (!tap_ok(vtpu_graph_create(&g) == VTPU_OK, "%s: a graph", c->name))
		return;
	for (; n < CASE_INPUTS && c->shape[n].rank <= VTPU_MAX_RANK; n++) {
		const char name[] = { 'x', (char)('0' + n), 0 };
		struct vtpu_initial start = { .kind = VTPU_INITIAL_UNIFORM,
					      .mean = c->mean,
					      .spread = c->spread,
					      .seed = 1 };

		x[n] = vtpu_parameter(g, name, VTPU_DTYPE_F32, c->shape[n], &start);
	}
	loss = with_all(g, weighted(g, c->build(g, x), "r1"), x, n);
	mark_covered(g);
	vtpu_gradients(g, loss, x, n, d);
	if (order == 2 && vtpu_graph_status(g) == VTPU_OK) {
		/* Of the sum of all gradients, each with weights of its own. */
		loss = NULL;
		for (size_t i = 0; i < n; i++) {
			const char name[] = { 's', (char)('0' + i), 0 };
			struct vtpu_tensor *part = weighted(g, d[i], name);

			loss = loss ? vtpu_add(g, loss, part) : part;
		}
		mark_covered(g);
		loss = with_all(g, loss, x, n);
		vtpu_gradients(g, loss, x, n, d);
	}
	if (vtpu_graph_status(g) == VTPU_OK)
		r = ref_graph_create(g);
	for (size_t i = 0; r && i < n; i++) {
		double error = compare(r, loss, x[i], d[i]);

		if (!(error <= worst))
			worst = error;
	}
	if (!tap_ok(r && worst <= TOLERANCE, "%s, order %d: largest relative difference %.1e",
		    c->name, order, worst) &&
	    vtpu_graph_status(g))
		printf("# %s\n", vtpu_last_error());
	ref_graph_destroy(r);
	vtpu_graph_destroy(g);
}

/* With the same seed and step the mask is the same; with another it is not. */
static void check_dropout(void)
{
	struct vtpu_graph *g;
	struct vtpu_tensor *x, *y, *seed, *step;
	struct vtpu_initial ones = { .kind = VTPU_INITIAL_CONSTANT, .mean = 1 };
	struct ref_graph *r;
	unsigned int zeros = 0, changed = 0;
	double first[4096], *value;

	vtpu_graph_create(&g);
	x = vtpu_parameter(g, "x", VTPU_DTYPE_F32, VTPU_SHAPE(4096), &ones);
	seed = vtpu_scalar(g, "seed", VTPU_DTYPE_S32);
	step = vtpu_scalar(g, "step", VTPU_DTYPE_S32);
	y = vtpu_dropout(g, x, seed, step, &(struct vtpu_dropout_attrs){ .rate = 0.25f });
	r = ref_graph_create(g);
	ref_graph_eval(r);
	value = ref_graph_value(r, y);
	memcpy(first, value, sizeof(first));
	*ref_graph_value(r, step) = 1;
	ref_graph_eval(r);
	for (int i = 0; i < 4096; i++) {
		zeros += first[i] == 0;
		changed += first[i] != value[i];
	}
	tap_ok(zeros > 940 && zeros < 1108, "dropout at 1/4: %u of 4096 dropped", zeros);
	tap_ok(changed > 1400 && changed < 1670, "another step: %u elements differ", changed);
	ref_graph_destroy(r);
	vtpu_graph_destroy(g);
}

int main(void)
{
	struct vtpu_op_info info;
	size_t n = 0;

	for (const struct graph_case *c = graph_cases; c->name; c++) {
		run_case(c, 1);
		if (c->twice)
			run_case(c, 2);
	}
	for (; n < MAX_OPS && vtpu_op_info(n, &info); n++) {
		tap_ok(ref_graph_knows(info.name), "%s can be interpreted", info.name);
		if (info.gradient)
			tap_ok(covered[n], "%s: its gradient was compared", info.name);
	}
	tap_ok(n > 50 && n < MAX_OPS, "%zu operations", n);
	check_dropout();
	return tap_done();
}
