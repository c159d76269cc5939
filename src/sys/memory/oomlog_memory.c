/* See oomlog_memory.h. */
#include "sys/memory/oomlog_memory.h"

#include <string.h>

#include "base/less.h"
#include "sys/scan.h"

enum { NOWHERE, IN_MACHINE, IN_GROUP, BEHIND };

enum number {
	/* of the machine, in pages */
	M_ACTIVE_ANON,
	M_INACTIVE_ANON,
	M_ISOLATED_ANON,
	M_SHMEM,
	M_SLAB_RECLAIMABLE,
	M_SLAB_UNRECLAIMABLE,
	M_PAGETABLES,
	M_SEC_PAGETABLES,
	M_BOUNCE,
	M_MISC,
	M_FREE,
	M_FREE_PCP,
	/* the same, before their name */
	M_CACHE,
	M_SWAP_CACHE,
	M_RAM,
	M_RESERVED,
	M_POISONED,
	/* of its nodes, in bytes */
	M_STACKS,
	M_HUGE,
	/* of a group, in bytes; of version 1 too */
	G_ANON,
	G_RSS,
	G_FILE,
	G_CACHE,
	G_SHMEM,
	G_SWAPCACHED,
	G_KERNEL,
	G_STACKS,
	G_PAGETABLES,
	G_SEC_PAGETABLES,
	G_PERCPU,
	G_SOCK,
	G_VMALLOC,
	G_ZSWAP,
	G_SLAB,
	G_N,
};

static const char *const names[G_N] = {
	[M_ACTIVE_ANON] = "active_anon",
	[M_INACTIVE_ANON] = "inactive_anon",
	[M_ISOLATED_ANON] = "isolated_anon",
	[M_SHMEM] = "shmem",
	[M_SLAB_RECLAIMABLE] = "slab_reclaimable",
	[M_SLAB_UNRECLAIMABLE] = "slab_unreclaimable",
	[M_PAGETABLES] = "pagetables",
	[M_SEC_PAGETABLES] = "sec_pagetables",
	[M_BOUNCE] = "bounce",
	[M_MISC] = "kernel_misc_reclaimable",
	[M_FREE] = "free",
	[M_FREE_PCP] = "free_pcp",
	[M_CACHE] = "total pagecache pages",
	[M_SWAP_CACHE] = "pages in swap cache",
	[M_RAM] = "pages RAM",
	[M_RESERVED] = "pages reserved",
	[M_POISONED] = "pages hwpoisoned",
	[M_STACKS] = "kernel_stack",
	[G_ANON] = "anon",
	[G_RSS] = "rss",
	[G_FILE] = "file",
	[G_CACHE] = "cache",
	[G_SHMEM] = "shmem",
	[G_SWAPCACHED] = "swapcached",
	[G_KERNEL] = "kernel",
	[G_STACKS] = "kernel_stack",
	[G_PAGETABLES] = "pagetables",
	[G_SEC_PAGETABLES] = "sec_pagetables",
	[G_PERCPU] = "percpu",
	[G_SOCK] = "sock",
	[G_VMALLOC] = "vmalloc",
	[G_ZSWAP] = "zswap",
	[G_SLAB] = "slab",
};

_Static_assert(G_N <= OOMLOG_NUMBERS, "room for all numbers");

static bool is_name(const struct scan *s, const char *name)
{
	return scan_len(s) == strlen(name) && !memcmp(s->p, name, scan_len(s));
}

static void number_set(struct oomlog_memory *m, u32 from, u32 to, const struct scan *name, u64 v)
{
	for (u32 i = from; i < to; i++)
		if (names[i] && is_name(name, names[i])) {
			m->numbers[i] = v;
			m->seen |= 1ULL << i;
		}
}

static void number_add(struct oomlog_memory *m, u32 which, u64 v)
{
	m->numbers[which] += v;
	m->seen |= 1ULL << which;
}

