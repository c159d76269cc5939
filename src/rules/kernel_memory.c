/* Memory that the kernel keeps for processes: pipes and sockets that nobody reads, page tables, BPF
 * maps; tasks are in many_tasks.c. Each is told by who has most of it. */
#include <string.h>

#include "base/units.h"
#include "rules/holdings.h"
#include "rules/kernel_memory.h"
#include "rules/rules.h"
#include "sys/process/fdlink.h"

#define PROGRAMS_TOLD 2 /* of each kind */
#define SPARSE 20       /* page tables are more than 1/20 of what they map: 1/512 is usual */

static u64 pipe_bytes(const struct held_process *p)
{
	return p->pipe_bytes;
}

static u64 unread_bytes(const struct held_process *p)
{
	return p->unread_bytes;
}

static u64 unsent_bytes(const struct held_process *p)
{
	return p->unsent_bytes;
}

static u64 page_table_bytes(const struct held_process *p)
{
	return p->page_table_bytes;
}

static u64 bpf_bytes(const struct held_process *p)
{
	return p->bpf_bytes;
}

static void tell_pipes(struct report *r, const struct held *h, const struct held_top *top)
{
	const struct held_top t = *top;
	struct held_growth g = held_growth_of(h, &t);
	struct finding *x =
		held_finding(r, held_level_unread(r, t.bytes, &g), "pipe-buffers", t.bytes);
	const struct held_process *p;
	char a[UNIT_BUF];

	if (!x)
		return;
	p = &t.most->last;
	held_in_kernel(x, t.bytes, t.first_bytes);
	x->tgid = p->tgid;
	x->title = report_text(
		r, "%s keeps %s in unread pipes", held_who(r, &t), fmt_bytes(a, t.bytes));
	x->confidence = p->pipes_measured < p->pipes
				? report_text(r, "medium: estimated from %llu of %llu pipes",
					  p->pipes_measured, p->pipes)
				: "high: each pipe was asked; which end should read is not known";
	finding_line(r, x->evidence, "%llu pipes in %llu open files, %s", p->pipes, p->files,
		held_share(r, t.bytes));
	finding_line(r, x->evidence, "its parent is %s (pid %u)", held_text(r, p->parent),
		p->parent_tgid);
	held_tell_growth(r, x, &t);
	held_tell_left(r, x, &h->facts, &g);
	x->why = "Data written to a pipe waits in kernel pages until it is read. No counter of "
		 "/proc/meminfo includes these pages, and no process shows them.";
	finding_line(r, x->try_,
		"Drain or close them. To find the reader (both ends of a pipe have the same "
		"number):");
	finding_line(r, x->try_, "`ls -l /proc/%u/fd | grep pipe: | head`", p->tgid);
	finding_line(r, x->try_,
		"F_SETPIPE_SZ bounds what one may hold, as does fs.pipe-user-pages-soft for "
		"unprivileged users.");
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`memwhy check --for 5s -p %u`", p->tgid);
}

static void sockets_who(struct report *r, struct finding *x, const struct held_process *p)
{
	char a[UNIT_BUF], b[UNIT_BUF], c[UNIT_BUF];

	if (p->unread_bytes)
		finding_line(r, x->evidence, "its %llu sockets: %s received and not read",
			p->sockets, fmt_bytes(a, p->unread_bytes));
	if (p->unsent_bytes)
		finding_line(r, x->evidence,
			"%s written and not taken by the peer, including the kernel's overhead%s",
			fmt_bytes(b, p->unsent_bytes),
			p->unread_bytes ? " (between two sockets of this host it is the same data, "
					  "seen from both ends)"
					: "");
	if (p->peer)
		finding_line(r, x->evidence, "the one that holds the most (%s) is connected to %s",
			fmt_bytes(c, p->worst_bytes), held_text(r, p->peer));
}

static bool same_address(const struct report *r, u32 a, u32 b)
{
	return a && b && !strcmp(held_text(r, a), held_text(r, b));
}

/* The process on this host that has the other end of a TCP connection, and does not read it. */
static const struct held_process *reader_find(
	const struct report *r, const struct held *h, const struct held_process *p)
{
	const struct held_process *best = NULL;

	for (size_t i = 0; i < h->processes.n; i++) {
		const struct held_process *q =
			&((const struct held_both *)groups_value(&h->processes, i))->last;

		if (q->tgid != p->tgid && q->unread_bytes &&
			(same_address(r, q->local, p->peer) ||
				same_address(r, q->peer, p->local)) &&
			(!best || q->unread_bytes > best->unread_bytes))
			best = q;
	}
	return best;
}

