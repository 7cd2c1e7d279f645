// SPDX-License-Identifier: MIT
/*
 * cases_program.c - loading programs and running them.
 */
#include <vtpu/ops.h>
#include <vtpu/program.h>

#include "conf.h"

#define M 20
#define K 36
#define N 12

/* ---- Programs ------------------------------------------------------------------- */

/* y = relu(x * w + bias), the rows spread over @width cores */
static struct vtpu_image *dense_image(struct conf *c, uint32_t width)
{
	const struct vtpu_layer layer = {
		.name = "layer", .n = N, .bias = true, .act = VTPU_ACT_RELU
	};
	struct vtpu_dense_options options = VTPU_INIT(options);
	struct vtpu_image *image = NULL;

	options.geometry = &c->geometry;
	options.width = width;
	options.m = M;
	options.k = K;
	options.layers = &layer;
	options.layer_count = 1;
	expect_ok(c, vtpu_dense_build(&options, &image, NULL));
	return image;
}

enum flaw {
	NO_FLAW,
	DEADLOCK,
	RACE,
	BOUNDS
};

/* Two copies and what is wrong between them */
static struct vtpu_image *flawed_image(struct conf *c, enum flaw flaw)
{
	struct vtpu_base_desc base = {
		.name = "data", .extent = 4096, .readable = true, .writable = true
	};
	struct vtpu_emit load = { 0 }, add = { 0 };
	struct vtpu_builder *builder = NULL;
	struct vtpu_image *image = NULL;
	struct vtpu_insn_dma dma = {
		.src_type = VTPU_TYPE_F32,
		.dst_type = VTPU_TYPE_F32,
		.ndim = 1,
		.count = { 256, 1, 1, 1, 1 },
		.src_stride = { 4 },
		.dst_stride = { 4 },
	};
	struct vtpu_insn_ew ew = {
		.nin = 1,
		.nout = 1,
		.nops = 1,
		.rows = 1,
		.cols = 256,
		.in = { { 0, 1024 } },
		.in_type = { VTPU_TYPE_F32 },
		.out = { { 4096, 1024 } },
		.out_type = { VTPU_TYPE_F32 },
		.op = { { VTPU_EW_ADD, VTPU_EW_ARGS(0, 0, 0) } },
	};

	if (!expect_ok(c, vtpu_builder_create(1, &builder)))
		return NULL;
	vtpu_builder_base(builder, &base);
	load.op = vtpu_builder_op(builder, "load");
	add.op = vtpu_builder_op(builder, "double");
	dma.src = VTPU_ADDR(VTPU_SPACE_HBM, 0, 0);
	dma.dst = VTPU_ADDR(VTPU_SPACE_VMEM, 0, flaw == BOUNDS ? c->geometry.vmem_bytes - 512 : 0);
	if (flaw != RACE) {
		load.signal[0].sem = 3;
		load.signal[0].inc = 1;
		add.wait[0].sem = 3;
		add.wait[0].value = flaw == DEADLOCK ? 2 : 1;
	}
	vtpu_emit_copy(builder, &load, &dma);
	vtpu_emit_ew(builder, &add, &ew);
	expect_ok(c, vtpu_builder_finish(builder, &image));
	vtpu_builder_destroy(builder);
	return image;
}

/* ---- Loading ------------------------------------------------------------------------ */

struct load {
	struct vtpu_load_result result;
	struct vtpu_load_record records[VTPU_MAX_RECORDS];
	uint32_t program;
};

static int load(struct vtpu_backend *b, const void *data, uint64_t bytes, uint32_t flags,
		struct load *load)
{
	struct vtpu_program_create arg = {
		.image = (uintptr_t)data,
		.bytes = bytes,
		.result = (uintptr_t)&load->result,
		.records = (uintptr_t)load->records,
		.max_records = VTPU_MAX_RECORDS,
		.flags = flags,
	};
	int err;

