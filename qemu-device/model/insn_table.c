// SPDX-License-Identifier: MIT
/*
 * insn_table.c - every opcode and field of vtpu_isa.h: names, limits, functions.
 */
#include "insn_check.h"
#include "unit.h"

/* clang-format off */

/* ---- Words ----------------------------------------------------------------- */

const char *const vtpu_insn_units[VTPU_UNITS] = {
	[VTPU_UNIT_CTL] = "ctl", [VTPU_UNIT_DMA] = "dma", [VTPU_UNIT_MXU] = "mxu",
	[VTPU_UNIT_VPU] = "vpu", [VTPU_UNIT_XLU] = "xlu", [VTPU_UNIT_ICI] = "ici",
};

const struct vtpu_insn_word vtpu_insn_types[] = {
	{ "u8", VTPU_TYPE_U8, 0 },
	{ "s8", VTPU_TYPE_S8, 0 },
	{ "s32", VTPU_TYPE_S32, 0 },
	{ "bf16", VTPU_TYPE_BF16, 0 },
	{ "f32", VTPU_TYPE_F32, 0 },
	{ "f8e4m3", VTPU_TYPE_F8E4M3, 0 },
	{ "f8e5m2", VTPU_TYPE_F8E5M2, 0 },
	{ 0 },
};

static const struct vtpu_insn_word dma_modes[] = {
	{ "add", VTPU_DMA_ADD, 0 },
	{ "clamp", VTPU_DMA_CLAMP, 0 },
	{ 0 },
};

static const struct vtpu_insn_word mxu_modes[] = {
	{ "trans_a", VTPU_MXU_TRANS_A, 0 },
	{ "trans_b", VTPU_MXU_TRANS_B, 0 },
	{ "accumulate", VTPU_MXU_ACCUMULATE, 0 },
	{ "split_m", VTPU_MXU_SPLIT_M, 0 },
	{ 0 },
};

/* At the place that its value has, counted from 1. */
#define WORD(name, value, args)	[(value) - 1] = { name, value, args }

const struct vtpu_insn_word vtpu_insn_epilogue_ops[] = {
	WORD("bias", VTPU_EPI_BIAS, "v"),
	WORD("scale", VTPU_EPI_SCALE, "v"),
	WORD("residual", VTPU_EPI_RESIDUAL, "v"),
	WORD("scale_imm", VTPU_EPI_SCALE_IMM, "f"),
	WORD("relu", VTPU_EPI_RELU, ""),
	WORD("leaky_relu", VTPU_EPI_LEAKY_RELU, "f"),
	WORD("clamp", VTPU_EPI_CLAMP, "ff"),
	WORD("sigmoid", VTPU_EPI_SIGMOID, ""),
	WORD("tanh", VTPU_EPI_TANH, ""),
	WORD("gelu", VTPU_EPI_GELU, ""),
	WORD("silu", VTPU_EPI_SILU, ""),
	WORD("store", VTPU_EPI_STORE, "v"),
	WORD("dropout", VTPU_EPI_DROPOUT, "fb"),
	WORD("maxpool", VTPU_EPI_MAXPOOL, "vb"),
	[VTPU_EPI_OPS - 1] = { 0 },
};

static const struct vtpu_insn_word broadcasts[] = {
	{ "full", VTPU_BCAST_FULL, 0 },
	{ "row", VTPU_BCAST_ROW, 0 },
	{ "col", VTPU_BCAST_COL, 0 },
	{ "scalar", VTPU_BCAST_SCALAR, 0 },
	{ 0 },
};

