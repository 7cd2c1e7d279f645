// SPDX-License-Identifier: MIT
/*
 * report.c - load reports in words. The device says numbers; names of
 * operations, tensors and fields come from the image and from isa.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "program/image.h"
#include "program/isa.h"
#include "vtpu_hwlib.h"

/* The contract's 64-bit type is not the one that PRIu64 is for. */
#define U(value) ((uint64_t)(value))

/* Text in memory of fixed size; @len counts what did not fit as well. */
struct text {
	char *p;
	size_t room;
	size_t len;
};

static void put(struct text *t, const char *fmt, ...) VTPU_PRINTF(2, 3);

static void put(struct text *t, const char *fmt, ...)
{
	size_t at = t->len < t->room ? t->len : t->room;
	va_list ap;

	va_start(ap, fmt);
	t->len += vsnprintf(t->room ? t->p + at : NULL, t->room - at, fmt, ap);
	va_end(ap);
}

/* ---- Names ----------------------------------------------------------------------- */

static const struct vtpu_insn *insn_at(const struct vtpu_image *image, unsigned int unit,
				       uint32_t index)
{
	return image && unit < VTPU_UNITS && index < image->count[unit] ?
		       &image->insn[unit][index] :
		       NULL;
}

/* "dma instruction 3 (copy, op 'dense1') on core 2" */
static void put_insn(struct text *t, const struct vtpu_image *image, unsigned int core,
		     unsigned int unit, uint32_t index, uint32_t op_id)
{
	const struct vtpu_insn *insn = insn_at(image, unit, index);
	const struct vtpu_insn_row *op = insn ? insn_op(insn->opcode) : NULL;
	const char *name = image && op_id ? vtpu_image_op_name(image, op_id) : NULL;

	put(t, "%s instruction %" PRIu32,
	    insn_unit_name(unit) ? insn_unit_name(unit) : "unknown-unit", index);
	if (op || op_id)
		put(t, " (%s%s", op ? op->name : "", op && op_id ? ", " : "");
	if (name)
		put(t, "op '%s'", name);
	else if (op_id)
		put(t, "op %" PRIu32, op_id);
	if (op || op_id)
		put(t, ")");
	if (!image || image->header->width > 1)
		put(t, " on core %u", core);
}

static void put_subject(struct text *t, const struct vtpu_image *image,
			const struct vtpu_load_record *r)
{
	put_insn(t, image, r->core, r->unit, r->index, r->op_id);
}

static void put_place(struct text *t, const struct vtpu_image *image,
		      const struct vtpu_load_record *r)
{
	const char *tensor = NULL;

	switch (r->space) {
	case VTPU_SPACE_VMEM:
		put(t, "VMEM");
		return;
	case VTPU_SPACE_SMEM:
		put(t, "SMEM");
		return;
	default:
		break;
	}
	if (r->base == VTPU_BASE_CONST) {
		put(t, "the constants");
		return;
	}
	if (image && r->base < image->bases) {
		put(t, "base '%s'", image->base[r->base].name);
		tensor = vtpu_image_tensor_name(image, r->base, r->start);
	} else {
		put(t, "base %u", r->base);
	}
	if (tensor && strcmp(tensor, image->base[r->base].name))
		put(t, " (tensor '%s')", tensor);
}

/* Numbers as a person writes them: small ones in decimal, addresses also in hexadecimal */
static void put_number(struct text *t, uint64_t value)
{
	if (value < 65536)
		put(t, "%" PRIu64, value);
	else
		put(t, "%" PRIu64 " (%#" PRIx64 ")", value, value);
}

static void put_bytes(struct text *t, uint64_t start, uint64_t bytes)
{
	if ((int64_t)start < 0)
		put(t, "bytes %" PRId64 " to %" PRId64, (int64_t)start,
		    (int64_t)(start + bytes - 1));
	else if (start + bytes <= 65536)
		put(t, "bytes %" PRIu64 " to %" PRIu64, start, start + bytes - 1);
	else
		put(t, "bytes %#" PRIx64 " to %#" PRIx64, start, start + bytes - 1);
}

