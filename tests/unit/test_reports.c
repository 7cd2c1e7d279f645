// SPDX-License-Identifier: MIT
/*
 * test_reports.c - the planted faults of tests/programs, refused by the device's
 * loader, in the words that a person sees; and one record of every kind.
 */
#include <stdlib.h>
#include <string.h>

#include <vtpu/program.h>

#include "preset.h"
#include "tap.h"
#include "vtpu_hw.h"

static struct vtpu_hw_geometry geometry;

static struct vtpu_image *assemble(const char *name, const char *text, size_t bytes)
{
	struct vtpu_image *image = NULL;

	if (vtpu_assemble(name, text, bytes, &image))
		printf("# %s\n", vtpu_last_error());
	return image;
}

static struct vtpu_image *assemble_file(const char *path)
{
	char text[8192];
	FILE *f = fopen(path, "r");
	size_t bytes = f ? fread(text, 1, sizeof(text), f) : 0;

	if (f)
		fclose(f);
	return assemble(path, text, bytes);
}

static void print_report(const char *report)
{
	char *text = strdup(report), *rest = text, *line;

	while (text && (line = strsep(&rest, "\n")))
		printf("#   %s\n", line);
	free(text);
}

/* ---- Planted faults ----------------------------------------------------------- */

static const struct {
	const char *name;
	enum vtpu_status status;
	const char *report;
} planted[] = {
	{ "deadlock", VTPU_ERROR_DEADLOCK,
	  "refused: program can never end (DEADLOCK); 2 findings\n"
	  "  deadlock: dma instruction 1 (copy, op 'store y') waits for semaphore 1 to reach 1, which stays at 0: the "
	  "next to signal it is mxu instruction 0 (matmul, op 'product'), whose queue is blocked as well; break the "
	  "circle by removing a wait or moving an instruction forward in its queue\n"
	  "  deadlock: mxu instruction 0 (matmul, op 'product') waits for semaphore 0 to reach 2, which stays at 1: the "
	  "next to signal it is dma instruction 2 (copy, op 'load w'), whose queue is blocked as well; break the "
	  "circle by removing a wait or moving an instruction forward in its queue" },
	{ "race", VTPU_ERROR_RACE,
	  "refused: program has unordered accesses to the same bytes (RACE); 1 finding\n"
	  "  race: mxu instruction 0 (matmul, op 'product') and dma instruction 1 (copy, op 'load w') both use VMEM, "
	  "bytes 4096 to 8191, and no semaphore orders them, so the result depends on the chip's timing; let one "
	  "signal a semaphore that the other waits for" },
	{ "overflow", VTPU_ERROR_BAD_PROGRAM,
	  "refused: semaphore overflow (SEM_OVERFLOW); 1 finding\n"
	  "  semaphore overflow: ctl instruction 16384 (nop, op 'counting') would take semaphore 0 to 2147516415; the "
	  "most is 2147483647. Signal it with smaller steps, or go on with another semaphore" },
	{ "vmem_overflow", VTPU_ERROR_BAD_PROGRAM,
	  "refused: operand outside its memory (OUT_OF_BOUNDS); 1 finding\n"
	  "  out of bounds: dma instruction 4 (copy, op 'load tiles'): operand dst covers bytes 0x1000000 to "
	  "0x13fffff of VMEM, which has 16777216 bytes; use a smaller tile or a lower address" },
};

static void test_planted(void)
{
	for (size_t i = 0; i < sizeof(planted) / sizeof(*planted); i++) {
		char path[64];
		struct vtpu_image *image;
		enum vtpu_status status = VTPU_OK;

		snprintf(path, sizeof(path), "tests/programs/%s.vtpu", planted[i].name);
		image = assemble_file(path);
		if (image)
			status = vtpu_image_validate(image, &geometry, true, NULL);
		tap_ok(image && status == planted[i].status &&
			       !strcmp(vtpu_last_error(), planted[i].report),
		       "planted %s is refused as %s, in these words:", planted[i].name,
		       vtpu_status_id(planted[i].status));
		print_report(vtpu_last_error());
		vtpu_image_destroy(image);
	}
}

