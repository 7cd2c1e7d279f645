// SPDX-License-Identifier: MIT
/*
 * window.c - how a window slides over an image.
 */
#include "graph/ops/window.h"

static const char *const direction[2] = { "down", "across" };

static bool check(struct vtpu_node *node, const struct window *w)
{
	for (int i = 0; i < 2; i++) {
		if (!w->stride[i])
			w->stride[i] = 1;
		if (w->dilation && !w->dilation[i])
			w->dilation[i] = 1;
		if (w->stride[i] < 1 || (w->dilation && w->dilation[i] < 1))
			return node_invalid(node, "the %s %s is %d; it must be 1 or more",
					    w->stride[i] < 1 ? "stride" : "dilation", direction[i],
					    w->stride[i] < 1 ? w->stride[i] : w->dilation[i]);
	}
	if (*w->padding > VTPU_PADDING_EXPLICIT)
		return node_invalid(node, "there is no padding %d; use one of enum vtpu_padding",
				    (int)*w->padding);
	for (int i = 0; i < 4; i++) {
		if (*w->padding != VTPU_PADDING_EXPLICIT && w->pad[i])
			return node_invalid(
				node,
				"pad is set, but the padding is not VTPU_PADDING_EXPLICIT; set one of them");
		if (w->pad[i] < 0)
			return node_invalid(node, "pad %d is %d; it must be 0 or more", i,
					    w->pad[i]);
	}
	return true;
}

bool window_slide(struct vtpu_node *node, const struct window *w, const struct vtpu_shape *x,
		  int input, int64_t out[2])
{
	if (!check(node, w))
		return false;
	for (int i = 0; i < 2; i++) {
		int64_t size = x->dim[1 + i], stride = w->stride[i];
		int64_t reach = (w->size[i] - 1) * (w->dilation ? w->dilation[i] : 1) + 1;
		int32_t *pad = &w->pad[2 * i];
		int64_t padded;

		if (*w->padding == VTPU_PADDING_SAME) {
			int64_t all = ((size + stride - 1) / stride - 1) * stride + reach - size;

			if (all > INT32_MAX)
				return node_invalid(node,
						    "the window reaches over %lld %s; use a smaller one",
						    (long long)reach, direction[i]);
			pad[0] = all > 0 ? (int32_t)(all / 2) : 0;
			pad[1] = all > 0 ? (int32_t)(all - all / 2) : 0;
		}
		padded = size + pad[0] + pad[1];
		if (padded < reach)
			return node_mismatch(
				node,
				"the window reaches over %lld %s, but %s has only %lld with padding; use a "
				"smaller window, less dilation or more padding",
				(long long)reach, direction[i],
				input < 0 ? shape_text(node->graph, x) :
					    node_show(node, (uint32_t)input),
				(long long)padded);
		out[i] = (padded - reach) / stride + 1;
	}
	*w->padding = VTPU_PADDING_EXPLICIT;
	return true;
}

bool window_image(struct vtpu_node *node, const struct vtpu_shape *x)
{
	bool ok = x->rank == 4;

	for (uint32_t i = 0; ok && i < 4; i++)
		ok = x->dim[i] >= 1 && x->dim[i] <= GRAPH_MAX_DIM;
	return ok ||
	       node_invalid(node,
			    "the shape of the result is %s, and must be four sizes from 1 to 2^31",
			    shape_text(node->graph, x));
}
