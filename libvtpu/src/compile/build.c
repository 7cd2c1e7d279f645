// SPDX-License-Identifier: MIT
/*
 * build.c - the passes in their order, the choice of tiles, and the image.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "cost.h"

#define HOST_CYCLES 64 /* what an instruction costs the host, in the currency of the model */
#define TILE_BYTES  (10u << 20) /* a tile's values should stay in the caches of the host */
#define MOST_TILES  256 /* of a batch, if larger ones fit: each is some hundred instructions */

/* ---- Tiles -------------------------------------------------------------------------- */

/* Bytes that an image of a region has in all values. */
static uint64_t image_bytes(const struct plan *p, uint32_t region)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < p->steps; i++) {
		const struct step *s = p->step[i];

		for (uint32_t k = 0; k < s->outs; k++) {
			const struct value *v = s->out[k];

			if (v && v->class == VALUE_BATCH && v->region == region && !v->pair)
				bytes += value_count(v) * vtpu_dtype_bytes(v->type) * v->slots;
		}
	}
	return bytes;
}

static void set_tiles(struct emitter *e, uint32_t tile)
{
	const struct plan *p = e->plan;

	for (uint32_t r = 0; r < p->regions; r++) {
		uint64_t each = image_bytes(p, r);

		e->tiles[r] = tile;
		if (!p->options.tile && each * p->images <= TILE_BYTES / 8)
			e->tiles[r] = p->images;
	}
}

/* As many ones as the longest sum of columns needs. */
static bool set_ones(struct emitter *e)
{
	struct plan *p = e->plan;
	uint64_t most[2] = { 0 };

	for (size_t i = 0; i < p->steps; i++) {
		const struct step *s = p->step[i];
		uint64_t k = s->mxu.k;
		bool half;

		if (s->kind != STEP_MATMUL || !s->mxu.ones)
			continue;
		half = s->in[1]->type == VTPU_DTYPE_BF16;
		k *= s->mxu.batch_k ? e->tiles[s->region] : 1;
		most[half] = k > most[half] ? k : most[half];
	}
	for (int i = 0; i < 2; i++) {
		if (!most[i])
			continue;
		if (!p->ones[i])
			p->ones[i] = plan_value(p, "ones", i ? VTPU_DTYPE_BF16 : VTPU_DTYPE_F32,
						VALUE_WHOLE, 0);
		if (!p->ones[i])
			return false;
		p->ones[i]->source = FROM_ONES;
		p->ones[i]->count = most[i];
	}
	return true;
}

static bool try_tile(struct emitter *e, uint32_t tile, uint64_t *score, const char **largest,
		     uint64_t *need)
{
	struct sync_time time;

	*score = UINT64_MAX;
	set_tiles(e, tile);
	if (!set_ones(e))
		return false;
	if (!emit_place(e, largest, need))
		return !e->plan->status;
	if (!emit_program(e) || !sync_clock(&e->sync, false, &time, NULL))
		return false;
	*score = time.cycles + HOST_CYCLES * e->sync.records;
	return true;
}

/* Does what is in VMEM at a time fit, with tiles of that size? */
static bool tile_fits(struct emitter *e, uint32_t tile)
{
	const char *largest;
	uint64_t need;

	set_tiles(e, tile);
	return set_ones(e) && emit_place(e, &largest, &need);
}

/* The tile with the shortest time, of those that fit. */
static bool choose_tile(struct emitter *e)
{
	struct plan *p = e->plan;
	uint64_t best = UINT64_MAX, each = 0, score, need = 0;
	const char *largest = "";

	for (uint32_t r = 0; r < p->regions; r++)
		each = image_bytes(p, r) > each ? image_bytes(p, r) : each;
	for (uint32_t tile = 1; tile; tile = tile < p->images ? 2 * tile : 0) {
		uint32_t t = tile < p->images ? tile : p->images;

		if (p->options.tile)
			t = p->options.tile < p->images ? p->options.tile : p->images;
		else if (best != UINT64_MAX && t > 1 && t * each > TILE_BYTES)
			break;
		if (!p->images)
			t = 1;
		/* A long program, and a slow one, when twice the size would do. */
		if (!p->options.tile && p->images / t > MOST_TILES && tile_fits(e, 2 * t))
			continue;
		if (p->status)
			return false;
		if (!try_tile(e, t, &score, &largest, &need))
			return false;
		if (score < best) {
			best = score;
			p->tile = t;
		}
		if (p->options.tile || t >= p->images || score == UINT64_MAX)
			break;
	}
	if (best == UINT64_MAX)
		return plan_fail(
			p, VTPU_ERROR_OUT_OF_DEVICE_MEMORY,
			"compile: with a tile of %u image(s), what is in VMEM at a time takes %" PRIu64
			" bytes, and a core has %" PRIu64
			"; the largest is '%s'. Use bf16, or smaller layers",
			p->options.tile ? p->options.tile : 1, need,
			(uint64_t)p->geometry->vmem_bytes, largest);
	return try_tile(e, p->tile, &score, &largest, &need);
}

