/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * vtpu_insn.h - the 128-byte instruction: payloads, opcodes, modes.
 *
 * Included by vtpu_isa.h, which has units, types and addresses. What an
 * instruction computes is told in docs/instructions.md, what it costs in
 * qemu-device/model/cost.h.
 */
#ifndef _UAPI_VTPU_INSN_H_
#define _UAPI_VTPU_INSN_H_

#include <linux/types.h>

/* ---- The instruction ---------------------------------------------------- */

/** struct vtpu_wait - start only when a semaphore of the own core is high enough */
struct vtpu_wait {
	/** @sem: semaphore */
	__u8 sem;
	/** @cmp: zero: always >= */
	__u8 cmp;
	/** @pad: first wait: SMEM word of the predicate (with VTPU_INSN_PRED); second wait: zero */
	__u16 pad;
	/** @value: start when the semaphore is at least this, 1..2^31-1 */
	__u32 value;
};

/** struct vtpu_signal - at completion, add to a semaphore */
struct vtpu_signal {
	/** @sem: semaphore */
	__u8 sem;
	/** @core: whose: own core id + this, modulo the width */
	__u8 core;
	/** @inc: 1..65535 */
	__u16 inc;
};

/**
 * struct vtpu_insn_dma - COPY, FILL, GATHER, SCATTER_ADD and ICI payload
 *
 * Moves a box of up to five dimensions, innermost first. Dimensions beyond
 * @ndim have count 1 and strides 0. COPY pads with zeros: dimension d of the
 * destination has @pad_before[d] + @count[d] + @pad_after[d] elements, and
 * @dst_stride applies to all of them.
 *
 * SEND moves a box of up to four dimensions from own VMEM to that of another core of
 * the gang (or of the own one). Dimension 4 displaces it: @src by the receiver's core id times
 * @src_stride[4], @dst by the sender's times @dst_stride[4].
 */
struct vtpu_insn_dma {
	/** @src: address of the first source element; FILL: zero */
	__u64 src;
	/** @dst: address of the first destination element, padding included */
	__u64 dst;
	/**
	 * @src_type: enum vtpu_type. Casts: u8 to f32 or bf16, f32 to bf16, bf16 to f32; FILL: zero
	 */
	__u8 src_type;
	/** @dst_type: enum vtpu_type */
	__u8 dst_type;
	/** @ndim: 1..5 */
	__u8 ndim;
	/** @mode: VTPU_DMA_* */
	__u8 mode;
	/** @count: source elements of each dimension, at least 1 */
	__u32 count[5];
	/** @src_stride: bytes from one source element to the next in each dimension */
	__s32 src_stride[5];
	/** @dst_stride: bytes from one destination element to the next in each dimension */
	__s32 dst_stride[5];
	/** @pad_before: zero elements before, of dimensions 0..3 */
	__u8 pad_before[4];
	/** @pad_after: zero elements after, of dimensions 0..3 */
	__u8 pad_after[4];
	/**
	 * @imm: argument 0. FILL: value, in @dst_type's bits. GATHER, SCATTER_ADD: VMEM address of
	 * s32 row indices
	 */
	__u32 imm;
	/** @core: ICI: receiving core, own id + this, modulo the width; else zero */
	__u16 core;
	/** @pad: zero */
	__u16 pad;
};

#define VTPU_DMA_ADD   (1u << 0) /* f32 only: add to the destination; not built yet */
#define VTPU_DMA_CLAMP (1u << 1) /* GATHER: clamp indices instead of failing; not built yet */

/**
 * struct vtpu_insn_mxu - MATMUL, CONV, CONV_DGRAD and CONV_WGRAD payload
 *
 * MATMUL: d[M,N] = epilogue(c[M,N] + sum over g of A_g[M,K] * B_g[K,N]), each
 * output one chain of fused multiply-adds, g and k ascending. Pitches are in
 * bytes, multiples of the element size. With VTPU_MXU_TRANS_A element (i,k) of A
 * is at k * lda + i elements, else at i * lda + k; B (k,j) likewise at
 * k * ldb + j, transposed j * ldb + k.
 *
 * Convolutions. @m images, @g groups of @k input and @n output channels. Input
 * [m, in_h, in_w, g * k] and output [m, out_h, out_w, g * n] are dense but for
 * the pitch from one pixel to the next; weights are [ker_h, ker_w, k, g * n],
 * dense but for the pitch from one (row, column, channel) to the next. All
 * three directions carry the geometry of the forward one. a, b, d are: input, weights,
 * output; DGRAD: output's gradient, weights, input's gradient; WGRAD: input, output's
 * gradient, weights' gradient; with pitches lda, ldb, ldd.
 */
