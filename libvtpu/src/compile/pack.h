/* SPDX-License-Identifier: MIT */
/*
 * pack.h - executables as bytes, for the cache.
 */
#ifndef VTPU_SRC_COMPILE_PACK_H
#define VTPU_SRC_COMPILE_PACK_H

#include "compile/compile.h"

/** pack_write() - all of an executable but what is the device's; free() it. NULL without memory */
uint8_t *pack_write(const struct cache_key *key, const struct vtpu_executable *x, size_t *bytes);

/** pack_is() - are these bytes whole, and of this key? */
bool pack_is(const uint8_t *data, size_t bytes, const struct cache_key *key);

/** pack_read() - fill in an executable. Return: false if the bytes are not what pack_write() wrote for this key */
bool pack_read(const uint8_t *data, size_t bytes, const struct cache_key *key,
	       struct vtpu_executable *x);

#endif /* VTPU_SRC_COMPILE_PACK_H */
