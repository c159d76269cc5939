/* See untracked.h. */
#include "probes/heap/untracked.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "sys/proc.h"

#define PROCESSES 128 /* looked at in one look */
#define TOLD 5

void untracked_begin(struct untracked *u, const struct capture *c)
{
	struct preload_program program;

	if (!c->opt.command || c->opt.scope.tasks.n != 1)
		return;
	u->root = c->opt.scope.tasks.v[0];
	u->name = c->opt.command[0];
	u->why = preload_check_command(u->name, c->opt.as_other ? &c->opt.as : NULL, &program);
}

/* A pid is given again to another, so it counts from anew when it was not there in between. */
static int process_look(struct untracked *u, u32 pid)
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
static void children_add(int pid, int tid, u32 *all, size_t *n)
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

int untracked_look(struct untracked *u)
{
	u32 all[PROCESSES] = {u->root};
	size_t n = u->root ? 1 : 0;
	int rc = 0;

	u->looks++;
	for (size_t i = 0; i < n && !rc; i++) {
		_cleanup_proc_iter_ struct proc_iter it = {};
		int tid;

		rc = process_look(u, all[i]);
		if (proc_iter_open_tasks((int)all[i], &it))
			continue;
		while (proc_iter_next(&it, &tid))
			children_add((int)all[i], tid, all, &n);
	}
	return rc;
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
			capture_note(c, NOTE_WARNING,
				"'%.16s' (pid %u) is not tracked: %s. While it runs, `memwhy heap "
				"-p PID` can look",
				p->comm, p->pid, preload_why_text(p->why));
	}
	if (more)
		capture_note(c, NOTE_WARNING, "%u more processes are not tracked", more);
	return root || told;
}

void untracked_free(struct untracked *u)
{
	vec_free(&u->seen);
}
