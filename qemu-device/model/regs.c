// SPDX-License-Identifier: MIT
/*
 * regs.c - BAR0: register table, geometry, core counters, doorbell pages.
 *
 * Runs in whatever thread the guest's access comes from: takes the chip's lock
 * for a moment, notes what is to be done and defers.
 */
#include <string.h>

#include "chip.h"

struct reg {
	uint32_t offset;
	uint8_t bytes;				 /* 4 or 8 */
	uint64_t (*get)(struct vtpu_chip *chip); /* under the lock; NULL: reads as zero */
	/* Under the lock; false: not now. NULL: writes are ignored. */
	bool (*set)(struct vtpu_chip *chip, uint64_t value);
};

/* ---- Getters and setters ----------------------------------------------------------- */

#define GETTER(name, value) \
	static uint64_t get_##name(struct vtpu_chip *chip) \
	{ \
		(void)chip; \
		return value; \
	}

GETTER(magic, VTPU_MAGIC)
GETTER(version, VTPU_HW_VERSION)
GETTER(caps, chip->caps)
GETTER(control, chip->reg.control)
GETTER(serial, chip->serial)
GETTER(hbm_bytes, chip->hbm_bytes)
GETTER(hbm_reserved, chip->hbm_reserved)
GETTER(vectors, chip->vectors)
GETTER(reset_count, chip->reg.reset_count)
GETTER(events, chip->reg.events)
GETTER(bad_access, atomic_load(&chip->bad_accesses))
GETTER(time_ns, vtpu_now(chip))
GETTER(fatal, chip->reg.fatal)
GETTER(admin_sq, chip->reg.admin_sq)
GETTER(admin_cq, chip->reg.admin_cq)
GETTER(admin_tail, chip->reg.admin_tail)
GETTER(admin_depth, chip->reg.admin_depth)

static uint64_t get_status(struct vtpu_chip *chip)
{
	return (chip->reg.ready ? VTPU_STATUS_READY : 0) |
	       (chip->reg.enabled ? VTPU_STATUS_ENABLED : 0) |
	       (chip->reg.fatal ? VTPU_STATUS_FATAL : 0);
}

/* VTPU_CONTROL_RESET is handled by the caller, without the lock. */
static bool set_control(struct vtpu_chip *chip, uint64_t value)
{
	if (chip->reg.reset)
		return true;
	chip->reg.control = value & VTPU_CONTROL_ENABLE;
	return true;
}

static bool set_events(struct vtpu_chip *chip, uint64_t value)
{
	chip->reg.events &= ~value;
	return true;
}

#define ADMIN_SETTER(name) \
	static bool set_##name(struct vtpu_chip *chip, uint64_t value) \
	{ \
		if (chip->reg.control & VTPU_CONTROL_ENABLE || chip->reg.enabled) \
			return false; \
		chip->reg.name = value; \
		return true; \
	}

ADMIN_SETTER(admin_sq)
ADMIN_SETTER(admin_cq)
ADMIN_SETTER(admin_tail)
ADMIN_SETTER(admin_depth)

/* A job that is not there, or not any more, needs no abort. */
static bool set_abort(struct vtpu_chip *chip, uint64_t value)
{
	uint32_t id = value >> 32, seq = value;
	struct vtpu_queue *q = NULL;
	uint32_t slot;

	if (id && id <= VTPU_MAX_QUEUES)
		q = chip->queue[id];
	if (!q || seq - q->pub.completed >= q->pub.tail - q->pub.completed)
		return true;
	slot = seq & ((1u << q->ring.depth_log2) - 1);
	q->abort[slot / 64] |= 1ULL << (slot % 64);
	atomic_fetch_or(&chip->attention[id / 64], 1ULL << (id % 64));
	return true;
}

static bool set_reset_queue(struct vtpu_chip *chip, uint64_t value)
{
	if (value && value <= VTPU_MAX_QUEUES) {
		atomic_fetch_or(&chip->reset_queue[value / 64], 1ULL << (value % 64));
		atomic_fetch_or(&chip->attention[value / 64], 1ULL << (value % 64));
	}
	return true;
}

#define RO(upper, lower, bytes) \
	{ \
		VTPU_REG_##upper, bytes, get_##lower, NULL \
	}
#define RW(upper, lower, bytes) \
	{ \
		VTPU_REG_##upper, bytes, get_##lower, set_##lower \
	}
#define WO(upper, lower, bytes) \
	{ \
		VTPU_REG_##upper, bytes, NULL, set_##lower \
	}

