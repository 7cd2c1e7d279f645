// SPDX-License-Identifier: MIT
/*
 * job.c - the life of a queue's head job: checks, start, end.
 *
 * A compute job goes from here to the arbiter, comes back with cores, is bound
 * to memory and handed to the executor; a copy job goes to the copy engine.
 * Fetching and completing are queue.c's.
 */
#include <string.h>

#include "chip.h"

#define BIND_BUDGET 4096 /* page-table entries read in control context; more are left to a worker */
#define ZERO_PIECE  (1u << 20)

/* The job at the front of @q, as far as it was fetched; NULL: none */
struct vtpu_job *vtpu_queue_head(struct vtpu_queue *q)
{
	if (q->ring.completed == q->ring.fetched)
		return NULL;
	return &q->job[q->ring.completed % VTPU_FETCH_AHEAD];
}

/* Grows with everything that the queue's jobs do. Under the lock or in control context. */
uint64_t vtpu_job_progress(const struct vtpu_queue *q)
{
	return q->pub.progress + atomic_load(&q->run.retired) + atomic_load(&q->copy.progress) +
	       atomic_load(&q->bind_progress);
}

/* ---- End ------------------------------------------------------------------ */

static void release_cores(struct vtpu_queue *q, enum vtpu_hw_status status)
{
	struct vtpu_chip *chip = q->chip;
	unsigned int i;

	if (status == VTPU_ST_RESET)
		for (i = 0; i < chip->geometry.cores; i++)
			if (q->cores >> i & 1)
				vtpu_core_reset(&chip->core[i]);
	chip->busy_cores &= ~q->cores;
	chip->arbitrate = true;
	q->cores = 0;
}

static void tell_dirty(struct vtpu_queue *q)
{
	struct vtpu_chip *chip = q->chip;
	struct vtpu_program *program = q->run.program;
	uint32_t i;

	if (!chip->ops.dirty)
		return;
	for (i = 0; i < program->nbases && i < q->bound; i++)
		if (program->base[i].flags & VTPU_BASE_WRITE)
			chip->ops.dirty(chip->host, q->run.base[i] - chip->hbm, q->base_bytes[i]);
}

/* The head job is over, whatever it was doing; nobody works on it any more. */
void vtpu_job_end(struct vtpu_queue *q, struct vtpu_job *job, enum vtpu_hw_status status)
{
	struct vtpu_chip *chip = q->chip;
	bool ran = job->state == VTPU_JOB_RUNNING;

	if (ran) {
		uint64_t ns = vtpu_stats_end(q, status);

		chip->running--;
		if (q->cores)
			tell_dirty(q);
		vtpu_trace(chip, VTPU_TRACE_JOB_DONE, q->id, job->seq, job->cycles, ns);
	}
	if (q->cores)
		release_cores(q, status);
	vtpu_program_put(q->run.program);
	q->run.program = NULL;
	q->parked = false;
	chip->admin_recheck = true;

	job->status = status;
	job->state = VTPU_JOB_ENDED;
	if (status == VTPU_ST_OK)
		return;
	pthread_mutex_lock(&chip->lock);
	chip->stats.jobs_failed++;
	pthread_mutex_unlock(&chip->lock);
	if (status != VTPU_ST_QUEUE_HALTED)
		vtpu_trace(chip, VTPU_TRACE_JOB_FAILED, q->id, job->seq, status, job->fault_addr);
	q->halted = true;
}

static void fail(struct vtpu_queue *q, struct vtpu_job *job, enum vtpu_hw_status status,
		 uint32_t where, uint64_t addr)
{
	job->where = where;
	job->fault_addr = addr;
	vtpu_job_end(q, job, status);
}

/* Has the running job an injected hang that what asks for @why does not end? */
static bool deaf(const struct vtpu_queue *q, enum vtpu_hw_status why)
{
	return q->fault == VTPU_FAULT_STUCK || q->fault == VTPU_FAULT_DEAD ||
	       (q->fault == VTPU_FAULT_IGNORE_ABORT && why != VTPU_ST_RESET);
}

/* End the head job early: at once, or as soon as those who work on it notice. */
void vtpu_job_cancel(struct vtpu_queue *q, struct vtpu_job *job, enum vtpu_hw_status why)
{
	switch (job->state) {
	case VTPU_JOB_ARGS:
		job->status = why;
		break;
	case VTPU_JOB_WAITING:
		vtpu_arbiter_remove(q);
		vtpu_job_end(q, job, why);
		break;
	case VTPU_JOB_FETCHED:
		vtpu_job_end(q, job, why);
		break;
	case VTPU_JOB_RUNNING:
		if (q->cancelled != VTPU_ST_OK || deaf(q, why))
			break;
		q->cancelled = why;
		atomic_store(&q->run.cancel, true);
		atomic_store(&q->copy.cancel, true);
		if (q->parked)
			vtpu_job_end(q, job, why);
		break;
	case VTPU_JOB_ENDED:
		break;
	}
}

