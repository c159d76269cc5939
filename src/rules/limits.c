/* Calls that fail for a limit while memory is free: mappings, address space, locked memory, what
 * may be promised, tasks. The call, its caller, the limit and its value. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "probes/maps/maps.h"
#include "rules/holdings.h"
#include "rules/rules.h"
#include "sys/calls/syscalls.h"

#define HUGE_BYTES (2ULL << 20)
#define PID_MOST (4ULL << 20)      /* PID_MAX_LIMIT */
#define LOOK_NS (NSEC_PER_SEC / 2) /* records of one drain are nearer to each other */

/* Workers of one name that meet the same limit are one trouble. */
struct failure_key {
	u8 why;
	char comm[COMM_LEN];
};

struct failure {
	u64 count, limit;
	u64 hard;  /* of a limit of the process; 0: not known */
	u64 asked; /* bytes by one call, on average */
	u64 cgroup;
	u64 last_ns; /* time of the last record of it */
	u32 times;   /* in how many looks it was seen */
	u32 tgid;    /* the first that met it */
	u32 stack, where, error;
	u32 number; /* of the system call, where `call` is MAPS_OTHER */
	u8 call;
	bool others; /* … and other processes did */
};

struct limits {
	struct held held;
	struct groups failures; /* struct failure_key -> struct failure */
	u64 on_ns, covered_ns;
};

static int init(void *v, const struct view_options *o, struct err *err)
{
	struct limits *s = v;

	groups_init(&s->failures, sizeof(struct failure_key), sizeof(struct failure));
	return held_rule_init(&s->held, o, err);
}

/* What says that a limit was met: anything else a program may well expect. */
static bool is_limit(u8 why)
{
	return why != MAPS_WHY_UNKNOWN && why != MAPS_WHY_SIZE && why != MAPS_WHY_BELOW &&
	       why < MAPS_WHY_N;
}

static int failure_feed(struct limits *s, const struct maps_agg *r)
{
	struct failure_key k = {.why = r->why};
	struct failure *f;

	if (!r->error || !is_limit(r->why))
		return 0;
	memcpy(k.comm, r->comm, sizeof(k.comm) - 1);
	f = groups_get(&s->failures, &k);
	if (!f)
		return -ENOMEM;
	f->count += r->count;
	f->asked = MAX(f->asked, r->count ? r->length_bytes / r->count : 0);
	f->times += r->h.time_ns >= f->last_ns + LOOK_NS;
	f->last_ns = r->h.time_ns;
	f->others |= f->tgid && f->tgid != r->tgid;
	if (f->tgid && f->tgid != r->tgid)
		return 0;
	f->tgid = r->tgid;
	f->call = r->call;
	f->number = r->detail;
	f->limit = r->object;
	f->hard = r->hard;
	f->cgroup = r->cgroup;
	f->error = r->error;
	f->stack = r->stack ? r->stack : f->stack;
	f->where = r->where ? r->where : f->where;
	return 0;
}

static int feed(void *v, const struct rec *r)
{
	struct limits *s = v;

	if (r->kind == REC_MAPS_AGG)
		return failure_feed(s, (const void *)r);
	if (r->kind == REC_MAPS_SAMPLED) {
		s->on_ns += ((const struct maps_sampled *)r)->on_ns;
		s->covered_ns += ((const struct maps_sampled *)r)->covered_ns;
	}
	return held_rule_feed(&s->held, r);
}

/* Is free memory beside it of any interest? Not where files, tasks or the like are counted. */
static bool is_of_memory(u8 why)
{
	return why == MAPS_WHY_MAP_COUNT || why == MAPS_WHY_AS || why == MAPS_WHY_DATA ||
	       why == MAPS_WHY_MEMLOCK || why == MAPS_WHY_STRICT || why == MAPS_WHY_OBVIOUS ||
	       why == MAPS_WHY_HUGETLB || why == MAPS_WHY_FULL;
}

/* What programs try and go on without: the limit is no trouble by itself. */
static bool has_fallback(u8 why)
{
	return why == MAPS_WHY_HUGETLB || why == MAPS_WHY_MEMLOCK || why == MAPS_WHY_OBVIOUS;
}

/* A call that fails again and again is a program that cannot go on. */
static int failure_level(const struct failure *f, u8 why)
{
	if (f->times > 1)
		return has_fallback(why) ? LEVEL_RISK : LEVEL_WARNING;
	return has_fallback(why) ? LEVEL_NOTE : LEVEL_RISK;
}

