/* SPDX-License-Identifier: MIT */
/*
 * conv_body.h - the kernels for convolutions, in terms of the vector operations.
 *
 * Part of body.h. conv.h says what each is handed.
 */

/* Panels side by side in a tile that has few rows, so that enough chains are under way. */
#define TAPS_PANELS 4
#define TAPS_NV	    (TAPS_PANELS * GEMM_NV)
/* Elements of A that may pass by several times, from L2. */
#define TAPS_SPAN 65536

/* ---- Rows anywhere -------------------------------------------------------- */

/* A tile of @rows by @panels, both constants wherever this is inlined. */
INLINE void taps_tile(const struct vtpu_taps *t, const unsigned int rows, const unsigned int panels,
		      const float *const *a, const float *b, const float *const *c, float *const *d,
		      size_t at)
{
	const unsigned int nv = panels * GEMM_NV;
	const size_t step = t->a_step, bp = t->b_pitch, panel = t->b_panel;
	const float *ap[GEMM_MR];
	vf acc[GEMM_MR][TAPS_NV];

	UNROLL(16)
	for (unsigned int i = 0; i < rows; i++) {
		ap[i] = a[i];
		UNROLL(8)
		for (unsigned int v = 0; v < nv; v++)
			acc[i][v] = c ? v_load(c[i] + at + v * VW) : v_zero();
	}
	for (size_t s = 0; s < t->stretches; s++) {
		const float *row = b + t->stretch[s].b * bp;
		size_t e = t->stretch[s].a;

		for (size_t n = t->stretch[s].n; n; n--) {
			vf bv[TAPS_NV];

			UNROLL(8)
			for (unsigned int v = 0; v < nv; v++)
				bv[v] = v_load(row + v / GEMM_NV * panel + v % GEMM_NV * VW);
			row += bp;
			UNROLL(16)
			for (unsigned int i = 0; i < rows; i++) {
				vf av = v_set(ap[i][e]);

				UNROLL(8)
				for (unsigned int v = 0; v < nv; v++)
					acc[i][v] = v_fma(av, bv[v], acc[i][v]);
			}
			e += step;
		}
	}
	if (t->last) {
		UNROLL(8)
		for (unsigned int v = 0; v < nv; v++) {
			vf bias = t->bias ? v_load(t->bias + at + v * VW) : v_zero();

			UNROLL(16)
			for (unsigned int i = 0; i < rows; i++) {
				vf x = v_add(acc[i][v], v_zero());

				if (t->bias)
					x = v_add(v_add(x, bias), v_zero());
				if (t->relu)
					x = vm_relu(x);
				acc[i][v] = vm_canon(x);
			}
		}
	}
	UNROLL(16)
	for (unsigned int i = 0; i < rows; i++) {
		UNROLL(8)
		for (unsigned int v = 0; v < nv; v++)
			v_store(d[i] + at + v * VW, acc[i][v]);
	}
}

/* Rows and panels of a tile are constants of the code: one copy for each shape. */
static void taps_shape(const struct vtpu_taps *t, unsigned int rows, unsigned int panels,
		       const float *const *a, const float *b, const float *const *c,
		       float *const *d, size_t at)
{
	switch (rows * 8 + panels) {
#define SHAPE(r, p) \
	case (r)*8 + (p): \
		if (r <= GEMM_MR) \
			taps_tile(t, r, p, a, b, c, d, at); \
		break;
		SHAPE(1, 1)
		SHAPE(1, 2)
		SHAPE(1, 4)
		SHAPE(2, 1)
		SHAPE(2, 2)
		SHAPE(3, 1)
		SHAPE(3, 2)
		SHAPE(4, 1)
		SHAPE(5, 1)
		SHAPE(6, 1)
		SHAPE(7, 1)
		SHAPE(8, 1)
		SHAPE(9, 1)
		SHAPE(10, 1)
		SHAPE(11, 1)
		SHAPE(12, 1)
#undef SHAPE
	}
}

