// SPDX-License-Identifier: MIT
/*
 * cache.c - finished programs by what they depend on: the latest in memory, all in a folder if
 * one is given. A file is written beside and renamed, so that it is whole or not there; one
 * that is not whole all the same is ignored, and written anew.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compile/pack.h"

#define ENTRIES	  16
#define MAX_BYTES (256u << 20) /* of a file */

struct entry {
	char *text; /* the key */
	uint8_t *data;
	size_t bytes;
	uint64_t used;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry entries[ENTRIES];
static uint64_t uses;

/* ---- In memory ------------------------------------------------------------------- */

static struct entry *look_up(const struct cache_key *key)
{
	for (int i = 0; i < ENTRIES; i++) {
		if (entries[i].text && !strcmp(entries[i].text, key->text))
			return &entries[i];
	}
	return NULL;
}

/* Takes @data over. */
static void keep(const struct cache_key *key, uint8_t *data, size_t bytes)
{
	struct entry *e = look_up(key), *oldest = &entries[0];
	char *text = strdup(key->text);

	for (int i = 0; i < ENTRIES && !e; i++) {
		if (entries[i].used < oldest->used)
			oldest = &entries[i];
	}
	if (!e)
		e = oldest;
	free(e->text);
	free(e->data);
	*e = text ? (struct entry){ text, data, bytes, ++uses } : (struct entry){ 0 };
	if (!text)
		free(data);
}

static const struct entry *latest(void)
{
	const struct entry *e = &entries[0];

	for (int i = 1; i < ENTRIES; i++) {
		if (entries[i].used > e->used)
			e = &entries[i];
	}
	return e->text ? e : NULL;
}

/* The first line that differs from the key of the latest program. */
static const char *why_not(const struct cache_key *key, struct vtpu_executable *x)
{
	const struct entry *e = latest();
	const char *a = key->text, *b;
	int len;

	if (!e)
		return "compiled: it is the first of this process";
	for (b = e->text; *a && *a == *b; a++)
		b++;
	while (a > key->text && a[-1] != '\n')
		a--;
	len = (int)strcspn(a, "\n");
	a = len ? arena_printf(&x->arena, "compiled: differs from the latest program in '%.*s'",
			       len, a) :
		  "compiled: has fewer operations than the latest program";
	return a ? a : "compiled";
}

/* ---- On disk ----------------------------------------------------------------------- */

static bool file_name(const struct cache_key *key, const char *dir, const char *end, char *path,
		      size_t room)
{
	int n = snprintf(path, room, "%s/%016" PRIx64 "%016" PRIx64 ".vtpux%s", dir, key->hash[0],
			 key->hash[1], end);

	return n > 0 && (size_t)n < room;
}

static uint8_t *read_file(const char *path, size_t *bytes)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	struct stat st;

	if (!f)
		return NULL;
	if (!fstat(fileno(f), &st) && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    st.st_size <= MAX_BYTES) {
		*bytes = (size_t)st.st_size;
		data = malloc(*bytes);
		if (data && fread(data, 1, *bytes, f) != *bytes) {
			free(data);
			data = NULL;
		}
	}
	fclose(f);
	return data;
}

static bool from_disk(const struct cache_key *key, const char *dir, struct vtpu_executable *x)
{
	struct arena empty = { 0 };
	uint8_t *data;
	size_t bytes;
	char path[4096];

	if (!dir || !*dir || !file_name(key, dir, "", path, sizeof(path)) || access(path, F_OK))
		return false;
	data = read_file(path, &bytes);
	if (data && pack_read(data, bytes, key, x)) {
		const char *note = arena_printf(&x->arena, "read from '%s'", path);

		x->note = note ? note : "read from a file";
		keep(key, data, bytes);
		return true;
	}
	vtpu_message(VTPU_MESSAGE_WARNING,
		     "compile: '%s' is damaged or cannot be read; it is ignored, and written anew",
		     path);
	free(data);
	arena_free(&x->arena);
	x->arena = empty;
	x->scalars = x->bindings = 0;
	x->ios[0] = x->ios[1] = x->ios[2] = x->ops = 0;
	return false;
}

static void to_disk(const struct cache_key *key, const char *dir, const uint8_t *data, size_t bytes)
{
	char path[4096], beside[4096], end[32];
	FILE *f;
	bool ok;

	snprintf(end, sizeof(end), ".%ld.tmp", (long)getpid());
	if (!dir || !*dir || !file_name(key, dir, "", path, sizeof(path)) ||
	    !file_name(key, dir, end, beside, sizeof(beside)))
		return;
	if (mkdir(dir, 0777) && errno != EEXIST) {
		vtpu_message(VTPU_MESSAGE_WARNING, "compile: cannot make the cache folder '%s': %s",
			     dir, strerror(errno));
		return;
	}
	f = fopen(beside, "wb");
	ok = f && fwrite(data, 1, bytes, f) == bytes;
	ok = f && !fclose(f) && ok;
	if (!ok || rename(beside, path)) {
		vtpu_message(VTPU_MESSAGE_WARNING, "compile: cannot write '%s': %s", path,
			     strerror(errno));
		unlink(beside);
	}
}

/* ---- Both ------------------------------------------------------------------------------ */

bool cache_find(const struct cache_key *key, const char *dir, struct vtpu_executable *x)
{
	struct entry *e;
	bool found = false;

	pthread_mutex_lock(&lock);
	e = look_up(key);
	if (e && pack_read(e->data, e->bytes, key, x)) {
		e->used = ++uses;
		x->note = "compiled before in this process";
		found = true;
	}
	if (!found)
		found = from_disk(key, dir, x);
	if (!found)
		x->note = why_not(key, x);
	x->info.from_cache = found;
	pthread_mutex_unlock(&lock);
	return found;
}

void cache_put(const struct cache_key *key, const char *dir, const struct vtpu_executable *x)
{
	size_t bytes;
	uint8_t *data = pack_write(key, x, &bytes);

	if (!data)
		return;
	pthread_mutex_lock(&lock);
	to_disk(key, dir, data, bytes);
	keep(key, data, bytes);
	pthread_mutex_unlock(&lock);
}
