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

/* What stands right of the equals sign */
static void put_form(FILE *f, const struct insn_field *field)
{
	const char *comma = "";

	switch (field->kind) {
	case INSN_INT:
		fputs("signed number", f);
		break;
	case INSN_HEX:
		fputs("address or bits", f);
		break;
	case INSN_ADDR:
		fputs("place", f);
		break;
	case INSN_BITS:
		fputs("argument: number, float or `smem[n]`", f);
		break;
	case INSN_FLOAT:
		fputs("argument: float or `smem[n]`", f);
		break;
	case INSN_NAME:
	case INSN_FLAGS:
	case INSN_EPILOGUE:
	case INSN_MICRO_OPS:
		if (field->kind == INSN_FLAGS)
			fputs("some of ", f);
		for (const struct insn_name *n = field->names; n->name; n++) {
			fprintf(f, "%s`%s", comma, n->name);
			if (field->kind == INSN_EPILOGUE && *n->args) {
				fputc('(', f);
				for (const char *arg = n->args; *arg; arg++)
					fprintf(f, "%s%s", arg == n->args ? "" : ",",
						*arg == 'v' ? "address" :
						*arg == 'f' ? "float" :
							      "number");
				fputc(')', f);
			} else if (field->kind == INSN_MICRO_OPS) {
				fputs(*n->args == '2' ? "(a,b)" : "(a)", f);
			}
			fputc('`', f);
			comma = ", ";
		}
		break;
	default:
		fputs("number", f);
		break;
	}
}

static void put_fields(FILE *f, const struct insn_op *op)
{
	bool any = false;

	for (const struct insn_field *field = op->fields; field->name; field++) {
		if (!insn_uses(op, field) || field->kind == INSN_COUNT ||
		    field->kind == INSN_EPI_ARG)
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
		if (field->kind == INSN_NAME && insn_name_of(field->names, field->fill))
			fputs(insn_name_of(field->names, field->fill), f);
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
	const struct insn_op *same;

	if (!f)
		return vtpu_fail_nomem("the instruction set's reference");
	for (const struct insn_op *op = insn_ops; op->name; op++) {
		fprintf(f, "\n### %s\n\nOpcode %#04x, unit %s%s.\n", op->name, op->opcode,
			insn_unit_name(op->unit), op->built ? "" : "; no device has it yet");
		for (same = insn_ops; same != op; same++)
			if (same->fields == op->fields && same->uses == op->uses)
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
