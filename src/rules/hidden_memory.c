/* Memory in files and segments that no process shows: tmpfs, System V segments that nobody has
 * attached, files without a name. */
#include <string.h>

#include "analysis/shape.h"
#include "base/clock.h"
#include "base/units.h"
#include "rules/holdings.h"
#include "rules/rules.h"
#include "rules/segment_makers.h"
#include "sys/memory/zram.h"
#include "sys/process/fdlink.h"

#define TRACEFS "/sys/kernel/tracing"
#define TRACE_KB 1408ULL /* TRACE_BUF_SIZE_DEFAULT (kernel/trace/trace.c), of each CPU */
#define INODE_BYTES 1024
#define NEW_PART 4       /* of what there is, one in so many */
#define MESSAGE_BYTES 64 /* of the kernel, with each */
#define LONG_AGO_NS (365ULL * 86400 * NSEC_PER_SEC)

struct hidden {
	struct held held;
	struct groups comms; /* tgid -> name, of who touched new pages: it may have ended since */
};

/* "3 s ago", or nothing of the day it was. */
static const char *age_text(struct report *r, u64 age_ns)
{
	double s = (double)age_ns / 1e9;

	return age_ns >= LONG_AGO_NS ? "more than a year ago"
	       : s < 120             ? report_text(r, "%.0f s ago", s)
	       : s < 7200            ? report_text(r, "%.0f minutes ago", s / 60)
	       : s < 172800          ? report_text(r, "%.0f hours ago", s / 3600)
				     : report_text(r, "%.0f days ago", s / 86400);
}

static const struct shape *course_of(const struct held *h, const struct held_files *f)
{
	u64 key = held_files_key(f);

	return groups_find(&h->courses, &key);
}

static const char *tmpfs_writer(
	struct report *r, struct finding *x, const struct held *h, const struct held_files *f)
{
	double rate = 0;
	u32 tgid;
	const char *who = held_writer(r, h, course_of(h, f), &rate, &tgid);
	char a[UNIT_BUF];

	if (who)
		finding_line(r, x->evidence,
			"%s, or its children that have ended, wrote %s a second to no disk, about "
			"as much as it grew: most likely the writer",
			who, fmt_bytes(a, (u64)rate));
	if (f->opener_files)
		finding_line(r, x->evidence, "%s (pid %u) has %llu file%s of it open",
			held_text(r, f->opener), f->opener_tgid, f->opener_files,
			plural(f->opener_files));
	else if (!who)
		finding_line(r, x->evidence,
			"%s has its files open: who wrote them is not known, but user %u owns the "
			"largest",
			held_saw_all(r, h) ? "no process" : "no process that was looked at",
			f->uid);
	return who;
}

/* A limit that is met there fails in programs that have no part in it. */
static bool tmpfs_is_shared(const char *mount)
{
	return !strcmp(mount, "/dev/shm") || !strcmp(mount, "/tmp") || !strcmp(mount, "/run");
}

static void tmpfs_try(
	struct report *r, struct finding *x, const struct held_files *f, const char *dir)
{
	finding_line(r, x->try_, "List the files, largest first, and remove what is not needed:");
	finding_line(r, x->try_,
		"`find %s -xdev -type f -printf '%%k KiB %%u %%t %%p\\n' | sort -rn | head`", dir);
	if (f->limit_bytes && tmpfs_is_shared(held_text(r, f->mount))) {
		finding_line(r, x->try_,
			"Many programs share %s, so leave its size as it is: let the writer use a "
			"disk, or a tmpfs of its own with a size.",
			held_text(r, f->mount));
	} else if (f->limit_bytes) { /* one without a limit gets none while it is mounted */
		finding_line(r, x->try_,
			"Limit its size, to a quarter more than it holds now (writes beyond that "
			"fail with ENOSPC, for all who write there):");
		held_tell_remount(r, x->try_, held_text(r, f->mount), "size",
			(f->used_bytes / 4 * 5 + 1023) / 1024, "k");
		held_tell_remount(
			r, x->undo, held_text(r, f->mount), "size", f->limit_bytes / 1024, "k");
	}
	finding_line(r, x->undo, "Removed files do not come back: copy them to a disk first.");
	held_tell_df(r, x->verify, held_text(r, f->mount), "-k");
}

