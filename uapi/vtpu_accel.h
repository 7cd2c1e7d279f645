/* SPDX-License-Identifier: MIT */
/*
 * vtpu_accel.h - ioctls of /dev/accel/accelN.
 *
 * Driver and library agree here; libvtpu's in-process backend answers the same
 * calls with the same structs. Bits that the hardware defines are in vtpu_hw.h.
 */
#ifndef _UAPI_VTPU_ACCEL_H_
#define _UAPI_VTPU_ACCEL_H_

#ifdef __KERNEL__
#include <drm/drm.h>
#else
#include <drm.h> /* libdrm's copy: pkg-config --cflags libdrm */
#endif

#include "vtpu_hw.h"

/**
 * DOC: rules of this interface
 *
 * - One open file is one client with one address space. Handles and ids belong
 *   to the file; nothing is global.
 * - Struct sizes are multiples of 8, fields are naturally aligned, padding is
 *   explicit, must be zero and is checked. Unknown flags are refused (EINVAL).
 *   New fields are appended, with zero meaning the old behaviour; new ioctls get
 *   new numbers; every addition raises the driver's minor version.
 * - Pointers travel as __u64. Arrays travel as struct vtpu_array with the size of
 *   an element, so that elements can grow.
 * - Queries copy min(user's, kernel's) bytes and zero the rest of the user's.
 * - Timeouts are absolute CLOCK_MONOTONIC nanoseconds. Waits are interruptible
 *   and restartable.
 * - Jobs are ordered inside a queue; between queues only by sync objects, which
 *   are the DRM core's (binary and timeline).
 * - An ioctl checks shape. What only the device can know (mapping, rights,
 *   aliases, faults) arrives as the error of the job's fence and in
 *   DRM_IOCTL_VTPU_QUEUE_STATE.
 *
 * Errors: EINVAL bad argument, E2BIG over a limit, ENOENT no such object of this
 * file, ENOSPC HBM full, ENOMEM host memory, EDQUOT a quota of the file or user,
 * EPERM privilege, EBUSY still in use, ECANCELED queue halted, ENODEV device gone,
 * EIO device wedged, EAGAIN the device was reset meanwhile: call again, EFAULT bad
 * user pointer.
 */

#define DRM_VTPU_DEV_QUERY     0x00
#define DRM_VTPU_BO_CREATE     0x01
#define DRM_VTPU_BO_INFO       0x02
#define DRM_VTPU_BO_WAIT       0x03
#define DRM_VTPU_VM_BIND       0x04
#define DRM_VTPU_QUEUE_CREATE  0x05
#define DRM_VTPU_QUEUE_DESTROY 0x06
#define DRM_VTPU_QUEUE_STATE   0x07
#define DRM_VTPU_SUBMIT	       0x08
/* 0x09..0x0b are reserved for performance sessions */
#define DRM_VTPU_BO_SET_LABEL 0x0c
/* 0x0d is reserved for the event mask */
#define DRM_VTPU_PROGRAM_CREATE	 0x0e
#define DRM_VTPU_PROGRAM_DESTROY 0x0f
#define DRM_VTPU_PROGRAM_INFO	 0x10

/* Limits, enforced with E2BIG before anything is allocated */
#define VTPU_MAX_SUBMIT_JOBS 512
#define VTPU_MAX_JOB_SYNCS   64
#define VTPU_MAX_JOB_BOS     1024
#define VTPU_MAX_BIND_OPS    4096
#define VTPU_MAX_LABEL	     64 /* bytes, NUL included */

/** struct vtpu_array - an array in user memory */
struct vtpu_array {
	/** @stride: bytes of one element as the caller knows it; at least the first version's */
	__u32 stride;
	/** @count: elements */
	__u32 count;
	/** @array: pointer; ignored when @count is 0 */
	__u64 array;
};

/* ---- Query -------------------------------------------------------------- */