const struct vtpu_insn_word vtpu_insn_micro_ops[] = {
	WORD("mov", VTPU_EW_MOV, "1"),
	WORD("add", VTPU_EW_ADD, "2"),
	WORD("sub", VTPU_EW_SUB, "2"),
	WORD("mul", VTPU_EW_MUL, "2"),
	WORD("div", VTPU_EW_DIV, "2"),
	WORD("min", VTPU_EW_MIN, "2"),
	WORD("max", VTPU_EW_MAX, "2"),
	WORD("fma", VTPU_EW_FMA, "2"),
	WORD("cmp_eq", VTPU_EW_CMP_EQ, "2"),
	WORD("cmp_lt", VTPU_EW_CMP_LT, "2"),
	WORD("cmp_le", VTPU_EW_CMP_LE, "2"),
	WORD("select", VTPU_EW_SELECT, "2"),
	WORD("neg", VTPU_EW_NEG, "1"),
	WORD("abs", VTPU_EW_ABS, "1"),
	WORD("sqrt", VTPU_EW_SQRT, "1"),
	WORD("rsqrt", VTPU_EW_RSQRT, "1"),
	WORD("rcp", VTPU_EW_RCP, "1"),
	WORD("floor", VTPU_EW_FLOOR, "1"),
	WORD("exp", VTPU_EW_EXP, "1"),
	WORD("log", VTPU_EW_LOG, "1"),
	WORD("tanh", VTPU_EW_TANH, "1"),
	WORD("sigmoid", VTPU_EW_SIGMOID, "1"),
	WORD("relu", VTPU_EW_RELU, "1"),
	WORD("gelu", VTPU_EW_GELU, "1"),
	WORD("silu", VTPU_EW_SILU, "1"),
	WORD("erf", VTPU_EW_ERF, "1"),
	WORD("pow", VTPU_EW_POW, "2"),
	WORD("sin", VTPU_EW_SIN, "1"),
	WORD("cos", VTPU_EW_COS, "1"),
	WORD("sign", VTPU_EW_SIGN, "1"),
	WORD("rng", VTPU_EW_RNG, "2"),
	[VTPU_EW_OPS - 1] = { 0 },
};

static const struct vtpu_insn_word reduce_ops[] = {
	{ "sum", VTPU_REDUCE_SUM, 0 },
	{ "max", VTPU_REDUCE_MAX, 0 },
	{ "min", VTPU_REDUCE_MIN, 0 },
	{ "sumsq", VTPU_REDUCE_SUMSQ, 0 },
	{ 0 },
};

static const struct vtpu_insn_word reduce_axes[] = {
	{ "rows", 0, 0 },
	{ "cols", 1, 0 },
	{ 0 },
};

static const struct vtpu_insn_word pool_ops[] = {
	{ "max", VTPU_POOL_MAX, 0 },
	{ "average", VTPU_POOL_AVERAGE, 0 },
	{ 0 },
};

static const struct vtpu_insn_word pool_modes[] = {
	{ "index", VTPU_POOL_INDEX, 0 },
	{ 0 },
};

static const struct vtpu_insn_word xent_modes[] = {
	{ "loss", VTPU_XENT_LOSS, 0 },
	{ "grad", VTPU_XENT_GRAD, 0 },
	{ "weights", VTPU_XENT_WEIGHTS, 0 },
	{ 0 },
};

static const struct vtpu_insn_word opt_kinds[] = {
	{ "sgd", VTPU_OPT_SGD, 0 },
	{ "momentum", VTPU_OPT_MOMENTUM, 0 },
	{ "nesterov", VTPU_OPT_NESTEROV, 0 },
	{ "adam", VTPU_OPT_ADAM, 0 },
	{ 0 },
};

static const struct vtpu_insn_word rng_kinds[] = {
	{ "uniform", VTPU_RNG_UNIFORM, 0 },
	{ 0 },
};

/* ---- Fields ----------------------------------------------------------------- */

#define AT(path)	offsetof(struct vtpu_insn, payload.path)
#define SIZE(path)	sizeof(((struct vtpu_insn *)0)->payload.path)
#define ROW(text, k, path, n, step, ...) \
	{ .name = text, .kind = VTPU_FIELD_##k, .offset = AT(path), .bytes = SIZE(path), \
	  .count = n, .stride = step, __VA_ARGS__ }
/* A value, an array, and a member of an array of structs; each with its name in the text. */
#define ONE(text, k, path, ...)	ROW(text, k, path, 1, 0, __VA_ARGS__)
#define LIST(text, k, path, ...) \
	ROW(text, k, path[0], SIZE(path) / SIZE(path[0]), SIZE(path[0]), __VA_ARGS__)
#define PART(text, k, array, part, ...) \
	ROW(text, k, array[0].part, SIZE(array) / SIZE(array[0]), SIZE(array[0]), __VA_ARGS__)
/* An element type; f32 unless that is not allowed. */
#define TYPE(text, path, allowed, ...) \
	ONE(text, NAME, path, .words = vtpu_insn_types, .types = allowed, \
	    .fill = (allowed) && !((allowed) & VTPU_TYPE_BIT(F32)) ? VTPU_TYPE_S32 : VTPU_TYPE_F32, __VA_ARGS__)
#define END		{ 0 }