/* Many small or empty files: their inodes and names are memory of the kernel. */
static void tell_inodes(struct report *r, const struct held *h, const struct held_files *f)
{
	u64 bytes = f->inodes * INODE_BYTES;
	bool one = f->directory && f->directory_files * 3 >= f->files;
	const char *dir = held_text(r, one ? f->directory : f->mount);
	int level = bytes > f->used_bytes ? held_level(r, bytes) : -1;
	struct finding *x = level < 0 ? NULL : report_finding(r, level, "tmpfs-inodes");
	char a[UNIT_BUF], b[UNIT_BUF];

	if (!x)
		return;
	x->held_bytes = bytes;
	x->losses = LOSS_KERNEL;
	x->grown_bytes = counter_rise(f->first_inodes, f->inodes) * INODE_BYTES;
	x->title = report_text(r,
		"%s files in %s (tmpfs), most of them small or empty, hold about %s of inodes and "
		"directory entries",
		fmt_count(b, f->inodes), held_place_text(r, dir), fmt_bytes(a, bytes));
	x->confidence = "high for the number; the memory is estimated at 1 KiB each";
	finding_line(r, x->evidence, "that is %s; their contents are %s", held_share(r, bytes),
		fmt_bytes(a, f->used_bytes));
	if (f->inodes > f->first_inodes)
		finding_line(r, x->evidence, "%llu more in %.0f s", f->inodes - f->first_inodes,
			report_seconds(r));
	tmpfs_writer(r, x, h, f);
	x->why = "A tmpfs file has no disk behind it: its inode and name stay in unreclaimable "
		 "slab memory until it is removed.";
	finding_line(r, x->try_, "See where they are, and remove what is not needed:");
	finding_line(r, x->try_, "`du --inodes -x %s | sort -rn | head`", held_text(r, f->mount));
	if (f->most_inodes) { /* 0: not recorded */
		finding_line(r, x->try_, "Limit their number to what there is now:");
		held_tell_remount(r, x->try_, held_text(r, f->mount), "nr_inodes", f->inodes, "");
		held_tell_remount(
			r, x->undo, held_text(r, f->mount), "nr_inodes", f->most_inodes, "");
	}
	held_tell_df(r, x->verify, held_text(r, f->mount), "-i");
}

/* How fast it grows, a second, if it did all the time and to the end; else 0. */
static double files_rate(const struct held *h, const struct held_files *f)
{
	const struct shape *s = course_of(h, f);
	double rate;

	if (!s || s->trend.last_ns - s->trend.first_ns < HELD_COURSE_NS ||
		s->trend.last_ns + HELD_GONE_NS < h->last_ns ||
		s->trend.last - s->trend.first < HELD_COURSE_BYTES ||
		shape_judge(s, &rate) != SHAPE_RISING)
		return 0;
	return rate;
}

/* Until it has no more room, or the machine has none. */
static double files_left(const struct held *h, const struct held_files *f, double rate)
{
	double room = facts_known(&h->facts, "MemAvailable")
			      ? (double)facts_last(&h->facts, "MemAvailable")
			      : HELD_NEVER_S;

	if (f->limit_bytes)
		room = MIN(room, (double)counter_rise(f->used_bytes, f->limit_bytes));
	return room / rate;
}

static void tmpfs_growth(struct report *r, struct finding *x, const struct held *h,
	const struct held_files *f, double rate)
{
	char a[UNIT_BUF];

	if (rate > 0)
		finding_line(r, x->evidence,
			"it grew throughout, by %s a second: at this rate there is room for %s",
			fmt_bytes(a, (u64)rate), time_left_text(r, files_left(h, f, rate)));
	else if (f->used_bytes > f->first_used_bytes)
		finding_line(r, x->evidence, "it grew by %s in %.0f s",
			fmt_bytes(a, f->used_bytes - f->first_used_bytes), report_seconds(r));
}

