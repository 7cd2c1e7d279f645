// SPDX-License-Identifier: MIT
/*
 * asm.c - the assembler: lines and statements. Values, down to the instruction
 * fields that table isa.c lists, are asm_value.c's. docs/assembly.md tells the
 * language.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "program/asm.h"

#define MAX_STATEMENTS (1 << 21)

static bool need_builder(struct text_asm *a)
{
	return a->builder || asm_fail(a, a->p, "expected 'program width=N' first");
}

/* A builder keeps its first error; bring it here. */
static bool builder_ok(struct text_asm *a, const char *at)
{
	return !a->builder->status ||
	       asm_fail(a, at, "%s",
			a->builder->sentence ? a->builder->sentence : "no host memory");
}

/* ---- Statements ----------------------------------------------------------------- */

/* name=... of a statement; @len 0 at the end of the line */
static bool next_key(struct text_asm *a, const char **key, size_t *len)
{
	*len = 0;
	if (asm_at_end(a))
		return true;
	return asm_word(a, key, len, "a field") && asm_expect(a, '=');
}

static bool is(const char *word, size_t len, const char *what)
{
	return strlen(what) == len && !memcmp(word, what, len);
}

static bool program(struct text_asm *a)
{
	uint64_t width = 1, scalars = 0, caps = 0;
	const char *start = a->p, *key;
	size_t len;

	if (a->builder)
		return asm_fail(a, a->p, "a second program line; a text is one program");
	for (;;) {
		if (!next_key(a, &key, &len))
			return false;
		if (!len)
			break;
		if (is(key, len, "width") ?
			    !asm_unsigned(a, 4, &width) :
		    is(key, len, "scalars") ?
			    !asm_unsigned(a, 4, &scalars) :
		    is(key, len, "caps") ?
			    !asm_flags(a, insn_caps, 8, &caps) :
			    !asm_fail(a, key,
				      "unknown field '%.*s' of program; expected width, scalars or caps",
				      (int)len, key))
			return false;
	}
	if (vtpu_builder_create(width, &a->builder))
		return asm_fail(a, start, "%s", vtpu_last_error());
	vtpu_builder_scalars(a->builder, scalars);
	vtpu_builder_caps(a->builder, caps);
	return builder_ok(a, start);
}

static bool base(struct text_asm *a)
{
	struct vtpu_base_desc desc = { 0 };
	uint64_t extent = 0, stride = 0, align = 64, flags = 0;
	const char *start = a->p, *key;
	uint32_t number;
	char *name;
	size_t len;

	if (!need_builder(a) || !asm_name(a, &name))
		return false;
	for (;;) {
		if (!next_key(a, &key, &len))
			goto fail;
		if (!len)
			break;
		if (is(key, len, "extent") ?
			    !asm_unsigned(a, 8, &extent) :
		    is(key, len, "stride") ?
			    !asm_unsigned(a, 8, &stride) :
		    is(key, len, "align") ?
			    !asm_unsigned(a, 4, &align) :
		    is(key, len, "rights") ?
			    !asm_flags(a, insn_rights, 4, &flags) :
			    !asm_fail(a, key,
				      "unknown field '%.*s' of base; expected extent, stride, align or rights",
				      (int)len, key))
			goto fail;
	}
	desc.name = name;
	desc.extent = extent;
	desc.core_stride = stride;
	number = vtpu_builder_base(a->builder, &desc);
	if (!builder_ok(a, start))
		goto fail;
	/* As written, also what a base should not have. */
	a->builder->base[number].align = align;
	a->builder->base[number].flags = flags;
	if (!symbols_add(&a->symbols, SYMBOL_BASE, name, strlen(name), number))
		asm_fail(a, start, "no host memory");
fail:
	free(name);
	return !a->status;
}

static bool op(struct text_asm *a)
{
	const char *start = a->p;
	uint64_t id;
	char *name;

	if (!need_builder(a) || !asm_unsigned(a, 4, &id) || !asm_name(a, &name))
		return false;
	vtpu_builder_op_id(a->builder, id, name);
	if (builder_ok(a, start) && !symbols_add(&a->symbols, SYMBOL_OP, name, strlen(name), id))
		asm_fail(a, start, "no host memory");
	free(name);
	return !a->status;
}

static bool tensor(struct text_asm *a)
{
	uint64_t offset = 0, bytes = 0;
	const char *start = a->p, *key;
	uint32_t number;
	char *name;
	size_t len;

	if (!need_builder(a) || !asm_base(a, &number) || !asm_name(a, &name))
		return false;
	for (;;) {
		if (!next_key(a, &key, &len))
			goto fail;
		if (!len)
			break;
		if (is(key, len, "offset") ?
			    !asm_unsigned(a, 8, &offset) :
		    is(key, len, "bytes") ?
			    !asm_unsigned(a, 8, &bytes) :
			    !asm_fail(a, key,
				      "unknown field '%.*s' of tensor; expected offset or bytes",
				      (int)len, key))
			goto fail;
	}
	vtpu_builder_tensor(a->builder, number, name, offset, bytes);
	builder_ok(a, start);
fail:
	free(name);
	return !a->status;
}

