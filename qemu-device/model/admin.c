// SPDX-License-Identifier: MIT
/*
 * admin.c - the admin queue: contexts, queues, programs, invalidation.
 *
 * Commands start in the order of the ring. Those that must wait for something
 * (a load, a queue that drains, jobs with old translations) are looked at again
 * whenever that may have changed, and complete out of order.
 */
#include <stdlib.h>
#include <string.h>

#include "chip.h"

struct vtpu_admin *vtpu_admin_create(struct vtpu_chip *chip)
{
	struct vtpu_admin *admin = calloc(1, sizeof(*admin));
	uint64_t sq, cq, tail;
	uint32_t depth;
	unsigned int i;

	pthread_mutex_lock(&chip->lock);
	sq = chip->reg.admin_sq;
	cq = chip->reg.admin_cq;
	tail = chip->reg.admin_tail;
	depth = chip->reg.admin_depth;
	pthread_mutex_unlock(&chip->lock);

	if (!admin || (sq | cq) % VTPU_PAGE_BYTES || tail % sizeof(uint32_t) || !depth ||
	    depth > VTPU_ADMIN_DEPTH_LOG2 ||
	    !vtpu_ring_init(&admin->ring, chip, 0, VTPU_ADMIN_SLOTS)) {
		free(admin);
		return NULL;
	}
	admin->ring.sq = sq;
	admin->ring.cq = cq;
	admin->ring.tail_addr = tail;
	admin->ring.depth_log2 = depth;
	for (i = 0; i < VTPU_ADMIN_SLOTS; i++)
		vtpu_request_init(&admin->command[i].report_req, chip, 0);
	return admin;
}

void vtpu_admin_destroy(struct vtpu_admin *admin)
{
	if (!admin)
		return;
	vtpu_ring_fini(&admin->ring);
	free(admin);
}

static void count(struct vtpu_chip *chip, uint64_t *counter)
{
	pthread_mutex_lock(&chip->lock);
	++*counter;
	pthread_mutex_unlock(&chip->lock);
}

static void end(struct vtpu_chip *chip, struct vtpu_command *cmd, enum vtpu_hw_status st)
{
	cmd->status = st;
	cmd->state = VTPU_COMMAND_ENDED;
	cmd->order = chip->admin->order++;
	if (st != VTPU_ST_OK)
		vtpu_trace(chip, VTPU_TRACE_ADMIN_FAILED, 0, cmd->u.h.seq, cmd->u.h.opcode, st);
}

/* Are bytes [@from, 64) of the command zero? */
static bool zero_from(const struct vtpu_command *cmd, size_t from)
{
	for (; from < sizeof(cmd->u); from++)
		if (cmd->u.byte[from])
			return false;
	return true;
}

static bool range_ok(uint64_t addr, uint64_t bytes, uint64_t align)
{
	return !(addr % align) && addr + bytes > addr;
}

static struct vtpu_context *context_find(struct vtpu_chip *chip, uint32_t id)
{
	if (!id || id > VTPU_MAX_CONTEXTS || !chip->context[id].used)
		return NULL;
	return &chip->context[id];
}

/* ---- Contexts ------------------------------------------------------------------- */

static enum vtpu_hw_status context_create(struct vtpu_chip *chip, struct vtpu_command *cmd)
{
	const struct vtpu_admin_context *c = &cmd->u.context;
	struct vtpu_context *ctx;

	if (c->pad || !zero_from(cmd, offsetof(struct vtpu_admin_context, va)) || !c->context ||
	    c->context > VTPU_MAX_CONTEXTS)
		return VTPU_ST_BAD_FIELD;
	if (!vtpu_in_hbm(chip, c->root, VTPU_PAGE_BYTES, VTPU_PAGE_BYTES))
		return VTPU_ST_BAD_ADDRESS;
	ctx = &chip->context[c->context];
	if (ctx->used)
		return VTPU_ST_EXISTS;
	*ctx = (struct vtpu_context){ .used = true, .root = c->root };
	pthread_mutex_lock(&chip->lock);
	chip->stats.contexts++;
	pthread_mutex_unlock(&chip->lock);
	return VTPU_ST_OK;
}

