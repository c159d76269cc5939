/* Memory that is set aside and that nobody else can use: huge page pools, locked memory, a large
 * reserve, a balloon; and the kernel's work to merge pages, where it is in vain. */
#include <string.h>

#include "base/units.h"
#include "rules/holdings.h"
#include "rules/rules.h"
#include "sys/process/fdlink.h"

#define RESERVE_SHARE 0.05 /* of memory, in vm.min_free_kbytes: the kernel chooses below 0.5 % */
#define ALL_IDLE_PART 20   /* of memory: a pool of this size that nobody at all uses */
#define KSM_CPU_SHARE 0.05

static const struct {
	const char *name, *free, *reserved, *nr, *size_text;
	u64 bytes;
} pools[] = {
	{"2M", "hugepages/2M/free", "hugepages/2M/resv", "hugepages/2M/nr", "2048kB", 2ULL << 20},
	{"1G", "hugepages/1G/free", "hugepages/1G/resv", "hugepages/1G/nr", "1048576kB",
		1ULL << 30},
};

static void tell_pool(struct report *r, const struct held *h, size_t i)
{
	u64 nr = facts_last(&h->facts, pools[i].nr), unused = facts_last(&h->facts, pools[i].free);
	u64 promised = facts_last(&h->facts, pools[i].reserved);
	u64 idle = unused > promised ? unused - promised : 0, bytes = idle * pools[i].bytes;
	bool all = nr && idle == nr && bytes >= r->stream->host.memory_bytes / ALL_IDLE_PART;
	int level = MAX(held_level_aside(r, &h->facts, bytes), all ? (int)LEVEL_RISK : -1);
	struct finding *x = level < 0 ? NULL : report_finding(r, level, "hugetlb-idle");
	const char *file;
	char a[UNIT_BUF];

	if (!x)
		return;
	file = report_text(
		r, "/sys/kernel/mm/hugepages/hugepages-%s/nr_hugepages", pools[i].size_text);
	x->held_bytes = bytes;
	if ((double)bytes >= HELD_MOST_PART * (double)r->stream->host.memory_bytes)
		x->losses = LOSS_RECLAIM | LOSS_REFAULT | LOSS_SWAP | LOSS_COMPACTION;
	x->title = report_text(r,
		"Idle huge pages: %llu of the %llu reserved %s pages are unused, %s, %s", idle, nr,
		pools[i].name, fmt_bytes(a, bytes), held_share(r, bytes));
	x->confidence =
		"high: the kernel's own counts; whether they will be needed later is not known";
	finding_line(r, x->evidence, "nr_hugepages %llu, free %llu, reserved for mappings %llu", nr,
		unused, promised);
	held_tell_cost(r, x, &h->facts, bytes);
	if (!i && facts_known(&h->facts, "vm.nr_hugepages"))
		finding_line(r, x->evidence,
			"the setting (vm.nr_hugepages, or hugepages= on the kernel's "
			"command line) asks for %llu",
			facts_last(&h->facts, "vm.nr_hugepages"));
	x->why = "Pages in the hugetlb pool are lost to all other use: neither programs nor the "
		 "page cache get them, and reclaim cannot free them, even when unused.";
	finding_line(r, x->try_, "Release what is not used:");
	finding_line(r, x->try_, "`echo %llu > %s`", nr - idle, file);
	finding_line(r, x->undo, "`echo %llu > %s`", nr, file);
	finding_line(r, x->verify, "`grep -i huge /proc/meminfo`");
}

/* Pages of a pool that are in use, though no process has them mapped: files in a hugetlbfs, which
 * outlive who made them. */
