// SPDX-License-Identifier: MIT
/*
 * load.c - from an image to a program: the steps of a load in order, and the
 * graph of all cores from that of one.
 */
#include <stdlib.h>

#include "hazard.h"
#include "insn.h"

#define POLL  256	 /* instructions between two looks at the cancel flag */
#define PIECE (1u << 20) /* bytes likewise */

/* ---- Instructions ---------------------------------------------------------------- */

static enum vtpu_hw_status check_halt(struct vtpu_load *load, const struct vtpu_image_parts *parts,
				      uint32_t index)
{
	const struct vtpu_insn *insn = &parts->text[VTPU_UNIT_CTL][index];

	if (insn->opcode != VTPU_OP_HALT || index + 1 == parts->count[VTPU_UNIT_CTL])
		return VTPU_ST_OK;
	vtpu_load_report(load, &(struct vtpu_load_record){
				       .kind = VTPU_REC_FIELD,
				       .unit = VTPU_UNIT_CTL,
				       .index = index,
				       .op_id = insn->op_id,
				       .field = offsetof(struct vtpu_insn, opcode),
				       .have = VTPU_OP_HALT,
				       .need = VTPU_OP_NOP,
			       });
	return VTPU_ST_BAD_INSN;
}

/* All instructions are checked, so that one load reports all that is wrong; the first decides the status. */
static enum vtpu_hw_status check_text(struct vtpu_load *load, struct vtpu_image_parts *parts)
{
	struct vtpu_insn_env env = {
		.geometry = load->req->geometry,
		.width = parts->header->width,
		.nbases = parts->nbases,
		.base = parts->base,
		.const_bytes = parts->const_bytes,
	};
	enum vtpu_hw_status first = VTPU_ST_OK, st;
	struct vtpu_boxes boxes;

	vtpu_insn_env_init(&env);
	for (uint32_t unit = 0; unit < VTPU_UNITS; unit++) {
		for (uint32_t i = 0; i < parts->count[unit]; i++) {
			const struct vtpu_insn *insn = &parts->text[unit][i];
			struct vtpu_load_record record = { 0 };

			if (i % POLL == 0 && vtpu_load_cancelled(load))
				return VTPU_ST_CANCELLED;
			parts->far_signals |= insn->signal[0].core || insn->signal[1].core;
			st = vtpu_insn_check(&env, insn, unit, &boxes, &record);
			if (st) {
				record.unit = (uint8_t)unit;
				record.index = i;
				record.op_id = insn->op_id;
				vtpu_load_report(load, &record);
			} else if (unit == VTPU_UNIT_CTL) {
				st = check_halt(load, parts, i);
			}
			first = first ? first : st;
		}
	}
	return first;
}

/* ---- Program ------------------------------------------------------------------------ */

/* Memory that counts as the program's; one byte at least. */
static void *keep(struct vtpu_program *p, size_t n, size_t size)
{
	void *memory;

	if (n > SIZE_MAX / 2 / size)
		return NULL;
	memory = malloc(n * size + !n);
	if (memory)
		p->host_bytes += n * size;
	return memory;
}

static void *keep_copy(struct vtpu_load *load, struct vtpu_program *p, const void *from, size_t n,
		       size_t size)
{
	uint8_t *memory = keep(p, n, size);

	if (!memory)
		return NULL;
	for (size_t at = 0; at < n * size && !vtpu_load_cancelled(load); at += PIECE)
		memcpy(memory + at, (const uint8_t *)from + at,
		       n * size - at < PIECE ? n * size - at : PIECE);
	return memory;
}

static bool copy_parts(struct vtpu_load *load, struct vtpu_program *p,
		       const struct vtpu_image_parts *parts)
{
	p->width = parts->header->width;
	p->nbases = parts->nbases;
	p->nscalars = parts->header->nscalars;
	p->caps = parts->header->caps;
	p->base = keep_copy(load, p, parts->base, parts->nbases, sizeof(*p->base));
	if (!p->base)
		return false;
	for (uint32_t unit = 0; unit < VTPU_UNITS; unit++) {
		p->count[unit] = parts->count[unit];
		p->text[unit] = keep_copy(load, p, parts->text[unit], parts->count[unit],
					  sizeof(*p->text[unit]));
		if (!p->text[unit])
			return false;
	}
	p->const_bytes = parts->const_bytes;
	if (p->const_bytes) {
		p->constants = keep_copy(load, p, parts->constants, parts->const_bytes, 1);
		if (!p->constants)
			return false;
	}
	return true;
}

