/* See swap_tables.h. */
#include "probes/swap/swap_tables.h"

#include <errno.h>
#include <string.h>

#include "analysis/cells.h"
#include "probes/swap/swap.h"

struct counter_key {
	s32 node;
	u32 reserved;
	char name[SWAP_COUNTER_LEN];
};

struct counter {
	u64 first, last;
	bool seen, is_total;
};

void swap_tables_init(struct swap_tables *t)
{
	groups_init(&t->devices, SWAP_NAME_LEN, sizeof(struct swap_device));
	groups_init(&t->owners, sizeof(u32), sizeof(struct swap_owner));
	groups_init(&t->counters, sizeof(struct counter_key), sizeof(struct counter));
}

static int counter_feed(struct groups *g, const struct swap_counter *r)
{
	struct counter_key key = {.node = r->node};
	struct counter *v;

	memcpy(key.name, r->name, strnlen(r->name, sizeof(key.name) - 1));
	v = groups_get(g, &key);
	if (!v)
		return -ENOMEM;
	if (!v->seen)
		v->first = r->value;
	v->seen = true;
	v->is_total = r->h.flags & SWAP_COUNTER_TOTAL;
	v->last = r->value;
	return 0;
}

static int last_feed(struct groups *g, const void *key, const void *rec, size_t size)
{
	void *v = groups_get(g, key);

	if (!v)
		return -ENOMEM;
	memcpy(v, rec, size);
	return 0;
}

int swap_tables_feed(struct swap_tables *t, const struct rec *r)
{
	const struct swap_device *device = (const void *)r;
	const struct swap_owner *owner = (const void *)r;

	switch (r->kind) {
	case REC_SWAP_DEVICE:
		return last_feed(&t->devices, device->name, device, sizeof(*device));
	case REC_SWAP_OWNER:
		return last_feed(&t->owners, &owner->tgid, owner, sizeof(*owner));
	case REC_SWAP_COUNTER:
		return counter_feed(&t->counters, (const void *)r);
	default:
		return 0;
	}
}

static bool owner_stays(void *arg, const void *key, const void *value)
{
	(void)arg;
	(void)key;
	return ((const struct swap_owner *)value)->swap_bytes > 0;
}

/* Devices come again in each interval, owners and counters when they change: who has none left, or
 * has ended, was told to have 0. */
void swap_tables_reset(struct swap_tables *t)
{
	groups_filter(&t->owners, owner_stays, NULL);
	groups_clear(&t->devices);
	for (size_t i = 0; i < t->counters.n; i++) {
		struct counter *v = groups_value(&t->counters, i);

		v->first = v->last;
	}
}

void swap_tables_free(struct swap_tables *t)
{
	groups_free(&t->devices);
	groups_free(&t->owners);
	groups_free(&t->counters);
}

static const struct counter *counter_of(const struct swap_tables *t, const char *name)
{
	struct counter_key key = {.node = SWAP_NODE_ALL};

	memcpy(key.name, name, strlen(name));
	return groups_find(&t->counters, &key);
}

static u64 counter_added(const struct counter *v)
{
	return v ? counter_rise(v->first, v->last) : 0;
}

static u64 swap_tables_added(const struct swap_tables *t, const char *name)
{
	return counter_added(counter_of(t, name));
}

static struct cell cell_added(const struct swap_tables *t, const char *name)
{
	const struct counter *v = counter_of(t, name);

	return v ? cell_u64(counter_added(v)) : (struct cell){};
}

/* Pages that came back from swap, wherever they were. */
static u64 pages_back(const struct swap_tables *t)
{
	return swap_tables_added(t, "pswpin") + swap_tables_added(t, "zswpin") +
	       swap_tables_added(t, "swpin_zero");
}

static CELL_GET(device_name)
{
	return cell_text(
		report_textn(r, ((const struct swap_device *)row->sums)->name, SWAP_NAME_LEN));
}

CELL_EXPR(device_type, struct swap_device,
	cell_text(e->is_zram   ? "zram"
		  : e->is_file ? "file"
			       : "device"))
CELL_EXPR(device_full, struct swap_device, cell_ratio(e->used_bytes, e->size_bytes))