static void test_hello(void)
{
	struct vtpu_image *image = assemble_file("tests/programs/hello.vtpu");
	struct vtpu_load_result result = { 0 };

	tap_ok(image && !vtpu_image_validate(image, &geometry, true, &result) && result.cycles,
	       "hello has no findings and takes time");
	printf("#   %llu cycles\n", (unsigned long long)result.cycles);
	vtpu_image_destroy(image);
}

/* ---- Faults in one line --------------------------------------------------------- */

#define HEAD \
	"program width=2\nbase in extent=4096 stride=4096 rights=r\nbase shared extent=64 rights=r\n" \
	"tensor in weights offset=1024 bytes=1024\nop 7 step\n"

static const struct {
	const char *line;
	const char *words;
} faults[] = {
	{ "copy src=in dst=vmem count=1025 src_stride=4 dst_stride=4 op=step",
	  "out of bounds: dma instruction 0 (copy, op 'step') on core 0: operand src covers bytes 0 to 4099 of base 'in', "
	  "which has 4096 bytes for a core; shrink counts or strides, or make the base larger" },
	{ "copy src=in+1024 dst=vmem count=4,1000 src_stride=4,4 dst_stride=4,16 op=step",
	  "of base 'in' (tensor 'weights'), which has 4096 bytes" },
	{ "copy src=vmem dst=in count=8 src_stride=4 dst_stride=4",
	  "dst points into base 'in', which the program declares for reading, not for writing" },
	{ "copy src=base[5] dst=vmem count=8 src_stride=4 dst_stride=4",
	  "src names base 5, the program has 2 (0 to 1)" },
	{ "copy src=in+2 dst=vmem count=8 src_stride=4 dst_stride=4",
	  "it must be a multiple of the element's 4 bytes" },
	{ "copy src=in dst=vmem count=0 src_stride=4 dst_stride=4",
	  "count[0] is 0; it must be at least 1" },
	{ "copy src=in dst=vmem count=8 src_stride=6 dst_stride=4",
	  "src_stride[0] is 6; it must be a multiple of the element's 4 bytes" },
	{ "copy src=in dst=vmem src_type=f32 dst_type=u8 count=8 src_stride=4 dst_stride=1",
	  "dst_type is u8; f32 cannot become that; casts are u8 to f32 or bf16" },
	{ "copy src=in dst=vmem count=8 src_stride=4 dst_stride=4 mode=add",
	  "mode is 1, which this device does not have" },
	{ "copy src=in dst=smem count=8 src_stride=4 dst_stride=4",
	  "whose first 1024 are the job's scalars and read-only" },
	{ "matmul a=0 b=4096 d=8192 a_type=u8 m=8 n=8 k=8 lda=32 ldb=32 ldd=32",
	  "bad field: mxu instruction 0 (matmul) on core 0: a_type is u8; it must be one of bf16, f32" },
	{ "matmul a=0 b=4096 d=8192 m=8 n=8 k=8 lda=16 ldb=32 ldd=32",
	  "lda is 16; it must be at least 32" },
	{ "matmul a=0 b=4096 d=64 m=8 n=8 k=8 lda=32 ldb=32 ldd=32",
	  "its result at 0x40 (d) lies on its own operand in VMEM, bytes 0 to 255" },
	{ "matmul a=0 b=4096 d=8192 m=8 n=8 k=8 lda=32 ldb=32 ldd=32 epi=store(0)",
	  "epi[0] is store, which this device does not have" },
	{ "norm rows=1",
	  "not supported: vpu instruction 0 (norm) on core 0: this device does not have the instruction" },
	{ "softmax in=0 out=4096 rows=8 cols=8 in_pitch=32 out_pitch=16",
	  "out_pitch is 16; it must be at least 32" },
	{ "nop wait=3>=0", "wait.value[0] is 0; it must be at least 1" },
	{ "nop signal=3+1@2", "signal.core[0] is 2; it must be at most 1" },
	{ "nop wait=3>=5",
	  "ctl instruction 0 (nop) on core 0 waits for semaphore 3 to reach 5, which stays at 0: "
	  "nothing in the program signals it; add a signal, or drop the wait" },
	{ "nop signal=3+1\nnop wait=3>=5",
	  "which stays at 1: all signals of the program add up to 1; add one, or wait for at "
	  "most 1" },
	{ "nop wait=3>=1\nnop signal=3+1",
	  "the next to signal it is ctl instruction 1 (nop) on core 0, which comes "
	  "behind it in the same queue; move that before this" },
	{ "barrier core_mask=1",
	  "core_mask is 1; it must be 3: all cores of the gang run this text, so all meet" },
	{ "raw ctl 9900"
	  "000000000000000000000000000000000000000000000000000000000000"
	  "0000000000000000000000000000000000000000000000000000000000000000"
	  "0000000000000000000000000000000000000000000000000000000000000000"
	  "0000000000000000000000000000000000000000000000000000000000000000",
	  "opcode 0x99 is unknown" },
	{ "raw ctl 0100"
	  "000000000000000000000000000000000000000000000000000000000000"
	  "0000000000000000000000000000000000000000000000000000000000000000"
	  "0000000000000000000000000000000000000000000000000000000000000000"
	  "0000000000000000000000000000000000000000000000000000000000000001",
	  "byte 127 is 1; it must be zero here" },
	{ "raw ctl 0100"
	  "200000000000000000000000000000000000000000000000000000000000"
	  "0000000000000000000000000000000000000000000000000000000000000000"
	  "0000000000000000000000000000000000000000000000000000000000000000"
	  "0000000000000000000000000000000000000000000000000000000000000000",
	  "flags are 0x20, of which only 0x1f are allowed here" },
};

