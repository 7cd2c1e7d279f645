/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * vtpu_hwlib.h - what the kernel driver and the in-process backend must do alike.
 *
 * Static inlines without allocation, locks or I/O: status codes to errno and
 * to words, the page-table writer, ring entries, and the shape checks of the
 * ioctls. Compiled by kernel and user space, so that the two cannot drift.
 */
#ifndef _UAPI_VTPU_HWLIB_H_
#define _UAPI_VTPU_HWLIB_H_

#include <linux/errno.h>
#include <linux/types.h>

#include "vtpu_accel.h"
#include "vtpu_hw.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "vTPU structures are little endian; this host is not supported"
#endif

/* ---- Status codes ------------------------------------------------------- */

/* X(status, errno, sentence): the one table of what a status means */
#define VTPU_HW_STATUS_TABLE(X) \
	X(OK, 0, "success") \
	X(BAD_OPCODE, EINVAL, "unknown admin command") \
	X(BAD_FIELD, EINVAL, "field out of range or reserved bit set") \
	X(NOT_FOUND, ENOENT, "no such queue, context or program") \
	X(EXISTS, EEXIST, "id is in use") \
	X(BUSY, EBUSY, "still in use") \
	X(NO_MEMORY, ENOMEM, "device host is out of memory") \
	X(CANCELLED, ECANCELED, "load was cancelled") \
	X(BAD_ADDRESS, EFAULT, "physical address outside HBM or misaligned") \
	X(BAD_IMAGE, EINVAL, "program image is malformed") \
	X(IMAGE_VERSION, EPROTO, "program image is of another version") \
	X(IMAGE_CHECKSUM, EBADMSG, "program image is corrupt: checksum does not match") \
	X(TOO_LARGE, E2BIG, "program has too many instructions") \
	X(UNSUPPORTED, EOPNOTSUPP, \
	  "program needs an instruction or capability that the device has not") \
	X(BAD_INSN, EINVAL, "instruction field out of range") \
	X(OUT_OF_BOUNDS, ERANGE, "operand outside its memory") \
	X(DEADLOCK, EDEADLK, "program can never end") \
	X(RACE, EILSEQ, "program has unordered accesses to the same bytes") \
	X(SEM_OVERFLOW, EOVERFLOW, "semaphore overflow") \
	X(TOO_WIDE, EINVAL, "program wants more cores than the chip has") \
	X(BAD_ENTRY, EINVAL, "ring entry is malformed") \
	X(BAD_ARGS, EINVAL, "argument block is malformed") \
	X(NO_PROGRAM, ENOENT, "no such program in this context") \
	X(MASK, EINVAL, "gang does not fit the core mask of its queue") \
	X(UNMAPPED, EFAULT, "address is not mapped") \
	X(READ_ONLY, EACCES, "address is mapped read-only") \
	X(NOT_CONTIGUOUS, EFAULT, "base is not one extent of HBM") \
	X(ALIAS, EINVAL, "written base overlaps another base") \
	X(MISALIGNED, EINVAL, "base address is misaligned") \
	X(BAD_PTE, EFAULT, "page-table entry names no memory") \
	X(SYSTEM_MEMORY, EFAULT, "compute jobs reach HBM only") \
	X(WRAPS, EFAULT, "address range leaves the address space") \
	X(DMA_ERROR, EREMOTEIO, "access to host memory failed") \
	X(INDEX, EDOM, "index outside its table") \
	X(CYCLE_LIMIT, ETIME, "job takes more cycles than its queue allows") \
	X(TIMEOUT, ETIME, "watchdog: no progress") \
	X(ABORTED, ETIME, "aborted by the driver") \
	X(RESET, EIO, "lost to a reset") \
	X(QUEUE_HALTED, ECANCELED, "an earlier job of the queue failed") \
	X(RING_OVERRUN, EIO, "ring overrun") \
	X(ECC, EIO, "uncorrectable memory error") \
	X(LINK, EIO, "a link between cores is down") \
	X(INTERNAL, EIO, "device model fault")

/** vtpu_status_errno() - negative errno of a status; unknown codes are -EIO */
static inline int vtpu_status_errno(__u32 status)
{
	switch (status) {
#define VTPU_STATUS_CASE(name, err, text) \
	case VTPU_ST_##name: \
		return -(err);
		VTPU_HW_STATUS_TABLE(VTPU_STATUS_CASE)
#undef VTPU_STATUS_CASE
	default:
		return -EIO;
	}
}

/** vtpu_status_text() - what a status means, in words */
static inline const char *vtpu_status_text(__u32 status)
{
	switch (status) {
#define VTPU_STATUS_CASE(name, err, text) \
	case VTPU_ST_##name: \
		return text;
		VTPU_HW_STATUS_TABLE(VTPU_STATUS_CASE)
#undef VTPU_STATUS_CASE
	default:
		return "unknown status";
	}
}

