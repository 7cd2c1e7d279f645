// SPDX-License-Identifier: MIT
/*
 * config.c - the words behind "model:".
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "device/inproc/inproc.h"

#define MAX_OPTIONS 512

/* Fields of the geometry that preset "custom" may set, under their own names */
/* clang-format off */
#define CUSTOM_FIELDS(X) \
	X(clock_khz) X(mxu_per_core) X(mxu_dim) X(mxu_rows_q8) X(lanes) X(sublanes) X(valu_slots) \
	X(semaphores) X(vmem_bytes) X(smem_bytes) X(dma_setup) X(hbm_q16) X(hbm_latency) X(pcie_q16) \
	X(pcie_latency) X(ici_q16) X(ici_hop) X(ici_links) X(matmul_passes_f32) X(max_instances)
/* clang-format on */

/* A number with K, M or G behind it, within the type of its field */
static enum vtpu_status parse_number(const char *key, const char *value, uint64_t max,
				     uint64_t *out)
{
	unsigned int shift = 0;
	uint64_t number;
	char *end;

	errno = 0;
	number = strtoull(value, &end, 0);
	if (*end == 'K' || *end == 'k')
		shift = 10;
	else if (*end == 'M' || *end == 'm')
		shift = 20;
	else if (*end == 'G' || *end == 'g')
		shift = 30;
	if (shift)
		end++;
	if (errno || *value < '0' || *value > '9' || *end || number > max >> shift)
		return vtpu_fail(
			VTPU_ERROR_INVALID_ARGUMENT,
			"model: %s=%s: expected a number up to %llu, with K, M or G behind it if you like",
			key, value, (unsigned long long)max);
	*out = number << shift;
	return VTPU_OK;
}

static enum vtpu_status parse_word(const char *key, const char *value, const char *const *words,
				   uint32_t *out)
{
	char list[128] = "";
	uint32_t i;

	for (i = 0; words[i]; i++) {
		if (!strcmp(value, words[i])) {
			*out = i;
			return VTPU_OK;
		}
		if (i)
			strcat(list, ", ");
		strcat(list, words[i]);
	}
	return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "model: %s=%s: expected one of %s", key,
			 value, list);
}

static enum vtpu_status parse_custom(struct ip_config *config, const char *key, const char *value,
				     bool *known)
{
	struct vtpu_hw_geometry *g = &config->chip.custom;
	enum vtpu_status status;
	uint64_t number;

#define CUSTOM_FIELD(name) \
	if (!strcmp(key, #name)) { \
		*known = true; \
		config->geometry = true; \
		status = parse_number(key, value, sizeof(g->name) == 4 ? UINT32_MAX : UINT64_MAX, \
				      &number); \
		if (!status) \
			g->name = number; \
		return status; \
	}
	CUSTOM_FIELDS(CUSTOM_FIELD)
#undef CUSTOM_FIELD
	*known = false;
	return VTPU_OK;
}

/* Faults after which the job alone is lost. What else there is takes a driver with a ladder of recovery. */
static enum vtpu_status parse_inject(const char *value, struct vtpu_injection *in)
{
	char err[320];

	if (!vtpu_injection_parse(value, in, err, sizeof(err)))
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "model: inject=%s: %s", value, err);
	if (in->fault != VTPU_FAULT_NONE && in->fault != VTPU_FAULT_HANG &&
	    in->fault != VTPU_FAULT_DMA_ERROR && in->fault < VTPU_FAULT_WRONG_BIT)
		return vtpu_fail(
			VTPU_ERROR_INVALID_ARGUMENT,
			"model: inject=%s: a model in the process takes none, hang, dma-error, "
			"wrong-bit, ecc, link-down, slow, ecc-corrected; the others are for a device in a VM",
			value);
	return VTPU_OK;
}

