/* What to change where a call fails for a limit. See limits.h. */
#include "rules/limits.h"

#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "probes/maps/maps.h"

#define HUGE_BYTES (2ULL << 20)
#define PID_MOST (4ULL << 20) /* PID_MAX_LIMIT */

bool limit_is_of_memory(u8 why)
{
	return why == MAPS_WHY_MAP_COUNT || why == MAPS_WHY_AS || why == MAPS_WHY_DATA ||
	       why == MAPS_WHY_MEMLOCK || why == MAPS_WHY_STRICT || why == MAPS_WHY_OBVIOUS ||
	       why == MAPS_WHY_HUGETLB || why == MAPS_WHY_FULL;
}

const char *const *limit_ipc(const struct failure *f)
{
	static const char *const kinds[][3] = {
		{"segments", "kernel.shmmni", ", or as much memory in them as kernel.shmall"},
		{"semaphore sets", "kernel.sem", ""}, {"message queues", "kernel.msgmni", ""}};

	return kinds[f->number == 64 ? 1 : f->number == 68 ? 2 : 0];
}

/* A command that ends in a number. */
#define CHANGE(r_, x_, command_, next_, now_)                                  \
	({                                                                     \
		finding_line((r_), (x_)->try_, "`" command_ "%llu`", (next_)); \
		finding_line((r_), (x_)->undo, "`" command_ "%llu`", (now_));  \
	})

/* Room for one call more, and some beside. */
static u64 asked_room(const struct failure *f)
{
	return f->asked / 4 * 5;
}

/* Limit%s= of a unit is the option in capitals. */
static const char *unit_text(struct report *r, const char *option)
{
	char name[16] = "";

	for (size_t i = 0; option[i] && i < sizeof(name) - 1; i++)
		name[i] = (char)(option[i] - ('a' - 'A'));
	return report_text(r, "Limit%s=", name);
}

static bool is_young(const struct failure *f)
{
	return f->ended || (f->start_ns && f->start_ns + YOUNG_NS > f->last_ns);
}

/* Is it gone, most likely, before anybody reads of it? One after the other met the limit. */
static bool is_short(const struct failure *f)
{
	return f->ended || (is_young(f) && f->others);
}

/* Nothing behind the colon: the hard limit stays. It has to be raised with the other where it is
 * lower, which few may. */
static void prlimit_command(struct report *r, struct finding *x, u32 tgid, const char *option,
	u64 next, u64 soft, u64 hard)
{
	if (hard && hard < next) {
		finding_line(r, x->try_,
			"The hard limit is %llu. Exceeding it needs CAP_SYS_RESOURCE, which root "
			"in a container usually lacks:",
			hard);
		finding_line(
			r, x->try_, "`prlimit --pid %u --%s=%llu:%llu`", tgid, option, next, next);
		finding_line(
			r, x->undo, "`prlimit --pid %u --%s=%llu:%llu`", tgid, option, soft, hard);
	} else {
		finding_line(r, x->try_, "`prlimit --pid %u --%s=%llu:`", tgid, option, next);
		finding_line(r, x->undo, "`prlimit --pid %u --%s=%llu:`", tgid, option, soft);
	}
}

/* The unit of systemd that a group is of: "app.service"; NULL: of none. */
static const char *unit_of(struct report *r, u64 cgroup)
{
	const char *path = stream_cgroup(r->stream, cgroup), *unit = NULL;
	size_t len = 0;

	for (const char *at = path; at && *at; at = *at ? at + 1 : at) {
		size_t n = strcspn(at, "/");

		if (n > 8 && !strncmp(at + n - 8, ".service", 8)) {
			unit = at;
			len = n;
		}
		at += n;
	}
	return unit ? report_text(r, "%.*s", (int)len, unit) : NULL;
}

static void unit_change(
	struct report *r, struct finding *x, const char *unit, const char *option, u64 next)
{
	finding_line(r, x->try_,
		"Permanently: put %s%llu into the [Service] section of %s, and restart it: "
		"`systemctl edit %s`",
		unit_text(r, option), next, unit, unit);
}

