// SPDX-License-Identifier: MIT
/*
 * isa.c - the table of the instruction set: every opcode and field of
 * vtpu_isa.h by name. How they are read and written as text is elsewhere.
 */
#include <stdio.h>
#include <string.h>

#include "program/isa.h"

/* ---- Words ----------------------------------------------------------------- */

const struct insn_name insn_types[] = {
	{ "u8", VTPU_TYPE_U8, 0 },	   { "s8", VTPU_TYPE_S8, 0 },
	{ "s32", VTPU_TYPE_S32, 0 },	   { "bf16", VTPU_TYPE_BF16, 0 },
	{ "f32", VTPU_TYPE_F32, 0 },	   { "f8e4m3", VTPU_TYPE_F8E4M3, 0 },
	{ "f8e5m2", VTPU_TYPE_F8E5M2, 0 }, { 0 },
};

const struct insn_name insn_caps[] = {
	{ "f32", VTPU_CAP_F32, 0 },
	{ "bf16", VTPU_CAP_BF16, 0 },
	{ "int8", VTPU_CAP_INT8, 0 },
	{ "fp8", VTPU_CAP_FP8, 0 },
	{ "conv", VTPU_CAP_CONV, 0 },
	{ "ici", VTPU_CAP_ICI, 0 },
	{ "gather", VTPU_CAP_GATHER, 0 },
	{ "fast", VTPU_CAP_FAST, 0 },
	{ "pace_model", VTPU_CAP_PACE_MODEL, 0 },
	{ 0 },
};

static const struct insn_name dma_modes[] = {
	{ "add", VTPU_DMA_ADD, 0 },
	{ "clamp", VTPU_DMA_CLAMP, 0 },
	{ 0 },
};

static const struct insn_name mxu_modes[] = {
	{ "trans_a", VTPU_MXU_TRANS_A, 0 },
	{ "trans_b", VTPU_MXU_TRANS_B, 0 },
	{ "accumulate", VTPU_MXU_ACCUMULATE, 0 },
	{ "split_m", VTPU_MXU_SPLIT_M, 0 },
	{ 0 },
};

static const struct insn_name epilogue_ops[] = {
	{ "bias", VTPU_EPI_BIAS, "v" },		{ "scale", VTPU_EPI_SCALE, "v" },
	{ "residual", VTPU_EPI_RESIDUAL, "v" }, { "scale_imm", VTPU_EPI_SCALE_IMM, "f" },
	{ "relu", VTPU_EPI_RELU, "" },		{ "leaky_relu", VTPU_EPI_LEAKY_RELU, "f" },
	{ "clamp", VTPU_EPI_CLAMP, "ff" },	{ "sigmoid", VTPU_EPI_SIGMOID, "" },
	{ "tanh", VTPU_EPI_TANH, "" },		{ "gelu", VTPU_EPI_GELU, "" },
	{ "silu", VTPU_EPI_SILU, "" },		{ "store", VTPU_EPI_STORE, "v" },
	{ "dropout", VTPU_EPI_DROPOUT, "fb" },	{ 0 },
};

static const struct insn_name broadcasts[] = {
	{ "full", VTPU_BCAST_FULL, 0 },
	{ "row", VTPU_BCAST_ROW, 0 },
	{ "col", VTPU_BCAST_COL, 0 },
	{ "scalar", VTPU_BCAST_SCALAR, 0 },
	{ 0 },
};

