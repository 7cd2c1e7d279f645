/* SPDX-License-Identifier: MIT */
/*
 * conf.h - the conformance table: what every backend must do alike.
 *
 * A case is a function that gets two fresh clients of one device and speaks to
 * them with raw ioctls. It says what it expects with expect_*(); the first
 * deviation fails it, with a line that names what came instead. After each case
 * the runner lets the bystander run a job whose answer is known.
 */
#ifndef TESTS_CONFORMANCE_CONF_H
#define TESTS_CONFORMANCE_CONF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/backend.h"
#include "vtpu_accel.h"
#include "vtpu_hwlib.h"

/** struct conf - what a case works with */
struct conf {
	struct vtpu_backend *b;	    /* its client */
	struct vtpu_backend *other; /* the bystander */
	const char *device;	    /* name of the device, for vtpu_open() */
	struct vtpu_hw_geometry geometry;
	bool failed;
};

struct conf_case {
	const char *name;
	void (*run)(struct conf *c);
};

/* The table, one part a file; each ends with an empty entry */
extern const struct conf_case sync_cases[], job_cases[], memory_cases[], copy_cases[],
	program_cases[], query_cases[];

/* ---- Expectations ----------------------------------------------------------- */

bool conf_expect(struct conf *c, const char *file, int line, const char *what, int64_t got,
		 int64_t want);

/** expect_is() - @got is @want */
#define expect_is(c, got, want) \
	conf_expect(c, __FILE__, __LINE__, #got, (int64_t)(got), (int64_t)(want))
/** expect_ok() - the call returns 0 */
#define expect_ok(c, call) conf_expect(c, __FILE__, __LINE__, #call, (int64_t)(call), 0)
/** need() - as expect_ok(), and the case ends here if not */
#define need(c, call) \
	do { \
		if (!conf_expect(c, __FILE__, __LINE__, #call, (int64_t)(call), 0)) \
			return; \
	} while (0)

/* ---- Shorthands: all return 0 or a negative errno --------------------------------- */

int bo_create(struct vtpu_backend *b, uint64_t bytes, uint32_t region, uint32_t flags,
	      uint32_t *handle);
int bo_close(struct vtpu_backend *b, uint32_t handle);
/* Create, bind at @va and map for the CPU */
int bo_ready(struct vtpu_backend *b, uint64_t bytes, uint32_t region, uint64_t va, uint32_t *handle,
	     void **pointer);
int vm_map(struct vtpu_backend *b, uint32_t handle, uint64_t offset, uint64_t va, uint64_t bytes,
	   uint32_t flags);
int vm_unmap(struct vtpu_backend *b, uint64_t va, uint64_t bytes);
int queue_create(struct vtpu_backend *b, uint32_t kind, uint32_t depth, uint32_t *queue);
int queue_destroy(struct vtpu_backend *b, uint32_t queue);
int queue_state(struct vtpu_backend *b, uint32_t queue, struct vtpu_queue_state *state);
int sync_create(struct vtpu_backend *b, uint32_t flags, uint32_t *handle);
int sync_destroy(struct vtpu_backend *b, uint32_t handle);
int sync_signal(struct vtpu_backend *b, uint32_t handle);
int sync_signal_point(struct vtpu_backend *b, uint32_t handle, uint64_t point);
int sync_reset(struct vtpu_backend *b, uint32_t handle);
int sync_query(struct vtpu_backend *b, uint32_t handle, uint32_t flags, uint64_t *point);
/* @ns from now; 0: only look; negative: a deadline in the past */
int sync_wait(struct vtpu_backend *b, uint32_t handle, int64_t ns, uint32_t flags);
int sync_wait_point(struct vtpu_backend *b, uint32_t handle, uint64_t point, int64_t ns,
		    uint32_t flags);
int64_t conf_deadline(int64_t ns);
uint64_t conf_now(void);

/** quota_settles() - does the client's use of @quota become @want within a second? What is given back may take a while */
bool quota_settles(struct vtpu_backend *b, uint32_t quota, uint64_t want);

/** submit() - @count jobs; @taken may be NULL */
int submit(struct vtpu_backend *b, uint32_t queue, const struct vtpu_job *jobs, uint32_t count,
	   uint32_t *taken);

/** submit_signal() - one job whose only sync is to signal @sync (at @point of it, unless that is 0) */
int submit_signal(struct vtpu_backend *b, uint32_t queue, const struct vtpu_job *job, uint32_t sync,
		  uint64_t point);

/** run_job() - submit without other syncs and wait for the end; 0, the error of the queue's halt, or that of a call */
int run_job(struct vtpu_backend *b, uint32_t queue, const struct vtpu_job *job);

/** copy_job() - a job of these descriptors, which must stay */
struct vtpu_job copy_job(const struct vtpu_copy_desc *desc, uint32_t count);
struct vtpu_copy_desc copy_desc(uint64_t dst, uint64_t src, uint32_t bytes);
struct vtpu_copy_desc fill_desc(uint64_t dst, uint32_t bytes, uint32_t pattern);

/**
 * struct slow - a copy queue and a job on it that takes a few tenths of a second
 *
 * For cases that need something unfinished to look at.
 */
struct slow {
	uint32_t bo, queue, sync;
	struct vtpu_copy_desc desc[VTPU_MAX_COPY_DESCS];
};

int slow_prepare(struct vtpu_backend *b, struct slow *slow);
/* Signals slow->sync when it has ended */
int slow_start(struct vtpu_backend *b, struct slow *slow);

#define HBM(n)	   (VTPU_VA_HBM_START + (uint64_t)(n)*VTPU_LARGE_BYTES * 64)
#define HOST(n)	   (VTPU_VA_HOST_START + (uint64_t)(n)*VTPU_LARGE_BYTES * 64)
#define LONG_NS	   20000000000LL
#define FOR_SUBMIT DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT

#endif /* TESTS_CONFORMANCE_CONF_H */