/* ---- Fields ---------------------------------------------------------------------- */

static void put_mask(struct text *t, const struct vtpu_insn_word *names, uint64_t mask)
{
	const char *comma = "";

	for (; names->name; names++) {
		if (names->value < 64 && mask >> names->value & 1) {
			put(t, "%s%s", comma, names->name);
			comma = ", ";
		}
	}
}

static void put_value(struct text *t, const struct vtpu_insn_field *f, uint64_t value)
{
	const char *name =
		f && f->words && f->kind != VTPU_FIELD_FLAGS ? insn_name_of(f->words, value) : NULL;

	if (name)
		put(t, "%s", name);
	else if (f && f->kind == VTPU_FIELD_INT)
		put(t, "%" PRId32, (int32_t)value);
	else
		put_number(t, value);
}

static bool is_name(const struct vtpu_insn_field *f, const char *name)
{
	return f && !strcmp(f->name, name);
}

/* Is this a place or distance in memory, which must be a multiple of the element? */
static bool is_distance(const struct vtpu_insn_field *f)
{
	return f && (f->kind == VTPU_FIELD_HEX || f->kind == VTPU_FIELD_ADDR ||
		     f->kind == VTPU_FIELD_INT || f->kind == VTPU_FIELD_EPI_ARG ||
		     is_name(f, "lda") || is_name(f, "ldb") || is_name(f, "ldc") ||
		     is_name(f, "ldd") || strstr(f->name, "pitch"));
}

static void put_limit(struct text *t, const struct vtpu_insn_field *f,
		      const struct vtpu_load_record *r)
{
	uint64_t have = U(r->have), need = U(r->need);

	if (f && f->words == vtpu_insn_types && need > VTPU_TYPE_F8E5M2) {
		put(t, "it must be one of ");
		put_mask(t, vtpu_insn_types, need);
	} else if (f && f->words == vtpu_insn_types) {
		put(t,
		    "%s cannot become that; casts are u8 to f32 or bf16, f32 to bf16 and bf16 to f32",
		    insn_name_of(vtpu_insn_types, need) ? insn_name_of(vtpu_insn_types, need) :
							  "the source");
	} else if (is_name(f, "core_mask")) {
		put(t, "it must be %" PRIu64 ": all cores of the gang run this text, so all meet",
		    need);
	} else if (!need) {
		put(t, "it must be zero here");
	} else if (is_distance(f) && need <= 8 && have % need) {
		put(t, "it must be a multiple of the element's %" PRIu64 " bytes", need);
	} else {
		put(t, "it must be at %s ", have < need ? "least" : "most");
		put_value(t, f, need);
	}
}

static void put_rights(struct text *t, uint64_t rights)
{
	put(t, "%s",
	    rights == VTPU_BASE_FLAGS ? "reading and writing" :
	    rights == VTPU_BASE_WRITE ? "writing" :
	    rights == VTPU_BASE_READ  ? "reading" :
					"nothing");
}

