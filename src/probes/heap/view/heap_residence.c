/* See heap_tables.h. */
#include "probes/heap/view/heap_tables.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"

struct key {
	struct by_task_key task;
	u32 place, kind;
	char file[AGG_NAME_LEN];
};

struct sums {
	u64 minor, major, resident, swapped, live;
};

struct place_key {
	u32 process, site, place, kind;
	char file[AGG_NAME_LEN];
};

struct place_state {
	struct heap_residence now, base;
};

struct looked_state {
	struct heap_looked now, base;
};

static const char *place_name(u32 place)
{
	static const char *const names[HEAP_PLACES] = {
		[HEAP_PLACE_BLOCK] = "heap blocks",
		[HEAP_PLACE_MAPPED] = "mapped",
		[HEAP_PLACE_LIBC] = "allocator, libc",
		[HEAP_PLACE_STACK] = "stack",
		[HEAP_PLACE_FILE] = "file",
		[HEAP_PLACE_SHARED] = "shared memory",
		[HEAP_PLACE_HUGETLB] = "hugetlb",
		[HEAP_PLACE_KERNEL] = "kernel",
		[HEAP_PLACE_BEYOND] = "too large",
	};

	return place < HEAP_PLACES && names[place] ? names[place] : "not known";
}

static bool heap_residence_is_asked_for(u32 place)
{
	return place == HEAP_PLACE_BLOCK || place == HEAP_PLACE_MAPPED;
}

/* Of threads nothing is known. */
static CELL_GET(tid_cell)
{
	return (struct cell){};
}

static CELL_GET(place_cell)
{
	return cell_text(place_name(((const struct key *)row->key)->place));
}

static CELL_GET(name_cell)
{
	const struct key *k = row->key;

	return cell_text(k->place == HEAP_PLACE_MAPPED ? heap_mapped_name(k->kind)
			 : k->file[0]                  ? report_text(r, "%s", k->file)
						       : NULL);
}

static CELL_GET(faults_cell)
{
	const struct sums *s = row->sums;

	return cell_u64(s->minor + s->major);
}

/* What it was allocated or mapped as; NULL: nobody asked for it. */
static const struct sums *asked(const struct row_of *row)
{
	return heap_residence_is_asked_for(((const struct key *)row->key)->place) ? row->sums
										  : NULL;
}

static CELL_GET(live_cell)
{
	return asked(row) ? cell_of_u64(r, row, offset) : (struct cell){};
}

static CELL_GET(ratio_cell)
{
	const struct sums *s = asked(row);

	return s ? cell_ratio(s->resident, s->live) : (struct cell){};
}

static CELL_GET(untouched_cell)
{
	const struct sums *s = asked(row);

	return s ? cell_u64(s->live - MIN(s->live, s->resident + s->swapped)) : (struct cell){};
}

static CELL_GET(stack_cell)
{
	return asked(row) ? by_stack_cell(r, row, offset) : (struct cell){};
}

static const struct cell_column columns[] = {
	BY_TASK_CELLS_BY(by_pid_cell, tid_cell, by_comm_cell, by_cgroup_cell),
	CELL_BY(0, "place", "PLACE", CELL_TEXT, UNIT_NONE, 0,
		"what the memory is: heap blocks; mapped (by the program itself); allocator, libc "
		"(anonymous memory beside live blocks: free ones, headers, what libc mapped, what "
		"a fork inherited); stack; file (its .bss too); shared memory; hugetlb (not in "
		"RSS); kernel (vdso); too large (a mapping above 16 GiB, not looked into); not "
		"known (its process ended before its mappings were read)",
		place_cell),
	CELL_BY(0, "name", "NAME", CELL_TEXT, UNIT_NONE, COL_RARE,
		"of a file; of what was mapped its kind, as in the table mapping", name_cell),
	CELL_BY(0, "faults", "FAULTS", CELL_U64, UNIT_COUNT, 0,
		"page faults there in the interval, minor and major (exact)", faults_cell),
	CELL_NUMBER(struct sums, major, "major_faults", "MAJOR", UNIT_COUNT, COL_WIDE,
		"of these, with I/O"),
	CELL_NUMBER(struct sums, resident, "resident_bytes", "RESIDENT", UNIT_BYTES,
		COL_WEIGHT | COL_LEVEL,
		"of this in memory when most of the process was, of the looks at it (exact at "
		"that look, but where the zero page and pages shared since a fork are in one "
		"mapping: estimated): of blocks, their bytes in resident pages"),
	CELL_FROM(0, struct sums, live, "live_bytes", "LIVE", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"allocated, or mapped by the program itself, at that time (exact)", live_cell),
	CELL_BY(0, "resident_ratio", "RESIDENT%", CELL_F64, UNIT_RATIO, 0, "resident / live",
		ratio_cell),
	CELL_BY(0, "untouched_bytes", "UNTOUCHED", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"live, and neither resident nor in swap: asked for and not written since, or "
		"given back (MADV_DONTNEED)",
		untouched_cell),
	CELL_FROM(0, struct sums, swapped, "swapped_bytes", "SWAPPED", CELL_U64, UNIT_BYTES,
		COL_RARE | COL_LEVEL, "of this in swap, at that time", cell_of_known),
	CELL_BY(BY_STACK, "stack", "STACK", CELL_STACK, UNIT_NONE, 0,
		"code path that allocated or mapped", stack_cell),
};

