/* SPDX-License-Identifier: MIT */
/*
 * source.h - attributes of what brings values into a graph.
 */
#ifndef VTPU_SRC_GRAPH_OPS_SOURCE_H
#define VTPU_SRC_GRAPH_OPS_SOURCE_H

#include <string.h>

#include "graph/op.h"

/** struct source_attrs - of "input" and "scalar"; the others begin with it */
struct source_attrs {
	enum vtpu_dtype type;
	struct vtpu_shape shape;
};

/** struct constant_attrs - of "constant" */
struct constant_attrs {
	struct source_attrs source;
	const void *data;
	size_t bytes;
};

/** struct parameter_attrs - of "parameter", which is also what vtpu_state() makes */
struct parameter_attrs {
	struct source_attrs source;
	bool trainable;
	struct vtpu_initial initial;
};

/** source_parameter() - attributes of a parameter or state; NULL for any other tensor */
const struct parameter_attrs *source_parameter(const struct vtpu_tensor *x);

/** float_to_bf16() - to nearest even */
static inline uint16_t float_to_bf16(float value)
{
	uint32_t bits;

	if (value != value)
		return 0x7fc0;
	memcpy(&bits, &value, sizeof(bits));
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#endif /* VTPU_SRC_GRAPH_OPS_SOURCE_H */
