// SPDX-License-Identifier: MIT
/*
 * test_graph_step.c - what a step does to parameters, and how these start.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "reference/ref_graph.h"
#include "unit/tap.h"

static bool near(double got, double want)
{
	bool ok = fabs(got - want) <= 1e-6 * (1 + fabs(want));

	if (!ok)
		printf("# got %.9g, want %.9g\n", got, want);
	return ok;
}

/* ---- Optimisers by hand ------------------------------------------------------------------ */

/* A single parameter, 0.5 at first, whose gradient is always 2. */
struct bench {
	struct vtpu_graph *g;
	struct vtpu_tensor *p, *gradient, *rate, *step;
	struct ref_graph *r;
};

static void bench_create(struct bench *b)
{
	struct vtpu_initial start = { .kind = VTPU_INITIAL_CONSTANT, .mean = 0.5f };

	vtpu_graph_create(&b->g);
	b->p = vtpu_parameter(b->g, "p", VTPU_DTYPE_F32, VTPU_SHAPE(1), &start);
	b->gradient = vtpu_input(b->g, "gradient", VTPU_DTYPE_F32, VTPU_SHAPE(1));
	b->rate = vtpu_scalar(b->g, "rate", VTPU_DTYPE_F32);
	b->step = vtpu_scalar(b->g, "step", VTPU_DTYPE_S32);
}

/* @steps steps at rate 1/4, then the parameter. */
static double bench_run(struct bench *b, int steps)
{
	double p = NAN;

	b->r = vtpu_graph_status(b->g) ? NULL : ref_graph_create(b->g);
	if (b->r) {
		*ref_graph_value(b->r, b->gradient) = 2;
		*ref_graph_value(b->r, b->rate) = 0.25;
		for (int i = 1; i <= steps; i++) {
			*ref_graph_value(b->r, b->step) = i;
			ref_graph_eval(b->r);
			ref_graph_assign(b->r);
		}
		p = *ref_graph_value(b->r, b->p);
	}
	ref_graph_destroy(b->r);
	vtpu_graph_destroy(b->g);
	return p;
}

static double sgd(int steps, struct vtpu_sgd_attrs attrs)
{
	struct bench b;

	bench_create(&b);
	vtpu_sgd(b.g, b.p, b.gradient, b.rate, &attrs);
	return bench_run(&b, steps);
}

static double adam(int steps, struct vtpu_adam_attrs attrs)
{
	struct bench b;

	bench_create(&b);
	vtpu_adam(b.g, b.p, b.gradient, b.rate, b.step, &attrs);
	return bench_run(&b, steps);
}

static void check_optimisers(void)
{
	tap_ok(near(sgd(2, (struct vtpu_sgd_attrs){ 0 }), 0.5 - 2 * 0.25 * 2), "sgd");
	tap_ok(near(sgd(1, (struct vtpu_sgd_attrs){ .weight_decay = 0.5f }), 0.5 - 0.25 * 2.25),
	       "sgd with weight decay");
	tap_ok(near(sgd(2, (struct vtpu_sgd_attrs){ .momentum = 0.5f }), 0.5 - 0.25 * (2 + 3)),
	       "sgd with momentum");
	tap_ok(near(sgd(2, (struct vtpu_sgd_attrs){ .momentum = 0.5f, .nesterov = true }),
		    0.5 - 0.25 * (3 + 3.5)),
	       "sgd with Nesterov's momentum");
	/* With a constant gradient each of Adam's steps is the rate, whatever the gradient. */
	tap_ok(near(adam(3, (struct vtpu_adam_attrs){ 0 }), 0.5 - 3 * 0.25), "adam");
	tap_ok(near(adam(1, (struct vtpu_adam_attrs){ .weight_decay = 0.5f }), 0.25),
	       "adam: decay in the gradient does not change its size");
	tap_ok(near(adam(1, (struct vtpu_adam_attrs){ .weight_decay = 0.5f, .decoupled = true }),
		    0.5 - 0.25 * (1 + 0.25)),
	       "adam with decoupled decay");
	tap_ok(near(adam(1, (struct vtpu_adam_attrs){ .epsilon = 2 }), 0.5 - 0.25 * 2 / 4.0),
	       "adam with a large epsilon");
}

