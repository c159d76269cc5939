/* See frag_sample.h. */
#include "probes/frag/frag_sample.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "probes/frag/frag.h"
#include "sys/memory/buddyinfo.h"
#include "sys/memory/pagetypeinfo.h"
#include "sys/memory/zoneinfo.h"
#include "sys/sysctl.h"

_Static_assert(FRAG_ORDERS == PAGE_ORDERS_MAX, "orders");
_Static_assert(FRAG_ZONES == ZONE_PROTECTION_MAX, "zones");
_Static_assert(FRAG_ZONE_NAME == ZONE_NAME_MAX, "zone names");

/* A drain and the timer fall together: one sample is enough. */
#define SAME_NS (10 * NSEC_PER_MSEC)
/* pagetypeinfo is read at most for this part of the time, see pagetypeinfo.h. */
#define TYPES_PART 1000

struct sampler {
	struct buddyinfo buddy;
	struct zoneinfo zones;
	struct pagetypeinfo types;
	u64 last_ns;     /* of the last sample */
	u64 types_ns;    /* when types may be read again */
	bool types_read; /* and not yet sent */
	bool named;      /* the names of the migratetypes were sent */
};

static int types_read(struct sampler *s)
{
	u64 start = clock_mono_ns(), end;
	int rc = pagetypeinfo_read(&s->types);

	end = clock_mono_ns();
	s->types_ns = rc ? UINT64_MAX : end + (end - start) * TYPES_PART;
	s->types_read = !rc;
	return rc;
}

/* The number of a zone within its node: its place among the node's lines. -1: not listed. */
static int zone_index(const struct zoneinfo *info, const struct zone_id *id)
{
	int n = 0;

	vec_each (z, &info->zones) {
		if (z->id.node != id->node)
			continue;
		if (!strcmp(z->id.zone, id->zone))
			return n;
		n++;
	}
	return -1;
}

static void marks_fill(struct frag_zone *r, const struct zoneinfo *info, const struct zone_id *id)
{
	const struct zoneinfo_zone *z = zoneinfo_find(info, id);
	struct zone_id normal = {.node = id->node, .zone = "Normal"};
	int index = zone_index(info, id), kernel = zone_index(info, &normal);

	if (!z)
		return;
	r->flags |= FRAG_MARKS;
	r->index = (u32)index;
	r->kernel_index = (u32)(kernel < 0 ? index : kernel);
	r->free_pages = z->free_pages;
	r->cma_pages = z->free_cma_pages;
	r->min_pages = z->min_pages;
	r->low_pages = z->low_pages;
	r->high_pages = z->high_pages;
	r->boost_pages = z->boost_pages;
	r->present_pages = z->present_pages;
	r->managed_pages = z->managed_pages;
	r->start_pfn = z->start_pfn;
	r->spanned_pages = z->spanned_pages;
	memcpy(r->reserve_pages, z->protection_pages, sizeof(r->reserve_pages));
}

static int frag_sample_zones_send(struct capture *c, struct sampler *s)
{
	u64 threshold = 0;
	bool compaction = !sysctl_read_u64("vm.extfrag_threshold", &threshold);
	bool marks = !zoneinfo_read(&s->zones);
	int rc = 0;

	if (buddyinfo_read(&s->buddy))
		return 0; /* said when it was opened */
	vec_each (b, &s->buddy.zones) {
		struct frag_zone r = REC_INIT(struct frag_zone, REC_FRAG_ZONE, s->last_ns);

		r.node = b->id.node;
		memcpy(r.zone, b->id.zone, sizeof(r.zone));
		r.orders = b->orders;
		memcpy(r.free_blocks, b->blocks, sizeof(r.free_blocks));
		r.flags = compaction ? FRAG_COMPACTION : 0;
		r.threshold = (u32)threshold;
		if (marks)
			marks_fill(&r, &s->zones, &b->id);
		rc = rc ? rc : capture_emit(c, &r.h);
	}
	return rc;
}

/* Each zone's rows are in the order of enum migratetype, so the first zone's number the names. */
static u32 type_number(const struct pagetypeinfo *info, const char *type)
{
	u32 n = 0;

	vec_each (f, &info->free) {
		if (!zone_id_equal(&f->id, &info->free.v[0].id))
			break;
		if (!strcmp(f->type, type))
			return n;
		n++;
	}
	return FRAG_TYPE_UNKNOWN;
}

