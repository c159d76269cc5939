/*
 * Control groups at their memory limit: what fills them, what that costs whom, and how much more
 * they need. A limit that is hit and costs nobody anything is a note. What it killed is told by
 * another rule.
 */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/lookups/lookups.h"
#include "probes/holders/holders.h"
#include "probes/stalls/stalls.h"
#include "rules/facts.h"
#include "rules/charge_owners.h"
#include "rules/group_members.h"
#include "rules/heap_room.h"
#include "rules/rules.h"
#include "rules/working_set.h"

/* Pages a second that are read back: from 1 MiB, 10 MiB a second on. */
#define REFAULTS_RISK 250.0
#define REFAULTS_WARNING 2500.0
#define CHEAP_SHARE 0.02
#define DISK_RISK 0.05 /* of the time, in waits for disks */
#define DISK_WARNING 0.25
#define FULL_OF 0.9 /* of the limit: what no reclaim can free without swap */
/* Of the least that is needed, the most: from here on it is not known how much. */
#define OPEN_TIMES 1.5

struct state {
	struct rule_sums sums; /* cgroup -> u64: time that its tasks waited in its reclaim */
	struct groups members; /* see group_members.h */
	struct kept kept;
	struct groups sets;  /* see working_set.h */
	struct groups heaps; /* see heap_room.h */
};

static int cgroup_limit_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct state *s = v;

	(void)o;
	(void)err;
	rule_sums_init(&s->sums, sizeof(u64), sizeof(u64));
	group_members_init(&s->members);
	kept_init(&s->kept);
	working_set_init(&s->sets);
	heap_room_init(&s->heaps);
	return 0;
}

static int cgroup_limit_stall_feed(struct state *s, const struct stalls_agg *r)
{
	u64 *ns = r->kind == STALLS_CHARGE ? groups_get(&s->sums.by, &r->cgroup) : NULL;

	if (r->kind != STALLS_CHARGE)
		return 0;
	if (!ns)
		return -ENOMEM;
	*ns += r->total_ns;
	return 0;
}

static int cgroup_limit_rule_feed(void *v, const struct rec *r)
{
	struct state *s = v;

	if (r->kind == REC_CACHE_AGG)
		return working_set_feed(&s->sets, (const void *)r);
	if (r->kind == REC_HELD_PROCESS || r->kind == REC_LOOKUPS_AGG ||
		r->kind == REC_LOOKUPS_SAMPLED)
		return kept_feed(&s->kept, r);
	if (r->kind == REC_STALLS_AGG)
		return kept_feed(&s->kept, r) ?: cgroup_limit_stall_feed(s, (const void *)r);
	if (r->kind == REC_PROCESS_MEMORY)
		return group_members_feed(&s->members, (const void *)r)
			       ?: heap_room_feed(&s->heaps, (const void *)r);
	return facts_feed(&s->sums.facts, r);
}

#define SEEN_MUCH 500      /* pages that came, sampled */
#define NEXT_TO_NOTHING 50 /* one in so many */
#define IN_REACH 4         /* times the limit: for who needs more a raise is no matter of course */
#define FAR 10             /* the same: it reads past any limit of that kind */

/* What one group at its limit suffers. */
struct pain {
	u64 hits, stalled_ns, refaults, refault_bytes;
	u64 file_refaults; /* of these, of files */
	u64 out_bytes;     /* that will be needed again, at least; 0: not known */
	u64 out_most;      /* at most; 0: not known */
	u64 grown_bytes;   /* what its processes took meanwhile */
	u64 waited_ns;     /* also for what is read back, where that is known */
	u64 max_bytes;     /* of one at its memory.high: its hard limit */
	u64 disk_ns; /* for disks, which read it back; PSI of memory has but a part of these */
	double refaults_second;
	bool passes; /* what it reads again comes late, and is less than half, or costs nobody */
	bool full;   /* of what cannot be reclaimed */
	bool cheap;  /* hardly anybody waited for what was read back */
};