/* ---- Bases ------------------------------------------------------------------------------ */

static uint32_t add_base(struct vtpu_builder *b, struct vtpu_executable *x, const char *prefix,
			 const char *name, struct binding binding, uint64_t extent, uint64_t stride,
			 bool read, bool write)
{
	char full[VTPU_MAX_NAME];
	size_t room = sizeof(full) - 1 - strlen(prefix), len = strlen(name);

	/* Of long names the end is kept, which tells them apart. */
	memset(full, 0, sizeof(full));
	memcpy(full, prefix, strlen(prefix));
	memcpy(full + strlen(prefix), len > room ? name + len - room : name,
	       len > room ? room : len);
	x->binding[x->bindings++] = binding;
	return vtpu_builder_base(b, &(struct vtpu_base_desc){ .name = full,
							      .extent = extent,
							      .core_stride = stride,
							      .readable = read,
							      .writable = write });
}

static bool writes(const struct plan *p, enum layout_arena arena)
{
	for (size_t i = 0; i < p->steps; i++) {
		const struct step *s = p->step[i];

		if ((s->kind == STEP_ASSIGN && p->layout->variable[s->index].arena == arena) ||
		    (s->kind == STEP_UPDATE && arena == ARENA_PARAMS))
			return true;
	}
	return false;
}

static void add_tensors(const struct plan *p, struct vtpu_builder *b, uint32_t base,
			enum layout_arena arena)
{
	for (size_t i = 0; i < p->layout->variables; i++) {
		const struct layout_variable *v = &p->layout->variable[i];

		if (v->arena == arena && v->bytes)
			vtpu_builder_tensor(b, base, v->name, v->offset, v->bytes);
	}
}

static bool add_bases(struct emitter *e, struct vtpu_builder *b, struct vtpu_executable *x)
{
	struct plan *p = e->plan;
	const struct layout *l = p->layout;
	size_t most = 3 + p->feeds + p->results + l->buckets * LAYOUT_MOMENTS;

	x->binding = arena_array(&x->arena, most, sizeof(*x->binding));
	if (!x->binding)
		return plan_nomem(p);
	if (l->bytes[ARENA_PARAMS]) {
		e->base_params = add_base(b, x, "", "parameters",
					  (struct binding){ BIND_PARAMS, 0, 0 },
					  l->bytes[ARENA_PARAMS], l->bytes[ARENA_PARAMS], true,
					  writes(p, ARENA_PARAMS));
		add_tensors(p, b, e->base_params, ARENA_PARAMS);
	}
	if (l->bytes[ARENA_STATES]) {
		e->base_states = add_base(b, x, "", "states", (struct binding){ BIND_STATES, 0, 0 },
					  l->bytes[ARENA_STATES], l->bytes[ARENA_STATES], true,
					  writes(p, ARENA_STATES));
		add_tensors(p, b, e->base_states, ARENA_STATES);
	}
	for (uint32_t i = 0; i < e->exchanges; i++) {
		struct exchange *ex = &e->exchange[i];

		for (uint32_t m = 0; m < LAYOUT_MOMENTS && ex->moment[m]; m++) {
			struct binding at = { BIND_MOMENTS, 0, l->bucket[ex->bucket].moment[m] };
			char name[32] = "moment 0 of bucket ";

			name[7] = (char)('0' + m);
			name[19] = (char)('0' + ex->bucket % 10);
			ex->moment_base[m] =
				add_base(b, x, "", name, at, ex->share, ex->share, true, true);
		}
	}
	for (size_t i = 0; i < p->feeds; i++) {
		if (p->feed[i].used)
			p->feed[i].base = add_base(b, x, "in:", p->feed[i].name,
						   (struct binding){ BIND_FEED, (uint32_t)i, 0 },
						   p->feed[i].core_bytes, p->feed[i].stride, true,
						   false);
	}
	for (size_t i = 0; i < p->results; i++)
		p->result[i].base = add_base(b, x, "out:", p->result[i].name,
					     (struct binding){ BIND_RESULT, (uint32_t)i, 0 },
					     p->result[i].core_bytes, p->result[i].stride, false,
					     true);
	if (p->temp_bytes)
		e->base_temp = add_base(b, x, "", "temporaries",
					(struct binding){ BIND_TEMP, 0, 0 }, p->temp_bytes,
					p->temp_bytes, true, true);
	x->temp_bytes = p->temp_bytes * p->cores;
	return true;
}