/** enum vtpu_query_type - struct vtpu_dev_query.type */
enum vtpu_query_type {
	VTPU_QUERY_INFO = 0,	 /* struct vtpu_query_info */
	VTPU_QUERY_GEOMETRY = 1, /* struct vtpu_hw_geometry */
	VTPU_QUERY_CORE = 2,	 /* struct vtpu_query_core; index: core */
	VTPU_QUERY_MEMORY = 3,	 /* struct vtpu_query_memory; index: enum vtpu_region */
	VTPU_QUERY_TIME = 4,	 /* struct vtpu_query_time */
	VTPU_QUERY_QUOTA = 5,	 /* struct vtpu_query_quota; index: enum vtpu_quota */
};

/** struct vtpu_dev_query - argument of DRM_IOCTL_VTPU_DEV_QUERY */
struct vtpu_dev_query {
	/** @type: enum vtpu_query_type */
	__u32 type;
	/** @index: as @type says, else zero */
	__u32 index;
	/** @size: in: bytes at @ptr; out: bytes that the kernel knows */
	__u32 size;
	/** @flags: must be zero */
	__u32 flags;
	/** @ptr: where to write; 0: only report @size */
	__u64 ptr;
};

/** struct vtpu_query_info - the device */
struct vtpu_query_info {
	/** @hw_version: VTPU_REG_VERSION */
	__u32 hw_version;
	/** @state: enum vtpu_device_state */
	__u32 state;
	/** @caps: VTPU_CAP_* */
	__u64 caps;
	/** @serial: serial number */
	__u64 serial;
	/** @hbm_bytes: HBM in all */
	__u64 hbm_bytes;
	/** @hbm_usable: HBM that clients can have */
	__u64 hbm_usable;
	/** @cores: cores */
	__u32 cores;
	/** @max_queues: I/O queues of the device */
	__u32 max_queues;
	/** @max_depth: entries that a queue may have */
	__u32 max_depth;
	/** @reset_count: device resets since the driver was bound */
	__u32 reset_count;
	/** @pci: domain << 16 | bus << 8 | slot << 3 | function */
	__u32 pci;
	/** @priorities: bit n: enum vtpu_hw_priority n is allowed for this caller */
	__u32 priorities;
	/** @clients: open files */
	__u32 clients;
	/** @pad: zero */
	__u32 pad;
	/** @jobs_submitted: jobs accepted since the driver was bound */
	__u64 jobs_submitted;
	/** @jobs_completed: jobs ended without error */
	__u64 jobs_completed;
	/** @jobs_failed: jobs ended with an error */
	__u64 jobs_failed;
};

/** enum vtpu_device_state - struct vtpu_query_info.state */
enum vtpu_device_state {
	VTPU_DEVICE_OK = 0,
	VTPU_DEVICE_RESETTING = 1,
	VTPU_DEVICE_WEDGED = 2, /* a reset failed; all work is refused */
};

/** struct vtpu_query_core - counters of a core */
struct vtpu_query_core {
	/** @sampled_ns: CLOCK_MONOTONIC when they were read */
	__u64 sampled_ns;
	/** @stats: counters */
	struct vtpu_hw_core_stats stats;
};

/** enum vtpu_region - where a buffer lives */
enum vtpu_region {
	VTPU_REGION_HBM = 0,
	VTPU_REGION_HOST = 1,
};

/** struct vtpu_query_memory - a memory region */
struct vtpu_query_memory {
	/** @size: bytes in all; HOST: 0 */
	__u64 size;
	/** @used: bytes in buffers of all clients */
	__u64 used;
	/** @largest_free: largest buffer that would fit now; HOST: 0 */
	__u64 largest_free;
	/** @reserved: HBM: bytes that the driver keeps for itself */
	__u64 reserved;
};

/** struct vtpu_query_time - both clocks, read together */
struct vtpu_query_time {
	/** @device_ns: VTPU_REG_TIME_NS */
	__u64 device_ns;
	/** @cpu_ns: CLOCK_MONOTONIC half way through the read */
	__u64 cpu_ns;
	/** @uncertainty_ns: half of the time that the read took */
	__u64 uncertainty_ns;
};

/** enum vtpu_quota - what is limited */
enum vtpu_quota {
	VTPU_QUOTA_HBM_BYTES = 0,
	VTPU_QUOTA_HOST_BYTES = 1,
	VTPU_QUOTA_QUEUES = 2,
	VTPU_QUOTA_PROGRAMS = 3,
	VTPU_QUOTA_INSTRUCTIONS = 4, /* instances of all programs */
	VTPU_QUOTA_JOBS = 5,	     /* in flight */
	VTPU_QUOTAS = 6,
};

