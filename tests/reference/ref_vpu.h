/* SPDX-License-Identifier: MIT */
/*
 * ref_vpu.h - pooling, cross-entropy and optimisers in double precision, with a bound on the
 * device's error; see ref_ops.h. For ordinary numbers: not NaN, not infinite.
 */
#ifndef TESTS_REFERENCE_REF_VPU_H
#define TESTS_REFERENCE_REF_VPU_H

#include "ref_ops.h"

/** ref_pool() - all outputs of a POOL */
void ref_pool(const struct vtpu_insn_pool *x, const uint8_t *vmem, struct ref *out);

/** ref_pool_grad() - all results of a POOL_GRAD */
void ref_pool_grad(const struct vtpu_insn_pool *x, const uint8_t *vmem, struct ref *out);

/** ref_xent() - loss of a row of a SOFTMAX_XENT, and its gradient [cols] */
struct ref ref_xent(const struct vtpu_insn_xent *x, const uint8_t *vmem, uint32_t row,
		    struct ref *grad);

/** ref_opt() - parameter @i after an OPTIMIZE, and its moments in @m and @v */
struct ref ref_opt(const struct vtpu_insn_opt *x, const uint8_t *vmem, uint32_t i, struct ref *m,
		   struct ref *v);

#endif /* TESTS_REFERENCE_REF_VPU_H */