/* ---- Steps --------------------------------------------------------------------------------- */

static void check_swap(void)
{
	struct vtpu_initial one = { .kind = VTPU_INITIAL_CONSTANT, .mean = 1 };
	struct vtpu_tensor *p, *q;
	struct vtpu_graph *g;
	struct ref_graph *r;

	vtpu_graph_create(&g);
	p = vtpu_parameter(g, "p", VTPU_DTYPE_F32, VTPU_SHAPE(2), &one);
	q = vtpu_state(g, "q", VTPU_DTYPE_F32, VTPU_SHAPE(2), NULL);
	vtpu_assign(g, p, q);
	vtpu_assign(g, q, p);
	r = ref_graph_create(g);
	ref_graph_eval(r);
	ref_graph_assign(r);
	tap_ok(ref_graph_value(r, p)[1] == 0 && ref_graph_value(r, q)[1] == 1,
	       "a step reads what was before it: two parameters change places");
	ref_graph_destroy(r);
	vtpu_graph_destroy(g);
}

static void check_running_statistics(void)
{
	struct vtpu_initial one = { .kind = VTPU_INITIAL_CONSTANT, .mean = 1 };
	struct vtpu_tensor *x, *gamma, *beta, *mean, *variance;
	static const double values[] = { 1, 2, 3, 6 };
	struct vtpu_graph *g;
	struct ref_graph *r;

	vtpu_graph_create(&g);
	x = vtpu_input(g, "x", VTPU_DTYPE_F32, VTPU_SHAPE(4, 1));
	gamma = vtpu_parameter(g, "gamma", VTPU_DTYPE_F32, VTPU_SHAPE(1), &one);
	beta = vtpu_parameter(g, "beta", VTPU_DTYPE_F32, VTPU_SHAPE(1), NULL);
	mean = vtpu_state(g, "mean", VTPU_DTYPE_F32, VTPU_SHAPE(1), NULL);
	variance = vtpu_state(g, "variance", VTPU_DTYPE_F32, VTPU_SHAPE(1), &one);
	vtpu_batch_norm(g, x, gamma, beta, mean, variance,
			&(struct vtpu_batch_norm_attrs){ .momentum = 0.25f });
	r = ref_graph_create(g);
	memcpy(ref_graph_value(r, x), values, sizeof(values));
	ref_graph_eval(r);
	ref_graph_assign(r);
	tap_ok(near(*ref_graph_value(r, mean), 0.25 * 3), "running mean");
	tap_ok(near(*ref_graph_value(r, variance), 0.75 + 0.25 * 14 / 3), "running variance");
	ref_graph_destroy(r);
	vtpu_graph_destroy(g);
}