static void tell_pool_files(struct report *r, const struct held *h)
{
	u64 used = 0, files;
	struct finding *x;
	int level;
	char a[UNIT_BUF], b[UNIT_BUF];

	for (size_t i = 0; i < ARRAY_SIZE(pools); i++)
		used += counter_rise(facts_last(&h->facts, pools[i].free),
				facts_last(&h->facts, pools[i].nr)) *
			pools[i].bytes;
	files = counter_rise(h->totals.hugetlb_bytes, used);
	level = h->totals.h.size && !h->totals.status_cut && !r->scoped ? held_level_stuck(r, files)
									: -1;
	x = level < 0 ? NULL : report_finding(r, level, "hugetlb-files");
	if (!x)
		return;
	x->held_bytes = files;
	x->title = report_text(r,
		"%s of huge pages are in use, but touched by no process that was seen, %s: files "
		"in a hugetlbfs, or segments",
		fmt_bytes(a, files), held_share(r, files));
	x->confidence = "high for the size: pages in use less HugetlbPages of all processes; which "
			"files they are was not checked";
	finding_line(r, x->evidence, "in use %s, of which processes have touched %s",
		fmt_bytes(a, used), fmt_bytes(b, h->totals.hugetlb_bytes));
	x->why = "A file in a hugetlbfs keeps its huge pages until it is removed, even after its "
		 "creator has ended (DPDK, databases, killed hypervisors).";
	finding_line(r, x->try_, "List them, and remove what no program opens any more:");
	finding_line(r, x->try_,
		"`findmnt -nlt hugetlbfs -o TARGET | xargs -d '\\n' -rI{} find {} -xdev -type f "
		"-size "
		"+0 -ls; ipcs -m`");
	finding_line(r, x->undo, "The contents of removed files are lost.");
	finding_line(r, x->verify, "`grep HugePages_ /proc/meminfo`");
}

/* What is never reclaimed and was not locked by mlock(): files in ramfs, and shared memory locked
 * as a whole. Neither has a counter, and df shows nothing of a ramfs. */
static void tell_unevictable(struct report *r, const struct held *h)
{
	u64 bytes = counter_rise(
		facts_last(&h->facts, "Mlocked"), facts_last(&h->facts, "Unevictable"));
	bool much = facts_known(&h->facts, "Mlocked") && held_level_stuck(r, bytes) >= 0;
	/* no more than a note: it may be a GPU's, as it should be */
	struct finding *x = much ? report_finding(r, LEVEL_NOTE, "unevictable") : NULL;
	char a[UNIT_BUF], b[UNIT_BUF];

	if (!x)
		return;
	x->held_bytes = bytes;
	x->title = report_text(r,
		"%s cannot be reclaimed and is not locked by mlock, %s: files in a ramfs, locked "
		"shared memory (SHM_LOCK), or GPU buffers",
		fmt_bytes(a, bytes), held_share(r, bytes));
	x->confidence = "high for the size (Unevictable less Mlocked); its owner was not checked";
	finding_line(r, x->evidence, "Unevictable %s, Mlocked %s",
		fmt_bytes(a, facts_last(&h->facts, "Unevictable")),
		fmt_bytes(b, facts_last(&h->facts, "Mlocked")));
	x->why = "A ramfs has no limit and no counter: what is written there stays in memory until "
		 "it is removed, and df does not show it. A tmpfs has a limit, and can be swapped.";
	finding_line(r, x->try_, "See what is in each ramfs, and remove what is not needed:");
	finding_line(r, x->try_, "`findmnt -nlt ramfs -o TARGET | xargs -d '\\n' -r du -shx`");
	finding_line(r, x->try_, "Locked segments (status \"locked\"): `ipcs -m`");
	finding_line(r, x->undo, "The contents of removed files are lost.");
	finding_line(r, x->verify, "`grep -E 'Unevictable|Mlocked' /proc/meminfo`");
}

static u64 reserved_bytes(const struct held_process *p)
{
	return p->reserved_bytes;
}