/* The option of the shell's ulimit. *ret_value: in its unit. */
static const char *ulimit_option(const char *option, u64 next, u64 *ret_value)
{
	static const struct {
		const char *option, *letter;
		u64 unit;
	} letters[] = {{"as", "v", 1024}, {"data", "d", 1024}, {"memlock", "l", 1024},
		{"nofile", "n", 1}, {"nproc", "u", 1}, {"sigpending", "i", 1}};
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(letters) && strcmp(letters[i].option, option) != 0)
		i++;
	*ret_value = next / letters[i].unit;
	return letters[i].letter;
}

/* One that is new has its limits from who started it, or sets them itself. */
static void starter_change(
	struct report *r, struct finding *x, const struct failure *f, const char *option, u64 next)
{
	const char *now =
		f->parent_soft == UINT64_MAX ? "none" : report_text(r, "%llu", f->parent_soft);
	const char *parent = held_text(r, f->parent);
	u64 value;
	const char *letter = ulimit_option(option, next, &value);

	if (f->parent_tgid <= 1)
		return;
	if (f->parent_soft == f->limit) {
		finding_line(r, x->try_,
			"The process inherits its limit from %s (pid %u), which started it. Raise "
			"the limit there, for all that it starts from then on:",
			parent, f->parent_tgid);
		prlimit_command(r, x, f->parent_tgid, option, next, f->parent_soft, f->parent_hard);
		finding_line(r, x->try_,
			"If that is a script, put this before the command: `ulimit -%s %llu`",
			letter, value);
		return;
	}
	finding_line(r, x->try_,
		"%s (pid %u), which started the process, has another limit (%s). Something between "
		"them sets it: look for ulimit, prlimit or setrlimit() in what it runs, and set "
		"%llu (in a shell: `ulimit -%s %llu`).",
		parent, f->parent_tgid, now, next, letter, value);
}

static void prlimit_change(
	struct report *r, struct finding *x, const struct failure *f, const char *option, u64 next)
{
	const char *unit = unit_of(r, f->cgroup);

	if (is_short(f))
		finding_line(r, x->try_,
			f->ended ? "The process has ended: change the limit where such processes "
				   "are started."
				 : "Such processes are short-lived: change the limit where they "
				   "are started.");
	else
		finding_line(r, x->try_, "For this process, while it runs:");
	if (!is_short(f))
		prlimit_command(r, x, f->tgid, option, next, f->limit, f->hard);
	if (unit)
		unit_change(r, x, unit, option, next);
	if (is_young(f))
		starter_change(r, x, f, option, next);
	if (!unit)
		finding_line(r, x->try_,
			"Permanently: set %s in the unit that starts it, the item %s in "
			"/etc/security/limits.conf for users who log in, or --ulimit %s= for a "
			"container.",
			unit_text(r, option), option, option);
}

static void rlimit_change(
	struct report *r, struct finding *x, const struct failure *f, const char *option)
{
	prlimit_change(
		r, x, f, option, MAX(f->limit * 2, (f->limit + asked_room(f) + 4095) & ~4095ULL));
}

/* CommitLimit is this part of memory, and swap (Documentation/mm/overcommit-accounting.rst). */
static u64 strict_ratio(const struct facts *f, u64 ratio, u64 needed)
{
	u64 limit = facts_last(f, "CommitLimit"), swap = facts_last(f, "SwapTotal");
	u64 of_percent = ratio && limit > swap ? (limit - swap) / ratio : 0;

	if (!of_percent || needed < limit)
		return MIN(ratio + 20, 100ULL);
	return MAX((needed - swap) / of_percent + 1, ratio + 20);
}

static u64 terminals(const struct held_process *p)
{
	return p->terminals;
}

static u64 data_bytes(const struct held_process *p)
{
	return p->data_bytes;
}

/* Of one mount it is a process that may have as many: which mount theirs are of is not known. */
static struct held_top terminals_most(const struct held *h, const struct failure *f)
{
	struct held_top t = f->where ? held_most_process(h, terminals) : held_most(h, terminals);

	return t.bytes <= f->limit ? t : (struct held_top){};
}

