/* See swap_tables.h. */
#include "probes/swap/swap_tables.h"

#include <errno.h>
#include <string.h>

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

static u64 added(const struct swap_tables *t, const char *name)
{
	return counter_added(counter_of(t, name));
}

static struct cell cell_added(const struct swap_tables *t, const char *name)
{
	const struct counter *v = counter_of(t, name);

	return v ? cell_u64(counter_added(v)) : (struct cell){};
}

static struct cell cell_share(u64 part, u64 of)
{
	return of ? cell_f64((double)part / (double)of) : (struct cell){};
}

/* Pages that came back from swap, wherever they were. */
static u64 pages_back(const struct swap_tables *t)
{
	return added(t, "pswpin") + added(t, "zswpin") + added(t, "swpin_zero");
}

static const struct column device_columns[] = {
	{"device", "DEVICE", CELL_TEXT, UNIT_NONE, 0, "path of the device or file, or its end"},
	{"type", "TYPE", CELL_TEXT, UNIT_NONE, 0, "device, file or zram"},
	{"priority", "PRIORITY", CELL_S64, UNIT_NONE, 0,
		"higher is used first; negative where the kernel chose it"},
	{"size_bytes", "SIZE", CELL_U64, UNIT_BYTES, COL_LEVEL, "size"},
	{"used_bytes", "USED", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"slots in use, those of pages that zswap holds among them"},
	{"used_ratio", "FULL", CELL_F64, UNIT_RATIO, 0, "the same as a share of the size"},
};

static int devices_report(const struct swap_tables *t, struct report *r)
{
	struct table *table = report_table(
		r, "devices", "Swap devices", device_columns, ARRAY_SIZE(device_columns));

	if (!table)
		return -ENOMEM;
	table->sort = "priority";
	table->empty = "There is no swap device.";
	for (size_t i = 0; i < t->devices.n; i++) {
		const struct swap_device *d = groups_value(&t->devices, i);
		struct cell *row = table_row(table);

		if (!row)
			return -ENOMEM;
		row[0] = cell_text(report_text(r, "%.*s", SWAP_NAME_LEN, d->name));
		row[1] = cell_text(d->is_zram ? "zram" : d->is_file ? "file" : "device");
		row[2] = cell_s64(d->priority);
		row[3] = cell_u64(d->size_bytes);
		row[4] = cell_u64(d->used_bytes);
		row[5] = cell_share(d->used_bytes, d->size_bytes);
	}
	return 0;
}