static u64 stalled_ns(const struct state *s, const struct report *r, const struct cgroup_usage *cg)
{
	u64 sum = 0;

	for (size_t i = 0; i < s->sums.by.n; i++) {
		u64 id = *(const u64 *)groups_key(&s->sums.by, i);

		if (report_cgroup_within(r, id, cg->cgroup))
			sum += *(const u64 *)groups_value(&s->sums.by, i);
	}
	return sum;
}

static u64 held_bytes(const struct cgroup_usage *cg)
{
	return cg->anon_bytes + cg->shmem_bytes + cg->kernel_bytes;
}

/* What is read back from fast disks, or by readahead, may cost nobody any time: the machine's waits
 * are the group's as far as the pages read back are. Where only some tasks are looked at nobody
 * knows what the others waited for. */
static bool is_cheap(const struct facts *f, const struct report *r, u64 refaults)
{
	double waited = facts_waited_share(f, r);
	u64 all = MAX(facts_delta_all(f, "workingset_refault"), refaults);

	return !r->scoped && f->pressure.h.size &&
	       (all ? waited * (double)refaults / (double)all : waited) < CHEAP_SHARE;
}

/* Next to nothing of what was pushed out meanwhile came back: what did had been out for longer than
 * the look. */
static bool comes_late(const struct working_set *set)
{
	return set->read >= SEEN_MUCH && set->back * NEXT_TO_NOTHING < set->read;
}

static u64 out_bytes(const struct working_set *set, const struct pain *p, u64 page)
{
	return comes_late(set) ? p->refault_bytes
			       : working_set_out_least(set, p->refaults_second, page);
}

/* For disks, by what is read back: where a raise would spare it. */
static u64 disk_wait_ns(
	const struct facts *f, const struct cgroup_usage *cg, const struct pain *p, u64 page)
{
	return p->out_bytes && p->out_bytes <= cg->limit_bytes * IN_REACH
		       ? facts_disk_wait_ns(f, p->file_refaults * page)
		       : 0;
}

static struct pain pain_of(
	const struct state *s, const struct report *r, const struct cgroup_usage *cg)
{
	struct working_set set = working_set_of(&s->sets, r, cg->cgroup);
	u64 page = r->stream->host.page_bytes;
	struct pain p = {
		.hits = counter_since(cg->first_limit_hit_total, cg->limit_hit_total),
		.stalled_ns = stalled_ns(s, r, cg),
		.refaults = counter_rise(cg->first_refault_anon_total, cg->refault_anon_total),
		.file_refaults = counter_rise(cg->first_refault_file_total, cg->refault_file_total),
	};

	p.refaults += p.file_refaults;

	p.waited_ns = cg->h.flags & CGROUP_HAS_PRESSURE
			      ? counter_rise(cg->first_some_total_us, cg->some_total_us) * 1000
			      : facts_refault_wait_ns(&s->sums.facts, p.refaults);
	p.waited_ns = MAX(p.waited_ns, p.stalled_ns);
	p.cheap = is_cheap(&s->sums.facts, r, p.refaults);
	p.refault_bytes = p.refaults * page;
	p.refaults_second = (double)p.refaults / report_seconds(r);
	p.out_bytes = out_bytes(&set, &p, page);
	p.out_most = working_set_out_most(&set, page);
	p.disk_ns = disk_wait_ns(&s->sums.facts, cg, &p, page);
	p.cheap &= report_share(r, p.disk_ns) < DISK_RISK;
	p.passes = comes_late(&set) && (p.cheap || p.file_refaults * 2 < set.read * CACHE_STRIDE);
	p.grown_bytes = group_members_grown(&s->members, r, cg->cgroup);
	p.full = cg->h.flags & CGROUP_HAS_PARTS &&
		 (double)held_bytes(cg) >= FULL_OF * (double)cg->limit_bytes;
	return p;
}

