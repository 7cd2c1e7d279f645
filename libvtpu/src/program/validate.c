// SPDX-License-Identifier: MIT
/*
 * validate.c - check a program with the device's own loader, without a device.
 */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/status.h"
#include "program.h"
#include "program/image.h"

enum vtpu_status vtpu_image_validate(const struct vtpu_image *image,
				     const struct vtpu_hw_geometry *geometry, bool strict,
				     struct vtpu_load_result *result)
{
	struct vtpu_load_record *records;
	struct vtpu_load_result found = { 0 };
	struct vtpu_program *program = NULL;
	struct vtpu_load_request req = {
		.image = image->data,
		.bytes = image->bytes,
		.geometry = geometry,
		.caps = image->header->caps,
		.flags = strict ? VTPU_LOAD_STRICT : 0,
	};
	enum vtpu_hw_status status;
	char text[VTPU_ERROR_BYTES];

	if (!geometry)
		return vtpu_fail(
			VTPU_ERROR_INVALID_ARGUMENT,
			"vtpu_image_validate: no geometry; take it from vtpu_device_geometry()");
	records = calloc(VTPU_MAX_RECORDS, sizeof(*records));
	if (!records)
		return vtpu_fail_nomem("a load report");
	status = vtpu_program_load(&req, &program, &found, records);
	vtpu_program_put(program);
	if (result)
		*result = found;
	if (status) {
		found.status = status;
		vtpu_report_format(image, &found, records, text, sizeof(text));
		vtpu_fail(vtpu_status_of_hw(status), "refused: %s", text);
	}
	free(records);
	return vtpu_status_of_hw(status);
}
