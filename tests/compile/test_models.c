// SPDX-License-Identifier: MIT
/*
 * test_models.c - networks that train: against the interpreter in double precision, on 1 to 8 cores;
 * the same bits whatever the tile, the shrinking, the order of the exchange, the executor.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compile/harness.h"
#include "compile/models.h"
#include "unit/tap.h"

#define BOUND 1e-5

struct model {
	const char *name;
	struct vtpu_graph *(*make)(void);
	double bf16; /* bound of the bf16 policy */
};

static struct vtpu_graph *mlp_adam(void)
{
	return mlp(48, 20, 16, OPT_ADAM, true);
}

static struct vtpu_graph *mlp_sgd(void)
{
	return mlp(48, 33, 17, OPT_SGD, false);
}

static struct vtpu_graph *mlp_momentum(void)
{
	return mlp(48, 20, 16, OPT_MOMENTUM, true);
}

static struct vtpu_graph *mlp_gradients(void)
{
	return mlp(48, 20, 16, OPT_NONE, true);
}

static struct vtpu_graph *cnn_even(void)
{
	return cnn(48, 16, 8, 12, 16, OPT_ADAM);
}

/* 28 - 2 = 26 - 0, 13 - 2 = 11: the second pooling drops a row, and so on back to the input */
static struct vtpu_graph *cnn_odd(void)
{
	return cnn(48, 28, 4, 8, 16, OPT_MOMENTUM);
}

static struct vtpu_graph *cifar_small(void)
{
	return cifar(48, 8, 8, 0.25f);
}

static const struct model models[] = {
	{ "mlp, adam", mlp_adam, 0.02 },	 { "mlp, sgd", mlp_sgd, 0.02 },
	{ "mlp, momentum", mlp_momentum, 0.02 }, { "mlp, gradients", mlp_gradients, 0.02 },
	{ "cnn, adam", cnn_even, 0.1 },		 { "cnn, momentum", cnn_odd, 0.1 },
	{ "cifar", cifar_small, 0.2 },
};

/* Run @model as @how. Return: ran well, with @o to be freed */
static bool ran(const struct model *m, const struct how *how, struct outcome *o, const char *what)
{
	struct vtpu_graph *g = m->make();
	const char *error = run(g, how, o);

	if (error)
		tap_ok(false, "%s, %s: %s", m->name, what, error);
	vtpu_graph_destroy(g);
	return !error;
}

static void test_interpreter(const struct model *m, uint32_t cores)
{
	struct how how = { .cores = cores, .steps = 3 };
	struct vtpu_graph *g = m->make();
	struct outcome o;

	if (ran(m, &how, &o, "f32")) {
		double error = compare(g, &how, &o, BOUND);

		tap_ok(error <= BOUND, "%s, %u cores: as the interpreter, to %.2g", m->name, cores,
		       error);
	}
	outcome_free(&o);
	vtpu_graph_destroy(g);
}

/* The loss alone: after Adam a parameter's error says little where the gradient is near zero. */
static void test_bf16(const struct model *m)
{
	struct how how = { .cores = 2, .steps = 1 }, half = how;
	struct outcome o, h;
	float a = 0, b = 1;

	half.precision = VTPU_PRECISION_BF16;
	if (ran(m, &how, &o, "f32") && ran(m, &half, &h, "bf16")) {
		memcpy(&a, o.data[0], 4);
		memcpy(&b, h.data[0], 4);
		tap_ok(fabsf(a - b) <= (float)m->bf16 * fabsf(a) && a != b,
		       "%s: loss in bf16 %g, in f32 %g", m->name, (double)b, (double)a);
		tap_ok(h.info.cycles < o.info.cycles, "%s: bf16 takes %llu cycles, f32 %llu",
		       m->name, (unsigned long long)h.info.cycles,
		       (unsigned long long)o.info.cycles);
		outcome_free(&h);
	}
	outcome_free(&o);
}

static void same(const struct model *m, const struct how *base, const struct how *other,
		 const char *what, bool variables_only)
{
	struct outcome a, b;

	if (ran(m, base, &a, "base") && ran(m, other, &b, what)) {
		tap_ok(same_bits(&a, &b, variables_only), "%s: %s: same bits", m->name, what);
		outcome_free(&b);
	}
	outcome_free(&a);
}

static void test_bits(const struct model *m)
{
	static const uint32_t tiles[] = { 1, 3, 16 };
	struct how base = { .cores = 2, .steps = 2 }, how;
	char what[64];

	for (size_t i = 0; i < sizeof(tiles) / sizeof(tiles[0]); i++) {
		how = base;
		how.tile = tiles[i];
		snprintf(what, sizeof(what), "tiles of %u", tiles[i]);
		same(m, &base, &how, what, false);
	}
	how = base;
	how.no_shrink = true;
	same(m, &base, &how, "nothing shrunk", false);
	how = base;
	how.no_overlap = true;
	same(m, &base, &how, "exchange at the end", false);
	how = base;
	how.device = "model:v3,cores=2,hbm=1G,executor=reference";
	same(m, &base, &how, "one instruction after the other", false);
	how = base;
	how.device = "model:v3,cores=2,hbm=1G,isa=scalar";
	same(m, &base, &how, "scalar", false);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		static const uint32_t cores[] = { 1, 2, 8 };

		for (size_t k = 0; k < sizeof(cores) / sizeof(cores[0]); k++)
			test_interpreter(&models[i], cores[k]);
		test_bits(&models[i]);
		test_bf16(&models[i]);
	}
	return tap_done();
}
