// SPDX-License-Identifier: MIT
/*
 * expand.c - the graph of all cores: that of one core for each, and the edges between cores.
 *
 * Instances are ordered by (cycle, core, place). So the places of one cycle
 * form a group, and core c's part of it follows that of core c - 1. Behind the instances
 * come the joins of each core, then those of VMEM that sends reach.
 */
#include <stdlib.h>

#include "expand.h"

/** struct lists - successors of each node of a graph */
struct lists {
	uint32_t *start; /* [nodes + 2] into succ */
	uint32_t *succ;
};

struct expansion {
	uint32_t n;	    /* places */
	uint32_t *base;	    /* [places and own joins] node on core 0 */
	uint32_t *stride;   /* the same; from one core to the next */
	uint32_t far_nodes; /* of the far graph that are no joins; 0: it is empty */
	uint32_t far_joins; /* node of its first join */
	struct lists own, far;
};

static bool number_nodes(struct vtpu_program *p, const struct vtpu_sim *sim,
			 const struct vtpu_hazards *h, struct expansion *x)
{
	const uint32_t joins = h->own.joins;
	const size_t nodes = (size_t)sim->n + joins + 1;
	uint32_t end;

	x->n = sim->n;
	x->base = malloc(nodes * sizeof(*x->base));
	x->stride = malloc(nodes * sizeof(*x->stride));
	if (!x->base || !x->stride)
		return false;
	for (uint32_t place = 0; place < sim->n; place = end) {
		for (end = place + 1; end < sim->n && sim->done[end] == sim->done[place];)
			end++;
		for (uint32_t i = place; i < end; i++) {
			x->base[i] = place * p->width + (i - place);
			x->stride[i] = end - place;
		}
	}
	for (uint32_t join = 0; join < joins; join++) {
		x->base[sim->n + join] = p->instances + join;
		x->stride[sim->n + join] = joins;
	}
	x->far_nodes = h->far.edges ? sim->n * p->width : 0;
	x->far_joins = p->instances + joins * p->width;
	return true;
}

/* Successor lists: a counting sort of the edges by where they start. */
static bool sort_edges(const struct vtpu_graph *g, uint32_t nodes, struct lists *lists)
{
	lists->start = calloc((size_t)nodes + 2, sizeof(*lists->start));
	lists->succ = malloc((g->edges + 1) * sizeof(*lists->succ));
	if (!lists->start || !lists->succ)
		return false;
	for (size_t e = 0; e < g->edges; e++)
		lists->start[g->edge[e].from + 2]++;
	for (uint32_t node = 2; node < nodes + 2; node++)
		lists->start[node] += lists->start[node - 1];
	/* start[node + 1] moves to the end of node's list while that fills. */
	for (size_t e = 0; e < g->edges; e++)
		lists->succ[lists->start[g->edge[e].from + 1]++] = g->edge[e].to;
	return true;
}

static uint32_t own_node(const struct expansion *x, uint32_t i, uint32_t core)
{
	return x->base[i] + core * x->stride[i];
}

/* Node @i of the far graph in the program */
static uint32_t far_node(const struct expansion *x, uint32_t i)
{
	return i < x->far_nodes ? own_node(x, i % x->n, i / x->n) :
				  x->far_joins + (i - x->far_nodes);
}

static void put_edge(struct vtpu_program *p, uint32_t *at, uint32_t to)
{
	p->succ[(*at)++] = to;
	p->preds[to]++;
}

/* Successors of @node, which is node @own of core @core, or no core's; and node @far of the far graph, or none there. */
static void put_node(struct vtpu_program *p, const struct expansion *x, uint32_t own, uint32_t core,
		     uint32_t far, uint32_t node)
{
	uint32_t at = p->succ_start[node];

	if (own != UINT32_MAX)
		for (uint32_t s = x->own.start[own]; s < x->own.start[own + 1]; s++)
			put_edge(p, &at, own_node(x, x->own.succ[s], core));
	if (far != UINT32_MAX)
		for (uint32_t s = x->far.start[far]; s < x->far.start[far + 1]; s++)
			put_edge(p, &at, far_node(x, x->far.succ[s]));
	p->succ_start[node + 1] = at;
}

static bool reserve(struct vtpu_program *p, const struct vtpu_hazards *h)
{
	const uint64_t edges = (uint64_t)h->own.edges * p->width + h->far.edges;

	p->nodes = p->instances + h->own.joins * p->width + h->far.joins;
	p->edges = edges;
	if (edges > UINT32_MAX)
		return false;
	p->instance = vtpu_program_keep(p, p->instances, sizeof(*p->instance));
	p->preds = vtpu_program_keep(p, p->nodes, sizeof(*p->preds));
	p->succ_start = vtpu_program_keep(p, (size_t)p->nodes + 1, sizeof(*p->succ_start));
	p->succ = vtpu_program_keep(p, p->edges, sizeof(*p->succ));
	if (!p->instance || !p->preds || !p->succ_start || !p->succ)
		return false;
	memset(p->preds, 0, p->nodes * sizeof(*p->preds));
	p->succ_start[0] = 0;
	return true;
}

static void put_instances(struct vtpu_load *load, struct vtpu_program *p,
			  const struct vtpu_sim *sim, const struct expansion *x)
{
	uint32_t node = 0, end;

	for (uint32_t place = 0; place < sim->n && !vtpu_load_cancelled(load); place = end) {
		end = place + x->stride[place];
		for (uint32_t core = 0; core < p->width; core++) {
			for (uint32_t i = place; i < end; i++, node++) {
				uint32_t number = sim->order[i], unit = vtpu_sim_unit(sim, number);

				p->instance[node] = (struct vtpu_instance){
					.index = number - sim->first[unit],
					.unit = (uint8_t)unit,
					.core = (uint8_t)core,
				};
				put_node(p, x, i, core,
					 x->far_nodes ? core * sim->n + i : UINT32_MAX, node);
			}
		}
	}
}

static bool expand(struct vtpu_load *load, struct vtpu_program *p, const struct vtpu_sim *sim,
		   const struct vtpu_hazards *h, struct expansion *x)
{
	uint32_t node;

	p->instances = node = sim->n * p->width;
	if (!number_nodes(p, sim, h, x) || !sort_edges(&h->own, sim->n + h->own.joins, &x->own) ||
	    (x->far_nodes && !sort_edges(&h->far, x->far_nodes + h->far.joins, &x->far)) ||
	    !reserve(p, h))
		return false;
	put_instances(load, p, sim, x);
	for (uint32_t core = 0; core < p->width && !vtpu_load_cancelled(load); core++)
		for (uint32_t join = 0; join < h->own.joins; join++, node++)
			put_node(p, x, sim->n + join, core, UINT32_MAX, node);
	for (uint32_t join = 0; join < h->far.joins && !vtpu_load_cancelled(load); join++, node++)
		put_node(p, x, UINT32_MAX, 0, x->far_nodes + join, node);
	return !vtpu_load_cancelled(load);
}

bool vtpu_expand(struct vtpu_load *load, struct vtpu_program *p, const struct vtpu_sim *sim,
		 const struct vtpu_hazards *h)
{
	struct expansion x = { 0 };
	bool ok = expand(load, p, sim, h, &x);

	free(x.base);
	free(x.stride);
	free(x.own.start);
	free(x.own.succ);
	free(x.far.start);
	free(x.far.succ);
	return ok;
}