/* Pages of the pool that a mapping has promised, and that nobody has touched. */
static void tell_reserved(struct report *r, const struct held *h)
{
	struct held_top t = held_most(h, reserved_bytes);
	u64 promised = 0;
	struct finding *x;
	int level;
	char a[UNIT_BUF];

	for (size_t i = 0; i < ARRAY_SIZE(pools); i++)
		promised += facts_last(&h->facts, pools[i].reserved) * pools[i].bytes;
	level = t.most ? held_level_aside(r, &h->facts, MIN(t.bytes, promised)) : -1;
	x = level < 0 ? NULL : report_finding(r, level, "hugetlb-reserved");
	if (!x)
		return;
	x->held_bytes = MIN(t.bytes, promised);
	x->tgid = t.most->last.tgid;
	x->title = report_text(r, "%s has reserved %s of huge pages that it has not touched, %s",
		held_who(r, &t), fmt_bytes(a, x->held_bytes), held_share(r, x->held_bytes));
	x->confidence =
		"high: its mappings of the pool less its HugetlbPages; whether it will touch "
		"them later is not known";
	finding_line(r, x->evidence, "reserved in the pools, and not touched: %s",
		fmt_bytes(a, promised));
	held_tell_cost(r, x, &h->facts, x->held_bytes);
	x->why = "Mapping huge pages of the pool (MAP_HUGETLB, hugetlbfs) reserves them: touched "
		 "or not, no one else can use them.";
	finding_line(r, x->try_,
		"Map only what will be used, or use MAP_NORESERVE; or end it, and shrink the "
		"pool:");
	finding_line(r, x->try_, "`cat /sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages`");
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`grep -i huge /proc/meminfo`");
}

/* VmLck counts what is mapped, also where it is not resident. */
static u64 locked_bytes(const struct held_process *p)
{
	return MIN(p->locked_bytes, p->rss_bytes);
}

static void tell_locked(struct report *r, const struct held *h, const struct held_top *top)
{
	const struct held_top t = *top;
	struct held_growth g = held_growth_of(h, &t);
	struct finding *x;
	const struct held_process *p;
	u64 bytes;
	int level;
	char a[UNIT_BUF], b[UNIT_BUF];

	if (!t.most)
		return;
	p = &t.most->last;
	bytes = t.bytes;
	level = held_level_soon(held_level_aside(r, &h->facts, bytes), &g);
	level = held_level_group(level, &h->facts, p->cgroup, bytes);
	x = level < 0 ? NULL : report_finding(r, level, "locked-memory");
	if (!x)
		return;
	x->held_bytes = bytes;
	x->tgid = p->tgid;
	x->cgroup = p->cgroup;
	x->losses = LOSS_GROUP;
	x->title = report_text(r, "%s has locked %s in memory (mlock), %s", held_who(r, &t),
		fmt_bytes(a, bytes), held_share_of(r, &h->facts, p->cgroup, bytes));
	x->confidence =
		"high: the kernel's own count; whether it needs all of it at once is not known";
	finding_line(r, x->evidence, "pid %u: VmLck %s of %s resident; Mlocked on this machine %s",
		p->tgid, fmt_bytes(a, p->locked_bytes), fmt_bytes(b, p->rss_bytes),
		fmt_bytes((char[UNIT_BUF]){}, facts_last(&h->facts, "Mlocked")));
	held_tell_cost(r, x, &h->facts, bytes);
	held_tell_growth(r, x, &t);
	held_tell_left(r, x, &h->facts, &g);
	x->why = "Locked pages cannot be swapped, reclaimed or, mostly, moved: everything else "
		 "shares what is left, and reclaims earlier.";
	finding_line(r, x->try_,
		"Lock only what must not fault: mlock of a range, or MLOCK_ONFAULT, instead of "
		"mlockall. Locked memory stays so until the process unlocks it or ends.");
	/* 0: of a recording that has none */
	if (p->memlock_bytes && p->memlock_bytes != UINT64_MAX) {
		finding_line(r, x->try_, "Until then, keep it from locking more than it has now:");
		finding_line(
			r, x->try_, "`prlimit --pid %u --memlock=%llu:`", p->tgid, p->locked_bytes);
		finding_line(r, x->undo, "`prlimit --pid %u --memlock=%llu:`", p->tgid,
			p->memlock_bytes);
	}
	finding_line(r, x->verify, "`grep VmLck: /proc/%u/status`", p->tgid);
}

