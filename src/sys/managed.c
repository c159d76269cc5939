/* See managed.h. */
#include "sys/managed.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "sys/heaps.h"
#include "sys/hsperf.h"

#define DATA_MOST (16ULL << 20) /* of the data of a program or library that is searched */
#define ARENAS_MOST 4096
#define TRIES 3 /* what is read changes meanwhile */
#define WINDOW 65536ULL
#define PAGE 4096ULL
#define GO_HEAP 0xc000000000ULL
#define GO_SPACE (1ULL << 38) /* of addresses from there on that are looked at */

struct look {
	struct outside *o;
	const struct maps *maps;
	struct managed *ret;
	u64 left; /* bytes that may still be looked through */
};

static const char *const names[MANAGED_BY] = {
	[MANAGED_JAVA] = "java",
	[MANAGED_GO] = "go",
	[MANAGED_PYTHON] = "python",
	[MANAGED_NODE] = "node",
	[MANAGED_JEMALLOC] = "jemalloc",
	[MANAGED_TCMALLOC] = "tcmalloc",
	[MANAGED_MIMALLOC] = "mimalloc",
};

const char *managed_name(u32 by)
{
	return by < MANAGED_BY ? names[by] : "?";
}

void managed_free(struct managed *m)
{
	vec_free(&m->list);
}

static void part_set(struct managed_part *p, u32 which, u64 bytes)
{
	p->bytes[which] = bytes;
	p->known |= 1U << which;
}

static struct managed_part part_of(enum managed_by by, const char *name)
{
	struct managed_part p = {.by = by};

	snprintf(p.name, sizeof(p.name), "%s", name);
	return p;
}

/* What a part of a heap has: not known where there is no counter of that name. */
static void java_take(const void *perf, size_t n, const char *counter, struct managed_part *p)
{
	static const struct {
		const char *name;
		u32 which;
	} counters[] = {{"maxCapacity", MANAGED_RESERVED}, {"capacity", MANAGED_COMMITTED},
		{"used", MANAGED_USED}};
	char name[96];
	u64 v;

	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		snprintf(name, sizeof(name), "sun.gc.%s.%s", counter, counters[i].name);
		if (hsperf_number(perf, n, name, &v))
			part_set(p, counters[i].which, v);
	}
}

static int java_space(const void *perf, size_t n, u32 generation, u32 space, struct managed *ret)
{
	char counter[64], name[96], of[16], own[16];
	struct managed_part p = {.by = MANAGED_JAVA};

	snprintf(name, sizeof(name), "sun.gc.generation.%u.name", generation);
	if (!hsperf_text(perf, n, name, of, sizeof(of)))
		return -ENOENT;
	snprintf(counter, sizeof(counter), "generation.%u.space.%u", generation, space);
	snprintf(name, sizeof(name), "sun.gc.%s.name", counter);
	if (!hsperf_text(perf, n, name, own, sizeof(own)))
		return -ENOENT;
	java_take(perf, n, counter, &p);
	/* a generation of one space has the name twice, or just "space" */
	if (!strcmp(of, own) || !strcmp(own, "space"))
		snprintf(p.name, sizeof(p.name), "%s", of);
	else
		snprintf(p.name, sizeof(p.name), "%s %s", of, own);
	return vec_push(&ret->list, p);
}

int managed_java(const void *perf, size_t n, struct managed *ret)
{
	static const char *const others[][2] = {
		{"metaspace", "metaspace"}, {"compressedclassspace", "of metaspace: classes"}};
	int rc = 0;

	for (u32 g = 0; g < 2; g++)
		for (u32 s = 0; s < 3 && rc != -ENOMEM; s++)
			rc = java_space(perf, n, g, s, ret);
	for (size_t i = 0; i < ARRAY_SIZE(others) && rc != -ENOMEM; i++) {
		struct managed_part p = part_of(MANAGED_JAVA, others[i][1]);

		java_take(perf, n, others[i][0], &p);
		/* Serial and Parallel write it at collections only */
		if (p.bytes[MANAGED_COMMITTED])
			rc = vec_push(&ret->list, p);
	}
	return rc == -ENOMEM ? rc : 0;
}

