/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * vtpu_isa.h - program images: sections, bases, types, addresses.
 *
 * The part of the hardware contract that a compiler writes and the device's
 * loader reads; the instructions are in vtpu_insn.h. Included by vtpu_hw.h;
 * queue entries and registers are there.
 */
#ifndef _UAPI_VTPU_ISA_H_
#define _UAPI_VTPU_ISA_H_

#include <linux/types.h>

#include "vtpu_load.h"

/* ---- Image -------------------------------------------------------------- */

/*
 * An image is a header, a section table right behind it, and sections: sorted
 * by offset, 64-byte aligned, not overlapping, inside the image, none unknown,
 * zero bytes between them. At most one section of each type and unit.
 */

#define VTPU_IMAGE_MAGIC     0x49505456 /* "VTPI" */
#define VTPU_ISA_VERSION     1
#define VTPU_IMAGE_ALIGN     64
#define VTPU_MAX_IMAGE_BYTES (1u << 28)
#define VTPU_MAX_BASES	     255
#define VTPU_MAX_SCALARS     256
#define VTPU_MAX_NAME	     40 /* bytes of a base name, NUL included */

/** struct vtpu_image_header - the first 64 bytes */
struct vtpu_image_header {
	/** @magic: %VTPU_IMAGE_MAGIC */
	__u32 magic;
	/** @version: %VTPU_ISA_VERSION */
	__u32 version;
	/** @bytes: of the whole image, a multiple of %VTPU_IMAGE_ALIGN */
	__u64 bytes;
	/** @crc32c: CRC-32C (Castagnoli) of the image with this field zero */
	__u32 crc32c;
	/** @width: cores of the gang, 1..64 */
	__u32 width;
	/** @caps: VTPU_CAP_* that it needs */
	__u64 caps;
	/** @nsections: entries of the section table */
	__u32 nsections;
	/** @nscalars: scalar arguments, at most %VTPU_MAX_SCALARS */
	__u32 nscalars;
	/** @rsvd: zero */
	__u64 rsvd[3];
};

/** struct vtpu_image_section - an entry of the section table */
struct vtpu_image_section {
	/** @type: enum vtpu_section_type */
	__u16 type;
	/** @unit: QUEUE: enum vtpu_unit; else zero */
	__u16 unit;
	/** @count: elements of the section's array */
	__u32 count;
	/** @offset: from the start of the image */
	__u64 offset;
	/** @bytes: array plus, for tables with names, the names */
	__u64 bytes;
	/** @rsvd: zero */
	__u64 rsvd;
};

/** enum vtpu_section_type - what a section holds */
enum vtpu_section_type {
	/** @VTPU_SECTION_BASES: struct vtpu_image_base[], base 0 first */
	VTPU_SECTION_BASES = 1,
	/**
	 * @VTPU_SECTION_QUEUE: struct vtpu_insn[] of one unit, in order; the same text on every
	 * core
	 */
	VTPU_SECTION_QUEUE = 2,
	/** @VTPU_SECTION_OPNAMES: struct vtpu_image_opname[] sorted by op id, then the names */
	VTPU_SECTION_OPNAMES = 3,
	/**
	 * @VTPU_SECTION_TENSORS: struct vtpu_image_tensor[] sorted by base and offset, then the
	 * names
	 */
	VTPU_SECTION_TENSORS = 4,
	/** @VTPU_SECTION_CONST: bytes that DMA may read as base %VTPU_BASE_CONST */
	VTPU_SECTION_CONST = 5,
};

/** struct vtpu_image_base - a base register: an arena in HBM, bound by each job */
struct vtpu_image_base {
	/** @extent: bytes that each core may reach, at least 1, below 2^40 */
	__u64 extent;
	/**
	 * @core_stride: from one core's bytes to the next's. 0: all cores share
	 * them, and the base is read-only when the gang is wider than 1. Else at
	 * least @extent. The whole range is (width - 1) * @core_stride + @extent.
	 */
	__u64 core_stride;
	/** @align: power of two, 64..2 MiB, that the bound address must have */
	__u32 align;
	/** @flags: VTPU_BASE_* */
	__u32 flags;
	/** @name: for reports, NUL-terminated, rest zero */
	char name[VTPU_MAX_NAME];
};

