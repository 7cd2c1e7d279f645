// SPDX-License-Identifier: MIT
/*
 * reset.c - ending all work at once: device reset, disable, fatal error, power off.
 *
 * All three steps are bounded: tell everybody to end, wait until nobody works
 * on anything of ours (vtpu_chip.inflight is 0), forget all queues, contexts
 * and programs. As the second comes before the third, nothing of the old work
 * can appear later; completions that were not written are dropped.
 */
#include <string.h>
#include <time.h>

#include "chip.h"

#define WAIT_LIMIT_NS \
	5000000000ULL /* jobs end within milliseconds; more is a fault of host or model */
#define WAIT_STEP_NS 50000

static uint64_t host_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Step one: nothing new starts, everything that runs is told to end. Control context. */
void vtpu_stop(struct vtpu_chip *chip)
{
	unsigned int i;

	chip->stopping = true;
	for (i = 1; i < VTPU_QUEUE_IDS; i++) {
		if (!chip->queue[i])
			continue;
		atomic_store(&chip->queue[i]->run.cancel, true);
		atomic_store(&chip->queue[i]->copy.cancel, true);
	}
	for (i = 1; i <= VTPU_MAX_PROGRAMS; i++)
		if (chip->program[i])
			atomic_store(&chip->program[i]->cancel, true);
}

/* Step two. False: @limit_ns of host time were not enough. */
bool vtpu_stop_wait(struct vtpu_chip *chip, uint64_t limit_ns)
{
	const struct timespec step = { .tv_nsec = WAIT_STEP_NS };
	uint64_t start = host_ns();

	while (atomic_load(&chip->inflight)) {
		if (host_ns() - start > limit_ns)
			return false;
		nanosleep(&step, NULL);
	}
	return true;
}

static void account(struct vtpu_queue *q)
{
	struct vtpu_job *job = vtpu_queue_head(q);

	if (job && job->state == VTPU_JOB_RUNNING)
		vtpu_stats_end(q, VTPU_ST_RESET);
}

/* Step three. */
void vtpu_stop_clear(struct vtpu_chip *chip)
{
	struct vtpu_admin *admin = chip->admin;
	unsigned int i;

	pthread_mutex_lock(&chip->lock);
	chip->admin = NULL;
	chip->reg.enabled = false;
	pthread_mutex_unlock(&chip->lock);
	vtpu_admin_destroy(admin);
	for (i = 1; i < VTPU_QUEUE_IDS; i++) {
		if (!chip->queue[i])
			continue;
		account(chip->queue[i]);
		vtpu_queue_free(chip->queue[i]);
	}
	for (i = 1; i <= VTPU_MAX_PROGRAMS; i++)
		if (chip->program[i])
			vtpu_loaded_free(chip->program[i]);
	memset(chip->context, 0, sizeof(chip->context));
	for (i = 0; i < VTPU_ID_WORDS; i++) {
		atomic_store(&chip->rung[i], 0);
		atomic_store(&chip->attention[i], 0);
		atomic_store(&chip->reset_queue[i], 0);
	}
	pthread_mutex_lock(&chip->lock);
	chip->stats.contexts = 0;
	pthread_mutex_unlock(&chip->lock);
	chip->waiting = NULL;
	chip->busy_cores = 0;
	chip->running = 0;
	chip->arbitrate = false;
	chip->admin_recheck = false;
	/* Vectors of events outlive a disable, those of completions must not. */
	chip->raise &= 1;
}

static void zero_hbm(struct vtpu_chip *chip)
{
	if (!chip->ops.discard || !chip->ops.discard(chip->host, 0, chip->hbm_bytes))
		memset(chip->hbm, 0, chip->hbm_bytes);
	if (chip->ops.dirty)
		chip->ops.dirty(chip->host, 0, chip->hbm_bytes);
}

/* All has ended: forget it, and be as after power-on if this is a reset. */
static void finish(struct vtpu_chip *chip)
{
	enum vtpu_reset kind;
	unsigned int i;
	bool reset;

	vtpu_stop_clear(chip);
	chip->stopping = false;
	pthread_mutex_lock(&chip->lock);
	reset = chip->reg.reset;
	kind = chip->reg.reset_kind;
	pthread_mutex_unlock(&chip->lock);
	if (!reset)
		return;
	for (i = 0; i < chip->geometry.cores; i++)
		vtpu_core_reset(&chip->core[i]);
	if (kind == VTPU_RESET_COLD)
		zero_hbm(chip);
	chip->raise = 0;
	pthread_mutex_lock(&chip->lock);
	for (i = 0; i < chip->geometry.cores; i++) {
		if (kind == VTPU_RESET_COLD)
			chip->core[i].stats = (struct vtpu_hw_core_stats){ 0 };
		else
			chip->core[i].stats.resets++;
	}
	chip->reg.events = 0;
	chip->reg.fatal = 0;
	chip->reg.admin_sq = 0;
	chip->reg.admin_cq = 0;
	chip->reg.admin_tail = 0;
	chip->reg.admin_depth = 0;
	chip->reg.abort_low = 0;
	chip->reg.reset_count = kind == VTPU_RESET_COLD ? 0 : chip->reg.reset_count + 1;
	if (kind == VTPU_RESET_COLD)
		atomic_store(&chip->bad_accesses, 0);
	chip->reg.reset = false;
	chip->reg.ready = true;
	pthread_mutex_unlock(&chip->lock);
	vtpu_trace(chip, VTPU_TRACE_RESET, 0, 0, kind, 0);
}

/* Steps two and three for the control pass, which does not wait: true when all is done */
bool vtpu_stop_finish(struct vtpu_chip *chip)
{
	if (atomic_load(&chip->inflight) || chip->dead)
		return false;
	finish(chip);
	return true;
}

/* What VTPU_CONTROL_RESET does at once, in the register write: nothing starts any more. */
void vtpu_reset_note(struct vtpu_chip *chip, enum vtpu_reset kind)
{
	pthread_mutex_lock(&chip->lock);
	if (!chip->reg.reset || kind == VTPU_RESET_COLD)
		chip->reg.reset_kind = kind;
	chip->reg.reset = true;
	chip->reg.ready = false;
	chip->reg.control = 0;
	pthread_mutex_unlock(&chip->lock);
}

void vtpu_chip_reset_begin(struct vtpu_chip *chip, enum vtpu_reset kind)
{
	vtpu_reset_note(chip, kind);
	vtpu_stop(chip);
}

void vtpu_chip_reset_finish(struct vtpu_chip *chip)
{
	bool begun;

	pthread_mutex_lock(&chip->lock);
	begun = chip->reg.reset;
	pthread_mutex_unlock(&chip->lock);
	if (!begun)
		return;
	if (!vtpu_stop_wait(chip, WAIT_LIMIT_NS)) {
		/* Memory that others still use must not go; the control pass tries again. */
		vtpu_log(chip, VTPU_LOG_ERROR, "reset: %u jobs or DMA requests do not end",
			 atomic_load(&chip->inflight));
		vtpu_attend(chip, 0);
		return;
	}
	chip->dead = false;
	finish(chip);
}
