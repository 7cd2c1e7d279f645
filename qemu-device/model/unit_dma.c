// SPDX-License-Identifier: MIT
/*
 * unit_dma.c - COPY, FILL and SEND: boxes of up to five dimensions, zero padding, casts.
 *
 * A box is first brought into its simplest form: dimensions that follow each
 * other without a gap on both sides become one, and an innermost run of bytes
 * is one memcpy(). Elements are written in order, innermost dimension fastest.
 * A box that overlaps itself or its source keeps that order to the letter and
 * is never cut into parts, so such a program too has one result.
 */
#include "send.h"
#include "unit.h"

#define DIMS 5

/* Bytes of a part, and of a piece of a long run between two looks at the cancel flag. */
#define PART_BYTES  (512u << 10)
#define CHUNK_BYTES (256u << 10)

/** struct dim - one dimension; strides in bytes */
struct dim {
	uint64_t count;
	uint64_t before, after; /* zero elements of the destination */
	int64_t src, dst;
};

/** struct box - a COPY, FILL or SEND */
struct box {
	const struct vtpu_op *op;
	struct vtpu_scratch *s;
	const uint8_t *src;
	uint8_t *dst;
	struct dim dim[DIMS];
	unsigned int dims;
	unsigned int src_type, dst_type;
	uint32_t src_bytes, dst_bytes; /* of an element */
	bool fill;
	uint32_t value;
	bool in_order;
};

/* ---- Simplest form ------------------------------------------------------- */

static uint64_t extent(const struct dim *d)
{
	return d->before + d->count + d->after;
}

/* Bytes from the lowest to the highest byte that a side touches, and how far below its start. */
static uint64_t span(const struct box *b, bool dst, int64_t *low)
{
	int64_t lo = 0, hi = dst ? b->dst_bytes : b->src_bytes;

	for (unsigned int i = 0; i < b->dims; i++) {
		int64_t last = (int64_t)(dst ? extent(&b->dim[i]) : b->dim[i].count) - 1;
		int64_t way = last * (dst ? b->dim[i].dst : b->dim[i].src);

		if (way < 0)
			lo += way;
		else
			hi += way;
	}
	*low = lo;
	return (uint64_t)(hi - lo);
}

/* Whether two elements of the destination may share a byte: each stride must clear all smaller ones. */
static bool hits_itself(const struct box *b)
{
	uint64_t stride[DIMS], last[DIMS], inner = b->dst_bytes;
	unsigned int n = 0;

	for (unsigned int i = 0; i < b->dims; i++) {
		const struct dim *d = &b->dim[i];
		uint64_t s = d->dst < 0 ? -(uint64_t)d->dst : (uint64_t)d->dst;
		unsigned int j = n;

		if (extent(d) == 1)
			continue;
		for (; j && stride[j - 1] > s; j--) {
			stride[j] = stride[j - 1];
			last[j] = last[j - 1];
		}
		stride[j] = s;
		last[j] = extent(d) - 1;
		n++;
	}
	for (unsigned int i = 0; i < n; i++) {
		if (stride[i] < inner)
			return true;
		inner += stride[i] * last[i];
	}
	return false;
}

/* Whether a write may hit a byte that this instruction reads or writes elsewhere. */
static bool overlaps(const struct box *b)
{
	int64_t src_low, dst_low;
	uint64_t src_span = span(b, false, &src_low);
	uint64_t dst_span = span(b, true, &dst_low);
	uintptr_t src = (uintptr_t)b->src + src_low, dst = (uintptr_t)b->dst + dst_low;

	if (hits_itself(b))
		return true;
	return !b->fill && src < dst + dst_span && dst < src + src_span;
}

static bool padded(const struct dim *d)
{
	return d->before || d->after;
}

static void simplify(struct box *b)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < b->dims; i++) {
		struct dim next = b->dim[i], *d = &b->dim[n];

		if (extent(&next) == 1)
			continue;
		if (n && !padded(&d[-1]) && !padded(&next) &&
		    next.dst == d[-1].dst * (int64_t)d[-1].count &&
		    (b->fill || next.src == d[-1].src * (int64_t)d[-1].count)) {
			d[-1].count *= next.count;
			continue;
		}
		*d = next;
		n++;
	}
	if (!n) {
		b->dim[0] = (struct dim){ .count = 1, .src = b->src_bytes, .dst = b->dst_bytes };
		n = 1;
	}
	b->dims = n;
}

/* ---- One dimension ------------------------------------------------------- */

static void zero_run(const struct box *b, uint8_t *dst, uint64_t n)
{
	int64_t stride = b->dim[0].dst;

	if (stride == b->dst_bytes) {
		memset(dst, 0, n * b->dst_bytes);
		return;
	}
	for (; n; n--, dst += stride)
		memset(dst, 0, b->dst_bytes);
}

#define STORE_ALL(type) \
	do { \
		const type t = (type)b->value; \
\
		for (uint64_t i = 0; i < n; i++) \
			memcpy(dst + i * sizeof(t), &t, sizeof(t)); \
	} while (0)