/* A panel that sticks out on the right goes through a full one beside the result. */
static void taps_edge(const struct vtpu_taps *t, unsigned int rows, size_t cols,
		      const float *const *a, const float *b, const float *const *c, float *const *d,
		      size_t at)
{
	float tile[GEMM_MR][GEMM_NR], *row[GEMM_MR];

	/* The tile's code adds the column, as for whole panels. */
	for (unsigned int i = 0; i < GEMM_MR; i++)
		row[i] = (float *)((uintptr_t)tile[i] - at * sizeof(float));
	for (unsigned int i = 0; c && i < rows; i++) {
		memset(tile[i], 0, sizeof(tile[i]));
		memcpy(tile[i], c[i] + at, cols * sizeof(float));
	}
	taps_shape(t, rows, 1, a, b, c ? (const float *const *)row : NULL, row, at);
	for (unsigned int i = 0; i < rows; i++)
		memcpy(d[i] + at, tile[i], cols * sizeof(float));
}

/* Panels that a tile of @rows takes at once when @left are left. */
static unsigned int taps_panels(unsigned int rows, size_t left)
{
	if (rows == 1 && left >= 4)
		return 4;
	return rows <= 3 && left >= 2 ? 2 : 1;
}

/* Panels [first, end) of rows [i, i + rows) */
static void taps_rows(const struct vtpu_taps *t, size_t i, unsigned int rows, size_t first,
		      size_t end)
{
	const float *const *c = t->c ? t->c + i : NULL;
	size_t whole = t->n / GEMM_NR, p = first;

	while (p < end && p < whole) {
		unsigned int panels = taps_panels(rows, (end < whole ? end : whole) - p);

		taps_shape(t, rows, panels, t->a + i, t->b + p * t->b_panel, c, t->d + i,
			   p * GEMM_NR);
		p += panels;
	}
	if (p < end)
		taps_edge(t, rows, t->n - p * GEMM_NR, t->a + i, t->b + p * t->b_panel, c, t->d + i,
			  p * GEMM_NR);
}

/* Elements of A that rows in ascending order span, about */
static size_t taps_span(const struct vtpu_taps *t)
{
	return t->m && t->a[t->m - 1] > t->a[0] ? (size_t)(t->a[t->m - 1] - t->a[0]) : 0;
}

/*
 * What stays in L1 is a group of panels while all rows pass by, if it is small;
 * else a tile of rows while all panels do. Tiles are as even as they can be: small ones
 * wait for their own results.
 */
static void taps(const struct vtpu_taps *t)
{
	size_t panels = (t->n + GEMM_NR - 1) / GEMM_NR, tiles = (t->m + GEMM_MR - 1) / GEMM_MR;
	size_t depth = 0, group;

	for (size_t s = 0; s < t->stretches; s++)
		depth += t->stretch[s].n;
	group = taps_panels(tiles ? t->m / tiles : 1, panels);
	if (depth * group * GEMM_NR > TAPS_L1 || taps_span(t) > TAPS_SPAN)
		group = panels;
	for (size_t p = 0; p < panels; p += group) {
		size_t end = p + group < panels ? p + group : panels;

		for (size_t tile = 0; tile < tiles; tile++) {
			size_t i = t->m * tile / tiles, next = t->m * (tile + 1) / tiles;

			if (atomic_load_explicit(t->cancel, memory_order_relaxed))
				return;
			taps_rows(t, i, (unsigned int)(next - i), p, end);
		}
	}
}

/* ---- Maximum of windows ---------------------------------------------------- */

/* The larger of two, the first if they are the same; of NaNs, the last */
#define WINDOW_TAKE(most, place, y, at) \
	do { \
		vm take = vm_either(v_lt(most, y), v_nan(y)); \
\
		(most) = v_sel(take, y, most); \
		(place) = v_sel(take, v_float(vi_set(at)), place); \
	} while (0)

INLINE void window_vec(const struct vtpu_window *p, const unsigned int h, const unsigned int w,
		       const float *x, float *d, uint8_t *index)
{
	vf most = v_load(x), place = v_float(vi_set(0));

	for (unsigned int r = 0; r < h; r++) {
		UNROLL(2)
		for (unsigned int c = 0; c < w; c++) {
			vf y = v_load(x + r * p->pitch + c * p->step);

			WINDOW_TAKE(most, place, y, r * w + c);
		}
	}
	if (p->relu)
		place = v_sel(v_lt(v_zero(), most), place, v_float(vi_set(h * w)));
	v_store(d, vm_canon(v_add(most, v_zero())));
	vi_store_u8(index, v_bits(place));
}

