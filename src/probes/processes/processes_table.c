/* See processes_table.h: the scan. The ranking is in processes_rank.c. */
#include "probes/processes/processes_table.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "sys/root.h"

/* Kernel threads and zombies have no memory and never will: they are read this rarely. */
#define IDLE_SCANS 16
/* A process that does not match the scope may still do so: it is asked again this often. */
#define TEST_SCANS 8
#define NAME_NS (3 * NSEC_PER_SEC)

static int processes_table_by_number(const void *a, const void *b)
{
	const u32 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* /proc is read from an open directory: no path, no allocation. */
static int pids_list(struct processes_table *t)
{
	bool sorted = true;
	int pid, rc = 0;

	if (t->iter.dir)
		rewinddir(t->iter.dir);
	else
		rc = proc_iter_open(&t->iter);
	while (!rc && proc_iter_next(&t->iter, &pid)) {
		if (t->pids.n >= PROCESSES_MAX) {
			t->truncated = true;
			break;
		}
		sorted &= !t->pids.n || t->pids.v[t->pids.n - 1] < (u32)pid;
		rc = vec_push(&t->pids, (u32)pid);
	}
	if (!rc && !sorted)
		qsort(t->pids.v, t->pids.n, sizeof(t->pids.v[0]), processes_table_by_number);
	return rc;
}

static int pids_collect(struct processes_table *t, const struct proc_scope *s)
{
	int rc = 0;

	t->pids.n = 0;
	if (!s->by_task || s->follow)
		return pids_list(t);
	vec_each (pid, &s->roots)
		if (!rc)
			rc = vec_push(&t->pids, *pid);
	return rc;
}

/* The list becomes that of these pids, with what was known of them. */
static int list_merge(struct processes_table *t)
{
	__typeof__(t->list) swap = t->before;
	size_t old = 0;
	int rc = 0;

	t->before = t->list;
	t->list = swap;
	t->list.n = 0;
	for (size_t i = 0; i < t->pids.n && !rc; i++) {
		struct process_entry e = {.pid = t->pids.v[i], .flags = ENTRY_FRESH};

		while (old < t->before.n && t->before.v[old].pid < e.pid)
			process_files_close(&t->before.v[old++].files, &t->files);
		if (old < t->before.n && t->before.v[old].pid == e.pid) {
			e = t->before.v[old++];
			e.flags &= ENTRY_MEMBER | ENTRY_MATCHES | ENTRY_READ | ENTRY_OOM |
				   ENTRY_USER | ENTRY_SWINGS | ENTRY_HEAP;
		}
		if (!t->list.n || t->list.v[t->list.n - 1].pid != e.pid)
			rc = vec_push(&t->list, e);
	}
	while (old < t->before.n)
		process_files_close(&t->before.v[old++].files, &t->files);
	return rc;
}

const struct process_entry *processes_find(const struct processes_table *t, u32 pid)
{
	size_t lo = 0, hi = t->list.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->list.v[mid].pid < pid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->list.n && t->list.v[lo].pid == pid ? &t->list.v[lo] : NULL;
}

static int entry_file(struct processes_table *t, struct process_entry *e, enum process_file which,
	bool keeps, struct str *out)
{
	if (!t->iter.dir)
		return sys_read_once(
			out, which == PROCESS_STAT ? "/proc/%u/stat" : "/proc/%u/statm", e->pid);
	t->files.proc = dirfd(t->iter.dir);
	return process_file_read(&e->files, which, &t->files, e->pid, keeps, out);
}

int processes_file_read(struct processes_table *t, struct process_entry *e, enum process_file which,
	struct str *out)
{
	return entry_file(t, e, which, e->rss_bytes != 0, out);
}

static void parent_read(struct processes_table *t, struct process_entry *e)
{
	struct proc_stat st;

	if (!entry_file(t, e, PROCESS_STAT, false, &t->text) &&
		!proc_stat_parse(str_get(&t->text), &st)) {
		e->ppid = (u32)st.ppid;
		e->began_ns = proc_start_ns(&st);
		memset(e->comm, 0, sizeof(e->comm));
		snprintf(e->comm, sizeof(e->comm), "%.15s", st.comm);
	}
}

/* Children of members become members, until there are no more. A child that lost its parent
 * before it was ever seen stays unknown. */
static void members_follow(struct processes_table *t)
{
	bool more = true;

	vec_each (e, &t->list)
		if (e->flags & ENTRY_FRESH && !(e->flags & ENTRY_MEMBER))
			parent_read(t, e);
	while (more) {
		more = false;
		vec_each (e, &t->list) {
			const struct process_entry *parent;

			if (!(e->flags & ENTRY_FRESH) || e->flags & ENTRY_MEMBER || !e->ppid)
				continue;
			parent = processes_find(t, e->ppid);
			if (!parent || !(parent->flags & ENTRY_MEMBER))
				continue;
			e->flags |= ENTRY_MEMBER;
			more = true;
		}
	}
}

static void members_find(struct processes_table *t, const struct proc_scope *s)
{
	vec_each (e, &t->list)
		if (!s->by_task || proc_scope_has_root(s, e->pid))
			e->flags |= ENTRY_MEMBER;
	if (s->by_task && s->follow)
		members_follow(t);
}

/* Names change with exec, which is soon after the fork; groups are changed rarely. */
static bool test_due(
	const struct processes_table *t, const struct proc_scope *s, const struct process_entry *e)
{
	return e->flags & ENTRY_FRESH || s->comm[0] || (t->scans + e->pid) % TEST_SCANS == 0;
}

static void members_match(struct processes_table *t, struct proc_scope *s)
{
	bool tests = proc_scope_tests(s);

	vec_each (e, &t->list) {
		if (!(e->flags & ENTRY_MEMBER) || e->flags & ENTRY_MATCHES ||
			proc_scope_is_self(s, e->pid))
			continue;
		if (!tests || (test_due(t, s, e) && proc_scope_test(s, e->pid)))
			e->flags |= ENTRY_MATCHES;
	}
}

/* A wrapper executes another, and that the program: what came since the first scan is asked for
 * some time who it is. */
static bool name_is_new(const struct processes_table *t, const struct process_entry *e, u64 now_ns)
{
	return e->first_ns > t->begin_ns && now_ns < e->first_ns + NAME_NS;
}

/* False: the process is gone. */
static bool entry_read(
	struct processes_table *t, struct process_entry *e, u64 page_bytes, u64 now_ns)
{
	bool first = !(e->flags & ENTRY_READ);
	struct proc_statm m;
	u64 anon_bytes;
	int rc;

	if (!first && !e->rss_bytes && ++e->idle % IDLE_SCANS)
		return true;
	rc = processes_file_read(t, e, PROCESS_STATM, &t->text);
	if (rc == -EMFILE || rc == -ENFILE)
		return true; /* with its old numbers */
	if (rc || proc_statm_parse(str_get(&t->text), &m))
		return false;
	if (!m.size_pages)
		proc_statm_read_other((int)e->pid, &m);
	anon_bytes = proc_statm_anon_pages(&m) * page_bytes;
	if (!first && anon_bytes + PROCESSES_SWING_BYTES < e->anon_bytes)
		e->flags |= ENTRY_SWINGS;
	e->low_bytes = MIN(e->low_bytes ? e->low_bytes : anon_bytes, anon_bytes);
	e->rss_bytes = m.resident_pages * page_bytes;
	e->anon_bytes = anon_bytes;
	e->vm_bytes = m.size_pages * page_bytes;
	e->flags |= ENTRY_READ;
	if (first)
		process_entry_restart(e, now_ns);
	return true;
}

/* And its name, where that is not known for good. */
static bool entry_look(
	struct processes_table *t, struct process_entry *e, u64 page_bytes, u64 now_ns)
{
	if (!entry_read(t, e, page_bytes, now_ns))
		return false;
	if (e->rss_bytes && (!e->comm[0] || name_is_new(t, e, now_ns)))
		parent_read(t, e);
	return true;
}

static void entries_read(struct processes_table *t, u64 now_ns)
{
	u64 page_bytes = (u64)sysconf(_SC_PAGESIZE);
	size_t kept = 0;

	vec_each (e, &t->list) {
		bool wanted = e->flags & ENTRY_MATCHES;

		if (!wanted || entry_look(t, e, page_bytes, now_ns))
			t->list.v[kept++] = *e;
		else
			process_files_close(&e->files, &t->files);
	}
	t->list.n = kept;
}

int processes_scan(struct processes_table *t, struct proc_scope *s, u64 now_ns)
{
	int rc = pids_collect(t, s);

	if (!t->scans)
		t->begin_ns = now_ns;
	if (!rc)
		rc = list_merge(t);
	if (rc)
		return rc;
	members_find(t, s);
	members_match(t, s);
	entries_read(t, now_ns);
	t->scans++;
	return 0;
}

void processes_refresh(struct processes_table *t, u64 now_ns)
{
	u64 page_bytes = (u64)sysconf(_SC_PAGESIZE);

	vec_each (at, &t->chosen)
		entry_look(t, &t->list.v[*at], page_bytes, now_ns);
}

void processes_dip(struct processes_table *t, u64 now_ns)
{
	u64 page_bytes = (u64)sysconf(_SC_PAGESIZE);
	u32 n = 0;

	for (size_t i = 0; i < t->chosen.n && n < PROCESSES_SWINGS; i++) {
		struct process_entry *e = &t->list.v[t->chosen.v[i]];

		/* Of the biggest it is not known at first. */
		if ((e->flags & ENTRY_SWINGS || (i < PROCESSES_BIGGEST_DIPS && t->scans < 4)) &&
			++n)
			entry_read(t, e, page_bytes, now_ns);
	}
}

void process_entry_restart(struct process_entry *e, u64 now_ns)
{
	e->first_anon_bytes = e->anon_bytes;
	e->first_vm_bytes = e->vm_bytes;
	e->first_shared_bytes = e->rss_bytes - MIN(e->rss_bytes, e->anon_bytes);
	e->first_ns = now_ns;
	e->comm[0] = '\0';
	e->start_ns = 0;
	e->cgroup = 0;
	e->sent = 0;
	e->low_bytes = e->anon_bytes;
	e->flags &= (u16) ~(ENTRY_OOM | ENTRY_SWINGS | ENTRY_USER | ENTRY_HEAP);
	e->heap_limit_bytes = e->collector_ns = e->collector_ticks = 0;
	e->heap_is_soft = false;
	e->faults_read_ns = e->faults_second = 0;
}

void processes_table_free(struct processes_table *t)
{
	vec_each (e, &t->list)
		process_files_close(&e->files, &t->files);
	vec_free(&t->list);
	vec_free(&t->before);
	vec_free(&t->pids);
	vec_free(&t->chosen);
	proc_iter_close(&t->iter);
	str_free(&t->text);
}
