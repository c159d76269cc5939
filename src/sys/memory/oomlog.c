/* See oomlog.h. */
#include "sys/memory/oomlog.h"

#include <stdio.h>
#include <string.h>

#include "sys/scan.h"

/* Everything up to the first `lit` (the last one if `last`), which is skipped. False without. */
static bool split(struct scan *s, const char *lit, bool last, struct scan *ret)
{
	size_t n = strlen(lit);
	const char *hit = NULL, *next = s->p;

	while (next <= s->end && (next = memmem(next, (size_t)(s->end - next), lit, n))) {
		hit = next++;
		if (!last)
			break;
	}
	if (!hit)
		return false;
	*ret = (struct scan){s->p, hit};
	s->p = hit + n;
	return true;
}

static bool take_s32(struct scan *s, s32 *ret)
{
	struct scan at = *s;
	s64 v;

	if (!scan_s64(&at, &v) || v < INT32_MIN || v > INT32_MAX)
		return false;
	*ret = (s32)v;
	*s = at;
	return true;
}

/* "key123kB": to bytes. */
static bool take_kb(struct scan *s, const char *key, u64 *ret)
{
	struct scan at = *s;
	u64 v;

	if (!scan_lit(&at, key) || !scan_u64(&at, &v) || !scan_lit(&at, "kB"))
		return false;
	*ret = v > UINT64_MAX >> 10 ? UINT64_MAX : v << 10;
	*s = at;
	return true;
}

static void restart(struct oomlog *l)
{
	*l = (struct oomlog){};
}

/* "perl invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0" */
static bool asked(struct oomlog *l, struct scan s)
{
	struct oomlog_kill k = {.known = OOMLOG_ASKED};
	struct scan comm, mask;

	if (!split(&s, " invoked oom-killer: gfp_mask=0x", true, &comm) || !scan_hex(&s, &k.gfp) ||
		!split(&s, "), order=", true, &mask) || !take_s32(&s, &k.order) ||
		!scan_lit(&s, ", oom_score_adj=") || !take_s32(&s, &k.adj))
		return false;
	scan_copy(&comm, k.comm, sizeof(k.comm));
	restart(l);
	l->kill = k;
	return true;
}

/* "CPU: 1 PID: 143 Comm: perl Not tainted …"; "CPU: 1 UID: 0 PID: …" since 6.11 */
static bool asker(struct oomlog *l, struct scan s)
{
	struct scan skipped;

	if (!(l->kill.known & OOMLOG_ASKED) || l->kill.known & OOMLOG_ASKER || l->told ||
		!scan_lit(&s, "CPU: ") || !split(&s, " PID: ", false, &skipped) ||
		!scan_u32(&s, UINT32_MAX, &l->kill.pid))
		return false;
	l->kill.known |= OOMLOG_ASKER;
	return true;
}

/* "memory: usage 32768kB, limit 32768kB, failcnt 311"; the same of swap, or in v1 memory+swap */
static bool usage(struct oomlog *l, struct scan s)
{
	bool swap = scan_lit(&s, "swap: ") || scan_lit(&s, "memory+swap: ");
	u64 used, limit, failcnt;

	if (l->told || (!swap && !scan_lit(&s, "memory: ")) || !take_kb(&s, "usage ", &used) ||
		!take_kb(&s, ", limit ", &limit) || !scan_lit(&s, ", failcnt ") ||
		!scan_u64(&s, &failcnt))
		return false;
	if (swap) {
		l->kill.swap_usage_bytes = used;
		l->kill.swap_limit_bytes = limit;
		l->kill.known |= OOMLOG_SWAP;
		return true;
	}
	l->kill.usage_bytes = used;
	l->kill.limit_bytes = limit;
	l->kill.failcnt = failcnt;
	l->kill.known |= OOMLOG_USAGE;
	return true;
}

/*
 * "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=…,oom_memcg=/a,task_memcg=/a/b,task=perl,pid=1,
 * uid=0"; instead of oom_memcg, "global_oom". A path or a name may hold a comma.
 */
static bool choice(struct oomlog *l, struct scan s)
{
	struct scan word, tail;

	if (!scan_lit(&s, "oom-kill:constraint=CONSTRAINT_") || !scan_until(&s, ',', &word))
		return false;
	if (l->told)
		restart(l);
	scan_copy(&word, l->kill.constraint, sizeof(l->kill.constraint));
	l->kill.known |= OOMLOG_CHOICE;
	if (split(&s, ",oom_memcg=", false, &word)) {
		if (split(&s, ",task_memcg=", false, &word))
			scan_copy(&word, l->kill.oom_path, sizeof(l->kill.oom_path));
	} else if (!split(&s, ",task_memcg=", false, &word)) {
		return true;
	}
	tail = s;
	if (split(&tail, ",task=", true, &word))
		scan_copy(&word, l->kill.victim_path, sizeof(l->kill.victim_path));
	return true;
}

