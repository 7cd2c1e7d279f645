// SPDX-License-Identifier: MIT
/*
 * log.c - the log callback.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "core/error.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static vtpu_log_fn receiver;
static void *receiver_arg;
static atomic_int wanted = -1; /* read without the lock, so that unwanted messages cost nothing */

void vtpu_set_log(vtpu_log_fn fn, void *arg, enum vtpu_message level)
{
	pthread_mutex_lock(&lock);
	receiver = fn;
	receiver_arg = arg;
	atomic_store(&wanted, fn ? (int)level : -1);
	pthread_mutex_unlock(&lock);
}

void vtpu_message(enum vtpu_message level, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if ((int)level > atomic_load(&wanted))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&lock);
	if (receiver && (int)level <= atomic_load(&wanted))
		receiver(receiver_arg, level, text);
	pthread_mutex_unlock(&lock);
}
