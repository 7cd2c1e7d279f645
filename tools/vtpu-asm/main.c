// SPDX-License-Identifier: MIT
/*
 * main.c - vtpu-asm: programs as text, images, and what a device says of them.
 *
 * The command line; the work is libvtpu's.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vtpu/device.h>
#include <vtpu/program.h>

static const char doc[] =
	"Assemble, disassemble and check programs of the virtual TPU.\n"
	"\v"
	"FILE is text or an image; which one, its first bytes say. '-' is standard input. Without an option the program is "
	"assembled and nothing is written, so that mistakes in the text show.\n"
	"\n"
	"--check loads the program into a model inside this process, or into the device of --device, and prints its "
	"modelled cycles and every finding in words: deadlocks, races, overflows, operands out of bounds.\n"
	"\n"
	"The text form is told in docs/assembly.md.\n"
	"\n"
	"Exit status: 0 good, 1 the program has a fault, 2 wrong usage, 3 no device or a file that cannot be read or written.";

enum {
	EXIT_FAULT = 1,
	EXIT_USAGE = 2,
	EXIT_TROUBLE = 3
};

enum {
	KEY_ISA = 256,
	KEY_DEVICE
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0,
	  "Write the image (or with -d the text) there; '-' is standard output", 0 },
	{ "disassemble", 'd', NULL, 0, "Write text instead of an image", 0 },
	{ "check", 'c', NULL, 0, "Load the program and print what the device finds", 0 },
	{ "strict", 's', NULL, 0, "With --check: a race is a fault, not a warning", 0 },
	{ "device", KEY_DEVICE, "NAME", 0,
	  "With --check: where, as vtpu_open() takes it (default model:v3,cores=8)", 0 },
	{ "isa", KEY_ISA, NULL, 0, "Print the instructions and their fields, and exit", 0 },
	{ 0 },
};

struct arguments {
	const char *input, *output, *device;
	bool disassemble, check, strict, isa;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'o':
		a->output = arg;
		return 0;
	case 'd':
		a->disassemble = true;
		return 0;
	case 'c':
		a->check = true;
		return 0;
	case 's':
		a->strict = true;
		return 0;
	case KEY_DEVICE:
		a->device = arg;
		return 0;
	case KEY_ISA:
		a->isa = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->input)
			argp_error(state, "one FILE at a time, not '%s' and '%s'", a->input, arg);
		a->input = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->input && !a->isa)
			argp_error(state, "which FILE?");
		if (a->check && (a->disassemble || a->output))
			argp_error(state, "--check writes no file; leave out -o and -d");
		if ((a->strict || a->device) && !a->check)
			argp_error(state, "--strict and --device go with --check");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int trouble(const char *what, const char *name, const char *why)
{
	fprintf(stderr, "vtpu-asm: %s %s: %s\n", what, name, why);
	return EXIT_TROUBLE;
}

static int fault(void)
{
	fprintf(stderr, "%s\n", vtpu_last_error());
	return EXIT_FAULT;
}

/* All of a file; NULL with errno set. free() it */
static char *read_all(const char *name, size_t *bytes)
{
	FILE *f = strcmp(name, "-") ? fopen(name, "rb") : stdin;
	size_t room = 1 << 16, got;
	char *data = f ? malloc(room) : NULL;

	*bytes = 0;
	while (data && (got = fread(data + *bytes, 1, room - *bytes, f))) {
		char *bigger;

		*bytes += got;
		if (*bytes < room)
			continue;
		room *= 2;
		bigger = realloc(data, room);
		if (!bigger)
			free(data);
		data = bigger;
	}
	if (data && ferror(f)) {
		free(data);
		data = NULL;
	}
	if (f && f != stdin)
		fclose(f);
	return data;
}

static int write_all(const char *name, const void *data, size_t bytes)
{
	FILE *f = strcmp(name, "-") ? fopen(name, "wb") : stdout;
	bool ok = f && fwrite(data, 1, bytes, f) == bytes;

	if (f && (f == stdout ? fflush(f) : fclose(f)))
		ok = false;
	return ok ? 0 : trouble("cannot write", name, strerror(errno));
}