static int types_name(struct capture *c, struct sampler *s)
{
	int rc = 0;

	vec_each (f, &s->types.free) {
		u32 number = type_number(&s->types, f->type);

		if (rc || !zone_id_equal(&f->id, &s->types.free.v[0].id))
			break;
		rc = capture_enum(c, "migratetype", number, f->type);
	}
	s->named = true;
	return rc;
}

static const struct pagetype_blocks *blocks_find(
	const struct pagetype_blocks *v, size_t n, const struct pagetype_free *of)
{
	for (size_t i = 0; i < n; i++)
		if (zone_id_equal(&v[i].id, &of->id) && !strcmp(v[i].type, of->type))
			return &v[i];
	return NULL;
}

static int type_send(struct capture *c, const struct sampler *s, const struct pagetype_free *f)
{
	const struct pagetypeinfo *info = &s->types;
	const struct pagetype_blocks *b = blocks_find(info->blocks.v, info->blocks.n, f);
	const struct pagetype_blocks *mixed = blocks_find(info->mixed.v, info->mixed.n, f);
	struct frag_pagetype r = REC_INIT(struct frag_pagetype, REC_FRAG_PAGETYPE, s->last_ns);

	r.node = f->id.node;
	memcpy(r.zone, f->id.zone, sizeof(r.zone));
	r.migratetype = type_number(info, f->type);
	r.orders = f->orders;
	r.clamped = f->clamped;
	r.pageblocks = b ? b->pageblocks : 0;
	r.flags = mixed ? FRAG_MIXED : 0;
	r.mixed_pageblocks = mixed ? mixed->pageblocks : 0;
	memcpy(r.free_blocks, f->blocks, sizeof(r.free_blocks));
	return capture_emit(c, &r.h);
}

static int types_send(struct capture *c, struct sampler *s)
{
	int rc = s->named ? 0 : types_name(c, s);

	vec_each (f, &s->types.free)
		rc = rc ? rc : type_send(c, s, f);
	s->types_read = false;
	return rc;
}

static int frag_sample(struct capture *c, void *state)
{
	struct sampler *s = state;
	u64 now = clock_mono_ns();
	int rc;

	if (!c->ending && s->last_ns && now - s->last_ns < SAME_NS)
		return 0;
	s->last_ns = now;
	rc = frag_sample_zones_send(c, s);
	/* The end of the interval is worth its price. */
	if (!rc && (now >= s->types_ns || (c->ending && s->types_ns != UINT64_MAX)))
		types_read(s);
	return rc || !s->types_read ? rc : types_send(c, s);
}

static int frag_sample_tell(struct capture *c, const char *data, const char *path, int error)
{
	char why[96];

	if (!error)
		return capture_method(c, data, path, NULL);
	snprintf(why, sizeof(why), "%s: %s", path, strerror(-error));
	return capture_refused(c, data, why, error, NULL);
}

/* Reading it holds the zone lock for milliseconds: not beside a workload that is only checked. */
static int types_tell(struct capture *c, struct sampler *s)
{
	if (!c->opt.gentle)
		return frag_sample_tell(c, "migratetypes", "/proc/pagetypeinfo", types_read(s));
	s->types_ns = UINT64_MAX;
	return 0;
}

static int sources_tell(struct capture *c, struct sampler *s)
{
	int rc = frag_sample_tell(
		c, "free blocks by order", "/proc/buddyinfo", buddyinfo_read(&s->buddy));

	if (!rc)
		rc = frag_sample_tell(c, "watermarks", "/proc/zoneinfo", zoneinfo_read(&s->zones));
	if (!rc)
		rc = types_tell(c, s);
	return rc;
}

static int frag_open(struct capture *c, void *state, struct err *err)
{
	int rc = sources_tell(c, state);

	return rc ? err_errno(err, rc, "%s", c->probe) : 0;
}

static void frag_close(void *state)
{
	struct sampler *s = state;

	buddyinfo_free(&s->buddy);
	zoneinfo_free(&s->zones);
	pagetypeinfo_free(&s->types);
}

static int frag_survey(struct capture *c)
{
	struct sampler s = {};
	int rc = sources_tell(c, &s);

	frag_close(&s);
	return rc;
}

const struct probe_sampler frag_sampler = {
	.size = sizeof(struct sampler),
	.every_ns = NSEC_PER_SEC,
	.open = frag_open,
	.sample = frag_sample,
	.close = frag_close,
	.survey = frag_survey,
};
