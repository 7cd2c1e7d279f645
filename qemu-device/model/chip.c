// SPDX-License-Identifier: MIT
/*
 * chip.c - power on and off, and the control pass that drives all else.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "chip.h"
#include "preset.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the model copies little-endian structures as they are; this host is not supported"
#endif

#define DEFAULT_CORES	    8
#define DEFAULT_WATCHDOG_MS 10000
#define MIN_HBM_BYTES	    (32ULL << 20)
#define MAX_HBM_BYTES	    (64ULL << 30)
#define MIN_RESERVED_BYTES  (16ULL << 20)
#define STOP_POLL_NS	    1000000 /* between two looks whether all work has ended */
#define PASSES		    16	    /* of the control loop before the host gets its thread back */

/* ---- Host ------------------------------------------------------------------ */

void vtpu_trace(struct vtpu_chip *chip, enum vtpu_trace event, uint32_t queue, uint32_t seq,
		uint64_t a, uint64_t b)
{
	if (chip->ops.trace)
		chip->ops.trace(chip->host, event, queue, seq, a, b);
}

void vtpu_log(struct vtpu_chip *chip, enum vtpu_log_level level, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (!chip->ops.log)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	chip->ops.log(chip->host, level, text);
}

/* Have control context look at queue @id (0: at the chip as a whole). Any thread. */
void vtpu_attend(struct vtpu_chip *chip, unsigned int id)
{
	atomic_fetch_or(&chip->attention[id / 64], 1ULL << (id % 64));
	chip->ops.defer(chip->host);
}

/* Set an event bit. Control context. */
void vtpu_chip_event(struct vtpu_chip *chip, uint32_t event)
{
	pthread_mutex_lock(&chip->lock);
	if (!(chip->reg.events & event))
		chip->raise |= 1;
	chip->reg.events |= event;
	pthread_mutex_unlock(&chip->lock);
}

/* The chip cannot go on: all work ends without completions. Control context. */
void vtpu_chip_fatal(struct vtpu_chip *chip, enum vtpu_hw_status status)
{
	pthread_mutex_lock(&chip->lock);
	chip->reg.fatal = status;
	chip->reg.ready = false;
	pthread_mutex_unlock(&chip->lock);
	vtpu_chip_event(chip, VTPU_EVENT_FATAL);
	vtpu_log(chip, VTPU_LOG_GUEST, "fatal error 0x%02x: only a device reset helps", status);
	vtpu_stop(chip);
}

/* Have vtpu_chip_timer() called at @ns or before. Control context. */
void vtpu_chip_arm(struct vtpu_chip *chip, uint64_t ns)
{
	if (chip->timer_armed && chip->timer_ns <= ns)
		return;
	chip->timer_armed = true;
	chip->timer_ns = ns;
	chip->ops.timer(chip->host, ns);
}

/* ---- The control pass ----------------------------------------------------------- */

static void raise_vectors(struct vtpu_chip *chip)
{
	while (chip->raise) {
		unsigned int vector = __builtin_ctzll(chip->raise);

		chip->raise &= chip->raise - 1;
		chip->ops.raise(chip->host, vector);
	}
}

static void enable(struct vtpu_chip *chip)
{
	struct vtpu_admin *admin = vtpu_admin_create(chip);

	pthread_mutex_lock(&chip->lock);
	chip->admin = admin;
	chip->reg.enabled = admin;
	pthread_mutex_unlock(&chip->lock);
	if (!admin)
		vtpu_chip_fatal(chip, VTPU_ST_BAD_FIELD);
}

/* Bring what the registers ask for about. Return: may queues work? */
static bool follow_registers(struct vtpu_chip *chip)
{
	bool on, off, reset;

	pthread_mutex_lock(&chip->lock);
	reset = chip->reg.reset;
	on = (chip->reg.control & VTPU_CONTROL_ENABLE) && chip->reg.ready && !chip->reg.enabled;
	off = !(chip->reg.control & VTPU_CONTROL_ENABLE) && chip->reg.enabled;
	pthread_mutex_unlock(&chip->lock);

	if ((reset || off) && !chip->stopping)
		vtpu_stop(chip);
	if (chip->stopping) {
		if (!vtpu_stop_finish(chip)) {
			if (!chip->dead)
				vtpu_chip_arm(chip, vtpu_now(chip) + STOP_POLL_NS);
			return false;
		}
		/* The driver may have asked for the next thing meanwhile. */
		vtpu_attend(chip, 0);
		return false;
	}
	if (on)
		enable(chip);
	return chip->admin && !chip->stopping;
}

static void advance_queue(struct vtpu_chip *chip, unsigned int id, bool rung, bool reset)
{
	struct vtpu_queue *q = chip->queue[id];

	if (!id) {
		chip->admin->ring.rung |= rung;
		chip->admin_recheck = true;
		return;
	}
	if (!q) {
		if (rung)
			vtpu_trace(chip, VTPU_TRACE_BAD_DOORBELL, id, 0, 0, 0);
		return;
	}
	q->ring.rung |= rung && !q->ring.closed;
	if (reset)
		vtpu_queue_reset(q);
	vtpu_queue_advance(q);
}