/* "Node 0 DMA32 free:5832kB boost:0kB min:2172kB low:2712kB high:3252kB … managed:322236kB …";
 * boost since 5.14 */
static bool zone(struct oomlog *l, struct scan s)
{
	struct oomlog_zone z = {};
	struct scan name, skipped;

	if (l->told || !(l->kill.known & OOMLOG_ASKED) || l->n_zones == OOMLOG_ZONES ||
		!scan_lit(&s, "Node ") || !scan_u32(&s, NODES_MAX - 1, &z.id.node) ||
		!scan_word(&s, &name) || !scan_copy(&name, z.id.zone, sizeof(z.id.zone)) ||
		!take_kb(&s, "free:", &z.free_bytes))
		return false;
	take_kb(&s, "boost:", &z.boost_bytes);
	if (!take_kb(&s, "min:", &z.min_bytes) || !take_kb(&s, "low:", &z.low_bytes) ||
		!take_kb(&s, "high:", &z.high_bytes))
		return false;
	if (split(&s, " managed:", false, &skipped))
		take_kb(&s, "", &z.managed_bytes);
	l->zones[l->n_zones++] = z;
	return true;
}

static struct oomlog_zone *zone_find(struct oomlog *l, const struct zone_id *id)
{
	for (u32 i = 0; i < l->n_zones; i++)
		if (zone_id_equal(&l->zones[i].id, id))
			return &l->zones[i];
	return NULL;
}

/* "Node 0 DMA32: 8*4kB (ME) 31*8kB (UME) … 0*4096kB = 5912kB" */
static bool blocks(struct oomlog *l, struct scan s)
{
	struct zone_id id = {};
	struct oomlog_zone *z;
	struct scan name, word;
	u64 n;

	if (l->told || !scan_lit(&s, "Node ") || !scan_u32(&s, NODES_MAX - 1, &id.node))
		return false;
	scan_blanks(&s);
	if (!scan_until(&s, ':', &name) || !scan_copy(&name, id.zone, sizeof(id.zone)))
		return false;
	z = zone_find(l, &id);
	if (!z || z->orders)
		return false;
	while (z->orders < PAGE_ORDERS_MAX && scan_u64(&s, &n) && scan_lit(&s, "*") &&
		scan_word(&s, &word)) {
		z->blocks[z->orders++] = n;
		if (scan_lit(&s, "("))
			scan_until(&s, ')', &word);
	}
	return true;
}

static bool heading(struct oomlog *l, struct scan s)
{
	struct scan word;

	if (l->told || !scan_lit(&s, "[  pid  ]"))
		return false;
	l->table = true;
	l->wide = split(&s, " rss_anon ", false, &word);
	l->n_tasks = 0;
	return true;
}

static u64 weight(const struct oomlog_task *t)
{
	return t->rss_pages + t->swap_pages + t->page_table_bytes / 4096;
}

static void task_keep(struct oomlog *l, const struct oomlog_task *t)
{
	u32 at = l->n_tasks;

	while (at > 0 && weight(&l->tasks[at - 1]) < weight(t))
		at--;
	if (at == OOMLOG_TASKS)
		return;
	if (l->n_tasks < OOMLOG_TASKS)
		l->n_tasks++;
	memmove(&l->tasks[at + 1], &l->tasks[at], (l->n_tasks - 1 - at) * sizeof(*t));
	l->tasks[at] = *t;
}

/* "[    160]     0   160    91243    74791 [74789 2 0]  770048    15353             0 perl" */
static bool task(struct oomlog *l, struct scan s)
{
	struct oomlog_task t = {};
	struct scan name;
	u64 part;

	if (!l->table || !scan_lit(&s, "[") || !scan_u32(&s, UINT32_MAX, &t.pid) ||
		!scan_lit(&s, "]") || !scan_u32(&s, UINT32_MAX, &t.uid) ||
		!scan_u32(&s, UINT32_MAX, &t.tgid) || !scan_u64(&s, &t.total_vm_pages) ||
		!scan_u64(&s, &t.rss_pages))
		return false;
	for (int i = 0; l->wide && i < 3; i++)
		if (!scan_u64(&s, &part))
			return false;
	if (!scan_u64(&s, &t.page_table_bytes) || !scan_u64(&s, &t.swap_pages) ||
		!take_s32(&s, &t.adj))
		return false;
	scan_blanks(&s);
	name = s;
	scan_copy(&name, t.comm, sizeof(t.comm));
	task_keep(l, &t);
	return true;
}

/* "Memory cgroup out of memory: Killed process 160 (perl) total-vm:364972kB, anon-rss:299156kB,
 * file-rss:8kB, shmem-rss:0kB, UID:0 pgtables:752kB oom_score_adj:0" */