static enum vtpu_hw_status context_destroy(struct vtpu_chip *chip, struct vtpu_command *cmd)
{
	const struct vtpu_admin_context *c = &cmd->u.context;
	struct vtpu_context *ctx = context_find(chip, c->context);

	if (!zero_from(cmd, offsetof(struct vtpu_admin_context, pad)))
		return VTPU_ST_BAD_FIELD;
	if (!ctx)
		return VTPU_ST_NOT_FOUND;
	if (ctx->queues || ctx->programs || ctx->commands)
		return VTPU_ST_BUSY;
	ctx->used = false;
	pthread_mutex_lock(&chip->lock);
	chip->stats.contexts--;
	pthread_mutex_unlock(&chip->lock);
	return VTPU_ST_OK;
}

/* Does a running job of the context still use translations from before @epoch? */
static bool has_old_jobs(struct vtpu_chip *chip, uint32_t context, uint64_t epoch)
{
	unsigned int i;

	for (i = 1; i < VTPU_QUEUE_IDS; i++) {
		struct vtpu_queue *q = chip->queue[i];
		struct vtpu_job *job;

		if (!q || q->context != context)
			continue;
		job = vtpu_queue_head(q);
		if (job && job->state == VTPU_JOB_RUNNING && q->epoch < epoch)
			return true;
	}
	return false;
}

static bool invalidate(struct vtpu_chip *chip, struct vtpu_command *cmd, bool first)
{
	const struct vtpu_admin_context *c = &cmd->u.context;
	struct vtpu_context *ctx = context_find(chip, c->context);

	if (first) {
		if (c->pad || c->root ||
		    !zero_from(cmd, offsetof(struct vtpu_admin_context, rsvd)) ||
		    (c->va | c->bytes) % VTPU_PAGE_BYTES || !c->bytes || c->va >= VTPU_VA_END ||
		    c->bytes > VTPU_VA_END - c->va) {
			end(chip, cmd, VTPU_ST_BAD_FIELD);
			return true;
		}
		if (!ctx) {
			end(chip, cmd, VTPU_ST_NOT_FOUND);
			return true;
		}
		cmd->epoch = ++ctx->epoch;
		ctx->commands++;
	}
	if (has_old_jobs(chip, c->context, cmd->epoch))
		return false;
	ctx->commands--;
	end(chip, cmd, VTPU_ST_OK);
	return true;
}

/* ---- Queues ---------------------------------------------------------------------- */

static enum vtpu_hw_status queue_create(struct vtpu_chip *chip, struct vtpu_command *cmd)
{
	const struct vtpu_admin_queue *c = &cmd->u.queue;
	uint64_t depth;

	if (c->pad || !c->queue || c->queue > VTPU_MAX_QUEUES || c->kind > VTPU_QUEUE_COPY ||
	    !c->depth_log2 || c->depth_log2 > VTPU_MAX_DEPTH_LOG2 || c->priority > VTPU_PRIO_HIGH ||
	    (c->core_mask & ~chip->all_cores))
		return VTPU_ST_BAD_FIELD;
	if (c->kind == VTPU_QUEUE_COPY && (c->core_mask || c->max_cycles))
		return VTPU_ST_BAD_FIELD;
	depth = 1u << c->depth_log2;
	if (!range_ok(c->sq, depth * sizeof(struct vtpu_sqe), VTPU_PAGE_BYTES) ||
	    !range_ok(c->cq, depth * sizeof(struct vtpu_cqe), VTPU_PAGE_BYTES) ||
	    !range_ok(c->args, depth * VTPU_ARG_SLOT_BYTES, VTPU_PAGE_BYTES) ||
	    !range_ok(c->tail, sizeof(uint32_t), sizeof(uint32_t)))
		return VTPU_ST_BAD_FIELD;
	if (!context_find(chip, c->context))
		return VTPU_ST_NOT_FOUND;
	if (chip->queue[c->queue])
		return VTPU_ST_EXISTS;
	return vtpu_queue_create(chip, c);
}

