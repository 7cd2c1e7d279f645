/* SPDX-License-Identifier: MIT */
/*
 * window.h - how a window slides over an image: what convolution and pooling share.
 */
#ifndef VTPU_SRC_GRAPH_OPS_WINDOW_H
#define VTPU_SRC_GRAPH_OPS_WINDOW_H

#include "graph/op.h"

/** struct window - the fields of a node's attributes that say how it slides */
struct window {
	int64_t size[2]; /* taps, down and across */
	int32_t *stride;
	int32_t *dilation; /* NULL: 1 */
	enum vtpu_padding *padding;
	int32_t *pad;
};

/**
 * window_slide() - height and width of the result over an image @x [n, h, w, c]
 * @input: which input of @node the image is, for sentences; -1: it is the result's
 *
 * Fills in defaults, and turns the padding into numbers.
 */
bool window_slide(struct vtpu_node *node, const struct window *w, const struct vtpu_shape *x,
		  int input, int64_t out[2]);

/** window_image() - is @x, the shape of a result that gradients are to have, an image at all? */
bool window_image(struct vtpu_node *node, const struct vtpu_shape *x);

#endif /* VTPU_SRC_GRAPH_OPS_WINDOW_H */