struct vtpu_insn_mxu {
	/** @a: VMEM address of A */
	__u32 a;
	/** @b: VMEM address of B */
	__u32 b;
	/** @c: VMEM address of the f32 start values, with VTPU_MXU_ACCUMULATE; else zero */
	__u32 c;
	/** @d: VMEM address of the result; may equal @c */
	__u32 d;
	/** @a_type: f32 or bf16 */
	__u8 a_type;
	/** @b_type: f32 or bf16 */
	__u8 b_type;
	/** @d_type: f32 or bf16 */
	__u8 d_type;
	/** @passes: 0: what the types need; 1, 3 or 6 to reduce f32 products, not built yet */
	__u8 passes;
	/** @m: rows of the result; convolutions: images */
	__u32 m;
	/** @n: columns of the result; convolutions: output channels of each group */
	__u32 n;
	/** @k: contracted elements of each batch element; convolutions: input channels of each group */
	__u32 k;
	/** @g: batch-reduce count, at least 1; convolutions: groups */
	__u16 g;
	/** @mode: VTPU_MXU_* */
	__u16 mode;
	/** @lda: pitch of A */
	__u32 lda;
	/** @ldb: pitch of B */
	__u32 ldb;
	/** @ldc: pitch of the start values; zero without VTPU_MXU_ACCUMULATE */
	__u32 ldc;
	/** @ldd: pitch of the result, and of a residual and pre-activation operand */
	__u32 ldd;
	/** @a_gstride: bytes from A_g to A_g+1; convolutions: zero */
	__s32 a_gstride;
	/** @b_gstride: bytes from B_g to B_g+1; convolutions: zero */
	__s32 b_gstride;
	/** @in_h: input rows; this and all up to @lhs_dil_w are zero for MATMUL */
	__u16 in_h;
	/** @in_w: input columns */
	__u16 in_w;
	/** @ker_h: kernel rows */
	__u8 ker_h;
	/** @ker_w: kernel columns */
	__u8 ker_w;
	/** @stride_h: window stride */
	__u8 stride_h;
	/** @stride_w: window stride */
	__u8 stride_w;
	/** @pad_top: zero rows above */
	__u8 pad_top;
	/** @pad_left: zero columns to the left */
	__u8 pad_left;
	/** @pad_bottom: zero rows below */
	__u8 pad_bottom;
	/** @pad_right: zero columns to the right */
	__u8 pad_right;
	/** @dil_h: kernel dilation, 1 is none */
	__u8 dil_h;
	/** @dil_w: kernel dilation, 1 is none */
	__u8 dil_w;
	/** @lhs_dil_h: zero; DGRAD dilates the output's gradient by the stride */
	__u8 lhs_dil_h;
	/** @lhs_dil_w: zero */
	__u8 lhs_dil_w;
	/** @epi_op: enum vtpu_epi_op, done in order; the first NONE ends the list */
	__u8 epi_op[4];
	/** @epi_arg: arguments 0..3: operands of the epilogue ops, taken in order */
	__u32 epi_arg[4];
};

#define VTPU_MXU_TRANS_A    (1u << 0)
#define VTPU_MXU_TRANS_B    (1u << 1)
#define VTPU_MXU_ACCUMULATE (1u << 2) /* start from c, else from +0 */
#define VTPU_MXU_SPLIT_M    (1u << 3) /* rows, not columns, are split over a core's arrays */
#define VTPU_MXU_MODE	    0xfu

