/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vtpu_device.h - the driver's structs and what its files offer each other.
 *
 * Locks, outermost first; what each protects stands at its field:
 *
 *	vtpu_device.reset_sem (read: ioctls that give the device commands)
 *	  vtpu_file.lock
 *	    vtpu_queue.submit_lock
 *	      vtpu_vm.lock
 *	        dma_resv of buffers
 *	          vtpu_device.list_lock
 *	            vtpu_hbm.lock
 *	              vtpu_slot.lock	spinlock, taken in hard interrupts
 *	              vtpu_admin.lock	spinlock, taken in hard interrupts
 *	  mm's mmap_lock
 *	    vtpu_device.bar_sem (read: page faults)
 *
 * The scheduler's callbacks (run_job, timedout_job) must end in bounded time,
 * since others wait for the fences that they signal: they take spinlocks only,
 * allocate nothing and use no admin command. All that they need is made in the
 * ioctl.
 *
 * Objects: a file owns handles, ids, queues and one address space (vm). A queue
 * holds file and vm, a task (a job) holds its queue and program, a mapping
 * holds its buffer, a buffer holds the file that pays for it. So work outlives
 * close(), which never waits for hardware. What needs admin commands to die is
 * released on vtpu_wq.
 */
#ifndef VTPU_DEVICE_H
#define VTPU_DEVICE_H

#include <linux/completion.h>
#include <linux/idr.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_mm.h>
#include <drm/drm_print.h>
#include <drm/gpu_scheduler.h>

#include "vtpu_hw.h"
#include "vtpu_accel.h"
#include "vtpu_hwlib.h"

#define VTPU_DRIVER_MAJOR 0
#define VTPU_DRIVER_MINOR 1
#define VTPU_SLOTS	  (VTPU_MAX_QUEUES + 1) /* slot n is queue n of the device */

struct vtpu_device;
struct vtpu_file;
struct vtpu_ring;
struct vtpu_task;
struct vtpu_vm;

/* The module's own workqueue: releases that give commands to the device, clearing */
extern struct workqueue_struct *vtpu_wq;
/* Module parameter: backstop of jobs and admin commands */
extern unsigned int vtpu_timeout_ms;

/* ---- Accounts (vtpu_quota.c) ---- */

/* struct vtpu_account - what a file or a user uses, indexed by enum vtpu_quota */
struct vtpu_account {
	atomic64_t used[VTPU_QUOTAS];
};

/* struct vtpu_user - all files of one uid on one device */
struct vtpu_user {
	struct list_head node; /* in vtpu_device.users, list_lock */
	unsigned int files;    /* list_lock */
	kuid_t uid;
	struct vtpu_account account;
};

/* ---- HBM (vtpu_hbm.c, vtpu_clear.c) ---- */

/* struct vtpu_extent - a contiguous piece of HBM */
struct vtpu_extent {
	struct drm_mm_node node; /* vtpu_hbm.lock */
	struct list_head link;	 /* in vtpu_hbm.dirty, vtpu_hbm.lock */
	u64 cleared;		 /* bytes that are clean again; the clearing worker's */
};

/* struct vtpu_hbm - the HBM that clients get; what is free here reads as zero */
struct vtpu_hbm {
	struct mutex lock; /* protects the fields below */
	struct drm_mm mm;
	struct list_head dirty;	 /* freed, to be cleared */
	u64 used;		 /* bytes in clients' buffers */
	unsigned int uncleared;	 /* extents that are dirty or being cleared */
	wait_queue_head_t clean; /* woken when extents have been cleared */
};

/* struct vtpu_reserved - the HBM that the driver keeps: page tables, images */
struct vtpu_reserved {
	void __iomem *mem; /* all of it, write-combining */
	u64 bytes;
	spinlock_t lock;    /* protects map */
	unsigned long *map; /* a bit for each page in use */
};

/* ---- Admin queue (vtpu_admin.c) ---- */

