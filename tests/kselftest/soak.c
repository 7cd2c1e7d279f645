// SPDX-License-Identifier: MIT
/*
 * soak.c - clients work while faults come: answers are right or lost, never wrong, and nothing is left behind.
 *
 * Eight processes, each with jobs on a compute queue and on a copy queue, open and close their
 * files again and again. Once a second the host brings a fault about, drawn by lot: whose job meets
 * it is chance. A job may end with an error that says so; its client makes a new queue and goes on.
 *
 *	soak SECONDS [SEED]
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kst.h"

#define CLIENTS	    8
#define BYTES	    65536
#define HOST_VA	    VTPU_VA_HOST_START
#define HBM_VA	    (1ULL << 40)
#define LIFE	    40 /* rounds of a file */
#define PATIENCE_NS (60 * KST_SECOND)

/** struct tally - of one client; shared with the parent */
struct tally {
	atomic_uint right, lost, opened;
};

static struct {
	atomic_bool over;
	struct tally client[CLIENTS];
} * shared;

/* What may happen, and how the host is told; none makes an answer wrong in silence, or ends the device. */
static const char *const faults[] = {
	"hang",
	"lost-irq",
	"dma-error",
	"ignore-abort",
	"stuck",
	"fatal",
	"lost-command",
	"ecc",
	"ecc-corrected:times=3",
	"slow:every=2:times=5",
	"ecc:chance=4:times=2",
	"hang:job=3",
	"AER BAD_TLP",
	"AER POISON_TLP",
	"AER DLP",
};

#define FAULTS (sizeof(faults) / sizeof(faults[0]))

static const char *const words[] = { "makes no progress, aborting it",
				     "abort has no effect, resetting the queue",
				     "queue reset has no effect, resetting the device",
				     "device has been reset",
				     "device stopped: device model fault, resetting",
				     "admin command 0x",
				     "corrected memory error",
				     "AER: ",
				     "PCIe Bus Error",
				     "device [",
				     "  [",
				     "Root Port link has been reset",
				     NULL };

static void check(const char *what, bool ok)
{
	static unsigned int n;

	printf("%sok %u - %s\n", ok ? "" : "not ", ++n, what);
	fflush(stdout);
}

/* ---- A client ---- */

struct worker {
	struct kst_client c;
	uint32_t copy, host, hbm;
	uint8_t *memory; /* what goes to HBM, and what has come back */
	void *device;	 /* HBM in between; mapped, not used */
};

static void open_worker(struct worker *w)
{
	kst_client(&w->c);
	w->memory = kst_ready(w->c.fd, 2 * BYTES, VTPU_REGION_HOST, HOST_VA, &w->host);
	w->device = kst_ready(w->c.fd, BYTES, VTPU_REGION_HBM, HBM_VA, &w->hbm);
	kst_need(kst_queue(w->c.fd, VTPU_QUEUE_COPY, 0, &w->copy), "a copy queue");
}

/* There and back */
static int copy(struct worker *w)
{
	const struct vtpu_copy_desc desc[2] = { kst_copy(HBM_VA, HOST_VA, BYTES),
						kst_copy(HOST_VA + BYTES, HBM_VA, BYTES) };
	struct vtpu_job job = kst_job(0, desc, sizeof(desc), NULL, 0);
	int ret;

	for (unsigned int i = 0; i < BYTES; i++)
		w->memory[i] = (uint8_t)(i * 31 + w->c.round * 7);
	memset(w->memory + BYTES, 0, BYTES);
	ret = kst_run(w->c.fd, w->copy, &job);
	if (ret)
		return ret < 0 ? ret : -EINPROGRESS;
	return memcmp(w->memory, w->memory + BYTES, BYTES) ? -EBADMSG : 0;
}

/* The errors that a fault may give to whom it meets and to those who lose their queue with him */
static bool is_loss(int ret)
{
	return ret == -EIO || ret == -ETIME || ret == -ECANCELED || ret == -EREMOTEIO;
}

/* A queue for one that was lost */
static void renew(int fd, uint32_t kind, uint32_t *queue)
{
	kst_queue_destroy(fd, *queue);
	kst_need(kst_queue(fd, kind, 0, queue), "a new queue");
}

