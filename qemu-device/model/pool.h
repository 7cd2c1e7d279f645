/* SPDX-License-Identifier: MIT */
/*
 * pool.h - worker threads, and what they turn to.
 *
 * The pool knows nothing of programs: it has works, each a source of tasks
 * that any number of workers may draw from at once, and visits them
 * round-robin. Loads and other one-off calls go in between.
 */
#ifndef VTPU_POOL_H
#define VTPU_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "program.h"
#include "unit.h"
#include "vtpu_model.h"

struct vtpu_worker;

/**
 * struct vtpu_work - a source of tasks; embedded in its owner's structure
 *
 * Owned by the pool from vtpu_pool_add() until @finish is called.
 */
struct vtpu_work {
	/** @turn: do tasks until there are none or vtpu_worker_turn_over(); several workers may be inside */
	void (*turn)(struct vtpu_work *work, struct vtpu_worker *worker);
	/** @ready: whether a turn would find a task; called with the pool's lock held */
	bool (*ready)(struct vtpu_work *work);
	/** @finish: the work is over and no worker is inside; called once, without the lock */
	void (*finish)(struct vtpu_work *work);
	/** @over: set by a worker inside a turn: nothing is left to do */
	atomic_bool over;
	/** @poll: may become ready without a kick; set before vtpu_pool_add() */
	bool poll;

	/* The pool's own, under its lock. */
	unsigned int users;
	struct vtpu_work *next, *prev;
};

/** vtpu_pool_add() - let the workers at @work */
void vtpu_pool_add(struct vtpu_pool *pool, struct vtpu_work *work);

/** vtpu_pool_kick() - up to @tasks more tasks are there: wake as many sleepers. No lock while all are busy */
void vtpu_pool_kick(struct vtpu_pool *pool, unsigned int tasks);

/** vtpu_worker_turn_over() - whether others wait and this worker has been at one work for long enough */
bool vtpu_worker_turn_over(struct vtpu_worker *worker);

/** vtpu_worker_scratch() - its working memory */
struct vtpu_scratch *vtpu_worker_scratch(struct vtpu_worker *worker);

#endif /* VTPU_POOL_H */
