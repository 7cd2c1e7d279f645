/* SPDX-License-Identifier: MIT */
/*
 * box.h - the bytes that an operand touches: equal runs at regular distances.
 */
#ifndef VTPU_BOX_H
#define VTPU_BOX_H

#include <stdbool.h>
#include <stdint.h>

#define VTPU_BOX_DIMS 5

/**
 * struct vtpu_box - an access of one instruction, all in one space of its own core
 *
 * Byte x is touched when x = @start + r + the sum of k[d] * @stride[d], with
 * 0 <= r < @run and 0 <= k[d] < @count[d]. Normal form: every count is at
 * least 2, strides ascend and are above @run, so that @ndim is 0 exactly when
 * all bytes from @start to @end are touched.
 */
struct vtpu_box {
	/** @start: lowest byte; below zero only before the loader's check */
	int64_t start;
	/** @end: highest byte plus 1 */
	int64_t end;
	/** @run: bytes of a run */
	uint64_t run;
	uint32_t stride[VTPU_BOX_DIMS];
	uint32_t count[VTPU_BOX_DIMS];
	uint8_t ndim;
	/** @space: enum vtpu_space */
	uint8_t space;
	/** @base: HBM: base register */
	uint8_t base;
	/** @element: bytes of an element */
	uint8_t element;
	bool write;
	/** @in_place: a write of the same instruction may have exactly this box */
	bool in_place;
	/** @field: offset of the operand's address in the instruction */
	uint16_t field;
};

/** enum vtpu_overlap - may two boxes share a byte? */
enum vtpu_overlap {
	VTPU_OVERLAP_NO,
	VTPU_OVERLAP_YES,
	VTPU_OVERLAP_UNDECIDED, /* too many combinations to try */
};

/**
 * vtpu_box_shape() - set @box's bytes from a walk over dimensions in any order
 * @addr: address of the first element
 * @element: bytes of an element
 * @ndim: dimensions, at most VTPU_BOX_DIMS
 * @count: elements of each, 1..2^28+510
 * @stride: bytes from one to the next of each
 */
void vtpu_box_shape(struct vtpu_box *box, int64_t addr, uint32_t element, unsigned int ndim,
		    const uint32_t *count, const int64_t *stride);

/** vtpu_box_overlap() - do the bytes of two boxes of one space meet? Exact when their strides are the same */
enum vtpu_overlap vtpu_box_overlap(const struct vtpu_box *a, const struct vtpu_box *b);

/** vtpu_box_contains() - does @a surely touch every byte of @b? */
bool vtpu_box_contains(const struct vtpu_box *a, const struct vtpu_box *b);

/** vtpu_box_same() - the same bytes, element by element? */
bool vtpu_box_same(const struct vtpu_box *a, const struct vtpu_box *b);

#endif /* VTPU_BOX_H */