/** struct vtpu_query_quota - use and limit; 0 as a limit is none */
struct vtpu_query_quota {
	/** @file_used: of this file */
	__u64 file_used;
	/** @file_limit: of each file */
	__u64 file_limit;
	/** @user_used: of all files of this user */
	__u64 user_used;
	/** @user_limit: of each user */
	__u64 user_limit;
};

/* ---- Buffers ------------------------------------------------------------ */

/** struct vtpu_bo_create - argument of DRM_IOCTL_VTPU_BO_CREATE */
struct vtpu_bo_create {
	/** @size: in: bytes, at least 1; out: rounded up to pages. HBM is one extent, zeroed */
	__u64 size;
	/** @region: enum vtpu_region */
	__u32 region;
	/** @flags: VTPU_BO_* */
	__u32 flags;
	/** @handle: out */
	__u32 handle;
	/** @pad: must be zero */
	__u32 pad;
};

#define VTPU_BO_MAPPABLE (1u << 0) /* HBM: may be mapped into the process; HOST always may */
#define VTPU_BO_FLAGS	 (VTPU_BO_MAPPABLE)

/** struct vtpu_bo_info - argument of DRM_IOCTL_VTPU_BO_INFO */
struct vtpu_bo_info {
	/** @handle: in */
	__u32 handle;
	/** @region: enum vtpu_region */
	__u32 region;
	/** @flags: VTPU_BO_* */
	__u32 flags;
	/** @pad: must be zero */
	__u32 pad;
	/** @size: bytes */
	__u64 size;
	/** @mmap_offset: for mmap() of the file; 0: not mappable */
	__u64 mmap_offset;
};

/**
 * struct vtpu_bo_wait - argument of DRM_IOCTL_VTPU_BO_WAIT: until no job that named it in bos is
 * left
 */
struct vtpu_bo_wait {
	/** @handle: buffer */
	__u32 handle;
	/** @flags: VTPU_BO_WAIT_* */
	__u32 flags;
	/** @timeout_ns: absolute; ETIMEDOUT when it passes, at once when it has passed */
	__s64 timeout_ns;
};

#define VTPU_BO_WAIT_WRITE (1u << 0) /* wait for readers too, else only for writers */

/** struct vtpu_bo_set_label - argument of DRM_IOCTL_VTPU_BO_SET_LABEL */
struct vtpu_bo_set_label {
	/** @handle: buffer */
	__u32 handle;
	/** @pad: must be zero */
	__u32 pad;
	/**
	 * @label: pointer to a NUL-terminated string of at most %VTPU_MAX_LABEL bytes; 0 removes it
	 */
	__u64 label;
};

/** enum vtpu_bind_type - struct vtpu_bind_op.op */
enum vtpu_bind_type {
	VTPU_BIND_MAP = 0,
	VTPU_BIND_UNMAP = 1,
};

/** struct vtpu_bind_op - map a part of a buffer, or unmap a range */
struct vtpu_bind_op {
	/** @op: enum vtpu_bind_type */
	__u32 op;
	/** @flags: VTPU_BIND_*; UNMAP: zero */
	__u32 flags;
	/** @handle: MAP: buffer; UNMAP: zero */
	__u32 handle;
	/** @pad: must be zero */
	__u32 pad;
	/** @bo_offset: MAP: first byte of the buffer, page aligned; UNMAP: zero */
	__u64 bo_offset;
	/**
	 * @va: page aligned; HBM in [VTPU_VA_HBM_START, VTPU_VA_HBM_END), HOST
	 * in [VTPU_VA_HOST_START, VTPU_VA_HOST_END). MAP: nothing may be mapped
	 * there (EEXIST). UNMAP: may cover any number of mappings, whole or in
	 * part, and holes
	 */
	__u64 va;
	/** @size: bytes, page aligned, at least a page */
	__u64 size;
};

#define VTPU_BIND_READONLY (1u << 0)
#define VTPU_BIND_FLAGS	   (VTPU_BIND_READONLY)

