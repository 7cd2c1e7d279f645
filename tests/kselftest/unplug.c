// SPDX-License-Identifier: MIT
/*
 * unplug.c - the driver goes while clients work: unbind, unload, and what stays behind.
 *
 * Needs root, and in KST_MODULE the path of vtpu.ko.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sync_file.h>
#include <linux/userfaultfd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "kst.h"

#define TIMES 20
#define OLD   0x0ddba115

/* The kernel says these when a driver comes and goes. */
static const char *const coming[] = { "Initialized vtpu", "of HBM, serial", NULL };

static sigjmp_buf fault;

static void on_bus(int number)
{
	(void)number;
	siglongjmp(fault, 1);
}

FIXTURE(unplug)
{
	int log;
};

FIXTURE_SETUP(unplug)
{
	kst_pci();
	self->log = kst_log();
}

FIXTURE_TEARDOWN(unplug)
{
	struct kst_client c;

	kst_client(&c);
	EXPECT_TRUE(kst_answer(&c));
	kst_client_close(&c);
	EXPECT_EQ(0, kst_log_bad(self->log, coming));
	close(self->log);
}

TEST_F_TIMEOUT(unplug, with_jobs_running, 120)
{
	struct vtpu_sync sync[3];
	struct vtpu_job job[3];
	struct vtpu_query_info info;
	struct vtpu_dev_query query = { .size = sizeof(info), .ptr = (uintptr_t)&info };
	struct kst_client c;
	struct kst_slow slow;
	volatile float *map;
	uint32_t bo;
	int64_t start;

	kst_client(&c);
	kst_slow(&slow, c.fd, 4);
	map = c.a;
	map[0] = 1;
	for (int i = 0; i < 3; i++) {
		sync[i] = (struct vtpu_sync){
			.flags = VTPU_SYNC_SIGNAL,
			.handle = kst_sync(c.fd),
		};
		job[i] = kst_slow_job(&slow, &sync[i], 1);
	}
	ASSERT_EQ(0, kst_submit(c.fd, slow.queue, job, 3, NULL));
	kst_sleep_ms(50);
	start = kst_now();
	ASSERT_EQ(0, kst_driver("unbind"));
	EXPECT_LT(kst_now() - start, kst_limit(5 * KST_SECOND));

	/* The file stays open and says that nothing is there; memory of the device faults. */
	EXPECT_EQ(-ENODEV, kst_ioctl(c.fd, DRM_IOCTL_VTPU_DEV_QUERY, &query));
	EXPECT_EQ(-ENODEV, kst_bo(c.fd, 4096, VTPU_REGION_HBM, 0, &bo));
	EXPECT_EQ(-ENODEV, kst_submit(c.fd, slow.queue, job, 1, NULL));
	signal(SIGBUS, on_bus);
	if (!sigsetjmp(fault, 1)) {
		(void)map[0];
		EXPECT_TRUE(false)
		{
			TH_LOG("device memory is still there");
		}
	}
	signal(SIGBUS, SIG_DFL);
	kst_client_close(&c);
	ASSERT_EQ(0, kst_driver("bind"));
}

/* Waiters hear of it. */
TEST_F_TIMEOUT(unplug, wakes_waiters, 120)
{
	struct kst_slow slow;
	int ready[2], status = -1;
	char byte;

	ASSERT_EQ(0, pipe(ready));

	pid_t child = fork();

	if (!child) {
		struct vtpu_sync sync = { .flags = VTPU_SYNC_SIGNAL };
		struct vtpu_job job[2];
		int fd = kst_open();
		struct drm_syncobj_handle file = {
			.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
		};
		struct sync_file_info info = { 0 };
		int ret;

		kst_slow(&slow, fd, 2);
		sync.handle = file.handle = kst_sync(fd);
		job[0] = kst_slow_job(&slow, NULL, 0);
		job[1] = kst_slow_job(&slow, &sync, 1);
		kst_need(kst_submit(fd, slow.queue, job, 2, NULL), "two jobs");
		kst_need(kst_ioctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &file), "a sync file");
		if (write(ready[1], "x", 1) != 1)
			_exit(2);
		/* Waits for room in the ring until the device has gone. */
		ret = kst_submit(fd, slow.queue, job, 1, NULL);
		if (ret != -ENODEV)
			_exit(3);
		ret = kst_ioctl(file.fd, SYNC_IOC_FILE_INFO, &info);
		_exit(ret ? 4 : info.status == -ENODEV ? 0 : 5);
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	kst_sleep_ms(50);
	ASSERT_EQ(0, kst_driver("unbind"));
	EXPECT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, WEXITSTATUS(status));
	ASSERT_EQ(0, kst_driver("bind"));
}

