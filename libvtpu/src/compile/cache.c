// SPDX-License-Identifier: MIT
/*
 * cache.c - finished programs by what they depend on.
 */
#include "compile/compile.h"

bool cache_key(struct cache_key *key, const struct vtpu_graph *graph, const struct layout *layout,
	       const struct vtpu_hw_geometry *geometry, const struct vtpu_compile_options *options)
{
	(void)graph, (void)layout, (void)geometry, (void)options;
	key->text = NULL;
	return true;
}

bool cache_find(const struct cache_key *key, const char *dir, struct vtpu_executable *x)
{
	(void)key, (void)dir;
	x->note = "compiled";
	return false;
}

void cache_put(const struct cache_key *key, const char *dir, const struct vtpu_executable *x)
{
	(void)key, (void)dir, (void)x;
}
