// SPDX-License-Identifier: MIT
/*
 * test_asm.c - the text form: both round trips, what errors say, and the
 * reference in the documentation.
 */
#include <locale.h>
#include <stdlib.h>

#include <vtpu/program.h>

#include "random_insn.h"
#include "tap.h"

static char *read_file(const char *path, size_t *bytes)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t room = 0;
	ssize_t got = f ? getdelim(&text, &room, '\0', f) : -1;

	if (f)
		fclose(f);
	*bytes = got > 0 ? (size_t)got : 0;
	return text;
}

static bool same_bytes(const struct vtpu_image *a, const struct vtpu_image *b)
{
	size_t n, m;
	const void *p = vtpu_image_data(a, &n), *q = vtpu_image_data(b, &m);

	return n == m && !memcmp(p, q, n);
}

/* image -> text -> image; also: how many lines are raw? */
static bool round_trip(const struct vtpu_image *image, unsigned int *raw)
{
	struct vtpu_image *again = NULL;
	char *text = NULL;
	bool ok;

	*raw = 0;
	if (vtpu_disassemble(image, &text)) {
		printf("# %s\n", vtpu_last_error());
		return false;
	}
	for (const char *p = text; (p = strstr(p, "\nraw ")); p++)
		++*raw;
	if (vtpu_assemble("again", text, strlen(text), &again)) {
		printf("# %s\n", vtpu_last_error());
		free(text);
		return false;
	}
	ok = same_bytes(image, again);
	vtpu_image_destroy(again);
	free(text);
	return ok;
}

/* ---- Round trips ------------------------------------------------------------ */

static void test_programs(void)
{
	static const char *const names[] = { "hello", "deadlock", "race", "overflow",
					     "vmem_overflow" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char path[64];
		struct vtpu_image *image = NULL;
		unsigned int raw = 1;
		size_t bytes;
		char *text;
		bool ok;

		snprintf(path, sizeof(path), "tests/programs/%s.vtpu", names[i]);
		text = read_file(path, &bytes);
		ok = text && !vtpu_assemble(path, text, bytes, &image);
		if (!ok)
			printf("# %s\n", vtpu_last_error());
		tap_ok(ok && round_trip(image, &raw) && !raw,
		       "%s: text, image, text, image are the same", names[i]);
		vtpu_image_destroy(image);
		free(text);
	}
}

static struct vtpu_image *random_image(uint64_t *seed, const struct vtpu_insn_row *op,
				       unsigned int n)
{
	struct vtpu_base_desc odd = { .name = "odd name", .extent = 1000, .readable = true };
	struct vtpu_base_desc word = {
		.name = "vmem", .extent = 77, .core_stride = 128, .writable = true
	};
	struct vtpu_base_desc twice = { .name = "odd name", .extent = 5, .align = 4096 };
	struct vtpu_image *image = NULL;
	struct vtpu_builder *b;
	uint8_t bytes[77];

	if (vtpu_builder_create(1 + ri_below(seed, 64), &b))
		return NULL;
	vtpu_builder_base(b, &odd);
	vtpu_builder_base(b, &word);
	vtpu_builder_base(b, &twice);
	vtpu_builder_scalars(b, ri_below(seed, 257));
	vtpu_builder_caps(b, ri_next(seed));
	vtpu_builder_op(b, "plain");
	vtpu_builder_op(b, "with \"quotes\" \\ and \t\n\x80");
	vtpu_builder_op(b, "plain");
	vtpu_builder_op_id(b, 4000000000u, "far");
	vtpu_builder_tensor(b, 1, "t", 8, 16);
	vtpu_builder_tensor(b, 0, "same place", 8, 16);
	vtpu_builder_tensor(b, 0, "other", 8, 16);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = ri_next(seed);
	vtpu_builder_const(b, bytes, sizeof(bytes));
	for (unsigned int i = 0; i < n; i++) {
		struct vtpu_insn insn;

		if (op) {
			ri_insn(seed, op, &insn);
		} else {
			for (size_t j = 0; j < sizeof(insn); j++)
				((uint8_t *)&insn)[j] = ri_next(seed);
			insn.unit %= VTPU_UNITS;
		}
		if (!ri_below(seed, 2))
			insn.op_id = ri_below(seed, 5);
		vtpu_emit_raw(b, &insn);
	}
	if (vtpu_builder_finish(b, &image))
		printf("# %s\n", vtpu_last_error());
	vtpu_builder_destroy(b);
	return image;
}

