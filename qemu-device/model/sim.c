// SPDX-License-Identifier: MIT
/*
 * sim.c - discrete-event simulation of a program, in whole cycles.
 *
 * Every core runs the same text, costs depend on nothing that differs between
 * cores, each has its own share of HBM, a signal or a send to the core d further on is
 * matched by one from the core d before, and a barrier is every core's. So by
 * induction over events all cores are in the same state in every cycle, and one
 * is simulated for all: a signal to another core comes back to this one, one hop
 * later.
 *
 * A unit takes its instructions in order and completes them in order. One that
 * is at the head of its queue starts when the unit is free and its waits hold;
 * it acts, and signals, at its completion. In one cycle all completions come
 * before all starts. Costs are at least one cycle, so that a start never causes
 * an event in its own cycle.
 */
#include <stdlib.h>

#include "cost.h"
#include "sim.h"

#define NEVER UINT64_MAX

/* Events between two looks at the cancel flag */
#define POLL 4096

/** struct queue - a unit at work */
struct queue {
	const struct vtpu_insn *text;
	uint64_t *done; /* completion of each issued instruction */
	uint32_t count;
	uint32_t head; /* next to start */
	uint32_t next; /* next to complete */
	uint32_t far;  /* next whose signals to other cores arrive */
	uint64_t free; /* when the unit can take another */
};

struct engine {
	struct vtpu_load *load;
	struct vtpu_sim *sim;
	const struct vtpu_hw_geometry *geometry;
	uint32_t width;
	bool far_signals; /* some signal goes to another core */
	uint64_t hop;
	uint64_t now;
	uint64_t hbm_free;
	uint64_t link_free[VTPU_COST_LINKS];
	uint32_t placed;
	struct queue queue[VTPU_UNITS];
	uint32_t sem[256];
};

static const struct vtpu_wait *blocking_wait(const struct engine *e, const struct vtpu_insn *insn)
{
	for (unsigned int i = 0; i < 2; i++)
		if (insn->flags & VTPU_INSN_WAIT0 << i &&
		    e->sem[insn->wait[i].sem] < insn->wait[i].value)
			return &insn->wait[i];
	return NULL;
}

/* ---- Starts ----------------------------------------------------------------- */

static void start(struct engine *e, uint32_t unit)
{
	struct queue *q = &e->queue[unit];
	struct vtpu_cost cost = vtpu_cost_insn(e->geometry, &q->text[q->head], e->width);
	uint64_t busy_from = e->now, done;

	if (cost.issue) {
		uint64_t *server = cost.hbm  ? &e->hbm_free :
				   cost.link ? &e->link_free[cost.link - 1] :
					       NULL;

		busy_from += cost.issue;
		q->free = busy_from;
		if (server && *server > busy_from)
			busy_from = *server;
		done = busy_from + cost.busy;
		if (server)
			*server = done;
		done += cost.latency;
	} else {
		/* The first weights of an idle array are not loaded behind another stream. */
		if (!q->head || e->now > q->free)
			busy_from += cost.fill;
		q->free = busy_from + cost.busy;
		done = q->free + cost.latency;
	}
	if (q->head && done < q->done[q->head - 1])
		done = q->done[q->head - 1];
	q->done[q->head++] = done;
	if (unit == VTPU_UNIT_MXU)
		e->sim->mxu_cycles += cost.busy;
	e->sim->macs += cost.macs;
	e->sim->hbm_bytes += cost.hbm_bytes;
}

static void start_all(struct engine *e)
{
	for (uint32_t unit = 0; unit < VTPU_UNITS; unit++) {
		struct queue *q = &e->queue[unit];

		if (q->head < q->count && q->free <= e->now && !blocking_wait(e, &q->text[q->head]))
			start(e, unit);
	}
}

/* ---- Completions -------------------------------------------------------------- */

/* A signal to another core is late by a hop, unless it comes with the data of a send. */
static bool is_far(const struct vtpu_insn *insn, const struct vtpu_signal *s)
{
	return s->core && !(insn->opcode == VTPU_OP_SEND && s->core == insn->payload.dma.core);
}

/* The signals of an instruction: those that act at its completion, or those that are late. */
static enum vtpu_hw_status deliver(struct engine *e, uint32_t unit, uint32_t index, bool far)
{
	const struct vtpu_insn *insn = &e->queue[unit].text[index];

	for (unsigned int i = 0; i < 2; i++) {
		const struct vtpu_signal *s = &insn->signal[i];

		if (!(insn->flags & VTPU_INSN_SIGNAL0 << i) || is_far(insn, s) != far)
			continue;
		if (e->sem[s->sem] > (uint32_t)INT32_MAX - s->inc) {
			struct vtpu_load_record r = {
				.kind = VTPU_REC_OVERFLOW,
				.unit = (uint8_t)unit,
				.index = index,
				.op_id = insn->op_id,
				.sem = s->sem,
				.have = (uint64_t)e->sem[s->sem] + s->inc,
				.need = INT32_MAX,
			};

			vtpu_load_report(e->load, &r);
			return VTPU_ST_SEM_OVERFLOW;
		}
		e->sem[s->sem] += s->inc;
	}
	return VTPU_ST_OK;
}

