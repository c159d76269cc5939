/* See process_heap.h. */
#include "sys/process_heap.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "sys/outside.h"

#define PAGE 4096ULL
#define DATA_MOST (16ULL << 20) /* of a static program's data that is searched */

void process_heap_free(struct process_heap *h)
{
	glibc_arenas_free(&h->arenas);
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

static int arena_find(struct outside *o, const struct maps *maps, u64 *ret)
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
		words = outside_words(o, m->start, m->end);
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

int process_heap_read(u32 pid, const struct maps *maps, u64 most_bytes, struct process_heap *ret)
{
	_cleanup_outside_ struct outside o = {.pid = (int)pid, .pagemap = -1};
	struct glibc_memory m = {.arg = &o,
		.read = outside_read,
		.resident = outside_resident,
		.most_bytes = most_bytes};
	u64 began = clock_mono_ns(), at;
	int rc;

	glibc_arenas_free(&ret->arenas);
	*ret = (struct process_heap){.other = other_allocator(maps)};
	ret->refused = outside_open((int)pid, maps, &o) < 0;
	if (ret->refused)
		return 0;
	rc = arena_find(&o, maps, &at);
	if (!rc && at)
		rc = glibc_read(&m, at, brk_start(maps), &ret->arenas);
	ret->found = !rc && at && ret->arenas.list.n;
	ret->read_ns = clock_mono_ns() - began;
	return rc == -ENOMEM ? rc : 0;
}