/**
 * struct vtpu_vm_bind - argument of DRM_IOCTL_VTPU_VM_BIND
 *
 * Done in order. On an error the ops before it stay done and @done says how
 * many. Jobs that run keep what they were started with; memory goes back to
 * the allocator only after them.
 */
struct vtpu_vm_bind {
	/** @flags: must be zero */
	__u32 flags;
	/** @done: out: ops done */
	__u32 done;
	/** @ops: struct vtpu_bind_op[], 1..%VTPU_MAX_BIND_OPS */
	struct vtpu_array ops;
};

/* ---- Programs ----------------------------------------------------------- */

/**
 * struct vtpu_program_create - argument of DRM_IOCTL_VTPU_PROGRAM_CREATE
 *
 * The image is copied. A refused program leaves its report in @result and
 * @records as far as those were given.
 */
struct vtpu_program_create {
	/** @image: pointer to the image */
	__u64 image;
	/** @bytes: of the image, at most %VTPU_MAX_IMAGE_BYTES */
	__u64 bytes;
	/** @result: pointer to struct vtpu_load_result, or 0 */
	__u64 result;
	/** @records: pointer to struct vtpu_load_record[], or 0 */
	__u64 records;
	/** @max_records: room there, at most %VTPU_MAX_RECORDS */
	__u32 max_records;
	/** @flags: VTPU_LOAD_* */
	__u32 flags;
	/** @program: out: id */
	__u32 program;
	/** @pad: must be zero */
	__u32 pad;
};

/**
 * struct vtpu_program_destroy - argument of DRM_IOCTL_VTPU_PROGRAM_DESTROY; jobs in flight keep it
 */
struct vtpu_program_destroy {
	/** @program: id */
	__u32 program;
	/** @pad: must be zero */
	__u32 pad;
};

/** struct vtpu_program_info - argument of DRM_IOCTL_VTPU_PROGRAM_INFO */
struct vtpu_program_info {
	/** @program: in: id */
	__u32 program;
	/** @width: cores of the gang */
	__u32 width;
	/** @nbases: bases that a job must bind */
	__u32 nbases;
	/** @nscalars: scalars that a job must give */
	__u32 nscalars;
	/** @image_bytes: bytes of the image */
	__u64 image_bytes;
	/** @result: what the load found */
	struct vtpu_load_result result;
};

/* ---- Queues and jobs ---------------------------------------------------- */

/** struct vtpu_queue_create - argument of DRM_IOCTL_VTPU_QUEUE_CREATE */
struct vtpu_queue_create {
	/** @kind: enum vtpu_queue_kind */
	__u32 kind;
	/** @flags: must be zero */
	__u32 flags;
	/** @priority: enum vtpu_hw_priority; HIGH needs CAP_SYS_NICE (EPERM) */
	__u32 priority;
	/** @depth: entries, a power of two, 2..1024; 0: 64 */
	__u32 depth;
	/** @core_mask: cores its jobs may use; 0: all. COPY: 0 */
	__u64 core_mask;
	/** @max_cycles: modelled cycles that a job may take; 0: no limit */
	__u64 max_cycles;
	/** @queue: out: id */
	__u32 queue;
	/** @pad: must be zero */
	__u32 pad;
};

/**
 * struct vtpu_queue_destroy - argument of DRM_IOCTL_VTPU_QUEUE_DESTROY; its jobs end as ECANCELED
 */
struct vtpu_queue_destroy {
	/** @queue: id */
	__u32 queue;
	/** @pad: must be zero */
	__u32 pad;
};

/** struct vtpu_queue_state - argument of DRM_IOCTL_VTPU_QUEUE_STATE */
struct vtpu_queue_state {
	/** @queue: in: id */
	__u32 queue;
	/** @flags: VTPU_QUEUE_* */
	__u32 flags;
	/** @status: enum vtpu_hw_status of the job that halted it, else 0 */
	__u32 status;
	/** @error: the errno (negative) that its fence carries, else 0 */
	__s32 error;
	/** @op_id: operation of the fault */
	__u32 op_id;
	/** @where: VTPU_WHERE() of the fault */
	__u32 where;
	/** @fault_addr: address or index of the fault */
	__u64 fault_addr;
	/** @fault_tag: tag of the job that halted it */
	__u64 fault_tag;
	/** @submitted: jobs accepted */
	__u64 submitted;
	/** @completed: jobs ended, well or not */
	__u64 completed;
	/** @cycles: modelled cycles of the last job that ended well */
	__u64 cycles;
	/** @total_cycles: of all jobs that ended well */
	__u64 total_cycles;
};

