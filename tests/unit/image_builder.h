/* SPDX-License-Identifier: MIT */
/*
 * image_builder.h - program images for tests, in a few lines each.
 *
 *	struct image_builder b;
 *	struct vtpu_insn *insn;
 *
 *	ib_begin(&b, 1);
 *	ib_base(&b, "in", 4096, 0, VTPU_BASE_READ);
 *	insn = ib_copy(&b, VTPU_ADDR(VTPU_SPACE_HBM, 0, 0), VTPU_ADDR(VTPU_SPACE_VMEM, 0, 0),
 *		       VTPU_TYPE_F32, 1024);
 *	ib_signal(insn, 0, 0, 1);
 *	insn = ib_insn(&b, VTPU_OP_MATMUL);
 *	ib_wait(insn, 0, 1);
 *	...
 *	image = ib_finish(&b, &bytes);		(free() it)
 *
 * Out of memory ends the program: these are tests.
 */
#ifndef TESTS_UNIT_IMAGE_BUILDER_H
#define TESTS_UNIT_IMAGE_BUILDER_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "vtpu_hw.h"

/** IB_MAX_2X2 - fields of struct vtpu_insn_pool: the maximum of 2 x 2, and where it was */
#define IB_MAX_2X2 \
	.ker_h = 2, .ker_w = 2, .stride_h = 2, .stride_w = 2, .type = VTPU_TYPE_F32, \
	.op = VTPU_POOL_MAX, .mode = VTPU_POOL_INDEX

/** IB_WINDOW_3X3 - fields of struct vtpu_insn_mxu: 3 x 3 taps side by side */
#define IB_WINDOW_3X3 .ker_h = 3, .ker_w = 3, .stride_h = 1, .stride_w = 1, .dil_h = 1, .dil_w = 1

/** struct image_builder - an image that is being put together; fields may be set between begin and finish */
struct image_builder {
	uint32_t width, nscalars, nbases;
	uint64_t caps;
	struct vtpu_image_base base[VTPU_MAX_BASES];
	struct {
		struct vtpu_insn *insn;
		uint32_t count, room;
	} queue[VTPU_UNITS];
	const void *constants;
	uint32_t const_bytes;
};

static inline void *ib_check(void *memory)
{
	if (!memory) {
		fprintf(stderr, "image_builder: out of memory\n");
		exit(1);
	}
	return memory;
}

static inline void ib_begin(struct image_builder *b, uint32_t width)
{
	memset(b, 0, sizeof(*b));
	b->width = width;
}

/** ib_base() - add a base register. Return: its number */
static inline uint32_t ib_base(struct image_builder *b, const char *name, uint64_t extent,
			       uint64_t core_stride, uint32_t flags)
{
	struct vtpu_image_base *base = &b->base[b->nbases];

	base->extent = extent;
	base->core_stride = core_stride;
	base->align = 64;
	base->flags = flags;
	snprintf(base->name, sizeof(base->name), "%s", name);
	return b->nbases++;
}

/** ib_unit() - the unit that an opcode runs on: the opcode's high digit says it */
static inline uint8_t ib_unit(uint8_t opcode)
{
	return opcode >> 4;
}

/** ib_insn() - append a zeroed instruction; the pointer is good until the next one of its unit */
static inline struct vtpu_insn *ib_insn(struct image_builder *b, uint8_t opcode)
{
	uint8_t unit = ib_unit(opcode);
	struct vtpu_insn *insn;

	if (b->queue[unit].count == b->queue[unit].room) {
		b->queue[unit].room = b->queue[unit].room ? 2 * b->queue[unit].room : 64;
		b->queue[unit].insn = ib_check(
			realloc(b->queue[unit].insn, (size_t)b->queue[unit].room * sizeof(*insn)));
	}
	insn = &b->queue[unit].insn[b->queue[unit].count++];
	memset(insn, 0, sizeof(*insn));
	insn->opcode = opcode;
	insn->unit = unit;
	insn->op_id = opcode;
	return insn;
}

/** ib_wait() - add a wait (two at most) */
static inline void ib_wait(struct vtpu_insn *insn, uint8_t sem, uint32_t value)
{
	int slot = insn->flags & VTPU_INSN_WAIT0 ? 1 : 0;

	insn->flags |= slot ? VTPU_INSN_WAIT1 : VTPU_INSN_WAIT0;
	insn->wait[slot].sem = sem;
	insn->wait[slot].value = value;
}

/** ib_signal() - add a signal (two at most) to the core @core after the own one */
static inline void ib_signal(struct vtpu_insn *insn, uint8_t sem, uint8_t core, uint16_t inc)
{
	int slot = insn->flags & VTPU_INSN_SIGNAL0 ? 1 : 0;

	insn->flags |= slot ? VTPU_INSN_SIGNAL1 : VTPU_INSN_SIGNAL0;
	insn->signal[slot].sem = sem;
	insn->signal[slot].core = core;
	insn->signal[slot].inc = inc;
}

/** ib_type_bytes() - bytes of an element */
static inline uint32_t ib_type_bytes(uint8_t type)
{
	return type == VTPU_TYPE_F32 || type == VTPU_TYPE_S32 ? 4 : type == VTPU_TYPE_BF16 ? 2 : 1;
}

