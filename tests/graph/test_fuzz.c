// SPDX-License-Identifier: MIT
/*
 * test_graph_fuzz.c - graphs under random calls, and without memory.
 *
 * Nothing that a caller does may crash, leak or go unsaid: each graph ends without
 * an error, or with a status and a sentence. Runs with sanitizers.
 */
#include <stdlib.h>
#include <string.h>

#include <vtpu/graph.h>

#include "unit/gen.h"
#include "unit/tap.h"

/* ---- Memory that runs out: the linker sends the library's allocations here ------------------ */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);

static long left = -1; /* allocations until one fails; below 0: none does */

static bool fails(void)
{
	return left >= 0 && left-- == 0;
}

void *__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	return fails() ? NULL : __real_calloc(n, bytes);
}

/* ---- Random calls ------------------------------------------------------------------------------ */

#define POOL 64

/* A graph under construction by somebody who hardly looks. */
struct user {
	struct gen gen;
	struct vtpu_graph *g;
	struct vtpu_tensor *pool[POOL];
	uint32_t count;
	uint32_t calls; /* that gave a tensor */
};

static uint32_t below(struct user *u, uint32_t n)
{
	return gen_below(&u->gen, n);
}

static bool rarely(struct user *u)
{
	return below(u, 400) == 0;
}

static int32_t small(struct user *u)
{
	static const int32_t odd[] = { 0, -1, INT32_MAX, INT32_MIN, 1 << 30, 257 };

	return rarely(u) ? odd[below(u, 6)] : 1 + (int32_t)below(u, 3);
}

static int64_t size(struct user *u)
{
	static const int64_t odd[] = { 0,	  -1,	     1LL << 31, (1LL << 31) + 1,
				       INT64_MAX, INT64_MIN, 1 << 20 };

	return rarely(u) ? odd[below(u, 7)] : 1LL << below(u, 3);
}

static struct vtpu_shape shape(struct user *u, uint32_t rank)
{
	struct vtpu_shape s = { .rank = rarely(u) ? below(u, 9) : rank };

	for (uint32_t i = 0; i < VTPU_MAX_RANK; i++)
		s.dim[i] = size(u);
	return s;
}

/* Any tensor, or if there is one, one of that rank. */
static struct vtpu_tensor *any(struct user *u, int rank)
{
	struct vtpu_tensor *x = NULL;

	if (rarely(u) || !u->count)
		return NULL;
	for (int tries = 0; tries < 20; tries++) {
		x = u->pool[below(u, u->count)];
		if (rank < 0 || (int)vtpu_tensor_shape(x).rank == rank)
			break;
	}
	return x;
}

/* One that goes with @x element by element. */
static struct vtpu_tensor *like(struct user *u, const struct vtpu_tensor *x)
{
	struct vtpu_tensor *y = any(u, -1);
	struct vtpu_shape a = vtpu_tensor_shape(x), b = vtpu_tensor_shape(y);

	for (int tries = 0; tries < 20 && !rarely(u); tries++) {
		if (y && a.rank == b.rank && memcmp(a.dim, b.dim, sizeof(*a.dim) * a.rank) == 0)
			break;
		y = any(u, (int)a.rank);
		b = vtpu_tensor_shape(y);
	}
	return y;
}

static struct vtpu_conv2d_attrs conv(struct user *u)
{
	return (struct vtpu_conv2d_attrs){
		.stride = { small(u), small(u) },
		.dilation = { small(u), small(u) },
		.padding = rarely(u) ? (enum vtpu_padding)7 : VTPU_PADDING_SAME,
		.groups = below(u, 20) ? 1 : small(u),
	};
}

static struct vtpu_pool_attrs pool(struct user *u)
{
	return (struct vtpu_pool_attrs){
		.window = { small(u), small(u) },
		.stride = { small(u), small(u) },
		.padding = rarely(u) ? (enum vtpu_padding)7 : VTPU_PADDING_SAME,
	};
}

/* Weights that fit an image, most of the time. */
static struct vtpu_tensor *kernel_for(struct user *u, const struct vtpu_tensor *x)
{
	struct vtpu_shape s = shape(u, 4);

	s.dim[2] = rarely(u) ? size(u) : vtpu_tensor_shape(x).dim[3];
	return vtpu_reshape(u->g, vtpu_broadcast(u->g, vtpu_number(u->g, 0, 1), s), s);
}

static struct vtpu_tensor *unary(struct user *u)
{
	static struct vtpu_tensor *(*const call[])(struct vtpu_graph *, struct vtpu_tensor *) = {
		vtpu_neg,     vtpu_exp,	 vtpu_ln,   vtpu_sqrt, vtpu_rsqrt,   vtpu_tanh,
		vtpu_sigmoid, vtpu_relu, vtpu_gelu, vtpu_silu, vtpu_flatten,
	};