	memset(load, 0, sizeof(*load));
	err = vtpu_ioctl(b, DRM_IOCTL_VTPU_PROGRAM_CREATE, &arg);
	load->program = arg.program;
	return err;
}

static int load_image(struct vtpu_backend *b, const struct vtpu_image *image, uint32_t flags,
		      struct load *out)
{
	size_t bytes = 0;
	const void *data = image ? vtpu_image_data(image, &bytes) : NULL;

	return load(b, data, bytes, flags, out);
}

static void create_shape(struct conf *c)
{
	struct vtpu_image *image = dense_image(c, 1);
	struct vtpu_program_destroy destroy = { 0 };
	struct vtpu_program_info info = { 0 };
	struct vtpu_program_create arg = { 0 };
	size_t bytes = 0;
	const void *data = image ? vtpu_image_data(image, &bytes) : NULL;

	if (!image)
		return;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_PROGRAM_CREATE, &arg), -EINVAL);
	arg.bytes = bytes;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_PROGRAM_CREATE, &arg), -EFAULT);
	arg.image = (uintptr_t)data;
	arg.flags = 1u << 9;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_PROGRAM_CREATE, &arg), -EINVAL);
	arg.flags = 0;
	arg.pad = 1;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_PROGRAM_CREATE, &arg), -EINVAL);
	arg.pad = 0;
	arg.bytes = VTPU_MAX_IMAGE_BYTES + 64ULL;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_PROGRAM_CREATE, &arg), -E2BIG);
	arg.bytes = bytes;
	arg.max_records = VTPU_MAX_RECORDS + 1;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_PROGRAM_CREATE, &arg), -E2BIG);
	arg.max_records = 0;
	/* Neither result nor records need be asked for. */
	need(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_PROGRAM_CREATE, &arg));
	info.program = arg.program;
	expect_ok(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_PROGRAM_INFO, &info));
	expect_is(c, info.width, 1);
	expect_is(c, info.nbases, 4);
	expect_is(c, info.nscalars, 0);
	expect_is(c, info.image_bytes, bytes);
	expect_is(c, info.result.cycles > 0, 1);
	expect_is(c, info.result.macs, M * K * N);
	expect_is(c, quota_settles(c->b, VTPU_QUOTA_PROGRAMS, 1), true);
	expect_is(c, quota_settles(c->b, VTPU_QUOTA_INSTRUCTIONS, info.result.instances), true);
	destroy.program = arg.program;
	destroy.pad = 1;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_PROGRAM_DESTROY, &destroy), -EINVAL);
	destroy.pad = 0;
	expect_ok(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_PROGRAM_DESTROY, &destroy));
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_PROGRAM_DESTROY, &destroy), -ENOENT);
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_PROGRAM_INFO, &info), -ENOENT);
	expect_is(c, quota_settles(c->b, VTPU_QUOTA_PROGRAMS, 0), true);
	expect_is(c, quota_settles(c->b, VTPU_QUOTA_INSTRUCTIONS, 0), true);
	vtpu_image_destroy(image);
}

static void broken_images(struct conf *c)
{
	struct vtpu_image *image = dense_image(c, 1);
	struct vtpu_image_header *header;
	struct load result;
	size_t bytes = 0;
	uint8_t *copy;

	if (!image)
		return;
	vtpu_image_data(image, &bytes);
	copy = malloc(bytes);
	if (!copy)
		return;
	header = (struct vtpu_image_header *)copy;
	memcpy(copy, vtpu_image_data(image, NULL), bytes);
	expect_is(c, load(c->b, copy, bytes - 64, 0, &result), -EINVAL);
	expect_is(c, load(c->b, copy, 32, 0, &result), -EINVAL);
	header->magic ^= 1;
	expect_is(c, load(c->b, copy, bytes, 0, &result), -EINVAL);
	header->magic ^= 1;
	header->version++;
	expect_is(c, load(c->b, copy, bytes, 0, &result), -EPROTO);
	header->version--;
	copy[bytes - 1] ^= 0x40;
	expect_is(c, load(c->b, copy, bytes, 0, &result), -EBADMSG);
	expect_is(c, result.result.status, VTPU_ST_IMAGE_CHECKSUM);
	copy[bytes - 1] ^= 0x40;
	header->width = 65;
	expect_is(c, load(c->b, copy, bytes, 0, &result) < 0, 1);
	header->width = 1;
	/* None of them has left anything behind. */
	expect_is(c, quota_settles(c->b, VTPU_QUOTA_PROGRAMS, 0), true);
	need(c, load(c->b, copy, bytes, 0, &result));
	free(copy);
	vtpu_image_destroy(image);
}