/* What is read again is many times what the limit has room for: each time it is a stream. */
static bool is_far(const struct cgroup_usage *cg, const struct pain *p)
{
	return p->out_bytes > cg->limit_bytes * FAR;
}

/* Cache that nobody reads again: to make room for more of it is work, and no loss. */
static bool is_stream(const struct cgroup_usage *cg, const struct pain *p)
{
	return cgroup_filler(cg) == BY_FILE && !p->full &&
	       (p->refaults_second < REFAULTS_RISK || p->passes || is_far(cg, p));
}

/* What has no file behind it has been swapped out, and there is room for more: a limit that was not
 * hit meanwhile is where the group rests. */
static bool has_swap_room(const struct facts *f, const struct cgroup_usage *cg)
{
	u64 room = facts_last(f, "SwapFree"), used = cg->swap_bytes, own = room;

	if (!cg->swap_bytes || cgroup_is_locked(cg) || cgroup_filler(cg) == BY_KERNEL)
		return false;
	if (cg->version == 1)
		used += cg->usage_bytes;
	if (cg->swap_limit_bytes != CGROUP_USAGE_NONE)
		own = cg->swap_limit_bytes > used ? cg->swap_limit_bytes - used : 0;
	return MIN(room, own) >= cg->limit_bytes / 4;
}

#define STREAM_RISK 0.25 /* of the time: who waits so long for room is held up by its limit */

static int cgroup_limit_level_of(const struct state *s, const struct report *r,
	const struct cgroup_usage *cg, const struct pain *p)
{
	bool near = cg->usage_bytes >= cg->limit_bytes / 20 * 19;
	int level = share_level(report_share(r, p->stalled_ns), 0.01, 0.05, 0.25);

	if (is_stream(cg, p))
		return !p->hits                                        ? -1
		       : report_share(r, p->stalled_ns) >= STREAM_RISK ? LEVEL_RISK
								       : LEVEL_NOTE;
	if (p->refaults_second >= REFAULTS_RISK)
		level = MAX(level, share_level(report_share(r, p->waited_ns), 0.02, 0.1, 0.4));
	level = MAX(level, share_level(report_share(r, p->disk_ns), DISK_RISK, DISK_WARNING, 2));
	if (p->hits && p->refaults_second >= REFAULTS_WARNING)
		level = MAX(level, p->cheap ? LEVEL_RISK : LEVEL_WARNING);
	else if (p->hits && p->refaults_second >= REFAULTS_RISK)
		level = MAX(level, p->cheap ? LEVEL_NOTE : LEVEL_RISK);
	if (p->full && (p->hits || (near && !has_swap_room(&s->sums.facts, cg))))
		level = MAX(level, LEVEL_RISK);
	return p->hits ? MAX(level, LEVEL_NOTE) : level;
}

static bool is_high(const struct cgroup_usage *cg)
{
	return cg->h.flags & CGROUP_BY_HIGH;
}

/* Its tasks are put to sleep there, which is in the pressure of the group, and costs more than
 * reclaim for a stream does. */
static int high_level(const struct report *r, const struct cgroup_usage *cg, const struct pain *p)
{
	double waited = report_share(r, p->waited_ns);
	int level = MAX(share_level(waited, 0.02, 0.1, 0.5), (int)LEVEL_NOTE);

	level = MAX(level, share_level(report_share(r, p->disk_ns), DISK_RISK, DISK_WARNING, 2));
	if (is_stream(cg, p))
		return waited >= STREAM_RISK ? LEVEL_RISK : LEVEL_NOTE;
	return level;
}

/* What is needed again is files, whatever has the rest of the memory. */
static bool starves_cache(const struct cgroup_usage *cg, const struct pain *p)
{
	return cgroup_filler(cg) == BY_FILE ||
	       (p->refaults_second >= REFAULTS_RISK && p->file_refaults * 2 > p->refaults);
}

static bool is_unwritten(const struct cgroup_usage *cg)
{
	return cg->dirty_bytes * 2 > cg->file_bytes;
}