	return call[below(u, sizeof(call) / sizeof(*call))](u->g, any(u, -1));
}

static struct vtpu_tensor *binary(struct user *u)
{
	static struct vtpu_tensor *(*const call[])(struct vtpu_graph *, struct vtpu_tensor *,
						   struct vtpu_tensor *) = {
		vtpu_add,     vtpu_sub,	  vtpu_mul,  vtpu_div,	      vtpu_maximum,
		vtpu_minimum, vtpu_equal, vtpu_less, vtpu_less_equal,
	};
	struct vtpu_tensor *a = any(u, -1), *b = like(u, a);

	return call[below(u, sizeof(call) / sizeof(*call))](u->g, a, b);
}

static struct vtpu_tensor *layer(struct user *u)
{
	struct vtpu_tensor *x = any(u, 4), *y, *k;
	struct vtpu_conv2d_attrs c = conv(u);
	struct vtpu_pool_attrs p = pool(u);
	struct vtpu_shape s = vtpu_tensor_shape(x);

	if (s.rank != 4 && !rarely(u))
		return NULL;
	switch (below(u, 6)) {
	case 0:
		return vtpu_conv2d(u->g, x, kernel_for(u, x), &c);
	case 1:
		return vtpu_max_pool(u->g, x, &p);
	case 2:
		y = vtpu_avg_pool(u->g, x, &p);
		return vtpu_avg_pool_grad(u->g, y, &p, s);
	case 3:
		k = kernel_for(u, x);
		y = vtpu_conv2d(u->g, x, k, &c);
		k = rarely(u) ? any(u, 4) : k;
		return vtpu_conv2d_input_grad(u->g, y, k, &c, rarely(u) ? shape(u, 4) : s);
	case 4:
		y = vtpu_reduce_sum(u->g, x, 7, false);
		return vtpu_batch_norm(u->g, x, y, y, NULL, NULL, NULL);
	default:
		return vtpu_bias_add(u->g, x, vtpu_reduce_sum(u->g, x, 7, false));
	}
}

static struct vtpu_tensor *rest(struct user *u)
{
	struct vtpu_tensor *x = any(u, -1);
	struct vtpu_shape s = vtpu_tensor_shape(x);
	int32_t order[VTPU_MAX_RANK];

	switch (below(u, 10)) {
	case 0:
		s.rank = s.rank < VTPU_MAX_RANK ? s.rank + 1 : s.rank;
		s.dim[s.rank - 1] = rarely(u) ? size(u) : 1;
		return vtpu_reshape(u->g, x, s);
	case 1:
		return vtpu_reduce_mean(u->g, x, below(u, 2 << s.rank) >> 1, below(u, 2));
	case 2:
		return vtpu_reduce_max(u->g, x, rarely(u) ? 1u << 31 : 0, below(u, 2));
	case 3:
		return vtpu_argmax(u->g, x, s.rank ? (int32_t)below(u, s.rank) : small(u));
	case 4:
		for (int32_t i = 0; i < VTPU_MAX_RANK; i++)
			order[i] = rarely(u) ? small(u) : (int32_t)s.rank - 1 - i;
		return vtpu_transpose(u->g, x, order);
	case 5:
		return s.rank < 2 && !rarely(u) ?
			       NULL :
			       vtpu_matmul(u->g, x, x,
					   &(struct vtpu_matmul_attrs){ .transpose_b = true });
	case 6:
		return vtpu_softmax(u->g, x);
	case 7:
		return vtpu_cast(u->g, x, (enum vtpu_dtype)(rarely(u) ? below(u, 99) : 5));
	case 8:
		return vtpu_affine(u->g, x, 2, 1, VTPU_DTYPE_F32);
	default:
		return vtpu_select(u->g, x, like(u, x), like(u, x));
	}
}

static struct vtpu_tensor *source(struct user *u)
{
	char name[12] = "v";
	struct vtpu_initial start = { .kind = (enum vtpu_initial_kind)(rarely(u) ? 99 :
										   below(u, 8)) };

	for (int i = 1; i < 7; i++)
		name[i] = rarely(u) ? (char)below(u, 256) : (char)('a' + below(u, 26));
	return below(u, 2) ? vtpu_input(u->g, name, VTPU_DTYPE_F32, shape(u, below(u, 5))) :
			     vtpu_parameter(u->g, name, 0, shape(u, 4), &start);
}

static void step(struct user *u)
{
	static struct vtpu_tensor *(*const act[])(struct user *) = { source, unary, binary, layer,
								     rest };
	struct vtpu_tensor *x;

	if (below(u, 20) == 0)
		vtpu_scope_begin(u->g, rarely(u) ? "" : "scope");
	if (rarely(u))
		vtpu_scope_end(u->g);
	x = act[u->count < 3 ? 0 : below(u, 5)](u);
	if (x) {
		u->calls++;
		u->pool[u->count < POOL ? u->count++ : below(u, POOL)] = x;
	}
}

