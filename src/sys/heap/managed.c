/* See managed.h. */
#include "sys/heap/managed.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "sys/heap/heaps.h"
#include "sys/heap/hsperf.h"

#define COUNTERS_MOST (16ULL << 20) /* of hsperfdata */
#define ARENAS_MOST 8192            /* that may be arenas of jemalloc */
#define TRIES 3                     /* what is read changes meanwhile */
#define PAGE 4096ULL
#define POINTERS_MOST 65536
#define ALIGNED(v, to) (((v) + (to)-1) & ~((to)-1))
#define GO_HEAP 0xc000000000ULL
#define GO_SPACE (1ULL << 38) /* of addresses from there on that are looked at */

typedef VEC(u64) u64_list;

/* For a structure in the data of a library, or of the program that it is linked into. */
struct search {
	enum managed_by by;
	outside_take *take;
	const char *path; /* NULL: it is not looked for */
	int rc;           /* 1: found */
	bool begun;
};

#define SEARCHES 3

struct look {
	struct outside *o;
	const struct maps *maps;
	struct managed *ret;
	struct heap_go go; /* the best so far */
	struct search *searches;
	const char *path; /* that is gone through */
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

bool managed_found(const struct managed *m, enum managed_by by)
{
	vec_each (p, &m->list)
		if (p->by == by)
			return true;
	return false;
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
	/* G1 says 8 bytes of a survivor space that it does not have */
	if (p.known >> MANAGED_COMMITTED & 1 && p.bytes[MANAGED_COMMITTED] < PAGE)
		return 0;
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

/* The code cache is all that a virtual machine may both write to and run (HotSpot 17). */
static int java_code(struct look *l)
{
	const u8 rights = MAPPING_WRITE | MAPPING_EXEC;
	struct managed_part p = part_of(MANAGED_JAVA, "code cache");
	u64 bytes = 0;

	vec_each (m, &l->maps->list)
		if (mapping_is_plain(m) && (m->prot & rights) == rights)
			bytes += m->end - m->start;
	part_set(&p, MANAGED_COMMITTED, bytes);
	p.by_mappings = true;
	return bytes ? vec_push(&l->ret->list, p) : 0;
}

static int java_read(struct look *l)
{
	int rc;

	vec_each (m, &l->maps->list) {
		_cleanup_free_ u64 *words = NULL;

		if (!strstr(m->path, "/hsperfdata_") || m->end - m->start > COUNTERS_MOST)
			continue;
		words = outside_words(l->o, m->start, m->end);
		rc = words ? managed_java(words, m->end - m->start, l->ret) : -ENOMEM;
		return rc || !l->ret->list.n ? rc : java_code(l);
	}
	return 0;
}

/* Can there be so much of what the process alone has, with these rights at least? It may have grown
 * since its mappings were read. */
static bool has_room(const struct maps *maps, u8 rights, u64 reserved)
{
	u64 bytes = 0;

	vec_each (m, &maps->list)
		if ((!m->shared && !m->path[0] && (m->prot & rights) == rights) ||
			m->kind == MAPPING_HEAP)
			bytes += m->end - m->start;
	return reserved / 2 <= bytes;
}

static int tcmalloc_take(void *arg, const u64 *words, size_t n, u64 address)
{
	struct look *l = arg;
	struct managed_part p = part_of(MANAGED_TCMALLOC, "page heap");
	struct heap_tcmalloc h;
	int rc;

	(void)address;
	if (!heap_tcmalloc_find(words, n, &h) || !has_room(l->maps, MAPPING_WRITE, h.system_bytes))
		return 0;
	part_set(&p, MANAGED_RESERVED, h.system_bytes);
	part_set(&p, MANAGED_COMMITTED, h.committed_bytes);
	part_set(&p, MANAGED_USED, h.committed_bytes - h.free_bytes);
	part_set(&p, MANAGED_KEPT, h.free_bytes);
	rc = vec_push(&l->ret->list, p);
	return rc ? rc : 1;
}

/* Go's heap begins at that very address; V8 puts its chunks anywhere, there too. */
bool managed_has_go(const struct maps *maps)
{
	const struct mapping *first = maps_find(maps, GO_HEAP);

	return first && first->start == GO_HEAP;
}

bool managed_is_go(const struct maps *maps, const struct mapping *m)
{
	return managed_has_go(maps) && m->start >= GO_HEAP && m->start < GO_HEAP + GO_SPACE &&
	       m->prot & MAPPING_WRITE;
}

/* 0: there is none. */
static u64 go_mapped(const struct look *l)
{
	u64 bytes = 0;

	vec_each (m, &l->maps->list)
		if (managed_is_go(l->maps, m))
			bytes += m->end - m->start;
	return bytes;
}

static int go_take(void *arg, const u64 *words, size_t n, u64 address)
{
	struct look *l = arg;

	(void)address;
	heap_go_find(words, n, go_mapped(l), &l->go);
	return 0;
}

static int go_add(struct look *l)
{
	struct managed_part p = part_of(MANAGED_GO, "heap");
	const struct heap_go *h = &l->go;

	if (!h->used_bytes)
		return 0;
	part_set(&p, MANAGED_RESERVED, h->used_bytes + h->free_bytes + h->released_bytes);
	part_set(&p, MANAGED_COMMITTED, h->used_bytes + h->free_bytes);
	part_set(&p, MANAGED_USED, h->live_bytes);
	part_set(&p, MANAGED_KEPT, h->free_bytes);
	return vec_push(&l->ret->list, p);
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
		/* of several arenas: that of all */
		p->decay_ms =
			!p->known || p->decay_ms == a.decay_ms ? a.decay_ms : HEAP_JEMALLOC_UNKNOWN;
		p->known = (1U << MANAGED_N) - 1;
		return 1;
	}
	return 0;
}

static int address_compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* Pointers to lines of caches in memory without a file. */
static int pointers_find(const struct look *l, const u64 *words, size_t n, u64_list *ret)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc && ret->n < POINTERS_MOST; i++) {
		const struct mapping *m =
			words[i] && !(words[i] & 63) ? maps_find(l->maps, words[i]) : NULL;

		if (m && mapping_is_plain(m) && words[i] + HEAP_JEMALLOC_ARENA <= m->end)
			rc = vec_push(ret, words[i]);
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), address_compare);
	return rc;
}