/** enum vtpu_epi_op - epilogue operations on f32 accumulators */
enum vtpu_epi_op {
	VTPU_EPI_NONE = 0,
	VTPU_EPI_BIAS = 1,	/* + arg[j], arg: VMEM address of f32[N] */
	VTPU_EPI_SCALE = 2,	/* * arg[j], arg: VMEM address of f32[N] */
	VTPU_EPI_RESIDUAL = 3,	/* + arg[i,j], arg: VMEM address, type and pitch of d */
	VTPU_EPI_SCALE_IMM = 4, /* * arg, f32 */
	VTPU_EPI_RELU = 5,
	VTPU_EPI_LEAKY_RELU = 6, /* x > 0 ? x : x * arg, f32 */
	VTPU_EPI_CLAMP = 7,	 /* min(max(x, arg), next arg), f32 both */
	VTPU_EPI_SIGMOID = 8,
	VTPU_EPI_TANH = 9,
	VTPU_EPI_GELU = 10, /* tanh form */
	VTPU_EPI_SILU = 11,
	VTPU_EPI_STORE =
		12, /* also store the value so far to arg, type and pitch of d; not built yet */
	VTPU_EPI_DROPOUT = 13, /* keep probability, seed; not built yet */
	/*
	 * CONV only, last of the list: maximum of windows that touch but do not overlap. Arguments:
	 * VMEM address of an index byte for each result, then VTPU_EPI_WINDOW()
	 */
	VTPU_EPI_MAXPOOL = 14,
	VTPU_EPI_OPS = 15,
};

/* Argument of VTPU_EPI_MAXPOOL: rows and columns of the window, at most 255 elements */
#define VTPU_EPI_WINDOW(h, w) ((__u32)(w) << 8 | (__u32)(h))
#define VTPU_EPI_WINDOW_H(x)  ((x)&0xff)
#define VTPU_EPI_WINDOW_W(x)  ((x) >> 8 & 0xff)

/**
 * struct vtpu_insn_ew - EW payload: a chain of element-wise micro-ops
 *
 * Per element: r0..r3 are loaded from the inputs (missing ones are 0), up to
 * eight micro-ops run, then output i is stored from r_i. bf16 and u8 inputs are widened
 * to f32; bf16 outputs are rounded. Rows are @cols contiguous elements.
 */
struct vtpu_insn_ew {
	/** @nin: inputs, 0..4 */
	__u8 nin;
	/** @nout: outputs, 1..2 */
	__u8 nout;
	/** @nops: micro-ops, 0..8; the rest are zero */
	__u8 nops;
	/** @pad: zero */
	__u8 pad;
	/** @rows: rows */
	__u32 rows;
	/** @cols: columns */
	__u32 cols;
	/** @in: inputs: VMEM address and pitch in bytes (0 where a broadcast needs none) */
	struct {
		__u32 addr;
		__u32 pitch;
	} in[4];
	/** @in_type: f32, bf16 or u8 */
	__u8 in_type[4];
	/** @in_bcast: enum vtpu_bcast */
	__u8 in_bcast[4];
	/** @out: outputs: VMEM address and pitch in bytes */
	struct {
		__u32 addr;
		__u32 pitch;
	} out[2];
	/** @out_type: f32 or bf16 */
	__u8 out_type[2];
	/** @pad2: zero */
	__u16 pad2;
	/** @op: micro-ops: enum vtpu_ew_op and VTPU_EW_ARGS() */
	struct {
		__u8 op;
		__u8 args;
	} op[8];
	/** @imm: arguments 0 and 1: f32 immediates */
	__u32 imm[2];
};

/** enum vtpu_bcast - how an input covers rows and columns */
enum vtpu_bcast {
	VTPU_BCAST_FULL = 0, /* element (i,j) */
	VTPU_BCAST_ROW = 1,  /* element j for every row */
	VTPU_BCAST_COL = 2,  /* element i for every column; pitch between elements */
	VTPU_BCAST_SCALAR = 3,
};

/* Micro-op operands: dst r0..r3; a and b: r0..r3, then the two immediates */
#define VTPU_EW_ARGS(dst, a, b) ((dst) << 6 | (a) << 3 | (b))
#define VTPU_EW_DST(args)	((args) >> 6 & 3)
#define VTPU_EW_A(args)		((args) >> 3 & 7)
#define VTPU_EW_B(args)		((args)&7)
#define VTPU_EW_IMM0		4
#define VTPU_EW_IMM1		5

