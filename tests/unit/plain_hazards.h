/* SPDX-License-Identifier: MIT */
/*
 * plain_hazards.h - which instances of a small program conflict, and which surely come
 * before which: slow and plain, for test_hazard.c.
 *
 * Every byte that an instance touches is marked; the rule for semaphores is applied
 * word for word to all instances of all cores.
 */
#ifndef TESTS_UNIT_PLAIN_HAZARDS_H
#define TESTS_UNIT_PLAIN_HAZARDS_H

#include "program.h"
#include "random_program.h"

#define MOST	 512 /* instances of a program here */
#define MEMORY	 RANDOM_BYTES
#define MEMORIES 4 /* VMEM, SMEM, HBM base 0 and 1 */

/* ---- Bytes, found by walking the fields ------------------------------------------ */

#define WORDS (MEMORIES * MEMORY / 64)

/* Bytes of an instance: a bit for each of its own core's, and those that a send writes on another */
struct bytes {
	uint64_t reads[WORDS], writes[WORDS], sent[WORDS];
	uint32_t to;
};

static struct bytes bytes_of[MOST]; /* instances, by (core, text) */

static inline void touch(uint8_t *memory, int64_t at, uint32_t bytes, uint8_t how)
{
	for (uint32_t i = 0; i < bytes; i++)
		memory[at + i] |= how;
}

static inline void touch_dma(uint8_t (*memory)[MEMORY], const struct vtpu_insn_dma *x, bool dst,
			     int64_t shift, uint8_t how)
{
	static const uint8_t of_space[] = { 0, 2, 1 };
	uint64_t addr = dst ? x->dst : x->src;
	uint32_t element = ib_type_bytes(dst ? x->dst_type : x->src_type), n[5], k[5];
	uint8_t *m = memory[of_space[VTPU_ADDR_SPACE(addr)] + VTPU_ADDR_BASE(addr)];

	for (int d = 0; d < 5; d++)
		n[d] = x->count[d] + (dst && d < 4 ? x->pad_before[d] + x->pad_after[d] : 0);
	for (k[4] = 0; k[4] < n[4]; k[4]++)
		for (k[3] = 0; k[3] < n[3]; k[3]++)
			for (k[2] = 0; k[2] < n[2]; k[2]++)
				for (k[1] = 0; k[1] < n[1]; k[1]++)
					for (k[0] = 0; k[0] < n[0]; k[0]++) {
						int64_t at =
							(int64_t)VTPU_ADDR_OFFSET(addr) + shift;

						for (int d = 0; d < 5; d++)
							at += (int64_t)k[d] *
							      (dst ? x->dst_stride[d] :
								     x->src_stride[d]);
						touch(m, at, element, how);
					}
}

static inline void touch_matrix(uint8_t *m, uint32_t addr, uint32_t rows, uint32_t cols,
				uint32_t pitch, uint32_t element, uint8_t how)
{
	for (uint32_t i = 0; i < rows; i++)
		touch(m, addr + (int64_t)i * pitch, cols * element, how);
}

static inline void touch_mxu(uint8_t *m, const struct vtpu_insn_mxu *x)
{
	uint32_t a = ib_type_bytes(x->a_type), b = ib_type_bytes(x->b_type);

	for (uint32_t g = 0; g < x->g; g++)
		for (uint32_t k = 0; k < x->k; k++) {
			for (uint32_t i = 0; i < x->m; i++)
				touch(m,
				      x->a + (int64_t)g * x->a_gstride +
					      (x->mode & VTPU_MXU_TRANS_A ? k * x->lda + i * a :
									    i * x->lda + k * a),
				      a, 1);
			for (uint32_t j = 0; j < x->n; j++)
				touch(m,
				      x->b + (int64_t)g * x->b_gstride +
					      (x->mode & VTPU_MXU_TRANS_B ? j * x->ldb + k * b :
									    k * x->ldb + j * b),
				      b, 1);
		}
	if (x->mode & VTPU_MXU_ACCUMULATE)
		touch_matrix(m, x->c, x->m, x->n, x->ldc, 4, 1);
	if (x->epi_op[0] == VTPU_EPI_BIAS)
		touch(m, x->epi_arg[0], 4 * x->n, 1);
	touch_matrix(m, x->d, x->m, x->n, x->ldd, ib_type_bytes(x->d_type), 2);
}

