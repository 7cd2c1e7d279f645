// SPDX-License-Identifier: MIT
/*
 * kst_client.c - clients for the tests: one whose job has a known answer, one whose job takes long.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit/image_builder.h"
#include "kst.h"

#define IN_BYTES   (2 * KST_N * KST_N * sizeof(float))
#define OUT_BYTES  (KST_N * KST_N * sizeof(float))
#define SLOW_VA	   (1ULL << 44)
#define SLOW_BYTES (128u << 20)

void *kst_image(size_t *bytes)
{
	struct image_builder b;
	struct vtpu_insn *insn;

	ib_begin(&b, 1);
	ib_base(&b, "in", IN_BYTES, 0, VTPU_BASE_READ);
	ib_base(&b, "out", OUT_BYTES, 0, VTPU_BASE_WRITE);
	insn = ib_copy(&b, VTPU_ADDR(VTPU_SPACE_HBM, 0, 0), VTPU_ADDR(VTPU_SPACE_VMEM, 0, 0),
		       VTPU_TYPE_F32, 2 * KST_N * KST_N);
	ib_signal(insn, 0, 0, 1);
	insn = ib_matmul(&b, 0, OUT_BYTES, 2 * OUT_BYTES, VTPU_TYPE_F32, VTPU_TYPE_F32, KST_N,
			 KST_N, KST_N);
	ib_wait(insn, 0, 1);
	ib_signal(insn, 1, 0, 1);
	insn = ib_copy(&b, VTPU_ADDR(VTPU_SPACE_VMEM, 0, 2 * OUT_BYTES),
		       VTPU_ADDR(VTPU_SPACE_HBM, 1, 0), VTPU_TYPE_F32, KST_N * KST_N);
	ib_wait(insn, 1, 1);
	return ib_finish(&b, bytes);
}

int kst_load(int fd, const void *image, size_t bytes, uint32_t *program)
{
	struct vtpu_program_create arg = { .image = (uintptr_t)image, .bytes = bytes };
	int ret = kst_ioctl(fd, DRM_IOCTL_VTPU_PROGRAM_CREATE, &arg);

	*program = arg.program;
	return ret;
}

uint32_t kst_args(void *block, uint64_t in, uint64_t out)
{
	const struct vtpu_job_args head = { .nbases = 2 };
	const uint64_t va[2] = { in, out };

	memcpy(block, &head, sizeof(head));
	memcpy((char *)block + sizeof(head), va, sizeof(va));
	return sizeof(head) + sizeof(va);
}

void kst_client_on(struct kst_client *c, int fd)
{
	size_t bytes;
	void *image = kst_image(&bytes);

	memset(c, 0, sizeof(*c));
	c->fd = fd;
	c->a = kst_ready(fd, VTPU_PAGE_BYTES, VTPU_REGION_HBM, KST_IN_VA, &c->in);
	c->d = kst_ready(fd, VTPU_PAGE_BYTES, VTPU_REGION_HBM, KST_OUT_VA, &c->out);
	kst_need(kst_load(fd, image, bytes, &c->program), "a program");
	kst_need(kst_queue(fd, VTPU_QUEUE_COMPUTE, 0, &c->queue), "a queue");
	free(image);
}

void kst_client(struct kst_client *c)
{
	kst_client_on(c, kst_open());
}

void kst_client_close(struct kst_client *c)
{
	munmap(c->a, VTPU_PAGE_BYTES);
	munmap(c->d, VTPU_PAGE_BYTES);
	close(c->fd);
}

int kst_try(struct kst_client *c)
{
	char args[64];
	struct vtpu_job job;
	unsigned int i, j, k;
	int ret;

	c->round++;
	for (i = 0; i < 2 * KST_N * KST_N; i++)
		c->a[i] = (float)((i * 7 + c->round) % 13) - 6;
	memset(c->d, 0xff, OUT_BYTES);
	job = kst_job(c->program, args, kst_args(args, KST_IN_VA, KST_OUT_VA), NULL, 0);
	ret = kst_run(c->fd, c->queue, &job);
	if (ret)
		return ret < 0 ? ret : -EINPROGRESS;
	for (i = 0; i < KST_N; i++) {
		for (j = 0; j < KST_N; j++) {
			float sum = 0;

			for (k = 0; k < KST_N; k++)
				sum += c->a[i * KST_N + k] * c->a[KST_N * KST_N + k * KST_N + j];
			if (c->d[i * KST_N + j] == sum)
				continue;
			printf("# known answer: d[%u,%u] is %g, expected %g\n", i, j,
			       (double)c->d[i * KST_N + j], (double)sum);
			return -EBADMSG;
		}
	}
	return 0;
}

bool kst_answer(struct kst_client *c)
{
	int ret = kst_try(c);

	if (ret && ret != -EBADMSG)
		printf("# known answer: the job ends with %s\n",
		       ret == -EINPROGRESS ? "no signal" : strerror(-ret));
	return !ret;
}

void kst_slow(struct kst_slow *s, int fd, uint32_t depth)
{
	unsigned int i;

	s->fd = fd;
	kst_need(kst_queue(fd, VTPU_QUEUE_COPY, depth, &s->queue), "a copy queue");
	kst_need(kst_bo(fd, SLOW_BYTES, VTPU_REGION_HBM, 0, &s->bo), "a large buffer");
	kst_need(kst_map(fd, s->bo, 0, SLOW_VA, SLOW_BYTES, 0), "binding a large buffer");
	for (i = 0; i < VTPU_MAX_COPY_DESCS; i++)
		s->desc[i] = kst_fill(SLOW_VA, SLOW_BYTES, i + 1);
}

struct vtpu_job kst_slow_job(const struct kst_slow *s, const struct vtpu_sync *sync, uint32_t nsync)
{
	return kst_job(0, s->desc, sizeof(s->desc), sync, nsync);
}