static void add_caps(const struct emitter *e, struct vtpu_builder *b)
{
	for (size_t i = 0; i < e->sync.records; i++) {
		const struct vtpu_insn *insn = &e->sync.record[i].insn;

		if (insn->unit == VTPU_UNIT_ICI)
			vtpu_builder_caps(b, VTPU_CAP_ICI);
		if (insn->opcode == VTPU_OP_CONV || insn->opcode == VTPU_OP_CONV_DGRAD ||
		    insn->opcode == VTPU_OP_CONV_WGRAD || insn->opcode == VTPU_OP_POOL ||
		    insn->opcode == VTPU_OP_POOL_GRAD)
			vtpu_builder_caps(b, VTPU_CAP_CONV);
	}
}

/* ---- What is told about it ------------------------------------------------------------------ */

static int by_order(const void *a, const void *b)
{
	const struct op_row *x = a, *y = b;

	return (x->order > y->order) - (x->order < y->order);
}

static bool add_ops(struct emitter *e, struct vtpu_builder *b, struct vtpu_executable *x)
{
	size_t nodes = vtpu_graph_size(e->plan->graph) + 1;
	struct op_row *row = arena_array(&x->arena, nodes, sizeof(*row));
	size_t n = 0;

	if (!row)
		return plan_nomem(e->plan);
	for (size_t i = 0; i < e->sync.records; i++) {
		const struct record *r = &e->sync.record[i];
		struct vtpu_cost cost = vtpu_cost_insn(e->plan->geometry, &r->insn, e->plan->cores);
		size_t k = 0;

		while (k < n && row[k].order != r->order)
			k++;
		if (k == n) {
			row[n].order = r->order;
			row[n].cost.name = arena_printf(&x->arena, "%s", r->name);
			if (!row[n].cost.name)
				return plan_nomem(e->plan);
			vtpu_builder_op_id(b, r->order + 1, row[n++].cost.name);
		}
		row[k].cost.instructions++;
		row[k].cost.cycles += cost.busy;
		row[k].cost.macs += cost.macs;
		row[k].cost.hbm_bytes += cost.hbm_bytes;
	}
	qsort(row, n, sizeof(*row), by_order);
	x->op = row;
	x->ops = n;
	return true;
}

static bool add_ios(struct plan *p, struct vtpu_executable *x)
{
	const struct plan_io *from[3] = { p->feed, p->scalar_in, p->result };
	const size_t count[3] = { p->feeds, p->scalars_in, p->results };

	for (int kind = 0; kind < 3; kind++) {
		x->io[kind] = arena_array(&x->arena, count[kind] + 1, sizeof(*x->io[kind]));
		if (!x->io[kind])
			return plan_nomem(p);
		x->ios[kind] = count[kind];
		for (size_t i = 0; i < count[kind]; i++) {
			const struct plan_io *io = &from[kind][i];
			bool replicas = kind == VTPU_IO_RESULT && !io->batch;
			struct io *to = &x->io[kind][i];

			to->name = arena_printf(&x->arena, "%s", io->name);
			if (!to->name)
				return plan_nomem(p);
			to->info = (struct vtpu_io_info){
				.name = to->name,
				.type = io->type,
				.shape = io->shape,
				.bytes = io->bytes,
				.place_bytes = replicas ? io->stride * (p->cores - 1) + io->bytes :
							  io->bytes,
				.replica_stride = replicas ? io->stride : 0,
				.used = io->used,
			};
			if (kind == VTPU_IO_FEED)
				x->info.hbm_feeds += io->used ? io->bytes : 0;
			if (kind == VTPU_IO_RESULT)
				x->info.hbm_results += to->info.place_bytes;
		}
	}
	x->scalar = arena_copy(&x->arena, p->scalar, (p->scalars + 1) * sizeof(*p->scalar));
	x->scalars = p->scalars;
	return x->scalar || plan_nomem(p);
}

