/* SPDX-License-Identifier: MIT */
/**
 * @file program.h
 * Programs for the device: images, a builder that makes them instruction by
 * instruction, their text form, and load reports in words.
 *
 * An image (struct vtpu_image) is what the device loads. It comes from a
 * builder, from the assembler, from one of the ready-made operations of
 * <vtpu/ops.h>, or from bytes. The text form is told in docs/assembly.md, the
 * instructions in docs/instructions.md.
 *
 * The instruction payloads (struct vtpu_insn_dma and its kin) are those of
 * vtpu_isa.h, which a caller that emits instructions includes besides this
 * header. Everything else here needs no other header.
 *
 * No object here is tied to a device. An image may be read by many threads at
 * once; a builder belongs to one thread at a time.
 */
#ifndef VTPU_PROGRAM_API_H
#define VTPU_PROGRAM_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vtpu/core.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vtpu_hw_geometry;
struct vtpu_insn;
struct vtpu_insn_ctl;
struct vtpu_insn_dma;
struct vtpu_insn_ew;
struct vtpu_insn_mxu;
struct vtpu_insn_opt;
struct vtpu_insn_pool;
struct vtpu_insn_rng;
struct vtpu_insn_rows;
struct vtpu_insn_xent;
struct vtpu_load_record;
struct vtpu_load_result;

/** A program image: immutable. */
struct vtpu_image;

/* ---- Images --------------------------------------------------------------- */

/**
 * Read an image from bytes.
 * @param data   the image; copied
 * @param bytes  its length
 * @param image  the image; free it with vtpu_image_destroy()
 *
 * Nothing in @p data is taken on trust: magic, version, length, checksum,
 * section table, and all names are checked; instructions are not (see
 * vtpu_image_validate()).
 * @return VTPU_ERROR_VERSION for another format version, VTPU_ERROR_BAD_PROGRAM
 *         for anything malformed, with a sentence that names the place
 */
VTPU_API enum vtpu_status vtpu_image_parse(const void *data, size_t bytes,
					   struct vtpu_image **image);

/** Free an image; NULL is fine. Loaded programs do not need it any more. */
VTPU_API void vtpu_image_destroy(struct vtpu_image *image);

/**
 * The bytes of an image, as the device takes them.
 * @param bytes  gets the length; may be NULL
 * @return memory that lives as long as the image
 */
VTPU_API const void *vtpu_image_data(const struct vtpu_image *image, size_t *bytes);

/** Cores of the gang that runs it, 1..64. */
VTPU_API uint32_t vtpu_image_width(const struct vtpu_image *image);

/** Scalar arguments that each job gives. */
VTPU_API uint32_t vtpu_image_scalars(const struct vtpu_image *image);

/** Base registers, to each of which a job binds a buffer. */
VTPU_API uint32_t vtpu_image_bases(const struct vtpu_image *image);

/** What an image says of one of its bases. */
struct vtpu_base_info {
	const char *name;     /**< lives as long as the image */
	uint64_t extent;      /**< bytes that one core reaches */
	uint64_t core_stride; /**< bytes from one core's range to the next; 0: shared by all */
	uint64_t bytes;	      /**< bytes that the buffer bound to it must have */
	uint32_t align;	      /**< alignment of the bound address */
	bool readable;	      /**< the program may read it */
	bool writable;	      /**< the program may write it */
};

/**
 * Look at a base.
 * @param index  0..vtpu_image_bases() - 1
 * @return VTPU_ERROR_NOT_FOUND for a larger @p index
 */
VTPU_API enum vtpu_status vtpu_image_base(const struct vtpu_image *image, uint32_t index,
					  struct vtpu_base_info *info);

/**
 * Find a base by name.
 * @param index  gets its number
 * @return VTPU_ERROR_NOT_FOUND, with a sentence that lists the names there are
 */
VTPU_API enum vtpu_status vtpu_image_find_base(const struct vtpu_image *image, const char *name,
					       uint32_t *index);

/** Name of an operation, or NULL when the image names none of that id. */
VTPU_API const char *vtpu_image_op_name(const struct vtpu_image *image, uint32_t op);