/* struct vtpu_admin_cmd - an admin command; fill in @u, except its sequence number */
struct vtpu_admin_cmd {
	union {
		struct vtpu_admin_header h;
		struct vtpu_admin_context context;
		struct vtpu_admin_queue queue;
		struct vtpu_admin_program program;
		u64 raw[8];
	} u;
	/* Out: completion; meaningful if the device sent one */
	struct vtpu_cqe cqe;
	/* Out: 0 or negative errno */
	int error;
	/* Posted commands: called when done, in hard interrupt context */
	void (*done)(struct vtpu_admin_cmd *cmd);
	struct completion completion;
	struct list_head node;
};

/* struct vtpu_admin - the admin queue pair */
struct vtpu_admin {
	spinlock_t lock; /* protects all below */
	void *mem;
	dma_addr_t dma;
	struct vtpu_sqe *sq;
	struct vtpu_cqe *cq;
	u32 *tail_word;
	u32 tail, head;		  /* next entry, next completion; free running */
	u32 started;		  /* all entries before this one have been started */
	unsigned int outstanding; /* length of running */
	unsigned int posted;	  /* of these, those with a done callback */
	bool dead;		  /* no commands now: being reset, or gone */
	struct list_head running;
	struct list_head backlog; /* posted commands that wait for room */
	wait_queue_head_t room;
};

/* ---- Rings and slots (vtpu_ring.c) ---- */

/* struct vtpu_ring - memory and indices of a hardware queue */
struct vtpu_ring {
	struct vtpu_device *vdev;
	u32 id;
	u8 depth_log2;
	bool dead;	/* slot lock; entries may not be written any more */
	u32 tail, head; /* slot lock; next entry, next completion */
	struct vtpu_sqe *sq;
	struct vtpu_cqe *cq;
	u32 *tail_word;
	void *args;
	dma_addr_t dma, args_dma;
	size_t bytes, args_bytes;
	/* Called for each completion with the slot's lock held */
	void (*complete)(struct vtpu_ring *ring, const struct vtpu_cqe *cqe);
	/* Called with the slot's lock held when a reset or unbind took all entries */
	void (*lost)(struct vtpu_ring *ring, int error, bool guilty);
};

/* struct vtpu_slot - a hardware queue id and its scheduler, which outlives its queues */
struct vtpu_slot {
	struct vtpu_device *vdev;
	u32 id;
	char name[12];
	struct drm_gpu_scheduler sched;
	spinlock_t lock;	/* protects ring and the states that say "slot lock" */
	struct vtpu_ring *ring; /* NULL: no queue */
	u64 progress;		/* VTPU_DB_PROGRESS at the last time-out */
};

/* struct vtpu_clear - the kernel's own copy queue, which cleans freed HBM */
struct vtpu_clear {
	struct work_struct work;
	struct vtpu_ring ring;
	struct completion done;
	u32 status; /* slot lock: enum vtpu_hw_status of the last job */
	u32 context;
	u64 root;
	bool up;      /* the queue exists; probe, reset and worker change it */
	bool clean;   /* what has been given up so far is zero; probe and worker change it */
	bool stopped; /* no more clearing: unbound */
};

/* ---- The device ---- */

struct vtpu_vector {
	struct vtpu_device *vdev;
	unsigned int index;
	unsigned int cpu; /* where it is wanted, not always where it comes */
};

struct vtpu_device {
	struct drm_device drm;
	struct vtpu_hw_geometry geometry;
	u32 hw_version;
	u64 caps, serial, hbm_bytes;
	resource_size_t hbm_start; /* CPU address of BAR2 */
	void __iomem *regs;

	struct vtpu_reserved reserved;
	struct vtpu_hbm hbm;
	struct vtpu_clear clear;
	struct vtpu_admin admin;

	struct vtpu_slot *slots; /* VTPU_SLOTS of them */
	struct workqueue_struct *submit_wq;
	struct workqueue_struct *timeout_wq; /* ordered: time-outs and resets, one at a time */

	unsigned int nvec;
	struct vtpu_vector vectors[VTPU_MAX_VECTORS];

	struct ida context_ids, program_ids, slot_ids;

	struct rw_semaphore reset_sem; /* written while the device's state is rebuilt */
	struct work_struct reset_work, freeze_work;
	bool frozen; /* by an error of the bus or a reset from outside; under the device lock */
	bool bar_away;
	struct rw_semaphore bar_sem;  /* written while the BARs are not there */
	struct task_struct *restorer; /* whoever tells the device what it knew, after a reset */
	bool probing;
	enum vtpu_device_state state; /* written by reset only; READ_ONCE elsewhere */
	wait_queue_head_t state_changed;
	u32 reset_count;

