// SPDX-License-Identifier: MIT
/*
 * dense_chain.c - layers whose weights all fit VMEM, as one program.
 *
 * Weights come in once. Blocks of rows stream through: x into one of a few
 * slots, each layer's product into the next one's operand, the last into one of
 * two result tiles, with a softmax on the VPU if wanted. The matrix unit works
 * its queue in order, so hidden tiles need neither a second copy nor semaphores.
 *
 * Semaphores, each incremented by one queue alone: LOADED by each DMA that brings
 * something in, CONSUMED when a block of x was read, READY when its result is
 * there, NORMED after its softmax, STORED when it has left.
 */
#include <inttypes.h>
#include <string.h>

#include "core/error.h"
#include "program/dense.h"

enum {
	LOADED,
	CONSUMED,
	READY,
	STORED,
	NORMED,
	SEMS
};

#define BLOCK_CYCLES 32 /* what a block costs the host, whatever its size */

struct chain {
	const struct dense *d;
	struct vtpu_tiling t;
	uint32_t blocks;
	bool softmax;
	uint32_t x[3];
	uint32_t w[DENSE_LAYERS], scale[DENSE_LAYERS], bias[DENSE_LAYERS];
	uint32_t hidden[DENSE_LAYERS]; /* results of all layers but the last */
	uint32_t result[2],
		out[2]; /* of the last layer, and what leaves: the same without softmax */
	uint64_t vmem;
	uint32_t need_x[3];	       /* LOADED for block i, at i mod buffers */
	uint32_t need_w[DENSE_LAYERS]; /* LOADED for the weights of a layer */
};

static uint32_t place(uint64_t *vmem, uint64_t bytes)
{
	uint32_t addr = *vmem;

	*vmem = vtpu_cost_round(*vmem + bytes, DENSE_TILE);
	return addr;
}

static bool layout(struct chain *s)
{
	const struct dense *d = s->d;
	const struct dense_layer *last = &d->layer[d->layers - 1];
	uint64_t total = 0, bm = s->t.bm;

	s->blocks = vtpu_cost_div(d->rows, bm);
	s->softmax = last->user->softmax;
	for (uint32_t l = 0; l < d->layers; l++) {
		const struct dense_layer *layer = &d->layer[l];

		s->w[l] =
			place(&total, (uint64_t)layer->k * layer->n * vtpu_type_bytes(layer->type));
		s->scale[l] = place(&total, layer->scale_arg >= 0 ? layer->n * 4ULL : 0);
		s->bias[l] = place(&total, layer->bias_arg >= 0 ? layer->n * 4ULL : 0);
		if (l < d->layers - 1)
			s->hidden[l] =
				place(&total, bm * layer->n * vtpu_type_bytes(layer->out_type));
	}
	for (uint32_t i = 0; i < s->t.buffers; i++)
		s->x[i] = place(&total, bm * d->layer[0].k * vtpu_type_bytes(d->layer[0].type));
	for (int i = 0; i < 2; i++) {
		s->result[i] = place(&total, bm * last->n * vtpu_type_bytes(last->out_type));
		s->out[i] = s->softmax ? place(&total, bm * last->n * vtpu_type_bytes(d->y_type)) :
					 s->result[i];
	}
	s->vmem = total;
	return total <= d->geometry->vmem_bytes;
}

static uint32_t rows_of(const struct chain *s, uint32_t block)
{
	uint64_t left = s->d->rows - (uint64_t)block * s->t.bm;

	return left < s->t.bm ? left : s->t.bm;
}

/* Bring a whole matrix that all cores share in. */
static void load_shared(struct sched *c, uint32_t op, uint32_t base, uint32_t addr, uint8_t type,
			uint32_t rows, uint32_t cols)
{
	struct vtpu_emit emit = { .op = op, .signal[0] = { .sem = LOADED, .inc = 1 } };
	uint64_t pitch = (uint64_t)cols * vtpu_type_bytes(type);
	struct sched_matrix src = { VTPU_ADDR(VTPU_SPACE_HBM, base, 0), type, pitch };
	struct sched_matrix dst = { VTPU_ADDR(VTPU_SPACE_VMEM, 0, addr), type, pitch };

	sched_copy_matrix(c, &emit, &dst, &src, rows, cols);
}

