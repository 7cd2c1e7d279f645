/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * vtpu_hw.h - the hardware contract of the virtual TPU.
 *
 * Registers, queue entries, status codes, page tables and copy descriptors, as
 * device, driver and library must agree on them. Program images and the
 * instruction word are in vtpu_isa.h, which this file includes; ioctls are in
 * vtpu_accel.h; code that two sides must do alike is in vtpu_hwlib.h. Nothing
 * else may define a bit of any of it.
 *
 * Everything is little endian. Every reserved bit and every pad must be zero
 * and is checked by its reader, so that later revisions can use it.
 */
#ifndef _UAPI_VTPU_HW_H_
#define _UAPI_VTPU_HW_H_

#include <linux/types.h>

#include "vtpu_isa.h"

/* ---- PCI ---------------------------------------------------------------- */

/*
 * 0x1234 is the vendor number that QEMU's own unofficial devices use; it is
 * not assigned to us by the PCI-SIG, and no real device carries it.
 */
#define VTPU_PCI_VENDOR_ID 0x1234
#define VTPU_PCI_DEVICE_ID 0x7470
#define VTPU_PCI_CLASS	   0x1200 /* processing accelerator */
#define VTPU_PCI_REVISION  1

#define VTPU_BAR_REGS 0 /* registers and doorbell pages */
#define VTPU_BAR_HBM  2 /* all of HBM, 64-bit, prefetchable */
#define VTPU_BAR_MSIX 4 /* MSI-X table and PBA alone */

/* Offsets in configuration space are fixed: they are migration ABI. */
#define VTPU_CFG_PM	0x40 /* power management, not present yet */
#define VTPU_CFG_MSIX	0x50
#define VTPU_CFG_PCIE	0x80
#define VTPU_CFG_AER	0x100 /* advanced error reporting */
#define VTPU_CFG_SERIAL 0x148 /* device serial number */

/* ---- Limits ------------------------------------------------------------- */

#define VTPU_MAX_CORES	      64
#define VTPU_MAX_QUEUES	      128  /* I/O queues, ids 1..128; 0 is the admin queue */
#define VTPU_MAX_DEPTH_LOG2   10   /* entries of an I/O queue: 2^1..2^10 */
#define VTPU_ADMIN_DEPTH_LOG2 6	   /* the most that the admin queue may have */
#define VTPU_MAX_CONTEXTS     255  /* address spaces, ids 1..255 */
#define VTPU_MAX_PROGRAMS     4095 /* loaded programs, ids 1..4095 */
#define VTPU_MAX_VECTORS      33   /* vector 0: admin and events; 1..: I/O queues */
#define VTPU_ARG_SLOT_BYTES   4096 /* argument slot of each ring entry */

/**
 * VTPU_QUEUE_VECTOR() - the vector that an I/O queue raises.
 * @queue: queue id, 1..%VTPU_MAX_QUEUES
 * @nvec: vectors in use, at least 2
 */
#define VTPU_QUEUE_VECTOR(queue, nvec) (1 + (queue) % ((nvec)-1))

/* ---- BAR0 --------------------------------------------------------------- */

/*
 * 64 KiB of registers, then one doorbell page per queue, in 1 MiB. Accesses are
 * of 4 bytes, aligned; 64-bit registers may also be accessed with 8. Two halves
 * of a 64-bit register that is written in two steps take effect one by one.
 * Other sizes, and offsets that no register owns, read as zero and ignore
 * writes; the device counts them in VTPU_REG_BAD_ACCESS.
 *
 * RO: read only. RW: read and write. WO: reads as zero. W1C: write 1 to clear.
 * The value after reset is zero unless said.
 */
#define VTPU_BAR0_BYTES	     0x100000
#define VTPU_REGS_BYTES	     0x10000
#define VTPU_DOORBELL_BASE   0x10000
#define VTPU_DOORBELL_STRIDE 0x1000

