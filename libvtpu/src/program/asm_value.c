// SPDX-License-Identifier: MIT
/*
 * asm_value.c - words, numbers, names and expressions of the text form.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/asm.h"

#define MAX_DEPTH 64
#define MAX_VALUE ((__int128)1 << 80)

bool asm_fail(struct text_asm *a, const char *at, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (a->status)
		return false;
	a->status = VTPU_ERROR_SYNTAX;
	if (a->quiet)
		return false;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	vtpu_fail(a->status, "%s:%u:%d: %s", a->name, a->line, (int)(at - a->line_start) + 1, text);
	return false;
}

/* ---- Bytes ------------------------------------------------------------------------ */

static int peek(const struct text_asm *a)
{
	return a->p < a->end ? (unsigned char)*a->p : '\n';
}

void asm_blank(struct text_asm *a)
{
	while (a->p < a->end && (*a->p == ' ' || *a->p == '\t' || *a->p == '\r'))
		a->p++;
}

bool asm_at_end(struct text_asm *a)
{
	asm_blank(a);
	return peek(a) == '\n' || peek(a) == '#';
}

void asm_next_line(struct text_asm *a)
{
	while (a->p < a->end && *a->p++ != '\n')
		;
	a->line_start = a->p;
	a->line++;
}

bool asm_take(struct text_asm *a, char c)
{
	asm_blank(a);
	if (peek(a) != c)
		return false;
	a->p++;
	return true;
}

bool asm_expect(struct text_asm *a, char c)
{
	return asm_take(a, c) || asm_fail(a, a->p, "expected '%c'", c);
}

static bool word_start(int c)
{
	return isalpha(c) || c == '_';
}

bool asm_word(struct text_asm *a, const char **word, size_t *len, const char *what)
{
	asm_blank(a);
	if (!word_start(peek(a)))
		return asm_fail(a, a->p, "expected %s", what);
	*word = a->p;
	while (isalnum(peek(a)) || peek(a) == '_' || peek(a) == '.')
		a->p++;
	*len = a->p - *word;
	return true;
}

bool asm_hex_byte(struct text_asm *a, uint8_t *byte)
{
	unsigned int value = 0;

	asm_blank(a);
	for (int i = 0; i < 2; i++) {
		int c = tolower(peek(a));

		if (!isxdigit(c))
			return asm_fail(a, a->p, "expected a byte in two hexadecimal digits");
		value = value << 4 | (unsigned int)(c <= '9' ? c - '0' : c - 'a' + 10);
		a->p++;
	}
	*byte = value;
	return true;
}

/* "..." with \" \\ and \xHH */
static bool quoted(struct text_asm *a, char **name)
{
	const char *start = a->p++;
	size_t n = 0;
	char *text = malloc(a->end - start);

	if (!text)
		return asm_fail(a, start, "no host memory");
	while (peek(a) != '"') {
		uint8_t byte = peek(a);

		if (byte == '\n') {
			free(text);
			return asm_fail(a, start, "the quoted name does not end on this line");
		}
		a->p++;
		if (byte == '\\' && peek(a) == 'x') {
			a->p++;
			if (!asm_hex_byte(a, &byte) || !byte) {
				free(text);
				return asm_fail(a, a->p, "a name cannot have a zero byte");
			}
		} else if (byte == '\\') {
			byte = peek(a);
			if (byte != '"' && byte != '\\') {
				free(text);
				return asm_fail(a, a->p, "expected \\\", \\\\ or \\xHH");
			}
			a->p++;
		} else if (!byte) {
			free(text);
			return asm_fail(a, a->p, "a name cannot have a zero byte");
		}
		text[n++] = byte;
	}
	a->p++;
	text[n] = 0;
	*name = text;
	return true;
}

bool asm_name(struct text_asm *a, char **name)
{
	const char *word;
	size_t len;

	asm_blank(a);
	if (peek(a) == '"')
		return quoted(a, name);
	if (!asm_word(a, &word, &len, "a name"))
		return false;
	*name = strndup(word, len);
	return *name || asm_fail(a, word, "no host memory");
}

