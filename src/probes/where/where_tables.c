/* See where_tables.h. */
#include "probes/where/where_tables.h"

#include <errno.h>
#include <string.h>

#include "analysis/cells.h"
#include "base/units.h"
#include "probes/where/where_census.h"
#include "probes/where/where_ledger.h"
#include "probes/where/where_uses.h"
#include "probes/where/where_words.h"
#include "sys/process/fdlink.h"

#define GROWTH_LEAST_NS 500000000ULL /* a shorter time shows noise */
#define NEXT_LEAST 50                /* of what is not free, a row of 1 in this is worth a look */
#define NEXT_MOST 3
#define MOST_LEAST 100 /* who has less than 1 in this of a row is not named beside it */

void where_tables_free(struct where_tables *t)
{
	vec_free(&t->subjects);
	vec_free(&t->first);
	vec_free(&t->last);
	vec_free(&t->holders);
	where_arenas_free(&t->arenas);
	where_runtimes_free(&t->runtimes);
	where_limits_free(&t->limits);
	where_evictions_free(&t->evictions);
	where_taken_free(&t->taken);
	where_files_free(&t->files);
}

static bool shows_growth(const struct report *r)
{
	return stream_interval_ns(r->stream) >= GROWTH_LEAST_NS;
}

/* Is it an owner in this ledger? */
static bool is_of(const struct where_owner *o, const struct where_ledger *l)
{
	return o->scope == l->scope && o->of_tgid == l->tgid;
}

static const char *owner_name(struct report *r, const struct where_owner *o)
{
	const char *path = o->cgroup ? stream_cgroup(r->stream, o->cgroup) : NULL;
	const char *name = stream_string(r->stream, o->name);

	if (path)
		return report_text(r, "group %s", report_cgroup(r, path));
	return name ? name : "?";
}

/* What a process has of a row that is known by what it has open. */
static u64 holder_bytes(const struct held_process *p, u32 row)
{
	switch (row) {
	case WHERE_SHARED:
		return p->memfd_bytes;
	case WHERE_PIPES:
		return p->pipe_bytes;
	case WHERE_SOCKETS:
		return p->unread_bytes + p->unsent_bytes - p->twice_bytes;
	case WHERE_REST:
		return p->ring_bytes + p->mapped_bytes;
	default:
		return 0;
	}
}

/* Who has more of it than that; NULL: nobody. */
static const struct held_process *holder_most(const struct where_tables *t, u32 row, u64 least)
{
	const struct held_process *best = NULL;

	vec_each (p, &t->holders)
		if (holder_bytes(p, row) > least) {
			best = p;
			least = holder_bytes(p, row);
		}
	return best;
}

/* Of those that a look found; NULL: none. */
static const struct where_owner *owner_most(
	const struct where_tables *t, const struct where_ledger *l, u32 row)
{
	const struct where_owner *best = NULL, *list = t->last.n ? t->last.v : t->first.v;

	for (size_t i = 0; i < (t->last.n ? t->last.n : t->first.n); i++) {
		const struct where_owner *o = &list[i];

		/* what a process maps may be files in tmpfs, which are not in this row */
		if (row == WHERE_SHARED && o->tgid && o->bytes > l->bytes[row])
			continue;
		if (o->row == row && is_of(o, l) && (!best || o->bytes > best->bytes))
			best = o;
	}
	return best;
}

static const char *mostly(
	struct report *r, const struct where_tables *t, const struct where_ledger *l, u32 row)
{
	const struct where_owner *best = owner_most(t, l, row);
	const struct held_process *held;
	u64 least = (u64)(row == WHERE_REST ? MAX(where_rest(l), 0) : (s64)l->bytes[row]);
	char buf[UNIT_BUF];

	least /= MOST_LEAST;
	if (best && best->bytes < least)
		best = NULL;
	held = l->scope == WHERE_MACHINE ? holder_most(t, row, best ? best->bytes : least) : NULL;
	if (held)
		return report_text(r, "%s (pid %u) %s", stream_string(r->stream, held->name) ?: "?",
			held->tgid, fmt_bytes(buf, holder_bytes(held, row)));
	if (!best)
		return NULL;
	return report_text(r, "%s%s %s", owner_name(r, best),
		best->tgid && row != WHERE_TMPFS ? report_text(r, " (pid %u)", best->tgid) : "",
		fmt_bytes(buf, best->bytes));
}

