/* See untracked.h. */
#include "probes/heap/collect/untracked.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "sys/process/proc.h"

#define PROCESSES 128 /* looked at in one look */
#define TOLD 8
#define NAMES 64           /* and reasons, that are kept apart */
#define BEGUN_NS 100000000 /* so long a loader may take */
#define NOT_TRACKED                                                                     \
	"'%.16s' (pid %u) is not tracked: %s. While it runs, `memwhy heap -p PID` can " \
	"look"

int untracked_begin(struct untracked *u, struct capture *c, struct collector *collector)
{
	struct preload_program program;
	int rc;

	u->collector = collector;
	if (!c->opt.command || c->opt.scope.tasks.n != 1)
		return 0;
	u->root = c->opt.scope.tasks.v[0];
	u->name = c->opt.command[0];
	u->why = preload_check_command(u->name, c->opt.as_other ? &c->opt.as : NULL, &program);
	rc = lineage_open((pid_t)u->root, &u->lineage);
	if (!rc)
		return collector_lineage(collector, u->lineage);
	return capture_refused(c, "untracked programs that end within two seconds",
		"the kernel does not tell of forks and execs", rc,
		"kernel.perf_event_paranoid of at most 2, or CAP_PERFMON");
}

/* A pid is given again to another, so it counts from anew when it was not there in between. */
static int untracked_process_look(struct untracked *u, u32 pid)
{
	enum preload_why why = preload_check_process(pid);
	struct untracked_process *p = NULL, new = {.pid = pid};
	struct proc_stat st;

	if (why == PRELOAD_WORKS || proc_stat_read((int)pid, &st) || st.state == 'Z' ||
		st.state == 'X')
		return 0;
	vec_each (s, &u->seen)
		if (s->pid == pid && !strcmp(s->comm, st.comm))
			p = s;
	if (!p) {
		memcpy(new.comm, st.comm, MIN(sizeof(new.comm), sizeof(st.comm)));
		new.comm[sizeof(new.comm) - 1] = '\0';
		if (vec_push(&u->seen, new))
			return -ENOMEM;
		p = &u->seen.v[u->seen.n - 1];
	}
	p->times += p->look + 1 == u->looks || !p->times;
	p->look = u->looks;
	if (why != PRELOAD_UNKNOWN || p->why == PRELOAD_WORKS) /* it may be about to end */
		p->why = why;
	return 0;
}

/* Appends the children that one of a process's threads has. */
static void untracked_children_add(int pid, int tid, u32 *all, size_t *n)
{
	char path[64], text[4096], *at = text, *end;
	_cleanup_close_ int fd = -1;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return;
	text[len] = '\0';
	while (*n < PROCESSES) {
		u32 child = (u32)strtoul(at, &end, 10);

		if (end == at || *end != ' ')
			break; /* the last may be cut */
		all[(*n)++] = child;
		at = end;
	}
}

static int descendants_look(struct untracked *u)
{
	u32 all[PROCESSES] = {u->root};
	size_t n = u->root ? 1 : 0;
	int rc = 0;

	u->looks++;
	for (size_t i = 0; i < n && !rc; i++) {
		_cleanup_proc_iter_ struct proc_iter it = {};
		int tid;

		rc = untracked_process_look(u, all[i]);
		if (proc_iter_open_tasks((int)all[i], &it))
			continue;
		while (proc_iter_next(&it, &tid))
			untracked_children_add((int)all[i], tid, all, &n);
	}
	return rc;
}

static int program_note(struct untracked *u, const struct lineage_program *p, enum preload_why why)
{
	struct untracked_programs new = {p->pid, 1, why, ""};

	vec_each (s, &u->programs)
		if (s->why == why && !strcmp(s->comm, p->comm)) {
			s->pid = p->pid;
			s->n++;
			return 0;
		}
	if (u->programs.n >= NAMES) {
		u->more++;
		return 0;
	}
	memcpy(new.comm, p->comm, sizeof(new.comm));
	return vec_push(&u->programs, new) ? -ENOMEM : 0;
}

/* Has this pid gone on to be another program, or another process? */
static bool is_still(const struct lineage_program *p)
{
	struct proc_stat st;

	return !proc_stat_read((int)p->pid, &st) && st.state != 'Z' && st.state != 'X' &&
	       !strcmp(st.comm, p->comm);
}

/* The kernel stops to tell of a process that gets more privileges: it may be there yet. */
static enum preload_why tracked_why(const struct lineage_program *p)
{
	enum preload_why why = PRELOAD_UNKNOWN;