const char *limits_holder(struct report *r, const struct held *h, u8 why, const struct failure *f)
{
	struct held_top t = {};
	char a[UNIT_BUF], b[UNIT_BUF];

	if (why == MAPS_WHY_TERMINALS)
		t = terminals_most(h, f);
	else if (why == MAPS_WHY_STRICT)
		t = held_most(h, data_bytes);
	if (!t.most)
		return "";
	if (why == MAPS_WHY_TERMINALS)
		return report_text(r, "; %s has the most open, %llu", held_who(r, &t), t.bytes);
	return report_text(r, "; %s has most of it, %s of %s", held_who(r, &t),
		fmt_bytes(a, t.bytes), fmt_bytes(b, facts_last(&h->facts, "Committed_AS")));
}

/* Who has what is promised, touched or not. */
static void strict_tell(struct report *r, struct finding *x, const struct held *h)
{
	struct held_top t = held_most(h, data_bytes), next = held_next(h, data_bytes, &t);
	char a[UNIT_BUF], b[UNIT_BUF];

	if (!t.most)
		return;
	finding_line(r, x->evidence,
		"private writable memory, touched or not (VmData and VmStk): %s has %s, of which "
		"%s is resident",
		held_name(r, &t.most->last), fmt_bytes(a, t.most->last.data_bytes),
		fmt_bytes(b, t.most->last.rss_bytes));
	if (next.most)
		finding_line(
			r, x->evidence, "%s has %s", held_who(r, &next), fmt_bytes(a, next.bytes));
	finding_line(r, x->try_,
		"Map less in pid %u (a JVM: a smaller -Xmx), or map what it does not need yet with "
		"PROT_NONE; MAP_NORESERVE has no effect in this mode. Its largest mappings:",
		t.most->last.tgid);
	finding_line(r, x->try_, "`pmap -x %u | sort -k2 -rn | head`", t.most->last.tgid);
}

static void strict_change(
	struct report *r, struct finding *x, const struct facts *f, const struct failure *failed)
{
	u64 kib = facts_last(f, "vm.overcommit_kbytes"),
	    ratio = facts_last(f, "vm.overcommit_ratio"),
	    needed = facts_last(f, "Committed_AS") + asked_room(failed);
	char a[UNIT_BUF], b[UNIT_BUF];

	finding_line(r, x->evidence, "Committed_AS %s of CommitLimit %s",
		fmt_bytes(a, facts_last(f, "Committed_AS")),
		fmt_bytes(b, facts_last(f, "CommitLimit")));
	if (kib)
		CHANGE(r, x, "sysctl -w vm.overcommit_kbytes=",
			MAX(kib / 4 * 5, kib + asked_room(failed) / 1024), kib);
	else
		CHANGE(r, x, "sysctl -w vm.overcommit_ratio=", strict_ratio(f, ratio, needed),
			ratio);
	finding_line(r, x->try_,
		"Or add swap, which raises the limit; or use the kernel's default overcommit:");
	CHANGE(r, x, "sysctl -w vm.overcommit_memory=", 0ULL, 2ULL);
}

/* How many pages of the pool the call would have taken; of the default size, as most ask for. */
static void pool_change(struct report *r, struct finding *x, const struct facts *f, u64 asked)
{
	u64 now = facts_last(f, "hugepages/2M/nr"),
	    missing = asked / HUGE_BYTES + !!(asked % HUGE_BYTES);

	if (!asked || !facts_known(f, "hugepages/2M/nr")) {
		finding_line(r, x->try_, "Enlarge the pool. Its size: `sysctl vm.nr_hugepages`");
		return;
	}
	finding_line(r, x->try_, "Add the %llu huge pages that one such call needs:", missing);
	CHANGE(r, x, "sysctl -w vm.nr_hugepages=", now + missing, now);
}

static void tasks_change(struct report *r, struct finding *x, const struct failure *f)
{
	if (f->where) {
		finding_line(r, x->try_, "`echo %llu > %s`", f->limit * 2, held_text(r, f->where));
		finding_line(r, x->undo, "`echo %llu > %s`", f->limit, held_text(r, f->where));
	} else {
		finding_line(r, x->try_,
			"No limit was near a moment later. Candidates: `grep processes "
			"/proc/%u/limits`, `sysctl kernel.threads-max kernel.pid_max`, pids.max of "
			"its control groups",
			f->tgid);
	}
}

