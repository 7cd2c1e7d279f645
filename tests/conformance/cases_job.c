// SPDX-License-Identifier: MIT
/*
 * cases_job.c - queues, submission, order, halts.
 */
#include <pthread.h>

#include "conf.h"

static int create(struct conf *c, const struct vtpu_queue_create *arg)
{
	struct vtpu_queue_create copy = *arg;

	return vtpu_ioctl(c->b, DRM_IOCTL_VTPU_QUEUE_CREATE, &copy);
}

static void queue_shape(struct conf *c)
{
	const struct vtpu_queue_create bad[] = {
		{ .kind = 2, .priority = VTPU_PRIO_NORMAL },
		{ .kind = VTPU_QUEUE_COPY, .priority = 3 },
		{ .kind = VTPU_QUEUE_COPY, .flags = 1 },
		{ .kind = VTPU_QUEUE_COPY, .pad = 1 },
		{ .kind = VTPU_QUEUE_COPY, .depth = 1 },
		{ .kind = VTPU_QUEUE_COPY, .depth = 3 },
		{ .kind = VTPU_QUEUE_COPY, .depth = 2048 },
		{ .kind = VTPU_QUEUE_COPY, .core_mask = 1 },
		{ .kind = VTPU_QUEUE_COPY, .max_cycles = 1 },
		{ .kind = VTPU_QUEUE_COMPUTE,
		  .core_mask = c->geometry.cores < 64 ? 1ULL << c->geometry.cores : 0,
		  .flags = c->geometry.cores == 64 },
	};
	struct vtpu_queue_destroy destroy = { .pad = 1 };
	struct vtpu_queue_state state;
	uint32_t i, q;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (!expect_is(c, create(c, &bad[i]), -EINVAL))
			printf("# (queue %u of the list)\n", i);
	}
	need(c, queue_create(c->b, VTPU_QUEUE_COMPUTE, 0, &q));
	destroy.queue = q;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_QUEUE_DESTROY, &destroy), -EINVAL);
	expect_is(c, queue_state(c->b, q + 100, &state), -ENOENT);
	expect_is(c, queue_destroy(c->b, q + 100), -ENOENT);
	expect_ok(c, queue_state(c->b, q, &state));
	expect_is(c, state.flags, 0);
	expect_ok(c, queue_destroy(c->b, q));
	expect_is(c, queue_destroy(c->b, q), -ENOENT);
}

static void many_queues(struct conf *c)
{
	struct vtpu_job nop = { .flags = VTPU_JOB_NOP };
	uint32_t q[8], i;

	for (i = 0; i < 8; i++) {
		need(c, queue_create(c->b, i & 1 ? VTPU_QUEUE_COPY : VTPU_QUEUE_COMPUTE, 2u << i,
				     &q[i]));
		need(c, run_job(c->b, q[i], &nop));
	}
	for (i = 0; i < 8; i += 2)
		expect_ok(c, queue_destroy(c->b, q[i]));
	for (i = 1; i < 8; i += 2)
		expect_ok(c, run_job(c->b, q[i], &nop));
	expect_is(c, quota_settles(c->b, VTPU_QUOTA_QUEUES, 4), true);
	expect_is(c, quota_settles(c->b, VTPU_QUOTA_JOBS, 0), true);
}

struct refusal {
	const char *what;
	struct vtpu_job job;
	struct vtpu_sync sync;
	int compute, copy; /* expected from a queue of each kind; 0: not for this kind */
};