/** vtpu_status_name() - identifier of a status, without its prefix */
static inline const char *vtpu_status_name(__u32 status)
{
	switch (status) {
#define VTPU_STATUS_CASE(name, err, text) \
	case VTPU_ST_##name: \
		return #name;
		VTPU_HW_STATUS_TABLE(VTPU_STATUS_CASE)
#undef VTPU_STATUS_CASE
	default:
		return "UNKNOWN";
	}
}

/* ---- Rings -------------------------------------------------------------- */

/**
 * vtpu_cqe_ready() - has the completion number @n of a ring been written? @status: read once by the
 * caller
 */
static inline int vtpu_cqe_ready(__u32 status, __u32 n, __u32 depth_log2)
{
	__u32 phase = ~(n >> depth_log2) & 1;

	return (status >> 31) == phase;
}

/** vtpu_sqe_fill() - write a ring entry */
static inline void vtpu_sqe_fill(struct vtpu_sqe *sqe, __u32 program, __u32 flags, __u32 seq,
				 __u32 args_bytes)
{
	struct vtpu_sqe entry = {
		.program = program,
		.flags = flags,
		.seq = seq,
		.args_bytes = args_bytes,
	};

	*sqe = entry;
}

/* ---- Page tables -------------------------------------------------------- */

/**
 * struct vtpu_pt_ops - how the page-table writer reaches tables
 *
 * Tables are named by their HBM address. All calls come from the caller's
 * thread, in the caller's locks.
 */
struct vtpu_pt_ops {
	/** @read: entry @index of @table */
	__u64 (*read)(void *arg, __u64 table, __u32 index);
	/** @write: set it */
	void (*write)(void *arg, __u64 table, __u32 index, __u64 pte);
	/** @alloc: a zeroed table; 0 without memory */
	__u64 (*alloc)(void *arg);
	/** @free: give an empty table back, once no running job can walk it */
	void (*free)(void *arg, __u64 table);
};

/** vtpu_pt_index() - index of @va in a table of @level (3 is the root) */
static inline __u32 vtpu_pt_index(__u64 va, __u32 level)
{
	return (va >> (VTPU_PAGE_SHIFT + level * VTPU_PT_INDEX_BITS)) & (VTPU_PT_ENTRIES - 1);
}

/* The table of @level that covers @va, made if @make; 0: not there, or no memory */
static inline __u64 vtpu_pt_table(const struct vtpu_pt_ops *ops, void *arg, __u64 root, __u64 va,
				  __u32 level, int make)
{
	__u64 table = root;
	__u32 l;

	for (l = VTPU_PT_LEVELS - 1; l > level; l--) {
		__u32 index = vtpu_pt_index(va, l);
		__u64 pte = ops->read(arg, table, index);

		if (pte & VTPU_PTE_LEAF)
			return 0;
		if (!(pte & VTPU_PTE_VALID)) {
			__u64 next = make ? ops->alloc(arg) : 0;

			if (!next)
				return 0;
			pte = next | VTPU_PTE_VALID;
			ops->write(arg, table, index, pte);
		}
		table = pte & VTPU_PTE_ADDR_MASK;
	}
	return table;
}

/**
 * vtpu_pt_map() - map one physically contiguous range
 * @root: top table
 * @va: page aligned; nothing may be mapped in the range
 * @pa: page aligned HBM or bus address
 * @bytes: page aligned
 * @flags: VTPU_PTE_WRITE, VTPU_PTE_SYSTEM
 *
 * 2 MiB leaves where both addresses allow. Return: bytes mapped; less than
 * @bytes when memory for a table ran out: unmap what was done, if it matters.
 */
static inline __u64 vtpu_pt_map(const struct vtpu_pt_ops *ops, void *arg, __u64 root, __u64 va,
				__u64 pa, __u64 bytes, __u64 flags)
{
	__u64 done = 0;

	while (done < bytes) {
		int large = !((va + done) & (VTPU_LARGE_BYTES - 1)) &&
			    !((pa + done) & (VTPU_LARGE_BYTES - 1)) &&
			    bytes - done >= VTPU_LARGE_BYTES;
		__u64 table = vtpu_pt_table(ops, arg, root, va + done, large, 1);

		if (!table)
			break;
		/* A level-1 slot that still holds an empty table takes small pages. */
		if (large &&
		    (ops->read(arg, table, vtpu_pt_index(va + done, 1)) & VTPU_PTE_VALID)) {
			large = 0;
			table = vtpu_pt_table(ops, arg, root, va + done, 0, 1);
			if (!table)
				break;
		}
		ops->write(arg, table, vtpu_pt_index(va + done, large),
			   (pa + done) | flags | VTPU_PTE_VALID | (large ? VTPU_PTE_LEAF : 0));
		done += large ? VTPU_LARGE_BYTES : VTPU_PAGE_BYTES;
	}
	return done;
}

