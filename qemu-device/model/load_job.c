// SPDX-License-Identifier: MIT
/*
 * load_job.c - one PROGRAM_LOAD, on a worker.
 *
 * Takes a private copy of the image first, so that whatever the guest does to
 * its HBM afterwards cannot be seen by the loader. The load itself is load.c's.
 */
#include <stdlib.h>
#include <string.h>

#include "chip.h"

#define PIECE (1u << 20)

static uint8_t *copy_image(struct vtpu_loaded *loaded)
{
	const uint8_t *from = loaded->chip->hbm + loaded->image;
	uint8_t *image = malloc(loaded->bytes);
	uint64_t at, n;

	loaded->status = VTPU_ST_NO_MEMORY;
	for (at = 0; image && at < loaded->bytes; at += n) {
		if (atomic_load(&loaded->cancel)) {
			loaded->status = VTPU_ST_CANCELLED;
			free(image);
			return NULL;
		}
		n = loaded->bytes - at < PIECE ? loaded->bytes - at : PIECE;
		memcpy(image + at, from + at, n);
	}
	return image;
}

/* Does some instruction write SMEM? Then the next job's SMEM must be cleared. */
static bool writes_smem(const struct vtpu_program *program)
{
	const struct vtpu_insn *insn = program->text[VTPU_UNIT_DMA];
	uint32_t i;

	for (i = 0; i < program->count[VTPU_UNIT_DMA]; i++)
		if (insn[i].opcode != VTPU_OP_NOP &&
		    VTPU_ADDR_SPACE(insn[i].payload.dma.dst) == VTPU_SPACE_SMEM)
			return true;
	return false;
}

static void load(void *arg)
{
	struct vtpu_loaded *loaded = arg;
	struct vtpu_chip *chip = loaded->chip;
	uint8_t *image = copy_image(loaded);

	if (image) {
		struct vtpu_load_request req = {
			.image = image,
			.bytes = loaded->bytes,
			.geometry = &chip->geometry,
			.caps = chip->caps,
			.flags = loaded->flags,
			.cancel = &loaded->cancel,
		};

		loaded->status =
			vtpu_program_load(&req, &loaded->program, &loaded->result, loaded->records);
		free(image);
	}
	if (loaded->program)
		loaded->writes_smem = writes_smem(loaded->program);
	/* From here on control context may free it. */
	atomic_store(&loaded->ended, true);
	vtpu_attend(chip, 0);
	atomic_fetch_sub(&chip->inflight, 1);
}

/* Everything but the load's results is filled in. False without memory. */
bool vtpu_load_start(struct vtpu_loaded *loaded)
{
	atomic_fetch_add(&loaded->chip->inflight, 1);
	if (vtpu_pool_submit(loaded->chip->pool, load, loaded))
		return true;
	atomic_fetch_sub(&loaded->chip->inflight, 1);
	return false;
}

/* Not loading any more. Jobs that run the program have references of their own. */
void vtpu_loaded_free(struct vtpu_loaded *loaded)
{
	struct vtpu_chip *chip = loaded->chip;

	if (loaded->program && !loaded->loading) {
		chip->program_bytes -= loaded->program->host_bytes;
		pthread_mutex_lock(&chip->lock);
		chip->stats.programs--;
		pthread_mutex_unlock(&chip->lock);
	}
	chip->program[loaded->id] = NULL;
	chip->context[loaded->context].programs--;
	vtpu_program_put(loaded->program);
	free(loaded);
}