static u64 pinned_bytes(const struct held_process *p)
{
	return p->pinned_bytes;
}

/* Buffers of perf events: the kernel takes their pages itself, so they are in no other counter,
 * and no part of what is resident. */
static void perf_buffers_tell(struct report *r, struct finding *x, const struct held_top *t)
{
	const struct held_process *p = &t->most->last;
	char a[UNIT_BUF];

	held_in_kernel(x, t->bytes, t->first_bytes);
	x->title = report_text(r, "%s has %s of buffers for perf events, %s", held_who(r, t),
		fmt_bytes(a, t->bytes), held_share(r, t->bytes));
	finding_line(r, x->evidence, "it has %u perf events open; %s resident", p->kinds[FD_PERF],
		fmt_bytes(a, p->rss_bytes));
	x->why = "A perf event that is mapped has a ring buffer, mostly one for each CPU. No "
		 "counter of /proc/meminfo includes these pages, and nothing reclaims them.";
	finding_line(r, x->try_,
		"Map smaller buffers (perf record -m, the page count of a BPF perf buffer), and "
		"unmap those of events that are not read.");
}

static void pinned_tell(struct report *r, struct finding *x, const struct held_top *t)
{
	const struct held_process *p = &t->most->last;
	char a[UNIT_BUF];

	x->title = report_text(r, "%s has pinned %s in memory for devices or io_uring, %s",
		held_who(r, t), fmt_bytes(a, t->bytes), held_share(r, t->bytes));
	finding_line(r, x->evidence, "it has %u io_urings open; %s resident", p->kinds[FD_RING],
		fmt_bytes(a, p->rss_bytes));
	x->why = "Pinned pages can be neither moved nor swapped nor reclaimed, and block huge "
		 "pages and compaction in their pageblocks.";
	finding_line(r, x->try_,
		"Register smaller buffers (io_uring, RDMA, VFIO), or fewer, and unregister them "
		"when they are idle.");
}

static void tell_pinned(struct report *r, const struct held *h)
{
	struct held_top t = held_most(h, pinned_bytes);
	struct held_growth g = held_growth_of(h, &t);
	int level = held_level_soon(held_level_aside(r, &h->facts, t.bytes), &g);
	struct finding *x = level < 0 ? NULL : report_finding(r, level, "pinned-memory");
	const struct held_process *p;

	if (!x)
		return;
	p = &t.most->last;
	x->held_bytes = t.bytes;
	x->tgid = p->tgid;
	x->confidence = "high: the kernel's own count (VmPin)";
	/* What it pins for others is its own memory, and resident. */
	if (p->kinds[FD_PERF] && !p->kinds[FD_RING] && p->pinned_bytes > p->rss_bytes)
		perf_buffers_tell(r, x, &t);
	else
		pinned_tell(r, x, &t);
	held_tell_cost(r, x, &h->facts, t.bytes);
	held_tell_growth(r, x, &t);
	held_tell_left(r, x, &h->facts, &g);
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`grep VmPin: /proc/%u/status`", p->tgid);
}

/* With huge pages khugepaged sets room for two pageblocks a zone, and for three of each of three
 * migratetypes, of 5 % of memory at most (set_recommended_min_free_kbytes(), 6.18). A node has one
 * zone, and the first one the two below it. */
static u64 reserve_of_thp_kib(const struct report *r)
{
	u64 block = 1ULL << MIN(r->stream->host.pageblock_order, 20U);
	u64 zones = 2 + MAX(r->stream->host.nodes, 1U);
	u64 pages = zones * (2 + 9) * block;

	return MIN(pages * r->stream->host.page_bytes, r->stream->host.memory_bytes / 20) / 1024;
}

