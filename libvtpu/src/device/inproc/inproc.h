/* SPDX-License-Identifier: MIT */
/*
 * inproc.h - a driver inside this process, for a chip inside this process.
 *
 * It plays the part of vtpu.ko over the model's real registers, rings and page
 * tables: same ioctls, same errors, same fences. What both must do alike is in
 * vtpu_hwlib.h.
 *
 *   machine.c  the host operations and the control thread
 *   config.c   the words behind "model:"
 *   chip.c     power on and off, the admin queue's set-up, shared opens
 *   admin.c    admin commands
 *   fence.c    fences and timelines
 *   syncobj.c  the DRM sync-object ioctls
 *   bo.c       buffers; clearing of HBM
 *   vm.c       address spaces
 *   program.c  programs
 *   queue.c    hardware queues: rings, completions
 *   submit.c   jobs
 *   client.c   an open file: handles, queries, the table of ioctls
 *
 * One lock, ip_device.lock, guards all of it. The chip is called under it only
 * through vtpu_chip_read() and vtpu_chip_write(), which never wait. The control
 * thread runs the chip without the lock and takes it to look at completions.
 */
#ifndef VTPU_INPROC_H
#define VTPU_INPROC_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/range.h"
#include "device/backend.h"
#include "vtpu_hwlib.h"
#include "vtpu_model.h"

#define IP_NS_PER_S 1000000000ULL

struct ip_client;
struct ip_device;
struct ip_queue;

/* ---- Fences (fence.c) ----------------------------------------------------- */

/**
 * struct ip_fence - something that ends once, or a link of a timeline
 *
 * A link is signalled when its own fence and all links before it are.
 */
struct ip_fence {
	uint32_t refs;
	bool signalled;
	int error; /* negative errno of a job that failed */
	bool link;
	struct ip_fence *prev, *inner;
	uint64_t seqno, prev_seqno, context;
};

struct ip_fence *ip_fence_create(void);
struct ip_fence *ip_fence_get(struct ip_fence *fence);
void ip_fence_put(struct ip_fence *fence);
void ip_fence_signal(struct ip_device *dev, struct ip_fence *fence, int error);
bool ip_fence_signalled(struct ip_fence *fence);

/** ip_link_create() - a timeline link for @point behind @prev; takes the reference to @prev, gets one to @inner */
struct ip_fence *ip_link_create(struct ip_device *dev, struct ip_fence *prev,
				struct ip_fence *inner, uint64_t point);

/** ip_link_find() - replace *@fence by the link that covers @point, NULL if that has ended; 0 or -EINVAL */
int ip_link_find(struct ip_fence **fence, uint64_t point);

/** ip_link_walk() - the link before; drops links that have ended; puts @fence */
struct ip_fence *ip_link_walk(struct ip_fence *fence);

/* ---- Handles ---------------------------------------------------------------- */

/** struct ip_table - small numbers from 1 up for things */
struct ip_table {
	void **slot;
	uint32_t room;
};

/** ip_table_add() - the lowest free number; 0 without memory */
uint32_t ip_table_add(struct ip_table *table, void *thing);
void *ip_table_find(const struct ip_table *table, uint32_t number);
void *ip_table_remove(struct ip_table *table, uint32_t number);

/* ---- Sync objects (syncobj.c) ------------------------------------------------ */

struct ip_syncobj {
	uint32_t refs;		/* handle, threads that wait */
	struct ip_fence *fence; /* NULL: nothing submitted yet */
};

struct ip_syncobj *ip_syncobj_find(struct ip_client *client, uint32_t handle);

/** ip_syncobj_fence() - reference to the fence to wait for; @point 0: binary. 0, -ENOENT, -EINVAL */
int ip_syncobj_fence(struct ip_client *client, uint32_t handle, uint64_t point,
		     struct ip_fence **fence);

/** ip_syncobj_replace() - binary signal; takes the reference to @fence */
void ip_syncobj_replace(struct ip_device *dev, struct ip_syncobj *obj, struct ip_fence *fence);