INLINE void window_shape(const struct vtpu_window *p, const unsigned int h, const unsigned int w)
{
	for (size_t i = 0; i < p->count; i++) {
		const float *x = p->x + i * w * p->step;
		float *d = p->d + i * p->d_pitch;
		uint8_t *index = p->index + i * p->index_pitch;
		size_t j;

		for (j = 0; j + VW <= p->n; j += VW)
			window_vec(p, h, w, x + j, d + j, index + j);
		if (j < p->n) {
			float most[VW];
			uint8_t place[VW];

			window_vec(p, h, w, x + j, most, place);
			memcpy(d + j, most, (p->n - j) * sizeof(float));
			memcpy(index + j, place, p->n - j);
		}
	}
}

static void window(const struct vtpu_window *p)
{
	if (p->h == 2 && p->w == 2)
		window_shape(p, 2, 2);
	else
		window_shape(p, p->h, p->w);
}

/* Vectors of channels at once: eight chains are enough to hide how long each term takes. */
#define PATCH_NV 2
#define PATCH_NR (PATCH_NV * VW)
_Static_assert(GEMM_NR % PATCH_NR == 0, "within a panel");

/* Elements come by row and column, so each of the four chains has its terms in that order. */
INLINE void patch_vecs(const struct vtpu_patch *p, const float *b, const float *bias,
		       const bool relu, float *d, uint8_t *index, size_t d_pitch,
		       size_t index_pitch)
{
	const float *row[4];

	UNROLL(4)
	for (unsigned int r = 0; r < 4; r++)
		row[r] = p->a + r * p->a_pitch;
	for (size_t i = p->count; i; i--, d += d_pitch, index += index_pitch) {
		vf acc[PATCH_NV][4];

		UNROLL(PATCH_NV)
		for (unsigned int v = 0; v < PATCH_NV; v++) {
			UNROLL(4)
			for (unsigned int t = 0; t < 4; t++)
				acc[v][t] = v_zero();
		}
		UNROLL(4)
		for (unsigned int r = 0; r < 4; r++) {
			UNROLL(4)
			for (unsigned int c = 0; c < 4; c++) {
				vf x = v_set(row[r][c]);

				UNROLL(4)
				for (unsigned int t = 0; t < 4; t++) {
					const unsigned int y = r - t / 2, z = c - t % 2;
					const float *w = b + (y * 3 + z) * GEMM_NR;

					if (y > 2 || z > 2)
						continue;
					UNROLL(PATCH_NV)
					for (unsigned int v = 0; v < PATCH_NV; v++)
						acc[v][t] = v_fma(x, v_load(w + v * VW), acc[v][t]);
				}
			}
			row[r] += 2;
		}
		UNROLL(PATCH_NV)
		for (unsigned int v = 0; v < PATCH_NV; v++) {
			vf most, place = v_float(vi_set(0));

			/* Zeros of either sign compare as one, and the maximum loses its sign below. */
			UNROLL(4)
			for (unsigned int t = 0; t < 4; t++) {
				acc[v][t] = v_add(acc[v][t], v_load(bias + v * VW));
				if (relu)
					acc[v][t] = v_max(v_zero(), acc[v][t]);
			}
			most = acc[v][0];
			UNROLL(3)
			for (unsigned int t = 1; t < 4; t++)
				WINDOW_TAKE(most, place, acc[v][t], t);
			if (relu)
				place = v_sel(v_lt(v_zero(), most), place, v_float(vi_set(4)));
			v_store(d + v * VW, vm_canon(v_add(most, v_zero())));
			vi_store_u8(index + v * VW, v_bits(place));
		}
	}
}

