// SPDX-License-Identifier: MIT
/*
 * image.c - header, section table and tables of a program image.
 *
 * The image is hostile: every offset and count is checked before it is used,
 * in 64 bits, and nothing is followed twice. Little-endian hosts only, like the
 * rest of the model.
 */
#include "crc32c.h"
#include "image.h"

#define HEADER UINT32_MAX /* record.index: the header, not a section */

/* BASES, a QUEUE of each unit, OPNAMES, TENSORS, CONST */
#define MAX_SECTIONS (4 + VTPU_UNITS)

/* Bytes between two looks at the cancel flag */
#define PIECE (1u << 20)

struct checker {
	struct vtpu_load *load;
	const uint8_t *image;
	uint64_t bytes;
	uint64_t caps;
	const struct vtpu_hw_geometry *geometry;
};

static enum vtpu_hw_status bad(struct checker *c, enum vtpu_hw_status status, uint32_t section,
			       uint64_t field, uint64_t have, uint64_t need)
{
	struct vtpu_load_record r = {
		.kind = VTPU_REC_IMAGE,
		.index = section,
		.field = (uint16_t)(field < UINT16_MAX ? field : UINT16_MAX),
		.start = field,
		.have = have,
		.need = need,
	};

	vtpu_load_report(c->load, &r);
	return status;
}

#define BAD(section, field, have, need) bad(c, VTPU_ST_BAD_IMAGE, section, field, have, need)

/* ---- Header ---------------------------------------------------------------- */

static enum vtpu_hw_status checksum(struct checker *c, uint32_t *crc)
{
	uint64_t at = sizeof(struct vtpu_image_header);

	*crc = vtpu_image_crc32c(c->image, at);
	for (; at < c->bytes; at += PIECE) {
		uint64_t n = c->bytes - at < PIECE ? c->bytes - at : PIECE;

		if (vtpu_load_cancelled(c->load))
			return VTPU_ST_CANCELLED;
		*crc = vtpu_crc32c(*crc, c->image + at, n);
	}
	return VTPU_ST_OK;
}

#define AT(name) offsetof(struct vtpu_image_header, name)

static enum vtpu_hw_status check_header(struct checker *c, const struct vtpu_image_header *h)
{
	uint32_t crc;

	if (c->bytes < sizeof(*h))
		return BAD(HEADER, AT(bytes), c->bytes, sizeof(*h));
	if (h->magic != VTPU_IMAGE_MAGIC)
		return BAD(HEADER, AT(magic), h->magic, VTPU_IMAGE_MAGIC);
	if (h->version != VTPU_ISA_VERSION)
		return bad(c, VTPU_ST_IMAGE_VERSION, HEADER, AT(version), h->version,
			   VTPU_ISA_VERSION);
	if (h->bytes != c->bytes || h->bytes % VTPU_IMAGE_ALIGN || h->bytes > VTPU_MAX_IMAGE_BYTES)
		return BAD(HEADER, AT(bytes), h->bytes,
			   c->bytes > VTPU_MAX_IMAGE_BYTES ?
				   VTPU_MAX_IMAGE_BYTES :
				   c->bytes - c->bytes % VTPU_IMAGE_ALIGN);
	if (checksum(c, &crc))
		return VTPU_ST_CANCELLED;
	if (h->crc32c != crc)
		return bad(c, VTPU_ST_IMAGE_CHECKSUM, HEADER, AT(crc32c), h->crc32c, crc);
	if (!h->width || h->width > VTPU_MAX_CORES)
		return BAD(HEADER, AT(width), h->width, VTPU_MAX_CORES);
	if (h->width > c->geometry->cores)
		return bad(c, VTPU_ST_TOO_WIDE, HEADER, AT(width), h->width, c->geometry->cores);
	if (h->nscalars > VTPU_MAX_SCALARS)
		return BAD(HEADER, AT(nscalars), h->nscalars, VTPU_MAX_SCALARS);
	if (h->nsections > MAX_SECTIONS)
		return BAD(HEADER, AT(nsections), h->nsections, MAX_SECTIONS);
	for (int i = 0; i < 3; i++)
		if (h->rsvd[i])
			return BAD(HEADER, AT(rsvd) + 8 * i, h->rsvd[i], 0);
	if (h->caps & ~c->caps) {
		struct vtpu_load_record r = {
			.kind = VTPU_REC_UNSUPPORTED,
			.index = HEADER,
			.field = AT(caps),
			.have = h->caps & ~c->caps,
			.need = c->caps,
		};

		vtpu_load_report(c->load, &r);
		return VTPU_ST_UNSUPPORTED;
	}
	return VTPU_ST_OK;
}