static bool killed(struct oomlog *l, struct scan s)
{
	struct oomlog_kill k = {};
	struct scan head, name;

	if (!split(&s, ": Killed process ", false, &head) ||
		!scan_u32(&s, UINT32_MAX, &k.victim_pid) || !scan_lit(&s, "(") ||
		!split(&s, ") total-vm:", true, &name) || !take_kb(&s, "", &k.total_vm_bytes) ||
		!take_kb(&s, ", anon-rss:", &k.anon_bytes) ||
		!take_kb(&s, ", file-rss:", &k.file_bytes) ||
		!take_kb(&s, ", shmem-rss:", &k.shmem_bytes) || !scan_lit(&s, ", UID:") ||
		!scan_u32(&s, UINT32_MAX, &k.victim_uid) ||
		!take_kb(&s, "pgtables:", &k.page_table_bytes) || !scan_lit(&s, "oom_score_adj:") ||
		!take_s32(&s, &k.victim_adj))
		return false;
	if (l->told && !(l->kill.known & OOMLOG_GROUP))
		restart(l); /* the kernel left out what comes before */
	if (l->told) {
		l->n_tasks = l->n_zones = 0;
		l->memory = (struct oomlog_memory){};
	}
	if (scan_lit(&head, "Memory cgroup"))
		l->kill.known |= OOMLOG_MEMCG;
	else if (split(&head, "(oom_kill_allocating_task)", false, &(struct scan){}))
		l->kill.known |= OOMLOG_ALLOCATING;
	l->kill.victim_pid = k.victim_pid;
	l->kill.victim_uid = k.victim_uid;
	l->kill.victim_adj = k.victim_adj;
	l->kill.total_vm_bytes = k.total_vm_bytes;
	l->kill.anon_bytes = k.anon_bytes;
	l->kill.file_bytes = k.file_bytes;
	l->kill.shmem_bytes = k.shmem_bytes;
	l->kill.page_table_bytes = k.page_table_bytes;
	scan_copy(&name, l->kill.victim_comm, sizeof(l->kill.victim_comm));
	l->told = true;
	l->table = false;
	return true;
}

/* "Tasks in /a/b are going to be killed due to memory.oom.group set", behind the first kill */
static bool group(struct oomlog *l, struct scan s)
{
	struct scan path;

	if (!scan_lit(&s, "Tasks in ") ||
		!split(&s, " are going to be killed due to memory.oom.group set", true, &path))
		return false;
	if (!l->told)
		restart(l);
	scan_copy(&path, l->kill.oom_path, sizeof(l->kill.oom_path));
	l->kill.known |= OOMLOG_GROUP;
	l->told = true;
	return true;
}

/* "oom_reaper: reaped process 160 (perl), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB" */
static bool reaped(struct oomlog *l, struct scan s)
{
	return scan_lit(&s, "oom_reaper: reaped process ") && scan_u32(&s, UINT32_MAX, &l->reaped);
}

enum oomlog_event oomlog_feed(struct oomlog *l, const char *line)
{
	struct scan s = scan_text(line);

	if (!l->table)
		oomlog_memory_feed(&l->memory, line);
	if (task(l, s))
		return OOMLOG_NOTHING;
	if (killed(l, s))
		return OOMLOG_KILL;
	if (reaped(l, s))
		return OOMLOG_REAPED;
	if (scan_lit(&(struct scan){s.p, s.end}, "Out of memory and no killable processes")) {
		l->told = true;
		return OOMLOG_NO_VICTIM;
	}
	if (!asked(l, s) && !asker(l, s) && !choice(l, s) && !group(l, s) && !usage(l, s) &&
		!zone(l, s) && !blocks(l, s))
		heading(l, s);
	return OOMLOG_NOTHING;
}

bool oomlog_ledger(const struct oomlog *l, u64 page_bytes, struct oomlog_ledger *ret)
{
	struct oomlog_ledger v;

	if (!oomlog_memory_ledger(&l->memory, page_bytes, &v) ||
		(v.of_group && !(l->kill.known & OOMLOG_USAGE)))
		return false;
	if (v.of_group)
		v.total_bytes = l->kill.usage_bytes;
	*ret = v;
	return true;
}

bool drop_line_parse(const char *line, struct drop_line *ret)
{
	static const char middle[] = "): drop_caches: ";
	const char *end = strstr(line, middle), *begin = end;
	struct drop_line d = {};
	struct scan s;

	/* The name of a thread may have blanks and brackets of its own. */
	while (begin && begin > line && begin[-1] >= '0' && begin[-1] <= '9')
		begin--;
	if (!begin || begin - line < 2 || begin[-1] != '(' || begin[-2] != ' ')
		return false;
	s = scan_text(begin);
	if (!scan_u32(&s, UINT32_MAX, &d.pid))
		return false;
	s = scan_text(end + strlen(middle));
	if (!scan_u32(&s, 7, &d.what))
		return false;
	snprintf(d.comm, sizeof(d.comm), "%.*s", (int)MIN(begin - 2 - line, OOMLOG_COMM - 1), line);
	d.what &= 3;
	*ret = d;
	return true;
}
