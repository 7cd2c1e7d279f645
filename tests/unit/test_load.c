// SPDX-License-Identifier: MIT
/*
 * test_load.c - whole loads: instructions that lie, limits, cancelling, no memory.
 *
 * A valid instruction of each opcode is changed in one field; the load must
 * refuse it with the right status and a record that names that field.
 * Allocations go through __wrap_malloc() and friends, which can be told to fail.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "insn_table.h"
#include "preset.h"
#include "program.h"
#include "tap.h"
#include "unit/image_builder.h"

static struct vtpu_hw_geometry geometry;
static struct vtpu_load_record records[VTPU_MAX_RECORDS];
static struct vtpu_load_result result;
static atomic_bool cancel;

/* ---- Allocations that fail --------------------------------------------------------- */

static uint64_t allocations, fail_at = UINT64_MAX;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
	return ++allocations == fail_at ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	return ++allocations == fail_at ? NULL : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
	return ++allocations == fail_at ? NULL : __real_realloc(old, bytes);
}

/* ---- Loading ------------------------------------------------------------------------- */

static struct vtpu_program *load(const void *image, size_t bytes)
{
	struct vtpu_load_request req = { .image = image,
					 .bytes = bytes,
					 .geometry = &geometry,
					 .caps = VTPU_CAP_F32 | VTPU_CAP_BF16 | VTPU_CAP_CONV |
						 VTPU_CAP_ICI,
					 .cancel = &cancel };
	struct vtpu_program *program;

	vtpu_program_load(&req, &program, &result, records);
	return program;
}

/* Load and free what the builder holds. */
static enum vtpu_hw_status status_of(struct image_builder *b)
{
	size_t bytes;
	void *image = ib_finish(b, &bytes);

	vtpu_program_put(load(image, bytes));
	free(image);
	return result.status;
}

#define VMEM(at)      VTPU_ADDR(VTPU_SPACE_VMEM, 0, at)
#define SMEM(at)      VTPU_ADDR(VTPU_SPACE_SMEM, 0, at)
#define HBM(base, at) VTPU_ADDR(VTPU_SPACE_HBM, base, at)

enum {
	IN,
	OUT,
	ODD
}; /* bases: read, written, and one whose cores are an odd number of bytes apart */

static void begin(struct image_builder *b, uint32_t width)
{
	ib_begin(b, width);
	ib_base(b, "in", 65536, 65536, VTPU_BASE_READ);
	ib_base(b, "out", 65536, 65536, VTPU_BASE_WRITE);
	ib_base(b, "odd", 1001, 1001, VTPU_BASE_READ);
}

/* A valid instruction of each opcode that is built */
static struct vtpu_insn *valid(struct image_builder *b, uint8_t opcode)
{
	struct vtpu_insn *insn;
	struct vtpu_insn_ew *ew;
	struct vtpu_insn_rows *rows;

	switch (opcode) {
	case VTPU_OP_COPY:
		return ib_copy2d(b, HBM(IN, 0), VMEM(0), VTPU_TYPE_F32, VTPU_TYPE_F32, 4, 16, 64,
				 128);
	case VTPU_OP_FILL:
		insn = ib_copy2d(b, 0, VMEM(0), VTPU_TYPE_F32, VTPU_TYPE_BF16, 4, 16, 0, 128);
		insn->opcode = opcode;
		insn->payload.dma.src_type = 0;
		insn->payload.dma.src_stride[0] = 0;
		return insn;
	case VTPU_OP_MATMUL:
		return ib_matmul(b, 0, 65536, 131072, VTPU_TYPE_BF16, VTPU_TYPE_F32, 16, 24, 32);
	case VTPU_OP_EW:
		insn = ib_insn(b, opcode);
		ew = &insn->payload.ew;
		ew->nin = ew->nout = ew->nops = 1;
		ew->rows = 4;
		ew->cols = 8;
		ew->in[0].pitch = 32;
		ew->in_type[0] = ew->out_type[0] = VTPU_TYPE_F32;
		ew->out[0].addr = 4096;
		ew->out[0].pitch = 32;
		ew->op[0].op = VTPU_EW_RELU;
		return insn;
	case VTPU_OP_REDUCE:
	case VTPU_OP_SOFTMAX:
	case VTPU_OP_TRANSPOSE:
		insn = ib_insn(b, opcode);
		rows = &insn->payload.rows;
		rows->out = 4096;
		rows->rows = 4;
		rows->cols = 8;
		rows->in_pitch = 32;
		rows->out_pitch = opcode == VTPU_OP_TRANSPOSE ? 16 :
				  opcode == VTPU_OP_SOFTMAX   ? 32 :
								0;
		rows->in_type = rows->out_type = VTPU_TYPE_F32;
		rows->op = opcode == VTPU_OP_REDUCE ? VTPU_REDUCE_SUM : 0;
		return insn;
	case VTPU_OP_BARRIER:
		insn = ib_insn(b, opcode);
		insn->payload.ctl.core_mask = 3;
		return insn;
	default:
		return ib_insn(b, opcode);
	}
}

