// SPDX-License-Identifier: MIT
/*
 * progress.c - what a person sees of a fit: a bar on a terminal, a line an epoch elsewhere.
 */
#include <inttypes.h>
#include <math.h>
#include <unistd.h>

#include "train/train.h"

#define BAR_WIDTH 24
#define REDRAW_NS 100000000ull

void progress_open(struct progress_writer *writer, FILE *file)
{
	*writer = (struct progress_writer){ .file = file };
	writer->terminal = file && isatty(fileno(file));
}

static void numbers(FILE *file, const struct vtpu_fit_progress *p)
{
	fprintf(file, " %.1f s, %.2f ms/step - loss: %.4f - accuracy: %.4f", p->seconds,
		p->step_seconds * 1e3, p->loss, p->accuracy);
	if (!isnan(p->val_loss) || !isnan(p->val_accuracy))
		fprintf(file, " - val_loss: %.4f - val_accuracy: %.4f", p->val_loss,
			p->val_accuracy);
}

static void bar(FILE *file, const struct vtpu_fit_progress *p)
{
	int full = (int)((p->step + 1) * BAR_WIDTH / p->steps);

	fprintf(file, "\rEpoch %u/%u [", p->epoch + 1, p->epochs);
	for (int i = 0; i < BAR_WIDTH; i++)
		fputc(i < full ? '=' : i == full ? '>' : '.', file);
	fprintf(file, "] %" PRIu64 "/%" PRIu64, p->step + 1, p->steps);
	numbers(file, p);
	fputs("\033[K", file);
	fflush(file);
}

void progress_step(struct progress_writer *writer, const struct vtpu_fit_progress *progress)
{
	uint64_t now = run_now();

	if (!writer->terminal || now - writer->shown_ns < REDRAW_NS)
		return;
	writer->shown_ns = now;
	bar(writer->file, progress);
}

void progress_epoch(struct progress_writer *writer, const struct vtpu_fit_progress *progress)
{
	if (!writer->file)
		return;
	if (writer->terminal) {
		bar(writer->file, progress);
	} else {
		fprintf(writer->file, "Epoch %u/%u - step %" PRIu64 "/%" PRIu64 " -",
			progress->epoch + 1, progress->epochs, progress->step + 1, progress->steps);
		numbers(writer->file, progress);
	}
	fputc('\n', writer->file);
	fflush(writer->file);
	writer->shown_ns = 0;
}

void progress_break(struct progress_writer *writer)
{
	if (writer->terminal && writer->shown_ns)
		fputc('\n', writer->file);
	writer->shown_ns = 0;
}
