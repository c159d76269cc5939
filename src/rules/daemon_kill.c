/* Kills by daemons that watch memory, as systemd-oomd does: the kernel counts none of them. */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/oom/oom.h"
#include "rules/facts.h"
#include "rules/rules.h"

#define SIGNAL_KILL 9
#define LAST 32 /* processes of a group that are asked to end before the first is killed */

/* Who ended what: a finding for each. */
struct ender {
	u64 cgroup;
	char comm[COMM_LEN];
};

struct ended {
	u32 largest, processes;
	u32 last[LAST]; /* victims, in turn */
	u64 rss_pages, swap_pages, largest_pages;
	bool killed;         /* not only asked to end */
	char comm[COMM_LEN]; /* of the largest */
};

static int daemon_kill_rule_init(void *v, const struct view_options *o, struct err *err)
{
	(void)o;
	(void)err;
	rule_sums_init(v, sizeof(struct ender), sizeof(struct ended));
	return 0;
}

static int daemon_kill_rule_feed(void *v, const struct rec *rec)
{
	const struct daemon_kill *r = (const void *)rec;
	struct rule_sums *s = v;
	struct ender key = {};
	struct ended *e;

	if (rec->kind != REC_DAEMON_KILL)
		return facts_feed(&s->facts, rec);
	key.cgroup = r->victim_cgroup;
	memcpy(key.comm, r->comm, sizeof(key.comm) - 1);
	e = groups_get(&s->by, &key);
	if (!e)
		return -ENOMEM;
	e->killed |= r->signal == SIGNAL_KILL;
	for (int i = 0; i < LAST; i++)
		if (e->last[i] == r->victim_tgid) /* asked to end, then killed */
			return 0;
	e->last[e->processes++ % LAST] = r->victim_tgid;
	e->rss_pages += r->rss_pages;
	e->swap_pages += r->swap_pages;
	if (r->rss_pages + r->swap_pages >= e->largest_pages) {
		e->largest_pages = r->rss_pages + r->swap_pages;
		e->largest = r->victim_tgid;
		memcpy(e->comm, r->victim_comm, sizeof(e->comm) - 1);
	}
	return 0;
}

static void settings_tell(struct report *r, struct finding *x, const struct ender *who)
{
	bool oomd = !strncmp(who->comm, "systemd-oomd", COMM_LEN);

	x->why = "Such a daemon kills processes before the kernel's OOM killer would, by its own "
		 "rules: how long tasks waited for memory, and how full swap is. The kernel "
		 "neither counts nor logs these kills.";
	if (oomd) {
		finding_line(r, x->try_, "See why, and which cgroups it may choose from:");
		finding_line(r, x->try_, "`journalctl -u systemd-oomd --since -10min; oomctl`");
		finding_line(r, x->try_,
			"If others should be killed first, set ManagedOOMPreference=avoid under "
			"[Service] in:");
		finding_line(r, x->try_, "`systemctl edit UNIT`");
		finding_line(r, x->undo, "Remove that line again: `systemctl edit UNIT`");
	} else {
		finding_line(r, x->try_, "See why:");
		finding_line(r, x->try_, "`journalctl -u %.16s --since -10min`", who->comm);
		finding_line(r, x->undo, "Nothing to undo.");
	}
	finding_line(r, x->verify, "If memwhy serve runs, this shows no further daemon-kill:");
	finding_line(r, x->verify, "`memwhy incidents`");
}

static void daemon_kill_tell(
	struct report *r, const struct rule_sums *s, const struct ender *who, const struct ended *e)
{
	struct finding *x =
		report_finding(r, e->killed ? LEVEL_CRITICAL : LEVEL_WARNING, "daemon-kill");
	u64 page = MAX(r->stream->host.page_bytes, 1U);
	const char *path = stream_cgroup(r->stream, who->cgroup);
	char a[UNIT_BUF], b[UNIT_BUF];

	if (!x)
		return;
	x->cgroup = who->cgroup;
	x->tgid = e->largest;
	x->title = report_text(r, "%.16s %s %.16s (pid %u)%s%s%s", who->comm,
		e->killed ? "killed" : "terminated:", e->comm, e->largest,
		e->processes > 1 ? report_text(r, " and %u more", e->processes - 1) : "",
		path ? " of cgroup " : "", path ? report_cgroup(r, path) : "");
	x->confidence = "medium: it was seen sending the signals, with the right to signal any "
			"process; that it is this daemon is known from its thread name";
	finding_line(r, x->evidence, "%u process%s: %s resident, %s in swap", e->processes,
		e->processes == 1 ? "" : "es", fmt_bytes(a, e->rss_pages * page),
		fmt_bytes(b, e->swap_pages * page));
	if (facts_known(&s->facts, "MemAvailable"))
		finding_line(r, x->evidence, "%s of memory is available now",
			fmt_bytes(a, facts_last(&s->facts, "MemAvailable")));
	settings_tell(r, x, who);
}

static int daemon_kill_rule_report(void *v, struct report *r)
{
	const struct rule_sums *s = v;

	for (size_t i = 0; i < s->by.n; i++)
		daemon_kill_tell(r, s, groups_key(&s->by, i), groups_value(&s->by, i));
	return 0;
}

const struct view rule_daemon_kill =
	SUMS_RULE(daemon_kill_rule_init, daemon_kill_rule_feed, daemon_kill_rule_report);