static const char *filler_text(
	struct report *r, const struct cgroup_usage *cg, const struct pain *p)
{
	double all = (double)MAX(cg->usage_bytes, 1ULL) / 100;

	if (cgroup_is_locked(cg))
		return report_text(r,
			"%.0f %% is locked in memory (mlock), and cannot be reclaimed",
			(double)cg->locked_bytes / all);
	switch (cgroup_filler(cg)) {
	case BY_ANON:
		return report_text(r, "%.0f %% is memory of its processes (anonymous)%s",
			(double)cg->anon_bytes / all,
			starves_cache(cg, p) ? report_text(r,
						       ", leaving too little for page cache: %.0f "
						       "pages a second are read back (refaults)",
						       p->refaults_second)
					     : "");
	case BY_FILE:
		if (p->refaults_second >= REFAULTS_RISK)
			return report_text(r,
				is_far(cg, p)
					? "%.0f %% is page cache, of files many times as large: "
					  "%.0f pages a second are read back (refaults)"
				: p->passes
					? "%.0f %% is page cache, most of it not read again for "
					  "long: %.0f pages a second are read back (refaults)"
					: "%.0f %% is page cache, too little of it: %.0f pages a "
					  "second are read back (refaults)",
				(double)cg->file_bytes / all, p->refaults_second);
		return report_text(r,
			is_unwritten(cg) ? "%.0f %% is page cache, most of it not on disk yet"
					 : "%.0f %% is page cache, hardly any of which is read "
					   "again",
			(double)cg->file_bytes / all);
	case BY_SHMEM:
		return report_text(r, "%.0f %% is files in tmpfs and shared memory (shmem)",
			(double)cg->shmem_bytes / all);
	case BY_KERNEL:
		return report_text(
			r, "%.0f %% is memory of the kernel", (double)cg->kernel_bytes / all);
	case BY_UNKNOWN:
		break;
	}
	return "what fills it is not known";
}

static void tell_keeper(
	struct report *r, struct finding *f, const struct state *s, const struct cgroup_usage *cg)
{
	const char *text;
	bool unread = false;

	if (!(cg->h.flags & CGROUP_HAS_PARTS) || cg->kernel_bytes * 4 < cg->usage_bytes)
		return;
	text = kept_text(r, &s->kept, cg, &f->tgid, &unread);
	if (unread)
		finding_line(r, f->try_,
			"First drain or close what waits there (pid %u): a higher limit would fill "
			"as well.",
			f->tgid);
	if (!text[0])
		text = kept_names_text(r, &s->kept, &s->sums.facts, cg, &f->tgid);
	if (!text[0])
		text = kept_files_text(r, &s->kept, cg, &f->tgid);
	if (!text[0])
		return;
	finding_line(r, f->evidence, "memory of the kernel: %s", text);
	if (cgroup_filler(cg) == BY_KERNEL)
		f->title = report_text(r, "%s: %s", f->title, text);
}

static void tell_evidence(
	struct report *r, struct finding *f, const struct cgroup_usage *cg, const struct pain *p)
{
	char a[UNIT_BUF], b[UNIT_BUF], c[UNIT_BUF], d[UNIT_BUF], e[UNIT_BUF];

