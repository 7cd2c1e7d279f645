/* SPDX-License-Identifier: MIT */
/*
 * models.h - small networks that train, for tests of the compiler.
 */
#ifndef TESTS_COMPILE_MODELS_H
#define TESTS_COMPILE_MODELS_H

#include <vtpu/vtpu.h>

enum optimiser {
	OPT_ADAM,
	OPT_SGD,
	OPT_MOMENTUM,
	OPT_NONE, /* gradients are results */
};

/** mlp() - dense layers on rows of @in numbers; weighted cross-entropy */
struct vtpu_graph *mlp(int64_t batch, int64_t in, int64_t hidden, enum optimiser opt, bool weights);

/** cnn() - two convolutions with ReLU and max-pooling, two dense layers, on size x size images of bytes */
struct vtpu_graph *cnn(int64_t batch, int64_t size, int64_t c1, int64_t c2, int64_t dense,
		       enum optimiser opt);

/** cifar() - convolutions with batch normalisation, dropout, average pooling */
struct vtpu_graph *cifar(int64_t batch, int64_t size, int64_t channels, float dropout);

#endif /* TESTS_COMPILE_MODELS_H */