static u64 threads(const struct held_process *p)
{
	return p->threads;
}

/* Can so many tasks of tgid be what the limit is about? Of a group it is those that are in it. */
static bool makes_up(u32 why, const struct failure *f, u32 tgid, u64 tasks)
{
	return tasks > 1 && tasks * 4 >= f->limit &&
	       (why != MAPS_WHY_TASKS || tgid == f->tgid || !f->limit);
}

static const struct held_children *parent_of_most(
	u32 why, const struct failure *f, const struct held *h)
{
	const struct held_children *most = NULL;

	for (size_t i = 0; i < h->parents.n; i++) {
		const struct held_children *c = groups_value(&h->parents, i);

		if (makes_up(why, f, c->tgid, c->threads) && (!most || c->threads > most->threads))
			most = c;
	}
	return most;
}

static void children_tell(
	struct report *r, struct finding *x, const struct held_children *c, const char *all)
{
	finding_line(r, x->evidence,
		"%s the children of %s (pid %u) have the most threads, %llu in %llu processes%s",
		all, held_text(r, c->name), c->tgid, c->threads, c->children,
		!c->zombies                 ? ""
		: c->zombies == c->children ? ", all zombies"
					    : report_text(r, ", %llu of them zombies", c->zombies));
	if (c->zombies * 4 >= c->children)
		finding_line(r, x->try_,
			"First make %s (pid %u) wait for children that end (waitpid() on SIGCHLD, "
			"or SA_NOCLDWAIT), or restart it: a higher limit fills in the same way.",
			held_text(r, c->name), c->tgid);
}

/* Who has so many: they may be of another program than the one that is refused. */
static void tasks_tell(
	struct report *r, struct finding *x, u32 why, const struct failure *f, const struct held *h)
{
	struct held_top most = held_most(h, threads);
	const struct held_children *parent = parent_of_most(why, f, h);
	const char *all =
		r->scoped || h->totals.status_cut ? "of the processes seen" : "on this machine";

	if (makes_up(why, f, most.most ? most.most->last.tgid : 0, most.bytes))
		finding_line(r, x->evidence, "%s %s has the most threads, %llu", all,
			held_who(r, &most), most.bytes);
	if (parent)
		children_tell(r, x, parent, all);
	if (!f->where)
		finding_line(r, x->try_,
			"See who has the most: `ps -eo user,pid,nlwp,comm --sort=-nlwp | head`");
}

static void tasks_of_machine_change(
	struct report *r, struct finding *x, const struct failure *f, bool numbers)
{
	if (numbers)
		CHANGE(r, x, "sysctl -w kernel.pid_max=", MIN(f->limit * 2, PID_MOST), f->limit);
	else
		CHANGE(r, x, "sysctl -w kernel.threads-max=", f->limit * 2, f->limit);
}

static void tasks_of_user_change(struct report *r, struct finding *x, const struct failure *f)
{
	prlimit_change(r, x, f, "nproc", MAX(f->limit * 2, 1ULL));
	finding_line(r, x->try_, "All processes of the user count, whatever program they run.");
}

static void files_change(struct report *r, struct finding *x, const struct failure *f)
{
	finding_line(r, x->try_, "See what it has open: `ls -l /proc/%u/fd | tail`", f->tgid);
	finding_line(r, x->try_, "If it needs that many:");
	prlimit_change(r, x, f, "nofile", MAX(f->limit * 2, 1ULL));
}

static void full_change(struct report *r, struct finding *x, const struct failure *f)
{
	if (!f->where || !f->limit) {
		finding_line(r, x->try_, "See which one, and what is in it: `df -h -t tmpfs`");
		return;
	}
	finding_line(r, x->try_, "Remove what is not needed there, or enlarge it:");
	finding_line(r, x->try_, "`nsenter -t %u -m mount -o remount,size=%lluk %s`", f->tgid,
		f->limit * 2 / 1024, held_text(r, f->where));
	finding_line(r, x->undo, "`nsenter -t %u -m mount -o remount,size=%lluk %s`", f->tgid,
		f->limit / 1024, held_text(r, f->where));
	finding_line(r, x->try_,
		"For a container: set a larger --shm-size, or an emptyDir with medium Memory and a "
		"larger sizeLimit.");
}

