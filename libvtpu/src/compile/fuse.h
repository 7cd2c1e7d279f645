/* SPDX-License-Identifier: MIT */
/*
 * fuse.h - what the parts of the fusion pass share.
 */
#ifndef VTPU_SRC_COMPILE_FUSE_H
#define VTPU_SRC_COMPILE_FUSE_H

#include "compile/ir.h"

/** step_place() - index of a step in the list */
size_t step_place(const struct plan *p, const struct step *s);

/** step_replace() - move @s to the place of @there, which is dropped */
void step_replace(struct plan *p, struct step *s, struct step *there);

/** step_depends() - is @v computed from what @on makes? */
bool step_depends(struct plan *p, const struct value *v, const struct step *on);

/** fuse_loss() - loss, gradient and right rows of the same logits as one step (loss.c) */
void fuse_loss(struct plan *p);

#endif /* VTPU_SRC_COMPILE_FUSE_H */