static enum vtpu_hw_status complete_all(struct engine *e)
{
	struct vtpu_sim *sim = e->sim;
	enum vtpu_hw_status st = VTPU_ST_OK;

	for (uint32_t unit = 0; unit < VTPU_UNITS; unit++) {
		struct queue *q = &e->queue[unit];

		for (; q->next < q->head && q->done[q->next] == e->now && !st; q->next++) {
			uint32_t number = sim->first[unit] + q->next;

			sim->order[e->placed] = number;
			sim->place[number] = e->placed;
			sim->done[e->placed++] = e->now;
			st = deliver(e, unit, q->next, false);
		}
		if (!e->far_signals)
			continue;
		for (; q->far < q->next && q->done[q->far] + e->hop <= e->now && !st; q->far++)
			st = deliver(e, unit, q->far, true);
	}
	return st;
}

static uint64_t next_event(struct engine *e)
{
	uint64_t first = NEVER;

	for (uint32_t unit = 0; unit < VTPU_UNITS; unit++) {
		const struct queue *q = &e->queue[unit];

		if (q->next < q->head && q->done[q->next] < first)
			first = q->done[q->next];
		if (q->head < q->count && q->free > e->now && q->free < first)
			first = q->free;
		if (e->far_signals && q->far < q->next && q->done[q->far] + e->hop < first)
			first = q->done[q->far] + e->hop;
	}
	return first;
}

/* ---- All ------------------------------------------------------------------------ */

static enum vtpu_hw_status report_deadlock(struct engine *e)
{
	for (uint32_t core = 0; core < e->width; core++) {
		for (uint32_t unit = 0; unit < VTPU_UNITS; unit++) {
			const struct queue *q = &e->queue[unit];
			const struct vtpu_insn *insn;
			const struct vtpu_wait *wait;

			if (q->head == q->count)
				continue;
			insn = &q->text[q->head];
			wait = blocking_wait(e, insn);
			vtpu_load_report(e->load, &(struct vtpu_load_record){
							  .kind = VTPU_REC_DEADLOCK,
							  .core = (uint8_t)core,
							  .unit = (uint8_t)unit,
							  .index = q->head,
							  .op_id = insn->op_id,
							  .sem = wait->sem,
							  .have = e->sem[wait->sem],
							  .need = wait->value,
						  });
		}
	}
	return VTPU_ST_DEADLOCK;
}

static enum vtpu_hw_status simulate(struct engine *e)
{
	enum vtpu_hw_status st;
	uint32_t events = 0;

	start_all(e);
	for (;;) {
		uint64_t next = next_event(e);

		if (next == NEVER)
			break;
		e->now = next;
		st = complete_all(e);
		if (st)
			return st;
		start_all(e);
		if (++events % POLL == 0 && vtpu_load_cancelled(e->load))
			return VTPU_ST_CANCELLED;
	}
	if (e->placed < e->sim->n)
		return report_deadlock(e);
	e->sim->cycles = e->placed ? e->sim->done[e->placed - 1] : 0;
	return VTPU_ST_OK;
}

enum vtpu_hw_status vtpu_sim_run(struct vtpu_load *load, const struct vtpu_image_parts *parts,
				 struct vtpu_sim *sim)
{
	struct engine e = {
		.load = load,
		.sim = sim,
		.geometry = load->req->geometry,
		.width = parts->header->width,
		.far_signals = parts->far_signals,
		.hop = vtpu_cost_remote(load->req->geometry),
	};
	size_t n = parts->instructions ? parts->instructions : 1;
	enum vtpu_hw_status st = VTPU_ST_NO_MEMORY;
	uint64_t *done = malloc(n * sizeof(*done));

	memset(sim, 0, sizeof(*sim));
	sim->n = parts->instructions;
	sim->order = malloc(n * sizeof(*sim->order));
	sim->place = malloc(n * sizeof(*sim->place));
	sim->done = malloc(n * sizeof(*sim->done));
	if (done && sim->order && sim->place && sim->done) {
		for (uint32_t unit = 0; unit < VTPU_UNITS; unit++) {
			sim->first[unit + 1] = sim->first[unit] + parts->count[unit];
			e.queue[unit].text = parts->text[unit];
			e.queue[unit].count = parts->count[unit];
			e.queue[unit].done = done + sim->first[unit];
		}
		st = simulate(&e);
	}
	free(done);
	return st;
}

void vtpu_sim_free(struct vtpu_sim *sim)
{
	free(sim->order);
	free(sim->place);
	free(sim->done);
	memset(sim, 0, sizeof(*sim));
}