/* A job that was told to end, and did not end well: say why. */
static enum vtpu_hw_status reason(const struct vtpu_queue *q, enum vtpu_hw_status status)
{
	if (status != VTPU_ST_ABORTED)
		return status;
	return q->cancelled != VTPU_ST_OK ? q->cancelled : VTPU_ST_INTERNAL;
}

/* Where base and offset of an instruction's address lead in the job's context */
static uint64_t virtual_address(const struct vtpu_job *job, uint64_t addr)
{
	uint64_t va;

	memcpy(&va, job->args + sizeof(struct vtpu_job_args) + VTPU_ADDR_BASE(addr) * sizeof(va),
	       sizeof(va));
	return va + VTPU_ADDR_OFFSET(addr);
}

/* Look whether the running head job has ended. */
void vtpu_job_collect(struct vtpu_queue *q, struct vtpu_job *job)
{
	if (q->parked)
		return;
	if (q->kind == VTPU_QUEUE_COPY) {
		struct vtpu_copy_job *copy = &q->copy;

		if (!atomic_load(&copy->ended))
			return;
		vtpu_trace(q->chip, VTPU_TRACE_COPY, q->id, job->seq, copy->bytes, copy->ndesc);
		job->cycles = copy->cycles;
		job->fault_addr = copy->fault_addr;
		if (copy->status != VTPU_ST_OK)
			job->where = VTPU_WHERE(0, 0, copy->at);
		vtpu_job_end(q, job, reason(q, copy->status));
		return;
	}
	if (!atomic_load(&q->ended))
		return;
	if (q->run.status == VTPU_ST_OK)
		job->cycles = q->run.program->cycles * (q->fault == VTPU_FAULT_SLOW ? 2 : 1);
	if (q->run.status == VTPU_ST_BAD_PTE)
		vtpu_trace(q->chip, VTPU_TRACE_BAD_PTE, q->id, job->seq, q->run.fault_addr,
			   q->bind_pte);
	job->op_id = q->run.op_id;
	job->where = q->run.where;
	job->fault_addr = q->run.status == VTPU_ST_ECC ? virtual_address(job, q->run.fault_addr) :
							 q->run.fault_addr;
	vtpu_job_end(q, job, reason(q, q->run.status));
}

/* ---- Start ------------------------------------------------------------------ */

/* On a worker, or in control context before a worker has seen the job. */
static void run_ended(struct vtpu_queue *q)
{
	struct vtpu_chip *chip = q->chip;
	unsigned int id = q->id;

	/* From here on the queue may be freed. */
	atomic_store(&q->ended, true);
	vtpu_attend(chip, id);
	atomic_fetch_sub(&chip->inflight, 1);
}

static void run_done(struct vtpu_run *run)
{
	run_ended(run->opaque);
}

static void bind_failed(struct vtpu_queue *q, enum vtpu_hw_status status)
{
	q->run.status = status;
	q->run.where = q->bind_where;
	q->run.fault_addr = q->bind_addr;
	run_ended(q);
}

static bool zero_vmem(struct vtpu_queue *q)
{
	uint64_t at, bytes;
	unsigned int i;

	for (i = 0; i < q->run.program->width; i++) {
		for (at = 0; at < q->zero_bytes; at += bytes) {
			if (atomic_load(&q->run.cancel))
				return false;
			bytes = q->zero_bytes - at < ZERO_PIECE ? q->zero_bytes - at : ZERO_PIECE;
			memset(q->run.core[i].vmem + at, 0, bytes);
			atomic_fetch_add(&q->bind_progress, 1);
		}
	}
	return true;
}

static void hand_to_executor(struct vtpu_queue *q)
{
	if (!vtpu_run_start(q->chip->pool, &q->run))
		bind_failed(q, VTPU_ST_NO_MEMORY);
}

/* Control instructions have done all they do when the loader has timed them. */
static bool only_control(const struct vtpu_program *program)
{
	unsigned int unit;

	for (unit = 0; unit < VTPU_UNITS; unit++)
		if (unit != VTPU_UNIT_CTL && program->count[unit])
			return false;
	return true;
}

/* Nothing is left to do on the host, so no worker is woken for it. vtpu_arbitrate() looks at the queue next. */
static void end_at_once(struct vtpu_queue *q)
{
	atomic_store(&q->run.retired, q->run.program->instances);
	atomic_store(&q->ended, true);
	atomic_fetch_sub(&q->chip->inflight, 1);
}

