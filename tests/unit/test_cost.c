// SPDX-License-Identifier: MIT
/*
 * test_cost.c - cycle costs and presets, to the last cycle.
 */
#include "cost.h"
#include "image_builder.h"
#include "preset.h"
#include "tap.h"

static struct vtpu_hw_geometry v3;

/* ---- MXU ------------------------------------------------------------------------------- */

static void test_matmul(void)
{
	struct vtpu_insn insn = { .opcode = VTPU_OP_MATMUL, .unit = VTPU_UNIT_MXU };
	struct vtpu_insn_mxu *x = &insn.payload.mxu;

	tap_is(vtpu_cost_matmul(&v3, 128, 128, 128, 1, 1, false), 128, "128^3: one tile");
	tap_is(vtpu_cost_matmul(&v3, 8, 8, 8, 1, 1, false), 128, "8^3 costs as much: weights");
	tap_is(vtpu_cost_matmul(&v3, 129, 129, 129, 1, 1, false), 2 * 136,
	       "129^3: 2 x 2 tiles on two arrays");
	tap_is(vtpu_cost_matmul(&v3, 1000, 1000, 1000, 1, 1, false), 8 * 4 * 1000, "1000^3");
	tap_is(vtpu_cost_matmul(&v3, 1024, 1024, 1024, 1, 1, false), 32768, "1024^3 is ideal");
	tap_is(vtpu_cost_matmul(&v3, 1024, 1024, 1024, 1, 6, false), 6 * 32768,
	       "f32 takes six passes");
	tap_is(vtpu_cost_matmul(&v3, 1024, 128, 128, 1, 1, false), 1024,
	       "one column of tiles: one array idle");
	tap_is(vtpu_cost_matmul(&v3, 1024, 128, 128, 1, 1, true), 512, "unless rows are split");
	tap_is(vtpu_cost_matmul(&v3, 100352, 64, 576, 1, 1, false), 501760,
	       "3x3 convolution of 64 channels");
	tap_is(vtpu_cost_matmul(&v3, 100352, 64, 576, 1, 1, true), 250880, "the same, rows split");
	tap_is(vtpu_cost_matmul(&v3, 512, 512, 64, 1, 1, false), 1024,
	       "scores of an attention head");
	tap_is(vtpu_cost_matmul(&v3, UINT32_MAX, UINT32_MAX, UINT32_MAX, 65535, 6, false),
	       UINT64_MAX, "absurd sizes saturate");

	*x = (struct vtpu_insn_mxu){ .a_type = VTPU_TYPE_BF16,
				     .b_type = VTPU_TYPE_BF16,
				     .d_type = VTPU_TYPE_F32,
				     .m = 1024,
				     .n = 256,
				     .k = 128,
				     .g = 1 };
	tap_is(vtpu_cost_insn(&v3, &insn, 1).busy, 1024, "an instruction: stream");
	tap_is(vtpu_cost_insn(&v3, &insn, 1).macs, 1024 * 256 * 128, "multiply-adds");
	tap_is(vtpu_cost_insn(&v3, &insn, 1).latency, 262, "drain");
	x->b_type = VTPU_TYPE_F32;
	tap_is(vtpu_cost_insn(&v3, &insn, 1).busy, 6 * 1024, "one f32 operand makes it f32");
	x->b_type = VTPU_TYPE_BF16;
	x->epi_op[0] = VTPU_EPI_BIAS;
	x->epi_op[1] = VTPU_EPI_RELU;
	tap_is(vtpu_cost_insn(&v3, &insn, 1).busy, 1024, "a light epilogue hides");
	x->epi_op[2] = VTPU_EPI_GELU;
	tap_is(vtpu_cost_insn(&v3, &insn, 1).busy, 128 * 2 * 16 / 2, "a heavy one shows");
}

/* ---- VPU and XLU ------------------------------------------------------------------------- */

static void test_vector(void)
{
	struct vtpu_insn insn = { .opcode = VTPU_OP_EW, .unit = VTPU_UNIT_VPU };
	struct vtpu_insn_ew *x = &insn.payload.ew;
	struct vtpu_insn_rows *r = &insn.payload.rows;

	*x = (struct vtpu_insn_ew){ .nin = 2, .nout = 1, .nops = 1, .rows = 1024, .cols = 256 };
	x->in_type[0] = x->in_type[1] = x->out_type[0] = VTPU_TYPE_F32;
	x->op[0].op = VTPU_EW_ADD;
	tap_is(vtpu_cost_insn(&v3, &insn, 1).busy, 256 * 2 + 20, "f32 add: two loads a register");
	x->in_bcast[1] = VTPU_BCAST_ROW;
	tap_is(vtpu_cost_insn(&v3, &insn, 1).busy, 256 + 20, "a row stays in registers");
	x->nops = 3;
	x->op[1].op = VTPU_EW_EXP;
	x->op[2].op = VTPU_EW_MUL;
	tap_is(vtpu_cost_insn(&v3, &insn, 1).busy, 256 * 10 / 2 + 20, "exp weighs 8");
	x->rows = 1;
	x->cols = 129;
	tap_is(vtpu_cost_insn(&v3, &insn, 1).busy, 2 * 10 / 2 + 20,
	       "padding costs as much as data");

	insn.opcode = VTPU_OP_SOFTMAX;
	*r = (struct vtpu_insn_rows){
		.rows = 512, .cols = 512, .in_type = VTPU_TYPE_F32, .out_type = VTPU_TYPE_F32
	};
	tap_is(vtpu_cost_insn(&v3, &insn, 1).busy, 256 * 13 / 2 + 128 * 8 + 20,
	       "softmax of 512 x 512");
	insn.opcode = VTPU_OP_REDUCE;
	r->op = VTPU_REDUCE_SUM;
	tap_is(vtpu_cost_insn(&v3, &insn, 1).busy, 256 + 4 * 3 + 20, "sum over rows");
	r->axis = 1;
	tap_is(vtpu_cost_insn(&v3, &insn, 1).busy, 256 + 64 * 8 + 20, "sum over columns");
	insn.opcode = VTPU_OP_TRANSPOSE;
	insn.unit = VTPU_UNIT_XLU;
	tap_is(vtpu_cost_insn(&v3, &insn, 1).busy, 256 * 8, "transpose: 8 cycles a register");
}