/** enum vtpu_ew_op - micro-ops; unary ones take a and have b zero */
enum vtpu_ew_op {
	VTPU_EW_MOV = 1,
	VTPU_EW_ADD = 2,
	VTPU_EW_SUB = 3,
	VTPU_EW_MUL = 4,
	VTPU_EW_DIV = 5,
	VTPU_EW_MIN = 6,
	VTPU_EW_MAX = 7,
	VTPU_EW_FMA = 8,    /* dst = a * b + dst */
	VTPU_EW_CMP_EQ = 9, /* 1.0 or 0.0 */
	VTPU_EW_CMP_LT = 10,
	VTPU_EW_CMP_LE = 11,
	VTPU_EW_SELECT = 12, /* dst = dst != 0 ? a : b */
	VTPU_EW_NEG = 13,
	VTPU_EW_ABS = 14,
	VTPU_EW_SQRT = 15,
	VTPU_EW_RSQRT = 16,
	VTPU_EW_RCP = 17,
	VTPU_EW_FLOOR = 18,
	VTPU_EW_EXP = 19,
	VTPU_EW_LOG = 20,
	VTPU_EW_TANH = 21,
	VTPU_EW_SIGMOID = 22,
	VTPU_EW_RELU = 23,
	VTPU_EW_GELU = 24, /* tanh form */
	VTPU_EW_SILU = 25,
	VTPU_EW_ERF = 26, /* this and the rest: not built yet */
	VTPU_EW_POW = 27,
	VTPU_EW_SIN = 28,
	VTPU_EW_COS = 29,
	VTPU_EW_SIGN = 30,
	VTPU_EW_RNG = 31,
	VTPU_EW_OPS = 32,
};

/**
 * struct vtpu_insn_rows - REDUCE, ARGMAX, SOFTMAX, NORM, TRANSPOSE, CUMSUM, SORT, TOPK, IOTA,
 * PERMUTE payload
 *
 * Works on a [rows, cols] matrix in VMEM; which fields an opcode uses is in
 * docs/instructions.md, unused ones are zero.
 */
struct vtpu_insn_rows {
	/** @in: VMEM address */
	__u32 in;
	/** @out: VMEM address */
	__u32 out;
	/** @aux: VMEM address of a second operand or result */
	__u32 aux;
	/** @aux2: VMEM address of a third */
	__u32 aux2;
	/** @rows: rows of the input */
	__u32 rows;
	/** @cols: columns of the input */
	__u32 cols;
	/** @in_pitch: bytes from one input row to the next */
	__u32 in_pitch;
	/** @out_pitch: bytes from one output row to the next */
	__u32 out_pitch;
	/** @in_type: f32 or bf16 */
	__u8 in_type;
	/** @out_type: f32 or bf16; TRANSPOSE: the same as @in_type; ARGMAX: s32 */
	__u8 out_type;
	/** @op: REDUCE: enum vtpu_reduce_op */
	__u8 op;
	/** @axis: REDUCE: 0: over rows, result [cols]; 1: over columns, result [rows] */
	__u8 axis;
	/** @k: TOPK: results of each row; PERMUTE: log2 of the block */
	__u32 k;
	/**
	 * @imm: arguments 0 and 1. SOFTMAX: scale of the input (f32), then zero. NORM: epsilon,
	 * then zero
	 */
	__u32 imm[2];
	/** @rsvd: zero */
	__u32 rsvd[12];
};

/** enum vtpu_reduce_op - struct vtpu_insn_rows.op */
enum vtpu_reduce_op {
	VTPU_REDUCE_SUM = 1,
	VTPU_REDUCE_MAX = 2,
	VTPU_REDUCE_MIN = 3,
	VTPU_REDUCE_SUMSQ = 4,
};

/**
 * struct vtpu_insn_pool - POOL and POOL_GRAD payload
 *
 * POOL: in [images, in_h, in_w, channels] to out [images, out_h, out_w, channels].
 * POOL_GRAD: the gradient of POOL's output to that of its input, with the same geometry.
 * All dense.
 */