	finding_line(r, f->evidence,
		is_high(cg)
			? "memory.high was exceeded %llu times in the interval; at most %s was in "
			  "use"
			: "the limit was hit %llu times in the interval; at most %s was in use",
		p->hits, fmt_bytes(a, cg->usage_bytes));
	if (cg->h.flags & CGROUP_HAS_PARTS)
		finding_line(r, f->evidence,
			"anonymous %s, page cache %s, tmpfs and shared memory %s, kernel %s%s",
			fmt_bytes(a, cg->anon_bytes), fmt_bytes(b, cg->file_bytes),
			fmt_bytes(c, cg->shmem_bytes), fmt_bytes(d, cg->kernel_bytes),
			cg->locked_bytes ? report_text(r, "; locked (unreclaimable) %s",
						   fmt_bytes(e, cg->locked_bytes))
					 : "");
	if (p->refaults)
		finding_line(r, f->evidence,
			"%llu pages (%s) were needed again soon after they were evicted%s",
			p->refaults, fmt_bytes(a, p->refault_bytes),
			p->out_bytes
				? report_text(r, "; about %s of such pages are out at any time",
					  fmt_bytes(b, p->out_bytes))
				: "");
	finding_line(r, f->evidence, "its tasks waited %s in reclaim at this limit",
		fmt_ns(a, p->stalled_ns));
	if (is_stream(cg, p) && cg->dirty_bytes)
		finding_line(r, f->evidence, "%s of its page cache is dirty (not yet on disk)",
			fmt_bytes(a, cg->dirty_bytes));
	if (p->disk_ns > p->waited_ns)
		finding_line(r, f->evidence,
			"including what was read back, some task waited for a disk for %s "
			"(estimated: PSI of I/O, by its share of all reads and writes)",
			fmt_ns(a, p->disk_ns));
	else if (p->waited_ns > p->stalled_ns)
		finding_line(r, f->evidence,
			"including what was read back, some task waited for memory for %s (PSI)",
			fmt_ns(a, p->waited_ns));
	if (cg->swap_bytes)
		finding_line(r, f->evidence, "%s of it is in swap", fmt_bytes(a, cg->swap_bytes));
}

/* By what is out and will be needed, and a quarter more, and what processes took meanwhile, which
 * less was out at first; where that is not known by what was needed again, which counts a page each
 * time: at most as much again. At least a quarter. */
static u64 raised(const struct cgroup_usage *cg, const struct pain *p)
{
	u64 more = MAX(p->refault_bytes + cg->swap_bytes, cg->limit_bytes / 4);

	if (p->out_bytes) {
		more = p->out_bytes / 4 * 5 + cg->swap_bytes + p->grown_bytes;
		return (cg->limit_bytes + MAX(more, cg->limit_bytes / 4) + 4095) & ~4095ULL;
	}
	if (cgroup_filler(cg) != BY_FILE)
		more = MAX(more, cg->limit_bytes / 2);
	return (cg->limit_bytes + MIN(more, cg->limit_bytes) + 4095) & ~4095ULL;
}

/* Files that are read at random, or seldom, come back after the look: how much room they need is
 * not known then. */
static bool is_open(const struct cgroup_usage *cg, const struct pain *p)
{
	return p->refaults_second >= REFAULTS_RISK && p->file_refaults * 2 > p->refaults &&
	       (!p->out_bytes || (double)(cg->limit_bytes + p->out_most) >
					 OPEN_TIMES * (double)raised(cg, p));
}

static void tell_range(struct report *r, struct finding *f, const struct state *s,
	const struct cgroup_usage *cg, const struct pain *p, const char *dir)
{
	u64 least = raised(cg, p), most = cg->limit_bytes + p->out_most / 4 * 5;
	u64 room = facts_last(&s->sums.facts, "MemAvailable") / 2;
	bool fits = most > least && most - cg->limit_bytes < room;
	char a[UNIT_BUF], b[UNIT_BUF];

	if (most > least)
		finding_line(r, f->try_,
			"It needs between %s and %s: this run was too short to see all it reads "
			"again. A longer run shows how much, and changes nothing: `memwhy limit -g "
			"%s --for 10m`",
			fmt_bytes(a, least), fmt_bytes(b, most), dir);
	else
		finding_line(r, f->try_,
			"It needs at least %s: this run was too short to see all it reads again. A "
			"longer run shows how much, and changes nothing: `memwhy limit -g %s --for "
			"10m`",
			fmt_bytes(a, least), dir);
	finding_line(r, f->try_,
		fits ? "Or raise the limit to the upper end, as the machine has the memory:"
		     : "Until then, raise the limit to the lower end:");
	cgroup_tell_limit(r, f, cg, dir, fits ? most : least);
}