/* Little of the machine's memory may be most of what a group may have; nobody uses it. */
static int level_in_group(int level, u64 cgroup)
{
	return level >= 0 && cgroup ? MAX(level, (int)LEVEL_RISK) : level;
}

/* Where they are, which is not where a look from outside can find them all. */
static const char *files_text(struct report *r, const struct held_files *f)
{
	if (f->files)
		return report_text(r, " in %llu file%s", f->files, plural(f->files));
	return f->partial ? ", and there was no time to search its files"
			  : ", and no file was found there: another mount may hide them, or they "
			    "were removed and are still open or mapped";
}

/* What is mostly new is told as such, also where it came all at once or late. */
static const char *grown_text(struct report *r, const struct held_files *f, double rate)
{
	u64 grown = counter_rise(f->first_used_bytes, f->used_bytes);
	char a[UNIT_BUF];

	if (rate > 0)
		return report_text(r, ", and grow by %s a second", fmt_bytes(a, (u64)rate));
	if (grown * NEW_PART < f->used_bytes)
		return "";
	return report_text(
		r, "; %s of it came in the last %.0f s", fmt_bytes(a, grown), report_seconds(r));
}

static void tell_tmpfs(struct report *r, const struct held *h, const struct held_files *f)
{
	bool one = f->directory && f->directory_bytes * 3 >= f->used_bytes;
	const char *dir = held_text(r, one ? f->directory : f->mount);
	double rate = files_rate(h, f);
	const char *who, *growth = grown_text(r, f, rate);
	u64 cgroup = facts_cgroup_full_of(&h->facts, BY_SHMEM, f->used_bytes);
	int level =
		held_level_group(held_level(r, f->used_bytes), &h->facts, cgroup, f->used_bytes);
	struct finding *x;
	char a[UNIT_BUF], b[UNIT_BUF];

	if (held_files_removed(f))
		return;
	level = level_in_group(level, f->opener ? 0 : cgroup);
	if (rate > 0 && files_left(h, f, rate) < HELD_SOON_S)
		level = MAX(level, (int)LEVEL_RISK);
	x = level < 0 ? NULL : report_finding(r, level, "tmpfs-files");
	if (!x)
		return;
	x->held_bytes = f->used_bytes;
	x->cgroup = cgroup;
	x->losses = LOSS_GROUP;
	x->confidence =
		f->partial ? "high for the size; not all of it was searched to find the directory"
			   : "high: the file system's own count";
	finding_line(r, x->evidence, "%s holds %s%s; the file system may take %s",
		held_text(r, f->mount), fmt_bytes(a, f->used_bytes), files_text(r, f),
		f->limit_bytes ? fmt_bytes(b, f->limit_bytes) : "any amount");
	if (f->directory_files)
		finding_line(r, x->evidence, "%s holds %llu of the files, the last one written %s",
			dir, one ? f->directory_files : f->files, age_text(r, f->newest_age_ns));
	who = tmpfs_writer(r, x, h, f);
	x->title = report_text(r, "Files in %s (tmpfs) hold %s of memory, %s%s%s%s",
		held_place_text(r, dir), fmt_bytes(a, one ? f->directory_bytes : f->used_bytes),
		held_share_of(r, &h->facts, x->cgroup, f->used_bytes), growth,
		growth[0] && who ? ", most likely by " : "", growth[0] && who ? who : "");
	tmpfs_growth(r, x, h, f, rate);
	x->why = "A tmpfs file is shared memory: it counts as used, belongs to no process, cannot "
		 "be dropped as cache, and stays until it is removed; without swap it cannot leave "
		 "memory. Each page is charged to the cgroup of the process that wrote it.";
	tmpfs_try(r, x, f, dir);
}