	struct mutex list_lock;	   /* protects the lists below */
	struct list_head vms;	   /* vtpu_vm.node: address spaces that the device knows */
	struct list_head programs; /* vtpu_program.node: programs that it knows */
	struct list_head host_bos; /* vtpu_bo.host.node: buffers mapped for DMA */
	struct list_head users;

	struct vtpu_account used; /* of all clients */
	atomic_t clients;
	atomic64_t jobs_submitted, jobs_completed, jobs_failed;

	refcount_t fences; /* alive, plus 1 while bound (vtpu_fence.c) */
	struct work_struct fences_work;
};

#define to_vtpu_device(d) container_of(d, struct vtpu_device, drm)

/* ---- Clients ---- */

/* struct vtpu_file - an open file */
struct vtpu_file {
	struct kref ref;
	struct vtpu_device *vdev; /* holds a reference of drm */
	struct mutex lock;	  /* protects vm, closed, and the creation of ids */
	struct vtpu_vm *vm;	  /* made on first use */
	bool closed;
	struct xarray queues;	/* struct vtpu_queue by id */
	struct xarray programs; /* struct vtpu_program by id */
	struct vtpu_user *user;
	struct vtpu_account account;

	spinlock_t stats_lock; /* protects the fields below; outside the slots' locks */
	struct list_head live; /* vtpu_queue.node: queues that still have a slot */
	u64 engine_ns[2];      /* core time of queues that are gone, by kind */
	u64 cycles[2];	       /* the same: modelled cycles of their jobs */
};

/* ---- Buffers (vtpu_bo.c, vtpu_host.c) ---- */

/* struct vtpu_chunk - pages of a host buffer that lie together */
struct vtpu_chunk {
	struct page *page;
	u32 first; /* of the buffer's pages */
	u8 order;
};

struct vtpu_host {
	struct vtpu_chunk *chunks;
	u32 nchunks;
	struct sg_table sgt; /* an entry for each chunk */
	bool mapped;	     /* list_lock: for DMA */
	struct list_head node;
};

struct vtpu_bo {
	struct drm_gem_object gem;
	struct vtpu_file *owner; /* pays for it */
	u32 region, flags;
	char label[VTPU_MAX_LABEL]; /* gem's resv lock */
	struct vtpu_extent *extent; /* HBM */
	struct vtpu_host host;	    /* HOST */
};

#define to_vtpu_bo(obj) container_of(obj, struct vtpu_bo, gem)

/* ---- Address spaces (vtpu_vm.c) ---- */

/* struct vtpu_mapping - a mapped range; holds its buffer */
struct vtpu_mapping {
	struct drm_mm_node va; /* vtpu_vm.lock */
	struct list_head link; /* in vtpu_vm.zapped or flushing */
	struct vtpu_bo *bo;
	u64 bo_offset;
};

struct vtpu_vm {
	struct kref ref;
	struct vtpu_device *vdev;
	struct list_head node; /* vtpu_device.list_lock */
	u32 context;
	u64 root;
	struct mutex lock; /* protects the fields below and the page tables */
	struct drm_mm mm;
	struct list_head zapped;   /* unmapped, but running jobs may still use them */
	struct list_head flushing; /* the same, of the INVALIDATE that runs */
	bool flush_running;
	struct vtpu_admin_cmd flush;
	struct work_struct flush_work, release_work;
};

/* ---- Programs (vtpu_program.c) ---- */

struct vtpu_program {
	struct kref ref;
	struct vtpu_file *file;
	struct vtpu_vm *vm;
	struct list_head node; /* vtpu_device.list_lock */
	u32 hw_id, flags;
	u32 width, nbases, nscalars;
	u64 image, bytes;
	struct vtpu_load_result result;
	struct work_struct release_work;
};

/* ---- Queues and jobs (vtpu_queue.c, vtpu_sched.c, vtpu_submit.c) ---- */

