/*
 * A look at all processes: what each has open, those with most files first, and what its status
 * tells of page tables, locked memory and threads. Bounded in time; what stands out becomes a
 * record.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "probes/holders/holders_inner.h"
#include "sys/group/pids_limit.h"
#include "sys/keyvals.h"
#include "sys/memory/counts.h"
#include "sys/process/fdlink.h"
#include "sys/root.h"
#include "sys/scan.h"
#include "sys/sysctl.h"

#define KIB 1024ULL
#define MIB (1024 * KIB)
#define LIST_MAX 32768
#define CHILDREN_LEAST 100
#define ZOMBIES_LEAST 16 /* fewer children are sent, too: they may fill a small pids.max */
#define FILES_LIMIT 512  /* from here on its limit on open files is read */
#define CHILDREN_TABLES (32 * MIB)        /* page tables: fewer children are sent, too */
#define GUARD_MOST (1024 * KIB)           /* what an arena of malloc keeps unused is more */
#define SPACE_GROWN (512 * KIB)           /* since the first look: its mappings are counted */
#define LOOK_MAPS_NS (15 * NSEC_PER_MSEC) /* CPU time for that, of all */

_Static_assert(FD_KINDS == HELD_KINDS, "kinds of open files on disk");

/* From here on a process is worth a record. */
static bool stands_out(const struct held_process *r)
{
	return r->files >= 256 || r->threads >= 64 || r->kinds[FD_UFFD] || r->kinds[FD_WATCH] ||
	       r->kinds[FD_BPF_MAP] > 16 || r->page_table_bytes >= 8 * MIB ||
	       r->locked_bytes >= 8 * MIB || r->pinned_bytes >= 8 * MIB || r->ksm_pages >= 4096 ||
	       r->memfd_bytes >= 4 * MIB || r->bpf_bytes >= 4 * MIB ||
	       r->pipe_bytes + r->unread_bytes + r->unsent_bytes >= 2 * MIB ||
	       r->shmem_bytes >= 16 * MIB || r->packets || r->mappings >= 2000 ||
	       r->reserved_bytes >= 16 * MIB || r->written_bytes >= 16 * MIB || r->in_flight ||
	       r->ring_bytes + r->mapped_bytes >= MIB || r->terminals >= 16 ||
	       r->slots_bytes >= MIB || r->data_bytes >= 64 * MIB;
}

