/* SPDX-License-Identifier: MIT */
/*
 * scalar.c - the kernels of body.h, one lane wide: the oracle for the others.
 */
#include "kernels/vec_scalar.h"

#include "kernels/body.h"