static const char *ended(struct report *r, u32 name, u32 tgid)
{
	return name ? report_text(r, "%s (pid %u)", held_text(r, name), tgid)
		    : report_text(r, "pid %u, which has ended", tgid);
}

static void segments_evidence(struct report *r, struct finding *x, const struct held *h)
{
	char a[UNIT_BUF];
	u32 told = 0;

	for (size_t i = 0; i < h->segments.n && told < 3; i++) {
		const struct held_segment *g = groups_value(&h->segments, i);

		if (!held_is_orphan(h, g))
			continue;
		told++;
		finding_line(r, x->evidence,
			"shmid %llu, %s, user %u, made by pid %u (%s), last attached or detached "
			"%s",
			g->id, fmt_bytes(a, g->resident_bytes + g->swap_bytes), g->uid,
			g->creator_tgid, g->creator ? held_text(r, g->creator) : "has ended",
			age_text(r, g->idle_ns));
	}
}

static void tell_segments(struct report *r, const struct hidden *s)
{
	const struct held *h = &s->held;
	struct held_orphans o = held_orphans(h);
	struct held_growth g = held_growth(&h->facts, o.grown_bytes,
		(double)counter_rise(h->looked_ns, h->totals.h.time_ns) / 1e9);
	const char *maker;
	struct finding *x;
	u64 cgroup;
	int level;
	u32 n;
	char a[UNIT_BUF], b[UNIT_BUF];

	maker = segment_makers(r, h, &s->comms, &n);
	cgroup = facts_cgroup_full_of(&h->facts, BY_SHMEM, o.bytes);
	level = held_level_group(held_level_growing(r, o.bytes, &g), &h->facts, cgroup, o.bytes);
	level = level_in_group(level, cgroup);
	x = level < 0 ? NULL : report_finding(r, level, "shm-orphans");
	if (!x)
		return;
	x->held_bytes = o.bytes;
	x->cgroup = cgroup;
	x->losses = LOSS_GROUP;
	x->title = report_text(r,
		"%llu System V shared memory segment%s that no process has attached hold%s %s, "
		"%s%s",
		o.n, plural(o.n), o.n == 1 ? "s" : "", fmt_bytes(a, o.bytes),
		held_share_of(r, &h->facts, x->cgroup, o.bytes),
		g.rate > 0 ? report_text(r, ", and %s more a second%s%s", fmt_bytes(b, (u64)g.rate),
				     maker ? ", made by " : "", maker ? maker : "")
			   : "");
	if (maker)
		finding_line(r, x->evidence,
			"at least %u of them were made since the look began, by processes of %s", n,
			maker);
	x->confidence = "high: the kernel's own count in /proc/sysvipc/shm; whether a program will "
			"attach them again is not known";
	segments_evidence(r, x, h);
	held_tell_left(r, x, &h->facts, &g);
	x->why = "A System V segment lives until it is removed, not until its users end: a program "
		 "that was killed, or forgot shmctl(IPC_RMID), leaves it behind. Its pages are in "
		 "no process's memory.";
	if (g.rate > 0)
		finding_line(r, x->try_,
			"See who creates them: `memwhy maps --like shmsnoop --for 10s`");
	segments_remove_try(r, x, h, o.n);
	finding_line(r, x->undo, "What was in it does not come back.");
	finding_line(r, x->verify, "`ipcs -m`");
}

/* Segments that somebody has attached and nobody has in his resident memory, as far as is certain:
 * what no process has, if all shared memory of processes was of these. */
