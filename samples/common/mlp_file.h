/* SPDX-License-Identifier: MIT */
/*
 * mlp_file.h - the file of trained weights that mlp_classify reads and the
 * reference trainer writes: little-endian f32 arrays one after the other,
 * nothing else. x are the image's bytes as they are, 0..255:
 *
 *	logits = relu(x * w1 + b1) * w2 + b2
 */
#ifndef VTPU_SAMPLES_MLP_FILE_H
#define VTPU_SAMPLES_MLP_FILE_H

#define MLP_IN	   784
#define MLP_HIDDEN 128
#define MLP_OUT	   10

/** struct mlp_weights - the file, byte for byte */
struct mlp_weights {
	float w1[MLP_IN][MLP_HIDDEN];
	float b1[MLP_HIDDEN];
	float w2[MLP_HIDDEN][MLP_OUT];
	float b2[MLP_OUT];
};

#endif /* VTPU_SAMPLES_MLP_FILE_H */
