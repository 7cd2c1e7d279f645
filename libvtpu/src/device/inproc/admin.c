// SPDX-License-Identifier: MIT
/*
 * admin.c - admin commands: sent in order, completed in any.
 */
#include <stdlib.h>
#include <string.h>

#include "device/inproc/inproc.h"

#define ADMIN_DEPTH (1u << VTPU_ADMIN_DEPTH_LOG2)

struct ip_command *ip_command_create(uint16_t opcode)
{
	struct ip_command *cmd = calloc(1, sizeof(*cmd));

	if (cmd)
		cmd->u.h.opcode = opcode;
	return cmd;
}

static void send_commands(struct ip_device *dev)
{
	bool sent = false;

	while (dev->admin.first && dev->admin.pushed - dev->admin.reaped < ADMIN_DEPTH) {
		struct ip_command *cmd = dev->admin.first;

		dev->admin.first = cmd->next;
		if (!cmd->next)
			dev->admin.last = &dev->admin.first;
		cmd->u.h.seq = dev->admin.pushed;
		memcpy(&dev->admin.sq[dev->admin.pushed % ADMIN_DEPTH], &cmd->u, sizeof(cmd->u));
		dev->admin.pushed++;
		cmd->next = dev->admin.sent;
		dev->admin.sent = cmd;
		sent = true;
	}
	if (!sent)
		return;
	atomic_store_explicit(dev->admin.tail, dev->admin.pushed, memory_order_release);
	ip_doorbell(dev, 0);
}

void ip_command_post(struct ip_device *dev, struct ip_command *cmd,
		     void (*done)(struct ip_device *dev, struct ip_command *cmd), void *arg)
{
	cmd->done = done;
	cmd->arg = arg;
	*dev->admin.last = cmd;
	dev->admin.last = &cmd->next;
	send_commands(dev);
}

uint32_t ip_command_run(struct ip_device *dev, struct ip_command *cmd)
{
	uint32_t status;

	cmd->waited = true;
	ip_command_post(dev, cmd, NULL, NULL);
	while (!cmd->ended)
		ip_wait(dev, UINT64_MAX);
	status = cmd->status;
	free(cmd);
	return status;
}

static void command_end(struct ip_device *dev, uint32_t seq, uint32_t status)
{
	struct ip_command **at = &dev->admin.sent, *cmd;

	while (*at && (*at)->u.h.seq != seq)
		at = &(*at)->next;
	cmd = *at;
	if (!cmd)
		return;
	*at = cmd->next;
	cmd->status = status;
	cmd->ended = true;
	if (cmd->done)
		cmd->done(dev, cmd);
	if (cmd->waited)
		pthread_cond_broadcast(&dev->changed);
	else
		free(cmd);
}

void ip_admin_poll(struct ip_device *dev)
{
	for (;;) {
		struct vtpu_cqe *cqe = &dev->admin.cq[dev->admin.reaped % ADMIN_DEPTH];
		uint32_t status = __atomic_load_n(&cqe->status, __ATOMIC_ACQUIRE);

		if (!vtpu_cqe_ready(status, dev->admin.reaped, VTPU_ADMIN_DEPTH_LOG2))
			break;
		dev->admin.reaped++;
		command_end(dev, cqe->seq, status & VTPU_CQE_STATUS_MASK);
	}
	send_commands(dev);
}