struct vtpu_insn_pool {
	/** @in: VMEM address of what is read; POOL_GRAD: the output's gradient */
	__u32 in;
	/** @out: VMEM address of what is written; POOL_GRAD: the input's gradient */
	__u32 out;
	/** @index: with VTPU_POOL_INDEX: VMEM address of an index byte for each of POOL's outputs; else zero */
	__u32 index;
	/** @images: images */
	__u32 images;
	/** @channels: channels */
	__u32 channels;
	/** @in_h: rows of POOL's input */
	__u16 in_h;
	/** @in_w: columns of POOL's input */
	__u16 in_w;
	/** @ker_h: window rows; a window has at most 255 elements */
	__u8 ker_h;
	/** @ker_w: window columns */
	__u8 ker_w;
	/** @stride_h: window stride */
	__u8 stride_h;
	/** @stride_w: window stride */
	__u8 stride_w;
	/** @pad_top: rows above that are no elements; less than @ker_h, as @pad_bottom */
	__u8 pad_top;
	/** @pad_left: columns to the left; less than @ker_w, as @pad_right */
	__u8 pad_left;
	/** @pad_bottom: rows below */
	__u8 pad_bottom;
	/** @pad_right: columns to the right */
	__u8 pad_right;
	/** @type: f32 or bf16, of both */
	__u8 type;
	/** @op: enum vtpu_pool_op */
	__u8 op;
	/** @mode: VTPU_POOL_*; POOL_GRAD of a maximum: required */
	__u16 mode;
	/** @rsvd: zero */
	__u32 rsvd[15];
};

/** enum vtpu_pool_op - struct vtpu_insn_pool.op */
enum vtpu_pool_op {
	VTPU_POOL_MAX = 1,
	VTPU_POOL_AVERAGE = 2, /* over the elements that there are, padding not counted */
};

#define VTPU_POOL_INDEX (1u << 0) /* POOL_MAX: write, POOL_GRAD: read the index bytes */
#define VTPU_POOL_MODE	0x1u

/**
 * struct vtpu_insn_xent - SOFTMAX_XENT payload: cross-entropy of softmax and class labels, its
 * gradient, or both
 */
struct vtpu_insn_xent {
	/** @in: VMEM address of the logits [rows, cols] */
	__u32 in;
	/** @labels: VMEM address of [rows] class numbers, contiguous */
	__u32 labels;
	/** @weights: with VTPU_XENT_WEIGHTS: VMEM address of f32[rows] factors; else zero */
	__u32 weights;
	/**
	 * @loss: with VTPU_XENT_LOSS: VMEM address of f32[rows][2]: loss, and 1 where the largest
	 * logit is the label's; else zero
	 */
	__u32 loss;
	/** @grad: with VTPU_XENT_GRAD: VMEM address of the logits' gradient [rows, cols]; else zero */
	__u32 grad;
	/** @rows: rows */
	__u32 rows;
	/** @cols: classes */
	__u32 cols;
	/** @in_pitch: bytes from one row of logits to the next */
	__u32 in_pitch;
	/** @grad_pitch: bytes from one row of @grad to the next; zero without */
	__u32 grad_pitch;
	/** @in_type: f32 or bf16 */
	__u8 in_type;
	/** @grad_type: f32 or bf16; zero without @grad */
	__u8 grad_type;
	/** @label_type: u8 or s32 */
	__u8 label_type;
	/** @pad: zero */
	__u8 pad;
	/** @mode: VTPU_XENT_*, LOSS or GRAD or both */
	__u32 mode;
	/** @imm: argument 0: f32 factor of the gradient; argument 1: zero */
	__u32 imm[2];
	/** @rsvd: zero */
	__u32 rsvd[11];
};

#define VTPU_XENT_LOSS	  (1u << 0)
#define VTPU_XENT_GRAD	  (1u << 1)
#define VTPU_XENT_WEIGHTS (1u << 2)
#define VTPU_XENT_MODE	  0x7u

/**
 * struct vtpu_insn_opt - OPTIMIZE payload: a step of an optimiser on @count parameters
 *
 * All arrays are f32, contiguous, updated in place.
 */
