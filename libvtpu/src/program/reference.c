// SPDX-License-Identifier: MIT
/*
 * reference.c - the table of isa.c as a page for people; docs/assembly.md ends
 * with it, and a test sees that it still does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <vtpu/program.h>

#include "core/error.h"
#include "program/isa.h"

static void put_word(FILE *f, const struct vtpu_insn_field *field, const struct vtpu_insn_word *w)
{
	fprintf(f, "`%s", w->name);
	if (field->kind == VTPU_FIELD_EPILOGUE && *w->args) {
		fputc('(', f);
		for (const char *arg = w->args; *arg; arg++)
			fprintf(f, "%s%s", arg == w->args ? "" : ",",
				*arg == 'v' ? "address" :
				*arg == 'f' ? "float" :
					      "number");
		fputc(')', f);
	} else if (field->kind == VTPU_FIELD_MICRO_OPS) {
		fputs(*w->args == '2' ? "(a,b)" : "(a)", f);
	}
	fputc('`', f);
}

/* Those that devices have, then the others */
static void put_words(FILE *f, const struct vtpu_insn_field *field)
{
	const char *before = field->kind == VTPU_FIELD_FLAGS ? "some of " : "";

	for (int later = 0; later < 2; later++) {
		for (const struct vtpu_insn_word *w = field->words; w->name; w++) {
			if (vtpu_insn_later(field, w->value) != later ||
			    (field->types && !(field->types >> w->value & 1)))
				continue;
			fputs(before, f);
			put_word(f, field, w);
			before = ", ";
		}
		before = *before == ',' ? "; no device has yet " : "no device has yet ";
	}
}

/* What stands right of the equals sign */
static void put_form(FILE *f, const struct vtpu_insn_field *field)
{
	switch (field->kind) {
	case VTPU_FIELD_INT:
		fputs("signed number", f);
		break;
	case VTPU_FIELD_HEX:
		fputs("address or bits", f);
		break;
	case VTPU_FIELD_ADDR:
		fputs("place", f);
		break;
	case VTPU_FIELD_BITS:
		fputs("argument: number, float or `smem[n]`", f);
		break;
	case VTPU_FIELD_FLOAT:
		fputs("argument: float or `smem[n]`", f);
		break;
	case VTPU_FIELD_F32:
		fputs("float", f);
		break;
	case VTPU_FIELD_NAME:
	case VTPU_FIELD_FLAGS:
	case VTPU_FIELD_EPILOGUE:
	case VTPU_FIELD_MICRO_OPS:
		put_words(f, field);
		break;
	default:
		fputs("number", f);
		if (field->max)
			fprintf(f, " %" PRIu64 "..%" PRIu64, field->min,
				field->later ? field->later - UINT64_C(1) : field->max);
		break;
	}
}

static void put_fields(FILE *f, const struct vtpu_insn_row *op)
{
	bool any = false;

	for (const struct vtpu_insn_field *field = op->fields; field->name; field++) {
		if (!insn_written(field))
			continue;
		if (!any)
			fputs("\n| field | byte | values | default | what |\n|---|---|---|---|---|\n",
			      f);
		any = true;
		fprintf(f, "| `%s` | %u", field->name, field->offset);
		if (field->count > 1)
			fprintf(f, " (%u of %u)", field->count, field->bytes);
		fputs(" | ", f);
		put_form(f, field);
		fputs(" | ", f);
		if (field->kind == VTPU_FIELD_NAME && insn_name_of(field->words, field->fill))
			fputs(insn_name_of(field->words, field->fill), f);
		else
			fprintf(f, "%u", field->fill);
		fprintf(f, " | %s |\n", field->what);
	}
}

enum vtpu_status vtpu_isa_reference(char **text)
{
	char *out = NULL;
	size_t bytes;
	FILE *f = open_memstream(&out, &bytes);
	const struct vtpu_insn_row *same;

	if (!f)
		return vtpu_fail_nomem("the instruction set's reference");
	for (const struct vtpu_insn_row *op = insn_next(NULL); op; op = insn_next(op)) {
		fprintf(f, "\n### %s\n\nOpcode %#04x, unit %s%s.\n", op->name, op->opcode,
			insn_unit_name(op->unit), op->run ? "" : "; no device has it yet");
		for (same = insn_next(NULL); same != op; same = insn_next(same))
			if (same->fields == op->fields)
				break;
		if (same != op)
			fprintf(f, "Fields: those of %s.\n", same->name);
		else
			put_fields(f, op);
	}
	if (fclose(f)) {
		free(out);
		return vtpu_fail_nomem("the instruction set's reference");
	}
	*text = out;
	return VTPU_OK;
}