static void load_weights(struct chain *s, struct sched *c, uint32_t l)
{
	const struct dense_layer *layer = &s->d->layer[l];
	bool t = layer->user->w_transposed;

	load_shared(c, layer->op, layer->w_base, s->w[l], layer->type, t ? layer->n : layer->k,
		    t ? layer->k : layer->n);
	if (layer->scale_arg >= 0)
		load_shared(c, layer->op, layer->scale_base, s->scale[l], VTPU_TYPE_F32, 1,
			    layer->n);
	if (layer->bias_arg >= 0)
		load_shared(c, layer->op, layer->bias_base, s->bias[l], VTPU_TYPE_F32, 1, layer->n);
	s->need_w[l] = c->sem[LOADED].count;
}

static void load_block(struct chain *s, struct sched *c, uint32_t block)
{
	const struct dense_layer *first = &s->d->layer[0];
	uint32_t slot = block % s->t.buffers;
	struct vtpu_emit emit = {
		.op = first->op,
		.wait[0] = { .sem = CONSUMED,
			     .value = block >= s->t.buffers ? block - s->t.buffers + 1 : 0 },
		.signal[0] = { .sem = LOADED, .inc = 1 },
	};
	uint64_t pitch = (uint64_t)first->k * vtpu_type_bytes(s->d->x_type);
	struct sched_matrix src = { VTPU_ADDR(VTPU_SPACE_HBM, s->d->x_base,
					      block * (uint64_t)s->t.bm * pitch),
				    s->d->x_type, pitch };
	struct sched_matrix dst = { VTPU_ADDR(VTPU_SPACE_VMEM, 0, s->x[slot]), first->type,
				    (uint64_t)first->k * vtpu_type_bytes(first->type) };

	sched_copy_matrix(c, &emit, &dst, &src, rows_of(s, block), first->k);
	s->need_x[slot] = c->sem[LOADED].count;
}

static void compute_layer(struct chain *s, struct sched *c, uint32_t block, uint32_t l)
{
	const struct dense_layer *layer = &s->d->layer[l];
	uint32_t in = vtpu_type_bytes(layer->type);
	bool last = l == s->d->layers - 1;
	struct vtpu_emit emit = { .op = layer->op };
	struct vtpu_insn_mxu mxu = {
		.a = l ? s->hidden[l - 1] : s->x[block % s->t.buffers],
		.b = s->w[l],
		.d = last ? s->result[block % 2] : s->hidden[l],
		.a_type = layer->type,
		.b_type = layer->type,
		.d_type = layer->out_type,
		.m = rows_of(s, block),
		.n = layer->n,
		.k = layer->k,
		.g = 1,
		.lda = layer->k * in,
		.ldb = (layer->user->w_transposed ? layer->k : layer->n) * in,
		.ldd = layer->n * vtpu_type_bytes(layer->out_type),
		.mode = layer->user->w_transposed ? VTPU_MXU_TRANS_B : 0,
	};

	if (sched_split_rows(s->d->geometry, &mxu, mxu.m))
		mxu.mode |= VTPU_MXU_SPLIT_M;
	memcpy(mxu.epi_op, layer->epi_op, sizeof(mxu.epi_op));
	memcpy(mxu.epi_arg, layer->epi_arg, sizeof(mxu.epi_arg));
	if (layer->scale_arg >= 0)
		mxu.epi_arg[layer->scale_arg] = s->scale[l];
	if (layer->bias_arg >= 0)
		mxu.epi_arg[layer->bias_arg] = s->bias[l];
	if (!l) {
		emit.wait[0].sem = LOADED;
		emit.wait[0].value = s->need_x[block % s->t.buffers];
		emit.signal[0].sem = CONSUMED;
		emit.signal[0].inc = 1;
	} else if (!block) {
		emit.wait[0].sem = LOADED;
		emit.wait[0].value = s->need_w[l];
	}
	if (last) {
		emit.wait[1].sem = s->softmax ? NORMED : STORED;
		emit.wait[1].value = block >= 2 ? block - 1 : 0;
		emit.signal[1].sem = READY;
		emit.signal[1].inc = 1;
	}
	sched_matmul(c, &emit, &mxu);
}