static bool heap_residence_is_any(const struct row_of *row)
{
	const struct sums *s = row->sums;

	return s->minor || s->major || s->resident || s->swapped || s->live;
}

static const struct by_spec spec =
	CELLS_SPEC(columns, struct key, struct sums, .shows = heap_residence_is_any);

/* A process: its record, and as the interval began; what is known of it is the row's view. */
static const struct heap_looked *now_of(const struct row_of *row)
{
	return &((const struct looked_state *)row->sums)->now;
}

static CELL_GET(looked_comm_cell)
{
	const struct heap_total *total = row->view;

	return total ? cell_text(report_textn(r, total->comm, COMM_LEN)) : (struct cell){};
}

static CELL_GET(looked_faults_cell)
{
	const struct looked_state *at = row->sums;

	return cell_u64(at->now.minor + at->now.major - at->base.minor - at->base.major);
}

static CELL_GET(looked_major_cell)
{
	const struct looked_state *at = row->sums;

	return cell_u64(at->now.major - at->base.major);
}

static CELL_GET(kernel_cell)
{
	u64 n = now_of(row)->kernel_minor + now_of(row)->kernel_major;

	return n ? cell_u64(n) : (struct cell){};
}

static CELL_GET(rss_cell)
{
	return now_of(row)->look_ns ? cell_of_u64(r, row, offset) : (struct cell){};
}

static CELL_GET(beyond_cell)
{
	return now_of(row)->look_ns ? cell_of_known(r, row, offset) : (struct cell){};
}

/* A time, from the process's first allocation on. */
static CELL_GET(after_cell)
{
	const struct heap_total *total = row->view;
	u64 at = *(const u64 *)((const char *)row->sums + offset);

	return total && now_of(row)->look_ns ? cell_u64(at - MIN(total->start_ns, at))
					     : (struct cell){};
}

#define LOOKED(member_, name_, title_, unit_, flags_, help_, get_)                             \
	CELL_FROM(0, struct looked_state, now.member_, name_, title_, CELL_U64, unit_, flags_, \
		help_, get_)

static const struct cell_column looked_columns[] = {
	LOOKED(tgid, "pid", "PID", UNIT_ID, 0, "process id", cell_of_u32),
	CELL_BY(0, "comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "name of the process",
		looked_comm_cell),
	CELL_BY(0, "faults", "FAULTS", CELL_U64, UNIT_COUNT, 0,
		"page faults in the interval, minor and major (exact; as getrusage, but for those "
		"that the kernel takes without an exception: MAP_POPULATE, mlock)",
		looked_faults_cell),
	CELL_BY(0, "major_faults", "MAJOR", CELL_U64, UNIT_COUNT, COL_WIDE, "of these, with I/O",
		looked_major_cell),
	CELL_BY(0, "kernel_faults", "KERNEL'S", CELL_U64, UNIT_COUNT, COL_WIDE,
		"what the kernel had counted for the process at the last look, since its fork",
		kernel_cell),
	LOOKED(rss_bytes, "rss_bytes", "RSS", UNIT_BYTES, COL_LEVEL,
		"resident when that was most, of the looks at it, by smaps: the sum of the rows of "
		"the table residence",
		rss_cell),
	LOOKED(hwm_bytes, "peak_rss_bytes", "PEAK RSS", UNIT_BYTES, COL_LEVEL,
		"the kernel's high-water mark (VmHWM), when it was last read; it may be off by "
		"some pages a thread or CPU",
		cell_of_known),
	LOOKED(beyond_bytes, "beyond_bytes", "BEYOND", UNIT_BYTES, COL_RARE | COL_LEVEL,
		"of RSS in mappings above 16 GiB, which are not looked into: blocks there count as "
		"not resident",
		beyond_cell),
	LOOKED(looks, "looks", "LOOKS", UNIT_COUNT, COL_WIDE,
		"how often the process was looked at, since it began", cell_of_u32),
	LOOKED(look_ns, "look_after_ns", "AT", UNIT_NS, COL_WIDE,
		"when most was resident, since the process's first allocation", after_cell),
	LOOKED(last_ns, "last_look_after_ns", "LAST", UNIT_NS, COL_WIDE,
		"the last look, since the process's first allocation; empty: there was none",
		after_cell),
};