/** ib_copy2d() - append a COPY of @rows rows of @cols elements; pitches in bytes */
static inline struct vtpu_insn *ib_copy2d(struct image_builder *b, uint64_t src, uint64_t dst,
					  uint8_t src_type, uint8_t dst_type, uint32_t rows,
					  uint32_t cols, int32_t src_pitch, int32_t dst_pitch)
{
	struct vtpu_insn *insn = ib_insn(b, VTPU_OP_COPY);
	struct vtpu_insn_dma *dma = &insn->payload.dma;

	dma->src = src;
	dma->dst = dst;
	dma->src_type = src_type;
	dma->dst_type = dst_type;
	dma->ndim = 2;
	dma->count[0] = cols;
	dma->count[1] = rows;
	for (int d = 2; d < 5; d++)
		dma->count[d] = 1;
	dma->src_stride[0] = ib_type_bytes(src_type);
	dma->dst_stride[0] = ib_type_bytes(dst_type);
	dma->src_stride[1] = src_pitch;
	dma->dst_stride[1] = dst_pitch;
	return insn;
}

/** ib_copy() - append a COPY of @count contiguous elements */
static inline struct vtpu_insn *ib_copy(struct image_builder *b, uint64_t src, uint64_t dst,
					uint8_t type, uint32_t count)
{
	struct vtpu_insn *insn = ib_copy2d(b, src, dst, type, type, 1, count, 0, 0);

	insn->payload.dma.ndim = 1;
	return insn;
}

/** ib_matmul() - append d[m,n] = a[m,k] * b[k,n], dense rows; add modes and epilogue to the result */
static inline struct vtpu_insn *ib_matmul(struct image_builder *b, uint32_t a, uint32_t bb,
					  uint32_t d, uint8_t type, uint8_t d_type, uint32_t m,
					  uint32_t n, uint32_t k)
{
	struct vtpu_insn *insn = ib_insn(b, VTPU_OP_MATMUL);
	struct vtpu_insn_mxu *mxu = &insn->payload.mxu;

	mxu->a = a;
	mxu->b = bb;
	mxu->d = d;
	mxu->a_type = type;
	mxu->b_type = type;
	mxu->d_type = d_type;
	mxu->m = m;
	mxu->n = n;
	mxu->k = k;
	mxu->g = 1;
	mxu->lda = k * ib_type_bytes(type);
	mxu->ldb = n * ib_type_bytes(type);
	mxu->ldd = n * ib_type_bytes(d_type);
	return insn;
}

/** ib_seal() - give a changed image its right checksum */
static inline void ib_seal(void *image, size_t bytes)
{
	((struct vtpu_image_header *)image)->crc32c = vtpu_image_crc32c(image, bytes);
}

static inline uint64_t ib_align(uint64_t offset)
{
	return (offset + VTPU_IMAGE_ALIGN - 1) / VTPU_IMAGE_ALIGN * VTPU_IMAGE_ALIGN;
}

/** ib_finish() - put the image together and free the builder's memory. Return: image of *@bytes, to free() */
static inline void *ib_finish(struct image_builder *b, size_t *bytes)
{
	struct vtpu_image_section section[2 + VTPU_UNITS] = { 0 };
	const void *data[2 + VTPU_UNITS];
	struct vtpu_image_header *h;
	uint32_t n = 0;
	uint64_t end;
	uint8_t *image;

	if (b->nbases) {
		section[n].type = VTPU_SECTION_BASES;
		section[n].count = b->nbases;
		section[n].bytes = b->nbases * sizeof(struct vtpu_image_base);
		data[n++] = b->base;
	}
	for (int u = 0; u < VTPU_UNITS; u++) {
		if (!b->queue[u].count)
			continue;
		section[n].type = VTPU_SECTION_QUEUE;
		section[n].unit = u;
		section[n].count = b->queue[u].count;
		section[n].bytes = (uint64_t)b->queue[u].count * sizeof(struct vtpu_insn);
		data[n++] = b->queue[u].insn;
	}
	if (b->const_bytes) {
		section[n].type = VTPU_SECTION_CONST;
		section[n].count = b->const_bytes;
		section[n].bytes = b->const_bytes;
		data[n++] = b->constants;
	}
	end = ib_align(sizeof(*h) + n * sizeof(section[0]));
	for (uint32_t s = 0; s < n; s++) {
		section[s].offset = end;
		end = ib_align(end + section[s].bytes);
	}
	image = ib_check(calloc(1, end));
	h = (struct vtpu_image_header *)image;
	h->magic = VTPU_IMAGE_MAGIC;
	h->version = VTPU_ISA_VERSION;
	h->bytes = end;
	h->width = b->width;
	h->caps = b->caps;
	h->nsections = n;
	h->nscalars = b->nscalars;
	memcpy(image + sizeof(*h), section, n * sizeof(section[0]));
	for (uint32_t s = 0; s < n; s++)
		memcpy(image + section[s].offset, data[s], section[s].bytes);
	ib_seal(image, end);
	for (int u = 0; u < VTPU_UNITS; u++)
		free(b->queue[u].insn);
	memset(b, 0, sizeof(*b));
	*bytes = end;
	return image;
}

#endif /* TESTS_UNIT_IMAGE_BUILDER_H */