static inline void touch_ew(uint8_t *m, const struct vtpu_insn_ew *x)
{
	for (uint32_t i = 0; i < x->nin; i++) {
		bool rows = x->in_bcast[i] == VTPU_BCAST_FULL || x->in_bcast[i] == VTPU_BCAST_COL;
		bool cols = x->in_bcast[i] == VTPU_BCAST_FULL || x->in_bcast[i] == VTPU_BCAST_ROW;

		touch_matrix(m, x->in[i].addr, rows ? x->rows : 1, cols ? x->cols : 1,
			     x->in[i].pitch, 4, 1);
	}
	touch_matrix(m, x->out[0].addr, x->rows, x->cols, x->out[0].pitch, 4, 2);
}

static inline void touch_rows(uint8_t *m, const struct vtpu_insn_rows *x, uint8_t opcode)
{
	uint32_t rows = x->rows, cols = x->cols, element = ib_type_bytes(x->out_type);

	touch_matrix(m, x->in, rows, cols, x->in_pitch, element, 1);
	if (opcode == VTPU_OP_TRANSPOSE)
		touch_matrix(m, x->out, cols, rows, x->out_pitch, element, 2);
	else if (opcode == VTPU_OP_REDUCE)
		touch_matrix(m, x->out, x->axis ? rows : 1, x->axis ? 1 : cols, x->out_pitch,
			     element, 2);
	else
		touch_matrix(m, x->out, rows, cols, x->out_pitch, element, 2);
}

/* Bits: 1 read, 2 written, 4 written on the core that gets what @core of @width sends */
static inline void touch_insn(uint8_t (*memory)[MEMORY], const struct vtpu_insn *insn,
			      uint32_t core, uint32_t width)
{
	const struct vtpu_insn_dma *dma = &insn->payload.dma;

	memset(memory, 0, MEMORIES * MEMORY);
	if (insn->flags & VTPU_INSN_PRED)
		touch(memory[1], 4 * insn->wait[0].pad, 4, 1);
	switch (insn->opcode) {
	case VTPU_OP_COPY:
		touch_dma(memory, dma, false, 0, 1);
		/* fall through */
	case VTPU_OP_FILL:
		touch_dma(memory, dma, true, 0, 2);
		break;
	case VTPU_OP_SEND:
		touch_dma(memory, dma, false,
			  (int64_t)((core + dma->core) % width) * dma->src_stride[4], 1);
		touch_dma(memory, dma, true, (int64_t)core * dma->dst_stride[4], 4);
		break;
	case VTPU_OP_MATMUL:
		touch_mxu(memory[0], &insn->payload.mxu);
		break;
	case VTPU_OP_EW:
		touch_ew(memory[0], &insn->payload.ew);
		break;
	case VTPU_OP_REDUCE:
	case VTPU_OP_SOFTMAX:
	case VTPU_OP_TRANSPOSE:
		touch_rows(memory[0], &insn->payload.rows, insn->opcode);
		break;
	default:
		break;
	}
}

/* ---- The plain answer --------------------------------------------------------------- */

static bool conflict[MOST][MOST];     /* instances, by (core, text) */
static bool path[2 * MOST][2 * MOST]; /* nodes */
static bool before[MOST][MOST];	      /* instances, by (core, text): surely in this order */

static inline uint32_t text_of(const struct vtpu_program *p, uint32_t unit, uint32_t index)
{
	for (uint32_t u = 0; u < unit; u++)
		index += p->count[u];
	return index;
}

static inline const struct vtpu_insn *insn_of(const struct vtpu_program *p, uint32_t text,
					      uint32_t *unit, uint32_t *index)
{
	for (*unit = 0; text >= p->count[*unit]; ++*unit)
		text -= p->count[*unit];
	*index = text;
	return &p->text[*unit][text];
}

static inline bool meet(const uint64_t *a, const uint64_t *b)
{
	for (uint32_t k = 0; k < WORDS; k++)
		if (a[k] & b[k])
			return true;
	return false;
}

/* Does what @a sends to @core conflict with what @b does there? */
static inline bool sent_meets(const struct bytes *a, const struct bytes *b, uint32_t core_b)
{
	if (a->to == core_b && (meet(a->sent, b->reads) || meet(a->sent, b->writes)))
		return true;
	return a->to != UINT32_MAX && a->to == b->to && meet(a->sent, b->sent);
}

