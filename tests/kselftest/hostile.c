// SPDX-License-Identifier: MIT
/*
 * hostile.c - clients that mean ill: images that lie in each way that there is, other
 * clients' handles, arguments changed after submission, answers that must hold no stray byte.
 *
 * After each, a job with a known answer runs on the same file and one on a bystander's, and
 * the kernel's log has no line about it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "unit/image_builder.h"
#include "kst_check.h"

#define VA    (1ULL << 40)
#define CORES 8 /* of the device that these tests get */

FIXTURE(hostile)
{
	KST_PAIR;
};

FIXTURE_SETUP(hostile)
{
	KST_PAIR_OPEN(self);
}

FIXTURE_TEARDOWN(hostile)
{
	EXPECT_TRUE(kst_answer(&self->me));
	KST_PAIR_CLOSE(self);
}

static void check(struct __test_metadata *const _metadata, FIXTURE_DATA(hostile) * self,
		  const char *name, int got, int want)
{
	kst_check(_metadata, &self->me, &self->other, self->log, name, got, want);
}

/* ---- Images ---- */

struct image {
	uint8_t *data;
	size_t bytes;
};

static struct vtpu_image_header *header(struct image *i)
{
	return (struct vtpu_image_header *)i->data;
}

static struct vtpu_insn *first_insn(struct image *i)
{
	struct vtpu_image_section *s = (struct vtpu_image_section *)(header(i) + 1);

	while (s->type != VTPU_SECTION_QUEUE)
		s++;
	return (struct vtpu_insn *)(i->data + s->offset);
}

static void truncated(struct image *i)
{
	i->bytes -= 64;
}

static void corrupt(struct image *i)
{
	i->data[i->bytes / 2] ^= 0x10;
}

/* What follows keeps the checksum right. */

static void says_less(struct image *i)
{
	header(i)->bytes -= 64;
	ib_seal(i->data, i->bytes);
}

static void other_version(struct image *i)
{
	header(i)->version++;
	ib_seal(i->data, i->bytes);
}

static void reserved_bit(struct image *i)
{
	first_insn(i)->flags |= 1 << 5;
	ib_seal(i->data, i->bytes);
}

static void unknown_opcode(struct image *i)
{
	first_insn(i)->opcode |= 0x0f;
	ib_seal(i->data, i->bytes);
}

static void unknown_capability(struct image *i)
{
	header(i)->caps = 1ULL << 63;
	ib_seal(i->data, i->bytes);
}

static void beyond_vmem(struct image *i)
{
	first_insn(i)->payload.dma.dst = VTPU_ADDR(VTPU_SPACE_VMEM, 0, (16u << 20) - 64);
	ib_seal(i->data, i->bytes);
}

static void beyond_base(struct image *i)
{
	first_insn(i)->payload.dma.src = VTPU_ADDR(VTPU_SPACE_HBM, 0, 1ULL << 39);
	ib_seal(i->data, i->bytes);
}

static void wider_than_the_chip(struct image *i)
{
	header(i)->width = CORES + 1;
	ib_seal(i->data, i->bytes);
}

/* The copy never signals what the product waits for. */
static void deadlock(struct image *i)
{
	first_insn(i)->flags &= ~VTPU_INSN_SIGNAL0;
	memset(first_insn(i)->signal, 0, sizeof(first_insn(i)->signal));
	ib_seal(i->data, i->bytes);
}

/* The product does not wait for the copy of what it reads. */
static void race(struct image *i)
{
	struct vtpu_image_section *s = (struct vtpu_image_section *)(header(i) + 1);
	struct vtpu_insn *insn;

	while (s->type != VTPU_SECTION_QUEUE || s->unit != VTPU_UNIT_MXU)
		s++;
	insn = (struct vtpu_insn *)(i->data + s->offset);
	insn->flags &= ~VTPU_INSN_WAIT0;
	memset(insn->wait, 0, sizeof(insn->wait));
	ib_seal(i->data, i->bytes);
}

static struct image nops(uint32_t width, uint32_t count, bool signal)
{
	struct image_builder b;
	struct vtpu_insn *insn;
	struct image i;

	ib_begin(&b, width);
	while (count--) {
		insn = ib_insn(&b, VTPU_OP_NOP);
		if (signal)
			ib_signal(insn, 5, 0, UINT16_MAX);
	}
	i.data = ib_finish(&b, &i.bytes);
	return i;
}

