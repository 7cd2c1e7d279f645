// SPDX-License-Identifier: MIT
/*
 * kst.c - calls in short, sync objects, device and module, the kernel's log. Clients are in kst_client.c.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sync_file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kst.h"

#define SKIP   4 /* kselftest's exit code */
#define DRIVER "/sys/bus/pci/drivers/vtpu"

void kst_need(int ret, const char *what)
{
	if (!ret)
		return;
	printf("# cannot go on: %s: %s\n", what, strerror(ret < 0 ? -ret : errno));
	fflush(stdout);
	_exit(1);
}

int kst_open(void)
{
	char path[32];
	int fd;

	/* A driver that was bound anew has another number while files of before are open. */
	for (int i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "/dev/accel/accel%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0 || errno != ENOENT)
			break;
	}
	if (fd < 0) {
		printf("# /dev/accel: %s\n", strerror(errno));
		fflush(stdout);
		_exit(SKIP);
	}
	return fd;
}

static int64_t patience;

void kst_patient(int64_t ns)
{
	patience = ns;
}

int kst_ioctl(int fd, unsigned long request, void *arg)
{
	int64_t start = patience ? kst_now() : 0;
	int ret;

	for (;;) {
		ret = ioctl(fd, request, arg) ? -errno : 0;
		if (ret != -EAGAIN || !patience || kst_now() - start > patience)
			return ret;
		kst_sleep_ms(10);
	}
}

int64_t kst_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * KST_SECOND + ts.tv_nsec;
}

int64_t kst_limit(int64_t ns)
{
	return access("/proc/lockdep_stats", F_OK) ? ns : 10 * ns;
}

void kst_sleep_ms(unsigned int ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* ---- Buffers ---- */

int kst_bo(int fd, uint64_t bytes, uint32_t region, uint32_t flags, uint32_t *handle)
{
	struct vtpu_bo_create arg = { .size = bytes, .region = region, .flags = flags };
	int ret = kst_ioctl(fd, DRM_IOCTL_VTPU_BO_CREATE, &arg);

	*handle = arg.handle;
	return ret;
}

int kst_close(int fd, uint32_t handle)
{
	struct drm_gem_close arg = { .handle = handle };

	return kst_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &arg);
}

void *kst_mmap(int fd, uint32_t handle, uint64_t bytes)
{
	struct vtpu_bo_info info = { .handle = handle };
	void *map;

	if (kst_ioctl(fd, DRM_IOCTL_VTPU_BO_INFO, &info) || !info.mmap_offset)
		return NULL;
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)info.mmap_offset);
	return map == MAP_FAILED ? NULL : map;
}

static int bind_one(int fd, const struct vtpu_bind_op *op)
{
	struct vtpu_vm_bind arg = {
		.ops = { .stride = sizeof(*op), .count = 1, .array = (uintptr_t)op },
	};

	return kst_ioctl(fd, DRM_IOCTL_VTPU_VM_BIND, &arg);
}

int kst_map(int fd, uint32_t handle, uint64_t offset, uint64_t va, uint64_t bytes, uint32_t flags)
{
	const struct vtpu_bind_op op = {
		.op = VTPU_BIND_MAP,
		.flags = flags,
		.handle = handle,
		.bo_offset = offset,
		.va = va,
		.size = bytes,
	};

	return bind_one(fd, &op);
}

int kst_unmap(int fd, uint64_t va, uint64_t bytes)
{
	const struct vtpu_bind_op op = { .op = VTPU_BIND_UNMAP, .va = va, .size = bytes };

	return bind_one(fd, &op);
}

void *kst_ready(int fd, uint64_t bytes, uint32_t region, uint64_t va, uint32_t *handle)
{
	uint32_t flags = region == VTPU_REGION_HBM ? VTPU_BO_MAPPABLE : 0;
	void *map;

	kst_need(kst_bo(fd, bytes, region, flags, handle), "a buffer");
	kst_need(kst_map(fd, *handle, 0, va, bytes, 0), "binding a buffer");
	map = kst_mmap(fd, *handle, bytes);
	kst_need(!map, "mapping a buffer");
	return map;
}

/* ---- Queues and jobs ---- */