/* const hex 00ff..., const f32 1.0, 2.0, const u32 1, 2, const zero N */
static bool constant(struct text_asm *a)
{
	const char *start = a->p, *kind;
	uint64_t value;
	size_t len;

	if (!need_builder(a) || !asm_word(a, &kind, &len, "hex, f32, u32 or zero"))
		return false;
	if (is(kind, len, "zero")) {
		if (!asm_unsigned(a, 4, &value))
			return false;
		vtpu_builder_append_const(a->builder, NULL, value);
	} else if (is(kind, len, "hex")) {
		uint8_t byte;

		for (asm_blank(a); !asm_at_end(a);) {
			if (!asm_hex_byte(a, &byte))
				return false;
			vtpu_builder_append_const(a->builder, &byte, 1);
		}
	} else if (is(kind, len, "f32") || is(kind, len, "u32")) {
		do {
			uint32_t word;

			if (is(kind, len, "u32") ? !asm_unsigned(a, 4, &value) :
						   !asm_float(a, &value))
				return false;
			word = value;
			vtpu_builder_append_const(a->builder, &word, sizeof(word));
		} while (asm_take(a, ','));
	} else {
		return asm_fail(a, kind, "unknown constant '%.*s'; expected hex, f32, u32 or zero",
				(int)len, kind);
	}
	return builder_ok(a, start);
}

/* let NAME = NUMBER; sem NAME, sem NAME = NUMBER */
static bool number(struct text_asm *a, bool semaphore)
{
	const char *name, *at;
	uint64_t value;
	size_t len;

	if (!need_builder(a))
		return false;
	asm_blank(a);
	at = a->p;
	if (!asm_word(a, &name, &len, "a name"))
		return false;
	if (text_is_reserved(name, len) || symbols_find(&a->symbols, SYMBOL_NUMBER, name, len))
		return asm_fail(a, at, "name '%.*s' is taken", (int)len, name);
	if (a->loops)
		return asm_fail(a, at, "a name cannot be defined inside repeat");
	if (semaphore && !asm_take(a, '='))
		value = vtpu_builder_semaphore(a->builder);
	else if ((!semaphore && !asm_expect(a, '=')) || !asm_unsigned(a, semaphore ? 1 : 7, &value))
		return false;
	if (!symbols_add(&a->symbols, SYMBOL_NUMBER, name, len, value))
		return asm_fail(a, at, "no host memory");
	return builder_ok(a, at);
}

/* raw UNIT 256 hexadecimal digits: an instruction as it is, also one that no device takes */
static bool raw(struct text_asm *a, struct vtpu_insn *insn)
{
	const char *word;
	size_t len;
	unsigned int unit;

	if (!asm_word(a, &word, &len, "a unit"))
		return false;
	for (unit = 0; unit < VTPU_UNITS; unit++)
		if (is(word, len, insn_unit_name(unit)))
			break;
	if (unit == VTPU_UNITS)
		return asm_fail(a, word,
				"unknown unit '%.*s'; expected ctl, dma, mxu, vpu, xlu or ici",
				(int)len, word);
	asm_blank(a);
	for (size_t i = 0; i < sizeof(*insn); i++)
		if (!asm_hex_byte(a, (uint8_t *)insn + i))
			return false;
	a->unit = unit;
	return true;
}

/* ---- Repetition ---------------------------------------------------------------------- */

/* repeat N, repeat NAME N: the lines up to the matching end, N times, with NAME = 0.. */
static bool repeat(struct text_asm *a)
{
	const char *at, *name = NULL;
	struct text_loop *loop;
	size_t len = 0;

	if (!need_builder(a))
		return false;
	asm_blank(a);
	at = a->p;
	if (a->loops == TEXT_LOOPS)
		return asm_fail(a, at, "more than %d repeats inside each other", TEXT_LOOPS);
	loop = &a->loop[a->loops];
	if (a->p < a->end && (isalpha((unsigned char)*a->p) || *a->p == '_')) {
		if (!asm_word(a, &name, &len, "a name"))
			return false;
		/* A name alone is the number of times. */
		if (asm_at_end(a) || symbols_find(&a->symbols, SYMBOL_NUMBER, name, len)) {
			a->p = name;
			name = NULL;
		}
	}
	if (!asm_unsigned(a, 4, &loop->times))
		return false;
	if (!loop->times)
		return asm_fail(a, at, "repeat 0; must be at least 1");
	if (name && !symbols_set(&a->symbols, SYMBOL_NUMBER, name, len, 0))
		return asm_fail(a, at, "no host memory");
	loop->name = name;
	loop->name_len = len;
	loop->done = 0;
	if (!asm_at_end(a))
		return asm_fail(a, a->p, "expected the end of the line");
	loop->text = a->p;
	loop->line_start = a->line_start;
	loop->line = a->line;
	a->loops++;
	return true;
}

