/* SPDX-License-Identifier: MIT */
/*
 * body.h - all kernels, in terms of the vector operations of one vec_*.h.
 *
 * Included once by each of scalar.c, avx2.c and avx512.c, which are nothing but
 * that and compiler flags. struct vtpu_kernels says what each function does.
 */
#include "vtpu_model.h"

#include "kernels/kernels.h"
#include "kernels/vmath.h"

#define GEMM_NR (GEMM_NV * VW)
/* Sizes become constants of straight code; not where every access is checked, as that takes minutes to compile. */
#ifdef VTPU_CHECKED
#define INLINE static __attribute__((noinline, unused))
#define UNROLL(n)
#else
#define INLINE		  static inline __attribute__((always_inline))
#define UNROLL(n)	  _Pragma(UNROLL_TEXT(GCC unroll n))
#define UNROLL_TEXT(text) #text
#endif

_Static_assert(GEMM_NR <= VTPU_GEMM_MAX_NR && GEMM_MR <= VTPU_GEMM_MAX_MR, "micro-tile");
_Static_assert(GEMM_KC <= VTPU_GEMM_KC, "contraction block");
_Static_assert(VTPU_BLOCK_ALIGN % VW == 0 && VTPU_REDUCE_PARTIALS % VW == 0, "blocks");

/* ---- Matrix product ------------------------------------------------------ */

/*
 * A micro-tile of @rows by GEMM_NR outputs, all of them in registers. @rows is a
 * constant wherever this is inlined.
 */
INLINE void gemm_tile(const struct vtpu_gemm *g, const unsigned int rows, const float *a,
		      const float *b, const float *c, size_t c_pitch, float *d, size_t d_pitch)
{
	const size_t ap = g->a_pitch, bp = g->b_pitch;
	vf acc[GEMM_MR][GEMM_NV];

	UNROLL(16)
	for (unsigned int i = 0; i < rows; i++) {
		UNROLL(4)
		for (unsigned int v = 0; v < GEMM_NV; v++)
			acc[i][v] = c ? v_load(c + i * c_pitch + v * VW) : v_zero();
	}
	for (size_t k = g->k; k; k--) {
		vf bv[GEMM_NV];

		UNROLL(4)
		for (unsigned int v = 0; v < GEMM_NV; v++)
			bv[v] = v_load(b + v * VW);
		b += bp;
		UNROLL(16)
		for (unsigned int i = 0; i < rows; i++) {
			vf av = v_set(a[i * ap]);

			UNROLL(4)
			for (unsigned int v = 0; v < GEMM_NV; v++)
				acc[i][v] = v_fma(av, bv[v], acc[i][v]);
		}
		a++;
	}
	if (g->last) {
		UNROLL(16)
		for (unsigned int i = 0; i < rows; i++) {
			UNROLL(4)
			for (unsigned int v = 0; v < GEMM_NV; v++)
				acc[i][v] = vm_canon(v_add(acc[i][v], v_zero()));
		}
	}
	UNROLL(16)
	for (unsigned int i = 0; i < rows; i++) {
		UNROLL(4)
		for (unsigned int v = 0; v < GEMM_NV; v++)
			v_store(d + i * d_pitch + v * VW, acc[i][v]);
	}
}

/* Rows of a tile are a constant of the code: one copy for each number of rows. */
static void gemm_rows(const struct vtpu_gemm *g, unsigned int rows, const float *a, const float *b,
		      const float *c, size_t c_pitch, float *d, size_t d_pitch)
{
	switch (rows) {
#define ROWS(n) \
	case n: \
		if (n <= GEMM_MR) \
			gemm_tile(g, n, a, b, c, c_pitch, d, d_pitch); \
		break;
		ROWS(1)
		ROWS(2)
		ROWS(3)
		ROWS(4)
		ROWS(5)
		ROWS(6)
		ROWS(7)
		ROWS(8)
		ROWS(9)
		ROWS(10)
		ROWS(11)
		ROWS(12)
#undef ROWS
	}
}

