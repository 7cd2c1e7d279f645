// SPDX-License-Identifier: MIT
/*
 * builder.c - a program under construction: what an image has besides its
 * instructions, and putting the image together. Instructions are emit.c's.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "program/builder.h"
#include "program/image.h"

void vtpu_builder_fail(struct vtpu_builder *b, enum vtpu_status status, const char *fmt, ...)
{
	va_list ap;

	if (b->status)
		return;
	va_start(ap, fmt);
	b->status = vtpu_vfail(status, fmt, ap);
	va_end(ap);
	b->sentence = strdup(vtpu_last_error());
}

/* Room for one more element behind @n; NULL, with the error kept, without memory */
static void *grow(struct vtpu_builder *b, void *array, uint32_t n, uint32_t more, uint32_t *room,
		  size_t size)
{
	uint64_t want = *room ? *room : 16;
	void *bigger;

	if (b->status)
		return NULL;
	if (more <= *room - n)
		return array;
	while (want < (uint64_t)n + more)
		want *= 2;
	bigger = want <= UINT32_MAX ? realloc(array, want * size) : NULL;
	if (!bigger) {
		vtpu_builder_fail(b, VTPU_ERROR_OUT_OF_HOST_MEMORY,
				  "no host memory for a program under construction");
		return NULL;
	}
	*room = want;
	return bigger;
}

/* One more element of an array of the builder; returns whether there is room, which is zeroed. */
#define GROW(b, array, n, room) \
	({ \
		void *grown = grow(b, (b)->array, (b)->n, 1, &(b)->room, sizeof(*(b)->array)); \
		if (grown) { \
			(b)->array = grown; \
			memset(&(b)->array[(b)->n], 0, sizeof(*(b)->array)); \
		} \
		grown; \
	})

enum vtpu_status vtpu_builder_create(uint32_t width, struct vtpu_builder **builder)
{
	struct vtpu_builder *b;

	if (!width || width > VTPU_MAX_CORES)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "program: width is %" PRIu32 "; must be 1..%d", width,
				 VTPU_MAX_CORES);
	b = calloc(1, sizeof(*b));
	if (!b)
		return vtpu_fail_nomem("a program under construction");
	b->width = width;
	*builder = b;
	return VTPU_OK;
}

void vtpu_builder_destroy(struct vtpu_builder *b)
{
	if (!b)
		return;
	for (uint32_t i = 0; i < b->ops; i++)
		free(b->op[i].name);
	for (uint32_t i = 0; i < b->tensors; i++)
		free(b->tensor[i].name);
	for (int u = 0; u < VTPU_UNITS; u++)
		free(b->insn[u]);
	free(b->base);
	free(b->op);
	free(b->tensor);
	free(b->constants);
	free(b->sentence);
	free(b);
}

uint32_t vtpu_builder_base(struct vtpu_builder *b, const struct vtpu_base_desc *desc)
{
	struct vtpu_image_base *base;

	if (strlen(desc->name) >= VTPU_MAX_NAME) {
		vtpu_builder_fail(b, VTPU_ERROR_TOO_LARGE,
				  "base '%s': the name has %zu bytes; at most %d", desc->name,
				  strlen(desc->name), VTPU_MAX_NAME - 1);
		return 0;
	}
	if (b->bases == VTPU_MAX_BASES) {
		vtpu_builder_fail(b, VTPU_ERROR_TOO_LARGE, "base '%s': a program has at most %d",
				  desc->name, VTPU_MAX_BASES);
		return 0;
	}
	if (!GROW(b, base, bases, base_room))
		return 0;
	base = &b->base[b->bases];
	base->extent = desc->extent;
	base->core_stride = desc->core_stride;
	base->align = desc->align ? desc->align : 64;
	base->flags = (desc->readable ? VTPU_BASE_READ : 0) |
		      (desc->writable ? VTPU_BASE_WRITE : 0);
	memcpy(base->name, desc->name, strlen(desc->name));
	return b->bases++;
}

void vtpu_builder_scalars(struct vtpu_builder *b, uint32_t count)
{
	if (count > VTPU_MAX_SCALARS)
		vtpu_builder_fail(b, VTPU_ERROR_TOO_LARGE,
				  "program: %" PRIu32 " scalars; at most %d", count,
				  VTPU_MAX_SCALARS);
	else
		b->scalars = count;
}

void vtpu_builder_caps(struct vtpu_builder *b, uint64_t caps)
{
	b->caps |= caps;
}

void vtpu_builder_op_id(struct vtpu_builder *b, uint32_t id, const char *name)
{
	struct builder_op *op;

	if (!id) {
		vtpu_builder_fail(b, VTPU_ERROR_INVALID_ARGUMENT,
				  "operation '%s': id 0 means none; use 1 or more", name);
		return;
	}
	for (uint32_t i = 0; id <= b->last_op && i < b->ops; i++) {
		if (b->op[i].id == id) {
			vtpu_builder_fail(b, VTPU_ERROR_EXISTS,
					  "operation '%s': id %" PRIu32 " is already that of '%s'",
					  name, id, b->op[i].name);
			return;
		}
	}
	if (!GROW(b, op, ops, op_room))
		return;
	op = &b->op[b->ops];
	op->id = id;
	op->name = strdup(name);
	if (!op->name) {
		vtpu_builder_fail(b, VTPU_ERROR_OUT_OF_HOST_MEMORY,
				  "no host memory for the name '%s'", name);
		return;
	}
	b->ops++;
	if (id > b->last_op)
		b->last_op = id;
}

