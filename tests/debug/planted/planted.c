// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * planted.c - a module with one bug for each checker of the debug kernel, so that tests/debug/in-vm.sh can show that
 * it would have seen it. Loading it with what=NAME does the deed.
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

static char *what = "";
module_param(what, charp, 0);

static int sink; /* keeps reads and shifts from being optimised away */
static DEFINE_MUTEX(lock_a);
static DEFINE_MUTEX(lock_b);
static DEFINE_SPINLOCK(spin);

static void use_after_free(void)
{
	int *p = kmalloc(64, GFP_KERNEL);

	if (!p)
		return;
	OPTIMIZER_HIDE_VAR(p);
	kfree(p);
	sink = READ_ONCE(*p);
}

static void lock_order(void)
{
	mutex_lock(&lock_a);
	mutex_lock(&lock_b);
	mutex_unlock(&lock_b);
	mutex_unlock(&lock_a);
	mutex_lock(&lock_b);
	mutex_lock(&lock_a);
	mutex_unlock(&lock_a);
	mutex_unlock(&lock_b);
}

static void sleep_atomic(void)
{
	spin_lock(&spin);
	might_sleep();
	spin_unlock(&spin);
}

static void shift(void)
{
	int bits = 40;

	OPTIMIZER_HIDE_VAR(bits);
	sink = 1 << bits;
}

static void leak(void)
{
	void *p = kmalloc(100, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(p);
}

static void saturate(void)
{
	refcount_t count = REFCOUNT_INIT(0);

	refcount_inc(&count);
}

static void no_timeout(struct timer_list *timer)
{
}

/* The checker takes the timer back, so that the machine lives. */
static void live_timer(void)
{
	struct timer_list *timer = kzalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return;
	timer_setup(timer, no_timeout, 0);
	mod_timer(timer, jiffies + 1000 * HZ);
	kfree(timer);
}

static void dma_size(void)
{
	struct pci_dev *pci = pci_get_device(PCI_ANY_ID, PCI_ANY_ID, NULL);
	void *p = kmalloc(256, GFP_KERNEL);
	dma_addr_t dma;

	if (pci && p) {
		dma = dma_map_single(&pci->dev, p, 256, DMA_TO_DEVICE);
		if (!dma_mapping_error(&pci->dev, dma))
			dma_unmap_single(&pci->dev, dma, 128, DMA_TO_DEVICE);
	}
	kfree(p);
	pci_dev_put(pci);
}

static const struct {
	const char *name;
	void (*deed)(void);
} deeds[] = {
	{ "use-after-free", use_after_free },
	{ "lock-order", lock_order },
	{ "sleep", sleep_atomic },
	{ "shift", shift },
	{ "leak", leak },
	{ "refcount", saturate },
	{ "timer", live_timer },
	{ "dma", dma_size },
};

static int __init planted_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(deeds); i++) {
		if (!strcmp(deeds[i].name, what)) {
			deeds[i].deed();
			return 0;
		}
	}
	return -EINVAL;
}

static void __exit planted_exit(void)
{
}

module_init(planted_init);
module_exit(planted_exit);
MODULE_DESCRIPTION("one bug for each checker");
MODULE_LICENSE("GPL");