/* "active_anon:1439 inactive_anon:76337 …", over several lines of one record or of several. */
static void oomlog_memory_pages_take(struct oomlog_memory *m, struct scan s)
{
	struct scan name;
	u64 v;

	while (!scan_done(&s)) {
		const char *before = s.p;

		while (!scan_done(&s) && (*s.p == ' ' || *s.p == '\n'))
			s.p++;
		if (!scan_until(&s, ':', &name) || !scan_u64(&s, &v))
			return;
		number_set(m, M_ACTIVE_ANON, M_CACHE, &name, v);
		if (s.p == before)
			return;
	}
}

/* "1954 total pagecache pages" */
static bool count_take(struct oomlog_memory *m, struct scan s)
{
	u64 v;

	if (!scan_u64(&s, &v))
		return false;
	scan_blanks(&s);
	number_set(m, M_CACHE, M_STACKS, &s, v);
	return true;
}

/* "key=123" or "key:123" somewhere in a line. */
static bool word_take(const char *line, const char *key, u64 *ret)
{
	const char *at = strstr(line, key);
	struct scan s;

	if (!at)
		return false;
	s = scan_text(at + strlen(key));
	return scan_u64(&s, ret);
}

#define NODE_KB (1ULL << 42) /* a node has less */

/* A node, not one of its zones: "Node 0 active_anon:…", "Node 0 hugepages_total=0 …". */
static void node_take(struct oomlog_memory *m, const char *line)
{
	u64 v, size;

	if (strstr(line, " active_anon:") && !strstr(line, " free:") &&
		word_take(line, " kernel_stack:", &v))
		number_add(m, M_STACKS, v << 10);
	if (word_take(line, "hugepages_total=", &v) && word_take(line, "hugepages_size=", &size) &&
		size && size <= NODE_KB && v <= NODE_KB / size)
		number_add(m, M_HUGE, v * (size << 10));
}

/* "anon 32980992", several in one record before 6.x; "total_rss 1" of version 1 is with those of
 * the groups below, and comes after "rss". */
static void stats_take(struct oomlog_memory *m, const char *text)
{
	struct scan line, name;
	u64 v;

	while (scan_line(&text, &line)) {
		if (!scan_word(&line, &name) || !scan_u64(&line, &v))
			continue;
		if (scan_len(&name) > 6 && !memcmp(name.p, "total_", 6))
			name.p += 6;
		number_set(m, G_ANON, G_N, &name, v);
	}
}

void oomlog_memory_feed(struct oomlog_memory *m, const char *line)
{
	struct scan s = scan_text(line);

	if (scan_lit(&s, "Mem-Info:")) {
		*m = (struct oomlog_memory){.within = IN_MACHINE};
	} else if (scan_lit(&s, "Memory cgroup stats for ")) {
		*m = (struct oomlog_memory){.within = IN_GROUP};
	} else if (scan_lit(&s, "Tasks state") || scan_lit(&s, "oom-kill:")) {
		m->within = m->within ? BEHIND : NOWHERE;
	} else if (m->within == IN_GROUP) {
		stats_take(m, line);
	} else if (m->within == IN_MACHINE && scan_lit(&s, "Node ")) {
		node_take(m, line);
	} else if (m->within == IN_MACHINE && !count_take(m, s)) {
		oomlog_memory_pages_take(m, s);
	}
}

static void row(struct oomlog_ledger *l, enum oomlog_row which, bool known, u64 bytes)
{
	if (!known)
		return;
	l->bytes[which] = bytes;
	l->known |= 1U << which;
}

static bool has(const struct oomlog_memory *m, u32 which)
{
	return m->seen >> which & 1;
}

/* A number of the machine as a row of its own. */
static void same(struct oomlog_ledger *l, const struct oomlog_memory *m, enum oomlog_row to,
	u32 which, u64 unit)
{
	row(l, to, has(m, which), m->numbers[which] * unit);
}