static void submit_shape(struct conf *c)
{
	static uint8_t block[VTPU_ARG_SLOT_BYTES + 64];
	const uint64_t args = (uintptr_t)block;
	const struct refusal list[] = {
		{ "unknown flag", { .flags = 1u << 9 }, { 0 }, -EINVAL, -EINVAL },
		{ "pad", { .flags = VTPU_JOB_NOP, .pad = 1 }, { 0 }, -EINVAL, -EINVAL },
		{ "pad2", { .flags = VTPU_JOB_NOP, .pad2 = 1 }, { 0 }, -EINVAL, -EINVAL },
		{ "launch_id", { .flags = VTPU_JOB_NOP, .launch_id = 1 }, { 0 }, -EINVAL, -EINVAL },
		{ "peer_count",
		  { .flags = VTPU_JOB_NOP, .peer_count = 1 },
		  { 0 },
		  -EINVAL,
		  -EINVAL },
		{ "nop with program",
		  { .flags = VTPU_JOB_NOP, .program = 1 },
		  { 0 },
		  -EINVAL,
		  -EINVAL },
		{ "nop with args",
		  { .flags = VTPU_JOB_NOP, .args = args, .args_size = 64 },
		  { 0 },
		  -EINVAL,
		  -EINVAL },
		{ "no program", { .args = args, .args_size = 64 }, { 0 }, -EINVAL, 0 },
		{ "no args", { .program = 1 }, { 0 }, -EINVAL, -EINVAL },
		{ "args too large",
		  { .args = args, .args_size = VTPU_ARG_SLOT_BYTES + 64 },
		  { 0 },
		  -E2BIG,
		  -E2BIG },
		{ "unknown program",
		  { .program = 999, .args = args, .args_size = 64 },
		  { 0 },
		  -ENOENT,
		  -EINVAL },
		{ "half a descriptor", { .args = args, .args_size = 96 }, { 0 }, 0, -EINVAL },
		{ "args at 0", { .args = 0, .args_size = 64 }, { 0 }, 0, -EFAULT },
		{ "sync flag", { .flags = VTPU_JOB_NOP }, { .flags = 1u << 8 }, -EINVAL, -EINVAL },
		{ "sync unknown", { .flags = VTPU_JOB_NOP }, { .handle = 999 }, -ENOENT, -ENOENT },
		{ "signal unknown",
		  { .flags = VTPU_JOB_NOP },
		  { .flags = VTPU_SYNC_SIGNAL, .handle = 999 },
		  -ENOENT,
		  -ENOENT },
		{ "point 0 of a timeline",
		  { .flags = VTPU_JOB_NOP },
		  { .flags = VTPU_SYNC_TIMELINE, .handle = 1 },
		  -EINVAL,
		  -EINVAL },
		{ "point of a binary",
		  { .flags = VTPU_JOB_NOP },
		  { .handle = 1, .point = 4 },
		  -EINVAL,
		  -EINVAL },
	};
	uint32_t queue[2], i, kind, taken;
	struct vtpu_queue_state state;

	need(c, queue_create(c->b, VTPU_QUEUE_COMPUTE, 0, &queue[0]));
	need(c, queue_create(c->b, VTPU_QUEUE_COPY, 0, &queue[1]));
	for (i = 0; i < sizeof(list) / sizeof(*list); i++) {
		for (kind = 0; kind < 2; kind++) {
			struct vtpu_job jobs[2] = { { .flags = VTPU_JOB_NOP }, list[i].job };
			int want = kind ? list[i].copy : list[i].compute;

			if (!want)
				continue;
			if (list[i].sync.flags || list[i].sync.handle)
				jobs[1].syncs = (struct vtpu_array){
					.stride = sizeof(struct vtpu_sync),
					.count = 1,
					.array = (uintptr_t)&list[i].sync,
				};
			/* The job before it is good, and must not be accepted either. */
			if (!expect_is(c, submit(c->b, queue[kind], jobs, 2, &taken), want))
				printf("# (%s, queue of kind %u)\n", list[i].what, kind);
			expect_is(c, taken, 0);
		}
	}
	for (kind = 0; kind < 2; kind++) {
		expect_ok(c, queue_state(c->b, queue[kind], &state));
		expect_is(c, state.submitted, 0);
		expect_is(c, state.flags, 0);
	}
}