/* What the kernel sets as it boots: the root of 16 times the KiB of memory, 128 KiB to 256 MiB
 * (calculate_min_free_kbytes(), 6.18). */
static u64 usual_reserve_kib(const struct report *r)
{
	u64 square = r->stream->host.memory_bytes / 1024 * 16, root = 128;

	while (root < (256 << 10) && root * root < square)
		root += 64;
	return root;
}

static void tell_reserve(struct report *r, const struct held *h)
{
	u64 kib = facts_last(&h->facts, "vm.min_free_kbytes"), bytes = kib * 1024;
	double share = (double)bytes / (double)MAX(r->stream->host.memory_bytes, 1ULL);
	u64 usual = usual_reserve_kib(r);
	struct finding *x;
	char a[UNIT_BUF];

	if (facts_text(&h->facts, "thp/enabled")[0] &&
		strcmp(facts_text(&h->facts, "thp/enabled"), "never") != 0)
		usual = MAX(usual, reserve_of_thp_kib(r));
	if (share < RESERVE_SHARE)
		return;
	x = report_finding(r, MAX(share_level(share, 0.1, 0.25, 2), (int)LEVEL_NOTE), "min-free");
	if (!x)
		return;
	x->held_bytes = bytes;
	x->title = report_text(r, "vm.min_free_kbytes keeps %s of memory free, %s",
		fmt_bytes(a, bytes), held_share(r, bytes));
	x->confidence = "high: the present setting";
	finding_line(r, x->evidence, "vm.min_free_kbytes is %llu", kib);
	x->why = "Below this amount of free memory ordinary allocations must reclaim, and kswapd "
		 "starts well above it: that much memory is never used, and on small machines "
		 "programs are killed while it is free.";
	finding_line(r, x->try_, "The kernel's own choice for this machine:");
	finding_line(r, x->try_, "`sysctl -w vm.min_free_kbytes=%llu`", usual);
	finding_line(r, x->undo, "`sysctl -w vm.min_free_kbytes=%llu`", kib);
	finding_line(r, x->verify, "`memwhy check --for 10s`");
}

/* kswapd starts when less than that part of memory is free, and works on to twice as much. */
static void tell_scale(struct report *r, const struct held *h)
{
	u64 scale = facts_last(&h->facts, "vm.watermark_scale_factor");
	double share = (double)scale / 10000;
	u64 bytes = (u64)((double)r->stream->host.memory_bytes * MIN(share, 1));
	struct finding *x;
	char a[UNIT_BUF], b[UNIT_BUF];

	if (share < RESERVE_SHARE)
		return;
	x = report_finding(r, MAX(share_level(share, 0.1, 0.25, 2), (int)LEVEL_NOTE), "min-free");
	if (!x)
		return;
	x->held_bytes = bytes;
	x->title = report_text(r,
		"vm.watermark_scale_factor has kswapd keep at least %s of memory free, %s",
		fmt_bytes(a, bytes), held_share(r, bytes));
	x->confidence = "high: the present setting";
	finding_line(r, x->evidence,
		"vm.watermark_scale_factor is %llu (ten-thousandths of memory; the default is 10)",
		scale);
	finding_line(r, x->evidence, "kswapd reclaims below that, up to %s",
		fmt_bytes(b, MIN(2 * bytes, r->stream->host.memory_bytes)));
	x->why = "This is the distance between the watermarks: kswapd takes as much from the page "
		 "cache, or swaps it out, and programs get none of it unless they allocate faster "
		 "than kswapd reclaims.";
	finding_line(r, x->try_, "The kernel's default; 100 where allocations come in bursts:");
	finding_line(r, x->try_, "`sysctl -w vm.watermark_scale_factor=10`");
	finding_line(r, x->undo, "`sysctl -w vm.watermark_scale_factor=%llu`", scale);
	finding_line(r, x->verify, "`memwhy check --for 10s`");
}

