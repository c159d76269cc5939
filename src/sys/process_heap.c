/* See process_heap.h. */
#include "sys/process_heap.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/str.h"
#include "sys/pagemap.h"

#define PAGE 4096ULL
#define DATA_MOST (16ULL << 20) /* of a static program's data that is searched */
#define STATES_MOST 4096

struct reader {
	int pid, pagemap;
};

void process_heap_free(struct process_heap *h)
{
	glibc_arenas_free(&h->arenas);
}

static bool is_resident(const struct reader *r, u64 address, size_t n)
{
	u64 first = address & ~(PAGE - 1), pages = (address + n - first + PAGE - 1) / PAGE;
	u8 states[64];

	if (pages > sizeof(states) || pagemap_read(r->pagemap, first, pages, states))
		return false;
	for (u64 i = 0; i < pages; i++)
		if (states[i] != PAGE_PRESENT && states[i] != PAGE_PERHAPS)
			return false;
	return true;
}

static int memory_read(void *arg, u64 address, void *buf, size_t n)
{
	const struct reader *r = arg;
	struct iovec here = {buf, n}, there = {(void *)(uintptr_t)address, n};
	ssize_t got;

	if (!is_resident(r, address, n))
		return -ENODATA;
	got = process_vm_readv(r->pid, &here, 1, &there, 1, 0);
	return got == (ssize_t)n ? 0 : got < 0 ? -errno : -ENODATA;
}

static u64 memory_resident(void *arg, u64 start, u64 end)
{
	const struct reader *r = arg;
	u8 states[STATES_MOST];
	u64 bytes = 0;

	while (start < end) {
		u64 n = MIN((end - start) / PAGE, (u64)STATES_MOST);

		if (!n || pagemap_read(r->pagemap, start, n, states))
			break;
		for (u64 i = 0; i < n; i++)
			bytes += states[i] == PAGE_PRESENT ? PAGE : 0;
		start += n * PAGE;
	}
	return bytes;
}

/* All that is resident of a mapping; the rest is 0. */
static u64 *mapping_read(struct reader *r, const struct mapping *m)
{
	u64 *words = calloc(1, m->end - m->start);

	for (u64 at = m->start; words && at < m->end; at += PAGE)
		memory_read(r, at, (char *)words + (at - m->start), PAGE);
	return words;
}

static bool is_libc(const char *path)
{
	const char *name = path_name(path);

	return !strcmp(name, "libc.so.6") || (!strncmp(name, "libc-2.", 7) && strstr(name, ".so"));
}

static const char *other_allocator(const struct maps *maps)
{
	static const char *const names[] = {
		"jemalloc", "tcmalloc", "mimalloc", "ld-musl", "snmalloc"};

	vec_each (m, &maps->list)
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			if (strstr(path_name(m->path), names[i]))
				return i == 3 ? "musl" : names[i];
	return NULL;
}

/* In libc, or in the program where there is none: its first file. */
static bool may_have_arena(const struct mapping *m, bool has_libc, const char *program)
{
	return m->prot & MAPPING_WRITE && !m->shared && m->end - m->start <= DATA_MOST &&
	       m->path[0] && (has_libc ? is_libc(m->path) : !strcmp(m->path, program));
}

static int arena_find(struct reader *r, const struct maps *maps, u64 *ret)
{
	const char *program = maps->list.n ? maps->list.v[0].path : "";
	bool has_libc = false;

	*ret = 0;
	vec_each (m, &maps->list)
		has_libc |= is_libc(m->path);
	vec_each (m, &maps->list) {
		_cleanup_free_ u64 *words = NULL;

		if (*ret || !may_have_arena(m, has_libc, program))
			continue;
		words = mapping_read(r, m);
		if (!words)
			return -ENOMEM;
		*ret = glibc_find(words, (m->end - m->start) / sizeof(u64), m->start);
	}
	return 0;
}

static u64 brk_start(const struct maps *maps)
{
	vec_each (m, &maps->list)
		if (m->kind == MAPPING_HEAP)
			return m->start;
	return 0;
}

static bool may_read(u32 pid, const struct maps *maps)
{
	u64 word;
	struct iovec here = {&word, sizeof(word)}, there = {NULL, sizeof(word)};

	if (!maps->list.n)
		return false;
	there.iov_base = (void *)(uintptr_t)maps->list.v[0].start;
	return process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0) >= 0 || errno != EPERM;
}

int process_heap_read(u32 pid, const struct maps *maps, u64 most_bytes, struct process_heap *ret)
{
	_cleanup_close_ int pagemap = pagemap_open((int)pid);
	struct reader r = {.pid = (int)pid, .pagemap = pagemap};
	struct glibc_memory m = {.arg = &r,
		.read = memory_read,
		.resident = memory_resident,
		.most_bytes = most_bytes};
	u64 began = clock_mono_ns(), at;
	int rc;

	glibc_arenas_free(&ret->arenas);
	*ret = (struct process_heap){.other = other_allocator(maps)};
	ret->refused = pagemap < 0 || !may_read(pid, maps);
	if (ret->refused)
		return 0;
	rc = arena_find(&r, maps, &at);
	if (!rc && at)
		rc = glibc_read(&m, at, brk_start(maps), &ret->arenas);
	ret->found = !rc && at && ret->arenas.list.n;
	ret->read_ns = clock_mono_ns() - began;
	return rc == -ENOMEM ? rc : 0;
}