struct vtpu_queue {
	struct kref ref;
	struct vtpu_file *file;
	struct vtpu_vm *vm;
	struct vtpu_slot *slot;
	struct vtpu_ring ring;
	struct drm_sched_entity entity;
	struct list_head node; /* vtpu_file.stats_lock */
	struct work_struct release_work;
	u32 kind, depth;
	u8 priority;
	u64 core_mask, max_cycles;
	u64 fence_context, fence_seqno;

	struct mutex submit_lock; /* one at a time arms and pushes jobs */
	atomic_t inflight;	  /* accepted and not freed, at most depth */
	wait_queue_head_t room;

	/* slot lock: */
	struct list_head pending; /* vtpu_task.node: in the ring */
	bool killed;		  /* destroyed or closed: what is left is refused */
	int error;		  /* why jobs are refused; 0: they are not */
	struct vtpu_queue_state state;
	u32 width;		/* cores of the running job */
	u64 busy_seen, busy_ns; /* VTPU_DB_BUSY_NS last read; core time */
};

/* struct vtpu_fence - what the hardware signals; the outside sees only the scheduler's fences */
struct vtpu_fence {
	struct dma_fence base;
	struct vtpu_device *vdev;
	spinlock_t lock; /* of base */
};

/* struct vtpu_task_sync - what a job signals, while it is being submitted */
struct vtpu_task_sync {
	struct drm_syncobj *syncobj;
	struct dma_fence_chain *chain; /* timelines */
	u64 point;
};

/* struct vtpu_task - a job on its way */
struct vtpu_task {
	struct drm_sched_job base;
	struct vtpu_queue *queue;
	struct vtpu_program *program;
	struct vtpu_fence *fence;
	struct list_head node; /* vtpu_queue.pending, slot lock */
	bool posted;	       /* slot lock: the fence has been initialised */
	u32 flags, seq, width, args_bytes;
	u64 tag;
	void *args;
	struct vtpu_task_sync *syncs; /* until accepted */
	struct vtpu_bo_ref *bo_refs;  /* until accepted */
	struct drm_gem_object **bos;  /* until accepted */
	u32 nsyncs, nbos;
};

#define to_vtpu_task(job) container_of(job, struct vtpu_task, base)

/* ---- vtpu_drv.c ---- */
int vtpu_begin(struct vtpu_device *vdev, int *idx);
void vtpu_end(struct vtpu_device *vdev, int idx);
void vtpu_file_release(struct kref *ref);

static inline struct vtpu_file *vtpu_file_get(struct vtpu_file *vfile)
{
	kref_get(&vfile->ref);
	return vfile;
}

static inline void vtpu_file_put(struct vtpu_file *vfile)
{
	kref_put(&vfile->ref, vtpu_file_release);
}

/* ---- vtpu_hw.c ---- */
int vtpu_hw_identify(struct vtpu_device *vdev);
int vtpu_hw_enable(struct vtpu_device *vdev);
int vtpu_hw_reset(struct vtpu_device *vdev);
bool vtpu_hw_gone(struct vtpu_device *vdev);
void vtpu_hw_core_stats(struct vtpu_device *vdev, u32 core, struct vtpu_hw_core_stats *stats);

static inline u32 vtpu_read(struct vtpu_device *vdev, u32 reg)
{
	return readl(vdev->regs + reg);
}

static inline u64 vtpu_read64(struct vtpu_device *vdev, u32 reg)
{
	return readq(vdev->regs + reg);
}

static inline void vtpu_write(struct vtpu_device *vdev, u32 reg, u32 value)
{
	writel(value, vdev->regs + reg);
}

static inline void vtpu_write64(struct vtpu_device *vdev, u32 reg, u64 value)
{
	writeq(value, vdev->regs + reg);
}

static inline u32 vtpu_doorbell(u32 queue, u32 offset)
{
	return VTPU_DOORBELL_BASE + queue * VTPU_DOORBELL_STRIDE + offset;
}

/* ---- vtpu_hbm.c ---- */
int vtpu_hbm_init(struct vtpu_device *vdev);
struct vtpu_extent *vtpu_hbm_alloc(struct vtpu_device *vdev, u64 bytes);
void vtpu_hbm_free(struct vtpu_device *vdev, struct vtpu_extent *extent);
void vtpu_hbm_cleared(struct vtpu_device *vdev, struct list_head *extents);
u64 vtpu_hbm_largest(struct vtpu_device *vdev);
u64 vtpu_reserved_alloc(struct vtpu_device *vdev, u64 bytes);
void vtpu_reserved_free(struct vtpu_device *vdev, u64 addr, u64 bytes);
extern const struct vtpu_pt_ops vtpu_pt_ops;
u64 vtpu_pt_new(struct vtpu_device *vdev);

