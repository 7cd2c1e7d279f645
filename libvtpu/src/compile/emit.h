/* SPDX-License-Identifier: MIT */
/*
 * emit.h - from steps to instructions.
 */
#ifndef VTPU_SRC_COMPILE_EMIT_H
#define VTPU_SRC_COMPILE_EMIT_H

#include "compile/layout.h"
#include "compile/sync.h"

#define EMIT_LINE 64

/** struct exchange - partial values that are added over the cores together */
struct exchange {
	uint32_t region; /* that makes them */
	uint32_t bucket; /* LAYOUT_NONE: plain sums, which all cores get */
	bool direct;	 /* gradients go from the accumulators to their owners */
	uint32_t left;	 /* emission: values of the last tile that are not there yet */
	bool sent, finished;
	uint32_t arrival;		      /* emission: exchange of struct sync */
	uint64_t bytes;			      /* of all values */
	uint64_t share;			      /* bucket: of a core */
	struct value *partial;		      /* areas: what this core summed */
	struct value *received;		      /* from all cores, by sender */
	struct value *sum;		      /* bucket: of the own share */
	struct value *image;		      /* bucket: parameters */
	struct value *own;		      /* bucket: own share of them */
	struct value *moment[LAYOUT_MOMENTS]; /* bucket: of the own share */
	struct value *gathered;		      /* bucket: parameters after the step */
	struct step *update;		      /* bucket: one of its steps, which are alike */
	uint32_t updates;
	uint32_t moment_base[LAYOUT_MOMENTS]; /* base registers */
};

/** struct emitter - a program under way */
struct emitter {
	struct plan *plan;
	struct sync sync;
	struct exchange *exchange;
	uint32_t exchanges;
	uint32_t *tiles; /* images of a tile, for each region */
	uint32_t base_params, base_states, base_temp;
	/* where emission is */
	uint32_t region, tile, first, images; /* @images from image @first of the core */
	uint64_t vmem;			      /* planned */
};

/** emit_areas() - decide who exchanges what, and make the areas (exchange.c) */
bool emit_areas(struct emitter *e);

/** emit_place() - give all values their addresses; false without an error if they do not fit (place.c) */
bool emit_place(struct emitter *e, const char **largest, uint64_t *bytes);

/** emit_program() - record all instructions (emit.c) */
bool emit_program(struct emitter *e);

/** emit_step() - record a step for the present tile, or once (steps.c) */
bool emit_step(struct emitter *e, const struct step *s);

/** emit_whole() - record a step that is not on the batch, once, and what it needs */
bool emit_whole(struct emitter *e, struct step *s);

/** emit_mxu(), emit_dma_step() - steps of these units (emit_mxu.c, emit_dma.c) */
bool emit_mxu(struct emitter *e, const struct step *s);
bool emit_dma_step(struct emitter *e, const struct step *s);

/** emit_add() - record an instruction of a step */
bool emit_add(struct emitter *e, const struct step *s, struct vtpu_insn *insn);

/** emit_address() - where a value is, for the present tile */
uint32_t emit_address(const struct emitter *e, const struct value *v);

/** emit_elements() - elements of a value that the present tile has */
static inline uint64_t emit_elements(const struct emitter *e, const struct value *v)
{
	return v->class == VALUE_BATCH ? value_count(v) * e->images : value_count(v);
}

/** emit_pitch() - bytes from one element to the next */
static inline uint32_t emit_pitch(const struct value *v)
{
	return v->pair ? 8 : vtpu_dtype_bytes(v->type);
}

/** EMIT_WINDOW() - the fields of windows @w over @in that convolutions and pools have both */
#define EMIT_WINDOW(w, in) \
	.in_h = (uint16_t)(in)->box[0], .in_w = (uint16_t)(in)->box[1], \
	.ker_h = (uint8_t)(w)->ker[0], .ker_w = (uint8_t)(w)->ker[1], \
	.stride_h = (uint8_t)(w)->stride[0], .stride_w = (uint8_t)(w)->stride[1], \
	.pad_top = (uint8_t)(w)->before[0], .pad_left = (uint8_t)(w)->before[1]

/** emit_touch() - the next instruction reads or writes all of a value that the present tile has */
void emit_touch(struct emitter *e, const struct value *v, bool write);

/** emit_matrix() - @count elements as rows and columns that fill registers well */
void emit_matrix(const struct vtpu_hw_geometry *g, uint64_t count, uint32_t *rows, uint32_t *cols);

/** emit_ready() - load what a step needs from HBM, unless it is there (emit_dma.c) */
bool emit_ready(struct emitter *e, const struct step *s);

/** emit_source() - load a whole value from HBM, unless it is there */
bool emit_source(struct emitter *e, struct value *v);

/** emit_copy() - record a copy of @count contiguous elements */
bool emit_copy(struct emitter *e, const struct step *s, uint64_t dst, uint8_t dst_type,
	       uint64_t src, uint8_t src_type, uint64_t count);

/** exchange_begin() - nothing is there yet */
void exchange_begin(struct emitter *e);

/** exchange_made() - a step of the last tile of its region has made a value */
bool exchange_made(struct emitter *e, const struct value *v);

/** exchange_complete() - a partial value is to be used: finish its exchange */
bool exchange_complete(struct emitter *e, const struct value *v);

/** exchange_region() - the region has ended: finish its buckets */
bool exchange_region(struct emitter *e);

/** exchange_update() - an UPDATE step on gradients that are whole */
bool exchange_update(struct emitter *e, const struct step *s);

/** exchange_image() - load the parameters of a bucket, unless they are there */
bool exchange_image(struct emitter *e, struct exchange *x);

/** exchange_of() - the exchange of a bucket that this program updates, or NULL */
struct exchange *exchange_of(struct emitter *e, uint32_t bucket);

/** emit_free() - give memory back */
void emit_free(struct emitter *e);

#endif /* VTPU_SRC_COMPILE_EMIT_H */
