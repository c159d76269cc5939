/* See faults_growth.h. */
#include "probes/faults/faults_growth.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "probes/processes/processes.h"
#include "sys/process/proc.h"
#include "sys/root.h"

#define EVERY_NS (450 * NSEC_PER_MSEC)
#define LEAST 256U  /* faults: 1 MiB, if each puts a page there */
#define READ 16U    /* processes at a time: those with most */
#define KNOWN 4096U /* processes: of others nothing is told */

struct faulting {
	u64 faults; /* so far */
	/* As in struct process_memory; 0: not yet read. */
	u64 start_ns, first_ns, first_anon_bytes;
	u64 start_ticks; /* of stat: who it is */
	bool gone;
};

void faults_growth_init(struct faults_growth *g)
{
	groups_init(&g->processes, sizeof(u32), sizeof(struct faulting));
	g->tick_ns = NSEC_PER_SEC / (u64)sysconf(_SC_CLK_TCK);
}

int faults_growth_add(struct faults_growth *g, u32 tgid, u64 faults)
{
	struct faulting *f = groups_find(&g->processes, &tgid);

	if (!f && g->processes.n >= KNOWN)
		return 0;
	f = f ? f : groups_get(&g->processes, &tgid);
	if (!f)
		return -ENOMEM;
	f->faults += faults;
	return 0;
}

static int faults_growth_process_send(
	struct capture *c, struct faults_growth *g, u32 tgid, struct faulting *f)
{
	struct process_memory r = REC_INIT(struct process_memory, REC_PROCESS_MEMORY, 0);
	u64 page = (u64)sysconf(_SC_PAGESIZE);
	struct proc_statm m;
	struct proc_stat st;

	if (proc_stat_read((int)tgid, &st) || proc_statm_read((int)tgid, &m) || !m.size_pages) {
		f->gone = true;
		return 0;
	}
	r.h.time_ns = clock_mono_ns();
	r.anon_bytes = proc_statm_anon_pages(&m) * page;
	if (!f->start_ns || f->start_ticks != st.starttime_ticks) {
		f->start_ticks = st.starttime_ticks;
		f->start_ns = proc_start_ns(&st);
		f->first_ns = r.h.time_ns;
		f->first_anon_bytes = r.anon_bytes;
	}
	r.tgid = tgid;
	r.ppid = (u32)st.ppid;
	r.start_ns = f->start_ns;
	r.rss_bytes = m.resident_pages * page;
	r.first_ns = f->first_ns;
	r.first_anon_bytes = f->first_anon_bytes;
	r.minflt_total = st.minflt;
	r.majflt_total = st.majflt;
	r.utime_ns = st.utime_ticks * g->tick_ns;
	r.stime_ns = st.stime_ticks * g->tick_ns;
	snprintf(r.comm, sizeof(r.comm), "%.15s", st.comm);
	return capture_emit(c, &r.h);
}

/* The one with most below a limit; its number among all breaks ties. */
static bool next_most(const struct faults_growth *g, u64 below, size_t after, size_t *ret)
{
	u64 most = 0;
	bool found = false;

	for (size_t i = 0; i < g->processes.n; i++) {
		const struct faulting *f = groups_value(&g->processes, i);

		if (f->gone || f->faults < LEAST || f->faults > below ||
			(f->faults == below && i <= after) || (found && f->faults <= most))
			continue;
		most = f->faults;
		*ret = i;
		found = true;
	}
	return found;
}

static bool process_stays(void *arg, const void *key, const void *value)
{
	const struct faulting *f = value;

	(void)arg;
	return !f->gone && sys_exists("/proc/%u", *(const u32 *)key) != -ENOENT;
}

int faults_growth_send(struct faults_growth *g, struct capture *c)
{
	u64 now = clock_mono_ns(), below = ~0ULL;
	size_t at = 0;
	int rc = 0;

	if (now < g->next_ns)
		return 0;
	g->next_ns = now + EVERY_NS;
	if (g->processes.n >= KNOWN / 2) /* room for those that begin */
		groups_filter(&g->processes, process_stays, NULL);
	for (u32 n = 0; n < READ && !rc && next_most(g, below, at, &at); n++) {
		struct faulting *f = groups_value(&g->processes, at);

		below = f->faults;
		rc = faults_growth_process_send(
			c, g, *(const u32 *)groups_key(&g->processes, at), f);
	}
	return rc;
}

void faults_growth_free(struct faults_growth *g)
{
	groups_free(&g->processes);
}