static u64 ksm_pages(const struct held_process *p)
{
	return p->ksm_pages;
}

static void tell_ksm(struct report *r, const struct held *h)
{
	u64 ns = facts_delta(&h->facts, "ksmd"), saved = facts_last(&h->facts, "ksm/pages_sharing");
	struct held_top t = held_most(h, ksm_pages);
	double share = report_share(r, ns);
	struct finding *x;
	char a[UNIT_BUF], b[UNIT_BUF];

	/* What it saves is worth some time. */
	if (share < KSM_CPU_SHARE || (saved > r->stream->host.memory_bytes / 20 && share < 0.5))
		return;
	x = report_finding(r, MAX(share_level(share, 0.2, 0.6, 2), (int)LEVEL_NOTE), "ksm");
	if (!x)
		return;
	x->cost_ns = ns;
	if (t.most)
		x->tgid = t.most->last.tgid;
	x->title = report_text(r,
		"ksmd takes %.0f %% of a CPU to merge pages (KSM)%s, and saves %s", share * 100,
		t.most ? report_text(r, ", most of them from %s", held_name(r, &t.most->last)) : "",
		fmt_bytes(a, saved));
	x->confidence = "high: the time of the kernel's thread, and its own counts of pages";
	finding_line(r, x->evidence, "merged into %s; scanned and found unique: %s",
		fmt_bytes(a, facts_last(&h->facts, "ksm/pages_shared")),
		fmt_bytes(b, facts_last(&h->facts, "ksm/pages_unshared")));
	if (t.most)
		finding_line(r, x->evidence, "in %s it scans %llu pages, %llu of them merged",
			held_name(r, &t.most->last), t.bytes, t.most->last.ksm_merged);
	finding_line(r, x->evidence,
		"pages_to_scan %llu every %llu ms, %llu full scans in that time",
		facts_last(&h->facts, "ksm/pages_to_scan"),
		facts_last(&h->facts, "ksm/sleep_millisecs"),
		facts_delta(&h->facts, "ksm/full_scans"));
	x->why = "KSM compares pages that programs marked (MADV_MERGEABLE). If these differ or "
		 "keep changing, it only costs CPU time, and each write to a merged page is a "
		 "fault that copies it.";
	finding_line(r, x->try_, "Let it scan fewer pages, or stop it (1 runs it again):");
	finding_line(r, x->try_, "`echo 0 > /sys/kernel/mm/ksm/run`");
	finding_line(r, x->undo, "`echo 1 > /sys/kernel/mm/ksm/run`");
	finding_line(r, x->verify, "`grep . /sys/kernel/mm/ksm/pages_*`");
}

#define SHORT_PAGES 64.0 /* a second that kswapd frees: memory of the machine is short */

/* Whoever is protected may do as he likes with it: it is told where others pay, by the pressure of
 * the machine less its own. */
static bool others_wait(
	const struct report *r, const struct facts *f, const struct cgroup_usage *cg, u64 bytes)
{
	double all = facts_waited_share(f, r),
	       own = report_share(
		       r, counter_rise(cg->first_some_total_us, cg->some_total_us) * 1000);
	double pages = (double)facts_delta(f, "pgsteal_kswapd");

	return (double)bytes >= HELD_ASIDE_SHARE * (double)r->stream->host.memory_bytes &&
	       cg->h.flags & CGROUP_HAS_PRESSURE && own * 2 < all && all >= HELD_WAITED_SHARE &&
	       (pages >= SHORT_PAGES * report_seconds(r) || facts_delta_all(f, "allocstall_"));
}

