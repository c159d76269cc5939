/* See mappings.h. */
#include "probes/heap/account/mappings.h"

#include <errno.h>

#define SPACE_END (1ULL << 57) /* five-level page tables */

static struct mapping_site *site_get(struct mappings *m, u32 stack, u32 kind)
{
	struct mapping_site_key k = {stack, kind};
	size_t n = m->sites.n;
	struct mapping_site *s;

	if (!m->sites.key_size)
		groups_init(&m->sites, sizeof(k), sizeof(*s));
	s = groups_get(&m->sites, &k);
	if (s && m->sites.n > n) {
		s->index = (u32)n;
		s->peak = m->peak;
	}
	if (s)
		s->changed = true;
	return s;
}

void mappings_settle(const struct mappings *m, struct mapping_site *s)
{
	if (s->peak == m->peak)
		return;
	s->peak = m->peak;
	s->peak_bytes = s->live;
}

static void live_add(struct mappings *m, struct mapping_site *s, u64 bytes, u64 now_ms)
{
	mappings_settle(m, s);
	s->changed = true;
	s->live += bytes;
	m->live += bytes;
	if (m->live <= m->peak_bytes)
		return;
	m->peak_bytes = m->live;
	m->peak_ms = now_ms;
	m->peak++;
}

static void live_take(struct mappings *m, const struct range *r)
{
	struct mapping_site *s = groups_value(&m->sites, r->value);
	u64 bytes = r->end - r->start;

	mappings_settle(m, s);
	s->changed = true;
	s->live -= bytes;
	s->unmapped += bytes;
	m->live -= bytes;
	m->unmapped += bytes;
}

static int range_check(u64 address, u64 bytes)
{
	return bytes && bytes <= SPACE_END && address <= SPACE_END - bytes ? 0 : -EINVAL;
}

/* Takes the part of a range that lies in [start, end) out of it. */
static int part_take(struct mappings *m, const struct range *r, u64 start, u64 end)
{
	struct range before = {r->start, start, r->value}, after = {end, r->end, r->value};
	int rc = ranges_remove(&m->ranges, r->start);

	if (!rc && before.start < start)
		rc = ranges_add(&m->ranges, before);
	if (!rc && end < r->end)
		rc = ranges_add(&m->ranges, after);
	return rc;
}

/* Takes away what is known in a range; taken may be NULL. */
static int range_take(struct mappings *m, u64 start, u64 end, struct mapping_taken *taken)
{
	struct range r;
	int rc = 0;

	while (!rc && ranges_next(&m->ranges, start, &r) && r.start < end) {
		struct range part = {MAX(r.start, start), MIN(r.end, end), r.value};

		rc = taken ? vec_push(&taken->v, part) : 0;
		rc = rc ? rc : part_take(m, &r, part.start, part.end);
		if (rc)
			break;
		if (taken)
			taken->unknown -= part.end - part.start;
		else
			m->replaced += part.end - part.start;
		live_take(m, &part);
		start = part.end;
	}
	return rc;
}

/* Nothing is there. */
static int range_put(struct mappings *m, struct mapping_site *s, u64 start, u64 end, u64 now_ms)
{
	int rc = ranges_add(&m->ranges, (struct range){start, end, s->index});

	if (!rc)
		live_add(m, s, end - start, now_ms);
	return rc;
}

static int range_new(struct mappings *m, struct mapping_site *s, u64 start, u64 end, u64 now_ms)
{
	int rc = range_put(m, s, start, end, now_ms);

	if (rc)
		return rc;
	s->mapped += end - start;
	m->mapped += end - start;
	return 0;
}

int mappings_map(struct mappings *m, u32 stack, u32 kind, u64 address, u64 bytes, u64 now_ms)
{
	struct mapping_site *s;
	int rc = range_check(address, bytes);

	rc = rc ? rc : range_take(m, address, address + bytes, NULL);
	if (rc)
		return rc;
	s = site_get(m, stack, kind);
	if (!s)
		return -ENOMEM;
	s->calls++;
	m->calls++;
	return range_new(m, s, address, address + bytes, now_ms);
}

