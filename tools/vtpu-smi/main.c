// SPDX-License-Identifier: MIT
/*
 * main.c - vtpu-smi: what virtual TPUs this machine has and what they do.
 *
 * The command line; what is shown is in table.c, dmon.c and json.c.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vtpu/core.h>

#include "smi.h"

static const char doc[] =
	"Show virtual TPUs: utilisation, memory and processes.\n"
	"\v"
	"Without a command it prints one table and exits.\n"
	"\n"
	"  dmon    one line a device and interval until interrupted: share of time with a job on a core "
	"(duty), share of modelled cycles with the matrix unit busy (mxu), HBM in use, modelled HBM "
	"bandwidth, jobs a second\n"
	"\n"
	"The table is for people and may change; scripts should read --json, whose fields are only ever "
	"added.\n"
	"\n"
	"Exit status: 0 shown, 2 wrong usage, 4 no permission, 6 no device, 9 driver not loaded, "
	"255 other failure.";

static const struct argp_option options[] = {
	{ "list", 'L', NULL, 0, "One line a device", 0 },
	{ "json", 'j', NULL, 0, "Everything as JSON; with --loop one object a line", 0 },
	{ "loop", 'l', "SEC", 0, "Repeat every SEC seconds", 0 },
	{ "delay", 'd', "SEC", 0, "dmon: seconds between lines (default 1)", 0 },
	{ "count", 'c', "N", 0, "Stop after N lines (dmon) or rounds (--loop)", 0 },
	{ "sample", 's', "MS", 0, "Milliseconds over which rates are taken (default 200)", 0 },
	{ 0 },
};

struct arguments {
	bool list, json, dmon;
	double loop, delay;
	unsigned long count, sample_ms;
};

static double seconds(struct argp_state *state, const char *what, const char *arg)
{
	char *end;
	double v = strtod(arg, &end);

	if (*end || end == arg || !(v >= 0.01 && v <= 86400))
		argp_error(state, "%s %s: expected seconds between 0.01 and 86400", what, arg);
	return v;
}

static unsigned long number(struct argp_state *state, const char *what, const char *arg,
			    unsigned long max)
{
	char *end;
	unsigned long v = strtoul(arg, &end, 10);

	if (*end || end == arg || *arg == '-' || v < 1 || v > max)
		argp_error(state, "%s %s: expected a number between 1 and %lu", what, arg, max);
	return v;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'L':
		a->list = true;
		return 0;
	case 'j':
		a->json = true;
		return 0;
	case 'l':
		a->loop = seconds(state, "--loop", arg);
		return 0;
	case 'd':
		a->delay = seconds(state, "--delay", arg);
		return 0;
	case 'c':
		a->count = number(state, "--count", arg, 1000000000);
		return 0;
	case 's':
		a->sample_ms = number(state, "--sample", arg, 60000);
		return 0;
	case ARGP_KEY_ARG:
		if (strcmp(arg, "dmon") || state->arg_num)
			argp_error(state, "unknown command '%s'; there is: dmon", arg);
		a->dmon = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int show_list(void)
{
	struct smi_snapshot now;
	int ret = smi_snapshot_read(&now);

	if (!ret)
		smi_show_list(&now);
	smi_snapshot_free(&now);
	return ret;
}

static int show(const struct arguments *a)
{
	struct smi_sample sample;
	int ret = smi_sample_take(&sample, a->sample_ms);

	for (unsigned long n = 1; !ret; n++) {
		if (a->json)
			ret = smi_show_json(&sample, !a->loop);
		else
			smi_show_table(&sample);
		if (ret || !a->loop || n == a->count || fflush(stdout))
			break;
		ret = smi_sample_next(&sample, a->loop * 1000);
	}
	smi_sample_free(&sample);
	return ret;
}

int main(int argc, char **argv)
{
	static const struct argp argp = { options, parse, "[dmon]", doc, NULL, NULL, NULL };
	struct arguments a = { .delay = 1, .sample_ms = 200 };
	char version[64];

	snprintf(version, sizeof(version), "vtpu-smi %s", vtpu_version_string());
	argp_program_version = version;
	argp_err_exit_status = SMI_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (a.list)
		return show_list();
	return a.dmon ? smi_run_dmon(a.delay * 1000, a.count) : show(&a);
}