/* Two classes that a line cannot part are learned by one hidden layer. */
static void check_training(void)
{
	static const double points[] = { 0, 0, 0, 1, 1, 0, 1, 1 }, classes[] = { 0, 1, 1, 0 };
	struct vtpu_initial he = { .kind = VTPU_INITIAL_HE_UNIFORM, .seed = 1 };
	struct vtpu_tensor *x, *labels, *rate, *step, *loss, *hits, *p[4], *d[4];
	double first = 0, last = 0;
	struct vtpu_graph *g;
	struct ref_graph *r;

	vtpu_graph_create(&g);
	x = vtpu_input(g, "x", VTPU_DTYPE_F32, VTPU_SHAPE(4, 2));
	labels = vtpu_input(g, "labels", VTPU_DTYPE_S32, VTPU_SHAPE(4));
	rate = vtpu_scalar(g, "rate", VTPU_DTYPE_F32);
	step = vtpu_scalar(g, "step", VTPU_DTYPE_S32);
	p[0] = vtpu_parameter(g, "w1", VTPU_DTYPE_F32, VTPU_SHAPE(2, 16), &he);
	p[1] = vtpu_parameter(g, "b1", VTPU_DTYPE_F32, VTPU_SHAPE(16), NULL);
	p[2] = vtpu_parameter(g, "w2", VTPU_DTYPE_F32, VTPU_SHAPE(16, 2), &he);
	loss = vtpu_tanh(g, vtpu_bias_add(g, vtpu_matmul(g, x, p[0], NULL), p[1]));
	loss = vtpu_matmul(g, loss, p[2], NULL);
	hits = vtpu_correct(g, loss, labels, NULL);
	loss = vtpu_cross_entropy(g, loss, labels, NULL, NULL);
	vtpu_gradients(g, loss, p, 3, d);
	for (int i = 0; i < 3; i++)
		vtpu_adam(g, p[i], d[i], rate, step, NULL);
	if (!tap_ok(vtpu_graph_status(g) == VTPU_OK, "a network that can learn xor"))
		printf("# %s\n", vtpu_last_error());
	r = ref_graph_create(g);
	memcpy(ref_graph_value(r, x), points, sizeof(points));
	memcpy(ref_graph_value(r, labels), classes, sizeof(classes));
	*ref_graph_value(r, rate) = 0.05;
	for (int i = 1; i <= 200; i++) {
		*ref_graph_value(r, step) = i;
		ref_graph_eval(r);
		ref_graph_assign(r);
		last = *ref_graph_value(r, loss);
		if (i == 1)
			first = last;
	}
	tap_ok(last < first / 10 && *ref_graph_value(r, hits) == 4,
	       "200 steps bring the loss from %.3f to %.4f", first, last);
	ref_graph_destroy(r);
	vtpu_graph_destroy(g);
}

/* ---- How parameters start ------------------------------------------------------------------------ */

static void check_philox(void)
{
	/* Known answers published with the generator. */
	static const struct {
		uint32_t key[2];
		struct random_block counter, want;
	} known[] = {
		{ { 0, 0 },
		  { { 0, 0, 0, 0 } },
		  { { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } } },
		{ { ~0u, ~0u },
		  { { ~0u, ~0u, ~0u, ~0u } },
		  { { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } } },
		{ { 0xa4093822, 0x299f31d0 },
		  { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 } },
		  { { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } } },
	};

	for (int i = 0; i < 3; i++) {
		struct random_block got =
			random_block(known[i].key[0], known[i].key[1], known[i].counter);

		tap_ok(memcmp(&got, &known[i].want, sizeof(got)) == 0, "Philox, known answer %d",
		       i + 1);
	}
}

#define MANY 20000

static const float *draw(struct vtpu_initial initial, struct vtpu_shape shape)
{
	static float values[MANY];
	struct vtpu_graph *g;
	struct vtpu_tensor *p;

	vtpu_graph_create(&g);
	p = vtpu_parameter(g, "p", VTPU_DTYPE_F32, shape, &initial);
	if (vtpu_initial_values(p, values, vtpu_tensor_elements(p) * sizeof(float)))
		printf("# %s\n", vtpu_last_error());
	vtpu_graph_destroy(g);
	return values;
}

static void moments(const float *values, double *mean, double *deviation, double *most)
{
	double sum = 0, squares = 0;

	*most = 0;
	for (int i = 0; i < MANY; i++) {
		sum += (double)values[i];
		squares += (double)values[i] * (double)values[i];
		*most = fmax(*most, fabs((double)values[i]));
	}
	*mean = sum / MANY;
	*deviation = sqrt(squares / MANY - *mean * *mean);
}

/* Where all have mean 0; @most: what none is above, 0 for no limit. */
static void check_spread(enum vtpu_initial_kind kind, double deviation, double limit,
			 const char *name)
{
	double mean, got, most;

	moments(draw((struct vtpu_initial){ .kind = kind, .spread = 0.5f, .seed = 3 },
		     VTPU_SHAPE(10, 20, 100)),
		&mean, &got, &most);
	tap_ok(fabs(mean) < 0.03 * deviation && fabs(got / deviation - 1) < 0.03 &&
		       (!limit || most <= limit) && most > 1.7 * deviation,
	       "%s: mean %.4f, deviation %.4f, largest %.3f", name, mean, got, most);
}