#define VTPU_BASE_READ	(1u << 0)
#define VTPU_BASE_WRITE (1u << 1)
#define VTPU_BASE_FLAGS (VTPU_BASE_READ | VTPU_BASE_WRITE)

/** struct vtpu_image_opname - name of an operation */
struct vtpu_image_opname {
	/** @op_id: as instructions carry it */
	__u32 op_id;
	/** @name: offset of the NUL-terminated name from the section's start */
	__u32 name;
};

/** struct vtpu_image_tensor - name of a byte range of a base */
struct vtpu_image_tensor {
	/** @base: index into the bases */
	__u32 base;
	/** @name: offset of the NUL-terminated name from the section's start */
	__u32 name;
	/** @offset: from the base */
	__u64 offset;
	/** @bytes: length */
	__u64 bytes;
};

/* ---- Units, types, addresses -------------------------------------------- */

/** enum vtpu_unit - the in-order instruction queues of a core */
enum vtpu_unit {
	VTPU_UNIT_CTL = 0, /* barriers, marks, end */
	VTPU_UNIT_DMA = 1, /* HBM <-> VMEM, VMEM <-> SMEM, fill, gather */
	VTPU_UNIT_MXU = 2, /* matrix products and their epilogue */
	VTPU_UNIT_VPU = 3, /* element-wise chains, reductions, softmax */
	VTPU_UNIT_XLU = 4, /* transpose, permute, sort */
	VTPU_UNIT_ICI = 5, /* sends to other cores of the gang */
	VTPU_UNITS = 6,
};

/** enum vtpu_type - element types; 0 where an instruction has none */
enum vtpu_type {
	VTPU_TYPE_U8 = 1,
	VTPU_TYPE_S8 = 2,
	VTPU_TYPE_S32 = 3,
	VTPU_TYPE_BF16 = 4,
	VTPU_TYPE_F32 = 5,
	VTPU_TYPE_F8E4M3 = 6, /* reserved */
	VTPU_TYPE_F8E5M2 = 7, /* reserved */
};

/** enum vtpu_space - where an address of a DMA points */
enum vtpu_space {
	VTPU_SPACE_VMEM = 0,
	VTPU_SPACE_HBM = 1,
	VTPU_SPACE_SMEM = 2,
};

/*
 * DMA, ICI and gather addresses are 64-bit words: base register in bits
 * 56..63 (HBM only), space in 48..55, offset in 0..39, the rest zero.
 * An HBM address is base.va + core * base.core_stride + offset. All other
 * instructions carry plain 32-bit VMEM byte addresses.
 */
#define VTPU_ADDR(space, base, offset) \
	((__u64)(base) << 56 | (__u64)(space) << 48 | (__u64)(offset))
#define VTPU_ADDR_BASE(a)   ((__u32)((a) >> 56))
#define VTPU_ADDR_SPACE(a)  ((__u32)((a) >> 48 & 0xff))
#define VTPU_ADDR_OFFSET(a) ((a)&0xffffffffffULL)
#define VTPU_ADDR_RSVD	    0x0000ff0000000000ULL

#define VTPU_BASE_CONST 255 /* the image's CONST section, read-only */

#include "vtpu_insn.h"

#if defined(__KERNEL__) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
_Static_assert(sizeof(struct vtpu_image_header) == 64, "vtpu_image_header");
_Static_assert(sizeof(struct vtpu_image_section) == 32, "vtpu_image_section");
_Static_assert(sizeof(struct vtpu_image_base) == 64, "vtpu_image_base");
_Static_assert(sizeof(struct vtpu_image_opname) == 8, "vtpu_image_opname");
_Static_assert(sizeof(struct vtpu_image_tensor) == 24, "vtpu_image_tensor");
#endif

#endif /* _UAPI_VTPU_ISA_H_ */