/* One look at all queues that something happened to; true if there was any */
static bool control_pass(struct vtpu_chip *chip)
{
	bool any = false;
	unsigned int w;

	for (w = 0; w < VTPU_ID_WORDS; w++) {
		uint64_t rung, reset, bits;

		if (!atomic_load_explicit(&chip->rung[w], memory_order_relaxed) &&
		    !atomic_load_explicit(&chip->attention[w], memory_order_relaxed))
			continue;
		/* Attention is called after the reset is noted, so it is taken before. */
		bits = atomic_exchange(&chip->attention[w], 0);
		rung = atomic_exchange(&chip->rung[w], 0);
		reset = atomic_exchange(&chip->reset_queue[w], 0);
		bits |= rung | reset;
		for (; bits; bits &= bits - 1) {
			unsigned int bit = __builtin_ctzll(bits);

			any = true;
			advance_queue(chip, w * 64 + bit, rung >> bit & 1, reset >> bit & 1);
		}
	}
	if (chip->arbitrate)
		vtpu_arbitrate(chip);
	if (chip->admin_recheck) {
		chip->admin_recheck = false;
		vtpu_admin_advance(chip);
	}
	if (chip->broken && !chip->stopping)
		vtpu_chip_fatal(chip, VTPU_ST_INTERNAL);
	chip->broken = false;
	return any;
}

void vtpu_chip_control(struct vtpu_chip *chip)
{
	unsigned int passes = PASSES;

	while (follow_registers(chip) && control_pass(chip)) {
		if (!--passes) {
			chip->ops.defer(chip->host);
			break;
		}
	}
	raise_vectors(chip);
}

void vtpu_chip_timer(struct vtpu_chip *chip)
{
	chip->timer_armed = false;
	if (!chip->stopping)
		vtpu_watchdog(chip);
	vtpu_chip_control(chip);
}

/* ---- Power ------------------------------------------------------------------------ */

static bool check(const struct vtpu_chip_config *c, char *err, size_t n)
{
	if (!c->pool)
		snprintf(err, n, "no worker pool");
	else if (c->cores > VTPU_MAX_CORES)
		snprintf(err, n, "cores=%u: a chip has 1 to %u cores", c->cores, VTPU_MAX_CORES);
	else if (!c->hbm || (uintptr_t)c->hbm % VTPU_PAGE_BYTES)
		snprintf(err, n, "HBM is missing or not page aligned");
	else if (c->hbm_bytes < MIN_HBM_BYTES || c->hbm_bytes > MAX_HBM_BYTES ||
		 c->hbm_bytes % VTPU_LARGE_BYTES)
		snprintf(err, n,
			 "HBM of %llu bytes: it must be a multiple of 2 MiB, from 32 MiB to 64 GiB",
			 (unsigned long long)c->hbm_bytes);
	else if (c->vectors == 1 || c->vectors > VTPU_MAX_VECTORS)
		snprintf(err, n, "vectors=%u: a chip has 2 to %u vectors", c->vectors,
			 VTPU_MAX_VECTORS);
	else
		return vtpu_kernels_choose((int)c->isa, err, n);
	return false;
}

static void reserve(struct vtpu_chip *chip)
{
	uint64_t bytes = chip->hbm_bytes / 64;

	if (bytes < MIN_RESERVED_BYTES)
		bytes = MIN_RESERVED_BYTES;
	chip->hbm_reserved = bytes - bytes % VTPU_LARGE_BYTES;
}

struct vtpu_chip *vtpu_chip_create(const struct vtpu_chip_config *config,
				   const struct vtpu_host_ops *ops, void *host, char *err,
				   size_t err_bytes)
{
	struct vtpu_hw_geometry geometry;
	struct vtpu_chip *chip;

	if (!check(config, err, err_bytes) ||
	    !vtpu_preset_geometry(config->preset, config->cores ? config->cores : DEFAULT_CORES,
				  &config->custom, &geometry, err, err_bytes))
		return NULL;
	chip = calloc(1, sizeof(*chip));
	if (!chip) {
		snprintf(err, err_bytes, "no memory for the chip");
		return NULL;
	}
	chip->ops = *ops;
	chip->host = host;
	chip->geometry = geometry;
	chip->kernels = vtpu_kernels_select(config->isa);
	chip->pool = config->pool;
	chip->hbm = config->hbm;
	chip->hbm_bytes = config->hbm_bytes;
	chip->caps = VTPU_CAP_F32 | VTPU_CAP_BF16 | VTPU_CAP_CONV | VTPU_CAP_ICI;
	chip->serial = config->serial;
	chip->all_cores = geometry.cores < 64 ? (1ULL << geometry.cores) - 1 : ~0ULL;
	chip->watchdog_ns =
		1000000ULL * (config->watchdog_ms ? config->watchdog_ms : DEFAULT_WATCHDOG_MS);
	chip->vectors = config->vectors ? config->vectors : VTPU_MAX_VECTORS;
	chip->reference = config->reference;
	chip->dense = config->dense || vtpu_kernels_dense();
	chip->reg.ready = true;
	reserve(chip);
	pthread_mutex_init(&chip->lock, NULL);
	chip->copy = vtpu_copy_create(chip);
	if (!chip->copy) {
		snprintf(err, err_bytes, "no memory or threads for the copy engine");
		pthread_mutex_destroy(&chip->lock);
		free(chip);
		return NULL;
	}
	return chip;
}

void vtpu_chip_destroy(struct vtpu_chip *chip)
{
	unsigned int i;

	if (!chip)
		return;
	vtpu_stop(chip);
	vtpu_stop_wait(chip, UINT64_MAX);
	vtpu_stop_clear(chip);
	vtpu_copy_destroy(chip->copy);
	for (i = 0; i < chip->geometry.cores; i++)
		vtpu_core_unmap(&chip->core[i]);
	pthread_mutex_destroy(&chip->lock);
	free(chip);
}

const struct vtpu_hw_geometry *vtpu_chip_geometry(const struct vtpu_chip *chip)
{
	return &chip->geometry;
}
