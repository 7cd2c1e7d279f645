// SPDX-License-Identifier: MIT
/*
 * request.c - DMA that control context issues through the host.
 *
 * The host may complete a request inside its dma() call or later from any
 * thread. Owners see one small state machine: issue, then take. The copy
 * engine has requests of its own.
 */
#include "chip.h"

static void request_done(struct vtpu_dma *dma)
{
	struct vtpu_request *req = dma->opaque;
	struct vtpu_chip *chip = req->chip;
	unsigned int id = req->id;

	/* Inside dma() the issuer looks for itself. The owner may free @req once it is done. */
	if (atomic_exchange(&req->state, VTPU_REQUEST_DONE) == VTPU_REQUEST_PENDING)
		vtpu_attend(chip, id);
	atomic_fetch_sub(&chip->inflight, 1);
}

void vtpu_request_init(struct vtpu_request *req, struct vtpu_chip *chip, unsigned int id)
{
	req->chip = chip;
	req->id = id;
	atomic_init(&req->state, VTPU_REQUEST_IDLE);
}

void vtpu_request_issue(struct vtpu_request *req, uint64_t addr, void *buf, size_t bytes,
			bool to_system)
{
	int calling = VTPU_REQUEST_CALLING;

	req->dma = (struct vtpu_dma){
		.addr = addr,
		.buf = buf,
		.bytes = bytes,
		.to_system = to_system,
		.done = request_done,
		.opaque = req,
	};
	atomic_fetch_add(&req->chip->inflight, 1);
	atomic_store(&req->state, VTPU_REQUEST_CALLING);
	req->chip->ops.dma(req->chip->host, &req->dma);
	atomic_compare_exchange_strong(&req->state, &calling, VTPU_REQUEST_PENDING);
}

bool vtpu_request_idle(struct vtpu_request *req)
{
	return atomic_load(&req->state) == VTPU_REQUEST_IDLE;
}

bool vtpu_request_take(struct vtpu_request *req, bool *ok)
{
	if (atomic_load(&req->state) != VTPU_REQUEST_DONE)
		return false;
	*ok = req->dma.ok;
	if (!*ok)
		vtpu_trace(req->chip, VTPU_TRACE_DMA_FAILED, req->id, 0, req->dma.addr,
			   req->dma.bytes);
	atomic_store(&req->state, VTPU_REQUEST_IDLE);
	return true;
}
