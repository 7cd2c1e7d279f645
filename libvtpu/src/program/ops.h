/* SPDX-License-Identifier: MIT */
/*
 * ops.h - what the ready-made operations have in common.
 */
#ifndef VTPU_SRC_PROGRAM_OPS_H
#define VTPU_SRC_PROGRAM_OPS_H

#include <vtpu/ops.h>

/** ops_type() - check an element type and resolve the default; @u8: may it be u8? */
enum vtpu_status ops_type(const char *what, enum vtpu_dtype type, bool u8, uint8_t *out);

/** ops_gang() - check device and width, and deal @m rows to cores */
enum vtpu_status ops_gang(const char *what, const struct vtpu_hw_geometry *geometry,
			  uint32_t *width, uint64_t m, uint64_t *rows);

/** ops_base() - add a base that is one tensor; @split: each core has its own, else all share it */
uint32_t ops_base(struct vtpu_builder *b, const char *name, uint64_t bytes, bool split,
		  bool writable);

#endif /* VTPU_SRC_PROGRAM_OPS_H */