static bool queue_destroy(struct vtpu_chip *chip, struct vtpu_command *cmd, bool first)
{
	const struct vtpu_admin_queue *c = &cmd->u.queue;
	struct vtpu_queue *q = NULL;

	if (c->queue && c->queue <= VTPU_MAX_QUEUES)
		q = chip->queue[c->queue];
	if (first) {
		enum vtpu_hw_status st = VTPU_ST_OK;

		if (!zero_from(cmd, offsetof(struct vtpu_admin_queue, context)))
			st = VTPU_ST_BAD_FIELD;
		else if (!q)
			st = VTPU_ST_NOT_FOUND;
		else if (q->destroying)
			st = VTPU_ST_BUSY;
		if (st != VTPU_ST_OK) {
			end(chip, cmd, st);
			return true;
		}
		q->destroying = true;
		q->ring.closed = true;
		q->ring.rung = false;
		vtpu_queue_reset(q);
		vtpu_attend(chip, q->id);
	}
	if (!vtpu_queue_drained(q))
		return false;
	vtpu_queue_free(q);
	end(chip, cmd, VTPU_ST_OK);
	return true;
}

/* ---- Programs ---------------------------------------------------------------------- */

static enum vtpu_hw_status check_load(struct vtpu_chip *chip, struct vtpu_command *cmd)
{
	const struct vtpu_admin_program *c = &cmd->u.program;

	if (!zero_from(cmd, offsetof(struct vtpu_admin_program, rsvd)) || !c->program ||
	    c->program > VTPU_MAX_PROGRAMS || (c->flags & ~VTPU_LOAD_FLAGS) || !c->bytes ||
	    c->bytes > VTPU_MAX_IMAGE_BYTES || c->report_bytes < sizeof(struct vtpu_load_result) ||
	    !range_ok(c->report, c->report_bytes, 1))
		return VTPU_ST_BAD_FIELD;
	if (!vtpu_in_hbm(chip, c->image, c->bytes, VTPU_PAGE_BYTES))
		return VTPU_ST_BAD_ADDRESS;
	if (!context_find(chip, c->context))
		return VTPU_ST_NOT_FOUND;
	if (chip->program[c->program])
		return VTPU_ST_EXISTS;
	if (chip->program_bytes > VTPU_PROGRAM_HOST_BYTES)
		return VTPU_ST_NO_MEMORY;
	return VTPU_ST_OK;
}

static void load_begin(struct vtpu_chip *chip, struct vtpu_command *cmd)
{
	const struct vtpu_admin_program *c = &cmd->u.program;
	enum vtpu_hw_status st = check_load(chip, cmd);
	struct vtpu_loaded *loaded;

	if (st != VTPU_ST_OK) {
		end(chip, cmd, st);
		return;
	}
	loaded = calloc(1, sizeof(*loaded));
	if (!loaded) {
		end(chip, cmd, VTPU_ST_NO_MEMORY);
		return;
	}
	loaded->chip = chip;
	loaded->id = c->program;
	loaded->context = c->context;
	loaded->image = c->image;
	loaded->bytes = c->bytes;
	loaded->flags = c->flags;
	loaded->loading = true;
	loaded->start_ns = vtpu_now(chip);
	chip->program[c->program] = loaded;
	chip->context[c->context].programs++;
	cmd->loaded = loaded;
	if (!vtpu_load_start(loaded)) {
		vtpu_loaded_free(loaded);
		end(chip, cmd, VTPU_ST_NO_MEMORY);
	}
}

/* The program of a load is there, or is not to be. */
static void load_settle(struct vtpu_chip *chip, struct vtpu_command *cmd, enum vtpu_hw_status st)
{
	struct vtpu_loaded *loaded = cmd->loaded;
	unsigned int i;

	cmd->loaded = NULL;
	if (st == VTPU_ST_OK) {
		loaded->loading = false;
		cmd->cycles = loaded->program->cycles;
		chip->program_bytes += loaded->program->host_bytes;
		pthread_mutex_lock(&chip->lock);
		chip->stats.programs++;
		chip->stats.programs_loaded++;
		pthread_mutex_unlock(&chip->lock);
	} else {
		/* Commands that wait to unload it find that it has gone. */
		for (i = 0; i < VTPU_ADMIN_SLOTS; i++)
			if (chip->admin->command[i].loaded == loaded)
				chip->admin->command[i].loaded = NULL;
		vtpu_loaded_free(loaded);
	}
	end(chip, cmd, st);
}

