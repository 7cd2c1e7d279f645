/* SPDX-License-Identifier: MIT */
/*
 * reference_network.h - the network of samples/mnist.c, for tests that say something of it.
 *
 * The sample spells it out for its readers; tests share this one.
 */
#ifndef TESTS_UNIT_REFERENCE_NETWORK_H
#define TESTS_UNIT_REFERENCE_NETWORK_H

#include <vtpu/vtpu.h>

/** reference_network() - not compiled; NULL after an error */
static inline struct vtpu_model *reference_network(void)
{
	const struct vtpu_layer_options relu = { .activation = VTPU_ACT_RELU };
	struct vtpu_model *model;

	if (vtpu_model_create("mnist", VTPU_DTYPE_U8, VTPU_SHAPE(28, 28, 1), &model))
		return NULL;
	vtpu_model_normalize(model, "standardise", 33.3184f, 78.5675f);
	vtpu_model_conv2d(model, "conv1", 32, 3, &relu);
	vtpu_model_max_pool(model, "pool1", 2, NULL);
	vtpu_model_conv2d(model, "conv2", 64, 3, &relu);
	vtpu_model_max_pool(model, "pool2", 2, NULL);
	vtpu_model_flatten(model, "flatten");
	vtpu_model_dense(model, "dense1", 64, &relu);
	vtpu_model_dense(model, "dense2", 10, NULL);
	return model;
}

#endif /* TESTS_UNIT_REFERENCE_NETWORK_H */
