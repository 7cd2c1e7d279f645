/* SPDX-License-Identifier: MIT */
/*
 * text.h - the text form: what assembler and disassembler share.
 */
#ifndef VTPU_SRC_PROGRAM_TEXT_H
#define VTPU_SRC_PROGRAM_TEXT_H

#include "core/locale.h"
#include "program/builder.h"
#include "program/isa.h"

/* Words that a base, operation or number cannot have as its name. */
#define TEXT_VMEM  "vmem"
#define TEXT_SMEM  "smem"
#define TEXT_CONST "const"
#define TEXT_BASE  "base"

/** enum symbol_kind - what a name may stand for; each kind has its own names */
enum symbol_kind {
	SYMBOL_NUMBER, /* let, sem */
	SYMBOL_BASE,
	SYMBOL_OP,
};

/** struct symbol - a name of the text */
struct symbol {
	char *name; /* NULL: free place */
	enum symbol_kind kind;
	bool defined;
	int64_t value;
};

/** struct symbols - hash table; zero is an empty one */
struct symbols {
	struct symbol *place;
	uint32_t count, room;
};

/** symbols_find() - NULL if there is none */
const struct symbol *symbols_find(const struct symbols *table, enum symbol_kind kind,
				  const char *name, size_t len);

/** symbols_add() - the first of a name stays. Return: false without memory */
bool symbols_add(struct symbols *table, enum symbol_kind kind, const char *name, size_t len,
		 int64_t value);

/** symbols_set() - as symbols_add(), but the last of a name stays */
bool symbols_set(struct symbols *table, enum symbol_kind kind, const char *name, size_t len,
		 int64_t value);

/** symbols_remove() - forget a name */
void symbols_remove(struct symbols *table, enum symbol_kind kind, const char *name, size_t len);

void symbols_free(struct symbols *table);

/** text_is_word() - can @name stand in the text without quotes? */
bool text_is_word(const char *name);

/** text_is_reserved() - has a word of @len bytes a meaning of its own in addresses? */
bool text_is_reserved(const char *name, size_t len);

#define TEXT_LOOPS 8 /* repeats inside each other */

/** struct text_loop - a repeat under way */
struct text_loop {
	uint64_t times, done;
	const char *name; /* of its counter, or NULL */
	size_t name_len;
	const char *text; /* behind its first line */
	const char *line_start;
	unsigned int line;
};

/** struct text_asm - an assembly under way */
struct text_asm {
	const char *name; /* of the text, for errors */
	const char *p;	  /* next byte */
	const char *end;
	const char *line_start;
	unsigned int line;
	unsigned int depth; /* of parentheses */
	struct text_loop loop[TEXT_LOOPS];
	unsigned int loops;
	struct symbols symbols;
	struct vtpu_builder *builder; /* from the program line on */
	unsigned int unit;	      /* whose queue the last instruction goes to */
	bool quiet;		      /* leave the thread's error sentence alone */
	enum vtpu_status status;
};

/** text_run() - assemble all statements of [@text, @text + @bytes) into @a, which the caller frees */
enum vtpu_status text_run(struct text_asm *a, const char *text, size_t bytes);

/** text_insn() - assemble one line into @insn instead; false, with the error set, when it is no instruction */
bool text_insn(struct text_asm *a, const char *line, size_t bytes, struct vtpu_insn *insn);

void text_free(struct text_asm *a);

#endif /* VTPU_SRC_PROGRAM_TEXT_H */