/**
 * Name of the tensor at a place.
 * @param base    base register
 * @param offset  from the base
 * @return NULL when the image names none that covers it
 */
VTPU_API const char *vtpu_image_tensor_name(const struct vtpu_image *image, uint32_t base,
					    uint64_t offset);

/**
 * Check a program without a device.
 * @param geometry  of the device that is meant
 * @param strict    refuse a program that has a race
 * @param result    gets what a device's load would say (vtpu_isa.h), also the
 *                  modelled cycles; may be NULL
 *
 * Does in this process what the device does when it loads the program, with the
 * same code: all fields, operands, deadlocks, races, time.
 * @return VTPU_OK, or a code with the whole report as its sentence
 */
VTPU_API enum vtpu_status vtpu_image_validate(const struct vtpu_image *image,
					      const struct vtpu_hw_geometry *geometry, bool strict,
					      struct vtpu_load_result *result);

/* ---- Text ------------------------------------------------------------------ */

/**
 * Assemble text.
 * @param name   what to call the text in errors: a file name; NULL: "text"
 * @param text   the program; need not end in NUL
 * @param bytes  its length
 * @param image  the image; free it with vtpu_image_destroy()
 *
 * Says what cannot be expressed; whether the program makes sense is for
 * vtpu_image_validate() and the device, so that faulty programs can be written
 * on purpose.
 * @return VTPU_ERROR_SYNTAX with a sentence "name:line:column: ..."
 */
VTPU_API enum vtpu_status vtpu_assemble(const char *name, const char *text, size_t bytes,
					struct vtpu_image **image);

/**
 * Write an image as text from which vtpu_assemble() makes the same bytes.
 * @param text  gets the text, ending in NUL; free() it
 */
VTPU_API enum vtpu_status vtpu_disassemble(const struct vtpu_image *image, char **text);

/**
 * The instruction set as a table in Markdown: opcodes, units, fields.
 * @param text  gets the text; free() it
 */
VTPU_API enum vtpu_status vtpu_isa_reference(char **text);

/* ---- Reports ---------------------------------------------------------------- */

/**
 * A load report in words: one line for the result, one for each record.
 * @param image    the image that was loaded, for its names; NULL: numbers only
 * @param result   what the load found
 * @param records  result->records of them
 * @param text     gets the text, always ending in NUL when @p bytes is not 0
 * @param bytes    room in @p text
 *
 * Each line names operation, tensor, unit and field, what was expected, what
 * was found and what to do.
 * @return length of the whole text, which may be more than fits
 */
VTPU_API size_t vtpu_report_format(const struct vtpu_image *image,
				   const struct vtpu_load_result *result,
				   const struct vtpu_load_record *records, char *text,
				   size_t bytes);

/** One record of a load report in words; as vtpu_report_format(), without newline. */
VTPU_API size_t vtpu_record_format(const struct vtpu_image *image,
				   const struct vtpu_load_record *record, char *text, size_t bytes);

/* ---- Builder ---------------------------------------------------------------- */

/**
 * A program under construction.
 *
 * Calls may be chained without looking: the first error is kept, later calls
 * do nothing, and vtpu_builder_finish() returns it.
 */
struct vtpu_builder;

/**
 * Begin a program.
 * @param width    cores of the gang, 1..64; all run the same text
 * @param builder  the builder; free it with vtpu_builder_destroy()
 */
VTPU_API enum vtpu_status vtpu_builder_create(uint32_t width, struct vtpu_builder **builder);

/** Free a builder; NULL is fine. */
VTPU_API void vtpu_builder_destroy(struct vtpu_builder *builder);

/** An arena in HBM that each job binds. */
struct vtpu_base_desc {
	const char *name;     /**< at most 39 bytes; copied */
	uint64_t extent;      /**< bytes that one core reaches, at least 1 */
	uint64_t core_stride; /**< 0: shared by all cores, then read-only if there are several */
	uint32_t align;	      /**< power of two, 64..2 MiB; 0: 64 */
	bool readable;
	bool writable;
};

