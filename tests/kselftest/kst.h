/* SPDX-License-Identifier: MIT */
/*
 * kst.h - what the kselftest programs share: raw ioctls in short, a client whose
 * job has a known answer, a job that takes long, and the kernel's log.
 *
 * No libvtpu and no libdrm: these programs say what the kernel does. Calls
 * return 0 or a negative errno and never repeat themselves. What a test cannot
 * do without ends the program with a message.
 */
#ifndef TESTS_KSELFTEST_KST_H
#define TESTS_KSELFTEST_KST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vtpu_accel.h"

#define KST_SECOND 1000000000LL

/** kst_open() - a new file of the first device that there is; ends the program as skipped if there is none */
int kst_open(void);
/** kst_patient() - from now on calls that say EAGAIN, as a reset of the device makes them, are made again for so long */
void kst_patient(int64_t ns);
/** kst_ioctl() - one call */
int kst_ioctl(int fd, unsigned long request, void *arg);
/** kst_now() - CLOCK_MONOTONIC, ns */
int64_t kst_now(void);
/** kst_limit() - what may take @ns on an ordinary kernel: ten times that on one full of checkers */
int64_t kst_limit(int64_t ns);
/** kst_sleep_ms() - sleep */
void kst_sleep_ms(unsigned int ms);
/** kst_need() - end the program with errno-like @ret and @what if @ret is not 0 */
void kst_need(int ret, const char *what);

/* ---- Buffers ---- */

/** kst_bo() - new buffer */
int kst_bo(int fd, uint64_t bytes, uint32_t region, uint32_t flags, uint32_t *handle);
/** kst_close() - drop a handle */
int kst_close(int fd, uint32_t handle);
/** kst_mmap() - map a buffer shared, read and write; NULL if refused */
void *kst_mmap(int fd, uint32_t handle, uint64_t bytes);
/** kst_map() - bind all or part of a buffer */
int kst_map(int fd, uint32_t handle, uint64_t offset, uint64_t va, uint64_t bytes, uint32_t flags);
/** kst_unmap() - unbind a range */
int kst_unmap(int fd, uint64_t va, uint64_t bytes);
/** kst_ready() - buffer, bound at @va and mapped; ends the program if that fails */
void *kst_ready(int fd, uint64_t bytes, uint32_t region, uint64_t va, uint32_t *handle);

/* ---- Queues and jobs ---- */

/** kst_queue() - new queue, priority normal */
int kst_queue(int fd, uint32_t kind, uint32_t depth, uint32_t *queue);
/** kst_queue_destroy() - destroy it */
int kst_queue_destroy(int fd, uint32_t queue);
/** kst_state() - its state */
int kst_state(int fd, uint32_t queue, struct vtpu_queue_state *state);
/** kst_submit() - @count jobs at once; *@done may be NULL */
int kst_submit(int fd, uint32_t queue, const struct vtpu_job *job, uint32_t count, uint32_t *done);
/** kst_job() - a job from its parts; @sync may be NULL */
struct vtpu_job kst_job(uint32_t program, const void *args, uint32_t bytes,
			const struct vtpu_sync *sync, uint32_t nsync);
/** kst_copy() - descriptor: @bytes from @src to @dst */
struct vtpu_copy_desc kst_copy(uint64_t dst, uint64_t src, uint32_t bytes);
/** kst_fill() - descriptor: @bytes of @pattern */
struct vtpu_copy_desc kst_fill(uint64_t dst, uint32_t bytes, uint32_t pattern);

/* ---- Sync objects ---- */

/** kst_sync() - new sync object; ends the program if that fails */
uint32_t kst_sync(int fd);
/** kst_wait() - wait for a binary (@point 0) or timeline sync object; @ns from now. Flags: DRM_SYNCOBJ_WAIT_FLAGS_* */
int kst_wait(int fd, uint32_t sync, uint64_t point, int64_t ns, uint32_t flags);
/** kst_error() - error that the fence of a binary sync object carries: 0, negative errno, 1 while it has not signalled */
int kst_error(int fd, uint32_t sync);
/** kst_run() - submit one job, wait at most 20 s. Return: error of the call, else of the fence */
int kst_run(int fd, uint32_t queue, struct vtpu_job *job);

/* ---- A client with a known answer ---- */

#define KST_N	   16 /* d = a * b, square */
#define KST_IN_VA  (1ULL << 45)
#define KST_OUT_VA ((1ULL << 45) + VTPU_LARGE_BYTES)

