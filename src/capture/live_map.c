/* See live.h. */
#include "capture/live_map.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#define BATCH 4096

static int age_add(
	struct groups *g, const struct live_layout *l, const char *value, u64 now_ns, u64 old_ns)
{
	struct live_ages *s = groups_get(g, value + l->key_at);
	u64 began, age;

	if (!s)
		return -ENOMEM;
	memcpy(&began, value + l->time_at, sizeof(began));
	age = now_ns > began ? now_ns - began : 0;
	s->count++;
	s->old += age > old_ns;
	s->oldest_ns = MAX(s->oldest_ns, age);
	s->hist[log2_slot(age, LIVE_AGE_SLOTS - 1)]++;
	return 0;
}

int live_look(int map, const struct live_layout *l, u64 now_ns, u64 old_ns, struct groups *ret,
	u64 *ret_n)
{
	_cleanup_free_ char *values = calloc(BATCH, l->value_size);
	_cleanup_free_ u64 *keys = calloc(BATCH, sizeof(*keys));
	u64 at = 0, *from = NULL;
	int rc = 0, end = 0;

	groups_init(ret, l->key_size, sizeof(struct live_ages));
	*ret_n = 0;
	if (!values || !keys)
		return -ENOMEM;
	while (!rc && !end) {
		u32 n = BATCH;

		end = bpf_map_lookup_batch(map, from, &at, keys, values, &n, NULL) ? -errno : 0;
		if (end && end != -ENOENT)
			return end;
		for (u32 i = 0; i < n && !rc; i++)
			rc = age_add(ret, l, values + i * l->value_size, now_ns, old_ns);
		*ret_n += n;
		from = &at;
	}
	return rc;
}

void live_lifetimes(const struct agg_value *v, u32 ret[LIVE_AGE_SLOTS])
{
	memset(ret, 0, LIVE_AGE_SLOTS * sizeof(*ret));
	for (size_t i = 0; i < AGG_SLOTS; i++)
		ret[MIN(i + LIFETIME_SHIFT, LIVE_AGE_SLOTS - 1UL)] += v->hist[i];
}

u64 live_old_ns(u64 begin_ns, u64 now_ns)
{
	return begin_ns && now_ns > begin_ns ? (now_ns - begin_ns) / 3 * 2 : 0;
}