static void check_initial(void)
{
	/* Frozen: a run starts from the same bits in every version. */
	static const uint32_t golden[] = { 0xbe8954a8, 0x3f45e2de, 0x3fc77c67 };
	struct vtpu_initial normal = { .kind = VTPU_INITIAL_NORMAL, .spread = 1, .seed = 5 };
	static const uint8_t bytes[] = { 1, 2, 3 };
	struct vtpu_tensor *p, *q;
	struct vtpu_graph *g;
	uint32_t bits[3];
	uint16_t half[2];
	uint8_t got[3];
	float f[2];

	check_spread(VTPU_INITIAL_UNIFORM, 0.5 / sqrt(3), 0.5, "uniform");
	check_spread(VTPU_INITIAL_NORMAL, 0.5, 0, "normal");
	check_spread(VTPU_INITIAL_HE_UNIFORM, sqrt(2 / 200.0), sqrt(6 / 200.0), "He uniform");
	check_spread(VTPU_INITIAL_HE_NORMAL, sqrt(2 / 200.0), 0, "He normal");
	check_spread(VTPU_INITIAL_GLOROT_UNIFORM, sqrt(2 / 1200.0), sqrt(6 / 1200.0),
		     "Glorot uniform");
	check_spread(VTPU_INITIAL_GLOROT_NORMAL, sqrt(2 / 1200.0), 0, "Glorot normal");
	memcpy(bits, draw(normal, VTPU_SHAPE(3)), sizeof(bits));
	if (!tap_ok(memcmp(bits, golden, sizeof(bits)) == 0, "the same bits on every machine"))
		printf("# got %#x, %#x, %#x\n", bits[0], bits[1], bits[2]);

	vtpu_graph_create(&g);
	p = vtpu_parameter(g, "p", VTPU_DTYPE_F32, VTPU_SHAPE(2), &normal);
	q = vtpu_parameter(g, "q", VTPU_DTYPE_BF16, VTPU_SHAPE(2), &normal);
	tap_ok(!vtpu_initial_values(p, f, sizeof(f)) &&
		       !vtpu_initial_values(q, half, sizeof(half)) &&
		       (uint32_t)half[0] << 16 != (bits[0] & 0xffff0000),
	       "another name, other values");
	q = vtpu_state(g, "bytes", VTPU_DTYPE_U8, VTPU_SHAPE(3),
		       &(struct vtpu_initial){ .kind = VTPU_INITIAL_DATA,
					       .data = bytes,
					       .data_bytes = sizeof(bytes) });
	tap_ok(!vtpu_initial_values(q, got, sizeof(got)) && memcmp(got, bytes, sizeof(got)) == 0,
	       "given values");
	q = vtpu_state(g, "large", VTPU_DTYPE_U8, VTPU_SHAPE(3),
		       &(struct vtpu_initial){ .kind = VTPU_INITIAL_CONSTANT, .mean = 1e9f });
	tap_ok(!vtpu_initial_values(q, got, sizeof(got)) && got[2] == 255, "saturated values");
	tap_ok(vtpu_initial_values(q, got, 2) == VTPU_ERROR_INVALID_ARGUMENT &&
		       strcmp(vtpu_last_error(), "initial values of 'large' take 3 bytes, not 2") ==
			       0,
	       "wrong room for them");
	tap_ok(vtpu_initial_values(vtpu_relu(g, p), f, sizeof(f)) == VTPU_ERROR_INVALID_ARGUMENT &&
		       vtpu_initial_values(NULL, f, sizeof(f)) == VTPU_ERROR_INVALID_ARGUMENT,
	       "what is no parameter has none");
	vtpu_graph_destroy(g);
}

int main(void)
{
	check_optimisers();
	check_swap();
	check_running_statistics();
	check_training();
	check_philox();
	check_initial();
	return tap_done();
}
