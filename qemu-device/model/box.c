// SPDX-License-Identifier: MIT
/*
 * box.c - bringing boxes into normal form, and deciding whether two meet.
 */
#include "box.h"

/* Steps of a search for a common byte before it gives up; equal strides need fewer. */
#define SEARCH_STEPS 256

void vtpu_box_shape(struct vtpu_box *box, int64_t addr, uint32_t element, unsigned int ndim,
		    const uint32_t *count, const int64_t *stride)
{
	uint64_t step[VTPU_BOX_DIMS];
	uint32_t many[VTPU_BOX_DIMS];
	unsigned int n = 0, out = 0;

	box->start = addr;
	box->end = addr + element;
	for (unsigned int d = 0; d < ndim; d++) {
		int64_t way = (int64_t)(count[d] - 1) * stride[d];
		uint64_t size = (uint64_t)(stride[d] < 0 ? -stride[d] : stride[d]);
		unsigned int i = n;

		if (!way)
			continue;
		if (way < 0)
			box->start += way;
		else
			box->end += way;
		for (; i && step[i - 1] > size; i--) {
			step[i] = step[i - 1];
			many[i] = many[i - 1];
		}
		step[i] = size;
		many[i] = count[d];
		n++;
	}
	box->run = element;
	for (unsigned int d = 0; d < n; d++) {
		if (!out && step[d] <= box->run) {
			box->run += (many[d] - 1) * step[d];
		} else if (out && step[d] == (uint64_t)box->stride[out - 1] * box->count[out - 1] &&
			   (uint64_t)many[d] * box->count[out - 1] <= UINT32_MAX) {
			box->count[out - 1] *= many[d];
		} else {
			box->stride[out] = (uint32_t)step[d];
			box->count[out] = many[d];
			out++;
		}
	}
	box->ndim = out;
}

/* Floor and ceiling of a quotient, @b > 0. */
static int64_t div_floor(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static int64_t div_ceil(int64_t a, int64_t b)
{
	return a / b + (a % b > 0);
}

/* struct term - k * stride with low <= k <= high, in the sum that says how far two runs are apart */
struct term {
	int64_t stride, low, high;
};

/*
 * Runs of @a and @b meet when their distance, b.start - a.start minus a sum of
 * k * stride, is above -b.run and below a.run. Both boxes' dimensions of one
 * stride make one term. Largest stride first, each k is tried for which the
 * rest can still reach; with nested equal strides those are two or three.
 */
static unsigned int make_terms(const struct vtpu_box *a, const struct vtpu_box *b,
			       struct term *term)
{
	int i = a->ndim - 1, j = b->ndim - 1;
	unsigned int n = 0;

	while (i >= 0 || j >= 0) {
		uint32_t s = i < 0 ? 0 : a->stride[i], t = j < 0 ? 0 : b->stride[j];

		term[n] = (struct term){ .stride = s > t ? s : t };
		if (s >= t)
			term[n].high = (int64_t)a->count[i--] - 1;
		if (t >= s)
			term[n].low = -((int64_t)b->count[j--] - 1);
		n++;
	}
	return n;
}

static enum vtpu_overlap search(const struct vtpu_box *a, const struct vtpu_box *b)
{
	struct term term[2 * VTPU_BOX_DIMS];
	int64_t low[2 * VTPU_BOX_DIMS + 1],
		high[2 * VTPU_BOX_DIMS + 1]; /* what the terms from i on can add */
	int64_t next[2 * VTPU_BOX_DIMS], last[2 * VTPU_BOX_DIMS], rest[2 * VTPU_BOX_DIMS + 1];
	const int64_t above = -(int64_t)b->run, below = (int64_t)a->run;
	unsigned int n = make_terms(a, b, term), level = 0, steps = 0;
	bool descend = true;

	low[n] = high[n] = 0;
	for (unsigned int i = n; i--;) {
		low[i] = low[i + 1] + term[i].stride * term[i].low;
		high[i] = high[i + 1] + term[i].stride * term[i].high;
	}
	rest[0] = b->start - a->start;
	for (;;) {
		if (descend && level < n) {
			/* above < rest - k * stride - (low..high of the others) < below */
			next[level] = div_ceil(rest[level] - high[level + 1] - below + 1,
					       term[level].stride);
			last[level] = div_floor(rest[level] - low[level + 1] - above - 1,
						term[level].stride);
			if (next[level] < term[level].low)
				next[level] = term[level].low;
			if (last[level] > term[level].high)
				last[level] = term[level].high;
		} else if (descend) {
			if (rest[n] > above && rest[n] < below)
				return VTPU_OVERLAP_YES;
		}
		if (level == n || next[level] > last[level]) {
			if (!level)
				return VTPU_OVERLAP_NO;
			level--;
			descend = false;
			next[level]++;
			if (next[level] > last[level])
				continue;
		}
		if (++steps > SEARCH_STEPS)
			return VTPU_OVERLAP_UNDECIDED;
		rest[level + 1] = rest[level] - next[level] * term[level].stride;
		level++;
		descend = true;
	}
}

enum vtpu_overlap vtpu_box_overlap(const struct vtpu_box *a, const struct vtpu_box *b)
{
	if (a->start >= b->end || b->start >= a->end)
		return VTPU_OVERLAP_NO;
	if (!a->ndim && !b->ndim)
		return VTPU_OVERLAP_YES;
	return search(a, b);
}

bool vtpu_box_contains(const struct vtpu_box *a, const struct vtpu_box *b)
{
	int64_t offset = b->start - a->start;
	int j = b->ndim - 1;

	if (offset < 0 || b->end > a->end)
		return false;
	/* Take the offset apart into steps along the dimensions of @a; @b may use some of them. */
	for (int i = a->ndim - 1; i >= 0; i--) {
		int64_t k = offset / a->stride[i];
		uint32_t count = 1;

		if (j >= 0 && b->stride[j] == a->stride[i])
			count = b->count[j--];
		if (k > (int64_t)a->count[i] - count)
			k = (int64_t)a->count[i] - count;
		if (k < 0)
			return false;
		offset -= k * a->stride[i];
	}
	return j < 0 && offset + (int64_t)b->run <= (int64_t)a->run;
}

bool vtpu_box_same(const struct vtpu_box *a, const struct vtpu_box *b)
{
	if (a->start != b->start || a->end != b->end || a->run != b->run || a->ndim != b->ndim ||
	    a->element != b->element)
		return false;
	for (unsigned int d = 0; d < a->ndim; d++)
		if (a->stride[d] != b->stride[d] || a->count[d] != b->count[d])
			return false;
	return true;
}
