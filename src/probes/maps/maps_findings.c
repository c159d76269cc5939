/* See maps_tables.h. */
#include "probes/maps/maps_tables.h"

#include <errno.h>

#include "base/units.h"
#include "probes/maps/maps_words.h"

#define CHURN_RATE 1000 /* calls a second */
#define CHURN_RISK 0.01 /* of the interval in these calls */
#define CHURN_WARNING 0.1
#define GROWTH_MIN (16 << 20)
#define GROWTH_SAMPLES 8
#define GROWTH_FIT 0.9

static double seconds_of(const struct report *r)
{
	double s = (double)stream_interval_ns(r->stream) / 1e9;

	return s > 0.001 ? s : 0.001;
}

static const char *process_text(struct report *r, u32 tgid)
{
	return report_text(r, "%s (process %u)", stream_comm(r->stream, tgid, 0), tgid);
}

/* -1: not worth a word. */
static int churn_level(const struct report *r, u64 calls, u64 ns)
{
	double share = (double)ns / 1e9 / seconds_of(r);

	if ((double)calls / seconds_of(r) < CHURN_RATE || share < CHURN_RISK)
		return -1;
	return share >= CHURN_WARNING ? LEVEL_WARNING : LEVEL_RISK;
}

static void churn_try(struct report *r, struct finding *f, u32 tgid)
{
	finding_line(r, f->try_, "See which code does it: `memwhy maps --by stack -p %u --for 10s`",
		tgid);
	finding_line(r, f->verify, "`memwhy maps -p %u --for 10s`", tgid);
}

/* The same memory is mapped and unmapped all the time. */
static void map_churn(struct report *r, u32 tgid, const struct maps_proc *p)
{
	u64 pairs = MIN(p->maps, p->unmaps);
	int level = pairs * 5 >= p->maps * 4 ? churn_level(r, pairs, p->map_ns) : -1;
	struct finding *f = level < 0 ? NULL : report_finding(r, level, "maps-churn");
	char each[UNIT_BUF], time[UNIT_BUF];

	if (!f)
		return;
	f->title = report_text(r, "%s maps and unmaps memory %.0f times a second",
		process_text(r, tgid), (double)pairs / seconds_of(r));
	f->confidence = "high: every call was counted and timed";
	f->cost_ns = p->map_ns;
	finding_line(r, f->evidence, "%llu mmap, of %s on average, and %llu munmap in %.1f s",
		p->maps, fmt_bytes(each, p->map_bytes / p->maps), p->unmaps, seconds_of(r));
	finding_line(r, f->evidence, "%s spent in these calls, over all threads",
		fmt_ns(time, p->map_ns));
	f->why = "Each new mapping has to be faulted in and zeroed, and munmap makes other CPUs "
		 "flush their TLBs; both hold up the threads of the process (mmap_lock). The "
		 "faults are not in the time above.";
	churn_try(r, f, tgid);
	finding_line(r, f->try_,
		"If it is glibc malloc() (a size above M_MMAP_THRESHOLD, 128 KiB unless it has "
		"adapted): `GLIBC_TUNABLES=glibc.malloc.mmap_threshold=%llu COMMAND`",
		MAX(1ULL << 20, 2 * (p->map_bytes / p->maps)));
	finding_line(r, f->undo, "Start it without GLIBC_TUNABLES.");
}

