// SPDX-License-Identifier: MIT
/*
 * stats.c - counters of cores, queues and chip.
 */
#include "chip.h"

/* The head job of @q runs from now on. */
void vtpu_stats_start(struct vtpu_queue *q)
{
	struct vtpu_chip *chip = q->chip;
	unsigned int i;

	pthread_mutex_lock(&chip->lock);
	chip->stats.jobs_running++;
	q->pub.since_ns = q->started_ns;
	for (i = 0; q->cores && i < q->run.program->width; i++)
		chip->core[q->first_core + i].since_ns = q->started_ns;
	pthread_mutex_unlock(&chip->lock);
}

static void core_end(struct vtpu_core *core, const struct vtpu_program *program, unsigned int i,
		     uint64_t ns, enum vtpu_hw_status status)
{
	struct vtpu_hw_core_stats *s = &core->stats;

	s->busy_ns += ns;
	core->since_ns = 0;
	if (status == VTPU_ST_RESET)
		s->resets++;
	if (status != VTPU_ST_OK) {
		s->jobs_failed++;
		return;
	}
	s->jobs++;
	s->cycles += program->cycles;
	s->mxu_cycles += program->core_mxu_cycles[i];
	s->macs += program->core_macs[i];
	s->hbm_bytes += program->core_hbm_bytes[i];
}

/* It has ended with @status; it still has its cores and its program. Return: host ns that it ran */
uint64_t vtpu_stats_end(struct vtpu_queue *q, enum vtpu_hw_status status)
{
	struct vtpu_chip *chip = q->chip;
	uint64_t now = vtpu_now(chip);
	uint64_t ns = now > q->started_ns ? now - q->started_ns : 0;
	unsigned int i;

	pthread_mutex_lock(&chip->lock);
	chip->stats.jobs_running--;
	q->pub.since_ns = 0;
	q->pub.busy_ns += ns;
	q->pub.progress = vtpu_job_progress(q);
	atomic_store(&q->run.retired, 0);
	atomic_store(&q->copy.progress, 0);
	atomic_store(&q->bind_progress, 0);
	for (i = 0; q->cores && i < q->run.program->width; i++)
		core_end(&chip->core[q->first_core + i], q->run.program, i, ns, status);
	if (status == VTPU_ST_OK) {
		chip->stats.jobs_done++;
		if (q->kind == VTPU_QUEUE_COPY)
			chip->stats.copies_done++;
	}
	pthread_mutex_unlock(&chip->lock);
	return ns;
}

void vtpu_core_stats(struct vtpu_chip *chip, unsigned int core, struct vtpu_hw_core_stats *out)
{
	const struct vtpu_core *c = &chip->core[core];
	uint64_t now = vtpu_now(chip);

	pthread_mutex_lock(&chip->lock);
	*out = c->stats;
	if (c->since_ns && now > c->since_ns)
		out->busy_ns += now - c->since_ns;
	pthread_mutex_unlock(&chip->lock);
}

void vtpu_chip_stats(struct vtpu_chip *chip, struct vtpu_chip_stats *stats)
{
	pthread_mutex_lock(&chip->lock);
	*stats = chip->stats;
	stats->resets = chip->reg.reset_count;
	pthread_mutex_unlock(&chip->lock);
	stats->copy_bytes = atomic_load(&chip->copy_bytes);
	stats->doorbells = atomic_load(&chip->doorbells);
	stats->bad_accesses = atomic_load(&chip->bad_accesses);
	stats->threads = vtpu_pool_threads(chip->pool);
	stats->isa = vtpu_kernels_isa(chip->kernels);
}