/* Text becomes an image, an image stays one. */
static int load(const char *name, struct vtpu_image **image)
{
	enum vtpu_status status;
	size_t bytes;
	char *data = read_all(name, &bytes);

	if (!data)
		return trouble("cannot read", name, strerror(errno));
	if (bytes >= 4 && !memcmp(data, "VTPI", 4))
		status = vtpu_image_parse(data, bytes, image);
	else
		status = vtpu_assemble(strcmp(name, "-") ? name : "standard input", data, bytes,
				       image);
	free(data);
	return status ? fault() : 0;
}

static void print_stats(const struct vtpu_program_stats *s, const struct vtpu_device_info *info)
{
	double us = info->clock_khz ? s->cycles * 1e3 / info->clock_khz : 0;

	printf("good: %llu cycles, %.2f us at %u MHz on %u core%s of a %s\n",
	       (unsigned long long)s->cycles, us, info->clock_khz / 1000, s->width,
	       s->width > 1 ? "s" : "", info->preset);
	printf("%u instructions of all cores, %llu multiply-adds, matrix units busy %.1f%% of the time\n",
	       s->instances, (unsigned long long)s->macs,
	       s->cycles ? 100.0 * s->mxu_cycles / ((double)s->cycles * s->width) : 0.0);
	printf("%llu bytes of HBM moved, %llu bytes of VMEM used\n",
	       (unsigned long long)s->hbm_bytes, (unsigned long long)s->vmem_bytes);
}

static int check(const struct arguments *a, const struct vtpu_image *image)
{
	const char *name = a->device ? a->device : "model:v3,cores=8";
	struct vtpu_program_options how =
		VTPU_INIT(how, .flags = a->strict ? VTPU_PROGRAM_STRICT : 0);
	struct vtpu_program_stats stats = VTPU_INIT(stats);
	struct vtpu_device_info info = VTPU_INIT(info);
	struct vtpu_program *program = NULL;
	struct vtpu_device *device = NULL;
	int status = EXIT_SUCCESS;

	how.name = a->input;
	if (vtpu_open(name, &device))
		return trouble("cannot open", name, vtpu_last_error());
	if (vtpu_program_create(device, image, &how, &program)) {
		status = fault();
	} else if (vtpu_program_stats(program, &stats) || vtpu_device_info(device, &info)) {
		status = trouble("cannot ask", name, vtpu_last_error());
	} else {
		print_stats(&stats, &info);
		if (*vtpu_program_report(program))
			printf("%s\n", vtpu_program_report(program));
	}
	vtpu_program_destroy(program);
	vtpu_close(device);
	return status;
}

static int run(const struct arguments *a, const struct vtpu_image *image)
{
	const char *output = a->output ? a->output : a->disassemble ? "-" : NULL;
	const void *data;
	size_t bytes;
	char *text;
	int status;

	if (a->check)
		return check(a, image);
	if (a->disassemble) {
		if (vtpu_disassemble(image, &text))
			return fault();
		status = write_all(output, text, strlen(text));
		free(text);
		return status;
	}
	data = vtpu_image_data(image, &bytes);
	return output ? write_all(output, data, bytes) : 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = { options, parse, "FILE", doc, NULL, NULL, NULL };
	struct vtpu_image *image = NULL;
	struct arguments a = { 0 };
	char version[64];
	char *text;
	int status;

	snprintf(version, sizeof(version), "vtpu-asm %s", vtpu_version_string());
	argp_program_version = version;
	argp_err_exit_status = EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return EXIT_USAGE;
	if (a.isa) {
		if (vtpu_isa_reference(&text))
			return fault();
		status = write_all(a.output ? a.output : "-", text, strlen(text));
		free(text);
		return status;
	}
	status = load(a.input, &image);
	if (!status)
		status = run(&a, image);
	vtpu_image_destroy(image);
	return status;
}