static void flawed_programs(struct conf *c)
{
	struct vtpu_image *image = flawed_image(c, DEADLOCK);
	struct load result;

	expect_is(c, load_image(c->b, image, 0, &result), -EDEADLK);
	expect_is(c, result.result.status, VTPU_ST_DEADLOCK);
	expect_is(c, result.result.records >= 1, 1);
	expect_is(c, result.records[0].kind, VTPU_REC_DEADLOCK);
	expect_is(c, result.records[0].sem, 3);
	expect_is(c, result.records[0].need, 2);
	vtpu_image_destroy(image);

	image = flawed_image(c, RACE);
	expect_is(c, load_image(c->b, image, VTPU_LOAD_STRICT, &result), -EILSEQ);
	expect_is(c, result.result.status, VTPU_ST_RACE);
	expect_is(c, result.result.races >= 1, 1);
	/* Not strict: it loads, and still tells. */
	expect_ok(c, load_image(c->b, image, 0, &result));
	expect_is(c, result.result.races >= 1, 1);
	expect_is(c, result.result.records >= 1 && result.records[0].kind == VTPU_REC_RACE, 1);
	vtpu_image_destroy(image);

	image = flawed_image(c, BOUNDS);
	expect_is(c, load_image(c->b, image, 0, &result), -ERANGE);
	expect_is(c, result.result.status, VTPU_ST_OUT_OF_BOUNDS);
	expect_is(c, result.records[0].kind, VTPU_REC_RANGE);
	vtpu_image_destroy(image);

	image = flawed_image(c, NO_FLAW);
	expect_ok(c, load_image(c->b, image, VTPU_LOAD_STRICT, &result));
	expect_is(c, result.result.races, 0);
	vtpu_image_destroy(image);
}

/* ---- Running ---------------------------------------------------------------------------- */

/* Buffers of the dense program at addresses of their own, filled in; answers of small integers */
struct dense {
	struct vtpu_backend *b;
	struct load load;
	uint32_t bo, queue;
	float *x, *w, *bias, *y;
	struct {
		struct vtpu_job_args head;
		uint64_t va[4];
	} args;
};

#define DENSE_STEP 65536

static int dense_prepare(struct conf *c, struct vtpu_backend *b, uint32_t width, struct dense *d)
{
	struct vtpu_image *image = dense_image(c, width);
	uint8_t *bytes;
	void *pointer;
	int err, i;

	memset(d, 0, sizeof(*d));
	d->b = b;
	err = image ? load_image(b, image, VTPU_LOAD_STRICT, &d->load) : -ENOMEM;
	vtpu_image_destroy(image);
	if (!err)
		err = bo_ready(b, 4 * DENSE_STEP, VTPU_REGION_HBM, HBM(20), &d->bo, &pointer);
	if (!err)
		err = queue_create(b, VTPU_QUEUE_COMPUTE, 0, &d->queue);
	if (err)
		return err;
	bytes = pointer;
	d->args.head.nbases = 4;
	for (i = 0; i < 4; i++)
		d->args.va[i] = HBM(20) + i * DENSE_STEP;
	d->x = (float *)(void *)bytes;
	d->w = (float *)(void *)(bytes + DENSE_STEP);
	d->bias = (float *)(void *)(bytes + 2 * DENSE_STEP);
	d->y = (float *)(void *)(bytes + 3 * DENSE_STEP);
	for (i = 0; i < M * K; i++)
		d->x[i] = (float)(i % 7) - 3;
	for (i = 0; i < K * N; i++)
		d->w[i] = (float)(i % 5) - 2;
	for (i = 0; i < N; i++)
		d->bias[i] = (float)i - 4;
	return 0;
}

