/* See where_tables.h. */
#include "probes/where/where_tables.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/where/where_census.h"
#include "probes/where/where_ledger.h"
#include "probes/where/where_words.h"
#include "sys/fdlink.h"

#define GROWTH_LEAST_NS 500000000ULL /* a shorter time shows noise */
#define NEXT_LEAST 50                /* of what is not free, a row of 1 in this is worth a look */
#define NEXT_MOST 3

enum {
	L_ROW,
	L_PID,
	L_CGROUP,
	L_BYTES,
	L_SHARE,
	L_CHANGE,
	L_RECLAIMABLE,
	L_METHOD,
	L_MOSTLY,
	L_DIG,
	L_FREE,
	L_PRICE,
	L_N,
};

static const struct column ledger_columns[L_N] = {
	[L_ROW] = {"row", "ROW", CELL_TEXT, UNIT_NONE, COL_MAIN, "part of the memory"},
	[L_PID] = {"pid", "PID", CELL_U64, UNIT_ID, COL_RARE, "process, of a ledger of one"},
	[L_CGROUP] = {"cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, COL_RARE,
		"control group, of a ledger of one"},
	[L_BYTES] = {"bytes", "BYTES", CELL_S64, UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"memory in this row; no page is in two rows. The sum of all rows is MemTotal, of a "
		"process its Rss, of a group what is charged to it"},
	[L_SHARE] = {"share_ratio", "SHARE", CELL_F64, UNIT_RATIO, COL_LEVEL, "of that sum"},
	[L_CHANGE] = {"change_bytes", "CHANGE", CELL_S64, UNIT_BYTES, COL_CHANGE | COL_RARE,
		"by how much it grew in the interval"},
	[L_RECLAIMABLE] = {"reclaimable_bytes", "RECLAIMABLE", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"what the kernel can take back when memory is needed: free, clean and unlocked "
		"cache, reclaimable slab, idle huge pages, and anonymous and shared memory as far "
		"as there is free swap (estimated)"},
	[L_METHOD] = {"method", "NUMBER", CELL_TEXT, UNIT_NONE, COL_ASIDE | COL_LESSER,
		"exact: a counter of the kernel's; estimated; difference: what no counter has"},
	[L_MOSTLY] = {"mostly", "MOST OF IT", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"who has most of it, as far as that can be told cheaply"},
	[L_DIG] = {"dig", "LOOK DEEPER", CELL_TEXT, UNIT_NONE, COL_WIDE | COL_ASIDE,
		"commands that tell more"},
	[L_FREE] = {"free", "TO FREE IT", CELL_TEXT, UNIT_NONE, COL_WIDE | COL_ASIDE,
		"what frees it"},
	[L_PRICE] = {"price", "PRICE OR UNDO", CELL_TEXT, UNIT_NONE, COL_WIDE | COL_ASIDE,
		"what that costs, or how to undo it"},
};

enum { O_ROW, O_OWNER, O_PID, O_BYTES, O_CHANGE, O_COUNT, O_UNUSED, O_DETAIL, O_N };

static const struct column owner_columns[O_N] = {
	[O_ROW] = {"row", "ROW", CELL_TEXT, UNIT_NONE, 0, "row of the ledger"},
	[O_OWNER] = {"owner", "OWNER", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"process, mount, segment, slab cache, kernel function or control group"},
	[O_PID] = {"pid", "PID", CELL_U64, UNIT_ID, COL_RARE, "process, where it is one"},
	[O_BYTES] = {"bytes", "BYTES", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_MAIN,
		"its part of the row. Memory that processes share is counted for each of them"},
	[O_CHANGE] = {"change_bytes", "CHANGE", CELL_S64, UNIT_BYTES, COL_CHANGE | COL_RARE,
		"by how much it grew in the interval"},
	[O_COUNT] = {"count", "COUNT", CELL_U64, UNIT_COUNT, COL_LEVEL | COL_RARE,
		"objects of a cache, areas of vmalloc, attachments of a segment, open pipes or "
		"sockets, mappings of a file"},
	[O_UNUSED] = {"unused_bytes", "UNUSED", CELL_U64, UNIT_BYTES, COL_LEVEL | COL_RARE,
		"of it, allocated and not in use"},
	[O_DETAIL] = {"detail", "DETAIL", CELL_TEXT, UNIT_NONE, COL_ASIDE | COL_RARE,
		"what else is known of it"},
};

const struct view_table where_tables_all[] = {
	{"ledger", ledger_columns, L_N, sizeof(struct column)},
	{"owners", owner_columns, O_N, sizeof(struct column)},
	{},
};

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

static const char *mostly(
	struct report *r, const struct where_tables *t, const struct where_ledger *l, u32 row)
{
	const struct where_owner *best = NULL;
	__auto_type list = t->last.n ? &t->last : NULL;
	char buf[UNIT_BUF];

	for (size_t i = 0; i < (list ? list->n : t->first.n); i++) {
		const struct where_owner *o = list ? &list->v[i] : &t->first.v[i];

		if (o->row == row && is_of(o, l) && (!best || o->bytes > best->bytes))
			best = o;
	}
	if (!best)
		return NULL;
	return report_text(r, "%s%s %s", owner_name(r, best),
		best->tgid && row != WHERE_TMPFS ? report_text(r, " (pid %u)", best->tgid) : "",
		fmt_bytes(buf, best->bytes));
}

