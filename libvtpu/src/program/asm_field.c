// SPDX-License-Identifier: MIT
/*
 * asm_field.c - fields of an instruction in the text form, by the table of
 * isa.c, and the waits, signals and arguments that all instructions share.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/asm.h"

/* A place: vmem+n, smem+n, const+n, x+n, base[3]+n, or the 64-bit word itself */
static bool address(struct text_asm *a, uint64_t *value)
{
	uint64_t offset = 0, space = VTPU_SPACE_HBM;
	uint32_t base = 0;
	const char *word;
	size_t len;

	asm_blank(a);
	if (a->p < a->end && *a->p >= '0' && *a->p <= '9')
		return asm_factor(a, 8, value);
	word = a->p;
	if (a->p < a->end && *a->p == '"') {
		if (!asm_base(a, &base))
			return false;
	} else {
		if (!asm_word(a, &word, &len, "vmem, smem, const or a base"))
			return false;
		if (len == strlen(TEXT_VMEM) && !memcmp(word, TEXT_VMEM, len)) {
			space = VTPU_SPACE_VMEM;
		} else if (len == strlen(TEXT_SMEM) && !memcmp(word, TEXT_SMEM, len)) {
			space = VTPU_SPACE_SMEM;
		} else if (len == strlen(TEXT_CONST) && !memcmp(word, TEXT_CONST, len)) {
			base = VTPU_BASE_CONST;
		} else {
			a->p = word;
			if (!asm_base(a, &base))
				return false;
		}
	}
	if (asm_take(a, '+') && !asm_unsigned(a, 5, &offset))
		return false;
	*value = VTPU_ADDR(space, base, offset);
	return true;
}

/* An argument: its bits, or smem[n] */
static bool argument(struct text_asm *a, struct vtpu_insn *insn, unsigned int number, bool is_float,
		     uint64_t *value)
{
	const char *word;
	size_t len;

	asm_blank(a);
	word = a->p;
	len = strlen(TEXT_SMEM);
	if ((size_t)(a->end - word) > len && !memcmp(word, TEXT_SMEM, len) && word[len] == '[') {
		a->p += len + 1;
		if (number > 3)
			return asm_fail(a, word, "only arguments 0..3 can come from SMEM");
		insn->flags |= VTPU_INSN_ARG_SMEM(number);
		return asm_unsigned(a, 4, value) && asm_expect(a, ']');
	}
	if (is_float || asm_looks_float(a))
		return asm_float(a, value);
	return asm_unsigned(a, 4, value);
}

static const struct vtpu_insn_field *field_named(const struct vtpu_insn_row *op, const char *name,
						 size_t len)
{
	for (const struct vtpu_insn_field *f = op->fields; f->name; f++)
		if (strlen(f->name) == len && !memcmp(f->name, name, len))
			return f;
	return NULL;
}

/* name(arg, ...), ... */
static bool epilogue(struct text_asm *a, const struct vtpu_insn_row *op,
		     const struct vtpu_insn_field *f, struct vtpu_insn *insn)
{
	const struct vtpu_insn_field *arg = field_named(op, "epi_arg", strlen("epi_arg"));
	unsigned int n = 0, args = 0;

	do {
		const struct vtpu_insn_word *entry;
		const char *word;
		uint64_t value;
		size_t len;

		if (!asm_word(a, &word, &len, "an epilogue operation"))
			return false;
		entry = insn_named(f->words, word, len);
		if (!entry) {
			a->p = word;
			return asm_named(a, f->words, f->bytes, &value); /* says what there is */
		}
		if (n == f->count)
			return asm_fail(a, word, "more than %u epilogue operations", f->count);
		insn_set(insn, f, n++, entry->value);
		for (const char *kind = entry->args; *kind; kind++) {
			if (args == arg->count)
				return asm_fail(a, a->p,
						"more than %u arguments of epilogue operations",
						arg->count);
			if (!asm_expect(a, kind == entry->args ? '(' : ',') ||
			    !argument(a, insn, args, *kind == 'f', &value))
				return false;
			insn_set(insn, arg, args++, value);
		}
		if (*entry->args && !asm_expect(a, ')'))
			return false;
	} while (asm_take(a, ','));
	return true;
}