/* What a client gives back while the driver goes is not cleared any more, and must be by the next one. */
TEST_F_TIMEOUT(unplug, no_old_data, 240)
{
	const uint32_t bytes = 64u << 20, step = 1u << 20;

	kst_pci();
	for (unsigned int i = 0; i < TIMES; i++) {
		unsigned int old = 0;
		uint32_t bo, *map;
		pid_t child;
		int fd = kst_open(), status;

		ASSERT_EQ(0, kst_bo(fd, bytes, VTPU_REGION_HBM, VTPU_BO_MAPPABLE, &bo));
		map = kst_mmap(fd, bo, bytes);
		ASSERT_NE(NULL, map);
		for (uint32_t at = 0; at < bytes; at += step) {
			old += map[at / 4] == OLD;
			map[at / 4] = OLD;
		}
		munmap(map, bytes);
		ASSERT_EQ(0, old)
		{
			TH_LOG("another client's data, after %u rounds", i);
		}
		child = fork();
		if (!child) {
			close(fd);
			_exit(kst_driver("unbind") ? 1 : 0);
		}
		/* Some time of the unbinding, which takes about so long */
		kst_sleep_ms(i * 3);
		close(fd);
		ASSERT_EQ(child, waitpid(child, &status, 0));
		ASSERT_EQ(0, status);
		ASSERT_EQ(0, kst_driver("bind"));
	}
}

/* More ids than fit into a word, which then go; the debug kernel looks whether their memory does. */
TEST_F_TIMEOUT(unplug, many_clients, 120)
{
	int fd[100];

	for (int i = 0; i < 100; i++) {
		fd[i] = kst_open();
		/* The first call that needs an address space makes it. */
		ASSERT_EQ(0, kst_unmap(fd[i], KST_IN_VA, VTPU_PAGE_BYTES));
	}
	ASSERT_EQ(0, kst_driver("unbind"));
	for (int i = 0; i < 100; i++)
		close(fd[i]);
	ASSERT_EQ(0, kst_driver("bind"));
}

TEST_F_TIMEOUT(unplug, again_and_again, 240)
{
	for (int i = 0; i < TIMES; i++) {
		struct kst_client c;

		kst_client(&c);
		EXPECT_TRUE(kst_answer(&c));
		ASSERT_EQ(0, kst_driver("unbind"));
		kst_client_close(&c);
		ASSERT_EQ(0, kst_driver("bind"));
	}
}

TEST_F_TIMEOUT(unplug, module_comes_and_goes, 240)
{
	for (int i = 0; i < TIMES; i++) {
		struct kst_client c;

		kst_client(&c);
		EXPECT_TRUE(kst_answer(&c));
		EXPECT_EQ(-1, syscall(SYS_delete_module, "vtpu", O_NONBLOCK));
		kst_client_close(&c);
		ASSERT_EQ(0, kst_module_unload());
		ASSERT_EQ(0, kst_module_load(""));
	}
}

/* A job that waits in a queue of its own, which then goes: it is refused. Return: its fence, as a sync file */
static int refused_fence(struct kst_client *c)
{
	uint32_t first = kst_sync(c->fd), queue;
	const struct vtpu_sync signal = { .flags = VTPU_SYNC_SIGNAL, .handle = first };
	const struct vtpu_sync syncs[] = {
		{ .handle = first },
		{ .flags = VTPU_SYNC_SIGNAL, .handle = kst_sync(c->fd) },
	};
	struct drm_syncobj_handle file = {
		.handle = syncs[1].handle,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};
	struct kst_slow slow;
	struct vtpu_job job;

	kst_slow(&slow, c->fd, 2);
	job = kst_slow_job(&slow, &signal, 1);
	kst_need(kst_submit(c->fd, slow.queue, &job, 1, NULL), "a slow job");
	kst_need(kst_queue(c->fd, VTPU_QUEUE_COPY, 2, &queue), "a queue");
	job = kst_job(0, NULL, 0, syncs, 2);
	job.flags = VTPU_JOB_NOP;
	kst_need(kst_submit(c->fd, queue, &job, 1, NULL), "a job that waits");
	kst_need(kst_queue_destroy(c->fd, queue), "the end of its queue");
	kst_need(kst_wait(c->fd, syncs[1].handle, 0, 20 * KST_SECOND, 0), "its end");
	kst_need(kst_ioctl(c->fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &file), "a sync file");
	return file.fd;
}

