// SPDX-License-Identifier: MIT
/*
 * report.c - what is told of an executable.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "compile/compile.h"

size_t vtpu_executable_io_count(const struct vtpu_executable *x, enum vtpu_io_kind kind)
{
	return (unsigned int)kind <= VTPU_IO_RESULT ? x->ios[kind] : 0;
}

enum vtpu_status vtpu_executable_io(const struct vtpu_executable *x, enum vtpu_io_kind kind,
				    size_t index, struct vtpu_io_info *info)
{
	if (index >= vtpu_executable_io_count(x, kind))
		return vtpu_fail(VTPU_ERROR_NOT_FOUND, "executable: no input, scalar or result %zu",
				 index);
	*info = x->io[kind][index].info;
	return VTPU_OK;
}

enum vtpu_status vtpu_executable_info(const struct vtpu_executable *x,
				      struct vtpu_executable_info *info)
{
	size_t size = info->struct_size;

	if (size < sizeof(size) || size > sizeof(*info))
		return vtpu_fail(VTPU_ERROR_VERSION,
				 "vtpu_executable_info: struct_size is %zu; set it with VTPU_INIT()",
				 size);
	memcpy(info, &x->info, size);
	info->struct_size = size;
	return VTPU_OK;
}

size_t vtpu_executable_op_count(const struct vtpu_executable *x)
{
	return x->ops;
}

enum vtpu_status vtpu_executable_op(const struct vtpu_executable *x, size_t index,
				    struct vtpu_op_cost *cost)
{
	if (index >= x->ops)
		return vtpu_fail(VTPU_ERROR_NOT_FOUND, "executable: no operation %zu", index);
	*cost = x->op[index].cost;
	return VTPU_OK;
}

enum vtpu_status vtpu_executable_explain(const struct vtpu_executable *x, char **text)
{
	const struct vtpu_executable_info *i = &x->info;
	size_t bytes;
	FILE *f = open_memstream(text, &bytes);

	if (!f)
		return vtpu_fail_nomem("an explanation");
	fprintf(f, "%u core(s), batch %" PRIu64 ", tiles of %u image(s), %u region(s), %s\n",
		i->cores, i->batch, i->tile, i->regions, i->precision ? "bf16" : "f32");
	fprintf(f, "modelled: %" PRIu64 " cycles = %.1f us, matrix units busy %.1f %%\n", i->cycles,
		1e6 * i->seconds,
		i->cycles ? 100. * (double)i->mxu_cycles / (double)i->cycles / i->cores : 0);
	fprintf(f,
		"work: %" PRIu64 " multiply-adds, %" PRIu64 " bytes of HBM, %" PRIu64
		" bytes between cores, %" PRIu64 " instructions\n",
		i->macs, i->hbm_traffic, i->exchange, i->instances);
	if (i->exchange_cycles)
		fprintf(f, "sums over cores: %" PRIu64 " cycles, %.0f %% hidden\n",
			i->exchange_cycles, 100 * i->exchange_hidden);
	fprintf(f,
		"HBM: parameters %" PRIu64 ", states %" PRIu64 ", inputs %" PRIu64
		", results %" PRIu64 ", temporaries %" PRIu64 " bytes\n",
		i->hbm_params, i->hbm_states, i->hbm_feeds, i->hbm_results, i->hbm_temp);
	fprintf(f, "VMEM: %" PRIu64 " of %" PRIu64 " bytes\n", i->vmem_bytes, i->vmem_size);
	fprintf(f, "cache: %s\n", i->cache_note);
	fprintf(f, "\n%12s %8s %14s %12s  operation, on one core\n", "cycles", "insns",
		"multiply-adds", "HBM bytes");
	for (size_t k = 0; k < x->ops; k++) {
		const struct vtpu_op_cost *c = &x->op[k].cost;

		fprintf(f, "%12" PRIu64 " %8u %14" PRIu64 " %12" PRIu64 "  %s\n", c->cycles,
			c->instructions, c->macs, c->hbm_bytes, c->name);
	}
	fprintf(f, "\n%s", x->explain);
	return fclose(f) ? vtpu_fail_nomem("an explanation") : VTPU_OK;
}

const struct vtpu_image *vtpu_executable_image(const struct vtpu_executable *x)
{
	return x->image;
}

struct vtpu_program *vtpu_executable_program(const struct vtpu_executable *x)
{
	return x->program;
}