static bool load_step(struct vtpu_chip *chip, struct vtpu_command *cmd)
{
	const struct vtpu_admin_program *c = &cmd->u.program;
	struct vtpu_loaded *loaded = cmd->loaded;
	uint32_t room =
		(c->report_bytes - sizeof(cmd->report.result)) / sizeof(struct vtpu_load_record);

	if (!atomic_load(&loaded->ended))
		return false;
	vtpu_trace(chip, VTPU_TRACE_LOAD, 0, cmd->u.h.seq, loaded->result.instances,
		   vtpu_now(chip) - loaded->start_ns);
	cmd->report.result = loaded->result;
	cmd->report.result.status = loaded->status;
	if (cmd->report.result.records > room)
		cmd->report.result.records = room;
	memcpy(cmd->report.records, loaded->records, sizeof(loaded->records));
	cmd->state = VTPU_COMMAND_REPORT;
	vtpu_request_issue(&cmd->report_req, c->report, &cmd->report,
			   sizeof(cmd->report.result) +
				   cmd->report.result.records * sizeof(struct vtpu_load_record),
			   true);
	return true;
}

static bool report_step(struct vtpu_chip *chip, struct vtpu_command *cmd)
{
	bool ok;

	if (!vtpu_request_take(&cmd->report_req, &ok))
		return false;
	load_settle(chip, cmd, ok ? cmd->loaded->status : VTPU_ST_BAD_ADDRESS);
	return true;
}

static bool unload(struct vtpu_chip *chip, struct vtpu_command *cmd, bool first)
{
	const struct vtpu_admin_program *c = &cmd->u.program;

	if (first) {
		if (!zero_from(cmd, offsetof(struct vtpu_admin_program, context))) {
			end(chip, cmd, VTPU_ST_BAD_FIELD);
			return true;
		}
		if (c->program <= VTPU_MAX_PROGRAMS)
			cmd->loaded = chip->program[c->program];
		if (!cmd->loaded) {
			end(chip, cmd, VTPU_ST_NOT_FOUND);
			return true;
		}
		if (cmd->loaded->loading)
			atomic_store(&cmd->loaded->cancel, true);
	}
	if (cmd->loaded) {
		struct vtpu_loaded *loaded = cmd->loaded;
		unsigned int i;

		if (loaded->loading)
			return false;
		for (i = 0; i < VTPU_ADMIN_SLOTS; i++)
			if (chip->admin->command[i].loaded == loaded)
				chip->admin->command[i].loaded = NULL;
		vtpu_loaded_free(loaded);
	}
	end(chip, cmd, VTPU_ST_OK);
	return true;
}

/* ---- The queue ------------------------------------------------------------------------ */

/* Start a command, or look again at one that waits. True if it got further. */
static bool step(struct vtpu_chip *chip, struct vtpu_command *cmd, bool first)
{
	switch (cmd->u.h.opcode) {
	case VTPU_ADMIN_QUEUE_DESTROY:
		return queue_destroy(chip, cmd, first);
	case VTPU_ADMIN_PROGRAM_LOAD:
		if (!first)
			return load_step(chip, cmd);
		load_begin(chip, cmd);
		return true;
	case VTPU_ADMIN_PROGRAM_UNLOAD:
		return unload(chip, cmd, first);
	case VTPU_ADMIN_INVALIDATE:
		return invalidate(chip, cmd, first);
	case VTPU_ADMIN_NOP:
		end(chip, cmd, zero_from(cmd, sizeof(cmd->u.h)) ? VTPU_ST_OK : VTPU_ST_BAD_FIELD);
		return true;
	case VTPU_ADMIN_CONTEXT_CREATE:
		end(chip, cmd, context_create(chip, cmd));
		return true;
	case VTPU_ADMIN_CONTEXT_DESTROY:
		end(chip, cmd, context_destroy(chip, cmd));
		return true;
	case VTPU_ADMIN_QUEUE_CREATE:
		end(chip, cmd, queue_create(chip, cmd));
		return true;
	default:
		end(chip, cmd, VTPU_ST_BAD_OPCODE);
		return true;
	}
}

