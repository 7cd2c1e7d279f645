// SPDX-License-Identifier: MIT
/*
 * softmax.c - softmax of rows in HBM: blocks of rows come into VMEM, go through
 * the VPU and leave, two blocks of each kind at a time.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "program/builder.h"
#include "program/dense.h"
#include "program/ops.h"

enum {
	LOADED,
	NORMED,
	STORED,
	SEMS
};

struct softmax {
	struct vtpu_softmax_options o;
	uint32_t width;
	uint64_t rows;
	uint8_t x_type, y_type;
	uint32_t x_base, y_base, op;
	uint32_t bm;
	uint32_t in[2], out[2];
};

static uint64_t layout(struct softmax *s)
{
	uint64_t in =
		vtpu_cost_round((uint64_t)s->bm * s->o.n * vtpu_type_bytes(s->x_type), DENSE_TILE);
	uint64_t out =
		vtpu_cost_round((uint64_t)s->bm * s->o.n * vtpu_type_bytes(s->y_type), DENSE_TILE);

	s->in[0] = 0;
	s->in[1] = in;
	s->out[0] = 2 * in;
	s->out[1] = 2 * in + out;
	return 2 * (in + out);
}

static uint32_t rows_of(const struct softmax *s, uint64_t block)
{
	uint64_t left = s->rows - block * s->bm;

	return left < s->bm ? left : s->bm;
}

static void load(const struct softmax *s, struct sched *c, uint64_t block)
{
	uint64_t pitch = (uint64_t)s->o.n * vtpu_type_bytes(s->x_type);
	struct vtpu_emit emit = {
		.op = s->op,
		.wait[0] = { .sem = NORMED, .value = block >= 2 ? block - 1 : 0 },
		.signal[0] = { .sem = LOADED, .inc = 1 },
	};
	struct sched_matrix src = { VTPU_ADDR(VTPU_SPACE_HBM, s->x_base, block * s->bm * pitch),
				    s->x_type, pitch };
	struct sched_matrix dst = { VTPU_ADDR(VTPU_SPACE_VMEM, 0, s->in[block % 2]), s->x_type,
				    pitch };

	sched_copy_matrix(c, &emit, &dst, &src, rows_of(s, block), s->o.n);
}

static void normalise(const struct softmax *s, struct sched *c, uint64_t block)
{
	struct vtpu_emit emit = {
		.op = s->op,
		.wait[0] = { .sem = LOADED, .value = block + 1 },
		.wait[1] = { .sem = STORED, .value = block >= 2 ? block - 1 : 0 },
		.signal[0] = { .sem = NORMED, .inc = 1 },
	};
	struct vtpu_insn_rows rows = {
		.in = s->in[block % 2],
		.out = s->out[block % 2],
		.rows = rows_of(s, block),
		.cols = s->o.n,
		.in_pitch = s->o.n * vtpu_type_bytes(s->x_type),
		.out_pitch = s->o.n * vtpu_type_bytes(s->y_type),
		.in_type = s->x_type,
		.out_type = s->y_type,
	};
	float scale = s->o.scale != 0 ? s->o.scale : 1;

	memcpy(&rows.imm[0], &scale, sizeof(scale));
	sched_softmax(c, &emit, &rows);
}

static void store(const struct softmax *s, struct sched *c, uint64_t block)
{
	uint64_t pitch = (uint64_t)s->o.n * vtpu_type_bytes(s->y_type);
	struct vtpu_emit emit = {
		.op = s->op,
		.wait[0] = { .sem = NORMED, .value = block + 1 },
		.signal[0] = { .sem = STORED, .inc = 1 },
	};
	struct sched_matrix src = { VTPU_ADDR(VTPU_SPACE_VMEM, 0, s->out[block % 2]), s->y_type,
				    pitch };
	struct sched_matrix dst = { VTPU_ADDR(VTPU_SPACE_HBM, s->y_base, block * s->bm * pitch),
				    s->y_type, pitch };

	sched_copy_matrix(c, &emit, &dst, &src, rows_of(s, block), s->o.n);
}

static void walk(const struct softmax *s, struct sched *c)
{
	uint64_t blocks = vtpu_cost_div(s->rows, s->bm);

	load(s, c, 0);
	for (uint64_t block = 0; block < blocks && !sched_over(c); block++) {
		if (block + 1 < blocks)
			load(s, c, block + 1);
		normalise(s, c, block);
		store(s, c, block);
	}
}

/* Try sizes of blocks; the last one tried first fits least. */
static enum vtpu_status choose(struct softmax *s, struct sched *clock)
{
	uint64_t best = UINT64_MAX;
	uint32_t bm = 0;

