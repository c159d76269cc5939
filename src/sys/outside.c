/* See outside.h. */
#include "sys/outside.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sys/pagemap.h"

#define PAGE 4096ULL
#define STATES_MOST 4096

static bool is_resident(const struct outside *o, u64 address, size_t n)
{
	u64 first = address & ~(PAGE - 1), pages = (address + n - first + PAGE - 1) / PAGE;
	u8 states[64];

	if (pages > sizeof(states) || pagemap_read(o->pagemap, first, pages, states))
		return false;
	for (u64 i = 0; i < pages; i++)
		if (states[i] != PAGE_PRESENT && states[i] != PAGE_PERHAPS)
			return false;
	return true;
}

int outside_read(void *arg, u64 address, void *buf, size_t n)
{
	const struct outside *o = arg;
	struct iovec here = {buf, n}, there = {(void *)(uintptr_t)address, n};
	ssize_t got;

	if (!is_resident(o, address, n))
		return -ENODATA;
	got = process_vm_readv(o->pid, &here, 1, &there, 1, 0);
	return got == (ssize_t)n ? 0 : got < 0 ? -errno : -ENODATA;
}

u64 *outside_words(struct outside *o, u64 start, u64 end)
{
	u64 *words = calloc(1, end - start);

	for (u64 at = start; words && at < end; at += PAGE)
		outside_read(o, at, (char *)words + (at - start), PAGE);
	return words;
}

u64 outside_resident(void *arg, u64 start, u64 end)
{
	const struct outside *o = arg;
	u8 states[STATES_MOST];
	u64 bytes = 0;

	while (start < end) {
		u64 n = MIN((end - start) / PAGE, (u64)STATES_MOST);

		if (!n || pagemap_read(o->pagemap, start, n, states))
			break;
		for (u64 i = 0; i < n; i++)
			bytes += states[i] == PAGE_PRESENT ? PAGE : 0;
		start += n * PAGE;
	}
	return bytes;
}

static bool may_read(int pid, const struct maps *maps)
{
	u64 word;
	struct iovec here = {&word, sizeof(word)}, there = {NULL, sizeof(word)};

	if (!maps->list.n)
		return false;
	there.iov_base = (void *)(uintptr_t)maps->list.v[0].start;
	return process_vm_readv(pid, &here, 1, &there, 1, 0) >= 0 || errno != EPERM;
}

int outside_open(int pid, const struct maps *maps, struct outside *ret)
{
	struct outside o = {.pid = pid, .pagemap = pagemap_open(pid)};

	if (o.pagemap < 0)
		return -EACCES;
	if (!may_read(pid, maps)) {
		outside_close(&o);
		return -EACCES;
	}
	*ret = o;
	return 0;
}

void outside_close(struct outside *o)
{
	if (o->pagemap >= 0)
		close(o->pagemap);
	o->pagemap = -1;
}
