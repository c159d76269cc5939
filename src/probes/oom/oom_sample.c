/* See oom_sample.h. */
#include "probes/oom/oom_sample.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "capture/gfp_names.h"
#include "capture/names/names.h"
#include "probes/oom/oom.h"
#include "sys/kernel/kmsg.h"
#include "sys/memory/oomlog.h"
#include "sys/memory/zoneinfo.h"
#include "sys/rights.h"
#include "sys/root.h"
#include "sys/scan.h"

#define EVERY_NS (100 * NSEC_PER_MSEC)
#define ZONES_NS NSEC_PER_SEC
#define WAITED 64   /* victims whose end is waited for */
#define LINES 20000 /* of the log, at one time: it holds fewer */

struct sample {
	struct kmsg *kmsg; /* NULL: cannot be read */
	struct kmsg_record record;
	struct oomlog log;
	struct zoneinfo zones;
	VEC(struct oom_zone) sent;
	u64 zones_ns;
	struct pollfd waited[WAITED];
	u32 victims[WAITED];
	u32 n_waited;
	bool told_gap;
};

int oom_state_send(struct capture *c, u32 victim_tid)
{
	struct oom_state r = REC_INIT(struct oom_state, REC_OOM_STATE, 0);
	_cleanup_str_ struct str text = {};
	double load[3];
	struct scan s;

	r.victim_tid = victim_tid;
	if (sys_read(&text, "/proc/loadavg"))
		return 0;
	s = scan_text(str_get(&text));
	if (!scan_decimal(&s, &load[0]) || !scan_decimal(&s, &load[1]) ||
		!scan_decimal(&s, &load[2]) || !scan_u32(&s, UINT32_MAX, &r.runnable) ||
		!scan_lit(&s, "/") || !scan_u32(&s, UINT32_MAX, &r.tasks) ||
		!scan_u32(&s, UINT32_MAX, &r.last_pid))
		return 0;
	r.load1 = (u32)(load[0] * 100 + 0.5);
	r.load5 = (u32)(load[1] * 100 + 0.5);
	r.load15 = (u32)(load[2] * 100 + 0.5);
	return capture_emit(c, &r.h);
}

static u32 oom_sample_why_of(const struct oomlog_kill *k)
{
	static const char *const names[] = {"NONE", "CPUSET", "MEMORY_POLICY", "MEMCG"};

	for (u32 i = 0; i < ARRAY_SIZE(names) && k->known & OOMLOG_CHOICE; i++)
		if (!strcmp(k->constraint, names[i]))
			return i;
	return k->known & OOMLOG_MEMCG ? OOM_WHY_MEMCG : OOM_WHY_UNKNOWN;
}

static int report_send(struct capture *c, const struct oomlog_kill *k, u32 flags)
{
	static const u32 same[][2] = {
		{OOMLOG_ASKED, OOM_REPORT_ASKED},
		{OOMLOG_ASKER, OOM_REPORT_ASKER_ID},
		{OOMLOG_CHOICE, OOM_REPORT_CHOICE},
		{OOMLOG_USAGE, OOM_REPORT_USAGE},
		{OOMLOG_SWAP, OOM_REPORT_SWAP},
		{OOMLOG_GROUP, OOM_REPORT_GROUP},
		{OOMLOG_ALLOCATING, OOM_REPORT_ALLOCATING},
	};
	struct oom_report r = REC_INIT(struct oom_report, REC_OOM_REPORT, 0);

	r.flags = flags;
	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		r.flags |= k->known & same[i][0] ? same[i][1] : 0;
	r.tid = k->pid;
	r.gfp = (u32)k->gfp;
	r.order = k->order;
	r.adj = k->adj;
	r.why = oom_sample_why_of(k);
	r.victim_adj = k->victim_adj;
	r.victim_tid = k->victim_pid;
	r.victim_uid = k->victim_uid;
	r.total_vm_bytes = k->total_vm_bytes;
	r.anon_bytes = k->anon_bytes;
	r.file_bytes = k->file_bytes;
	r.shmem_bytes = k->shmem_bytes;
	r.page_table_bytes = k->page_table_bytes;
	r.usage_bytes = k->usage_bytes;
	r.limit_bytes = k->limit_bytes;
	r.failcnt = k->failcnt;
	r.swap_usage_bytes = k->swap_usage_bytes;
	r.swap_limit_bytes = k->swap_limit_bytes;
	memcpy(r.comm, k->comm, sizeof(r.comm));
	memcpy(r.victim_comm, k->victim_comm, sizeof(r.victim_comm));
	memcpy(r.oom_path, k->oom_path, sizeof(r.oom_path));
	memcpy(r.victim_path, k->victim_path, sizeof(r.victim_path));
	return capture_emit(c, &r.h);
}

