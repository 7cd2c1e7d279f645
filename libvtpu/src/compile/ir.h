/* SPDX-License-Identifier: MIT */
/*
 * ir.h - what a graph is while it is compiled: values and steps.
 *
 * A step is the template of an instruction: emitted once for each tile of images when it works
 * on the batch, else once. A value is what steps read and write: an array in
 * VMEM. Passes work on the lists of both; docs/compiler.md tells the order.
 */
#ifndef VTPU_SRC_COMPILE_IR_H
#define VTPU_SRC_COMPILE_IR_H

#include <vtpu/compile.h>

#include "core/arena.h"
#include "graph/op.h"
#include "vtpu_hw.h"

#define IR_MAX_IN  8
#define IR_MAX_OUT 3

/** enum value_class - how a value is spread over tiles and cores */
enum value_class {
	VALUE_WHOLE, /* the same on every core, there at once */
	VALUE_BATCH, /* something for each image; of a core, the images of its part */
	VALUE_PARTIAL, /* summed over the batch: complete behind its region, when cores have added theirs */
};

/** enum value_source - where a value is from */
enum value_source {
	FROM_STEP,
	FROM_FEED,     /* index: of the input */
	FROM_VARIABLE, /* index: of the variable */
	FROM_CONSTANT, /* index: offset in the constants */
	FROM_ONES,     /* filled with 1 */
};

struct step;

/** struct value - an array in VMEM: of an image (BATCH), else all of it */
struct value {
	const char *name; /* the tensor's */
	uint32_t id;
	enum vtpu_dtype type;
	enum value_class class;
	enum value_source source;
	uint64_t index;
	uint64_t count;	 /* elements, of an image or in all */
	uint32_t dim[3]; /* BATCH, of rank 4: rows, columns, channels; else zero */
	uint32_t box[2]; /* of these, rows and columns that are kept; the rest nobody needs, or is zero */
	struct value *pair; /* this is column @column of a [rows, 2] value */
	uint32_t column;
	struct step *def; /* that writes it; NULL for sources */
	bool folded;	  /* nothing uses it any more */

	/* places; see plan.c */
	uint32_t addr[2]; /* tiles take turns between two slots, if there are two */
	uint32_t slots;
	uint64_t bytes;	      /* of a slot */
	uint32_t first, last; /* steps, by order in the program */
	uint32_t region; /* BATCH and PARTIAL: where it is made; WHOLE: the stage before that region */
	struct value *home; /* is at @home_offset in another one */
	uint64_t home_offset;
	bool ready;	 /* emission: sources are there */
	bool smem_ready; /* emission: the copy in SMEM is there */
	uint64_t temp;	 /* offset in the temporary arena, plus 1; 0: does not cross regions */
	uint32_t smem;	 /* word that holds a copy; 0: none */
};

/** struct ew_leaf - an operand of an element-wise expression */
struct ew_leaf {
	enum {
		LEAF_VALUE,
		LEAF_NUMBER,
		LEAF_SCALAR,
	} kind;
	struct value *value;
	uint8_t bcast;	 /* enum vtpu_bcast */
	uint64_t span;	 /* ROW: columns; COL: rows, of an image or in all */
	uint32_t number; /* bits of an f32 */
	uint32_t scalar; /* SMEM word */
};

#define EW_LEAVES 6
#define EW_OPS	  8
#define EW_OP(i)  (EW_LEAVES + (i)) /* argument that is the result of op i; below: a leaf */

/** struct ew_op - an operation of an expression, in single assignment form */
struct ew_op {
	uint8_t op;	 /* enum vtpu_ew_op */
	uint8_t a, b, c; /* leaves and EW_OP(); c: FMA's addend, SELECT's mask */
};

/** struct ew_expr - outputs of one shape computed element by element */
struct ew_expr {
	struct ew_leaf leaf[EW_LEAVES];
	uint32_t leaves;
	struct ew_op op[EW_OPS];
	uint32_t ops;
	uint8_t out[2]; /* arguments that are stored */
};

/** struct mxu_step - matrix product */
struct mxu_step {
	uint32_t m, n, k;  /* of an image, in whichever of m and k the batch is */
	bool batch_m;	   /* m is times the images */
	bool batch_k;	   /* k is: partial result */
	bool each;	   /* one product for each image */
	bool ones;	   /* a is ones: sums of the columns of b */
	uint32_t products; /* of one image, or in all, one after the other */
	bool trans_a, trans_b;
};

