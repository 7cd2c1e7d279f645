// SPDX-License-Identifier: MIT
/*
 * copy.c - the copy engine: one thread that moves the bytes of copy jobs.
 *
 * HBM and system memory in any combination. Jobs of different queues take
 * turns, weighted by priority; a turn is cut into pieces, and between pieces
 * the cancel flag is looked at. System memory is reached through batches of the
 * host's asynchronous requests. Descriptors were checked by copy_check.c.
 */
#include <stdlib.h>
#include <string.h>

#include "chip.h"

#define TURN_BYTES    VTPU_COPY_PIECE /* times 1, 2, 4 for low, normal, high priority */
#define BOUNCE_BYTES  (256u << 10)    /* system to system, and fills of system memory */
#define DISCARD_BYTES (64ull << 20)   /* given back to the host at once */

/** struct copy_request - a piece on its way to or from system memory */
struct copy_request {
	struct vtpu_dma dma;
	struct vtpu_copy *copy;
	uint64_t va; /* for the report */
};

/** struct known - the last translation of a side of the job; it holds while the job runs */
struct known {
	uint64_t va;
	struct vtpu_extent ext;
};

struct vtpu_copy {
	/* const */
	struct vtpu_chip *chip;
	pthread_t thread;
	uint8_t *bounce;

	pthread_mutex_t lock;
	pthread_cond_t wake;  /* a job has come, or quit */
	pthread_cond_t moved; /* the last request of a batch is done */
	/* copy */
	struct vtpu_copy_job *first, **last;
	bool quit;

	/* atomic: requests in flight, and one for as long as more may be added */
	atomic_uint outstanding;

	/* The thread's own */
	struct copy_request request[VTPU_COPY_BATCH];
	unsigned int used;
	struct known src, dst;
	bool no_discard; /* the host cannot */
};

/* ---- System memory ------------------------------------------------------------------ */

static void request_done(struct vtpu_dma *dma)
{
	struct copy_request *req = dma->opaque;
	struct vtpu_copy *copy = req->copy;

	if (atomic_fetch_sub(&copy->outstanding, 1) != 1)
		return;
	pthread_mutex_lock(&copy->lock);
	pthread_cond_signal(&copy->moved);
	pthread_mutex_unlock(&copy->lock);
}

/* Wait for all requests. False, with the job's fault set, if one failed. */
static bool batch_end(struct vtpu_copy *copy, struct vtpu_copy_job *job)
{
	unsigned int i;

	if (atomic_fetch_sub(&copy->outstanding, 1) != 1) {
		pthread_mutex_lock(&copy->lock);
		while (atomic_load(&copy->outstanding))
			pthread_cond_wait(&copy->moved, &copy->lock);
		pthread_mutex_unlock(&copy->lock);
	}
	atomic_store(&copy->outstanding, 1);
	for (i = 0; i < copy->used && copy->request[i].dma.ok; i++)
		;
	if (i < copy->used && job->status == VTPU_ST_OK) {
		job->status = VTPU_ST_DMA_ERROR;
		job->fault_addr = copy->request[i].va;
		vtpu_trace(copy->chip, VTPU_TRACE_DMA_FAILED, job->queue, 0,
			   copy->request[i].dma.addr, copy->request[i].dma.bytes);
	}
	copy->used = 0;
	return job->status == VTPU_ST_OK;
}

static bool batch_add(struct vtpu_copy *copy, struct vtpu_copy_job *job, uint64_t va, uint64_t addr,
		      void *buf, size_t bytes, bool to_system)
{
	struct copy_request *req;

	if (copy->used == VTPU_COPY_BATCH && !batch_end(copy, job))
		return false;
	req = &copy->request[copy->used++];
	req->copy = copy;
	req->va = va;
	req->dma = (struct vtpu_dma){
		.addr = addr,
		.buf = buf,
		.bytes = bytes,
		.to_system = to_system,
		.done = request_done,
		.opaque = req,
	};
	if (job->fault == VTPU_FAULT_DMA_ERROR) /* req->dma.ok is false. */
		return batch_end(copy, job);
	atomic_fetch_add(&copy->outstanding, 1);
	copy->chip->ops.dma(copy->chip->host, &req->dma);
	return true;
}

/* ---- Addresses ------------------------------------------------------------------------ */