/** Add a base register; returns its number, 0.. in order of the calls. */
VTPU_API uint32_t vtpu_builder_base(struct vtpu_builder *builder,
				    const struct vtpu_base_desc *desc);

/** Say how many scalar arguments jobs give (SMEM words 0..count-1 of each core), at most 256. */
VTPU_API void vtpu_builder_scalars(struct vtpu_builder *builder, uint32_t count);

/** Ask for capabilities (VTPU_CAP_*) besides those already asked for. */
VTPU_API void vtpu_builder_caps(struct vtpu_builder *builder, uint64_t caps);

/** Name an operation; returns its id, 1.. in order of the calls. @p name is copied. */
VTPU_API uint32_t vtpu_builder_op(struct vtpu_builder *builder, const char *name);

/** Name an operation by an id of the caller's choice, 1.. and unused so far. */
VTPU_API void vtpu_builder_op_id(struct vtpu_builder *builder, uint32_t id, const char *name);

/** Name a byte range of a base, for reports. @p name is copied. */
VTPU_API void vtpu_builder_tensor(struct vtpu_builder *builder, uint32_t base, const char *name,
				  uint64_t offset, uint64_t bytes);

/** Append constant bytes, 64-byte aligned; returns their offset from base VTPU_BASE_CONST. */
VTPU_API uint64_t vtpu_builder_const(struct vtpu_builder *builder, const void *data, size_t bytes);

/** Take the next unused semaphore; returns its number, which is the same on every core. */
VTPU_API uint8_t vtpu_builder_semaphore(struct vtpu_builder *builder);

/** Take VMEM: @p bytes at the next multiple of @p align (a power of two); returns the address. */
VTPU_API uint32_t vtpu_builder_vmem(struct vtpu_builder *builder, uint64_t bytes, uint32_t align);

/** VMEM taken so far. */
VTPU_API uint64_t vtpu_builder_vmem_used(const struct vtpu_builder *builder);

/** What every instruction may say besides its payload; zero is nothing. */
struct vtpu_emit {
	/** operation, by vtpu_builder_op(); 0 is none */
	uint32_t op;
	/** start when the own core's semaphore is at least @p value; value 0 is no wait */
	struct {
		uint8_t sem;
		uint32_t value;
	} wait[2];
	/** at completion add @p inc to the semaphore of core own + @p core; inc 0 is no signal */
	struct {
		uint8_t sem;
		uint8_t core;
		uint16_t inc;
	} signal[2];
	/** write nothing if SMEM word @p predicate is zero */
	bool predicated;
	uint16_t predicate;
	/** bit i: argument i of the payload is the number of an SMEM word that holds it */
	uint8_t smem_args;
};

/** Append DMA: copy a box, with casts and zero padding. */
VTPU_API void vtpu_emit_copy(struct vtpu_builder *builder, const struct vtpu_emit *emit,
			     const struct vtpu_insn_dma *dma);
/** Append DMA: fill a box with dma->imm. */
VTPU_API void vtpu_emit_fill(struct vtpu_builder *builder, const struct vtpu_emit *emit,
			     const struct vtpu_insn_dma *dma);
/** Append MXU: matrix product with its epilogue. */
VTPU_API void vtpu_emit_matmul(struct vtpu_builder *builder, const struct vtpu_emit *emit,
			       const struct vtpu_insn_mxu *mxu);
/** Append MXU: convolution with its epilogue. Asks for VTPU_CAP_CONV, as the next two. */
VTPU_API void vtpu_emit_conv(struct vtpu_builder *builder, const struct vtpu_emit *emit,
			     const struct vtpu_insn_mxu *mxu);
/** Append MXU: gradient of a convolution's input, from that of its output and the weights. */
VTPU_API void vtpu_emit_conv_dgrad(struct vtpu_builder *builder, const struct vtpu_emit *emit,
				   const struct vtpu_insn_mxu *mxu);
/** Append MXU: gradient of a convolution's weights, from its input and that of its output. */
VTPU_API void vtpu_emit_conv_wgrad(struct vtpu_builder *builder, const struct vtpu_emit *emit,
				   const struct vtpu_insn_mxu *mxu);
