/* See policy_show.h. */
#include "probes/policy/policy_show.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "capture/names/names.h"
#include "probes/policy/policy.h"
#include "sys/host.h"
#include "sys/memory/zoneinfo.h"
#include "sys/process/maps.h"
#include "sys/process/numa_maps.h"
#include "sys/process/proc.h"
#include "sys/rights.h"
#include "sys/root.h"

#define THREADS_MAX 4096 /* of a process */
#define MAPPING_NODES 256

struct show {
	struct host *host; /* NULL: not asked for */
	bool began;
};

static int nodes_send(struct capture *c)
{
	_cleanup_zoneinfo_ struct zoneinfo zones = {};
	struct policy_node n = REC_INIT(struct policy_node, REC_POLICY_NODE, 0);
	u64 page = (u64)sysconf(_SC_PAGESIZE);
	int rc = zoneinfo_read(&zones);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	for (size_t i = 0; i < zones.zones.n && !rc; i++) {
		const struct zoneinfo_zone *z = &zones.zones.v[i];

		if (z->id.node != n.node) {
			n.bytes = n.free_bytes = 0;
			n.node = z->id.node;
		}
		n.bytes += z->managed_pages * page;
		n.free_bytes += z->free_pages * page;
		if ((i + 1 == zones.zones.n || z[1].id.node != n.node) && n.bytes)
			rc = capture_emit(c, &n.h);
	}
	return rc;
}

static int policy_show_mapping_send(struct capture *c, u32 pid, const struct mapping *m,
	const struct numa_map *n, const struct numa_maps *all)
{
	_Alignas(8) char buf[sizeof(struct policy_mapping) + MAPPING_NODES * 2 * sizeof(u32)] = {};
	struct policy_mapping *r = (void *)buf;
	u32 count = MIN(n->node_count, (u32)MAPPING_NODES);

	r->h.kind = REC_POLICY_MAPPING;
	r->h.size = (u32)(sizeof(*r) + count * 2 * sizeof(u32));
	r->tgid = pid;
	r->policy = names_string(c->names, n->policy);
	r->file = names_string(c->names, m->path);
	r->map = (u8)(n->huge ? MAPPING_HUGETLB : m->kind);
	r->shared = m->shared;
	r->start = m->start;
	r->end = m->end;
	r->page_bytes = n->page_bytes;
	for (u32 i = 0; i < count; i++) {
		const struct numa_pages *p = &all->nodes.v[n->node_first + i];

		r->nodes[2 * i] = p->node;
		r->nodes[2 * i + 1] = (u32)MIN(p->pages, (u64)UINT32_MAX);
	}
	return capture_emit(c, &r->h);
}

static int mappings_send(struct capture *c, u32 pid)
{
	_cleanup_maps_ struct maps maps = {};
	_cleanup_numa_maps_ struct numa_maps numa = {};
	int rc = numa_maps_read((int)pid, &numa);

	if (!rc)
		rc = maps_read((int)pid, &maps);
	if (rc)
		return capture_note(c, NOTE_NOT_CHECKED, "process %u: /proc/%u/numa_maps: %s", pid,
			pid, strerror(-rc));
	vec_each (m, &maps.list) {
		const struct numa_map *n = numa_maps_find(&numa, m->start);

		rc = n ? policy_show_mapping_send(c, pid, m, n, &numa) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

/* The file of a thread shows its own policy where a mapping has none. The first mapping, of the
 * program itself, hardly ever has one. */
static u32 thread_policy(struct capture *c, u32 pid, int tid)
{
	_cleanup_numa_maps_ struct numa_maps first = {};

	if (numa_maps_read_first((int)pid, tid, &first) || !first.list.n)
		return 0;
	return names_string(c->names, first.list.v[0].policy);
}

static int policy_show_thread_send(struct capture *c, const struct show *s, u32 pid, int tid)
{
	struct policy_thread r = REC_INIT(struct policy_thread, REC_POLICY_THREAD, 0);
	_cleanup_str_ struct str text = {};
	struct proc_stat st;

	if (sys_read(&text, "/proc/%u/task/%d/stat", pid, tid) ||
		proc_stat_parse(str_get(&text), &st))
		return 0; /* it has ended */
	r.tgid = pid;
	r.tid = (u32)tid;
	r.policy = thread_policy(c, pid, tid);
	r.node = st.processor >= 0 && st.processor < IDSET_MAX ? s->host->cpu_node[st.processor]
							       : -1;
	snprintf(r.comm, sizeof(r.comm), "%.15s", st.comm);
	return capture_emit(c, &r.h);
}

static int threads_send(struct capture *c, const struct show *s, u32 pid)
{
	_cleanup_proc_iter_ struct proc_iter it = {};
	u32 n = 0;
	int tid, rc = 0;

	if (proc_iter_open_tasks((int)pid, &it))
		return 0;
	while (!rc && proc_iter_next(&it, &tid)) {
		if (n++ == THREADS_MAX)
			return capture_note(c, NOTE_NOT_CHECKED,
				"process %u: threads after the first %u", pid, THREADS_MAX);
		rc = policy_show_thread_send(c, s, pid, tid);
	}
	return rc;
}

/* Of several processes those that may be read are shown, of one there would be nothing. */
static int show_permitted(struct capture *c, struct err *err)
{
	int rc = 0;

	vec_each (pid, &c->opt.scope.tasks) {
		_cleanup_numa_maps_ struct numa_maps first = {};

		rc = numa_maps_read_first((int)*pid, (int)*pid, &first);
		if (rc != -EACCES && rc != -EPERM)
			return 0;
	}
	err_errno(err, rc, "policy show: process %u: its mappings", c->opt.scope.tasks.v[0]);
	return rights_over_others_hint(err);
}

static int show_open(struct capture *c, void *state, struct err *err)
{
	struct show *s = state;
	int rc = nodes_send(c);

	if (rc)
		return err_errno(err, rc, "policy");
	if (!capture_operand(c, POLICY_SHOW))
		return 0;
	if (!c->opt.scope.tasks.n || c->opt.scope.by_task) {
		err_set(err, -EINVAL, "policy show: it needs -p PID");
		return err_hint(err, "memwhy policy show -p $(pidof NAME)");
	}
	rc = show_permitted(c, err);
	if (rc)
		return rc;
	s->host = calloc(1, sizeof(*s->host));
	if (!s->host)
		return err_errno(err, -ENOMEM, "policy show");
	host_read(s->host);
	return 0;
}

static int show_sample(struct capture *c, void *state)
{
	struct show *s = state;
	int rc = 0;

	if (!s->host)
		return 0;
	/* The sample at the start: what is told is the end of each interval. */
	if (!s->began) {
		s->began = true;
		return 0;
	}
	for (size_t i = 0; i < c->opt.scope.tasks.n && !rc; i++) {
		u32 pid = c->opt.scope.tasks.v[i];

		rc = mappings_send(c, pid);
		rc = rc ? rc : threads_send(c, s, pid);
	}
	return rc;
}

static void show_close(void *state)
{
	free(((struct show *)state)->host);
}

static int show_survey(struct capture *c)
{
	int rc = sys_exists("/proc/self/numa_maps");

	if (rc)
		return capture_missing(
			c, "policies in force", "the kernel has no numa_maps", "CONFIG_NUMA=y");
	return capture_method(c, "policies in force", "numa_maps", NULL);
}

const struct probe_sampler policy_sampler = {
	.size = sizeof(struct show),
	.open = show_open,
	.sample = show_sample,
	.close = show_close,
	.survey = show_survey,
};