/* In the order of the offsets */
static const struct reg regs[] = {
	RO(MAGIC, magic, 4),
	RO(VERSION, version, 4),
	RO(CAPS, caps, 8),
	RO(STATUS, status, 4),
	RW(CONTROL, control, 4),
	RO(SERIAL, serial, 8),
	RO(HBM_BYTES, hbm_bytes, 8),
	RO(HBM_RESERVED, hbm_reserved, 8),
	RO(VECTORS, vectors, 4),
	RO(RESET_COUNT, reset_count, 4),
	RW(EVENTS, events, 4),
	RO(BAD_ACCESS, bad_access, 4),
	RO(TIME_NS, time_ns, 8),
	RO(FATAL, fatal, 4),
	RW(ADMIN_SQ, admin_sq, 8),
	RW(ADMIN_CQ, admin_cq, 8),
	RW(ADMIN_TAIL, admin_tail, 8),
	RW(ADMIN_DEPTH, admin_depth, 4),
	WO(ABORT_JOB, abort, 8),
	WO(RESET_QUEUE, reset_queue, 4),
};

/* ---- Structures in BAR0 ---------------------------------------------------------------- */

/* Read @size bytes at @at of a structure; 8 only where @wide has the field's bit */
static bool read_struct(const void *s, size_t bytes, uint64_t at, unsigned int size, bool wide,
			uint64_t *value)
{
	if (at % size || at + size > bytes || (size == 8 && !wide))
		return false;
	*value = 0;
	memcpy(value, (const uint8_t *)s + at, size);
	return true;
}

static bool read_geometry(struct vtpu_chip *chip, uint64_t at, unsigned int size, uint64_t *value)
{
	return read_struct(&chip->geometry, sizeof(chip->geometry), at, size,
			   at == offsetof(struct vtpu_hw_geometry, vmem_bytes), value);
}

static bool read_core_stats(struct vtpu_chip *chip, uint64_t at, unsigned int size, uint64_t *value)
{
	struct vtpu_hw_core_stats stats;
	unsigned int core = at / sizeof(stats);

	if (core >= chip->geometry.cores)
		return false;
	vtpu_core_stats(chip, core, &stats);
	return read_struct(&stats, sizeof(stats), at % sizeof(stats), size, true, value);
}

/* ---- Doorbell pages ---------------------------------------------------------------------- */

static const struct {
	uint16_t offset;
	uint8_t bytes;
} doorbell_regs[] = {
	{ VTPU_DB_RING, 4 },	{ VTPU_DB_STATE, 4 },	{ VTPU_DB_PROGRESS, 8 },
	{ VTPU_DB_RUNNING, 4 }, { VTPU_DB_FETCHED, 4 }, { VTPU_DB_BUSY_NS, 8 },
};

static uint64_t queue_register(struct vtpu_chip *chip, const struct vtpu_queue *q, uint32_t offset,
			       uint64_t now)
{
	(void)chip;
	switch (offset) {
	case VTPU_DB_STATE:
		return q->pub.state;
	case VTPU_DB_PROGRESS:
		return vtpu_job_progress(q);
	case VTPU_DB_RUNNING:
		return q->pub.completed;
	case VTPU_DB_FETCHED:
		return q->pub.fetched;
	case VTPU_DB_BUSY_NS:
		return q->pub.busy_ns +
		       (q->pub.since_ns && now > q->pub.since_ns ? now - q->pub.since_ns : 0);
	default:
		return 0;
	}
}

static bool read_doorbell(struct vtpu_chip *chip, unsigned int id, uint32_t offset,
			  unsigned int size, uint64_t *value)
{
	uint64_t now = vtpu_now(chip), all = 0;
	unsigned int i;

	for (i = 0; i < sizeof(doorbell_regs) / sizeof(doorbell_regs[0]); i++)
		if (offset - doorbell_regs[i].offset < doorbell_regs[i].bytes)
			break;
	if (i == sizeof(doorbell_regs) / sizeof(doorbell_regs[0]) || size > doorbell_regs[i].bytes)
		return false;
	pthread_mutex_lock(&chip->lock);
	if (id && chip->queue[id])
		all = queue_register(chip, chip->queue[id], doorbell_regs[i].offset, now);
	else if (!id && chip->admin && doorbell_regs[i].offset == VTPU_DB_STATE)
		all = VTPU_HWQ_IDLE;
	pthread_mutex_unlock(&chip->lock);
	all >>= 8 * (offset - doorbell_regs[i].offset);
	*value = size == 4 ? (uint32_t)all : all;
	return true;
}

/* ---- Access ---------------------------------------------------------------------------------- */

static bool refused(struct vtpu_chip *chip, uint64_t offset, unsigned int size)
{
	atomic_fetch_add(&chip->bad_accesses, 1);
	vtpu_trace(chip, VTPU_TRACE_BAD_REGISTER, 0, 0, offset, size);
	return false;
}

static const struct reg *find(uint64_t offset, unsigned int size)
{
	unsigned int i;

	for (i = 0; i < sizeof(regs) / sizeof(regs[0]); i++)
		if (offset - regs[i].offset < regs[i].bytes)
			return size <= regs[i].bytes ? &regs[i] : NULL;
	return NULL;
}

