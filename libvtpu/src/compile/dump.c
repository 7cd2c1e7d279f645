// SPDX-License-Identifier: MIT
/*
 * dump.c - steps as text: one line each, after each pass.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"

static const char *const class_name[] = { "whole", "batch", "partial" };

static void put_value(FILE *f, const struct value *v)
{
	if (!v) {
		fputs("-", f);
		return;
	}
	fprintf(f, "%%%u:%s", v->id, vtpu_dtype_name(v->type));
	if (v->dim[0]) {
		fprintf(f, "[%u,%u,%u", v->dim[0], v->dim[1], v->dim[2]);
		if (v->box[0] != v->dim[0] || v->box[1] != v->dim[1])
			fprintf(f, " kept %ux%u", v->box[0], v->box[1]);
		fputs("]", f);
	} else {
		fprintf(f, "[%" PRIu64 "]", v->count);
	}
	if (v->pair)
		fprintf(f, "(column %u of %%%u)", v->column, v->pair->id);
}

static void put_expression(FILE *f, const struct step *s)
{
	static const char *const op_name[] = {
		[VTPU_EW_MOV] = "mov",	       [VTPU_EW_ADD] = "add",	[VTPU_EW_SUB] = "sub",
		[VTPU_EW_MUL] = "mul",	       [VTPU_EW_DIV] = "div",	[VTPU_EW_MIN] = "min",
		[VTPU_EW_MAX] = "max",	       [VTPU_EW_FMA] = "fma",	[VTPU_EW_CMP_EQ] = "eq",
		[VTPU_EW_CMP_LT] = "lt",       [VTPU_EW_CMP_LE] = "le", [VTPU_EW_SELECT] = "select",
		[VTPU_EW_NEG] = "neg",	       [VTPU_EW_ABS] = "abs",	[VTPU_EW_SQRT] = "sqrt",
		[VTPU_EW_RSQRT] = "rsqrt",     [VTPU_EW_RCP] = "rcp",	[VTPU_EW_FLOOR] = "floor",
		[VTPU_EW_EXP] = "exp",	       [VTPU_EW_LOG] = "log",	[VTPU_EW_TANH] = "tanh",
		[VTPU_EW_SIGMOID] = "sigmoid", [VTPU_EW_RELU] = "relu", [VTPU_EW_GELU] = "gelu",
		[VTPU_EW_SILU] = "silu",
	};

	for (uint32_t i = 0; i < s->ew.ops; i++)
		fprintf(f, " %s", op_name[s->ew.op[i].op]);
}

static void put_step(FILE *f, const struct step *s)
{
	fprintf(f, "  %-12s", step_kind_name(s->kind));
	for (uint32_t i = 0; i < s->outs; i++) {
		fputs(i ? ", " : " ", f);
		put_value(f, s->out[i]);
	}
	fputs(" =", f);
	for (uint32_t i = 0; i < s->ins; i++) {
		fputs(i ? ", " : " ", f);
		put_value(f, s->in[i]);
	}
	if (s->kind == STEP_EW)
		put_expression(f, s);
	if (s->kind == STEP_MATMUL)
		fprintf(f, " m=%u%s n=%u k=%u%s%s", s->mxu.m, s->mxu.batch_m ? " an image" : "",
			s->mxu.n, s->mxu.k, s->mxu.batch_k ? " an image" : "",
			s->mxu.ones ? " ones" : "");
	for (uint32_t i = 0; i < s->epi.count; i++) {
		fprintf(f, " epilogue %u", s->epi.op[i]);
		if (s->epi.value[i]) {
			fputs(" ", f);
			put_value(f, s->epi.value[i]);
		}
	}
	if (s->win.pool[0] && s->kind == STEP_CONV)
		fprintf(f, " maximum of %ux%u", s->win.pool[0], s->win.pool[1]);
	if (s->out[0])
		fprintf(f, " : %s", class_name[s->out[0]->class]);
	fprintf(f, "  # %s\n", s->name);
}

char *plan_text(const struct plan *p)
{
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);
	uint32_t region = UINT32_MAX;
	bool batch = false;

	if (!f)
		return NULL;
	for (size_t i = 0; i < p->steps; i++) {
		const struct step *s = p->step[i];

		if (p->regions && (s->region != region || step_on_batch(s) != batch)) {
			region = s->region;
			batch = step_on_batch(s);
			fprintf(f, batch ? "region %u, for each tile\n" : "before region %u\n",
				region);
		}
		put_step(f, s);
	}
	return fclose(f) ? NULL : text;
}

void plan_dump(const struct plan *p, const char *pass)
{
	const char *dir = p->options.dump_dir;
	char path[4096], name[256], *text;
	FILE *f;

	if (!dir || !*dir)
		return;
	/* A model's programs have names such as "mnist/train", which are no folders. */
	snprintf(name, sizeof(name), "%s", p->options.name);
	for (char *c = name; (c = strchr(c, '/'));)
		*c = '-';
	text = plan_text(p);
	snprintf(path, sizeof(path), "%s/%s.%s.txt", dir, name, pass);
	f = text ? fopen(path, "w") : NULL;
	if (f) {
		fprintf(f, "# %s after pass '%s': %zu steps\n%s", p->options.name, pass, p->steps,
			text);
		fclose(f);
	} else {
		vtpu_message(VTPU_MESSAGE_WARNING, "compile: cannot write the dump '%s'", path);
	}
	free(text);
}
