/*
 * Pages of words that BPF programs read, each an array in an array of arrays, written through a
 * mapping: kernels to 5.15 want memory in one piece for a value that they copy. They are mapped one
 * behind the other, and only while they are written: the memory is the kernel's, and would count as
 * ours. Adding one to the array waits for an RCU grace period (14 ms where measured), several at
 * once wait for the same one.
 */
#ifndef MEMWHY_CAPTURE_UNWIND_PAGES_H
#define MEMWHY_CAPTURE_UNWIND_PAGES_H

#include <pthread.h>

#include "bpf/unwind.h"
#include "capture/unwind/extents.h"

/* What the kernel takes for one: what can be mapped begins with a page of its own. */
#define UNWIND_PAGE_COST (sizeof(struct unwind_page) + 4096)

/* One on its way into the map. */
struct unwind_pending {
	pthread_t thread;
	bool threaded;
	int map, fd, rc; /* descriptors: borrowed */
	u32 key;
};

struct unwind_pages {
	int map;
	u32 max;
	u32 n; /* made */
	int fds[UNWIND_PAGES_MAX];
	bool mapped[UNWIND_PAGES_MAX];
	struct unwind_page *at; /* where the first one is mapped, or would be */
	struct unwind_pending pending[UNWIND_PAGES_MAX];
	u32 n_pending;
	struct extents words;
};

/* map: borrowed. */
int unwind_pages_init(struct unwind_pages *p, int map, u32 max);
void unwind_pages_free(struct unwind_pages *p);
/* Room for n words. -ENOSPC. */
int unwind_pages_take(struct unwind_pages *p, u32 n, u32 *ret_start);
void unwind_pages_give(struct unwind_pages *p, u32 start, u32 n);
/* Such words, to be read or written until the next commit or unmap. */
int unwind_pages_map(struct unwind_pages *p, u32 start, u32 n, u32 **ret);
void unwind_pages_unmap(struct unwind_pages *p);
/* Makes a page before it is needed. Nobody waits for it yet. */
int unwind_pages_prepare(struct unwind_pages *p);
/* The same of all that so many words will need, but not of very many. */
void unwind_pages_expect(struct unwind_pages *p, u64 words);
/* Waits until programs see all pages that were made. */
int unwind_pages_commit(struct unwind_pages *p);

#endif