static const struct insn_name micro_ops[] = {
	{ "mov", VTPU_EW_MOV, "1" },	   { "add", VTPU_EW_ADD, "2" },
	{ "sub", VTPU_EW_SUB, "2" },	   { "mul", VTPU_EW_MUL, "2" },
	{ "div", VTPU_EW_DIV, "2" },	   { "min", VTPU_EW_MIN, "2" },
	{ "max", VTPU_EW_MAX, "2" },	   { "fma", VTPU_EW_FMA, "2" },
	{ "cmp_eq", VTPU_EW_CMP_EQ, "2" }, { "cmp_lt", VTPU_EW_CMP_LT, "2" },
	{ "cmp_le", VTPU_EW_CMP_LE, "2" }, { "select", VTPU_EW_SELECT, "2" },
	{ "neg", VTPU_EW_NEG, "1" },	   { "abs", VTPU_EW_ABS, "1" },
	{ "sqrt", VTPU_EW_SQRT, "1" },	   { "rsqrt", VTPU_EW_RSQRT, "1" },
	{ "rcp", VTPU_EW_RCP, "1" },	   { "floor", VTPU_EW_FLOOR, "1" },
	{ "exp", VTPU_EW_EXP, "1" },	   { "log", VTPU_EW_LOG, "1" },
	{ "tanh", VTPU_EW_TANH, "1" },	   { "sigmoid", VTPU_EW_SIGMOID, "1" },
	{ "relu", VTPU_EW_RELU, "1" },	   { "gelu", VTPU_EW_GELU, "1" },
	{ "silu", VTPU_EW_SILU, "1" },	   { "erf", VTPU_EW_ERF, "1" },
	{ "pow", VTPU_EW_POW, "2" },	   { "sin", VTPU_EW_SIN, "1" },
	{ "cos", VTPU_EW_COS, "1" },	   { "sign", VTPU_EW_SIGN, "1" },
	{ "rng", VTPU_EW_RNG, "2" },	   { 0 },
};

static const struct insn_name reduce_ops[] = {
	{ "sum", VTPU_REDUCE_SUM, 0 },
	{ "max", VTPU_REDUCE_MAX, 0 },
	{ "min", VTPU_REDUCE_MIN, 0 },
	{ "sumsq", VTPU_REDUCE_SUMSQ, 0 },
	{ 0 },
};

static const struct insn_name reduce_axes[] = {
	{ "rows", 0, 0 },
	{ "cols", 1, 0 },
	{ 0 },
};

static const struct insn_name pool_ops[] = {
	{ "max", 1, 0 },
	{ "average", 2, 0 },
	{ 0 },
};

static const char *const unit_names[VTPU_UNITS] = {
	[VTPU_UNIT_CTL] = "ctl", [VTPU_UNIT_DMA] = "dma", [VTPU_UNIT_MXU] = "mxu",
	[VTPU_UNIT_VPU] = "vpu", [VTPU_UNIT_XLU] = "xlu", [VTPU_UNIT_ICI] = "ici",
};

/* ---- Fields ----------------------------------------------------------------- */