static int oom_sample_task_send(struct capture *c, const struct oomlog_task *t)
{
	struct oom_task r = REC_INIT(struct oom_task, REC_OOM_TASK, 0);

	r.tgid = t->tgid;
	r.uid = t->uid;
	r.adj = t->adj;
	r.total_vm_pages = t->total_vm_pages;
	r.rss_pages = t->rss_pages;
	r.swap_pages = t->swap_pages;
	r.page_table_bytes = t->page_table_bytes;
	memcpy(r.comm, t->comm, sizeof(r.comm));
	return capture_emit(c, &r.h);
}

static int zone_send(struct capture *c, const struct oomlog_zone *z)
{
	struct oom_zone r = REC_INIT(struct oom_zone, REC_OOM_ZONE, 0);

	r.flags = z->orders ? OOM_ZONE_BLOCKS : 0;
	r.node = z->id.node;
	memcpy(r.zone, z->id.zone, sizeof(r.zone));
	r.free_bytes = z->free_bytes;
	r.min_bytes = z->min_bytes;
	r.low_bytes = z->low_bytes;
	r.high_bytes = z->high_bytes;
	r.managed_bytes = z->managed_bytes;
	r.orders = z->orders;
	memcpy(r.free_blocks, z->blocks, sizeof(r.free_blocks));
	return capture_emit(c, &r.h);
}

static int ledger_send(struct capture *c, const struct oomlog *log)
{
	struct oom_ledger r = REC_INIT(struct oom_ledger, REC_OOM_LEDGER, 0);
	struct oomlog_ledger l;

	if (!oomlog_ledger(log, (u64)sysconf(_SC_PAGESIZE), &l))
		return 0;
	r.of_group = l.of_group;
	r.known = l.known;
	r.total_bytes = l.total_bytes;
	memcpy(r.bytes, l.bytes, sizeof(l.bytes));
	return capture_emit(c, &r.h);
}

_Static_assert(OOMLOG_ROWS <= OOM_LEDGER_ROWS, "room for all rows");

/* The report of a kill comes last: what it is made of belongs to it. */
static int kill_send(struct capture *c, const struct oomlog *l, u32 flags)
{
	int rc = ledger_send(c, l);

	for (u32 i = 0; i < l->n_zones && !rc; i++)
		rc = zone_send(c, &l->zones[i]);
	for (u32 i = 0; i < l->n_tasks && !rc; i++)
		rc = oom_sample_task_send(c, &l->tasks[i]);
	return rc ? rc : report_send(c, &l->kill, flags);
}

static int freed_send(struct capture *c, u32 victim, u32 how)
{
	struct oom_freed r = REC_INIT(struct oom_freed, REC_OOM_FREED, 0);

	r.victim_tid = victim;
	r.how = how;
	return capture_emit(c, &r.h);
}

/* A victim's address space is gone before its end shows. */
static int victim_wait(struct capture *c, struct sample *s, u32 tid)
{
	int fd = (int)syscall(SYS_pidfd_open, tid, 0);

	if (fd < 0 && errno == ESRCH)
		return freed_send(c, tid, OOM_FREED_EXIT);
	if (fd < 0 || s->n_waited == WAITED) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	s->waited[s->n_waited] = (struct pollfd){.fd = fd, .events = POLLIN};
	s->victims[s->n_waited++] = tid;
	return 0;
}