/**
 * vtpu_pt_split() - turn a 2 MiB leaf that covers @va into 512 small entries
 *
 * Return: 0 (also when there is no leaf), -ENOMEM.
 */
static inline int vtpu_pt_split(const struct vtpu_pt_ops *ops, void *arg, __u64 root, __u64 va)
{
	__u64 table = vtpu_pt_table(ops, arg, root, va, 1, 0);
	__u64 pte, next;
	__u32 i;

	if (!table)
		return 0;
	pte = ops->read(arg, table, vtpu_pt_index(va, 1));
	if (!(pte & VTPU_PTE_LEAF))
		return 0;
	next = ops->alloc(arg);
	if (!next)
		return -ENOMEM;
	for (i = 0; i < VTPU_PT_ENTRIES; i++)
		ops->write(arg, next, i,
			   (pte & ~(__u64)VTPU_PTE_LEAF) + (__u64)i * VTPU_PAGE_BYTES);
	ops->write(arg, table, vtpu_pt_index(va, 1), next | VTPU_PTE_VALID);
	return 0;
}

/**
 * vtpu_pt_unmap() - clear all entries of a range; holes are fine
 *
 * The range must not cut a 2 MiB leaf: vtpu_pt_split() its ends before. Empty
 * tables stay; vtpu_pt_free() gives all back at the end of an address space.
 */
static inline void vtpu_pt_unmap(const struct vtpu_pt_ops *ops, void *arg, __u64 root, __u64 va,
				 __u64 bytes)
{
	__u64 end = va + bytes;

	while (va < end) {
		__u64 next = (va & ~(__u64)(VTPU_LARGE_BYTES - 1)) + VTPU_LARGE_BYTES;
		__u64 table = vtpu_pt_table(ops, arg, root, va, 1, 0);
		__u64 pte = table ? ops->read(arg, table, vtpu_pt_index(va, 1)) : 0;

		if (pte & VTPU_PTE_LEAF) {
			ops->write(arg, table, vtpu_pt_index(va, 1), 0);
		} else if (pte & VTPU_PTE_VALID) {
			__u64 stop = next < end ? next : end;

			for (; va < stop; va += VTPU_PAGE_BYTES)
				ops->write(arg, pte & VTPU_PTE_ADDR_MASK, vtpu_pt_index(va, 0), 0);
		}
		va = next;
	}
}

/** vtpu_pt_free() - free all tables below and including @root of @level; 3 levels deep at most */
static inline void vtpu_pt_free(const struct vtpu_pt_ops *ops, void *arg, __u64 root)
{
	__u64 table[VTPU_PT_LEVELS];
	__u32 index[VTPU_PT_LEVELS];
	__u32 level = VTPU_PT_LEVELS - 1;

	table[level] = root;
	index[level] = 0;
	for (;;) {
		__u64 pte;

		if (!level || index[level] == VTPU_PT_ENTRIES) {
			ops->free(arg, table[level]);
			if (++level == VTPU_PT_LEVELS)
				return;
			continue;
		}
		pte = ops->read(arg, table[level], index[level]++);
		if ((pte & VTPU_PTE_VALID) && !(pte & VTPU_PTE_LEAF)) {
			table[level - 1] = pte & VTPU_PTE_ADDR_MASK;
			index[--level] = 0;
		}
	}
}

/* ---- Shape checks of the ioctls ------------------------------------------ */

/** vtpu_check_range() - is [@start, @start + @bytes) page aligned, not empty, inside [@lo, @hi)? */
static inline int vtpu_check_range(__u64 start, __u64 bytes, __u64 lo, __u64 hi)
{
	return bytes && !((start | bytes) & (VTPU_PAGE_BYTES - 1)) && start >= lo && start < hi &&
	       bytes <= hi - start;
}

/**
 * vtpu_check_bind() - shape of a bind op; the buffer's size and region are the caller's to check
 */
static inline int vtpu_check_bind(const struct vtpu_bind_op *op)
{
	if (op->pad)
		return -EINVAL;
	if (!vtpu_check_range(op->va, op->size, VTPU_VA_HBM_START, VTPU_VA_HOST_END))
		return -EINVAL;
	switch (op->op) {
	case VTPU_BIND_MAP:
		if ((op->flags & ~VTPU_BIND_FLAGS) || (op->bo_offset & (VTPU_PAGE_BYTES - 1)))
			return -EINVAL;
		return 0;
	case VTPU_BIND_UNMAP:
		return op->flags || op->handle || op->bo_offset ? -EINVAL : 0;
	default:
		return -EINVAL;
	}
}