/* clang-format off */
#define AT(path)	offsetof(struct vtpu_insn, path)
#define SIZE(path)	sizeof(((struct vtpu_insn *)0)->path)
/* One value, an array, an array inside an array of structs; the rest of a row is given by name. */
#define ONE(name, k, path, ...) \
	{ #name, AT(payload.path.name), SIZE(payload.path.name), 1, 0, INSN_##k, __VA_ARGS__ }
#define LIST(name, k, path, ...) \
	{ #name, AT(payload.path.name), SIZE(payload.path.name[0]), \
	  SIZE(payload.path.name) / SIZE(payload.path.name[0]), SIZE(payload.path.name[0]), INSN_##k, __VA_ARGS__ }
/* A field whose name in the text differs from the struct's */
#define NAMED(text, k, path, name, ...) \
	{ text, AT(payload.path.name), SIZE(payload.path.name), 1, 0, INSN_##k, __VA_ARGS__ }
#define NAMED_LIST(text, k, path, name, ...) \
	{ text, AT(payload.path.name), SIZE(payload.path.name[0]), \
	  SIZE(payload.path.name) / SIZE(payload.path.name[0]), SIZE(payload.path.name[0]), INSN_##k, __VA_ARGS__ }
#define PART(text, k, path, array, part, ...) \
	{ text, AT(payload.path.array[0].part), SIZE(payload.path.array[0].part), \
	  SIZE(payload.path.array) / SIZE(payload.path.array[0]), SIZE(payload.path.array[0]), INSN_##k, __VA_ARGS__ }

static const struct insn_field ctl_fields[] = {
	ONE(core_mask, HEX, ctl, .min = 1, .what = "cores of the gang that meet, bit 0 is core 0"),
	ONE(value, UINT, ctl, .what = "halt: exit code, mark: any"),
	{0},
};

static const struct insn_field dma_fields[] = {
	ONE(src, ADDR, dma, .what = "first source element"),
	ONE(dst, ADDR, dma, .what = "first destination element, padding included"),
	ONE(src_type, NAME, dma, .fill = VTPU_TYPE_F32, .names = insn_types, .what = "element type there"),
	ONE(dst_type, NAME, dma, .fill = VTPU_TYPE_F32, .names = insn_types, .what = "element type there"),
	ONE(ndim, COUNT, dma, .min = 1, .max = 5, .what = "dimensions"),
	ONE(mode, FLAGS, dma, .names = dma_modes, .what = "how"),
	LIST(count, UINT, dma, .fill = 1, .counter = AT(payload.dma.ndim), .min = 1, .what = "elements of each dimension, innermost first"),
	LIST(src_stride, INT, dma, .what = "bytes between source elements of each dimension"),
	LIST(dst_stride, INT, dma, .what = "bytes between destination elements of each dimension"),
	LIST(pad_before, UINT, dma, .what = "zero elements before, of dimensions 0..3"),
	LIST(pad_after, UINT, dma, .what = "zero elements after"),
	ONE(imm, BITS, dma, .what = "argument 0. fill: value in dst_type's bits; gather: address of row indices"),
	ONE(core, UINT, dma, .what = "receiving core, own id + this"),
	{0},
};

static const struct insn_field mxu_fields[] = {
	ONE(a, HEX, mxu, .what = "left operand"),
	ONE(b, HEX, mxu, .what = "right operand"),
	ONE(c, HEX, mxu, .what = "f32 start values, with mode=accumulate"),
	ONE(d, HEX, mxu, .what = "result"),
	ONE(a_type, NAME, mxu, .fill = VTPU_TYPE_F32, .names = insn_types, .what = "element type of a"),
	ONE(b_type, NAME, mxu, .fill = VTPU_TYPE_F32, .names = insn_types, .what = "element type of b"),
	ONE(d_type, NAME, mxu, .fill = VTPU_TYPE_F32, .names = insn_types, .what = "element type of d"),
	ONE(passes, UINT, mxu, .what = "0: what the types need"),
	ONE(m, UINT, mxu, .min = 1, .what = "rows of d"),
	ONE(n, UINT, mxu, .min = 1, .what = "columns of d"),
	ONE(k, UINT, mxu, .min = 1, .what = "contracted elements of each batch element"),
	ONE(g, UINT, mxu, .fill = 1, .min = 1, .what = "batch elements that are summed"),
	ONE(mode, FLAGS, mxu, .max = VTPU_MXU_MODE, .names = mxu_modes, .what = "how"),
	ONE(lda, UINT, mxu, .what = "bytes between rows of a"),
	ONE(ldb, UINT, mxu, .what = "bytes between rows of b"),
	ONE(ldc, UINT, mxu, .what = "bytes between rows of c"),
	ONE(ldd, UINT, mxu, .what = "bytes between rows of d, of a residual and of a stored value"),
	ONE(a_gstride, INT, mxu, .what = "bytes between batch elements of a"),
	ONE(b_gstride, INT, mxu, .what = "bytes between batch elements of b"),
	ONE(in_h, UINT, mxu, .what = "input rows"),
	ONE(in_w, UINT, mxu, .what = "input columns"),
	ONE(ker_h, UINT, mxu, .what = "kernel rows"),
	ONE(ker_w, UINT, mxu, .what = "kernel columns"),
	ONE(stride_h, UINT, mxu, .what = "window stride"),
	ONE(stride_w, UINT, mxu, .what = "window stride"),
	ONE(pad_top, UINT, mxu, .what = "zero rows above"),
	ONE(pad_left, UINT, mxu, .what = "zero columns to the left"),
	ONE(pad_bottom, UINT, mxu, .what = "zero rows below"),
	ONE(pad_right, UINT, mxu, .what = "zero columns to the right"),
	ONE(dil_h, UINT, mxu, .what = "kernel dilation"),
	ONE(dil_w, UINT, mxu, .what = "kernel dilation"),
	ONE(lhs_dil_h, UINT, mxu, .what = "input dilation"),
	ONE(lhs_dil_w, UINT, mxu, .what = "input dilation"),
	NAMED_LIST("epi", EPILOGUE, mxu, epi_op, .names = epilogue_ops, .what = "epilogue, in order, with arguments in parentheses"),
	LIST(epi_arg, EPI_ARG, mxu, .what = "arguments 0..3"),
	{0},
};

static const struct insn_field ew_fields[] = {
	ONE(nin, COUNT, ew, .max = 4, .what = "inputs"),
	ONE(nout, COUNT, ew, .min = 1, .max = 2, .what = "outputs"),
	ONE(nops, COUNT, ew, .max = 8, .what = "micro-operations"),
	ONE(rows, UINT, ew, .min = 1, .what = "rows"),
	ONE(cols, UINT, ew, .min = 1, .what = "columns"),
	PART("in", HEX, ew, in, addr, .counter = AT(payload.ew.nin), .what = "inputs, loaded to r0.."),
	PART("in_pitch", UINT, ew, in, pitch, .what = "bytes between their rows"),
	LIST(in_type, NAME, ew, .names = insn_types, .what = "their element types"),
	LIST(in_bcast, NAME, ew, .names = broadcasts, .what = "how they cover rows and columns"),
	PART("out", HEX, ew, out, addr, .counter = AT(payload.ew.nout), .what = "outputs, stored from r0.."),
	PART("out_pitch", UINT, ew, out, pitch, .what = "bytes between their rows"),
	LIST(out_type, NAME, ew, .names = insn_types, .what = "their element types"),
	PART("ops", MICRO_OPS, ew, op, op, .counter = AT(payload.ew.nops), .names = micro_ops, .what = "micro-operations on r0..r3 and the arguments i0, i1"),
	LIST(imm, FLOAT, ew, .what = "arguments 0 and 1"),
	{0},
};

static const struct insn_field rows_fields[] = {
	ONE(in, HEX, rows, .what = "input"),
	ONE(out, HEX, rows, .what = "result"),
	ONE(aux, HEX, rows, .what = "second operand or result"),
	ONE(aux2, HEX, rows, .what = "third"),
	ONE(rows, UINT, rows, .min = 1, .what = "rows of the input"),
	ONE(cols, UINT, rows, .min = 1, .what = "columns of the input"),
	ONE(in_pitch, UINT, rows, .what = "bytes between input rows"),
	ONE(out_pitch, UINT, rows, .what = "bytes between output rows"),
	ONE(in_type, NAME, rows, .fill = VTPU_TYPE_F32, .names = insn_types, .what = "element type there"),
	ONE(out_type, NAME, rows, .fill = VTPU_TYPE_F32, .names = insn_types, .what = "element type there"),
	NAMED("kind", NAME, rows, op, .names = reduce_ops, .what = "reduction"),
	ONE(axis, NAME, rows, .names = reduce_axes, .what = "what is reduced: rows (result [cols]) or cols (result [rows])"),
	ONE(k, UINT, rows, .what = "topk: results of each row; permute: log2 of the block"),
	LIST(imm, FLOAT, rows, .what = "arguments 0 and 1. softmax: scale of the input; norm: epsilon"),
	{0},
};

static const struct insn_field pool_fields[] = {
	ONE(in, HEX, pool, .what = "input, NHWC"),
	ONE(out, HEX, pool, .what = "result, NHWC"),
	ONE(index, HEX, pool, .what = "one index byte for each output"),
	ONE(images, UINT, pool, .min = 1, .what = "images"),
	ONE(channels, UINT, pool, .min = 1, .what = "channels"),
	ONE(in_h, UINT, pool, .what = "input rows"),
	ONE(in_w, UINT, pool, .what = "input columns"),
	ONE(ker_h, UINT, pool, .what = "window rows"),
	ONE(ker_w, UINT, pool, .what = "window columns"),
	ONE(stride_h, UINT, pool, .what = "window stride"),
	ONE(stride_w, UINT, pool, .what = "window stride"),
	ONE(pad_top, UINT, pool, .what = "padding"),
	ONE(pad_left, UINT, pool, .what = "padding"),
	ONE(pad_bottom, UINT, pool, .what = "padding"),
	ONE(pad_right, UINT, pool, .what = "padding"),
	ONE(type, NAME, pool, .fill = VTPU_TYPE_F32, .names = insn_types, .what = "element type"),
	NAMED("kind", NAME, pool, op, .names = pool_ops, .what = "kind"),
	{0},
};

#define ANY(text, path, n, step) \
	{ .name = text, .offset = AT(path), .bytes = SIZE(path), .count = n, .stride = step }

/* What every instruction has: offset to name, for reports. The text form writes these in its own way. */
static const struct insn_field common_fields[] = {
	ANY("opcode", opcode, 1, 0),
	ANY("unit", unit, 1, 0),
	ANY("flags", flags, 1, 0),
	ANY("op", op_id, 1, 0),
	ANY("wait.sem", wait[0].sem, 2, sizeof(struct vtpu_wait)),
	ANY("wait.cmp", wait[0].cmp, 2, sizeof(struct vtpu_wait)),
	ANY("wait.pad", wait[0].pad, 2, sizeof(struct vtpu_wait)),
	ANY("wait.value", wait[0].value, 2, sizeof(struct vtpu_wait)),
	ANY("signal.sem", signal[0].sem, 2, sizeof(struct vtpu_signal)),
	ANY("signal.core", signal[0].core, 2, sizeof(struct vtpu_signal)),
	ANY("signal.inc", signal[0].inc, 2, sizeof(struct vtpu_signal)),
	{0},
};

/* ---- Opcodes ----------------------------------------------------------------- */

#define BOX		"dst dst_type ndim count dst_stride"
#define COPY		BOX " src src_type src_stride pad_before pad_after"
#define PRODUCT		"a b c d a_type b_type d_type passes m n k g mode lda ldb ldc ldd a_gstride b_gstride " \
			"epi epi_arg"
#define MATRIX		"in out rows cols in_pitch out_pitch in_type out_type"

const struct insn_op insn_ops[] = {
	{ "nop",	VTPU_OP_NOP,		VTPU_UNIT_CTL, true,  ctl_fields, "" },
	{ "halt",	VTPU_OP_HALT,		VTPU_UNIT_CTL, true,  ctl_fields, "value" },
	{ "barrier",	VTPU_OP_BARRIER,	VTPU_UNIT_CTL, true,  ctl_fields, "core_mask" },
	{ "mark",	VTPU_OP_MARK,		VTPU_UNIT_CTL, true,  ctl_fields, "value" },
	{ "copy",	VTPU_OP_COPY,		VTPU_UNIT_DMA, true,  dma_fields, COPY " mode" },
	{ "fill",	VTPU_OP_FILL,		VTPU_UNIT_DMA, true,  dma_fields, BOX " imm" },
	{ "gather",	VTPU_OP_GATHER,		VTPU_UNIT_DMA, false, dma_fields, COPY " mode imm" },
	{ "scatter_add", VTPU_OP_SCATTER_ADD,	VTPU_UNIT_DMA, false, dma_fields, COPY " mode imm" },
	{ "matmul",	VTPU_OP_MATMUL,		VTPU_UNIT_MXU, true,  mxu_fields, PRODUCT },
	{ "conv",	VTPU_OP_CONV,		VTPU_UNIT_MXU, false, mxu_fields, NULL },
	{ "conv_dgrad",	VTPU_OP_CONV_DGRAD,	VTPU_UNIT_MXU, false, mxu_fields, NULL },
	{ "conv_wgrad",	VTPU_OP_CONV_WGRAD,	VTPU_UNIT_MXU, false, mxu_fields, NULL },
	{ "ew",		VTPU_OP_EW,		VTPU_UNIT_VPU, true,  ew_fields, NULL },
	{ "reduce",	VTPU_OP_REDUCE,		VTPU_UNIT_VPU, true,  rows_fields, MATRIX " kind axis" },
	{ "softmax",	VTPU_OP_SOFTMAX,	VTPU_UNIT_VPU, true,  rows_fields, MATRIX " imm" },
	{ "argmax",	VTPU_OP_ARGMAX,		VTPU_UNIT_VPU, false, rows_fields, NULL },
	{ "norm",	VTPU_OP_NORM,		VTPU_UNIT_VPU, false, rows_fields, NULL },
	{ "norm_grad",	VTPU_OP_NORM_GRAD,	VTPU_UNIT_VPU, false, rows_fields, NULL },
	{ "softmax_xent", VTPU_OP_SOFTMAX_XENT,	VTPU_UNIT_VPU, false, rows_fields, NULL },
	{ "softmax_grad", VTPU_OP_SOFTMAX_GRAD,	VTPU_UNIT_VPU, false, rows_fields, NULL },
	{ "pool",	VTPU_OP_POOL,		VTPU_UNIT_VPU, false, pool_fields, NULL },
	{ "pool_grad",	VTPU_OP_POOL_GRAD,	VTPU_UNIT_VPU, false, pool_fields, NULL },
	{ "conv_dw",	VTPU_OP_CONV_DW,	VTPU_UNIT_VPU, false, mxu_fields, NULL },
	{ "conv_dw_dgrad", VTPU_OP_CONV_DW_DGRAD, VTPU_UNIT_VPU, false, mxu_fields, NULL },
	{ "conv_dw_wgrad", VTPU_OP_CONV_DW_WGRAD, VTPU_UNIT_VPU, false, mxu_fields, NULL },
	{ "optimize",	VTPU_OP_OPTIMIZE,	VTPU_UNIT_VPU, false, ew_fields, NULL },
	{ "rng_fill",	VTPU_OP_RNG_FILL,	VTPU_UNIT_VPU, false, ew_fields, NULL },
	{ "cumsum",	VTPU_OP_CUMSUM,		VTPU_UNIT_VPU, false, rows_fields, NULL },
	{ "transpose",	VTPU_OP_TRANSPOSE,	VTPU_UNIT_XLU, true,  rows_fields, MATRIX },
	{ "permute",	VTPU_OP_PERMUTE,	VTPU_UNIT_XLU, false, rows_fields, NULL },
	{ "sort",	VTPU_OP_SORT,		VTPU_UNIT_XLU, false, rows_fields, NULL },
	{ "topk",	VTPU_OP_TOPK,		VTPU_UNIT_XLU, false, rows_fields, NULL },
	{ "iota",	VTPU_OP_IOTA,		VTPU_UNIT_XLU, false, rows_fields, NULL },
	{ "send",	VTPU_OP_SEND,		VTPU_UNIT_ICI, false, dma_fields, COPY " mode core" },
	{ "bcast",	VTPU_OP_BCAST,		VTPU_UNIT_ICI, false, dma_fields, COPY " mode core" },
	{0},
};
/* clang-format on */

/* ---- Look-up ----------------------------------------------------------------- */

static bool same(const char *name, const char *text, size_t len)
{
	return strlen(name) == len && !memcmp(name, text, len);
}

const struct insn_op *insn_op(uint8_t opcode)
{
	for (const struct insn_op *op = insn_ops; op->name; op++)
		if (op->opcode == opcode)
			return op;
	return NULL;
}

const struct insn_op *insn_op_named(const char *name, size_t len)
{
	for (const struct insn_op *op = insn_ops; op->name; op++)
		if (same(op->name, name, len))
			return op;
	return NULL;
}

bool insn_uses(const struct insn_op *op, const struct insn_field *field)
{
	const char *word = op->uses;

	if (!word)
		return true;
	while (*word) {
		size_t len = strcspn(word, " ");

		if (same(field->name, word, len))
			return true;
		word += len;
		word += strspn(word, " ");
	}
	return false;
}

uint64_t insn_get(const struct vtpu_insn *insn, const struct insn_field *field, unsigned int i)
{
	uint64_t value = 0;

	memcpy(&value, (const char *)insn + field->offset + i * field->stride, field->bytes);
	return value;
}

void insn_set(struct vtpu_insn *insn, const struct insn_field *field, unsigned int i,
	      uint64_t value)
{
	memcpy((char *)insn + field->offset + i * field->stride, &value, field->bytes);
}

const char *insn_unit_name(unsigned int unit)
{
	return unit < VTPU_UNITS ? unit_names[unit] : NULL;
}

const char *insn_name_of(const struct insn_name *names, uint32_t value)
{
	for (; names->name; names++)
		if (names->value == value)
			return names->name;
	return NULL;
}

const struct insn_name *insn_named(const struct insn_name *names, const char *name, size_t len)
{
	for (; names->name; names++)
		if (same(names->name, name, len))
			return names;
	return NULL;
}

static const struct insn_field *find(const struct insn_field *field, unsigned int offset,
				     unsigned int *index)
{
	for (; field->name; field++) {
		for (unsigned int i = 0; i < field->count; i++) {
			unsigned int start = field->offset + i * field->stride;

			if (offset < start || offset >= start + field->bytes)
				continue;
			*index = i;
			return field;
		}
	}
	return NULL;
}

const struct insn_field *insn_field_at(const struct insn_op *op, unsigned int offset, char *text,
				       size_t bytes, unsigned int *index)
{
	const struct insn_field *common, *field = NULL;

	*index = 0;
	common = find(common_fields, offset, index);
	if (!common && op)
		field = find(op->fields, offset, index);
	if (!common && !field)
		snprintf(text, bytes, "byte %u", offset);
	else if ((common ? common : field)->count > 1)
		snprintf(text, bytes, "%s[%u]", (common ? common : field)->name, *index);
	else
		snprintf(text, bytes, "%s", (common ? common : field)->name);
	return field;
}
