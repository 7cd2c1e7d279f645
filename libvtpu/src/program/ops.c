// SPDX-License-Identifier: MIT
/*
 * ops.c - the calls of <vtpu/ops.h>: check what was asked for, lay out bases
 * and epilogues, and hand over to the plans in dense_*.c and softmax.c.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "program/builder.h"
#include "program/dense.h"
#include "program/isa.h"
#include "program/ops.h"

_Static_assert((int)VTPU_DTYPE_U8 == (int)VTPU_TYPE_U8 && (int)VTPU_DTYPE_S8 == (int)VTPU_TYPE_S8 &&
		       (int)VTPU_DTYPE_S32 == (int)VTPU_TYPE_S32 &&
		       (int)VTPU_DTYPE_BF16 == (int)VTPU_TYPE_BF16 &&
		       (int)VTPU_DTYPE_F32 == (int)VTPU_TYPE_F32,
	       "enum vtpu_dtype must agree with enum vtpu_type");

#define INVALID(...)   vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, __VA_ARGS__)
#define MAX_PITCH      0x7fffffffu /* bytes of a row: DMA strides are signed 32-bit numbers */
#define MAX_LAYER_NAME (VTPU_MAX_NAME - sizeof(".residual"))

uint32_t vtpu_dtype_bytes(enum vtpu_dtype type)
{
	return type <= VTPU_DTYPE_F32 ? vtpu_type_bytes(type ? type : VTPU_DTYPE_F32) : 0;
}

const char *vtpu_dtype_name(enum vtpu_dtype type)
{
	const char *name = insn_name_of(vtpu_insn_types, type ? type : VTPU_DTYPE_F32);

	return name ? name : "no type";
}

uint64_t vtpu_rows_per_core(uint64_t m, uint32_t width)
{
	return width ? m / width + (m % width != 0) : m;
}

uint64_t vtpu_rows_padded(uint64_t m, uint32_t width)
{
	return vtpu_rows_per_core(m, width) * (width ? width : 1);
}

/* ---- Shared with softmax.c ---------------------------------------------------- */

enum vtpu_status ops_type(const char *what, enum vtpu_dtype type, bool u8, uint8_t *out)
{
	if (type == VTPU_DTYPE_DEFAULT)
		type = VTPU_DTYPE_F32;
	if (type != VTPU_DTYPE_F32 && type != VTPU_DTYPE_BF16 && !(u8 && type == VTPU_DTYPE_U8))
		return vtpu_fail(VTPU_ERROR_UNSUPPORTED, "%s: type is %s; must be f32%s", what,
				 vtpu_dtype_name(type), u8 ? ", bf16 or u8" : " or bf16");
	*out = type;
	return VTPU_OK;
}

enum vtpu_status ops_gang(const char *what, const struct vtpu_hw_geometry *geometry,
			  uint32_t *width, uint64_t m, uint64_t *rows)
{
	if (!geometry)
		return INVALID("%s: no geometry; take it from vtpu_device_geometry()", what);
	if (!*width)
		*width = 1;
	if (*width > geometry->cores)
		return vtpu_fail(VTPU_ERROR_UNSUPPORTED,
				 "%s: %" PRIu32 " cores wanted; the device has %" PRIu32, what,
				 *width, geometry->cores);
	if (!m)
		return INVALID("%s: m is 0; must be at least 1", what);
	*rows = vtpu_rows_per_core(m, *width);
	return VTPU_OK;
}

uint32_t ops_base(struct vtpu_builder *b, const char *name, uint64_t bytes, bool split,
		  bool writable)
{
	struct vtpu_base_desc desc = {
		.name = name,
		.extent = bytes,
		.core_stride = split ? bytes : 0,
		.readable = !writable,
		.writable = writable,
	};
	uint32_t base = vtpu_builder_base(b, &desc);

	vtpu_builder_tensor(b, base, name, 0, bytes);
	return base;
}

/* ---- Dense ------------------------------------------------------------------- */

static bool add_epilogue(struct dense_layer *l, uint32_t *n, enum vtpu_epi_op op)
{
	if (*n == 4)
		return false;
	l->epi_op[(*n)++] = op;
	return true;
}

/* Argument numbers run over all operations; -1 when there is no room. */
static int add_arg(struct dense_layer *l, uint32_t *args, uint32_t value)
{
	if (*args == 4)
		return -1;
	l->epi_arg[*args] = value;
	return (*args)++;
}

static uint32_t bits(float value)
{
	uint32_t word;

	memcpy(&word, &value, sizeof(word));
	return word;
}