/* Memory is given back, and wanted again at once. */
static void drop_churn(struct report *r, u32 tgid, const struct maps_proc *p)
{
	int level = churn_level(r, p->drops, p->drop_ns);
	struct finding *f = level < 0 ? NULL : report_finding(r, level, "maps-dontneed");
	char bytes[UNIT_BUF], time[UNIT_BUF];

	if (!f)
		return;
	f->title = report_text(r, "%s gives memory back by madvise %.0f times a second",
		process_text(r, tgid), (double)p->drops / seconds_of(r));
	f->confidence = "medium: calls are exact; whether the memory is used again was not checked";
	f->cost_ns = p->drop_ns;
	finding_line(r, f->evidence,
		"%llu calls with MADV_DONTNEED or MADV_FREE, of %s on average, in %.1f s", p->drops,
		fmt_bytes(bytes, p->drop_bytes / p->drops), seconds_of(r));
	finding_line(r, f->evidence, "%s in them: %.1f %% of the interval",
		fmt_ns(time, p->drop_ns), 100.0 * (double)p->drop_ns / 1e9 / seconds_of(r));
	f->why = "What is given back has to be faulted in and zeroed at the next use.";
	churn_try(r, f, tgid);
	finding_line(r, f->try_, "Is it faulted in again? `memwhy faults -p %u --for 10s`", tgid);
	finding_line(r, f->try_,
		"jemalloc keeps it longer with `MALLOC_CONF=dirty_decay_ms:60000 COMMAND` (10000 "
		"unless set)");
	finding_line(r, f->undo, "Start it without MALLOC_CONF.");
}

static void steady_growth(struct report *r, u32 tgid, const struct maps_proc *p)
{
	s64 change = maps_proc_change(p);
	double covered = (double)(p->trend.last_ns - p->trend.first_ns) / 1e9;
	struct finding *f;
	char bytes[UNIT_BUF], first[UNIT_BUF], last[UNIT_BUF];

	if (!p->known || change < GROWTH_MIN || p->trend.n < GROWTH_SAMPLES ||
		trend_fit(&p->trend) < GROWTH_FIT || trend_slope(&p->trend) <= 0 ||
		covered < seconds_of(r) / 2)
		return;
	f = report_finding(r, LEVEL_NOTE, "maps-growth");
	if (!f)
		return;
	f->title = report_text(r, "The address space of %s grows steadily: %s a second",
		process_text(r, tgid), fmt_bytes(bytes, (u64)trend_slope(&p->trend)));
	f->confidence = report_text(r,
		"low for a leak: a straight line fits (R² %.2f, %llu samples), but %.0f s cannot "
		"tell a leak from a cache that fills, nor address space from memory",
		trend_fit(&p->trend), p->trend.n, covered);
	finding_line(r, f->evidence, "VmSize from %s to %s",
		fmt_bytes(first, p->last - (u64)change), fmt_bytes(last, p->last));
	f->why = "It keeps mapping more than it unmaps.";
	finding_line(r, f->try_,
		"See which code holds it: `memwhy maps --by stack -p %u --for 60s`", tgid);
	finding_line(r, f->verify, "`memwhy maps -p %u --for 10m`", tgid);
}

/* A limit of the machine that is set by a sysctl. */
static void try_sysctl(struct report *r, struct finding *f, const char *name, u64 now, u64 next)
{
	finding_line(r, f->try_, "`sysctl -w %s=%llu`", name, next);
	finding_line(r, f->undo, "`sysctl -w %s=%llu`", name, now);
}

static void try_rlimit(
	struct report *r, struct finding *f, const struct maps_failure_key *k, const char *option)
{
	finding_line(r, f->try_, "`prlimit --pid %u --%s=%llu:`", k->tgid, option, k->limit * 2);
	finding_line(r, f->undo, "`prlimit --pid %u --%s=%llu:`", k->tgid, option, k->limit);
	finding_line(r, f->try_,
		"That lasts as long as the process. For later ones, set the limit where they are "
		"started: ulimit in a script, LimitAS= or similar in a systemd unit, or prlimit of "
		"their parent: `ps -o ppid= -p %u`",
		k->tgid);
}