static void submit_arrays(struct conf *c)
{
	struct vtpu_job nop = { .flags = VTPU_JOB_NOP };
	struct vtpu_submit arg = {
		.jobs = { .stride = sizeof(nop), .count = 1, .array = (uintptr_t)&nop }
	};
	struct {
		struct vtpu_job job;
		uint64_t more;
	} longer = { .job = nop };
	struct vtpu_bo_ref ref = { .handle = 999 };
	struct vtpu_sync sync[VTPU_MAX_JOB_SYNCS + 1];
	uint32_t queue;

	memset(sync, 0, sizeof(sync));
	need(c, queue_create(c->b, VTPU_QUEUE_COPY, 0, &queue));
	expect_is(c, submit(c->b, queue + 100, &nop, 1, NULL), -ENOENT);
	arg.queue = queue;
	arg.flags = 1;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_SUBMIT, &arg), -EINVAL);
	arg.flags = 0;
	arg.pad = 1;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_SUBMIT, &arg), -EINVAL);
	arg.pad = 0;
	arg.jobs.count = 0;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_SUBMIT, &arg), -EINVAL);
	arg.jobs.count = VTPU_MAX_SUBMIT_JOBS + 1;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_SUBMIT, &arg), -E2BIG);
	arg.jobs.count = 1;
	arg.jobs.stride = sizeof(nop) - 8;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_SUBMIT, &arg), -EINVAL);
	arg.jobs.stride = sizeof(nop);
	arg.jobs.array = 0;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_SUBMIT, &arg), -EFAULT);
	/* A caller that knows more fields may be served as long as it does not use them. */
	arg.jobs.stride = sizeof(longer);
	arg.jobs.array = (uintptr_t)&longer;
	expect_ok(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_SUBMIT, &arg));
	expect_is(c, arg.submitted, 1);
	longer.more = 1;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_SUBMIT, &arg), -E2BIG);

	nop.syncs = (struct vtpu_array){ .stride = sizeof(sync[0]),
					 .count = VTPU_MAX_JOB_SYNCS + 1,
					 .array = (uintptr_t)sync };
	expect_is(c, submit(c->b, queue, &nop, 1, NULL), -E2BIG);
	nop.syncs.count = 1;
	nop.syncs.stride = 8;
	expect_is(c, submit(c->b, queue, &nop, 1, NULL), -EINVAL);
	nop.syncs.stride = sizeof(sync[0]);
	nop.syncs.array = 0;
	expect_is(c, submit(c->b, queue, &nop, 1, NULL), -EFAULT);
	nop.syncs.count = 0;
	nop.bos =
		(struct vtpu_array){ .stride = sizeof(ref), .count = 1, .array = (uintptr_t)&ref };
	expect_is(c, submit(c->b, queue, &nop, 1, NULL), -ENOENT);
	nop.bos.count = VTPU_MAX_JOB_BOS + 1;
	expect_is(c, submit(c->b, queue, &nop, 1, NULL), -E2BIG);
}

/* A wait for what nobody has submitted is refused; nothing of the call is accepted. */
static void wait_for_nothing(struct conf *c)
{
	struct vtpu_job jobs[2] = { { .flags = VTPU_JOB_NOP }, { .flags = VTPU_JOB_NOP } };
	struct vtpu_sync wait = { 0 };
	struct vtpu_queue_state state;
	uint32_t queue, taken;

	need(c, queue_create(c->b, VTPU_QUEUE_COMPUTE, 0, &queue));
	need(c, sync_create(c->b, 0, &wait.handle));
	jobs[1].syncs = (struct vtpu_array){ .stride = sizeof(wait),
					     .count = 1,
					     .array = (uintptr_t)&wait };
	expect_is(c, submit(c->b, queue, jobs, 2, &taken), -EINVAL);
	expect_is(c, taken, 0);
	expect_ok(c, sync_signal_point(c->b, wait.handle, 5));
	wait.flags = VTPU_SYNC_TIMELINE;
	wait.point = 6;
	expect_is(c, submit(c->b, queue, jobs, 2, &taken), -EINVAL);
	wait.point = 5;
	expect_ok(c, submit(c->b, queue, jobs, 2, &taken));
	expect_is(c, taken, 2);
	expect_ok(c, run_job(c->b, queue, &jobs[0]));
	expect_ok(c, queue_state(c->b, queue, &state));
	expect_is(c, state.submitted, 3);
	expect_is(c, state.completed, 3);
}