static int victims_look(struct capture *c, struct sample *s)
{
	int rc = 0;

	if (!s->n_waited || poll(s->waited, s->n_waited, 0) <= 0)
		return 0;
	for (u32 i = s->n_waited; i-- > 0 && !rc;) {
		if (!s->waited[i].revents)
			continue;
		close(s->waited[i].fd);
		rc = freed_send(c, s->victims[i], OOM_FREED_EXIT);
		s->waited[i] = s->waited[--s->n_waited];
		s->victims[i] = s->victims[s->n_waited];
	}
	return rc;
}

static int drop_send(struct capture *c, const struct drop_line *d)
{
	struct caches_dropped r = REC_INIT(struct caches_dropped, REC_CACHES_DROPPED, 0);

	r.tgid = d->pid;
	r.what = d->what;
	snprintf(r.comm, sizeof(r.comm), "%s", d->comm);
	names_task(c->names, r.tgid, 0, r.comm, 0);
	return capture_emit(c, &r.h);
}

static int oom_sample_line_take(struct capture *c, struct sample *s)
{
	struct drop_line drop;

	if (s->record.priority >= 8)
		return 0; /* not the kernel's: a program wrote it to /dev/kmsg */
	if (drop_line_parse(s->record.text, &drop))
		return drop_send(c, &drop);
	switch (oomlog_feed(&s->log, s->record.text)) {
	case OOMLOG_KILL: {
		int rc = kill_send(c, &s->log, OOM_REPORT_KILLED);

		return rc ? rc : victim_wait(c, s, s->log.kill.victim_pid);
	}
	case OOMLOG_NO_VICTIM:
		return kill_send(c, &s->log, OOM_REPORT_NO_VICTIM);
	case OOMLOG_REAPED:
		return freed_send(c, s->log.reaped, OOM_FREED_REAPER);
	default:
		return 0;
	}
}

static int lines_read(struct capture *c, struct sample *s)
{
	int rc = 0, got = 1;

	if (s->kmsg && c->ending)
		kmsg_hurry(s->kmsg);
	for (int i = 0; i < LINES && !rc && s->kmsg; i++) {
		got = kmsg_read(s->kmsg, &s->record);
		if (got == 1)
			rc = oom_sample_line_take(c, s);
		else if (got != -EPIPE)
			return 0;
		else if (!s->told_gap) {
			s->told_gap = true;
			rc = capture_note(c, NOTE_WARNING,
				"the kernel's log ran over: its words on some kills are missing");
		}
	}
	return rc;
}

static struct oom_zone *zone_known(struct sample *s, const struct zone_id *id)
{
	vec_each (z, &s->sent)
		if (z->node == id->node && !strcmp(z->zone, id->zone))
			return z;
	return NULL;
}

static int zone_sample(struct capture *c, struct sample *s, const struct zoneinfo_zone *z)
{
	struct oom_zone r = REC_INIT(struct oom_zone, REC_OOM_ZONE, 0);
	struct oom_zone *known = zone_known(s, &z->id);
	u64 page = (u64)sysconf(_SC_PAGESIZE);
	int rc;

	r.flags = OOM_ZONE_SAMPLED;
	r.node = z->id.node;
	memcpy(r.zone, z->id.zone, sizeof(r.zone));
	r.free_bytes = z->free_pages * page;
	r.min_bytes = z->min_pages * page;
	r.low_bytes = z->low_pages * page;
	r.high_bytes = z->high_pages * page;
	r.managed_bytes = z->managed_pages * page;
	if (known && !memcmp(known, &r, sizeof(r)))
		return 0;
	rc = known ? 0 : vec_push(&s->sent, r);
	if (known)
		*known = r;
	return rc ? rc : capture_emit(c, &r.h);
}

static int zones_sample(struct capture *c, struct sample *s)
{
	u64 now = clock_mono_ns();
	int rc = 0;

	if (c->opt.gentle || now < s->zones_ns || zoneinfo_read(&s->zones))
		return 0;
	s->zones_ns = now + ZONES_NS;
	for (size_t i = 0; i < s->zones.zones.n && !rc; i++)
		if (s->zones.zones.v[i].present_pages)
			rc = zone_sample(c, s, &s->zones.zones.v[i]);
	return rc;
}

