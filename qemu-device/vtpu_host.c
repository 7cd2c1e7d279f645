/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vtpu_host.c - what the chip asks of QEMU besides memory: time, interrupts,
 * a place to run, messages.
 *
 * Control context is one guarded bottom half in the main loop, so registers
 * cannot be reached from inside it.
 *
 * The clock is QEMU_CLOCK_VIRTUAL_RT: host time that stands still while the VM
 * is stopped. The watchdog counts how long workers of this host make no
 * progress, so instructions that the guest retires (QEMU_CLOCK_VIRTUAL under
 * -icount, where an idle guest jumps to the next timer) are no measure, and a
 * person who stops the VM in a debugger must not find timed-out jobs afterwards
 * (as with QEMU_CLOCK_REALTIME). Without -icount it equals the guest's own clock.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/log.h"
#include "qemu/rcu.h"
#include "vtpu_device.h"
#include "trace.h"

/* A broken model must not fill the disk. */
#define MODEL_ERRORS_SHOWN 16

static void control_bh(void *opaque)
{
	VtpuState *s = opaque;

	if (qatomic_xchg(&s->timer_due, false))
		vtpu_chip_timer(s->chip);
	vtpu_chip_control(s->chip);
}

static void timer_cb(void *opaque)
{
	VtpuState *s = opaque;

	qatomic_set(&s->timer_due, true);
	qemu_bh_schedule(s->bh);
}

/* Never in chip creation or destruction, so the bottom half has a chip. */
static void host_defer(void *host)
{
	VtpuState *s = host;

	qemu_bh_schedule(s->bh);
}

static void host_raise(void *host, unsigned int vector)
{
	VtpuState *s = host;

	trace_vtpu_raise(vtpu_name(s), vector);
	if (vector < s->props.vectors)
		msix_notify(PCI_DEVICE(s), vector);
}

static uint64_t host_now_ns(void *host)
{
	return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL_RT);
}

static void host_timer(void *host, uint64_t deadline_ns)
{
	VtpuState *s = host;

	if (deadline_ns > INT64_MAX)
		timer_del(s->timer);
	else
		timer_mod_ns(s->timer, deadline_ns);
}

/**
 * vtpu_thread_start() - first on each thread of chip and pool
 *
 * RCU readers must be known, and signals are for the main loop.
 */
void vtpu_thread_start(void *unused)
{
	sigset_t set;

	sigfillset(&set);
	sigdelset(&set, SIGSEGV);
	sigdelset(&set, SIGBUS);
	sigdelset(&set, SIGFPE);
	sigdelset(&set, SIGILL);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	rcu_register_thread();
}

void vtpu_thread_stop(void *unused)
{
	rcu_unregister_thread();
}

static void host_log(void *host, enum vtpu_log_level level, const char *text)
{
	VtpuState *s = host;

	trace_vtpu_log(vtpu_name(s), text);
	if (level == VTPU_LOG_GUEST)
		qemu_log_mask(LOG_GUEST_ERROR, "%s: %s\n", vtpu_name(s), text);
	else if (level == VTPU_LOG_ERROR &&
		 qatomic_fetch_inc(&s->model_errors) < MODEL_ERRORS_SHOWN)
		error_report("%s: %s", vtpu_name(s), text);
}

/* One trace point of QEMU's for each of the chip's, named after its family. */
#define TRACE_norm(lower) trace_vtpu_##lower(vtpu_name(s), queue, seq, a, b)
#define TRACE_err(lower)  trace_vtpu_err_##lower(vtpu_name(s), queue, seq, a, b)
#define TRACE_ub(lower) \
	do { \
		trace_vtpu_ub_##lower(vtpu_name(s), queue, seq, a, b); \
		qemu_log_mask(LOG_GUEST_ERROR, \
			      "%s: " #lower " (queue %" PRIu32 ", job %" PRIu32 ", 0x%" PRIx64 \
			      ", 0x%" PRIx64 ")\n", \
			      vtpu_name(s), queue, seq, a, b); \
	} while (0)

static void host_trace(void *host, enum vtpu_trace event, uint32_t queue, uint32_t seq, uint64_t a,
		       uint64_t b)
{
	VtpuState *s = host;

	switch (event) {
#define TRACE_CASE(upper, lower, family) \
	case VTPU_TRACE_##upper: \
		TRACE_##family(lower); \
		break;
		VTPU_TRACE_EVENTS(TRACE_CASE)
#undef TRACE_CASE
	}
}

const struct vtpu_host_ops vtpu_host_ops = {
	.dma = vtpu_dma,
	.raise = host_raise,
	.now_ns = host_now_ns,
	.timer = host_timer,
	.defer = host_defer,
	.thread_start = vtpu_thread_start,
	.thread_stop = vtpu_thread_stop,
	.discard = vtpu_hbm_discard,
	.dirty = vtpu_hbm_dirty,
	.vanish = vtpu_vanish_soon,
	.log = host_log,
	.trace = host_trace,
};

void vtpu_host_init(VtpuState *s)
{
	s->bh = qemu_bh_new_guarded(control_bh, s, &DEVICE(s)->mem_reentrancy_guard);
	s->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL_RT, timer_cb, s);
	s->timer_due = false;
	vtpu_dma_init(s);
}

void vtpu_host_fini(VtpuState *s)
{
	vtpu_dma_fini(s);
	timer_free(s->timer);
	qemu_bh_delete(s->bh);
}