static bool fills_with_names(struct report *r, const struct state *s, const struct cgroup_usage *cg)
{
	u32 tgid;
	bool unread;

	return cgroup_filler(cg) == BY_KERNEL && !kept_text(r, &s->kept, cg, &tgid, &unread)[0] &&
	       kept_names_text(r, &s->kept, &s->sums.facts, cg, &tgid)[0];
}

/* Names that never come again fill any limit. */
static void tell_names_cure(struct report *r, struct finding *f)
{
	finding_line(r, f->try_,
		"A higher limit fills the same way. Look up only names that may exist: one "
		"readdir, or a list of what is there, instead of probing. Which names:");
	finding_line(r, f->try_, "`memwhy syscalls --each --stacks=user --for 2s | grep ENOENT`");
	finding_line(r, f->try_,
		"Until then, drop what is unused (this slows lookups that hit, too): `echo 2 > "
		"/proc/sys/vm/drop_caches`");
	finding_line(r, f->undo, "Nothing to undo.");
}

static void tell_raise(struct report *r, struct finding *f, const struct state *s,
	const struct cgroup_usage *cg, const struct pain *p, const char *dir)
{
	struct heap_room heap;

	if (is_high(cg) && raised(cg, p) >= p->max_bytes) {
		finding_line(
			r, f->try_, "Rely on memory.max alone: `echo max > %s/memory.high`", dir);
		finding_line(r, f->undo, "`echo %llu > %s/memory.high`", cg->high_bytes, dir);
		return;
	}
	if (heap_room_exceeds(&s->heaps, r, cg, &heap)) {
		heap_room_try(r, f, &heap, cg, dir, raised(cg, p));
		return;
	}
	if (is_open(cg, p)) {
		tell_range(r, f, s, cg, p, dir);
		return;
	}
	finding_line(r, f->try_,
		p->refaults_second >= REFAULTS_RISK
			? "Raise the limit by what was needed again:"
			: "Raise the limit, or shrink what runs inside:");
	cgroup_tell_limit(r, f, cg, dir, raised(cg, p));
}

static void tell_cure(struct report *r, struct finding *f, const struct state *s,
	const struct cgroup_usage *cg, const struct pain *p, const char *dir)
{
	if (f->level == LEVEL_NOTE) {
		finding_line(r, f->try_,
			is_stream(cg, p)
				? "Nothing needs to be done. A stream that is read once can bypass "
				  "the page cache: posix_fadvise(POSIX_FADV_DONTNEED) behind it, "
				  "or O_DIRECT."
				: "Nothing needs to be done.");
		finding_line(r, f->undo, "Nothing to undo.");
	} else if (fills_with_names(r, s, cg)) {
		tell_names_cure(r, f);
	} else {
		if (is_stream(cg, p))
			finding_line(r, f->try_,
				"Keep what it writes or reads once out of the page cache: O_DIRECT "
				"(dd: oflag=direct), or sync_file_range() and then "
				"posix_fadvise(POSIX_FADV_DONTNEED) behind it.");
		tell_raise(r, f, s, cg, p, dir);
	}
	if (cgroup_filler(cg) == BY_ANON && f->tgid && f->level > LEVEL_NOTE)
		finding_line(r, f->try_,
			"If its biggest process grows without bound, no limit will be enough: "
			"`memwhy leak -p %u --for 60s`",
			f->tgid);
	finding_line(r, f->verify, "`memwhy check --for 30s -g %s`", dir);
}

