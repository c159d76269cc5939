/*
 * What glibc's malloc holds in another process: its arenas, found and read from outside while the
 * process runs. Owns the layout of glibc's structures (malloc/malloc.c and arena.c, 2.27 to 2.42,
 * 64 bit); knows neither /proc nor records.
 *
 * The process is not stopped, so that lists may change while they are read: every pointer and size
 * is checked, and an arena that could not be read to its end is marked as partial. Memory that is
 * not resident is never read, as that would make it resident.
 */
#ifndef MEMWHY_SYS_GLIBC_H
#define MEMWHY_SYS_GLIBC_H

#include "base/util.h"
#include "base/vec.h"

#define GLIBC_ARENAS_MAX 1024

/* How the memory of the process is reached, and how much of it: what is not read any more makes an
 * arena partial. */
struct glibc_memory {
	void *arg;
	/* Reads what is resident only: -ENODATA where some of it is not. */
	int (*read)(void *arg, u64 address, void *buf, size_t n);
	/* Resident bytes of whole pages. */
	u64 (*resident)(void *arg, u64 start, u64 end);
};

struct glibc_arena {
	u64 address;
	bool is_main, partial;
	u32 heaps;
	u64 system_bytes;              /* what it has from the kernel */
	u64 used_blocks, used_bytes;   /* handed out, or in a cache of glibc's that looks so */
	u64 free_blocks, free_bytes;   /* in its bins */
	u64 top_bytes;                 /* at its end, never handed out or merged back */
	u64 fast_blocks, fast_bytes;   /* in fastbins: part of used */
	u64 cache_blocks, cache_bytes; /* in caches of threads (tcache): part of used */
	u64 kept_bytes;                /* resident pages that have nothing but free blocks */
	u64 trimmable_bytes;           /* of these, what malloc_trim(0) gives back */
	u64 heap_start, heap_end;      /* of its last heap, of the main arena the brk area */
};

/* Looks for the main arena in a writable part of libc, or of a static program: its bins point at
 * themselves while they are empty. words: n of 8 bytes, which lie at `address`. 0: not found. */
u64 glibc_find(const u64 *words, size_t n, u64 address);

/* To be zeroed before its first use. */
struct glibc_arenas {
	VEC(struct glibc_arena) list; /* the main one first */
	VEC(u64) heaps;               /* addresses of all heaps but the brk area */
};

void glibc_arenas_free(struct glibc_arenas *a);

/* heap_start: where the brk area begins, 0: there is none. -EBADMSG: what is there is no arena;
 * -ENOMEM. */
int glibc_read(struct glibc_memory *m, u64 main_arena, u64 heap_start, struct glibc_arenas *ret);

/* Where an arena other than the main one has its heap: heaps are aligned to their size. */
#define GLIBC_HEAP_BYTES (64ULL << 20)

#endif