/** ip_syncobj_add_point() - timeline signal; -ENOMEM */
int ip_syncobj_add_point(struct ip_device *dev, struct ip_syncobj *obj, struct ip_fence *fence,
			 uint64_t point);

int ip_syncobj_ioctl(struct ip_client *client, unsigned long request, void *arg);
void ip_syncobj_release_all(struct ip_client *client);

/* ---- System memory (machine.c) ------------------------------------------------ */

/** ip_memory_alloc() - zeroed pages that the chip's DMA may reach; the bus address is the pointer */
void *ip_memory_alloc(struct ip_device *dev, uint64_t bytes);
void ip_memory_free(struct ip_device *dev, void *memory, uint64_t bytes);

/** ip_doorbell() - tell the chip to look at a queue's tail word */
void ip_doorbell(struct ip_device *dev, uint32_t queue);

/* ---- Admin commands (admin.c) --------------------------------------------------- */

/** struct ip_command - an admin command on its way */
struct ip_command {
	struct ip_command *next;
	union {
		struct vtpu_admin_header h;
		struct vtpu_admin_context context;
		struct vtpu_admin_queue queue;
		struct vtpu_admin_program program;
		uint8_t byte[64];
	} u;
	bool waited; /* by a thread, which frees it; else freed after @done */
	bool ended;
	uint32_t status;
	void (*done)(struct ip_device *dev, struct ip_command *cmd);
	void *arg;
};

/** ip_command_create() - for @opcode; NULL without memory */
struct ip_command *ip_command_create(uint16_t opcode);

/** ip_command_post() - send it when there is room; @done may be NULL */
void ip_command_post(struct ip_device *dev, struct ip_command *cmd,
		     void (*done)(struct ip_device *dev, struct ip_command *cmd), void *arg);

/** ip_command_run() - send it, wait with the lock given up, free it; enum vtpu_hw_status */
uint32_t ip_command_run(struct ip_device *dev, struct ip_command *cmd);

void ip_admin_poll(struct ip_device *dev);

/* ---- Buffers (bo.c) --------------------------------------------------------------- */

/** struct ip_use - a job that named a buffer */
struct ip_use {
	struct ip_use *next;
	struct ip_fence *fence;
	bool write;
};

struct ip_bo {
	uint32_t refs; /* handle, mappings, jobs, CPU mappings */
	uint32_t maps; /* of these, CPU mappings */
	uint32_t region, flags;
	uint64_t bytes;
	uint64_t hbm;		    /* HBM: address */
	void *host;		    /* HOST: pages */
	struct ip_client *client;   /* pays for it; NULL once that is gone */
	struct ip_bo *next, **link; /* of the client */
	struct ip_use *uses;
	char label[VTPU_MAX_LABEL];
};

int ip_bo_create(struct ip_client *client, struct vtpu_bo_create *arg);
int ip_bo_close(struct ip_client *client, struct drm_gem_close *arg);
int ip_bo_info(struct ip_client *client, struct vtpu_bo_info *arg);
int ip_bo_wait(struct ip_client *client, struct vtpu_bo_wait *arg);
int ip_bo_set_label(struct ip_client *client, struct vtpu_bo_set_label *arg);
struct ip_bo *ip_bo_get(struct ip_bo *bo);
void ip_bo_put(struct ip_device *dev, struct ip_bo *bo);
void *ip_bo_pointer(struct ip_device *dev, struct ip_bo *bo);
int ip_bo_add_use(struct ip_bo *bo, struct ip_fence *fence, bool write);

/* ---- Address spaces (vm.c) ----------------------------------------------------------- */

/** struct ip_mapping - a range of an address space */
struct ip_mapping {
	struct ip_mapping *next; /* by address */
	uint64_t va, bytes;
	uint64_t offset;
	struct ip_bo *bo;
};

/** struct ip_space - an address space */
struct ip_space {
	uint32_t context;
	uint64_t root;
	struct ip_mapping *mappings;
};

