/*
 * What the program calls instead of mmap, munmap, mremap, mprotect, brk, sbrk and their like. As
 * with blocks, what is given back is told of before it happens, and what is had after it. What
 * libc, the loader and the allocator do with memory among themselves does not come through here.
 *
 * Kernel facts: mm/mmap.c and mm/mremap.c round sizes up to pages (of hugetlbfs: to its pages), and
 * brk() maps and unmaps between the page-aligned breaks.
 */
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "tracker/own_stack.h"
#include "tracker/real.h"
#include "tracker/stack.h"

#define EXPORT __attribute__((visibility("default")))
#define FRAME ((const u64 *)__builtin_frame_address(0))

#define HUGE_SHIFT 26 /* in the flags of mmap; 6 bits */

static u64 rounded(u64 v, u64 page)
{
	return (v + page - 1) & ~(page - 1);
}

/* frame: NULL where nobody asks who it was. */
static void mapping_put(
	const u64 *frame, enum track_mapping what, enum track_mapped kind, u64 address, u64 bytes)
{
	struct thread *t = thread_now();
	u64 stack, stamp, at;

	if (!t)
		return;
	stack = frame ? stack_number(t, frame) : 0;
	__builtin_ia32_lfence(); /* exact, whatever the mode: mappings have no order of their own */
	stamp = thread_stamp(t);
	if (!thread_reserve(t, TRACK_MAPPING_WORDS, &at))
		return;
	thread_put(t, at + 3, stack << TRACK_ARG_SHIFT);
	thread_put(t, at + 2, bytes << TRACK_ARG_SHIFT);
	thread_put(t, at + 1, address & ~(TRACK_PAGE - 1));
	thread_put(t, at,
		stamp | ((u64)kind << TRACK_MAPPED_SHIFT | what) << TRACK_VALUE_SHIFT |
			TRACK_MAPPING << TRACK_ARG_SHIFT | TRACK_EXTRA);
}

static enum track_mapped tracker_mapping_kind_of(int flags)
{
	int shared = (flags & MAP_TYPE) != MAP_PRIVATE;

	if (flags & MAP_ANONYMOUS)
		return shared ? TRACK_MAPPED_SHARED : TRACK_MAPPED_ANONYMOUS;
	return shared ? TRACK_MAPPED_FILE_SHARED : TRACK_MAPPED_FILE;
}

static u64 page_of(int flags)
{
	u64 shift = (u32)flags >> HUGE_SHIFT;

	if (!(flags & MAP_HUGETLB))
		return TRACK_PAGE;
	return shift ? 1ULL << shift : track ? track->huge_bytes : TRACK_PAGE;
}

static inline void *map(
	const u64 *frame, void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *p;
	int goes;

	if (!real.mmap)
		real_find();
	goes = memory_goes(SYS_mmap, (u64)at, size, (u64)prot, (u64)flags, 0);
	p = real.mmap ? real.mmap(at, size, prot, flags, fd, offset) : MAP_FAILED;
	memory_is_gone(goes);
	mapping_put(frame, p == MAP_FAILED ? TRACK_MAP_FAILED : TRACK_MAP,
		tracker_mapping_kind_of(flags), p == MAP_FAILED ? 0 : (u64)p,
		rounded(size, page_of(flags)));
	return p;
}

EXPORT void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	return map(FRAME, at, size, prot, flags, fd, offset);
}

EXPORT void *mmap64(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	return map(FRAME, at, size, prot, flags, fd, offset);
}

EXPORT int munmap(void *at, size_t size)
{
	int rc, goes;

	if (!real.munmap)
		real_find();
	mapping_put(NULL, TRACK_UNMAP, 0, (u64)at, rounded(size, TRACK_PAGE));
	goes = memory_goes(SYS_munmap, (u64)at, size, 0, 0, 0);
	rc = real.munmap ? real.munmap(at, size) : -1;
	memory_is_gone(goes);
	if (rc)
		mapping_put(FRAME, TRACK_MAP_RESTORE, 0, (u64)at, rounded(size, TRACK_PAGE));
	return rc;
}

/* No event: what is mapped stays. But it may no longer be read (own_stack.h). */
EXPORT int mprotect(void *at, size_t size, int prot)
{
	int rc, goes;

	if (!real.mprotect)
		real_find();
	goes = memory_goes(SYS_mprotect, (u64)at, size, (u64)prot, 0, 0);
	rc = real.mprotect ? real.mprotect(at, size, prot) : -1;
	memory_is_gone(goes);
	return rc;
}

