// SPDX-License-Identifier: MIT
/*
 * cases_query.c - queries, and calls that do not exist.
 */
#include "conf.h"

static int query(struct conf *c, uint32_t type, uint32_t index, void *out, uint32_t bytes,
		 uint32_t *size)
{
	struct vtpu_dev_query arg = {
		.type = type, .index = index, .size = bytes, .ptr = (uintptr_t)out
	};
	int err = vtpu_ioctl(c->b, DRM_IOCTL_VTPU_DEV_QUERY, &arg);

	if (size)
		*size = arg.size;
	return err;
}

static void query_shape(struct conf *c)
{
	struct vtpu_dev_query flags = { .flags = 1 };
	uint8_t room[512];
	uint32_t size, i, left = 0;

	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_DEV_QUERY, &flags), -EINVAL);
	expect_is(c, query(c, 999, 0, room, sizeof(room), NULL), -EINVAL);
	expect_is(c, query(c, VTPU_QUERY_INFO, 1, room, sizeof(room), NULL), -EINVAL);
	expect_is(c, query(c, VTPU_QUERY_CORE, c->geometry.cores, room, sizeof(room), NULL),
		  -EINVAL);
	expect_is(c, query(c, VTPU_QUERY_MEMORY, 2, room, sizeof(room), NULL), -EINVAL);
	expect_is(c, query(c, VTPU_QUERY_QUOTA, VTPU_QUOTAS, room, sizeof(room), NULL), -EINVAL);
	expect_ok(c, query(c, VTPU_QUERY_GEOMETRY, 0, NULL, 0, &size));
	expect_is(c, size, sizeof(struct vtpu_hw_geometry));
	/* A short answer is cut, a long one is zero behind what there is, and nothing is written beyond. */
	memset(room, 0xee, sizeof(room));
	expect_ok(c, query(c, VTPU_QUERY_GEOMETRY, 0, room, 8, &size));
	expect_is(c, size, sizeof(struct vtpu_hw_geometry));
	expect_is(c, memcmp(room, &c->geometry, 8), 0);
	expect_is(c, room[8], 0xee);
	expect_ok(c, query(c, VTPU_QUERY_GEOMETRY, 0, room, 400, NULL));
	expect_is(c, memcmp(room, &c->geometry, sizeof(c->geometry)), 0);
	for (i = sizeof(c->geometry); i < 400; i++)
		left += room[i];
	expect_is(c, left, 0);
	expect_is(c, room[400], 0xee);
}

static void query_values(struct conf *c)
{
	struct vtpu_job nop = { .flags = VTPU_JOB_NOP };
	struct vtpu_query_info info, later;
	struct vtpu_query_memory memory, more;
	struct vtpu_query_quota quota;
	struct vtpu_query_time time[2];
	struct vtpu_query_core core;
	uint32_t bo, queue;

	need(c, query(c, VTPU_QUERY_INFO, 0, &info, sizeof(info), NULL));
	expect_is(c, info.hw_version, VTPU_HW_VERSION);
	expect_is(c, info.state, VTPU_DEVICE_OK);
	expect_is(c, info.cores, c->geometry.cores);
	expect_is(c, info.clients >= 3, 1);
	expect_is(c, info.caps & VTPU_CAP_F32, VTPU_CAP_F32);
	expect_is(c, info.hbm_usable > 0 && info.hbm_usable < info.hbm_bytes, 1);
	expect_is(c, info.max_depth, 1u << VTPU_MAX_DEPTH_LOG2);
	need(c, queue_create(c->b, VTPU_QUEUE_COMPUTE, 0, &queue));
	need(c, run_job(c->b, queue, &nop));
	need(c, query(c, VTPU_QUERY_INFO, 0, &later, sizeof(later), NULL));
	expect_is(c, later.jobs_submitted, info.jobs_submitted + 1);
	expect_is(c, later.jobs_completed, info.jobs_completed + 1);
	expect_is(c, later.jobs_failed, info.jobs_failed);

	need(c, query(c, VTPU_QUERY_MEMORY, VTPU_REGION_HBM, &memory, sizeof(memory), NULL));
	expect_is(c, memory.size, info.hbm_bytes);
	need(c, bo_create(c->b, 4u << 20, VTPU_REGION_HBM, 0, &bo));
	need(c, query(c, VTPU_QUERY_MEMORY, VTPU_REGION_HBM, &more, sizeof(more), NULL));
	expect_is(c, more.used, memory.used + (4u << 20));
	need(c, query(c, VTPU_QUERY_QUOTA, VTPU_QUOTA_HBM_BYTES, &quota, sizeof(quota), NULL));
	expect_is(c, quota.file_used, 4u << 20);
	need(c, query(c, VTPU_QUERY_QUOTA, VTPU_QUOTA_QUEUES, &quota, sizeof(quota), NULL));
	expect_is(c, quota.file_used, 1);

	need(c, query(c, VTPU_QUERY_TIME, 0, &time[0], sizeof(time[0]), NULL));
	need(c, query(c, VTPU_QUERY_TIME, 0, &time[1], sizeof(time[1]), NULL));
	expect_is(c, time[1].device_ns > time[0].device_ns, 1);
	expect_is(c, time[1].cpu_ns > time[0].cpu_ns, 1);
	need(c, query(c, VTPU_QUERY_CORE, 0, &core, sizeof(core), NULL));
	expect_is(c, core.sampled_ns > 0, 1);
}

static void unknown_calls(struct conf *c)
{
	uint64_t room[16] = { 0 };
	unsigned int nr;

	/* Reserved numbers of ours, and one that nobody has */
	for (nr = 0x09; nr <= 0x0b; nr++)
		expect_is(c, vtpu_ioctl(c->b, DRM_IOWR(DRM_COMMAND_BASE + nr, uint64_t), room),
			  -EINVAL);
	expect_is(c, vtpu_ioctl(c->b, DRM_IOWR(DRM_COMMAND_BASE + 0x0d, uint64_t), room), -EINVAL);
	expect_is(c, vtpu_ioctl(c->b, DRM_IOWR(DRM_COMMAND_BASE + 0x3f, uint64_t), room), -EINVAL);
}

const struct conf_case query_cases[] = {
	{ "query: shape", query_shape },
	{ "query: values", query_values },
	{ "query: calls that do not exist", unknown_calls },
	{ NULL, NULL },
};
