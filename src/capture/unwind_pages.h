/*
 * Pages of words that BPF programs read, each an array in an array of arrays, written through a
 * mapping: kernels to 5.15 want memory in one piece for a value that they copy. Adding one to the
 * array waits for an RCU grace period (14 ms where measured), several at once wait for the same
 * one.
 */
#ifndef MEMWHY_CAPTURE_UNWIND_PAGES_H
#define MEMWHY_CAPTURE_UNWIND_PAGES_H

#include <pthread.h>

#include "bpf/unwind.h"
#include "capture/extents.h"

/* One on its way into the map. */
struct unwind_pending {
	pthread_t thread;
	bool threaded;
	int map, fd, rc;
	u32 key;
};

struct unwind_pages {
	int map;
	u32 max;
	u32 n; /* made */
	struct unwind_page *pages[UNWIND_PAGES_MAX];
	struct unwind_pending pending[UNWIND_PAGES_MAX];
	u32 n_pending;
	struct extents words;
};

/* map: borrowed. */
void unwind_pages_init(struct unwind_pages *p, int map, u32 max);
void unwind_pages_free(struct unwind_pages *p);
/* Room for n words. -ENOSPC. */
int unwind_pages_take(struct unwind_pages *p, u32 n, u32 *ret_start);
void unwind_pages_give(struct unwind_pages *p, u32 start, u32 n);
void unwind_pages_write(struct unwind_pages *p, u32 start, const u32 *words, u32 n);
/* Makes a page before it is needed. Nobody waits for it yet. */
int unwind_pages_prepare(struct unwind_pages *p);
/* Waits until programs see all pages that were made. */
int unwind_pages_commit(struct unwind_pages *p);

#endif