static struct vtpu_job dense_job(const struct dense *d)
{
	struct vtpu_job job = {
		.program = d->load.program,
		.args = (uintptr_t)&d->args,
		.args_size = sizeof(d->args),
	};

	return job;
}

/* Elements of y that are not what they should be */
static int dense_wrong(const struct dense *d)
{
	int i, j, k, wrong = 0;

	for (i = 0; i < M; i++) {
		for (j = 0; j < N; j++) {
			float sum = d->bias[j];

			for (k = 0; k < K; k++)
				sum += d->x[i * K + k] * d->w[k * N + j];
			wrong += d->y[i * N + j] != (sum > 0 ? sum : 0);
		}
	}
	return wrong;
}

static void known_answer(struct conf *c)
{
	uint32_t width;

	for (width = 1; width <= c->geometry.cores && width <= 4; width *= 4) {
		struct vtpu_queue_state state;
		struct vtpu_job job;
		struct dense d;

		need(c, dense_prepare(c, width == 1 ? c->b : c->other, width, &d));
		memset(d.y, 0xff, M * N * sizeof(float));
		job = dense_job(&d);
		need(c, run_job(d.b, d.queue, &job));
		expect_is(c, dense_wrong(&d), 0);
		expect_ok(c, queue_state(d.b, d.queue, &state));
		expect_is(c, state.cycles, d.load.result.cycles);
		/* Again, as one of two in flight */
		memset(d.y, 0xff, M * N * sizeof(float));
		need(c, submit(d.b, d.queue, &job, 1, NULL));
		need(c, run_job(d.b, d.queue, &job));
		expect_is(c, dense_wrong(&d), 0);
		expect_ok(c, queue_state(d.b, d.queue, &state));
		expect_is(c, state.total_cycles, 3 * d.load.result.cycles);
		expect_ok(c, vm_unmap(d.b, HBM(20), 4 * DENSE_STEP));
	}
}

/* The id may go at once: jobs in flight keep the program. */
static void destroyed_in_flight(struct conf *c)
{
	struct vtpu_program_destroy destroy = { 0 };
	struct vtpu_sync sync[2] = { { 0 } };
	struct vtpu_job job;
	struct slow slow;
	struct dense d;

	need(c, dense_prepare(c, c->b, 1, &d));
	need(c, slow_prepare(c->b, &slow));
	need(c, sync_create(c->b, 0, &sync[1].handle));
	need(c, slow_start(c->b, &slow));
	sync[0].handle = slow.sync;
	sync[1].flags = VTPU_SYNC_SIGNAL;
	job = dense_job(&d);
	job.syncs = (struct vtpu_array){ .stride = sizeof(sync[0]),
					 .count = 2,
					 .array = (uintptr_t)sync };
	need(c, submit(c->b, d.queue, &job, 1, NULL));
	destroy.program = d.load.program;
	expect_ok(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_PROGRAM_DESTROY, &destroy));
	expect_is(c, submit(c->b, d.queue, &job, 1, NULL), -ENOENT);
	expect_ok(c, sync_wait(c->b, sync[1].handle, LONG_NS, 0));
	expect_is(c, dense_wrong(&d), 0);
}

