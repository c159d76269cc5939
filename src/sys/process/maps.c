/* See maps.h. */
#include "sys/process/maps.h"

#include <string.h>

#include "base/str.h"
#include "sys/process/proc.h"
#include "sys/scan.h"

static const char *const kind_names[MAPPING_KINDS] = {
	[MAPPING_UNKNOWN] = "unknown",
	[MAPPING_ANON] = "anon",
	[MAPPING_HEAP] = "heap",
	[MAPPING_STACK] = "stack",
	[MAPPING_FILE] = "file",
	[MAPPING_SHMEM] = "shmem",
	[MAPPING_HUGETLB] = "hugetlb",
	[MAPPING_VDSO] = "vdso",
};

const char *mapping_kind_name(enum mapping_kind kind)
{
	return (unsigned int)kind < MAPPING_KINDS ? kind_names[kind] : "unknown";
}

/* Names that get_vma_name() (fs/proc/task_mmu.c, 6.18) makes up; any other one in brackets comes
 * from a special mapping of the kernel. "[stack:TID]" was written up to 4.4. */
static enum mapping_kind classify_bracket(const char *path)
{
	if (!strcmp(path, "[heap]"))
		return MAPPING_HEAP;
	if (!strcmp(path, "[stack]") || begins_with(path, "[stack:"))
		return MAPPING_STACK;
	if (begins_with(path, "[anon:"))
		return MAPPING_ANON;
	if (begins_with(path, "[anon_shmem:"))
		return MAPPING_SHMEM;
	return MAPPING_VDSO;
}

enum mapping_kind mapping_classify(const char *path, bool shared)
{
	static const char *const shmem[] = {"/memfd:", "/dev/shm/", "/SYSV", "/drm mm object"};

	if (!path[0])
		return MAPPING_ANON;
	if (path[0] == '[')
		return classify_bracket(path);
	/* A private mapping of /dev/zero is anonymous memory, a shared one is a shmem file. */
	if (!strcmp(path, "/dev/zero"))
		return shared ? MAPPING_SHMEM : MAPPING_ANON;
	for (size_t i = 0; i < ARRAY_SIZE(shmem); i++) {
		if (begins_with(path, shmem[i]))
			return MAPPING_SHMEM;
	}
	if (!strcmp(path, "/anon_hugepage") || begins_with(path, "/dev/hugepages/"))
		return MAPPING_HUGETLB;
	return MAPPING_FILE;
}

static bool perms_parse(const struct scan *word, struct mapping *m)
{
	if (scan_len(word) != 4)
		return false;
	m->prot = (word->p[0] == 'r' ? MAPPING_READ : 0) | (word->p[1] == 'w' ? MAPPING_WRITE : 0) |
		  (word->p[2] == 'x' ? MAPPING_EXEC : 0);
	m->shared = word->p[3] == 's';
	return true;
}

static bool dev_parse(struct scan *s, struct mapping *m)
{
	u64 major;
	u64 minor;

	if (!scan_hex(s, &major) || !scan_lit(s, ":") || !scan_hex(s, &minor) ||
		major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	m->dev_major = (u32)major;
	m->dev_minor = (u32)minor;
	return true;
}

/* The line is in `text`, which is ours to write to: the path stays there. */
static bool maps_line_parse(struct scan s, char *text, struct mapping *ret)
{
	struct mapping m = {};
	struct scan perms;
	char *path;

	if (!scan_hex(&s, &m.start) || !scan_lit(&s, "-") || !scan_hex(&s, &m.end) ||
		m.end <= m.start || !scan_word(&s, &perms) || !perms_parse(&perms, &m) ||
		!scan_hex(&s, &m.offset) || !dev_parse(&s, &m) || !scan_u64(&s, &m.inode))
		return false;
	scan_blanks(&s);
	m.deleted = scan_cut_deleted(&s);
	path = text + (s.p - text);
	path[scan_len(&s)] = '\0';
	scan_unescape(path, "\n");
	m.path = path;
	m.kind = mapping_classify(path, m.shared);
	*ret = m;
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct mapping *x = a;
	const struct mapping *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static bool is_sorted(const struct maps *maps)
{
	for (size_t i = 1; i < maps->list.n; i++) {
		if (maps->list.v[i - 1].start > maps->list.v[i].start)
			return false;
	}
	return true;
}

/* Takes text over, and cuts the paths out of it in place. */
static int maps_take(char *text, struct maps *ret)
{
	struct maps maps = {.text = text};
	const char *p = text;
	struct mapping m;
	struct scan s;
	bool any = false;

	while (maps.list.n < MAPS_MAX && scan_line(&p, &s)) {
		any = true;
		if (!maps_line_parse(s, text, &m))
			continue;
		if (vec_push(&maps.list, m)) {
			maps_free(&maps);
			return -ENOMEM;
		}
	}
	if (any && !maps.list.n) {
		maps_free(&maps);
		return -EINVAL;
	}
	/* It always is, but for a process that maps and unmaps while the kernel writes. */
	if (!is_sorted(&maps))
		qsort(maps.list.v, maps.list.n, sizeof(m), by_start);
	maps_free(ret);
	*ret = maps;
	return 0;
}

void maps_free(struct maps *maps)
{
	vec_free(&maps->list);
	free(maps->text);
	maps->text = NULL;
}

int maps_parse(const char *text, struct maps *ret)
{
	char *copy = strdup(text);

	return copy ? maps_take(copy, ret) : -ENOMEM;
}

int maps_read(int pid, struct maps *ret)
{
	_cleanup_str_ struct str text = {};
	int rc = proc_memory_read(pid, "maps", &text);

	if (rc)
		return rc;
	if (!text.buf)
		str_add(&text, "");
	return text.buf ? maps_take(take_ptr(text.buf), ret) : -ENOMEM;
}

const struct mapping *maps_find(const struct maps *maps, u64 addr)
{
	size_t lo = 0;
	size_t hi = maps->list.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (maps->list.v[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || addr >= maps->list.v[lo - 1].end)
		return NULL;
	return &maps->list.v[lo - 1];
}

const char *maps_program(const struct maps *maps)
{
	vec_each (m, &maps->list)
		if (m->path[0] == '/' && m->prot & MAPPING_EXEC)
			return m->path;
	return "";
}