static const char *cgroup_limit_why_of(
	const struct cgroup_usage *cg, const struct pain *p, int level)
{
	if (level == LEVEL_NOTE && is_far(cg, p))
		return "It reads many times what the limit has room for: each page is evicted "
		       "before its turn comes again, as if it were read once.";
	if (level == LEVEL_NOTE)
		return "At the limit each new page evicts an old one of the group. That costs next "
		       "to nothing as long as the old ones are no longer needed.";
	if (is_high(cg))
		return "Above memory.high the kernel kills nothing: each task that allocates has "
		       "to reclaim, and is then put to sleep, up to two seconds each time. A group "
		       "that cannot shrink stays throttled.";
	if (is_stream(cg, p))
		return "At the limit each new page evicts an old one of the group, and a task that "
		       "needs one waits until that is done: for the disk, if the old ones are "
		       "dirty and have to be written first.";
	if (starves_cache(cg, p))
		return "At the limit each new page evicts an old one of the group, even when the "
		       "machine has free memory. Pages that are needed again have to be read from "
		       "disk again.";
	return "At the limit every charge first reclaims within the group, even when the machine "
	       "has free memory; anonymous memory can only go to swap, and when nothing is left to "
	       "reclaim, the OOM killer picks a process of the group.";
}

static const char *limit_text(const struct cgroup_usage *cg, const struct pain *p)
{
	return is_high(cg) ? "is throttled at its memory.high"
	       : p->hits   ? "hits its memory limit"
			   : "is near its memory limit";
}

static void cgroup_limit_tell(struct report *r, const struct state *s,
	const struct cgroup_usage *cg, const struct pain *p, int level)
{
	struct finding *f = report_finding(r, level, is_high(cg) ? "memory-high" : "cgroup-limit");
	const char *path = stream_cgroup(r->stream, cg->cgroup), *dir;
	struct heap_room heap;
	char a[UNIT_BUF];

	if (!f)
		return;
	dir = cgroup_directory(r, cg->version, path ? path : "/");
	f->cgroup = cg->cgroup;
	f->cost_ns = MAX(p->waited_ns, p->disk_ns);
	f->losses = LOSS_RECLAIM | LOSS_REFAULT | LOSS_SWAP | LOSS_GROUP;
	f->benign = is_stream(cg, p);
	/* To who pushes whose cache out, to who waits for its swap, to whose files or locked memory
	 * fill it, to what was killed for it. */
	f->yields = (!p->full && cgroup_filler(cg) == BY_FILE) || cg->swap_bytes ||
		    cgroup_filler(cg) == BY_SHMEM || cgroup_is_locked(cg) ||
		    counter_since(cg->first_oom_kill_total, cg->oom_kill_total);
	f->wall = is_high(cg);
	f->title = report_text(r, "cgroup %s %s of %s: %s",
		path ? report_cgroup(r, path) : "(removed)", limit_text(cg, p),
		fmt_bytes(a, cg->limit_bytes), filler_text(r, cg, p));
	if (is_high(cg) && cg->h.flags & CGROUP_HAS_PRESSURE)
		f->title = report_text(r, "%s; its tasks waited %.1f %% of the time", f->title,
			report_share(r, p->waited_ns) * 100);
	f->confidence = is_high(cg) && !(cg->h.flags & CGROUP_HAS_PRESSURE)
				? "medium: the kernel counts how often, but not for how long (no "
				  "PSI)"
				: "high: the kernel's own counters";
	tell_evidence(r, f, cg, p);
	if (path && strcmp(path, "/") != 0)
		group_members_tell(&s->members, r, f, cg->cgroup);
	tell_keeper(r, f, s, cg);
	if (heap_room_exceeds(&s->heaps, r, cg, &heap))
		heap_room_tell(r, f, &heap, cg);
	f->why = cgroup_limit_why_of(cg, p, level);
	tell_cure(r, f, s, cg, p, dir);
}

/* The kernel calls the groups below one that hangs under_oom, too. */
static bool hangs(const struct cgroup_usage *cg)
{
	return cg->h.flags & CGROUP_HANGS && cg->limit_bytes != CGROUP_USAGE_NONE &&
	       cg->usage_bytes >= cg->limit_bytes / 20 * 19;
}

