// SPDX-License-Identifier: MIT
/*
 * test_cache.c - finished programs kept in memory and on disk, what is told of misses, damaged
 * files; and replicas that differ.
 *
 * Each look at the disk is a process of its own: this program again, with a folder as argument.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compile/compile.h"
#include "compile/models.h"
#include "unit/tap.h"

static const char *self;

static const char *compile_note(struct vtpu_graph *g, struct vtpu_device *dev, const char *dir,
				enum vtpu_precision precision, char *note, size_t room)
{
	struct vtpu_compile_options o = VTPU_INIT(o, .cores = 2,
						  .geometry = vtpu_device_geometry(dev),
						  .cache_dir = dir, .precision = precision);
	struct vtpu_executable_info info = VTPU_INIT(info);
	struct vtpu_executable *x;

	if (vtpu_compile(g, NULL, NULL, &o, &x)) {
		snprintf(note, room, "%s", vtpu_last_error());
		return note;
	}
	vtpu_executable_info(x, &info);
	snprintf(note, room, "%d %s", info.from_cache, info.cache_note);
	vtpu_executable_destroy(x);
	return note;
}

static void print_log(void *arg, enum vtpu_message level, const char *text)
{
	(void)arg;
	if (level <= VTPU_MESSAGE_WARNING)
		printf("log: %s\n", text);
}

/* As a child: compile once with the folder, and say where it came from. */
static int child(const char *dir)
{
	struct vtpu_graph *g = mlp(8, 6, 5, OPT_ADAM, true);
	struct vtpu_device *dev;
	char note[4096];

	vtpu_set_log(print_log, NULL, VTPU_MESSAGE_WARNING);
	if (vtpu_open("model:v3,cores=2,hbm=64M", &dev))
		return 1;
	puts(compile_note(g, dev, dir, VTPU_PRECISION_F32, note, sizeof(note)));
	vtpu_graph_destroy(g);
	vtpu_close(dev);
	return 0;
}

/* What a child says. */
static const char *ask(const char *dir, char *text, size_t room)
{
	char command[4096];
	size_t n = 0;
	FILE *f;

	snprintf(command, sizeof(command), "'%s' '%s'", self, dir);
	f = popen(command, "r");
	if (f) {
		n = fread(text, 1, room - 1, f);
		pclose(f);
	}
	text[n] = 0;
	return text;
}

/* The only file in a folder. */
static bool only_file(const char *dir, char *path, size_t room)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, room, "%s/%s", dir, e->d_name);
		n++;
	}
	if (d)
		closedir(d);
	return n == 1;
}

static void damage(const char *path, long at, bool cut)
{
	FILE *f = fopen(path, "r+b");
	int c;

	fseek(f, at < 0 ? 0 : at, SEEK_SET);
	c = fgetc(f);
	fseek(f, at, SEEK_SET);
	fputc(c ^ 0x40, f);
	fclose(f);
	if (cut && truncate(path, at))
		printf("# cannot cut\n");
}

static void test_disk(void)
{
	char dir[] = "/tmp/vtpu-cache-XXXXXX", path[4096], text[8192];

	if (!mkdtemp(dir)) {
		tap_ok(false, "a folder");
		return;
	}
	tap_ok(!strncmp(ask(dir, text, sizeof(text)), "0 compiled", 10), "the first compiles");
	tap_ok(only_file(dir, path, sizeof(path)), "and leaves one file");
	tap_ok(!strncmp(ask(dir, text, sizeof(text)), "1 read from", 11), "the second reads it");
	for (int i = 0; i < 4; i++) {
		static const long place[] = { 2, 60, 3000, 5000 };

		damage(path, place[i], i == 3);
		ask(dir, text, sizeof(text));
		tap_ok(strstr(text, "log: ") && strstr(text, "damaged") &&
			       strstr(text, "\n0 compiled"),
		       "a file damaged at %ld is ignored with a warning", place[i]);
		tap_ok(!strncmp(ask(dir, text, sizeof(text)), "1 read from", 11),
		       "and written anew");
	}
	tap_ok(only_file(dir, path, sizeof(path)), "nothing else is left");
	unlink(path);
	rmdir(dir);
}

static void test_memory(void)
{
	struct vtpu_graph *a = mlp(8, 6, 5, OPT_ADAM, true), *b = mlp(16, 6, 5, OPT_ADAM, true);
	struct vtpu_device *dev;
	char note[4096];

	if (vtpu_open("model:v3,cores=2,hbm=64M", &dev)) {
		tap_ok(false, "a device");
		return;
	}
	compile_note(a, dev, "", VTPU_PRECISION_F32, note, sizeof(note));
	tap_ok(note[0] == '0', "first: %s", note);
	compile_note(a, dev, "", VTPU_PRECISION_F32, note, sizeof(note));
	tap_ok(note[0] == '1', "again: %s", note);
	compile_note(b, dev, "", VTPU_PRECISION_F32, note, sizeof(note));
	tap_ok(note[0] == '0' && strstr(note, "operation x"), "another batch: %s", note);
	compile_note(b, dev, "", VTPU_PRECISION_BF16, note, sizeof(note));
	tap_ok(note[0] == '0' && strstr(note, "precision 1"), "another precision: %s", note);
	compile_note(a, dev, "", VTPU_PRECISION_F32, note, sizeof(note));
	tap_ok(note[0] == '1', "the first is still there: %s", note);
	vtpu_graph_destroy(a);
	vtpu_graph_destroy(b);
	vtpu_close(dev);
}

static void test_replicas(void)
{
	struct vtpu_graph *g = mlp(8, 6, 5, OPT_ADAM, true);
	struct vtpu_variables *v = NULL;
	struct vtpu_device *dev;
	uint32_t at;

	if (vtpu_open("model:v3,cores=4,hbm=64M", &dev) || vtpu_variables_create(dev, g, 4, &v)) {
		tap_ok(false, "variables: %s", vtpu_last_error());
		return;
	}
	tap_ok(!vtpu_variables_check(v), "replicas are the same");
	at = layout_find(v->layout, "dense2/bias");
	vtpu_buffer_fill(v->buffer[ARENA_PARAMS],
			 2 * v->layout->bytes[ARENA_PARAMS] + v->layout->variable[at].offset + 4, 4,
			 0x40490fdb);
	tap_ok(vtpu_variables_check(v) == VTPU_ERROR_NUMERIC &&
		       strstr(vtpu_last_error(), "'dense2/bias'") &&
		       strstr(vtpu_last_error(), "core 2"),
	       "one that differs is named: %s", vtpu_last_error());
	vtpu_variables_destroy(v);
	vtpu_graph_destroy(g);
	vtpu_close(dev);
}

int main(int argc, char **argv)
{
	self = argv[0];
	if (argc > 1)
		return child(argv[1]);
	test_memory();
	test_disk();
	test_replicas();
	return tap_done();
}