struct sockets {
	const struct held_process *who,
		*other; /* other: the process that writes; NULL: not known */
	const char *name;
	u64 bytes;
	bool unread;
};

/* Of one connection both sides may have some: it is the one that does not read that is named. */
static struct sockets sockets_judge(struct report *r, const struct held_top *in,
	const struct held_top *out, const struct held *h)
{
	struct sockets s = {
		.bytes = MAX(in->bytes, out->bytes), .unread = in->bytes * 4 >= out->bytes};
	const struct held_top *t = s.unread ? in : out;
	const struct held_process *reader = NULL;

	s.who = &t->most->last;
	s.name = held_who(r, t);
	if (!s.unread)
		reader = reader_find(r, h, s.who);
	if (!reader)
		return s;
	s.other = s.who;
	s.who = reader;
	s.name = held_name(r, reader);
	s.unread = true;
	return s;
}

static void sockets_numbers(
	struct report *r, struct finding *x, const struct held *h, const struct sockets *s)
{
	char a[UNIT_BUF];

	sockets_who(r, x, s->who);
	if (s->other) {
		finding_line(r, x->evidence,
			"%s (pid %u) writes to it:", held_text(r, s->other->name), s->other->tgid);
		sockets_who(r, x, s->other);
	}
	if (facts_last(&h->facts, "tcp/mem"))
		finding_line(r, x->evidence, "TCP holds %s on this machine",
			fmt_bytes(a, facts_last(&h->facts, "tcp/mem")));
	finding_line(r, x->evidence, "that is %s", held_share(r, s->bytes));
}

/* Until TCP has as much as net.ipv4.tcp_mem calls pressure, where it is TCP that grows. */
static double tcp_left_s(
	const struct held *h, const struct held_top *t, const struct held_growth *g)
{
	u64 now = facts_last(&h->facts, "tcp/mem"),
	    pressure = facts_last(&h->facts, "tcp/mem_pressure");

	if (g->rate <= 0 || !pressure || now < t->bytes / 2 ||
		facts_delta(&h->facts, "tcp/mem") < (t->bytes - t->first_bytes) / 2)
		return HELD_NEVER_S;
	return (double)counter_rise(now, pressure) / g->rate;
}

static void tell_sockets(struct report *r, const struct held *h)
{
	struct held_top in = held_most(h, unread_bytes), out = held_most(h, unsent_bytes);
	const struct held_top *t = in.bytes >= out.bytes ? &in : &out;
	struct held_growth g = held_growth_of(h, t);
	double tcp_left = tcp_left_s(h, t, &g);
	struct sockets s = t->most ? sockets_judge(r, &in, &out, h) : (struct sockets){};
	/* what a reader on this host leaves with its writers waits for him as well */
	u64 bytes = t->bytes, unread = s.other ? bytes : in.bytes;
	struct finding *x = held_finding(r,
		MAX(MAX(held_level_unread(r, unread, &g), held_level_growing(r, bytes, &g)),
			tcp_left < HELD_SOON_S ? (int)LEVEL_RISK : -1),
		"socket-buffers", bytes);
	char a[UNIT_BUF];

	if (!x)
		return;
	held_in_kernel(x, bytes, MAX(in.first_bytes, out.first_bytes));
	x->tgid = s.who->tgid;
	x->title =
		s.unread ? report_text(r, "%s does not read its sockets: %s wait in socket buffers",
				   s.name, fmt_bytes(a, bytes))
			 : report_text(r,
				   "%s writes to sockets that the other side does not read: %s "
				   "wait in socket buffers",
				   s.name, fmt_bytes(a, bytes));
	x->confidence = s.who->sockets_measured < s.who->sockets
				? report_text(r, "medium: estimated from %llu of %llu sockets",
					  s.who->sockets_measured, s.who->sockets)
				: "high: each socket was asked (SO_MEMINFO)";
	sockets_numbers(r, x, h, &s);
	held_tell_growth(r, x, t);
	if (tcp_left < MIN(g.left, HELD_SOON_S))
		finding_line(r, x->evidence,
			"it grows by %s a second: at this rate TCP on this machine is under "
			"pressure in %s (net.ipv4.tcp_mem: %s), which shrinks the windows of all "
			"connections",
			fmt_bytes(a, (u64)g.rate), time_left_text(r, tcp_left),
			fmt_bytes((char[UNIT_BUF]){}, facts_last(&h->facts, "tcp/mem_pressure")));
	else
		held_tell_left(r, x, &h->facts, &g);
	x->why = "What arrives at a socket stays in kernel memory until the program reads it. A "
		 "stuck or slow reader thus holds the memory of everything its peers send.";
	finding_line(r, x->try_,
		"See where the reader is stuck, and let it read; or close idle sockets:");
	finding_line(r, x->try_, "`ss -xtump | grep pid=%u,`", s.who->tgid);
	finding_line(r, x->try_,
		"Bound one socket: SO_RCVBUF, SO_SNDBUF, or net.ipv4.tcp_rmem and "
		"tcp_wmem for TCP, net.core.wmem_default for UNIX sockets.");
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`memwhy check --for 5s -p %u`", s.who->tgid);
}

