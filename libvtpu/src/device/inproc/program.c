// SPDX-License-Identifier: MIT
/*
 * program.c - programs: the image goes to HBM that is the driver's own, the
 * chip checks it and says what it found.
 */
#include <stdlib.h>
#include <string.h>

#include "device/inproc/inproc.h"

struct report {
	struct vtpu_load_result result;
	struct vtpu_load_record records[VTPU_MAX_RECORDS];
};

/* ---- Life --------------------------------------------------------------------- */

static void unloaded(struct ip_device *dev, struct ip_command *cmd)
{
	struct ip_program *program = cmd->arg;

	vtpu_range_free(&dev->reserved, program->image, program->bytes);
	dev->program[program->id] = NULL;
	pthread_cond_broadcast(&dev->changed);
	free(program);
}

void ip_program_put(struct ip_device *dev, struct ip_program *program)
{
	struct ip_command *cmd;

	if (!program || --program->refs)
		return;
	if (program->client) {
		ip_quota_give(program->client, VTPU_QUOTA_PROGRAMS, 1);
		ip_quota_give(program->client, VTPU_QUOTA_INSTRUCTIONS, program->result.instances);
	}
	cmd = ip_command_create(VTPU_ADMIN_PROGRAM_UNLOAD);
	if (!cmd)
		return; /* id and image stay taken until the device goes */
	cmd->u.program.program = program->id;
	ip_command_post(dev, cmd, unloaded, program);
}

/* The bases of an image that the device has accepted */
static uint32_t image_bases(const uint8_t *image, uint64_t bytes)
{
	const struct vtpu_image_header *h = (const void *)image;
	uint32_t i;

	for (i = 0; i < h->nsections; i++) {
		struct vtpu_image_section section;
		uint64_t at = sizeof(*h) + (uint64_t)i * sizeof(section);

		if (at + sizeof(section) > bytes)
			break;
		memcpy(&section, image + at, sizeof(section));
		if (section.type == VTPU_SECTION_BASES)
			return section.count;
	}
	return 0;
}

/* ---- Load ----------------------------------------------------------------------- */

/* Put the program into the chip; enum vtpu_hw_status, or a negative errno */
static int load(struct ip_client *client, struct ip_program *program, uint32_t flags,
		struct report *report)
{
	struct ip_device *dev = client->dev;
	struct ip_command *cmd = ip_command_create(VTPU_ADMIN_PROGRAM_LOAD);

	if (!cmd)
		return -ENOMEM;
	cmd->u.program.program = program->id;
	cmd->u.program.context = client->space.context;
	cmd->u.program.image = program->image;
	cmd->u.program.bytes = program->bytes;
	cmd->u.program.report = (uint64_t)(uintptr_t)report;
	cmd->u.program.report_bytes = sizeof(*report);
	cmd->u.program.flags = flags;
	return (int)ip_command_run(dev, cmd);
}

static void report_copy(const struct vtpu_program_create *arg, struct report *report)
{
	struct vtpu_load_record *records = (struct vtpu_load_record *)(uintptr_t)arg->records;
	struct vtpu_load_result *result = (struct vtpu_load_result *)(uintptr_t)arg->result;
	uint32_t n = report->result.records < VTPU_MAX_RECORDS ? report->result.records :
								 VTPU_MAX_RECORDS;

	if (!records)
		n = 0;
	else if (n > arg->max_records)
		n = arg->max_records;
	report->result.records = n;
	if (n)
		memcpy(records, report->records, n * sizeof(*records));
	if (result)
		*result = report->result;
}

static int program_place(struct ip_client *client, const struct vtpu_program_create *arg,
			 struct ip_program *program)
{
	const void *image = (const void *)(uintptr_t)arg->image;
	struct ip_device *dev = client->dev;
	uint32_t id = 1;

	while (id <= VTPU_MAX_PROGRAMS && dev->program[id])
		id++;
	if (id > VTPU_MAX_PROGRAMS)
		return -EBUSY;
	switch (vtpu_range_alloc(&dev->reserved, program->bytes, VTPU_PAGE_BYTES,
				 &program->image)) {
	case VTPU_RANGE_OK:
		break;
	case VTPU_RANGE_NOMEM:
		return -ENOMEM;
	case VTPU_RANGE_FULL:
		return -ENOSPC;
	}
	/* The caller may write its image meanwhile; what is checked is the copy. */
	memcpy(dev->hbm + program->image, image, program->bytes);
	program->id = id;
	dev->program[id] = program;
	return vtpu_check_image((const void *)(dev->hbm + program->image), program->bytes);
}

int ip_program_create(struct ip_client *client, struct vtpu_program_create *arg)
{
	struct ip_device *dev = client->dev;
	struct ip_program *program;
	struct report *report;
	const uint8_t *image;
	int err;

	if (arg->pad || (arg->flags & ~VTPU_LOAD_FLAGS) ||
	    arg->bytes < sizeof(struct vtpu_image_header))
		return -EINVAL;
	if (arg->bytes > VTPU_MAX_IMAGE_BYTES || arg->max_records > VTPU_MAX_RECORDS)
		return -E2BIG;
	if (!arg->image)
		return -EFAULT;
	err = ip_quota_take(client, VTPU_QUOTA_PROGRAMS, 1);
	if (err)
		return err;
	program = calloc(1, sizeof(*program));
	report = ip_memory_alloc(dev, sizeof(*report));
	if (!program || !report) {
		err = -ENOMEM;
		goto out;
	}
	program->bytes = arg->bytes;
	program->refs = 1;
	err = program_place(client, arg, program);
	if (!err)
		err = load(client, program, arg->flags, report);
	if (err >= 0) {
		report_copy(arg, report);
		err = vtpu_status_errno((uint32_t)err);
	}
	if (err)
		goto out;
	image = dev->hbm + program->image;
	program->width = ((const struct vtpu_image_header *)(const void *)image)->width;
	program->nscalars = ((const struct vtpu_image_header *)(const void *)image)->nscalars;
	program->nbases = image_bases(image, program->bytes);
	program->result = report->result;
	program->result.records = 0;
	err = ip_quota_take(client, VTPU_QUOTA_INSTRUCTIONS, program->result.instances);
	if (!err) {
		program->client = client;
		arg->program = ip_table_add(&client->programs, program);
		if (!arg->program)
			err = -ENOMEM;
	}
	if (err) {
		if (!program->client)
			ip_quota_give(client, VTPU_QUOTA_PROGRAMS, 1);
		ip_program_put(dev, program);
	}
	ip_memory_free(dev, report, sizeof(*report));
	return err;

out:
	ip_quota_give(client, VTPU_QUOTA_PROGRAMS, 1);
	ip_memory_free(dev, report, sizeof(*report));
	if (program && program->id) {
		vtpu_range_free(&dev->reserved, program->image, program->bytes);
		dev->program[program->id] = NULL;
	}
	free(program);
	return err;
}

int ip_program_destroy(struct ip_client *client, struct vtpu_program_destroy *arg)
{
	struct ip_program *program;

	if (arg->pad)
		return -EINVAL;
	program = ip_table_remove(&client->programs, arg->program);
	if (!program)
		return -ENOENT;
	ip_program_put(client->dev, program);
	return 0;
}

int ip_program_info(struct ip_client *client, struct vtpu_program_info *arg)
{
	const struct ip_program *program = ip_table_find(&client->programs, arg->program);

	if (!program)
		return -ENOENT;
	arg->width = program->width;
	arg->nbases = program->nbases;
	arg->nscalars = program->nscalars;
	arg->image_bytes = program->bytes;
	arg->result = program->result;
	return 0;
}