static void expect(struct image_builder *b, enum vtpu_hw_status want, uint32_t field,
		   const char *name)
{
	enum vtpu_hw_status st = status_of(b);

	if (!tap_ok(st == want && (!want || (result.found == 1 && records[0].field == field)), "%s",
		    name))
		printf("# status %#x, found %u, kind %u, field %u, have %#llx, need %#llx; want %#x, field %u\n",
		       st, result.found, records[0].kind, records[0].field, records[0].have,
		       records[0].need, want, field);
}

#define AT(path) offsetof(struct vtpu_insn, path)

/* An instruction of @op for two cores with @path = @value: status @want, and a record for field @at */
#define CHANGE_AT(op, path, value, want, at) \
	do { \
		struct image_builder b_; \
		begin(&b_, 2); \
		valid(&b_, op)->path = value; \
		expect(&b_, want, at, #op " " #path " = " #value); \
	} while (0)
#define CHANGE(op, path, value, want) CHANGE_AT(op, path, value, want, AT(path))

/* ---- Fields ------------------------------------------------------------------------------- */

static void test_valid(void)
{
	static const uint8_t built[] = { VTPU_OP_NOP,	  VTPU_OP_HALT,	    VTPU_OP_BARRIER,
					 VTPU_OP_MARK,	  VTPU_OP_COPY,	    VTPU_OP_FILL,
					 VTPU_OP_MATMUL,  VTPU_OP_EW,	    VTPU_OP_REDUCE,
					 VTPU_OP_SOFTMAX, VTPU_OP_TRANSPOSE };
	struct image_builder b;
	uint32_t refused = 0, wrong = 0;

	for (size_t i = 0; i < sizeof(built); i++) {
		begin(&b, 2);
		valid(&b, built[i]);
		refused += status_of(&b) != VTPU_ST_OK;
	}
	tap_is(refused, 0, "a valid instruction of each built opcode loads");
	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		enum vtpu_hw_status st;
		bool known = false, have = (opcode >= 0x01 && opcode <= 0x04) ||
					   (opcode >= 0x10 && opcode <= 0x13) ||
					   (opcode >= 0x20 && opcode <= 0x23) ||
					   (opcode >= 0x30 && opcode <= 0x44) || opcode == 0x50 ||
					   opcode == 0x51;

		known = vtpu_insn_table[opcode].run;
		if (known || ib_unit((uint8_t)opcode) >= VTPU_UNITS)
			continue;
		begin(&b, 1);
		ib_insn(&b, (uint8_t)opcode);
		st = status_of(&b);
		if (have)
			wrong += st != VTPU_ST_UNSUPPORTED ||
				 records[0].kind != VTPU_REC_UNSUPPORTED ||
				 records[0].have != opcode;
		else
			wrong += st != VTPU_ST_BAD_INSN || records[0].field != AT(opcode);
	}
	tap_is(wrong, 0, "opcodes that are not built say so; those that are none are bad");
}