const struct view_table heap_residence_tables[] = {
	CELLS_VIEW("residence", columns),
	CELLS_VIEW("looked", looked_columns),
	{},
};

int heap_residences_init(struct heap_residences *m, const struct view *v,
	const struct view_options *o, struct err *err)
{
	int rc = by_sums_init(&m->sums, &spec, v, o, err);

	if (rc)
		return rc;
	groups_init(&m->places, sizeof(struct place_key), sizeof(struct place_state));
	groups_init(&m->looked, sizeof(u32), sizeof(struct looked_state));
	return 0;
}

int heap_residence_feed(struct heap_residences *m, const struct heap_residence *r)
{
	struct place_key k = {r->process, r->site, r->place, r->kind, ""};
	struct place_state *at;

	snprintf(k.file, sizeof(k.file), "%.*s", AGG_NAME_LEN - 1, r->file);
	at = groups_get(&m->places, &k);
	if (!at)
		return -ENOMEM;
	at->now = *r;
	return 0;
}

int heap_looked_feed(struct heap_residences *m, const struct heap_looked *r)
{
	struct looked_state *at = groups_get(&m->looked, &r->process);

	if (!at)
		return -ENOMEM;
	at->now = *r;
	return 0;
}

/* Of threads nothing is known: they show as their process. */
static int heap_residence_place_add(struct heap_residences *m, const struct place_key *p,
	const struct place_state *at, const struct heap_total *total)
{
	const struct heap_residence *now = &at->now, *base = &at->base;
	struct key k = {
		.task = by_task_key(m->sums.by, now->tgid, 0, total ? total->cgroup : 0, now->stack,
			total ? total->comm : (const char[COMM_LEN]){}),
		.place = now->place,
		.kind = now->kind,
	};
	struct sums *s;

	memcpy(k.file, p->file, sizeof(k.file));
	s = groups_get(&m->sums.groups, &k);
	if (!s)
		return -ENOMEM;
	/* what was adopted by a block since the interval began is no longer here */
	s->minor += now->minor - MIN(base->minor, now->minor);
	s->major += now->major - MIN(base->major, now->major);
	s->resident += now->resident_bytes;
	s->swapped += now->swapped_bytes;
	s->live += now->live_bytes;
	return 0;
}

static int places_report(struct heap_residences *m, struct report *r,
	const struct heap_total *(*total_of)(const void *arg, u32 process), const void *arg)
{
	struct table *t = by_sums_table(
		&m->sums, r, "residence", "Page faults and resident memory, by who asked for it");
	int rc = t ? 0 : -ENOMEM;

	if (!t)
		return rc;
	t->sort = "resident_bytes";
	groups_clear(&m->sums.groups);
	for (size_t i = 0; i < m->places.n && !rc; i++) {
		const struct place_state *at = groups_value(&m->places, i);

		rc = heap_residence_place_add(
			m, groups_key(&m->places, i), at, total_of(arg, at->now.process));
	}
	return rc ? rc : by_sums_rows(&m->sums, r, t, NULL);
}

/* The kernel counts resident pages in batches, and what a look finds changes while it looks. */
#define EDGE_BYTES (1ULL << 20)
#define EDGE_PART 64
#define PAGE 4096ULL

static u64 edge_of(const struct heap_looked *k)
{
	return EDGE_BYTES + k->hwm_bytes / EDGE_PART;
}

/* By how much the most that was found is less than the kernel's peak, if that was in the interval.
 */
static u64 peak_missed(const struct looked_state *at, const struct heap_total *total)
{
	const struct heap_looked *now = &at->now;

	(void)total;
	if (now->hwm_bytes <= at->base.hwm_bytes || now->hwm_bytes <= now->rss_bytes + edge_of(now))
		return 0;
	return now->hwm_bytes - now->rss_bytes;
}

