// SPDX-License-Identifier: MIT
/*
 * test_image.c - images that lie: each gets its own status and a record that says where.
 *
 * A good image of every section is changed in one place, sealed with the right
 * checksum again, and loaded.
 */
#include "preset.h"
#include "program.h"
#include "tap.h"
#include "unit/image_builder.h"

static struct vtpu_hw_geometry geometry;
static struct vtpu_load_record records[VTPU_MAX_RECORDS];
static struct vtpu_load_result result;

static enum vtpu_hw_status load(const void *image, size_t bytes)
{
	struct vtpu_load_request req = { .image = image,
					 .bytes = bytes,
					 .geometry = &geometry,
					 .caps = VTPU_CAP_F32 | VTPU_CAP_BF16 };
	struct vtpu_program *program;
	enum vtpu_hw_status st;

	st = vtpu_program_load(&req, &program, &result, records);
	if (!st != (program != NULL) || result.status != (uint32_t)st)
		printf("# status and program disagree\n");
	vtpu_program_put(program);
	return st;
}

/* ---- A good image with all sections ------------------------------------------------- */

enum {
	BASES,
	DMA,
	OPNAMES,
	TENSORS,
	CONSTANTS,
	SECTIONS
};

struct whole {
	struct vtpu_image_header header;
	struct vtpu_image_section section[SECTIONS];
	uint8_t gap[32];
	struct vtpu_image_base base[2];
	struct vtpu_insn dma[2];
	struct vtpu_image_opname opname[2];
	char opnames[48];
	struct vtpu_image_tensor tensor[2];
	char tensors[16];
	uint8_t constants[64];
};

_Static_assert(offsetof(struct whole, base) % 64 == 0 && offsetof(struct whole, dma) % 64 == 0 &&
		       offsetof(struct whole, opname) % 64 == 0 &&
		       offsetof(struct whole, tensor) % 64 == 0 &&
		       offsetof(struct whole, constants) % 64 == 0 &&
		       sizeof(struct whole) % 64 == 0,
	       "sections are aligned");

static void copy(struct vtpu_insn *insn, uint64_t src, uint64_t dst)
{
	struct vtpu_insn_dma *x = &insn->payload.dma;

	insn->opcode = VTPU_OP_COPY;
	insn->unit = VTPU_UNIT_DMA;
	x->src = src;
	x->dst = dst;
	x->src_type = x->dst_type = VTPU_TYPE_F32;
	x->ndim = 1;
	x->count[0] = 16;
	x->count[1] = x->count[2] = x->count[3] = x->count[4] = 1;
	x->src_stride[0] = x->dst_stride[0] = 4;
}

static void section(struct whole *w, int i, uint16_t type, uint32_t count, size_t offset,
		    size_t bytes)
{
	w->section[i] = (struct vtpu_image_section){
		.type = type, .count = count, .offset = offset, .bytes = bytes
	};
}

