/* See process_map.h. */
#include "sym/process_map.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/file.h"
#include "base/vec.h"

#define DELETED " (deleted)"
/* The kernel allows a process 65,530 mappings unless told otherwise; records may lie. */
#define RANGES_MAX (1U << 20)

struct range {
	u64 start;
	u64 end;
	u64 offset;
	u32 module;
};

struct map_ranges {
	unsigned int refs;
	VEC(struct range) list; /* ascending, none overlaps another */
};

static void ranges_unref(struct map_ranges *r)
{
	if (!r || --r->refs)
		return;
	vec_free(&r->list);
	free(r);
}

void process_map_init(struct process_map *map, struct module_table *modules, pid_t pid)
{
	*map = (struct process_map){.pid = pid, .modules = modules};
}

void process_map_free(struct process_map *map)
{
	process_map_reset(map);
}

void process_map_reset(struct process_map *map)
{
	ranges_unref(map->ranges);
	map->ranges = NULL;
}

void process_map_fork(struct process_map *child, const struct process_map *parent)
{
	if (parent->ranges)
		parent->ranges->refs++;
	ranges_unref(child->ranges);
	child->ranges = parent->ranges;
}

size_t process_map_count(const struct process_map *map)
{
	return map->ranges ? map->ranges->list.n : 0;
}

/* Gives the map ranges of its own, with room for `more` further ones. */
static int ranges_own(struct process_map *map, size_t more)
{
	struct map_ranges *old = map->ranges, *own = old;
	size_t n = old ? old->list.n : 0;
	struct range *grown;

	if (n + more > RANGES_MAX)
		return -ENOSPC;
	if (!old || old->refs > 1) {
		own = calloc(1, sizeof(*own));
		if (!own)
			return -ENOMEM;
		own->refs = 1;
	}
	if (own->list.cap < n + more) {
		size_t cap = MAX(n + more, own->list.cap * 2);

		grown = reallocarray(own->list.v, cap, sizeof(*grown));
		if (!grown) {
			if (own != old)
				free(own);
			return -ENOMEM;
		}
		own->list.v = grown;
		own->list.cap = cap;
	}
	if (own != old) {
		if (n)
			memcpy(own->list.v, old->list.v, n * sizeof(*own->list.v));
		own->list.n = n;
		ranges_unref(old);
		map->ranges = own;
	}
	return 0;
}