static void tell_attached(struct report *r, const struct held *h)
{
	const struct held_segment *most = NULL;
	u64 n = 0, all = 0, hidden;
	struct finding *x;
	int level;
	char a[UNIT_BUF], b[UNIT_BUF];

	for (size_t i = 0; i < h->segments.n; i++) {
		const struct held_segment *g = groups_value(&h->segments, i);

		if (!g->attached || held_is_gone(h, g->h.time_ns))
			continue;
		n++;
		all += g->resident_bytes;
		if (!most || g->resident_bytes > most->resident_bytes)
			most = g;
	}
	hidden = counter_rise(h->totals.resident_shmem_bytes, all);
	/* A database that has just started may be so. */
	level = MIN(held_level(r, hidden), (int)LEVEL_NOTE);
	x = !h->totals.shown_bytes || !held_saw_all(r, h) || level < 0
		    ? NULL
		    : report_finding(r, level, "shm-orphans");
	if (!x)
		return;
	x->held_bytes = hidden;
	x->cgroup = facts_cgroup_full_of(&h->facts, BY_SHMEM, hidden);
	x->losses = LOSS_GROUP;
	x->title = report_text(r,
		"%llu attached System V shared memory segment%s hold%s %s, of which at least %s is "
		"in no process's resident memory; the largest was made by %s",
		n, plural(n), n == 1 ? "s" : "", fmt_bytes(a, all), fmt_bytes(b, hidden),
		ended(r, most->creator, most->creator_tgid));
	x->confidence = "high: the kernel's own count in /proc/sysvipc/shm, less the shared memory "
			"of all processes; a lower bound";
	finding_line(r, x->evidence, "shmid %llu, %s, user %u, attached %llu time%s%s", most->id,
		fmt_bytes(a, most->resident_bytes), most->uid, most->attached,
		plural(most->attached),
		most->removed ? ", and removed: it goes when nobody has it attached" : "");
	finding_line(r, x->evidence, "that is %s", held_share_of(r, &h->facts, x->cgroup, hidden));
	x->why = "Pages of a segment count for a process only while it has touched them through "
		 "this attachment: who fills a segment and detaches it leaves them in no process's "
		 "memory.";
	finding_line(r, x->try_, "See who attached each last, and who has them now: `ipcs -m -p`");
	finding_line(r, x->try_, "`grep -s SYSV /proc/[0-9]*/maps`");
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`ipcs -m -u`");
}

static u64 memfd_bytes(const struct held_process *p)
{
	return p->memfd_bytes;
}

static void tell_memfd(struct report *r, const struct held *h)
{
	struct held_top t = held_most(h, memfd_bytes);
	u64 hidden = t.most && t.bytes > t.most->last.shmem_bytes
			     ? t.bytes - t.most->last.shmem_bytes
			     : 0;
	struct held_growth g = held_growth_of(h, &t);
	u64 cgroup = facts_cgroup_full_of(&h->facts, BY_SHMEM, t.bytes);
	int level = held_level_group(held_level_growing(r, hidden, &g), &h->facts, cgroup, hidden);
	struct finding *x = level < 0 ? NULL : report_finding(r, level, "memfd-files");
	const struct held_process *p;
	char a[UNIT_BUF], b[UNIT_BUF];

	if (!x)
		return;
	p = &t.most->last;
	x->held_bytes = t.bytes;
	x->tgid = p->tgid;
	x->cgroup = cgroup;
	x->losses = LOSS_GROUP;
	x->title =
		report_text(r, "%s keeps %s in files without a name (memfd, or deleted from tmpfs)",
			held_name(r, p), fmt_bytes(a, t.bytes));
	x->confidence = "high: the blocks of the files that it has open";
	finding_line(r, x->evidence,
		"%u memfd, %u other files in memory open; %s in its resident memory",
		p->kinds[FD_MEMFD], p->kinds[FD_SHARED] + p->kinds[FD_DELETED],
		fmt_bytes(b, p->shmem_bytes));
	if (p->unnamed_most)
		finding_line(r, x->evidence, "the largest, of %s, is %s",
			fmt_bytes(a, p->unnamed_most_bytes), held_text(r, p->unnamed_most));
	finding_line(r, x->evidence, "that is %s; all processes together keep %s this way",
		held_share(r, t.bytes), fmt_bytes(a, t.all));
	held_tell_growth(r, x, &t);
	held_tell_left(r, x, &h->facts, &g);
	x->why = "Such a file holds its pages as long as a process has it open or mapped. What is "
		 "not mapped is in no process's RSS, so top and ps do not show it.";
	finding_line(r, x->try_, "List them, and close or shrink (ftruncate) unused ones:");
	finding_line(r, x->try_, "`ls -l /proc/%u/fd`", p->tgid);
	finding_line(r, x->try_,
		"Who creates them, by code path: `memwhy syscalls --stacks=user --for 30s -p %u`",
		p->tgid);
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`grep Shmem: /proc/meminfo`");
}