static void test_common(void)
{
	CHANGE(VTPU_OP_NOP, opcode, 0x0f, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_NOP, unit, VTPU_UNIT_DMA, VTPU_ST_BAD_INSN);
	CHANGE_AT(VTPU_OP_NOP, opcode, VTPU_OP_COPY, VTPU_ST_BAD_INSN, AT(unit));
	CHANGE(VTPU_OP_NOP, flags, 1 << 5, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_NOP, flags, VTPU_INSN_PRED, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_COPY, flags, VTPU_INSN_ARG_SMEM(0), VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_NOP, wait[0].sem, 1, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_NOP, wait[1].value, 1, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_NOP, wait[0].cmp, 1, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_NOP, wait[0].pad, 1, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_NOP, wait[1].pad, 1, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_NOP, signal[0].inc, 1, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_NOP, signal[1].core, 1, VTPU_ST_BAD_INSN);
	CHANGE_AT(VTPU_OP_NOP, flags, VTPU_INSN_WAIT0, VTPU_ST_BAD_INSN, AT(wait[0].value));
	CHANGE_AT(VTPU_OP_NOP, flags, VTPU_INSN_SIGNAL1, VTPU_ST_BAD_INSN, AT(signal[1].inc));
	CHANGE(VTPU_OP_NOP, payload.byte[50], 1, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_HALT, payload.ctl.pad, 1, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_BARRIER, payload.ctl.core_mask, 1, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_BARRIER, payload.ctl.core_mask, 7, VTPU_ST_BAD_INSN);
}

static void test_dma(void)
{
	CHANGE(VTPU_OP_COPY, payload.dma.src, HBM(7, 0), VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_COPY, payload.dma.src, HBM(IN, 2), VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_COPY, payload.dma.src, HBM(ODD, 0), VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_COPY, payload.dma.src, HBM(OUT, 0), VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_COPY, payload.dma.dst, HBM(IN, 0), VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_COPY, payload.dma.src, HBM(IN, 65536 - 192), VTPU_ST_OUT_OF_BOUNDS);
	CHANGE(VTPU_OP_COPY, payload.dma.src, HBM(IN, (1ULL << 40) - 64), VTPU_ST_OUT_OF_BOUNDS);
	CHANGE(VTPU_OP_COPY, payload.dma.src, HBM(IN, 0) | 1ULL << 40, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_COPY, payload.dma.src, VTPU_ADDR(3, 0, 0), VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_COPY, payload.dma.src, VTPU_ADDR(VTPU_SPACE_VMEM, 1, 65536),
	       VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_COPY, payload.dma.dst, VMEM((16u << 20) - 64), VTPU_ST_OUT_OF_BOUNDS);
	CHANGE(VTPU_OP_COPY, payload.dma.dst, SMEM(0), VTPU_ST_OUT_OF_BOUNDS);
	CHANGE(VTPU_OP_COPY, payload.dma.dst, SMEM(1020), VTPU_ST_OUT_OF_BOUNDS);
	CHANGE(VTPU_OP_COPY, payload.dma.dst, SMEM(1024), VTPU_ST_OK);
	CHANGE(VTPU_OP_COPY, payload.dma.dst, SMEM(16384 - 256), VTPU_ST_OUT_OF_BOUNDS);
	CHANGE(VTPU_OP_COPY, payload.dma.src_type, 0, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_COPY, payload.dma.src_type, VTPU_TYPE_F8E4M3, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_COPY, payload.dma.dst_type, VTPU_TYPE_S32, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_COPY, payload.dma.ndim, 0, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_COPY, payload.dma.ndim, 6, VTPU_ST_BAD_INSN);
	CHANGE_AT(VTPU_OP_COPY, payload.dma.ndim, 1, VTPU_ST_BAD_INSN, AT(payload.dma.count[1]));
	CHANGE(VTPU_OP_COPY, payload.dma.mode, VTPU_DMA_ADD, VTPU_ST_UNSUPPORTED);
	CHANGE(VTPU_OP_COPY, payload.dma.mode, 4, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_COPY, payload.dma.count[0], 0, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_COPY, payload.dma.count[4], 2, VTPU_ST_BAD_INSN);
	CHANGE_AT(VTPU_OP_COPY, payload.dma.count[1], 1u << 28, VTPU_ST_OUT_OF_BOUNDS,
		  AT(payload.dma.src));
	CHANGE(VTPU_OP_COPY, payload.dma.count[1], UINT32_MAX, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_COPY, payload.dma.src_stride[0], 2, VTPU_ST_BAD_INSN);
	CHANGE_AT(VTPU_OP_COPY, payload.dma.src_stride[1], -64, VTPU_ST_OUT_OF_BOUNDS,
		  AT(payload.dma.src));
	CHANGE_AT(VTPU_OP_COPY, payload.dma.dst_stride[1], INT32_MIN, VTPU_ST_OUT_OF_BOUNDS,
		  AT(payload.dma.dst));
	CHANGE(VTPU_OP_COPY, payload.dma.dst_stride[3], 4, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_COPY, payload.dma.pad_after[2], 1, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_COPY, payload.dma.imm, 1, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_COPY, payload.dma.core, 1, VTPU_ST_BAD_INSN);
	CHANGE_AT(VTPU_OP_COPY, payload.dma.pad, 0x100, VTPU_ST_BAD_INSN, AT(payload.dma.pad) + 1);
	CHANGE(VTPU_OP_FILL, payload.dma.imm, 0x10000, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_FILL, payload.dma.src_type, VTPU_TYPE_F32, VTPU_ST_BAD_INSN);
	CHANGE_AT(VTPU_OP_FILL, payload.dma.src, HBM(IN, 0), VTPU_ST_BAD_INSN,
		  AT(payload.dma.src) + 6);
	CHANGE(VTPU_OP_FILL, flags, VTPU_INSN_ARG_SMEM(0), VTPU_ST_OK);
	CHANGE(VTPU_OP_FILL, flags, VTPU_INSN_ARG_SMEM(1), VTPU_ST_BAD_INSN);
}