struct vtpu_insn_opt {
	/** @param: VMEM address of the parameters */
	__u32 param;
	/** @grad: VMEM address of their gradient */
	__u32 grad;
	/** @m: MOMENTUM, NESTEROV, ADAM: VMEM address of the first moment; else zero */
	__u32 m;
	/** @v: ADAM: VMEM address of the second moment; else zero */
	__u32 v;
	/** @count: elements, at least 1 */
	__u32 count;
	/** @kind: enum vtpu_opt_kind */
	__u8 kind;
	/** @pad: zero */
	__u8 pad[3];
	/**
	 * @imm: arguments 0..3, f32: learning rate; factor of the gradient; ADAM: factors that
	 * correct the bias of m and of v; else zero
	 */
	__u32 imm[4];
	/** @beta1: f32: decay of the first moment; SGD: zero */
	__u32 beta1;
	/** @beta2: ADAM: f32: decay of the second moment; else zero */
	__u32 beta2;
	/** @epsilon: ADAM: f32; else zero */
	__u32 epsilon;
	/** @decay: f32: weight decay */
	__u32 decay;
	/** @rsvd: zero */
	__u32 rsvd[10];
};

/** enum vtpu_opt_kind - struct vtpu_insn_opt.kind; docs/instructions.md has the formulas */
enum vtpu_opt_kind {
	VTPU_OPT_SGD = 1,
	VTPU_OPT_MOMENTUM = 2,
	VTPU_OPT_NESTEROV = 3,
	VTPU_OPT_ADAM = 4,
};

/**
 * struct vtpu_insn_rng - RNG_FILL payload: numbers that depend on seed and element index alone
 */
struct vtpu_insn_rng {
	/** @out: VMEM address of [rows, cols] */
	__u32 out;
	/** @rows: rows */
	__u32 rows;
	/** @cols: columns */
	__u32 cols;
	/** @out_pitch: bytes from one row to the next */
	__u32 out_pitch;
	/** @out_type: f32 */
	__u8 out_type;
	/** @kind: enum vtpu_rng_kind */
	__u8 kind;
	/** @pad: zero */
	__u16 pad;
	/** @imm: arguments 0..2: seed, stream and step, u32 */
	__u32 imm[3];
	/** @index: of element (0,0) on core 0 */
	__u64 index;
	/** @core_step: index from one core to the next */
	__u64 core_step;
	/** @row_step: index from one row to the next; from one column to the next it is 1 */
	__u64 row_step;
	/** @rsvd: zero */
	__u32 rsvd[10];
};

/** enum vtpu_rng_kind - struct vtpu_insn_rng.kind */
enum vtpu_rng_kind {
	VTPU_RNG_UNIFORM = 1, /* 24 bits in [0, 1) */
};

/** struct vtpu_insn_ctl - NOP, BARRIER, MARK, HALT payload */
struct vtpu_insn_ctl {
	/** @core_mask: BARRIER: cores of the gang that meet, own core included */
	__u64 core_mask;
	/** @value: HALT: exit code, MARK: any */
	__u32 value;
	/** @pad: zero */
	__u32 pad;
	/** @rsvd: zero */
	__u64 rsvd[10];
};

/** struct vtpu_insn - one instruction */
struct vtpu_insn {
	/** @opcode: enum vtpu_opcode */
	__u8 opcode;
	/** @unit: enum vtpu_unit: the one its opcode runs on, and its section's */
	__u8 unit;
	/** @flags: VTPU_INSN_* */
	__u16 flags;
	/** @op_id: operation that this is part of, for reports; 0 is none */
	__u32 op_id;
	/** @wait: valid with VTPU_INSN_WAIT0 and VTPU_INSN_WAIT1 */
	struct vtpu_wait wait[2];
	/** @signal: valid with VTPU_INSN_SIGNAL0 and VTPU_INSN_SIGNAL1 */
	struct vtpu_signal signal[2];
	/** @payload: by opcode */
	union {
		struct vtpu_insn_ctl ctl;
		struct vtpu_insn_dma dma;
		struct vtpu_insn_mxu mxu;
		struct vtpu_insn_ew ew;
		struct vtpu_insn_rows rows;
		struct vtpu_insn_pool pool;
		struct vtpu_insn_xent xent;
		struct vtpu_insn_opt opt;
		struct vtpu_insn_rng rng;
		__u32 word[24];
		__u8 byte[96];
	} payload;
};

