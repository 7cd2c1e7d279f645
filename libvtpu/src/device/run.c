// SPDX-License-Identifier: MIT
/*
 * run.c - runs of programs: argument blocks, checked against the program so
 * that a mistake is told by name and at once.
 */
#include <stdio.h>
#include <string.h>

#include "device/device.h"

static const char *base_name(const struct vtpu_base_info *info)
{
	return info->name && *info->name ? info->name : "?";
}

static enum vtpu_status check_binding(const struct vtpu_program *program, uint32_t index,
				      const struct vtpu_binding *binding,
				      struct vtpu_base_info *info)
{
	const struct vtpu_buffer *buffer = binding->buffer;
	const char *name = program->names->name;
	enum vtpu_status status;
	char text[96];

	status = vtpu_image_base(program->names->image, index, info);
	if (status)
		return status;
	if (!buffer)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "%s: base %u '%s' is bound to no buffer", name, index,
				 base_name(info));
	if (buffer->device != program->device)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "%s: base %u '%s': %s is of %s, the program of %s", name, index,
				 base_name(info), vtpu_buffer_describe(buffer, text, sizeof(text)),
				 buffer->device->name, program->device->name);
	if (buffer->memory != VTPU_MEMORY_HBM)
		return vtpu_fail(
			VTPU_ERROR_INVALID_ARGUMENT,
			"%s: base %u '%s': %s is in host memory; programs reach HBM only, copy it there first",
			name, index, base_name(info),
			vtpu_buffer_describe(buffer, text, sizeof(text)));
	if (binding->offset > buffer->bytes || info->bytes > buffer->bytes - binding->offset)
		return vtpu_fail(
			VTPU_ERROR_INVALID_ARGUMENT,
			"%s: base %u '%s' needs %llu bytes, but %s has %llu from offset %llu on",
			name, index, base_name(info), (unsigned long long)info->bytes,
			vtpu_buffer_describe(buffer, text, sizeof(text)),
			(unsigned long long)(binding->offset < buffer->bytes ?
						     buffer->bytes - binding->offset :
						     0),
			(unsigned long long)binding->offset);
	if (info->align && (buffer->va + binding->offset) % info->align)
		return vtpu_fail(
			VTPU_ERROR_INVALID_ARGUMENT,
			"%s: base %u '%s' must be aligned to %u bytes, but offset %llu of %s is not",
			name, index, base_name(info), info->align,
			(unsigned long long)binding->offset,
			vtpu_buffer_describe(buffer, text, sizeof(text)));
	if (info->writable && (buffer->flags & VTPU_BUFFER_READONLY))
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "%s: base %u '%s' is written, but %s is read-only", name, index,
				 base_name(info), vtpu_buffer_describe(buffer, text, sizeof(text)));
	return VTPU_OK;
}

/* A written base must share no byte with another one. */
static enum vtpu_status check_overlap(const struct vtpu_program *program,
				      const struct vtpu_binding *bindings,
				      const struct vtpu_base_info *info, uint32_t n)
{
	uint32_t i, j;
	char text[96];

	for (i = 0; i < n; i++) {
		uint64_t start = bindings[i].buffer->va + bindings[i].offset;

		if (!info[i].writable)
			continue;
		for (j = 0; j < n; j++) {
			uint64_t other = bindings[j].buffer->va + bindings[j].offset;

			if (j == i || start >= other + info[j].bytes ||
			    other >= start + info[i].bytes)
				continue;
			return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
					 "%s: base %u '%s' is written and overlaps base %u '%s' in %s; bind them to different "
					 "bytes",
					 program->names->name, i, base_name(&info[i]), j,
					 base_name(&info[j]),
					 vtpu_buffer_describe(bindings[i].buffer, text,
							      sizeof(text)));
		}
	}
	return VTPU_OK;
}

static enum vtpu_status check(const struct vtpu_program *program,
			      const struct vtpu_binding *bindings, uint32_t n, uint32_t nscalars,
			      bool scalars)
{
	struct vtpu_base_info info[VTPU_MAX_BASES];
	enum vtpu_status status;
	uint32_t i;

	if (n != program->info.nbases || (n && !bindings))
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "%s has %u bases, but %u bindings were given",
				 program->names->name, program->info.nbases, bindings ? n : 0);
	if (nscalars != program->info.nscalars || (nscalars && !scalars))
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "%s takes %u scalars, but %u were given", program->names->name,
				 program->info.nscalars, scalars ? nscalars : 0);
	for (i = 0; i < n; i++) {
		status = check_binding(program, i, &bindings[i], &info[i]);
		if (status)
			return status;
	}
	return check_overlap(program, bindings, info, n);
}

enum vtpu_status vtpu_run(struct vtpu_stream *stream, struct vtpu_program *program,
			  const struct vtpu_binding *bindings, uint32_t nbindings,
			  const uint32_t *scalars, uint32_t nscalars, struct vtpu_event **event)
{
	_Alignas(8) uint8_t block[VTPU_ARG_SLOT_BYTES];
	struct vtpu_job_args *args = (struct vtpu_job_args *)block;
	struct vtpu_job job = { 0 };
	enum vtpu_status status;
	uint64_t *va;
	uint32_t i;

	_Static_assert(sizeof(struct vtpu_job_args) + VTPU_MAX_BASES * 8 + VTPU_MAX_SCALARS * 4 <=
			       VTPU_ARG_SLOT_BYTES,
		       "argument block");
	status = vtpu_device_usable(stream && program ? stream->device : NULL, "vtpu_run");
	if (status)
		return status;
	if (program->device != stream->device)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "vtpu_run: %s is of %s, the stream of %s", program->names->name,
				 program->device->name, stream->device->name);
	status = check(program, bindings, nbindings, nscalars, scalars);
	if (status)
		return status;
	memset(args, 0, sizeof(*args));
	args->nbases = nbindings;
	args->nscalars = nscalars;
	va = (uint64_t *)(block + sizeof(*args));
	for (i = 0; i < nbindings; i++)
		va[i] = bindings[i].buffer->va + bindings[i].offset;
	if (nscalars)
		memcpy(va + nbindings, scalars, nscalars * sizeof(*scalars));
	job.program = program->handle;
	job.args = (uint64_t)(uintptr_t)block;
	job.args_size = vtpu_job_args_bytes(nbindings, nscalars);
	return vtpu_stream_submit(stream, VTPU_QUEUE_COMPUTE, &job, program->names, event);
}
