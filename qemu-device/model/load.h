/* SPDX-License-Identifier: MIT */
/*
 * load.h - what the steps of a load share: findings, cancelling, memory.
 *
 * A load goes through image.c (is this an image?), insn.c (is each instruction
 * valid?), sim.c (when does each act, and does the program end?) and hazard.c
 * (what must wait for what, and is all of it ordered?); load.c calls them.
 */
#ifndef VTPU_LOAD_H
#define VTPU_LOAD_H

#include <string.h>

#include "program.h"

/** struct vtpu_load - a load under way */
struct vtpu_load {
	const struct vtpu_load_request *req;
	struct vtpu_load_result *result;
	struct vtpu_load_record *records;
};

/** vtpu_load_report() - add a finding; only the first VTPU_MAX_RECORDS are kept */
static inline void vtpu_load_report(struct vtpu_load *load, const struct vtpu_load_record *record)
{
	load->result->found++;
	if (record->kind == VTPU_REC_RACE || record->kind == VTPU_REC_POSSIBLE_RACE)
		load->result->races++;
	if (load->result->records < VTPU_MAX_RECORDS)
		load->records[load->result->records++] = *record;
}

/** vtpu_load_cancelled() - to be asked every few hundred instructions */
static inline bool vtpu_load_cancelled(const struct vtpu_load *load)
{
	return load->req->cancel && atomic_load_explicit(load->req->cancel, memory_order_relaxed);
}

#endif /* VTPU_LOAD_H */
