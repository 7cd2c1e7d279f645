/* SPDX-License-Identifier: MIT */
/*
 * avx512.c - the kernels of body.h, for AVX-512F.
 */
#include "kernels/vec_avx512.h"

#include "kernels/body.h"