struct load {
	struct vtpu_load_result result;
	struct vtpu_load_record record[4];
	uint32_t program;
};

static int load(int fd, const struct image *i, uint32_t flags, struct load *l)
{
	struct vtpu_program_create arg = {
		.image = (uintptr_t)i->data,
		.bytes = i->bytes,
		.result = (uintptr_t)&l->result,
		.records = (uintptr_t)l->record,
		.max_records = 4,
		.flags = flags,
	};
	int ret;

	memset(l, 0, sizeof(*l));
	ret = kst_ioctl(fd, DRM_IOCTL_VTPU_PROGRAM_CREATE, &arg);
	l->program = arg.program;
	return ret;
}

TEST_F_TIMEOUT(hostile, images, 240)
{
	static const struct {
		const char *name;
		void (*spoil)(struct image *i);
		int want;
		uint32_t status,
			flags; /* status 0: the driver refuses it without asking the device */
	} list[] = {
		{ "truncated", truncated, -EINVAL, 0, 0 },
		{ "shorter than it is", says_less, -EINVAL, 0, 0 },
		{ "corrupt", corrupt, -EBADMSG, VTPU_ST_IMAGE_CHECKSUM, 0 },
		{ "of another version", other_version, -EPROTO, 0, 0 },
		{ "reserved bit", reserved_bit, -EINVAL, VTPU_ST_BAD_INSN, 0 },
		{ "unknown opcode", unknown_opcode, -EINVAL, VTPU_ST_BAD_INSN, 0 },
		{ "unknown capability", unknown_capability, -EOPNOTSUPP, VTPU_ST_UNSUPPORTED, 0 },
		{ "VMEM overflow", beyond_vmem, -ERANGE, VTPU_ST_OUT_OF_BOUNDS, 0 },
		{ "beyond its base", beyond_base, -ERANGE, VTPU_ST_OUT_OF_BOUNDS, 0 },
		{ "wider than the chip", wider_than_the_chip, -EINVAL, VTPU_ST_TOO_WIDE, 0 },
		{ "deadlock", deadlock, -EDEADLK, VTPU_ST_DEADLOCK, 0 },
		{ "race, strict", race, -EILSEQ, VTPU_ST_RACE, VTPU_LOAD_STRICT },
	};

	for (unsigned int n = 0; n < sizeof(list) / sizeof(list[0]); n++) {
		struct image i;
		struct load l;
		int ret;

		i.data = kst_image(&i.bytes);
		list[n].spoil(&i);
		ret = load(self->me.fd, &i, list[n].flags, &l);
		check(_metadata, self, list[n].name, ret, list[n].want);
		EXPECT_EQ(list[n].status, l.result.status)
		{
			TH_LOG("%s: status", list[n].name);
		}
		EXPECT_EQ(!!list[n].status, !!l.result.records)
		{
			TH_LOG("%s: records", list[n].name);
		}
		EXPECT_EQ(0, l.program);
		free(i.data);
	}
}

TEST_F_TIMEOUT(hostile, semaphore_overflow, 120)
{
	struct image i = nops(1, 32769, true);
	struct load l;

	check(_metadata, self, "semaphore overflow", load(self->me.fd, &i, 0, &l), -EOVERFLOW);
	EXPECT_EQ(VTPU_ST_SEM_OVERFLOW, l.result.status);
	EXPECT_EQ(VTPU_REC_OVERFLOW, l.record[0].kind);
	EXPECT_EQ(5, l.record[0].sem);
	free(i.data);
}

/* A million instances load; with one more on each core they do not. */
TEST_F_TIMEOUT(hostile, a_million_instances, 240)
{
	struct image i = nops(CORES, 1000000 / CORES, false);
	struct vtpu_program_destroy destroy = { 0 };
	struct load l;

	check(_metadata, self, "a million instances", load(self->me.fd, &i, 0, &l), 0);
	EXPECT_EQ(1000000, l.result.instances);
	destroy.program = l.program;
	EXPECT_EQ(0, kst_ioctl(self->me.fd, DRM_IOCTL_VTPU_PROGRAM_DESTROY, &destroy));
	free(i.data);
	i = nops(CORES, 1000000 / CORES + 1, false);
	check(_metadata, self, "and more", load(self->me.fd, &i, 0, &l), -E2BIG);
	EXPECT_EQ(VTPU_ST_TOO_LARGE, l.result.status);
	EXPECT_EQ(1000000 + CORES, l.record[0].have);
	EXPECT_EQ(1000000, l.record[0].need);
	free(i.data);
}