#undef AT

/* ---- Sections --------------------------------------------------------------- */

/* Bytes that belong to no section are zero. */
static enum vtpu_hw_status check_gap(struct checker *c, uint32_t section, uint64_t at, uint64_t end)
{
	for (; at < end; at++) {
		if (c->image[at])
			return BAD(section, at, c->image[at], 0);
		if (at % PIECE == 0 && vtpu_load_cancelled(c->load))
			return VTPU_ST_CANCELLED;
	}
	return VTPU_ST_OK;
}

/* Bytes of an element of a section's array */
static uint64_t element_bytes(uint32_t type)
{
	switch (type) {
	case VTPU_SECTION_BASES:
		return sizeof(struct vtpu_image_base);
	case VTPU_SECTION_QUEUE:
		return sizeof(struct vtpu_insn);
	case VTPU_SECTION_OPNAMES:
		return sizeof(struct vtpu_image_opname);
	case VTPU_SECTION_TENSORS:
		return sizeof(struct vtpu_image_tensor);
	default:
		return 1;
	}
}

static bool has_names(uint32_t type)
{
	return type == VTPU_SECTION_OPNAMES || type == VTPU_SECTION_TENSORS;
}

#define AT(name) offsetof(struct vtpu_image_section, name)

static enum vtpu_hw_status check_section(struct checker *c, uint32_t i,
					 const struct vtpu_image_section *s, uint64_t *end,
					 uint32_t *seen)
{
	enum vtpu_hw_status st;
	uint64_t array;
	uint32_t bit;

	if (s->type < VTPU_SECTION_BASES || s->type > VTPU_SECTION_CONST)
		return BAD(i, AT(type), s->type, VTPU_SECTION_CONST);
	if (s->unit >= (s->type == VTPU_SECTION_QUEUE ? VTPU_UNITS : 1))
		return BAD(i, AT(unit), s->unit,
			   s->type == VTPU_SECTION_QUEUE ? VTPU_UNITS - 1 : 0);
	if (s->rsvd)
		return BAD(i, AT(rsvd), s->rsvd, 0);
	bit = 1u << (s->type == VTPU_SECTION_QUEUE ? 8 + s->unit : s->type);
	if (*seen & bit)
		return BAD(i, AT(type), s->type, 0);
	*seen |= bit;
	if (s->offset % VTPU_IMAGE_ALIGN)
		return BAD(i, AT(offset), s->offset, VTPU_IMAGE_ALIGN);
	if (s->offset < *end || s->offset > c->bytes)
		return BAD(i, AT(offset), s->offset, s->offset < *end ? *end : c->bytes);
	if (s->bytes > c->bytes - s->offset)
		return BAD(i, AT(bytes), s->bytes, c->bytes - s->offset);
	array = s->count * element_bytes(s->type);
	if (has_names(s->type) ? s->bytes < array : s->bytes != array)
		return BAD(i, AT(bytes), s->bytes, array);
	st = check_gap(c, HEADER, *end, s->offset);
	*end = s->offset + s->bytes;
	return st;
}

#undef AT

/* ---- Tables ------------------------------------------------------------------ */

/* Names end up in reports and logs: printable, and ended inside their table. */
static bool good_name(const char *name, uint64_t room)
{
	for (uint64_t i = 0; i < room; i++) {
		unsigned char byte = (unsigned char)name[i];

		if (!byte)
			return true;
		if (byte < 0x20 || byte == 0x7f)
			return false;
	}
	return false;
}