/* ---- vtpu_clear.c ---- */
void vtpu_clear_init(struct vtpu_device *vdev);
int vtpu_clear_start(struct vtpu_device *vdev);
int vtpu_clear_restart(struct vtpu_device *vdev);
void vtpu_clear_stop(struct vtpu_device *vdev);
void vtpu_clear_kick(struct vtpu_device *vdev);

/* ---- vtpu_admin.c ---- */
int vtpu_admin_init(struct vtpu_device *vdev);
void vtpu_admin_fini(struct vtpu_device *vdev);
void vtpu_admin_revive(struct vtpu_device *vdev);
void vtpu_admin_flush(struct vtpu_device *vdev, int error);
void vtpu_admin_poll(struct vtpu_device *vdev);
int vtpu_admin_exec(struct vtpu_device *vdev, struct vtpu_admin_cmd *cmd);
int vtpu_admin_start(struct vtpu_device *vdev, struct vtpu_admin_cmd *cmd);
int vtpu_admin_wait(struct vtpu_device *vdev, struct vtpu_admin_cmd *cmd);
void vtpu_admin_post(struct vtpu_device *vdev, struct vtpu_admin_cmd *cmd);

/* ---- vtpu_ring.c ---- */
int vtpu_ring_alloc(struct vtpu_ring *ring, struct vtpu_device *vdev, u32 id, u8 depth_log2);
void vtpu_ring_free(struct vtpu_ring *ring);
void vtpu_rings_free(struct vtpu_device *vdev);
int vtpu_ring_create(struct vtpu_ring *ring, const struct vtpu_admin_queue *params);
int vtpu_ring_destroy(struct vtpu_ring *ring);
void vtpu_ring_attach(struct vtpu_ring *ring);
void vtpu_ring_detach(struct vtpu_ring *ring);
u32 vtpu_ring_post(struct vtpu_ring *ring, u32 program, u32 flags, const void *args, u32 bytes);
void vtpu_ring_poll(struct vtpu_ring *ring);
void vtpu_slot_poll(struct vtpu_slot *slot);

/* ---- vtpu_irq.c ---- */
int vtpu_irq_init(struct vtpu_device *vdev);
void vtpu_irq_sync(struct vtpu_device *vdev);
void vtpu_irq_fini(struct vtpu_device *vdev);

/* ---- vtpu_bo.c, vtpu_host.c ---- */
int vtpu_host_alloc(struct vtpu_device *vdev, struct vtpu_bo *bo);
void vtpu_host_free(struct vtpu_device *vdev, struct vtpu_bo *bo);
void vtpu_host_unmap_all(struct vtpu_device *vdev);
unsigned long vtpu_host_pfn(const struct vtpu_host *host, u64 page);
int vtpu_ioctl_bo_create(struct drm_device *drm, void *data, struct drm_file *file);
int vtpu_ioctl_bo_info(struct drm_device *drm, void *data, struct drm_file *file);
int vtpu_ioctl_bo_wait(struct drm_device *drm, void *data, struct drm_file *file);
int vtpu_ioctl_bo_set_label(struct drm_device *drm, void *data, struct drm_file *file);

/* ---- vtpu_vm.c, vtpu_bind.c ---- */
struct vtpu_vm *vtpu_file_vm(struct vtpu_file *vfile);
void vtpu_vm_put(struct vtpu_vm *vm);
int vtpu_vm_restore(struct vtpu_vm *vm);
void vtpu_vm_flush(struct vtpu_vm *vm);
void vtpu_mappings_free(struct list_head *mappings);
int vtpu_ioctl_vm_bind(struct drm_device *drm, void *data, struct drm_file *file);

static inline struct vtpu_vm *vtpu_vm_get(struct vtpu_vm *vm)
{
	kref_get(&vm->ref);
	return vm;
}

