// SPDX-License-Identifier: MIT
/*
 * fuzz_load.c - libFuzzer target: program images, hostile in every way.
 *
 * A mutator of its own changes instructions, fields and sections of images that
 * are valid to begin with, and seals them again, so that the fuzzer gets past
 * the checksum. Whatever loads is then walked as the executor would walk it.
 *
 *	build/tests/fuzz/fuzz_load -max_total_time=60 [corpus]
 *	build/tests/fuzz/fuzz_load -seeds=DIR		write a seed corpus and exit
 */
#include <sys/stat.h>

#include "preset.h"
#include "program.h"
#include "unit/random_program.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t most);
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t most, unsigned int seed);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static struct vtpu_hw_geometry geometry;

/* ---- Seeds --------------------------------------------------------------------------- */

/* An image of at most @most bytes: bases, six queues and their padding take 700 */
static void *seed_image(uint32_t which, size_t most, size_t *bytes)
{
	uint32_t fit = most > 1024 ? (uint32_t)(most - 768) / sizeof(struct vtpu_insn) : 1;
	struct rng rng = { 1000 + which };
	struct random_program knobs = { .geometry = &geometry,
					.width = 1 + which % 4,
					.instructions = 1 + which % (fit < 48 ? fit : 48),
					.span = which % 3 ? 256 : 2048,
					.sync = 40,
					.sems = 4,
					.chain = which % 2 ? 90 : 0,
					.far_signals = which % 5 == 0,
					.sends = which % 3 ? 0 : 30 };

	return random_image(&rng, &knobs, bytes);
}