#define UNUSED		1u	/* elements of an array that its counter leaves out */

/* CTL */
static const struct vtpu_insn_field nop_fields[] = { END };
static const struct vtpu_insn_field halt_fields[] = {
	ONE("value", UINT, ctl.value, .what = "exit code"),
	END
};
static const struct vtpu_insn_field barrier_fields[] = {
	ONE("core_mask", HEX, ctl.core_mask, .min = 1, .max = UINT64_MAX,
	    .what = "cores of the gang that meet, bit 0 is core 0"),
	END
};
static const struct vtpu_insn_field mark_fields[] = {
	ONE("value", UINT, ctl.value, .what = "any"),
	END
};

/* DMA and ICI */
#define BOX(dims) \
	ONE("dst", ADDR, dma.dst, .what = "first destination element, padding included"), \
	TYPE("dst_type", dma.dst_type, VTPU_TYPES_COPY, .what = "element type there"), \
	ONE("ndim", COUNT, dma.ndim, .min = 1, .max = dims, .what = "dimensions"), \
	LIST("count", UINT, dma.count, .fill = 1, .counter = AT(dma.ndim), .min = 1, .max = VTPU_MAX_DIM, \
	     .what = "elements of each dimension, innermost first"), \
	LIST("dst_stride", INT, dma.dst_stride, .what = "bytes between destination elements of each dimension")
#define FROM \
	ONE("src", ADDR, dma.src, .what = "first source element"), \
	TYPE("src_type", dma.src_type, VTPU_TYPES_COPY, .what = "element type there"), \
	LIST("src_stride", INT, dma.src_stride, .what = "bytes between source elements of each dimension")
#define PADDED \
	LIST("pad_before", UINT, dma.pad_before, .what = "zero elements before, of dimensions 0..3"), \
	LIST("pad_after", UINT, dma.pad_after, .what = "zero elements after"), \
	ONE("mode", FLAGS, dma.mode, .max = VTPU_DMA_ADD | VTPU_DMA_CLAMP, .later = 1, .words = dma_modes, .what = "how")

static const struct vtpu_insn_field copy_fields[] = { FROM, BOX(5), PADDED, END };
static const struct vtpu_insn_field fill_fields[] = {
	BOX(5),
	ONE("imm", BITS, dma.imm, .what = "argument 0: value in dst_type's bits"),
	END
};
static const struct vtpu_insn_field gather_fields[] = {
	FROM, BOX(5), PADDED,
	ONE("imm", HEX, dma.imm, .what = "address of row indices"),
	END
};
static const struct vtpu_insn_field send_fields[] = {
	FROM, BOX(4),
	ONE("core", UINT, dma.core, .what = "receiving core, own id + this"),
	END
};

/* MXU */
#define PRODUCT \
	ONE("a", HEX, mxu.a, .what = "left operand"), \
	ONE("b", HEX, mxu.b, .what = "right operand"), \
	ONE("c", HEX, mxu.c, .what = "f32 start values, with mode=accumulate"), \
	ONE("d", HEX, mxu.d, .what = "result"), \
	TYPE("a_type", mxu.a_type, VTPU_TYPES_FLOAT, .what = "element type of a"), \
	TYPE("b_type", mxu.b_type, VTPU_TYPES_FLOAT, .what = "element type of b"), \
	TYPE("d_type", mxu.d_type, VTPU_TYPES_FLOAT, .what = "element type of d"), \
	ONE("passes", UINT, mxu.passes, .max = 6, .later = 1, .what = "0: what the types need"), \
	ONE("m", UINT, mxu.m, .min = 1, .max = VTPU_MAX_DIM, .what = "rows of d"), \
	ONE("n", UINT, mxu.n, .min = 1, .max = VTPU_MAX_DIM, .what = "columns of d"), \
	ONE("k", UINT, mxu.k, .min = 1, .max = VTPU_MAX_DIM, .what = "contracted elements of each batch element"), \
	ONE("g", UINT, mxu.g, .fill = 1, .min = 1, .max = UINT16_MAX, .what = "batch elements that are summed"), \
	ONE("mode", FLAGS, mxu.mode, .max = VTPU_MXU_MODE, .words = mxu_modes, .what = "how"), \
	ONE("lda", UINT, mxu.lda, .what = "bytes between rows of a"), \
	ONE("ldb", UINT, mxu.ldb, .what = "bytes between rows of b"), \
	ONE("ldc", UINT, mxu.ldc, .what = "bytes between rows of c"), \
	ONE("ldd", UINT, mxu.ldd, .what = "bytes between rows of d, of a residual and of a stored value")