/* The lists of anonymous pages have shared memory, too; what is in the swap cache is in both. */
static void machine_rows(const struct oomlog_memory *m, u64 page, struct oomlog_ledger *l)
{
	const u64 *n = m->numbers;
	u64 lists = n[M_ACTIVE_ANON] + n[M_INACTIVE_ANON] + n[M_ISOLATED_ANON];

	l->total_bytes = u64_less(n[M_RAM], n[M_RESERVED] + n[M_POISONED]) * page;
	same(l, m, OOMLOG_FREE, M_FREE, page);
	same(l, m, OOMLOG_FREE_CPU, M_FREE_PCP, page);
	row(l, OOMLOG_ANON, has(m, M_ACTIVE_ANON), u64_less(lists, n[M_SHMEM]) * page);
	row(l, OOMLOG_CACHE, has(m, M_CACHE),
		u64_less(n[M_CACHE], n[M_SHMEM] + n[M_SWAP_CACHE]) * page);
	same(l, m, OOMLOG_SHMEM, M_SHMEM, page);
	same(l, m, OOMLOG_HUGETLB, M_HUGE, 1);
	row(l, OOMLOG_SLAB, has(m, M_SLAB_RECLAIMABLE),
		(n[M_SLAB_RECLAIMABLE] + n[M_SLAB_UNRECLAIMABLE]) * page);
	same(l, m, OOMLOG_MISC, M_MISC, page);
	same(l, m, OOMLOG_PAGE_TABLES, M_PAGETABLES, page);
	same(l, m, OOMLOG_SECONDARY, M_SEC_PAGETABLES, page);
	same(l, m, OOMLOG_STACKS, M_STACKS, 1);
	same(l, m, OOMLOG_BOUNCE, M_BOUNCE, page);
}

/* Of version 2 the files have shared memory and swap cache in them, and `kernel` has what follows.
 */
static void group_rows(const struct oomlog_memory *m, struct oomlog_ledger *l)
{
	static const u8 kernel[][2] = {{OOMLOG_STACKS, G_STACKS},
		{OOMLOG_PAGE_TABLES, G_PAGETABLES}, {OOMLOG_SECONDARY, G_SEC_PAGETABLES},
		{OOMLOG_PERCPU, G_PERCPU}, {OOMLOG_VMALLOC, G_VMALLOC},
		{OOMLOG_COMPRESSED, G_ZSWAP}, {OOMLOG_SLAB, G_SLAB}};
	const u64 *n = m->numbers;
	u64 parts = 0;

	same(l, m, OOMLOG_ANON, has(m, G_ANON) ? G_ANON : G_RSS, 1);
	row(l, OOMLOG_CACHE, has(m, G_FILE) || has(m, G_CACHE),
		has(m, G_FILE) ? u64_less(n[G_FILE], n[G_SHMEM] + n[G_SWAPCACHED])
			       : u64_less(n[G_CACHE], n[G_SHMEM]));
	same(l, m, OOMLOG_SHMEM, G_SHMEM, 1);
	same(l, m, OOMLOG_SOCKETS, G_SOCK, 1);
	for (size_t i = 0; i < ARRAY_SIZE(kernel); i++) {
		same(l, m, kernel[i][0], kernel[i][1], 1);
		parts += n[kernel[i][1]];
	}
	row(l, OOMLOG_KERNEL, has(m, G_KERNEL), u64_less(n[G_KERNEL], parts));
}

bool oomlog_memory_ledger(const struct oomlog_memory *m, u64 page_bytes, struct oomlog_ledger *ret)
{
	struct oomlog_ledger l = {};

	if (has(m, M_FREE) && has(m, M_RAM)) {
		machine_rows(m, page_bytes, &l);
	} else if (has(m, G_ANON) || has(m, G_RSS)) {
		l.of_group = true;
		group_rows(m, &l);
	} else {
		return false;
	}
	*ret = l;
	return true;
}
