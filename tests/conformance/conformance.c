// SPDX-License-Identifier: MIT
/*
 * conformance.c - runs the table of cases on one backend.
 *
 *	conformance [DEVICE [CASE]]	accel0, or a model (the default); CASE: only names that contain it
 */
#include "conf.h"
#include "core/error.h"

#define DEFAULT_DEVICE "model:v3,hbm=512M,id=conformance"

static const struct conf_case *const parts[] = {
	sync_cases, memory_cases, job_cases, copy_cases, program_cases, query_cases,
};

static struct vtpu_backend *open_client(const char *device)
{
	struct vtpu_backend *backend = NULL;
	enum vtpu_status status = strncmp(device, "model:", 6) ?
					  vtpu_kernel_open(device, &backend) :
					  vtpu_inproc_open(device + 6, &backend);

	if (status) {
		printf("Bail out! %s\n", vtpu_last_error());
		exit(1);
	}
	return backend;
}

/* A copy whose answer is known, on a client that has nothing to do with the case */
static void bystander(struct conf *c)
{
	uint32_t handle, queue, hbm;
	struct vtpu_copy_desc desc[2];
	struct vtpu_job job;
	uint32_t *words;
	void *pointer;
	uint32_t i;

	need(c, bo_ready(c->other, 8192, VTPU_REGION_HOST, HOST(7), &handle, &pointer));
	need(c, bo_create(c->other, 4096, VTPU_REGION_HBM, 0, &hbm));
	need(c, vm_map(c->other, hbm, 0, HBM(7), 4096, 0));
	need(c, queue_create(c->other, VTPU_QUEUE_COPY, 2, &queue));
	words = pointer;
	for (i = 0; i < 1024; i++)
		words[i] = i * 2654435761u;
	desc[0] = copy_desc(HBM(7), HOST(7), 4096);
	desc[1] = copy_desc(HOST(7) + 4096, HBM(7), 4096);
	job = copy_job(desc, 2);
	need(c, run_job(c->other, queue, &job));
	expect_is(c, memcmp(words, words + 1024, 4096), 0);
	c->other->ops->unmap(c->other, pointer, 8192);
}

static bool run(const struct conf_case *test, const char *device)
{
	struct conf c = { .device = device };
	struct vtpu_dev_query query = {
		.type = VTPU_QUERY_GEOMETRY,
		.size = sizeof(c.geometry),
		.ptr = (uintptr_t)&c.geometry,
	};

	c.b = open_client(device);
	c.other = open_client(device);
	expect_ok(&c, vtpu_ioctl(c.b, DRM_IOCTL_VTPU_DEV_QUERY, &query));
	test->run(&c);
	c.b->ops->close(c.b);
	bystander(&c);
	c.other->ops->close(c.other);
	return !c.failed;
}

int main(int argc, char **argv)
{
	const char *device = argc > 1 ? argv[1] : DEFAULT_DEVICE;
	const char *only = argc > 2 ? argv[2] : "";
	struct vtpu_backend *keeper =
		open_client(device); /* so that the model lives from case to case */
	unsigned int n = 0, failed = 0;
	const struct conf_case *test;
	size_t i;

	printf("TAP version 13\n");
	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		for (test = parts[i]; test->name; test++) {
			bool ok;

			if (!strstr(test->name, only))
				continue;
			ok = run(test, device);
			failed += !ok;
			printf("%s %u - %s\n", ok ? "ok" : "not ok", ++n, test->name);
			fflush(stdout);
		}
	}
	printf("1..%u\n", n);
	keeper->ops->close(keeper);
	return failed ? 1 : 0;
}
