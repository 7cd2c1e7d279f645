/* SPDX-License-Identifier: MIT */
/*
 * pooling_body.h - the kernels for pooling, arg-max and optimisers, in terms of the vector
 * operations.
 *
 * Part of body.h. pooling.h says what each is handed, kernels.h what it does.
 */

/* ---- Some lanes ------------------------------------------------------------ */

/* @n elements from @i on, at most a vector; the other lanes are zero. */
INLINE vf load_some(const uint8_t *src, size_t i, size_t n, const unsigned int type)
{
	const size_t size = vtpu_type_bytes(type);
	float in[VW] = { 0 };

	if (n >= VW)
		return widen_vec(src, i, type);
	memcpy(in, src + i * size, n * size);
	return widen_vec(in, 0, type);
}

INLINE void store_some(uint8_t *dst, size_t i, vf x, size_t n, const unsigned int type)
{
	const size_t size = vtpu_type_bytes(type);
	float f[VW], out[VW];

	v_store(f, x);
	if (n >= VW) {
		narrow_vec(dst + i * size, f, type);
		return;
	}
	narrow_vec(out, f, type);
	memcpy(dst + i * size, out, n * size);
}

INLINE vf load_bytes(const uint8_t *src, size_t n)
{
	uint8_t in[VW] = { 0 };

	if (n >= VW)
		return v_from_int(vi_load_u8(src));
	memcpy(in, src, n);
	return v_from_int(vi_load_u8(in));
}

INLINE void store_bytes(uint8_t *dst, vi x, size_t n)
{
	uint8_t out[VW];

	if (n >= VW) {
		vi_store_u8(dst, x);
		return;
	}
	vi_store_u8(out, x);
	memcpy(dst, out, n);
}

/* ---- Pooling ---------------------------------------------------------------- */

/** struct window - the part of a window that is inside the image */
struct window {
	size_t at;		     /* element of tap (0, 0), which may be outside */
	unsigned int y0, y1, x0, x1; /* taps */
};

INLINE struct window window_at(const struct vtpu_pooling *p, uint32_t row, uint32_t col)
{
	const int64_t y = (int64_t)row * p->stride_h - p->pad_top;
	const int64_t x = (int64_t)col * p->stride_w - p->pad_left;
	struct window w = { .at = (size_t)((y * p->in_w + x) * (int64_t)p->channels) };

	w.y0 = y < 0 ? (unsigned int)-y : 0;
	w.x0 = x < 0 ? (unsigned int)-x : 0;
	w.y1 = y + p->ker_h <= p->in_h ? p->ker_h : (unsigned int)(p->in_h - y);
	w.x1 = x + p->ker_w <= p->in_w ? p->ker_w : (unsigned int)(p->in_w - x);
	return w;
}

/* Channels [c, c + n), n at most a vector, of one output; the window's shape may be constant. */
INLINE void pool_vec(const struct vtpu_pooling *p, struct window w, const unsigned int ker_w,
		     size_t out, size_t c, size_t n, const unsigned int type, const bool average)
{
	vf best = v_zero(), place = v_zero();
	bool first = true;

	UNROLL(2)
	for (unsigned int y = w.y0; y < w.y1; y++) {
		UNROLL(2)
		for (unsigned int x = w.x0; x < w.x1; x++) {
			size_t at = w.at + ((size_t)y * p->in_w + x) * p->channels + c;
			vf v = load_some(p->in, at, n, type);
			vf tap = v_float(vi_set(y * ker_w + x));
			vm take;

			if (average) {
				best = v_add(best, v);
				continue;
			}
			if (first) {
				best = v;
				place = tap;
				first = false;
				continue;
			}
			take = vm_either(v_nan(v), v_lt(best, v));
			best = v_sel(take, v, best);
			place = v_sel(take, tap, place);
		}
	}
	if (average)
		best = v_mul(best, v_set(1.0f / (float)((w.y1 - w.y0) * (w.x1 - w.x0))));
	store_some(p->out, out + c, best, n, type);
	if (!average && p->index)
		store_bytes(p->index + out + c, v_bits(place), n);
}

