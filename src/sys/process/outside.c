/* See outside.h. */
#include "sys/process/outside.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sys/process/pagemap.h"

#define PAGE 4096ULL
#define STATES_MOST 4096 /* asked for at once */
#define CALL_BYTES 1024ULL
#define KERNEL_HALF 0xffff800000000000ULL /* x86-64: no process has mapped it */
#define DATA_MOST (16ULL << 20)

/* May a system call that reads this much be made? */
static bool may_call(struct outside *o, u64 bytes)
{
	o->cut |= o->left < CALL_BYTES + bytes;
	o->left -= o->cut ? o->left : CALL_BYTES + bytes;
	return !o->cut;
}

static bool states_read(struct outside *o, u64 address, u64 pages, u8 *ret)
{
	return may_call(o, pages * sizeof(u64)) && !pagemap_read(o->pagemap, address, pages, ret);
}

static bool is_there(u8 state)
{
	return state == PAGE_PRESENT || state == PAGE_PERHAPS;
}

static bool is_resident(struct outside *o, u64 address, size_t n)
{
	u64 first = address & ~(PAGE - 1), pages = (address + n - first + PAGE - 1) / PAGE;
	u8 states[64];

	if (pages > sizeof(states) || !states_read(o, first, pages, states))
		return false;
	for (u64 i = 0; i < pages; i++)
		if (!is_there(states[i]))
			return false;
	return true;
}

int outside_read(void *arg, u64 address, void *buf, size_t n)
{
	struct outside *o = arg;
	struct iovec here = {buf, n}, there = {(void *)(uintptr_t)address, n};
	ssize_t got;

	if (!is_resident(o, address, n) || !may_call(o, n))
		return -ENODATA;
	got = process_vm_readv(o->pid, &here, 1, &there, 1, 0);
	return got == (ssize_t)n ? 0 : got < 0 ? -errno : -ENODATA;
}

/* Is the page that it is at there? */
static bool run_goes_on(const struct outside_runs *r)
{
	return r->at < r->until && is_there(r->states[(r->at - r->from) / PAGE]);
}

bool outside_run(struct outside *o, struct outside_runs *r, u64 *ret_start, u64 *ret_bytes)
{
	for (; r->at < r->end; r->at += PAGE) {
		if (r->at >= r->until) {
			u64 n = MIN((r->end - r->at) / PAGE, (u64)ARRAY_SIZE(r->states));

			if (!n || !states_read(o, r->at, n, r->states))
				return false;
			r->from = r->at;
			r->until = r->at + n * PAGE;
		}
		if (!run_goes_on(r))
			continue;
		*ret_start = r->at;
		while (run_goes_on(r) && r->at - *ret_start < OUTSIDE_RUN)
			r->at += PAGE;
		*ret_bytes = r->at - *ret_start;
		return true;
	}
	return false;
}

u64 *outside_words(struct outside *o, u64 start, u64 end)
{
	struct outside_runs r = {.at = start, .end = end};
	u64 *words = calloc(1, end - start), at, n;

	while (words && outside_run(o, &r, &at, &n))
		outside_read(o, at, (char *)words + (at - start), n);
	return words;
}

u64 outside_resident(void *arg, u64 start, u64 end)
{
	u8 states[STATES_MOST];
	u64 bytes = 0;

	while (start < end) {
		u64 n = MIN((end - start) / PAGE, (u64)STATES_MOST);

		if (!n || !states_read(arg, start, n, states))
			break;
		for (u64 i = 0; i < n; i++)
			bytes += states[i] == PAGE_PRESENT ? PAGE : 0;
		start += n * PAGE;
	}
	return bytes;
}

int outside_data(
	struct outside *o, const struct maps *maps, const char *path, outside_take *take, void *arg)
{
	const struct mapping *before = NULL;
	u64 left = DATA_MOST;
	int rc = 0;

	if (!path[0])
		return 0;
	vec_each (m, &maps->list) {
		bool own = !strcmp(m->path, path) ||
			   (before && mapping_is_plain(m) && m->start == before->end);
		u64 bytes = MIN(m->end - m->start, left);
		_cleanup_free_ u64 *words = NULL;

		before = own ? m : NULL;
		if (rc || !own || !(m->prot & MAPPING_WRITE) || m->shared || !bytes)
			continue;
		left -= bytes;
		words = outside_words(o, m->start, m->start + bytes);
		rc = words ? take(arg, words, bytes / sizeof(u64), m->start) : -ENOMEM;
	}
	return rc;
}

/* Asked with an address of the kernel: what the process has mapped may have to be read first, of a
 * file server that does not answer. EFAULT: it may be read, but not there. */
static bool may_read(int pid)
{
	u64 word;
	struct iovec here = {&word, sizeof(word)}, there = {(void *)KERNEL_HALF, sizeof(word)};

	return process_vm_readv(pid, &here, 1, &there, 1, 0) >= 0 || errno == EFAULT;
}

int outside_open(int pid, const struct maps *maps, u64 left, struct outside *ret)
{
	struct outside o = {.pid = pid, .pagemap = pagemap_open(pid), .left = left};

	if (o.pagemap < 0)
		return -EACCES;
	if (!maps->list.n || !may_read(pid)) {
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