/* A tile that sticks out on the right goes through a full one beside the matrix. */
static void gemm_edge(const struct vtpu_gemm *g, unsigned int rows, unsigned int cols,
		      const float *a, const float *b, const float *c, float *d)
{
	float tile[GEMM_MR * GEMM_NR];

	for (unsigned int i = 0; c && i < rows; i++) {
		memset(tile + i * GEMM_NR, 0, GEMM_NR * sizeof(float));
		memcpy(tile + i * GEMM_NR, c + i * g->c_pitch, cols * sizeof(float));
	}
	gemm_rows(g, rows, a, b, c ? tile : NULL, GEMM_NR, tile, GEMM_NR);
	for (unsigned int i = 0; i < rows; i++)
		memcpy(d + i * g->d_pitch, tile + i * GEMM_NR, cols * sizeof(float));
}

/*
 * Rows of A stay in L1 while the panels of B pass by from L2, and the tiles of
 * a row of the result are neighbours in memory.
 */
static void gemm(const struct vtpu_gemm *g)
{
	for (size_t i = 0; i < g->m; i += GEMM_MR) {
		unsigned int rows = g->m - i < GEMM_MR ? g->m - i : GEMM_MR;
		const float *a = g->a + i * g->a_pitch;

		for (size_t j = 0; j < g->n; j += GEMM_NR) {
			const float *b = g->b + j / GEMM_NR * g->b_panel;
			size_t cols = g->n - j < GEMM_NR ? g->n - j : GEMM_NR;
			const float *c = g->start ? g->c + i * g->c_pitch + j : NULL;
			float *d = g->d + i * g->d_pitch + j;

			if (atomic_load_explicit(g->cancel, memory_order_relaxed))
				return;
			/* The next tile's accumulators arrive while this one is computed. */
			for (unsigned int r = 0; c && r < rows; r++)
				__builtin_prefetch(c + r * g->c_pitch + GEMM_NR);
			if (cols == GEMM_NR)
				gemm_rows(g, rows, a, b, c, g->c_pitch, d, g->d_pitch);
			else
				gemm_edge(g, rows, cols, a, b, c, d);
		}
	}
}

/* ---- Conversions --------------------------------------------------------- */

INLINE vf widen_vec(const void *src, size_t i, unsigned int type)
{
	switch (type) {
	case VTPU_TYPE_U8:
		return v_from_int(vi_load_u8((const uint8_t *)src + i));
	case VTPU_TYPE_BF16:
		return vm_flush(v_float(vi_shl(vi_load_u16((const uint16_t *)src + i), 16)));
	default:
		return vm_flush(v_load((const float *)src + i));
	}
}

INLINE void widen_type(float *dst, const void *src, size_t n, const unsigned int type)
{
	size_t size = vtpu_type_bytes(type), i;

	for (i = 0; i + VW <= n; i += VW)
		v_store(dst + i, widen_vec(src, i, type));
	if (i < n) {
		float in[VW] = { 0 }, out[VW];

		memcpy(in, (const char *)src + i * size, (n - i) * size);
		v_store(out, widen_vec(in, 0, type));
		memcpy(dst + i, out, (n - i) * sizeof(float));
	}
}

static void widen(float *dst, const void *src, size_t n, unsigned int type)
{
	if (type == VTPU_TYPE_F32)
		widen_type(dst, src, n, VTPU_TYPE_F32);
	else if (type == VTPU_TYPE_BF16)
		widen_type(dst, src, n, VTPU_TYPE_BF16);
	else
		widen_type(dst, src, n, VTPU_TYPE_U8);
}

/* Addition takes denormals for zero, so that f32 need not be flushed first. */
INLINE vf addend(const uint8_t *src, size_t i, const unsigned int type)
{
	return type == VTPU_TYPE_F32 ? v_load((const float *)src + i) : widen_vec(src, i, type);
}

INLINE void sum_rows_type(float *acc, const uint8_t *src, size_t pitch, size_t rows, size_t n,
			  const unsigned int type)
{
	size_t i = 0;

	for (; i + 4 * VW <= n; i += 4 * VW) {
		vf a = v_load(acc + i), b = v_load(acc + i + VW), c = v_load(acc + i + 2 * VW),
		   d = v_load(acc + i + 3 * VW);

		for (size_t r = 0; r < rows; r++) {
			const uint8_t *row = src + r * pitch;

			a = v_add(a, addend(row, i, type));
			b = v_add(b, addend(row, i + VW, type));
			c = v_add(c, addend(row, i + 2 * VW, type));
			d = v_add(d, addend(row, i + 3 * VW, type));
		}
		v_store(acc + i, a);
		v_store(acc + i + VW, b);
		v_store(acc + i + 2 * VW, c);
		v_store(acc + i + 3 * VW, d);
	}
	for (; i < n; i += VW) {
		size_t size = vtpu_type_bytes(type), bytes = (n - i < VW ? n - i : VW) * size;
		vf a = v_load(acc + i);

		for (size_t r = 0; r < rows; r++) {
			uint8_t in[VW * sizeof(float)] = { 0 };

			memcpy(in, src + r * pitch + i * size, bytes);
			a = v_add(a, addend(in, 0, type));
		}
		v_store(acc + i, a);
	}
}