static bool set_counters(struct vtpu_program *p, const struct vtpu_sim *sim)
{
	p->cycles = sim->cycles;
	p->core_mxu_cycles = keep(p, p->width, sizeof(uint64_t));
	p->core_macs = keep(p, p->width, sizeof(uint64_t));
	p->core_hbm_bytes = keep(p, p->width, sizeof(uint64_t));
	if (!p->core_mxu_cycles || !p->core_macs || !p->core_hbm_bytes)
		return false;
	for (uint32_t core = 0; core < p->width; core++) {
		p->core_mxu_cycles[core] = sim->mxu_cycles;
		p->core_macs[core] = sim->macs;
		p->core_hbm_bytes[core] = sim->hbm_bytes;
	}
	return true;
}

/* ---- The graph of all cores ------------------------------------------------------------ */

/*
 * Instances are ordered by (cycle, core, place). So the places of one cycle
 * form a group, and core c's part of it follows that of core c - 1.
 */
struct expansion {
	uint32_t *base;	  /* [places and joins] node on core 0 */
	uint32_t *stride; /* the same; from one core to the next */
	uint32_t *start;  /* [places and joins + 1] into succ */
	uint32_t *succ;	  /* of one core */
};

static bool number_nodes(struct vtpu_program *p, const struct vtpu_sim *sim, uint32_t joins,
			 struct expansion *x)
{
	const size_t nodes = (size_t)sim->n + joins + 1;
	uint32_t end;

	x->base = malloc(nodes * sizeof(*x->base));
	x->stride = malloc(nodes * sizeof(*x->stride));
	if (!x->base || !x->stride)
		return false;
	for (uint32_t place = 0; place < sim->n; place = end) {
		for (end = place + 1; end < sim->n && sim->done[end] == sim->done[place];)
			end++;
		for (uint32_t i = place; i < end; i++) {
			x->base[i] = place * p->width + (i - place);
			x->stride[i] = end - place;
		}
	}
	for (uint32_t join = 0; join < joins; join++) {
		x->base[sim->n + join] = p->instances + join;
		x->stride[sim->n + join] = joins;
	}
	return true;
}

/* Successor lists of one core: a counting sort of the edges by where they start. */
static bool sort_edges(const struct vtpu_hazards *h, uint32_t nodes, struct expansion *x)
{
	x->start = calloc((size_t)nodes + 2, sizeof(*x->start));
	x->succ = malloc((h->edges + 1) * sizeof(*x->succ));
	if (!x->start || !x->succ)
		return false;
	for (size_t e = 0; e < h->edges; e++)
		x->start[h->edge[e].from + 2]++;
	for (uint32_t node = 2; node < nodes + 2; node++)
		x->start[node] += x->start[node - 1];
	/* start[node + 1] moves to the end of node's list while that fills. */
	for (size_t e = 0; e < h->edges; e++)
		x->succ[x->start[h->edge[e].from + 1]++] = h->edge[e].to;
	return true;
}

/* Node @i of one core becomes node @node of the program. */
static void put_node(struct vtpu_program *p, const struct expansion *x, uint32_t i, uint32_t core,
		     uint32_t node)
{
	uint32_t at = p->succ_start[node];

	for (uint32_t s = x->start[i]; s < x->start[i + 1]; s++) {
		uint32_t to = x->base[x->succ[s]] + core * x->stride[x->succ[s]];

		p->succ[at++] = to;
		p->preds[to]++;
	}
	p->succ_start[node + 1] = at;
}

static bool expand(struct vtpu_load *load, struct vtpu_program *p, const struct vtpu_sim *sim,
		   const struct vtpu_hazards *h, struct expansion *x)
{
	uint32_t node = 0, end;

	p->instances = sim->n * p->width;
	p->nodes = p->instances + h->joins * p->width;
	p->edges = (uint64_t)h->edges * p->width;
	if (p->edges > UINT32_MAX || !number_nodes(p, sim, h->joins, x) ||
	    !sort_edges(h, sim->n + h->joins, x))
		return false;
	p->instance = keep(p, p->instances, sizeof(*p->instance));
	p->preds = keep(p, p->nodes, sizeof(*p->preds));
	p->succ_start = keep(p, (size_t)p->nodes + 1, sizeof(*p->succ_start));
	p->succ = keep(p, p->edges, sizeof(*p->succ));
	if (!p->instance || !p->preds || !p->succ_start || !p->succ)
		return false;
	memset(p->preds, 0, p->nodes * sizeof(*p->preds));
	p->succ_start[0] = 0;
	for (uint32_t place = 0; place < sim->n && !vtpu_load_cancelled(load); place = end) {
		end = place + x->stride[place];
		for (uint32_t core = 0; core < p->width; core++) {
			for (uint32_t i = place; i < end; i++, node++) {
				uint32_t number = sim->order[i], unit = vtpu_sim_unit(sim, number);

				p->instance[node] = (struct vtpu_instance){
					.index = number - sim->first[unit],
					.unit = (uint8_t)unit,
					.core = (uint8_t)core,
				};
				put_node(p, x, i, core, node);
			}
		}
	}
	for (uint32_t core = 0; core < p->width && !vtpu_load_cancelled(load); core++)
		for (uint32_t join = 0; join < h->joins; join++, node++)
			put_node(p, x, sim->n + join, core, node);
	return true;
}