/** vtpu_check_bind_bo() - does a well-formed MAP fit a buffer? */
static inline int vtpu_check_bind_bo(const struct vtpu_bind_op *op, __u32 region, __u64 bo_bytes)
{
	__u64 lo = region == VTPU_REGION_HBM ? VTPU_VA_HBM_START : VTPU_VA_HOST_START;
	__u64 hi = region == VTPU_REGION_HBM ? VTPU_VA_HBM_END : VTPU_VA_HOST_END;

	if (op->bo_offset > bo_bytes || op->size > bo_bytes - op->bo_offset)
		return -EINVAL;
	return vtpu_check_range(op->va, op->size, lo, hi) ? 0 : -EINVAL;
}

/**
 * vtpu_check_queue() - shape of a queue; @cores: of the device. A depth of 0 is replaced by the
 * default
 */
static inline int vtpu_check_queue(struct vtpu_queue_create *q, __u32 cores)
{
	__u64 all = cores >= 64 ? ~0ULL : (1ULL << cores) - 1;

	if (!q->depth)
		q->depth = 64;
	if (q->flags || q->pad || q->kind > VTPU_QUEUE_COPY || q->priority > VTPU_PRIO_HIGH)
		return -EINVAL;
	if (q->depth < 2 || q->depth > (1u << VTPU_MAX_DEPTH_LOG2) || (q->depth & (q->depth - 1)))
		return -EINVAL;
	if (q->kind == VTPU_QUEUE_COPY)
		return q->core_mask || q->max_cycles ? -EINVAL : 0;
	return q->core_mask & ~all ? -EINVAL : 0;
}

/** vtpu_check_image() - shape of an image's first bytes; the device checks the rest */
static inline int vtpu_check_image(const struct vtpu_image_header *h, __u64 bytes)
{
	if (bytes < sizeof(*h) || h->magic != VTPU_IMAGE_MAGIC || h->bytes != bytes)
		return -EINVAL;
	if (h->version != VTPU_ISA_VERSION)
		return -EPROTO;
	return 0;
}

/** vtpu_check_job() - shape of a job for a queue of @kind */
static inline int vtpu_check_job(const struct vtpu_job *job, __u32 kind)
{
	if ((job->flags & ~VTPU_JOB_FLAGS) || job->pad || job->launch_id || job->peer_count ||
	    job->pad2)
		return -EINVAL;
	if (job->syncs.count > VTPU_MAX_JOB_SYNCS || job->bos.count > VTPU_MAX_JOB_BOS ||
	    job->args_size > VTPU_ARG_SLOT_BYTES)
		return -E2BIG;
	if ((job->syncs.count && job->syncs.stride < sizeof(struct vtpu_sync)) ||
	    (job->bos.count && job->bos.stride < sizeof(struct vtpu_bo_ref)))
		return -EINVAL;
	if (job->flags & VTPU_JOB_NOP)
		return job->program || job->args || job->args_size ? -EINVAL : 0;
	if (kind == VTPU_QUEUE_COPY)
		return job->program || !job->args_size ||
				       job->args_size % sizeof(struct vtpu_copy_desc) ?
			       -EINVAL :
			       0;
	return job->program && job->args_size >= sizeof(struct vtpu_job_args) ? 0 : -EINVAL;
}

/** vtpu_job_args_bytes() - size of an argument block */
static inline __u32 vtpu_job_args_bytes(__u32 nbases, __u32 nscalars)
{
	return sizeof(struct vtpu_job_args) + nbases * sizeof(__u64) + nscalars * sizeof(__u32);
}

/** vtpu_check_args() - a copied argument block against its program */
static inline int vtpu_check_args(const struct vtpu_job_args *args, __u32 bytes, __u32 nbases,
				  __u32 nscalars)
{
	if (args->nbases != nbases || args->nscalars != nscalars)
		return -EINVAL;
	return bytes == vtpu_job_args_bytes(nbases, nscalars) ? 0 : -EINVAL;
}

/** vtpu_check_sync() - shape of a sync */
static inline int vtpu_check_sync(const struct vtpu_sync *s)
{
	if (s->flags & ~VTPU_SYNC_FLAGS)
		return -EINVAL;
	return !(s->flags & VTPU_SYNC_TIMELINE) == !s->point ? 0 : -EINVAL;
}

#endif /* _UAPI_VTPU_HWLIB_H_ */
