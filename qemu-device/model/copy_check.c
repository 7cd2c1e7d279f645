// SPDX-License-Identifier: MIT
/*
 * copy_check.c - copy descriptors: shape and address ranges, before anything moves.
 */
#include "chip.h"

/* Do @rows rows of @bytes, @stride apart from @addr on, stay in the address space? */
static bool rows_fit(uint64_t addr, uint64_t rows, uint64_t bytes, int64_t stride)
{
	int64_t span, first = addr, last;

	if (addr >= VTPU_VA_END || __builtin_mul_overflow((int64_t)(rows - 1), stride, &span) ||
	    __builtin_add_overflow(first, span, &last))
		return false;
	if (last < first) {
		int64_t swap = last;

		last = first;
		first = swap;
	}
	return first >= 0 && last < (int64_t)VTPU_VA_END && bytes <= VTPU_VA_END - last;
}

static enum vtpu_hw_status check_copy(const struct vtpu_copy_desc *d, uint64_t *addr)
{
	uint64_t rows = d->index ? d->index_limit : d->rows;

	if (d->pattern || !rows || (!d->index && d->index_limit))
		return VTPU_ST_BAD_ARGS;
	*addr = d->index;
	if (d->index % sizeof(uint32_t))
		return VTPU_ST_MISALIGNED;
	if (d->index && !rows_fit(d->index, 1, (uint64_t)d->rows * sizeof(uint32_t), 0))
		return VTPU_ST_WRAPS;
	*addr = d->src;
	if (!rows_fit(d->src, rows, d->row_bytes, d->src_stride))
		return VTPU_ST_WRAPS;
	return VTPU_ST_OK;
}

static enum vtpu_hw_status check_fill(const struct vtpu_copy_desc *d, uint64_t *addr)
{
	if (d->src || d->src_stride || d->index || d->index_limit ||
	    d->row_bytes % sizeof(d->pattern) || d->dst_stride % (int64_t)sizeof(d->pattern))
		return VTPU_ST_BAD_ARGS;
	*addr = d->dst;
	return d->dst % sizeof(d->pattern) ? VTPU_ST_MISALIGNED : VTPU_ST_OK;
}

static enum vtpu_hw_status check_desc(const struct vtpu_copy_desc *d, uint64_t *addr)
{
	enum vtpu_hw_status st;

	*addr = 0;
	if (d->flags || !d->rows || !d->row_bytes)
		return VTPU_ST_BAD_ARGS;
	switch (d->op) {
	case VTPU_COPY_COPY:
		st = check_copy(d, addr);
		break;
	case VTPU_COPY_FILL:
		st = check_fill(d, addr);
		break;
	default:
		return VTPU_ST_BAD_ARGS;
	}
	if (st != VTPU_ST_OK)
		return st;
	*addr = d->dst;
	return rows_fit(d->dst, d->rows, d->row_bytes, d->dst_stride) ? VTPU_ST_OK : VTPU_ST_WRAPS;
}

enum vtpu_hw_status vtpu_copy_check(const struct vtpu_copy_desc *desc, uint32_t ndesc, uint32_t *at,
				    uint64_t *addr)
{
	enum vtpu_hw_status st = VTPU_ST_OK;
	uint32_t i;

	for (i = 0; i < ndesc && st == VTPU_ST_OK; i++) {
		st = check_desc(&desc[i], addr);
		*at = i;
	}
	if (st == VTPU_ST_BAD_ARGS || st == VTPU_ST_OK)
		*addr = 0;
	return st;
}