static void row_add(struct table *table, struct report *r, const struct where_tables *t,
	const struct where_subject *s, u32 row)
{
	const struct where_ledger *l = &s->last;
	const struct where_words *w = where_words(l->scope, row);
	bool rest = row == WHERE_REST;
	s64 bytes = rest ? where_rest(l) : (s64)l->bytes[row];
	s64 before = rest ? where_rest(&s->first) : (s64)s->first.bytes[row];
	struct cell *c = table_row(table);
	u64 reclaimable;

	if (!c)
		return;
	c[L_ROW] = cell_text(w->name);
	if (l->tgid)
		c[L_PID] = cell_u64(l->tgid);
	if (l->cgroup)
		c[L_CGROUP] = cell_text(stream_cgroup(r->stream, l->cgroup));
	c[L_BYTES] = cell_s64(bytes);
	if (l->total_bytes)
		c[L_SHARE] = cell_f64((double)bytes / (double)l->total_bytes);
	if (shows_growth(r))
		c[L_CHANGE] = cell_s64(bytes - before);
	if (where_reclaimable(l, row, &reclaimable))
		c[L_RECLAIMABLE] = cell_u64(reclaimable);
	c[L_METHOD] = cell_text(rest                      ? "difference"
				: l->estimated >> row & 1 ? "estimated"
							  : "exact");
	c[L_MOSTLY] = cell_text(rest ? NULL : mostly(r, t, l, row));
	c[L_DIG] = cell_text(w->dig);
	c[L_FREE] = cell_text(w->free);
	c[L_PRICE] = cell_text(w->price);
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
			row_add(table, r, t, s, i);
	row_add(table, r, t, s, WHERE_REST);
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

static s64 first_bytes(const struct where_tables *t, const struct where_owner *o, bool *ret_known)
{
	*ret_known = false;
	vec_each (f, &t->first)
		if (f->row == o->row && f->name == o->name && f->tgid == o->tgid &&
			is_of(f, &(struct where_ledger){.scope = o->scope, .tgid = o->of_tgid})) {
			*ret_known = true;
			return (s64)f->bytes;
		}
	return 0;
}

static void owner_add(struct table *table, struct report *r, const struct where_tables *t,
	const struct where_owner *o)
{
	struct cell *c = table_row(table);
	bool known;
	s64 before;

	if (!c)
		return;
	c[O_ROW] = cell_text(where_words(o->scope, o->row)->name);
	c[O_OWNER] = cell_text(owner_name(r, o));
	if (o->tgid)
		c[O_PID] = cell_u64(o->tgid);
	c[O_BYTES] = cell_u64(o->bytes);
	before = first_bytes(t, o, &known);
	if (shows_growth(r) && known)
		c[O_CHANGE] = cell_s64((s64)o->bytes - before);
	if (o->count)
		c[O_COUNT] = cell_u64(o->count);
	if (o->free_bytes)
		c[O_UNUSED] = cell_u64(o->free_bytes);
	c[O_DETAIL] = cell_text(stream_string(r->stream, o->detail));
}

static void holder_add(struct table *table, struct report *r, const struct held_process *p, u32 row,
	u64 bytes, u64 count)
{
	const char *name = stream_string(r->stream, p->name);
	struct cell *c = bytes ? table_row(table) : NULL;

	if (!c)
		return;
	c[O_ROW] = cell_text(where_words(WHERE_MACHINE, row)->name);
	c[O_OWNER] = cell_text(name ? name : "?");
	c[O_PID] = cell_u64(p->tgid);
	c[O_BYTES] = cell_u64(bytes);
	if (count)
		c[O_COUNT] = cell_u64(count);
	if (row == WHERE_SHARED)
		c[O_DETAIL] = cell_text("open files that have no name (memfd, removed)");
	if (row == WHERE_SOCKETS)
		c[O_DETAIL] = cell_text("not read, or not taken by the other side; some in slab");
}

static int owners_report(const struct where_tables *t, struct report *r)
{
	struct table *table = report_table(r, "owners", "Who has it", owner_columns, O_N);
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
		if (!machine)
			break;
		holder_add(table, r, p, WHERE_SHARED, p->memfd_bytes, p->kinds[FD_MEMFD]);
		holder_add(table, r, p, WHERE_PIPES, p->pipe_bytes, p->pipes);
		holder_add(
			table, r, p, WHERE_SOCKETS, p->unread_bytes + p->unsent_bytes, p->sockets);
	}
	return table->failed ? -ENOMEM : 0;
}

/* The rows that are worth a look come with a command. */
static void next_add(const struct where_ledger *l, struct report *r)
{
	u64 used = l->total_bytes -
		   MIN(l->bytes[WHERE_FREE] + l->bytes[WHERE_FREE_CPU], l->total_bytes);
	u32 n = 0;

	if (l->scope != WHERE_MACHINE)
		return;
	if (l->bytes[WHERE_ANON] > used / NEXT_LEAST && n++ < NEXT_MOST)
		report_next(r, "What a process has: `memwhy where -p %s`", "PID");
	if (l->bytes[WHERE_CACHE] > used / 2 && n++ < NEXT_MOST)
		report_next(r, "Which files the page cache is: `memwhy where --files`");
	if (l->bytes[WHERE_SLAB] > used / NEXT_LEAST && n++ < NEXT_MOST)
		report_next(r, "Which code allocates slab objects: `memwhy slab --for 10s`");
	if (where_rest(l) > (s64)(used / NEXT_LEAST) && n++ < NEXT_MOST)
		report_next(r, "Which code takes pages that no counter knows: "
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
	struct table *table = report_table(r, "ledger", ledger_title(r, t), ledger_columns, L_N);
	int rc = 0;

	if (!table)
		return -ENOMEM;
	table->story = true;
	table->empty = "No ledger was taken: a command has to run for a second at least.";
	vec_each (s, &t->subjects) {
		subject_settle(t, s);
		subject_add(table, r, t, s);
		next_add(&s->last, r);
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
