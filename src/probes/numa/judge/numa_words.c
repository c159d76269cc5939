/* See numa_words.h. */
#include "probes/numa/judge/numa_words.h"

#include <string.h>

#include "base/str.h"

static const char *const kind_names[OBJECT_KINDS] = {
	[OBJECT_BLOCK] = "heap block",
	[OBJECT_HEAP] = "heap",
	[OBJECT_ANON] = "mapping",
	[OBJECT_STACK] = "stack",
	[OBJECT_VARIABLE] = "variable",
	[OBJECT_DATA] = "data",
	[OBJECT_CODE] = "code",
	[OBJECT_FILE] = "file",
	[OBJECT_SHMEM] = "shared memory",
	[OBJECT_HUGETLB] = "hugetlb",
	[OBJECT_VDSO] = "vdso",
	[OBJECT_KERNEL] = "kernel",
};

static const char *const why_names[NUMA_WHYS] = {
	[NUMA_WHY_NO_ADDRESS] = "the sample has no address",
	[NUMA_WHY_NO_MAPS] = "no mapping of the process is known",
	[NUMA_WHY_NOT_MAPPED] = "nothing was mapped there at that time",
	[NUMA_WHY_LATE] = "it came too late to be put into order",
};

static const char *const source_names[NUMA_SOURCES] = {
	[NUMA_PEBS] = "PEBS",
	[NUMA_IBS] = "IBS",
	[NUMA_SPE] = "SPE",
	[NUMA_HINT_FAULT] = "hint fault",
	[NUMA_FIRST_TOUCH] = "first touch",
	[NUMA_FAULT] = "page fault",
	[NUMA_PERF] = "perf event",
};

static const char *const page_from_names[NUMA_PAGE_FROMS] = {
	[NUMA_PAGE_UNKNOWN] = "not known",
	[NUMA_PAGE_SEEN] = "seen at the access",
	[NUMA_PAGE_FRAME] = "physical address",
	[NUMA_PAGE_LEVEL] = "level",
};

static const char *const level_names[NUMA_LEVELS] = {
	[NUMA_L1] = "L1",
	[NUMA_FILL_BUFFER] = "fill buffer",
	[NUMA_L2] = "L2",
	[NUMA_L3] = "L3",
	[NUMA_REMOTE_CACHE] = "remote cache",
	[NUMA_RAM] = "RAM",
	[NUMA_LOCAL_RAM] = "local RAM",
	[NUMA_REMOTE_RAM] = "remote RAM",
	[NUMA_CXL] = "CXL",
	[NUMA_PMEM] = "PMEM",
	[NUMA_UNCACHED] = "uncached",
};

static const char *const op_names[] = {
	[NUMA_LOAD] = "load",
	[NUMA_STORE] = "store",
	[NUMA_LOAD_STORE] = "load+store",
	[NUMA_FETCH] = "fetch",
};

static const char *const move_names[] = {
	[NUMA_MOVE_BALANCING] = "NUMA balancing",
	[NUMA_MOVE_SYSCALL] = "system call",
	[NUMA_MOVE_COMPACTION] = "compaction",
	[NUMA_MOVE_DEMOTION] = "demotion",
	[NUMA_MOVE_OTHER] = "other",
};

#define NAME_OF(names_, i_) ((i_) < ARRAY_SIZE(names_) ? (names_)[i_] : NULL)

const char *numa_kind_name(u32 kind)
{
	return NAME_OF(kind_names, kind);
}

const char *numa_why_name(u32 why)
{
	return NAME_OF(why_names, why);
}

const char *numa_source_name(u32 source)
{
	return NAME_OF(source_names, source);
}

const char *numa_page_from_name(u32 from)
{
	return NAME_OF(page_from_names, from);
}

const char *numa_level_name(u32 level)
{
	return NAME_OF(level_names, level);
}

const char *numa_op_name(u32 op)
{
	return NAME_OF(op_names, op);
}

const char *numa_move_name(u32 why)
{
	return NAME_OF(move_names, why);
}

const char *numa_mask_text(struct report *r, u64 mask)
{
	_cleanup_str_ struct str s = {};

	for (u32 i = 0; i < NUMA_NODES; i++) {
		u32 to = i;

		if (!(mask & 1ULL << i))
			continue;
		while (to + 1 < NUMA_NODES && mask & 1ULL << (to + 1))
			to++;
		str_addf(&s, "%s%u", s.len ? "," : "", i);
		if (to > i)
			str_addf(&s, "%c%u", to > i + 1 ? '-' : ',', to);
		i = to;
	}
	return report_text(r, "%s", str_get(&s));
}