#define VTPU_QUEUE_HALTED (1u << 0) /* by its own job; make a new queue */
#define VTPU_QUEUE_RESET  (1u << 1) /* lost to a reset that it did not cause */

/** struct vtpu_sync - a sync object to wait for or to signal */
struct vtpu_sync {
	/** @flags: VTPU_SYNC_* */
	__u32 flags;
	/** @handle: sync object of this file */
	__u32 handle;
	/** @point: TIMELINE: point, at least 1; else zero */
	__u64 point;
};

#define VTPU_SYNC_SIGNAL \
	(1u << 0) /* signal it when the job has ended; else wait before it starts */
#define VTPU_SYNC_TIMELINE (1u << 1)
#define VTPU_SYNC_FLAGS	   (VTPU_SYNC_SIGNAL | VTPU_SYNC_TIMELINE)

/** struct vtpu_bo_ref - a buffer whose waiters must see the job */
struct vtpu_bo_ref {
	/** @handle: buffer */
	__u32 handle;
	/** @flags: VTPU_BO_REF_* */
	__u32 flags;
};

#define VTPU_BO_REF_WRITE (1u << 0)

/** struct vtpu_job - one job */
struct vtpu_job {
	/** @program: id; COPY queues: 0 */
	__u32 program;
	/** @flags: VTPU_JOB_* */
	__u32 flags;
	/**
	 * @args: pointer to the argument block (struct vtpu_job_args and what follows, or struct
	 * vtpu_copy_desc[]); copied
	 */
	__u64 args;
	/** @args_size: bytes, at most %VTPU_ARG_SLOT_BYTES */
	__u32 args_size;
	/** @pad: must be zero */
	__u32 pad;
	/** @tag: the caller's, comes back in struct vtpu_queue_state */
	__u64 tag;
	/** @syncs: struct vtpu_sync[] */
	struct vtpu_array syncs;
	/**
	 * @bos: struct vtpu_bo_ref[]; only for DRM_IOCTL_VTPU_BO_WAIT and buffers shared with
	 * others
	 */
	struct vtpu_array bos;
	/** @launch_id: must be zero */
	__u64 launch_id;
	/** @peer_count: must be zero */
	__u32 peer_count;
	/** @pad2: must be zero */
	__u32 pad2;
};

#define VTPU_JOB_NOP   (1u << 0) /* program and args zero: only waits and signals, in order */
#define VTPU_JOB_FLAGS (VTPU_JOB_NOP)

/**
 * struct vtpu_submit - argument of DRM_IOCTL_VTPU_SUBMIT
 *
 * All jobs are checked before the first is accepted; waits see what their sync
 * objects hold at the call. When the ring is full the call waits, or with
 * O_NONBLOCK fails with EAGAIN. As with write(2), what is temporary is no error
 * once a job was accepted: the call returns 0 and @submitted is less than the
 * count. After an error, too, the first @submitted jobs are on their way. A
 * queue that halts after the first job was accepted takes the others as well;
 * they end as cancelled.
 */
struct vtpu_submit {
	/** @queue: id */
	__u32 queue;
	/** @flags: must be zero */
	__u32 flags;
	/** @jobs: struct vtpu_job[], 1..%VTPU_MAX_SUBMIT_JOBS */
	struct vtpu_array jobs;
	/** @submitted: out: jobs accepted */
	__u32 submitted;
	/** @pad: must be zero */
	__u32 pad;
};