/* A row of a ledger. */
struct ledger_row {
	const struct where_tables *t;
	const struct where_ledger *l;
	const struct where_words *words;
	s64 bytes, before;
	u64 pid; /* 0: of no process */
	u32 row;
};

static struct cell share(const struct where_ledger *l, s64 bytes)
{
	return l->total_bytes ? cell_f64((double)bytes / (double)l->total_bytes) : (struct cell){};
}

static struct cell reclaimable(const struct where_ledger *l, u32 row)
{
	u64 bytes;

	return where_reclaimable(l, row, &bytes) ? cell_u64(bytes) : (struct cell){};
}

static const char *method(const struct where_ledger *l, u32 row)
{
	if (row == WHERE_REST)
		return "difference";
	return l->estimated >> row & 1 ? "estimated" : "exact";
}

CELL_EXPR(name_cell, struct ledger_row, cell_text(e->words->name))
CELL_EXPR(cgroup_cell, struct ledger_row,
	cell_text(e->l->cgroup ? stream_cgroup(r->stream, e->l->cgroup) : NULL))
CELL_EXPR(share_cell, struct ledger_row, share(e->l, e->bytes))
CELL_EXPR(change_cell, struct ledger_row,
	shows_growth(r) ? cell_s64(e->bytes - e->before) : (struct cell){})
CELL_EXPR(reclaimable_cell, struct ledger_row, reclaimable(e->l, e->row))
CELL_EXPR(method_cell, struct ledger_row, cell_text(method(e->l, e->row)))
CELL_EXPR(mostly_cell, struct ledger_row, cell_text(mostly(r, e->t, e->l, e->row)))
CELL_EXPR(dig_cell, struct ledger_row, cell_text(e->words->dig))
CELL_EXPR(free_cell, struct ledger_row, cell_text(e->words->free))
CELL_EXPR(price_cell, struct ledger_row, cell_text(e->words->price))

static const struct cell_column ledger_columns[] = {
	CELL_BY(0, "row", "ROW", CELL_TEXT, UNIT_NONE, COL_MAIN, "part of the memory", name_cell),
	CELL_FROM(0, struct ledger_row, pid, "pid", "PID", CELL_U64, UNIT_ID, COL_RARE,
		"process, in a ledger of one", cell_of_known),
	CELL_BY(0, "cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, COL_RARE,
		"control group, in a ledger of one", cgroup_cell),
	CELL_NUMBER(struct ledger_row, bytes, "bytes", "BYTES", UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"memory in this row; no page is in two rows. The sum of all rows is MemTotal; of a "
		"process, its Rss; of a group, what is charged to it"),
	CELL_BY(0, "share_ratio", "SHARE", CELL_F64, UNIT_RATIO, COL_LEVEL, "of that sum",
		share_cell),
	CELL_BY(0, "change_bytes", "CHANGE", CELL_S64, UNIT_BYTES, COL_CHANGE | COL_RARE,
		"by how much it grew in the interval", change_cell),
	CELL_BY(0, "reclaimable_bytes", "RECLAIMABLE", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"what the kernel can take back when memory is needed: free, clean and unlocked "
		"cache, reclaimable slab, idle huge pages, and anonymous and shared memory as far "
		"as there is free swap (estimated)",
		reclaimable_cell),
	CELL_BY(0, "method", "NUMBER", CELL_TEXT, UNIT_NONE, COL_ASIDE | COL_LESSER,
		"exact: a counter of the kernel; estimated; difference: what no counter covers",
		method_cell),
	CELL_BY(0, "mostly", "MOST OF IT", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"who has most of it, as far as memwhy can find out cheaply", mostly_cell),
	CELL_BY(0, "dig", "LOOK DEEPER", CELL_TEXT, UNIT_NONE, COL_WIDE | COL_ASIDE,
		"commands that tell more", dig_cell),
	CELL_BY(0, "free", "TO FREE IT", CELL_TEXT, UNIT_NONE, COL_WIDE | COL_ASIDE,
		"what frees it", free_cell),
	CELL_BY(0, "price", "PRICE OR UNDO", CELL_TEXT, UNIT_NONE, COL_WIDE | COL_ASIDE,
		"what that costs, or how to undo it", price_cell),
};

