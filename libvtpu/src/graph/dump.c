// SPDX-License-Identifier: MIT
/*
 * dump.c - graphs as text and in Graphviz' language.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/locale.h"
#include "graph/op.h"

static void put_shape(FILE *f, const struct vtpu_shape *shape)
{
	fputc('[', f);
	for (uint32_t i = 0; i < shape->rank; i++)
		fprintf(f, "%s%lld", i ? "," : "", (long long)shape->dim[i]);
	fputc(']', f);
}

static void put_type(FILE *f, const struct vtpu_tensor *x)
{
	fputs(vtpu_dtype_name(x->type), f);
	put_shape(f, &x->shape);
}

/* As many digits as tell the number from its neighbours. */
static void put_float(FILE *f, float value)
{
	char text[32];
	int digits = 6;

	do
		snprintf(text, sizeof(text), "%.*g", digits, (double)value);
	while (strtof(text, NULL) != value && digits++ < 9);
	fputs(text, f);
}

static void put_axes(FILE *f, uint32_t axes)
{
	for (uint32_t i = 0, n = 0; i < VTPU_MAX_RANK; i++) {
		if (axes & VTPU_AXIS(i))
			fprintf(f, "%s%u", n++ ? "," : "", i);
	}
}

static void put_element(FILE *f, const struct vtpu_attr *attr, size_t i)
{
	switch (attr->kind) {
	case VTPU_ATTR_INT:
		fprintf(f, "%d", ((const int32_t *)attr->value)[i]);
		break;
	case VTPU_ATTR_UINT:
		fprintf(f, "%u", ((const uint32_t *)attr->value)[i]);
		break;
	case VTPU_ATTR_FLOAT:
		put_float(f, ((const float *)attr->value)[i]);
		break;
	case VTPU_ATTR_BOOL:
		fputs(((const bool *)attr->value)[i] ? "yes" : "no", f);
		break;
	case VTPU_ATTR_TYPE:
		fputs(vtpu_dtype_name(((const enum vtpu_dtype *)attr->value)[i]), f);
		break;
	case VTPU_ATTR_SHAPE:
		put_shape(f, &((const struct vtpu_shape *)attr->value)[i]);
		break;
	case VTPU_ATTR_AXES:
		put_axes(f, ((const uint32_t *)attr->value)[i]);
		break;
	case VTPU_ATTR_ENUM:
		fputs(attr->words[((const int32_t *)attr->value)[i]], f);
		break;
	case VTPU_ATTR_BYTES:
		break;
	}
}

/* Of constants: a single number as it is, more as their length. */
static void put_bytes(FILE *f, const struct vtpu_node *node, const struct vtpu_attr *attr)
{
	float value;

	if (attr->count == sizeof(value) && node->outputs && node->output->type == VTPU_DTYPE_F32) {
		memcpy(&value, attr->value, sizeof(value));
		put_float(f, value);
	} else {
		fprintf(f, "%zu bytes", attr->count);
	}
}

static void put_attrs(FILE *f, const struct vtpu_node *node, const char *before)
{
	struct vtpu_attr attr;

	for (size_t i = 0; vtpu_node_attr(node, i, &attr); i++) {
		if (attr.plain || !attr.count)
			continue;
		fprintf(f, "%s%s=", before, attr.name);
		for (size_t n = 0; n < attr.count && attr.kind != VTPU_ATTR_BYTES; n++) {
			if (n)
				fputc(',', f);
			put_element(f, &attr, n);
		}
		if (attr.kind == VTPU_ATTR_BYTES)
			put_bytes(f, node, &attr);
	}
}

static void put_line(FILE *f, const struct vtpu_node *node)
{
	fprintf(f, "%s", node->name);
	for (uint32_t i = 1; i < node->outputs; i++)
		fprintf(f, ", :%s", node->op->output[i]);
	fprintf(f, " = %s(", node->op->name);
	for (uint32_t i = 0; i < node->inputs; i++)
		fprintf(f, "%s%s", i ? ", " : "", node->input[i]->name);
	fputc(')', f);
	put_attrs(f, node, " ");
	for (uint32_t i = 0; i < node->outputs; i++) {
		fputs(i ? ", " : " : ", f);
		put_type(f, &node->output[i]);
	}
	fputc('\n', f);
}

static void put_text(FILE *f, const struct vtpu_graph *g)
{
	for (size_t i = 0; i < g->nodes; i++)
		put_line(f, g->node[i]);
}

/* Opens a box for each scope of a name; Graphviz merges boxes of one name. */
static unsigned int put_boxes(FILE *f, const char *name)
{
	const char *slash = name, *label = name;
	unsigned int depth = 0;

	for (; (slash = strchr(slash, '/')); label = ++slash, depth++)
		fprintf(f, "subgraph \"cluster_%.*s\" { label=\"%.*s\"; ", (int)(slash - name),
			name, (int)(slash - label), label);
	return depth;
}

static void put_dot_node(FILE *f, const struct vtpu_node *node)
{
	const char *slash = strrchr(node->name, '/');
	unsigned int depth;

	fputc('\t', f);
	depth = put_boxes(f, node->name);
	fprintf(f, "n%u [label=\"%s\\n%s", node->id, slash ? slash + 1 : node->name,
		node->op->name);
	put_attrs(f, node, "\\n");
	fprintf(f, "\"%s];",
		!node->inputs		    ? ", shape=ellipse" :
		node->op->flags & OP_EFFECT ? ", shape=hexagon" :
					      "");
	while (depth--)
		fputs(" }", f);
	fputc('\n', f);
}

static void put_dot(FILE *f, const struct vtpu_graph *g)
{
	fputs("digraph vtpu {\n\tnode [shape=box];\n", f);
	for (size_t i = 0; i < g->nodes; i++)
		put_dot_node(f, g->node[i]);
	for (size_t i = 0; i < g->nodes; i++) {
		for (uint32_t n = 0; n < g->node[i]->inputs; n++) {
			const struct vtpu_tensor *x = g->node[i]->input[n];

			fprintf(f, "\tn%u -> n%u [label=\"", x->node->id, g->node[i]->id);
			put_type(f, x);
			fputs("\"];\n", f);
		}
	}
	fputs("}\n", f);
}

static enum vtpu_status dump(const struct vtpu_graph *g, char **text,
			     void (*put)(FILE *f, const struct vtpu_graph *g))
{
	char *all = NULL;
	size_t bytes = 0;
	locale_t old;
	FILE *f;
	bool ok;

	if (!g)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "the graph to dump is NULL");
	f = open_memstream(&all, &bytes);
	if (!f)
		return vtpu_fail_nomem("the text of a graph");
	old = text_number_locale();
	put(f, g);
	text_restore_locale(old);
	ok = !ferror(f);
	if (fclose(f) || !ok) {
		free(all);
		return vtpu_fail_nomem("the text of a graph");
	}
	*text = all;
	return VTPU_OK;
}

enum vtpu_status vtpu_graph_text(const struct vtpu_graph *g, char **text)
{
	return dump(g, text, put_text);
}

enum vtpu_status vtpu_graph_dot(const struct vtpu_graph *g, char **text)
{
	return dump(g, text, put_dot);
}