static void write_seeds(const char *folder)
{
	mkdir(folder, 0777);
	for (uint32_t i = 0; i < 64; i++) {
		char name[512];
		size_t bytes;
		void *image = seed_image(i, 8192, &bytes);
		FILE *f;

		snprintf(name, sizeof(name), "%s/seed-%02u", folder, i);
		f = fopen(name, "wb");
		if (!f || fwrite(image, bytes, 1, f) != 1) {
			perror(name);
			exit(1);
		}
		fclose(f);
		free(image);
	}
	exit(0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char err[128];

	vtpu_preset_geometry(NULL, 8, NULL, &geometry, err, sizeof(err));
	for (int i = 1; i < *argc; i++)
		if (!strncmp((*argv)[i], "-seeds=", 7))
			write_seeds((*argv)[i] + 7);
	return 0;
}

/* ---- Mutations -------------------------------------------------------------------------- */

static uint64_t interesting(struct rng *rng)
{
	static const uint64_t values[] = {
		0,	  1,	      2,	  3,	      4,	  7,	     8,
		63,	  64,	      127,	  128,	      255,	  256,	     4095,
		4096,	  65535,      65536,	  1u << 20,   1u << 24,	  1u << 28,  INT32_MAX,
		1u << 31, UINT32_MAX, 1ULL << 32, 1ULL << 40, 1ULL << 56, INT64_MAX, UINT64_MAX
	};

	return values[rng_below(rng, sizeof(values) / sizeof(values[0]))];
}

/* A random queue section with at least one instruction, or NULL */
static const struct vtpu_image_section *some_queue(struct rng *rng, const uint8_t *data,
						   size_t bytes)
{
	const struct vtpu_image_header *h = (const void *)data;
	const struct vtpu_image_section *s = (const void *)(h + 1);

	for (int tries = 0; tries < 8; tries++) {
		uint32_t i;

		if (!h->nsections || h->nsections > (bytes - sizeof(*h)) / sizeof(*s))
			return NULL;
		i = rng_below(rng, h->nsections);
		if (s[i].type == VTPU_SECTION_QUEUE && s[i].count && s[i].offset < bytes &&
		    s[i].offset % 8 == 0 &&
		    s[i].count <= (bytes - s[i].offset) / sizeof(struct vtpu_insn))
			return &s[i];
	}
	return NULL;
}

static void mutate_insn(struct rng *rng, uint8_t *data, size_t bytes)
{
	const struct vtpu_image_section *s = some_queue(rng, data, bytes);
	uint64_t value = interesting(rng);
	struct vtpu_insn *insn;
	uint32_t at, width;

	if (!s)
		return;
	insn = (struct vtpu_insn *)(data + s->offset) + rng_below(rng, s->count);
	switch (rng_below(rng, 6)) {
	case 0: /* copy another one here */
		*insn = ((struct vtpu_insn *)(data + s->offset))[rng_below(rng, s->count)];
		break;
	case 1: /* a small change of an address or size */
		at = 32 + 4 * rng_below(rng, 24);
		insn->payload.word[(at - 32) / 4] += rng_below(rng, 33) * 4 - 64;
		break;
	case 2: /* more or less waiting */
		insn->flags ^= 1u << rng_below(rng, 4);
		insn->wait[rng_below(rng, 2)].value = 1 + rng_below(rng, 8);
		insn->signal[rng_below(rng, 2)].inc = (uint16_t)(1 + rng_below(rng, 3));
		break;
	default:
		width = 1u << rng_below(rng, 4);
		at = rng_below(rng, sizeof(*insn) / width) * width;
		memcpy((uint8_t *)insn + at, &value, width);
		break;
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t most, unsigned int seed)
{
	struct rng rng = { seed * 0x9e3779b97f4a7c15ULL + 1 };
	struct vtpu_image_header *h = (struct vtpu_image_header *)data;

	if (bytes < sizeof(*h) || rng_below(&rng, 200) == 0) {
		size_t size;
		void *image = seed_image(rng_below(&rng, 4096), most, &size);

		bytes = size < most ? size : most;
		memcpy(data, image, bytes);
		free(image);
	}
	for (uint32_t n = 1 + rng_below(&rng, 4); n; n--) {
		switch (rng_below(&rng, 10)) {
		case 0:
			bytes = LLVMFuzzerMutate(data, bytes, most);
			if (bytes < sizeof(*h))
				return bytes;
			break;
		case 1:
			h->width = 1 + rng_below(&rng, 8);
			break;
		case 2: { /* header and section table */
			uint64_t value = interesting(&rng);
			uint32_t width = 1u << rng_below(&rng, 4),
				 at = rng_below(&rng, 384 / 8) * 8;

			if (at + width <= bytes)
				memcpy(data + at, &value, width);
			break;
		}
		default:
			mutate_insn(&rng, data, bytes);
			break;
		}
	}
	if (rng_below(&rng, 50)) {
		h->magic = VTPU_IMAGE_MAGIC;
		h->version = VTPU_ISA_VERSION;
		h->bytes = bytes;
		ib_seal(data, bytes);
	}
	return bytes;
}

/* ---- The target ---------------------------------------------------------------------------- */

/* Every node can run: the graph has no cycle and its counts agree. Stops the fuzzer if not. */
static void walk(const struct vtpu_program *p)
{
	uint32_t *left = ib_check(malloc((p->nodes + 1) * sizeof(*left)));
	uint32_t *ready = ib_check(malloc((p->nodes + 1) * sizeof(*ready)));
	uint32_t n = 0, ran = 0;

	memcpy(left, p->preds, p->nodes * sizeof(*left));
	for (uint32_t i = 0; i < p->nodes; i++)
		if (!left[i])
			ready[n++] = i;
	while (ran < n) {
		uint32_t node = ready[ran++];

		if (node < p->instances &&
		    p->instance[node].index >= p->count[p->instance[node].unit])
			abort();
		for (uint32_t s = p->succ_start[node]; s < p->succ_start[node + 1]; s++)
			if (!--left[p->succ[s]])
				ready[n++] = p->succ[s];
	}
	if (n != p->nodes || p->succ_start[p->nodes] != p->edges)
		abort();
	free(left);
	free(ready);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct vtpu_load_record records[VTPU_MAX_RECORDS];
	void *image = ib_check(malloc(bytes ? bytes : 1));
	struct vtpu_load_request req = { .image = image,
					 .bytes = bytes,
					 .geometry = &geometry,
					 .caps = VTPU_CAP_F32 | VTPU_CAP_BF16 | VTPU_CAP_CONV |
						 VTPU_CAP_ICI };
	struct vtpu_load_result result;
	struct vtpu_program *program;

	memcpy(image, data, bytes);
	if (!vtpu_program_load(&req, &program, &result, records))
		walk(program);
	else if (!result.found)
		abort(); /* a refusal without a reason */
	vtpu_program_put(program);
	free(image);
	return 0;
}
