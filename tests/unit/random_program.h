/* SPDX-License-Identifier: MIT */
/*
 * random_program.h - small random programs of valid instructions.
 *
 * They crowd into a few hundred bytes of each memory, so that accesses meet
 * often and in odd ways, and use a few semaphores, so that some are ordered and
 * some are not. Some deadlock.
 */
#ifndef TESTS_UNIT_RANDOM_PROGRAM_H
#define TESTS_UNIT_RANDOM_PROGRAM_H

#include "image_builder.h"
#include "insn.h"
#include "send.h"

/** struct rng - xorshift64* */
struct rng {
	uint64_t state;
};

static inline uint32_t rng_next(struct rng *r)
{
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return (uint32_t)(r->state * 0x2545f4914f6cdd1dULL >> 32);
}

/** rng_below() - 0..@n-1 */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)((uint64_t)rng_next(r) * n >> 32);
}

/** struct random_program - knobs */
struct random_program {
	const struct vtpu_hw_geometry *geometry;
	uint32_t width;
	uint32_t instructions;
	uint32_t span; /* bytes of each memory that are used */
	uint32_t sync; /* of 100 instructions, how many wait, and how many signal */
	uint32_t sems;
	uint32_t chain; /* not 0: of 100 waits for earlier instructions of two other units, how many are made */
	bool serial; /* with chain: wait for the instruction before, if that is on another unit */
	bool far_signals;
	uint32_t sends; /* of 100 instructions, how many are sends */
	bool dense;	/* no strides */
};

#define RANDOM_BASES 2	  /* one read and written, one read */
#define RANDOM_BYTES 4096 /* the most of a memory that is touched */

static inline uint64_t random_address(struct rng *r, const struct random_program *p,
				      uint32_t element, bool write)
{
	uint32_t at = rng_below(r, p->span / element) * element;

	switch (rng_below(r, 8)) {
	case 0:
		return element == 4 ? VTPU_ADDR(VTPU_SPACE_SMEM, 0, 1024 + at / 4 % 64 * 4) :
				      VTPU_ADDR(VTPU_SPACE_VMEM, 0, at);
	case 1:
	case 2:
		return VTPU_ADDR(VTPU_SPACE_HBM, write ? 0 : rng_below(r, 2), at);
	default:
		return VTPU_ADDR(VTPU_SPACE_VMEM, 0, at);
	}
}

static inline void random_dma(struct rng *r, const struct random_program *p, struct vtpu_insn *insn)
{
	static const uint8_t types[] = { VTPU_TYPE_U8, VTPU_TYPE_BF16, VTPU_TYPE_F32,
					 VTPU_TYPE_F32 };
	struct vtpu_insn_dma *x = &insn->payload.dma;
	bool fill = insn->opcode == VTPU_OP_FILL;
	uint32_t element;

	x->dst_type = types[rng_below(r, 4)];
	element = ib_type_bytes(x->dst_type);
	x->dst = random_address(r, p, element, true);
	if (!fill) {
		x->src_type = x->dst_type;
		x->src = random_address(r, p, element, false);
	}
	x->ndim = 1 + rng_below(r, p->dense ? 1 : 5);
	for (uint32_t d = 0; d < 5; d++) {
		x->count[d] = 1;
		if (d >= x->ndim)
			continue;
		x->count[d] = 1 + rng_below(r, d ? 4 : 16);
		x->dst_stride[d] = d ? (int32_t)rng_below(r, 40) * (int32_t)element - 20 :
				       (int32_t)element;
		x->dst_stride[d] -= x->dst_stride[d] % (int32_t)element;
		if (!fill) {
			x->src_stride[d] = rng_below(r, 3) ? x->dst_stride[d] :
							     (int32_t)(rng_below(r, 60) * element);
			if (d < 4 && !rng_below(r, 8))
				x->pad_before[d] = (uint8_t)rng_below(r, 3);
			if (d < 4 && !rng_below(r, 8))
				x->pad_after[d] = (uint8_t)rng_below(r, 3);
		}
		if (p->dense)
			x->src_stride[d] = fill ? 0 : (int32_t)element;
	}
}

static inline void random_send(struct rng *r, const struct random_program *p,
			       struct vtpu_insn *insn)
{
	struct vtpu_insn_dma *x = &insn->payload.dma;
	uint32_t element;

	random_dma(r, p, insn);
	element = ib_type_bytes(x->dst_type);
	memset(x->pad_before, 0, sizeof(x->pad_before));
	memset(x->pad_after, 0, sizeof(x->pad_after));
	if (x->ndim > 4)
		x->ndim = 4;
	x->src = VTPU_ADDR(VTPU_SPACE_VMEM, 0, rng_below(r, p->span / element) * element);
	x->dst = VTPU_ADDR(VTPU_SPACE_VMEM, 0, rng_below(r, p->span / element) * element);
	x->core = (uint16_t)rng_below(r, p->width);
	x->count[4] = 1;
	x->src_stride[4] = rng_below(r, 2) ? (int32_t)(rng_below(r, 12) * element) : 0;
	x->dst_stride[4] = rng_below(r, 2) ? (int32_t)(rng_below(r, 12) * element) : 0;
}