static int by_files(const void *a, const void *b)
{
	const struct holder_entry *x = a, *y = b;

	if (x->files != y->files)
		return x->files < y->files ? 1 : -1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Since 6.2 the size of the directory is the number of open files. */
static u64 files_count(u32 pid)
{
	char path[PATH_MAX];
	struct stat st;

	return sys_path(path, "/proc/%u/fd", pid) || stat(path, &st) ? 0 : (u64)st.st_size;
}

static int list_make(struct holders *s)
{
	_cleanup_proc_iter_ struct proc_iter it = {};
	int pid, rc = proc_iter_open(&it);
	pid_t self = getpid();

	s->list.n = 0;
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	while (!rc && proc_iter_next(&it, &pid)) {
		struct holder_entry e = {.pid = (u32)pid};

		if (pid == self || (s->scope.by_task && !s->scope.follow &&
					   !proc_scope_has_root(&s->scope, e.pid)))
			continue;
		if (proc_scope_tests(&s->scope) && !proc_scope_test(&s->scope, e.pid))
			continue;
		if (s->list.n >= LIST_MAX) {
			s->cut = true;
			break;
		}
		e.files = files_count(e.pid);
		rc = vec_push(&s->list, e);
	}
	if (s->list.n)
		qsort(s->list.v, s->list.n, sizeof(s->list.v[0]), by_files);
	return rc;
}

static void child_add(struct holders *s, const struct proc_status *st)
{
	struct held_children *c = groups_get(&s->parents, &st->ppid);

	if (!c)
		return;
	if (!c->tgid)
		*c = REC_INIT(struct held_children, REC_HELD_CHILDREN, 0);
	c->tgid = c->child = st->pid; /* an example; the parent is the key */
	c->children++;
	c->zombies += !st->has_mm;
	c->threads += st->threads;
	c->page_table_bytes += st->vm_pte_bytes;
	c->rss_bytes += st->vm_rss_bytes;
	c->anon_bytes += st->rss_anon_bytes;
	c->most_shared_bytes = MAX(c->most_shared_bytes, st->rss_file_bytes + st->rss_shmem_bytes);
}

static int parents_send(struct capture *c, struct holders *s)
{
	int rc = 0;

	for (size_t i = 0; i < s->parents.n && !rc; i++) {
		struct held_children r = *(struct held_children *)groups_value(&s->parents, i);
		u32 parent = *(const u32 *)groups_key(&s->parents, i), child = r.child;
		struct tasks_room room;

		/* 0 is nobody, 2 the parent of the kernel's own threads. */
		if (parent == 0 || parent == 2 ||
			(r.children < CHILDREN_LEAST && r.zombies < ZOMBIES_LEAST &&
				r.page_table_bytes < CHILDREN_TABLES))
			continue;
		r.tgid = parent;
		if (r.zombies >= CHILDREN_LEAST && tasks_room(parent, &room)) {
			r.room = MAX(room.left, 1ULL);
			r.limit = names_string(c->names, room.name);
		}
		r.partial = s->children_cut;
		r.child = proc_label_read(child, &s->label)
				  ? 0
				  : names_string(c->names, str_get(&s->label));
		r.name = proc_label_read(parent, &s->label)
				 ? 0
				 : names_string(c->names, str_get(&s->label));
		rc = capture_emit(c, &r.h);
	}
	return rc;
}

/* What KSM looks at of it: only where it does, as this is one more file of each process. */
static void ksm_take(struct holders *s, u32 pid, struct held_process *r)
{
	struct keyvals kv = {};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/ksm_stat", pid);
	if (!s->ksm || keyvals_read(path, &kv))
		return;
	r->ksm_pages = keyvals_get_or(&kv, "ksm_rmap_items", 0);
	r->ksm_merged = keyvals_get_or(&kv, "ksm_merging_pages", 0);
	keyvals_free(&kv);
}

/* Of a line of /proc/PID/maps: where the mapping lies, and its permissions; the rest is left. */
static bool range_line(struct scan *line, u64 *ret_begin, u64 *ret_end, struct scan *ret_access)
{
	struct scan range;

	return scan_word(line, &range) && scan_hex(&range, ret_begin) && scan_lit(&range, "-") &&
	       scan_hex(&range, ret_end) && *ret_end >= *ret_begin && scan_word(line, ret_access);
}

/* How many mappings it has: a long text where there are many, so only of those that grow. A
 * thread's stack has a guard below it, by which those of threads that have ended are known too. */
static void mappings_take(struct holders *s, u32 pid, struct held_process *r)
{
	const char *text;
	struct scan line, access;
	u64 begin, end, guard_end = 0;

	if (holders_cpu() > s->maps_until_ns || sys_read(&s->text, "/proc/%u/maps", pid))
		return;
	text = str_get(&s->text);
	while (scan_line(&text, &line)) {
		r->mappings++;
		if (!range_line(&line, &begin, &end, &access))
			continue;
		if (scan_lit(&access, "---p")) {
			guard_end = end - begin <= GUARD_MOST ? end : 0;
			continue;
		}
		r->guarded += begin == guard_end && scan_lit(&access, "rw-p");
		guard_end = 0;
	}
}

/* Of a line of /proc/PID/maps: the bytes of a mapping of huge pages of the pool; else 0. */
static u64 hugetlb_line(struct scan line)
{
	struct scan word;
	u64 begin, end;

	if (!range_line(&line, &begin, &end, &word))
		return 0;
	for (int i = 0; i < 3; i++) /* offset, device, inode */
		if (!scan_word(&line, &word))
			return 0;
	return memmem(line.p, scan_len(&line), "hugepage", 8) ? end - begin : 0;
}

/* Huge pages that it has mapped, and so reserved, and not touched. */
static void reserved_take(struct holders *s, const struct proc_status *st, struct held_process *r)
{
	const char *text;
	struct scan line;
	u64 mapped = 0;

	if (!s->reserved || holders_cpu() > s->maps_until_ns ||
		sys_read(&s->text, "/proc/%u/maps", st->pid))
		return;
	text = str_get(&s->text);
	while (scan_line(&text, &line))
		mapped += hugetlb_line(line);
	r->reserved_bytes = counter_rise(st->hugetlb_bytes, mapped);
}

static bool reserved_many(void)
{
	u64 pages;

	return (!count_read("hugepages/2M/resv", &pages) && pages >= 8) ||
	       (!count_read("hugepages/1G/resv", &pages) && pages);
}

static void space_take(struct holders *s, const struct proc_status *st, struct held_process *r)
{
	struct holder_space *first = groups_get(&s->spaces, &st->pid);

	r->vm_bytes = st->vm_size_bytes;
	if (!first)
		return;
	if (!first->vm_bytes)
		*first = (struct holder_space){st->vm_size_bytes, st->rss_shmem_bytes};
	r->shmem_grown_bytes = counter_rise(first->shmem_bytes, st->rss_shmem_bytes);
	if (st->vm_size_bytes >= first->vm_bytes + SPACE_GROWN)
		mappings_take(s, st->pid, r);
}

/* What it wrote that went to no disk: files in tmpfs have no other trace where their writer opens
 * and closes them. A parent has the sums of the children that it waited for. */
static void writes_take(struct holders *s, u32 pid, struct held_process *r)
{
	char path[64];
	s64 *first, now;

	snprintf(path, sizeof(path), "/proc/%u/io", pid);
	if (keyvals_read(path, &s->io))
		return;
	now = (s64)keyvals_get_or(&s->io, "wchar", 0) -
	      (s64)keyvals_get_or(&s->io, "write_bytes", 0);
	first = groups_get(&s->writes, &pid);
	if (first && !s->looks)
		*first = now;
	if (!first || !s->first_look_ns)
		return;
	r->written_bytes = now > *first ? (u64)(now - *first) : 0;
	r->written_ns = clock_mono_ns() - s->first_look_ns;
}

#define CAP_IPC_LOCK 14

/* Whoever has the right to lock memory may lock any. */
static u64 memlock_of(u32 pid, const struct proc_status *st)
{
	u64 soft, hard;

	if (!st->vm_lck_bytes || st->cap_eff >> CAP_IPC_LOCK & 1 ||
		proc_limit_read((int)pid, "Max locked memory", &soft, &hard))
		return UINT64_MAX;
	return soft;
}

static u64 files_max_of(u32 pid, const struct held_process *r)
{
	u64 soft, hard;

	if (r->files < FILES_LIMIT || proc_limit_read((int)pid, "Max open files", &soft, &hard))
		return 0;
	return soft;
}

static void status_take(struct holders *s, u32 pid, struct held_process *r)
{
	struct proc_status st;

	if (proc_status_read((int)pid, &st))
		return;
	child_add(s, &st);
	r->threads = (u32)st.threads;
	r->uid = st.uid;
	r->parent_tgid = st.ppid;
	r->page_table_bytes = st.vm_pte_bytes;
	r->locked_bytes = st.vm_lck_bytes;
	r->memlock_bytes = memlock_of(pid, &st);
	r->files_max = files_max_of(pid, r);
	r->pinned_bytes = st.vm_pin_bytes;
	r->rss_bytes = st.vm_rss_bytes;
	r->shmem_bytes = st.rss_shmem_bytes;
	r->data_bytes = s->strict ? st.vm_data_bytes + st.vm_stk_bytes : 0;
	if (st.has_mm) {
		space_take(s, &st, r);
		reserved_take(s, &st, r);
		writes_take(s, pid, r);
	}
	s->totals.hugetlb_bytes += st.hugetlb_bytes;
	s->shmem_bytes += st.rss_shmem_bytes;
	holders_heap_offer(s, pid, st.rss_anon_bytes);
	if (st.has_mm)
		ksm_take(s, pid, r);
}

u64 holders_cgroup(struct capture *c, struct holders *s, u32 pid)
{
	if (c->opt.cgroup_version !=
			(s->mounts.memory.version == 1 ? SCOPE_CGROUP_V1 : SCOPE_CGROUP_V2) ||
		cgroup_of_pid(&s->mounts, (int)pid, &s->group))
		return 0;
	names_cgroup(c->names, s->group.id);
	return s->group.id;
}

static void who_take(struct capture *c, struct holders *s, u32 pid, struct held_process *r)
{
	struct proc_stat st;

	if (!proc_stat_read((int)pid, &st))
		r->start_ns = proc_start_ns(&st);
	if (!proc_label_read(pid, &s->label))
		r->name = names_string(c->names, str_get(&s->label));
	if (r->parent_tgid && !proc_label_read(r->parent_tgid, &s->label))
		r->parent = names_string(c->names, str_get(&s->label));
	r->cgroup = holders_cgroup(c, s, pid);
}

static void totals_take(struct holders *s, const struct held_process *r, int looked)
{
	struct held_totals *t = &s->totals;

	t->processes += !looked;
	t->refused += looked == -EACCES || looked == -EPERM;
	t->pipes += r->pipes;
	t->memfd_bytes += r->memfd_bytes;
	t->unread_bytes += r->unread_bytes;
	t->unsent_bytes += r->unsent_bytes;
	t->sockets += r->sockets;
}

/* An upper bound: what several of them have is counted for each. Only where all of it is seen. */
static u64 shown(const struct holders *s)
{
	u64 sum = s->segment_bytes + s->shmem_bytes + s->totals.memfd_bytes;

	if (proc_scope_tests(&s->scope) || s->scope.by_task || !proc_namespace_is_first())
		return 0;
	vec_each (m, &s->tmpfs)
		sum += m->used_bytes;
	return MAX(sum, 1ULL); /* 0: not known */
}

static int totals_send(struct capture *c, struct holders *s)
{
	s->totals.shown_bytes = shown(s);
	s->totals.resident_shmem_bytes = s->totals.shown_bytes ? s->shmem_bytes : 0;
	s->totals.cut |= s->cut;
	return capture_emit(c, &s->totals.h);
}

/* Open files come first, and what their time leaves goes to the status. */
static int holders_look_process_look(
	struct capture *c, struct holders *s, u64 fds_until_ns, const struct holder_entry *e)
{
	struct held_process r = REC_INIT(struct held_process, REC_HELD_PROCESS, 0);
	int rc = 0;

	str_clear(&s->peer);
	str_clear(&s->local);
	str_clear(&s->unnamed);
	if (holders_cpu() >= fds_until_ns)
		holders_cut(s);
	else
		rc = holders_fds_look(s, e->pid, fds_until_ns, &r);
	if (rc == -ENOMEM)
		return rc;
	r.files = MAX(r.files, e->files); /* how many there are is known of those left out too */
	totals_take(s, &r, rc);
	if (s->brief)
		s->children_cut = true;
	else if (holders_cpu() < fds_until_ns + LOOK_STATUS_NS)
		status_take(s, e->pid, &r);
	else
		s->cut = s->children_cut = true;
	if (!stands_out(&r))
		return 0;
	r.tgid = e->pid;
	who_take(c, s, e->pid, &r);
	r.peer = names_string(c->names, str_get(&s->peer));
	r.local = names_string(c->names, str_get(&s->local));
	r.unnamed_most = names_string(c->names, str_get(&s->unnamed));
	rc = s->looks ? 0 : vec_push(&s->told, e->pid);
	return rc ? rc : capture_emit(c, &r.h);
}

/* Those that the first look sent: a look that is cut short may not come to all, and who has ended
 * is not among those that it leaves out. */
static int ended_send(struct capture *c, struct holders *s)
{
	int rc = 0;

	vec_each (pid, &s->told) {
		struct held_process r = REC_INIT(struct held_process, REC_HELD_PROCESS, 0);
		struct proc_stat st;

		r.h.flags = HELD_ENDED;
		r.tgid = *pid;
		if (!rc && (proc_stat_read((int)*pid, &st) == -ENOENT || st.state == 'Z'))
			rc = capture_emit(c, &r.h);
	}
	return rc;
}

static bool ksm_runs(void)
{
	_cleanup_str_ struct str text = {};

	return !sys_read(&text, "/sys/kernel/mm/ksm/run") && str_get(&text)[0] == '1';
}

static bool overcommit_is_strict(void)
{
	u64 mode;

	return !sysctl_read_u64("vm.overcommit_memory", &mode) && mode == 2;
}

int holders_look(struct capture *c, struct holders *s)
{
	int rc = list_make(s);
	u64 until_ns = holders_cpu() + LOOK_FDS_NS;

	s->maps_until_ns = holders_cpu() + LOOK_FDS_NS + LOOK_STATUS_NS + LOOK_MAPS_NS;
	s->reserved = reserved_many();
	s->ksm = ksm_runs();
	s->strict = overcommit_is_strict();
	s->children_cut = false;
	s->shmem_bytes = 0;
	memset(s->heaps, 0, sizeof(s->heaps));
	s->totals = REC_INIT(struct held_totals, REC_HELD_TOTALS, 0);
	groups_clear(&s->inodes);
	groups_clear(&s->parents);
	vec_each (m, &s->tmpfs) {
		m->opener = 0;
		m->opener_files = 0;
	}
	if (!rc && !s->scope.by_task)
		rc = holders_mounts_elsewhere(s);
	for (size_t i = 0; i < s->list.n && !rc; i++)
		rc = holders_look_process_look(c, s, until_ns, &s->list.v[i]);
	if (!rc && s->looks)
		rc = ended_send(c, s);
	if (!s->looks++ && !s->children_cut)
		s->first_look_ns = clock_mono_ns();
	s->totals.status_cut = s->children_cut;
	if (!rc)
		rc = totals_send(c, s);
	return rc ? rc : parents_send(c, s);
}