/* The faults it took, until its end, after its peak was last read: each may have brought a page. */
static u64 faults_after(const struct looked_state *at, const struct heap_total *total)
{
	const struct heap_looked *now = &at->now, *base = &at->base;
	u64 all = now->minor + now->major;

	if (!total || !(total->h.flags & HEAP_ENDED) || !now->hwm_faults ||
		all == base->minor + base->major || all <= now->hwm_faults + edge_of(now) / PAGE)
		return 0;
	return all - now->hwm_faults;
}

/* It was over before it could be looked at, but not in a moment. */
static u64 never_looked(const struct looked_state *at, const struct heap_total *total)
{
	u64 faults = at->now.minor + at->now.major;

	return total && total->h.flags & HEAP_ENDED && !at->now.look_ns && !at->now.hwm_bytes &&
			       !at->base.minor && faults > EDGE_BYTES / PAGE
		       ? faults
		       : 0;
}

struct worst {
	const struct looked_state *at;
	const struct heap_total *total;
	u64 by;
	size_t n; /* of these there are */
};

static struct worst worst_of(const struct heap_residences *m,
	u64 (*by)(const struct looked_state *at, const struct heap_total *total),
	const struct heap_total *(*total_of)(const void *arg, u32 process), const void *arg)
{
	struct worst w = {};

	for (size_t i = 0; i < m->looked.n; i++) {
		const struct looked_state *at = groups_value(&m->looked, i);
		const struct heap_total *total = total_of(arg, at->now.process);
		u64 is = by(at, total);

		w.n += is != 0;
		if (is > w.by) {
			w.at = at;
			w.total = total;
			w.by = is;
		}
	}
	return w;
}

static const char *worst_name(struct report *r, const struct worst *w)
{
	const char *more = w->n > 1 ? report_text(r, "; %zu more less so", w->n - 1) : "";

	return report_text(r, "'%.*s' (pid %u%s)", COMM_LEN, w->total ? w->total->comm : "?",
		w->at->now.tgid, more);
}

/* What is resident is looked at now and then: where that was not when most was, it is said. */
static void peaks_tell(const struct heap_residences *m, struct report *r,
	const struct heap_total *(*total_of)(const void *arg, u32 process), const void *arg)
{
	struct worst missed = worst_of(m, peak_missed, total_of, arg);
	struct worst after = worst_of(m, faults_after, total_of, arg);
	struct worst never = worst_of(m, never_looked, total_of, arg);
	char peak[UNIT_BUF], found[UNIT_BUF];

	if (missed.n)
		report_note(r,
			"RSS of %s peaked at %s (VmHWM), but no look was then: the most found is "
			"%s, and the table residence is of that",
			worst_name(r, &missed), fmt_bytes(peak, missed.at->now.hwm_bytes),
			fmt_bytes(found, missed.at->now.rss_bytes));
	if (after.n)
		report_note(r,
			"%s took %llu page faults after memwhy had last read the kernel's peak, "
			"%s: it may have been higher",
			worst_name(r, &after), after.by, fmt_bytes(peak, after.at->now.hwm_bytes));
	if (never.n)
		report_note(r,
			"%s took %llu page faults and ended before memwhy could look at it: what "
			"was resident is not known",
			worst_name(r, &never), never.by);
}

int heap_residences_report(struct heap_residences *m, struct report *r,
	const struct heap_total *(*total_of)(const void *arg, u32 process), const void *arg)
{
	int rc = places_report(m, r, total_of, arg);
	struct table *t = rc ? NULL
			     : cells_table(r, "looked", "Processes, as looked at", looked_columns,
				       ARRAY_SIZE(looked_columns));

	if (!t)
		return rc ? rc : -ENOMEM;
	t->sort = "rss_bytes";
	for (size_t i = 0; i < m->looked.n && !rc; i++) {
		const struct looked_state *at = groups_value(&m->looked, i);

		rc = cells_row(t, r, looked_columns, ARRAY_SIZE(looked_columns),
			&(struct row_of){0, at, at, total_of(arg, at->now.process)});
	}
	if (!rc)
		peaks_tell(m, r, total_of, arg);
	return rc;
}

void heap_residences_reset(struct heap_residences *m)
{
	for (size_t i = 0; i < m->places.n; i++) {
		struct place_state *at = groups_value(&m->places, i);

		at->base = at->now;
	}
	for (size_t i = 0; i < m->looked.n; i++) {
		struct looked_state *at = groups_value(&m->looked, i);

		at->base = at->now;
	}
}

void heap_residences_free(struct heap_residences *m)
{
	by_sums_free(&m->sums);
	groups_free(&m->places);
	groups_free(&m->looked);
}
