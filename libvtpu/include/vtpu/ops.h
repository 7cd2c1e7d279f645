/* SPDX-License-Identifier: MIT */
/**
 * @file ops.h
 * Ready-made programs: fused matrix products, chains of them, softmax.
 *
 * Each call makes a whole program image that tiles its operands into VMEM,
 * overlaps DMA with computation and spreads the rows over a gang of cores. The
 * caller loads it, binds a buffer to each base by name, and runs it.
 *
 * Layout. All matrices are row-major and dense in HBM. Rows are dealt to cores
 * in blocks: core c of a gang of w has rows c * r .. c * r + r - 1 with
 * r = vtpu_rows_per_core(m, w). Where w does not divide m, buffers that hold
 * rows (x, y, residual) have vtpu_rows_padded(m, w) rows; what is in the rows
 * from m on never reaches another row, and the results there mean nothing.
 * Weights, biases and scales are shared by all cores and read-only.
 *
 * Bits. An element of a result is one chain over its row and column, so it is
 * the same bits for every width, tile size and m.
 */
#ifndef VTPU_OPS_H
#define VTPU_OPS_H

#include <vtpu/dtype.h>
#include <vtpu/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Activation functions. */
enum vtpu_activation {
	VTPU_ACT_NONE = 0,
	VTPU_ACT_RELU = 1,
	VTPU_ACT_LEAKY_RELU = 2, /**< x > 0 ? x : x * slope */
	VTPU_ACT_SIGMOID = 3,
	VTPU_ACT_TANH = 4,
	VTPU_ACT_GELU = 5, /**< tanh form */
	VTPU_ACT_SILU = 6,
};

/** Rows that each core of a gang has. */
VTPU_API uint64_t vtpu_rows_per_core(uint64_t m, uint32_t width);

/** Rows that a buffer of rows must have. */
VTPU_API uint64_t vtpu_rows_padded(uint64_t m, uint32_t width);

/**
 * One fused matrix product: y = act(x * w * scale * scales + bias + residual),
 * softmax of each row at the end if wanted. Zero leaves a step out.
 */
struct vtpu_layer {
	const char *name;	/**< names the operation and its bases; required */
	uint32_t n;		/**< columns of w and y */
	enum vtpu_dtype w_type; /**< f32 or bf16 */
	bool w_transposed;	/**< w is [n, k] in HBM, else [k, n] */
	float scale;		/**< one factor; 0 or 1 is none */
	bool column_scale;	/**< f32[n] factors, base "<name>.scale" */
	bool bias;		/**< f32[n], base "<name>.bias" */
	bool residual; /**< [m, n] of y's type, base "<name>.residual"; single layers only */
	enum vtpu_activation act; /**< after all of these */
	float slope;		  /**< VTPU_ACT_LEAKY_RELU */
	bool clamp;		  /**< min(max(y, clamp_low), clamp_high), after act */
	float clamp_low;	  /**< lower limit */
	float clamp_high;	  /**< upper limit */
	bool softmax;		  /**< last layer only; the row must fit one tile */
};

/** How a matrix product is cut up; 0 lets the library choose. */
struct vtpu_tiling {
	uint32_t bm;		  /**< rows of a tile */
	uint32_t bn;		  /**< columns of a tile */
	uint32_t bk;		  /**< contracted elements of a tile */
	uint32_t buffers;	  /**< slots for the tiles that stream in: 1, 2 or 3 */
	uint32_t epilogue_splits; /**< parts of the last step, so that write-back starts early: 1..16 */
};

/** Options of vtpu_dense_build(). */
struct vtpu_dense_options {
	size_t struct_size;			 /**< set by VTPU_INIT() */
	const struct vtpu_hw_geometry *geometry; /**< of the device that will run it; required */
	uint32_t width;				 /**< cores; 0: 1 */
	uint64_t m;				 /**< rows of x and y, over all cores */
	uint32_t k;				 /**< columns of x */
	/** type of x in HBM: f32, bf16 or u8; u8 is cast to w_type's on the way into VMEM */
	enum vtpu_dtype x_type;
	enum vtpu_dtype y_type;		 /**< f32 or bf16 */
	const struct vtpu_layer *layers; /**< in order; layer i's n is layer i+1's k */
	uint32_t layer_count;		 /**< 1..16 */
	struct vtpu_tiling tiling;	 /**< single layers: all; chains: bm and buffers */
};

/** What a builder chose. */
struct vtpu_plan {
	struct vtpu_tiling tiling; /**< as built */
	uint64_t rows_per_core;	   /**< rows of each core */
	uint64_t vmem_bytes;	   /**< VMEM taken on each core */
	uint64_t cycles; /**< modelled cycles by the closed formula that chose; the load tells the exact number */
	uint64_t ideal_cycles; /**< cycles of the multiply-adds alone on a full array */
};

/**
 * Build a program for one fused matrix product, or for a chain of them.
 * @param options  what
 * @param image  the image; free it with vtpu_image_destroy()
 * @param plan   gets what was chosen; may be NULL
 *
 * Bases, in this order: "x" [m, k]; for each layer "<name>.w" and, where asked
 * for, "<name>.scale", "<name>.bias", "<name>.residual"; at the end "y"
 * [m, n of the last layer].
 *
 * Products are exact: f32 where w is f32, bf16 operands with f32 sums where it
 * is bf16 (then x and hidden activations are rounded to bf16).
 *
 * A single layer may be of any size. In a chain all weights stay in VMEM and
 * hidden activations never leave it.
 * @return VTPU_ERROR_UNSUPPORTED with a sentence when it does not fit VMEM
 */
VTPU_API enum vtpu_status vtpu_dense_build(const struct vtpu_dense_options *options,
					   struct vtpu_image **image, struct vtpu_plan *plan);

/** Options of vtpu_softmax_build(). */
struct vtpu_softmax_options {
	size_t struct_size;			 /**< set by VTPU_INIT() */
	const struct vtpu_hw_geometry *geometry; /**< of the device that will run it; required */
	uint32_t width;				 /**< cores; 0: 1 */
	uint64_t m;				 /**< rows, over all cores */
	uint32_t n;				 /**< columns */
	enum vtpu_dtype x_type;			 /**< f32 or bf16 */
	enum vtpu_dtype y_type;			 /**< f32 or bf16 */
	float scale;				 /**< of x before the exponential; 0: 1 */
	uint32_t bm;				 /**< rows of a tile; 0: the library's choice */
};

/**
 * Build a program for y = softmax(x * scale) of each row.
 *
 * Bases: "x" [m, n], "y" [m, n]. A row must fit VMEM.
 */
VTPU_API enum vtpu_status vtpu_softmax_build(const struct vtpu_softmax_options *options,
					     struct vtpu_image **image, struct vtpu_plan *plan);

#ifdef __cplusplus
}
#endif

#endif /* VTPU_OPS_H */
