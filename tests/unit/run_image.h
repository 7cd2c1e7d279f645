/* SPDX-License-Identifier: MIT */
/*
 * run_image.h - run an image on a device, with host arrays bound by name.
 */
#ifndef TESTS_UNIT_RUN_IMAGE_H
#define TESTS_UNIT_RUN_IMAGE_H

#include <stdio.h>
#include <string.h>

#include <vtpu/device.h>
#include <vtpu/program.h>

#define RUN_BASES 64

/** struct run_array - a host array for a base; written before the run, or read after it */
struct run_array {
	const char *name;
	void *data;
	uint64_t bytes; /* up to the base's; the rest of the buffer is zero */
	bool out;
};

/** run_image() - false, with a diagnostic line, when anything fails */
static inline bool run_image(struct vtpu_device *device, const struct vtpu_image *image,
			     const struct run_array *arrays, unsigned int count)
{
	struct vtpu_program_options options = VTPU_INIT(options, .flags = VTPU_PROGRAM_STRICT);
	struct vtpu_binding bind[RUN_BASES] = { 0 };
	struct vtpu_program *program = NULL;
	struct vtpu_stream *stream = NULL;
	struct vtpu_event *event = NULL;
	uint32_t index, n = vtpu_image_bases(image);
	bool ok = n <= RUN_BASES && !vtpu_program_create(device, image, &options, &program) &&
		  !vtpu_stream_create(device, NULL, &stream);

	for (uint32_t i = 0; ok && i < n; i++) {
		struct vtpu_base_info info;

		ok = !vtpu_image_base(image, i, &info) &&
		     !vtpu_buffer_alloc(device, info.bytes, NULL, &bind[i].buffer);
	}
	for (unsigned int i = 0; ok && i < count; i++)
		if (!arrays[i].out)
			ok = !vtpu_image_find_base(image, arrays[i].name, &index) &&
			     !vtpu_buffer_write(bind[index].buffer, 0, arrays[i].data,
						arrays[i].bytes);
	ok = ok && !vtpu_run(stream, program, bind, n, NULL, 0, &event) &&
	     !vtpu_event_wait(event, VTPU_FOREVER);
	for (unsigned int i = 0; ok && i < count; i++)
		if (arrays[i].out)
			ok = !vtpu_image_find_base(image, arrays[i].name, &index) &&
			     !vtpu_buffer_read(bind[index].buffer, 0, arrays[i].data,
					       arrays[i].bytes);
	if (!ok)
		printf("# %s\n", vtpu_last_error());
	vtpu_event_destroy(event);
	vtpu_stream_destroy(stream);
	vtpu_program_destroy(program);
	for (uint32_t i = 0; i < n && i < RUN_BASES; i++)
		vtpu_buffer_free(bind[i].buffer);
	return ok;
}

#endif /* TESTS_UNIT_RUN_IMAGE_H */
