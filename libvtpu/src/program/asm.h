/* SPDX-License-Identifier: MIT */
/*
 * asm.h - reading words, numbers and fields of the text form. All of these skip
 * blanks first, and return false with the error set.
 */
#ifndef VTPU_SRC_PROGRAM_ASM_H
#define VTPU_SRC_PROGRAM_ASM_H

#include "program/text.h"

/** asm_fail() - set the error at @at; always false */
bool asm_fail(struct text_asm *a, const char *at, const char *fmt, ...) VTPU_PRINTF(3, 4);

void asm_blank(struct text_asm *a);

/** asm_at_end() - nothing more on this line but a comment? */
bool asm_at_end(struct text_asm *a);

void asm_next_line(struct text_asm *a);

/** asm_take() - go past @c if it is next */
bool asm_take(struct text_asm *a, char c);

bool asm_expect(struct text_asm *a, char c);

/** asm_word() - a word; @what says what it should be, for the error */
bool asm_word(struct text_asm *a, const char **word, size_t *len, const char *what);

/** asm_name() - a word or a quoted string; free() it */
bool asm_name(struct text_asm *a, char **name);

/** asm_unsigned() - an expression whose value fits @bytes unsigned bytes */
bool asm_unsigned(struct text_asm *a, unsigned int bytes, uint64_t *value);

/** asm_signed() - an expression whose value fits @bytes signed bytes */
bool asm_signed(struct text_asm *a, unsigned int bytes, uint64_t *value);

/** asm_factor() - as asm_unsigned(), but sums and products only in parentheses */
bool asm_factor(struct text_asm *a, unsigned int bytes, uint64_t *value);

/** asm_looks_float() - is the next thing a number with a point or exponent? */
bool asm_looks_float(struct text_asm *a);

/** asm_named() - one of @names, or a number; the error lists the names */
bool asm_named(struct text_asm *a, const struct vtpu_insn_word *names, unsigned int bytes,
	       uint64_t *value);

/** asm_float() - a float's bits */
bool asm_float(struct text_asm *a, uint64_t *bits);

/** asm_flags() - names or numbers, separated by | */
bool asm_flags(struct text_asm *a, const struct vtpu_insn_word *names, unsigned int bytes,
	       uint64_t *value);

bool asm_hex_byte(struct text_asm *a, uint8_t *byte);

/** asm_base() - a base by name, or base[n] */
bool asm_base(struct text_asm *a, uint32_t *number);

/** asm_fields() - the rest of a line: fields of an instruction, which is zero so far */
bool asm_fields(struct text_asm *a, const struct vtpu_insn_row *op, struct vtpu_insn *insn);

#endif /* VTPU_SRC_PROGRAM_ASM_H */