static void where_tables_row_add(struct table *table, struct report *r,
	const struct where_tables *t, const struct where_subject *s, u32 row)
{
	bool rest = row == WHERE_REST;
	const struct ledger_row it = {
		.t = t,
		.l = &s->last,
		.words = where_words(s->last.scope, row),
		.bytes = rest ? where_rest(&s->last) : (s64)s->last.bytes[row],
		.before = rest ? where_rest(&s->first) : (s64)s->first.bytes[row],
		.pid = s->last.tgid,
		.row = row,
	};

	cells_one(table, r, ledger_columns, &it, NULL);
}

/* Pipes are counted by the probe that looks at what processes have open. */
static void subject_settle(const struct where_tables *t, struct where_subject *s)
{
	if (s->last.scope != WHERE_MACHINE || !t->held.h.kind || t->held.cut)
		return;
	where_set_estimate(&s->last, WHERE_PIPES, t->held.pipe_bytes);
	if (where_knows(&s->first, WHERE_PIPES))
		return;
	where_set_estimate(&s->first, WHERE_PIPES, t->held.pipe_bytes);
}

static void subject_add(struct table *table, struct report *r, const struct where_tables *t,
	const struct where_subject *s)
{
	for (u32 i = 0; i < WHERE_ROWS; i++)
		if (where_knows(&s->last, i) &&
			(s->last.bytes[i] || where_words(s->last.scope, i)->always))
			where_tables_row_add(table, r, t, s, i);
	where_tables_row_add(table, r, t, s, WHERE_REST);
}

static const char *ledger_title(struct report *r, const struct where_tables *t)
{
	const struct where_ledger *l = t->subjects.n == 1 ? &t->subjects.v[0].last : NULL;
	const char *name = l ? stream_string(r->stream, l->name) : NULL;
	char buf[UNIT_BUF];

	if (!l)
		return "Where memory is";
	fmt_bytes(buf, l->total_bytes);
	if (l->scope == WHERE_MACHINE)
		return report_text(r, "Memory of the machine: %s (MemTotal)", buf);
	if (l->scope == WHERE_PROCESS)
		return report_text(
			r, "Resident memory of %s (pid %u): %s", name ? name : "?", l->tgid, buf);
	return report_text(r, "Memory charged to the group and those below it: %s", buf);
}

/* As it was at the first look; NULL: it was not there. */
static const struct where_owner *first_of(const struct where_tables *t, const struct where_owner *o)
{
	vec_each (f, &t->first)
		if (f->row == o->row && f->name == o->name && f->tgid == o->tgid &&
			is_of(f, &(struct where_ledger){.scope = o->scope, .tgid = o->of_tgid}))
			return f;
	return NULL;
}

/* An owner of part of a row. What is 0 is none, or not known. */
struct owner_row {
	const char *row, *owner, *detail;
	u64 pid, bytes, count, unused;
	const struct where_owner *first;
};

CELL_EXPR(grown_cell, struct owner_row,
	shows_growth(r) && e->first ? cell_s64((s64)(e->bytes - e->first->bytes)) : (struct cell){})

#define OWNER_TEXT(member_, title_, flags_, help_)                                              \
	CELL_FROM(0, struct owner_row, member_, #member_, title_, CELL_TEXT, UNIT_NONE, flags_, \
		help_, cell_of_text)

