// SPDX-License-Identifier: MIT
/*
 * bind.c - from a job's arguments to host addresses.
 *
 * Each base of the program must be one extent of HBM with the rights that the
 * program wants. The translation made here is the job's for as long as it runs.
 */
#include <string.h>

#include "chip.h"

bool vtpu_args_valid(const struct vtpu_program *program, const void *args, uint32_t bytes)
{
	struct vtpu_job_args head;

	if (bytes < sizeof(head))
		return false;
	memcpy(&head, args, sizeof(head));
	return head.nbases == program->nbases && head.nscalars == program->nscalars &&
	       bytes == sizeof(head) + head.nbases * sizeof(uint64_t) +
				head.nscalars * sizeof(uint32_t);
}

static enum vtpu_hw_status fail(struct vtpu_queue *q, enum vtpu_hw_status st, uint64_t addr)
{
	q->bind_where = VTPU_WHERE(0, 0, q->bound);
	q->bind_addr = addr;
	return st;
}

/* Bytes of the whole range of a base: every core's slice. False if they do not count. */
static bool base_range(const struct vtpu_program *program, const struct vtpu_image_base *base,
		       uint64_t va, uint64_t *bytes)
{
	uint64_t end;

	return !__builtin_mul_overflow((uint64_t)program->width - 1, base->core_stride, bytes) &&
	       !__builtin_add_overflow(*bytes, base->extent, bytes) &&
	       !__builtin_add_overflow(va, *bytes, &end) && end <= VTPU_VA_END;
}

/* Translate base q->bound, from where an earlier call stopped. */
static enum vtpu_hw_status bind_base(struct vtpu_queue *q, uint64_t va, unsigned int *budget)
{
	struct vtpu_program *program = q->run.program;
	const struct vtpu_image_base *base = &program->base[q->bound];
	struct vtpu_chip *chip = q->chip;
	uint64_t bytes;

	if (!base_range(program, base, va, &bytes))
		return fail(q, VTPU_ST_WRAPS, va);
	if (va & ((uint64_t)base->align - 1))
		return fail(q, VTPU_ST_MISALIGNED, va);
	while (q->bound_bytes < bytes && *budget) {
		uint64_t at = va + q->bound_bytes;
		struct vtpu_extent ext;
		enum vtpu_hw_status st;

		st = vtpu_mmu_extent(chip, q->root, at, bytes - q->bound_bytes, budget, &ext);
		if (st == VTPU_ST_BAD_PTE)
			q->bind_pte = ext.pte;
		if (st != VTPU_ST_OK)
			return fail(q, st, at);
		if (ext.system)
			return fail(q, VTPU_ST_SYSTEM_MEMORY, at);
		if ((base->flags & VTPU_BASE_WRITE) && !ext.write)
			return fail(q, VTPU_ST_READ_ONLY, at);
		if (!q->bound_bytes)
			q->run.base[q->bound] = chip->hbm + ext.addr;
		else if (chip->hbm + ext.addr != q->run.base[q->bound] + q->bound_bytes)
			return fail(q, VTPU_ST_NOT_CONTIGUOUS, at);
		q->bound_bytes += ext.bytes;
		atomic_fetch_add(&q->bind_progress, 1);
	}
	q->base_bytes[q->bound] = bytes;
	return VTPU_ST_OK;
}

static bool overlap(const struct vtpu_queue *q, uint32_t a, uint32_t b)
{
	return q->run.base[a] < q->run.base[b] + q->base_bytes[b] &&
	       q->run.base[b] < q->run.base[a] + q->base_bytes[a];
}

/* Hazards are derived base by base, so bytes that are written may have one name only. */
static enum vtpu_hw_status check_alias(struct vtpu_queue *q, const uint64_t *va)
{
	struct vtpu_program *program = q->run.program;
	uint32_t i, j;

	for (i = 0; i < program->nbases; i++) {
		if (!(program->base[i].flags & VTPU_BASE_WRITE))
			continue;
		for (j = 0; j < program->nbases; j++) {
			if (i == j || !overlap(q, i, j))
				continue;
			q->bound = i;
			return fail(q, VTPU_ST_ALIAS, va[i]);
		}
	}
	return VTPU_ST_OK;
}

bool vtpu_bind(struct vtpu_queue *q, const uint8_t *args, unsigned int *budget)
{
	struct vtpu_program *program = q->run.program;
	uint64_t va[VTPU_MAX_BASES];

	args += sizeof(struct vtpu_job_args);
	memcpy(va, args, program->nbases * sizeof(va[0]));
	memcpy(q->run.scalar, args + program->nbases * sizeof(va[0]),
	       program->nscalars * sizeof(q->run.scalar[0]));
	q->run.base[VTPU_BASE_CONST] = program->constants;

	while (q->bound < program->nbases) {
		q->bind_status = bind_base(q, va[q->bound], budget);
		if (q->bind_status != VTPU_ST_OK)
			return true;
		if (q->bound_bytes < q->base_bytes[q->bound])
			return false;
		q->bound++;
		q->bound_bytes = 0;
	}
	q->bind_status = check_alias(q, va);
	return true;
}