static void test_mxu(void)
{
	CHANGE(VTPU_OP_MATMUL, payload.mxu.a, 1, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_MATMUL, payload.mxu.a, UINT32_MAX - 1, VTPU_ST_OUT_OF_BOUNDS);
	CHANGE(VTPU_OP_MATMUL, payload.mxu.b, (16u << 20) - 32 * 48 + 2, VTPU_ST_OUT_OF_BOUNDS);
	CHANGE(VTPU_OP_MATMUL, payload.mxu.c, 4, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_MATMUL, payload.mxu.ldc, 4, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_MATMUL, payload.mxu.d, 64, VTPU_ST_BAD_INSN); /* on A */
	CHANGE(VTPU_OP_MATMUL, payload.mxu.a_type, VTPU_TYPE_U8, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_MATMUL, payload.mxu.passes, 3, VTPU_ST_UNSUPPORTED);
	CHANGE(VTPU_OP_MATMUL, payload.mxu.passes, 7, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_MATMUL, payload.mxu.m, 0, VTPU_ST_BAD_INSN);
	CHANGE_AT(VTPU_OP_MATMUL, payload.mxu.m, 1u << 28, VTPU_ST_OUT_OF_BOUNDS,
		  AT(payload.mxu.a));
	CHANGE(VTPU_OP_MATMUL, payload.mxu.g, 0, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_MATMUL, payload.mxu.mode, 16, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_MATMUL, payload.mxu.lda, 62, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_MATMUL, payload.mxu.lda, 65, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_MATMUL, payload.mxu.ldd, 92, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_MATMUL, payload.mxu.a_gstride, 1, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_MATMUL, payload.mxu.in_h, 1, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_MATMUL, payload.mxu.lhs_dil_w, 1, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_MATMUL, payload.mxu.epi_op[1], VTPU_EPI_RELU, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_MATMUL, payload.mxu.epi_op[0], VTPU_EPI_STORE, VTPU_ST_UNSUPPORTED);
	CHANGE(VTPU_OP_MATMUL, payload.mxu.epi_op[0], VTPU_EPI_OPS, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_MATMUL, payload.mxu.epi_arg[0], 64, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_MATMUL, flags, VTPU_INSN_ARG_SMEM(0), VTPU_ST_BAD_INSN);
}

