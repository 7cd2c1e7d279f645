// SPDX-License-Identifier: MIT
/*
 * watchdog.c - a job that retires nothing for too long ends as TIMEOUT.
 *
 * The timer looks four times in a watchdog period while jobs run; in between
 * it costs them nothing.
 */
#include "chip.h"

static void look(struct vtpu_queue *q, uint64_t now)
{
	struct vtpu_job *job = vtpu_queue_head(q);
	uint64_t progress = vtpu_job_progress(q);

	if (!job || job->state != VTPU_JOB_RUNNING)
		return;
	if (progress != q->seen_progress) {
		q->seen_progress = progress;
		q->seen_ns = now;
	} else if (now > q->seen_ns && now - q->seen_ns >= q->chip->watchdog_ns &&
		   q->cancelled == VTPU_ST_OK) {
		vtpu_trace(q->chip, VTPU_TRACE_WATCHDOG, q->id, job->seq, now - q->seen_ns, 0);
		q->seen_ns = now; /* once a period, if it does not help */
		vtpu_job_cancel(q, job, VTPU_ST_TIMEOUT);
		vtpu_attend(q->chip, q->id);
	}
}

void vtpu_watchdog(struct vtpu_chip *chip)
{
	uint64_t now = vtpu_now(chip);
	unsigned int i;

	if (!chip->running)
		return;
	for (i = 1; i < VTPU_QUEUE_IDS; i++)
		if (chip->queue[i])
			look(chip->queue[i], now);
	vtpu_chip_arm(chip, now + chip->watchdog_ns / 4);
}