#define VTPU_REG_MAGIC	      0x000 /* RO u32 VTPU_MAGIC */
#define VTPU_REG_VERSION      0x004 /* RO u32 VTPU_HW_VERSION: major << 16 | minor */
#define VTPU_REG_CAPS	      0x008 /* RO u64 VTPU_CAP_* */
#define VTPU_REG_STATUS	      0x010 /* RO u32 VTPU_STATUS_*; READY after reset */
#define VTPU_REG_CONTROL      0x014 /* RW u32 VTPU_CONTROL_* */
#define VTPU_REG_SERIAL	      0x018 /* RO u64 serial number, by property */
#define VTPU_REG_HBM_BYTES    0x020 /* RO u64 bytes of HBM */
#define VTPU_REG_HBM_RESERVED 0x028 /* RO u64 first bytes, for the driver's own use */
#define VTPU_REG_VECTORS      0x030 /* RO u32 MSI-X vectors of this device */
#define VTPU_REG_RESET_COUNT  0x034 /* RO u32 device resets since power-on */
#define VTPU_REG_EVENTS	      0x038 /* W1C u32 VTPU_EVENT_*: raises vector 0 when a bit is set */
#define VTPU_REG_BAD_ACCESS   0x03c /* RO u32 register accesses refused since power-on */
#define VTPU_REG_TIME_NS      0x040 /* RO u64 the device's clock, nanoseconds */
#define VTPU_REG_FATAL	      0x048 /* RO u32 status code of the last fatal error */

/* The admin queue. May be written only while VTPU_CONTROL_ENABLE is clear. */
#define VTPU_REG_ADMIN_SQ    0x100 /* RW u64 ring, page aligned */
#define VTPU_REG_ADMIN_CQ    0x108 /* RW u64 completions, page aligned */
#define VTPU_REG_ADMIN_TAIL  0x110 /* RW u64 tail word, 4-byte aligned */
#define VTPU_REG_ADMIN_DEPTH 0x118 /* RW u32 log2 of entries, 1..VTPU_ADMIN_DEPTH_LOG2 */

/*
 * Recovery. These act without a queue slot, so that a driver needs neither
 * memory nor a lock to use them in a fence's signalling path.
 */
#define VTPU_REG_ABORT_JOB \
	0x120 /* WO u64 queue << 32 | sequence number: that job ends as ABORTED */
#define VTPU_REG_RESET_QUEUE 0x128 /* WO u32 queue: its job ends as RESET, its cores are reset */

#define VTPU_REG_GEOMETRY   0x200  /* RO struct vtpu_hw_geometry */
#define VTPU_REG_CORE_STATS 0x1000 /* RO struct vtpu_hw_core_stats of each core */

#define VTPU_MAGIC	      0x55505456 /* "VTPU" */
#define VTPU_HW_VERSION_MAJOR 0
#define VTPU_HW_VERSION_MINOR 1
#define VTPU_HW_VERSION	      (VTPU_HW_VERSION_MAJOR << 16 | VTPU_HW_VERSION_MINOR)

/* VTPU_REG_CAPS, and the capabilities that a program image may ask for */
#define VTPU_CAP_F32	    (1ULL << 0) /* exact f32 matmul */
#define VTPU_CAP_BF16	    (1ULL << 1) /* bf16 operands */
#define VTPU_CAP_INT8	    (1ULL << 2)
#define VTPU_CAP_FP8	    (1ULL << 3)
#define VTPU_CAP_CONV	    (1ULL << 4) /* convolution and pooling instructions */
#define VTPU_CAP_ICI	    (1ULL << 5) /* sends between cores */
#define VTPU_CAP_GATHER	    (1ULL << 6)
#define VTPU_CAP_FAST	    (1ULL << 7) /* numerics=fast is in force: bits may differ */
#define VTPU_CAP_PACE_MODEL (1ULL << 8) /* completions are paced by modelled time */

/* VTPU_REG_STATUS */
#define VTPU_STATUS_READY   (1u << 0) /* may be enabled; clear while a reset runs */
#define VTPU_STATUS_ENABLED (1u << 1) /* the admin queue works */
#define VTPU_STATUS_FATAL   (1u << 2) /* stopped; only a device reset helps */

/* VTPU_REG_CONTROL */
#define VTPU_CONTROL_ENABLE (1u << 0) /* start the admin queue; clearing it stops all queues */
#define VTPU_CONTROL_RESET  (1u << 1) /* WO device reset; HBM contents stay */

/* VTPU_REG_EVENTS */
#define VTPU_EVENT_FATAL	(1u << 0)
#define VTPU_EVENT_QUEUE_HALTED (1u << 1) /* a queue that is not halted by its own job's failure */
#define VTPU_EVENT_ECC		(1u << 2) /* corrected memory error */
#define VTPU_EVENT_MASK		(VTPU_EVENT_FATAL | VTPU_EVENT_QUEUE_HALTED | VTPU_EVENT_ECC)

