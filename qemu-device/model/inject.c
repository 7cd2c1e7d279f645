// SPDX-License-Identifier: MIT
/*
 * inject.c - faults on demand, so that every recovery path can be tested.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chip.h"

static const char *const fault_name[] = {
	[VTPU_FAULT_NONE] = "none",
	[VTPU_FAULT_HANG] = "hang",
	[VTPU_FAULT_LOST_IRQ] = "lost-irq",
	[VTPU_FAULT_DMA_ERROR] = "dma-error",
	[VTPU_FAULT_IGNORE_ABORT] = "ignore-abort",
	[VTPU_FAULT_STUCK] = "stuck",
	[VTPU_FAULT_DEAD] = "dead",
	[VTPU_FAULT_FATAL] = "fatal",
	[VTPU_FAULT_LOST_COMMAND] = "lost-command",
	[VTPU_FAULT_REMOVAL] = "removal",
	[VTPU_FAULT_WRONG_BIT] = "wrong-bit",
	[VTPU_FAULT_ECC] = "ecc",
	[VTPU_FAULT_LINK_DOWN] = "link-down",
	[VTPU_FAULT_SLOW] = "slow",
	[VTPU_FAULT_ECC_CORRECTED] = "ecc-corrected",
};

_Static_assert(sizeof(fault_name) / sizeof(fault_name[0]) == VTPU_FAULTS, "all have names");

const char *vtpu_fault_name(enum vtpu_fault fault)
{
	return (unsigned int)fault < VTPU_FAULTS ? fault_name[fault] : "unknown";
}

/* ---- From text ----------------------------------------------------------- */

#define SEPARATORS ":,"

static bool parse_fault(const char *word, size_t length, enum vtpu_fault *fault)
{
	unsigned int i;

	for (i = 0; i < VTPU_FAULTS; i++) {
		if (strlen(fault_name[i]) == length && !memcmp(word, fault_name[i], length)) {
			*fault = i;
			return true;
		}
	}
	return false;
}

/* "@key=NUMBER", all of it */
static bool parse_field(const char *word, size_t length, const char *key, uint32_t *value)
{
	size_t skip = strlen(key);
	unsigned long long number;
	char *end;

	if (length <= skip || memcmp(word, key, skip) || word[skip] < '0' || word[skip] > '9')
		return false;
	number = strtoull(word + skip, &end, 10);
	*value = number;
	return end == word + length && number <= UINT32_MAX;
}

bool vtpu_injection_parse(const char *text, struct vtpu_injection *in, char *err, size_t err_bytes)
{
	size_t length = strcspn(text, SEPARATORS);

	*in = (struct vtpu_injection){ .job = 1, .core = VTPU_NO_CORE, .seed = 1 };
	if (!parse_fault(text, length, &in->fault)) {
		snprintf(err, err_bytes, "no such fault, expected " VTPU_FAULT_SYNTAX);
		return false;
	}
	while (text[length]) {
		text += length + 1;
		length = strcspn(text, SEPARATORS);
		if (parse_field(text, length, "queue=", &in->queue) ||
		    parse_field(text, length, "job=", &in->job) ||
		    parse_field(text, length, "core=", &in->core) ||
		    parse_field(text, length, "every=", &in->every) ||
		    parse_field(text, length, "chance=", &in->chance) ||
		    parse_field(text, length, "seed=", &in->seed) ||
		    parse_field(text, length, "times=", &in->times))
			continue;
		snprintf(err, err_bytes, "cannot read '%.*s', expected " VTPU_FAULT_SYNTAX,
			 length < 32 ? (int)length : 32, text);
		return false;
	}
	if (in->fault == VTPU_FAULT_WRONG_BIT && in->core == VTPU_NO_CORE)
		in->core = 0;
	return true;
}

/* ---- Arming and taking ---------------------------------------------------- */

static bool of_core(enum vtpu_fault fault)
{
	return vtpu_fault_hangs(fault) ||
	       (fault >= VTPU_FAULT_WRONG_BIT && fault <= VTPU_FAULT_SLOW);
}

bool vtpu_chip_inject(struct vtpu_chip *chip, const struct vtpu_injection *in, char *err,
		      size_t err_bytes)
{
	if ((unsigned int)in->fault >= VTPU_FAULTS) {
		snprintf(err, err_bytes, "fault %d: there are " VTPU_FAULT_NAMES, (int)in->fault);
		return false;
	}
	if (in->queue > VTPU_MAX_QUEUES) {
		snprintf(err, err_bytes, "queue %u: I/O queues are 1 to %u, 0 is any", in->queue,
			 VTPU_MAX_QUEUES);
		return false;
	}
	if (in->fault != VTPU_FAULT_NONE && !in->job) {
		snprintf(err, err_bytes, "job 0: jobs are counted from 1, the next one");
		return false;
	}
	if (in->core != VTPU_NO_CORE && in->core >= chip->geometry.cores) {
		snprintf(err, err_bytes, "core %u: a job's cores are 0 to %u", in->core,
			 chip->geometry.cores - 1);
		return false;
	}
	if (in->core != VTPU_NO_CORE && in->fault != VTPU_FAULT_NONE && !of_core(in->fault)) {
		snprintf(err, err_bytes, "core %u: %s is a fault of the whole job", in->core,
			 fault_name[in->fault]);
		return false;
	}
	if (in->fault == VTPU_FAULT_REMOVAL && !chip->ops.vanish) {
		snprintf(err, err_bytes, "removal: there is no bus here to be taken off");
		return false;
	}
	if (in->every && in->chance) {
		snprintf(err, err_bytes, "every=%u and chance=%u: expected one of them", in->every,
			 in->chance);
		return false;
	}
	pthread_mutex_lock(&chip->lock);
	chip->inject = *in;
	chip->inject_lots = in->seed;
	pthread_mutex_unlock(&chip->lock);
	return true;
}

/* The next number of a sequence that looks random (splitmix64, Steele et al. 2014) */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* A job or command that the armed fault is for has come: is it the one? Under the lock. */
static bool due(struct vtpu_chip *chip)
{
	struct vtpu_injection *in = &chip->inject;

	if (in->job > 1) {
		in->job--;
		return false;
	}
	if (in->chance)
		return !(draw(&chip->inject_lots) % in->chance);
	in->job = in->every;
	return true;
}

/* A job of @queue, or an admin command (@queue 0), starts: which fault is it to have? */
enum vtpu_fault vtpu_inject_take(struct vtpu_chip *chip, uint32_t queue, uint32_t seq,
				 uint32_t *core)
{
	enum vtpu_fault fault = VTPU_FAULT_NONE;

	pthread_mutex_lock(&chip->lock);
	if (chip->inject.fault != VTPU_FAULT_NONE &&
	    (chip->inject.fault == VTPU_FAULT_LOST_COMMAND) == !queue &&
	    (!queue || !chip->inject.queue || chip->inject.queue == queue) && due(chip)) {
		struct vtpu_injection *in = &chip->inject;

		fault = in->fault;
		*core = in->core;
		if (in->times ? !--in->times : !in->every && !in->chance)
			in->fault = VTPU_FAULT_NONE;
	}
	pthread_mutex_unlock(&chip->lock);
	if (fault != VTPU_FAULT_NONE)
		vtpu_trace(chip, VTPU_TRACE_INJECT, queue, seq, fault, 0);
	return fault;
}
