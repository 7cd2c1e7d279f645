// SPDX-License-Identifier: MIT
/*
 * load.c - from an image to a program: the steps of a load in order.
 */
#include <stdlib.h>

#include "expand.h"
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
			if (insn->opcode == VTPU_OP_SEND) {
				parts->sends = true;
				parts->far_signals |= insn->payload.dma.core != 0;
			}
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

void *vtpu_program_keep(struct vtpu_program *p, size_t n, size_t size)
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
	uint8_t *memory = vtpu_program_keep(p, n, size);

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
	p->core_mxu_cycles = vtpu_program_keep(p, p->width, sizeof(uint64_t));
	p->core_macs = vtpu_program_keep(p, p->width, sizeof(uint64_t));
	p->core_hbm_bytes = vtpu_program_keep(p, p->width, sizeof(uint64_t));
	if (!p->core_mxu_cycles || !p->core_macs || !p->core_hbm_bytes)
		return false;
	for (uint32_t core = 0; core < p->width; core++) {
		p->core_mxu_cycles[core] = sim->mxu_cycles;
		p->core_macs[core] = sim->macs;
		p->core_hbm_bytes[core] = sim->hbm_bytes;
	}
	return true;
}

/* ---- All ---------------------------------------------------------------------------------- */

static void set_result(struct vtpu_load_result *result, const struct vtpu_image_parts *parts,
		       const struct vtpu_sim *sim, const struct vtpu_hazards *h)
{
	const uint32_t width = parts->header->width;
	const uint64_t edges = (uint64_t)h->own.edges * width + h->far.edges;

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
	if (!copy_parts(load, p, parts) || !set_counters(p, sim) || !vtpu_expand(load, p, sim, h))
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