#define BATCH \
	ONE("a_gstride", INT, mxu.a_gstride, .what = "bytes between batch elements of a"), \
	ONE("b_gstride", INT, mxu.b_gstride, .what = "bytes between batch elements of b")
#define WINDOW(payload) \
	ONE("in_h", UINT, payload.in_h, .min = 1, .max = UINT16_MAX, .what = "input rows"), \
	ONE("in_w", UINT, payload.in_w, .min = 1, .max = UINT16_MAX, .what = "input columns"), \
	ONE("ker_h", UINT, payload.ker_h, .min = 1, .max = UINT8_MAX, .what = "window rows"), \
	ONE("ker_w", UINT, payload.ker_w, .min = 1, .max = UINT8_MAX, .what = "window columns"), \
	ONE("stride_h", UINT, payload.stride_h, .fill = 1, .min = 1, .max = UINT8_MAX, .what = "window stride"), \
	ONE("stride_w", UINT, payload.stride_w, .fill = 1, .min = 1, .max = UINT8_MAX, .what = "window stride"), \
	ONE("pad_top", UINT, payload.pad_top, .what = "rows of padding above"), \
	ONE("pad_left", UINT, payload.pad_left, .what = "columns of padding to the left"), \
	ONE("pad_bottom", UINT, payload.pad_bottom, .what = "rows of padding below"), \
	ONE("pad_right", UINT, payload.pad_right, .what = "columns of padding to the right")
#define DILATION \
	ONE("dil_h", UINT, mxu.dil_h, .fill = 1, .min = 1, .max = UINT8_MAX, .what = "kernel dilation, 1 is none"), \
	ONE("dil_w", UINT, mxu.dil_w, .fill = 1, .min = 1, .max = UINT8_MAX, .what = "kernel dilation, 1 is none")
#define EPILOGUE \
	LIST("epi", EPILOGUE, mxu.epi_op, .max = VTPU_EPI_OPS - 1, .later = VTPU_EPI_STORE, .here = VTPU_EPI_MAXPOOL, \
	     .words = vtpu_insn_epilogue_ops, .what = "epilogue, in order, with arguments in parentheses"), \
	LIST("epi_arg", EPI_ARG, mxu.epi_arg, .what = "arguments 0..3")

static const struct vtpu_insn_field matmul_fields[] = { PRODUCT, BATCH, EPILOGUE, END };
static const struct vtpu_insn_field conv_fields[] = { PRODUCT, WINDOW(mxu), DILATION, EPILOGUE, END };

/* VPU and XLU */
static const struct vtpu_insn_field ew_fields[] = {
	ONE("nin", COUNT, ew.nin, .max = 4, .what = "inputs"),
	ONE("nout", COUNT, ew.nout, .min = 1, .max = 2, .what = "outputs"),
	ONE("nops", COUNT, ew.nops, .max = 8, .what = "micro-operations"),
	ONE("rows", UINT, ew.rows, .min = 1, .max = VTPU_MAX_DIM, .what = "rows"),
	ONE("cols", UINT, ew.cols, .min = 1, .max = VTPU_MAX_DIM, .what = "columns"),
	PART("in", HEX, ew.in, addr, .counter = AT(ew.nin), .what = "inputs, loaded to r0.."),
	PART("in_pitch", UINT, ew.in, pitch, .what = "bytes between their rows"),
	LIST("in_type", NAME, ew.in_type, .words = vtpu_insn_types, .types = VTPU_TYPES_EW | UNUSED,
	     .what = "their element types"),
	LIST("in_bcast", NAME, ew.in_bcast, .max = VTPU_BCAST_SCALAR, .words = broadcasts,
	     .what = "how they cover rows and columns"),
	PART("out", HEX, ew.out, addr, .counter = AT(ew.nout), .what = "outputs, stored from r0.."),
	PART("out_pitch", UINT, ew.out, pitch, .what = "bytes between their rows"),
	LIST("out_type", NAME, ew.out_type, .words = vtpu_insn_types, .types = VTPU_TYPES_FLOAT | UNUSED,
	     .what = "their element types"),
	PART("ops", MICRO_OPS, ew.op, op, .counter = AT(ew.nops), .max = VTPU_EW_OPS - 1, .later = VTPU_EW_ERF,
	     .words = vtpu_insn_micro_ops, .what = "micro-operations on r0..r3 and the arguments i0, i1"),
	PART("ops.args", ARGS, ew.op, args, .what = "their registers"),
	LIST("imm", FLOAT, ew.imm, .what = "arguments 0 and 1"),
	END
};