static int java_read(struct look *l)
{
	vec_each (m, &l->maps->list) {
		_cleanup_free_ u64 *words = NULL;

		if (!strstr(m->path, "/hsperfdata_") || m->end - m->start > DATA_MOST)
			continue;
		l->ret->seen |= 1U << MANAGED_JAVA;
		words = outside_words(l->o, m->start, m->end);
		return words ? managed_java(words, m->end - m->start, l->ret) : -ENOMEM;
	}
	return 0;
}

static bool is_plain(const struct mapping *m)
{
	return m->prot & MAPPING_WRITE && !m->shared && !m->path[0];
}

/* The data of a file, and what follows it without a file: variables that begin as 0. Calls back
 * until that returns something else than 0. */
static int data_each(
	struct look *l, const char *path, int (*take)(struct look *l, const u64 *words, size_t n))
{
	const struct mapping *before = NULL;
	int rc = 0;

	vec_each (m, &l->maps->list) {
		bool own = !strcmp(m->path, path) ||
			   (before && is_plain(m) && m->start == before->end);
		_cleanup_free_ u64 *words = NULL;

		before = own ? m : NULL;
		if (rc || !own || !(m->prot & MAPPING_WRITE) || m->shared ||
			m->end - m->start > DATA_MOST)
			continue;
		words = outside_words(l->o, m->start, m->end);
		rc = words ? take(l, words, (m->end - m->start) / sizeof(u64)) : -ENOMEM;
	}
	return rc < 0 ? rc : 0;
}

static int tcmalloc_take(struct look *l, const u64 *words, size_t n)
{
	struct managed_part p = part_of(MANAGED_TCMALLOC, "page heap");
	struct heap_tcmalloc h;
	int rc;

	if (!heap_tcmalloc_find(words, n, &h))
		return 0;
	part_set(&p, MANAGED_RESERVED, h.system_bytes);
	part_set(&p, MANAGED_COMMITTED, h.committed_bytes);
	part_set(&p, MANAGED_USED, h.committed_bytes - h.free_bytes);
	part_set(&p, MANAGED_KEPT, h.free_bytes);
	rc = vec_push(&l->ret->list, p);
	return rc ? rc : 1;
}

static u64 go_most(const struct look *l)
{
	u64 bytes = 0;

	vec_each (m, &l->maps->list)
		if (m->start >= GO_HEAP && m->start < GO_HEAP + GO_SPACE)
			bytes += m->end - m->start;
	return bytes;
}

static int go_take(struct look *l, const u64 *words, size_t n)
{
	struct managed_part p = part_of(MANAGED_GO, "heap");
	struct heap_go h;
	int rc;

	if (!heap_go_find(words, n, go_most(l), &h))
		return 0;
	part_set(&p, MANAGED_RESERVED, h.used_bytes + h.free_bytes + h.released_bytes);
	part_set(&p, MANAGED_COMMITTED, h.used_bytes + h.free_bytes);
	part_set(&p, MANAGED_USED, h.live_bytes);
	part_set(&p, MANAGED_KEPT, h.free_bytes);
	rc = vec_push(&l->ret->list, p);
	return rc ? rc : 1;
}

/* Adds what an arena at this address has to the part. */
static int jemalloc_arena(struct look *l, u64 address, struct managed_part *p)
{
	for (u32 i = 0; i < TRIES; i++) {
		u64 from = address & ~(PAGE - 1);
		u64 to = (address + HEAP_JEMALLOC_ARENA + PAGE - 1) & ~(PAGE - 1);
		_cleanup_free_ u64 *words = outside_words(l->o, from, to);
		struct heap_jemalloc a;

		if (!words)
			return -ENOMEM;
		if (!heap_jemalloc_arena(words + (address - from) / 8, HEAP_JEMALLOC_ARENA / 8, &a))
			continue;
		p->bytes[MANAGED_COMMITTED] += a.active_bytes + a.dirty_bytes + a.muzzy_bytes;
		p->bytes[MANAGED_RESERVED] +=
			a.active_bytes + a.dirty_bytes + a.muzzy_bytes + a.retained_bytes;
		p->bytes[MANAGED_USED] += a.used_bytes;
		p->bytes[MANAGED_KEPT] += a.dirty_bytes + a.muzzy_bytes;
		p->known = (1U << MANAGED_N) - 1;
		p->decay_ms = a.decay_ms;
		return 1;
	}
	return 0;
}