/* What control context would take too long for. On a worker. */
static void prepare(void *arg)
{
	struct vtpu_queue *q = arg;
	unsigned int budget;

	do {
		if (atomic_load(&q->run.cancel)) {
			bind_failed(q, VTPU_ST_ABORTED);
			return;
		}
		budget = BIND_BUDGET;
	} while (!vtpu_bind(q, q->args, &budget));

	if (q->bind_status != VTPU_ST_OK)
		bind_failed(q, q->bind_status);
	else if (!zero_vmem(q))
		bind_failed(q, VTPU_ST_ABORTED);
	else
		hand_to_executor(q);
}

/* The job is the queue's running one from here; false: an injected fault has taken it */
static bool start_running(struct vtpu_queue *q, struct vtpu_job *job)
{
	struct vtpu_chip *chip = q->chip;

	job->state = VTPU_JOB_RUNNING;
	q->cancelled = VTPU_ST_OK;
	q->started_ns = vtpu_now(chip);
	q->seen_ns = q->started_ns;
	q->seen_progress = vtpu_job_progress(q);
	atomic_store(&q->run.cancel, false);
	atomic_store(&q->copy.cancel, false);
	chip->running++;
	vtpu_stats_start(q);
	vtpu_chip_arm(chip, q->started_ns + chip->watchdog_ns / 4);

	q->fault = vtpu_inject_take(chip, q->id, job->seq, &q->run.fault_core);
	q->run.fault = q->fault;
	q->copy.fault = q->fault;
	switch (q->fault) {
	case VTPU_FAULT_DEAD:
		chip->dead = true;
		break;
	case VTPU_FAULT_ECC_CORRECTED:
		vtpu_chip_event(chip, VTPU_EVENT_ECC);
		break;
	case VTPU_FAULT_REMOVAL:
		chip->ops.vanish(chip->host);
		q->parked = true;
		return false;
	case VTPU_FAULT_FATAL:
		chip->broken = true;
		q->parked = true;
		return false;
	case VTPU_FAULT_LOST_IRQ:
		job->lost_irq = true;
		break;
	case VTPU_FAULT_DMA_ERROR:
		if (q->kind != VTPU_QUEUE_COPY || job->sqe.flags & VTPU_SQE_NOP) {
			vtpu_job_end(q, job, VTPU_ST_DMA_ERROR);
			return false;
		}
		break;
	default:
		break;
	}
	return true;
}

/* Cores with clean memories for a gang; false without memory */
static bool prepare_cores(struct vtpu_queue *q, unsigned int first)
{
	const struct vtpu_program *program = q->run.program;
	struct vtpu_chip *chip = q->chip;
	unsigned int i;

	q->zero_bytes = 0;
	for (i = 0; i < program->width; i++) {
		struct vtpu_core *core = &chip->core[first + i];

		if (!vtpu_core_map(chip, core))
			return false;
		q->run.core[i] = core->mem;
		if (core->smem_dirty)
			memset(core->mem.smem, 0, core->smem_dirty);
		core->smem_dirty = q->smem_dirty ? chip->geometry.smem_bytes :
						   program->nscalars * sizeof(uint32_t);
		if (program->reads_cold_vmem) {
			uint64_t dirty = core->vmem_dirty < program->vmem_bytes ?
						 core->vmem_dirty :
						 program->vmem_bytes;

			if (q->zero_bytes < dirty)
				q->zero_bytes = dirty;
		}
		if (core->vmem_dirty < program->vmem_bytes)
			core->vmem_dirty = program->vmem_bytes;
	}
	return true;
}

/* The arbiter has found cores for the head job of @q. */
void vtpu_job_start(struct vtpu_queue *q, struct vtpu_job *job, unsigned int first, uint64_t cores)
{
	struct vtpu_chip *chip = q->chip;
	unsigned int budget = BIND_BUDGET;

	q->cores = cores;
	q->first_core = first;
	q->epoch = chip->context[q->context].epoch;
	q->root = chip->context[q->context].root;
	q->bound = 0;
	q->bound_bytes = 0;
	chip->busy_cores |= cores;
	if (!start_running(q, job))
		return;
	vtpu_trace(chip, VTPU_TRACE_JOB_START, q->id, job->seq, job->sqe.program, first);
	if (!prepare_cores(q, first)) {
		vtpu_job_end(q, job, VTPU_ST_NO_MEMORY);
		return;
	}
	q->args = job->args;
	q->bind_where = 0;
	q->bind_addr = 0;
	q->run.geometry = &chip->geometry;
	q->run.kernels = chip->kernels;
	q->run.reference = chip->reference;
	q->run.dense = chip->dense;
	q->run.done = run_done;
	q->run.opaque = q;
	q->run.status = VTPU_ST_OK;
	q->run.op_id = 0;
	q->run.where = 0;
	q->run.fault_addr = 0;
	atomic_store(&q->ended, false);
	atomic_fetch_add(&chip->inflight, 1);

	if (!vtpu_bind(q, job->args, &budget) || (q->bind_status == VTPU_ST_OK && q->zero_bytes)) {
		if (!vtpu_pool_submit(chip->pool, prepare, q))
			bind_failed(q, VTPU_ST_NO_MEMORY);
	} else if (q->bind_status != VTPU_ST_OK) {
		bind_failed(q, q->bind_status);
	} else if (only_control(q->run.program) && !vtpu_fault_hangs(q->fault)) {
		end_at_once(q);
	} else {
		hand_to_executor(q);
	}
}