#define MATRIX(from, to) \
	ONE("in", HEX, rows.in, .what = "input"), \
	ONE("out", HEX, rows.out, .what = "result"), \
	ONE("rows", UINT, rows.rows, .min = 1, .max = VTPU_MAX_DIM, .what = "rows of the input"), \
	ONE("cols", UINT, rows.cols, .min = 1, .max = VTPU_MAX_DIM, .what = "columns of the input"), \
	ONE("in_pitch", UINT, rows.in_pitch, .what = "bytes between input rows"), \
	ONE("out_pitch", UINT, rows.out_pitch, .what = "bytes between output rows"), \
	TYPE("in_type", rows.in_type, from, .what = "element type there"), \
	TYPE("out_type", rows.out_type, to, .what = "element type there")

static const struct vtpu_insn_field reduce_fields[] = {
	MATRIX(VTPU_TYPES_FLOAT, VTPU_TYPES_FLOAT),
	ONE("kind", NAME, rows.op, .min = VTPU_REDUCE_SUM, .max = VTPU_REDUCE_SUMSQ, .words = reduce_ops, .what = "reduction"),
	ONE("axis", NAME, rows.axis, .max = 1, .words = reduce_axes,
	    .what = "what is reduced: rows (result [cols]) or cols (result [rows])"),
	END
};
static const struct vtpu_insn_field softmax_fields[] = {
	MATRIX(VTPU_TYPES_FLOAT, VTPU_TYPES_FLOAT),
	ONE("imm", FLOAT, rows.imm[0], .what = "argument 0: scale of the input"),
	END
};
static const struct vtpu_insn_field transpose_fields[] = { MATRIX(VTPU_TYPES_FLOAT, VTPU_TYPES_FLOAT), END };