static void begin(struct vtpu_chip *chip, const uint8_t *entry)
{
	struct vtpu_admin *admin = chip->admin;
	struct vtpu_command *cmd = admin->command;
	uint32_t seq = admin->ring.fetched++, none;

	/* There is one: the ring never hands out more than VTPU_ADMIN_SLOTS at a time. */
	while (cmd->state != VTPU_COMMAND_FREE)
		cmd++;
	memcpy(cmd->u.byte, entry, sizeof(cmd->u));
	cmd->state = VTPU_COMMAND_WAITING;
	admin->active++;
	cmd->cycles = 0;
	cmd->loaded = NULL;
	count(chip, &chip->stats.admin_commands);
	vtpu_trace(chip, VTPU_TRACE_ADMIN, 0, cmd->u.h.seq, cmd->u.h.opcode,
		   cmd->u.context.context);
	if (cmd->u.h.flags || cmd->u.h.seq != seq) {
		cmd->u.h.seq = seq;
		end(chip, cmd, VTPU_ST_BAD_FIELD);
	} else if (vtpu_inject_take(chip, 0, seq, &none) == VTPU_FAULT_LOST_COMMAND) {
		cmd->state = VTPU_COMMAND_LOST;
	} else {
		step(chip, cmd, true);
	}
}

static bool step_commands(struct vtpu_chip *chip)
{
	struct vtpu_command *cmd = chip->admin->command;
	bool any = false;
	unsigned int i;

	for (i = 0; i < VTPU_ADMIN_SLOTS; i++, cmd++) {
		if (cmd->state == VTPU_COMMAND_WAITING)
			any |= step(chip, cmd, false);
		if (cmd->state == VTPU_COMMAND_REPORT)
			any |= report_step(chip, cmd);
	}
	return any;
}

static bool step_complete(struct vtpu_chip *chip)
{
	struct vtpu_command *cmd = chip->admin->command, *first = NULL;
	unsigned int i;

	for (i = 0; i < VTPU_ADMIN_SLOTS; i++, cmd++)
		if (cmd->state == VTPU_COMMAND_ENDED && (!first || cmd->order < first->order))
			first = cmd;
	if (!first)
		return false;
	if (!vtpu_ring_complete(&chip->admin->ring,
				&(struct vtpu_cqe){
					.cycles = first->cycles,
					.seq = first->u.h.seq,
					.status = first->status,
				},
				false))
		return false;
	first->state = VTPU_COMMAND_FREE;
	chip->admin->active--;
	return true;
}

/* Move everything of the admin queue that can move. */
void vtpu_admin_advance(struct vtpu_chip *chip)
{
	struct vtpu_ring *ring = &chip->admin->ring;
	enum vtpu_hw_status tail_st, entry_st, cqe_st;
	uint32_t i, n;
	bool more;

	do {
		more = vtpu_ring_poll_tail(ring, &tail_st);
		n = vtpu_ring_poll_entries(ring, &entry_st);
		if (n && entry_st == VTPU_ST_OK)
			for (i = 0; i < n; i++)
				begin(chip, ring->entry[i]);
		more |= n > 0;
		if (chip->admin->active) {
			more |= step_commands(chip);
			more |= step_complete(chip);
		}
		more |= vtpu_ring_poll_cqe(ring, &cqe_st);
		if (tail_st != VTPU_ST_OK || entry_st != VTPU_ST_OK || cqe_st != VTPU_ST_OK) {
			vtpu_chip_fatal(chip, tail_st != VTPU_ST_OK ? tail_st : VTPU_ST_DMA_ERROR);
			return;
		}
	} while (more);
}