static int oom_sample(struct capture *c, void *state)
{
	struct sample *s = state;
	int rc = lines_read(c, s);

	if (!rc)
		rc = victims_look(c, s);
	return rc ? rc : zones_sample(c, s);
}

/* @log, or where it is NULL why there is none. */
static int log_tell(struct capture *c, const struct kmsg *log, int rc)
{
	char why[96];

	if (log)
		return capture_method(c, OOM_LOG_DATA, kmsg_name(log), NULL);
	snprintf(why, sizeof(why), "/dev/kmsg: %s", strerror(-rc));
	/* Kills are seen without it: what is missing is no reason to doubt their number. */
	return capture_missing(c, OOM_LOG_DATA, why, rights_are_root() ? NULL : rights_needs());
}

/* Kills from before: whoever comes after one wants to know of it. */
struct past {
	u32 kills;
	u64 last_us;
	struct oomlog_kill last;
};

static void past_read(struct sample *s, struct past *ret)
{
	struct kmsg *log = NULL;
	int rc = kmsg_open(KMSG_OLDEST, &log), got = 1;

	for (int i = 0; i < LINES && !rc && got; i++) {
		got = kmsg_read(log, &s->record);
		if (got < 0 && got != -EPIPE)
			break;
		if (got != 1 || s->record.priority >= 8 ||
			oomlog_feed(&s->log, s->record.text) != OOMLOG_KILL)
			continue;
		ret->kills++;
		ret->last_us = s->record.time_us;
		ret->last = s->log.kill;
	}
	kmsg_close(log);
	memset(&s->log, 0, sizeof(s->log));
}

static bool is_of_all(const struct scope *s)
{
	return !s->by_task && !s->tasks.n && !*s->comm && !s->cgroup_id;
}

static int past_tell(struct capture *c, struct sample *s)
{
	struct past past = {};
	struct tm tm;
	char at[32];
	time_t when;

	past_read(s, &past);
	if (!past.kills)
		return 0;
	when = (time_t)((clock_wall_ns() - clock_mono_ns() + past.last_us * NSEC_PER_USEC) /
			NSEC_PER_SEC);
	strftime(at, sizeof(at), "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&when, &tm));
	/* The path last: a container's is long, and a note is cut at its end. */
	return capture_note(c, NOTE_INFO,
		"before this, the kernel's log has %u OOM kill%s, the last about %s: %s (%u); its "
		"report: dmesg -T | grep -B60 'Killed process %u'%s%s",
		past.kills, past.kills == 1 ? "" : "s", at, past.last.victim_comm,
		past.last.victim_pid, past.last.victim_pid,
		past.last.known & OOMLOG_CHOICE ? "; its group: " : "",
		past.last.known & OOMLOG_CHOICE ? past.last.victim_path : "");
}

static int oom_open(struct capture *c, void *state, struct err *err)
{
	struct sample *s = state;
	int rc;

	rc = kmsg_open(KMSG_NOW, &s->kmsg);
	rc = log_tell(c, s->kmsg, rc);
	if (!rc && capture_named(c) && is_of_all(&c->opt.scope))
		rc = past_tell(c, s);
	if (!rc)
		rc = gfp_tell(c, true);
	return rc ? err_errno(err, rc, "oom") : 0;
}

static void oom_close(void *state)
{
	struct sample *s = state;

	kmsg_close(s->kmsg);
	for (u32 i = 0; i < s->n_waited; i++)
		close(s->waited[i].fd);
	zoneinfo_free(&s->zones);
	vec_free(&s->sent);
}

static int oom_sample_survey(struct capture *c)
{
	struct kmsg *log = NULL;
	int rc = kmsg_open(KMSG_NOW, &log);

	rc = log_tell(c, log, rc);
	kmsg_close(log);
	return rc ? rc : gfp_tell(c, false);
}

const struct probe_sampler oom_sampler = {
	.size = sizeof(struct sample),
	.every_ns = EVERY_NS,
	.open = oom_open,
	.sample = oom_sample,
	.close = oom_close,
	.survey = oom_sample_survey,
};
