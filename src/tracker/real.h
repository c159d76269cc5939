/* The functions that stand behind ours: the next ones in the order of the loader. */
#ifndef MEMWHY_TRACKER_REAL_H
#define MEMWHY_TRACKER_REAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tracker/calls.h"

/* Until the first call each of them finds them all, then does what it is called for. */
struct real {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t n, size_t size);
	void *(*realloc)(void *p, size_t size);
	void (*free)(void *p);
	/* These may be missing: then so are ours. */
	void *(*memalign)(size_t align, size_t size);
	void *(*aligned_alloc)(size_t align, size_t size);
	int (*posix_memalign)(void **ret, size_t align, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
	size_t (*usable_size)(void *p); /* NULL: not known */
	int (*dlclose)(void *handle);
	int (*prctl)(int option, ...);
	int (*mlockall)(int flags);
	void *(*mmap)(void *at, size_t size, int prot, int flags, int fd, off_t offset);
	int (*munmap)(void *at, size_t size);
	int (*mprotect)(void *at, size_t size, int prot);
	int (*pkey_mprotect)(void *at, size_t size, int prot, int key);
	int (*madvise)(void *at, size_t size, int advice);
	void *(*shmat)(int id, const void *at, int flags);
	int (*shmdt)(const void *at);
	void *(*mremap)(void *at, size_t old, size_t size, int flags, ...);
	int (*brk)(void *to);
	void *(*sbrk)(intptr_t by);
};

extern OURS struct real real;

/* Finds them all. Harmless when done twice. */
void real_find(void);

/* The next function of this name; NULL: there is none. *ret_allocator: beside a malloc. */
void *real_function(const char *name, int *ret_allocator);

struct link_map;
/* What is loaded, in the order of the loader; NULL: not known. */
const struct link_map *real_objects(void);
/* Where the stack of the first thread began, at which the kernel left it (Linux: start_stack); 0:
 * not known. Looked up by the first call. */
uint64_t real_stack(void);
/* Where the head of the program's file is; 0: not known. */
uint64_t real_program(void);

#endif