/** Append VPU: chain of element-wise operations. */
VTPU_API void vtpu_emit_ew(struct vtpu_builder *builder, const struct vtpu_emit *emit,
			   const struct vtpu_insn_ew *ew);
/** Append VPU: reduction of rows or columns. */
VTPU_API void vtpu_emit_reduce(struct vtpu_builder *builder, const struct vtpu_emit *emit,
			       const struct vtpu_insn_rows *rows);
/** Append VPU: softmax of each row. */
VTPU_API void vtpu_emit_softmax(struct vtpu_builder *builder, const struct vtpu_emit *emit,
				const struct vtpu_insn_rows *rows);
/** Append VPU: number of the largest element of each row. */
VTPU_API void vtpu_emit_argmax(struct vtpu_builder *builder, const struct vtpu_emit *emit,
			       const struct vtpu_insn_rows *rows);
/** Append VPU: maxima or averages of windows. Asks for VTPU_CAP_CONV. */
VTPU_API void vtpu_emit_pool(struct vtpu_builder *builder, const struct vtpu_emit *emit,
			     const struct vtpu_insn_pool *pool);
/** Append VPU: their gradient. Asks for VTPU_CAP_CONV. */
VTPU_API void vtpu_emit_pool_grad(struct vtpu_builder *builder, const struct vtpu_emit *emit,
				  const struct vtpu_insn_pool *pool);
/** Append VPU: cross-entropy of softmax and labels, its gradient, or both. */
VTPU_API void vtpu_emit_softmax_xent(struct vtpu_builder *builder, const struct vtpu_emit *emit,
				     const struct vtpu_insn_xent *xent);
/** Append VPU: a step of an optimiser. */
VTPU_API void vtpu_emit_optimize(struct vtpu_builder *builder, const struct vtpu_emit *emit,
				 const struct vtpu_insn_opt *opt);
/** Append VPU: random numbers by element. */
VTPU_API void vtpu_emit_rng_fill(struct vtpu_builder *builder, const struct vtpu_emit *emit,
				 const struct vtpu_insn_rng *rng);
/**
 * Append ICI: send a box to the VMEM of core own + dma->core. Asks for VTPU_CAP_ICI.
 *
 * Strides of dimension 4 displace the box from core to core; its count is 1.
 */
VTPU_API void vtpu_emit_send(struct vtpu_builder *builder, const struct vtpu_emit *emit,
			     const struct vtpu_insn_dma *dma);
/** Append XLU: transpose. */
VTPU_API void vtpu_emit_transpose(struct vtpu_builder *builder, const struct vtpu_emit *emit,
				  const struct vtpu_insn_rows *rows);
/** Append CTL: nothing but waits and signals. */
VTPU_API void vtpu_emit_nop(struct vtpu_builder *builder, const struct vtpu_emit *emit);
/** Append CTL: end of the CTL queue, with an exit code. */
VTPU_API void vtpu_emit_halt(struct vtpu_builder *builder, const struct vtpu_emit *emit,
			     uint32_t code);
/** Append CTL: the cores of @p mask (bit i: core i) meet. */
VTPU_API void vtpu_emit_barrier(struct vtpu_builder *builder, const struct vtpu_emit *emit,
				uint64_t mask);
/** Append CTL: a point for traces. */
VTPU_API void vtpu_emit_mark(struct vtpu_builder *builder, const struct vtpu_emit *emit,
			     uint32_t value);
/** Append any instruction as it is, to the queue of insn->unit; also one that no device would take. */
VTPU_API void vtpu_emit_raw(struct vtpu_builder *builder, const struct vtpu_insn *insn);

/**
 * Make the image.
 * @param image  the image; free it with vtpu_image_destroy()
 *
 * The builder is left as it was: it may be extended and finished again.
 * @return the first error of any call on this builder, with its sentence
 */
VTPU_API enum vtpu_status vtpu_builder_finish(struct vtpu_builder *builder,
					      struct vtpu_image **image);

#ifdef __cplusplus
}
#endif

#endif /* VTPU_PROGRAM_API_H */
