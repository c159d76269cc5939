/* See numa_maps.h. */
#include "sys/process/numa_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "sys/process/maps.h"
#include "sys/process/proc.h"
#include "sys/root.h"
#include "sys/scan.h"

/* seq_path() is called with these to escape (show_numa_map(), 6.18); not with the backslash. */
#define ESCAPED "\n\t= "

#define NUMA_FIELD(name, member) SCAN_FIELD(name, struct numa_map, member)

static const struct scan_field fields[] = {
	NUMA_FIELD("anon", anon_pages),
	NUMA_FIELD("dirty", dirty_pages),
	NUMA_FIELD("mapped", mapped_pages),
	NUMA_FIELD("mapmax", mapmax),
	NUMA_FIELD("swapcache", swapcache_pages),
	NUMA_FIELD("active", active_pages),
	NUMA_FIELD("writeback", writeback_pages),
	NUMA_FIELD("kernelpagesize_kB", page_bytes),
};

/* Ends a word of our own text in place: only when all of its line was read. */
static char *word_cut(char *text, const struct scan *word)
{
	text[word->end - text] = '\0';
	return text + (word->p - text);
}

/* A policy is one word, but for "prefer (many):…" (5.15) and "weighted interleave:…" (6.9). */
static bool policy_parse(struct scan *s, struct scan *ret)
{
	struct scan word;

	if (!scan_word(s, ret))
		return false;
	if (scan_is(ret, "weighted") || (scan_is(ret, "prefer") && scan_lit(s, "("))) {
		if (scan_word(s, &word))
			ret->end = word.end;
	}
	return true;
}

static int numa_maps_node_add(
	struct numa_maps *maps, struct numa_map *m, struct scan name, u64 pages)
{
	struct numa_pages entry = {.pages = pages};

	name.p++;
	if (!scan_u32(&name, NODES_MAX - 1, &entry.node) || !scan_done(&name))
		return 0;
	m->node_count++;
	return vec_push(&maps->nodes, entry);
}

/* One word after the policy: "N0=12", "anon=3", "file=/x", "heap", … */
static int word_parse(
	struct scan word, struct numa_maps *maps, struct numa_map *m, struct scan *file)
{
	struct scan name;
	u64 v;

	if (!scan_until(&word, '=', &name)) {
		m->heap |= scan_is(&word, "heap");
		m->stack |= scan_is(&word, "stack");
		m->huge |= scan_is(&word, "huge");
		return 0;
	}
	if (scan_is(&name, "file")) {
		*file = word;
		return 0;
	}
	if (!scan_u64(&word, &v))
		return 0;
	if (!scan_done(&name) && name.p[0] == 'N')
		return numa_maps_node_add(maps, m, name, v);
	scan_store(fields, ARRAY_SIZE(fields), &name, v, m);
	return 0;
}

static int numa_maps_line_parse(struct scan s, struct numa_maps *maps)
{
	struct numa_map m = {.file = "", .node_first = (u32)maps->nodes.n};
	struct scan file = {};
	struct scan policy;
	struct scan word;
	int rc;

	if (!scan_hex(&s, &m.start) || !policy_parse(&s, &policy))
		return 0;
	while (scan_word(&s, &word)) {
		rc = word_parse(word, maps, &m, &file);
		if (rc)
			return rc;
	}
	m.policy = word_cut(maps->text, &policy);
	if (file.p) {
		char *path = word_cut(maps->text, &file);

		scan_unescape(path, ESCAPED);
		m.file = path;
	}
	if (__builtin_mul_overflow(m.page_bytes, 1024ULL, &m.page_bytes))
		m.page_bytes = 0;
	return vec_push(&maps->list, m);
}

/* Takes text over. */
static int numa_maps_take(char *text, struct numa_maps *ret)
{
	struct numa_maps maps = {.text = text};
	const char *p = text;
	struct scan s;
	int rc = 0;
	bool any = false;

	while (!rc && maps.list.n < MAPS_MAX && scan_line(&p, &s)) {
		any = true;
		rc = numa_maps_line_parse(s, &maps);
	}
	if (!rc && any && !maps.list.n)
		rc = -EINVAL;
	if (rc) {
		numa_maps_free(&maps);
		return rc;
	}
	numa_maps_free(ret);
	*ret = maps;
	return 0;
}

void numa_maps_free(struct numa_maps *maps)
{
	vec_free(&maps->list);
	vec_free(&maps->nodes);
	free(maps->text);
	maps->text = NULL;
}

int numa_maps_parse(const char *text, struct numa_maps *ret)
{
	char *copy = strdup(text);

	return copy ? numa_maps_take(copy, ret) : -ENOMEM;
}

int numa_maps_read(int pid, struct numa_maps *ret)
{
	_cleanup_str_ struct str text = {};
	int rc = proc_memory_read(pid, "numa_maps", &text);

	if (rc)
		return rc;
	if (!text.buf)
		str_add(&text, "");
	return text.buf ? numa_maps_take(take_ptr(text.buf), ret) : -ENOMEM;
}

#define FIRST_BYTES 512

int numa_maps_read_first(int pid, int tid, struct numa_maps *ret)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX], text[FIRST_BYTES + 1];
	ssize_t n;

	if (sys_path(path, "/proc/%d/task/%d/numa_maps", pid, tid))
		return -ENOENT;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, FIRST_BYTES);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return numa_maps_parse(text, ret);
}

const struct numa_map *numa_maps_find(const struct numa_maps *maps, u64 start)
{
	size_t lo = 0;
	size_t hi = maps->list.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (maps->list.v[mid].start < start)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < maps->list.n && maps->list.v[lo].start == start ? &maps->list.v[lo] : NULL;
}