/* Queues are ordered by fences, and only by them. */
static void order_between_queues(struct conf *c)
{
	struct vtpu_job nop = { .flags = VTPU_JOB_NOP }, gated = nop;
	struct vtpu_sync sync[2] = { { 0 } };
	struct slow slow;
	uint32_t queue, free_queue;

	need(c, slow_prepare(c->b, &slow));
	need(c, queue_create(c->b, VTPU_QUEUE_COMPUTE, 0, &queue));
	need(c, queue_create(c->b, VTPU_QUEUE_COMPUTE, 0, &free_queue));
	need(c, sync_create(c->b, 0, &sync[1].handle));
	need(c, slow_start(c->b, &slow));
	sync[0].handle = slow.sync;
	sync[1].flags = VTPU_SYNC_SIGNAL;
	gated.syncs = (struct vtpu_array){ .stride = sizeof(sync[0]),
					   .count = 2,
					   .array = (uintptr_t)sync };
	need(c, submit(c->b, queue, &gated, 1, NULL));
	expect_ok(c, run_job(c->b, free_queue, &nop));
	expect_is(c, sync_wait(c->b, sync[1].handle, 0, 0), -ETIME);
	expect_ok(c, sync_wait(c->b, sync[1].handle, LONG_NS, 0));
	expect_ok(c, sync_wait(c->b, slow.sync, 0, 0));
}

/* More jobs than the ring has room for: the call waits, all of them run. */
static void more_than_the_ring(struct conf *c)
{
	static struct vtpu_job jobs[VTPU_MAX_SUBMIT_JOBS];
	struct vtpu_job nop = { .flags = VTPU_JOB_NOP };
	struct vtpu_queue_state state;
	uint32_t queue, i, taken;

	for (i = 0; i < VTPU_MAX_SUBMIT_JOBS; i++)
		jobs[i] = nop;
	need(c, queue_create(c->b, VTPU_QUEUE_COMPUTE, 4, &queue));
	expect_ok(c, submit(c->b, queue, jobs, VTPU_MAX_SUBMIT_JOBS, &taken));
	expect_is(c, taken, VTPU_MAX_SUBMIT_JOBS);
	expect_ok(c, run_job(c->b, queue, &nop));
	expect_ok(c, queue_state(c->b, queue, &state));
	expect_is(c, state.submitted, VTPU_MAX_SUBMIT_JOBS + 1);
	expect_is(c, state.completed, VTPU_MAX_SUBMIT_JOBS + 1);
	expect_is(c, state.flags, 0);
}

/* A failed job halts its queue: what is behind it is cancelled, fences and all. */
static void halt(struct conf *c)
{
	struct vtpu_copy_desc bad = copy_desc(HBM(50), HBM(51), 64);
	struct vtpu_job jobs[4], nop = { .flags = VTPU_JOB_NOP };
	struct vtpu_sync sync[4];
	struct vtpu_queue_state state;
	uint32_t queue, line, i;

	need(c, queue_create(c->b, VTPU_QUEUE_COPY, 0, &queue));
	need(c, sync_create(c->b, 0, &line));
	for (i = 0; i < 4; i++) {
		jobs[i] = i == 1 ? copy_job(&bad, 1) : nop;
		jobs[i].tag = 1000 + i;
		sync[i] = (struct vtpu_sync){ VTPU_SYNC_SIGNAL | VTPU_SYNC_TIMELINE, line, i + 1 };
		jobs[i].syncs = (struct vtpu_array){ .stride = sizeof(sync[0]),
						     .count = 1,
						     .array = (uintptr_t)&sync[i] };
	}
	need(c, submit(c->b, queue, jobs, 4, NULL));
	expect_ok(c, sync_wait_point(c->b, line, 4, LONG_NS, 0));
	expect_ok(c, queue_state(c->b, queue, &state));
	expect_is(c, state.flags, VTPU_QUEUE_HALTED);
	expect_is(c, state.status, VTPU_ST_UNMAPPED);
	expect_is(c, state.error, -EFAULT);
	expect_is(c, state.fault_tag, 1001);
	expect_is(c, state.fault_addr == HBM(50) || state.fault_addr == HBM(51), 1);
	expect_is(c, state.submitted, 4);
	expect_is(c, state.completed, 4);
	expect_is(c, submit(c->b, queue, &nop, 1, NULL), -ECANCELED);
	expect_ok(c, queue_destroy(c->b, queue));
	need(c, queue_create(c->b, VTPU_QUEUE_COPY, 0, &queue));
	expect_ok(c, run_job(c->b, queue, &nop));
}