static const struct cell_column device_columns[] = {
	CELL_BY(0, "device", "DEVICE", CELL_TEXT, UNIT_NONE, 0,
		"path of the device or file, or its end", device_name),
	CELL_BY(0, "type", "TYPE", CELL_TEXT, UNIT_NONE, 0, "device, file or zram", device_type),
	CELL_NUMBER(struct swap_device, priority, "priority", "PRIORITY", UNIT_NONE, 0,
		"higher is used first; negative where the kernel chose it"),
	CELL_NUMBER(struct swap_device, size_bytes, "size_bytes", "SIZE", UNIT_BYTES, COL_LEVEL,
		"size"),
	CELL_NUMBER(struct swap_device, used_bytes, "used_bytes", "USED", UNIT_BYTES, COL_LEVEL,
		"slots in use, those of pages that zswap holds among them"),
	CELL_BY(0, "used_ratio", "FULL", CELL_F64, UNIT_RATIO, 0, "the same as a share of the size",
		device_full),
};

static u64 swap_used(const struct swap_tables *t)
{
	u64 used = 0;

	for (size_t i = 0; i < t->devices.n; i++)
		used += ((const struct swap_device *)groups_value(&t->devices, i))->used_bytes;
	return used;
}

CELL_EXPR(owner_share, struct swap_owner, cell_ratio(e->swap_bytes, swap_used(row->view)))
CELL_EXPR(owner_growth, struct swap_owner, cell_s64((s64)(e->swap_bytes - e->first_bytes)))

static const struct cell_column owner_columns[] = {
	CELL_NUMBER(struct swap_owner, tgid, "pid", "PID", UNIT_ID, 0, "process id"),
	CELL_FROM(0, struct swap_owner, comm, "comm", "COMM", CELL_TEXT, UNIT_NONE, 0,
		"name of the process", cell_of_comm),
	CELL_FROM(0, struct swap_owner, cgroup, "cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP,
		COL_WIDE, "control group that its memory is charged to", cell_of_cgroup),
	CELL_NUMBER(struct swap_owner, swap_bytes, "swap_bytes", "SWAP", UNIT_BYTES, COL_LEVEL,
		"its anonymous memory in swap (VmSwap); pages shared with children count for each"),
	CELL_BY(0, "share_ratio", "SHARE", CELL_F64, UNIT_RATIO, 0, "of all swap in use",
		owner_share),
	CELL_BY(0, "growth_bytes", "GROWTH", CELL_S64, UNIT_BYTES, 0, "since the start",
		owner_growth),
};

static bool owner_shows(const struct row_of *row)
{
	return ((const struct swap_owner *)row->sums)->swap_bytes;
}

/* zswap, or a zram device. */
struct store {
	const char *name;
	u64 data, memory;
	bool zswap;
};

static struct cell cell_zswap(const struct row_of *row, const char *name)
{
	return ((const struct store *)row->sums)->zswap ? cell_added(row->view, name)
							: (struct cell){};
}

CELL_EXPR(store_ratio, struct store, cell_ratio(e->data, e->memory))
CELL_EXPR(store_in, struct store, cell_zswap(row, "zswpin"))
CELL_EXPR(store_out, struct store, cell_zswap(row, "zswpout"))
CELL_EXPR(store_written, struct store, cell_zswap(row, "zswpwb"))
CELL_EXPR(store_in_ratio, struct store,
	cell_zswap(row, "zswpin").type
		? cell_ratio(swap_tables_added(row->view, "zswpin"), pages_back(row->view))
		: (struct cell){})

static const struct cell_column compressed_columns[] = {
	CELL_FROM(0, struct store, name, "store", "STORE", CELL_TEXT, UNIT_NONE, 0,
		"zswap, or the zram device", cell_of_text),
	CELL_NUMBER(struct store, data, "data_bytes", "DATA", UNIT_BYTES, COL_LEVEL,
		"what is stored, before compression"),
	CELL_NUMBER(struct store, memory, "memory_bytes", "MEMORY", UNIT_BYTES, COL_LEVEL,
		"memory that it takes"),
	CELL_BY(0, "ratio", "RATIO", CELL_F64, UNIT_NONE, 0, "data over memory: higher is better",
		store_ratio),
	CELL_BY(0, "in_pages", "IN", CELL_U64, UNIT_PAGES, 0,
		"pages that came back from it (zswpin)", store_in),
	CELL_BY(0, "out_pages", "OUT", CELL_U64, UNIT_PAGES, 0, "pages that it took (zswpout)",
		store_out),
	CELL_BY(0, "written_pages", "WRITTEN", CELL_U64, UNIT_PAGES, 0,
		"pages that it gave on to the swap device (zswpwb)", store_written),
	CELL_BY(0, "in_ratio", "OF INS", CELL_F64, UNIT_RATIO, 0,
		"pages that came back from it, of all that came back from swap", store_in_ratio),
};