static void field_record(struct text *t, const struct vtpu_image *image,
			 const struct vtpu_load_record *r)
{
	const struct vtpu_insn *insn = insn_at(image, r->unit, r->index);
	const struct vtpu_insn_row *op = insn ? insn_op(insn->opcode) : NULL;
	const struct vtpu_insn_field *f;
	unsigned int element;
	char name[32];

	f = insn_field_at(op, r->field, name, sizeof(name), &element);
	put(t, "bad field: ");
	put_subject(t, image, r);
	if (r->field == offsetof(struct vtpu_insn, opcode)) {
		put(t,
		    ": opcode %#" PRIx64 " is unknown; build the program for this device's version",
		    U(r->have));
	} else if (r->field == offsetof(struct vtpu_insn, unit)) {
		put(t,
		    ": unit is %" PRIu64 " (%s), but it must be %" PRIu64
		    " (%s), where its opcode runs",
		    U(r->have), insn_unit_name(r->have) ? insn_unit_name(r->have) : "unknown",
		    U(r->need), insn_unit_name(r->need) ? insn_unit_name(r->need) : "unknown");
	} else if (r->field == offsetof(struct vtpu_insn, flags)) {
		put(t,
		    ": flags are %#" PRIx64 ", of which only %#" PRIx64
		    " are allowed here; clear the others",
		    U(r->have), U(r->need));
	} else if (r->bytes) {
		put(t, ": its result at %#" PRIx64 " (%s) lies on its own operand in ", U(r->have),
		    name);
		put_place(t, image, r);
		put(t, ", ");
		put_bytes(t, r->start, r->bytes);
		put(t, "; only an operand of the same place and shape may be overwritten");
	} else if (f && f->kind == VTPU_FIELD_ADDR && r->space == VTPU_SPACE_HBM) {
		put(t, ": %s points into ", name);
		put_place(t, image, r);
		put(t, ", which the program declares for ");
		put_rights(t, U(r->have));
		put(t, ", not for ");
		put_rights(t, U(r->need));
		put(t, "; give the base that right or use another");
	} else if (f && f->kind == VTPU_FIELD_ADDR && image &&
		   VTPU_ADDR_SPACE(insn_get(insn, f, 0)) == VTPU_SPACE_HBM &&
		   U(r->have) >= image->bases &&
		   U(r->have) == VTPU_ADDR_BASE(insn_get(insn, f, 0))) {
		put(t,
		    ": %s names base %" PRIu64 ", the program has %" PRIu32 " (0 to %" PRIu32 ")",
		    name, U(r->have), image->bases, image->bases - 1);
	} else {
		put(t, ": %s is ", name);
		put_value(t, f, U(r->have));
		put(t, "; ");
		put_limit(t, f, r);
	}
}

/* ---- Other records ------------------------------------------------------------------ */

static void range_record(struct text *t, const struct vtpu_image *image,
			 const struct vtpu_load_record *r)
{
	const struct vtpu_insn *insn = insn_at(image, r->unit, r->index);
	unsigned int element;
	char name[32];

	insn_field_at(insn ? insn_op(insn->opcode) : NULL, r->field, name, sizeof(name), &element);
	put(t, "out of bounds: ");
	put_subject(t, image, r);
	put(t, ": operand %s covers ", name);
	put_bytes(t, r->start, r->bytes);
	put(t, " of ");
	put_place(t, image, r);
	if (r->space == VTPU_SPACE_SMEM && r->start + r->bytes <= U(r->need))
		put(t, ", whose first %d are the job's scalars and read-only; use SMEM behind them",
		    4 * VTPU_MAX_SCALARS);
	else if (r->space == VTPU_SPACE_HBM)
		put(t,
		    ", which has %" PRIu64
		    " bytes for a core; shrink counts or strides, or make the base larger",
		    U(r->need));
	else
		put(t, ", which has %" PRIu64 " bytes; use a smaller tile or a lower address",
		    U(r->need));
}

/* Increments of a semaphore that the text has in all, as each core receives them */
static uint64_t increments(const struct vtpu_image *image, uint32_t sem)
{
	uint64_t sum = 0;

	for (unsigned int unit = 0; unit < VTPU_UNITS; unit++)
		for (uint32_t i = 0; i < image->count[unit]; i++)
			for (int s = 0; s < 2; s++)
				if (image->insn[unit][i].flags & VTPU_INSN_SIGNAL0 << s &&
				    image->insn[unit][i].signal[s].sem == sem)
					sum += image->insn[unit][i].signal[s].inc;
	return sum;
}