static bool make_graph(struct vtpu_load *load, struct vtpu_program *p, const struct vtpu_sim *sim,
		       const struct vtpu_hazards *h)
{
	struct expansion x = { 0 };
	bool ok = expand(load, p, sim, h, &x);

	free(x.base);
	free(x.stride);
	free(x.start);
	free(x.succ);
	return ok;
}

/* ---- All ---------------------------------------------------------------------------------- */

static void set_result(struct vtpu_load_result *result, const struct vtpu_image_parts *parts,
		       const struct vtpu_sim *sim, const struct vtpu_hazards *h)
{
	const uint32_t width = parts->header->width;
	const uint64_t edges = (uint64_t)h->edges * width;

	result->cycles = sim->cycles;
	result->mxu_cycles = sim->mxu_cycles * width;
	result->macs = sim->macs * width;
	result->hbm_bytes = sim->hbm_bytes * width;
	result->edges = edges < UINT32_MAX ? (uint32_t)edges : UINT32_MAX;
	result->vmem_bytes = h->vmem_bytes;
}

static enum vtpu_hw_status make_program(struct vtpu_load *load,
					const struct vtpu_image_parts *parts,
					const struct vtpu_sim *sim, const struct vtpu_hazards *h,
					struct vtpu_program **out)
{
	struct vtpu_program *p = calloc(1, sizeof(*p));
	enum vtpu_hw_status st = VTPU_ST_OK;

	if (!p)
		return VTPU_ST_NO_MEMORY;
	atomic_init(&p->refs, 1);
	p->host_bytes = sizeof(*p);
	p->vmem_bytes = h->vmem_bytes;
	p->reads_cold_vmem = h->reads_cold_vmem;
	if (!copy_parts(load, p, parts) || !set_counters(p, sim) || !make_graph(load, p, sim, h))
		st = VTPU_ST_NO_MEMORY;
	/* The steps above leave a program unfinished when they see it. */
	if (vtpu_load_cancelled(load))
		st = VTPU_ST_CANCELLED;
	if (st) {
		vtpu_program_put(p);
		return st;
	}
	*out = p;
	return VTPU_ST_OK;
}

static enum vtpu_hw_status run_steps(struct vtpu_load *load, struct vtpu_program **out)
{
	struct vtpu_image_parts parts;
	struct vtpu_hazards hazards = { 0 };
	struct vtpu_clock clock = { 0 };
	struct vtpu_sim sim = { 0 };
	enum vtpu_hw_status st;

	st = vtpu_image_check(load, &parts);
	if (!st)
		st = check_text(load, &parts);
	if (!st)
		st = vtpu_sim_run(load, &parts, &sim);
	if (!st)
		st = vtpu_clock_make(load, &parts, &sim, &clock);
	if (!st)
		st = vtpu_hazard_find(load, &parts, &sim, &clock, &hazards);
	if (!st) {
		set_result(load->result, &parts, &sim, &hazards);
		if (load->req->flags & VTPU_LOAD_STRICT && load->result->races)
			st = VTPU_ST_RACE;
		else
			st = make_program(load, &parts, &sim, &hazards, out);
	}
	vtpu_hazard_free(&hazards);
	vtpu_clock_free(&clock);
	vtpu_sim_free(&sim);
	return st;
}

enum vtpu_hw_status vtpu_program_load(const struct vtpu_load_request *req,
				      struct vtpu_program **out, struct vtpu_load_result *result,
				      struct vtpu_load_record *records)
{
	struct vtpu_load load = { .req = req, .result = result, .records = records };

	*out = NULL;
	memset(result, 0, sizeof(*result));
	result->status = run_steps(&load, out);
	return result->status;
}

void vtpu_program_get(struct vtpu_program *p)
{
	atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
}

void vtpu_program_put(struct vtpu_program *p)
{
	if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (uint32_t unit = 0; unit < VTPU_UNITS; unit++)
		free(p->text[unit]);
	free(p->base);
	free(p->constants);
	free(p->instance);
	free(p->preds);
	free(p->succ_start);
	free(p->succ);
	free(p->core_mxu_cycles);
	free(p->core_macs);
	free(p->core_hbm_bytes);
	free(p);
}