/** struct window_step - convolution or pooling; sizes are those of its values' boxes */
struct window_step {
	uint32_t ker[2], stride[2], dil[2];
	uint32_t before[2]; /* padding at the top, to the left */
	uint32_t groups;
	bool average;
	/* CONV with a maximum behind it */
	uint32_t pool[2];
};

/** struct step_epilogue - what an MXU step does to its results */
struct step_epilogue {
	uint8_t op[4];
	struct value *value[4]; /* BIAS, SCALE */
	uint32_t bits[4];	/* SCALE_IMM, LEAKY_RELU */
	uint32_t count;
};

enum step_kind {
	STEP_EW,
	STEP_MATMUL,
	STEP_CONV,
	STEP_DGRAD,
	STEP_WGRAD,
	STEP_REDUCE,  /* of rows: [count / cols, cols] to [count / cols] */
	STEP_SOFTMAX, /* of rows */
	STEP_XENT, /* in: logits, labels, weights or NULL, factor or NULL; out: pair or NULL, gradient or NULL */
	STEP_ARGMAX,	/* of rows */
	STEP_POOL,	/* out: y, index or NULL */
	STEP_POOL_GRAD, /* in: dy, index or NULL */
	STEP_RANDOM,
	STEP_MOVE,   /* box with strides: broadcast, transpose */
	STEP_UPDATE, /* optimiser, see struct update_step */
	STEP_ASSIGN, /* in: value; to variable */
	STEP_RESULT, /* in: value; to result */
	STEP_LOAD,   /* a tile of a feed or a temporary */
	STEP_SPILL,  /* a tile to a temporary */
};

/** struct update_step - an optimiser's step on one parameter */
struct update_step {
	uint32_t variable;	   /* the parameter */
	uint32_t rate;		   /* SMEM words: */
	uint32_t c1, c2;	   /* ADAM: corrections */
	struct value *rate_value;  /* instead of @rate: a computed one */
	struct vtpu_insn_opt insn; /* kind and constants */
	float coupled_decay;	   /* ADAM: weight decay that is added to the gradient */
};

/** struct step - template of an instruction */
struct step {
	enum step_kind kind;
	const char *name; /* the graph's operation */
	uint32_t order;	  /* of the operation in the graph */
	struct value *in[IR_MAX_IN];
	struct value *out[IR_MAX_OUT];
	uint32_t ins, outs;
	bool dead, sorted, emitted;
	uint32_t region; /* on the batch: its region; else the region that it goes before */
	uint32_t index;	 /* RESULT, ASSIGN, LOAD: of what */
	struct step_epilogue epi;
	union {
		struct ew_expr ew;
		struct mxu_step mxu;
		struct window_step win;
		struct {
			uint64_t cols;
			uint8_t op; /* REDUCE: enum vtpu_reduce_op */
			bool down;  /* REDUCE: of the rows of each image, result [cols] */
		} rows;
		struct {
			float factor; /* of the gradient */
			bool smem;    /* the factor is in SMEM word */
			uint32_t word;
		} xent;
		struct {
			uint32_t seed, stream, step; /* SMEM words; stream is a number */
		} random;
		struct {
			uint32_t ndim; /* without the batch */
			uint64_t count[VTPU_MAX_RANK];
			int64_t src[VTPU_MAX_RANK],
				dst[VTPU_MAX_RANK]; /* strides in elements, innermost first */
		} move;
		struct update_step update;
	};
};

/** step_on_batch() - is it emitted for each tile? */
bool step_on_batch(const struct step *s);

/** enum scalar_rule - how a word of SMEM comes from a scalar of the graph */
enum scalar_rule {
	SCALAR_PLAIN,
	SCALAR_FLOAT,	   /* s32 as f32 */
	SCALAR_CORRECTION, /* 1 / (1 - base^step) */
};

/** struct plan_scalar - a word that each job gives */
struct plan_scalar {
	uint32_t source; /* scalar of the graph */
	enum scalar_rule rule;
	float base;
};

/** struct plan_io - an input, scalar or result */
struct plan_io {
	const char *name;
	enum vtpu_dtype type;
	struct vtpu_shape shape;
	bool used;
	bool batch;
	uint64_t bytes;	     /* of an array of that shape */
	uint64_t core_bytes; /* that a core reaches */
	uint64_t stride;     /* from core to core */
	uint32_t base;	     /* base register */
	struct value *value;
	uint32_t order; /* of the operation in the graph */
};