static const struct vtpu_insn_field argmax_fields[] = { MATRIX(VTPU_TYPES_FLOAT, VTPU_TYPE_BIT(S32)), END };
static const struct vtpu_insn_field pool_fields[] = {
	ONE("in", HEX, pool.in, .what = "what is read, NHWC; pool_grad: the output's gradient"),
	ONE("out", HEX, pool.out, .what = "what is written, NHWC; pool_grad: the input's gradient"),
	ONE("index", HEX, pool.index, .what = "with mode=index: an index byte for each of pool's outputs"),
	ONE("images", UINT, pool.images, .min = 1, .max = VTPU_MAX_DIM, .what = "images"),
	ONE("channels", UINT, pool.channels, .min = 1, .max = VTPU_MAX_DIM, .what = "channels"),
	WINDOW(pool),
	TYPE("type", pool.type, VTPU_TYPES_FLOAT, .what = "element type of both"),
	ONE("kind", NAME, pool.op, .min = VTPU_POOL_MAX, .max = VTPU_POOL_AVERAGE, .words = pool_ops, .what = "of a window"),
	ONE("mode", FLAGS, pool.mode, .max = VTPU_POOL_MODE, .words = pool_modes, .what = "how"),
	END
};
static const struct vtpu_insn_field xent_fields[] = {
	ONE("in", HEX, xent.in, .what = "logits"),
	ONE("labels", HEX, xent.labels, .what = "class numbers, contiguous"),
	ONE("weights", HEX, xent.weights, .what = "with mode=weights: f32 factor of each row"),
	ONE("loss", HEX, xent.loss, .what = "with mode=loss: f32 pairs of loss and hit of each row"),
	ONE("grad", HEX, xent.grad, .what = "with mode=grad: the logits' gradient"),
	ONE("rows", UINT, xent.rows, .min = 1, .max = VTPU_MAX_DIM, .what = "rows"),
	ONE("cols", UINT, xent.cols, .min = 1, .max = VTPU_MAX_DIM, .what = "classes"),
	ONE("in_pitch", UINT, xent.in_pitch, .what = "bytes between rows of logits"),
	ONE("grad_pitch", UINT, xent.grad_pitch, .what = "bytes between rows of grad"),
	TYPE("in_type", xent.in_type, VTPU_TYPES_FLOAT, .what = "element type there"),
	ONE("grad_type", NAME, xent.grad_type, .words = vtpu_insn_types, .types = VTPU_TYPES_FLOAT | UNUSED,
	    .what = "element type there"),
	ONE("label_type", NAME, xent.label_type, .fill = VTPU_TYPE_S32, .words = vtpu_insn_types,
	    .types = VTPU_TYPE_BIT(U8) | VTPU_TYPE_BIT(S32), .what = "element type there"),
	ONE("mode", FLAGS, xent.mode, .min = VTPU_XENT_LOSS, .max = VTPU_XENT_MODE, .words = xent_modes,
	    .what = "what is made"),
	ONE("imm", FLOAT, xent.imm[0], .what = "argument 0: factor of the gradient"),
	END
};
static const struct vtpu_insn_field opt_fields[] = {
	ONE("param", HEX, opt.param, .what = "parameters, f32 as all here"),
	ONE("grad", HEX, opt.grad, .what = "their gradient"),
	ONE("m", HEX, opt.m, .what = "first moment, but for sgd"),
	ONE("v", HEX, opt.v, .what = "second moment, of adam"),
	ONE("count", UINT, opt.count, .min = 1, .max = VTPU_MAX_DIM, .what = "parameters"),
	ONE("kind", NAME, opt.kind, .min = VTPU_OPT_SGD, .max = VTPU_OPT_ADAM, .words = opt_kinds, .what = "method"),
	LIST("imm", FLOAT, opt.imm,
	     .what = "arguments 0..3: learning rate, factor of the gradient, bias corrections of m and v"),
	ONE("beta1", F32, opt.beta1, .what = "decay of the first moment"),
	ONE("beta2", F32, opt.beta2, .what = "decay of the second moment"),
	ONE("epsilon", F32, opt.epsilon, .what = "of adam"),
	ONE("decay", F32, opt.decay, .what = "weight decay"),
	END
};
static const struct vtpu_insn_field rng_fields[] = {
	ONE("out", HEX, rng.out, .what = "result"),
	ONE("rows", UINT, rng.rows, .min = 1, .max = VTPU_MAX_DIM, .what = "rows"),
	ONE("cols", UINT, rng.cols, .min = 1, .max = VTPU_MAX_DIM, .what = "columns"),
	ONE("out_pitch", UINT, rng.out_pitch, .what = "bytes between rows"),
	TYPE("out_type", rng.out_type, VTPU_TYPE_BIT(F32), .what = "element type there"),
	ONE("kind", NAME, rng.kind, .fill = VTPU_RNG_UNIFORM, .min = VTPU_RNG_UNIFORM, .max = VTPU_RNG_UNIFORM,
	    .words = rng_kinds, .what = "distribution"),
	LIST("imm", BITS, rng.imm, .what = "arguments 0..2: seed, stream and step"),
	ONE("index", UINT, rng.index, .what = "number of element (0,0) on core 0"),
	ONE("core_step", UINT, rng.core_step, .what = "numbers from one core to the next"),
	ONE("row_step", UINT, rng.row_step, .what = "numbers from one row to the next"),
	END
};

/* Not defined yet: all that the payload has. */
static const struct vtpu_insn_field rows_fields[] = {
	MATRIX(0, 0),
	ONE("aux", HEX, rows.aux, .what = "second operand or result"),
	ONE("aux2", HEX, rows.aux2, .what = "third"),
	ONE("kind", NAME, rows.op, .words = reduce_ops, .what = "reduction"),
	ONE("axis", NAME, rows.axis, .words = reduce_axes, .what = "direction"),
	ONE("k", UINT, rows.k, .what = "topk: results of each row; permute: log2 of the block"),
	LIST("imm", FLOAT, rows.imm, .what = "arguments 0 and 1. norm: epsilon"),
	END
};

/* ---- Opcodes ----------------------------------------------------------------- */