/* A doorbell page: offsets from VTPU_DOORBELL_BASE + queue * VTPU_DOORBELL_STRIDE */
#define VTPU_DB_RING	 0x00 /* WO u32 any value: look at the tail word */
#define VTPU_DB_STATE	 0x04 /* RO u32 enum vtpu_hw_queue_state */
#define VTPU_DB_PROGRESS 0x08 /* RO u64 grows with each retired instruction or copied chunk */
#define VTPU_DB_RUNNING	 0x10 /* RO u32 sequence number of the head job */
#define VTPU_DB_FETCHED	 0x14 /* RO u32 ring entries fetched, modulo 2^32 */
#define VTPU_DB_BUSY_NS	 0x18 /* RO u64 time with a job running, the running one included */

/**
 * enum vtpu_hw_queue_state - VTPU_DB_STATE
 * @VTPU_HWQ_NONE: no such queue
 * @VTPU_HWQ_IDLE: no job
 * @VTPU_HWQ_WAITING: the head job waits for cores
 * @VTPU_HWQ_RUNNING: the head job runs
 * @VTPU_HWQ_HALTED: a job failed; all later ones complete as QUEUE_HALTED
 */
enum vtpu_hw_queue_state {
	VTPU_HWQ_NONE = 0,
	VTPU_HWQ_IDLE = 1,
	VTPU_HWQ_WAITING = 2,
	VTPU_HWQ_RUNNING = 3,
	VTPU_HWQ_HALTED = 4,
};

/**
 * struct vtpu_hw_geometry - what this chip is, the one source for all layers
 *
 * Cycle costs are formulas over these numbers (qemu-device/model/cost.h has
 * them), so a compiler that has this struct predicts what the device reports.
 * A bandwidth in "q16" is bytes a cycle times 65536.
 */
struct vtpu_hw_geometry {
	/** @preset: enum vtpu_preset */
	__u32 preset;
	/** @cores: cores, 1..64 */
	__u32 cores;
	/** @clock_khz: modelled core clock */
	__u32 clock_khz;
	/** @mxu_per_core: systolic arrays of a core */
	__u32 mxu_per_core;
	/** @mxu_dim: rows and columns of an array */
	__u32 mxu_dim;
	/** @mxu_rows_q8: rows that an array takes a cycle, times 256 */
	__u32 mxu_rows_q8;
	/** @lanes: lanes of a vector register */
	__u32 lanes;
	/** @sublanes: sublanes of a vector register */
	__u32 sublanes;
	/** @valu_slots: vector ALU operations a cycle */
	__u32 valu_slots;
	/** @semaphores: counting semaphores of a core */
	__u32 semaphores;
	/** @vmem_bytes: vector memory of a core */
	__u64 vmem_bytes;
	/** @smem_bytes: scalar memory of a core */
	__u32 smem_bytes;
	/** @dma_setup: cycles to issue one DMA */
	__u32 dma_setup;
	/** @hbm_q16: HBM bytes a cycle of one core's share, q16 */
	__u32 hbm_q16;
	/** @hbm_latency: cycles from the last byte moved to data visible */
	__u32 hbm_latency;
	/** @pcie_q16: host link bytes a cycle of the whole board, q16 */
	__u32 pcie_q16;
	/** @pcie_latency: host link latency in cycles */
	__u32 pcie_latency;
	/** @ici_q16: bytes a cycle of one ICI link, each direction, q16 */
	__u32 ici_q16;
	/** @ici_hop: cycles of one ICI hop */
	__u32 ici_hop;
	/** @ici_links: ICI links of a core */
	__u32 ici_links;
	/** @matmul_passes_f32: passes that an f32 product costs */
	__u32 matmul_passes_f32;
	/** @max_instances: instructions times width that a program may have */
	__u32 max_instances;
	/** @pad: zero */
	__u32 pad;
};

/** enum vtpu_preset - which TPU generation the geometry models */
enum vtpu_preset {
	VTPU_PRESET_CUSTOM = 0,
	VTPU_PRESET_V2 = 2,
	VTPU_PRESET_V3 = 3,
	VTPU_PRESET_V4 = 4,
	VTPU_PRESET_V5E = 5,
	VTPU_PRESET_V5P = 6,
	VTPU_PRESET_V6E = 7,
	VTPU_PRESET_7X = 8,
};