/* ---- vtpu_program.c ---- */
void vtpu_program_put(struct vtpu_program *program);
struct vtpu_program *vtpu_program_find(struct vtpu_file *vfile, u32 id);
int vtpu_program_restore(struct vtpu_program *program);
int vtpu_ioctl_program_create(struct drm_device *drm, void *data, struct drm_file *file);
int vtpu_ioctl_program_destroy(struct drm_device *drm, void *data, struct drm_file *file);
int vtpu_ioctl_program_info(struct drm_device *drm, void *data, struct drm_file *file);

/* ---- vtpu_queue.c ---- */
struct vtpu_queue *vtpu_queue_find(struct vtpu_file *vfile, u32 id);
void vtpu_queue_put(struct vtpu_queue *queue);
void vtpu_queue_kill(struct vtpu_queue *queue);
void vtpu_queue_run(struct vtpu_queue *queue, struct vtpu_task *task);
void vtpu_queue_account(struct vtpu_queue *queue);
int vtpu_ioctl_queue_create(struct drm_device *drm, void *data, struct drm_file *file);
int vtpu_ioctl_queue_destroy(struct drm_device *drm, void *data, struct drm_file *file);
int vtpu_ioctl_queue_state(struct drm_device *drm, void *data, struct drm_file *file);

/* ---- vtpu_sched.c, vtpu_fence.c ---- */
int vtpu_sched_init(struct vtpu_device *vdev);
struct vtpu_fence *vtpu_fence_alloc(struct vtpu_device *vdev);
void vtpu_fence_init(struct vtpu_fence *fence, u64 context, u64 seqno);
void vtpu_fence_free(struct vtpu_fence *fence);
void vtpu_fences_init(struct vtpu_device *vdev);
void vtpu_fences_put(struct vtpu_device *vdev);

/* ---- vtpu_submit.c, vtpu_task.c ---- */
int vtpu_task_create(struct vtpu_queue *queue, struct drm_file *file, const struct vtpu_job *job,
		     struct vtpu_task **out);
int vtpu_task_accept(struct vtpu_task *task);
void vtpu_task_abandon(struct vtpu_task *task);
void vtpu_task_free(struct vtpu_task *task);
int vtpu_get_element(const struct vtpu_array *array, u32 index, void *to, size_t bytes);
int vtpu_ioctl_submit(struct drm_device *drm, void *data, struct drm_file *file);

/* ---- vtpu_err.c ---- */
extern const struct pci_error_handlers vtpu_error_handlers;

/* ---- vtpu_reset.c ---- */
void vtpu_reset_init(struct vtpu_device *vdev);
void vtpu_reset_ready(struct vtpu_device *vdev);
void vtpu_reset_begin(struct vtpu_device *vdev, struct vtpu_slot *guilty);
void vtpu_reset_request(struct vtpu_device *vdev);
void vtpu_reset_freeze(struct vtpu_device *vdev);
void vtpu_reset_bars_back(struct vtpu_device *vdev);
void vtpu_reset_thaw(struct vtpu_device *vdev);
void vtpu_reset_give_up(struct vtpu_device *vdev, const char *why);
void vtpu_fail_all(struct vtpu_device *vdev, struct vtpu_slot *guilty, int error);

/* ---- vtpu_quota.c ---- */
int vtpu_charge(struct vtpu_file *vfile, enum vtpu_quota what, u64 n);
void vtpu_uncharge(struct vtpu_file *vfile, enum vtpu_quota what, u64 n);
int vtpu_user_open(struct vtpu_file *vfile);
void vtpu_user_close(struct vtpu_file *vfile);
void vtpu_quota_fill(struct vtpu_file *vfile, enum vtpu_quota what, struct vtpu_query_quota *quota);

/* ---- vtpu_query.c, vtpu_fdinfo.c, vtpu_sysfs.c ---- */
int vtpu_ioctl_dev_query(struct drm_device *drm, void *data, struct drm_file *file);
void vtpu_show_fdinfo(struct drm_printer *p, struct drm_file *file);
extern const struct attribute_group *vtpu_sysfs_groups[];

/* ---- vtpu_debugfs.c ---- */
void vtpu_debugfs_init(struct vtpu_device *vdev);

#endif /* VTPU_DEVICE_H */
