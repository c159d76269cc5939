/* See where_runtimes.h. */
#include "probes/where/where_runtimes.h"

#include <errno.h>

#include "analysis/give_back.h"
#include "base/less.h"
#include "base/units.h"
#include "sys/heap/managed.h"

#define KEPT_LEAST (16ULL << 20)
#define PARTS_MOST (1U << 16)

enum { R_PID, R_BY, R_PART, R_RESERVED, R_COMMITTED, R_USED, R_KEPT, R_METHOD, R_N };

static const struct column columns[R_N] = {
	[R_PID] = {"pid", "PID", CELL_U64, UNIT_ID, 0, "process id"},
	[R_BY] = {"runtime", "RUNTIME", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"runtime or allocator: java, go, python, node, jemalloc, tcmalloc, mimalloc"},
	[R_PART] = {"part", "PART", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"of Java a space of its heap, of Node.js a generation; of others all there is"},
	[R_RESERVED] = {"reserved_bytes", "RESERVED", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"what it may grow to (Java), or address space that it has. Spaces of G1 may each "
		"grow to the whole heap"},
	[R_COMMITTED] = {"committed_bytes", "COMMITTED", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"what it has from the kernel and has not given back"},
	[R_USED] = {"used_bytes", "IN USE", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"by the program, as far as the runtime knows: with garbage that was not collected "
		"yet. tcmalloc: with what its caches hold. Java writes it at collections, "
		"and of eden now and then; Node.js: of pages of the old generation, at their last "
		"collection"},
	[R_KEPT] = {"kept_bytes", "KEPT", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"not in use and not given back: jemalloc's dirty and muzzy pages, free pages of "
		"tcmalloc, mimalloc and Go, pools of Python without a block"},
	[R_METHOD] = {"method", "NUMBER", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"counter: the runtime's own; structure: from what it keeps of its heap; mappings: "
		"what is mapped, for Java's code cache, and of all memory without a file where no "
		"structures were found"},
};

const struct view_table where_runtimes_tables[] = {
	{"runtimes", columns, R_N, sizeof(struct column)},
	{},
};

void where_runtimes_free(struct where_runtimes *a)
{
	vec_free(&a->list);
}

int where_runtimes_feed(struct where_runtimes *a, const struct where_runtime *r)
{
	size_t n = 0;

	for (size_t i = 0; i < a->list.n && !r->index; i++)
		if (a->list.v[i].tgid != r->tgid)
			a->list.v[n++] = a->list.v[i];
	a->list.n = r->index ? a->list.n : n;
	return a->list.n < PARTS_MOST ? vec_push(&a->list, *r) : 0;
}

static const char *method(const struct where_runtime *r)
{
	if (r->by == MANAGED_JAVA || r->by == MANAGED_GO || r->by == MANAGED_TCMALLOC)
		return "counter";
	return "structure";
}

static void row_fill(struct cell *c, struct report *r, const struct where_runtime *e)
{
	bool found = !(e->known & WHERE_BY_MAPPINGS);

	c[R_PID] = cell_u64(e->tgid);
	c[R_BY] = cell_text(managed_name(e->by));
	c[R_PART] = cell_text(stream_string(r->stream, e->name));
	for (u32 i = 0; i < MANAGED_N; i++)
		if (e->known >> i & 1)
			c[R_RESERVED + i] = cell_u64(e->bytes[i]);
	c[R_METHOD] = cell_text(found ? method(e) : "mappings");
}

int where_runtimes_report(const struct where_runtimes *a, struct report *r)
{
	struct table *t =
		report_table(r, "runtimes", "Heaps of runtimes and other allocators", columns, R_N);

	if (!t)
		return -ENOMEM;
	table_each (row, t, e, &a->list)
		row_fill(row, r, e);
	return t->failed ? -ENOMEM : 0;
}

/* What gives back what is kept. */
static void try_add(struct report *r, struct finding *f, const struct where_runtime *e)
{
	char buf[UNIT_BUF];

	f->why = "Runtimes keep freed pages for a while, as returning them and faulting them in "
		 "again costs time.";
	if (e->by == MANAGED_GO)
		finding_line(r, f->try_,
			"Call debug.FreeOSMemory() after the program frees much: it should give "
			"back %s and what a collection frees. Or set a limit near which the "
			"runtime gives back at once: `GOMEMLIMIT=SIZE COMMAND`",
			fmt_bytes(buf, e->bytes[MANAGED_KEPT]));
	else
		finding_line(r, f->try_,
			"Allocate less at once: free pools are used before more memory is "
			"requested");
	finding_line(r, f->undo, "Start it without the setting");
	finding_line(r, f->verify, "`memwhy where -p %u`", e->tgid);
}

static void advise(const struct where_runtime *e, const struct where_ledger *l, struct report *r)
{
	const u64 *bytes = e->bytes;
	struct give_back g = {.allocator = managed_name(e->by),
		.process = stream_string(r->stream, l->name) ?: "?",
		.tgid = l->tgid,
		.kept_bytes = bytes[MANAGED_KEPT],
		.decay_ms = e->decay_ms};
	u64 free_bytes = g.kept_bytes;
	struct finding *f;
	char buf[UNIT_BUF], used[UNIT_BUF];

	if (e->by >= MANAGED_JEMALLOC)
		free_bytes = u64_less(bytes[MANAGED_COMMITTED], bytes[MANAGED_USED]);
	g.between_bytes = u64_less(free_bytes, g.kept_bytes);
	if (free_bytes < KEPT_LEAST || !give_back_matters(&g, l->total_bytes))
		return;
	f = report_finding(r, LEVEL_NOTE, "allocator-keeps");
	if (!f)
		return;
	r->has_findings = true;
	f->tgid = l->tgid;
	f->held_bytes = free_bytes;
	f->title = report_text(r, "%s of %s (pid %u) keeps %s that is not in use", g.allocator,
		g.process, l->tgid, fmt_bytes(buf, free_bytes));
	f->confidence =
		"medium: read from its structures while it ran; includes pages it never touched";
	finding_line(r, f->evidence, "%s in use, %s kept", fmt_bytes(used, bytes[MANAGED_USED]),
		fmt_bytes(buf, free_bytes));
	if (!give_back_tell(r, f, &g))
		try_add(r, f, e);
}

void where_runtimes_advise(
	const struct where_runtimes *a, const struct where_ledger *l, struct report *r)
{
	vec_each (e, &a->list)
		if (e->tgid == l->tgid && e->known >> MANAGED_KEPT & 1 &&
			!(e->known & WHERE_BY_MAPPINGS))
			advise(e, l, r);
}