/* ---- Expressions -------------------------------------------------------------------- */

static bool expression(struct text_asm *a, __int128 *value);

static bool literal(struct text_asm *a, __int128 *value)
{
	const char *start = a->p;
	unsigned int radix = 10;

	*value = 0;
	if (peek(a) == '0' && a->p + 1 < a->end && (a->p[1] == 'x' || a->p[1] == 'X')) {
		radix = 16;
		a->p += 2;
		if (!isxdigit(peek(a)))
			return asm_fail(a, a->p, "expected hexadecimal digits");
	}
	while (radix == 16 ? isxdigit(peek(a)) : isdigit(peek(a))) {
		int c = tolower(peek(a));

		*value = *value * radix + (c <= '9' ? c - '0' : c - 'a' + 10);
		if (*value > MAX_VALUE)
			return asm_fail(a, start, "number is too large");
		a->p++;
	}
	if (isalnum(peek(a)) || peek(a) == '_' || peek(a) == '.')
		return asm_fail(a, start, "expected a whole number");
	return true;
}

static bool factor(struct text_asm *a, __int128 *value)
{
	const struct symbol *s;
	const char *word;
	size_t len;
	bool ok;

	asm_blank(a);
	if (a->depth == MAX_DEPTH)
		return asm_fail(a, a->p, "more than %d parentheses inside each other", MAX_DEPTH);
	if (peek(a) == '-' || peek(a) == '(') {
		a->depth++;
		if (*a->p++ == '-') {
			ok = factor(a, value);
			*value = -*value;
		} else {
			ok = expression(a, value) && asm_expect(a, ')');
		}
		a->depth--;
		return ok;
	}
	if (isdigit(peek(a)))
		return literal(a, value);
	if (!asm_word(a, &word, &len, "a number"))
		return false;
	s = symbols_find(&a->symbols, SYMBOL_NUMBER, word, len);
	if (!s)
		return asm_fail(a, word, "unknown number '%.*s'; 'let %.*s = ...' defines one",
				(int)len, word, (int)len, word);
	*value = s->value;
	return true;
}

static bool product(struct text_asm *a, __int128 *value)
{
	__int128 right;

	if (!factor(a, value))
		return false;
	for (;;) {
		const char *at;
		char sign;

		asm_blank(a);
		at = a->p;
		sign = peek(a);
		if (sign != '*' && sign != '/')
			return true;
		a->p++;
		if (!factor(a, &right))
			return false;
		if (sign == '/' && !right)
			return asm_fail(a, at, "division by zero");
		if (sign == '*' && right && *value / right != 0 &&
		    (*value > MAX_VALUE / (right < 0 ? -right : right) ||
		     *value < -MAX_VALUE / (right < 0 ? -right : right)))
			return asm_fail(a, at, "number is too large");
		*value = sign == '*' ? *value * right : *value / right;
	}
}

static bool expression(struct text_asm *a, __int128 *value)
{
	__int128 right = 0;

	if (!product(a, value))
		return false;
	for (;;) {
		const char *at;
		char sign;

		asm_blank(a);
		at = a->p;
		sign = peek(a);
		if (sign != '+' && sign != '-')
			return true;
		a->p++;
		if (!product(a, &right))
			return false;
		*value = sign == '+' ? *value + right : *value - right;
		if (*value > MAX_VALUE || *value < -MAX_VALUE)
			return asm_fail(a, at, "number is too large");
	}
}

static bool in_range(struct text_asm *a, const char *at, __int128 value, __int128 low,
		     __int128 high)
{
	char got[24] = "far outside";

	if (value >= low && value <= high)
		return true;
	if (value >= INT64_MIN && value <= INT64_MAX)
		snprintf(got, sizeof(got), "%" PRId64, (int64_t)value);
	return asm_fail(a, at, "value is %s; must be %" PRId64 "..%" PRIu64, got, (int64_t)low,
			(uint64_t)high);
}