static void test_vpu(void)
{
	CHANGE(VTPU_OP_EW, payload.ew.nin, 5, VTPU_ST_BAD_INSN);
	CHANGE_AT(VTPU_OP_EW, payload.ew.nin, 2, VTPU_ST_BAD_INSN, AT(payload.ew.in_type[1]));
	CHANGE_AT(VTPU_OP_EW, payload.ew.nin, 0, VTPU_ST_BAD_INSN, AT(payload.ew.in[0].pitch));
	CHANGE(VTPU_OP_EW, payload.ew.nout, 0, VTPU_ST_BAD_INSN);
	CHANGE_AT(VTPU_OP_EW, payload.ew.nops, 0, VTPU_ST_BAD_INSN, AT(payload.ew.op[0].op));
	CHANGE_AT(VTPU_OP_EW, payload.ew.nops, 2, VTPU_ST_BAD_INSN, AT(payload.ew.op[1].op));
	CHANGE(VTPU_OP_EW, payload.ew.pad, 1, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_EW, payload.ew.pad2, 1, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_EW, payload.ew.rows, 0, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_EW, payload.ew.in[0].addr, 2, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_EW, payload.ew.in[0].pitch, 28, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_EW, payload.ew.in[3].addr, 4, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_EW, payload.ew.in_type[0], VTPU_TYPE_S8, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_EW, payload.ew.in_bcast[0], 4, VTPU_ST_BAD_INSN);
	CHANGE_AT(VTPU_OP_EW, payload.ew.in_bcast[0], VTPU_BCAST_ROW, VTPU_ST_BAD_INSN,
		  AT(payload.ew.in[0].pitch));
	CHANGE(VTPU_OP_EW, payload.ew.out_type[0], VTPU_TYPE_U8, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_EW, payload.ew.out[0].addr, 0, VTPU_ST_OK);	  /* in place */
	CHANGE(VTPU_OP_EW, payload.ew.out[0].addr, 32, VTPU_ST_BAD_INSN); /* a row further */
	CHANGE(VTPU_OP_EW, payload.ew.op[0].op, VTPU_EW_ERF, VTPU_ST_UNSUPPORTED);
	CHANGE(VTPU_OP_EW, payload.ew.op[0].op, VTPU_EW_OPS, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_EW, payload.ew.op[0].args, VTPU_EW_ARGS(0, 6, 0), VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_EW, payload.ew.op[0].args, VTPU_EW_ARGS(0, 0, 1), VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_REDUCE, payload.rows.op, 0, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_REDUCE, payload.rows.axis, 2, VTPU_ST_BAD_INSN);
	CHANGE_AT(VTPU_OP_REDUCE, payload.rows.axis, 1, VTPU_ST_BAD_INSN,
		  AT(payload.rows.out_pitch));
	CHANGE(VTPU_OP_REDUCE, payload.rows.out_pitch, 4, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_REDUCE, payload.rows.aux, 4, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_SOFTMAX, payload.rows.aux2, 4, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_SOFTMAX, payload.rows.imm[1], 4, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_SOFTMAX, payload.rows.out, 0, VTPU_ST_OK);
	CHANGE(VTPU_OP_SOFTMAX, payload.rows.rsvd[11], 4, VTPU_ST_BAD_INSN);
	CHANGE_AT(VTPU_OP_SOFTMAX, flags, VTPU_INSN_ARG_SMEM(0), VTPU_ST_OK, 0);
	CHANGE(VTPU_OP_TRANSPOSE, payload.rows.out_type, VTPU_TYPE_BF16, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_TRANSPOSE, payload.rows.out, 0, VTPU_ST_BAD_INSN);
	CHANGE(VTPU_OP_TRANSPOSE, payload.rows.out_pitch, 12, VTPU_ST_BAD_INSN);
}