static enum vtpu_hw_status check_bases(struct checker *c, uint32_t section,
				       const struct vtpu_image_base *base, uint32_t n,
				       uint32_t width)
{
	if (n > VTPU_MAX_BASES)
		return BAD(section, offsetof(struct vtpu_image_section, count), n, VTPU_MAX_BASES);
	for (uint32_t i = 0; i < n; i++) {
		const struct vtpu_image_base *b = &base[i];
		uint64_t at = (uint64_t)i * sizeof(*b);
		size_t end;

		if (!b->extent || b->extent >= 1ULL << 40)
			return BAD(section, at + offsetof(struct vtpu_image_base, extent),
				   b->extent, (1ULL << 40) - 1);
		if (b->core_stride >= 1ULL << 40 || (b->core_stride && b->core_stride < b->extent))
			return BAD(section, at + offsetof(struct vtpu_image_base, core_stride),
				   b->core_stride, b->extent);
		if (b->align < 64 || b->align > VTPU_LARGE_BYTES || b->align & (b->align - 1))
			return BAD(section, at + offsetof(struct vtpu_image_base, align), b->align,
				   64);
		if (!b->flags || b->flags & ~VTPU_BASE_FLAGS)
			return BAD(section, at + offsetof(struct vtpu_image_base, flags), b->flags,
				   VTPU_BASE_FLAGS);
		/* Cores that write what all of them see would have no order between them. */
		if (width > 1 && !b->core_stride && b->flags & VTPU_BASE_WRITE)
			return BAD(section, at + offsetof(struct vtpu_image_base, core_stride), 0,
				   b->extent);
		if (!good_name(b->name, sizeof(b->name)))
			return BAD(section, at + offsetof(struct vtpu_image_base, name), 0, 0);
		for (end = strlen(b->name); end < sizeof(b->name); end++)
			if (b->name[end])
				return BAD(section,
					   at + offsetof(struct vtpu_image_base, name) + end,
					   (unsigned char)b->name[end], 0);
	}
	return VTPU_ST_OK;
}

static enum vtpu_hw_status check_name(struct checker *c, uint32_t section,
				      const struct vtpu_image_section *s, uint64_t at,
				      uint32_t name)
{
	uint64_t array = s->count * element_bytes(s->type);

	if (name < array || name >= s->bytes)
		return BAD(section, at, name, s->bytes);
	if (!good_name((const char *)c->image + s->offset + name,
		       s->bytes - name < 4096 ? s->bytes - name : 4096))
		return BAD(section, name, 0, 0);
	return VTPU_ST_OK;
}

static enum vtpu_hw_status check_opnames(struct checker *c, uint32_t section,
					 const struct vtpu_image_section *s)
{
	const struct vtpu_image_opname *op = (const void *)(c->image + s->offset);
	enum vtpu_hw_status st;

	for (uint32_t i = 0; i < s->count; i++) {
		if (i && op[i].op_id <= op[i - 1].op_id)
			return BAD(section, (uint64_t)i * sizeof(*op), op[i].op_id,
				   op[i - 1].op_id + 1ULL);
		st = check_name(c, section, s,
				(uint64_t)i * sizeof(*op) +
					offsetof(struct vtpu_image_opname, name),
				op[i].name);
		if (st)
			return st;
		if (i % 1024 == 0 && vtpu_load_cancelled(c->load))
			return VTPU_ST_CANCELLED;
	}
	return VTPU_ST_OK;
}