/* Arenas do not overlap. */
static int arenas_read(struct look *l, const u64_list *at, struct managed_part *p)
{
	int arenas = 0;
	u64 next = 0, two[2];

	for (size_t i = 0, tried = 0; i < at->n && tried < ARENAS_MOST; i++) {
		int rc;

		if (at->v[i] < next)
			continue;
		tried++;
		next = at->v[i] + 1;
		if (outside_read(l->o, at->v[i] + HEAP_JEMALLOC_DIRTY, two, 16) ||
			!heap_jemalloc_may_be(two))
			continue;
		rc = jemalloc_arena(l, at->v[i], p);
		if (rc < 0)
			return rc;
		next += rc ? HEAP_JEMALLOC_ARENA - 1 : 0;
		arenas += rc;
	}
	return arenas;
}

static int jemalloc_take(void *arg, const u64 *words, size_t n, u64 address)
{
	struct managed_part p = {.by = MANAGED_JEMALLOC};
	struct look *l = arg;
	u64_list at = {};
	int rc = pointers_find(l, words, n, &at), arenas = rc ? rc : arenas_read(l, &at, &p);

	(void)address;
	vec_free(&at);
	/* address space that it keeps may have no rights */
	if (arenas <= 0 || !has_room(l->maps, 0, p.bytes[MANAGED_RESERVED]))
		return MIN(arenas, 0);
	snprintf(p.name, sizeof(p.name), "%d arena%s", arenas, arenas == 1 ? "" : "s");
	rc = vec_push(&l->ret->list, p);
	return rc ? rc : 1;
}

/* How far memory without a file goes on from here, whatever its rights: what a runtime lays out as
 * one may be several mappings. known: what was found of mappings before. */
static u64 reach(const struct maps *maps, const struct mapping *m, u64 known)
{
	const struct mapping *end = maps->list.v + maps->list.n;
	u64 at = m->start;

	if (at < known)
		return known;
	for (; m < end && m->start == at && !m->shared && !m->path[0]; m++)
		at = m->end;
	return at;
}