static void test_args(void)
{
	struct image_builder b;
	struct vtpu_insn *insn;

	begin(&b, 1);
	insn = valid(&b, VTPU_OP_MATMUL);
	insn->payload.mxu.epi_op[0] = VTPU_EPI_CLAMP;
	insn->payload.mxu.epi_arg[0] = 5;
	insn->payload.mxu.epi_arg[1] = 4095;
	insn->flags |= VTPU_INSN_ARG_SMEM(0) | VTPU_INSN_ARG_SMEM(1);
	expect(&b, VTPU_ST_OK, 0, "both limits of a clamp from SMEM");
	begin(&b, 1);
	insn = valid(&b, VTPU_OP_MATMUL);
	insn->payload.mxu.epi_op[0] = VTPU_EPI_SCALE_IMM;
	insn->payload.mxu.epi_arg[0] = 4096;
	insn->flags |= VTPU_INSN_ARG_SMEM(0);
	expect(&b, VTPU_ST_OUT_OF_BOUNDS, AT(payload.mxu.epi_arg[0]),
	       "an SMEM word that is not there");
	begin(&b, 1);
	insn = valid(&b, VTPU_OP_MATMUL);
	insn->payload.mxu.epi_op[0] = VTPU_EPI_BIAS;
	insn->payload.mxu.epi_arg[0] = 1 << 20;
	insn->flags |= VTPU_INSN_ARG_SMEM(0);
	expect(&b, VTPU_ST_BAD_INSN, AT(flags), "an operand's address from SMEM");
	begin(&b, 1);
	insn = valid(&b, VTPU_OP_COPY);
	insn->flags |= VTPU_INSN_PRED;
	insn->wait[0].pad = 4096;
	expect(&b, VTPU_ST_BAD_INSN, AT(wait[0].pad), "a predicate beyond SMEM");
	begin(&b, 1);
	insn = valid(&b, VTPU_OP_COPY);
	insn->flags |= VTPU_INSN_PRED;
	insn->wait[0].pad = 4095;
	expect(&b, VTPU_ST_OK, 0, "a predicate in SMEM");
	begin(&b, 2);
	ib_signal(valid(&b, VTPU_OP_COPY), 0, 2, 1);
	expect(&b, VTPU_ST_BAD_INSN, AT(signal[0].core),
	       "a signal to a core that the gang has not");
	begin(&b, 1);
	valid(&b, VTPU_OP_HALT);
	valid(&b, VTPU_OP_NOP);
	expect(&b, VTPU_ST_BAD_INSN, AT(opcode), "HALT before the end");
	begin(&b, 1);
	insn = valid(&b, VTPU_OP_COPY);
	insn->payload.dma.src_stride[0] = insn->payload.dma.src_stride[1] = 0;
	insn->payload.dma.dst_stride[0] = insn->payload.dma.dst_stride[1] = 0;
	insn->payload.dma.count[0] = insn->payload.dma.count[1] = 1 << 28;
	expect(&b, VTPU_ST_BAD_INSN, AT(payload.dma.count[0]), "2^56 elements in one place");
}

static void test_many_findings(void)
{
	struct image_builder b;

	begin(&b, 1);
	for (int i = 0; i < 100; i++)
		valid(&b, VTPU_OP_COPY)->payload.dma.ndim = 9;
	status_of(&b);
	tap_ok(result.found == 100 && result.records == VTPU_MAX_RECORDS && records[63].index == 63,
	       "all bad instructions are counted, the first 64 told");
}

/* ---- Limits ----------------------------------------------------------------------------------- */

static void test_instances(void)
{
	struct image_builder b;

	begin(&b, 8);
	for (int i = 0; i < 125000; i++)
		ib_insn(&b, VTPU_OP_NOP);
	tap_is(status_of(&b), VTPU_ST_OK, "a million instances");
	tap_is(result.instances, 1000000, "are counted");
	begin(&b, 8);
	for (int i = 0; i < 125001; i++)
		ib_insn(&b, VTPU_OP_NOP);
	tap_is(status_of(&b), VTPU_ST_TOO_LARGE, "8 more are too many");
	tap_ok(records[0].have == 1000008 && records[0].need == 1000000,
	       "the record says how many");
	begin(&b, 1);
	for (int i = 0; i < 1000001; i++)
		ib_insn(&b, VTPU_OP_NOP);
	tap_is(status_of(&b), VTPU_ST_TOO_LARGE, "a million and one for one core");
}

/* ---- Cancel -------------------------------------------------------------------------------------- */

static clockid_t loader_clock; /* CPU time of the thread that loads: the machine may be busy */

