/* SPDX-License-Identifier: MIT */
/*
 * types.h - element types: their sizes, and the sets that fields of instructions allow.
 */
#ifndef VTPU_TYPES_H
#define VTPU_TYPES_H

#include <stdint.h>

#include "vtpu_hw.h"

/** vtpu_type_bytes() - bytes of an element; 0 for what is no type */
static inline uint32_t vtpu_type_bytes(uint32_t type)
{
	switch (type) {
	case VTPU_TYPE_F32:
	case VTPU_TYPE_S32:
		return 4;
	case VTPU_TYPE_BF16:
		return 2;
	case VTPU_TYPE_U8:
	case VTPU_TYPE_S8:
	case VTPU_TYPE_F8E4M3:
	case VTPU_TYPE_F8E5M2:
		return 1;
	default:
		return 0;
	}
}

/* Sets, as bits */
#define VTPU_TYPE_BIT(type) (1u << VTPU_TYPE_##type)
#define VTPU_TYPES_FLOAT    (VTPU_TYPE_BIT(F32) | VTPU_TYPE_BIT(BF16))
#define VTPU_TYPES_EW	    (VTPU_TYPES_FLOAT | VTPU_TYPE_BIT(U8))
#define VTPU_TYPES_COPY	    (VTPU_TYPES_EW | VTPU_TYPE_BIT(S8) | VTPU_TYPE_BIT(S32))

#endif /* VTPU_TYPES_H */