static int live(struct tally *t)
{
	struct worker w;

	open_worker(&w);
	for (int round = 0; round < LIFE && !atomic_load(&shared->over); round++) {
		int ret = round % 2 ? copy(&w) : kst_try(&w.c);

		if (!ret) {
			atomic_fetch_add(&t->right, 1);
			continue;
		}
		if (!is_loss(ret)) {
			printf("# a job ends with %s\n", strerror(-ret));
			fflush(stdout);
			return 1;
		}
		atomic_fetch_add(&t->lost, 1);
		renew(w.c.fd, VTPU_QUEUE_COMPUTE, &w.c.queue);
		renew(w.c.fd, VTPU_QUEUE_COPY, &w.copy);
	}
	munmap(w.memory, 2 * BYTES);
	munmap(w.device, BYTES);
	kst_client_close(&w.c);
	return 0;
}

static int client(struct tally *t)
{
	kst_patient(PATIENCE_NS);
	while (!atomic_load(&shared->over)) {
		atomic_fetch_add(&t->opened, 1);
		if (live(t))
			return 1;
	}
	return 0;
}

/* ---- All of them ---- */

static void bring_about(const char *fault)
{
	if (!strncmp(fault, "AER ", 4))
		kst_bus_error(fault + 4);
	else
		kst_inject(fault);
}

static uint64_t hbm_used(void)
{
	unsigned long long bytes = ~0ULL;
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/vtpu/hbm_used_bytes", kst_pci());
	f = fopen(path, "r");
	if (f && fscanf(f, "%llu", &bytes) != 1)
		bytes = ~0ULL;
	if (f)
		fclose(f);
	return bytes;
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 20, failed = 0, status, log;
	unsigned int seed = argc > 2 ? (unsigned int)atoi(argv[2]) : 1, count[FAULTS] = { 0 };
	unsigned int right = 0, lost = 0, opened = 0, least = ~0u, before[CLIENTS], idle = 0;
	struct vtpu_query_info info;
	struct kst_client after;
	pid_t pid[CLIENTS];
	int64_t end;

	kst_pci();
	log = kst_log();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	kst_need(shared == MAP_FAILED, "shared memory");
	printf("TAP version 13\n1..8\n");
	fflush(stdout);
	for (int i = 0; i < CLIENTS; i++) {
		pid[i] = fork();
		if (!pid[i])
			_exit(client(&shared->client[i]));
	}
	srand(seed);
	end = kst_now() + seconds * KST_SECOND;
	while (kst_now() < end) {
		unsigned int fault = (unsigned int)rand() % FAULTS;

		bring_about(faults[fault]);
		count[fault]++;
		kst_sleep_ms(1000);
	}
	kst_inject("none");
	/* The last fault may take a device reset; then everybody works again. */
	kst_sleep_ms(8000);
	for (int i = 0; i < CLIENTS; i++)
		before[i] = atomic_load(&shared->client[i].right);
	kst_sleep_ms(3000);
	for (int i = 0; i < CLIENTS; i++)
		idle += atomic_load(&shared->client[i].right) == before[i];
	atomic_store(&shared->over, true);
	for (int i = 0; i < CLIENTS; i++) {
		const struct tally *t = &shared->client[i];

		if (waitpid(pid[i], &status, 0) != pid[i] || status) {
			printf("# client %d ended with status 0x%x\n", i, (unsigned int)status);
			failed++;
		}
		right += t->right;
		lost += t->lost;
		opened += t->opened;
		least = t->right < least ? t->right : least;
	}
	check("every job of every client was right or lost, and said so", !failed);
	check("no client was left out", least >= (unsigned int)seconds);
	check("all work again when the faults have ended", !idle);
	check("some jobs were lost to the faults", lost > 0);
	for (int ms = 0; ms < 5000 && hbm_used(); ms += 20)
		kst_sleep_ms(20);
	check("no HBM is left behind", !hbm_used());
	kst_client(&after);
	info = kst_info(after.fd);
	check("a new client's answer is right", kst_answer(&after) && info.state == VTPU_DEVICE_OK);
	kst_client_close(&after);
	check("the kernel's log has nothing but what is expected", !kst_log_bad(log, words));
	check("the module can be unloaded", !kst_module_unload());
	printf("# %d clients, %d s: %u right (%u at least each), %u lost; %u files, %u resets of the device\n#",
	       CLIENTS, seconds, right, least, lost, opened, info.reset_count);
	for (unsigned int i = 0; i < FAULTS; i++)
		printf(" %s: %u%s", faults[i], count[i], i + 1 < FAULTS ? "," : "\n");
	return 0;
}
