/* SPDX-License-Identifier: MIT */
/*
 * builder.h - a program under construction, as the other files of this folder
 * see it.
 */
#ifndef VTPU_SRC_PROGRAM_BUILDER_H
#define VTPU_SRC_PROGRAM_BUILDER_H

#include <vtpu/program.h>

#include "core/error.h"
#include "vtpu_hw.h"

/** struct builder_op - a named operation */
struct builder_op {
	uint32_t id;
	char *name;
};

/** struct builder_tensor - a named range */
struct builder_tensor {
	uint32_t base;
	uint32_t order; /* of the calls, which decides between equals */
	uint64_t offset;
	uint64_t bytes;
	char *name;
};

/** struct vtpu_builder - everything that goes into the image, in growing arrays */
struct vtpu_builder {
	uint32_t width;
	uint32_t scalars;
	uint64_t caps;
	struct vtpu_image_base *base;
	uint32_t bases, base_room;
	struct vtpu_insn *insn[VTPU_UNITS];
	uint32_t count[VTPU_UNITS], insn_room[VTPU_UNITS];
	struct builder_op *op;
	uint32_t ops, op_room, last_op;
	struct builder_tensor *tensor;
	uint32_t tensors, tensor_room;
	uint8_t *constants;
	uint32_t const_bytes, const_room;
	uint32_t semaphores;
	uint64_t vmem;

	enum vtpu_status status; /* the first error */
	char *sentence;		 /* its sentence, or NULL without memory for that */
};

/** vtpu_builder_fail() - keep an error, unless there is one already */
void vtpu_builder_fail(struct vtpu_builder *builder, enum vtpu_status status, const char *fmt, ...)
	VTPU_PRINTF(3, 4);

/** vtpu_builder_append_insn() - append to the queue of @unit, whatever the instruction says */
void vtpu_builder_append_insn(struct vtpu_builder *builder, unsigned int unit,
			      const struct vtpu_insn *insn);

/** vtpu_builder_append_const() - append bytes to the constants without alignment */
void vtpu_builder_append_const(struct vtpu_builder *builder, const void *data, size_t bytes);

#endif /* VTPU_SRC_PROGRAM_BUILDER_H */
