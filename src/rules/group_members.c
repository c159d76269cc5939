/* See group_members.h. */
#include "rules/group_members.h"

#include <errno.h>

#include "base/units.h"
#include "rules/anon_growth.h"

#define MEMBERS_TOLD 2 /* processes */
#define GROWN_BYTES (4ULL << 20)

struct member {
	u64 cgroup, rss_bytes;
	struct anon_growth anon;
};

void group_members_init(struct groups *members)
{
	groups_init(members, sizeof(u32), sizeof(struct member));
}

int group_members_feed(struct groups *members, const struct process_memory *r)
{
	struct member *m = groups_get(members, &r->tgid);

	if (!m)
		return -ENOMEM;
	m->cgroup = r->cgroup;
	m->rss_bytes = r->rss_bytes;
	anon_growth_feed(&m->anon, r);
	return 0;
}

u64 group_members_grown(const struct groups *members, const struct report *r, u64 cgroup)
{
	u64 sum = 0;

	for (size_t i = 0; i < members->n; i++) {
		const struct member *m = groups_value(members, i);

		sum += report_cgroup_within(r, m->cgroup, cgroup) ? anon_growth_bytes(&m->anon) : 0;
	}
	return sum;
}

void group_members_tell(
	const struct groups *members, struct report *r, struct finding *f, u64 cgroup)
{
	u64 below = ~0ULL;
	char a[UNIT_BUF], b[UNIT_BUF];

	for (int n = 0; n < MEMBERS_TOLD; n++) {
		const struct member *best = NULL;
		u64 grown;
		u32 tgid = 0;

		for (size_t i = 0; i < members->n; i++) {
			const struct member *m = groups_value(members, i);

			if (m->rss_bytes >= below || (best && m->rss_bytes <= best->rss_bytes) ||
				!report_cgroup_within(r, m->cgroup, cgroup))
				continue;
			best = m;
			tgid = *(const u32 *)groups_key(members, i);
		}
		if (!best)
			return;
		below = best->rss_bytes;
		if (!n)
			f->tgid = tgid;
		grown = anon_growth_bytes(&best->anon);
		finding_line(r, f->evidence, "%s has %s resident in it%s%s",
			report_process(r, tgid), fmt_bytes(a, best->rss_bytes),
			grown >= GROWN_BYTES ? ", and grew by " : "",
			grown >= GROWN_BYTES ? fmt_bytes(b, grown) : "");
	}
}
