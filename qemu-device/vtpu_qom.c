/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vtpu_qom.c - the device as management tools see it: `qom-get PATH stats` and
 * `queues`, and `qom-set PATH inject FAULT` to bring a fault about.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "vtpu_device.h"

/* ---- Fault injection ---------------------------------------------------- */

static bool parse_injection(const char *text, struct vtpu_injection *in, Error **errp)
{
	char err[320];

	if (vtpu_injection_parse(text, in, err, sizeof(err)))
		return true;
	error_setg(errp, "property inject=%s: %s", text, err);
	return false;
}

/** vtpu_inject() - arm the fault that the text describes. The chip exists */
bool vtpu_inject(VtpuState *s, const char *text, Error **errp)
{
	struct vtpu_injection in;
	char err[160];

	if (!parse_injection(text, &in, errp))
		return false;
	if (in.fault == VTPU_FAULT_REMOVAL && !in.job) {
		vtpu_vanish_soon(s);
		return true;
	}
	if (!vtpu_chip_inject(s->chip, &in, err, sizeof(err))) {
		error_setg(errp, "property inject=%s: %s", text, err);
		return false;
	}
	return true;
}

static void set_inject(Object *obj, const char *text, Error **errp)
{
	VtpuState *s = VTPU(obj);
	struct vtpu_injection in;

	/* Before realize there is no chip yet: it is armed then. */
	if (s->chip ? !vtpu_inject(s, text, errp) : !parse_injection(text, &in, errp))
		return;
	g_free(s->inject);
	s->inject = g_strdup(text);
}

static char *get_inject(Object *obj, Error **errp)
{
	return g_strdup(VTPU(obj)->inject ?: "none");
}

/* ---- State -------------------------------------------------------------- */

static bool visit_counters(Visitor *v, struct vtpu_chip_stats *stats, Error **errp)
{
	const struct {
		const char *name;
		uint64_t value;
	} counters[] = {
		{ "jobs-done", stats->jobs_done },
		{ "jobs-failed", stats->jobs_failed },
		{ "jobs-running", stats->jobs_running },
		{ "copies-done", stats->copies_done },
		{ "copy-bytes", stats->copy_bytes },
		{ "programs-loaded", stats->programs_loaded },
		{ "admin-commands", stats->admin_commands },
		{ "doorbells", stats->doorbells },
		{ "resets", stats->resets },
		{ "bad-accesses", stats->bad_accesses },
		{ "queues", stats->queues },
		{ "contexts", stats->contexts },
		{ "programs", stats->programs },
		{ "threads", stats->threads },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(counters); i++) {
		uint64_t value = counters[i].value;

		if (!visit_type_uint64(v, counters[i].name, &value, errp))
			return false;
	}
	return true;
}

static void get_stats(Object *obj, Visitor *v, const char *name, void *opaque, Error **errp)
{
	VtpuState *s = VTPU(obj);
	struct vtpu_chip_stats stats;
	uint64_t cpu_ns;
	char *isa;

	if (!s->chip) {
		error_setg(errp, "property stats: the device is not realized");
		return;
	}
	vtpu_chip_stats(s->chip, &stats);
	cpu_ns = vtpu_pool_cpu_ns(s->pool);
	isa = (char *)vtpu_isa_name(stats.isa);
	if (!visit_start_struct(v, name, NULL, 0, errp))
		return;
	if (visit_counters(v, &stats, errp) && visit_type_uint64(v, "pool-cpu-ns", &cpu_ns, errp) &&
	    visit_type_str(v, "isa", &isa, errp))
		visit_check_struct(v, errp);
	visit_end_struct(v, NULL);
}

static const char *queue_state_name(uint64_t state)
{
	static const char *const names[] = { "none", "idle", "waiting", "running", "halted" };

	return state < ARRAY_SIZE(names) ? names[state] : "unknown";
}

/* A queue as its doorbell page shows it to the guest. */
static bool visit_queue(Visitor *v, VtpuState *s, unsigned int id, Error **errp)
{
	const uint64_t page = VTPU_DOORBELL_BASE + id * VTPU_DOORBELL_STRIDE;
	const struct {
		const char *name;
		uint64_t value;
	} fields[] = {
		{ "queue", id },
		{ "running", vtpu_chip_read(s->chip, page + VTPU_DB_RUNNING, 4) },
		{ "fetched", vtpu_chip_read(s->chip, page + VTPU_DB_FETCHED, 4) },
		{ "progress", vtpu_chip_read(s->chip, page + VTPU_DB_PROGRESS, 8) },
		{ "busy-ns", vtpu_chip_read(s->chip, page + VTPU_DB_BUSY_NS, 8) },
	};
	uint64_t state = vtpu_chip_read(s->chip, page + VTPU_DB_STATE, 4);
	char *name = (char *)queue_state_name(state);
	bool ok;
	int i;

	if (state == VTPU_HWQ_NONE)
		return true;
	if (!visit_start_struct(v, NULL, NULL, 0, errp))
		return false;
	ok = visit_type_str(v, "state", &name, errp);
	for (i = 0; ok && i < ARRAY_SIZE(fields); i++) {
		uint64_t value = fields[i].value;

		ok = visit_type_uint64(v, fields[i].name, &value, errp);
	}
	visit_end_struct(v, NULL);
	return ok;
}

static void get_queues(Object *obj, Visitor *v, const char *name, void *opaque, Error **errp)
{
	VtpuState *s = VTPU(obj);
	unsigned int id;

	if (!s->chip) {
		error_setg(errp, "property queues: the device is not realized");
		return;
	}
	if (!visit_start_list(v, name, NULL, 0, errp))
		return;
	for (id = 1; id <= VTPU_MAX_QUEUES; id++)
		if (!visit_queue(v, s, id, errp))
			break;
	visit_end_list(v, NULL);
}

void vtpu_qom_class_init(ObjectClass *oc)
{
	object_class_property_add_str(oc, "inject", get_inject, set_inject);
	object_class_property_set_description(oc, "inject",
					      "bring a fault about: " VTPU_FAULT_SYNTAX);
	object_class_property_add(oc, "stats", "struct", get_stats, NULL, NULL, NULL);
	object_class_property_set_description(oc, "stats", "counters of the chip");
	object_class_property_add(oc, "queues", "list", get_queues, NULL, NULL, NULL);
	object_class_property_set_description(oc, "queues",
					      "I/O queues: state, running job, progress");
}