static int address_compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* Pointers to lines of caches in memory without a file, each once. */
static int pointers_of(struct look *l, const u64 *words, size_t n, struct managed_part *p)
{
	VEC(u64) at = {};
	u64 before = 0, two[2];
	int rc = 0, arenas = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		const struct mapping *m =
			words[i] && !(words[i] & 63) ? maps_find(l->maps, words[i]) : NULL;

		if (m && is_plain(m) && words[i] + HEAP_JEMALLOC_ARENA <= m->end)
			rc = vec_push(&at, words[i]);
	}
	if (at.n)
		qsort(at.v, at.n, sizeof(*at.v), address_compare);
	for (size_t i = 0; i < at.n && rc >= 0 && arenas < ARENAS_MOST; i++) {
		if (at.v[i] == before ||
			outside_read(l->o, at.v[i] + HEAP_JEMALLOC_DIRTY, two, 16) ||
			!heap_jemalloc_may_be(two))
			continue;
		before = at.v[i];
		rc = jemalloc_arena(l, before, p);
		arenas += rc > 0;
	}
	vec_free(&at);
	return rc < 0 ? rc : arenas;
}

static int jemalloc_take(struct look *l, const u64 *words, size_t n)
{
	struct managed_part p = {.by = MANAGED_JEMALLOC};
	int rc = pointers_of(l, words, n, &p), arenas = rc;

	if (rc <= 0)
		return rc;
	snprintf(p.name, sizeof(p.name), "%d arena%s", arenas, arenas == 1 ? "" : "s");
	rc = vec_push(&l->ret->list, p);
	return rc ? rc : 1;
}

/* May this much be looked through? */
static bool may_look(struct look *l, u64 bytes)
{
	if (l->left < bytes) {
		l->ret->cut = true;
		return false;
	}
	l->left -= bytes;
	return true;
}

static int mimalloc_read(struct look *l)
{
	struct managed_part p = part_of(MANAGED_MIMALLOC, "segments");
	u64 before = 0;

	vec_each (m, &l->maps->list) {
		u64 at = (MAX(m->start, before) + HEAP_MIMALLOC_ALIGN - 1) &
			 ~(HEAP_MIMALLOC_ALIGN - 1);

		for (; is_plain(m) && at + HEAP_MIMALLOC_HEAD < m->end &&
			may_look(l, HEAP_MIMALLOC_HEAD);
			at += HEAP_MIMALLOC_ALIGN) {
			_cleanup_free_ u64 *words =
				outside_words(l->o, at, at + HEAP_MIMALLOC_HEAD);
			struct heap_mimalloc s;

			if (!words)
				return -ENOMEM;
			if (!heap_mimalloc_segment(words, HEAP_MIMALLOC_HEAD / 8, &s))
				continue;
			p.bytes[MANAGED_RESERVED] += s.bytes;
			p.bytes[MANAGED_COMMITTED] += outside_resident(l->o, at, at + s.bytes);
			p.bytes[MANAGED_USED] += s.used_bytes;
			p.known = 1U << MANAGED_RESERVED | 1U << MANAGED_COMMITTED |
				  1U << MANAGED_USED;
		}
		before = m->end;
	}
	return p.known ? vec_push(&l->ret->list, p) : 0;
}

