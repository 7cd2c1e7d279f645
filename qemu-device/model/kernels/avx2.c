/* SPDX-License-Identifier: MIT */
/*
 * avx2.c - the kernels of body.h, for AVX2 with FMA.
 */
#include "kernels/vec_avx2.h"

#include "kernels/body.h"