static void test_random(void)
{
	uint64_t seed = 20250101;

	for (const struct vtpu_insn_row *op = insn_next(NULL); op; op = insn_next(op)) {
		struct vtpu_image *image = random_image(&seed, op, 300);
		unsigned int raw = 0;
		bool ok = image && round_trip(image, &raw);

		tap_ok(ok && !raw, "300 random %s: image, text, image are the same, in words",
		       op->name);
		if (raw)
			printf("# %u raw lines\n", raw);
		vtpu_image_destroy(image);
	}
	for (int i = 0; i < 20; i++) {
		struct vtpu_image *image = random_image(&seed, NULL, 50);
		unsigned int raw;

		if (!image || !round_trip(image, &raw)) {
			tap_ok(false, "random bytes, round %d: image, text, image are the same", i);
			vtpu_image_destroy(image);
			return;
		}
		vtpu_image_destroy(image);
	}
	tap_ok(true, "random bytes as instructions: image, text, image are the same");
}

/* Numbers with a comma would break files that others must read. */
static void test_locale(void)
{
	struct vtpu_image *image = NULL;
	char *out = NULL;
	static const char ew[] =
		"program width=1\n"
		"ew rows=8 cols=128 in=0 in_pitch=512 in_type=f32 out=0x1000 out_pitch=512 out_type=f32 "
		"ops=r0=mul(r0,i0) imm=0.5,1e-3\n";
	bool comma = setlocale(LC_ALL, "de_DE.UTF-8") || setlocale(LC_ALL, "fr_FR.UTF-8");

	tap_ok(!vtpu_assemble(NULL, ew, strlen(ew), &image) && !vtpu_disassemble(image, &out) &&
		       strstr(out, "imm=0.5,0.00100000005"),
	       "floats have a point in every language%s",
	       comma ? "" : " (only C is installed here)");
	setlocale(LC_ALL, "C");
	free(out);
	vtpu_image_destroy(image);
}

/* ---- Errors ------------------------------------------------------------------- */

static const struct {
	const char *text;
	const char *error;
} errors[] = {
	{ "", "t:1:1: expected 'program width=N' first" },
	{ "copy src=vmem", "t:1:1: expected 'program width=N' first" },
	{ "program width=65", "t:1:8: program: width is 65; must be 1..64" },
	{ "program width=1 scalars=300", "300 scalars; at most 256" },
	{ "program width=1\nprogram width=1", "t:2:8: a second program line" },
	{ "program wide=1",
	  "t:1:9: unknown field 'wide' of program; expected width, scalars or caps" },
	{ "program caps=f16", "t:1:14: unknown name 'f16'; expected f32, bf16, int8" },
	{ "program width=1\ncopi src=x", "t:2:1: unknown instruction or statement 'copi'" },
	{ "program width=1\ncopy source=x", "t:2:6: copy has no field 'source'" },
	{ "program width=1\ncopy src=x", "t:2:10: unknown base 'x'; expected vmem, smem, const" },
	{ "program width=1\ncopy src=vmem src=vmem", "t:2:15: src is given twice" },
	{ "program width=1\ncopy count=1,2,3,4,5,6", "count has at most 5 values" },
	{ "program width=1\ncopy src_stride=2147483648",
	  "t:2:17: value is 2147483648; must be -2147483648..2147483647" },
	{ "program width=1\nmatmul m=-1", "t:2:10: value is -1; must be 0..4294967295" },
	{ "program width=1\nmatmul m=1.5", "t:2:10: expected a whole number" },
	{ "program width=1\nmatmul m=tile",
	  "t:2:10: unknown number 'tile'; 'let tile = ...' defines one" },
	{ "program width=1\nmatmul m=4/0", "t:2:11: division by zero" },
	{ "program width=1\nmatmul m=99999999999999999999999999", "number is too large" },
	{ "program width=1\nmatmul m=(1", "expected ')'" },
	{ "program width=1\nmatmul epi=bias", "t:2:16: expected '('" },
	{ "program width=1\nmatmul epi=bias(1),relu,relu,relu,relu",
	  "more than 4 epilogue operations" },
	{ "program width=1\nmatmul epi=bias(1),clamp(0,1),clamp(0,1)", "more than 4 arguments" },
	{ "program width=1\nmatmul epi=softplus",
	  "t:2:12: unknown name 'softplus'; expected bias, scale" },
	{ "program width=1\new ops=r4=add(r0,r1)", "t:2:8: expected r0..r3" },
	{ "program width=1\new ops=r0=add(r0)", "expected ','" },
	{ "program width=1\nnop wait=1", "expected '>'" },
	{ "program width=1\nnop wait=256>=1", "t:2:10: value is 256; must be 0..255" },
	{ "program width=1\nnop wait=1>=1 wait=2>=2 wait=3>=3",
	  "t:2:25: wait: both are given already" },
	{ "program width=1\nnop op=load", "t:2:8: unknown operation 'load'" },
	{ "program width=1\nop 1 a\nop 1 b", "id 1 is already that of 'a'" },
	{ "program width=1\nop 0 a", "id 0 means none" },
	{ "program width=1\nraw dma 00", "expected a byte in two hexadecimal digits" },
	{ "program width=1\nraw tpu 00", "t:2:5: unknown unit 'tpu'" },
	{ "program width=1\nlet a = 1\nlet a = 2", "t:3:5: name 'a' is taken" },
	{ "program width=1\nrepeat 2\nnop", "the repeat of line 2 has no end" },
	{ "program width=1\nend", "t:2:1: end without repeat" },
	{ "program width=1\nrepeat 0\nend", "repeat 0; must be at least 1" },
	{ "program width=1\nrepeat 4000000000\nnop\nend", "more than 2097152 statements" },
	{ "program width=1\nop 1 \"abc", "the quoted name does not end on this line" },
	{ "program width=1\nbase x extent=1 colour=2", "unknown field 'colour' of base" },
	{ "program width=1\nbase a234567890123456789012345678901234567890 extent=1",
	  "the name has 40 bytes; at most 39" },
	{ "program width=1\nnop value=3", "nop has no field 'value'" },
	{ "program width=1\nnop } ", "t:2:5: expected a field" },
};