static bool describe(struct emitter *e, struct vtpu_executable *x)
{
	struct plan *p = e->plan;
	struct sync_time time, without;
	char *text, *chart;

	if (!sync_clock(&e->sync, false, &time, NULL) ||
	    !sync_clock(&e->sync, true, &without, NULL))
		return false;
	text = plan_text(p);
	chart = sync_timeline(&e->sync, time.cycles);
	if (text && chart)
		x->explain = arena_printf(&x->arena, "%s\n%s", chart, text);
	free(text);
	free(chart);
	if (!x->explain)
		return plan_nomem(p);
	x->info.cores = p->cores;
	x->info.batch = (uint64_t)p->batch;
	x->info.tile = p->regions ? e->tiles[p->regions - 1] : 0;
	x->info.precision = p->options.precision;
	x->info.exchange = e->sync.exchange_bytes * p->cores;
	x->info.hbm_params = p->layout->bytes[ARENA_PARAMS] * p->cores;
	x->info.hbm_states =
		p->layout->bytes[ARENA_STATES] * p->cores + p->layout->bytes[ARENA_MOMENTS];
	x->info.hbm_temp = x->temp_bytes;
	x->info.vmem_size = p->geometry->vmem_bytes;
	x->info.vmem_bytes = e->vmem;
	x->info.exchange_cycles = time.exchange_cycles;
	x->info.exchange_hidden = 1;
	if (time.exchange_cycles)
		x->info.exchange_hidden =
			1 - (double)(time.cycles - without.cycles) / (double)time.exchange_cycles;
	x->info.regions = p->regions;
	return add_ios(p, x);
}

/* ---- All of it -------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	bool (*run)(struct plan *p);
} passes[] = {
	{ "1-lower", pass_lower },	   { "2-fuse", pass_fuse },
	{ "3-precision", pass_precision }, { "4-shrink", pass_shrink },
	{ "5-regions", pass_regions },
};

static bool emit_all(struct emitter *e, struct vtpu_builder *b, struct vtpu_executable *x)
{
	struct plan *p = e->plan;

	e->tiles = arena_array(&p->arena, p->regions + 1, sizeof(*e->tiles));
	if (!e->tiles)
		return plan_nomem(p);
	if (!emit_areas(e) || !add_bases(e, b, x) || !choose_tile(e))
		return false;
	if (p->constants)
		vtpu_builder_const(b, p->constant, p->constants);
	vtpu_builder_scalars(b, p->scalars);
	vtpu_builder_vmem(b, e->vmem, EMIT_LINE);
	add_caps(e, b);
	if (!add_ops(e, b, x) || !describe(e, x))
		return false;
	return sync_finish(&e->sync, b);
}

enum vtpu_status compile_build(struct plan *p, struct vtpu_executable *x)
{
	struct emitter e = { .plan = p };
	struct vtpu_builder *b;
	enum vtpu_status status;

	for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++) {
		if (!passes[i].run(p))
			return p->status ? p->status : vtpu_fail_nomem("a compilation");
		plan_dump(p, passes[i].name);
	}
	status = vtpu_builder_create(p->cores, &b);
	if (status)
		return status;
	if (!emit_all(&e, b, x))
		status = p->status ? p->status : vtpu_fail_nomem("a compilation");
	else
		status = vtpu_builder_finish(b, &x->image);
	sync_free(&e.sync);
	vtpu_builder_destroy(b);
	return status;
}