/* Version 1, with oom_kill_disable: who needs memory sleeps until somebody else makes room. */
static void tell_hangs(struct report *r, const struct state *s, const struct cgroup_usage *cg)
{
	struct finding *f = report_finding(r, LEVEL_CRITICAL, "cgroup-hangs");
	const char *path = stream_cgroup(r->stream, cg->cgroup), *dir;
	char a[UNIT_BUF];

	if (!f)
		return;
	dir = cgroup_directory(r, cg->version, path ? path : "/");
	f->cgroup = cg->cgroup;
	f->losses = LOSS_RECLAIM | LOSS_REFAULT | LOSS_SWAP;
	f->title = report_text(r,
		"Tasks of cgroup %s hang: its memory limit of %s is reached, and its OOM killer is "
		"off",
		path ? report_cgroup(r, path) : "(removed)", fmt_bytes(a, cg->limit_bytes));
	f->confidence = "high: the kernel reports it (under_oom and oom_kill_disable in "
			"memory.oom_control)";
	finding_line(r, f->evidence, "%s are in use: %s", fmt_bytes(a, cg->usage_bytes),
		filler_text(r, cg, &(struct pain){}));
	if (path && strcmp(path, "/") != 0)
		group_members_tell(&s->members, r, f, cg->cgroup);
	f->why = "A task that needs more memory than the limit allows, and finds nothing to "
		 "reclaim, waits until another one frees some. With the OOM killer off, none is "
		 "forced to.";
	finding_line(r, f->try_, "Raise the limit: they continue at once.");
	cgroup_tell_limit(r, f, cg, dir, cg->limit_bytes / 2 * 3);
	finding_line(r, f->try_,
		"Or let the kernel kill one of its processes, now and whenever that happens: `echo "
		"0 > %s/memory.oom_control`",
		dir);
	finding_line(r, f->undo, "`echo 1 > %s/memory.oom_control`", dir);
	finding_line(r, f->verify, "`grep under_oom %s/memory.oom_control`", dir);
}

/* memory.high is a limit like the other one, but for what the kernel does there. */
static void look_at_high(struct report *r, const struct state *s, const struct cgroup_usage *cg)
{
	struct cgroup_usage at = cgroup_by_high(cg);
	struct pain p;

	if (!is_high(&at))
		return;
	p = pain_of(s, r, &at);
	p.max_bytes = cg->limit_bytes;
	cgroup_limit_tell(r, s, &at, &p, high_level(r, &at, &p));
}

static int cgroup_limit_rule_report(void *v, struct report *r)
{
	const struct state *s = v;

	for (size_t i = 0; i < s->sums.facts.cgroups.n; i++) {
		struct cgroup_usage cg = facts_cgroup_fullest(&s->sums.facts, i);
		struct pain p = pain_of(s, r, &cg);
		int level = cg.limit_bytes == CGROUP_USAGE_NONE
				    ? -1
				    : cgroup_limit_level_of(s, r, &cg, &p);

		if (hangs(&cg)) {
			tell_hangs(r, s, &cg);
			continue;
		}
		look_at_high(r, s, &cg);
		if (level >= 0 && (p.hits || !cgroup_is_throttled(&cg)))
			cgroup_limit_tell(r, s, &cg, &p, level);
	}
	return 0;
}

static void cgroup_limit_rule_reset(void *v)
{
	struct state *s = v;

	rule_sums_reset(&s->sums);
	groups_clear(&s->members);
	kept_reset(&s->kept);
	groups_clear(&s->sets);
	groups_clear(&s->heaps);
}

static void cgroup_limit_rule_destroy(void *v)
{
	struct state *s = v;

	rule_sums_destroy(&s->sums);
	groups_free(&s->members);
	kept_free(&s->kept);
	groups_free(&s->sets);
	groups_free(&s->heaps);
}

const struct view rule_cgroup_limit = {
	.size = sizeof(struct state),
	.init = cgroup_limit_rule_init,
	.feed = cgroup_limit_rule_feed,
	.report = cgroup_limit_rule_report,
	.reset = cgroup_limit_rule_reset,
	.destroy = cgroup_limit_rule_destroy,
};