static int ended_fence(struct kst_client *c)
{
	struct vtpu_sync sync = { .flags = VTPU_SYNC_SIGNAL, .handle = kst_sync(c->fd) };
	struct vtpu_job job = kst_job(0, NULL, 0, &sync, 1);
	struct drm_syncobj_handle file = {
		.handle = sync.handle,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};

	job.flags = VTPU_JOB_NOP;
	kst_need(kst_submit(c->fd, c->queue, &job, 1, NULL), "a job");
	kst_need(kst_wait(c->fd, sync.handle, 0, 5 * KST_SECOND, 0), "its end");
	kst_need(kst_ioctl(c->fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &file), "a sync file");
	return file.fd;
}

/* A fence in a sync file may stay longer than the driver is bound, and keeps the module. */
TEST_F_TIMEOUT(unplug, fence_outlives_device, 120)
{
	for (int refused = 0; refused < 2; refused++) {
		struct sync_fence_info fence = { 0 };
		struct sync_file_info info = { .num_fences = 1,
					       .sync_fence_info = (uintptr_t)&fence };
		struct kst_client c;
		int file;

		kst_client(&c);
		file = refused ? refused_fence(&c) : ended_fence(&c);
		ASSERT_EQ(0, kst_driver("unbind"));
		kst_client_close(&c);
		kst_sleep_ms(200);
		EXPECT_EQ(-1, syscall(SYS_delete_module, "vtpu", O_NONBLOCK));
		EXPECT_EQ(0, kst_ioctl(file, SYNC_IOC_FILE_INFO, &info));
		EXPECT_EQ(refused ? -ECANCELED : 1, info.status);
		EXPECT_EQ(0, strncmp(fence.obj_name, "vtpu-q", 6));
		close(file);
		ASSERT_EQ(0, kst_module_unload());
		ASSERT_EQ(0, kst_module_load(""));
	}
}

/* Two pages, of which the second never comes. */
static char *stuck_memory(void)
{
	const size_t page = VTPU_PAGE_BYTES;
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	char *memory =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	kst_need(fd < 0 || memory == MAP_FAILED, "userfaultfd");
	range.range.start = (uintptr_t)memory + page;
	range.range.len = page;
	kst_need(kst_ioctl(fd, UFFDIO_API, &api), "userfaultfd's interface");
	kst_need(kst_ioctl(fd, UFFDIO_REGISTER, &range), "memory that never comes");
	return memory;
}

static void call_stuck(bool program)
{
	char *memory = stuck_memory(), *end = memory + VTPU_PAGE_BYTES;
	const struct vtpu_vm_bind bind = {
		.ops = { .stride = sizeof(struct vtpu_bind_op),
			 .count = 1,
			 .array = (uintptr_t)end },
	};
	int fd = kst_open();
	uint32_t id;
	size_t bytes;
	void *image = kst_image(&bytes);

	if (program) {
		end -= sizeof(struct vtpu_image_header);
		memcpy(end, image, sizeof(struct vtpu_image_header));
		kst_load(fd, end, bytes, &id);
	} else {
		kst_ioctl(fd, DRM_IOCTL_VTPU_VM_BIND, (void *)&bind);
	}
	_exit(0); /* it came, then */
}

/* A client whose memory does not come keeps neither others nor an unbind waiting. */
TEST_F_TIMEOUT(unplug, caller_is_stuck, 120)
{
	if (syscall(SYS_userfaultfd, O_CLOEXEC) < 0 && errno == ENOSYS)
		SKIP(return, "this kernel has no userfaultfd");
	for (int program = 0; program < 2; program++) {
		struct kst_client c;
		pid_t child = fork();
		int status;

		if (!child)
			call_stuck(program);
		kst_client(&c);
		kst_sleep_ms(500);
		EXPECT_EQ(0, waitpid(child, &status, WNOHANG));
		EXPECT_TRUE(kst_answer(&c));
		EXPECT_EQ(0, kst_driver("unbind"));
		kst_client_close(&c);
		kill(child, SIGKILL);
		EXPECT_EQ(child, waitpid(child, &status, 0));
		ASSERT_EQ(0, kst_driver("bind"));
	}
}

/* Readers of sysfs while the device comes and goes. */
TEST_F_TIMEOUT(unplug, sysfs_meanwhile, 120)
{
	char path[128], text[4096];
	pid_t child;
	int status;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/vtpu/core_busy_us", kst_pci());
	child = fork();
	if (!child) {
		for (;;) {
			int fd = open(path, O_RDONLY);

			if (fd < 0)
				continue;
			if (read(fd, text, sizeof(text)) == 0)
				_exit(1);
			close(fd);
		}
	}
	for (int i = 0; i < 5; i++) {
		ASSERT_EQ(0, kst_driver("unbind"));
		ASSERT_EQ(0, kst_driver("bind"));
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	EXPECT_TRUE(WIFSIGNALED(status));
}

TEST_HARNESS_MAIN