/* The instruction that would take a semaphore beyond @have, if one queue alone signals it */
static bool next_signal(const struct vtpu_image *image, uint32_t sem, uint64_t have,
			unsigned int *unit, uint32_t *index)
{
	bool found = false;

	for (unsigned int u = 0; u < VTPU_UNITS; u++) {
		uint64_t sum = 0;

		for (uint32_t i = 0; i < image->count[u]; i++) {
			const struct vtpu_insn *insn = &image->insn[u][i];

			for (int s = 0; s < 2; s++) {
				if (!(insn->flags & VTPU_INSN_SIGNAL0 << s) ||
				    insn->signal[s].sem != sem)
					continue;
				if (found && *unit != u)
					return false;
				sum += insn->signal[s].inc;
				if (sum <= have || (found && *unit == u))
					continue;
				found = true;
				*unit = u;
				*index = i;
			}
		}
		if (sum && !found)
			return false;
	}
	return found;
}

static void deadlock_record(struct text *t, const struct vtpu_image *image,
			    const struct vtpu_load_record *r)
{
	uint64_t total = image ? increments(image, r->sem) : UINT64_MAX;
	unsigned int unit = 0;
	uint32_t index = 0;

	put(t, "deadlock: ");
	put_subject(t, image, r);
	put(t, " waits for semaphore %u to reach %" PRIu64 ", which stays at %" PRIu64 ": ", r->sem,
	    U(r->need), U(r->have));
	if (!image) {
		put(t, "what would signal it never runs");
	} else if (!total) {
		put(t, "nothing in the program signals it; add a signal, or drop the wait");
	} else if (total < U(r->need)) {
		put(t,
		    "all signals of the program add up to %" PRIu64
		    "; add one, or wait for at most %" PRIu64,
		    total, total);
	} else if (next_signal(image, r->sem, U(r->have), &unit, &index)) {
		put(t, "the next to signal it is ");
		put_insn(t, image, r->core, unit, index, image->insn[unit][index].op_id);
		if (unit == r->unit && index >= r->index)
			put(t, ", which comes behind it in the same queue; move that before this");
		else
			put(t,
			    ", whose queue is blocked as well; break the circle by removing a wait or moving an instruction "
			    "forward in its queue");
	} else {
		put(t,
		    "those that would signal it are blocked as well; break the circle by removing a wait or moving an "
		    "instruction forward in its queue");
	}
}

static void race_record(struct text *t, const struct vtpu_image *image,
			const struct vtpu_load_record *r)
{
	put(t, "%s: ", r->kind == VTPU_REC_RACE ? "race" : "possible race");
	put_subject(t, image, r);
	put(t, " and ");
	put_insn(t, image, r->other_core, r->other_unit, r->other_index, r->other_op_id);
	put(t, " %s ", r->kind == VTPU_REC_RACE ? "both use" : "may both use");
	put_place(t, image, r);
	put(t, ", ");
	put_bytes(t, r->start, r->bytes);
	put(t,
	    ", and no semaphore orders them, so the result depends on the chip's timing; let one signal a semaphore "
	    "that the other waits for");
}

static void overflow_record(struct text *t, const struct vtpu_image *image,
			    const struct vtpu_load_record *r)
{
	put(t, "semaphore overflow: ");
	put_subject(t, image, r);
	put(t,
	    " would take semaphore %u to %" PRIu64 "; the most is %" PRIu64
	    ". Signal it with smaller steps, or go on with another semaphore",
	    r->sem, U(r->have), U(r->need));
}

static void unsupported_record(struct text *t, const struct vtpu_image *image,
			       const struct vtpu_load_record *r)
{
	const struct vtpu_insn *insn = insn_at(image, r->unit, r->index);
	const struct vtpu_insn_row *op = insn ? insn_op(insn->opcode) : NULL;
	const struct vtpu_insn_field *f;
	unsigned int element;
	char name[32];

	put(t, "not supported: ");
	if (r->index == UINT32_MAX) {
		const char *comma = "";

		put(t, "the program needs");
		for (const struct vtpu_insn_word *cap = insn_caps; cap->name; cap++) {
			if (!(r->have & cap->value))
				continue;
			put(t, "%s %s", comma, cap->name);
			comma = ",";
		}
		if (!*comma)
			put(t, " capabilities %#" PRIx64, U(r->have));
		put(t, ", which this device has not");
		return;
	}
	put_subject(t, image, r);
	if (r->field == offsetof(struct vtpu_insn, opcode)) {
		put(t, ": this device does not have the instruction");
		return;
	}
	f = insn_field_at(op, r->field, name, sizeof(name), &element);
	put(t, ": %s is ", name);
	put_value(t, f, U(r->have));
	put(t, ", which this device does not have");
}

