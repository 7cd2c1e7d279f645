/* SPDX-License-Identifier: MIT */
/*
 * far.h - VMEM that sends reach, where cores differ from each other.
 */
#ifndef VTPU_FAR_H
#define VTPU_FAR_H

#include "hazard_impl.h"

/* VMEM is told apart in granules of this many bytes. */
#define VTPU_FAR_GRANULE 64

/** struct vtpu_far - which VMEM must be looked at core by core */
struct vtpu_far {
	/**
	 * @shared: by granule: some box that touches it meets, maybe through others, one that is not
	 * at the same place on every core or not the core's own. NULL: there are no sends
	 */
	uint8_t *shared;
};

/** vtpu_far_init() - Return: OK, NO_MEMORY or CANCELLED; vtpu_far_free() it whatever the result */
enum vtpu_hw_status vtpu_far_init(struct vtpu_far *far, const struct vtpu_finder *like);
void vtpu_far_free(struct vtpu_far *far);

/** vtpu_far_has() - is a VMEM box one to be looked at core by core? All of it is, or nothing */
static inline bool vtpu_far_has(const struct vtpu_far *far, const struct vtpu_box *box)
{
	return far->shared && far->shared[box->start / VTPU_FAR_GRANULE];
}

/** vtpu_far_find() - add the graph of that VMEM of all cores. Return: OK, NO_MEMORY or CANCELLED */
enum vtpu_hw_status vtpu_far_find(const struct vtpu_far *far, const struct vtpu_finder *like);

#endif /* VTPU_FAR_H */
