/* See pagetypeinfo.h. */
#include "sys/memory/pagetypeinfo.h"

#include "sys/root.h"
#include "sys/scan.h"

#define ROWS_MAX ((size_t)ZONES_MAX * MIGRATETYPES_MAX)

/* A parse under way. A table of pageblocks has its types in its heading. */
struct parse {
	struct pagetypeinfo info;
	u32 types;
	char type[MIGRATETYPES_MAX][MIGRATETYPE_NAME_MAX];
	bool mixed;
};

void pagetypeinfo_free(struct pagetypeinfo *info)
{
	vec_free(&info->free);
	vec_free(&info->blocks);
	vec_free(&info->mixed);
}

static int free_row(struct parse *p, const struct zone_id *id, struct scan *s)
{
	struct pagetype_free row = {.id = *id};
	struct scan type;

	if (!scan_word(s, &type) || !scan_copy(&type, row.type, sizeof(row.type)))
		return 0;
	while (row.orders < PAGE_ORDERS_MAX) {
		bool clamped = scan_lit(s, ">");

		if (!scan_u64(s, &row.blocks[row.orders]))
			break;
		row.clamped |= (u32)clamped << row.orders;
		row.orders++;
	}
	if (!row.orders || p->info.free.n >= ROWS_MAX)
		return 0;
	return vec_push(&p->info.free, row);
}

static int blocks_row(struct parse *p, const struct zone_id *id, struct scan *s)
{
	struct pagetype_blocks row = {.id = *id};

	for (u32 i = 0; i < p->types && scan_u64(s, &row.pageblocks); i++) {
		size_t n = p->mixed ? p->info.mixed.n : p->info.blocks.n;
		int rc;

		if (n >= ROWS_MAX)
			return 0;
		memcpy(row.type, p->type[i], sizeof(row.type));
		rc = p->mixed ? vec_push(&p->info.mixed, row) : vec_push(&p->info.blocks, row);
		if (rc)
			return rc;
	}
	return 0;
}

static bool heading(struct parse *p, struct scan *s)
{
	struct scan word;
	bool mixed = scan_lit(s, "Number of mixed blocks");

	if (!mixed && !scan_lit(s, "Number of blocks type"))
		return false;
	p->mixed = mixed;
	p->types = 0;
	while (p->types < MIGRATETYPES_MAX && scan_word(s, &word))
		scan_copy(&word, p->type[p->types++], MIGRATETYPE_NAME_MAX);
	return true;
}

static int pagetypeinfo_line_parse(struct parse *p, struct scan *s)
{
	struct zone_id id;
	u32 order;

	if (scan_zone(s, &id))
		return scan_lit(s, "type ") ? free_row(p, &id, s) : blocks_row(p, &id, s);
	if (heading(p, s))
		return 0;
	if (scan_lit(s, "Page block order:") && scan_u32(s, PAGE_ORDERS_MAX, &order))
		p->info.pageblock_order = (int)order;
	else if (scan_lit(s, "Pages per block:"))
		scan_u64(s, &p->info.pages_per_block);
	return 0;
}

int pagetypeinfo_parse(const char *text, struct pagetypeinfo *ret)
{
	struct parse p = {.info.pageblock_order = -1};
	struct scan s;
	int rc = 0;

	while (!rc && scan_line(&text, &s))
		rc = pagetypeinfo_line_parse(&p, &s);
	if (!rc && !p.info.free.n)
		rc = -EINVAL;
	if (rc) {
		pagetypeinfo_free(&p.info);
		return rc;
	}
	pagetypeinfo_free(ret);
	*ret = p.info;
	return 0;
}

int pagetypeinfo_read(struct pagetypeinfo *ret)
{
	_cleanup_str_ struct str text = {};
	int rc = sys_read(&text, "/proc/pagetypeinfo");

	return rc ? rc : pagetypeinfo_parse(str_get(&text), ret);
}