static void try_strict(const struct maps_tables *t, struct report *r, struct finding *f)
{
	u64 limit, used, ratio, kbytes;
	char a[UNIT_BUF], b[UNIT_BUF];

	if (maps_limit_get(t, "CommitLimit", &limit) && maps_limit_get(t, "Committed_AS", &used))
		finding_line(r, f->evidence, "CommitLimit %s, Committed_AS %s when last read",
			fmt_bytes(a, limit), fmt_bytes(b, used));
	if (maps_limit_get(t, "vm.overcommit_kbytes", &kbytes) && kbytes)
		try_sysctl(r, f, "vm.overcommit_kbytes", kbytes, kbytes / 4 * 5);
	else if (maps_limit_get(t, "vm.overcommit_ratio", &ratio))
		try_sysctl(r, f, "vm.overcommit_ratio", ratio, ratio + 10);
	finding_line(r, f->try_, "Or add swap: it raises the limit");
}

static void failure_try(const struct maps_tables *t, struct report *r, struct finding *f,
	const struct maps_failure_key *k)
{
	switch (k->why) {
	case MAPS_WHY_MAP_COUNT:
		f->why = "Each mapping with its own protection, file or flags counts; munmap, "
			 "mprotect and madvise on a part of one split it.";
		try_sysctl(r, f, "vm.max_map_count", k->limit, k->limit * 2);
		break;
	case MAPS_WHY_AS:
		f->why = "The limit is on address space, backed by memory or not.";
		try_rlimit(r, f, k, "as");
		break;
	case MAPS_WHY_DATA:
		f->why = "The limit is on private writable mappings and the heap.";
		try_rlimit(r, f, k, "data");
		break;
	case MAPS_WHY_MEMLOCK:
		f->why = "The limit is on locked memory, for processes without CAP_IPC_LOCK.";
		try_rlimit(r, f, k, "memlock");
		break;
	case MAPS_WHY_STRICT:
		f->why = "With strict overcommit all mapped private writable memory counts, "
			 "touched or not.";
		try_strict(t, r, f);
		break;
	case MAPS_WHY_OBVIOUS:
		f->why = "A single mapping larger than memory and swap together is refused. "
			 "MAP_NORESERVE or PROT_NONE would not be.";
		try_sysctl(r, f, "vm.overcommit_memory", 0, 1);
		break;
	}
}

/* Only where a limit was met: other errors may well be expected by the program. */
static void failure(
	const struct maps_tables *t, struct report *r, const struct maps_failure_key *k, u64 count)
{
	const char *why = maps_why_text(r, k->call, k->error, k->why, k->limit);
	struct finding *f;

	if (k->why == MAPS_WHY_UNKNOWN || k->why == MAPS_WHY_SIZE || k->why >= MAPS_WHY_HUGETLB ||
		!why)
		return;
	f = report_finding(r, LEVEL_WARNING, "maps-limit");
	if (!f)
		return;
	f->title = report_text(r, "%s failed %llu time%s in %s: %s", maps_call_name(k->call), count,
		plural(count), process_text(r, k->tgid), why);
	f->confidence = "high: the limit was compared with the kernel's numbers as the call failed";
	if (k->why == MAPS_WHY_STRICT)
		f->confidence = "medium: no other limit was met";
	finding_line(r, f->evidence, "%s returned %s %llu time%s", maps_call_name(k->call),
		maps_error_name(r, k->error), count, plural(count));
	failure_try(t, r, f, k);
	finding_line(r, f->verify, "`memwhy maps -p %u --for 10s --table failures`", k->tgid);
}

void maps_findings(const struct maps_tables *t, struct report *r)
{
	for (size_t i = 0; i < t->failures.n; i++)
		failure(t, r, groups_key(&t->failures, i),
			*(const u64 *)groups_value(&t->failures, i));
	for (size_t i = 0; i < t->processes.n; i++) {
		const struct maps_proc *p = groups_value(&t->processes, i);
		u32 tgid = *(const u32 *)groups_key(&t->processes, i);

		map_churn(r, tgid, p);
		drop_churn(r, tgid, p);
		steady_growth(r, tgid, p);
	}
	r->has_findings |= r->findings.n > 0;
}