static bool read_reg(struct vtpu_chip *chip, uint64_t offset, unsigned int size, uint64_t *value)
{
	const struct reg *reg = find(offset, size);

	if (!reg)
		return false;
	*value = 0;
	if (!reg->get)
		return true;
	pthread_mutex_lock(&chip->lock);
	*value = reg->get(chip);
	pthread_mutex_unlock(&chip->lock);
	*value >>= 8 * (offset - reg->offset);
	if (size == 4)
		*value = (uint32_t)*value;
	return true;
}

uint64_t vtpu_chip_read(struct vtpu_chip *chip, uint64_t offset, unsigned int size)
{
	uint64_t value = 0;
	bool ok = (size == 4 || size == 8) && !(offset % size);

	if (!ok)
		;
	else if (offset >= VTPU_DOORBELL_BASE + VTPU_QUEUE_IDS * VTPU_DOORBELL_STRIDE)
		ok = false;
	else if (offset >= VTPU_DOORBELL_BASE)
		ok = read_doorbell(chip, (offset - VTPU_DOORBELL_BASE) / VTPU_DOORBELL_STRIDE,
				   offset % VTPU_DOORBELL_STRIDE, size, &value);
	else if (offset >= VTPU_REG_CORE_STATS)
		ok = read_core_stats(chip, offset - VTPU_REG_CORE_STATS, size, &value);
	else if (offset >= VTPU_REG_GEOMETRY)
		ok = read_geometry(chip, offset - VTPU_REG_GEOMETRY, size, &value);
	else
		ok = read_reg(chip, offset, size, &value);
	if (!ok)
		refused(chip, offset, size);
	return value;
}

static bool write_doorbell(struct vtpu_chip *chip, unsigned int id, uint32_t offset,
			   unsigned int size)
{
	uint64_t ignored;

	if (offset != VTPU_DB_RING || size != 4)
		return read_doorbell(chip, id, offset, size, &ignored);
	atomic_fetch_add_explicit(&chip->doorbells, 1, memory_order_relaxed);
	vtpu_trace(chip, VTPU_TRACE_DOORBELL, id, 0, 0, 0);
	atomic_fetch_or(&chip->rung[id / 64], 1ULL << (id % 64));
	chip->ops.defer(chip->host);
	return true;
}

/* The value that a 64-bit register gets when 4 bytes of it are written */
static uint64_t merge(struct vtpu_chip *chip, const struct reg *reg, uint32_t at, uint64_t value,
		      unsigned int size)
{
	uint64_t old = reg->get ? reg->get(chip) : 0;

	if (size == reg->bytes)
		return value;
	return at ? (uint32_t)old | value << 32 : (old & ~0xffffffffULL) | (uint32_t)value;
}

static bool write_reg(struct vtpu_chip *chip, uint64_t offset, uint64_t value, unsigned int size)
{
	const struct reg *reg = find(offset, size);
	bool ok = true, act = true;

	if (!reg)
		return false;
	if (!reg->set)
		return true;
	if (size == 4)
		value = (uint32_t)value;
	if (reg->offset == VTPU_REG_CONTROL && (value & VTPU_CONTROL_RESET))
		vtpu_reset_note(chip, VTPU_RESET_FUNCTION);

	pthread_mutex_lock(&chip->lock);
	if (reg->offset == VTPU_REG_ABORT_JOB && size == 4) {
		/* The sequence number waits for the queue. */
		act = offset != reg->offset;
		if (!act)
			chip->reg.abort_low = value;
		else
			ok = reg->set(chip, value << 32 | chip->reg.abort_low);
	} else {
		ok = reg->set(chip, merge(chip, reg, offset - reg->offset, value, size));
	}
	pthread_mutex_unlock(&chip->lock);
	if (act && ok && (reg->offset == VTPU_REG_CONTROL || !reg->get))
		vtpu_attend(chip, 0);
	return ok;
}

void vtpu_chip_write(struct vtpu_chip *chip, uint64_t offset, uint64_t value, unsigned int size)
{
	uint64_t ignored;
	bool ok = (size == 4 || size == 8) && !(offset % size);

	if (!ok)
		;
	else if (offset >= VTPU_DOORBELL_BASE + VTPU_QUEUE_IDS * VTPU_DOORBELL_STRIDE)
		ok = false;
	else if (offset >= VTPU_DOORBELL_BASE)
		ok = write_doorbell(chip, (offset - VTPU_DOORBELL_BASE) / VTPU_DOORBELL_STRIDE,
				    offset % VTPU_DOORBELL_STRIDE, size);
	else if (offset >= VTPU_REG_CORE_STATS)
		ok = read_core_stats(chip, offset - VTPU_REG_CORE_STATS, size, &ignored);
	else if (offset >= VTPU_REG_GEOMETRY)
		ok = read_geometry(chip, offset - VTPU_REG_GEOMETRY, size, &ignored);
	else
		ok = write_reg(chip, offset, value, size);
	if (!ok)
		refused(chip, offset, size);
}