static void sum_rows(float *acc, const uint8_t *src, size_t pitch, size_t rows, size_t n,
		     unsigned int type)
{
	if (type == VTPU_TYPE_F32)
		sum_rows_type(acc, src, pitch, rows, n, VTPU_TYPE_F32);
	else if (type == VTPU_TYPE_BF16)
		sum_rows_type(acc, src, pitch, rows, n, VTPU_TYPE_BF16);
	else
		sum_rows_type(acc, src, pitch, rows, n, VTPU_TYPE_U8);
}

INLINE void narrow_vec(void *dst, const float *src, unsigned int type)
{
	vf x = vm_canon(vm_flush(v_load(src)));

	if (type == VTPU_TYPE_BF16) {
		vi u = v_bits(x);
		vi odd = vi_and(vi_shr(u, 16), vi_set(1));

		u = vi_add(u, vi_add(odd, vi_set(0x7fff)));
		vi_store_u16(dst, vi_shr(u, 16));
	} else {
		v_store(dst, x);
	}
}

INLINE void narrow_type(void *dst, const float *src, size_t n, const unsigned int type)
{
	size_t size = vtpu_type_bytes(type), i;

	for (i = 0; i + VW <= n; i += VW)
		narrow_vec((char *)dst + i * size, src + i, type);
	if (i < n) {
		float in[VW] = { 0 }, out[VW];

		memcpy(in, src + i, (n - i) * sizeof(float));
		narrow_vec(out, in, type);
		memcpy((char *)dst + i * size, out, (n - i) * size);
	}
}

static void narrow(void *dst, const float *src, size_t n, unsigned int type)
{
	if (type == VTPU_TYPE_BF16)
		narrow_type(dst, src, n, VTPU_TYPE_BF16);
	else
		narrow_type(dst, src, n, VTPU_TYPE_F32);
}

/* ---- Element-wise micro-ops ---------------------------------------------- */

INLINE vf ew_one(const unsigned int op, vf d, vf a, vf b)
{
	const vf one = v_set(1.0f), zero = v_zero();

	switch (op) {
	case VTPU_EW_ADD:
		return v_add(a, b);
	case VTPU_EW_SUB:
		return v_sub(a, b);
	case VTPU_EW_MUL:
		return v_mul(a, b);
	case VTPU_EW_DIV:
		return v_div(a, b);
	case VTPU_EW_MIN:
		return vm_min(a, b);
	case VTPU_EW_MAX:
		return vm_max(a, b);
	case VTPU_EW_FMA:
		return v_fma(a, b, d);
	case VTPU_EW_CMP_EQ:
		return v_sel(v_eq(a, b), one, zero);
	case VTPU_EW_CMP_LT:
		return v_sel(v_lt(a, b), one, zero);
	case VTPU_EW_CMP_LE:
		return v_sel(v_le(a, b), one, zero);
	case VTPU_EW_SELECT:
		return v_sel(v_ne(d, zero), a, b);
	case VTPU_EW_NEG:
		return vm_neg(a);
	case VTPU_EW_ABS:
		return vm_abs(a);
	case VTPU_EW_SQRT:
		return v_sqrt(a);
	case VTPU_EW_RSQRT:
		return v_div(one, v_sqrt(a));
	case VTPU_EW_RCP:
		return v_div(one, a);
	case VTPU_EW_FLOOR:
		return v_floor(a);
	case VTPU_EW_EXP:
		return vm_exp(a);
	case VTPU_EW_LOG:
		return vm_log(a);
	case VTPU_EW_TANH:
		return vm_tanh(a);
	case VTPU_EW_SIGMOID:
		return vm_sigmoid(a);
	case VTPU_EW_RELU:
		return vm_relu(a);
	case VTPU_EW_GELU:
		return vm_gelu(a);
	case VTPU_EW_SILU:
		return vm_silu(a);
	default: /* VTPU_EW_MOV */
		return a;
	}
}

