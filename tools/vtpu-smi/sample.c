// SPDX-License-Identifier: MIT
/* sample.c - two snapshots and the rates between them. */
#include <string.h>
#include <time.h>

#include "smi.h"

static void sleep_ms(unsigned int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	while (nanosleep(&t, &t))
		;
}

int smi_sample_take(struct smi_sample *sample, unsigned int ms)
{
	int ret;

	memset(sample, 0, sizeof(*sample));
	ret = smi_snapshot_read(&sample->now);
	return ret ? ret : smi_sample_next(sample, ms);
}

int smi_sample_next(struct smi_sample *sample, unsigned int ms)
{
	smi_snapshot_free(&sample->before);
	sample->before = sample->now;
	memset(&sample->now, 0, sizeof(sample->now));
	sleep_ms(ms);
	return smi_snapshot_read(&sample->now);
}

void smi_sample_free(struct smi_sample *sample)
{
	smi_snapshot_free(&sample->before);
	smi_snapshot_free(&sample->now);
}

/* A device may be gone, come or have been reset between the snapshots: then there is no rate. */
static const struct smi_device *earlier(const struct smi_sample *sample,
					const struct smi_device *now)
{
	for (size_t i = 0; i < sample->before.devices; i++)
		if (!strcmp(sample->before.device[i].node, now->node) &&
		    !sample->before.device[i].open_error[0])
			return &sample->before.device[i];
	return NULL;
}

static double share(uint64_t from, uint64_t to, double interval)
{
	double s = to > from && interval > 0 ? (to - from) / interval : 0;

	return s < 1 ? s : 1;
}

double smi_core_use(const struct smi_sample *sample, size_t i, uint32_t core)
{
	const struct smi_device *now = &sample->now.device[i], *was = earlier(sample, now);

	if (!was || now->open_error[0])
		return -1;
	return share(was->core[core].busy_ns, now->core[core].busy_ns, now->time_ns - was->time_ns);
}

double smi_duty_cycle(const struct smi_sample *sample, size_t i)
{
	const struct smi_device *now = &sample->now.device[i];
	double sum = 0;

	for (uint32_t c = 0; c < now->cores; c++) {
		double use = smi_core_use(sample, i, c);

		if (use < 0)
			return -1;
		sum += use;
	}
	return now->cores ? sum / now->cores : -1;
}

double smi_process_use(const struct smi_sample *sample, const struct smi_process *p, uint32_t cores)
{
	const struct smi_process *was = smi_process_find(&sample->before.processes, p);
	double interval = sample->now.time_ns - sample->before.time_ns;

	return share(was ? was->compute_ns : 0, p->compute_ns, interval * cores);
}
