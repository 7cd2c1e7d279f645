// SPDX-License-Identifier: MIT
/*
 * program.c - programs: images that the device has accepted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"

/* ---- Names ------------------------------------------------------------------------ */

struct vtpu_names *vtpu_names_get(struct vtpu_names *names)
{
	if (names)
		atomic_fetch_add(&names->refs, 1);
	return names;
}

void vtpu_names_put(struct vtpu_names *names)
{
	if (!names || atomic_fetch_sub(&names->refs, 1) != 1)
		return;
	vtpu_image_destroy(names->image);
	free(names);
}

/* ---- Life --------------------------------------------------------------------------- */

static enum vtpu_status program_alloc(struct vtpu_device *device, const char *name,
				      const void *data, size_t bytes, struct vtpu_program **out)
{
	struct vtpu_program *program = calloc(1, sizeof(*program));
	struct vtpu_names *names = calloc(1, sizeof(*names));

	if (!program || !names) {
		free(program);
		free(names);
		return vtpu_fail_nomem("a program");
	}
	atomic_init(&names->refs, 1);
	snprintf(names->name, sizeof(names->name), "%s", name && *name ? name : "program");
	/* An image that cannot be read has no names; what is wrong with it is for the device to say. */
	(void)vtpu_image_parse(data, bytes, &names->image);
	program->names = names;
	program->device = vtpu_device_get(device);
	*out = program;
	return VTPU_OK;
}

void vtpu_program_destroy(struct vtpu_program *program)
{
	struct vtpu_program_destroy destroy = { 0 };

	if (!program || vtpu_device_forked(program->device))
		return;
	destroy.program = program->handle;
	if (program->handle)
		(void)vtpu_ioctl(program->device->backend, DRM_IOCTL_VTPU_PROGRAM_DESTROY,
				 &destroy);
	vtpu_names_put(program->names);
	vtpu_device_put(program->device);
	free(program->report);
	free(program);
}

/* ---- Load ------------------------------------------------------------------------------ */

struct load {
	struct vtpu_load_result result;
	struct vtpu_load_record records[VTPU_MAX_RECORDS];
};

/* The findings, a line each; "" when there are none */
static char *report_text(const struct vtpu_program *program, const struct load *load)
{
	size_t length =
		vtpu_report_format(program->names->image, &load->result, load->records, NULL, 0);
	char *text = malloc(length + 1);

	if (text)
		vtpu_report_format(program->names->image, &load->result, load->records, text,
				   length + 1);
	return text;
}

static enum vtpu_status fail_load(const struct vtpu_program *program, const struct load *load,
				  int err)
{
	const char *name = program->names->name;
	enum vtpu_status status;
	char *text;

	if (load->result.status == VTPU_ST_OK) {
		/* Refused before the device saw it. */
		switch (err) {
		case -ENOSPC:
			return vtpu_fail(VTPU_ERROR_OUT_OF_DEVICE_MEMORY,
					 "program '%s': no room for its image in the memory that the driver keeps for "
					 "images; destroy programs that are not needed",
					 name);
		case -EDQUOT:
			return vtpu_fail(VTPU_ERROR_QUOTA,
					 "program '%s': this client has as many programs or instructions as it may; destroy "
					 "some",
					 name);
		case -EPROTO:
			return vtpu_fail(VTPU_ERROR_VERSION,
					 "program '%s': the image is of another version; this device runs version %d; make "
					 "it again with this libvtpu",
					 name, VTPU_ISA_VERSION);
		case -EINVAL:
			return vtpu_fail(
				VTPU_ERROR_BAD_PROGRAM,
				"program '%s': these bytes are no program image, or not all of one",
				name);
		default:
			return vtpu_fail_errno(err, "program '%s'", name);
		}
	}
	status = vtpu_status_of_hw(load->result.status);
	text = report_text(program, load);
	vtpu_fail(status, "program '%s' was refused: %s", name,
		  text ? text : vtpu_status_text(load->result.status));
	free(text);
	return status;
}

