/* See numa_place.h. */
#include "probes/numa/capture/numa_place.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "probes/numa/numa.h"
#include "probes/whereabouts_record.h"
#include "sys/memory/zoneinfo.h"
#include "sys/process/maps.h"
#include "sys/process/numa_maps.h"
#include "sys/process/proc.h"
#include "sys/root.h"

#define PROCESSES_MAX 64
/* Reading numa_maps walks the page tables under the mmap lock: 5 ms for each GiB of small pages
 * where measured. So it is read only while that takes this share of the time. */
#define SHARE 100

static int numa_place_mapping_send(struct capture *c, u32 tgid, const struct mapping *m,
	const struct numa_map *n, const struct numa_maps *all)
{
	int rc = 0;

	for (u32 i = 0; i < n->node_count && !rc; i++) {
		const struct numa_pages *p = &all->nodes.v[n->node_first + i];
		struct numa_place r = REC_INIT(struct numa_place, REC_NUMA_PLACE, 0);

		r.h.flags = NUMA_PLACE_SUM;
		r.tgid = tgid;
		r.node = p->node < NUMA_NODES ? (s32)p->node : -1;
		r.start = m->start;
		r.bytes = m->end - m->start;
		r.pages = p->pages;
		r.page_bytes = (u32)n->page_bytes;
		rc = capture_emit(c, &r.h);
	}
	return rc;
}

int numa_place_open(struct numa_places *p)
{
	groups_init(&p->ran, sizeof(u32), sizeof(u64));
	p->host = calloc(1, sizeof(*p->host));
	if (!p->host)
		return -ENOMEM;
	host_read(p->host);
	if (p->host->nodes > 1)
		return 0;
	free(p->host);
	p->host = NULL;
	return 0;
}

void numa_place_close(void *state)
{
	struct numa_places *p = state;

	free(p->host);
	groups_free(&p->ran);
}

/* Where it ran, and what decides where its memory is. */
static int use_send(
	struct capture *c, struct numa_places *p, u32 tgid, const struct numa_maps *numa)
{
	struct whereabouts_of of = {.pid = tgid, .asked = true};
	struct proc_stat st;

	if (!p->host || proc_stat_read((int)tgid, &st))
		return 0;
	snprintf(of.comm, sizeof(of.comm), "%.15s", st.comm);
	return whereabouts_send(c, p->host, numa, &p->ran, &of);
}

/* The file has no ends of mappings: those are in maps. What changed between the two is left out. */
static int numa_place_process_send(struct capture *c, struct numa_places *p, u32 tgid)
{
	_cleanup_maps_ struct maps maps = {};
	_cleanup_numa_maps_ struct numa_maps numa = {};
	int rc = maps_read((int)tgid, &maps);

	if (!rc)
		rc = numa_maps_read((int)tgid, &numa);
	if (rc)
		return rc == -ENOMEM ? rc : 0; /* it has ended, or is a kernel thread */
	rc = use_send(c, p, tgid, &numa);
	if (rc)
		return rc;
	vec_each (m, &maps.list) {
		const struct numa_map *n = numa_maps_find(&numa, m->start);

		rc = n ? numa_place_mapping_send(c, tgid, m, n, &numa) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

/* The processes of -p, or of the command with its children. */
static int scope_send(struct capture *c, struct numa_places *p)
{
	int rc = 0;

	for (size_t i = 0; i < MIN(c->opt.scope.tasks.n, (size_t)PROCESSES_MAX) && !rc; i++)
		rc = numa_place_process_send(c, p, c->opt.scope.tasks.v[i]);
	return rc;
}

/* At the end of a command there is nothing left to look at: so once a second too, while that is
 * cheap.
 */
int numa_place_sample(struct capture *c, void *state)
{
	u64 begin = clock_mono_ns(), end;
	struct numa_places *p = state;
	bool first = !p->begun;
	int rc;

	p->begun = true;
	/* A command is not there yet: what would be looked at is memwhy's fork that will be it. */
	if ((first && c->opt.command) || (!c->ending && begin < p->next_ns))
		return 0;
	rc = scope_send(c, p);
	end = clock_mono_ns();
	p->next_ns = end + SHARE * (end - begin);
	return rc;
}

int numa_place_survey(struct capture *c)
{
	int rc = sys_exists("/proc/self/numa_maps");

	if (rc)
		return capture_missing(c, "pages of processes by node",
			"the kernel has no numa_maps", "CONFIG_NUMA=y");
	return capture_method(c, "pages of processes by node", "numa_maps", NULL);
}

s32 numa_only_node(void)
{
	_cleanup_zoneinfo_ struct zoneinfo zones = {};
	s32 node = -1;

	if (zoneinfo_read(&zones))
		return -1;
	vec_each (z, &zones.zones) {
		if (!z->managed_pages)
			continue;
		if (node >= 0 && node != (s32)z->id.node)
			return -1;
		node = (s32)z->id.node;
	}
	return node;
}
