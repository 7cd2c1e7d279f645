// SPDX-License-Identifier: MIT
/*
 * image.c - reading images, which may be hostile: structure and names. What
 * the instructions say is check.c's.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "crc32c.h"
#include "program/image.h"
#include "program/isa.h"

#define BAD(...) vtpu_fail(VTPU_ERROR_BAD_PROGRAM, "program image: " __VA_ARGS__)

static bool all_zero(const uint8_t *p, uint64_t bytes)
{
	while (bytes--)
		if (*p++)
			return false;
	return true;
}

static enum vtpu_status check_header(const uint8_t *data, size_t bytes)
{
	struct vtpu_image_header h;
	uint32_t crc;

	if (bytes < sizeof(h))
		return BAD("%zu bytes are less than a header's %zu; the file is truncated", bytes,
			   sizeof(h));
	memcpy(&h, data, sizeof(h));
	if (h.magic != VTPU_IMAGE_MAGIC)
		return BAD("begins with %#" PRIx32 ", not %#x; this is no program image", h.magic,
			   VTPU_IMAGE_MAGIC);
	if (h.version != VTPU_ISA_VERSION)
		return vtpu_fail(VTPU_ERROR_VERSION,
				 "program image: format version is %" PRIu32
				 ", this library reads %d; build the program again",
				 h.version, VTPU_ISA_VERSION);
	if (h.bytes != bytes)
		return BAD("header says %" PRIu64
			   " bytes, there are %zu; the file is truncated or has something behind it",
			   (uint64_t)h.bytes, bytes);
	if (bytes % VTPU_IMAGE_ALIGN || bytes > VTPU_MAX_IMAGE_BYTES)
		return BAD("%zu bytes; must be a multiple of %d and at most %u", bytes,
			   VTPU_IMAGE_ALIGN, VTPU_MAX_IMAGE_BYTES);
	crc = vtpu_image_crc32c(data, bytes);
	if (h.crc32c != crc)
		return BAD("checksum is %#010" PRIx32 ", the bytes give %#010" PRIx32
			   "; the image was changed or damaged after it was built",
			   h.crc32c, crc);
	if (!h.width || h.width > VTPU_MAX_CORES)
		return BAD("width is %" PRIu32 "; must be 1..%d", h.width, VTPU_MAX_CORES);
	if (h.nscalars > VTPU_MAX_SCALARS)
		return BAD("%" PRIu32 " scalars; at most %d", h.nscalars, VTPU_MAX_SCALARS);
	if (h.rsvd[0] || h.rsvd[1] || h.rsvd[2])
		return BAD("reserved bytes of the header are not zero");
	if (h.nsections > (bytes - sizeof(h)) / sizeof(struct vtpu_image_section))
		return BAD("%" PRIu32 " sections do not fit %zu bytes", h.nsections, bytes);
	return VTPU_OK;
}

/* Is @name the offset of a NUL-terminated string behind the array of @section? */
static bool name_ok(const uint8_t *start, const struct vtpu_image_section *section, uint64_t array,
		    uint32_t name)
{
	return name >= array && name < section->bytes &&
	       memchr(start + name, 0, section->bytes - name);
}

static enum vtpu_status take_bases(struct vtpu_image *image, const uint8_t *start,
				   const struct vtpu_image_section *section)
{
	const struct vtpu_image_base *base = (const void *)start;

	if (section->count > VTPU_MAX_BASES || section->bytes != section->count * sizeof(*base))
		return BAD("%" PRIu32 " bases in %" PRIu64 " bytes; at most %d of %zu bytes each",
			   section->count, (uint64_t)section->bytes, VTPU_MAX_BASES, sizeof(*base));
	for (uint32_t i = 0; i < section->count; i++) {
		size_t len = strnlen(base[i].name, sizeof(base[i].name));

		if (len == sizeof(base[i].name) ||
		    !all_zero((const uint8_t *)base[i].name + len, sizeof(base[i].name) - len))
			return BAD("name of base %" PRIu32 " does not end in zeros", i);
	}
	image->base = base;
	image->bases = section->count;
	return VTPU_OK;
}

static enum vtpu_status take_queue(struct vtpu_image *image, const uint8_t *start,
				   const struct vtpu_image_section *section)
{
	if (section->bytes != section->count * (uint64_t)sizeof(struct vtpu_insn))
		return BAD("%" PRIu32 " instructions in %" PRIu64 " bytes; each has %zu",
			   section->count, (uint64_t)section->bytes, sizeof(struct vtpu_insn));
	image->insn[section->unit] = (const void *)start;
	image->count[section->unit] = section->count;
	return VTPU_OK;
}