static u64 idle_resident(struct outside *o, u64 at, const u8 idle[HEAP_MIMALLOC_SLICES])
{
	u64 bytes = 0;

	for (u32 i = 0, to; i < HEAP_MIMALLOC_SLICES; i = to) {
		for (to = i + 1; to < HEAP_MIMALLOC_SLICES && idle[to] == idle[i];)
			to++;
		if (idle[i])
			bytes += outside_resident(
				o, at + i * HEAP_MIMALLOC_SLICE, at + to * HEAP_MIMALLOC_SLICE);
	}
	return bytes;
}

static int mimalloc_read(struct look *l)
{
	struct managed_part p = part_of(MANAGED_MIMALLOC, "segments");
	u64 next = 0, end = 0;

	vec_each (m, &l->maps->list) {
		u64 at = ALIGNED(MAX(m->start, next), HEAP_MIMALLOC_ALIGN), word;

		end = reach(l->maps, m, end);
		for (; mapping_is_plain(m) && at + HEAP_MIMALLOC_HEAD < m->end && !l->o->cut;
			at = ALIGNED(next, HEAP_MIMALLOC_ALIGN)) {
			_cleanup_free_ u64 *words = NULL;
			struct heap_mimalloc s;

			next = at + 1;
			if (outside_read(l->o, at, &word, sizeof(word)))
				continue;
			words = outside_words(l->o, at, at + HEAP_MIMALLOC_HEAD);
			if (!words)
				return -ENOMEM;
			if (!heap_mimalloc_segment(words, HEAP_MIMALLOC_HEAD / 8, &s) ||
				at + s.bytes > end)
				continue;
			next = at + s.bytes;
			p.bytes[MANAGED_RESERVED] += s.bytes;
			p.bytes[MANAGED_COMMITTED] += outside_resident(l->o, at, next);
			p.bytes[MANAGED_USED] += s.used_bytes;
			p.bytes[MANAGED_KEPT] += idle_resident(l->o, at, s.idle);
			p.known = (1U << MANAGED_N) - 1;
		}
	}
	return p.known ? vec_push(&l->ret->list, p) : 0;
}

static int v8_read(struct look *l)
{
	struct managed_part parts[] = {
		part_of(MANAGED_NODE, "old generation"), part_of(MANAGED_NODE, "young generation")};
	u64 next = 0, end = 0, words[HEAP_V8_HEAD / 8];
	int rc = 0;

	vec_each (m, &l->maps->list) {
		u64 at = ALIGNED(MAX(m->start, next), HEAP_V8_ALIGN);

		end = reach(l->maps, m, end);
		for (; mapping_is_plain(m) && at + PAGE <= m->end && !l->o->cut;
			at = ALIGNED(next, HEAP_V8_ALIGN)) {
			struct managed_part *p;
			struct heap_v8 c;

			next = at + 1;
			if (outside_read(l->o, at, words, sizeof(words)) ||
				!heap_v8_chunk(words, at, &c) || at + c.bytes > end)
				continue;
			next = at + c.bytes;
			p = &parts[c.young];
			p->bytes[MANAGED_COMMITTED] += c.bytes;
			p->known |= 1U << MANAGED_COMMITTED;
			if (c.young)
				continue;
			p->bytes[MANAGED_USED] += c.used_bytes;
			p->known |= 1U << MANAGED_USED;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(parts) && !rc; i++)
		if (parts[i].known)
			rc = vec_push(&l->ret->list, parts[i]);
	return rc;
}

struct python {
	struct managed_part p;
	u64 pools, arenas, arena_bytes, mapped_bytes;
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
	struct outside_runs r = {.at = m->start, .end = m->end};
	u8 window[OUTSIDE_RUN];
	u64 at, n, skip;

	while (outside_run(l->o, &r, &at, &n)) {
		if (outside_read(l->o, at, window, n))
			continue;
		for (u64 i = 0; i < n; i += skip) {
			pool_take(y, window + i, &skip);
			r.at = at + i + skip;
		}
	}
}

static int python_read(struct look *l)
{
	struct python y = {.p = part_of(MANAGED_PYTHON, "arenas")};

	vec_each (m, &l->maps->list)
		if (mapping_is_plain(m) && m->end - m->start >= 256ULL << 10) {
			y.mapped_bytes += m->end - m->start;
			pools_read(l, m, &y);
		}
	if (!y.pools)
		return 0;
	part_set(&y.p, MANAGED_COMMITTED, MIN(y.arenas * y.arena_bytes, y.mapped_bytes));
	y.p.known |= 1U << MANAGED_USED | 1U << MANAGED_KEPT;
	return vec_push(&l->ret->list, y.p);
}

u32 managed_by_file(const char *path)
{
	static const struct {
		const char *begin, *behind; /* what may follow, beside digits and the end */
		enum managed_by by;
	} files[] = {{"libjvm", ".", MANAGED_JAVA}, {"python", ".-", MANAGED_PYTHON},
		{"libpython", ".-", MANAGED_PYTHON}, {"node", "", MANAGED_NODE},
		{"libnode", ".-", MANAGED_NODE}, {"libjemalloc", ".-", MANAGED_JEMALLOC},
		{"libtcmalloc", ".-_", MANAGED_TCMALLOC}, {"libmimalloc", ".-", MANAGED_MIMALLOC}};
	const char *name = path_name(path);

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *behind;

		if (!begins_with(name, files[i].begin))
			continue;
		behind = name + strlen(files[i].begin);
		if (!*behind || (*behind >= '0' && *behind <= '9') ||
			strchr(files[i].behind, *behind))
			return files[i].by;
	}
	return MANAGED_BY;
}

