// SPDX-License-Identifier: MIT
/*
 * fail_probe.c - binding the driver with a failure planted in its first, second, ... n-th allocation. It may bind or
 * not; the next time, without a fault, it must, and a job must have its known answer. What a failed probe leaves behind
 * shows in the kernel's log and among its leaks, at which tests/debug/in-vm.sh looks.
 *
 * The later the fault, the larger the steps: most of a probe is the same for each of the device's queues.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kselftest/kst.h"
#include "plant.h"
#include "unit/tap.h"

#define DRIVER	   "/sys/bus/pci/drivers/vtpu"
#define MAX_FAULTS 20000

static char pci[32];

static void find_device(void)
{
	DIR *dir = opendir(DRIVER);
	struct dirent *e;

	kst_need(!dir, DRIVER);
	while ((e = readdir(dir)))
		if (strchr(e->d_name, ':') && strchr(e->d_name, '.'))
			snprintf(pci, sizeof(pci), "%.31s", e->d_name);
	closedir(dir);
	kst_need(pci[0] ? 0 : -ENODEV, "a device that is bound");
}

/* Both files are open already: what is planted is for the driver. */
static int tell(int fd)
{
	return pwrite(fd, pci, strlen(pci), 0) < 0 ? -errno : 0;
}

static bool answers(void)
{
	struct kst_client c;
	bool ok;

	kst_client(&c);
	ok = kst_answer(&c);
	kst_client_close(&c);
	return ok;
}

int main(void)
{
	unsigned int n, faults = 0, refused = 0;
	bool ok = true, more = true;
	int bind, unbind, ret;

	plant_setup();
	find_device();
	bind = open(DRIVER "/bind", O_WRONLY);
	unbind = open(DRIVER "/unbind", O_WRONLY);
	kst_need(bind < 0 || unbind < 0, DRIVER "/bind");
	for (n = 1; ok && more && n < MAX_FAULTS; n += 1 + n / 32) {
		kst_need(tell(unbind), "unbind");
		plant_fault(n);
		ret = tell(bind);
		more = plant_was_hit();
		faults += more;
		refused += more && ret;
		if (ret && !more) {
			printf("# fault %u is not reached, and bind fails: %s\n", n,
			       strerror(-ret));
			ok = false;
		} else if (ret && tell(bind)) {
			printf("# after fault %u (%s), bind fails: %s\n", n, strerror(-ret),
			       strerror(errno));
			ok = false;
		}
		ok = ok && answers();
	}
	tap_ok(ok && !more && faults, "probe: %u faults, %u refused, the last one at %u", faults,
	       refused, n);
	return tap_done();
}