static bool number(struct text_asm *a, unsigned int bytes, bool sign, bool only_factor,
		   uint64_t *value)
{
	__int128 wide, limit = (__int128)1 << (8 * bytes - sign);
	const char *at;

	asm_blank(a);
	at = a->p;
	if (!(only_factor ? factor(a, &wide) : expression(a, &wide)) ||
	    !in_range(a, at, wide, sign ? -limit : 0, limit - 1))
		return false;
	*value = wide;
	return true;
}

bool asm_unsigned(struct text_asm *a, unsigned int bytes, uint64_t *value)
{
	return number(a, bytes, false, false, value);
}

bool asm_signed(struct text_asm *a, unsigned int bytes, uint64_t *value)
{
	return number(a, bytes, true, false, value);
}

bool asm_factor(struct text_asm *a, unsigned int bytes, uint64_t *value)
{
	return number(a, bytes, false, true, value);
}

/* ---- Other values ------------------------------------------------------------------- */

bool asm_looks_float(struct text_asm *a)
{
	const char *p;

	asm_blank(a);
	p = a->p;
	if (p < a->end && *p == '-')
		p++;
	while (p < a->end && isdigit((unsigned char)*p))
		p++;
	return p < a->end && p > a->p && (*p == '.' || *p == 'e' || *p == 'E');
}

bool asm_float(struct text_asm *a, uint64_t *bits)
{
	char text[64];
	size_t n = 0;
	char *end;
	float value;
	uint32_t word;

	asm_blank(a);
	if (peek(a) == '0' && a->p + 1 < a->end && (a->p[1] == 'x' || a->p[1] == 'X'))
		return asm_factor(a, 4, bits);
	while (n < sizeof(text) - 1 && (isdigit(peek(a)) || strchr("+-.eE", peek(a)))) {
		text[n++] = peek(a);
		a->p++;
	}
	text[n] = 0;
	value = strtof(text, &end);
	if (!n || *end || isalnum(peek(a)))
		return asm_fail(a, a->p - n,
				"expected a number such as 0.5, 1e-3 or the bits 0x3f800000");
	memcpy(&word, &value, sizeof(word));
	*bits = word;
	return true;
}

bool asm_named(struct text_asm *a, const struct vtpu_insn_word *names, unsigned int bytes,
	       uint64_t *value)
{
	const struct vtpu_insn_word *entry;
	const char *word;
	size_t len, used = 0;
	char list[512] = "";

	asm_blank(a);
	if (!word_start(peek(a)))
		return asm_factor(a, bytes, value);
	if (!asm_word(a, &word, &len, "a name"))
		return false;
	entry = insn_named(names, word, len);
	if (entry) {
		*value = entry->value;
		return true;
	}
	for (; names->name && used < sizeof(list); names++)
		used += snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
				 names->name);
	return asm_fail(a, word, "unknown name '%.*s'; expected %s", (int)len, word, list);
}

bool asm_flags(struct text_asm *a, const struct vtpu_insn_word *names, unsigned int bytes,
	       uint64_t *value)
{
	uint64_t one;

	*value = 0;
	do {
		if (!asm_named(a, names, bytes, &one))
			return false;
		*value |= one;
	} while (asm_take(a, '|'));
	return true;
}

bool asm_base(struct text_asm *a, uint32_t *number_out)
{
	const struct symbol *s;
	uint64_t value;
	const char *word;
	char *name;
	bool quote;

	asm_blank(a);
	word = a->p;
	quote = peek(a) == '"';
	if (!asm_name(a, &name))
		return false;
	if (!quote && !strcmp(name, TEXT_BASE) && asm_take(a, '[')) {
		free(name);
		if (!asm_unsigned(a, 1, &value) || !asm_expect(a, ']'))
			return false;
		*number_out = value;
		return true;
	}
	s = symbols_find(&a->symbols, SYMBOL_BASE, name, strlen(name));
	if (!s || (!quote && text_is_reserved(name, strlen(name)))) {
		asm_fail(a, word,
			 "unknown base '%s'; expected vmem, smem, const, a base of this program or base[n]",
			 name);
		free(name);
		return false;
	}
	free(name);
	*number_out = s->value;
	return true;
}