static void image_record(struct text *t, const struct vtpu_load_record *r)
{
	static const struct {
		uint16_t offset;
		const char *name;
	} fields[] = {
#define FIELD(name) { offsetof(struct vtpu_image_header, name), #name }
		FIELD(magic), FIELD(version),	FIELD(bytes),	 FIELD(crc32c), FIELD(width),
		FIELD(caps),  FIELD(nsections), FIELD(nscalars), FIELD(rsvd),
#undef FIELD
	};
	const char *name = NULL;

	put(t, "malformed image: ");
	if (r->index == UINT32_MAX) {
		for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
			if (r->field == fields[i].offset)
				name = fields[i].name;
		if (name)
			put(t, "header field %s", name);
		else
			put(t, "byte %u", r->field);
	} else {
		put(t, "section %" PRIu32 ", byte %u", r->index, r->field);
	}
	put(t, " is ");
	put_number(t, U(r->have));
	put(t, ", expected ");
	put_number(t, U(r->need));
	put(t,
	    " as value or limit; build the image again, and see that nothing changes it afterwards");
}

static void put_record(struct text *t, const struct vtpu_image *image,
		       const struct vtpu_load_record *r)
{
	switch (r->kind) {
	case VTPU_REC_IMAGE:
		image_record(t, r);
		break;
	case VTPU_REC_FIELD:
		field_record(t, image, r);
		break;
	case VTPU_REC_RANGE:
		range_record(t, image, r);
		break;
	case VTPU_REC_DEADLOCK:
		deadlock_record(t, image, r);
		break;
	case VTPU_REC_RACE:
	case VTPU_REC_POSSIBLE_RACE:
		race_record(t, image, r);
		break;
	case VTPU_REC_OVERFLOW:
		overflow_record(t, image, r);
		break;
	case VTPU_REC_UNSUPPORTED:
		unsupported_record(t, image, r);
		break;
	case VTPU_REC_BARRIER:
		put(t, "deadlock: ");
		put_subject(t, image, r);
		put(t,
		    " waits in a barrier that core %" PRIu64
		    " never reaches; let each core of its mask run the barrier",
		    U(r->have));
		break;
	default:
		put(t,
		    "a finding of a kind that this library does not know (%u); use a newer libvtpu",
		    r->kind);
		break;
	}
}

size_t vtpu_record_format(const struct vtpu_image *image, const struct vtpu_load_record *record,
			  char *text, size_t bytes)
{
	struct text t = { .p = text, .room = bytes };

	if (bytes)
		*text = 0;
	put_record(&t, image, record);
	return t.len;
}

size_t vtpu_report_format(const struct vtpu_image *image, const struct vtpu_load_result *result,
			  const struct vtpu_load_record *records, char *text, size_t bytes)
{
	struct text t = { .p = text, .room = bytes };

	if (bytes)
		*text = 0;
	if (result->status)
		put(&t, "%s (%s)", vtpu_status_text(result->status),
		    vtpu_status_name(result->status));
	else
		put(&t,
		    "loaded: %" PRIu64 " cycles, %" PRIu32 " instructions of all cores, %" PRIu64
		    " bytes of VMEM",
		    (uint64_t)result->cycles, result->instances, (uint64_t)result->vmem_bytes);
	if (result->found)
		put(&t, "; %" PRIu32 " finding%s", result->found, result->found > 1 ? "s" : "");
	if (result->found > result->records)
		put(&t, ", the first %" PRIu32 " follow", result->records);
	for (uint32_t i = 0; i < result->records && i < VTPU_MAX_RECORDS; i++) {
		put(&t, "\n  ");
		put_record(&t, image, &records[i]);
	}
	return t.len;
}