static void taken_clear(struct mapping_taken *taken)
{
	taken->v.n = 0;
	taken->bytes = taken->unknown = 0;
	taken->moving = false;
}

int mappings_unmap(
	struct mappings *m, u64 address, u64 bytes, bool moving, struct mapping_taken *taken)
{
	int rc = range_check(address, bytes);

	taken->v.n = 0;
	taken->address = address;
	taken->bytes = bytes;
	taken->unknown = rc ? 0 : bytes;
	taken->moving = moving;
	m->unmaps += !moving;
	rc = rc ? 0 : range_take(m, address, address + bytes, taken); /* it will fail */
	m->unknown += taken->unknown;
	return rc;
}

/* Undoes what was counted for a part of what was taken, and puts it elsewhere. */
static int part_put(struct mappings *m, const struct range *r, s64 by, u64 now_ms)
{
	struct mapping_site *s = groups_value(&m->sites, r->value);
	u64 bytes = r->end - r->start;
	int rc = range_put(m, s, r->start + (u64)by, r->end + (u64)by, now_ms);

	if (rc)
		return rc;
	s->unmapped -= bytes;
	m->unmapped -= bytes;
	return 0;
}

int mappings_moved(struct mappings *m, u32 stack, u64 address, u64 bytes,
	struct mapping_taken *taken, u64 now_ms)
{
	u64 kept, known = 0;
	u32 kind = 0;
	struct mapping_site *s;
	int rc = range_check(address, bytes);

	if (!taken->moving)
		taken_clear(taken); /* of another call: the beginning of this one was lost */
	kept = MIN(bytes, taken->bytes);
	rc = rc ? rc : range_take(m, address, address + bytes, NULL);
	for (size_t i = 0; i < taken->v.n && !rc; i++) {
		struct range r = taken->v.v[i];

		r.end = MIN(r.end, taken->address + kept);
		if (r.start < r.end)
			rc = part_put(m, &r, (s64)(address - taken->address), now_ms);
		known += r.start < r.end ? r.end - r.start : 0;
		kind = ((const struct mapping_site_key *)groups_key(&m->sites, r.value))->kind;
	}
	if (rc)
		return rc;
	m->unknown -= kept - known; /* it was moved, whosever it is */
	taken_clear(taken);
	s = site_get(m, stack, kind);
	if (!s)
		return -ENOMEM;
	s->calls++;
	m->calls++;
	return kept < bytes ? range_new(m, s, address + kept, address + bytes, now_ms) : 0;
}

int mappings_restore(struct mappings *m, u32 stack, u64 address, u64 bytes,
	struct mapping_taken *taken, u64 now_ms)
{
	int rc = 0;

	if (taken->address != address || taken->bytes != bytes)
		taken_clear(taken); /* of another call */
	else
		m->unmaps -= !taken->moving;

	for (size_t i = 0; i < taken->v.n && !rc; i++) {
		const struct range *r = &taken->v.v[i];

		/* What is there now came since, by a handler of a signal. */
		rc = range_take(m, r->start, r->end, NULL);
		rc = rc ? rc : part_put(m, r, 0, now_ms);
	}
	m->unknown -= taken->unknown;
	taken_clear(taken);
	return rc ? rc : mappings_failed(m, stack, 0);
}

int mappings_failed(struct mappings *m, u32 stack, u32 kind)
{
	struct mapping_site *s = site_get(m, stack, kind);

	if (!s)
		return -ENOMEM;
	s->failed++;
	m->failed++;
	return 0;
}

void mappings_forget(struct mappings *m)
{
	ranges_free(&m->ranges);
}

void mappings_free(struct mappings *m)
{
	mappings_forget(m);
	groups_free(&m->sites);
}
