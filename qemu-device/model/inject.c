// SPDX-License-Identifier: MIT
/*
 * inject.c - faults on demand, so that every recovery path can be tested.
 */
#include <stdio.h>
#include <string.h>

#include "chip.h"

static const char *const fault_name[] = {
	[VTPU_FAULT_NONE] = "none",
	[VTPU_FAULT_HANG] = "hang",
	[VTPU_FAULT_LOST_IRQ] = "lost-irq",
	[VTPU_FAULT_DMA_ERROR] = "dma-error",
};

#define FAULTS (sizeof(fault_name) / sizeof(fault_name[0]))

bool vtpu_fault_parse(const char *name, enum vtpu_fault *fault)
{
	unsigned int i;

	for (i = 0; i < FAULTS; i++) {
		if (!strcmp(name, fault_name[i])) {
			*fault = i;
			return true;
		}
	}
	return false;
}

bool vtpu_chip_inject(struct vtpu_chip *chip, enum vtpu_fault fault, uint32_t queue, uint32_t job,
		      char *err, size_t err_bytes)
{
	if ((unsigned int)fault >= FAULTS) {
		snprintf(err, err_bytes, "fault %d: there are none, hang, lost-irq, dma-error",
			 (int)fault);
		return false;
	}
	if (queue > VTPU_MAX_QUEUES) {
		snprintf(err, err_bytes, "queue %u: I/O queues are 1 to %u, 0 is any", queue,
			 VTPU_MAX_QUEUES);
		return false;
	}
	if (fault != VTPU_FAULT_NONE && !job) {
		snprintf(err, err_bytes, "job 0: jobs are counted from 1, the next one");
		return false;
	}
	pthread_mutex_lock(&chip->lock);
	chip->inject.fault = fault;
	chip->inject.queue = queue;
	chip->inject.job = job;
	pthread_mutex_unlock(&chip->lock);
	return true;
}

/* A job of @queue starts: which fault is it to have? */
enum vtpu_fault vtpu_inject_take(struct vtpu_chip *chip, uint32_t queue, uint32_t seq)
{
	enum vtpu_fault fault = VTPU_FAULT_NONE;

	pthread_mutex_lock(&chip->lock);
	if (chip->inject.fault != VTPU_FAULT_NONE &&
	    (!chip->inject.queue || chip->inject.queue == queue) && !--chip->inject.job) {
		fault = chip->inject.fault;
		chip->inject.fault = VTPU_FAULT_NONE;
	}
	pthread_mutex_unlock(&chip->lock);
	if (fault != VTPU_FAULT_NONE)
		vtpu_trace(chip, VTPU_TRACE_INJECT, queue, seq, fault, 0);
	return fault;
}
