// SPDX-License-Identifier: MIT
/*
 * pack.c - executables as bytes, and back. What is read is not taken on trust.
 */
#include <stdlib.h>
#include <string.h>

#include "compile/pack.h"
#include "crc32c.h"

#define MAGIC 0x58545056u /* "VPTX" */

struct header {
	uint32_t magic, crc;
	uint64_t bytes; /* of all, header included */
	uint64_t hash[2];
};

/* ---- Writing ---------------------------------------------------------------------- */

struct writer {
	uint8_t *data;
	size_t bytes, room;
	bool failed;
};

static void put(struct writer *w, const void *data, size_t bytes)
{
	if (w->bytes + bytes > w->room) {
		size_t room = 2 * (w->bytes + bytes) + 4096;
		uint8_t *bigger = realloc(w->data, room);

		if (!bigger) {
			w->failed = true;
			return;
		}
		w->data = bigger;
		w->room = room;
	}
	memcpy(w->data + w->bytes, data, bytes);
	w->bytes += bytes;
}

static void put_u64(struct writer *w, uint64_t value)
{
	put(w, &value, sizeof(value));
}

static void put_bytes(struct writer *w, const void *data, uint64_t bytes)
{
	put_u64(w, bytes);
	put(w, data, bytes);
}

static void put_string(struct writer *w, const char *text)
{
	put_bytes(w, text, strlen(text) + 1);
}

uint8_t *pack_write(const struct cache_key *key, const struct vtpu_executable *x, size_t *bytes)
{
	struct header h = { MAGIC, 0, 0, { key->hash[0], key->hash[1] } };
	struct writer w = { 0 };
	const void *image;
	size_t image_bytes;

	put(&w, &h, sizeof(h));
	put_string(&w, key->text);
	image = vtpu_image_data(x->image, &image_bytes);
	put_bytes(&w, image, image_bytes);
	put_u64(&w, x->temp_bytes);
	put_bytes(&w, &x->info, sizeof(x->info));
	put_bytes(&w, x->scalar, x->scalars * sizeof(*x->scalar));
	put_bytes(&w, x->binding, x->bindings * sizeof(*x->binding));
	for (int kind = 0; kind < 3; kind++) {
		put_u64(&w, x->ios[kind]);
		for (size_t i = 0; i < x->ios[kind]; i++) {
			put_string(&w, x->io[kind][i].name);
			put(&w, &x->io[kind][i].info, sizeof(x->io[kind][i].info));
		}
	}
	put_u64(&w, x->ops);
	for (size_t i = 0; i < x->ops; i++) {
		put_string(&w, x->op[i].cost.name);
		put(&w, &x->op[i].cost, sizeof(x->op[i].cost));
	}
	put_string(&w, x->explain);
	if (w.failed) {
		free(w.data);
		return NULL;
	}
	h.bytes = w.bytes;
	h.crc = vtpu_crc32c(0, w.data + sizeof(h), w.bytes - sizeof(h));
	memcpy(w.data, &h, sizeof(h));
	*bytes = w.bytes;
	return w.data;
}

/* ---- Reading ------------------------------------------------------------------------ */

struct reader {
	const uint8_t *data;
	size_t bytes, at;
	struct arena *arena;
	bool failed;
};

static const void *take(struct reader *r, uint64_t bytes)
{
	const void *p = r->data + r->at;

	if (r->failed || bytes > r->bytes - r->at) {
		r->failed = true;
		return NULL;
	}
	r->at += bytes;
	return p;
}

static bool get(struct reader *r, void *to, size_t bytes)
{
	const void *p = take(r, bytes);

	if (p)
		memcpy(to, p, bytes);
	return p != NULL;
}

static uint64_t get_u64(struct reader *r)
{
	uint64_t value = 0;

	get(r, &value, sizeof(value));
	return value;
}

/* An array of @each bytes an element, in the arena. */
static void *get_array(struct reader *r, size_t each, uint64_t *count)
{
	uint64_t bytes = get_u64(r);
	const void *p = take(r, bytes);
	void *copy;

	*count = bytes / each;
	if (!p || bytes % each)
		r->failed = true;
	copy = r->failed ? NULL : arena_alloc(r->arena, bytes + 1);
	if (!copy) {
		r->failed = true;
		return NULL;
	}
	memcpy(copy, p, bytes);
	return copy;
}

static const char *get_string(struct reader *r)
{
	uint64_t count;
	const char *text = get_array(r, 1, &count);

	if (!text || !count || text[count - 1])
		r->failed = true;
	return r->failed ? "" : text;
}

static void get_io(struct reader *r, struct vtpu_executable *x, int kind)
{
	uint64_t count = get_u64(r);

	if (count > r->bytes)
		r->failed = true;
	x->io[kind] = r->failed ? NULL : arena_array(r->arena, count + 1, sizeof(*x->io[kind]));
	if (!x->io[kind]) {
		r->failed = true;
		return;
	}
	x->ios[kind] = count;
	for (uint64_t i = 0; i < count && !r->failed; i++) {
		struct io *io = &x->io[kind][i];

		io->name = get_string(r);
		get(r, &io->info, sizeof(io->info));
		io->info.name = io->name;
	}
}

static void get_ops(struct reader *r, struct vtpu_executable *x)
{
	uint64_t count = get_u64(r);

	if (count > r->bytes)
		r->failed = true;
	x->op = r->failed ? NULL : arena_array(r->arena, count + 1, sizeof(*x->op));
	if (!x->op) {
		r->failed = true;
		return;
	}
	x->ops = count;
	for (uint64_t i = 0; i < count && !r->failed; i++) {
		const char *name = get_string(r);

		get(r, &x->op[i].cost, sizeof(x->op[i].cost));
		x->op[i].cost.name = name;
	}
}

bool pack_is(const uint8_t *data, size_t bytes, const struct cache_key *key)
{
	struct header h;

	if (bytes < sizeof(h))
		return false;
	memcpy(&h, data, sizeof(h));
	return h.magic == MAGIC && h.bytes == bytes && h.hash[0] == key->hash[0] &&
	       h.hash[1] == key->hash[1] &&
	       h.crc == vtpu_crc32c(0, data + sizeof(h), bytes - sizeof(h));
}

bool pack_read(const uint8_t *data, size_t bytes, const struct cache_key *key,
	       struct vtpu_executable *x)
{
	struct reader r = { data, bytes, sizeof(struct header), &x->arena, false };
	struct vtpu_executable_info *info;
	uint64_t count, image_bytes;
	const void *image;

	if (!pack_is(data, bytes, key) || strcmp(get_string(&r), key->text))
		return false;
	image_bytes = get_u64(&r);
	image = take(&r, image_bytes);
	x->temp_bytes = get_u64(&r);
	info = get_array(&r, sizeof(*info), &count);
	if (r.failed || count != 1)
		return false;
	x->info = *info;
	x->scalar = get_array(&r, sizeof(*x->scalar), &count);
	x->scalars = (uint32_t)count;
	x->binding = get_array(&r, sizeof(*x->binding), &count);
	x->bindings = (uint32_t)count;
	for (int kind = 0; kind < 3; kind++)
		get_io(&r, x, kind);
	get_ops(&r, x);
	x->explain = get_string(&r);
	return !r.failed && r.at == bytes && !vtpu_image_parse(image, image_bytes, &x->image);
}