static int zswap_row(const struct swap_tables *t, struct table *table, struct report *r)
{
	const struct counter *pool = counter_of(t, "Zswap"), *data = counter_of(t, "Zswapped");

	if (!pool || !data ||
		(!data->last && !swap_tables_added(t, "zswpin") &&
			!swap_tables_added(t, "zswpout")))
		return 0;
	return cells_one(table, r, compressed_columns,
		(&(const struct store){"zswap", data->last, pool->last, true}), t);
}

static int compressed_report(const struct swap_tables *t, struct report *r)
{
	struct table *table = cells_table(r, "compressed", "Compressed memory", compressed_columns,
		ARRAY_SIZE(compressed_columns));
	int rc = table ? zswap_row(t, table, r) : -ENOMEM;

	for (size_t i = 0; i < t->devices.n && !rc; i++) {
		const struct swap_device *d = groups_value(&t->devices, i);
		const struct store s = {report_textn(r, d->name, SWAP_NAME_LEN), d->zram_data_bytes,
			d->zram_memory_bytes, false};

		if (d->is_zram)
			rc = cells_one(table, r, compressed_columns, &s, t);
	}
	return rc;
}

static CELL_GET(counter_name)
{
	return cell_text(
		report_textn(r, ((const struct counter_key *)row->key)->name, SWAP_COUNTER_LEN));
}

CELL_EXPR(counter_count, struct counter, cell_u64(counter_added(e)))
CELL_EXPR(counter_rate, struct counter, cell_per_second(r, counter_added(e)))

static const struct cell_column counter_columns[] = {
	CELL_BY(0, "counter", "COUNTER", CELL_TEXT, UNIT_NONE, 0, "name in /proc/vmstat",
		counter_name),
	CELL_FROM(0, struct counter_key, node, "node", "NODE", CELL_U64, UNIT_ID, 0,
		"NUMA node; empty: the machine", cell_of_node),
	CELL_BY(0, "count", "COUNT", CELL_U64, UNIT_COUNT, 0,
		"what was added; pages, but thp_*: huge pages (exact)", counter_count),
	CELL_BY(0, "rate", "COUNT/s", CELL_F64, UNIT_NONE, 0, "the same a second", counter_rate),
};

static bool counter_shows(const struct row_of *row)
{
	const struct counter *v = row->sums;

	return v->is_total && counter_added(v);
}

static const struct cell_table devices_table = {CELL_TABLE(
	"devices", "Swap devices", "priority", "There is no swap device.", device_columns)};
static const struct cell_table owners_table = {
	CELL_TABLE("owners", "Owners of swap", "swap_bytes", "No process has memory in swap.",
		owner_columns),
	.shows = owner_shows};
static const struct cell_table counters_table = {
	CELL_TABLE("counters", "Refaults and other counters", NULL,
		"No page was swapped or refaulted.", counter_columns),
	.shows = counter_shows};

#define BACK_MIN 100 /* pages; of fewer, a share says nothing */

static void thrashing_note(const struct swap_tables *t, struct report *r)
{
	u64 back = pages_back(t), refaults = swap_tables_added(t, "workingset_refault_anon");

	if (back >= BACK_MIN && counter_of(t, "workingset_refault_anon"))
		report_note(r,
			"%.0f %% of the pages that came back from swap were refaults: needed again "
			"soon after they had been swapped out",
			100.0 * (double)MIN(refaults, back) / (double)back);
}

int swap_tables_report(const struct swap_tables *t, struct report *r)
{
	int rc = cells_report(r, &devices_table, &t->devices, t);

	if (!rc)
		rc = cells_report(r, &owners_table, &t->owners, t);
	if (!rc)
		rc = compressed_report(t, r);
	if (!rc)
		rc = cells_report(r, &counters_table, &t->counters, t);
	thrashing_note(t, r);
	return rc;
}

const struct view_table swap_side_tables[] = {
	CELLS_VIEW("devices", device_columns),
	CELLS_VIEW("owners", owner_columns),
	CELLS_VIEW("compressed", compressed_columns),
	CELLS_VIEW("counters", counter_columns),
	{},
};