static inline void find_conflicts(const struct vtpu_program *p, uint32_t n)
{
	uint32_t unit, index, all = p->width * n;

	memset(bytes_of, 0, sizeof(bytes_of));
	for (uint32_t i = 0; i < all; i++) {
		static uint8_t memory[MEMORIES][MEMORY];
		const struct vtpu_insn *insn = insn_of(p, i % n, &unit, &index);
		const uint8_t *byte = memory[0];
		struct bytes *b = &bytes_of[i];

		touch_insn(memory, insn, i / n, p->width);
		b->to = insn->opcode == VTPU_OP_SEND ? (i / n + insn->payload.dma.core) % p->width :
						       UINT32_MAX;
		for (uint32_t k = 0; k < MEMORIES * MEMORY; k++) {
			b->reads[k / 64] |= (uint64_t)(byte[k] & 1) << k % 64;
			b->writes[k / 64] |= (uint64_t)(byte[k] >> 1 & 1) << k % 64;
			b->sent[k / 64] |= (uint64_t)(byte[k] >> 2) << k % 64;
		}
	}
	for (uint32_t i = 0; i < all; i++)
		for (uint32_t j = 0; j < all; j++) {
			const struct bytes *a = &bytes_of[i], *b = &bytes_of[j];

			conflict[i][j] = sent_meets(a, b, j / n) || sent_meets(b, a, i / n) ||
					 (i / n == j / n &&
					  (meet(a->writes, b->writes) ||
					   meet(a->writes, b->reads) || meet(a->reads, b->writes)));
		}
}

static inline void close_over(bool *matrix, uint32_t n, uint32_t row)
{
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; i < n; i++)
			if (matrix[i * row + k])
				for (uint32_t j = 0; j < n; j++)
					matrix[i * row + j] |= matrix[k * row + j];
}

static inline void find_paths(const struct vtpu_program *p)
{
	memset(path, 0, sizeof(path));
	for (uint32_t i = 0; i < p->nodes; i++)
		for (uint32_t s = p->succ_start[i]; s < p->succ_start[i + 1]; s++)
			path[i][p->succ[s]] = true;
	close_over(&path[0][0], p->nodes, 2 * MOST);
}

/* Increments of semaphore @sem of core @core by instance (@c, @i) */
static inline uint32_t adds(const struct vtpu_program *p, uint32_t c, uint32_t i, uint32_t core,
			    uint32_t sem)
{
	uint32_t unit, index, sum = 0;
	const struct vtpu_insn *insn = insn_of(p, i, &unit, &index);

	for (int s = 0; s < 2; s++)
		if (insn->flags & VTPU_INSN_SIGNAL0 << s && insn->signal[s].sem == sem &&
		    (c + insn->signal[s].core) % p->width == core)
			sum += insn->signal[s].inc;
	return sum;
}

/* The rule, word for word */
static inline bool precedes(const struct vtpu_program *p, uint32_t n, uint32_t c, uint32_t s,
			    uint32_t core, const struct vtpu_wait *wait)
{
	uint64_t others = 0;
	uint32_t unit, index, u, x;

	if (!adds(p, c, s, core, wait->sem))
		return false;
	insn_of(p, s, &unit, &index);
	for (uint32_t oc = 0; oc < p->width; oc++)
		for (uint32_t o = 0; o < n; o++) {
			insn_of(p, o, &u, &x);
			if (!(oc == c && u == unit && x >= index))
				others += adds(p, oc, o, core, wait->sem);
		}
	return others < wait->value;
}

static inline void find_order(const struct vtpu_program *p, uint32_t n)
{
	uint32_t unit, index, u, x;

	memset(before, 0, sizeof(before));
	for (uint32_t core = 0; core < p->width; core++)
		for (uint32_t j = 0; j < n; j++) {
			const struct vtpu_insn *insn = insn_of(p, j, &unit, &index);

			if (index)
				before[core * n + j - 1][core * n + j] = true;
			for (int w = 0; w < 2; w++)
				if (insn->flags & VTPU_INSN_WAIT0 << w)
					for (uint32_t c = 0; c < p->width; c++)
						for (uint32_t s = 0; s < n; s++)
							if (precedes(p, n, c, s, core,
								     &insn->wait[w]))
								before[c * n + s][core * n + j] =
									true;
		}
	/* A barrier on one core comes after what comes before it on any core. */
	for (int round = 0; round < 8; round++) {
		close_over(&before[0][0], p->width * n, MOST);
		for (uint32_t j = 0; j < n; j++) {
			if (insn_of(p, j, &unit, &index)->opcode != VTPU_OP_BARRIER)
				continue;
			for (uint32_t c = 0; c < p->width; c++)
				for (uint32_t d = 0; d < p->width; d++)
					for (uint32_t s = 0; s < p->width * n; s++)
						if (before[s][c * n + j])
							before[s][d * n + j] = true;
		}
	}
	(void)u;
	(void)x;
}

#endif /* TESTS_UNIT_PLAIN_HAZARDS_H */