enum vtpu_status vtpu_program_create_bytes(struct vtpu_device *device, const void *data,
					   size_t bytes, const struct vtpu_program_options *user,
					   struct vtpu_program **out)
{
	struct vtpu_program_create create = { .image = (uint64_t)(uintptr_t)data, .bytes = bytes };
	struct vtpu_program_options options;
	struct vtpu_program *program = NULL;
	enum vtpu_status status;
	struct load *load;
	int err;

	status = vtpu_device_usable(out && data ? device : NULL, "vtpu_program_create");
	if (!status)
		status = vtpu_options(&options, user, sizeof(options),
				      "struct vtpu_program_options");
	if (!status && (options.flags & ~VTPU_PROGRAM_STRICT))
		status = vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				   "vtpu_program_create: unknown flags 0x%x", options.flags);
	if (!status)
		status = program_alloc(device, options.name, data, bytes, &program);
	if (status)
		return status;
	load = calloc(1, sizeof(*load));
	if (!load) {
		vtpu_program_destroy(program);
		return vtpu_fail_nomem("a load report");
	}
	create.result = (uint64_t)(uintptr_t)&load->result;
	create.records = (uint64_t)(uintptr_t)load->records;
	create.max_records = VTPU_MAX_RECORDS;
	create.flags = options.flags & VTPU_PROGRAM_STRICT ? VTPU_LOAD_STRICT : 0;
	err = vtpu_ioctl(device->backend, DRM_IOCTL_VTPU_PROGRAM_CREATE, &create);
	if (err) {
		status = fail_load(program, load, err);
	} else {
		program->handle = create.program;
		program->info.program = create.program;
		err = vtpu_ioctl(device->backend, DRM_IOCTL_VTPU_PROGRAM_INFO, &program->info);
		if (err)
			status = vtpu_fail_errno(err, "program '%s'", program->names->name);
		program->report = load->result.found ? report_text(program, load) : strdup("");
		if (!status && !program->report)
			status = vtpu_fail_nomem("a load report");
	}
	free(load);
	if (status) {
		vtpu_program_destroy(program);
		return status;
	}
	if (*program->report)
		vtpu_message(VTPU_MESSAGE_WARNING, "program '%s': %s", program->names->name,
			     program->report);
	*out = program;
	return VTPU_OK;
}

enum vtpu_status vtpu_program_create(struct vtpu_device *device, const struct vtpu_image *image,
				     const struct vtpu_program_options *options,
				     struct vtpu_program **program)
{
	const void *data = NULL;
	size_t bytes = 0;

	if (image)
		data = vtpu_image_data(image, &bytes);
	return vtpu_program_create_bytes(device, data, bytes, options, program);
}

/* ---- What it is ---------------------------------------------------------------------------- */

enum vtpu_status vtpu_program_stats(struct vtpu_program *program, struct vtpu_program_stats *out)
{
	const struct vtpu_load_result *result;
	struct vtpu_program_stats stats;
	enum vtpu_status status;
	size_t size;

	status = vtpu_device_usable(program && out ? program->device : NULL, "vtpu_program_stats");
	if (status)
		return status;
	size = out->struct_size;
	if (size < 2 * sizeof(size))
		return vtpu_fail(
			VTPU_ERROR_INVALID_ARGUMENT,
			"struct vtpu_program_stats: struct_size is %zu; initialise it with VTPU_INIT()",
			size);
	result = &program->info.result;
	memset(&stats, 0, sizeof(stats));
	stats.struct_size = size;
	stats.width = program->info.width;
	stats.bases = program->info.nbases;
	stats.scalars = program->info.nscalars;
	stats.instances = result->instances;
	stats.races = result->races;
	stats.edges = result->edges;
	stats.cycles = result->cycles;
	stats.mxu_cycles = result->mxu_cycles;
	stats.macs = result->macs;
	stats.hbm_bytes = result->hbm_bytes;
	stats.vmem_bytes = result->vmem_bytes;
	memcpy(out, &stats, size < sizeof(stats) ? size : sizeof(stats));
	return VTPU_OK;
}

const char *vtpu_program_report(const struct vtpu_program *program)
{
	return program ? program->report : "";
}

const struct vtpu_image *vtpu_program_image(const struct vtpu_program *program)
{
	return program ? program->names->image : NULL;
}