static const char *call_name(const struct failure *f)
{
	static const char *const names[MAPS_CALL_N] = {
		[MAPS_MMAP] = "mmap",
		[MAPS_MUNMAP] = "munmap",
		[MAPS_MREMAP] = "mremap",
		[MAPS_BRK] = "brk",
		[MAPS_MPROTECT] = "mprotect",
		[MAPS_PKEY_MPROTECT] = "pkey_mprotect",
		[MAPS_MADVISE] = "madvise",
		[MAPS_MLOCK] = "mlock",
		[MAPS_MLOCK2] = "mlock2",
		[MAPS_MLOCKALL] = "mlockall",
		[MAPS_FORK] = "fork or clone",
	};

	if (f->call == MAPS_OTHER)
		return syscall_name(f->number) ?: "a call";
	return f->call < MAPS_CALL_N && names[f->call] ? names[f->call] : "a call";
}

/* What it makes, the sysctl that bounds their number (kernel.sem: also how many semaphores all of
 * them have), and what else the kernel refuses for in the same way. */
static const char *const *ipc_of(const struct failure *f)
{
	static const char *const kinds[][3] = {
		{"segments", "kernel.shmmni", ", or as much memory in them as kernel.shmall"},
		{"sets of semaphores", "kernel.sem", ""}, {"message queues", "kernel.msgmni", ""}};

	return kinds[f->number == 64 ? 1 : f->number == 68 ? 2 : 0];
}

/* Of what the kernel counts beside memory. */
static const char *other_reason(struct report *r, const struct failure *f, u8 why)
{
	const char *size = fmt_bytes((char[UNIT_BUF]){}, f->limit);

	switch (why) {
	case MAPS_WHY_FILES:
		return report_text(r, "RLIMIT_NOFILE is reached: %llu open files", f->limit);
	case MAPS_WHY_ALL_FILES:
		return "fs.file-max is reached, the open files of the whole machine";
	case MAPS_WHY_INSTANCES:
		return "its user has as many inotify instances as "
		       "fs.inotify.max_user_instances allows, or the process as many open files as "
		       "RLIMIT_NOFILE allows";
	case MAPS_WHY_WATCHES:
		return "its user has as many inotify watches as fs.inotify.max_user_watches "
		       "allows";
	case MAPS_WHY_EPOLL:
		return "its user has as many epoll items as fs.epoll.max_user_watches allows";
	case MAPS_WHY_IPC:
		return report_text(r, "there are as many System V %s as %s%s allows", ipc_of(f)[0],
			ipc_of(f)[1], ipc_of(f)[2]);
	case MAPS_WHY_SIGNALS:
		return report_text(r,
			"RLIMIT_SIGPENDING is reached, which POSIX timers count for: %llu",
			f->limit);
	case MAPS_WHY_NPROC:
		return report_text(r,
			"RLIMIT_NPROC is reached: %llu processes and threads of its user",
			f->limit);
	case MAPS_WHY_THREADS:
		return report_text(r,
			"kernel.threads-max is reached: %llu threads of the whole machine",
			f->limit);
	case MAPS_WHY_PIDS:
		return report_text(r,
			"kernel.pid_max is reached: %llu numbers for the processes and threads of "
			"the whole machine",
			f->limit);
	case MAPS_WHY_FULL:
		if (f->where && f->limit)
			return report_text(
				r, "the tmpfs at %s is full: %s", held_text(r, f->where), size);
		return "the tmpfs that it writes to is full";
	case MAPS_WHY_INODES:
		return report_text(r,
			"the tmpfs at %s has no free inode: it may have %llu files and directories",
			held_text(r, f->where), f->limit);
	}
	return NULL;
}

