/* See reclaim_host.h. */
#include "probes/reclaim/reclaim_host.h"

#include <string.h>

#include "capture/gfp_names.h"
#include "probes/reclaim/reclaim.h"
#include "sys/kernel/kernel_data.h"
#include "sys/keyvals.h"
#include "sys/root.h"

u32 reclaim_nodes(void)
{
	_cleanup_str_ struct str text = {};
	const char *p;
	size_t n;

	if (sys_read(&text, "/sys/devices/system/node/possible"))
		return 1;
	p = str_get(&text); /* "0-3", "0,2": the last number is the highest */
	n = strcspn(p, "\n");
	while (n && p[n - 1] >= '0' && p[n - 1] <= '9')
		n--;
	return (u32)MIN(strtoul(p + n, NULL, 10), 1023UL) + 1;
}

u64 reclaim_free_pages_address(void)
{
	static const char *const name = "vm_zone_stat";
	static u64 address;
	static bool known;

	/* once: every attempt to load the programs asks, and kallsyms is long */
	if (!known)
		kernel_data_find(&name, 1, &address);
	known = true;
	return address;
}

/* Counters of /proc/vmstat that no event tells. */
enum counter { KSWAPD_WAITS, PAGES_WRITTEN, COUNTERS };

struct sampler_state {
	struct keyvals vmstat;
	u64 last[COUNTERS];
	bool known;
};

static int reclaim_host_sampler_open(struct capture *c, void *state, struct err *err)
{
	(void)state;
	(void)err;
	gfp_tell(c, true);
	return 0;
}

static bool system_wide(const struct scope *s)
{
	return !s->by_task && !s->tasks.n && !s->comm[0] && !s->cgroup_id;
}

/* throttle_direct_reclaim() puts tasks to sleep before the first tracepoint. */
static int waits_send(struct capture *c, u64 count)
{
	struct reclaim_throttle r = REC_INIT(struct reclaim_throttle, REC_RECLAIM_THROTTLE, 0);

	r.kind = RECLAIM_DIRECT;
	r.node = RECLAIM_NODE_UNKNOWN;
	r.reason = RECLAIM_THROTTLE_KSWAPD;
	r.count = count;
	return capture_emit(c, &r.h);
}

static int written_send(struct capture *c, u64 pages)
{
	struct reclaim_written r = REC_INIT(struct reclaim_written, REC_RECLAIM_WRITTEN, 0);

	r.pages = pages;
	return capture_emit(c, &r.h);
}

static int reclaim_host_sampler_sample(struct capture *c, void *state)
{
	static const struct {
		const char *name;
		int (*send)(struct capture *c, u64 added);
	} counters[COUNTERS] = {
		[KSWAPD_WAITS] = {"pgscan_direct_throttle", waits_send},
		[PAGES_WRITTEN] = {"nr_vmscan_write", written_send},
	};
	struct sampler_state *s = state;
	int rc = 0;

	if (!system_wide(&c->opt.scope) || keyvals_read("/proc/vmstat", &s->vmstat))
		return 0;
	for (size_t i = 0; i < COUNTERS && !rc; i++) {
		u64 now = 0, before = s->last[i];

		keyvals_get(&s->vmstat, counters[i].name, &now);
		s->last[i] = now;
		if (s->known && now > before)
			rc = counters[i].send(c, now - before);
	}
	s->known = true;
	return rc;
}

static void sampler_close(void *state)
{
	keyvals_free(&((struct sampler_state *)state)->vmstat);
}

static int reclaim_host_sampler_survey(struct capture *c)
{
	gfp_tell(c, false);
	return 0;
}

const struct probe_sampler reclaim_sampler = {
	.size = sizeof(struct sampler_state),
	.open = reclaim_host_sampler_open,
	.sample = reclaim_host_sampler_sample,
	.close = sampler_close,
	.survey = reclaim_host_sampler_survey,
};