static enum vtpu_status epilogue(struct dense_layer *l)
{
	static const uint8_t activation[] = {
		[VTPU_ACT_NONE] = VTPU_EPI_NONE,
		[VTPU_ACT_RELU] = VTPU_EPI_RELU,
		[VTPU_ACT_LEAKY_RELU] = VTPU_EPI_LEAKY_RELU,
		[VTPU_ACT_SIGMOID] = VTPU_EPI_SIGMOID,
		[VTPU_ACT_TANH] = VTPU_EPI_TANH,
		[VTPU_ACT_GELU] = VTPU_EPI_GELU,
		[VTPU_ACT_SILU] = VTPU_EPI_SILU,
	};
	const struct vtpu_layer *u = l->user;
	uint32_t ops = 0, args = 0;
	bool ok = true;

	l->scale_arg = l->bias_arg = l->residual_arg = -1;
	if ((unsigned int)u->act >= sizeof(activation))
		return INVALID("layer '%s': activation %d is unknown", u->name, (int)u->act);
	if (!isfinite(u->scale) || !isfinite(u->slope) || !isfinite(u->clamp_low) ||
	    !isfinite(u->clamp_high))
		return INVALID("layer '%s': scale, slope and clamp limits must be finite", u->name);
	if (u->scale != 0 && u->scale != 1)
		ok = add_epilogue(l, &ops, VTPU_EPI_SCALE_IMM) &&
		     add_arg(l, &args, bits(u->scale)) >= 0 && ok;
	if (u->column_scale)
		ok = add_epilogue(l, &ops, VTPU_EPI_SCALE) &&
		     (l->scale_arg = add_arg(l, &args, 0)) >= 0 && ok;
	if (u->bias)
		ok = add_epilogue(l, &ops, VTPU_EPI_BIAS) &&
		     (l->bias_arg = add_arg(l, &args, 0)) >= 0 && ok;
	if (u->residual)
		ok = add_epilogue(l, &ops, VTPU_EPI_RESIDUAL) &&
		     (l->residual_arg = add_arg(l, &args, 0)) >= 0 && ok;
	if (u->act)
		ok = add_epilogue(l, &ops, activation[u->act]) && ok;
	if (u->act == VTPU_ACT_LEAKY_RELU)
		ok = add_arg(l, &args, bits(u->slope)) >= 0 && ok;
	if (u->clamp)
		ok = add_epilogue(l, &ops, VTPU_EPI_CLAMP) &&
		     add_arg(l, &args, bits(u->clamp_low)) >= 0 &&
		     add_arg(l, &args, bits(u->clamp_high)) >= 0 && ok;
	if (!ok)
		return vtpu_fail(
			VTPU_ERROR_UNSUPPORTED,
			"layer '%s': more than 4 steps or 4 arguments after the product; "
			"fold the factor into weights or column scales, or leave a step to another program",
			u->name);
	return VTPU_OK;
}

static enum vtpu_status check_layer(struct dense *d, uint32_t i, const struct vtpu_layer *u,
				    uint32_t k)
{
	struct dense_layer *l = &d->layer[i];
	char what[64];
	enum vtpu_status status;

	if (!u->name || !*u->name || strlen(u->name) > MAX_LAYER_NAME)
		return INVALID("layer %" PRIu32 ": name is '%s'; must have 1..%zu bytes", i,
			       u->name ? u->name : "", MAX_LAYER_NAME);
	for (uint32_t j = 0; j < i; j++)
		if (!strcmp(d->layer[j].user->name, u->name))
			return INVALID("layer %" PRIu32
				       ": name '%s' is also that of layer %" PRIu32,
				       i, u->name, j);
	l->user = u;
	l->k = k;
	l->n = u->n;
	if (!u->n || u->n > MAX_PITCH / 4 || !k || k > MAX_PITCH / 4)
		return INVALID("layer '%s': w is [%" PRIu32 ", %" PRIu32
			       "]; each side must be 1..%u",
			       u->name, k, u->n, MAX_PITCH / 4);
	snprintf(what, sizeof(what), "layer '%s': w", u->name);
	status = ops_type(what, u->w_type, false, &l->type);
	if (status)
		return status;
	return epilogue(l);
}

/* Fill in @d from what the caller wants. */
static enum vtpu_status resolve(const struct vtpu_dense_options *o, struct dense *d)
{
	uint32_t k = o->k;
	enum vtpu_status status;