int kst_queue(int fd, uint32_t kind, uint32_t depth, uint32_t *queue)
{
	struct vtpu_queue_create arg = {
		.kind = kind,
		.priority = VTPU_PRIO_NORMAL,
		.depth = depth,
	};
	int ret = kst_ioctl(fd, DRM_IOCTL_VTPU_QUEUE_CREATE, &arg);

	*queue = arg.queue;
	return ret;
}

int kst_queue_destroy(int fd, uint32_t queue)
{
	struct vtpu_queue_destroy arg = { .queue = queue };

	return kst_ioctl(fd, DRM_IOCTL_VTPU_QUEUE_DESTROY, &arg);
}

int kst_state(int fd, uint32_t queue, struct vtpu_queue_state *state)
{
	memset(state, 0, sizeof(*state));
	state->queue = queue;
	return kst_ioctl(fd, DRM_IOCTL_VTPU_QUEUE_STATE, state);
}

int kst_submit(int fd, uint32_t queue, const struct vtpu_job *job, uint32_t count, uint32_t *done)
{
	struct vtpu_submit arg = {
		.queue = queue,
		.jobs = { .stride = sizeof(*job), .count = count, .array = (uintptr_t)job },
	};
	int ret = kst_ioctl(fd, DRM_IOCTL_VTPU_SUBMIT, &arg);

	if (done)
		*done = arg.submitted;
	return ret;
}

struct vtpu_job kst_job(uint32_t program, const void *args, uint32_t bytes,
			const struct vtpu_sync *sync, uint32_t nsync)
{
	return (struct vtpu_job){
		.program = program,
		.args = (uintptr_t)args,
		.args_size = bytes,
		.syncs = { .stride = sizeof(*sync), .count = nsync, .array = (uintptr_t)sync },
	};
}

struct vtpu_copy_desc kst_copy(uint64_t dst, uint64_t src, uint32_t bytes)
{
	return (struct vtpu_copy_desc){
		.op = VTPU_COPY_COPY,
		.src = src,
		.dst = dst,
		.rows = 1,
		.row_bytes = bytes,
	};
}

struct vtpu_copy_desc kst_fill(uint64_t dst, uint32_t bytes, uint32_t pattern)
{
	return (struct vtpu_copy_desc){
		.op = VTPU_COPY_FILL,
		.dst = dst,
		.rows = 1,
		.row_bytes = bytes,
		.pattern = pattern,
	};
}

/* ---- Sync objects ---- */

uint32_t kst_sync(int fd)
{
	struct drm_syncobj_create arg = { 0 };

	kst_need(kst_ioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &arg), "a sync object");
	return arg.handle;
}

int kst_wait(int fd, uint32_t sync, uint64_t point, int64_t ns, uint32_t flags)
{
	struct drm_syncobj_timeline_wait line = {
		.handles = (uintptr_t)&sync,
		.points = (uintptr_t)&point,
		.timeout_nsec = kst_now() + ns,
		.count_handles = 1,
		.flags = flags,
	};
	struct drm_syncobj_wait binary = {
		.handles = (uintptr_t)&sync,
		.timeout_nsec = kst_now() + ns,
		.count_handles = 1,
		.flags = flags,
	};

	return point ? kst_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &line) :
		       kst_ioctl(fd, DRM_IOCTL_SYNCOBJ_WAIT, &binary);
}

int kst_error(int fd, uint32_t sync)
{
	struct drm_syncobj_handle arg = {
		.handle = sync,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
		.fd = -1,
	};
	struct sync_file_info info = { 0 };
	int ret;

	ret = kst_ioctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &arg);
	if (ret)
		return ret;
	ret = kst_ioctl(arg.fd, SYNC_IOC_FILE_INFO, &info);
	close(arg.fd);
	if (ret)
		return ret;
	return info.status == 1 ? 0 : info.status ? info.status : 1;
}