/**
 * struct vtpu_hw_core_stats - counters of one core since power-on
 *
 * Times are host nanoseconds and include the job that runs now; cycles, MACs
 * and bytes are modelled and are added when a job ends.
 */
struct vtpu_hw_core_stats {
	/** @busy_ns: time with a job on this core */
	__u64 busy_ns;
	/** @cycles: modelled cycles of finished jobs */
	__u64 cycles;
	/** @mxu_cycles: of these, cycles with the matrix unit busy */
	__u64 mxu_cycles;
	/** @macs: multiply-adds that the programs asked for */
	__u64 macs;
	/** @hbm_bytes: bytes read from and written to HBM */
	__u64 hbm_bytes;
	/** @jobs: jobs finished without error */
	__u64 jobs;
	/** @jobs_failed: jobs that failed */
	__u64 jobs_failed;
	/** @resets: core resets */
	__u64 resets;
};

/* ---- Status codes ------------------------------------------------------- */

/**
 * enum vtpu_hw_status - how a command or job ended
 *
 * vtpu_hwlib.h has the table that maps each to an errno and to its name.
 * Values up to 0x3f come from admin commands, the rest from jobs.
 */
enum vtpu_hw_status {
	VTPU_ST_OK = 0x00,
	VTPU_ST_BAD_OPCODE = 0x01,    /* no such command */
	VTPU_ST_BAD_FIELD = 0x02,     /* a field out of range, or a reserved bit set */
	VTPU_ST_NOT_FOUND = 0x03,     /* no such queue, context or program */
	VTPU_ST_EXISTS = 0x04,	      /* that id is in use */
	VTPU_ST_BUSY = 0x05,	      /* still referred to */
	VTPU_ST_NO_MEMORY = 0x06,     /* the host has no memory for it */
	VTPU_ST_CANCELLED = 0x07,     /* a load that was cancelled */
	VTPU_ST_BAD_ADDRESS = 0x08,   /* a physical address outside HBM, or misaligned */
	VTPU_ST_BAD_IMAGE = 0x10,     /* header, section table or reference is malformed */
	VTPU_ST_IMAGE_VERSION = 0x11, /* image or ISA version that this device does not run */
	VTPU_ST_IMAGE_CHECKSUM = 0x12,
	VTPU_ST_TOO_LARGE = 0x13,     /* more instances than max_instances */
	VTPU_ST_UNSUPPORTED = 0x14,   /* capability or opcode that this device has not */
	VTPU_ST_BAD_INSN = 0x15,      /* an instruction's field is out of range */
	VTPU_ST_OUT_OF_BOUNDS = 0x16, /* an operand leaves VMEM, SMEM or its base */
	VTPU_ST_DEADLOCK = 0x17,      /* the program can never end */
	VTPU_ST_RACE = 0x18,	      /* created strict, and two accesses are not ordered */
	VTPU_ST_SEM_OVERFLOW = 0x19,  /* a semaphore passes 2^31 - 1 */
	VTPU_ST_TOO_WIDE = 0x1a,      /* more cores than the chip has */

	VTPU_ST_BAD_ENTRY = 0x40,      /* a ring entry's reserved bit or field */
	VTPU_ST_BAD_ARGS = 0x41,       /* argument block: size, count or reserved bit */
	VTPU_ST_NO_PROGRAM = 0x42,     /* no such program in this queue's context */
	VTPU_ST_MASK = 0x43,	       /* wider than the queue's core mask allows */
	VTPU_ST_UNMAPPED = 0x44,       /* a base or copy range has no translation */
	VTPU_ST_READ_ONLY = 0x45,      /* written, but mapped read-only */
	VTPU_ST_NOT_CONTIGUOUS = 0x46, /* a base is not one extent of HBM */
	VTPU_ST_ALIAS = 0x47,	       /* a written base overlaps another one */
	VTPU_ST_MISALIGNED = 0x48,     /* a base address below its alignment */
	VTPU_ST_BAD_PTE = 0x49,	       /* a page-table entry that names no memory */
	VTPU_ST_SYSTEM_MEMORY = 0x4a,  /* a compute base in system memory */
	VTPU_ST_WRAPS = 0x4b,	       /* an address range that leaves the address space */
	VTPU_ST_DMA_ERROR = 0x4c,      /* the bus refused an access to system memory */
	VTPU_ST_INDEX = 0x4d,	       /* an index outside its table */
	VTPU_ST_CYCLE_LIMIT = 0x50,    /* more modelled cycles than the queue allows */
	VTPU_ST_TIMEOUT = 0x51,	       /* the watchdog: no progress */
	VTPU_ST_ABORTED = 0x52,	       /* by VTPU_REG_ABORT_JOB */
	VTPU_ST_RESET = 0x53,	       /* by a reset of queue or device */
	VTPU_ST_QUEUE_HALTED = 0x54,   /* an earlier job of the queue failed */
	VTPU_ST_RING_OVERRUN = 0x55,   /* tail word further ahead than the ring is deep */
	VTPU_ST_ECC = 0x56,	       /* uncorrectable memory error */
	VTPU_ST_LINK = 0x57,	       /* a link between cores is down */
	VTPU_ST_INTERNAL = 0x5f,       /* a fault of the model itself */
};