static inline void random_matmul(struct rng *r, const struct random_program *p,
				 struct vtpu_insn *insn)
{
	struct vtpu_insn_mxu *x = &insn->payload.mxu;

	x->a_type = x->b_type = rng_below(r, 2) ? VTPU_TYPE_F32 : VTPU_TYPE_BF16;
	x->d_type = rng_below(r, 2) ? VTPU_TYPE_F32 : VTPU_TYPE_BF16;
	x->m = 1 + rng_below(r, 4);
	x->n = 1 + rng_below(r, 4);
	x->k = 1 + rng_below(r, 4);
	x->g = 1 + rng_below(r, 2);
	x->a = rng_below(r, p->span / 4) * 4;
	x->b = rng_below(r, p->span / 4) * 4;
	x->d = rng_below(r, p->span / 4) * 4;
	x->mode = rng_below(r, 16) & (VTPU_MXU_TRANS_A | VTPU_MXU_TRANS_B | VTPU_MXU_ACCUMULATE);
	x->lda = (x->mode & VTPU_MXU_TRANS_A ? x->m : x->k) * ib_type_bytes(x->a_type) +
		 4 * rng_below(r, 3);
	x->ldb = (x->mode & VTPU_MXU_TRANS_B ? x->k : x->n) * ib_type_bytes(x->b_type) +
		 4 * rng_below(r, 3);
	x->ldd = x->n * ib_type_bytes(x->d_type) + 4 * rng_below(r, 3);
	x->a_gstride = (int32_t)rng_below(r, 8) * 4;
	x->b_gstride = (int32_t)rng_below(r, 8) * 4;
	if (x->mode & VTPU_MXU_ACCUMULATE) {
		x->d_type = VTPU_TYPE_F32;
		x->ldd = x->ldc = x->n * 4 + 4 * rng_below(r, 3);
		x->c = x->d;
	}
	if (rng_below(r, 2)) {
		x->epi_op[0] = VTPU_EPI_BIAS;
		x->epi_arg[0] = rng_below(r, p->span / 4) * 4;
	}
}

static inline void random_ew(struct rng *r, const struct random_program *p, struct vtpu_insn *insn)
{
	struct vtpu_insn_ew *x = &insn->payload.ew;

	x->nin = 1 + rng_below(r, 2);
	x->nout = 1;
	x->rows = 1 + rng_below(r, 4);
	x->cols = 1 + rng_below(r, 8);
	for (uint32_t i = 0; i < x->nin; i++) {
		x->in_type[i] = VTPU_TYPE_F32;
		x->in_bcast[i] = (uint8_t)rng_below(r, 4);
		x->in[i].addr = rng_below(r, p->span / 4) * 4;
		if (x->in_bcast[i] == VTPU_BCAST_FULL)
			x->in[i].pitch = x->cols * 4 + 4 * rng_below(r, 3);
		else if (x->in_bcast[i] == VTPU_BCAST_COL)
			x->in[i].pitch = 4 + 4 * rng_below(r, 3);
	}
	x->out_type[0] = VTPU_TYPE_F32;
	x->out[0].addr = rng_below(r, p->span / 4) * 4;
	x->out[0].pitch = x->cols * 4 + 4 * rng_below(r, 3);
	if (rng_below(r, 3) == 0) {
		insn->flags |= VTPU_INSN_PRED;
		insn->wait[0].pad = (uint16_t)(256 + rng_below(r, 8));
	}
}

static inline void random_rows(struct rng *r, const struct random_program *p,
			       struct vtpu_insn *insn)
{
	struct vtpu_insn_rows *x = &insn->payload.rows;

	x->in_type = x->out_type = rng_below(r, 2) ? VTPU_TYPE_F32 : VTPU_TYPE_BF16;
	x->rows = 1 + rng_below(r, 6);
	x->cols = 1 + rng_below(r, 6);
	x->in = rng_below(r, p->span / 4) * 4;
	x->out = rng_below(r, p->span / 4) * 4;
	x->in_pitch = x->cols * ib_type_bytes(x->in_type) + 4 * rng_below(r, 3);
	x->out_pitch = (insn->opcode == VTPU_OP_TRANSPOSE ? x->rows : x->cols) *
			       ib_type_bytes(x->out_type) +
		       4 * rng_below(r, 3);
	if (insn->opcode == VTPU_OP_REDUCE) {
		x->op = VTPU_REDUCE_SUM;
		x->axis = (uint8_t)rng_below(r, 2);
		if (!x->axis)
			x->out_pitch = 0;
	}
}