#define DRM_IOCTL_VTPU_DEV_QUERY \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VTPU_DEV_QUERY, struct vtpu_dev_query)
#define DRM_IOCTL_VTPU_BO_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VTPU_BO_CREATE, struct vtpu_bo_create)
#define DRM_IOCTL_VTPU_BO_INFO DRM_IOWR(DRM_COMMAND_BASE + DRM_VTPU_BO_INFO, struct vtpu_bo_info)
#define DRM_IOCTL_VTPU_BO_WAIT DRM_IOW(DRM_COMMAND_BASE + DRM_VTPU_BO_WAIT, struct vtpu_bo_wait)
#define DRM_IOCTL_VTPU_VM_BIND DRM_IOWR(DRM_COMMAND_BASE + DRM_VTPU_VM_BIND, struct vtpu_vm_bind)
#define DRM_IOCTL_VTPU_QUEUE_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VTPU_QUEUE_CREATE, struct vtpu_queue_create)
#define DRM_IOCTL_VTPU_QUEUE_DESTROY \
	DRM_IOW(DRM_COMMAND_BASE + DRM_VTPU_QUEUE_DESTROY, struct vtpu_queue_destroy)
#define DRM_IOCTL_VTPU_QUEUE_STATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VTPU_QUEUE_STATE, struct vtpu_queue_state)
#define DRM_IOCTL_VTPU_SUBMIT DRM_IOWR(DRM_COMMAND_BASE + DRM_VTPU_SUBMIT, struct vtpu_submit)
#define DRM_IOCTL_VTPU_BO_SET_LABEL \
	DRM_IOW(DRM_COMMAND_BASE + DRM_VTPU_BO_SET_LABEL, struct vtpu_bo_set_label)
#define DRM_IOCTL_VTPU_PROGRAM_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VTPU_PROGRAM_CREATE, struct vtpu_program_create)
#define DRM_IOCTL_VTPU_PROGRAM_DESTROY \
	DRM_IOW(DRM_COMMAND_BASE + DRM_VTPU_PROGRAM_DESTROY, struct vtpu_program_destroy)
#define DRM_IOCTL_VTPU_PROGRAM_INFO \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VTPU_PROGRAM_INFO, struct vtpu_program_info)

#if defined(__KERNEL__) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
_Static_assert(sizeof(struct vtpu_array) == 16, "vtpu_array");
_Static_assert(sizeof(struct vtpu_dev_query) == 24, "vtpu_dev_query");
_Static_assert(sizeof(struct vtpu_query_info) == 96, "vtpu_query_info");
_Static_assert(sizeof(struct vtpu_query_core) == 72, "vtpu_query_core");
_Static_assert(sizeof(struct vtpu_query_memory) == 32, "vtpu_query_memory");
_Static_assert(sizeof(struct vtpu_query_time) == 24, "vtpu_query_time");
_Static_assert(sizeof(struct vtpu_query_quota) == 32, "vtpu_query_quota");
_Static_assert(sizeof(struct vtpu_bo_create) == 24, "vtpu_bo_create");
_Static_assert(sizeof(struct vtpu_bo_info) == 32, "vtpu_bo_info");
_Static_assert(sizeof(struct vtpu_bo_wait) == 16, "vtpu_bo_wait");
_Static_assert(sizeof(struct vtpu_bo_set_label) == 16, "vtpu_bo_set_label");
_Static_assert(sizeof(struct vtpu_bind_op) == 40, "vtpu_bind_op");
_Static_assert(sizeof(struct vtpu_vm_bind) == 24, "vtpu_vm_bind");
_Static_assert(sizeof(struct vtpu_program_create) == 48, "vtpu_program_create");
_Static_assert(sizeof(struct vtpu_program_destroy) == 8, "vtpu_program_destroy");
_Static_assert(sizeof(struct vtpu_program_info) == 88, "vtpu_program_info");
_Static_assert(sizeof(struct vtpu_queue_create) == 40, "vtpu_queue_create");
_Static_assert(sizeof(struct vtpu_queue_destroy) == 8, "vtpu_queue_destroy");
_Static_assert(sizeof(struct vtpu_queue_state) == 72, "vtpu_queue_state");
_Static_assert(sizeof(struct vtpu_sync) == 16, "vtpu_sync");
_Static_assert(sizeof(struct vtpu_bo_ref) == 8, "vtpu_bo_ref");
_Static_assert(sizeof(struct vtpu_job) == 80, "vtpu_job");
_Static_assert(sizeof(struct vtpu_submit) == 32, "vtpu_submit");
#endif

#endif /* _UAPI_VTPU_ACCEL_H_ */