/* A gang that its queue's mask has no slice for */
TEST_F_TIMEOUT(hostile, wider_than_the_mask, 60)
{
	static const uint64_t masks[] = { 1, 0x7f, 0xaa };
	struct image i = nops(CORES, 1, false);
	struct vtpu_job_args args = { 0 };
	struct load l;

	ASSERT_EQ(0, load(self->me.fd, &i, 0, &l));
	free(i.data);
	for (unsigned int n = 0; n < sizeof(masks) / sizeof(masks[0]); n++) {
		struct vtpu_queue_create queue = {
			.kind = VTPU_QUEUE_COMPUTE,
			.priority = VTPU_PRIO_NORMAL,
			.core_mask = masks[n],
		};
		struct vtpu_job job = kst_job(l.program, &args, sizeof(args), NULL, 0);
		struct vtpu_queue_state state;

		ASSERT_EQ(0, kst_ioctl(self->me.fd, DRM_IOCTL_VTPU_QUEUE_CREATE, &queue));
		check(_metadata, self, "wider than the mask",
		      kst_run(self->me.fd, queue.queue, &job), -EINVAL);
		ASSERT_EQ(0, kst_state(self->me.fd, queue.queue, &state));
		EXPECT_EQ(VTPU_ST_MASK, state.status);
	}
}

/* ---- Other clients' handles ---- */

TEST_F_TIMEOUT(hostile, other_clients_handles, 120)
{
	uint32_t theirs[2] = { 0 }, sync = 0, queue = 0, program = 0;
	struct vtpu_bo_info info = { 0 };
	struct vtpu_bo_wait wait = { .timeout_ns = 0 };
	struct vtpu_bo_set_label label = { .label = (uintptr_t) "mine now" };
	struct vtpu_program_info pinfo = { 0 };
	struct vtpu_program_destroy pdestroy = { 0 };
	struct vtpu_queue_state state;
	struct vtpu_job job = { .flags = VTPU_JOB_NOP };
	struct vtpu_bo_ref ref = { 0 };
	struct vtpu_sync use = { .flags = VTPU_SYNC_SIGNAL };
	char args[64];
	size_t bytes;
	void *image = kst_image(&bytes);

	/* More of each than we have, so that the last one's number means nothing here. */
	for (int i = 0; i < 8; i++) {
		ASSERT_EQ(0, kst_bo(self->other.fd, 4096, VTPU_REGION_HBM, 0, &theirs[0]));
		ASSERT_EQ(0, kst_bo(self->other.fd, 4096, VTPU_REGION_HOST, 0, &theirs[1]));
		ASSERT_EQ(0, kst_load(self->other.fd, image, bytes, &program));
		ASSERT_EQ(0, kst_queue(self->other.fd, VTPU_QUEUE_COPY, 2, &queue));
		sync = kst_sync(self->other.fd);
	}
	free(image);
#define NOT_OURS(name, call, want) check(_metadata, self, "others' " name, call, want)
	for (int i = 0; i < 2; i++) {
		info.handle = wait.handle = label.handle = ref.handle = theirs[i];
		NOT_OURS("buffer: info", kst_ioctl(self->me.fd, DRM_IOCTL_VTPU_BO_INFO, &info),
			 -ENOENT);
		NOT_OURS("buffer: wait", kst_ioctl(self->me.fd, DRM_IOCTL_VTPU_BO_WAIT, &wait),
			 -ENOENT);
		NOT_OURS("buffer: label",
			 kst_ioctl(self->me.fd, DRM_IOCTL_VTPU_BO_SET_LABEL, &label), -ENOENT);
		NOT_OURS("buffer: bind",
			 kst_map(self->me.fd, theirs[i], 0, i ? VTPU_VA_HOST_START : VA, 4096, 0),
			 -ENOENT);
		NOT_OURS("buffer: close", kst_close(self->me.fd, theirs[i]), -EINVAL);
		job.bos = (struct vtpu_array){ .stride = sizeof(ref),
					       .count = 1,
					       .array = (uintptr_t)&ref };
		NOT_OURS("buffer: job", kst_submit(self->me.fd, self->me.queue, &job, 1, NULL),
			 -ENOENT);
		job.bos.count = 0;
	}
	NOT_OURS("queue: state", kst_state(self->me.fd, queue, &state), -ENOENT);
	NOT_OURS("queue: submit", kst_submit(self->me.fd, queue, &job, 1, NULL), -ENOENT);
	NOT_OURS("queue: destroy", kst_queue_destroy(self->me.fd, queue), -ENOENT);
	pinfo.program = pdestroy.program = program;
	NOT_OURS("program: info", kst_ioctl(self->me.fd, DRM_IOCTL_VTPU_PROGRAM_INFO, &pinfo),
		 -ENOENT);
	NOT_OURS("program: destroy",
		 kst_ioctl(self->me.fd, DRM_IOCTL_VTPU_PROGRAM_DESTROY, &pdestroy), -ENOENT);
	for (int i = 0; i < 2; i++) {
		use.flags = i ? VTPU_SYNC_SIGNAL : 0;
		use.handle = sync;
		job.syncs = (struct vtpu_array){ .stride = sizeof(use),
						 .count = 1,
						 .array = (uintptr_t)&use };
		NOT_OURS("sync object", kst_submit(self->me.fd, self->me.queue, &job, 1, NULL),
			 -ENOENT);
	}
	job = kst_job(program, args, kst_args(args, KST_IN_VA, KST_OUT_VA), NULL, 0);
	NOT_OURS("program: job", kst_submit(self->me.fd, self->me.queue, &job, 1, NULL), -ENOENT);
	/* Theirs still work. */
	EXPECT_EQ(0, kst_state(self->other.fd, queue, &state));
	EXPECT_EQ(0, kst_map(self->other.fd, theirs[0], 0, VA, 4096, 0));
}