static u64 queues_bytes(const struct held_queues *q)
{
	return q->bytes + q->messages * MESSAGE_BYTES;
}

/* Who has sent most: to how many queues, and how much of it is there. */
static const char *senders_text(struct report *r, const struct held_queues *q)
{
	char a[UNIT_BUF];

	if (q->most_queues < 2)
		return report_text(
			r, "%s sends to the fullest one", ended(r, q->sender, q->sender_tgid));
	return report_text(r, "%s was the last to send to %llu of them, which have %s",
		q->most_tgid ? ended(r, q->most, q->most_tgid)
			     : report_text(r, "a process of user %u", q->most_uid),
		q->most_queues, fmt_bytes(a, q->most_bytes));
}

/* The columns of /proc/sysvipc/msg: 2 msqid, 5 qnum, 6 lspid, 8 uid. */
static void queues_try(struct report *r, struct finding *x, const struct held_queues *q)
{
	bool process = q->most_tgid;

	if (q->most_queues < 2) {
		finding_line(r, x->try_,
			"Let their reader receive them; to remove a queue that is not needed:");
		finding_line(r, x->try_, "`ipcrm -q %llu`", q->id);
		return;
	}
	finding_line(r, x->try_,
		"Let their reader receive them. If they are not needed, this removes the %llu "
		"queues whose messages were last sent by %s%u:",
		q->most_queues, process ? "pid " : "user ", process ? q->most_tgid : q->most_uid);
	finding_line(r, x->try_,
		"`awk '$5 > 0 && $%u == %u { print $2 }' /proc/sysvipc/msg | xargs -rn1 ipcrm -q`",
		process ? 6 : 8, process ? q->most_tgid : q->most_uid);
}

static void tell_queues(struct report *r, const struct held *h)
{
	const struct held_queues *q = &h->queues, *first = &h->queues_first;
	u64 bytes = held_is_gone(h, q->h.time_ns) ? 0 : queues_bytes(q);
	struct held_growth g = held_growth(&h->facts, counter_rise(queues_bytes(first), bytes),
		(double)counter_rise(first->h.time_ns, q->h.time_ns) / 1e9);
	int level = held_level_growing(r, bytes, &g);
	struct finding *x = level < 0 ? NULL : report_finding(r, level, "message-queues");
	char a[UNIT_BUF];

	if (!x)
		return;
	x->held_bytes = x->grown_bytes = bytes;
	x->losses = LOSS_KERNEL;
	x->tgid = q->most ? q->most_tgid : q->sender ? q->sender_tgid : q->receiver_tgid;
	x->title = report_text(r,
		"%llu System V message queue%s hold%s %s in %llu unread message%s; %s", q->queues,
		plural(q->queues), q->queues == 1 ? "s" : "", fmt_bytes(a, bytes), q->messages,
		plural(q->messages), senders_text(r, q));
	x->confidence = "high: the kernel's own count in /proc/sysvipc/msg";
	finding_line(r, x->evidence, "queue %llu has %s in %llu message%s", q->id,
		fmt_bytes(a, q->id_bytes), q->id_messages, plural(q->id_messages));
	if (q->idle_ns)
		finding_line(r, x->evidence, "%s received a message from it %s",
			ended(r, q->receiver, q->receiver_tgid), age_text(r, q->idle_ns));
	else
		finding_line(r, x->evidence, "no message was ever received from it");
	held_tell_left(r, x, &h->facts, &g);
	x->why = "Messages wait in kernel memory, which no process shows, until they are received "
		 "or the queue is removed; a queue outlives the programs that use it.";
	queues_try(r, x, q);
	finding_line(r, x->undo, "Its messages are lost.");
	finding_line(r, x->verify, "`ipcs -q`");
}

