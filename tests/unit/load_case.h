/* SPDX-License-Identifier: MIT */
/*
 * load_case.h - tables of instructions that lie in one field.
 *
 * A valid instruction of each kind is changed in one field; the load must refuse it with the
 * right status and a record that names the field. The test that includes this says what a
 * valid one is: it defines fill() before it calls anything here.
 */
#ifndef TESTS_UNIT_LOAD_CASE_H
#define TESTS_UNIT_LOAD_CASE_H

#include "preset.h"
#include "program.h"
#include "tap.h"
#include "unit/image_builder.h"

#define VMEM_BYTES (16u << 20)

/** struct change - what is changed, and what the load says to it */
struct change {
	uint8_t opcode, bytes;
	uint16_t offset, field; /* of the record; ANY: not looked at */
	uint64_t value;
	enum vtpu_hw_status want;
	const char *name;
};

#define ANY	   0xffff
#define AT(path)   offsetof(struct vtpu_insn, path)
#define SIZE(path) sizeof(((struct vtpu_insn *)0)->path)
#define C_AT(op, path, to, st, at) \
	{ \
		VTPU_OP_##op, SIZE(path), AT(path), at, (uint64_t)(to), VTPU_ST_##st, \
			#op " " #path " = " #to \
	}
/** C() - field @path of a valid OP becomes @to: @st, and the record names that field */
#define C(op, path, to, st) C_AT(op, path, to, st, AT(path))

static struct vtpu_hw_geometry geometry;
static struct vtpu_load_record records[VTPU_MAX_RECORDS];
static struct vtpu_load_result result;

/** fill() - make it valid; its opcode is there */
static void fill(struct vtpu_insn *insn);

static inline enum vtpu_hw_status load_changed(uint8_t opcode, const struct change *c,
					       uint32_t width, uint64_t caps)
{
	struct vtpu_load_request req = { .geometry = &geometry, .caps = caps };
	struct vtpu_program *program;
	struct image_builder b;
	struct vtpu_insn *insn;
	void *image;

	ib_begin(&b, width);
	insn = ib_insn(&b, opcode);
	fill(insn);
	if (c)
		memcpy((uint8_t *)insn + c->offset, &c->value, c->bytes);
	image = ib_finish(&b, &req.bytes);
	req.image = image;
	vtpu_program_load(&req, &program, &result, records);
	vtpu_program_put(program);
	free(image);
	return result.status;
}

/** load_cases() - a valid one of each of @opcodes loads, and each of @changes meets what it should */
static inline void load_cases(const uint8_t *opcodes, size_t nopcodes, const struct change *changes,
			      size_t nchanges, uint32_t width, uint64_t caps)
{
	char err[128];

	vtpu_preset_geometry(NULL, 8, NULL, &geometry, err, sizeof(err));
	for (size_t i = 0; i < nopcodes; i++)
		tap_is(load_changed(opcodes[i], NULL, width, caps), VTPU_ST_OK,
		       "a valid one loads");
	for (size_t i = 0; i < nchanges; i++) {
		const struct change *c = &changes[i];
		enum vtpu_hw_status st = load_changed(c->opcode, c, width, caps);

		if (!tap_ok(st == c->want && (!st || c->field == ANY ||
					      (result.found == 1 && records[0].field == c->field)),
			    "%s", c->name))
			printf("# status %#x, found %u, field %u, have %#llx, need %#llx; want %#x, field %u\n",
			       st, result.found, records[0].field, records[0].have, records[0].need,
			       c->want, c->field);
	}
}

#endif /* TESTS_UNIT_LOAD_CASE_H */