/* Addresses are each client's own: the same number leads everybody to his own memory, or nowhere. */
TEST_F_TIMEOUT(hostile, other_clients_addresses, 60)
{
	uint32_t bo, queue, *data = kst_ready(self->other.fd, 4096, VTPU_REGION_HBM, VA, &bo);
	struct vtpu_copy_desc desc = kst_fill(VA, 4096, 0x66666666);
	struct vtpu_job job = kst_job(0, &desc, sizeof(desc), NULL, 0);

	data[0] = data[1023] = 7;
	ASSERT_EQ(0, kst_queue(self->me.fd, VTPU_QUEUE_COPY, 2, &queue));
	check(_metadata, self, "others' address", kst_run(self->me.fd, queue, &job), -EFAULT);
	EXPECT_EQ(7, data[0]);
	EXPECT_EQ(7, data[1023]);
}

/* ---- Changed after submission ---- */

/* While the job waits in its ring, the client changes job, arguments and sync: what was submitted runs. */
TEST_F_TIMEOUT(hostile, changed_after_submission, 60)
{
	uint32_t bo, *data = kst_ready(self->me.fd, 2 * 4096, VTPU_REGION_HBM, VA, &bo);
	struct vtpu_copy_desc desc = kst_fill(VA, 4096, 0x11111111);
	struct vtpu_sync sync = { .flags = VTPU_SYNC_SIGNAL, .handle = kst_sync(self->me.fd) };
	uint32_t handle = sync.handle;
	struct vtpu_job job[2];
	struct kst_slow slow;

	memset(data, 0, 2 * 4096);
	kst_slow(&slow, self->me.fd, 4);
	job[0] = kst_slow_job(&slow, NULL, 0);
	job[1] = kst_job(0, &desc, sizeof(desc), &sync, 1);
	ASSERT_EQ(0, kst_submit(self->me.fd, slow.queue, job, 2, NULL));
	desc = kst_fill(VA + 4096, 4096, 0x22222222);
	sync.handle = 0;
	memset(job, 0xff, sizeof(job));
	memset(slow.desc, 0xff, sizeof(slow.desc));
	EXPECT_EQ(0, kst_wait(self->me.fd, handle, 0, 20 * KST_SECOND, 0));
	EXPECT_EQ(0, kst_error(self->me.fd, handle));
	EXPECT_EQ(0x11111111, data[0]);
	EXPECT_EQ(0x11111111, data[1023]);
	EXPECT_EQ(0, data[1024]);
}