static bool end(struct text_asm *a, const char *at)
{
	struct text_loop *loop;

	if (!a->loops)
		return asm_fail(a, at, "end without repeat");
	loop = &a->loop[a->loops - 1];
	if (++loop->done == loop->times) {
		if (loop->name)
			symbols_remove(&a->symbols, SYMBOL_NUMBER, loop->name, loop->name_len);
		a->loops--;
		return true;
	}
	if (loop->name &&
	    !symbols_set(&a->symbols, SYMBOL_NUMBER, loop->name, loop->name_len, loop->done))
		return asm_fail(a, at, "no host memory");
	a->p = loop->text;
	a->line_start = loop->line_start;
	a->line = loop->line;
	return true;
}

/* ---- Lines ----------------------------------------------------------------------- */

/* A line that is an instruction; @word is its first. */
static bool instruction(struct text_asm *a, const char *word, size_t len, struct vtpu_insn *insn)
{
	const struct vtpu_insn_row *opcode = insn_op_named(word, len);

	memset(insn, 0, sizeof(*insn));
	if (is(word, len, "raw"))
		return raw(a, insn);
	if (!opcode)
		return asm_fail(a, word,
				"unknown instruction or statement '%.*s'; 'vtpu-asm --isa' lists instructions, statements are "
				"program, base, op, tensor, const, let, sem, repeat, end and raw",
				(int)len, word);
	a->unit = opcode->unit;
	return asm_fields(a, opcode, insn);
}

static bool statement(struct text_asm *a)
{
	struct vtpu_insn insn;
	const char *word;
	size_t len;

	if (!asm_word(a, &word, &len, "an instruction or statement"))
		return false;
	if (is(word, len, "program"))
		return program(a);
	if (is(word, len, "base"))
		return base(a);
	if (is(word, len, "op"))
		return op(a);
	if (is(word, len, "tensor"))
		return tensor(a);
	if (is(word, len, "const"))
		return constant(a);
	if (is(word, len, "let") || is(word, len, "sem"))
		return number(a, *word == 's');
	if (is(word, len, "repeat"))
		return repeat(a);
	if (is(word, len, "end"))
		return end(a, word);
	if (!a->builder)
		return asm_fail(a, word, "expected 'program width=N' first");
	if (!instruction(a, word, len, &insn))
		return false;
	vtpu_builder_append_insn(a->builder, a->unit, &insn);
	return builder_ok(a, word);
}

static void begin(struct text_asm *a, const char *text, size_t bytes)
{
	a->p = text;
	a->end = text + bytes;
	a->line_start = text;
	a->line = 1;
	a->depth = 0;
	a->loops = 0;
	a->status = VTPU_OK;
}

enum vtpu_status text_run(struct text_asm *a, const char *text, size_t bytes)
{
	uint32_t statements = 0;

	begin(a, text, bytes);
	while (a->p < a->end) {
		if (!asm_at_end(a)) {
			if (++statements > MAX_STATEMENTS) {
				asm_fail(a, a->p,
					 "more than %d statements, repeated ones counted each time",
					 MAX_STATEMENTS);
				return a->status;
			}
			if (!statement(a))
				return a->status;
		}
		if (!asm_at_end(a)) {
			asm_fail(a, a->p, "expected the end of the line");
			return a->status;
		}
		asm_next_line(a);
	}
	if (a->loops)
		asm_fail(a, a->p, "the repeat of line %u has no end", a->loop[a->loops - 1].line);
	return a->status;
}

bool text_insn(struct text_asm *a, const char *line, size_t bytes, struct vtpu_insn *insn)
{
	const char *word;
	size_t len;

	begin(a, line, bytes);
	return asm_word(a, &word, &len, "an instruction") && instruction(a, word, len, insn) &&
	       asm_at_end(a);
}

void text_free(struct text_asm *a)
{
	symbols_free(&a->symbols);
	vtpu_builder_destroy(a->builder);
}

enum vtpu_status vtpu_assemble(const char *name, const char *text, size_t bytes,
			       struct vtpu_image **image)
{
	struct text_asm a = { .name = name ? name : "text" };
	locale_t old = text_number_locale();
	enum vtpu_status status = text_run(&a, text, bytes);

	if (!status && !need_builder(&a))
		status = a.status;
	if (!status)
		status = vtpu_builder_finish(a.builder, image);
	text_free(&a);
	text_restore_locale(old);
	return status;
}