struct layout;

/** struct plan - a compilation */
struct plan {
	struct arena arena;
	const struct vtpu_graph *graph;
	const struct vtpu_hw_geometry *geometry;
	const struct layout *layout;
	struct vtpu_compile_options options;
	uint32_t cores;
	int64_t batch;	 /* 0: none */
	uint32_t images; /* of a core */
	uint32_t tile;	 /* images of a tile */
	uint32_t regions;
	struct value **value;
	size_t values, value_room;
	struct step **step;
	size_t steps, step_room;
	struct plan_io *feed, *scalar_in, *result;
	size_t feeds, scalars_in, results;
	struct plan_scalar scalar[VTPU_MAX_SCALARS];
	uint32_t scalars;
	uint8_t *constant; /* bytes of the constants */
	size_t constants, constant_room;
	uint32_t smem;	       /* words taken behind the scalars' */
	struct value *ones[2]; /* f32, bf16 */
	uint64_t ones_count;
	uint64_t temp_bytes; /* of a core */
	enum vtpu_status status;
};

/** plan_fail() - the first error; false always */
bool plan_fail(struct plan *p, enum vtpu_status status, const char *fmt, ...) VTPU_PRINTF(3, 4);

/** plan_nomem() - out of host memory; false always */
bool plan_nomem(struct plan *p);

/** plan_value() - a new value; NULL with the error set without memory */
struct value *plan_value(struct plan *p, const char *name, enum vtpu_dtype type,
			 enum value_class class, uint64_t count);

/** plan_step() - a new step at the end of the list; NULL with the error set without memory */
struct step *plan_step(struct plan *p, enum step_kind kind, const struct vtpu_node *node);

/** step_in(), step_out() - append an operand */
void step_in(struct step *s, struct value *v);
void step_out(struct step *s, struct value *v);

/** step_leaves() - set the operands of an EW step from its expression */
void step_leaves(struct step *s);

/** plan_uses() - number of steps that read @v, and one of them */
size_t plan_uses(const struct plan *p, const struct value *v, struct step **last);

/** value_count() - elements that are kept, of an image or in all */
static inline uint64_t value_count(const struct value *v)
{
	return v->dim[0] ? (uint64_t)v->box[0] * v->box[1] * v->dim[2] : v->count;
}

/** value_hw_type() - enum vtpu_type of a value */
uint8_t hw_type(enum vtpu_dtype type);

/** step_kind_name() - for dumps */
const char *step_kind_name(enum step_kind kind);

/* ---- Expressions (ew.c) --------------------------------------------------------- */

/** struct ew_code - an expression in registers */
struct ew_code {
	uint8_t reg[EW_LEAVES]; /* that a leaf is in: r0..r3, or VTPU_EW_IMM0 and 1 */
	uint32_t inputs;	/* registers that are loaded: those below it */
	uint32_t outs;
	uint32_t ops;
	struct {
		uint8_t op, args;
	} op[8];
};

/** ew_assign() - find registers for an expression with @outs outputs; false if it does not fit */
bool ew_assign(const struct ew_expr *e, uint32_t outs, struct ew_code *code);

/** ew_leaf() - the argument for a leaf, added if there is none like it; EW_LEAVES + EW_OPS without room */
uint8_t ew_leaf(struct ew_expr *e, const struct ew_leaf *leaf);

/** ew_shape_fits() - do all rows and columns that are repeated agree on one matrix? */
bool ew_shape_fits(const struct ew_expr *e, uint64_t count);

/** ew_merge() - put @from, whose output @out is leaf @leaf of @into, into it. Return: false if it does not fit */
bool ew_merge(struct ew_expr *into, uint32_t into_outs, uint32_t leaf, const struct ew_expr *from,
	      uint32_t out, bool keep_out, struct ew_expr *merged);

/* ---- Passes, in order -------------------------------------------------------------- */

bool pass_lower(struct plan *p);     /* lower.c */
bool pass_fuse(struct plan *p);	     /* fuse.c */
bool pass_precision(struct plan *p); /* precision.c */
bool pass_shrink(struct plan *p);    /* shrink.c */
bool pass_regions(struct plan *p);   /* region.c */

/** pass_clean() - drop steps whose results nobody uses (fuse.c) */
void pass_clean(struct plan *p);

#endif /* VTPU_SRC_COMPILE_IR_H */
