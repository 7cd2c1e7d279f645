// SPDX-License-Identifier: MIT
/* dmon.c - one line a device and interval, for a person or a script to follow. */
#include <inttypes.h>
#include <stdio.h>

#include "smi.h"

#define HEADER_EVERY 20

static void header(void)
{
	puts("# tpu  duty   mxu     hbm    hbm      jobs  failed  cores busy (%)");
	puts("#  id     %     %     MiB  GB/s*       /s");
}

/* "*" in the header: modelled bytes over modelled time, which is not the host's. */
static void show(const struct smi_sample *sample, size_t i)
{
	const struct smi_device *d = &sample->now.device[i];
	const struct smi_device *was = i < sample->before.devices ? &sample->before.device[i] :
								    NULL;
	uint64_t bytes = 0, cycles = 0, mxu = 0;
	double seconds, model_seconds;

	if (d->open_error[0] || !was || was->index != d->index) {
		printf("%5u   N/A   N/A     N/A   N/A      N/A     N/A\n", d->index);
		return;
	}
	for (uint32_t c = 0; c < d->cores; c++) {
		bytes += d->core[c].hbm_bytes - was->core[c].hbm_bytes;
		cycles += d->core[c].cycles - was->core[c].cycles;
		mxu += d->core[c].mxu_cycles - was->core[c].mxu_cycles;
	}
	seconds = (sample->now.time_ns - sample->before.time_ns) / 1e9;
	model_seconds = d->clock_hz ? (double)cycles / d->clock_hz : 0;
	printf("%5u %5.0f %5.0f %7.0f %5.0f %10.0f %7" PRIu64 " ", d->index,
	       100 * smi_duty_cycle(sample, i), cycles ? 100.0 * mxu / cycles : 0,
	       d->hbm_used / 1048576.0, model_seconds > 0 ? bytes / model_seconds / 1e9 : 0,
	       (d->jobs_completed - was->jobs_completed) / seconds, d->jobs_failed);
	for (uint32_t c = 0; c < d->cores; c++)
		printf(" %3.0f", 100 * smi_core_use(sample, i, c));
	putchar('\n');
}

int smi_run_dmon(unsigned int ms, unsigned long count)
{
	struct smi_sample sample;
	int ret = smi_sample_take(&sample, ms);

	for (unsigned long n = 0; !ret; n++) {
		if (n % HEADER_EVERY == 0)
			header();
		for (size_t i = 0; i < sample.now.devices; i++)
			show(&sample, i);
		if (fflush(stdout))
			break; /* the reader has gone */
		if (count && n + 1 == count)
			break;
		ret = smi_sample_next(&sample, ms);
	}
	smi_sample_free(&sample);
	return ret;
}