/* Index of the first range that ends after addr. */
static size_t ranges_after(const struct map_ranges *r, u64 addr)
{
	size_t lo = 0, hi = r->list.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->list.v[mid].end > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* Replaces ranges [first, last) by n others; there is room. */
static void ranges_splice(
	struct map_ranges *r, size_t first, size_t last, const struct range *with, size_t n)
{
	memmove(r->list.v + first + n, r->list.v + last, (r->list.n - last) * sizeof(*r->list.v));
	if (n)
		memcpy(r->list.v + first, with, n * sizeof(*with));
	r->list.n = r->list.n - (last - first) + n;
}

static u64 offset_at(const struct range *r, u64 addr)
{
	return r->offset + (addr - r->start);
}

/* Clears [start, end) and puts `with` there, if any. */
static int ranges_replace(struct process_map *map, u64 start, u64 end, const struct range *with)
{
	struct range parts[3];
	struct map_ranges *r;
	size_t first, last, n = 0;
	int rc = ranges_own(map, 2);

	if (rc)
		return rc;
	r = map->ranges;
	first = last = ranges_after(r, start);
	if (first < r->list.n && r->list.v[first].start < start) {
		parts[n] = r->list.v[first];
		parts[n++].end = start;
	}
	if (with)
		parts[n++] = *with;
	while (last < r->list.n && r->list.v[last].start < end)
		last++;
	if (last > first && r->list.v[last - 1].end > end) {
		parts[n] = r->list.v[last - 1];
		parts[n].offset = offset_at(&parts[n], end);
		parts[n++].start = end;
	}
	ranges_splice(r, first, last, parts, n);
	return 0;
}

int process_map_remove(struct process_map *map, u64 start, u64 end)
{
	if (start >= end)
		return -EINVAL;
	if (!map->ranges)
		return 0;
	return ranges_replace(map, start, end, NULL);
}

/* What process_map_find is to give for the start of a mapping. */
static u64 range_offset(enum module_kind kind, u64 start, u64 file_offset)
{
	switch (kind) {
	case MODULE_FILE:
		return file_offset;
	case MODULE_VDSO:
		return 0;
	default:
		return start;
	}
}

/* A copy of the path without the kernel's note that the file is deleted; NULL if it has none. */
static char *path_undelete(const char *path)
{
	size_t len = path ? strlen(path) : 0, tail = strlen(DELETED);

	if (len <= tail || strcmp(path + len - tail, DELETED))
		return NULL;
	return strndup(path, len - tail);
}

int process_map_add(struct process_map *map, u64 start, u64 end, u64 file_offset, u64 dev, u64 ino,
	const char *path)
{
	_cleanup_free_ char *undeleted = path_undelete(path);
	struct module_sight sight = {
		.pid = map->pid,
		.start = start,
		.end = end,
		.dev = dev,
		.ino = ino,
		.path = undeleted ? undeleted : path,
	};
	struct range range = {.start = start, .end = end};
	int rc;

	if (start >= end)
		return -EINVAL;
	rc = module_table_sight(map->modules, &sight, &range.module);
	if (rc)
		return rc;
	range.offset = range_offset(
		module_table_get(map->modules, range.module)->kind, start, file_offset);
	return ranges_replace(map, start, end, &range);
}

int process_map_find(const struct process_map *map, u64 ip, struct map_hit *ret)
{
	const struct range *r;
	size_t i;

	if (!map->ranges)
		return -ENOENT;
	i = ranges_after(map->ranges, ip);
	r = map->ranges->list.v + i;
	if (i == map->ranges->list.n || ip < r->start)
		return -ENOENT;
	*ret = (struct map_hit){.module = r->module, .offset = offset_at(r, ip)};
	return 0;
}

u64 process_map_address(const struct process_map *map, u32 module, u64 offset)
{
	for (size_t i = 0; i < process_map_count(map); i++) {
		const struct range *r = &map->ranges->list.v[i];

		if (r->module == module && offset >= r->offset &&
			offset - r->offset < r->end - r->start)
			return r->start + (offset - r->offset);
	}
	return 0;
}

void process_map_get(const struct process_map *map, size_t i, u64 *ret_start, u64 *ret_end,
	struct map_hit *ret_at_start)
{
	const struct range *r = &map->ranges->list.v[i];

	*ret_start = r->start;
	*ret_end = r->end;
	*ret_at_start = (struct map_hit){.module = r->module, .offset = r->offset};
}

/* The kernel writes a newline in a path as \012. In place. */
static void maps_path_clean(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		bool newline = !strncmp(from, "\\012", 4);

		*to = newline ? '\n' : *from;
		from += newline ? 4 : 1;
	}
	*to = '\0';
}

/* One line, without its end: 0, 1 when it is not of the form of maps, or -errno. */
static int maps_line_add(struct process_map *map, char *line)
{
	u64 start, end, offset, ino;
	unsigned int major, minor;
	int used = 0, rc;
	char perms[5];

	if (sscanf(line, "%16llx-%16llx %4s %16llx %8x:%8x %20llu %n", &start, &end, perms, &offset,
		    &major, &minor, &ino, &used) != 7 ||
		!used || strlen(perms) != 4 || start >= end)
		return 1;
	if (perms[2] != 'x')
		return 0;
	maps_path_clean(line + used);
	rc = process_map_add(map, start, end, offset, makedev(major, minor), ino, line + used);
	return rc;
}

int process_map_parse(struct process_map *map, const char *text)
{
	_cleanup_free_ char *copy = strdup(text);
	int skipped = 0, rc;
	char *line, *next;

	if (!copy)
		return -ENOMEM;
	for (line = copy; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		rc = maps_line_add(map, line);
		if (rc < 0)
			return rc;
		skipped += rc;
	}
	return skipped;
}

/* Of a process whose first thread has ended while others run on: theirs. */
static void threads_read(pid_t pid, struct str *text)
{
	char path[64];
	const struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && !text->len && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d/maps", (int)pid, atoi(e->d_name));
		file_read(path, text);
	}
	if (dir)
		closedir(dir);
}

int process_map_read(struct process_map *map)
{
	_cleanup_str_ struct str text = {};
	char path[32];
	int rc;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)map->pid);
	rc = file_read(path, &text);
	if (rc)
		return rc;
	if (!text.len)
		threads_read(map->pid, &text);
	/* A process that has exited, and is not waited for yet: what is known of it is worth more.
	 */
	if (!text.len)
		return -ESRCH;
	process_map_reset(map);
	rc = process_map_parse(map, str_get(&text));
	return rc < 0 ? rc : 0;
}