uint32_t vtpu_builder_op(struct vtpu_builder *b, const char *name)
{
	if (b->last_op == UINT32_MAX) {
		vtpu_builder_fail(b, VTPU_ERROR_TOO_LARGE, "operation '%s': no id above %" PRIu32,
				  name, b->last_op);
		return 0;
	}
	vtpu_builder_op_id(b, b->last_op + 1, name);
	return b->last_op;
}

void vtpu_builder_tensor(struct vtpu_builder *b, uint32_t base, const char *name, uint64_t offset,
			 uint64_t bytes)
{
	struct builder_tensor *t;

	if (base >= b->bases) {
		vtpu_builder_fail(b, VTPU_ERROR_NOT_FOUND,
				  "tensor '%s': base %" PRIu32 " of %" PRIu32, name, base,
				  b->bases);
		return;
	}
	if (!GROW(b, tensor, tensors, tensor_room))
		return;
	t = &b->tensor[b->tensors];
	t->base = base;
	t->order = b->tensors;
	t->offset = offset;
	t->bytes = bytes;
	t->name = strdup(name);
	if (!t->name)
		vtpu_builder_fail(b, VTPU_ERROR_OUT_OF_HOST_MEMORY,
				  "no host memory for the name '%s'", name);
	else
		b->tensors++;
}

void vtpu_builder_append_const(struct vtpu_builder *b, const void *data, size_t bytes)
{
	uint8_t *grown;

	if (bytes > VTPU_MAX_IMAGE_BYTES) {
		vtpu_builder_fail(b, VTPU_ERROR_TOO_LARGE,
				  "program: %zu bytes of constants; an image has at most %u", bytes,
				  VTPU_MAX_IMAGE_BYTES);
		return;
	}
	grown = grow(b, b->constants, b->const_bytes, bytes, &b->const_room, 1);
	if (!grown)
		return;
	b->constants = grown;
	if (data)
		memcpy(b->constants + b->const_bytes, data, bytes);
	else
		memset(b->constants + b->const_bytes, 0, bytes);
	b->const_bytes += bytes;
}

uint64_t vtpu_builder_const(struct vtpu_builder *b, const void *data, size_t bytes)
{
	uint64_t offset;

	vtpu_builder_append_const(b, NULL, -b->const_bytes % 64u);
	offset = b->const_bytes;
	vtpu_builder_append_const(b, data, bytes);
	return offset;
}

uint8_t vtpu_builder_semaphore(struct vtpu_builder *b)
{
	if (b->semaphores > UINT8_MAX) {
		vtpu_builder_fail(b, VTPU_ERROR_TOO_LARGE, "program: more than %d semaphores",
				  UINT8_MAX + 1);
		return 0;
	}
	return b->semaphores++;
}

uint32_t vtpu_builder_vmem(struct vtpu_builder *b, uint64_t bytes, uint32_t align)
{
	uint64_t start = (b->vmem + align - 1) / align * align;

	if (bytes > UINT32_MAX || start + bytes > UINT32_MAX) {
		vtpu_builder_fail(b, VTPU_ERROR_TOO_LARGE,
				  "program: %" PRIu64 " bytes of VMEM and %" PRIu64 " more",
				  b->vmem, bytes);
		return 0;
	}
	b->vmem = start + bytes;
	return start;
}

uint64_t vtpu_builder_vmem_used(const struct vtpu_builder *b)
{
	return b->vmem;
}

void vtpu_builder_append_insn(struct vtpu_builder *b, unsigned int unit,
			      const struct vtpu_insn *insn)
{
	if (unit >= VTPU_UNITS) {
		vtpu_builder_fail(b, VTPU_ERROR_INVALID_ARGUMENT,
				  "instruction: unit is %u; must be below %d", unit, VTPU_UNITS);
		return;
	}
	if (GROW(b, insn[unit], count[unit], insn_room[unit]))
		b->insn[unit][b->count[unit]++] = *insn;
}

void vtpu_emit_raw(struct vtpu_builder *b, const struct vtpu_insn *insn)
{
	vtpu_builder_append_insn(b, insn->unit, insn);
}

/* ---- Putting the image together --------------------------------------------- */