/* ---- Queues ------------------------------------------------------------- */

/*
 * The driver writes entry and argument slot, then the free-running tail word,
 * then the doorbell. The device reads each of them once. Entry n of a queue is
 * in slot n mod depth and carries sequence number n, modulo 2^32. Completions
 * are written in order into a ring of the same depth: body first, then the
 * dword with status and phase. The phase bit is 1 on the first pass through the
 * ring, then alternates.
 */

/**
 * struct vtpu_sqe - a job
 *
 * Says nothing that a user of the queue may not choose: context, priority,
 * cores and limits belong to the queue.
 */
struct vtpu_sqe {
	/** @program: program id; 0 on a copy queue */
	__u32 program;
	/** @flags: VTPU_SQE_* */
	__u32 flags;
	/** @seq: sequence number of this entry */
	__u32 seq;
	/** @args_bytes: bytes used of the argument slot, at most %VTPU_ARG_SLOT_BYTES */
	__u32 args_bytes;
	/** @rsvd: zero */
	__u64 rsvd[6];
};

#define VTPU_SQE_NOP   (1u << 0) /* program is 0: completes in its turn, does nothing */
#define VTPU_SQE_FLAGS (VTPU_SQE_NOP)

/**
 * struct vtpu_cqe - how a job or admin command ended
 */
struct vtpu_cqe {
	/** @cycles: modelled cycles of the job */
	__u64 cycles;
	/** @fault_addr: virtual address, or for VTPU_ST_INDEX the index */
	__u64 fault_addr;
	/** @op_id: operation that failed, as the image numbers them */
	__u32 op_id;
	/** @seq: sequence number of the entry */
	__u32 seq;
	/** @where: VTPU_WHERE() of the fault, else zero */
	__u32 where;
	/** @status: enum vtpu_hw_status in bits 0..15, phase in bit 31 */
	__u32 status;
};

#define VTPU_CQE_STATUS_MASK 0xffffu
#define VTPU_CQE_PHASE	     (1u << 31)

/* struct vtpu_cqe.where: unit, core of the job, base register or descriptor */
#define VTPU_WHERE(unit, core, base) ((unit) | (core) << 8 | (base) << 16)
#define VTPU_WHERE_UNIT(w)	     ((w)&0xff)
#define VTPU_WHERE_CORE(w)	     ((w) >> 8 & 0xff)
#define VTPU_WHERE_BASE(w)	     ((w) >> 16 & 0xff)

/** enum vtpu_admin_op - struct vtpu_admin_header.opcode */
enum vtpu_admin_op {
	VTPU_ADMIN_NOP = 0x01,
	VTPU_ADMIN_CONTEXT_CREATE = 0x02,
	VTPU_ADMIN_CONTEXT_DESTROY = 0x03,
	VTPU_ADMIN_QUEUE_CREATE = 0x04,
	VTPU_ADMIN_QUEUE_DESTROY = 0x05,
	VTPU_ADMIN_PROGRAM_LOAD = 0x06,
	VTPU_ADMIN_PROGRAM_UNLOAD = 0x07,
	VTPU_ADMIN_INVALIDATE = 0x08,
};

/*
 * Admin commands have 64 bytes, like jobs. They start in order but may complete
 * out of order (a load runs on a worker); the completion's @seq says which.
 */

/** struct vtpu_admin_header - the first 8 bytes of every admin command */
struct vtpu_admin_header {
	/** @opcode: enum vtpu_admin_op */
	__u16 opcode;
	/** @flags: zero */
	__u16 flags;
	/** @seq: sequence number of this entry */
	__u32 seq;
};