static inline void random_sync(struct rng *r, const struct random_program *p,
			       const struct image_builder *b, struct vtpu_insn *insn,
			       uint32_t position, uint32_t last_unit)
{
	if (p->chain) {
		/* Each unit counts its instructions in a semaphore of its own, so these programs end. */
		for (int i = 0; i < (p->serial ? 1 : 2); i++) {
			uint32_t units = p->sends ? VTPU_UNITS : VTPU_UNIT_XLU + 1;
			uint32_t unit = p->serial ? last_unit : rng_below(r, units);

			if (unit != insn->unit && b->queue[unit].count &&
			    rng_below(r, 100) < p->chain)
				ib_wait(insn, (uint8_t)unit, b->queue[unit].count);
		}
		if (insn->opcode == VTPU_OP_SEND)
			ib_signal(insn, insn->unit, (uint8_t)insn->payload.dma.core, 1);
		else
			ib_signal(insn, insn->unit,
				  p->far_signals ? (uint8_t)rng_below(r, p->width) : 0, 1);
		return;
	}
	if (rng_below(r, 100) < p->sync)
		ib_wait(insn, (uint8_t)rng_below(r, p->sems), 1 + rng_below(r, 1 + position / 3));
	if (rng_below(r, 100) < p->sync)
		ib_signal(insn, (uint8_t)rng_below(r, p->sems),
			  p->far_signals ? (uint8_t)rng_below(r, p->width) : 0,
			  (uint16_t)(1 + rng_below(r, 2)));
	if (rng_below(r, 100) < p->sync / 2)
		ib_signal(insn, (uint8_t)rng_below(r, p->sems), 0, 1);
}

static inline bool random_fits(const struct vtpu_insn *insn, const struct vtpu_boxes *boxes,
			       uint32_t width)
{
	for (unsigned int i = 0; i < boxes->n; i++)
		if (boxes->box[i].end + (int64_t)vtpu_send_most(insn, boxes->box[i].write, width) >
		    RANDOM_BYTES)
			return false;
	return true;
}

/** random_insn() - one instruction of the given opcode that passes the check */
static inline void random_insn(struct rng *r, const struct random_program *p,
			       struct image_builder *b, struct vtpu_insn_env *env, uint8_t opcode,
			       uint32_t position, uint32_t last_unit)
{
	struct vtpu_insn *insn = ib_insn(b, opcode), empty = *insn;
	struct vtpu_load_record record;
	struct vtpu_boxes boxes;

	do {
		*insn = empty;
		switch (opcode) {
		case VTPU_OP_COPY:
		case VTPU_OP_FILL:
			random_dma(r, p, insn);
			break;
		case VTPU_OP_SEND:
			random_send(r, p, insn);
			break;
		case VTPU_OP_MATMUL:
			random_matmul(r, p, insn);
			break;
		case VTPU_OP_EW:
			random_ew(r, p, insn);
			break;
		case VTPU_OP_BARRIER:
			insn->payload.ctl.core_mask = (1ULL << p->width) - 1;
			break;
		case VTPU_OP_NOP:
			break;
		default:
			random_rows(r, p, insn);
			break;
		}
		random_sync(r, p, b, insn, position, last_unit);
	} while (vtpu_insn_check(env, insn, insn->unit, &boxes, &record) ||
		 !random_fits(insn, &boxes, p->width));
}

/** random_image() - a program; free() it */
static inline void *random_image(struct rng *r, const struct random_program *p, size_t *bytes)
{
	static const uint8_t opcodes[] = { VTPU_OP_COPY,      VTPU_OP_COPY,   VTPU_OP_FILL,
					   VTPU_OP_MATMUL,    VTPU_OP_MATMUL, VTPU_OP_EW,
					   VTPU_OP_EW,	      VTPU_OP_REDUCE, VTPU_OP_SOFTMAX,
					   VTPU_OP_TRANSPOSE, VTPU_OP_NOP,    VTPU_OP_BARRIER };
	struct vtpu_insn_env env = { .geometry = p->geometry,
				     .width = p->width,
				     .nbases = RANDOM_BASES };
	struct image_builder b;
	uint32_t last_unit = 0;

	ib_begin(&b, p->width);
	ib_base(&b, "rw", RANDOM_BYTES, RANDOM_BYTES, VTPU_BASE_READ | VTPU_BASE_WRITE);
	ib_base(&b, "ro", RANDOM_BYTES, 0, VTPU_BASE_READ);
	env.base = b.base;
	vtpu_insn_env_init(&env);
	for (uint32_t i = 0; i < p->instructions; i++) {
		uint8_t opcode = opcodes[rng_below(r, sizeof(opcodes))];

		if (p->sends && rng_below(r, 100) < p->sends)
			opcode = VTPU_OP_SEND;
		random_insn(r, p, &b, &env, opcode, i, last_unit);
		last_unit = ib_unit(opcode);
	}
	return ib_finish(&b, bytes);
}

#endif /* TESTS_UNIT_RANDOM_PROGRAM_H */