static const struct cell_column owner_columns[] = {
	OWNER_TEXT(row, "ROW", 0, "row of the ledger"),
	OWNER_TEXT(owner, "OWNER", COL_MAIN,
		"process, mount, segment, slab cache, kernel function or control group"),
	CELL_FROM(0, struct owner_row, pid, "pid", "PID", CELL_U64, UNIT_ID, COL_RARE,
		"process, if it is one", cell_of_known),
	CELL_NUMBER(struct owner_row, bytes, "bytes", "BYTES", UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"its part of the row. Memory that processes share is counted for each of them"),
	CELL_BY(0, "change_bytes", "CHANGE", CELL_S64, UNIT_BYTES, COL_CHANGE | COL_RARE,
		"by how much it grew in the interval", grown_cell),
	CELL_FROM(0, struct owner_row, count, "count", "COUNT", CELL_U64, UNIT_COUNT,
		COL_LEVEL | COL_RARE,
		"objects of a cache, areas of vmalloc, attachments of a segment, open pipes, "
		"sockets or maps, threads, mappings of a file",
		cell_of_known),
	CELL_FROM(0, struct owner_row, unused, "unused_bytes", "UNUSED", CELL_U64, UNIT_BYTES,
		COL_LEVEL | COL_RARE, "of it, allocated and not in use", cell_of_known),
	OWNER_TEXT(detail, "DETAIL", COL_ASIDE | COL_RARE, "what else is known of it"),
};

static void owner_add(struct table *table, struct report *r, const struct where_tables *t,
	const struct where_owner *o)
{
	const char *name = owner_name(r, o);
	const struct owner_row it = {
		.row = where_words(o->scope, o->row)->name,
		.owner = name,
		.detail = stream_string(r->stream, o->detail) ?: where_use(o->row, name),
		.pid = o->tgid,
		.bytes = o->bytes,
		.count = o->count,
		.unused = o->free_bytes,
		.first = first_of(t, o),
	};

	cells_one(table, r, owner_columns, &it, NULL);
}

static void holder_add(struct table *table, struct report *r, const struct held_process *p, u32 row,
	u64 bytes, u64 count, const char *detail)
{
	const char *name = stream_string(r->stream, p->name);
	const struct owner_row it = {
		.row = where_words(WHERE_MACHINE, row)->name,
		.owner = name ? name : "?",
		.detail = detail,
		.pid = p->tgid,
		.bytes = bytes,
		.count = count,
	};

	if (bytes)
		cells_one(table, r, owner_columns, &it, NULL);
}

/* What no counter has is told by its kinds. */
static void holder_add_all(struct table *table, struct report *r, const struct held_process *p)
{
	holder_add(table, r, p, WHERE_SHARED, p->memfd_bytes, p->kinds[FD_MEMFD],
		"files without a name");
	holder_add(table, r, p, WHERE_PIPES, p->pipe_bytes, p->pipes, NULL);
	holder_add(table, r, p, WHERE_SOCKETS, holder_bytes(p, WHERE_SOCKETS), p->sockets,
		"unread, here or by its peer");
	holder_add(table, r, p, WHERE_REST, p->ring_bytes, p->kinds[FD_RING], "rings of io_uring");
	holder_add(table, r, p, WHERE_REST, p->mapped_bytes, 0, "rings of packets, perf");
	holder_add(table, r, p, WHERE_VMALLOC, p->bpf_bytes, p->kinds[FD_BPF_MAP],
		"BPF maps, some percpu");
}

static void maps_add(struct table *table, struct report *r, const struct held_maps *m)
{
	const char *path = stream_string(r->stream, m->path);
	const struct owner_row it = {
		.row = where_words(WHERE_MACHINE, WHERE_VMALLOC)->name,
		.owner = "maps of BPF that no process has open",
		.detail = path ? report_text(r, "the largest is pinned at %s", path) : NULL,
		.bytes = m->bytes,
		.count = m->maps,
	};

	if (m->bytes)
		cells_one(table, r, owner_columns, &it, NULL);
}

const struct view_table where_tables_all[] = {
	CELLS_VIEW("ledger", ledger_columns),
	CELLS_VIEW("owners", owner_columns),
	{},
};

static int owners_report(const struct where_tables *t, struct report *r)
{
	struct table *table =
		cells_table(r, "owners", "Who has it", owner_columns, ARRAY_SIZE(owner_columns));
	bool machine = t->subjects.n && t->subjects.v[0].last.scope == WHERE_MACHINE;

	if (!table)
		return -ENOMEM;
	table->sort = "bytes";
	if (t->last.n)
		vec_each (o, &t->last)
			owner_add(table, r, t, o);
	else
		vec_each (o, &t->first)
			owner_add(table, r, t, o);
	vec_each (p, &t->holders) {
		if (machine)
			holder_add_all(table, r, p);
	}
	if (machine)
		maps_add(table, r, &t->maps);
	return table->failed ? -ENOMEM : 0;
}