/** ip_space_create() - with a context of the chip; 0 or a negative errno */
int ip_space_create(struct ip_device *dev, struct ip_space *space);

/** ip_space_destroy() - no queue or program may use it any more */
void ip_space_destroy(struct ip_device *dev, struct ip_space *space);

/** ip_space_map_all() - all HBM at the kernel's addresses, for the driver's own copies */
int ip_space_map_all(struct ip_device *dev, struct ip_space *space);

int ip_vm_bind(struct ip_client *client, struct vtpu_vm_bind *arg);

/* ---- Programs (program.c) ---------------------------------------------------------------- */

struct ip_program {
	uint32_t refs; /* handle, jobs */
	uint32_t id;
	struct ip_client *client; /* NULL once that is gone */
	uint64_t image, bytes;
	uint32_t width, nbases, nscalars;
	struct vtpu_load_result result;
};

int ip_program_create(struct ip_client *client, struct vtpu_program_create *arg);
int ip_program_destroy(struct ip_client *client, struct vtpu_program_destroy *arg);
int ip_program_info(struct ip_client *client, struct vtpu_program_info *arg);
void ip_program_put(struct ip_device *dev, struct ip_program *program);

/* ---- Queues and jobs (queue.c, submit.c) ----------------------------------------------------- */

struct ip_job {
	struct ip_job *next;
	struct ip_queue *queue;
	struct ip_program *program;
	bool nop;
	uint64_t tag;
	struct ip_fence *fence; /* its end */
	struct ip_fence **wait; /* before its start */
	uint32_t nwait;
	struct vtpu_array signals; /* private copy of struct vtpu_sync[], all with SIGNAL */
	struct ip_bo **bo;	   /* named by it */
	bool *bo_write;
	uint32_t nbo;
	void (*done)(struct ip_device *dev, struct ip_job *job,
		     int error); /* the driver's own jobs */
	void *arg;
	uint32_t args_bytes;
	_Alignas(8) uint8_t args[];
};

struct ip_queue {
	uint32_t refs; /* handle or owner, threads inside a submit */
	uint32_t id;
	struct ip_client *client; /* NULL: the driver's own */
	uint32_t kind, depth, depth_log2;
	/* System memory that the chip reads and writes */
	void *memory;
	uint64_t memory_bytes;
	struct vtpu_sqe *sq;
	struct vtpu_cqe *cq;
	_Atomic uint32_t *tail;
	uint8_t *args;
	/* Jobs: waiting for fences or room, then in the ring by number */
	struct ip_job *first, **last;
	struct ip_job **ring;
	uint32_t pushed, reaped;
	bool halted, dying;
	struct vtpu_queue_state state;
};

int ip_queue_create(struct ip_client *client, struct vtpu_queue_create *arg);
int ip_queue_destroy(struct ip_client *client, struct vtpu_queue_destroy *arg);
int ip_queue_state(struct ip_client *client, struct vtpu_queue_state *arg);

/** ip_queue_open() - set a queue up in the chip for @space; 0 or a negative errno */
int ip_queue_open(struct ip_device *dev, const struct ip_space *space,
		  const struct vtpu_queue_create *arg, struct ip_queue **out);

/** ip_queue_close() - end its jobs, wait for that, tear it down */
void ip_queue_close(struct ip_device *dev, struct ip_queue *q);

void ip_queue_get(struct ip_queue *q);
void ip_queue_put(struct ip_device *dev, struct ip_queue *q);

/** ip_queue_enter() - append a job */
void ip_queue_enter(struct ip_device *dev, struct ip_queue *q, struct ip_job *job);

/** ip_queues_kick() - push every job that may go */
void ip_queues_kick(struct ip_device *dev);

void ip_queues_poll(struct ip_device *dev);

/** ip_job_create() - with a copy of @args; NULL without memory */
struct ip_job *ip_job_create(const void *args, uint32_t bytes);
void ip_job_free(struct ip_device *dev, struct ip_job *job);

int ip_submit(struct ip_client *client, struct vtpu_submit *arg);