/* Translate @va; @ext then begins there. False, with the job's fault set, if that is not possible. */
static bool translate(struct vtpu_copy *copy, struct vtpu_copy_job *job, struct known *known,
		      uint64_t va, uint64_t want, bool write, struct vtpu_extent *ext)
{
	enum vtpu_hw_status st = VTPU_ST_OK;

	if (va - known->va >= known->ext.bytes) {
		known->va = va;
		st = vtpu_mmu_extent(copy->chip, job->root, va, want, NULL, &known->ext);
		if (st != VTPU_ST_OK)
			known->ext.bytes = 0;
	}
	*ext = known->ext;
	if (st == VTPU_ST_BAD_PTE)
		vtpu_trace(copy->chip, VTPU_TRACE_BAD_PTE, job->queue, 0, va, ext->pte);
	if (st == VTPU_ST_OK && write && !ext->write)
		st = VTPU_ST_READ_ONLY;
	if (st != VTPU_ST_OK) {
		job->status = st;
		job->fault_addr = va;
		return false;
	}
	ext->addr += va - known->va;
	ext->bytes -= va - known->va;
	return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Read the part of the index list that begins at job->row. */
static bool read_index(struct vtpu_copy *copy, struct vtpu_copy_job *job,
		       const struct vtpu_copy_desc *d)
{
	struct known known = { 0 };
	uint64_t bytes = least(d->rows - job->row, sizeof(job->index) / sizeof(job->index[0])) *
			 sizeof(job->index[0]);
	uint64_t va = d->index + job->row * sizeof(job->index[0]);
	uint64_t at, n;

	for (at = 0; at < bytes; at += n) {
		struct vtpu_extent ext;
		uint8_t *to = (uint8_t *)job->index + at;

		if (!translate(copy, job, &known, va + at, bytes - at, false, &ext))
			return false;
		n = least(ext.bytes, bytes - at);
		if (!ext.system)
			memcpy(to, copy->chip->hbm + ext.addr, n);
		else if (!batch_add(copy, job, va + at, ext.addr, to, n, false))
			return false;
	}
	job->index_at = job->row;
	job->index_count = bytes / sizeof(job->index[0]);
	return batch_end(copy, job);
}

/* Virtual address of the source row; false: a fault */
static bool source_row(struct vtpu_copy *copy, struct vtpu_copy_job *job,
		       const struct vtpu_copy_desc *d, uint64_t *va)
{
	uint64_t row = job->row;

	if (d->index) {
		if (job->row - job->index_at >= job->index_count && !read_index(copy, job, d))
			return false;
		row = job->index[job->row - job->index_at];
		if (row >= d->index_limit) {
			job->status = VTPU_ST_INDEX;
			job->fault_addr = row;
			return false;
		}
	}
	*va = d->src + row * (uint64_t)d->src_stride;
	return true;
}

/* ---- Pieces: each moves some bytes and returns how many, 0 on a fault -------------------- */

static void hbm_written(struct vtpu_copy *copy, uint64_t addr, uint64_t bytes)
{
	if (copy->chip->ops.dirty)
		copy->chip->ops.dirty(copy->chip->host, addr, bytes);
}

static uint64_t system_to_system(struct vtpu_copy *copy, struct vtpu_copy_job *job,
				 const struct vtpu_extent *src, uint64_t src_va,
				 const struct vtpu_extent *dst, uint64_t dst_va, uint64_t n)
{
	n = least(n, BOUNCE_BYTES);
	if (!batch_end(copy, job) ||
	    !batch_add(copy, job, src_va, src->addr, copy->bounce, n, false) ||
	    !batch_end(copy, job) ||
	    !batch_add(copy, job, dst_va, dst->addr, copy->bounce, n, true) ||
	    !batch_end(copy, job))
		return 0;
	return n;
}

static uint64_t copy_piece(struct vtpu_copy *copy, struct vtpu_copy_job *job,
			   const struct vtpu_copy_desc *d, uint64_t want, bool *system)
{
	uint8_t *hbm = copy->chip->hbm;
	uint64_t dst_va = d->dst + job->row * (uint64_t)d->dst_stride + job->row_done;
	uint64_t src_va, n;
	struct vtpu_extent src, dst;

	want = least(want, VTPU_COPY_PIECE);
	if (!source_row(copy, job, d, &src_va))
		return 0;
	src_va += job->row_done;
	if (!translate(copy, job, &copy->src, src_va, want, false, &src) ||
	    !translate(copy, job, &copy->dst, dst_va, want, true, &dst))
		return 0;
	if (job->fault == VTPU_FAULT_ECC && !src.system) {
		job->status = VTPU_ST_ECC;
		job->fault_addr = src_va;
		return 0;
	}
	n = least(want, least(src.bytes, dst.bytes));
	*system = src.system || dst.system;
	if (src.system && dst.system)
		return system_to_system(copy, job, &src, src_va, &dst, dst_va, n);
	if (src.system) {
		if (!batch_add(copy, job, src_va, src.addr, hbm + dst.addr, n, false))
			return 0;
	} else if (dst.system) {
		if (!batch_add(copy, job, dst_va, dst.addr, hbm + src.addr, n, true))
			return 0;
	} else {
		memmove(hbm + dst.addr, hbm + src.addr, n);
	}
	if (!dst.system)
		hbm_written(copy, dst.addr, n);
	return n;
}

static void fill_words(uint8_t *to, uint64_t bytes, uint32_t pattern)
{
	uint32_t *word = (uint32_t *)to;
	uint64_t i;

	if (pattern == (pattern & 0xff) * 0x01010101u) {
		memset(to, pattern & 0xff, bytes);
		return;
	}
	for (i = 0; i < bytes / sizeof(*word); i++)
		word[i] = pattern;
}

static uint64_t fill_hbm(struct vtpu_copy *copy, uint64_t addr, uint64_t n, uint32_t pattern)
{
	struct vtpu_chip *chip = copy->chip;

	if (!pattern && chip->ops.discard && !copy->no_discard) {
		uint64_t ahead = -addr & (VTPU_LARGE_BYTES - 1);

		if (!ahead && n >= VTPU_LARGE_BYTES) {
			n -= n % VTPU_LARGE_BYTES;
			if (chip->ops.discard(chip->host, addr, n)) {
				hbm_written(copy, addr, n);
				return n;
			}
			copy->no_discard = true;
		} else if (ahead) {
			n = least(n, ahead);
		}
	}
	n = least(n, VTPU_COPY_PIECE);
	fill_words(chip->hbm + addr, n, pattern);
	hbm_written(copy, addr, n);
	return n;
}

static uint64_t fill_piece(struct vtpu_copy *copy, struct vtpu_copy_job *job,
			   const struct vtpu_copy_desc *d, uint64_t want, bool *system)
{
	uint64_t va = d->dst + job->row * (uint64_t)d->dst_stride + job->row_done;
	struct vtpu_extent dst;
	uint64_t n;

	want = least(want, DISCARD_BYTES);
	if (!translate(copy, job, &copy->dst, va, want, true, &dst))
		return 0;
	n = least(want, dst.bytes);
	*system = dst.system;
	if (!dst.system)
		return fill_hbm(copy, dst.addr, n, d->pattern);
	n = least(n, BOUNCE_BYTES);
	/* The first piece of a turn writes the pattern; until then nothing uses the buffer. */
	if (!copy->used)
		fill_words(copy->bounce, least(BOUNCE_BYTES, job->rows * job->row_bytes),
			   d->pattern);
	return batch_add(copy, job, va, dst.addr, copy->bounce, n, true) ? n : 0;
}

/* ---- Jobs ---------------------------------------------------------------------------------- */

static uint64_t transfer_cycles(uint64_t bytes, uint32_t q16)
{
	if (!bytes || !q16)
		return 0;
	return bytes / q16 * 65536 + (bytes % q16 * 65536 + q16 - 1) / q16;
}

/* Begin descriptor job->at: rows that touch each other are one long row. */
static void desc_begin(struct vtpu_copy_job *job)
{
	const struct vtpu_copy_desc *d = &job->desc[job->at];

	job->row = 0;
	job->row_done = 0;
	job->rows = d->rows;
	job->row_bytes = d->row_bytes;
	job->index_count = 0;
	job->hbm_bytes = 0;
	job->system_bytes = 0;
	if (!d->index && d->dst_stride == d->row_bytes &&
	    (d->op == VTPU_COPY_FILL || d->src_stride == d->row_bytes)) {
		job->row_bytes *= job->rows;
		job->rows = 1;
	}
}

static void desc_end(struct vtpu_copy *copy, struct vtpu_copy_job *job)
{
	const struct vtpu_hw_geometry *g = &copy->chip->geometry;

	job->cycles += g->dma_setup + transfer_cycles(job->hbm_bytes, g->hbm_q16) +
		       transfer_cycles(job->system_bytes, g->pcie_q16) +
		       (job->system_bytes ? g->pcie_latency : g->hbm_latency);
	if (++job->at < job->ndesc)
		desc_begin(job);
}

/* Move the next piece. False: the descriptor is done, or a fault. */
static bool step(struct vtpu_copy *copy, struct vtpu_copy_job *job, uint64_t *moved)
{
	const struct vtpu_copy_desc *d = &job->desc[job->at];
	uint64_t want = job->row_bytes - job->row_done;
	bool system = false;
	uint64_t n = d->op == VTPU_COPY_FILL ? fill_piece(copy, job, d, want, &system) :
					       copy_piece(copy, job, d, want, &system);

	if (!n)
		return false;
	*moved += n;
	job->bytes += n;
	*(system ? &job->system_bytes : &job->hbm_bytes) += n;
	atomic_fetch_add_explicit(&job->progress, 1, memory_order_relaxed);
	job->row_done += n;
	if (job->row_done == job->row_bytes) {
		job->row_done = 0;
		job->row++;
	}
	return job->row < job->rows;
}

/* One turn of a job. True: it has ended. */
static bool turn(struct vtpu_copy *copy, struct vtpu_copy_job *job)
{
	uint64_t moved = 0, limit = (uint64_t)TURN_BYTES << job->priority;

	copy->src.ext.bytes = 0;
	copy->dst.ext.bytes = 0;
	while (moved < limit && job->status == VTPU_ST_OK && job->at < job->ndesc) {
		if (atomic_load_explicit(&job->cancel, memory_order_relaxed)) {
			job->status = VTPU_ST_ABORTED;
		} else if (!step(copy, job, &moved) && job->status == VTPU_ST_OK) {
			/* Descriptors are done in order: the next one may read what this one wrote. */
			if (batch_end(copy, job))
				desc_end(copy, job);
		}
	}
	batch_end(copy, job);
	return job->status != VTPU_ST_OK || job->at == job->ndesc;
}

static void finish(struct vtpu_copy_job *job)
{
	struct vtpu_chip *chip = job->chip;
	unsigned int queue = job->queue;

	atomic_fetch_add(&chip->copy_bytes, job->bytes);
	/* From here on the queue may be freed. */
	atomic_store(&job->ended, true);
	vtpu_attend(chip, queue);
	atomic_fetch_sub(&chip->inflight, 1);
}

/* Under the lock */
static void append(struct vtpu_copy *copy, struct vtpu_copy_job *job)
{
	job->next = NULL;
	*copy->last = job;
	copy->last = &job->next;
}

static void *copy_thread(void *arg)
{
	struct vtpu_copy *copy = arg;
	struct vtpu_chip *chip = copy->chip;
	struct vtpu_copy_job *job;

	if (chip->ops.thread_start)
		chip->ops.thread_start(chip->host);
	pthread_mutex_lock(&copy->lock);
	for (;;) {
		while (!copy->first && !copy->quit)
			pthread_cond_wait(&copy->wake, &copy->lock);
		job = copy->first;
		if (!job)
			break;
		copy->first = job->next;
		if (!copy->first)
			copy->last = &copy->first;
		pthread_mutex_unlock(&copy->lock);
		if (turn(copy, job)) {
			finish(job);
			job = NULL;
		}
		pthread_mutex_lock(&copy->lock);
		if (job)
			append(copy, job);
	}
	pthread_mutex_unlock(&copy->lock);
	if (chip->ops.thread_stop)
		chip->ops.thread_stop(chip->host);
	return NULL;
}

void vtpu_copy_start(struct vtpu_copy *copy, struct vtpu_copy_job *job)
{
	job->at = 0;
	job->cycles = 0;
	job->bytes = 0;
	job->status = VTPU_ST_OK;
	job->fault_addr = 0;
	atomic_store(&job->ended, false);
	desc_begin(job);
	pthread_mutex_lock(&copy->lock);
	append(copy, job);
	pthread_cond_signal(&copy->wake);
	pthread_mutex_unlock(&copy->lock);
}

struct vtpu_copy *vtpu_copy_create(struct vtpu_chip *chip)
{
	struct vtpu_copy *copy = calloc(1, sizeof(*copy));

	if (!copy)
		return NULL;
	copy->chip = chip;
	copy->last = &copy->first;
	atomic_init(&copy->outstanding, 1);
	copy->bounce = malloc(BOUNCE_BYTES);
	pthread_mutex_init(&copy->lock, NULL);
	pthread_cond_init(&copy->wake, NULL);
	pthread_cond_init(&copy->moved, NULL);
	if (copy->bounce && !pthread_create(&copy->thread, NULL, copy_thread, copy))
		return copy;
	pthread_cond_destroy(&copy->moved);
	pthread_cond_destroy(&copy->wake);
	pthread_mutex_destroy(&copy->lock);
	free(copy->bounce);
	free(copy);
	return NULL;
}

void vtpu_copy_destroy(struct vtpu_copy *copy)
{
	if (!copy)
		return;
	pthread_mutex_lock(&copy->lock);
	copy->quit = true;
	pthread_cond_signal(&copy->wake);
	pthread_mutex_unlock(&copy->lock);
	pthread_join(copy->thread, NULL);
	pthread_cond_destroy(&copy->moved);
	pthread_cond_destroy(&copy->wake);
	pthread_mutex_destroy(&copy->lock);
	free(copy->bounce);
	free(copy);
}