INLINE void ew_loop(const unsigned int op, float *d, const float *a, const float *b, size_t n)
{
	for (size_t i = 0; i < n; i += VW)
		v_store(d + i, ew_one(op, v_load(d + i), v_load(a + i), v_load(b + i)));
}

static void ew(unsigned int op, float *d, const float *a, const float *b, size_t n)
{
	n = (n + VTPU_BLOCK_ALIGN - 1) & ~(size_t)(VTPU_BLOCK_ALIGN - 1);
	switch (op) {
#define EW(name) \
	case VTPU_EW_##name: \
		ew_loop(VTPU_EW_##name, d, a, b, n); \
		break;
		EW(MOV)
		EW(ADD)
		EW(SUB)
		EW(MUL)
		EW(DIV)
		EW(MIN)
		EW(MAX)
		EW(FMA)
		EW(CMP_EQ)
		EW(CMP_LT)
		EW(CMP_LE)
		EW(SELECT)
		EW(NEG)
		EW(ABS)
		EW(SQRT)
		EW(RSQRT)
		EW(RCP)
		EW(FLOOR)
		EW(EXP)
		EW(LOG)
		EW(TANH)
		EW(SIGMOID)
		EW(RELU)
		EW(GELU)
		EW(SILU)
#undef EW
	}
}

/* ---- Row reductions ------------------------------------------------------ */

INLINE vf reduce_step(const unsigned int op, vf acc, vf x)
{
	switch (op) {
	case VTPU_REDUCE_MAX:
		return vm_max(acc, x);
	case VTPU_REDUCE_MIN:
		return vm_min(acc, x);
	case VTPU_REDUCE_SUMSQ:
		return v_fma(x, x, acc);
	default:
		return v_add(acc, x);
	}
}

INLINE float reduce_loop(const unsigned int op, const float *x, size_t n)
{
	enum {
		NV = VTPU_REDUCE_PARTIALS / VW
	};
	float part[VTPU_REDUCE_PARTIALS];
	vf acc[NV];

	for (int v = 0; v < NV; v++)
		acc[v] = v_set(vtpu_reduce_identity(op));
	for (size_t i = 0; i < n; i += VTPU_REDUCE_PARTIALS) {
		for (int v = 0; v < NV; v++)
			acc[v] = reduce_step(op, acc[v], v_load(x + i + v * VW));
	}
	for (int v = 0; v < NV; v++)
		v_store(part + v * VW, acc[v]);
	for (int half = VTPU_REDUCE_PARTIALS / 2; half; half /= 2) {
		for (int i = 0; i < half; i++)
			part[i] = vtpu_reduce_combine(op, part[i], part[i + half]);
	}
	return part[0];
}

static float reduce(unsigned int op, const float *x, size_t n)
{
	switch (op) {
	case VTPU_REDUCE_MAX:
		return reduce_loop(VTPU_REDUCE_MAX, x, n);
	case VTPU_REDUCE_MIN:
		return reduce_loop(VTPU_REDUCE_MIN, x, n);
	case VTPU_REDUCE_SUMSQ:
		return reduce_loop(VTPU_REDUCE_SUMSQ, x, n);
	default:
		return reduce_loop(VTPU_REDUCE_SUM, x, n);
	}
}

#include "kernels/conv_body.h"
#include "kernels/pooling_body.h"

const struct vtpu_kernels VEC_NAME = {
	.isa = VEC_ISA,
	.mr = GEMM_MR,
	.nr = GEMM_NR,
	.vw = VW,
	.kc = GEMM_KC,
	.gemm = gemm,
	.widen = widen,
	.sum_rows = sum_rows,
	.narrow = narrow,
	.ew = ew,
	.reduce = reduce,
	.pool = pool,
	.pool_grad = pool_grad,
	.pool_spread = pool_spread,
	.argmax = argmax,
	.optimize = optimize,
	.taps = taps,
	.window = window,
	.patch = patch,
	.nonzero = nonzero,
	.finite = all_finite,
	.sparse = sparse,
};