/* Gradients of the sum of one tensor for all parameters, which may have no way to it. */
static void finish(struct user *u)
{
	struct vtpu_tensor *p[POOL], *d[POOL], *loss;
	size_t n = vtpu_graph_parameters(u->g, p, POOL);

	loss = vtpu_reduce_sum(u->g, any(u, -1), 0, false);
	n = n > POOL ? POOL : n;
	for (size_t i = 0; i < n; i++)
		loss = vtpu_add(u->g, loss, vtpu_reduce_mean(u->g, p[i], 0, false));
	vtpu_gradients(u->g, loss, p, n, d);
	if (!vtpu_graph_status(u->g))
		u->calls += 1000000; /* counts whole graphs in the millions */
}

/* A graph may be read whatever has happened to it. */
static bool readable(const struct vtpu_graph *g)
{
	char *text = NULL, *dot = NULL;
	bool ok = !vtpu_graph_text(g, &text) && !vtpu_graph_dot(g, &dot);

	free(text);
	free(dot);
	return ok;
}

static void check_random(uint32_t graphs)
{
	uint64_t calls = 0, whole = 0;
	uint32_t silent = 0, unreadable = 0;

	for (uint32_t seed = 1; seed <= graphs; seed++) {
		struct user u = { .gen = { .state = seed } };

		if (vtpu_graph_create(&u.g))
			break;
		for (uint32_t i = 2 + below(&u, 40); i > 0 && !vtpu_graph_status(u.g); i--)
			step(&u);
		finish(&u);
		silent += vtpu_graph_status(u.g) == VTPU_ERROR_INTERNAL ||
			  (vtpu_graph_status(u.g) && strlen(vtpu_last_error()) < 10);
		unreadable += !readable(u.g);
		calls += u.calls % 1000000;
		whole += u.calls / 1000000;
		vtpu_graph_destroy(u.g);
	}
	tap_is(silent, 0, "all errors have sentences, and none is the library's own");
	tap_is(unreadable, 0, "all graphs can be dumped");
	tap_ok(calls > graphs * 5 && whole > graphs / 10,
	       "%u random graphs, %llu operations, %llu with gradients", graphs,
	       (unsigned long long)calls, (unsigned long long)whole);
}

/* ---- Without memory ----------------------------------------------------------------------------------- */

/* A network of 20 layers with gradients and Adam. */
static enum vtpu_status build(void)
{
	struct vtpu_initial he = { .kind = VTPU_INITIAL_HE_NORMAL };
	struct vtpu_tensor *x, *rate, *at, *p[20], *d[20];
	struct vtpu_graph *g = NULL;
	enum vtpu_status status = vtpu_graph_create(&g);

	if (status)
		return status;
	x = vtpu_input(g, "x", VTPU_DTYPE_F32, VTPU_SHAPE(4, 8, 8, 3));
	rate = vtpu_scalar(g, "rate", VTPU_DTYPE_F32);
	at = vtpu_scalar(g, "step", VTPU_DTYPE_S32);
	for (int i = 0; i < 20; i++) {
		const char name[] = { 'c', (char)('a' + i), 0 };

		vtpu_scope_begin(g, name);
		p[i] = vtpu_parameter(g, "weights", 0, VTPU_SHAPE(3, 3, 3, 3), &he);
		x = vtpu_conv2d(g, x, p[i],
				&(struct vtpu_conv2d_attrs){ .padding = VTPU_PADDING_SAME });
		x = vtpu_relu(g, x);
		vtpu_scope_end(g);
	}
	x = vtpu_reduce_mean(g, x, 0, false);
	vtpu_output(g, x, "loss");
	vtpu_gradients(g, x, p, 20, d);
	for (int i = 0; i < 20 && !vtpu_graph_status(g); i++)
		vtpu_adam(g, p[i], d[i], rate, at, NULL);
	status = vtpu_graph_status(g);
	vtpu_graph_destroy(g);
	return status;
}

static void check_memory(void)
{
	enum vtpu_status status = VTPU_ERROR_OUT_OF_HOST_MEMORY;
	long failed = 0;
	bool said = true;

	for (; status == VTPU_ERROR_OUT_OF_HOST_MEMORY && failed < 1000; failed++) {
		left = failed;
		status = build();
		left = -1;
		said &= !status || strncmp(vtpu_last_error(), "no host memory for ", 19) == 0;
	}
	tap_is(status, VTPU_OK, "each allocation fails in turn, until all succeed");
	tap_ok(said && failed > 10, "%ld times, and each time it is said", failed - 1);
}

int main(void)
{
	check_random(4000);
	check_memory();
	return tap_done();
}