static enum vtpu_status parse_option(struct ip_config *config, const char *key, const char *value)
{
	static const char *const executors[] = { "parallel", "reference", NULL };
	static const char *const switches[] = { "off", "on", NULL };
	enum vtpu_status status;
	uint64_t number = 0;
	uint32_t word = 0;
	bool known;

	if (!strcmp(key, "cores")) {
		status = parse_number(key, value, VTPU_MAX_CORES, &number);
		if (!status && !number)
			return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
					 "model: cores=%s: expected 1..%d", value, VTPU_MAX_CORES);
		config->chip.cores = (uint32_t)number;
	} else if (!strcmp(key, "hbm")) {
		status = parse_number(key, value, 1ULL << 40, &config->chip.hbm_bytes);
	} else if (!strcmp(key, "threads")) {
		status = parse_number(key, value, 256, &number);
		config->threads = (uint32_t)number;
	} else if (!strcmp(key, "isa")) {
		status = parse_word(key, value, vtpu_isa_names, &word);
		config->chip.isa = (enum vtpu_isa)word;
	} else if (!strcmp(key, "executor")) {
		status = parse_word(key, value, executors, &word);
		config->chip.reference = word;
	} else if (!strcmp(key, "dense")) {
		status = parse_word(key, value, switches, &word);
		config->chip.dense = word;
	} else if (!strcmp(key, "watchdog")) {
		status = parse_number(key, value, UINT32_MAX, &number);
		config->chip.watchdog_ms = (uint32_t)number;
	} else if (!strcmp(key, "serial")) {
		status = parse_number(key, value, UINT64_MAX, &config->chip.serial);
	} else if (!strcmp(key, "inject")) {
		status = parse_inject(value, &config->inject);
	} else if (!strcmp(key, "preset")) {
		if (strlen(value) >= sizeof(config->preset))
			return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
					 "model: preset '%s' does not exist; v3 does", value);
		strcpy(config->preset, value);
		status = VTPU_OK;
	} else if (!strcmp(key, "id")) {
		if (!*value || strlen(value) >= sizeof(config->id))
			return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
					 "model: id=%s: expected 1..%zu characters", value,
					 sizeof(config->id) - 1);
		strcpy(config->id, value);
		status = VTPU_OK;
	} else {
		status = parse_custom(config, key, value, &known);
		if (!known)
			return vtpu_fail(
				VTPU_ERROR_INVALID_ARGUMENT,
				"model: unknown property '%s'; there are preset, cores, hbm, threads, isa, executor, "
				"dense, watchdog, serial, id, inject, and for preset custom the fields of the geometry such as "
				"vmem_bytes",
				key);
	}
	return status;
}

enum vtpu_status ip_config_parse(const char *options, struct ip_config *config)
{
	char text[MAX_OPTIONS], *word, *next;
	bool first = true;

	memset(config, 0, sizeof(*config));
	strcpy(config->preset, "v3");
	if (strlen(options) >= sizeof(text))
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "model: more than %zu characters of properties", sizeof(text) - 1);
	strcpy(text, options);
	for (word = text; word && *word; word = next, first = false) {
		enum vtpu_status status;
		char *value;

		next = strchr(word, ',');
		if (next)
			*next++ = '\0';
		value = strchr(word, '=');
		if (value)
			*value++ = '\0';
		else if (!first)
			return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
					 "model: '%s' has no value; properties are written key=value",
					 word);
		status = value ? parse_option(config, word, value) :
				 parse_option(config, "preset", word);
		if (status)
			return status;
	}
	if (config->geometry && strcmp(config->preset, "custom"))
		return vtpu_fail(
			VTPU_ERROR_INVALID_ARGUMENT,
			"model: fields of the geometry are for preset custom; preset %s is fixed",
			config->preset);
	if (!config->chip.hbm_bytes)
		config->chip.hbm_bytes = 1ULL << 30;
	if (!config->chip.serial)
		config->chip.serial = 1;
	return VTPU_OK;
}
