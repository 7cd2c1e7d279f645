// SPDX-License-Identifier: MIT
/*
 * fail_probe.c - binding the driver with a failure planted in its first, second, ... n-th allocation. It may bind or
 * not. When it does, and after each eighth time that it does not, then without a fault, a job must have its known
 * answer. What a failed probe leaves behind shows in the kernel's log and among its leaks, at which
 * tests/debug/in-vm.sh looks.
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
/*
 * Around here the DRM core makes the device's node, before the driver has done anything. Linux
 * 6.12 does not survive a failure there: drm_minor_alloc_release() puts a device that is an error.
 */
#define DRM_FIRST 48
#define DRM_LAST  63

static char pci[32];
static int bind_fd;

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

/*
 * A device of some NUMA node is probed by a worker there, whom no fault would
 * meet; one of none is probed by us.
 */
static void forget_node(void)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/numa_node", pci);
	fd = open(path, O_WRONLY);
	kst_need(fd < 0 || write(fd, "-1", 2) != 2, path);
	close(fd);
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

/* Without a fault, after @n faults */
static bool binds(unsigned int n)
{
	int ret = tell(bind_fd);

	if (ret)
		printf("# after fault %u, bind fails: %s\n", n, strerror(-ret));
	return !ret && answers();
}

int main(void)
{
	unsigned int n, faults = 0, refused = 0;
	bool ok = true, more = true, bound = true;
	int unbind_fd, ret;

	plant_setup();
	find_device();
	forget_node();
	bind_fd = open(DRIVER "/bind", O_WRONLY);
	unbind_fd = open(DRIVER "/unbind", O_WRONLY);
	kst_need(bind_fd < 0 || unbind_fd < 0, DRIVER "/bind");
	for (n = 1; ok && more && n < MAX_FAULTS; n += 1 + n / 32) {
		if (n >= DRM_FIRST && n <= DRM_LAST)
			n = DRM_LAST + 1;
		if (bound)
			kst_need(tell(unbind_fd), "unbind");
		plant_fault(n);
		ret = tell(bind_fd);
		more = plant_was_hit();
		faults += more;
		bound = !ret;
		if (bound) {
			ok = answers();
		} else if (!more) {
			printf("# fault %u is not reached, and bind fails: %s\n", n,
			       strerror(-ret));
			ok = false;
		} else if (++refused % 8 == 0) {
			ok = bound = binds(n);
		}
	}
	if (ok && !bound)
		ok = binds(n);
	/* Each queue's scheduler takes memory, so that fewer would mean that the driver met none. */
	tap_ok(ok && !more && n > VTPU_MAX_QUEUES,
	       "probe: %u faults, %u refused, the last one at %u", faults, refused, n);
	return tap_done();
}