static void disk_try(struct report *r, struct finding *x, const struct held_disk *d)
{
	const char *device = held_text(r, d->device);

	if (d->use == ZRAM_MOUNTED) {
		finding_line(
			r, x->try_, "Remove files that are not needed, and discard their blocks:");
		finding_line(r, x->try_, "`sync -f %s && fstrim -v %s`", held_text(r, d->on),
			held_text(r, d->on));
		finding_line(r, x->undo, "Removed files do not come back: copy them first.");
	} else if (d->use == ZRAM_BELOW) {
		finding_line(r, x->try_, "See what it is used for: `lsblk %s`", device);
		finding_line(r, x->undo, "Nothing to undo.");
	} else {
		finding_line(r, x->try_, "See who has it open: `fuser -v %s`", device);
		finding_line(r, x->try_, "If its contents are not needed: `zramctl -r %s`", device);
		finding_line(r, x->undo, "Its contents are lost: copy them first.");
	}
	finding_line(r, x->verify, "`zramctl %s`", device);
}

static void tell_disk(struct report *r, const struct held *h, const struct held_disk *d)
{
	int level = held_is_gone(h, d->h.time_ns) ? -1 : held_level(r, d->memory_bytes);
	struct finding *x = level < 0 ? NULL : report_finding(r, level, "zram-disk");
	const char *use = d->use == ZRAM_MOUNTED ? ", mounted on "
			  : d->use == ZRAM_BELOW ? ", below "
						 : "";
	char a[UNIT_BUF], b[UNIT_BUF];

	if (!x)
		return;
	x->held_bytes = d->memory_bytes;
	x->title = report_text(r, "The zram disk %s%s%s holds %s of memory, %s",
		held_text(r, d->device), use, use[0] ? held_text(r, d->on) : "",
		fmt_bytes(a, d->memory_bytes), held_share(r, d->memory_bytes));
	x->confidence = d->use == ZRAM_RAW
				? "high for the size; who uses it is not known: it is neither swap "
				  "nor mounted in memwhy's mount namespace"
				: "high: the device's own count";
	finding_line(r, x->evidence, "%s stored in it take %s; it stores up to %s",
		fmt_bytes(a, d->data_bytes), fmt_bytes(b, d->memory_bytes),
		report_text(r, "%llu MiB", d->size_bytes >> 20));
	x->why = "A zram device is a disk kept compressed in memory. No process shows it, and it "
		 "is not page cache: its contents stay until the blocks are discarded or the "
		 "device is reset. A removed file keeps its blocks until then.";
	disk_try(r, x, d);
}

static void trace_try(struct report *r, struct finding *x, const struct held_trace *t)
{
	const char *dir =
		t->directory  ? held_text(r, t->directory)
		: t->instance ? report_text(r, TRACEFS "/instances/%s", held_text(r, t->instance))
			      : TRACEFS;

	if (!t->directory)
		finding_line(
			r, x->try_, "It is not mounted: `mount -t tracefs tracefs " TRACEFS "`");
	if (t->instance)
		finding_line(r, x->try_, "If it is not used: `rmdir %s`", dir);
	if (t->cpu_bytes && t->cpu_bytes >> 10 <= TRACE_KB) {
		finding_line(r, x->try_,
			"On each CPU it is no larger than the kernel's default; for a smaller one "
			"at boot: trace_buf_size= on the kernel command line.");
	} else {
		if (!t->cpu_bytes)
			finding_line(r, x->try_,
				"Its size differs between CPUs; note the sizes first: `grep . "
				"%s/per_cpu/cpu*/buffer_size_kb`",
				dir);
		finding_line(r, x->try_, "Make it small, %s:",
			t->on ? "which keeps fewer of the last events"
			      : "which discards what is in it");
		finding_line(r, x->try_, "`echo %llu > %s/buffer_size_kb`", TRACE_KB, dir);
		if (t->cpu_bytes)
			finding_line(r, x->undo, "`echo %llu > %s/buffer_size_kb`",
				t->cpu_bytes >> 10, dir);
		else
			finding_line(r, x->undo, "Restore the sizes that you noted, CPU by CPU.");
	}
	if (!t->directory)
		finding_line(r, x->undo, "`umount " TRACEFS "`");
	finding_line(r, x->undo, "What was in it does not come back.");
	finding_line(r, x->verify, "`cat %s/buffer_total_size_kb`", dir);
}