static void page_tables_try(struct report *r, struct finding *x, u32 tgid)
{
	finding_line(r, x->try_, "See which mapping is touched sparsely:");
	finding_line(
		r, x->try_, "`memwhy faults --by mapping --stacks=user --for 10s -p %u`", tgid);
	finding_line(r, x->try_,
		"Unmap ranges that are no longer needed: MADV_DONTNEED frees the pages, but not "
		"their page tables.");
	finding_line(
		r, x->try_, "If many processes share a large segment, map it with huge pages.");
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`grep VmPTE: /proc/%u/status`", tgid);
}

static void tell_page_tables(struct report *r, const struct held *h)
{
	struct held_top t = held_most_process(h, page_table_bytes);
	struct held_growth g = held_growth_of(h, &t);
	int level = held_level_growing(r, t.bytes, &g);
	const struct held_process *p = t.most ? &t.most->last : NULL;
	struct finding *x;
	char a[UNIT_BUF], b[UNIT_BUF];

	/* In their usual relation to memory that is in use they are no finding. */
	if (!p || t.bytes * SPARSE < p->rss_bytes)
		return;
	x = held_finding(r, level, "page-tables", t.bytes);
	if (!x)
		return;
	x->tgid = p->tgid;
	x->title = report_text(r, "Page tables of %s take %s, for %s of resident memory",
		held_name(r, p), fmt_bytes(a, t.bytes), fmt_bytes(b, p->rss_bytes));
	x->confidence = "high: the kernel's own count";
	finding_line(r, x->evidence, "that is %s; page tables are usually 0.2 %% of memory in use",
		held_share(r, t.bytes));
	finding_line(r, x->evidence, "all processes together: %s",
		fmt_bytes(a, facts_last(&h->facts, "PageTables")));
	held_tell_growth(r, x, &t);
	held_tell_left(r, x, &h->facts, &g);
	x->why = "A page table of 4 KiB serves 2 MiB of addresses: scattered pages in a large "
		 "mapping need one each, and it stays when the pages are freed. Page tables cannot "
		 "be swapped or reclaimed.";
	page_tables_try(r, x, p->tgid);
}

/* Many processes that each have page tables for the same memory. */
static void tell_children_tables(struct report *r, const struct held *h)
{
	const struct held_children *most = NULL;
	struct finding *x;
	char a[UNIT_BUF], b[UNIT_BUF];

	for (size_t i = 0; i < h->parents.n; i++) {
		const struct held_children *c = groups_value(&h->parents, i);

		if (!most || c->page_table_bytes > most->page_table_bytes)
			most = c;
	}
	/* What they share is there once. */
	if (!most || most->children < 2 ||
		most->page_table_bytes * SPARSE < most->anon_bytes + most->most_shared_bytes)
		return;
	x = held_finding(r, held_level_stuck(r, most->page_table_bytes), "page-tables",
		most->page_table_bytes);
	if (!x)
		return;
	x->tgid = most->tgid;
	x->title = report_text(r, "Page tables of the %llu children of %s (pid %u) take %s, %s",
		most->children, held_text(r, most->name), most->tgid,
		fmt_bytes(a, most->page_table_bytes), held_share(r, most->page_table_bytes));
	x->confidence = "high: the kernel's own count";
	finding_line(r, x->evidence,
		"one of them: %s; each has %s of page tables, %s of private memory and up to %s "
		"that may be shared",
		held_text(r, most->child),
		fmt_bytes(a, most->page_table_bytes / MAX(most->children, 1ULL)),
		fmt_bytes(b, most->anon_bytes / MAX(most->children, 1ULL)),
		fmt_bytes((char[UNIT_BUF]){}, most->most_shared_bytes));
	x->why = "Each process has its own page tables, 4 KiB for each 2 MiB that it touches, even "
		 "for shared memory. They cannot be swapped or reclaimed.";
	finding_line(r, x->try_,
		"Let fewer processes share it (a connection pool), or map it with huge pages, "
		"which need no such tables: a database's setting for them, MAP_HUGETLB or "
		"SHM_HUGETLB, or madvise(MADV_HUGEPAGE) if this allows it:");
	finding_line(r, x->try_, "`cat /sys/kernel/mm/transparent_hugepage/shmem_enabled`");
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`grep PageTables /proc/meminfo`");
}