static int by_id(const void *a, const void *b)
{
	const struct builder_op *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int by_place(const void *a, const void *b)
{
	const struct builder_tensor *x = a, *y = b;

	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* An image in memory that grows; without memory @data is NULL and stays so. */
struct writer {
	uint8_t *data;
	uint64_t bytes;
	struct vtpu_image_section *section;
	uint32_t sections;
};

/* Begin a section; its bytes are appended by the caller. */
static void begin(struct writer *w, uint16_t type, uint16_t unit, uint32_t count)
{
	struct vtpu_image_section *s = &w->section[w->sections++];

	w->bytes = (w->bytes + VTPU_IMAGE_ALIGN - 1) / VTPU_IMAGE_ALIGN * VTPU_IMAGE_ALIGN;
	s->type = type;
	s->unit = unit;
	s->count = count;
	s->offset = w->bytes;
}

/* Append; in the first pass, without @data, only count. */
static void append(struct writer *w, const void *data, uint64_t bytes)
{
	struct vtpu_image_section *s = &w->section[w->sections - 1];

	if (w->data && bytes)
		memcpy(w->data + w->bytes, data, bytes);
	w->bytes += bytes;
	s->bytes += bytes;
}

static void write_names(const struct vtpu_builder *b, struct writer *w)
{
	uint64_t name;

	if (b->ops) {
		begin(w, VTPU_SECTION_OPNAMES, 0, b->ops);
		name = b->ops * sizeof(struct vtpu_image_opname);
		for (uint32_t i = 0; i < b->ops; i++) {
			struct vtpu_image_opname op = { .op_id = b->op[i].id, .name = name };

			append(w, &op, sizeof(op));
			name += strlen(b->op[i].name) + 1;
		}
		for (uint32_t i = 0; i < b->ops; i++)
			append(w, b->op[i].name, strlen(b->op[i].name) + 1);
	}
	if (b->tensors) {
		begin(w, VTPU_SECTION_TENSORS, 0, b->tensors);
		name = b->tensors * sizeof(struct vtpu_image_tensor);
		for (uint32_t i = 0; i < b->tensors; i++) {
			struct vtpu_image_tensor t = {
				.base = b->tensor[i].base,
				.name = name,
				.offset = b->tensor[i].offset,
				.bytes = b->tensor[i].bytes,
			};

			append(w, &t, sizeof(t));
			name += strlen(b->tensor[i].name) + 1;
		}
		for (uint32_t i = 0; i < b->tensors; i++)
			append(w, b->tensor[i].name, strlen(b->tensor[i].name) + 1);
	}
}

static void write_sections(const struct vtpu_builder *b, struct writer *w, uint32_t sections)
{
	w->sections = 0;
	w->bytes = sizeof(struct vtpu_image_header) + sections * sizeof(*w->section);
	if (b->bases) {
		begin(w, VTPU_SECTION_BASES, 0, b->bases);
		append(w, b->base, b->bases * sizeof(*b->base));
	}
	for (int u = 0; u < VTPU_UNITS; u++) {
		if (!b->count[u])
			continue;
		begin(w, VTPU_SECTION_QUEUE, u, b->count[u]);
		append(w, b->insn[u], b->count[u] * (uint64_t)sizeof(*b->insn[u]));
	}
	write_names(b, w);
	if (b->const_bytes) {
		begin(w, VTPU_SECTION_CONST, 0, b->const_bytes);
		append(w, b->constants, b->const_bytes);
	}
	w->bytes = (w->bytes + VTPU_IMAGE_ALIGN - 1) / VTPU_IMAGE_ALIGN * VTPU_IMAGE_ALIGN;
}

enum vtpu_status vtpu_builder_finish(struct vtpu_builder *b, struct vtpu_image **image)
{
	struct vtpu_image_section section[VTPU_SECTION_CONST + VTPU_UNITS] = { 0 };
	struct writer w = { .section = section };
	struct vtpu_image_header *h;
	uint32_t sections;
	uint64_t bytes;

	if (b->status && b->sentence)
		return vtpu_fail(b->status, "%s", b->sentence);
	if (b->status)
		return vtpu_fail_nomem("a program under construction");
	if (b->ops)
		qsort(b->op, b->ops, sizeof(*b->op), by_id);
	if (b->tensors)
		qsort(b->tensor, b->tensors, sizeof(*b->tensor), by_place);
	write_sections(b, &w, 0); /* how many sections */
	sections = w.sections;
	write_sections(b, &w, sections); /* how many bytes */
	bytes = w.bytes;
	if (bytes > VTPU_MAX_IMAGE_BYTES)
		return vtpu_fail(VTPU_ERROR_TOO_LARGE,
				 "program: the image has %" PRIu64 " bytes; at most %u", bytes,
				 VTPU_MAX_IMAGE_BYTES);
	w.data = calloc(1, bytes);
	if (!w.data)
		return vtpu_fail_nomem("a program image");
	memset(section, 0, sizeof(section));
	write_sections(b, &w, sections);
	h = (struct vtpu_image_header *)w.data;
	h->magic = VTPU_IMAGE_MAGIC;
	h->version = VTPU_ISA_VERSION;
	h->bytes = bytes;
	h->width = b->width;
	h->caps = b->caps;
	h->nsections = sections;
	h->nscalars = b->scalars;
	memcpy(w.data + sizeof(*h), section, sections * sizeof(*section));
	h->crc32c = vtpu_image_crc32c(w.data, bytes);
	return vtpu_image_adopt(w.data, bytes, image);
}