#define OP(text, op, on, f, ...) \
	[VTPU_OP_##op] = { .name = text, .opcode = VTPU_OP_##op, .unit = VTPU_UNIT_##on, .fields = f, __VA_ARGS__ }
/* Numbered, and known to assembler and disassembler, but refused by devices of this version */
#define LATER(text, op, on, f)	OP(text, op, on, f, .run = NULL)

const struct vtpu_insn_row vtpu_insn_table[VTPU_INSN_OPCODES] = {
	OP("nop", NOP, CTL, nop_fields, .run = vtpu_ctl_run),
	OP("halt", HALT, CTL, halt_fields, .run = vtpu_ctl_run),
	OP("barrier", BARRIER, CTL, barrier_fields, .shape = vtpu_shape_barrier, .run = vtpu_ctl_run),
	OP("mark", MARK, CTL, mark_fields, .run = vtpu_ctl_run),

	OP("copy", COPY, DMA, copy_fields, vtpu_shape_dma, vtpu_boxes_copy, vtpu_dma_parts, vtpu_dma_run),
	OP("fill", FILL, DMA, fill_fields, vtpu_shape_dma, vtpu_boxes_fill, vtpu_dma_parts, vtpu_dma_run),
	LATER("gather", GATHER, DMA, gather_fields),
	LATER("scatter_add", SCATTER_ADD, DMA, gather_fields),

	OP("matmul", MATMUL, MXU, matmul_fields, vtpu_shape_matmul, vtpu_boxes_matmul, vtpu_mxu_parts, vtpu_mxu_matmul),
	OP("conv", CONV, MXU, conv_fields, vtpu_shape_conv, vtpu_boxes_conv, vtpu_conv_parts, vtpu_conv_run),
	OP("conv_dgrad", CONV_DGRAD, MXU, conv_fields, vtpu_shape_conv, vtpu_boxes_conv, vtpu_conv_parts, vtpu_conv_run),
	OP("conv_wgrad", CONV_WGRAD, MXU, conv_fields, vtpu_shape_conv, vtpu_boxes_conv, vtpu_wgrad_parts, vtpu_wgrad_run),

	OP("ew", EW, VPU, ew_fields, vtpu_shape_ew, vtpu_boxes_ew, vtpu_ew_parts, vtpu_ew_run),
	OP("reduce", REDUCE, VPU, reduce_fields, vtpu_shape_rows, vtpu_boxes_rows, vtpu_rows_parts, vtpu_reduce_run),
	OP("softmax", SOFTMAX, VPU, softmax_fields, vtpu_shape_rows, vtpu_boxes_rows, vtpu_rows_parts, vtpu_softmax_run),
	OP("argmax", ARGMAX, VPU, argmax_fields, vtpu_shape_argmax, vtpu_boxes_argmax, vtpu_argmax_parts, vtpu_argmax_run),
	LATER("norm", NORM, VPU, rows_fields),
	LATER("norm_grad", NORM_GRAD, VPU, rows_fields),
	OP("softmax_xent", SOFTMAX_XENT, VPU, xent_fields, vtpu_shape_xent, vtpu_boxes_xent, vtpu_xent_parts, vtpu_xent_run),
	LATER("softmax_grad", SOFTMAX_GRAD, VPU, rows_fields),
	OP("pool", POOL, VPU, pool_fields, vtpu_shape_pool, vtpu_boxes_pool, vtpu_pool_parts, vtpu_pool_run),
	OP("pool_grad", POOL_GRAD, VPU, pool_fields, vtpu_shape_pool, vtpu_boxes_pool, vtpu_pool_parts, vtpu_pool_run),
	LATER("conv_dw", CONV_DW, VPU, conv_fields),
	LATER("conv_dw_dgrad", CONV_DW_DGRAD, VPU, conv_fields),
	LATER("conv_dw_wgrad", CONV_DW_WGRAD, VPU, conv_fields),
	OP("optimize", OPTIMIZE, VPU, opt_fields, vtpu_shape_opt, vtpu_boxes_opt, vtpu_opt_parts, vtpu_opt_run),
	OP("rng_fill", RNG_FILL, VPU, rng_fields, vtpu_shape_rng, vtpu_boxes_rng, vtpu_rng_parts, vtpu_rng_run),
	LATER("cumsum", CUMSUM, VPU, rows_fields),

	OP("transpose", TRANSPOSE, XLU, transpose_fields, vtpu_shape_rows, vtpu_boxes_rows, vtpu_rows_parts,
	   vtpu_xlu_transpose),
	LATER("permute", PERMUTE, XLU, rows_fields),
	LATER("sort", SORT, XLU, rows_fields),
	LATER("topk", TOPK, XLU, rows_fields),
	LATER("iota", IOTA, XLU, rows_fields),

	OP("send", SEND, ICI, send_fields, vtpu_shape_send, vtpu_boxes_copy, vtpu_dma_parts, vtpu_dma_run),
	LATER("bcast", BCAST, ICI, send_fields),
};
/* clang-format on */
