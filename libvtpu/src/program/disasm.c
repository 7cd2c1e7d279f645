// SPDX-License-Identifier: MIT
/*
 * disasm.c - the disassembler: images as text from which the same bytes come.
 *
 * Each line that it writes for an instruction is assembled again at once; where
 * that gives other bytes (reserved bits, unknown opcodes), the line is raw.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/image.h"
#include "program/text.h"

static void quote(FILE *f, const char *name, bool word_allowed)
{
	if (word_allowed && text_is_word(name)) {
		fputs(name, f);
		return;
	}
	fputc('"', f);
	for (; *name; name++) {
		if (*name == '"' || *name == '\\')
			fprintf(f, "\\%c", *name);
		else if (isprint((unsigned char)*name))
			fputc(*name, f);
		else
			fprintf(f, "\\x%02x", (unsigned char)*name);
	}
	fputc('"', f);
}

/* ---- Values ---------------------------------------------------------------------- */

static void put_float(FILE *f, uint32_t bits)
{
	char text[32];
	float value, back;

	memcpy(&value, &bits, sizeof(value));
	snprintf(text, sizeof(text), "%.9g", (double)value);
	back = strtof(text, NULL);
	/* Also what is no number, or has more than one form, comes as bits. */
	if (strpbrk(text, "in") || memcmp(&back, &bits, sizeof(bits)))
		fprintf(f, "0x%08" PRIx32, bits);
	else
		fprintf(f, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

static void put_argument(FILE *f, const struct vtpu_insn *insn, unsigned int number, bool is_float,
			 uint32_t bits)
{
	if (number < 4 && insn->flags & VTPU_INSN_ARG_SMEM(number))
		fprintf(f, "smem[%" PRIu32 "]", bits);
	else if (is_float)
		put_float(f, bits);
	else
		fprintf(f, "%#" PRIx32, bits);
}

static void put_address(FILE *f, const struct text_asm *names, const struct vtpu_image *image,
			uint64_t addr)
{
	uint32_t base = VTPU_ADDR_BASE(addr), space = VTPU_ADDR_SPACE(addr);
	const struct symbol *s;
	const char *name;

	if (addr & VTPU_ADDR_RSVD || space > VTPU_SPACE_SMEM || (space != VTPU_SPACE_HBM && base)) {
		fprintf(f, "%#" PRIx64, addr);
		return;
	}
	if (space == VTPU_SPACE_VMEM) {
		fputs(TEXT_VMEM, f);
	} else if (space == VTPU_SPACE_SMEM) {
		fputs(TEXT_SMEM, f);
	} else if (base == VTPU_BASE_CONST) {
		fputs(TEXT_CONST, f);
	} else {
		name = base < image->bases ? image->base[base].name : "";
		s = symbols_find(&names->symbols, SYMBOL_BASE, name, strlen(name));
		if (s && s->value == base)
			quote(f, name, !text_is_reserved(name, strlen(name)));
		else
			fprintf(f, TEXT_BASE "[%" PRIu32 "]", base);
	}
	fprintf(f, "+%#" PRIx64, (uint64_t)VTPU_ADDR_OFFSET(addr));
}

static void put_names(FILE *f, const struct vtpu_insn_word *names, uint64_t value)
{
	bool first = true;

	for (; names->name; names++) {
		if (!(value & names->value))
			continue;
		fprintf(f, "%s%s", first ? "" : "|", names->name);
		value &= ~(uint64_t)names->value;
		first = false;
	}
	if (value || first)
		fprintf(f, "%s%#" PRIx64, first ? "" : "|", value);
}

static void put_epilogue(FILE *f, const struct vtpu_insn_field *field, const struct vtpu_insn *insn)
{
	const struct vtpu_insn_field *arg = field + 1; /* the table has them in this order */
	unsigned int args = 0;

	for (unsigned int i = 0; i < field->count; i++) {
		uint32_t op = insn_get(insn, field, i);
		const struct vtpu_insn_word *entry = field->words;

		while (entry->name && entry->value != op)
			entry++;
		if (!entry->name)
			return;
		fprintf(f, "%s%s", i ? "," : "", entry->name);
		for (const char *kind = entry->args; *kind && args < arg->count; kind++, args++) {
			fputc(kind == entry->args ? '(' : ',', f);
			put_argument(f, insn, args, *kind == 'f', insn_get(insn, arg, args));
		}
		if (*entry->args)
			fputc(')', f);
	}
}

static void put_micro_op(FILE *f, const struct vtpu_insn_field *field, const struct vtpu_insn *insn,
			 unsigned int i)
{
	static const char *const reg[8] = { "r0", "r1", "r2", "r3", "i0", "i1", "?", "?" };
	uint8_t args = insn->payload.ew.op[i].args;
	const struct vtpu_insn_word *entry = field->words;

	while (entry->name && entry->value != insn_get(insn, field, i))
		entry++;
	fprintf(f, "%s=%s(%s", reg[VTPU_EW_DST(args)], entry->name ? entry->name : "?",
		reg[VTPU_EW_A(args)]);
	if (entry->name && *entry->args == '2')
		fprintf(f, ",%s", reg[VTPU_EW_B(args)]);
	fputc(')', f);
}

static void put_element(FILE *f, const struct text_asm *names, const struct vtpu_image *image,
			const struct vtpu_insn_field *field, const struct vtpu_insn *insn,
			unsigned int i)
{
	uint64_t value = insn_get(insn, field, i);
	const char *name;

	switch (field->kind) {
	case VTPU_FIELD_INT:
		fprintf(f, "%" PRId32, (int32_t)value);
		break;
	case VTPU_FIELD_HEX:
		fprintf(f, "%#" PRIx64, value);
		break;
	case VTPU_FIELD_ADDR:
		put_address(f, names, image, value);
		break;
	case VTPU_FIELD_NAME:
		name = insn_name_of(field->words, value);
		if (name)
			fputs(name, f);
		else
			fprintf(f, "%" PRIu64, value);
		break;
	case VTPU_FIELD_FLAGS:
		put_names(f, field->words, value);
		break;
	case VTPU_FIELD_BITS:
	case VTPU_FIELD_FLOAT:
		put_argument(f, insn, i, field->kind == VTPU_FIELD_FLOAT, value);
		break;
	case VTPU_FIELD_F32:
		put_float(f, (uint32_t)value);
		break;
	case VTPU_FIELD_MICRO_OPS:
		put_micro_op(f, field, insn, i);
		break;
	default:
		fprintf(f, "%" PRIu64, value);
		break;
	}
}

/* ---- Instructions ------------------------------------------------------------------ */

/* Elements of a field to write: as many as its counter says, else up to the last that is not the default */
static unsigned int elements(const struct vtpu_insn_field *field, const struct vtpu_insn *insn)
{
	unsigned int n = field->count;

	if (field->counter)
		return ((const uint8_t *)insn)[field->counter] < n ?
			       ((const uint8_t *)insn)[field->counter] :
			       n;
	while (n && insn_get(insn, field, n - 1) == field->fill &&
	       !((field->kind == VTPU_FIELD_FLOAT || field->kind == VTPU_FIELD_BITS) && n <= 4 &&
		 insn->flags & VTPU_INSN_ARG_SMEM(n - 1)))
		n--;
	return n;
}

static void put_common(FILE *f, const struct text_asm *names, const struct vtpu_image *image,
		       const struct vtpu_insn *insn)
{
	const char *name = vtpu_image_op_name(image, insn->op_id);
	const struct symbol *s =
		name ? symbols_find(&names->symbols, SYMBOL_OP, name, strlen(name)) : NULL;

	if (insn->op_id) {
		fputs(" op=", f);
		if (s && s->value == insn->op_id)
			quote(f, name, true);
		else
			fprintf(f, "%" PRIu32, insn->op_id);
	}
	for (int i = 0; i < 2; i++)
		if (insn->flags & VTPU_INSN_WAIT0 << i)
			fprintf(f, " wait%s=%u>=%" PRIu32,
				i && !(insn->flags & VTPU_INSN_WAIT0) ? "1" : "", insn->wait[i].sem,
				insn->wait[i].value);
	for (int i = 0; i < 2; i++) {
		if (!(insn->flags & VTPU_INSN_SIGNAL0 << i))
			continue;
		fprintf(f, " signal%s=%u+%u", i && !(insn->flags & VTPU_INSN_SIGNAL0) ? "1" : "",
			insn->signal[i].sem, insn->signal[i].inc);
		if (insn->signal[i].core)
			fprintf(f, "@%u", insn->signal[i].core);
	}
	if (insn->flags & VTPU_INSN_PRED)
		fprintf(f, " pred=%u", insn->wait[0].pad);
}

/* The line of an instruction, without newline; NULL without memory. free() it */
static char *line_of(const struct text_asm *names, const struct vtpu_image *image,
		     const struct vtpu_insn_row *op, const struct vtpu_insn *insn)
{
	char *line = NULL;
	size_t bytes;
	FILE *f = open_memstream(&line, &bytes);

	if (!f)
		return NULL;
	fputs(op->name, f);
	for (const struct vtpu_insn_field *field = op->fields; field->name; field++) {
		unsigned int n;

		if (!insn_written(field))
			continue;
		n = elements(field, insn);
		if (!n)
			continue;
		fprintf(f, " %s=", field->name);
		if (field->kind == VTPU_FIELD_EPILOGUE)
			put_epilogue(f, field, insn);
		for (unsigned int i = 0; i < n && field->kind != VTPU_FIELD_EPILOGUE; i++) {
			if (i)
				fputc(',', f);
			put_element(f, names, image, field, insn, i);
		}
	}
	put_common(f, names, image, insn);
	if (fclose(f)) {
		free(line);
		return NULL;
	}
	return line;
}

static bool put_insn(FILE *f, struct text_asm *names, const struct vtpu_image *image,
		     unsigned int unit, const struct vtpu_insn *insn)
{
	const struct vtpu_insn_row *op = insn_op(insn->opcode);
	struct vtpu_insn again;
	char *line;

	if (op) {
		line = line_of(names, image, op, insn);
		if (!line)
			return false;
		if (text_insn(names, line, strlen(line), &again) &&
		    !memcmp(&again, insn, sizeof(again)) && insn->unit == unit) {
			fprintf(f, "%s\n", line);
			free(line);
			return true;
		}
		free(line);
	}
	fprintf(f, "raw %s ", insn_unit_name(unit));
	for (size_t i = 0; i < sizeof(*insn); i++)
		fprintf(f, "%02x", ((const uint8_t *)insn)[i]);
	fputc('\n', f);
	return true;
}

/* ---- Images ---------------------------------------------------------------------- */

static void put_head(FILE *f, const struct vtpu_image *image)
{
	fprintf(f, "program width=%" PRIu32, image->header->width);
	if (image->header->nscalars)
		fprintf(f, " scalars=%" PRIu32, image->header->nscalars);
	if (image->header->caps) {
		fputs(" caps=", f);
		put_names(f, insn_caps, image->header->caps);
	}
	fputc('\n', f);
	for (uint32_t i = 0; i < image->bases; i++) {
		const struct vtpu_image_base *b = &image->base[i];

		fputs("base ", f);
		quote(f, b->name, true);
		fprintf(f, " extent=%" PRIu64 " stride=%" PRIu64 " align=%" PRIu32 " rights=",
			(uint64_t)b->extent, (uint64_t)b->core_stride, b->align);
		put_names(f, insn_rights, b->flags);
		fputc('\n', f);
	}
	for (uint32_t i = 0; i < image->ops; i++) {
		fprintf(f, "op %" PRIu32 " ", image->op[i].op_id);
		quote(f, (const char *)image->op + image->op[i].name, true);
		fputc('\n', f);
	}
	for (uint32_t i = 0; i < image->tensors; i++) {
		const struct vtpu_image_tensor *t = &image->tensor[i];

		fprintf(f, "tensor base[%" PRIu32 "] ", t->base);
		quote(f, (const char *)image->tensor + t->name, true);
		fprintf(f, " offset=%" PRIu64 " bytes=%" PRIu64 "\n", (uint64_t)t->offset,
			(uint64_t)t->bytes);
	}
	for (uint32_t i = 0; i < image->const_bytes; i++)
		fprintf(f, "%s%02x%s", i % 32 ? "" : "const hex ", image->constants[i],
			i % 32 == 31 || i == image->const_bytes - 1 ? "\n" : "");
}

static enum vtpu_status disassemble(const struct vtpu_image *image, char **text)
{
	struct text_asm names = { .name = "disassembly" };
	size_t bytes;
	FILE *f = open_memstream(text, &bytes);
	enum vtpu_status status;
	bool ok = f;

	if (!f)
		return vtpu_fail_nomem("a disassembly");
	put_head(f, image);
	/* What was written so far gives the names that the lines may use. */
	if (fflush(f)) {
		status = vtpu_fail_nomem("a disassembly");
	} else {
		char *head = strndup(*text, bytes);

		status = head ? text_run(&names, head, bytes) : vtpu_fail_nomem("a disassembly");
		free(head);
	}
	names.quiet = true;
	for (unsigned int unit = 0; !status && ok && unit < VTPU_UNITS; unit++) {
		if (image->count[unit])
			fprintf(f, "\n# %s\n", insn_unit_name(unit));
		for (uint32_t i = 0; ok && i < image->count[unit]; i++)
			ok = put_insn(f, &names, image, unit, &image->insn[unit][i]);
	}
	text_free(&names);
	if ((fclose(f) || !ok) && !status)
		status = vtpu_fail_nomem("a disassembly");
	if (status) {
		free(*text);
		*text = NULL;
	}
	return status;
}

enum vtpu_status vtpu_disassemble(const struct vtpu_image *image, char **text)
{
	locale_t old = text_number_locale();
	enum vtpu_status status;
	char *out;

	status = disassemble(image, &out);
	if (!status)
		*text = out;
	text_restore_locale(old);
	return status;
}
