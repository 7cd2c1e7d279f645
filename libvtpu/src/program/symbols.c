// SPDX-License-Identifier: MIT
/*
 * symbols.c - names of the text form, and numbers that do not depend on the
 * user's language.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "program/text.h"

static uint32_t hash(enum symbol_kind kind, const char *name, size_t len)
{
	uint32_t h = 2166136261u + kind;

	while (len--)
		h = (h ^ (unsigned char)*name++) * 16777619u;
	return h;
}

/* The place of a name, or the free one where it would go. */
static struct symbol *seek(const struct symbols *t, enum symbol_kind kind, const char *name,
			   size_t len)
{
	uint32_t i = hash(kind, name, len) & (t->room - 1);

	while (t->place[i].name && (t->place[i].kind != kind || strlen(t->place[i].name) != len ||
				    memcmp(t->place[i].name, name, len)))
		i = (i + 1) & (t->room - 1);
	return &t->place[i];
}

const struct symbol *symbols_find(const struct symbols *t, enum symbol_kind kind, const char *name,
				  size_t len)
{
	const struct symbol *s = t->room ? seek(t, kind, name, len) : NULL;

	return s && s->defined ? s : NULL;
}

static bool grow(struct symbols *t)
{
	struct symbols bigger = { .count = t->count, .room = t->room ? 2 * t->room : 64 };

	bigger.place = calloc(bigger.room, sizeof(*bigger.place));
	if (!bigger.place)
		return false;
	for (uint32_t i = 0; i < t->room; i++)
		if (t->place[i].name)
			*seek(&bigger, t->place[i].kind, t->place[i].name,
			      strlen(t->place[i].name)) = t->place[i];
	free(t->place);
	*t = bigger;
	return true;
}

bool symbols_add(struct symbols *t, enum symbol_kind kind, const char *name, size_t len,
		 int64_t value)
{
	struct symbol *s;

	if (2 * t->count >= t->room && !grow(t))
		return false;
	s = seek(t, kind, name, len);
	if (s->defined)
		return true;
	if (!s->name) {
		s->name = strndup(name, len);
		if (!s->name)
			return false;
		s->kind = kind;
		t->count++;
	}
	s->value = value;
	s->defined = true;
	return true;
}

bool symbols_set(struct symbols *t, enum symbol_kind kind, const char *name, size_t len,
		 int64_t value)
{
	if (!symbols_add(t, kind, name, len, value))
		return false;
	seek(t, kind, name, len)->value = value;
	return true;
}

void symbols_remove(struct symbols *t, enum symbol_kind kind, const char *name, size_t len)
{
	if (t->room)
		seek(t, kind, name, len)->defined = false;
}

void symbols_free(struct symbols *t)
{
	for (uint32_t i = 0; i < t->room; i++)
		free(t->place[i].name);
	free(t->place);
	memset(t, 0, sizeof(*t));
}

bool text_is_word(const char *name)
{
	if (!isalpha((unsigned char)*name) && *name != '_')
		return false;
	while (isalnum((unsigned char)*name) || *name == '_' || *name == '.')
		name++;
	return !*name;
}

bool text_is_reserved(const char *name, size_t len)
{
	static const char *const words[] = { TEXT_VMEM, TEXT_SMEM, TEXT_CONST, TEXT_BASE };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strlen(words[i]) == len && !memcmp(words[i], name, len))
			return true;
	return false;
}