/* ---- Clients (client.c) -------------------------------------------------------------------------- */

/** struct ip_client - an open file */
struct ip_client {
	struct vtpu_backend backend;
	struct ip_device *dev;
	struct ip_client *next;
	struct ip_space space;
	struct ip_table bos, queues, programs, syncobjs;
	struct ip_bo *bo_list;
	uint64_t used[VTPU_QUOTAS];
};

/** ip_quota_take() - count @amount for @quota; 0 or -EDQUOT */
int ip_quota_take(struct ip_client *client, enum vtpu_quota quota, uint64_t amount);
void ip_quota_give(struct ip_client *client, enum vtpu_quota quota, uint64_t amount);

enum vtpu_status ip_client_create(struct ip_device *dev, struct ip_client **out);

/* ---- The device ------------------------------------------------------------------------------------ */

/** struct ip_config - the words behind "model:" (config.c) */
struct ip_config {
	struct vtpu_chip_config chip;
	struct vtpu_injection inject;
	char preset[16];
	char id[32];
	uint32_t threads;
	bool geometry; /* some property of preset custom was given */
};

enum vtpu_status ip_config_parse(const char *options, struct ip_config *config);

/** struct ip_region - system memory that DMA may reach */
struct ip_region {
	uintptr_t start;
	uint64_t bytes;
};

/** struct ip_machine - host operations and control thread (machine.c) */
struct ip_machine {
	pthread_t thread;
	bool started;
	pthread_mutex_t lock; /* of the four below; a leaf */
	pthread_cond_t wake;
	bool deferred, stop;
	uint64_t timer_ns;
	uint64_t vectors;	  /* raised */
	pthread_rwlock_t memory;  /* of the regions; held for the length of a DMA */
	struct ip_region *region; /* sorted */
	size_t regions, room;
};

struct ip_device {
	struct ip_device *next; /* all of the process, under the registry's lock */
	uint32_t opens;		/* the same */
	char id[32];
	struct vtpu_chip *chip;
	struct vtpu_pool *pool;
	uint8_t *hbm;
	uint64_t hbm_bytes;
	struct ip_machine machine;

	pthread_mutex_t lock;	/* of all below */
	pthread_cond_t changed; /* a fence, a sync object, a command, room in a ring, HBM */
	struct ip_client *clients;
	uint32_t nclients;
	struct vtpu_range reserved, buffers; /* of HBM */
	uint64_t reserved_bytes;
	uint64_t clearing; /* bytes of HBM on their way back */
	uint64_t host_used;
	uint64_t last_context; /* of timelines */
	struct {
		void *memory;
		struct vtpu_sqe *sq;
		struct vtpu_cqe *cq;
		_Atomic uint32_t *tail;
		uint32_t pushed, reaped;
		struct ip_command *sent;	  /* any order */
		struct ip_command *first, **last; /* not sent yet */
	} admin;
	struct ip_queue *queue[VTPU_MAX_QUEUES + 1];
	struct ip_program *program[VTPU_MAX_PROGRAMS + 1];
	bool context[VTPU_MAX_CONTEXTS + 1];
	struct ip_space kernel; /* the driver's own */
	struct ip_queue *clear; /* its copy queue */
	uint64_t jobs_submitted, jobs_completed, jobs_failed;
};

/** ip_device_put() - an open is gone; the last powers the chip off (chip.c) */
void ip_device_put(struct ip_device *dev);

/* machine.c */
bool ip_machine_init(struct ip_device *dev);
bool ip_machine_start(struct ip_device *dev);
void ip_machine_stop(struct ip_device *dev);
void ip_machine_fini(struct ip_device *dev);
extern const struct vtpu_host_ops ip_host_ops;
uint64_t ip_now_ns(void);

/** ip_wait() - wait for a change with the lock given up; false: @deadline_ns (absolute) has passed */
bool ip_wait(struct ip_device *dev, uint64_t deadline_ns);

#endif /* VTPU_INPROC_H */
