// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_irq.c - MSI-X. Vector 0 is the admin queue's and the events', the others
 * are shared by the I/O queues. Fences are signalled here, in the hard
 * interrupt: a thread in between would cost a context switch a job.
 */
#include <linux/interrupt.h>

#include "vtpu_device.h"

static void handle_events(struct vtpu_device *vdev)
{
	u32 events = vtpu_read(vdev, VTPU_REG_EVENTS);

	if (!events || events == ~0u)
		return;
	vtpu_write(vdev, VTPU_REG_EVENTS, events);
	if (events & VTPU_EVENT_FATAL) {
		u32 status = vtpu_read(vdev, VTPU_REG_FATAL);

		drm_err_ratelimited(&vdev->drm, "device stopped: %s, resetting\n",
				    vtpu_status_text(status));
		vtpu_reset_request(vdev);
	}
	if (events & VTPU_EVENT_ECC)
		dev_warn_ratelimited(vdev->drm.dev, "corrected memory error\n");
	/* A halted queue shows in its completions. */
}

static irqreturn_t vtpu_irq_admin(int irq, void *arg)
{
	struct vtpu_vector *vector = arg;

	vtpu_admin_poll(vector->vdev);
	handle_events(vector->vdev);
	return IRQ_HANDLED;
}

/* VTPU_QUEUE_VECTOR() turned round: all queues that raise this vector */
static irqreturn_t vtpu_irq_queues(int irq, void *arg)
{
	struct vtpu_vector *vector = arg;
	struct vtpu_device *vdev = vector->vdev;
	unsigned int step = vdev->nvec - 1, id = vector->index - 1;

	for (id = id ?: step; id <= VTPU_MAX_QUEUES; id += step)
		if (READ_ONCE(vdev->slots[id].ring))
			vtpu_slot_poll(&vdev->slots[id]);
	return IRQ_HANDLED;
}

static int request(struct vtpu_device *vdev, unsigned int index)
{
	struct vtpu_vector *vector = &vdev->vectors[index];
	struct pci_dev *pdev = to_pci_dev(vdev->drm.dev);
	int ret;

	vector->vdev = vdev;
	vector->index = index;
	ret = pci_request_irq(pdev, index, index ? vtpu_irq_queues : vtpu_irq_admin, NULL, vector,
			      "vtpu-%s-%u", dev_name(vdev->drm.dev), index);
	if (ret)
		return ret;
	/* Round the CPUs, nearest first. A wish: the administrator and CPU hotplug may move it. */
	vector->cpu = cpumask_local_spread(index ? index - 1 : 0, dev_to_node(vdev->drm.dev));
	irq_set_affinity_and_hint(pci_irq_vector(pdev, index), cpumask_of(vector->cpu));
	return 0;
}

static void release(struct vtpu_device *vdev, unsigned int index)
{
	struct pci_dev *pdev = to_pci_dev(vdev->drm.dev);

	irq_set_affinity_and_hint(pci_irq_vector(pdev, index), NULL);
	pci_free_irq(pdev, index, &vdev->vectors[index]);
}

int vtpu_irq_init(struct vtpu_device *vdev)
{
	struct pci_dev *pdev = to_pci_dev(vdev->drm.dev);
	unsigned int i;
	int ret;

	ret = pci_alloc_irq_vectors(pdev, vdev->nvec, vdev->nvec, PCI_IRQ_MSIX);
	if (ret < 0) {
		drm_err(&vdev->drm,
			"no %u MSI-X vectors (%d); -device vtpu,vectors=N takes fewer\n",
			vdev->nvec, ret);
		return ret;
	}
	for (i = 0; i < vdev->nvec; i++) {
		ret = request(vdev, i);
		if (ret) {
			drm_err(&vdev->drm, "interrupt vector %u: %d\n", i, ret);
			goto err_free;
		}
	}
	return 0;

err_free:
	while (i--)
		release(vdev, i);
	pci_free_irq_vectors(pdev);
	return ret;
}

/* Wait for handlers that run now. */
void vtpu_irq_sync(struct vtpu_device *vdev)
{
	unsigned int i;

	for (i = 0; i < vdev->nvec; i++)
		synchronize_irq(pci_irq_vector(to_pci_dev(vdev->drm.dev), i));
}

void vtpu_irq_fini(struct vtpu_device *vdev)
{
	struct pci_dev *pdev = to_pci_dev(vdev->drm.dev);
	unsigned int i;

	for (i = 0; i < vdev->nvec; i++)
		release(vdev, i);
	pci_free_irq_vectors(pdev);
}
