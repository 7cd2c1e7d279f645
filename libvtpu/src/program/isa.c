// SPDX-License-Identifier: MIT
/*
 * isa.c - look-up in the table of the instruction set. How its rows are read and
 * written as text is elsewhere.
 */
#include <stdio.h>
#include <string.h>

#include "program/isa.h"

const struct vtpu_insn_word insn_rights[] = {
	{ "r", VTPU_BASE_READ, 0 },
	{ "w", VTPU_BASE_WRITE, 0 },
	{ 0 },
};

const struct vtpu_insn_word insn_caps[] = {
	{ "f32", VTPU_CAP_F32, 0 },
	{ "bf16", VTPU_CAP_BF16, 0 },
	{ "int8", VTPU_CAP_INT8, 0 },
	{ "fp8", VTPU_CAP_FP8, 0 },
	{ "conv", VTPU_CAP_CONV, 0 },
	{ "ici", VTPU_CAP_ICI, 0 },
	{ "gather", VTPU_CAP_GATHER, 0 },
	{ "fast", VTPU_CAP_FAST, 0 },
	{ "pace_model", VTPU_CAP_PACE_MODEL, 0 },
	{ 0 },
};

/* clang-format off */
#define AT(path)	offsetof(struct vtpu_insn, path)
#define SIZE(path)	sizeof(((struct vtpu_insn *)0)->path)
#define ANY(text, path, n, step) \
	{ .name = text, .offset = AT(path), .bytes = SIZE(path), .count = n, .stride = step }

/* What every instruction has: offset to name, for reports. The text form writes these in its own way. */
static const struct vtpu_insn_field common_fields[] = {
	ANY("opcode", opcode, 1, 0),
	ANY("unit", unit, 1, 0),
	ANY("flags", flags, 1, 0),
	ANY("op", op_id, 1, 0),
	ANY("wait.sem", wait[0].sem, 2, sizeof(struct vtpu_wait)),
	ANY("wait.cmp", wait[0].cmp, 2, sizeof(struct vtpu_wait)),
	ANY("wait.pad", wait[0].pad, 2, sizeof(struct vtpu_wait)),
	ANY("wait.value", wait[0].value, 2, sizeof(struct vtpu_wait)),
	ANY("signal.sem", signal[0].sem, 2, sizeof(struct vtpu_signal)),
	ANY("signal.core", signal[0].core, 2, sizeof(struct vtpu_signal)),
	ANY("signal.inc", signal[0].inc, 2, sizeof(struct vtpu_signal)),
	{0},
};
/* clang-format on */

/* ---- Look-up ----------------------------------------------------------------- */

static bool same(const char *name, const char *text, size_t len)
{
	return strlen(name) == len && !memcmp(name, text, len);
}

const struct vtpu_insn_row *insn_op(uint8_t opcode)
{
	return vtpu_insn_table[opcode].name ? &vtpu_insn_table[opcode] : NULL;
}

const struct vtpu_insn_row *insn_op_named(const char *name, size_t len)
{
	for (const struct vtpu_insn_row *op = insn_next(NULL); op; op = insn_next(op))
		if (same(op->name, name, len))
			return op;
	return NULL;
}

const struct vtpu_insn_row *insn_next(const struct vtpu_insn_row *op)
{
	op = op ? op + 1 : vtpu_insn_table;
	while (op < vtpu_insn_table + VTPU_INSN_OPCODES && !op->name)
		op++;
	return op < vtpu_insn_table + VTPU_INSN_OPCODES ? op : NULL;
}

bool insn_written(const struct vtpu_insn_field *field)
{
	return field->kind != VTPU_FIELD_COUNT && field->kind != VTPU_FIELD_EPI_ARG &&
	       field->kind != VTPU_FIELD_ARGS;
}

uint64_t insn_get(const struct vtpu_insn *insn, const struct vtpu_insn_field *field, unsigned int i)
{
	return vtpu_insn_get(insn, field->offset + i * field->stride, field->bytes);
}

void insn_set(struct vtpu_insn *insn, const struct vtpu_insn_field *field, unsigned int i,
	      uint64_t value)
{
	memcpy((char *)insn + field->offset + i * field->stride, &value, field->bytes);
}

const char *insn_unit_name(unsigned int unit)
{
	return unit < VTPU_UNITS ? vtpu_insn_units[unit] : NULL;
}

const char *insn_name_of(const struct vtpu_insn_word *names, uint32_t value)
{
	for (; names->name; names++)
		if (names->value == value)
			return names->name;
	return NULL;
}

const struct vtpu_insn_word *insn_named(const struct vtpu_insn_word *names, const char *name,
					size_t len)
{
	for (; names->name; names++)
		if (same(names->name, name, len))
			return names;
	return NULL;
}

static const struct vtpu_insn_field *find(const struct vtpu_insn_field *field, unsigned int offset,
					  unsigned int *index)
{
	for (; field->name; field++) {
		for (unsigned int i = 0; i < field->count; i++) {
			unsigned int start = field->offset + i * field->stride;

			if (offset < start || offset >= start + field->bytes)
				continue;
			*index = i;
			return field;
		}
	}
	return NULL;
}

const struct vtpu_insn_field *insn_field_at(const struct vtpu_insn_row *op, unsigned int offset,
					    char *text, size_t bytes, unsigned int *index)
{
	const struct vtpu_insn_field *common, *field = NULL;

	*index = 0;
	common = find(common_fields, offset, index);
	if (!common && op)
		field = find(op->fields, offset, index);
	if (!common && !field)
		snprintf(text, bytes, "byte %u", offset);
	else if ((common ? common : field)->count > 1)
		snprintf(text, bytes, "%s[%u]", (common ? common : field)->name, *index);
	else
		snprintf(text, bytes, "%s", (common ? common : field)->name);
	return field;
}