/* Which runtimes and allocators its files are of; of the library, its path. */
static void files_look(const struct maps *maps, const char **ret)
{
	vec_each (m, &maps->list) {
		u32 by = m->path[0] == '/' ? managed_by_file(m->path) : MANAGED_BY;

		if (by < MANAGED_BY)
			ret[by] = m->path;
	}
}

/* All that are looked for in this file and not found yet. */
static int data_take(void *arg, const u64 *words, size_t n, u64 address)
{
	struct look *l = arg;
	bool more = false;

	for (u32 i = 0; i < SEARCHES; i++) {
		struct search *s = &l->searches[i];

		if (s->rc || !s->path || strcmp(s->path, l->path) != 0)
			continue;
		s->begun = true;
		s->rc = s->take(l, words, n, address);
		if (s->rc < 0)
			return s->rc;
		l->ret->seen |= s->rc ? 1U << s->by : 0;
		more |= !s->rc;
	}
	return !more;
}

/* The data of a file is read once. */
static int data_read(struct look *l)
{
	int rc = 0;

	for (u32 i = 0; i < SEARCHES && rc >= 0; i++)
		if (l->searches[i].path && !l->searches[i].begun) {
			l->path = l->searches[i].path;
			rc = outside_data(l->o, l->maps, l->path, data_take, l);
		}
	return MIN(rc, 0);
}

int managed_read(struct outside *o, const struct maps *maps, bool runtimes, struct managed *ret)
{
	struct look l = {.o = o, .maps = maps, .ret = ret};
	const char *paths[MANAGED_BY] = {}, *program = maps_program(maps);
	int rc;

	ret->list.n = 0;
	ret->seen = 0;
	files_look(maps, paths);
	if (runtimes && go_mapped(&l))
		paths[MANAGED_GO] = program;
	for (u32 i = 0; i < MANAGED_BY; i++)
		ret->seen |= paths[i] ? 1U << i : 0;
	l.searches = (struct search[SEARCHES]){
		{.by = MANAGED_GO, .take = go_take, .path = paths[MANAGED_GO]},
		{.by = MANAGED_JEMALLOC,
			.take = jemalloc_take,
			.path = paths[MANAGED_JEMALLOC] ?: program},
		{.by = MANAGED_TCMALLOC,
			.take = tcmalloc_take,
			.path = paths[MANAGED_TCMALLOC] ?: program},
	};
	rc = runtimes ? java_read(&l) : 0;
	if (!rc)
		rc = data_read(&l);
	if (!rc)
		rc = go_add(&l);
	/* linked into a program it has no file, and its segments are known by themselves */
	if (!rc)
		rc = mimalloc_read(&l);
	if (!rc && runtimes && paths[MANAGED_NODE])
		rc = v8_read(&l);
	if (!rc && runtimes && paths[MANAGED_PYTHON])
		rc = python_read(&l);
	return rc;
}