/** struct vtpu_admin_context - CONTEXT_CREATE, CONTEXT_DESTROY, INVALIDATE */
struct vtpu_admin_context {
	/** @h: header */
	struct vtpu_admin_header h;
	/** @context: 1..VTPU_MAX_CONTEXTS */
	__u32 context;
	/** @pad: zero */
	__u32 pad;
	/** @root: CREATE: HBM address of the top page table; else zero */
	__u64 root;
	/**
	 * @va: INVALIDATE: start of the range whose entries were cleared. It
	 * completes when no running job holds a translation older than this
	 * command. CREATE and DESTROY: zero
	 */
	__u64 va;
	/** @bytes: INVALIDATE: length of the range */
	__u64 bytes;
	/** @rsvd: zero */
	__u64 rsvd[3];
};

/** struct vtpu_admin_queue - QUEUE_CREATE; QUEUE_DESTROY uses only @queue */
struct vtpu_admin_queue {
	/** @h: header */
	struct vtpu_admin_header h;
	/** @queue: 1..VTPU_MAX_QUEUES */
	__u16 queue;
	/** @context: the address space of its jobs */
	__u16 context;
	/** @kind: enum vtpu_queue_kind */
	__u8 kind;
	/** @depth_log2: 1..VTPU_MAX_DEPTH_LOG2 */
	__u8 depth_log2;
	/** @priority: enum vtpu_hw_priority */
	__u8 priority;
	/** @pad: zero */
	__u8 pad;
	/** @core_mask: cores it may use; 0 is all. Copy queues: 0 */
	__u64 core_mask;
	/** @max_cycles: modelled cycles that one job may take; 0 is no limit */
	__u64 max_cycles;
	/** @sq: ring of entries, page aligned */
	__u64 sq;
	/** @cq: ring of completions, page aligned */
	__u64 cq;
	/** @tail: tail word, 4-byte aligned */
	__u64 tail;
	/** @args: argument slots, page aligned */
	__u64 args;
};

/** enum vtpu_queue_kind - what a queue's jobs are */
enum vtpu_queue_kind {
	VTPU_QUEUE_COMPUTE = 0, /* programs */
	VTPU_QUEUE_COPY = 1,	/* copy descriptors */
};

/** enum vtpu_hw_priority - class of a queue in the arbiter */
enum vtpu_hw_priority {
	VTPU_PRIO_LOW = 0,
	VTPU_PRIO_NORMAL = 1,
	VTPU_PRIO_HIGH = 2,
};

/** struct vtpu_admin_program - PROGRAM_LOAD; PROGRAM_UNLOAD uses only @program */
struct vtpu_admin_program {
	/** @h: header */
	struct vtpu_admin_header h;
	/**
	 * @program: 1..VTPU_MAX_PROGRAMS. Unloading a program that is still loading cancels the
	 * load
	 */
	__u32 program;
	/** @context: the context whose queues may run it */
	__u32 context;
	/** @image: HBM address of the image, 4 KiB aligned; stays the driver's until the unload */
	__u64 image;
	/** @bytes: bytes of the image */
	__u64 bytes;
	/** @report: where to write struct vtpu_load_result and its records, in system memory */
	__u64 report;
	/** @report_bytes: room there; at least the size of struct vtpu_load_result */
	__u32 report_bytes;
	/** @flags: VTPU_LOAD_* */
	__u32 flags;
	/** @rsvd: zero */
	__u64 rsvd[2];
};

#define VTPU_LOAD_STRICT (1u << 0) /* refuse a program with a race */
#define VTPU_LOAD_FLAGS	 (VTPU_LOAD_STRICT)

/* ---- Page tables -------------------------------------------------------- */

/*
 * Four levels of 512 entries translate 48 bits. Tables are in HBM, 4 KiB
 * aligned. An entry at level 0 maps 4 KiB; one at level 1 with VTPU_PTE_LEAF
 * maps 2 MiB, aligned to 2 MiB. The device takes no entry on trust.
 */
#define VTPU_VA_BITS	   48
#define VTPU_PT_LEVELS	   4
#define VTPU_PT_INDEX_BITS 9
#define VTPU_PT_ENTRIES	   512
#define VTPU_PAGE_SHIFT	   12
#define VTPU_PAGE_BYTES	   4096
#define VTPU_LARGE_SHIFT   21
#define VTPU_LARGE_BYTES   0x200000