static void make(struct whole *w)
{
	memset(w, 0, sizeof(*w));
	w->header = (struct vtpu_image_header){ .magic = VTPU_IMAGE_MAGIC,
						.version = VTPU_ISA_VERSION,
						.bytes = sizeof(*w),
						.width = 2,
						.nsections = SECTIONS };
	section(w, BASES, VTPU_SECTION_BASES, 2, offsetof(struct whole, base), sizeof(w->base));
	section(w, DMA, VTPU_SECTION_QUEUE, 2, offsetof(struct whole, dma), sizeof(w->dma));
	w->section[DMA].unit = VTPU_UNIT_DMA;
	section(w, OPNAMES, VTPU_SECTION_OPNAMES, 2, offsetof(struct whole, opname),
		sizeof(w->opname) + sizeof(w->opnames));
	section(w, TENSORS, VTPU_SECTION_TENSORS, 2, offsetof(struct whole, tensor),
		sizeof(w->tensor) + sizeof(w->tensors));
	section(w, CONSTANTS, VTPU_SECTION_CONST, 64, offsetof(struct whole, constants), 64);
	for (int i = 0; i < 2; i++) {
		w->base[i].extent = 4096;
		w->base[i].core_stride = 4096;
		w->base[i].align = 64;
		w->base[i].flags = i ? VTPU_BASE_WRITE : VTPU_BASE_READ;
		strcpy(w->base[i].name, i ? "out" : "in");
		w->opname[i].op_id = 10 + i;
		w->opname[i].name = sizeof(w->opname) + 8 * i;
		w->tensor[i].base = i;
		w->tensor[i].bytes = 8192;
		w->tensor[i].name = sizeof(w->tensor) + 4 * i;
	}
	strcpy(w->opnames, "load");
	strcpy(w->opnames + 8, "store");
	strcpy(w->tensors, "x");
	strcpy(w->tensors + 4, "y");
	copy(&w->dma[0], VTPU_ADDR(VTPU_SPACE_HBM, VTPU_BASE_CONST, 0),
	     VTPU_ADDR(VTPU_SPACE_VMEM, 0, 0));
	copy(&w->dma[1], VTPU_ADDR(VTPU_SPACE_VMEM, 0, 0), VTPU_ADDR(VTPU_SPACE_HBM, 1, 0));
	ib_seal(w, sizeof(*w));
}

/* ---- One change each ------------------------------------------------------------------ */

#define HEADER UINT32_MAX

/*
 * Change @path of a good image to @value and expect @want, with a record that points
 * to @where (a section, or HEADER), byte @at.
 */