INLINE void patch_relu(const struct vtpu_patch *p, const bool relu)
{
	for (size_t j = 0; j < p->n; j += PATCH_NR) {
		const float *b = p->b + j / GEMM_NR * p->b_panel + j % GEMM_NR;
		struct vtpu_patch one = *p;

		if (j + PATCH_NR <= p->n) {
			patch_vecs(p, b, p->bias + j, relu, p->d + j, p->index + j, p->d_pitch,
				   p->index_pitch);
			continue;
		}
		one.count = 1;
		for (size_t i = 0; i < p->count; i++, one.a += 2) {
			float most[PATCH_NR];
			uint8_t place[PATCH_NR];

			patch_vecs(&one, b, p->bias + j, relu, most, place, 0, 0);
			memcpy(p->d + i * p->d_pitch + j, most, (p->n - j) * sizeof(float));
			memcpy(p->index + i * p->index_pitch + j, place, p->n - j);
		}
	}
}

static void patch(const struct vtpu_patch *p)
{
	if (p->relu)
		patch_relu(p, true);
	else
		patch_relu(p, false);
}

/* ---- Zeros ----------------------------------------------------------------- */

static size_t nonzero(uint64_t *mask, const float *x, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i += 64) {
		size_t end = n - i < 64 ? n - i : 64, j;
		uint64_t bits = 0;

		for (j = 0; j + VW <= end; j += VW)
			bits |= (uint64_t)vm_bits(v_ne(v_load(x + i + j), v_zero())) << j;
		for (; j < end; j++)
			bits |= (uint64_t)(x[i + j] != 0.0f) << j;
		mask[i / 64] = bits;
		found += (size_t)__builtin_popcountll(bits);
	}
	return found;
}

static bool all_finite(const float *x, size_t n)
{
	/* The difference is zero, or NaN, which stays. */
	vf a = v_zero(), b = v_zero();
	float left = 0.0f, part[VW];
	size_t i;

	for (i = 0; i + 2 * VW <= n; i += 2 * VW) {
		vf y = v_load(x + i), z = v_load(x + i + VW);

		a = v_add(a, v_sub(y, y));
		b = v_add(b, v_sub(z, z));
	}
	for (; i < n; i++)
		left += x[i] - x[i];
	v_store(part, v_add(a, b));
	for (i = 0; i < VW; i++)
		left += part[i];
	return left == 0.0f;
}

INLINE void sparse_width(const struct vtpu_sparse *s, const unsigned int nv, size_t at)
{
	const float *rows = s->rows + at;

	for (size_t item = 0; item < s->items; item++) {
		const uint64_t *mask = s->mask + item * s->words;
		const float *v = s->v + item * s->v_item;
		float *d = s->acc + item * s->acc_step + at;
		vf acc[12];

		UNROLL(12)
		for (unsigned int i = 0; i < nv; i++)
			acc[i] = v_load(d + i * VW);
		for (size_t word = 0; word < s->words; word++) {
			const uint32_t *off = s->off + word * 64;
			const float *x = v + word * 64 * s->v_step;

			for (uint64_t bits = mask[word]; bits; bits &= bits - 1) {
				unsigned int bit = (unsigned int)__builtin_ctzll(bits);
				const float *row = rows + off[bit];
				vf av = v_set(x[bit * s->v_step]);

				UNROLL(12)
				for (unsigned int i = 0; i < nv; i++)
					acc[i] = v_fma(av, v_load(row + i * VW), acc[i]);
			}
		}
		UNROLL(12)
		for (unsigned int i = 0; i < nv; i++)
			v_store(d + i * VW, acc[i]);
	}
}

/* The upper part of all items comes first: where a later item overlaps an earlier one, it does so lower down. */
static void sparse(const struct vtpu_sparse *s)
{
	for (size_t left = s->width / VW, nv; left; left -= nv) {
		nv = left < 12 ? left : 12;
		switch (nv) {
#define WIDTH(n) \
	case n: \
		sparse_width(s, n, (left - n) * VW); \
		break;
			WIDTH(1)
			WIDTH(2)
			WIDTH(3)
			WIDTH(4)
			WIDTH(5)
			WIDTH(6)
			WIDTH(7)
			WIDTH(8)
			WIDTH(9)
			WIDTH(10)
			WIDTH(11)
			WIDTH(12)
#undef WIDTH
		}
	}
}