INLINE void pool_row(const struct vtpu_pooling *p, uint32_t row, const unsigned int type,
		     const bool average)
{
	for (uint32_t col = p->col; col < p->col_end; col++) {
		const struct window w = window_at(p, row, col);
		const struct window two = { w.at, 0, 2, 0, 2 };
		const bool small = p->ker_h == 2 && p->ker_w == 2 && !w.y0 && !w.x0 && w.y1 == 2 &&
				   w.x1 == 2;
		const size_t out = ((size_t)row * p->out_w + col) * p->channels;
		size_t c = p->from;

		if (small)
			for (; c + VW <= p->to; c += VW)
				pool_vec(p, two, 2, out, c, VW, type, average);
		for (; c < p->to; c += VW)
			pool_vec(p, w, p->ker_w, out, c, p->to - c, type, average);
	}
}

static void pool(const struct vtpu_pooling *p, uint32_t row)
{
	if (p->type == VTPU_TYPE_F32 && p->average)
		pool_row(p, row, VTPU_TYPE_F32, true);
	else if (p->type == VTPU_TYPE_F32)
		pool_row(p, row, VTPU_TYPE_F32, false);
	else
		pool_row(p, row, VTPU_TYPE_BF16, p->average);
}

/* What the window of output element @at passes to its tap @tap. */
INLINE vf passed(const struct vtpu_pooling *p, size_t at, unsigned int tap, float share, size_t n,
		 const unsigned int type)
{
	vf g = load_some(p->in, at, n, type);

	if (p->average)
		return v_mul(g, v_set(share));
	return v_sel(v_eq(load_bytes(p->index + at, n), v_set((float)tap)), g, v_zero());
}

static inline float share_of(const struct vtpu_pooling *p, uint32_t row, uint32_t col)
{
	const struct window w = window_at(p, row, col);

	return 1.0f / (float)((w.y1 - w.y0) * (w.x1 - w.x0));
}

/* First and last window that has position @at of an axis; none when first is beyond last. */
static inline void windows_of(uint32_t at, uint32_t pad, uint32_t ker, uint32_t stride,
			      uint32_t windows, uint32_t *first, int64_t *last)
{
	const uint64_t padded = (uint64_t)at + pad;

	*first = padded < ker ? 0 : (uint32_t)((padded - ker) / stride + 1);
	*last = (int64_t)(padded / stride);
	if (*last >= (int64_t)windows)
		*last = (int64_t)windows - 1;
}

/* Each element of the image gathers from the windows that have it. */
INLINE void gather_row(const struct vtpu_pooling *p, uint32_t row, const unsigned int type)
{
	uint32_t p0, q0;
	int64_t p1, q1;

	windows_of(row, p->pad_top, p->ker_h, p->stride_h, p->out_h, &p0, &p1);
	for (uint32_t col = p->col; col < p->col_end; col++) {
		const size_t out = ((size_t)row * p->in_w + col) * p->channels;

		windows_of(col, p->pad_left, p->ker_w, p->stride_w, p->out_w, &q0, &q1);
		for (size_t c = p->from; c < p->to; c += VW) {
			vf sum = v_zero();

			for (uint32_t i = p0; i <= p1; i++) {
				for (uint32_t j = q0; j <= q1; j++) {
					size_t at = ((size_t)i * p->out_w + j) * p->channels + c;
					unsigned int y = row + p->pad_top - i * p->stride_h;
					unsigned int x = col + p->pad_left - j * p->stride_w;
					float share = p->average ? share_of(p, i, j) : 0.0f;

					sum = v_add(sum, passed(p, at, y * p->ker_w + x, share,
								p->to - c, type));
				}
			}
			store_some(p->out, out + c, sum, p->to - c, type);
		}
	}
}

static void pool_grad(const struct vtpu_pooling *p, uint32_t row)
{
	if (p->type == VTPU_TYPE_F32)
		gather_row(p, row, VTPU_TYPE_F32);
	else
		gather_row(p, row, VTPU_TYPE_BF16);
}

