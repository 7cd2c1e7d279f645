/* SPDX-License-Identifier: MIT */
/*
 * random_insn.h - random instructions whose every field is one that the text
 * form can say, by the table of isa.c. Whether they make sense is not asked.
 */
#ifndef TESTS_UNIT_RANDOM_INSN_H
#define TESTS_UNIT_RANDOM_INSN_H

#include <string.h>

#include "program/isa.h"

/** ri_next() - xorshift64* */
static inline uint64_t ri_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL;
}

/** ri_below() - 0..n-1 */
static inline uint64_t ri_below(uint64_t *state, uint64_t n)
{
	return (ri_next(state) >> 11) % n;
}

/** ri_value() - random bits, small numbers as likely as large ones */
static inline uint64_t ri_value(uint64_t *state, unsigned int bytes)
{
	unsigned int bits = ri_below(state, 8 * bytes + 1);

	return bits ? ri_next(state) >> (64 - bits) : 0;
}

static inline const struct vtpu_insn_word *ri_name(uint64_t *state,
						   const struct vtpu_insn_word *names)
{
	unsigned int n = 0;

	while (names[n].name)
		n++;
	return &names[ri_below(state, n)];
}

static inline void ri_epilogue(uint64_t *state, const struct vtpu_insn_field *f,
			       struct vtpu_insn *insn)
{
	unsigned int args = 0;

	for (unsigned int i = 0; i < f->count && ri_below(state, 3); i++) {
		const struct vtpu_insn_word *op = ri_name(state, f->words);

		if (args + strlen(op->args) > f[1].count)
			break;
		insn_set(insn, f, i, op->value);
		for (const char *kind = op->args; *kind; kind++, args++) {
			insn_set(insn, &f[1], args, ri_value(state, 4));
			if (!ri_below(state, 4))
				insn->flags |= VTPU_INSN_ARG_SMEM(args);
		}
	}
}

static inline void ri_element(uint64_t *state, const struct vtpu_insn_field *f,
			      struct vtpu_insn *insn, unsigned int i)
{
	const struct vtpu_insn_word *name;
	uint64_t value = ri_value(state, f->bytes);

	switch (f->kind) {
	case VTPU_FIELD_ADDR:
		value = VTPU_ADDR(ri_below(state, 3), 0, ri_value(state, 5));
		if (VTPU_ADDR_SPACE(value) == VTPU_SPACE_HBM)
			value |= ri_value(state, 1) << 56;
		break;
	case VTPU_FIELD_NAME:
		value = ri_name(state, f->words)->value;
		break;
	case VTPU_FIELD_MICRO_OPS:
		name = ri_name(state, f->words);
		value = name->value;
		insn->payload.ew.op[i].args =
			VTPU_EW_ARGS(ri_below(state, 4), ri_below(state, 6),
				     *name->args == '2' ? ri_below(state, 6) : 0);
		break;
	case VTPU_FIELD_BITS:
	case VTPU_FIELD_FLOAT:
		if (!ri_below(state, 4))
			insn->flags |= VTPU_INSN_ARG_SMEM(i);
		break;
	default:
		break;
	}
	insn_set(insn, f, i, value);
}

/** ri_insn() - an instruction of opcode @op */
static inline void ri_insn(uint64_t *state, const struct vtpu_insn_row *op, struct vtpu_insn *insn)
{
	memset(insn, 0, sizeof(*insn));
	insn->opcode = op->opcode;
	insn->unit = op->unit;
	insn->op_id = ri_value(state, 4);
	for (int i = 0; i < 2; i++) {
		if (ri_below(state, 2)) {
			insn->flags |= VTPU_INSN_WAIT0 << i;
			insn->wait[i].sem = ri_next(state);
			insn->wait[i].value = ri_value(state, 4);
		}
		if (ri_below(state, 2)) {
			insn->flags |= VTPU_INSN_SIGNAL0 << i;
			insn->signal[i].sem = ri_next(state);
			insn->signal[i].core = ri_value(state, 1);
			insn->signal[i].inc = ri_value(state, 2);
		}
	}
	if (!ri_below(state, 3)) {
		insn->flags |= VTPU_INSN_PRED;
		insn->wait[0].pad = ri_value(state, 2);
	}
	for (const struct vtpu_insn_field *f = op->fields; f->name; f++) {
		unsigned int n = f->count;

		if (!insn_written(f))
			continue;
		for (unsigned int i = 0; i < f->count; i++)
			insn_set(insn, f, i, f->fill);
		if (f->kind == VTPU_FIELD_EPILOGUE) {
			ri_epilogue(state, f, insn);
			continue;
		}
		if (f->counter) {
			n = ri_below(state, f->count + 1);
			((uint8_t *)insn)[f->counter] = n;
		}
		for (unsigned int i = 0; i < n; i++)
			ri_element(state, f, insn, i);
	}
}

#endif /* TESTS_UNIT_RANDOM_INSN_H */