static void test_faults(void)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		char text[1024];
		struct vtpu_image *image;
		enum vtpu_status status = VTPU_OK;
		int n = snprintf(text, sizeof(text), HEAD "%s\n", faults[i].line);
		bool ok;

		image = assemble("t", text, n);
		if (image)
			status = vtpu_image_validate(image, &geometry, true, NULL);
		ok = tap_ok(image && status && strstr(vtpu_last_error(), faults[i].words), "%s",
			    faults[i].words);
		if (!ok)
			print_report(vtpu_last_error());
		vtpu_image_destroy(image);
	}
}

/* What cannot be planted in text of one line */
static void test_records(void)
{
	static const struct {
		struct vtpu_load_record record;
		const char *words;
	} records[] = {
		{ { .kind = VTPU_REC_IMAGE,
		    .index = UINT32_MAX,
		    .field = 8,
		    .have = 100,
		    .need = 64 },
		  "malformed image: header field bytes is 100, expected 64" },
		{ { .kind = VTPU_REC_IMAGE, .index = 3, .field = 12, .have = 100000, .need = 0 },
		  "section 3, byte 12 is 100000 (0x186a0), expected 0" },
		{ { .kind = VTPU_REC_UNSUPPORTED,
		    .index = UINT32_MAX,
		    .have = VTPU_CAP_FP8 | VTPU_CAP_ICI },
		  "the program needs fp8, ici, which this device has not" },
		{ { .kind = VTPU_REC_BARRIER, .core = 1, .have = 3 },
		  "ctl instruction 0 on core 1 waits in a barrier that core 3 never reaches" },
		{ { .kind = VTPU_REC_POSSIBLE_RACE,
		    .unit = 1,
		    .other_unit = 2,
		    .start = 16,
		    .bytes = 4,
		    .space = 1,
		    .base = 3 },
		  "possible race: dma instruction 0 on core 0 and mxu instruction 0 on core 0 may both use base 3, bytes 16 to 19" },
		{ { .kind = 77 }, "a kind that this library does not know (77)" },
	};
	char text[512], small[16];

	for (size_t i = 0; i < sizeof(records) / sizeof(*records); i++) {
		size_t n = vtpu_record_format(NULL, &records[i].record, text, sizeof(text));

		tap_ok(n == strlen(text) && strstr(text, records[i].words), "%s", records[i].words);
		if (!strstr(text, records[i].words))
			printf("# %s\n", text);
		if (vtpu_record_format(NULL, &records[i].record, small, sizeof(small)) != n ||
		    strncmp(small, text, sizeof(small) - 1) || small[sizeof(small) - 1] ||
		    vtpu_record_format(NULL, &records[i].record, NULL, 0) != n)
			tap_ok(false, "the same, cut to %zu bytes and to none", sizeof(small));
	}
}

int main(void)
{
	char error[256];

	if (!vtpu_preset_geometry("v3", 8, NULL, &geometry, error, sizeof(error))) {
		printf("Bail out! %s\n", error);
		return 1;
	}
	test_planted();
	test_hello();
	test_faults();
	test_records();
	return tap_done();
}