/* Channels [c, c + n) of the window at @at go to all of its elements. */
INLINE void spread_vec(const struct vtpu_pooling *p, size_t at, size_t out, size_t c, size_t n,
		       const unsigned int ker_h, const unsigned int ker_w, const unsigned int type)
{
	const vf g = v_add(v_zero(), load_some(p->in, at + c, n, type));
	const vf place = load_bytes(p->index + at + c, n);

	UNROLL(2)
	for (unsigned int y = 0; y < ker_h; y++)
		UNROLL(2)
	for (unsigned int x = 0; x < ker_w; x++)
		store_some(p->out, out + ((size_t)y * p->in_w + x) * p->channels + c,
			   v_sel(v_eq(place, v_set((float)(y * ker_w + x))), g, v_zero()), n, type);
}

/*
 * A row of windows of 2 x 2, f32, whole vectors of channels from @c to @end. Stores may
 * change anything for all that the compiler knows, so nothing in here is behind a pointer.
 */
INLINE void spread_2x2(const struct vtpu_pooling *p, uint32_t row, size_t c, const size_t end)
{
	const size_t channels = p->channels, line = p->in_w * channels, width = p->col_end - p->col;
	const size_t at = ((size_t)row * p->out_w + p->col) * channels;
	const float *in = (const float *)p->in + at;
	const uint8_t *index = p->index + at;
	float *out = (float *)p->out + 2 * (row * line + p->col * channels);

	for (size_t col = 0; col < width;
	     col++, in += channels, index += channels, out += 2 * channels) {
		for (size_t i = c; i < end; i += VW) {
			const vf g = vm_canon(vm_flush(v_add(v_zero(), v_load(in + i))));
			const vf place = v_from_int(vi_load_u8(index + i));

			UNROLL(4)
			for (unsigned int k = 0; k < 4; k++)
				v_store(out + k / 2 * line + k % 2 * channels + i,
					v_sel(v_eq(place, v_set((float)k)), g, v_zero()));
		}
	}
}

INLINE void spread_row(const struct vtpu_pooling *p, uint32_t row, const unsigned int type)
{
	const bool pairs = p->ker_h == 2 && p->ker_w == 2 && type == VTPU_TYPE_F32;
	const size_t whole = pairs ? p->from + (p->to - p->from) / VW * VW : p->from;

	if (pairs)
		spread_2x2(p, row, p->from, whole);
	for (uint32_t col = p->col; col < p->col_end; col++) {
		const size_t at = ((size_t)row * p->out_w + col) * p->channels;
		const size_t out =
			((size_t)row * p->ker_h * p->in_w + (size_t)col * p->ker_w) * p->channels;

		for (size_t c = whole; c < p->to; c += VW)
			spread_vec(p, at, out, c, p->to - c, p->ker_h, p->ker_w, type);
	}
}

static void pool_spread(const struct vtpu_pooling *p, uint32_t row)
{
	if (p->type == VTPU_TYPE_F32)
		spread_row(p, row, VTPU_TYPE_F32);
	else
		spread_row(p, row, VTPU_TYPE_BF16);
}

/* ---- Arg-max ------------------------------------------------------------------ */

/* Is @x, which comes after @best, larger? NaN is larger than any number. */
static inline bool exceeds(float x, float best)
{
	return best == best && (x != x || x > best);
}

static size_t argmax(const float *x, size_t n)
{
	float best[VW], place[VW];
	size_t done = n - n % VW, first = 0;

	if (done) {
		vf b = v_load(x), at = v_float(vi_set(0));

		for (size_t i = VW; i < done; i += VW) {
			vf v = v_load(x + i), here = v_float(vi_set((uint32_t)i));
			vf more = v_sel(vm_either(v_nan(v), v_lt(b, v)), v, b);
			vf there = v_sel(vm_either(v_nan(v), v_lt(b, v)), here, at);

			at = v_sel(v_nan(b), at, there);
			b = v_sel(v_nan(b), b, more);
		}
		v_store(best, b);
		v_store(place, at);
		first = vtpu_f32_bits(place[0]);
		for (unsigned int l = 1; l < VW; l++) {
			size_t here = vtpu_f32_bits(place[l]) + l;
			float most = x[first];

			if (exceeds(best[l], most) || (!exceeds(most, best[l]) && here < first))
				first = here;
		}
	}
	for (size_t i = done; i < n; i++)
		if (i && exceeds(x[i], x[first]))
			first = i;
	return first;
}