/** struct kst_client - a file, a program on its own queue, and memory */
struct kst_client {
	int fd;
	uint32_t queue, program, in, out;
	float *a, *d;
	uint32_t round;
};

/** kst_client() - set one up on a new file; ends the program if that fails */
void kst_client(struct kst_client *c);
/** kst_client_on() - the same on an open file */
void kst_client_on(struct kst_client *c, int fd);
/** kst_client_close() - unmap its memory and close its file: mappings keep a file open */
void kst_client_close(struct kst_client *c);
/** kst_try() - as kst_answer(). Return: error of call or fence, -EINPROGRESS without a signal, -EBADMSG and a message if the numbers are wrong */
int kst_try(struct kst_client *c);
/** kst_answer() - run its job with new numbers; false, with a message, if anything is wrong */
bool kst_answer(struct kst_client *c);
/** kst_args() - argument block of its program. Return: bytes */
uint32_t kst_args(void *block, uint64_t in, uint64_t out);
/** kst_image() - image of its program, to free() */
void *kst_image(size_t *bytes);
/** kst_load() - load an image. Return: 0 or negative errno */
int kst_load(int fd, const void *image, size_t bytes, uint32_t *program);

/**
 * struct kst_slow - a file with a copy queue on which a job takes about a second
 */
struct kst_slow {
	int fd;
	uint32_t queue, bo;
	struct vtpu_copy_desc desc[VTPU_MAX_COPY_DESCS];
};

/** kst_slow() - set it up on an open file; the queue has @depth entries */
void kst_slow(struct kst_slow *s, int fd, uint32_t depth);
/** kst_slow_job() - such a job */
struct vtpu_job kst_slow_job(const struct kst_slow *s, const struct vtpu_sync *sync,
			     uint32_t nsync);

/* ---- The device ---- */

/** kst_info() - answer to VTPU_QUERY_INFO; ends the program if there is none */
struct vtpu_query_info kst_info(int fd);
/**
 * kst_inject() - have the device bring a fault about, such as "hang:job=1"
 *
 * The program asks its host with a line `INJECT <what>` on standard output and
 * waits for a line in answer; tests/vm/with-faults.sh is that host.
 */
void kst_inject(const char *what);
/** kst_bus_error() - have the device report an error of the bus, by the name of its bit in QEMU: "DLP"; the same way */
void kst_bus_error(const char *what);
/** kst_pci() - the device's PCI address. Called first while the driver is bound; ends the program if none is */
const char *kst_pci(void);
/** kst_driver() - tell the driver to "bind" or "unbind" it. Return: 0 or negative errno */
int kst_driver(const char *what);
/** kst_function_reset() - have the PCI core reset it, driver or not. Return: 0 or negative errno */
int kst_function_reset(void);

/* ---- The module ---- */

/** kst_module_load() - load vtpu.ko, whose path is in KST_MODULE (default: the one that tools/vtpu-vm has loaded) */
int kst_module_load(const char *parameters);
/** kst_module_unload() - unload it; waits a moment for what is released behind a close */
int kst_module_unload(void);

/* ---- The kernel's log ---- */

/** kst_log() - start to watch. Return: a descriptor */
int kst_log(void);
/** kst_log_bad() - messages since the last call about us, or about trouble, that hold no word of @allowed (NULL-ended, may be NULL) */
int kst_log_bad(int log, const char *const *allowed);

/* ---- Fixtures ---- */

/**
 * KST_PAIR - what most fixtures have: a client that does wrong, a bystander, the kernel's log
 *
 * KST_PAIR_OPEN() and KST_PAIR_CLOSE() are for set-up and teardown: when all is done, the
 * bystander's known answer is right, and the log holds nothing about us.
 */
#define KST_PAIR \
	struct kst_client me, other; \
	int log

#define KST_PAIR_OPEN(self) \
	do { \
		kst_client(&(self)->me); \
		kst_client(&(self)->other); \
		(self)->log = kst_log(); \
	} while (0)

#define KST_PAIR_CLOSE(self) \
	do { \
		EXPECT_TRUE(kst_answer(&(self)->other)); \
		EXPECT_EQ(0, kst_log_bad((self)->log, NULL)); \
		kst_client_close(&(self)->me); \
		kst_client_close(&(self)->other); \
		close((self)->log); \
	} while (0)

#endif /* TESTS_KSELFTEST_KST_H */