static enum vtpu_status take_ops(struct vtpu_image *image, const uint8_t *start,
				 const struct vtpu_image_section *section)
{
	const struct vtpu_image_opname *op = (const void *)start;
	uint64_t array = section->count * (uint64_t)sizeof(*op);

	if (array > section->bytes)
		return BAD("%" PRIu32 " operation names in %" PRIu64 " bytes", section->count,
			   (uint64_t)section->bytes);
	for (uint32_t i = 0; i < section->count; i++) {
		if (!op[i].op_id)
			return BAD("operation id 0 has a name; it means none");
		if (i && op[i].op_id <= op[i - 1].op_id)
			return BAD("operation names are not sorted: %" PRIu32 " follows %" PRIu32,
				   op[i].op_id, op[i - 1].op_id);
		if (!name_ok(start, section, array, op[i].name))
			return BAD("name of operation %" PRIu32 " lies outside its section",
				   op[i].op_id);
	}
	image->op = op;
	image->ops = section->count;
	return VTPU_OK;
}

static enum vtpu_status take_tensors(struct vtpu_image *image, const uint8_t *start,
				     const struct vtpu_image_section *section)
{
	const struct vtpu_image_tensor *t = (const void *)start;
	uint64_t array = section->count * (uint64_t)sizeof(*t);

	if (array > section->bytes)
		return BAD("%" PRIu32 " tensors in %" PRIu64 " bytes", section->count,
			   (uint64_t)section->bytes);
	for (uint32_t i = 0; i < section->count; i++) {
		if (i && (t[i].base < t[i - 1].base ||
			  (t[i].base == t[i - 1].base && t[i].offset < t[i - 1].offset)))
			return BAD("tensor %" PRIu32 " is not sorted by base and offset", i);
		if (t[i].base >= image->bases)
			return BAD("tensor %" PRIu32 " is in base %" PRIu32 " of %" PRIu32, i,
				   t[i].base, image->bases);
		if (!name_ok(start, section, array, t[i].name))
			return BAD("name of tensor %" PRIu32 " lies outside its section", i);
	}
	image->tensor = t;
	image->tensors = section->count;
	return VTPU_OK;
}

static enum vtpu_status take_section(struct vtpu_image *image,
				     const struct vtpu_image_section *section)
{
	const uint8_t *start = image->data + section->offset;

	switch (section->type) {
	case VTPU_SECTION_BASES:
		return take_bases(image, start, section);
	case VTPU_SECTION_QUEUE:
		return take_queue(image, start, section);
	case VTPU_SECTION_OPNAMES:
		return take_ops(image, start, section);
	case VTPU_SECTION_TENSORS:
		return take_tensors(image, start, section);
	default:
		if (section->count != section->bytes)
			return BAD("constants: count %" PRIu32 ", %" PRIu64
				   " bytes; must be the same",
				   section->count, (uint64_t)section->bytes);
		image->constants = start;
		image->const_bytes = section->count;
		return VTPU_OK;
	}
}

static enum vtpu_status check_sections(struct vtpu_image *image)
{
	const struct vtpu_image_section *table =
		(const void *)(image->data + sizeof(struct vtpu_image_header));
	uint64_t end = sizeof(struct vtpu_image_header) + image->header->nsections * sizeof(*table);
	uint64_t seen = 0;

	for (uint32_t i = 0; i < image->header->nsections; i++) {
		const struct vtpu_image_section *s = &table[i];
		uint64_t bit;

		if (s->type < VTPU_SECTION_BASES || s->type > VTPU_SECTION_CONST)
			return BAD("section %" PRIu32 " has unknown type %u", i, s->type);
		if (s->unit >= (s->type == VTPU_SECTION_QUEUE ? VTPU_UNITS : 1))
			return BAD("section %" PRIu32 " has unit %u; must be %s", i, s->unit,
				   s->type == VTPU_SECTION_QUEUE ? "below 6" : "zero");
		if (s->rsvd)
			return BAD("reserved bytes of section %" PRIu32 " are not zero", i);
		bit = 1ULL << (s->type * VTPU_UNITS + s->unit);
		if (seen & bit)
			return BAD("section %" PRIu32 " is the second of type %u and unit %u", i,
				   s->type, s->unit);
		seen |= bit;
		if (s->offset % VTPU_IMAGE_ALIGN || s->offset < end || s->offset > image->bytes ||
		    s->bytes > image->bytes - s->offset)
			return BAD("section %" PRIu32 " covers bytes %" PRIu64 " to + %" PRIu64
				   "; must be aligned to %d, behind byte %" PRIu64
				   " and inside %zu",
				   i, (uint64_t)s->offset, (uint64_t)s->bytes, VTPU_IMAGE_ALIGN,
				   end, image->bytes);
		if (!all_zero(image->data + end, s->offset - end))
			return BAD("bytes before section %" PRIu32 " are not zero", i);
		end = s->offset + s->bytes;
	}
	if (!all_zero(image->data + end, image->bytes - end))
		return BAD("bytes behind the last section are not zero");
	/* Tensors refer to bases, wherever these are. */
	for (int tensors = 0; tensors < 2; tensors++) {
		for (uint32_t i = 0; i < image->header->nsections; i++) {
			enum vtpu_status status;

			if ((table[i].type == VTPU_SECTION_TENSORS) != tensors)
				continue;
			status = take_section(image, &table[i]);
			if (status)
				return status;
		}
	}
	return VTPU_OK;
}