/* ---- Checks ------------------------------------------------------------------ */

static bool entry_valid(const struct vtpu_queue *q, const struct vtpu_job *job)
{
	const struct vtpu_sqe *sqe = &job->sqe;
	unsigned int i;

	for (i = 0; i < sizeof(sqe->rsvd) / sizeof(sqe->rsvd[0]); i++)
		if (sqe->rsvd[i])
			return false;
	if (sqe->seq != job->seq || (sqe->flags & ~VTPU_SQE_FLAGS) ||
	    sqe->args_bytes > VTPU_ARG_SLOT_BYTES)
		return false;
	if (sqe->flags & VTPU_SQE_NOP)
		return !sqe->program && !sqe->args_bytes;
	return q->kind == VTPU_QUEUE_COPY ? !sqe->program : sqe->program;
}

static void begin_copy(struct vtpu_queue *q, struct vtpu_job *job)
{
	struct vtpu_copy_job *copy = &q->copy;
	enum vtpu_hw_status st;
	uint32_t at = 0;
	uint64_t addr = 0;

	copy->ndesc = job->sqe.args_bytes / sizeof(copy->desc[0]);
	memcpy(copy->desc, job->args, sizeof(copy->desc));
	st = !copy->ndesc || job->sqe.args_bytes % sizeof(copy->desc[0]) ?
		     VTPU_ST_BAD_ARGS :
		     vtpu_copy_check(copy->desc, copy->ndesc, &at, &addr);
	if (st != VTPU_ST_OK) {
		fail(q, job, st, VTPU_WHERE(0, 0, at), addr);
		return;
	}
	q->epoch = q->chip->context[q->context].epoch;
	if (!start_running(q, job))
		return;
	if (vtpu_fault_hangs(q->fault)) {
		q->parked = true;
		return;
	}
	copy->chip = q->chip;
	copy->queue = q->id;
	copy->priority = q->priority;
	copy->root = q->chip->context[q->context].root;
	atomic_fetch_add(&q->chip->inflight, 1);
	vtpu_copy_start(q->chip->copy, copy);
}

static void begin_compute(struct vtpu_queue *q, struct vtpu_job *job)
{
	struct vtpu_chip *chip = q->chip;
	struct vtpu_loaded *loaded = NULL;
	struct vtpu_program *program;
	unsigned int first;

	if (job->sqe.program <= VTPU_MAX_PROGRAMS)
		loaded = chip->program[job->sqe.program];
	if (!loaded || !loaded->program || loaded->context != q->context) {
		vtpu_job_end(q, job, VTPU_ST_NO_PROGRAM);
		return;
	}
	program = loaded->program;
	if (!vtpu_args_valid(program, job->args, job->sqe.args_bytes)) {
		vtpu_job_end(q, job, VTPU_ST_BAD_ARGS);
	} else if (!vtpu_slice_find(chip, q->core_mask, program->width, &first)) {
		vtpu_job_end(q, job, VTPU_ST_MASK);
	} else if (q->max_cycles && program->cycles > q->max_cycles) {
		job->cycles = program->cycles;
		vtpu_job_end(q, job, VTPU_ST_CYCLE_LIMIT);
	} else {
		/* Held until the job ends, whatever becomes of the id. */
		vtpu_program_get(program);
		q->run.program = program;
		q->smem_dirty = loaded->writes_smem;
		job->state = VTPU_JOB_WAITING;
		vtpu_arbiter_add(q);
	}
}

/* @job has become the head of @q and is complete: check it and set it going. */
void vtpu_job_begin(struct vtpu_queue *q, struct vtpu_job *job)
{
	if (job->status != VTPU_ST_OK) {
		vtpu_job_end(q, job, job->status);
	} else if (!entry_valid(q, job)) {
		vtpu_trace(q->chip, VTPU_TRACE_BAD_ENTRY, q->id, job->seq, job->sqe.program,
			   job->sqe.flags);
		vtpu_job_end(q, job, VTPU_ST_BAD_ENTRY);
	} else if (job->sqe.flags & VTPU_SQE_NOP) {
		if (!start_running(q, job))
			return;
		if (vtpu_fault_hangs(q->fault))
			q->parked = true;
		else
			vtpu_job_end(q, job, VTPU_ST_OK);
	} else if (q->kind == VTPU_QUEUE_COPY) {
		begin_copy(q, job);
	} else {
		begin_compute(q, job);
	}
}