EXPORT int pkey_mprotect(void *at, size_t size, int prot, int key)
{
	int rc, goes;

	if (!real.pkey_mprotect)
		real_find();
	goes = memory_goes(SYS_pkey_mprotect, (u64)at, size, (u64)prot, (u64)key, 0);
	rc = real.pkey_mprotect ? real.pkey_mprotect(at, size, prot, key) : -1;
	memory_is_gone(goes);
	return rc;
}

EXPORT int madvise(void *at, size_t size, int advice)
{
	int rc, goes;

	if (!real.madvise)
		real_find();
	goes = memory_goes(SYS_madvise, (u64)at, size, (u64)advice, 0, 0);
	rc = real.madvise ? real.madvise(at, size, advice) : -1;
	memory_is_gone(goes);
	return rc;
}

EXPORT void *shmat(int id, const void *at, int flags)
{
	void *p;
	int goes;

	if (!real.shmat)
		real_find();
	goes = memory_goes(SYS_shmat, (u64)id, (u64)at, (u64)flags, 0, 0);
	p = real.shmat ? real.shmat(id, at, flags) : MAP_FAILED;
	memory_is_gone(goes);
	return p;
}

EXPORT int shmdt(const void *at)
{
	int rc, goes;

	if (!real.shmdt)
		real_find();
	goes = memory_goes(SYS_shmdt, (u64)at, 0, 0, 0, 0);
	rc = real.shmdt ? real.shmdt(at) : -1;
	memory_is_gone(goes);
	return rc;
}

/* With a size of 0 a second view of shared memory is made, and MREMAP_DONTUNMAP leaves the old
 * place mapped: both take nothing away. */
EXPORT void *mremap(void *old, size_t old_size, size_t size, int flags, ...)
{
	int moves = old_size && !(flags & MREMAP_DONTUNMAP);
	va_list rest;
	void *to, *p;
	int goes;

	va_start(rest, flags);
	to = flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) ? va_arg(rest, void *) : NULL;
	va_end(rest);
	if (!real.mremap)
		real_find();
	if (moves)
		mapping_put(NULL, TRACK_MAP_MOVE, 0, (u64)old, rounded(old_size, TRACK_PAGE));
	goes = memory_goes(SYS_mremap, (u64)old, old_size, size, (u64)flags, (u64)to);
	p = real.mremap ? real.mremap(old, old_size, size, flags, to) : MAP_FAILED;
	memory_is_gone(goes);
	if (p != MAP_FAILED)
		mapping_put(FRAME, moves ? TRACK_MAP_MOVED : TRACK_MAP, 0, (u64)p,
			rounded(size, TRACK_PAGE));
	else
		mapping_put(FRAME, moves ? TRACK_MAP_RESTORE : TRACK_MAP_FAILED, 0, (u64)old,
			rounded(old_size, TRACK_PAGE));
	return p;
}

/* The break was moved. What lies above it now is told of only afterwards: nobody is given it but
 * who asks for just that address. */
static void break_moved(const u64 *frame, u64 from, u64 to)
{
	from = rounded(from, TRACK_PAGE);
	to = rounded(to, TRACK_PAGE);
	if (to > from)
		mapping_put(frame, TRACK_MAP, TRACK_MAPPED_BREAK, from, to - from);
	else if (to < from)
		mapping_put(NULL, TRACK_UNMAP, TRACK_MAPPED_BREAK, to, from - to);
}

EXPORT int brk(void *to)
{
	u64 from;
	int rc;

	if (!real.brk || !real.sbrk)
		real_find();
	from = real.sbrk ? (u64)real.sbrk(0) : 0;
	rc = real.brk ? real.brk(to) : -1;
	if (rc)
		mapping_put(FRAME, TRACK_MAP_FAILED, TRACK_MAPPED_BREAK, 0, 0);
	else
		break_moved(FRAME, from, (u64)to);
	return rc;
}

EXPORT void *sbrk(intptr_t by)
{
	void *from;

	if (!real.sbrk)
		real_find();
	from = real.sbrk ? real.sbrk(by) : MAP_FAILED;
	if (from == MAP_FAILED)
		mapping_put(FRAME, TRACK_MAP_FAILED, TRACK_MAPPED_BREAK, 0, 0);
	else
		break_moved(FRAME, (u64)from, (u64)from + (u64)by);
	return from;
}