static void fill_run(const struct box *b, uint8_t *dst, uint64_t n)
{
	const uint32_t value = b->value;

	if (b->dim[0].dst != b->dst_bytes) {
		/* The value's low bytes come first on this little-endian host. */
		for (; n; n--, dst += b->dim[0].dst)
			memcpy(dst, &value, b->dst_bytes);
	} else if (b->dst_bytes == 1 || !value) {
		memset(dst, (int)(value & 0xff), n * b->dst_bytes);
	} else if (b->dst_bytes == 2) {
		STORE_ALL(uint16_t);
	} else {
		STORE_ALL(uint32_t);
	}
}

/* A cast, by blocks; a strided side goes element by element. */
static void cast_run(const struct box *b, uint8_t *dst, const uint8_t *src, uint64_t n)
{
	const struct vtpu_kernels *k = b->op->run->kernels;
	const struct dim *d = &b->dim[0];
	float *x = vtpu_reg(b->s, 0);

	while (n) {
		size_t m = d->src == b->src_bytes && d->dst == b->dst_bytes && !b->in_order ?
				   VTPU_BLOCK :
				   1;

		if (m > n)
			m = n;
		k->widen(x, src, m, b->src_type);
		k->narrow(dst, x, m, b->dst_type);
		src += (int64_t)m * d->src;
		dst += (int64_t)m * d->dst;
		n -= m;
	}
}

#define STRIDED(type) \
	do { \
		type t; \
\
		for (; n; n--, src += d->src, dst += d->dst) { \
			memcpy(&t, src, sizeof(t)); \
			memcpy(dst, &t, sizeof(t)); \
		} \
	} while (0)

static void copy_run(const struct box *b, uint8_t *dst, const uint8_t *src, uint64_t n)
{
	const struct dim *d = &b->dim[0];

	if (b->src_type != b->dst_type) {
		cast_run(b, dst, src, n);
	} else if (d->src == b->src_bytes && d->dst == b->dst_bytes && !b->in_order) {
		memcpy(dst, src, n * b->dst_bytes);
	} else if (b->dst_bytes == 4) {
		STRIDED(uint32_t);
	} else if (b->dst_bytes == 2) {
		STRIDED(uint16_t);
	} else {
		STRIDED(uint8_t);
	}
}

/* ---- All dimensions ------------------------------------------------------ */

/* Elements [lo, hi) of the innermost dimension, counted in the destination. */
static void run(const struct box *b, const uint8_t *src, uint8_t *dst, uint64_t lo, uint64_t hi)
{
	const struct dim *d = &b->dim[0];
	const uint64_t chunk = CHUNK_BYTES / b->dst_bytes;

	while (lo < hi && !vtpu_op_cancelled(b->op)) {
		uint8_t *to = dst + (int64_t)lo * d->dst;
		uint64_t end = hi - lo > chunk ? lo + chunk : hi;

		if (b->fill) {
			fill_run(b, to, end - lo);
		} else if (lo < d->before || lo >= d->before + d->count) {
			if (lo < d->before && end > d->before)
				end = d->before;
			zero_run(b, to, end - lo);
		} else {
			if (end > d->before + d->count)
				end = d->before + d->count;
			copy_run(b, to, src + (int64_t)(lo - d->before) * d->src, end - lo);
		}
		lo = end;
	}
}

static void zero_box(const struct box *b, unsigned int dim, uint8_t *dst)
{
	if (dim == 0) {
		zero_run(b, dst, extent(&b->dim[0]));
		return;
	}
	for (uint64_t i = 0; i < extent(&b->dim[dim]) && !vtpu_op_cancelled(b->op); i++)
		zero_box(b, dim - 1, dst + (int64_t)i * b->dim[dim].dst);
}

/* Elements [lo, hi) of dimension @dim and everything inside. */
static void copy_box(const struct box *b, unsigned int dim, const uint8_t *src, uint8_t *dst,
		     uint64_t lo, uint64_t hi)
{
	const struct dim *d = &b->dim[dim];

	if (dim == 0) {
		run(b, src, dst, lo, hi);
		return;
	}
	for (uint64_t i = lo; i < hi && !vtpu_op_cancelled(b->op); i++) {
		uint8_t *to = dst + (int64_t)i * d->dst;

		if (!b->fill && (i < d->before || i >= d->before + d->count))
			zero_box(b, dim - 1, to);
		else
			copy_box(b, dim - 1, src + (int64_t)(i - d->before) * d->src, to, 0,
				 extent(&b->dim[dim - 1]));
	}
}

/* ---- Entry --------------------------------------------------------------- */

static uint8_t *address(const struct vtpu_op *op, uint64_t a)
{
	const struct vtpu_run *r = op->run;
	uint32_t base = VTPU_ADDR_BASE(a);
	uint64_t offset = VTPU_ADDR_OFFSET(a);

	switch (VTPU_ADDR_SPACE(a)) {
	case VTPU_SPACE_HBM:
		if (base != VTPU_BASE_CONST)
			offset += op->core * r->program->base[base].core_stride;
		return r->base[base] + offset;
	case VTPU_SPACE_SMEM:
		return (uint8_t *)r->core[op->core].smem + offset;
	default:
		return r->core[op->core].vmem + offset;
	}
}