/* r0..r3, and as operands also i0 and i1 */
static bool ew_register(struct text_asm *a, bool operand, unsigned int *number)
{
	const char *word;
	size_t len;

	if (!asm_word(a, &word, &len, operand ? "r0..r3, i0 or i1" : "r0..r3"))
		return false;
	if (len == 2 && word[0] == 'r' && word[1] >= '0' && word[1] <= '3')
		*number = word[1] - '0';
	else if (len == 2 && operand && word[0] == 'i' && (word[1] == '0' || word[1] == '1'))
		*number = VTPU_EW_IMM0 + (word[1] - '0');
	else
		return asm_fail(a, word, "expected %s", operand ? "r0..r3, i0 or i1" : "r0..r3");
	return true;
}

/* r0=add(r1,i0) */
static bool micro_op(struct text_asm *a, const struct vtpu_insn_field *f, struct vtpu_insn *insn,
		     unsigned int i)
{
	unsigned int dst, left = 0, right = 0;
	const struct vtpu_insn_word *entry;
	uint64_t value;
	const char *word;
	size_t len;

	if (!ew_register(a, false, &dst) || !asm_expect(a, '=') ||
	    !asm_word(a, &word, &len, "an operation"))
		return false;
	entry = insn_named(f->words, word, len);
	if (!entry) {
		a->p = word;
		return asm_named(a, f->words, f->bytes, &value); /* says what there is */
	}
	if (!asm_expect(a, '(') || !ew_register(a, true, &left) ||
	    (*entry->args == '2' && (!asm_expect(a, ',') || !ew_register(a, true, &right))) ||
	    !asm_expect(a, ')'))
		return false;
	insn_set(insn, f, i, entry->value);
	insn->payload.ew.op[i].args = VTPU_EW_ARGS(dst, left, right);
	return true;
}

static bool element(struct text_asm *a, const struct vtpu_insn_field *f, struct vtpu_insn *insn,
		    unsigned int i)
{
	uint64_t value = 0;
	bool ok;

	switch (f->kind) {
	case VTPU_FIELD_INT:
		ok = asm_signed(a, f->bytes, &value);
		break;
	case VTPU_FIELD_ADDR:
		ok = address(a, &value);
		break;
	case VTPU_FIELD_NAME:
		ok = asm_named(a, f->words, f->bytes, &value);
		break;
	case VTPU_FIELD_FLAGS:
		ok = asm_flags(a, f->words, f->bytes, &value);
		break;
	case VTPU_FIELD_BITS:
	case VTPU_FIELD_FLOAT:
		ok = argument(a, insn, i, f->kind == VTPU_FIELD_FLOAT, &value);
		break;
	case VTPU_FIELD_F32:
		ok = asm_float(a, &value);
		break;
	case VTPU_FIELD_MICRO_OPS:
		return micro_op(a, f, insn, i);
	default:
		ok = asm_unsigned(a, f->bytes, &value);
		break;
	}
	if (ok)
		insn_set(insn, f, i, value);
	return ok;
}

static bool values(struct text_asm *a, const struct vtpu_insn_row *op,
		   const struct vtpu_insn_field *f, struct vtpu_insn *insn)
{
	unsigned int n = 0;

	if (f->kind == VTPU_FIELD_EPILOGUE)
		return epilogue(a, op, f, insn);
	do {
		if (n == f->count)
			return asm_fail(a, a->p, "%s has at most %u values", f->name, f->count);
		if (!element(a, f, insn, n++))
			return false;
	} while (asm_take(a, ','));
	if (f->counter)
		((uint8_t *)insn)[f->counter] = n;
	return true;
}

/* ---- What all instructions have --------------------------------------------------- */

/* The slot that wait, wait0 or wait1 names: the first free one without a digit */
static bool slot_of(struct text_asm *a, const char *key, size_t len, size_t stem, uint16_t flag,
		    struct vtpu_insn *insn, unsigned int *slot)
{
	if (len == stem)
		*slot = insn->flags & flag ? 1 : 0;
	else
		*slot = key[stem] - '0';
	if (insn->flags & flag << *slot)
		return asm_fail(a, key, "%.*s: both are given already, or this one is", (int)stem,
				key);
	insn->flags |= flag << *slot;
	return true;
}