static void inodes_change(struct report *r, struct finding *x, const struct failure *f)
{
	const char *where = held_text(r, f->where);

	finding_line(r, x->try_, "See where so many are, and remove what is not needed:");
	finding_line(r, x->try_, "`nsenter -t %u -m du --inodes -x %s | sort -rn | head`", f->tgid,
		where);
	finding_line(r, x->try_, "Or allow twice as many (each takes about 1 KiB of memory):");
	finding_line(r, x->try_, "`nsenter -t %u -m mount -o remount,nr_inodes=%llu %s`", f->tgid,
		f->limit * 2, where);
	finding_line(r, x->undo, "`nsenter -t %u -m mount -o remount,nr_inodes=%llu %s`", f->tgid,
		f->limit, where);
}

static void terminals_change(
	struct report *r, struct finding *x, const struct failure *f, const struct held *h)
{
	struct held_top t = terminals_most(h, f);

	if (t.most) {
		finding_line(r, x->evidence,
			"%s has %llu open (/dev/ptmx), all processes %llu, in any mount",
			held_who(r, &t), t.bytes, t.all);
		finding_line(r, x->try_,
			"Close those whose sessions have ended, or end the process; which they "
			"are:");
		finding_line(
			r, x->try_, "`grep -H tty-index /proc/%u/fdinfo/*`", t.most->last.tgid);
	} else {
		finding_line(r, x->try_,
			"See who has them open: `ls -l /proc/[0-9]*/fd | grep -c ptmx`");
	}
	finding_line(r, x->try_, "Or allow twice as many:");
	if (f->where) {
		finding_line(r, x->try_, "`nsenter -t %u -m mount -o remount,max=%llu %s`", f->tgid,
			f->limit * 2, held_text(r, f->where));
		finding_line(r, x->undo, "`nsenter -t %u -m mount -o remount,max=%llu %s`", f->tgid,
			f->limit, held_text(r, f->where));
	} else {
		u64 max = f->hard ?: f->limit; /* some of which are for the first namespace */

		CHANGE(r, x, "sysctl -w kernel.pty.max=", max * 2, max);
	}
}

/* Limits of the machine that a sysctl sets: its present value is not in the records. */
static void sysctl_change(struct report *r, struct finding *x, const char *name)
{
	finding_line(r, x->try_, "See the limit, and double it if so many are needed:");
	finding_line(r, x->try_, "`sysctl %s`", name);
	finding_line(r, x->try_, "Or find out who keeps ones it no longer needs.");
}

/* The limits are those of its namespace: a container has its own. */
static void ipc_change(struct report *r, struct finding *x, const struct failure *f)
{
	bool segments = !strcmp(limit_ipc(f)[1], "kernel.shmmni");

	finding_line(r, x->try_, "See what exists, and which limit is reached:");
	finding_line(r, x->try_, "`nsenter -t %u -i ipcs -u`", f->tgid);
	finding_line(r, x->try_, "`nsenter -t %u -i sysctl %s`", f->tgid, limit_ipc(f)[1]);
	if (segments)
		finding_line(r, x->try_, "`nsenter -t %u -i sysctl kernel.shmall`", f->tgid);
	finding_line(r, x->try_,
		"Remove what is no longer needed (ipcs, ipcrm), or raise that limit%s.",
		segments ? " (kernel.shmall is in pages)" : "");
}