/* From this core's place for the receiver to the receiver's place for this core */
static void displace(struct box *b)
{
	const struct vtpu_op *op = b->op;
	const uint32_t width = op->run->program->width,
		       to = vtpu_send_to(op->insn, op->core, width);

	b->src += vtpu_send_shift(op->insn, false, op->core, width);
	b->dst = op->run->core[to].vmem + VTPU_ADDR_OFFSET(op->insn->payload.dma.dst) +
		 vtpu_send_shift(op->insn, true, op->core, width);
}

static void box_init(struct box *b, const struct vtpu_op *op, struct vtpu_scratch *s)
{
	const struct vtpu_insn_dma *x = &op->insn->payload.dma;

	*b = (struct box){
		.op = op,
		.s = s,
		.dst = address(op, x->dst),
		.dims = x->ndim,
		.src_type = x->src_type,
		.dst_type = x->dst_type,
		.dst_bytes = vtpu_type_bytes(x->dst_type),
		.fill = op->insn->opcode == VTPU_OP_FILL,
	};
	for (unsigned int i = 0; i < b->dims; i++) {
		b->dim[i] = (struct dim){
			.count = x->count[i],
			.before = i < 4 ? x->pad_before[i] : 0,
			.after = i < 4 ? x->pad_after[i] : 0,
			.src = x->src_stride[i],
			.dst = x->dst_stride[i],
		};
	}
	if (b->fill) {
		b->value = vtpu_op_arg(op, 0, x->imm);
		b->src = b->dst;
	} else {
		b->src = address(op, x->src);
		b->src_bytes = vtpu_type_bytes(x->src_type);
	}
	if (op->insn->opcode == VTPU_OP_SEND)
		displace(b);
	b->in_order = overlaps(b);
	if (!b->in_order)
		simplify(b);
}

uint32_t vtpu_dma_parts(const struct vtpu_op *op, uint32_t threads)
{
	const struct dim *outer;
	uint64_t elements = 1, parts;
	struct box b;

	(void)threads;
	box_init(&b, op, NULL);
	if (b.in_order)
		return 1;
	for (unsigned int i = 0; i < b.dims; i++)
		elements *= extent(&b.dim[i]);
	outer = &b.dim[b.dims - 1];
	parts = elements * b.dst_bytes / PART_BYTES;
	if (parts > extent(outer))
		parts = extent(outer);
	return parts < 1 ? 1 : parts > VTPU_MAX_PARTS ? VTPU_MAX_PARTS : (uint32_t)parts;
}

void vtpu_dma_run(const struct vtpu_op *op, uint32_t part, uint32_t parts, struct vtpu_scratch *s)
{
	uint64_t n;
	struct box b;

	box_init(&b, op, s);
	n = extent(&b.dim[b.dims - 1]);
	copy_box(&b, b.dims - 1, b.src, b.dst, vtpu_split(n, part, parts),
		 vtpu_split(n, part + 1, parts));
}

/* Bytes that an instruction stores to HBM */
static uint64_t stored(const struct vtpu_insn *insn)
{
	const struct vtpu_insn_dma *x = &insn->payload.dma;
	uint64_t bytes = vtpu_type_bytes(x->dst_type);

	if ((insn->opcode != VTPU_OP_COPY && insn->opcode != VTPU_OP_FILL) ||
	    VTPU_ADDR_SPACE(x->dst) != VTPU_SPACE_HBM)
		return 0;
	for (unsigned int i = 0; i < x->ndim; i++)
		bytes *= x->count[i];
	return bytes;
}

bool vtpu_dma_loads(const struct vtpu_op *op, uint64_t *addr)
{
	const uint64_t src = op->insn->payload.dma.src;
	const uint32_t base = VTPU_ADDR_BASE(src);

	if (op->insn->opcode != VTPU_OP_COPY || VTPU_ADDR_SPACE(src) != VTPU_SPACE_HBM ||
	    base == VTPU_BASE_CONST)
		return false;
	*addr = src + op->core * op->run->program->base[base].core_stride;
	return true;
}

void vtpu_dma_wrong_bit(struct vtpu_run *run)
{
	const struct vtpu_program *p = run->program;
	uint64_t most = 0;
	struct vtpu_op op, largest;

	for (uint32_t i = 0; i < p->instances; i++) {
		if (p->instance[i].core != run->fault_core || p->instance[i].unit != VTPU_UNIT_DMA)
			continue;
		vtpu_op_init(&op, run, i);
		if (stored(op.insn) && stored(op.insn) >= most) {
			most = stored(op.insn);
			largest = op;
		}
	}
	if (most)
		*address(&largest, largest.insn->payload.dma.dst) ^= 1;
}