static void tell_bpf(struct report *r, const struct held *h, const struct held_top *top)
{
	const struct held_top t = *top;
	struct held_growth g = held_growth_of(h, &t);
	bool looks = t.most && looks_too(r, t.most->last.tgid); /* its maps come with each look */
	int level = held_level_aside(r, &h->facts, t.bytes);
	struct finding *x = looks && level == LEVEL_NOTE
				    ? NULL
				    : held_finding(r, looks ? level : held_level_soon(level, &g),
					      "bpf-maps", t.bytes);
	const struct held_process *p;
	char a[UNIT_BUF];

	if (!x)
		return;
	p = &t.most->last;
	x->tgid = p->tgid;
	x->title = report_text(r, "BPF maps of %s take %s", held_who(r, &t), fmt_bytes(a, t.bytes));
	x->confidence = "high: the kernel's own count (memlock in fdinfo)";
	finding_line(
		r, x->evidence, "%u maps open, %s", p->kinds[FD_BPF_MAP], held_share(r, t.bytes));
	finding_line(r, x->evidence, "VmallocUsed is %s",
		fmt_bytes(a, facts_last(&h->facts, "VmallocUsed")));
	finding_line(r, x->evidence, "Percpu is %s", fmt_bytes(a, facts_last(&h->facts, "Percpu")));
	held_tell_growth(r, x, &t);
	held_tell_left(r, x, &h->facts, &g);
	x->why = "A BPF map lives in kernel memory; a preallocated one takes all it may ever hold "
		 "when it is created, a per-CPU one once for each CPU.";
	finding_line(r, x->try_,
		"List them, and make the largest smaller (max_entries), or not preallocated "
		"(BPF_F_NO_PREALLOC):");
	finding_line(r, x->try_, "`bpftool map show`");
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`memwhy check --for 5s -p %u`", p->tgid);
}

/* Nobody can close these: they go with their pin, or with the program that uses them. */
static void tell_bpf_orphans(struct report *r, const struct held *h)
{
	const struct held_maps *m = &h->maps;
	struct finding *x =
		held_finding(r, held_level_aside(r, &h->facts, m->bytes), "bpf-maps", m->bytes);
	const char *name = report_text(r, "%.15s", m->name);
	char a[UNIT_BUF], b[UNIT_BUF];

	if (!x)
		return;
	x->title = report_text(r,
		"%llu BPF map%s that no process has open take%s %s; the largest, %s, %s", m->maps,
		plural(m->maps), m->maps == 1 ? "s" : "", fmt_bytes(a, m->bytes),
		name[0] ? name : report_text(r, "id %llu", m->id),
		m->path ? report_text(r, "is pinned at %s", held_text(r, m->path))
			: "is not pinned at any visible place");
	x->confidence = "high: the kernel's own count (memlock) of each map that was there at the "
			"start and at the end";
	finding_line(r, x->evidence, "the largest (id %llu) takes %s; %llu of them are pinned",
		m->id, fmt_bytes(b, m->id_bytes), m->pinned);
	finding_line(r, x->evidence, "that is %s", held_share(r, m->bytes));
	held_tell_cost(r, x, &h->facts, m->bytes);
	x->why = "A BPF map lives as long as it is pinned in a bpffs or an attached program uses "
		 "it, even after the process that created it ends. No process shows its memory.";
	finding_line(r, x->try_, "See what uses it, and remove the pin if it is no longer needed:");
	finding_line(r, x->try_, "`bpftool map show id %llu`", m->id);
	if (m->path)
		finding_line(r, x->try_, "`rm %s`", held_text(r, m->path));
	finding_line(r, x->undo, "The contents of a removed map are lost.");
	finding_line(r, x->verify, "`memwhy check --for 5s`");
}

static int kernel_memory_rule_report(void *v, struct report *r)
{
	const struct held *h = v;

	struct held_top pipes = held_most(h, pipe_bytes), maps = held_most(h, bpf_bytes);

	for (int n = 0; n < PROGRAMS_TOLD; n++) {
		tell_pipes(r, h, &pipes);
		tell_bpf(r, h, &maps);
		pipes = held_next(h, pipe_bytes, &pipes);
		maps = held_next(h, bpf_bytes, &maps);
	}
	tell_sockets(r, h);
	tell_page_tables(r, h);
	tell_children_tables(r, h);
	tell_bpf_orphans(r, h);
	tell_tasks(r, h);
	return 0;
}

const struct view rule_kernel_memory = HELD_RULE(kernel_memory_rule_report);