static const struct column owner_columns[] = {
	{"pid", "PID", CELL_U64, UNIT_ID, 0, "process id"},
	{"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "name of the process"},
	{"cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, COL_WIDE,
		"control group that its memory is charged to"},
	{"swap_bytes", "SWAP", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"its anonymous memory in swap (VmSwap); pages shared with children count for each"},
	{"share_ratio", "SHARE", CELL_F64, UNIT_RATIO, 0, "of all swap in use"},
	{"growth_bytes", "GROWTH", CELL_S64, UNIT_BYTES, 0, "since the start"},
};

static u64 swap_used(const struct swap_tables *t)
{
	u64 used = 0;

	for (size_t i = 0; i < t->devices.n; i++)
		used += ((const struct swap_device *)groups_value(&t->devices, i))->used_bytes;
	return used;
}

static int owners_report(const struct swap_tables *t, struct report *r)
{
	struct table *table = report_table(
		r, "owners", "Owners of swap", owner_columns, ARRAY_SIZE(owner_columns));

	if (!table)
		return -ENOMEM;
	table->sort = "swap_bytes";
	table->empty = "No process has memory in swap.";
	for (size_t i = 0; i < t->owners.n; i++) {
		const struct swap_owner *o = groups_value(&t->owners, i);
		struct cell *row = o->swap_bytes ? table_row(table) : NULL;

		if (!o->swap_bytes)
			continue;
		if (!row)
			return -ENOMEM;
		row[0] = cell_u64(o->tgid);
		row[1] = cell_text(report_text(r, "%.*s", COMM_LEN, o->comm));
		row[2] = cell_text(stream_cgroup(r->stream, o->cgroup));
		row[3] = cell_u64(o->swap_bytes);
		row[4] = cell_share(o->swap_bytes, swap_used(t));
		row[5] = cell_s64((s64)(o->swap_bytes - o->first_bytes));
	}
	return 0;
}

static const struct column compressed_columns[] = {
	{"store", "STORE", CELL_TEXT, UNIT_NONE, 0, "zswap, or the zram device"},
	{"data_bytes", "DATA", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"what is stored, before compression"},
	{"memory_bytes", "MEMORY", CELL_U64, UNIT_BYTES, COL_LEVEL, "memory that it takes"},
	{"ratio", "RATIO", CELL_F64, UNIT_NONE, 0, "data over memory: higher is better"},
	{"in_pages", "IN", CELL_U64, UNIT_PAGES, 0, "pages that came back from it (zswpin)"},
	{"out_pages", "OUT", CELL_U64, UNIT_PAGES, 0, "pages that it took (zswpout)"},
	{"written_pages", "WRITTEN", CELL_U64, UNIT_PAGES, 0,
		"pages that it gave on to the swap device (zswpwb)"},
	{"in_ratio", "OF INS", CELL_F64, UNIT_RATIO, 0,
		"pages that came back from it, of all that came back from swap"},
};

static int compressed_row(const char *store, u64 data, u64 memory, struct table *table)
{
	struct cell *row = table_row(table);

	if (!row)
		return -ENOMEM;
	row[0] = cell_text(store);
	row[1] = cell_u64(data);
	row[2] = cell_u64(memory);
	row[3] = cell_share(data, memory);
	return 0;
}

static int zswap_row(const struct swap_tables *t, struct table *table)
{
	const struct counter *pool = counter_of(t, "Zswap"), *data = counter_of(t, "Zswapped");
	struct cell *row;
	int rc;

	if (!pool || !data || (!data->last && !added(t, "zswpin") && !added(t, "zswpout")))
		return 0;
	rc = compressed_row("zswap", data->last, pool->last, table);
	if (rc)
		return rc;
	row = table_cell(table, table->n_rows - 1, 0);
	row[4] = cell_added(t, "zswpin");
	row[5] = cell_added(t, "zswpout");
	row[6] = cell_added(t, "zswpwb");
	if (row[4].type)
		row[7] = cell_share(row[4].u, pages_back(t));
	return 0;
}

static int compressed_report(const struct swap_tables *t, struct report *r)
{
	struct table *table = report_table(r, "compressed", "Compressed memory", compressed_columns,
		ARRAY_SIZE(compressed_columns));
	int rc = table ? zswap_row(t, table) : -ENOMEM;

	for (size_t i = 0; i < t->devices.n && !rc; i++) {
		const struct swap_device *d = groups_value(&t->devices, i);

		if (d->is_zram)
			rc = compressed_row(report_text(r, "%.*s", SWAP_NAME_LEN, d->name),
				d->zram_data_bytes, d->zram_memory_bytes, table);
	}
	return rc;
}

static const struct column counter_columns[] = {
	{"counter", "COUNTER", CELL_TEXT, UNIT_NONE, 0, "name in /proc/vmstat"},
	{"node", "NODE", CELL_U64, UNIT_ID, 0, "NUMA node; empty: the machine"},
	{"count", "COUNT", CELL_U64, UNIT_COUNT, 0,
		"what was added; pages, but thp_*: huge pages (exact)"},
	{"rate", "COUNT/s", CELL_F64, UNIT_NONE, 0, "the same a second"},
};

static int counters_report(const struct swap_tables *t, struct report *r)
{
	struct table *table = report_table(r, "counters", "Refaults and other counters",
		counter_columns, ARRAY_SIZE(counter_columns));
	double seconds = (double)stream_interval_ns(r->stream) / 1e9;

	if (!table)
		return -ENOMEM;
	table->empty = "No page was swapped or refaulted.";
	for (size_t i = 0; i < t->counters.n; i++) {
		const struct counter_key *k = groups_key(&t->counters, i);
		const struct counter *v = groups_value(&t->counters, i);
		struct cell *row;

		if (!v->is_total || !counter_added(v))
			continue;
		row = table_row(table);
		if (!row)
			return -ENOMEM;
		row[0] = cell_text(report_text(r, "%.*s", SWAP_COUNTER_LEN, k->name));
		row[1] = k->node < 0 ? (struct cell){} : cell_u64((u64)k->node);
		row[2] = cell_u64(counter_added(v));
		if (seconds > 0)
			row[3] = cell_f64((double)counter_added(v) / seconds);
	}
	return 0;
}

#define BACK_MIN 100 /* pages; of fewer, a share says nothing */

static void thrashing_note(const struct swap_tables *t, struct report *r)
{
	u64 back = pages_back(t), refaults = added(t, "workingset_refault_anon");

	if (back >= BACK_MIN && counter_of(t, "workingset_refault_anon"))
		report_note(r,
			"%.0f %% of the pages that came back from swap were refaults: needed again "
			"soon after they had been pushed out",
			100.0 * (double)MIN(refaults, back) / (double)back);
}

int swap_tables_report(const struct swap_tables *t, struct report *r)
{
	int rc = devices_report(t, r);

	if (!rc)
		rc = owners_report(t, r);
	if (!rc)
		rc = compressed_report(t, r);
	if (!rc)
		rc = counters_report(t, r);
	thrashing_note(t, r);
	return rc;
}

#define TABLE(name_, columns_)                                               \
	{                                                                    \
		name_, columns_, ARRAY_SIZE(columns_), sizeof((columns_)[0]) \
	}

const struct view_table swap_side_tables[] = {
	TABLE("devices", device_columns),
	TABLE("owners", owner_columns),
	TABLE("compressed", compressed_columns),
	TABLE("counters", counter_columns),
	{},
};
