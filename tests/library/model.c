// SPDX-License-Identifier: MIT
/*
 * model.c - device names, lists of them, and models in this process.
 */
#include "library.h"

static void bad_names(void)
{
	static const struct {
		const char *name, *words;
	} list[] = {
		{ "tpu", "no device name" },
		{ "", "empty" },
		{ ";;", "empty" },
		{ "model:v9", "v9" },
		{ "model:v3,cores=0", "cores" },
		{ "model:v3,cores=65", "cores" },
		{ "model:v3,cores=two", "cores=two" },
		{ "model:v3,cores", "cores" },
		{ "model:v3,hbm=12", "HBM" },
		{ "model:v3,hbm=3T", "hbm" },
		{ "model:v3,hbm=99999999999G", "hbm" },
		{ "model:v3,isa=sse", "avx2" },
		{ "model:v3,dense=maybe", "off, on" },
		{ "model:v3,executor=fast", "reference" },
		{ "model:v3,threads=1000", "threads" },
		{ "model:v3,colour=red", "colour" },
		{ "model:v3,vmem_bytes=1M", "custom" },
		{ "model:custom,mxu_dim=0x100000000", "mxu_dim" },
		{ "model:v3,id=", "id" },
		{ "model:v3,inject=flood", "lost-irq" },
		{ "model:v3,inject=hang:job=x", "'job=x'" },
		{ "model:v3,hbm=64M,inject=hang:job=0", "job 0" },
		{ "model:v3,inject=stuck", "in a VM" },
	};
	struct vtpu_device *untouched = (struct vtpu_device *)&list, *device = untouched;
	size_t i;

	for (i = 0; i < sizeof(list) / sizeof(*list); i++)
		refused(vtpu_open(list[i].name, &device), VTPU_ERROR_INVALID_ARGUMENT,
			list[i].words, "'%s' is refused", list[i].name);
	library_ok(device == untouched, "a failed open leaves its result alone");
	refused(vtpu_open("model:v3", NULL), VTPU_ERROR_INVALID_ARGUMENT, "NULL",
		"no place for the result");
	refused(vtpu_open("/dev/null", &device), VTPU_ERROR_NO_DEVICE, "/dev/null",
		"/dev/null is no device");
	refused(vtpu_open("accel77", &device), VTPU_ERROR_NO_DEVICE, "", "accel77 does not exist");
}

static void lists(void)
{
	struct vtpu_device *device = NULL;

	if (ok_call(vtpu_open("accel77;model:v3,hbm=64M,cores=2", &device),
		    "a list: the second is taken")) {
		library_ok(!strcmp(vtpu_device_name(device), "model:v3,hbm=64M,cores=2"),
			   "and its name says so");
		library_ok(strstr(vtpu_device_reason(device), "took model:v3") &&
				   strstr(vtpu_device_reason(device), "accel77: "),
			   "and the reason tells about the first");
	}
	vtpu_close(device);
	device = NULL;
	ok_call(vtpu_open("accel77,model:v3,hbm=64M", &device), "commas do as well");
	vtpu_close(device);
	device = NULL;
	ok_call(vtpu_open("model:v3,hbm=64M;model:v9", &device), "what comes after is not tried");
	vtpu_close(device);
	refused(vtpu_open("accel77;model:v9", &device), VTPU_ERROR_NO_DEVICE, "v9",
		"none: all are named");
	setenv("VTPU_DEVICE", "model:v3,hbm=64M,cores=3", 1);
	device = NULL;
	if (ok_call(vtpu_open(NULL, &device), "NULL is VTPU_DEVICE"))
		library_ok(strstr(vtpu_device_name(device), "cores=3"), "and says what that was");
	vtpu_close(device);
	unsetenv("VTPU_DEVICE");
}

static void sharing(void)
{
	struct vtpu_device_info info = VTPU_INIT(info);
	struct vtpu_device *a = NULL, *b = NULL, *c = NULL;

	ok_call(vtpu_open("model:v3,hbm=64M,id=shared", &a), "a model with an id");
	ok_call(vtpu_open("model:v3,hbm=64M,id=shared", &b), "the same again");
	ok_call(vtpu_open("model:v3,hbm=64M", &c), "another one");
	ok_call(vtpu_device_info(a, &info), "info");
	library_is(info.clients, 2, "two share it");
	library_is(info.in_process, 1, "in this process");
	ok_call(vtpu_device_info(c, &info), "info");
	library_is(info.clients, 1, "the other is alone");
	vtpu_close(c);
	c = NULL;
	refused(vtpu_open("model:v3,threads=200", &c), VTPU_ERROR_BUSY, "threads",
		"another number of workers");
	vtpu_close(a);
	vtpu_close(b);
	ok_call(vtpu_open("model:v3,threads=3,hbm=64M", &c),
		"after all are closed it may be another");
	vtpu_close(c);
	c = NULL;
	setenv("VTPU_THREADS", "many", 1);
	refused(vtpu_open("model:v3", &c), VTPU_ERROR_INVALID_ARGUMENT, "VTPU_THREADS=many",
		"a bad VTPU_THREADS");
	unsetenv("VTPU_THREADS");
}

/* An instruction set that is forced is had, or refused; never replaced in silence. */
static void instruction_sets(void)
{
	struct vtpu_device *device = NULL;
	bool wide = __builtin_cpu_supports("avx512f");

	setenv("VTPU_ISA", "sse", 1);
	refused(vtpu_open("model:v3,hbm=64M", &device), VTPU_ERROR_INVALID_ARGUMENT,
		"VTPU_ISA=sse: expected auto, scalar, avx2 or avx512", "an unknown VTPU_ISA");
	ok_call(vtpu_open("model:v3,hbm=64M,isa=scalar", &device),
		"which the device's own property overrides");
	vtpu_close(device);
	device = NULL;
	setenv("VTPU_ISA", "avx512", 1);
	if (wide) {
		ok_call(vtpu_open("model:v3,hbm=64M", &device),
			"VTPU_ISA=avx512 on a CPU that has it");
		vtpu_close(device);
		device = NULL;
		ok_call(vtpu_open("model:v3,hbm=64M,isa=avx512", &device), "and isa=avx512");
	} else {
		refused(vtpu_open("model:v3,hbm=64M", &device), VTPU_ERROR_INVALID_ARGUMENT,
			"VTPU_ISA=avx512: this host's CPU has only",
			"VTPU_ISA=avx512 on a CPU without");
		refused(vtpu_open("model:v3,hbm=64M,isa=avx512", &device),
			VTPU_ERROR_INVALID_ARGUMENT, "isa=avx512: this host's CPU has only",
			"and isa=avx512");
	}
	vtpu_close(device);
	device = NULL;
	setenv("VTPU_ISA", "auto", 1);
	ok_call(vtpu_open("model:v3,hbm=64M", &device), "VTPU_ISA=auto");
	vtpu_close(device);
	unsetenv("VTPU_ISA");
}

static void custom(void)
{
	struct vtpu_device_info info = VTPU_INIT(info);
	struct vtpu_device *device = NULL;

	ok_call(vtpu_open("model:custom,cores=2,vmem_bytes=4M,clock_khz=500000,hbm=64M", &device),
		"preset custom");
	ok_call(vtpu_device_info(device, &info), "info");
	library_ok(!strcmp(info.preset, "custom") && info.cores == 2 &&
			   info.vmem_bytes == 4 << 20 && info.clock_khz == 500000,
		   "has what was asked for");
	vtpu_close(device);
}

void test_models(void)
{
	bad_names();
	lists();
	sharing();
	instruction_sets();
	custom();
}
