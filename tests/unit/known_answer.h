/* SPDX-License-Identifier: MIT */
/*
 * known_answer.h - a bystander: a job in its own context and queue whose result
 * is known, to be run after each fault that somebody else brought about.
 */
#ifndef TESTS_UNIT_KNOWN_ANSWER_H
#define TESTS_UNIT_KNOWN_ANSWER_H

#include <string.h>

#include "chip_host.h"
#include "image_builder.h"

#define KA_N 8 /* d = a * b, square */

struct known_answer {
	struct chip_ring ring;
	uint32_t program;
	uint64_t in, out; /* HBM */
	uint32_t round;
};

#define KA_IN_VA  0x40000000ULL
#define KA_OUT_VA 0x40200000ULL
#define KA_BYTES  (KA_N * KA_N * sizeof(float))

/** ka_image() - program: load a and b, d = a * b, store d; bases in and out */
static inline void *ka_image(size_t *bytes)
{
	struct image_builder b;
	struct vtpu_insn *insn;

	ib_begin(&b, 1);
	ib_base(&b, "in", 2 * KA_BYTES, 0, VTPU_BASE_READ);
	ib_base(&b, "out", KA_BYTES, 0, VTPU_BASE_WRITE);
	insn = ib_copy(&b, VTPU_ADDR(VTPU_SPACE_HBM, 0, 0), VTPU_ADDR(VTPU_SPACE_VMEM, 0, 0),
		       VTPU_TYPE_F32, 2 * KA_N * KA_N);
	ib_signal(insn, 0, 0, 1);
	insn = ib_matmul(&b, 0, KA_BYTES, 2 * KA_BYTES, VTPU_TYPE_F32, VTPU_TYPE_F32, KA_N, KA_N,
			 KA_N);
	ib_wait(insn, 0, 1);
	ib_signal(insn, 1, 0, 1);
	insn = ib_copy(&b, VTPU_ADDR(VTPU_SPACE_VMEM, 0, 2 * KA_BYTES),
		       VTPU_ADDR(VTPU_SPACE_HBM, 1, 0), VTPU_TYPE_F32, KA_N * KA_N);
	ib_wait(insn, 1, 1);
	return ib_finish(&b, bytes);
}

/** ka_setup() - context, queue, program and memory of the bystander. Return: status */
static inline uint32_t ka_setup(struct chip_host *h, struct known_answer *ka, uint32_t context,
				unsigned int queue, uint32_t program)
{
	size_t bytes;
	void *image = ka_image(&bytes);

	memset(ka, 0, sizeof(*ka));
	ka->program = program;
	ka->in = chip_hbm_alloc(h, VTPU_PAGE_BYTES, VTPU_PAGE_BYTES);
	ka->out = chip_hbm_alloc(h, VTPU_PAGE_BYTES, VTPU_PAGE_BYTES);
	chip_context_create(h, context);
	chip_map(h, context, KA_IN_VA, ka->in, VTPU_PAGE_BYTES, 0);
	chip_map(h, context, KA_OUT_VA, ka->out, VTPU_PAGE_BYTES, VTPU_PTE_WRITE);
	chip_queue_create(h, &ka->ring, queue, context, VTPU_QUEUE_COMPUTE, 2);
	return chip_load(h, context, program, image, bytes, NULL);
}

/** ka_run() - another input each time; true if the job ended well with the right numbers */
static inline bool ka_run(struct chip_host *h, struct known_answer *ka)
{
	float *in = (float *)(h->hbm + ka->in), *out = (float *)(h->hbm + ka->out);
	uint64_t va[2] = { KA_IN_VA, KA_OUT_VA };
	uint8_t args[64];
	uint32_t i, j, k;

	ka->round++;
	for (i = 0; i < 2 * KA_N * KA_N; i++)
		in[i] = (float)((i * 7 + ka->round) % 13) - 6;
	memset(out, 0xff, KA_BYTES);
	if (chip_run(h, &ka->ring, ka->program, args, chip_args(args, 2, va, 0, NULL)))
		return false;
	for (i = 0; i < KA_N; i++) {
		for (j = 0; j < KA_N; j++) {
			float sum = 0;

			for (k = 0; k < KA_N; k++)
				sum += in[i * KA_N + k] * in[KA_N * KA_N + k * KA_N + j];
			if (out[i * KA_N + j] != sum)
				return false;
		}
	}
	return true;
}

#endif /* TESTS_UNIT_KNOWN_ANSWER_H */
