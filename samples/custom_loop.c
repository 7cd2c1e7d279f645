// SPDX-License-Identifier: MIT
/*
 * custom_loop.c - training without the trainer: graph, gradients, and a loop of one's own.
 *
 * What vtpu_model_fit() does, step by step: say the computation as a graph, have the
 * library add its gradients, let each parameter follow its own, compile all of that into
 * one program, and run it once for each batch. The rule that changes parameters
 * is an ordinary part of the graph: here gradients are made shorter where they are too
 * long, which the trainer cannot do, before plain gradient descent.
 *
 *	custom_loop [DEVICE]
 */
#include <stdio.h>

#include <vtpu/vtpu.h>

#include "common/sample.h"

#define PARAMETERS 4
#define EPOCHS	   3
#define LIMIT	   1.0f /* length of a parameter's gradient */

static struct vtpu_tensor *layer(struct vtpu_graph *g, const char *name, struct vtpu_tensor *x,
				 int64_t inputs, int64_t units)
{
	const struct vtpu_initial he = { .kind = VTPU_INITIAL_HE_NORMAL, .seed = 1 };
	struct vtpu_tensor *w, *b;

	vtpu_scope_begin(g, name);
	w = vtpu_parameter(g, "weights", VTPU_DTYPE_F32, VTPU_SHAPE(inputs, units), &he);
	b = vtpu_parameter(g, "bias", VTPU_DTYPE_F32, VTPU_SHAPE(units), NULL);
	x = vtpu_bias_add(g, vtpu_matmul(g, x, w, NULL), b);
	vtpu_scope_end(g);
	return x;
}

/* gradient * LIMIT / max(length, LIMIT) */
static struct vtpu_tensor *clip(struct vtpu_graph *g, struct vtpu_tensor *gradient)
{
	struct vtpu_tensor *limit = vtpu_number(g, VTPU_DTYPE_F32, LIMIT), *length;

	length = vtpu_sqrt(g, vtpu_reduce_sum(g, vtpu_mul(g, gradient, gradient), 0, false));
	return vtpu_mul(g, gradient, vtpu_div(g, limit, vtpu_maximum(g, length, limit)));
}

/* All of a step. A batch is cut over the cores by the compiler, which also sums the gradients. */
static struct vtpu_graph *make_graph(const struct vtpu_data_info *images, uint32_t batch)
{
	int64_t pixels = images->shape.dim[0] * images->shape.dim[1];
	struct vtpu_tensor *x, *labels, *weights, *loss, *rate, *p[PARAMETERS],
		*gradient[PARAMETERS];
	struct vtpu_graph *g;

	CHECK(vtpu_graph_create(&g));
	x = vtpu_input(g, "images", VTPU_DTYPE_U8, VTPU_SHAPE(batch, pixels));
	labels = vtpu_input(g, "labels", VTPU_DTYPE_U8, VTPU_SHAPE(batch));
	weights = vtpu_input(g, "weights", VTPU_DTYPE_F32, VTPU_SHAPE(batch));
	rate = vtpu_scalar(g, "rate", VTPU_DTYPE_F32);

	x = vtpu_affine(g, x, 1 / 128.f, -0.5f, VTPU_DTYPE_F32);
	x = vtpu_relu(g, layer(g, "hidden", x, pixels, 128));
	x = layer(g, "logits", x, 128, images->classes);
	loss = vtpu_cross_entropy(g, x, labels, weights, NULL);
	vtpu_output(g, loss, "loss");
	vtpu_output(g, vtpu_correct(g, x, labels, weights), "correct");

	vtpu_graph_parameters(g, p, PARAMETERS);
	vtpu_gradients(g, loss, p, PARAMETERS, gradient);
	for (int i = 0; i < PARAMETERS; i++)
		vtpu_sgd(g, p[i], clip(g, gradient[i]), rate,
			 &(struct vtpu_sgd_attrs){ .momentum = 0.9f });
	CHECK(vtpu_graph_status(g)); /* the first error of all these calls */
	return g;
}

int main(int argc, char **argv)
{
	struct vtpu_loader_options order = VTPU_INIT(order, .shuffle = true, .seed = 1);
	struct vtpu_data_info images = VTPU_INIT(images);
	struct vtpu_variables *variables;
	struct vtpu_executable *step;
	struct vtpu_loader *loader;
	struct vtpu_stream *stream;
	struct vtpu_buffer *result;
	struct vtpu_device *dev;
	struct vtpu_graph *graph;
	struct vtpu_data *train;
	uint32_t cores = 0;

	dev = sample_open(argc > 1 ? argv[1] : NULL, &cores);
	CHECK(vtpu_data_mnist(VTPU_DATA_TRAIN, &train));
	CHECK(vtpu_data_info(train, &images));
	printf("%s\n", vtpu_data_describe(train));

	order.batch = 64 * cores;
	graph = make_graph(&images, order.batch);
	CHECK(vtpu_variables_create(dev, graph, 0, &variables));
	CHECK(vtpu_compile(graph, dev, variables, NULL, &step));
	vtpu_graph_destroy(graph);
	CHECK(vtpu_loader_create(dev, train, &order, &loader));
	CHECK(vtpu_stream_create(dev, NULL, &stream));
	/* A loss and a count from each core, the same from all, 64 bytes apart. */
	result = sample_buffer(dev, 2 * 64 * cores, NULL, 0);

	for (int epoch = 0; epoch < EPOCHS; epoch++) {
		double loss_sum = 0, correct_sum = 0;
		struct vtpu_batch batch;
		uint64_t n = 0;

		CHECK(vtpu_loader_begin(loader, epoch, 0));
		for (;;) {
			const struct vtpu_argument rate = { "rate", 0.1 / (1 + epoch) };
			struct vtpu_event *done;
			float loss, correct;

			CHECK(vtpu_loader_next(loader, &batch));
			if (!batch.count)
				break;
			const struct vtpu_place feeds[] = { { "images", batch.x, 0 },
							    { "labels", batch.labels, 0 },
							    { "weights", batch.weights, 0 } };
			const struct vtpu_place results[] = { { "loss", result, 0 },
							      { "correct", result, 64 * cores } };

			CHECK(vtpu_stream_wait(stream, batch.ready)); /* the cores wait, not we */
			CHECK(vtpu_execute(step, stream, feeds, 3, &rate, 1, results, 2, &done));
			CHECK(vtpu_event_wait(done, VTPU_FOREVER));
			CHECK(vtpu_buffer_read(result, 0, &loss, sizeof(loss)));
			CHECK(vtpu_buffer_read(result, 64 * cores, &correct, sizeof(correct)));
			vtpu_event_destroy(done);
			n += batch.count;
			loss_sum += (double)loss * batch.count;
			correct_sum += correct;
			vtpu_loader_release(loader, &batch, NULL);
		}
		printf("Epoch %d: loss %.4f, accuracy %.4f\n", epoch + 1, loss_sum / n,
		       correct_sum / n);
	}
	vtpu_loader_destroy(loader);
	vtpu_stream_destroy(stream);
	vtpu_executable_destroy(step);
	vtpu_variables_destroy(variables);
	vtpu_buffer_free(result);
	vtpu_data_destroy(train);
	vtpu_close(dev);
	return 0;
}
