/* SPDX-License-Identifier: MIT */
/**
 * @file dtype.h
 * Element types of tensors, in graphs and in ready-made programs.
 */
#ifndef VTPU_DTYPE_H
#define VTPU_DTYPE_H

#include <vtpu/core.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Element types of tensors. */
enum vtpu_dtype {
	VTPU_DTYPE_DEFAULT = 0, /**< f32 */
	VTPU_DTYPE_U8 = 1,
	VTPU_DTYPE_S8 = 2,
	VTPU_DTYPE_S32 = 3,
	VTPU_DTYPE_BF16 = 4,
	VTPU_DTYPE_F32 = 5,
};

/** Bytes of an element; 0 for values that are no type. */
VTPU_API uint32_t vtpu_dtype_bytes(enum vtpu_dtype type);

/** Name of a type: "f32". */
VTPU_API const char *vtpu_dtype_name(enum vtpu_dtype type);

#ifdef __cplusplus
}
#endif

#endif /* VTPU_DTYPE_H */