static bool wait(struct text_asm *a, struct vtpu_insn *insn, unsigned int slot)
{
	uint64_t sem, value;

	if (!asm_factor(a, 1, &sem) || !asm_expect(a, '>') || !asm_expect(a, '=') ||
	    !asm_factor(a, 4, &value))
		return false;
	insn->wait[slot].sem = sem;
	insn->wait[slot].value = value;
	return true;
}

static bool signal(struct text_asm *a, struct vtpu_insn *insn, unsigned int slot)
{
	uint64_t sem, inc, core = 0;

	if (!asm_factor(a, 1, &sem) || !asm_expect(a, '+') || !asm_factor(a, 2, &inc) ||
	    (asm_take(a, '@') && !asm_factor(a, 1, &core)))
		return false;
	insn->signal[slot].sem = sem;
	insn->signal[slot].inc = inc;
	insn->signal[slot].core = core;
	return true;
}

static bool operation(struct text_asm *a, struct vtpu_insn *insn)
{
	const struct symbol *s;
	const char *at;
	uint64_t id;
	char *name;

	asm_blank(a);
	at = a->p;
	if (a->p < a->end && (*a->p == '(' || (*a->p >= '0' && *a->p <= '9'))) {
		if (!asm_factor(a, 4, &id))
			return false;
		insn->op_id = id;
		return true;
	}
	if (!asm_name(a, &name))
		return false;
	s = symbols_find(&a->symbols, SYMBOL_OP, name, strlen(name));
	if (s)
		insn->op_id = s->value;
	else
		asm_fail(a, at, "unknown operation '%s'; 'op 1 %s' before this line names one",
			 name, name);
	free(name);
	return s;
}

static bool starts(const char *key, size_t len, const char *stem)
{
	size_t n = strlen(stem);

	return len >= n && !memcmp(key, stem, n) &&
	       (len == n || (len == n + 1 && (key[n] == '0' || key[n] == '1')));
}

/* Is @key one of these? Then read it. */
static bool common(struct text_asm *a, const char *key, size_t len, struct vtpu_insn *insn,
		   bool *mine)
{
	unsigned int slot;
	uint64_t value;

	*mine = true;
	if (starts(key, len, "wait"))
		return slot_of(a, key, len, 4, VTPU_INSN_WAIT0, insn, &slot) && wait(a, insn, slot);
	if (starts(key, len, "signal"))
		return slot_of(a, key, len, 6, VTPU_INSN_SIGNAL0, insn, &slot) &&
		       signal(a, insn, slot);
	if (len == 2 && !memcmp(key, "op", 2))
		return operation(a, insn);
	if (len == 4 && !memcmp(key, "pred", 4)) {
		if (!asm_unsigned(a, 2, &value))
			return false;
		insn->flags |= VTPU_INSN_PRED;
		insn->wait[0].pad = value;
		return true;
	}
	*mine = false;
	return true;
}

bool asm_fields(struct text_asm *a, const struct vtpu_insn_row *op, struct vtpu_insn *insn)
{
	uint64_t given = 0;

	insn->opcode = op->opcode;
	insn->unit = op->unit;
	for (const struct vtpu_insn_field *f = op->fields; f->name; f++)
		for (unsigned int i = 0; i < f->count; i++)
			insn_set(insn, f, i, f->fill);
	while (!asm_at_end(a)) {
		const struct vtpu_insn_field *f;
		const char *key;
		uint64_t bit;
		size_t len;
		bool mine;

		if (!asm_word(a, &key, &len, "a field") || !asm_expect(a, '='))
			return false;
		if (!common(a, key, len, insn, &mine))
			return false;
		if (mine)
			continue;
		f = field_named(op, key, len);
		if (!f || !insn_written(f))
			return asm_fail(a, key,
					"%s has no field '%.*s'; 'vtpu-asm --isa' lists them",
					op->name, (int)len, key);
		bit = 1ULL << (f - op->fields);
		if (given & bit)
			return asm_fail(a, key, "%s is given twice", f->name);
		given |= bit;
		if (!values(a, op, f, insn))
			return false;
	}
	return true;
}
