/* See process_heap.h. */
#include "sys/heap/process_heap.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"

void process_heap_free(struct process_heap *h)
{
	glibc_arenas_free(&h->arenas);
}

static bool is_libc(const char *path)
{
	const char *name = path_name(path);

	return !strcmp(name, "libc.so.6") || (begins_with(name, "libc-2.") && strstr(name, ".so"));
}

/* Those that managed.h does not know. */
static const char *other_allocator(const struct maps *maps)
{
	static const char *const names[][2] = {{"ld-musl", "musl"}, {"libsnmalloc", "snmalloc"}};

	vec_each (m, &maps->list)
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			if (begins_with(path_name(m->path), names[i][0]))
				return names[i][1];
	return NULL;
}

/* libc, or the program where there is none. */
static const char *file_of_arena(const struct maps *maps)
{
	vec_each (m, &maps->list)
		if (is_libc(m->path))
			return m->path;
	return maps_program(maps);
}

static int arena_take(void *arg, const u64 *words, size_t n, u64 address)
{
	u64 *ret = arg;

	*ret = glibc_find(words, n, address);
	return *ret > 0;
}

static u64 brk_start(const struct maps *maps)
{
	vec_each (m, &maps->list)
		if (m->kind == MAPPING_HEAP)
			return m->start;
	return 0;
}

int process_heap_read(struct outside *o, const struct maps *maps, struct process_heap *ret)
{
	struct glibc_memory m = {.arg = o, .read = outside_read, .resident = outside_resident};
	u64 at = 0;
	int rc;

	glibc_arenas_free(&ret->arenas);
	*ret = (struct process_heap){.other = other_allocator(maps)};
	rc = outside_data(o, maps, file_of_arena(maps), arena_take, &at);
	if (rc > 0)
		rc = glibc_read(&m, at, brk_start(maps), &ret->arenas);
	ret->found = !rc && at && ret->arenas.list.n;
	return rc == -ENOMEM ? rc : 0;
}