/* ---- Answers ---- */

/* Of what a load says, not a byte more is written than was asked for, and none that says nothing. */
TEST_F(hostile, no_stray_bytes)
{
	struct vtpu_load_record record[VTPU_MAX_RECORDS];
	struct vtpu_load_result result;
	struct vtpu_program_create arg = {
		.result = (uintptr_t)&result,
		.records = (uintptr_t)record,
	};
	const uint8_t *byte = (const uint8_t *)record;
	struct image i = nops(CORES, 1, false);

	/* Eight queues that wait for what never comes: eight findings */
	first_insn(&i)->flags |= VTPU_INSN_WAIT0;
	first_insn(&i)->wait[0].value = 1;
	ib_seal(i.data, i.bytes);
	arg.image = (uintptr_t)i.data;
	arg.bytes = i.bytes;
	for (uint32_t max = 0; max <= CORES + 2; max++) {
		uint32_t written = max < CORES ? max : CORES;
		uint32_t stray = 0;

		memset(record, 0xa5, sizeof(record));
		memset(&result, 0xa5, sizeof(result));
		arg.max_records = max;
		EXPECT_EQ(-EDEADLK, kst_ioctl(self->me.fd, DRM_IOCTL_VTPU_PROGRAM_CREATE, &arg));
		EXPECT_EQ(VTPU_ST_DEADLOCK, result.status);
		EXPECT_EQ(CORES, result.found);
		for (size_t at = written * sizeof(*record); at < sizeof(record); at++)
			stray += byte[at] != 0xa5;
		EXPECT_EQ(0, stray)
		{
			TH_LOG("%u records asked for", max);
		}
		for (uint32_t n = 0; n < written; n++) {
			/* Fields that a deadlock does not use are zero, pads included. */
			EXPECT_EQ(VTPU_REC_DEADLOCK, record[n].kind);
			EXPECT_EQ(n, record[n].core);
			EXPECT_EQ(0, record[n].bytes);
			EXPECT_EQ(0, record[n].other_index);
			for (const uint8_t *p = (const uint8_t *)&record[n];
			     p < (const uint8_t *)&record[n + 1]; p++)
				stray += *p == 0xa5;
		}
		EXPECT_EQ(0, stray);
	}
	free(i.data);
}

/* Callers of another age: their structs are shorter or longer than ours, and end with their page. */
TEST_F(hostile, structs_of_another_size)
{
	uint8_t *page =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, (void *)page);
	ASSERT_EQ(0, mprotect(page + 4096, 4096, PROT_NONE));
	for (unsigned int nr = 0; nr <= DRM_VTPU_PROGRAM_INFO; nr++) {
		/* All zero is a good queue, of which there may not be so many. */
		uint8_t fill = nr == DRM_VTPU_QUEUE_CREATE ? 0xff : 0;

		for (uint32_t bytes = 4; bytes <= 256; bytes += 4) {
			uint32_t stray = 0;
			int ret;

			memset(page, 0xa5, 4096);
			memset(page + 4096 - bytes, fill, bytes);
			ret = kst_ioctl(self->me.fd,
					_IOC(_IOC_READ | _IOC_WRITE, DRM_IOCTL_BASE,
					     DRM_COMMAND_BASE + nr, bytes),
					page + 4096 - bytes);
			/* Zeros mean nothing to most calls; to a query, what there is to know. */
			EXPECT_TRUE(!ret || ret == -EINVAL || ret == -ENOENT)
			{
				TH_LOG("call %u, %u bytes: %s", nr, bytes, strerror(-ret));
			}
			for (uint32_t at = 0; at < 4096 - bytes; at++)
				stray += page[at] != 0xa5;
			/* Behind what the kernel knows, which is this long at most, nothing changes. */
			for (uint32_t at = sizeof(struct vtpu_program_info); at < bytes; at++)
				stray += page[4096 - bytes + at] != fill;
			EXPECT_EQ(0, stray)
			{
				TH_LOG("call %u, %u bytes: stray bytes", nr, bytes);
			}
		}
	}
	munmap(page, 8192);
}

TEST_HARNESS_MAIN
