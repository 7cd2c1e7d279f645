// SPDX-License-Identifier: MIT
/*
 * execute.c - a step as one job: names to base registers and scalar words.
 */
#include <math.h>
#include <string.h>

#include "compile/compile.h"

static const char *const kind_name[] = { "input", "scalar", "result" };

static enum vtpu_status find(const struct vtpu_executable *x, enum vtpu_io_kind kind,
			     const char *name, size_t *index)
{
	for (size_t i = 0; name && i < x->ios[kind]; i++) {
		if (!strcmp(x->io[kind][i].name, name)) {
			*index = i;
			return VTPU_OK;
		}
	}
	return vtpu_fail(VTPU_ERROR_NOT_FOUND,
			 "execute: the graph has no %s '%s'; names have their scopes in front",
			 kind_name[kind], name ? name : "(NULL)");
}

/* Mark a name as given, once. */
static enum vtpu_status mark(struct vtpu_executable *x, enum vtpu_io_kind kind, const char *name,
			     size_t *index)
{
	enum vtpu_status status = find(x, kind, name, index);
	size_t at = 0;

	if (status)
		return status;
	for (int k = 0; k < (int)kind; k++)
		at += x->ios[k];
	if (x->given[at + *index])
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "execute: %s '%s' is given twice",
				 kind_name[kind], name);
	x->given[at + *index] = true;
	return VTPU_OK;
}

static enum vtpu_status check_all_given(const struct vtpu_executable *x)
{
	size_t at = 0;

	for (int kind = 0; kind < 3; kind++) {
		for (size_t i = 0; i < x->ios[kind]; i++, at++) {
			if (x->io[kind][i].info.used && !x->given[at])
				return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
						 "execute: %s '%s' is missing", kind_name[kind],
						 x->io[kind][i].name);
		}
	}
	return VTPU_OK;
}

/* Bind a place; bytes are checked by vtpu_run(), which knows what the program reaches. */
static enum vtpu_status bind(struct vtpu_executable *x, enum vtpu_io_kind kind,
			     const struct vtpu_place *places, size_t n)
{
	uint32_t want = kind == VTPU_IO_FEED ? BIND_FEED : BIND_RESULT;

	for (size_t i = 0; i < n; i++) {
		enum vtpu_status status;
		size_t index;

		status = mark(x, kind, places[i].name, &index);
		if (status)
			return status;
		if (!places[i].buffer)
			return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
					 "execute: %s '%s' has no buffer", kind_name[kind],
					 places[i].name);
		for (uint32_t b = 0; b < x->bindings; b++) {
			if (x->binding[b].kind == want && x->binding[b].index == index)
				x->bound[b] =
					(struct vtpu_binding){ places[i].buffer, places[i].offset };
		}
	}
	return VTPU_OK;
}

static enum vtpu_status set_words(struct vtpu_executable *x, size_t scalar, double value)
{
	const struct io *io = &x->io[VTPU_IO_SCALAR][scalar];

	if (io->info.type == VTPU_DTYPE_S32 &&
	    !(value == rint(value) && value >= INT32_MIN && value <= INT32_MAX))
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "execute: scalar '%s' is s32, and cannot be %g", io->name, value);
	for (uint32_t i = 0; i < x->scalars; i++) {
		if (x->scalar[i].source != scalar)
			continue;
		switch (x->scalar[i].rule) {
		case SCALAR_CORRECTION:
			x->word[i] = vtpu_scalar_f32(
				(float)(1 / (1 - pow((double)x->scalar[i].base, value))));
			break;
		case SCALAR_FLOAT:
			x->word[i] = vtpu_scalar_f32((float)value);
			break;
		default:
			x->word[i] = io->info.type == VTPU_DTYPE_S32 ?
					     (uint32_t)(int32_t)value :
					     vtpu_scalar_f32((float)value);
			break;
		}
	}
	return VTPU_OK;
}

static enum vtpu_status bind_own(struct vtpu_executable *x)
{
	for (uint32_t b = 0; b < x->bindings; b++) {
		const struct binding *at = &x->binding[b];

		switch (at->kind) {
		case BIND_PARAMS:
		case BIND_STATES:
		case BIND_MOMENTS:
			if (!x->variables)
				return vtpu_fail(
					VTPU_ERROR_INVALID_ARGUMENT,
					"execute: compiled without variables, which the graph has");
			x->bound[b] = (struct vtpu_binding){
				x->variables->buffer[at->kind == BIND_PARAMS ? ARENA_PARAMS :
						     at->kind == BIND_STATES ? ARENA_STATES :
									       ARENA_MOMENTS],
				at->offset
			};
			break;
		case BIND_TEMP:
			x->bound[b] = (struct vtpu_binding){ x->temp, 0 };
			break;
		default:
			break;
		}
	}
	return VTPU_OK;
}

enum vtpu_status vtpu_execute(struct vtpu_executable *x, struct vtpu_stream *stream,
			      const struct vtpu_place *feeds, size_t nfeeds,
			      const struct vtpu_argument *scalars, size_t nscalars,
			      const struct vtpu_place *results, size_t nresults,
			      struct vtpu_event **event)
{
	enum vtpu_status status;

	if (!x->program)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "execute: compiled without a device, to be looked at only");
	memset(x->given, 0, (x->ios[0] + x->ios[1] + x->ios[2]) * sizeof(*x->given));
	status = bind(x, VTPU_IO_FEED, feeds, nfeeds);
	for (size_t i = 0; i < nscalars && !status; i++) {
		size_t index;

		status = mark(x, VTPU_IO_SCALAR, scalars[i].name, &index);
		if (!status)
			status = set_words(x, index, scalars[i].value);
	}
	if (!status)
		status = bind(x, VTPU_IO_RESULT, results, nresults);
	if (!status)
		status = check_all_given(x);
	if (!status)
		status = bind_own(x);
	if (status)
		return status;
	return vtpu_run(stream, x->program, x->bound, x->bindings, x->word, x->scalars, event);
}