/* Functions that stand between an allocation and who wants it: those of glibc by name, whatever its
 * prefixes, and all that call themselves some alloc (malloc, xcalloc, g_realloc, sqlite3Malloc). */
static bool is_allocator(const char *function)
{
	static const char *const names[] = {"reallocarray", "memalign", "mid_memalign",
		"posix_memalign", "mmap", "mmap64", "mremap", "brk", "sbrk", "morecore",
		"sysmalloc_mmap", "tcache_init", "new_heap", "alloc_new_heap", "arena_get2",
		"operator new", "shmat", "numa_alloc", "numa_alloc_onnode",
		"numa_alloc_interleaved", "allocate_stack"};
	static const char *const prefixes[] = {"GI_", "libc_", "glibc_", "int_"};
	size_t n;

	function += strspn(function, "_");
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (!strncmp(function, prefixes[i], strlen(prefixes[i])))
			function += strlen(prefixes[i]);
		function += strspn(function, "_");
	}
	n = strcspn(function, "([.+@");
	while (n && function[n - 1] == ' ')
		n--;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strlen(names[i]) == n && !strncmp(function, names[i], n))
			return true;
	}
	return n >= 5 && !strncasecmp(function + n - 5, "alloc", 5);
}

struct top {
	struct report *r;
	bool skip;
	const char *first, *chosen;
};

static void top_line(void *arg, const struct stack_line *l)
{
	struct top *t = arg;
	_cleanup_str_ struct str s = {};

	if (t->chosen)
		return;
	stack_line_add(&s, l, false);
	if (!t->first)
		t->first = report_text(t->r, "%s", str_get(&s));
	/* The kernel's part of the way to a mapping is not who wanted it. */
	if (!t->skip || (!l->kernel && l->function && !is_allocator(l->function)))
		t->chosen = report_text(t->r, "%s", str_get(&s));
}

const char *numa_function(struct report *r, u32 stack, bool skip_allocators)
{
	struct top t = {.r = r, .skip = skip_allocators};

	if (!stack)
		return NULL;
	stack_each(r->stream, stack, top_line, &t);
	return t.chosen || skip_allocators ? t.chosen : t.first;
}

static const char *thread_name(struct report *r, const struct numa_feed *f, u32 thread)
{
	const struct numa_thread *t = numa_thread(f, thread);

	if (!t)
		return "a thread";
	return report_text(r, "%s (%u)", stream_comm(r->stream, t->tgid, t->tid), t->tid);
}

/* Shared memory of no file has a path too (mm/shmem.c: shmem_zero_setup()). */
static const char *file_name(struct report *r, const struct numa_site *s)
{
	const char *path = stream_string(r->stream, s->file);

	if (!path || (s->kind == OBJECT_SHMEM && !strncmp(path, "/dev/zero", 9)))
		return NULL;
	return path_name(path);
}

const char *numa_site_name(struct report *r, const struct numa_feed *f, const struct numa_site *s)
{
	const char *file = file_name(r, s);
	const char *name = stream_string(r->stream, s->name), *function;

	if (s->kind == OBJECT_VARIABLE && name && s->thread)
		return report_text(r, "%s (TLS of %s)", name, thread_name(r, f, s->thread - 1));
	if (s->kind == OBJECT_VARIABLE && name)
		return file ? report_text(r, "%s (%s)", name, file) : name;
	if (s->kind == OBJECT_STACK)
		return report_text(r, "stack of %s", thread_name(r, f, s->thread - 1));
	if (s->kind == OBJECT_KERNEL)
		return "kernel";
	if (s->kind == OBJECT_VDSO)
		return "vdso";
	if (file && *file)
		return file;
	function = numa_function(r, s->stack, true);
	if (function)
		return function;
	if (!s->tgid && !s->start) { /* of several: by the call, though it is an allocator's */
		function = s->kind == OBJECT_HEAP ? "[heap]" : numa_function(r, s->stack, false);
		return function && strncmp(function, "[unknown]", 9) ? function
								     : numa_kind_name(s->kind);
	}
	if (s->kind == OBJECT_HEAP)
		return report_text(
			r, "[heap] of %s (%u)", stream_comm(r->stream, s->tgid, 0), s->tgid);
	if (s->kind == OBJECT_BLOCK || !s->start)
		return report_text(r, "%s of %s (%u)", numa_kind_name(s->kind),
			stream_comm(r->stream, s->tgid, 0), s->tgid);
	return report_text(r, "0x%llx of %s (%u)", (unsigned long long)s->start,
		stream_comm(r->stream, s->tgid, 0), s->tgid);
}