static void finish_block(struct chain *s, struct sched *c, uint32_t block)
{
	const struct dense_layer *last = &s->d->layer[s->d->layers - 1];
	uint64_t pitch = (uint64_t)last->n * vtpu_type_bytes(s->d->y_type);
	struct vtpu_emit norm = {
		.op = last->op,
		.wait[0] = { .sem = READY, .value = block + 1 },
		.wait[1] = { .sem = STORED, .value = block >= 2 ? block - 1 : 0 },
		.signal[0] = { .sem = NORMED, .inc = 1 },
	};
	struct vtpu_emit store = {
		.op = last->op,
		.wait[0] = { .sem = s->softmax ? NORMED : READY, .value = block + 1 },
		.signal[0] = { .sem = STORED, .inc = 1 },
	};
	struct vtpu_insn_rows rows = {
		.in = s->result[block % 2],
		.out = s->out[block % 2],
		.rows = rows_of(s, block),
		.cols = last->n,
		.in_pitch = last->n * 4,
		.out_pitch = pitch,
		.in_type = VTPU_TYPE_F32,
		.out_type = s->d->y_type,
		.imm[0] = 0x3f800000, /* 1.0 */
	};
	struct sched_matrix src = { VTPU_ADDR(VTPU_SPACE_VMEM, 0, s->out[block % 2]), s->d->y_type,
				    pitch };
	struct sched_matrix dst = { VTPU_ADDR(VTPU_SPACE_HBM, s->d->y_base,
					      block * (uint64_t)s->t.bm * pitch),
				    s->d->y_type, pitch };

	if (s->softmax)
		sched_softmax(c, &norm, &rows);
	sched_copy_matrix(c, &store, &dst, &src, rows_of(s, block), last->n);
}

static void walk(struct chain *s, struct sched *c)
{
	uint32_t loaded = 1;

	load_weights(s, c, 0);
	load_block(s, c, 0);
	for (uint32_t l = 1; l < s->d->layers; l++)
		load_weights(s, c, l);
	for (uint32_t block = 0; block < s->blocks && !sched_over(c); block++) {
		for (; loaded < s->blocks && loaded < block + s->t.buffers; loaded++)
			load_block(s, c, loaded);
		for (uint32_t l = 0; l < s->d->layers; l++)
			compute_layer(s, c, block, l);
		finish_block(s, c, block);
	}
}

enum vtpu_status dense_chain(const struct dense *d, struct vtpu_builder *b, struct vtpu_plan *plan)
{
	struct chain s = { .d = d };
	struct vtpu_tiling best = { 0 };
	uint64_t score = UINT64_MAX;
	struct sched clock = { 0 };
	enum vtpu_status status = VTPU_OK;

	for (uint64_t size = d->want.bm ? d->want.bm : 64; size;
	     size = size < d->rows && !d->want.bm ? 2 * size : 0) {
		s.t.bm = d->want.bm ? (size < d->rows ? size : d->rows) : dense_rows(d->rows, size);
		for (s.t.buffers = d->want.buffers ? d->want.buffers : 3; s.t.buffers;
		     s.t.buffers--) {
			uint64_t penalty;

			if (!layout(&s)) {
				if (d->want.buffers)
					break;
				continue;
			}
			penalty = (uint64_t)s.blocks * BLOCK_CYCLES * d->layers;
			sched_begin(&clock, d->geometry, NULL);
			walk(&s, &clock);
			if (clock.end + penalty < score) {
				score = clock.end + penalty;
				best = s.t;
			}
			break;
		}
	}
	if (!best.bm && !clock.no_memory) {
		status = vtpu_fail(
			VTPU_ERROR_UNSUPPORTED,
			"layers '%s' to '%s': weights and tiles of a few rows take %" PRIu64
			" bytes of VMEM, the device has %" PRIu64
			"; use smaller layers or bf16 weights, or build each layer as a program of its own",
			d->layer[0].user->name, d->layer[d->layers - 1].user->name, s.vmem,
			(uint64_t)d->geometry->vmem_bytes);
	} else if (!clock.no_memory) {
		s.t = best;
		layout(&s);
		sched_begin(&clock, d->geometry, b);
		for (int i = 0; i < SEMS; i++)
			vtpu_builder_semaphore(b);
		vtpu_builder_vmem(b, s.vmem, DENSE_TILE);
		walk(&s, &clock);
		plan->tiling = best;
		plan->vmem_bytes = s.vmem;
		plan->cycles = clock.end;
	}
	if (clock.no_memory)
		status = vtpu_fail_nomem("a plan for layers");
	sched_free(&clock);
	return status;
}
