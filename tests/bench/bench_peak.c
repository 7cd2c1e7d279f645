// SPDX-License-Identifier: MIT
/* bench_peak.c - the FMA peak of this host, now: GF/s of one thread and of all together. */
#include <stdio.h>
#include <unistd.h>

#include "peak.h"

int main(void)
{
	int threads = (int)sysconf(_SC_NPROCESSORS_ONLN);

	threads = threads < 1 ? 1 : threads > 64 ? 64 : threads;
	printf("%.1f %.1f\n", bench_peak(1), bench_peak(threads));
	return 0;
}