static void tell_trace(struct report *r, const struct held *h, const struct held_trace *t)
{
	int level = held_is_gone(h, t->h.time_ns) ? -1 : held_level_stuck(r, t->bytes);
	struct finding *x = level < 0 ? NULL : report_finding(r, level, "trace-buffers");
	char a[UNIT_BUF];

	if (!x)
		return;
	x->held_bytes = t->bytes;
	x->losses = LOSS_KERNEL;
	x->title = report_text(r, "The buffer of %s holds %s of memory, %s",
		t->instance ? report_text(r, "the tracing instance %s", held_text(r, t->instance))
			    : "the kernel's tracing (ftrace)",
		fmt_bytes(a, t->bytes), held_share(r, t->bytes));
	x->confidence = "high for the size: the kernel's own number; who set it is not known";
	if (t->cpu_bytes)
		finding_line(r, x->evidence, "%s on each CPU", fmt_bytes(a, t->cpu_bytes));
	finding_line(r, x->evidence,
		t->on ? "tracing_on is 1: events may be written to it"
		      : "tracing_on is 0: nothing is written to it");
	x->why = "The pages of a tracing buffer are in no counter and no process. The kernel keeps "
		 "them after tracing ends, until the buffer is shrunk or its instance is removed.";
	trace_try(r, x, t);
}

static int hidden_memory_rule_feed(void *v, const struct rec *r)
{
	return r->kind == REC_FAULTS_AGG
		       ? segment_makers_feed(&((struct hidden *)v)->comms, (const void *)r)
		       : held_rule_feed(v, r);
}

static int hidden_memory_rule_init(void *v, const struct view_options *o, struct err *err)
{
	groups_init(&((struct hidden *)v)->comms, sizeof(u32), COMM_LEN);
	return held_rule_init(v, o, err); /* its first member */
}

static void hidden_memory_rule_reset(void *v)
{
	held_rule_reset(v);
	groups_clear(&((struct hidden *)v)->comms);
}

static void hidden_memory_rule_destroy(void *v)
{
	held_rule_destroy(v);
	groups_free(&((struct hidden *)v)->comms);
}

static int hidden_memory_rule_report(void *v, struct report *r)
{
	const struct hidden *s = v;
	const struct held *h = &s->held;

	for (size_t i = 0; i < h->files.n; i++) {
		tell_tmpfs(r, h, groups_value(&h->files, i));
		tell_inodes(r, h, groups_value(&h->files, i));
	}
	for (size_t i = 0; i < h->disks.n; i++)
		tell_disk(r, h, groups_value(&h->disks, i));
	for (size_t i = 0; i < h->traces.n; i++)
		tell_trace(r, h, groups_value(&h->traces, i));
	tell_queues(r, h);
	tell_segments(r, s);
	tell_attached(r, h);
	tell_memfd(r, h);
	return 0;
}

const struct view rule_hidden_memory = {
	.size = sizeof(struct hidden),
	.init = hidden_memory_rule_init,
	.feed = hidden_memory_rule_feed,
	.report = hidden_memory_rule_report,
	.reset = hidden_memory_rule_reset,
	.destroy = hidden_memory_rule_destroy,
};