static int v8_read(struct look *l)
{
	struct managed_part parts[] = {
		part_of(MANAGED_NODE, "old generation"), part_of(MANAGED_NODE, "young generation")};
	int rc = 0;

	vec_each (m, &l->maps->list) {
		u64 at = (m->start + HEAP_V8_ALIGN - 1) & ~(HEAP_V8_ALIGN - 1);
		u64 words[HEAP_V8_HEAD / 8];
		struct heap_v8 c;

		for (; is_plain(m) && at + PAGE <= m->end && may_look(l, PAGE);
			at += HEAP_V8_ALIGN) {
			struct managed_part *p;

			if (outside_read(l->o, at, words, sizeof(words)) ||
				!heap_v8_chunk(words, at, &c))
				continue;
			p = &parts[c.young];
			p->bytes[MANAGED_COMMITTED] += c.bytes;
			p->known |= 1U << MANAGED_COMMITTED;
			if (c.young)
				continue;
			p->bytes[MANAGED_USED] += c.used_bytes;
			p->known |= 1U << MANAGED_USED;
			at += (c.bytes - 1) & ~(HEAP_V8_ALIGN - 1);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(parts) && !rc; i++)
		if (parts[i].known)
			rc = vec_push(&l->ret->list, parts[i]);
	return rc;
}

struct python {
	struct managed_part p;
	u64 pools, arenas, arena_bytes;
	u32 before; /* arena of the pool before, plus one */
};

static void pool_take(struct python *y, const void *head, u64 *ret_skip)
{
	struct heap_python pool;

	*ret_skip = PAGE;
	if (!heap_python_pool(head, &pool))
		return;
	*ret_skip = pool.pool_bytes;
	y->arenas += pool.arena + 1 != y->before;
	y->before = pool.arena + 1;
	y->arena_bytes = pool.pool_bytes == PAGE ? 256ULL << 10 : 1ULL << 20;
	y->pools++;
	y->p.bytes[MANAGED_USED] += (u64)pool.blocks * pool.block_bytes;
	y->p.bytes[MANAGED_KEPT] += pool.blocks ? 0 : pool.pool_bytes;
}

/* Pools begin with whole pages; those that were never used are not resident. */
static void pools_read(struct look *l, const struct mapping *m, struct python *y)
{
	u8 window[WINDOW];
	u64 at = m->start, skip;

	while (at < m->end) {
		u64 n = MIN(WINDOW, m->end - at), i = 0;
		bool there = !outside_read(l->o, at, window, n);

		n = there ? n : PAGE;
		if (!may_look(l, n))
			return;
		if (!there && outside_read(l->o, at, window, HEAP_PYTHON_HEAD)) {
			at += PAGE;
			continue;
		}
		for (skip = 0; i < n; i += skip)
			pool_take(y, window + i, &skip);
		at += i;
	}
}

static int python_read(struct look *l)
{
	struct python y = {.p = part_of(MANAGED_PYTHON, "arenas")};

	vec_each (m, &l->maps->list)
		if (is_plain(m) && m->end - m->start >= 256ULL << 10)
			pools_read(l, m, &y);
	if (!y.pools)
		return 0;
	part_set(&y.p, MANAGED_COMMITTED, y.arenas * y.arena_bytes);
	y.p.known |= 1U << MANAGED_USED | 1U << MANAGED_KEPT;
	return vec_push(&l->ret->list, y.p);
}

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static const char *program_of(const struct maps *maps)
{
	vec_each (m, &maps->list)
		if (m->path[0] == '/')
			return m->path;
	return "";
}

/* Which runtimes and allocators its files are of; of the library, its path. */
static void files_look(const struct look *l, const char **ret)
{
	static const struct {
		const char *begin;
		enum managed_by by;
	} files[] = {{"python", MANAGED_PYTHON}, {"libpython", MANAGED_PYTHON},
		{"node", MANAGED_NODE}, {"libnode", MANAGED_NODE},
		{"libjemalloc", MANAGED_JEMALLOC}, {"libtcmalloc", MANAGED_TCMALLOC},
		{"libmimalloc", MANAGED_MIMALLOC}};

	vec_each (m, &l->maps->list)
		for (size_t i = 0; i < ARRAY_SIZE(files); i++)
			if (m->path[0] == '/' && begins(path_name(m->path), files[i].begin))
				ret[files[i].by] = m->path;
}

int managed_read(struct outside *o, const struct maps *maps, u64 most_bytes, struct managed *ret)
{
	struct look l = {.o = o, .maps = maps, .ret = ret, .left = most_bytes};
	const char *paths[MANAGED_BY] = {};
	int rc;

	ret->list.n = 0;
	ret->seen = 0;
	ret->cut = false;
	files_look(&l, paths);
	for (u32 i = 0; i < MANAGED_BY; i++)
		ret->seen |= paths[i] ? 1U << i : 0;
	rc = java_read(&l);
	if (!rc && go_most(&l)) {
		ret->seen |= 1U << MANAGED_GO;
		rc = data_each(&l, program_of(maps), go_take);
	}
	if (!rc && paths[MANAGED_JEMALLOC])
		rc = data_each(&l, paths[MANAGED_JEMALLOC], jemalloc_take);
	if (!rc && paths[MANAGED_TCMALLOC])
		rc = data_each(&l, paths[MANAGED_TCMALLOC], tcmalloc_take);
	if (!rc && paths[MANAGED_MIMALLOC])
		rc = mimalloc_read(&l);
	if (!rc && paths[MANAGED_NODE])
		rc = v8_read(&l);
	return rc || !paths[MANAGED_PYTHON] ? rc : python_read(&l);
}
