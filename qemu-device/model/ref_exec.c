// SPDX-License-Identifier: MIT
/*
 * ref_exec.c - the reference executor: instances one by one in semantic order.
 *
 * The oracle for the parallel executor. It looks neither at the hazard graph
 * nor at parts, so an edge that is missing or a part that depends on another
 * shows as a difference between the two.
 */
#include "exec.h"

void vtpu_ref_turn(struct vtpu_exec *x, struct vtpu_worker *worker)
{
	const struct vtpu_program *p = x->run->program;

	while (x->next < p->instances && !vtpu_exec_stands(x, x->next) &&
	       !vtpu_worker_turn_over(worker)) {
		struct vtpu_scratch *s = vtpu_worker_scratch(worker);
		enum vtpu_hw_status status;
		struct vtpu_op op;

		vtpu_op_init(&op, x->run, x->next);
		status = vtpu_op_run(&op, 0, 1, s);
		if (vtpu_exec_cancelled(x)) {
			atomic_store(&x->work.over, true);
			return;
		}
		if (status != VTPU_ST_OK) {
			vtpu_exec_fault(x, x->next, 0, status, s->fault_addr);
			atomic_store(&x->work.over, true);
			return;
		}
		x->next++;
		atomic_fetch_add(&x->run->retired, 1);
	}
	if (x->next == p->instances)
		atomic_store(&x->work.over, true);
}