/* True where it was one of these. */
static bool advise_other(
	struct report *r, struct finding *x, u8 why, const struct failure *f, const struct held *h)
{
	switch (why) {
	case MAPS_WHY_TERMINALS:
		terminals_change(r, x, f, h);
		return true;
	case MAPS_WHY_FILES:
		files_change(r, x, f);
		return true;
	case MAPS_WHY_INODES:
		inodes_change(r, x, f);
		return true;
	case MAPS_WHY_FULL:
		full_change(r, x, f);
		return true;
	case MAPS_WHY_ALL_FILES:
		sysctl_change(r, x, "fs.file-max");
		return true;
	case MAPS_WHY_INSTANCES:
		sysctl_change(r, x, "fs.inotify.max_user_instances");
		return true;
	case MAPS_WHY_WATCHES:
		sysctl_change(r, x, "fs.inotify.max_user_watches");
		return true;
	case MAPS_WHY_EPOLL:
		sysctl_change(r, x, "fs.epoll.max_user_watches");
		return true;
	case MAPS_WHY_IPC:
		ipc_change(r, x, f);
		return true;
	case MAPS_WHY_NPROC:
		tasks_of_user_change(r, x, f);
		return true;
	case MAPS_WHY_THREADS:
	case MAPS_WHY_PIDS:
		tasks_of_machine_change(r, x, f, why == MAPS_WHY_PIDS);
		return true;
	case MAPS_WHY_SIGNALS:
		finding_line(r, x->try_, "See its timers: `grep -c ^ID: /proc/%u/timers`", f->tgid);
		prlimit_change(r, x, f, "sigpending", MAX(f->limit * 2, 1ULL));
		return true;
	}
	return false;
}

/* Limits of an address space and its mappings, and of tasks. */
static void advise_space(struct report *r, struct finding *x, const struct limits *s,
	const struct failure_key *k, const struct failure *f)
{
	switch (k->why) {
	case MAPS_WHY_MAP_COUNT:
		CHANGE(r, x, "sysctl -w vm.max_map_count=", f->limit * 2, f->limit);
		finding_line(r, x->try_,
			"Or find the code that cuts mappings (mprotect, munmap, madvise of "
			"single pages): `memwhy maps --by stack -p %u --for 10s`",
			f->tgid);
		break;
	case MAPS_WHY_AS:
		rlimit_change(r, x, f, "as");
		break;
	case MAPS_WHY_DATA:
		rlimit_change(r, x, f, "data");
		break;
	case MAPS_WHY_MEMLOCK:
		rlimit_change(r, x, f, "memlock");
		break;
	case MAPS_WHY_STRICT:
		strict_tell(r, x, &s->held);
		strict_change(r, x, &s->held.facts, f);
		break;
	case MAPS_WHY_OBVIOUS:
		CHANGE(r, x, "sysctl -w vm.overcommit_memory=", 1ULL, 0ULL);
		finding_line(r, x->try_, "Or map it with MAP_NORESERVE.");
		break;
	case MAPS_WHY_HUGETLB:
		pool_change(r, x, &s->held.facts, f->asked);
		break;
	default:
		tasks_change(r, x, f);
	}
}

void limits_advise(struct report *r, struct finding *x, const struct limits *s,
	const struct failure_key *k, const struct failure *f)
{
	bool followed = f->call != MAPS_FORK; /* by maps */

	x->why = limit_is_of_memory(k->why) || f->call == MAPS_FORK
			 ? "The limit applies even when memory is free: the call fails, and "
			   "programs often report that as \"out of memory\"."
			 : "The limit applies however much memory is free: the call fails.";
	if (k->why == MAPS_WHY_HUGETLB && x->level == LEVEL_NOTE) {
		x->why = "Most programs try the huge page pool once and fall back to ordinary "
			 "pages, as PostgreSQL does with huge_pages=try: nothing has failed then, "
			 "but the memory needs more page tables and TLB entries.";
		finding_line(
			r, x->try_, "Nothing needs to be done, unless it should have huge pages:");
	}
	if (f->call == MAPS_FORK)
		tasks_tell(r, x, k->why, f, &s->held);
	if (advise_other(r, x, k->why, f, &s->held))
		followed = false;
	else
		advise_space(r, x, s, k, f);
	if (followed)
		finding_line(
			r, x->verify, "`memwhy maps -p %u --for 10s --table failures`", f->tgid);
	else
		finding_line(r, x->verify, "`memwhy check --for 10s -p %u`", f->tgid);
}