/* ---- Optimisers ----------------------------------------------------------------- */

/** struct state - what a step changes, and the gradient, in registers */
struct state {
	vf p, g, m, v;
};

INLINE struct state opt_step(const struct vtpu_optimizer *o, const unsigned int kind,
			     struct state s)
{
	const vf lr = vm_neg(v_set(o->lr)), d = v_set(o->decay), b1 = v_set(o->beta1),
		 b2 = v_set(o->beta2), one = v_set(1.0f), g = v_mul(s.g, v_set(o->scale));
	vf u;

	switch (kind) {
	case VTPU_OPT_SGD:
		u = v_fma(d, s.p, g);
		s.p = v_fma(lr, u, s.p);
		break;
	case VTPU_OPT_MOMENTUM:
		u = v_fma(d, s.p, g);
		s.m = v_fma(b1, s.m, u);
		s.p = v_fma(lr, s.m, s.p);
		break;
	case VTPU_OPT_NESTEROV:
		u = v_fma(d, s.p, g);
		s.m = v_fma(b1, s.m, u);
		s.p = v_fma(lr, v_fma(b1, s.m, u), s.p);
		break;
	default: /* VTPU_OPT_ADAM */
		s.m = v_fma(b1, s.m, v_mul(v_sub(one, b1), g));
		s.v = v_fma(b2, s.v, v_mul(v_mul(v_sub(one, b2), g), g));
		u = v_div(v_mul(s.m, v_set(o->c1)),
			  v_add(v_sqrt(v_mul(s.v, v_set(o->c2))), v_set(o->epsilon)));
		s.p = v_fma(lr, v_fma(d, s.p, u), s.p);
		break;
	}
	return s;
}

INLINE void opt_loop(const struct vtpu_optimizer *o, const unsigned int kind, float *p,
		     const float *g, float *m, float *v, size_t n)
{
	const bool has_m = kind != VTPU_OPT_SGD, has_v = kind == VTPU_OPT_ADAM;

	for (size_t i = 0; i < n; i += VW) {
		const size_t left = n - i;
		struct state s = {
			.p = load_some((uint8_t *)p, i, left, VTPU_TYPE_F32),
			.g = load_some((const uint8_t *)g, i, left, VTPU_TYPE_F32),
			.m = has_m ? load_some((uint8_t *)m, i, left, VTPU_TYPE_F32) : v_zero(),
			.v = has_v ? load_some((uint8_t *)v, i, left, VTPU_TYPE_F32) : v_zero(),
		};

		s = opt_step(o, kind, s);
		store_some((uint8_t *)p, i, s.p, left, VTPU_TYPE_F32);
		if (has_m)
			store_some((uint8_t *)m, i, s.m, left, VTPU_TYPE_F32);
		if (has_v)
			store_some((uint8_t *)v, i, s.v, left, VTPU_TYPE_F32);
	}
}

static void optimize(const struct vtpu_optimizer *o, float *p, const float *g, float *m, float *v,
		     size_t n)
{
	switch (o->kind) {
	case VTPU_OPT_SGD:
		opt_loop(o, VTPU_OPT_SGD, p, g, m, v, n);
		break;
	case VTPU_OPT_MOMENTUM:
		opt_loop(o, VTPU_OPT_MOMENTUM, p, g, m, v, n);
		break;
	case VTPU_OPT_NESTEROV:
		opt_loop(o, VTPU_OPT_NESTEROV, p, g, m, v, n);
		break;
	default:
		opt_loop(o, VTPU_OPT_ADAM, p, g, m, v, n);
		break;
	}
}
