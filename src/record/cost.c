/* See cost.h. */
#include "record/cost.h"

#include <bpf/bpf.h>
#include <malloc.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "capture/reader/reader.h"
#include "capture/unwind/unwind.h"
#include "sys/process/proc.h"

/* Runs are taken to be as many as events: so of both there must have been some. */
#define ENOUGH_RUNS 5000
#define ENOUGH_EVENTS 2000
#define RUNS_MAX 1000000
#define GIVE_BACK_NS (20 * NSEC_PER_SEC)

void cost_begin(struct cost *c)
{
	*c = (struct cost){.stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME)};
}

/* maps: also what maps take, which takes a file of /proc for each. */
static void runs_sum(
	struct probe_run *const *runs, size_t n, bool maps, struct rec_cost *sum, u64 *ret_seen)
{
	u64 seen = 0;

	for (size_t i = 0; i < n; i++) {
		u64 ns = 0, count = 0, bytes = 0;

		probe_cost(runs[i], &ns, &count, maps ? &bytes : NULL);
		sum->bpf_ns += ns;
		sum->bpf_runs += count;
		sum->bpf_bytes += bytes;
		seen += probe_seen(runs[i]);
	}
	*ret_seen = seen;
}

void cost_counting(struct cost *c, struct probe_run *const *runs, size_t n)
{
	struct rec_cost sum = {};
	u64 seen;

	runs_sum(runs, n, false, &sum, &seen);
	c->ns_before = sum.bpf_ns;
	c->runs_before = sum.bpf_runs;
}

/* What is freed between blocks that live long stays with the allocator: a busy minute would be
 * paid for as long as the session lasts. */
static void memory_give_back(struct cost *c)
{
	u64 now = clock_mono_ns();

	if (now < c->give_back_ns)
		return;
	if (c->give_back_ns)
		malloc_trim(0);
	c->give_back_ns = now + GIVE_BACK_NS;
}

void cost_watch(struct cost *c, struct probe_run *const *runs, size_t n)
{
	struct rec_cost sum = {};
	u64 seen;

	memory_give_back(c);
	if (c->stats_fd < 0)
		return;
	runs_sum(runs, n, false, &sum, &seen);
	sum.bpf_ns -= c->ns_before;
	sum.bpf_runs -= c->runs_before;
	if (sum.bpf_runs < ENOUGH_RUNS || (seen < ENOUGH_EVENTS && sum.bpf_runs < RUNS_MAX))
		return;
	cost_end(c);
	c->seen_at_close = seen;
	c->ns_at_close = sum.bpf_ns;
	c->runs_at_close = sum.bpf_runs;
}

/* Not getrusage's ru_maxrss, which begins with that of the program before the exec. */
static u64 rss_most(const struct rusage *u)
{
	struct proc_status st;

	if (proc_status_read((int)getpid(), &st) || !st.vm_hwm_bytes)
		return (u64)u->ru_maxrss * 1024;
	return st.vm_hwm_bytes;
}

static void helper_add(pid_t helper, struct rec_cost *r)
{
	u64 tick_ns = NSEC_PER_SEC / (u64)sysconf(_SC_CLK_TCK);
	struct proc_status status;
	struct proc_stat stat;

	if (!helper || proc_stat_read(helper, &stat))
		return;
	r->cpu_ns += (stat.utime_ticks + stat.stime_ticks) * tick_ns;
	if (!proc_status_read(helper, &status))
		r->rss_bytes += status.vm_hwm_bytes;
}

/* Of a process: all that is resident, or what it has to itself. */
static u64 now_bytes(pid_t pid, bool all)
{
	struct proc_statm m = {};

	if (!pid || proc_statm_read(pid, &m))
		return 0;
	return (all ? m.resident_pages : proc_statm_anon_pages(&m)) * (u64)sysconf(_SC_PAGESIZE);
}

/* All of them are one program, so its file is counted once. */
static u64 now_bytes_sum(const struct cost *c)
{
	u64 sum = now_bytes(getpid(), true);

	for (size_t i = 0; i < ARRAY_SIZE(c->helpers); i++)
		sum += now_bytes(c->helpers[i], false);
	for (u32 i = 0; c->reader && i < READERS; i++)
		sum += now_bytes(reader_pid(c->reader, i), false);
	return sum;
}

struct rec_cost cost_read(struct cost *c, struct probe_run *const *runs, size_t n)
{
	struct rec_cost r = {
		.h = {.size = sizeof(r), .kind = REC_COST, .time_ns = clock_mono_ns()}};
	struct rusage u;
	u64 seen;

	runs_sum(runs, n, !c->maps_known, &r, &seen);
	if (c->maps_known)
		r.bpf_bytes = c->maps_bytes;
	c->maps_bytes = r.bpf_bytes;
	c->maps_known = true;
	/* Where the statistics are on for other reasons, all runs were measured. */
	if (c->seen_at_close &&
		r.bpf_runs - c->runs_before <= c->runs_at_close + c->runs_at_close / 4) {
		double scale = (double)seen / (double)c->seen_at_close;

		r.h.flags = COST_ESTIMATED;
		r.bpf_ns = c->ns_before + (u64)((double)c->ns_at_close * scale);
		r.bpf_runs = c->runs_before + (u64)((double)c->runs_at_close * scale);
	}
	getrusage(RUSAGE_SELF, &u);
	r.cpu_ns = ((u64)u.ru_utime.tv_sec + (u64)u.ru_stime.tv_sec) * NSEC_PER_SEC +
		   ((u64)u.ru_utime.tv_usec + (u64)u.ru_stime.tv_usec) * NSEC_PER_USEC;
	r.rss_bytes = rss_most(&u);
	for (size_t i = 0; i < ARRAY_SIZE(c->helpers); i++)
		helper_add(c->helpers[i], &r);
	r.now_bytes = now_bytes_sum(c);
	if (c->unwind)
		r.bpf_bytes += unwind_bytes(c->unwind);
	if (c->reader) {
		r.cpu_ns += reader_cpu_ns(c->reader);
		r.rss_bytes += reader_grown_bytes(c->reader);
	}
	return r;
}

void cost_end(struct cost *c)
{
	if (c->stats_fd >= 0)
		close(c->stats_fd);
	c->stats_fd = -1;
}