#define VTPU_INSN_WAIT0	  (1u << 0)
#define VTPU_INSN_WAIT1	  (1u << 1)
#define VTPU_INSN_SIGNAL0 (1u << 2)
#define VTPU_INSN_SIGNAL1 (1u << 3)
#define VTPU_INSN_PRED	  (1u << 4) /* no writes if SMEM word wait[0].pad is zero; same cycles */
#define VTPU_INSN_ARG_SMEM(i) \
	(1u << (8 + (i))) /* argument i is the number of an SMEM word that holds it */
#define VTPU_INSN_FLAGS 0x0f1fu

/** enum vtpu_opcode - every instruction, those not built yet included */
enum vtpu_opcode {
	/* CTL */
	VTPU_OP_NOP = 0x01,  /* only its waits and signals */
	VTPU_OP_HALT = 0x02, /* last of its queue */
	VTPU_OP_BARRIER = 0x03,
	VTPU_OP_MARK = 0x04, /* a point for traces */
	/* DMA */
	VTPU_OP_COPY = 0x10,
	VTPU_OP_FILL = 0x11,
	VTPU_OP_GATHER = 0x12,	    /* not built yet */
	VTPU_OP_SCATTER_ADD = 0x13, /* not built yet */
	/* MXU */
	VTPU_OP_MATMUL = 0x20,
	VTPU_OP_CONV = 0x21,	   /* forward; not built yet */
	VTPU_OP_CONV_DGRAD = 0x22, /* not built yet */
	VTPU_OP_CONV_WGRAD = 0x23, /* not built yet */
	/* VPU */
	VTPU_OP_EW = 0x30,
	VTPU_OP_REDUCE = 0x31,
	VTPU_OP_SOFTMAX = 0x32,
	VTPU_OP_ARGMAX = 0x33, /* not built yet, as the rest of VPU */
	VTPU_OP_NORM = 0x34,
	VTPU_OP_NORM_GRAD = 0x35,
	VTPU_OP_SOFTMAX_XENT = 0x36,
	VTPU_OP_SOFTMAX_GRAD = 0x37,
	VTPU_OP_POOL = 0x38,
	VTPU_OP_POOL_GRAD = 0x39,
	VTPU_OP_CONV_DW = 0x3a,
	VTPU_OP_CONV_DW_DGRAD = 0x3b,
	VTPU_OP_CONV_DW_WGRAD = 0x3c,
	VTPU_OP_OPTIMIZE = 0x3d,
	VTPU_OP_RNG_FILL = 0x3e,
	VTPU_OP_CUMSUM = 0x3f,
	/* XLU */
	VTPU_OP_TRANSPOSE = 0x40,
	VTPU_OP_PERMUTE = 0x41, /* not built yet, as the rest of XLU */
	VTPU_OP_SORT = 0x42,
	VTPU_OP_TOPK = 0x43,
	VTPU_OP_IOTA = 0x44,
	/* ICI, not built yet */
	VTPU_OP_SEND = 0x50,
	VTPU_OP_BCAST = 0x51,
};

#if defined(__KERNEL__) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
_Static_assert(sizeof(struct vtpu_insn_ctl) == 96, "vtpu_insn_ctl");
_Static_assert(sizeof(struct vtpu_insn_dma) == 96, "vtpu_insn_dma");
_Static_assert(sizeof(struct vtpu_insn_mxu) == 96, "vtpu_insn_mxu");
_Static_assert(sizeof(struct vtpu_insn_ew) == 96, "vtpu_insn_ew");
_Static_assert(sizeof(struct vtpu_insn_rows) == 96, "vtpu_insn_rows");
_Static_assert(sizeof(struct vtpu_insn_pool) == 96, "vtpu_insn_pool");
_Static_assert(sizeof(struct vtpu_insn_xent) == 96, "vtpu_insn_xent");
_Static_assert(sizeof(struct vtpu_insn_opt) == 96, "vtpu_insn_opt");
_Static_assert(sizeof(struct vtpu_insn_rng) == 96, "vtpu_insn_rng");
_Static_assert(sizeof(struct vtpu_insn) == 128, "vtpu_insn");
#endif

#endif /* _UAPI_VTPU_INSN_H_ */
