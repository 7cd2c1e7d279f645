// SPDX-License-Identifier: MIT
/*
 * schedule.c - learning rates, worked out on the host in double precision from
 * operations that round the same everywhere.
 */
#include <inttypes.h>
#include <math.h>

#include "train/train.h"

/* cos(pi * t), 0 <= t <= 1. Own, as libm's differs between machines in the last bit. */
static double cos_pi(double t)
{
	const double x = 3.14159265358979323846 * (t < 0.5 ? t : 1 - t), xx = x * x;
	double term = 1, sum = 1;

	for (int k = 1; k <= 12; k++) {
		term *= -xx / ((2 * k - 1) * (2 * k));
		sum += term;
	}
	return t < 0.5 ? sum : -sum;
}

float vtpu_schedule_rate(const struct vtpu_schedule *schedule, uint64_t step, uint64_t steps)
{
	double rate = schedule->rate, t;

	if (step < schedule->warmup)
		return (float)(rate * (double)(step + 1) / schedule->warmup);
	step -= schedule->warmup;
	switch (schedule->kind) {
	case VTPU_SCHEDULE_STEP:
		for (uint64_t n = step / schedule->every; n && rate > 0x1p-149; n--)
			rate *= schedule->factor;
		break;
	case VTPU_SCHEDULE_COSINE:
		if (schedule->steps)
			steps = schedule->steps;
		steps = steps > schedule->warmup ? steps - schedule->warmup : 1;
		t = step < steps ? (double)step / (double)steps : 1;
		rate = schedule->last + (rate - schedule->last) * 0.5 * (1 + cos_pi(t));
		break;
	default:
		break;
	}
	return (float)rate;
}

enum vtpu_status schedule_check(const struct vtpu_schedule *s)
{
	if (!(s->rate > 0) || !isfinite(s->rate))
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "the learning rate is %g; expected a number above 0, such as 0.001",
				 (double)s->rate);
	if ((unsigned int)s->kind > VTPU_SCHEDULE_COSINE)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "schedule: kind %d is none", s->kind);
	if (s->kind == VTPU_SCHEDULE_STEP &&
	    (!s->every || !(s->factor > 0) || !isfinite(s->factor)))
		return vtpu_fail(
			VTPU_ERROR_INVALID_ARGUMENT,
			"schedule: times %g every %u steps; expected a factor above 0, and at least 1 step",
			(double)s->factor, s->every);
	if (s->kind == VTPU_SCHEDULE_COSINE && (!(s->last >= 0) || !isfinite(s->last)))
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "schedule: the last rate is %g; expected a number from 0 on",
				 (double)s->last);
	return VTPU_OK;
}
