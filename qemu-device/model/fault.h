/* SPDX-License-Identifier: MIT */
/*
 * fault.h - the faults that can be brought about: what they are called, and whose they are to be.
 *
 * Who arms one: vtpu_chip_inject(). What each does is where it happens: job.c, copy.c, exec.c, unit.c.
 */
#ifndef VTPU_FAULT_H
#define VTPU_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** enum vtpu_fault - faults that can be injected */
enum vtpu_fault {
	VTPU_FAULT_NONE = 0,
	VTPU_FAULT_HANG,      /* the job makes no progress until it is ended */
	VTPU_FAULT_LOST_IRQ,  /* its completion is written, no vector is raised */
	VTPU_FAULT_DMA_ERROR, /* its next access to system memory fails; compute jobs: ends so */
	/* Hangs that less and less helps against: each takes one more rung of the driver's ladder */
	VTPU_FAULT_IGNORE_ABORT, /* not the watchdog, not ABORT_JOB */
	VTPU_FAULT_STUCK,	 /* nor RESET_QUEUE and QUEUE_DESTROY */
	VTPU_FAULT_DEAD, /* nor VTPU_CONTROL: the chip is READY only after vtpu_chip_reset_*() */
	/* Of the chip as a whole */
	VTPU_FAULT_FATAL,	 /* the job's start is a fatal error, INTERNAL */
	VTPU_FAULT_LOST_COMMAND, /* an admin command, counted by @job, never completes */
	VTPU_FAULT_REMOVAL, /* it is taken off its bus when the job starts: vtpu_host_ops.vanish */
	/* Of a core of the job's gang */
	VTPU_FAULT_WRONG_BIT, /* of a compute job that ends well: see @core */
	VTPU_FAULT_ECC,	      /* a word that is read from HBM is lost: the job ends as ECC */
	VTPU_FAULT_LINK_DOWN, /* what is sent to another core does not arrive: the job ends as LINK */
	VTPU_FAULT_SLOW,      /* the core is throttled: the job takes longer */
	/* Of memory, without harm */
	VTPU_FAULT_ECC_CORRECTED, /* a word was wrong and is right again: EVENT_ECC */
};

#define VTPU_FAULTS (VTPU_FAULT_ECC_CORRECTED + 1)

/* As they are named to people */
#define VTPU_FAULT_NAMES \
	"none, hang, lost-irq, dma-error, ignore-abort, stuck, dead, fatal, lost-command, removal, " \
	"wrong-bit, ecc, link-down, slow, ecc-corrected"
#define VTPU_FAULT_SYNTAX \
	"FAULT[:queue=N][:job=N][:core=N][:every=N][:chance=N][:seed=N][:times=N] with FAULT " \
	"one of " VTPU_FAULT_NAMES

#define VTPU_NO_CORE UINT32_MAX

/** struct vtpu_injection - a fault and whose it is to be */
struct vtpu_injection {
	enum vtpu_fault fault;
	/** @queue: I/O queue; 0: any */
	uint32_t queue;
	/**
	 * @job: counts started jobs of that queue (or of all), or admin commands, from the moment
	 * of vtpu_chip_inject() on: 1 is the next
	 */
	uint32_t job;
	/**
	 * @core: of the job's gang. Hangs: it alone stands still, and the others as far as they wait
	 * for it; VTPU_NO_CORE: the job does not even start. WRONG_BIT: the lowest bit of the first
	 * element of its largest store to HBM (the last of them) is wrong. ECC, LINK_DOWN, SLOW:
	 * VTPU_NO_CORE is all cores
	 */
	uint32_t core;
	/** @every: after the first, each so-manieth job too; 0: that one alone. Not with @chance */
	uint32_t every;
	/** @chance: from the first on, one in so many jobs, drawn by lot; 0: no lots are drawn */
	uint32_t chance;
	/** @seed: of the lots; the same seed and order of jobs draw the same ones */
	uint32_t seed;
	/** @times: how many jobs have it in all; 0: one, or with @every or @chance no end */
	uint32_t times;
};

/** vtpu_fault_hangs() - HANG to DEAD? */
static inline bool vtpu_fault_hangs(enum vtpu_fault fault)
{
	return fault == VTPU_FAULT_HANG ||
	       (fault >= VTPU_FAULT_IGNORE_ABORT && fault <= VTPU_FAULT_DEAD);
}

/** vtpu_fault_name() - as people write it */
const char *vtpu_fault_name(enum vtpu_fault fault);

/**
 * vtpu_injection_parse() - read text of the form VTPU_FAULT_SYNTAX
 * @text: fault by name, queue 0, job 1, no core (for wrong-bit core 0), seed 1 unless said; a comma
 * separates as well
 * @err: sentence on refusal
 * @err_bytes: room
 *
 * Return: false with @err set when it cannot be read; ranges are vtpu_chip_inject()'s to check.
 */
bool vtpu_injection_parse(const char *text, struct vtpu_injection *in, char *err, size_t err_bytes);

#endif /* VTPU_FAULT_H */