static enum vtpu_hw_status check_tensors(struct checker *c, uint32_t section,
					 const struct vtpu_image_section *s,
					 const struct vtpu_image_parts *parts)
{
	const struct vtpu_image_tensor *t = (const void *)(c->image + s->offset);
	enum vtpu_hw_status st;

	for (uint32_t i = 0; i < s->count; i++) {
		uint64_t at = (uint64_t)i * sizeof(*t), whole;

		if (t[i].base >= parts->nbases)
			return BAD(section, at + offsetof(struct vtpu_image_tensor, base),
				   t[i].base, parts->nbases);
		whole = parts->base[t[i].base].core_stride * (parts->header->width - 1) +
			parts->base[t[i].base].extent;
		if (t[i].offset > whole || t[i].bytes > whole - t[i].offset)
			return BAD(section, at + offsetof(struct vtpu_image_tensor, offset),
				   t[i].offset, whole);
		if (i && (t[i].base < t[i - 1].base ||
			  (t[i].base == t[i - 1].base && t[i].offset < t[i - 1].offset)))
			return BAD(section, at + offsetof(struct vtpu_image_tensor, offset),
				   t[i].offset, t[i - 1].offset);
		st = check_name(c, section, s, at + offsetof(struct vtpu_image_tensor, name),
				t[i].name);
		if (st)
			return st;
		if (i % 1024 == 0 && vtpu_load_cancelled(c->load))
			return VTPU_ST_CANCELLED;
	}
	return VTPU_ST_OK;
}

/* ---- All ----------------------------------------------------------------------- */

static void note(struct checker *c, const struct vtpu_image_section *s,
		 struct vtpu_image_parts *parts)
{
	const void *data = c->image + s->offset;

	switch (s->type) {
	case VTPU_SECTION_BASES:
		parts->base = data;
		parts->nbases = s->count;
		break;
	case VTPU_SECTION_QUEUE:
		parts->text[s->unit] = data;
		parts->count[s->unit] = s->count;
		parts->instructions += s->count;
		break;
	case VTPU_SECTION_CONST:
		parts->constants = data;
		parts->const_bytes = s->bytes;
		break;
	default:
		break;
	}
}

static enum vtpu_hw_status check_sections(struct checker *c, struct vtpu_image_parts *parts)
{
	const struct vtpu_image_header *h = parts->header;
	const struct vtpu_image_section *s = (const void *)(h + 1);
	uint64_t end = sizeof(*h) + h->nsections * sizeof(*s);
	enum vtpu_hw_status st = VTPU_ST_OK;
	uint32_t seen = 0;

	if (end > c->bytes)
		return BAD(HEADER, offsetof(struct vtpu_image_header, nsections), h->nsections,
			   (c->bytes - sizeof(*h)) / sizeof(*s));
	for (uint32_t i = 0; i < h->nsections; i++) {
		st = check_section(c, i, &s[i], &end, &seen);
		if (st)
			return st;
		note(c, &s[i], parts);
	}
	st = check_gap(c, HEADER, end, c->bytes);
	/* Tensors name bases, so bases come first. */
	for (uint32_t i = 0; i < h->nsections && !st; i++)
		if (s[i].type == VTPU_SECTION_BASES)
			st = check_bases(c, i, parts->base, parts->nbases, h->width);
	for (uint32_t i = 0; i < h->nsections && !st; i++) {
		if (s[i].type == VTPU_SECTION_OPNAMES)
			st = check_opnames(c, i, &s[i]);
		else if (s[i].type == VTPU_SECTION_TENSORS)
			st = check_tensors(c, i, &s[i], parts);
	}
	return st;
}

enum vtpu_hw_status vtpu_image_check(struct vtpu_load *load, struct vtpu_image_parts *parts)
{
	const struct vtpu_load_request *req = load->req;
	struct checker checker = {
		.load = load,
		.image = req->image,
		.bytes = req->bytes,
		.caps = req->caps,
		.geometry = req->geometry,
	}, *c = &checker;
	enum vtpu_hw_status st;
	uint64_t instances;

	memset(parts, 0, sizeof(*parts));
	parts->header = req->image;
	st = check_header(c, parts->header);
	if (!st)
		st = check_sections(c, parts);
	if (st)
		return st;
	instances = (uint64_t)parts->instructions * parts->header->width;
	if (instances > req->geometry->max_instances)
		return bad(c, VTPU_ST_TOO_LARGE, HEADER, offsetof(struct vtpu_image_header, width),
			   instances, req->geometry->max_instances);
	load->result->instances = (uint32_t)instances;
	return VTPU_ST_OK;
}