/* Destroying a queue ends its jobs, and those that wait for them, in bounded time. */
static void destroy_with_jobs(struct conf *c)
{
	struct vtpu_job nop = { .flags = VTPU_JOB_NOP };
	struct vtpu_sync sync[2] = { { 0 } };
	struct slow slow;
	uint32_t behind, queue, i;
	uint64_t start;

	need(c, slow_prepare(c->b, &slow));
	need(c, sync_create(c->b, 0, &behind));
	need(c, sync_create(c->b, 0, &sync[1].handle));
	need(c, queue_create(c->b, VTPU_QUEUE_COMPUTE, 0, &queue));
	need(c, slow_start(c->b, &slow));
	for (i = 0; i < 10; i++) {
		struct vtpu_job job = copy_job(slow.desc, VTPU_MAX_COPY_DESCS);

		need(c, submit_signal(c->b, slow.queue, &job, behind, 0));
	}
	sync[0].handle = behind;
	sync[1].flags = VTPU_SYNC_SIGNAL;
	nop.syncs = (struct vtpu_array){ .stride = sizeof(sync[0]),
					 .count = 2,
					 .array = (uintptr_t)sync };
	need(c, submit(c->b, queue, &nop, 1, NULL));
	start = conf_now();
	expect_ok(c, queue_destroy(c->b, slow.queue));
	expect_ok(c, sync_wait(c->b, slow.sync, LONG_NS, 0));
	expect_ok(c, sync_wait(c->b, behind, LONG_NS, 0));
	expect_ok(c, sync_wait(c->b, sync[1].handle, LONG_NS, 0));
	/* Eleven such jobs take many times that. */
	expect_is(c, conf_now() - start < 1500000000, 1);
}

struct flood {
	struct vtpu_backend *b;
	uint32_t queue, line, first;
	int err;
};

static void *flood_thread(void *arg)
{
	struct flood *f = arg;
	uint32_t i;

	for (i = 0; i < 200 && !f->err; i++) {
		struct vtpu_job nop = { .flags = VTPU_JOB_NOP };

		f->err = submit_signal(f->b, f->queue, &nop, f->line, i + 1);
		if (!f->err && i % 16 == 15)
			f->err = sync_wait_point(f->b, f->line, i + 1, LONG_NS, 0);
	}
	if (!f->err)
		f->err = sync_wait_point(f->b, f->line, 200, LONG_NS, 0);
	return NULL;
}

static void many_threads(struct conf *c)
{
	struct flood flood[4];
	pthread_t thread[4];
	uint32_t i;

	for (i = 0; i < 4; i++) {
		flood[i] = (struct flood){ .b = i & 1 ? c->other : c->b };
		need(c, queue_create(flood[i].b, VTPU_QUEUE_COMPUTE, 8, &flood[i].queue));
		need(c, sync_create(flood[i].b, 0, &flood[i].line));
	}
	for (i = 0; i < 4; i++)
		need(c, pthread_create(&thread[i], NULL, flood_thread, &flood[i]));
	for (i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		expect_ok(c, flood[i].err);
	}
}

/* A client that goes with jobs running takes nobody with it. */
static void close_with_jobs(struct conf *c)
{
	struct slow slow;
	int i;

	need(c, slow_prepare(c->b, &slow));
	for (i = 0; i < 20; i++)
		need(c, slow_start(c->b, &slow));
}

const struct conf_case job_cases[] = {
	{ "job: shape of a queue", queue_shape },
	{ "job: many queues", many_queues },
	{ "job: shape of a job", submit_shape },
	{ "job: arrays of a submission", submit_arrays },
	{ "job: wait for what was not submitted", wait_for_nothing },
	{ "job: order between queues", order_between_queues },
	{ "job: more than the ring holds", more_than_the_ring },
	{ "job: a failed job halts its queue", halt },
	{ "job: a queue is destroyed with jobs in it", destroy_with_jobs },
	{ "job: many threads", many_threads },
	{ "job: a client goes with jobs running", close_with_jobs },
	{ NULL, NULL },
};