/* "RLIMIT_AS is reached: 512 MiB" */
static const char *reason(struct report *r, const struct failure *f, u8 why)
{
	const char *size = fmt_bytes((char[UNIT_BUF]){}, f->limit);
	const char *other = other_reason(r, f, why);

	if (other)
		return other;
	switch (why) {
	case MAPS_WHY_MAP_COUNT:
		return report_text(r, "vm.max_map_count is reached: %llu mappings", f->limit);
	case MAPS_WHY_AS:
		return report_text(
			r, "RLIMIT_AS, the limit on its address space, is reached: %s", size);
	case MAPS_WHY_DATA:
		return report_text(r, "RLIMIT_DATA is reached: %s", size);
	case MAPS_WHY_MEMLOCK:
		return report_text(
			r, "RLIMIT_MEMLOCK, the limit on locked memory, is reached: %s", size);
	case MAPS_WHY_STRICT:
		return "strict overcommit (vm.overcommit_memory is 2): CommitLimit is reached";
	case MAPS_WHY_OBVIOUS:
		return report_text(r,
			"it asks for more at once than memory and swap have (%s), which "
			"vm.overcommit_memory 0 refuses",
			size);
	case MAPS_WHY_HUGETLB:
		return "the pool has not enough free huge pages";
	}
	return f->limit ? report_text(r,
				  "the limit on tasks of its control group (pids.max) is reached: "
				  "%llu",
				  f->limit)
			: "a limit on tasks is reached, which one is not known";
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

/* Nothing behind the colon: the hard limit stays. It has to be raised with the other where it is
 * lower, which few may. */
static void prlimit_change(
	struct report *r, struct finding *x, const struct failure *f, const char *option, u64 next)
{
	if (f->hard && f->hard < next) {
		finding_line(r, x->try_,
			"For this process, above its hard limit of %llu (needs CAP_SYS_RESOURCE, "
			"which root in a container mostly lacks):",
			f->hard);
		finding_line(r, x->try_, "`prlimit --pid %u --%s=%llu:%llu`", f->tgid, option, next,
			next);
		finding_line(r, x->undo, "`prlimit --pid %u --%s=%llu:%llu`", f->tgid, option,
			f->limit, f->hard);
	} else {
		finding_line(r, x->try_, "`prlimit --pid %u --%s=%llu:`", f->tgid, option, next);
		finding_line(
			r, x->undo, "`prlimit --pid %u --%s=%llu:`", f->tgid, option, f->limit);
	}
	finding_line(r, x->try_,
		"For good, where it is started: %s of its unit; the item %s in "
		"/etc/security/limits.conf for who logs in; --ulimit %s= of a container.",
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
		"Or add swap, which counts for the limit; or promise as the kernel does "
		"by default:");
	CHANGE(r, x, "sysctl -w vm.overcommit_memory=", 0ULL, 2ULL);
}

/* How many pages of the pool the call would have taken; of the default size, as most ask for. */
static void pool_change(struct report *r, struct finding *x, const struct facts *f, u64 asked)
{
	u64 now = facts_last(f, "hugepages/2M/nr"),
	    missing = asked / HUGE_BYTES + !!(asked % HUGE_BYTES);

	if (!asked || !facts_known(f, "hugepages/2M/nr")) {
		finding_line(r, x->try_,
			"Make the pool larger. How large it is: `sysctl vm.nr_hugepages`");
		return;
	}
	finding_line(r, x->try_, "Make room for the %llu huge pages of one such call:", missing);
	CHANGE(r, x, "sysctl -w vm.nr_hugepages=", now + missing, now);
}

static void tasks_change(struct report *r, struct finding *x, const struct failure *f)
{
	if (f->where) {
		finding_line(r, x->try_, "`echo %llu > %s`", f->limit * 2, held_text(r, f->where));
		finding_line(r, x->undo, "`echo %llu > %s`", f->limit, held_text(r, f->where));
	} else {
		finding_line(r, x->try_,
			"No limit was near a moment later. See which may be: `grep processes "
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

/* Who has so many: they may be of another program than the one that is refused. */
static void tasks_tell(
	struct report *r, struct finding *x, u32 why, const struct failure *f, const struct held *h)
{
	struct held_top most = held_most(h, threads);
	const struct held_children *parent = NULL;
	const char *all = r->scoped || h->totals.status_cut ? "of those that were looked at"
							    : "of all on this machine";

	for (size_t i = 0; i < h->parents.n; i++) {
		const struct held_children *c = groups_value(&h->parents, i);

		if (!parent || c->threads > parent->threads)
			parent = c;
	}
	if (makes_up(why, f, most.most ? most.most->last.tgid : 0, most.bytes))
		finding_line(r, x->evidence, "%s %s has most threads, %llu", all,
			held_who(r, &most), most.bytes);
	if (parent && makes_up(why, f, parent->tgid, parent->threads))
		finding_line(r, x->evidence,
			"%s the children of %s (pid %u) have most threads, %llu in %llu "
			"processes%s",
			all, held_text(r, parent->name), parent->tgid, parent->threads,
			parent->children,
			parent->zombies == parent->children ? ", ended and not waited for" : "");
	if (!f->where)
		finding_line(r, x->try_,
			"See who has most: `ps -eo user,pid,nlwp,comm --sort=-nlwp | head`");
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
	finding_line(r, x->try_, "All processes of the user count, of whatever program.");
}

static void files_change(struct report *r, struct finding *x, const struct failure *f)
{
	finding_line(r, x->try_, "See what it has open: `ls -l /proc/%u/fd | tail`", f->tgid);
	finding_line(r, x->try_, "If it needs as many:");
	prlimit_change(r, x, f, "nofile", MAX(f->limit * 2, 1ULL));
}

static void full_change(struct report *r, struct finding *x, const struct failure *f)
{
	if (!f->where || !f->limit) {
		finding_line(r, x->try_, "See which, and what is in it: `df -h -t tmpfs`");
		return;
	}
	finding_line(r, x->try_, "Remove what nobody needs there, or give it more room:");
	finding_line(r, x->try_, "`nsenter -t %u -m mount -o remount,size=%lluk %s`", f->tgid,
		f->limit * 2 / 1024, held_text(r, f->where));
	finding_line(r, x->undo, "`nsenter -t %u -m mount -o remount,size=%lluk %s`", f->tgid,
		f->limit / 1024, held_text(r, f->where));
	finding_line(r, x->try_,
		"For a container: set a larger --shm-size, or use an emptyDir with medium Memory "
		"and a larger sizeLimit.");
}

static void inodes_change(struct report *r, struct finding *x, const struct failure *f)
{
	const char *where = held_text(r, f->where);

	finding_line(r, x->try_, "See where so many are, and remove what nobody needs:");
	finding_line(r, x->try_, "`nsenter -t %u -m du --inodes -x %s | sort -rn | head`", f->tgid,
		where);
	finding_line(r, x->try_, "Or allow twice as many (each takes some 1 KiB of memory):");
	finding_line(r, x->try_, "`nsenter -t %u -m mount -o remount,nr_inodes=%llu %s`", f->tgid,
		f->limit * 2, where);
	finding_line(r, x->undo, "`nsenter -t %u -m mount -o remount,nr_inodes=%llu %s`", f->tgid,
		f->limit, where);
}

/* Limits of the machine that a sysctl sets: its present value is not in the records. */
static void sysctl_change(struct report *r, struct finding *x, const char *name)
{
	finding_line(r, x->try_, "See the limit, and double it if so many are needed:");
	finding_line(r, x->try_, "`sysctl %s`", name);
	finding_line(r, x->try_, "Or find out who keeps what it no longer needs.");
}

/* The limits are those of its namespace: a container has its own. */
static void ipc_change(struct report *r, struct finding *x, const struct failure *f)
{
	bool segments = !strcmp(ipc_of(f)[1], "kernel.shmmni");

	finding_line(r, x->try_, "See what there is, and which limit it has met:");
	finding_line(r, x->try_, "`nsenter -t %u -i ipcs -u`", f->tgid);
	finding_line(r, x->try_, "`nsenter -t %u -i sysctl %s`", f->tgid, ipc_of(f)[1]);
	if (segments)
		finding_line(r, x->try_, "`nsenter -t %u -i sysctl kernel.shmall`", f->tgid);
	finding_line(r, x->try_,
		"Remove what nobody needs any more (ipcs, ipcrm), or raise that limit%s.",
		segments ? " (kernel.shmall is in pages)" : "");
}

/* True where it was one of these. */
static bool advise_other(struct report *r, struct finding *x, u8 why, const struct failure *f)
{
	switch (why) {
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

static void advise(struct report *r, struct finding *x, const struct limits *s,
	const struct failure_key *k, const struct failure *f)
{
	bool followed = f->call != MAPS_FORK; /* by maps */

	x->why = is_of_memory(k->why) || f->call == MAPS_FORK
			 ? "The limit holds whether memory is free or not: the call fails, and "
			   "programs often report that as \"out of memory\"."
			 : "The limit holds however much memory is free: the call fails.";
	if (f->call == MAPS_FORK)
		tasks_tell(r, x, k->why, f, &s->held);
	if (advise_other(r, x, k->why, f))
		followed = false;
	else
		advise_space(r, x, s, k, f);
	if (followed)
		finding_line(
			r, x->verify, "`memwhy maps -p %u --for 10s --table failures`", f->tgid);
	else
		finding_line(r, x->verify, "`memwhy check --for 10s -p %u`", f->tgid);
}

struct lines {
	struct report *r;
	struct finding *x;
	int n;
};

static void stack_line(void *arg, const char *text)
{
	struct lines *l = arg;

	if (strcmp(text, "?") && l->n++ < 4)
		finding_line(l->r, l->x->evidence, "%s%s", l->n == 1 ? "at " : "   from ", text);
}

/* As people know it, where it was looked at; else the thread's name. */
static const char *process_name(struct report *r, const struct limits *s,
	const struct failure_key *k, const struct failure *f)
{
	const struct held_both *p = groups_find(&s->held.processes, &f->tgid);
	const char *others = f->others ? " and others of its name" : "";

	if (p && p->last.name)
		return report_text(r, "%s%s", held_name(r, &p->last), others);
	if (report_program(r, f->tgid)[0])
		return report_text(r, "%s%s", report_process(r, f->tgid), others);
	return report_text(r, "%s (pid %u)%s", k->comm, f->tgid, others);
}

static void tell(struct report *r, const struct limits *s, const struct failure_key *k,
	const struct failure *f)
{
	struct finding *x = report_finding(r, failure_level(f, k->why), "limit-met");
	struct lines lines = {r, x, 0};
	const char *path;
	char a[UNIT_BUF];

	if (!x)
		return;
	x->tgid = f->tgid;
	x->title = report_text(r, "%s fails in %s: %s", call_name(f), process_name(r, s, k, f),
		reason(r, f, k->why));
	x->confidence = k->why == MAPS_WHY_STRICT ? "medium: no other limit was met"
			: k->why == MAPS_WHY_INODES
				? "medium: it is concluded from this file system being out of "
				  "inodes; which one the call meant was not looked at"
			: k->why == MAPS_WHY_THREADS || k->why == MAPS_WHY_PIDS ||
					(k->why == MAPS_WHY_TASKS && f->limit)
				? "high: the limit was compared with the counts of tasks after the "
				  "call failed"
			: k->why == MAPS_WHY_TASKS
				? "high that calls fail; the limit was not found"
				: "high: the limit was compared with the kernel's numbers when the "
				  "call failed";
	if (s->covered_ns)
		finding_line(r, x->evidence,
			"%s %llu time%s in %.1f s that were looked at of %.1f s (sampled in "
			"bursts)",
			strerrorname_np((int)f->error), f->count, plural(f->count),
			(double)s->on_ns / 1e9, (double)s->covered_ns / 1e9);
	else
		finding_line(r, x->evidence, "%s %llu time%s", strerrorname_np((int)f->error),
			f->count, plural(f->count));
	if (is_of_memory(k->why) && facts_known(&s->held.facts, "MemAvailable"))
		finding_line(r, x->evidence, "%s of memory are available meanwhile",
			fmt_bytes(a, facts_last(&s->held.facts, "MemAvailable")));
	if (f->where && k->why != MAPS_WHY_FULL && k->why != MAPS_WHY_INODES)
		finding_line(r, x->evidence, "%s is %llu", held_text(r, f->where), f->limit);
	path = stream_cgroup(r->stream, f->cgroup);
	if (path && strcmp(path, "/") && f->call != MAPS_FORK) /* that of memory */
		finding_line(r, x->evidence, "it runs in cgroup %s", report_cgroup(r, path));
	if (f->asked)
		finding_line(r, x->evidence, "it asks for %s at a time", fmt_bytes(a, f->asked));
	if (f->stack)
		stack_told_lines(r->stream, f->stack, stack_line, &lines);
	advise(r, x, s, k, f);
}

static int report(void *v, struct report *r)
{
	const struct limits *s = v;

	for (size_t i = 0; i < s->failures.n; i++)
		tell(r, s, groups_key(&s->failures, i), groups_value(&s->failures, i));
	return 0;
}

static void reset(void *v)
{
	struct limits *s = v;

	groups_clear(&s->failures);
	s->on_ns = s->covered_ns = 0;
	held_rule_reset(&s->held);
}

static void destroy(void *v)
{
	struct limits *s = v;

	groups_free(&s->failures);
	held_rule_destroy(&s->held);
}

const struct view rule_limits = {
	.size = sizeof(struct limits),
	.init = init,
	.feed = feed,
	.report = report,
	.reset = reset,
	.destroy = destroy,
};