static void test_errors(void)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		struct vtpu_image *image = NULL;
		enum vtpu_status status =
			vtpu_assemble("t", errors[i].text, strlen(errors[i].text), &image);
		bool ok = status == VTPU_ERROR_SYNTAX && !image &&
			  strstr(vtpu_last_error(), errors[i].error);

		tap_ok(ok, "error: %s", errors[i].error);
		if (!ok)
			printf("# got %s: %s\n", vtpu_status_id(status), vtpu_last_error());
		vtpu_image_destroy(image);
	}
}

/* ---- The builder and the text say the same ---------------------------------------- */

static void test_repeat(void)
{
	static const char loop[] =
		"program width=1\nlet t = 64\nrepeat i 3\nrepeat j 2\n"
		"fill dst=vmem+(i*2+j)*t count=16 dst_stride=4 imm=1.0\nend\nend\n";
	static const char flat[] = "program width=1\n"
				   "fill dst=vmem+0 count=16 dst_stride=4 imm=0x3f800000\n"
				   "fill dst=vmem+64 count=16 dst_stride=4 imm=1.0\n"
				   "fill dst=vmem+128 count=16 dst_stride=4 imm=1e0\n"
				   "fill dst=vmem+0xc0 count=16 dst_stride=4 imm=1.0 # comment\n"
				   "  fill dst=vmem + 4*64 count=16 dst_stride=4 imm=1.0\r\n"
				   "\tfill dst=0x140 count=16 dst_stride=4 imm=1.0\n";
	struct vtpu_image *a = NULL, *b = NULL;

	tap_ok(!vtpu_assemble(NULL, loop, strlen(loop), &a) &&
		       !vtpu_assemble(NULL, flat, strlen(flat), &b) && same_bytes(a, b),
	       "repeat is the same as writing the lines out");
	vtpu_image_destroy(a);
	vtpu_image_destroy(b);
}

/* An instruction in the queue of a unit that is not its own */
static void test_foreign(void)
{
	char text[600] = "program width=1\nraw mxu 0100";
	struct vtpu_image *image = NULL;
	unsigned int raw = 0;

	for (int i = 0; i < 126; i++)
		strcat(text, "00");
	tap_ok(!vtpu_assemble(NULL, text, strlen(text), &image) && round_trip(image, &raw) &&
		       raw == 1,
	       "an instruction of another unit's queue comes back as raw");
	vtpu_image_destroy(image);
}

static void test_reference(void)
{
	size_t bytes;
	char *doc = read_file("docs/assembly.md", &bytes), *table = NULL, *start, *end;
	struct vtpu_image *image = NULL;

	tap_ok(doc && !vtpu_isa_reference(&table) && strstr(doc, table),
	       "docs/assembly.md has the table of instructions as it is (vtpu-asm --isa prints it)");
	free(table);
	start = doc ? strstr(doc, "```\n") : NULL;
	end = start ? strstr(start + 4, "```\n") : NULL;
	tap_ok(end && !vtpu_assemble("docs/assembly.md", start + 4, end - start - 4, &image),
	       "its example assembles");
	vtpu_image_destroy(image);
	free(doc);
}

int main(void)
{
	test_programs();
	test_random();
	test_locale();
	test_errors();
	test_repeat();
	test_foreign();
	test_reference();
	return tap_done();
}