/* ---- DMA ---------------------------------------------------------------------------------- */

static uint64_t dma(uint32_t rows, uint32_t cols, int32_t pitch, uint8_t type, bool from_hbm,
		    bool to_hbm)
{
	struct vtpu_insn insn = { .opcode = VTPU_OP_COPY, .unit = VTPU_UNIT_DMA };
	struct vtpu_insn_dma *x = &insn.payload.dma;

	x->src = VTPU_ADDR(from_hbm ? VTPU_SPACE_HBM : VTPU_SPACE_VMEM, 0, 0);
	x->dst = VTPU_ADDR(to_hbm ? VTPU_SPACE_HBM : VTPU_SPACE_VMEM, 0, 0);
	x->src_type = x->dst_type = type;
	x->ndim = 2;
	x->count[0] = cols;
	x->count[1] = rows;
	x->count[2] = x->count[3] = x->count[4] = 1;
	x->src_stride[0] = x->dst_stride[0] = (int32_t)ib_type_bytes(type);
	x->src_stride[1] = x->dst_stride[1] = pitch;
	return vtpu_cost_insn(&v3, &insn, 1).busy;
}

static void test_dma(void)
{
	tap_is(dma(1, 64, 64, VTPU_TYPE_U8, true, false), 1 + 1, "64 bytes");
	tap_is(dma(1, 4096, 0, VTPU_TYPE_U8, true, false), 9 + 1, "4 KiB");
	tap_is(dma(1024, 1024, 1024, VTPU_TYPE_U8, true, false), 2191 + 1,
	       "1 MiB of rows that touch is one run");
	tap_is(dma(1024, 512, 1024, VTPU_TYPE_U8, true, false), 1096 + 1024, "runs of 512 bytes");
	tap_is(dma(1024, 32, 1024, VTPU_TYPE_U8, true, false), 137 + 1024,
	       "runs of 32 bytes cost as 64");
	tap_is(dma(4, 64, 256, VTPU_TYPE_F32, true, false), 3 + 1, "element strides count, too");
	tap_is(dma(1, 65536, 0, VTPU_TYPE_F32, true, true), 2 * (548 + 1), "HBM to HBM pays twice");
	tap_is(dma(1, 65536, 0, VTPU_TYPE_F32, false, false), 64,
	       "inside VMEM: a register a cycle");
}

/* ---- Presets -------------------------------------------------------------------------------- */

static void test_presets(void)
{
	struct vtpu_hw_geometry custom = { 0 }, g;
	char err[160];

	/* 2 * clock * arrays * dim^2 = half of the 123 TFLOP/s of a chip of two cores */
	tap_is(2ull * v3.clock_khz * v3.mxu_per_core * v3.mxu_dim * v3.mxu_dim / 1000000000, 61,
	       "v3 peak, TFLOP/s");
	tap_is(((uint64_t)v3.hbm_q16 * v3.clock_khz + 32768000) / 65536000, 450000,
	       "v3 HBM, MB/s of a core");
	tap_is(v3.hbm_latency, 376, "v3 HBM latency");
	tap_is(v3.cores, 8, "cores as asked");
	tap_ok(vtpu_preset_geometry("v3", 1, NULL, &g, err, sizeof(err)) && g.cores == 1,
	       "v3 by name");
	tap_ok(!vtpu_preset_geometry("v9", 8, NULL, &g, err, sizeof(err)) && strstr(err, "v9") &&
		       strstr(err, "custom"),
	       "unknown preset: %s", err);
	tap_ok(!vtpu_preset_geometry("v3", 0, NULL, &g, err, sizeof(err)) && strstr(err, "cores=0"),
	       "no core: %s", err);
	tap_ok(!vtpu_preset_geometry("v3", 65, NULL, &g, err, sizeof(err)) && strstr(err, "64"),
	       "65 cores: %s", err);
	custom.mxu_dim = 256;
	tap_ok(!vtpu_preset_geometry("v3", 8, &custom, &g, err, sizeof(err)) &&
		       strstr(err, "mxu_dim"),
	       "a property without its preset: %s", err);
	tap_ok(vtpu_preset_geometry("custom", 8, &custom, &g, err, sizeof(err)) &&
		       g.mxu_dim == 256 && g.lanes == 128 && g.preset == VTPU_PRESET_CUSTOM,
	       "custom changes what it names");
	custom.vmem_bytes = 1 << 20 | 1;
	tap_ok(!vtpu_preset_geometry("custom", 8, &custom, &g, err, sizeof(err)) &&
		       strstr(err, "vmem_bytes=1048577"),
	       "vmem_bytes that is not whole pages: %s", err);
}

int main(void)
{
	char err[128];

	vtpu_preset_geometry(NULL, 8, NULL, &v3, err, sizeof(err));
	test_matmul();
	test_vector();
	test_dma();
	test_presets();
	return tap_done();
}