static double loader_ms(void)
{
	struct timespec t;

	clock_gettime(loader_clock, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static double cancelled_at;

static void *cancel_later(void *arg)
{
	usleep(*(const unsigned int *)arg);
	cancelled_at = loader_ms();
	atomic_store(&cancel, true);
	return NULL;
}

static void test_cancel(void)
{
	struct image_builder b;
	uint32_t cancelled = 0;
	double worst = 0;
	size_t bytes;
	void *image;

	pthread_getcpuclockid(pthread_self(), &loader_clock);
	begin(&b, 1);
	for (int i = 0; i < 300000; i++) {
		ib_copy2d(&b, HBM(IN, 0), VMEM(i % 4096 * 4), VTPU_TYPE_F32, VTPU_TYPE_F32, 64, 1,
			  4, 64);
		ib_copy2d(&b, VMEM(i % 1024 * 4), HBM(OUT, 0), VTPU_TYPE_F32, VTPU_TYPE_F32, 64, 1,
			  60, 4);
	}
	image = ib_finish(&b, &bytes);
	for (unsigned int after = 1000; after < 400000; after *= 3) {
		pthread_t thread;

		atomic_store(&cancel, false);
		pthread_create(&thread, NULL, cancel_later, &after);
		vtpu_program_put(load(image, bytes));
		if (result.status == VTPU_ST_CANCELLED) {
			double late = loader_ms() - cancelled_at;

			cancelled++;
			worst = late > worst ? late : worst;
		}
		pthread_join(thread, NULL);
	}
	atomic_store(&cancel, false);
	free(image);
	printf("# %u loads cancelled, the slowest worked on for %.1f ms\n", cancelled, worst);
	tap_ok(cancelled >= 4, "a load can be cancelled");
	tap_ok(worst < 50, "and does little after that, freeing included");
}

/* ---- No memory --------------------------------------------------------------------------------------- */

static void test_no_memory(void)
{
	struct image_builder b;
	struct vtpu_insn *insn;
	uint32_t wrong = 0, failed = 0;
	size_t bytes;
	void *image;

	begin(&b, 2);
	for (int i = 0; i < 40; i++) {
		insn = ib_copy2d(&b, HBM(IN, 0), VMEM(i * 64), VTPU_TYPE_F32, VTPU_TYPE_F32, 16, 8,
				 32, 4096);
		ib_signal(insn, 0, i % 2, 1);
		ib_copy(&b, VMEM(0), HBM(OUT, 0), VTPU_TYPE_F32, 16384);
		insn = ib_matmul(&b, 0, 1 << 20, 2 << 20, VTPU_TYPE_F32, VTPU_TYPE_F32, 16, 16, 16);
		ib_wait(insn, 0, 1);
	}
	image = ib_finish(&b, &bytes);
	for (uint64_t n = 1;; n++) {
		struct vtpu_program *p;

		allocations = 0;
		fail_at = n;
		p = load(image, bytes);
		fail_at = UINT64_MAX;
		if (p) {
			vtpu_program_put(p);
			break;
		}
		failed++;
		wrong += result.status != VTPU_ST_NO_MEMORY;
	}
	free(image);
	tap_ok(failed > 20, "%u allocations, each of which fails once", failed);
	tap_is(wrong, 0,
	       "the load says NO_MEMORY each time, and leaks nothing (the sanitizer would tell)");
}

static void test_references(void)
{
	struct image_builder b;
	struct vtpu_program *p;
	size_t bytes;
	void *image;

	begin(&b, 1);
	valid(&b, VTPU_OP_HALT);
	image = ib_finish(&b, &bytes);
	p = load(image, bytes);
	free(image);
	vtpu_program_get(p);
	vtpu_program_put(p);
	tap_ok(p->instances == 1 && p->text[VTPU_UNIT_CTL][0].opcode == VTPU_OP_HALT,
	       "a program outlives its image and one of two references");
	vtpu_program_put(p);
	vtpu_program_put(NULL);
}

int main(void)
{
	char err[128];

	vtpu_preset_geometry(NULL, 8, NULL, &geometry, err, sizeof(err));
	test_valid();
	test_common();
	test_dma();
	test_mxu();
	test_vpu();
	test_args();
	test_many_findings();
	test_instances();
	test_cancel();
	test_no_memory();
	test_references();
	return tap_done();
}