/* Run with base @index at @va; the queue must halt with @status and name the base. */
static void refuse_base(struct conf *c, struct dense *d, uint32_t index, uint64_t va,
			uint32_t status)
{
	struct vtpu_queue_state state;
	uint64_t good = d->args.va[index];
	struct vtpu_job job;

	d->args.va[index] = va;
	job = dense_job(d);
	expect_is(c, run_job(d->b, d->queue, &job), vtpu_status_errno(status));
	expect_ok(c, queue_state(d->b, d->queue, &state));
	if (!expect_is(c, state.status, status))
		printf("# (base %u at %#llx: %s)\n", index, (unsigned long long)va,
		       vtpu_status_name(state.status));
	if (status != VTPU_ST_ALIAS)
		expect_is(c, VTPU_WHERE_BASE(state.where), index);
	d->args.va[index] = good;
	expect_ok(c, queue_destroy(d->b, d->queue));
	expect_ok(c, queue_create(d->b, VTPU_QUEUE_COMPUTE, 0, &d->queue));
}

static void bad_bases(struct conf *c)
{
	uint32_t readonly, host;
	struct vtpu_job job;
	void *pointer;
	struct dense d;

	need(c, dense_prepare(c, c->b, 1, &d));
	need(c, bo_create(c->b, DENSE_STEP, VTPU_REGION_HBM, 0, &readonly));
	need(c, vm_map(c->b, readonly, 0, HBM(30), DENSE_STEP, VTPU_BIND_READONLY));
	need(c, bo_ready(c->b, DENSE_STEP, VTPU_REGION_HOST, HOST(30), &host, &pointer));
	refuse_base(c, &d, 0, HBM(40), VTPU_ST_UNMAPPED);
	refuse_base(c, &d, 3, HBM(20) + 4 * DENSE_STEP - 64, VTPU_ST_UNMAPPED);
	refuse_base(c, &d, 3, HBM(30), VTPU_ST_READ_ONLY);
	refuse_base(c, &d, 1, HBM(20) + DENSE_STEP + 4, VTPU_ST_MISALIGNED);
	refuse_base(c, &d, 3, HBM(20), VTPU_ST_ALIAS);
	refuse_base(c, &d, 0, HOST(30), VTPU_ST_SYSTEM_MEMORY);
	refuse_base(c, &d, 0, ~0ULL - 63, VTPU_ST_WRAPS);
	/* Read-only is fine for what is only read. */
	d.args.va[1] = HBM(30);
	job = dense_job(&d);
	expect_ok(c, run_job(c->b, d.queue, &job));
	d.args.va[1] = HBM(20) + DENSE_STEP;
	expect_ok(c, run_job(c->b, d.queue, &job));
	expect_is(c, dense_wrong(&d), 0);
	c->b->ops->unmap(c->b, pointer, DENSE_STEP);
}

/* A base must be one extent of HBM, whatever the addresses look like. */
static void scattered_base(struct conf *c)
{
	uint32_t a, b;
	struct dense d;

	need(c, dense_prepare(c, c->b, 1, &d));
	need(c, bo_create(c->b, 4 * DENSE_STEP, VTPU_REGION_HBM, 0, &a));
	need(c, bo_create(c->b, 4 * DENSE_STEP, VTPU_REGION_HBM, 0, &b));
	/* Page 1 of one buffer behind page 0 of the other: x has 2,880 bytes, so put the seam inside it. */
	need(c, vm_map(c->b, a, 0, HBM(50), 4096, 0));
	need(c, vm_map(c->b, b, 8192, HBM(50) + 4096, 4096, 0));
	refuse_base(c, &d, 0, HBM(50) + 2048, VTPU_ST_NOT_CONTIGUOUS);
}