	for (uint64_t size = s->o.bm ? s->o.bm : 8; size;
	     size = size < s->rows && !s->o.bm ? 2 * size : 0) {
		s->bm = s->o.bm ? (size < s->rows ? size : s->rows) : dense_rows(s->rows, size);
		if (layout(s) > s->o.geometry->vmem_bytes)
			break;
		sched_begin(clock, s->o.geometry, NULL);
		walk(s, clock);
		if (clock->end < best) {
			best = clock->end;
			bm = s->bm;
		}
	}
	if (clock->no_memory)
		return vtpu_fail_nomem("a plan for softmax");
	if (!bm)
		return vtpu_fail(VTPU_ERROR_UNSUPPORTED,
				 "softmax: two tiles in and two out of %" PRIu32 " rows of %" PRIu32
				 " columns take %" PRIu64 " bytes of VMEM; the device has %" PRIu64,
				 s->bm, s->o.n, layout(s), (uint64_t)s->o.geometry->vmem_bytes);
	s->bm = bm;
	return VTPU_OK;
}

enum vtpu_status vtpu_softmax_build(const struct vtpu_softmax_options *options,
				    struct vtpu_image **image, struct vtpu_plan *plan)
{
	struct softmax s = { 0 };
	struct vtpu_builder *b;
	struct sched clock = { 0 };
	enum vtpu_status status;

	status = vtpu_options(&s.o, options, sizeof(s.o), "struct vtpu_softmax_options");
	if (status)
		return status;
	s.width = s.o.width;
	status = ops_gang("softmax", s.o.geometry, &s.width, s.o.m, &s.rows);
	if (!status)
		status = ops_type("softmax: x", s.o.x_type, false, &s.x_type);
	if (!status)
		status = ops_type("softmax: y", s.o.y_type, false, &s.y_type);
	if (!status && (!s.o.n || s.o.n > INT32_MAX / 4 || !isfinite(s.o.scale)))
		status = vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				   "softmax: n is %" PRIu32
				   ", scale is %g; n must be 1..%d and scale finite",
				   s.o.n, (double)s.o.scale, INT32_MAX / 4);
	if (!status)
		status = choose(&s, &clock);
	if (!status)
		status = vtpu_builder_create(s.width, &b);
	if (status) {
		sched_free(&clock);
		return status;
	}
	s.x_base = ops_base(b, "x", s.rows * s.o.n * vtpu_type_bytes(s.x_type), true, false);
	s.y_base = ops_base(b, "y", s.rows * s.o.n * vtpu_type_bytes(s.y_type), true, true);
	s.op = vtpu_builder_op(b, "softmax");
	if (s.x_type == VTPU_TYPE_BF16 || s.y_type == VTPU_TYPE_BF16)
		vtpu_builder_caps(b, VTPU_CAP_BF16);
	for (int i = 0; i < SEMS; i++)
		vtpu_builder_semaphore(b);
	vtpu_builder_vmem(b, layout(&s), DENSE_TILE);
	sched_begin(&clock, s.o.geometry, b);
	walk(&s, &clock);
	status = clock.no_memory ? vtpu_fail_nomem("a plan for softmax") :
				   vtpu_builder_finish(b, image);
	vtpu_builder_destroy(b);
	if (!status && plan) {
		struct vtpu_plan chosen = {
			.tiling = { .bm = s.bm, .bn = s.o.n, .buffers = 2 },
			.rows_per_core = s.rows,
			.vmem_bytes = layout(&s),
			.cycles = clock.end,
		};

		*plan = chosen;
	}
	sched_free(&clock);
	return status;
}
