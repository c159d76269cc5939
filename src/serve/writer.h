/*
 * The process that writes incidents: it makes a second of work of each, in which the session's
 * thread goes on reading. It is forked before the service drops its rights, keeps none, and ends
 * with the service, after what it is writing.
 */
#ifndef MEMWHY_SERVE_WRITER_H
#define MEMWHY_SERVE_WRITER_H

#include <sys/types.h>

#include "serve/dump.h"

struct writer {
	pid_t pid;
	int socket; /* -1: there is none */
};

int writer_begin(struct writer *ret);
/* Hands it a ring (ring_save()). 0 or -errno: it is gone. One at a time. */
int writer_ask(const struct writer *w, const struct dump_order *o, int ring);
/* Waits so long for what came of it. 1: here it is; 0: not yet; -errno: it ended meanwhile. */
int writer_take(const struct writer *w, int wait_ms, struct dump_result *ret);
/* Has it ended before its time? */
bool writer_is_gone(const struct writer *w);
/* Tells it to end, and waits for that. */
void writer_end(struct writer *w);

#endif