static void tell_protected(struct report *r, const struct held *h)
{
	u64 bytes, now;
	const struct cgroup_usage *cg = facts_protected(&h->facts, &bytes);
	const char *path = cg ? stream_cgroup(r->stream, cg->cgroup) : NULL, *dir, *file;
	struct finding *x;
	char a[UNIT_BUF], b[UNIT_BUF];

	if (!path || !others_wait(r, &h->facts, cg, bytes))
		return;
	x = report_finding(r, LEVEL_WARNING, "protected-memory");
	if (!x)
		return;
	now = MAX(cg->min_bytes, cg->low_bytes);
	file = cg->min_bytes >= cg->low_bytes ? "memory.min" : "memory.low";
	dir = cgroup_directory(r, cg->version, path);
	x->held_bytes = bytes;
	x->losses = LOSS_RECLAIM | LOSS_REFAULT | LOSS_SWAP;
	x->title = report_text(r, "%s keeps %s of cgroup %s from reclaim, %s", file,
		fmt_bytes(a, bytes), report_cgroup(r, path), held_share(r, bytes));
	x->confidence = "high: the kernel's own counts; whether the group needs all of it is not "
			"known";
	finding_line(r, x->evidence, "%s is %s; %s in use", file,
		now == CGROUP_USAGE_NONE ? "max" : fmt_bytes(a, now),
		fmt_bytes(b, cg->usage_bytes));
	finding_line(r, x->evidence,
		"others lack it: tasks waited for memory %.1f %% of the time (PSI of the machine)",
		facts_waited_share(&h->facts, r) * 100);
	x->why = "Below memory.min the kernel takes nothing from a group, used or idle, and below "
		 "memory.low only when nothing else is left: the rest of the machine shares what "
		 "remains.";
	finding_line(r, x->try_,
		"Lower it to what the group needs. How much that is, without a change: `memwhy "
		"limit -g %s --for 10m`",
		dir);
	finding_line(r, x->try_, "Until then, to half of what it keeps: `echo %llu > %s/%s`",
		(bytes / 2 + 4095) & ~4095ULL, dir, file);
	finding_line(r, x->undo, "`echo %s > %s/%s`",
		now == CGROUP_USAGE_NONE ? "max" : report_text(r, "%llu", now), dir, file);
	finding_line(r, x->verify, "`memwhy check --for 30s`");
}

static void tell_balloon(struct report *r, const struct held *h)
{
	u64 in = facts_last(&h->facts, "balloon_inflate"),
	    out = facts_last(&h->facts, "balloon_deflate");
	u64 bytes = in > out ? (in - out) * r->stream->host.page_bytes : 0;
	int level = held_level(r, bytes);
	struct finding *x = level < 0 ? NULL : report_finding(r, level, "balloon");
	char a[UNIT_BUF];

	if (!x)
		return;
	x->held_bytes = bytes;
	x->title = report_text(r, "The hypervisor has taken %s back through the memory balloon",
		fmt_bytes(a, bytes));
	x->confidence = "high: the kernel's own counts";
	finding_line(r, x->evidence, "%llu pages given to the balloon, %llu returned since boot",
		in, out);
	x->why = "The balloon driver returns pages of this guest to its host, which may ask for "
		 "that at any time: the guest has only the rest.";
	finding_line(r, x->try_, "Shrink the balloon on the host (virsh setmem or similar).");
	finding_line(r, x->undo, "The host can inflate it again.");
	finding_line(r, x->verify, "`grep balloon /proc/vmstat`");
}

static int set_aside_rule_report(void *v, struct report *r)
{
	const struct held *h = v;
	struct held_top locked = held_most(h, locked_bytes);

	for (size_t i = 0; i < ARRAY_SIZE(pools); i++)
		tell_pool(r, h, i);
	tell_reserved(r, h);
	tell_pool_files(r, h);
	tell_unevictable(r, h);
	tell_locked(r, h, &locked);
	locked = held_next(h, locked_bytes, &locked);
	tell_locked(r, h, &locked);
	tell_pinned(r, h);
	tell_reserve(r, h);
	tell_scale(r, h);
	tell_ksm(r, h);
	tell_balloon(r, h);
	tell_protected(r, h);
	return 0;
}

const struct view rule_set_aside = HELD_RULE(set_aside_rule_report);