	if (p->loaded)
		return PRELOAD_APART;
	if (!p->file[0] && is_still(p))
		why = preload_check_process(p->pid);
	return why == PRELOAD_UNKNOWN ? preload_check_file(p->file, p->inode, p->dynamic) : why;
}

static int programs_judge(struct untracked *u)
{
	int rc = 0;

	vec_each (p, &u->taken) {
		enum preload_why why = tracked_why(p);

		if (!rc && why != PRELOAD_WORKS)
			rc = program_note(u, p, why);
	}
	u->taken.n = 0;
	return rc;
}

/* Those that live on, when all that was told is taken. One that has just begun may be before its
 * loader. */
static int alive_take(struct untracked *u)
{
	u64 begun_ns = clock_mono_ns() - BEGUN_NS;
	size_t n = lineage_alive(u->lineage, NULL, 0);
	int rc = vec_reserve(&u->alive, n ? n : 1);

	if (rc)
		return -ENOMEM;
	u->alive.n = u->n_alive = lineage_alive(u->lineage, u->alive.v, n);
	vec_each (p, &u->alive) {
		bool tracked = !p->exec_ns || (p->loaded && !p->apart);

		if (!rc && !tracked && p->exec_ns < begun_ns &&
			!collector_tracked(u->collector, p->pid, p->exec_ns))
			rc = vec_push(&u->taken, *p);
	}
	return rc ? -ENOMEM : 0;
}

int untracked_look(struct untracked *u, bool ending)
{
	struct lineage_program p;
	int rc;

	if (!u->lineage)
		return ending ? 0 : descendants_look(u);
	collector_lock(u->collector);
	rc = lineage_take(u->lineage, ending);
	while (!rc && lineage_over(u->lineage, &p))
		if (!collector_tracked(u->collector, p.pid, p.exec_ns))
			rc = vec_push(&u->taken, p) ? -ENOMEM : 0;
	if (!rc && ending)
		rc = alive_take(u);
	collector_unlock(u->collector);
	return rc ? rc : programs_judge(u);
}

static void programs_tell(const struct untracked *u, struct capture *c, bool root, u32 *told)
{
	u64 more = u->more;

	vec_each (p, &u->programs) {
		if (root && p->pid == u->root && p->n == 1)
			continue;
		if ((*told)++ >= TOLD)
			more += p->n;
		else if (p->n == 1)
			capture_note(c, NOTE_WARNING, NOT_TRACKED, p->comm, p->pid,
				preload_why_text(p->why));
		else
			capture_note(c, NOTE_WARNING,
				"%u programs '%.16s' (the last: pid %u) are not tracked: %s", p->n,
				p->comm, p->pid, preload_why_text(p->why));
	}
	if (more)
		capture_note(c, NOTE_WARNING, "%llu more programs are not tracked", more);
	if (u->lineage && lineage_lost(u->lineage))
		capture_note(c, NOTE_WARNING,
			"%llu records of forks and execs were lost: programs that are not tracked "
			"may be missing here",
			lineage_lost(u->lineage));
}

/* Of a command that has ended itself. */
static void alive_tell(const struct untracked *u, struct capture *c)
{
	u32 told = 0;

	vec_each (p, &u->alive)
		if (p->pid == u->root)
			return;
	vec_each (p, &u->alive)
		if (told++ < TOLD)
			capture_note(c, NOTE_WARNING,
				"'%.16s' (pid %u) lives on, after the end of the command: what it "
				"does from now on is not seen",
				p->comm, p->pid);
	if (u->n_alive > TOLD)
		capture_note(c, NOTE_WARNING, "%zu more processes live on", u->n_alive - TOLD);
}

bool untracked_tell(const struct untracked *u, struct capture *c)
{
	bool root = u->why != PRELOAD_WORKS && u->why != PRELOAD_UNKNOWN;
	u32 told = 0, more = 0;

	if (root)
		capture_note(c, NOTE_WARNING,
			"'%.60s' is not tracked: %s. While it runs, `memwhy heap -p PID` can look",
			u->name, preload_why_text(u->why));
	vec_each (p, &u->seen) {
		if (p->times < 2 || (root && p->pid == u->root))
			continue;
		if (told++ >= TOLD)
			more++;
		else
			capture_note(c, NOTE_WARNING, NOT_TRACKED, p->comm, p->pid,
				preload_why_text(p->why));
	}
	if (more)
		capture_note(c, NOTE_WARNING, "%u more processes are not tracked", more);
	programs_tell(u, c, root, &told);
	alive_tell(u, c);
	return root || told;
}

void untracked_free(struct untracked *u)
{
	vec_free(&u->seen);
	vec_free(&u->taken);
	vec_free(&u->programs);
	vec_free(&u->alive);
	lineage_close(u->lineage);
}