#define VTPU_PTE_VALID	   (1ULL << 0)
#define VTPU_PTE_WRITE	   (1ULL << 1)
#define VTPU_PTE_SYSTEM	   (1ULL << 2) /* guest physical (bus) address, not HBM */
#define VTPU_PTE_LEAF	   (1ULL << 3) /* level 1 only: maps 2 MiB */
#define VTPU_PTE_ADDR_MASK 0x000ffffffffff000ULL
#define VTPU_PTE_FLAGS	   (VTPU_PTE_VALID | VTPU_PTE_WRITE | VTPU_PTE_SYSTEM | VTPU_PTE_LEAF)

/* Who may use which virtual addresses; the first 2 MiB are never mapped. */
#define VTPU_VA_HBM_START    VTPU_LARGE_BYTES
#define VTPU_VA_HBM_END	     (1ULL << 46)
#define VTPU_VA_HOST_START   (1ULL << 46)
#define VTPU_VA_HOST_END     (1ULL << 47)
#define VTPU_VA_KERNEL_START (1ULL << 47)
#define VTPU_VA_END	     (1ULL << 48)

/* ---- Copy jobs ---------------------------------------------------------- */

/**
 * struct vtpu_copy_desc - one descriptor of a copy job
 *
 * A copy job's argument slot holds 1..VTPU_MAX_COPY_DESCS of these, done in
 * order. With an index list (COPY only) row i is read from
 * @src + index[i] * @src_stride, so that one descriptor gathers a batch.
 */
struct vtpu_copy_desc {
	/** @op: enum vtpu_copy_op */
	__u32 op;
	/** @flags: zero */
	__u32 flags;
	/** @src: virtual address of the source; FILL: zero */
	__u64 src;
	/** @dst: virtual address of the destination */
	__u64 dst;
	/** @rows: rows, at least 1 */
	__u32 rows;
	/** @row_bytes: bytes of a row, at least 1; FILL: a multiple of 4 */
	__u32 row_bytes;
	/** @src_stride: bytes from one source row to the next */
	__s64 src_stride;
	/** @dst_stride: bytes from one destination row to the next */
	__s64 dst_stride;
	/** @index: virtual address of @rows little-endian __u32, 4-byte aligned; 0 is none */
	__u64 index;
	/** @pattern: FILL: the value of each 4 bytes */
	__u32 pattern;
	/** @index_limit: with @index: every index must be below this; else zero */
	__u32 index_limit;
};

/** enum vtpu_copy_op - struct vtpu_copy_desc.op */
enum vtpu_copy_op {
	VTPU_COPY_COPY = 1,
	VTPU_COPY_FILL = 2,
};

#define VTPU_MAX_COPY_DESCS (VTPU_ARG_SLOT_BYTES / 64)

/* ---- Program arguments -------------------------------------------------- */

/**
 * struct vtpu_job_args - head of a program's argument block
 *
 * Followed by @nbases virtual addresses (__u64, in the order of the image's
 * bases) and then by @nscalars words (__u32), which become SMEM words 0.. of
 * every core. Both counts must be those of the image.
 */
struct vtpu_job_args {
	/** @nbases: bases of the program, at most %VTPU_MAX_BASES */
	__u32 nbases;
	/** @nscalars: scalars of the program, at most %VTPU_MAX_SCALARS */
	__u32 nscalars;
};

/* ---- Layout, checked wherever this file is compiled ---------------------- */

#if defined(__KERNEL__) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
_Static_assert(sizeof(struct vtpu_hw_geometry) == 96, "vtpu_hw_geometry");
_Static_assert(sizeof(struct vtpu_hw_core_stats) == 64, "vtpu_hw_core_stats");
_Static_assert(sizeof(struct vtpu_sqe) == 64, "vtpu_sqe");
_Static_assert(sizeof(struct vtpu_cqe) == 32, "vtpu_cqe");
_Static_assert(sizeof(struct vtpu_admin_context) == 64, "vtpu_admin_context");
_Static_assert(sizeof(struct vtpu_admin_queue) == 64, "vtpu_admin_queue");
_Static_assert(sizeof(struct vtpu_admin_program) == 64, "vtpu_admin_program");
_Static_assert(sizeof(struct vtpu_copy_desc) == 64, "vtpu_copy_desc");
_Static_assert(sizeof(struct vtpu_job_args) == 8, "vtpu_job_args");
#endif

#endif /* _UAPI_VTPU_HW_H_ */