/* The process that has most of a row; 0: none is known. */
static u32 most_pid(const struct where_tables *t, const struct where_ledger *l, u32 row)
{
	const struct where_owner *o = owner_most(t, l, row);

	return o ? o->tgid : 0;
}

/* The rows that are worth a look come with a command, unless its answer is in this report. */
static void next_add(const struct where_tables *t, const struct where_ledger *l, struct report *r)
{
	u32 pid = most_pid(t, l, WHERE_ANON);
	u64 used = l->total_bytes -
		   MIN(l->bytes[WHERE_FREE] + l->bytes[WHERE_FREE_CPU], l->total_bytes);
	u32 n = 0;

	if (l->scope != WHERE_MACHINE)
		return;
	if (l->bytes[WHERE_ANON] > used / NEXT_LEAST && pid && n++ < NEXT_MOST)
		report_next(r, "What the process with most memory has: `memwhy where -p %u`", pid);
	if (l->bytes[WHERE_CACHE] > used / 2 && !t->files.mounts.n && n++ < NEXT_MOST)
		report_next(r, "Which files the page cache is: `memwhy where --files`");
	if (l->bytes[WHERE_SLAB] > used / NEXT_LEAST && n++ < NEXT_MOST)
		report_next(r, "Which code allocates slab objects: `memwhy slab --for 10s`");
	if (where_rest(l) > (s64)(used / NEXT_LEAST) && !t->taken.follow.h.size && n++ < NEXT_MOST)
		report_next(r, "Which code takes pages that no counter covers: "
			       "`memwhy where --taken --for 30s`");
}

/* What there is of the machine only. */
static int machine_report(const struct where_tables *t, struct report *r)
{
	const struct where_ledger *l = t->subjects.n ? &t->subjects.v[0].last : NULL;
	int rc = 0;

	if (l && l->scope != WHERE_MACHINE)
		return 0;
	if (t->census.h.kind || !l)
		rc = where_census_report(&t->census, l, r);
	if (!rc && (t->dying.h.kind || !l))
		rc = where_dying_report(&t->dying, r);
	if (!rc && (t->files.mounts.n || !l))
		rc = where_files_report(&t->files, l, r);
	return rc;
}

int where_tables_report(struct where_tables *t, struct report *r)
{
	struct table *table = cells_table(
		r, "ledger", ledger_title(r, t), ledger_columns, ARRAY_SIZE(ledger_columns));
	int rc = 0;

	if (!table)
		return -ENOMEM;
	table->story = table->lasts = true;
	table->empty = "No ledger was taken: no process matches, or the command ended within its "
		       "first second.";
	vec_each (s, &t->subjects) {
		subject_settle(t, s);
		subject_add(table, r, t, s);
		next_add(t, &s->last, r);
		if (s->last.scope != WHERE_PROCESS)
			continue;
		where_arenas_advise(&t->arenas, &s->last, r);
		where_runtimes_advise(&t->runtimes, &s->last, r);
		where_huge_advise(&s->last, r);
	}
	if (!table->failed && (t->arenas.list.n || !t->subjects.n))
		rc = where_arenas_report(&t->arenas, r);
	if (!table->failed && !rc && (t->runtimes.list.n || !t->subjects.n))
		rc = where_runtimes_report(&t->runtimes, r);
	if (!table->failed && !rc && (t->limits.list.n || !t->subjects.n))
		rc = where_limits_report(&t->limits, r);
	if (!table->failed && !rc && (t->evictions.seen || !t->subjects.n))
		rc = where_evictions_report(&t->evictions, r);
	if (!table->failed && !rc && (t->taken.follow.h.size || !t->subjects.n))
		rc = where_taken_report(&t->taken, r);
	if (!table->failed && !rc)
		rc = machine_report(t, r);
	if (table->failed)
		rc = -ENOMEM;
	return rc ? rc : owners_report(t, r);
}