static void bad_arguments(struct conf *c)
{
	struct vtpu_job job;
	struct dense d;

	need(c, dense_prepare(c, c->b, 1, &d));
	job = dense_job(&d);
	job.args_size -= 8;
	expect_is(c, submit(c->b, d.queue, &job, 1, NULL), -EINVAL);
	job.args_size += 8;
	d.args.head.nbases = 3;
	expect_is(c, submit(c->b, d.queue, &job, 1, NULL), -EINVAL);
	d.args.head.nbases = 4;
	d.args.head.nscalars = 1;
	expect_is(c, submit(c->b, d.queue, &job, 1, NULL), -EINVAL);
	d.args.head.nscalars = 0;
	job.args_size = 4;
	expect_is(c, submit(c->b, d.queue, &job, 1, NULL), -EINVAL);
	job.args_size = sizeof(d.args);
	expect_ok(c, run_job(c->b, d.queue, &job));
	expect_is(c, dense_wrong(&d), 0);
}

static void limits_of_a_queue(struct conf *c)
{
	struct vtpu_queue_create arg = { .kind = VTPU_QUEUE_COMPUTE, .priority = VTPU_PRIO_NORMAL };
	struct vtpu_queue_state state;
	struct vtpu_job job;
	struct dense d;

	need(c, dense_prepare(c, c->b, c->geometry.cores >= 2 ? 2 : 1, &d));
	job = dense_job(&d);
	arg.max_cycles = d.load.result.cycles - 1;
	need(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_QUEUE_CREATE, &arg));
	expect_is(c, run_job(c->b, arg.queue, &job), -ETIME);
	expect_ok(c, queue_state(c->b, arg.queue, &state));
	expect_is(c, state.status, VTPU_ST_CYCLE_LIMIT);
	arg.max_cycles++;
	need(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_QUEUE_CREATE, &arg));
	expect_ok(c, run_job(c->b, arg.queue, &job));
	if (c->geometry.cores < 2)
		return;
	arg.max_cycles = 0;
	arg.core_mask = 1;
	need(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_QUEUE_CREATE, &arg));
	expect_is(c, run_job(c->b, arg.queue, &job), -EINVAL);
	expect_ok(c, queue_state(c->b, arg.queue, &state));
	expect_is(c, state.status, VTPU_ST_MASK);
	/* Cores 1 and 2 are two, but no slice of a gang of two. */
	arg.core_mask = 6;
	if (c->geometry.cores >= 4) {
		need(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_QUEUE_CREATE, &arg));
		expect_is(c, run_job(c->b, arg.queue, &job), -EINVAL);
	}
	arg.core_mask = 3;
	need(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_QUEUE_CREATE, &arg));
	expect_ok(c, run_job(c->b, arg.queue, &job));
	expect_is(c, dense_wrong(&d), 0);
}

/* One client's program is not another's. */
static void other_clients_program(struct conf *c)
{
	struct vtpu_image *image = dense_image(c, 1);
	struct vtpu_program_info info = { 0 };
	struct vtpu_job job;
	struct load theirs;
	struct dense mine;

	need(c, load_image(c->other, image, 0, &theirs));
	need(c, load_image(c->other, image, 0, &theirs));
	vtpu_image_destroy(image);
	need(c, dense_prepare(c, c->b, 1, &mine));
	info.program = theirs.program;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_PROGRAM_INFO, &info), -ENOENT);
	job = dense_job(&mine);
	job.program = theirs.program;
	expect_is(c, submit(c->b, mine.queue, &job, 1, NULL), -ENOENT);
	job.program = mine.load.program;
	expect_ok(c, run_job(c->b, mine.queue, &job));
	expect_is(c, dense_wrong(&mine), 0);
}

const struct conf_case program_cases[] = {
	{ "program: shape of a load", create_shape },
	{ "program: broken images", broken_images },
	{ "program: deadlock, race, out of bounds", flawed_programs },
	{ "program: a known answer", known_answer },
	{ "program: destroyed in flight", destroyed_in_flight },
	{ "program: bad bases", bad_bases },
	{ "program: a base in two pieces", scattered_base },
	{ "program: bad arguments", bad_arguments },
	{ "program: cycles and cores of a queue", limits_of_a_queue },
	{ "program: other clients' programs", other_clients_program },
	{ NULL, NULL },
};
