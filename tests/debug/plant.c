// SPDX-License-Identifier: MIT
/*
 * plant.c - the files with which the kernel's fault injection is driven.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest/kst.h"
#include "plant.h"

static int nth = -1; /* /proc/thread-self/fail-nth */

static void knob(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, value, strlen(value)) < 0) {
		printf("Bail out! %s: %s; this needs a kernel with fault injection\n", path,
		       strerror(errno));
		exit(1);
	}
	close(fd);
}

void plant_setup(void)
{
	knob("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
	knob("/sys/kernel/debug/failslab/verbose", "0");
	knob("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N");
	knob("/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N");
	knob("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	knob("/sys/kernel/debug/fail_page_alloc/verbose", "0");
	knob("/sys/kernel/debug/fail_usercopy/verbose", "0");
	nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	kst_need(nth < 0, "/proc/thread-self/fail-nth");
}

void plant_fault(unsigned int n)
{
	char text[16];
	int bytes = snprintf(text, sizeof(text), "%u", n);

	kst_need(pwrite(nth, text, (size_t)bytes, 0) != bytes, "planting a fault");
}

/* Reading what is left of the count, and taking it away, copies too, so that the fault may still hit here. */
bool plant_was_hit(void)
{
	char text[16] = "";
	bool hit = pread(nth, text, sizeof(text) - 1, 0) > 0 && !atoi(text);

	while (!hit && pwrite(nth, "0", 1, 0) != 1)
		;
	return hit;
}