enum vtpu_status vtpu_image_adopt(uint8_t *data, size_t bytes, struct vtpu_image **out)
{
	enum vtpu_status status = check_header(data, bytes);
	struct vtpu_image *image;

	if (status) {
		free(data);
		return status;
	}
	image = calloc(1, sizeof(*image));
	if (!image) {
		free(data);
		return vtpu_fail_nomem("a program image");
	}
	image->data = data;
	image->bytes = bytes;
	image->header = (const void *)data;
	status = check_sections(image);
	if (status) {
		vtpu_image_destroy(image);
		return status;
	}
	*out = image;
	return VTPU_OK;
}

enum vtpu_status vtpu_image_parse(const void *data, size_t bytes, struct vtpu_image **image)
{
	uint8_t *copy;

	if (!data || !image)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "vtpu_image_parse: data and image must not be NULL");
	copy = malloc(bytes ? bytes : 1);
	if (!copy)
		return vtpu_fail_nomem("a program image");
	memcpy(copy, data, bytes);
	return vtpu_image_adopt(copy, bytes, image);
}

void vtpu_image_destroy(struct vtpu_image *image)
{
	if (!image)
		return;
	free(image->data);
	free(image);
}

const void *vtpu_image_data(const struct vtpu_image *image, size_t *bytes)
{
	if (bytes)
		*bytes = image->bytes;
	return image->data;
}

uint32_t vtpu_image_width(const struct vtpu_image *image)
{
	return image->header->width;
}

uint32_t vtpu_image_scalars(const struct vtpu_image *image)
{
	return image->header->nscalars;
}

uint32_t vtpu_image_bases(const struct vtpu_image *image)
{
	return image->bases;
}

enum vtpu_status vtpu_image_base(const struct vtpu_image *image, uint32_t index,
				 struct vtpu_base_info *info)
{
	const struct vtpu_image_base *base;

	if (index >= image->bases)
		return vtpu_fail(VTPU_ERROR_NOT_FOUND, "base %" PRIu32 ": the program has %" PRIu32,
				 index, image->bases);
	base = &image->base[index];
	info->name = base->name;
	info->extent = base->extent;
	info->core_stride = base->core_stride;
	info->bytes = (image->header->width - 1) * base->core_stride + base->extent;
	info->align = base->align;
	info->readable = base->flags & VTPU_BASE_READ;
	info->writable = base->flags & VTPU_BASE_WRITE;
	return VTPU_OK;
}

enum vtpu_status vtpu_image_find_base(const struct vtpu_image *image, const char *name,
				      uint32_t *index)
{
	char names[1024] = "";
	size_t len = 0;

	for (uint32_t i = 0; i < image->bases; i++) {
		if (!strcmp(image->base[i].name, name)) {
			*index = i;
			return VTPU_OK;
		}
	}
	for (uint32_t i = 0; i < image->bases && len < sizeof(names); i++)
		len += snprintf(names + len, sizeof(names) - len, "%s'%s'", i ? ", " : "",
				image->base[i].name);
	return vtpu_fail(VTPU_ERROR_NOT_FOUND, "base '%s': the program has %s", name,
			 *names ? names : "none");
}

const char *vtpu_image_op_name(const struct vtpu_image *image, uint32_t op)
{
	uint32_t lo = 0, hi = image->ops;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (image->op[mid].op_id < op)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < image->ops && image->op[lo].op_id == op ?
		       (const char *)image->op + image->op[lo].name :
		       NULL;
}

const char *vtpu_image_tensor_name(const struct vtpu_image *image, uint32_t base, uint64_t offset)
{
	const char *name = NULL;

	/* Tensors may overlap (views); the one that begins last says most. */
	for (uint32_t i = 0; i < image->tensors; i++) {
		const struct vtpu_image_tensor *t = &image->tensor[i];

		if (t->base == base && offset >= t->offset && offset - t->offset < t->bytes)
			name = (const char *)image->tensor + t->name;
	}
	return name;
}
