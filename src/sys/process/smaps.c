/* See smaps.h. */
#include "sys/process/smaps.h"

#include <errno.h>
#include <string.h>

#include "sys/process/proc.h"
#include "sys/scan.h"

#define SUM_FIELD(name, member) SCAN_FIELD(name, struct smaps_sum, member)

static const struct scan_field sum_fields[] = {
	SUM_FIELD("Rss", rss_bytes),
	SUM_FIELD("Pss", pss_bytes),
	SUM_FIELD("SwapPss", swap_pss_bytes),
	SUM_FIELD("AnonHugePages", anon_huge_bytes),
	SUM_FIELD("ShmemPmdMapped", shmem_huge_bytes),
	SUM_FIELD("FilePmdMapped", file_huge_bytes),
	SUM_FIELD("LazyFree", lazy_free_bytes),
};

/* "AnonHugePages:    2048 kB" */
static bool size_line(struct scan *s, struct scan *ret_name, u64 *ret_bytes)
{
	u64 v;

	if (!scan_until(s, ':', ret_name) || !scan_u64(s, &v) || !scan_lit(s, "kB"))
		return false;
	return !__builtin_mul_overflow(v, 1024ULL, ret_bytes);
}

int smaps_rollup_parse(const char *text, struct smaps_sum *ret)
{
	struct smaps_sum sum = {};
	bool has_rss = false;
	struct scan s, name;
	u64 bytes;

	while (scan_line(&text, &s)) {
		if (!size_line(&s, &name, &bytes))
			continue;
		has_rss |= scan_is(&name, "Rss");
		scan_store(sum_fields, ARRAY_SIZE(sum_fields), &name, bytes, &sum);
	}
	if (!has_rss)
		return -EINVAL;
	*ret = sum;
	return 0;
}

int smaps_rollup_read(int pid, struct str *text, struct smaps_sum *ret)
{
	int rc = proc_memory_read(pid, "smaps_rollup", text);

	return rc ? rc : smaps_rollup_parse(str_get(text), ret);
}

void smaps_free(struct smaps *s)
{
	vec_free(&s->list);
}

/* "7f12a000-7f12b000 rw-p …" */
static bool head_line(struct scan s, struct smaps_huge *ret)
{
	struct scan address;
	u64 start, end;

	if (!scan_until(&s, '-', &address) || !scan_hex(&address, &start) || !scan_done(&address) ||
		!scan_hex(&s, &end) || scan_done(&s) || *s.p != ' ' || start >= end)
		return false;
	*ret = (struct smaps_huge){.start = start, .end = end};
	return true;
}

static bool flags_line(struct scan s, bool *ret_dont_dump)
{
	struct scan word;

	if (!scan_lit(&s, "VmFlags:"))
		return false;
	while (scan_word(&s, &word))
		*ret_dont_dump |= scan_is(&word, "dd");
	return true;
}

static int huge_keep(struct smaps *ret, const struct smaps_huge *h)
{
	return h->anon_huge_bytes ? vec_push(&ret->list, *h) : 0;
}

int smaps_parse(const char *text, struct smaps *ret)
{
	struct smaps_huge h = {};
	bool any = false, some = text[0] != '\0';
	struct scan s, name;
	u64 bytes;
	int rc = 0;

	ret->list.n = 0;
	while (!rc && scan_line(&text, &s)) {
		struct smaps_huge next;

		if (head_line(s, &next)) {
			rc = huge_keep(ret, &h);
			h = next;
			any = true;
		} else if (!flags_line(s, &h.dont_dump) && size_line(&s, &name, &bytes) &&
			   scan_is(&name, "AnonHugePages") && any) {
			h.anon_huge_bytes = bytes;
		}
	}
	if (!rc)
		rc = huge_keep(ret, &h);
	if (!rc && some && !any)
		rc = -EINVAL;
	if (rc)
		ret->list.n = 0;
	return rc;
}

int smaps_read(int pid, struct str *text, struct smaps *ret)
{
	int rc = proc_memory_read(pid, "smaps", text);

	return rc ? rc : smaps_parse(str_get(text), ret);
}

void smaps_all_free(struct smaps_all *s)
{
	vec_free(&s->list);
}

#define RSS_FIELD(name, member) SCAN_FIELD(name, struct smaps_rss, member)

static const struct scan_field rss_fields[] = {
	RSS_FIELD("Rss", rss_bytes),
	RSS_FIELD("Pss", pss_bytes),
	RSS_FIELD("Swap", swap_bytes),
	RSS_FIELD("Referenced", referenced_bytes),
	RSS_FIELD("Anonymous", anon_bytes),
	RSS_FIELD("AnonHugePages", anon_huge_bytes),
	RSS_FIELD("Locked", locked_bytes),
	RSS_FIELD("LazyFree", lazy_free_bytes),
};

int smaps_all_parse(const char *text, struct smaps_all *ret)
{
	struct smaps_rss *now = NULL;
	struct scan s, name;
	u64 bytes;

	ret->list.n = 0;
	while (scan_line(&text, &s)) {
		struct smaps_huge head;

		if (head_line(s, &head)) {
			if (vec_push(&ret->list,
				    ((struct smaps_rss){.start = head.start, .end = head.end})))
				return -ENOMEM;
			now = &ret->list.v[ret->list.n - 1];
		} else if (now && size_line(&s, &name, &bytes)) {
			scan_store(rss_fields, ARRAY_SIZE(rss_fields), &name, bytes, now);
		}
	}
	return 0;
}

bool mapping_rss_next(const struct maps *maps, const struct smaps_all *all, struct mapping_rss *ret)
{
	while (ret->maps_at < maps->list.n && ret->rss_at < all->list.n) {
		ret->map = &maps->list.v[ret->maps_at];
		ret->rss = &all->list.v[ret->rss_at++];
		if (ret->map->start == ret->rss->start) {
			ret->maps_at++;
			return true;
		}
	}
	return false;
}