	d->geometry = o->geometry;
	d->width = o->width;
	d->want = o->tiling;
	status = ops_gang("matrix product", o->geometry, &d->width, o->m, &d->rows);
	if (!status)
		status = ops_type("matrix product: x", o->x_type, true, &d->x_type);
	if (!status)
		status = ops_type("matrix product: y", o->y_type, false, &d->y_type);
	if (status)
		return status;
	if (!o->layers || !o->layer_count || o->layer_count > DENSE_LAYERS)
		return INVALID("matrix product: %" PRIu32 " layers; must be 1..%d", o->layer_count,
			       DENSE_LAYERS);
	if (d->want.buffers > 3 || d->want.epilogue_splits > 16)
		return INVALID("matrix product: tiling has %" PRIu32
			       " buffers (at most 3) and %" PRIu32 " epilogue splits (at most 16)",
			       d->want.buffers, d->want.epilogue_splits);
	for (uint32_t i = 0; i < o->layer_count; i++) {
		const struct vtpu_layer *u = &o->layers[i];

		status = check_layer(d, i, u, k);
		if (status)
			return status;
		if (u->softmax && i < o->layer_count - 1)
			return vtpu_fail(VTPU_ERROR_UNSUPPORTED,
					 "layer '%s': softmax is for the last layer only", u->name);
		if (u->residual && (o->layer_count > 1 || u->softmax))
			return vtpu_fail(
				VTPU_ERROR_UNSUPPORTED,
				"layer '%s': residual is for single layers without softmax only",
				u->name);
		k = u->n;
	}
	d->layers = o->layer_count;
	for (uint32_t i = 0; i < d->layers; i++)
		d->layer[i].out_type = i < d->layers - 1	 ? d->layer[i + 1].type :
				       d->layer[i].user->softmax ? VTPU_TYPE_F32 :
								   d->y_type;
	if (d->rows > (1ULL << 40) / MAX_PITCH && d->rows * k * 4 / 4 / k != d->rows)
		return INVALID("matrix product: %" PRIu64 " rows a core are too many", d->rows);
	return VTPU_OK;
}

static uint32_t layer_base(struct vtpu_builder *b, const struct dense_layer *l, const char *part,
			   uint64_t bytes, bool split)
{
	char name[VTPU_MAX_NAME];

	snprintf(name, sizeof(name), "%s.%s", l->user->name, part);
	return ops_base(b, name, bytes, split, false);
}

static void declare(struct dense *d, struct vtpu_builder *b)
{
	const struct dense_layer *last = &d->layer[d->layers - 1];

	d->x_base =
		ops_base(b, "x", d->rows * d->layer[0].k * vtpu_type_bytes(d->x_type), true, false);
	for (uint32_t i = 0; i < d->layers; i++) {
		struct dense_layer *l = &d->layer[i];
		uint64_t vector = l->n * 4ULL;

		l->op = vtpu_builder_op(b, l->user->name);
		l->w_base = layer_base(b, l, "w", (uint64_t)l->k * l->n * vtpu_type_bytes(l->type),
				       false);
		if (l->scale_arg >= 0)
			l->scale_base = layer_base(b, l, "scale", vector, false);
		if (l->bias_arg >= 0)
			l->bias_base = layer_base(b, l, "bias", vector, false);
		if (l->residual_arg >= 0)
			l->residual_base = layer_base(b, l, "residual",
						      d->rows * l->n * vtpu_type_bytes(d->y_type),
						      true);
		vtpu_builder_caps(b, l->type == VTPU_TYPE_BF16 ? VTPU_CAP_BF16 : VTPU_CAP_F32);
	}
	d->y_base = ops_base(b, "y", d->rows * last->n * vtpu_type_bytes(d->y_type), true, true);
	if (d->x_type == VTPU_TYPE_BF16 || d->y_type == VTPU_TYPE_BF16)
		vtpu_builder_caps(b, VTPU_CAP_BF16);
}

enum vtpu_status vtpu_dense_build(const struct vtpu_dense_options *options,
				  struct vtpu_image **image, struct vtpu_plan *plan)
{
	struct vtpu_dense_options o;
	struct vtpu_plan chosen = { 0 };
	struct vtpu_builder *b;
	struct dense d = { 0 };
	enum vtpu_status status;

	status = vtpu_options(&o, options, sizeof(o), "struct vtpu_dense_options");
	if (!status)
		status = resolve(&o, &d);
	if (!status)
		status = vtpu_builder_create(d.width, &b);
	if (status)
		return status;
	declare(&d, b);
	if (d.layers == 1 && !d.layer[0].user->softmax)
		status = dense_stream(&d, b, &chosen);
	else
		status = dense_chain(&d, b, &chosen);
	if (!status)
		status = vtpu_builder_finish(b, image);
	vtpu_builder_destroy(b);
	if (status || !plan)
		return status;
	chosen.rows_per_core = d.rows;
	for (uint32_t i = 0; i < d.layers; i++)
		chosen.ideal_cycles += sched_ideal_cycles(d.geometry, d.rows, d.layer[i].n,
							  d.layer[i].k, d.layer[i].type);
	*plan = chosen;
	return VTPU_OK;
}