int kst_run(int fd, uint32_t queue, struct vtpu_job *job)
{
	uint32_t sync = kst_sync(fd);
	struct vtpu_sync signal = { .flags = VTPU_SYNC_SIGNAL, .handle = sync };
	struct drm_syncobj_destroy destroy = { .handle = sync };
	int ret;

	job->syncs = (struct vtpu_array){
		.stride = sizeof(signal),
		.count = 1,
		.array = (uintptr_t)&signal,
	};
	ret = kst_submit(fd, queue, job, 1, NULL);
	if (!ret)
		ret = kst_wait(fd, sync, 0, 20 * KST_SECOND, 0);
	if (!ret)
		ret = kst_error(fd, sync);
	kst_ioctl(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy);
	return ret;
}

/* ---- The device ---- */

struct vtpu_query_info kst_info(int fd)
{
	struct vtpu_query_info info = { 0 };
	struct vtpu_dev_query query = { .size = sizeof(info), .ptr = (uintptr_t)&info };

	kst_need(kst_ioctl(fd, DRM_IOCTL_VTPU_DEV_QUERY, &query), "a query");
	return info;
}

/* A line that tests/vm/with-faults.sh acts on, and its answer */
static void ask_host(const char *verb, const char *what)
{
	char answer;

	printf("%s %s\n", verb, what);
	fflush(stdout);
	do {
		kst_need(read(STDIN_FILENO, &answer, 1) != 1, "the host's answer");
	} while (answer != '\n');
}

void kst_inject(const char *what)
{
	ask_host("INJECT", what);
}

void kst_bus_error(const char *what)
{
	ask_host("AER", what);
}

const char *kst_pci(void)
{
	static char pci[32];
	struct dirent *e;
	DIR *dir;

	if (pci[0])
		return pci;
	dir = opendir(DRIVER);
	kst_need(!dir, DRIVER);
	while ((e = readdir(dir)))
		if (strchr(e->d_name, ':') && strchr(e->d_name, '.'))
			snprintf(pci, sizeof(pci), "%.31s", e->d_name);
	closedir(dir);
	errno = ENODEV;
	kst_need(!pci[0], "a device that is bound");
	return pci;
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -errno;
	close(fd);
	return ret;
}

int kst_driver(const char *what)
{
	char path[128];

	snprintf(path, sizeof(path), DRIVER "/%s", what);
	return write_file(path, kst_pci());
}

int kst_function_reset(void)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", kst_pci());
	return write_file(path, "1");
}

/* ---- The module ---- */

int kst_module_load(const char *parameters)
{
	const char *path = getenv("KST_MODULE") ?: "/vtpu-vm/vtpu.ko";
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;

	kst_need(fd < 0, path);
	ret = syscall(SYS_finit_module, fd, parameters, 0) ? -errno : 0;
	close(fd);
	return ret;
}

int kst_module_unload(void)
{
	for (int i = 0; i < 200; i++) {
		if (!syscall(SYS_delete_module, "vtpu", O_NONBLOCK))
			return 0;
		if (errno != EAGAIN && errno != EWOULDBLOCK)
			return -errno;
		kst_sleep_ms(20);
	}
	return -EAGAIN;
}

/* ---- The kernel's log ---- */

int kst_log(void)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	kst_need(log < 0, "/dev/kmsg");
	lseek(log, 0, SEEK_END);
	return log;
}

static bool holds_one(const char *line, const char *const *words)
{
	for (; words && *words; words++)
		if (strstr(line, *words))
			return true;
	return false;
}

int kst_log_bad(int log, const char *const *allowed)
{
	static const char *const ours[] = {
		"vtpu",	      "drm",	  "WARNING", "BUG",	  "Oops",	 "Call Trace",
		"INFO: task", "refcount", "list_",   "gpu_sched", "soft lockup", NULL,
	};
	char line[2048];
	ssize_t n;
	int bad = 0;

	for (;;) {
		n = read(log, line, sizeof(line) - 1);
		if (n < 0 && errno == EPIPE)
			continue; /* overwritten before we came */
		if (n <= 0)
			return bad;
		line[n] = '\0';
		line[strcspn(line, "\n")] = '\0';
		/* Facility 0 is the kernel; what programs write there is not our concern. */
		if (strtoul(line, NULL, 10) >> 3 || !holds_one(line, ours) ||
		    holds_one(line, allowed))
			continue;
		printf("# kernel: %s\n", line);
		bad++;
	}
}