#define CHANGE(path, value, want, where, at) \
	do { \
		struct whole changed; \
		make(&changed); \
		changed.path = value; \
		ib_seal(&changed, sizeof(changed)); \
		expect(&changed, sizeof(changed), want, where, at, #path " = " #value); \
	} while (0)

static void expect(const void *image, size_t bytes, enum vtpu_hw_status want, uint32_t where,
		   uint32_t at, const char *name)
{
	enum vtpu_hw_status st = load(image, bytes);

	if (!tap_ok(st == want && (!want || (result.found == 1 && records[0].index == where &&
					     records[0].field == at)),
		    "%s", name))
		printf("# status %#x, found %u, section %d, field %u, have %#llx, need %#llx; want %#x, %d, %u\n",
		       st, result.found, (int)records[0].index, records[0].field, records[0].have,
		       records[0].need, want, (int)where, at);
}

#define IN_HEADER(f)  offsetof(struct vtpu_image_header, f)
#define IN_SECTION(f) offsetof(struct vtpu_image_section, f)
#define IN_BASE(f)    offsetof(struct vtpu_image_base, f)
#define IN_TENSOR(f)  offsetof(struct vtpu_image_tensor, f)

static void test_header(void)
{
	struct whole w;

	make(&w);
	expect(&w, sizeof(w), VTPU_ST_OK, 0, 0, "the image as it should be");
	CHANGE(header.magic, 0x12345678, VTPU_ST_BAD_IMAGE, HEADER, IN_HEADER(magic));
	CHANGE(header.version, VTPU_ISA_VERSION + 1, VTPU_ST_IMAGE_VERSION, HEADER,
	       IN_HEADER(version));
	CHANGE(header.bytes, sizeof(struct whole) + 64, VTPU_ST_BAD_IMAGE, HEADER,
	       IN_HEADER(bytes));
	CHANGE(header.width, 0, VTPU_ST_BAD_IMAGE, HEADER, IN_HEADER(width));
	CHANGE(header.width, 65, VTPU_ST_BAD_IMAGE, HEADER, IN_HEADER(width));
	CHANGE(header.width, 9, VTPU_ST_TOO_WIDE, HEADER, IN_HEADER(width));
	CHANGE(header.nscalars, 257, VTPU_ST_BAD_IMAGE, HEADER, IN_HEADER(nscalars));
	CHANGE(header.nsections, 11, VTPU_ST_BAD_IMAGE, HEADER, IN_HEADER(nsections));
	CHANGE(header.rsvd[1], 1, VTPU_ST_BAD_IMAGE, HEADER, IN_HEADER(rsvd) + 8);
	CHANGE(header.caps, VTPU_CAP_CONV, VTPU_ST_UNSUPPORTED, HEADER, IN_HEADER(caps));

	make(&w);
	w.constants[3] = 1;
	expect(&w, sizeof(w), VTPU_ST_IMAGE_CHECKSUM, HEADER, IN_HEADER(crc32c),
	       "a byte changed after sealing");
	make(&w);
	expect(&w, 63, VTPU_ST_BAD_IMAGE, HEADER, IN_HEADER(bytes), "shorter than a header");
	expect(&w, sizeof(w) - 64, VTPU_ST_BAD_IMAGE, HEADER, IN_HEADER(bytes), "truncated");
	CHANGE(gap[7], 1, VTPU_ST_BAD_IMAGE, HEADER, offsetof(struct whole, gap) + 7);
}

static void test_sections(void)
{
	struct whole w;

	CHANGE(section[DMA].type, 9, VTPU_ST_BAD_IMAGE, DMA, IN_SECTION(type));
	CHANGE(section[DMA].unit, VTPU_UNITS, VTPU_ST_BAD_IMAGE, DMA, IN_SECTION(unit));
	CHANGE(section[BASES].unit, 1, VTPU_ST_BAD_IMAGE, BASES, IN_SECTION(unit));
	CHANGE(section[DMA].rsvd, 1, VTPU_ST_BAD_IMAGE, DMA, IN_SECTION(rsvd));
	CHANGE(section[DMA].offset, offsetof(struct whole, dma) + 8, VTPU_ST_BAD_IMAGE, DMA,
	       IN_SECTION(offset));
	CHANGE(section[DMA].offset, offsetof(struct whole, base), VTPU_ST_BAD_IMAGE, DMA,
	       IN_SECTION(offset));
	CHANGE(section[DMA].offset, UINT64_MAX - 63, VTPU_ST_BAD_IMAGE, DMA, IN_SECTION(offset));
	CHANGE(section[DMA].bytes, UINT64_MAX, VTPU_ST_BAD_IMAGE, DMA, IN_SECTION(bytes));
	CHANGE(section[DMA].bytes, 128, VTPU_ST_BAD_IMAGE, DMA, IN_SECTION(bytes));
	CHANGE(section[DMA].count, UINT32_MAX, VTPU_ST_BAD_IMAGE, DMA, IN_SECTION(bytes));
	CHANGE(section[OPNAMES].count, 100, VTPU_ST_BAD_IMAGE, OPNAMES, IN_SECTION(bytes));
	CHANGE(section[CONSTANTS].count, 63, VTPU_ST_BAD_IMAGE, CONSTANTS, IN_SECTION(bytes));
	make(&w);
	w.section[TENSORS] = w.section[OPNAMES];
	w.section[TENSORS].offset = offsetof(struct whole, tensor);
	ib_seal(&w, sizeof(w));
	expect(&w, sizeof(w), VTPU_ST_BAD_IMAGE, TENSORS, IN_SECTION(type),
	       "two sections of one type");
	make(&w);
	w.header.nsections = SECTIONS - 1;
	memset(w.constants, 1, sizeof(w.constants));
	ib_seal(&w, sizeof(w));
	tap_is(load(&w, sizeof(w)), VTPU_ST_BAD_IMAGE, "bytes behind the last section");
}

static void test_tables(void)
{
	CHANGE(base[0].extent, 0, VTPU_ST_BAD_IMAGE, BASES, IN_BASE(extent));
	CHANGE(base[1].extent, 1ULL << 40, VTPU_ST_BAD_IMAGE, BASES, 64 + IN_BASE(extent));
	CHANGE(base[0].core_stride, 64, VTPU_ST_BAD_IMAGE, BASES, IN_BASE(core_stride));
	CHANGE(base[1].core_stride, 0, VTPU_ST_BAD_IMAGE, BASES, 64 + IN_BASE(core_stride));
	CHANGE(base[0].align, 32, VTPU_ST_BAD_IMAGE, BASES, IN_BASE(align));
	CHANGE(base[0].align, 96, VTPU_ST_BAD_IMAGE, BASES, IN_BASE(align));
	CHANGE(base[0].align, 4u << 20, VTPU_ST_BAD_IMAGE, BASES, IN_BASE(align));
	CHANGE(base[0].flags, 0, VTPU_ST_BAD_IMAGE, BASES, IN_BASE(flags));
	CHANGE(base[0].flags, 4, VTPU_ST_BAD_IMAGE, BASES, IN_BASE(flags));
	CHANGE(base[0].name[0], '\n', VTPU_ST_BAD_IMAGE, BASES, IN_BASE(name));
	CHANGE(base[0].name[30], 'x', VTPU_ST_BAD_IMAGE, BASES, IN_BASE(name) + 30);
	CHANGE(opname[1].op_id, 10, VTPU_ST_BAD_IMAGE, OPNAMES, 8);
	CHANGE(opname[1].name, 3, VTPU_ST_BAD_IMAGE, OPNAMES, 12);
	CHANGE(opname[1].name, 64, VTPU_ST_BAD_IMAGE, OPNAMES, 12);
	CHANGE(opnames[0], 1, VTPU_ST_BAD_IMAGE, OPNAMES, 16);
	CHANGE(tensor[0].base, 2, VTPU_ST_BAD_IMAGE, TENSORS, IN_TENSOR(base));
	CHANGE(tensor[0].base, 1, VTPU_ST_OK, 0, 0);
	CHANGE(tensor[1].base, 0, VTPU_ST_OK, 0, 0);
	CHANGE(tensor[1].offset, 1, VTPU_ST_BAD_IMAGE, TENSORS, 24 + IN_TENSOR(offset));
	CHANGE(tensor[1].bytes, UINT64_MAX, VTPU_ST_BAD_IMAGE, TENSORS, 24 + IN_TENSOR(offset));
	CHANGE(tensor[1].name, UINT32_MAX, VTPU_ST_BAD_IMAGE, TENSORS, 24 + IN_TENSOR(name));
}

static void test_constants(void)
{
	CHANGE(dma[0].payload.dma.src, VTPU_ADDR(VTPU_SPACE_HBM, VTPU_BASE_CONST, 4),
	       VTPU_ST_OUT_OF_BOUNDS, 0, offsetof(struct vtpu_insn, payload.dma.src));
	CHANGE(dma[1].payload.dma.dst, VTPU_ADDR(VTPU_SPACE_HBM, VTPU_BASE_CONST, 0),
	       VTPU_ST_BAD_INSN, 1, offsetof(struct vtpu_insn, payload.dma.dst));
}

/* Every single byte of the image, changed: a named status or a good program, never worse. */
static void test_every_byte(void)
{
	struct whole w;
	uint32_t silent = 0, loaded = 0;

	for (size_t at = 0; at < sizeof(w); at++) {
		for (int bit = 0; bit < 8; bit++) {
			enum vtpu_hw_status st;

			make(&w);
			((uint8_t *)&w)[at] ^= 1u << bit;
			ib_seal(&w, sizeof(w));
			if (at >= IN_HEADER(crc32c) && at < IN_HEADER(crc32c) + 4)
				continue;
			st = load(&w, sizeof(w));
			loaded += !st;
			silent += st && !result.found;
		}
	}
	tap_is(silent, 0, "every refusal of a flipped bit leaves a record");
	printf("# %u of %zu flips still make a program (names, constants, op ids, addresses)\n",
	       loaded, 8 * sizeof(w));
}

int main(void)
{
	char err[128];

	vtpu_preset_geometry(NULL, 8, NULL, &geometry, err, sizeof(err));
	test_header();
	test_sections();
	test_tables();
	test_constants();
	test_every_byte();
	return tap_done();
}
