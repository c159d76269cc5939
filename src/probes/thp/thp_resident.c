/* See thp_resident.h. */
#include "probes/thp/thp_resident.h"

#include <errno.h>
#include <string.h>

#include "capture/names/names.h"
#include "probes/thp/thp.h"
#include "sys/process/huge_waste.h"
#include "sys/process/proc.h"
#include "sys/root.h"

#define LOOK_PROCESSES 16 /* the biggest by resident memory */
#define LOOK_WASTE 64     /* huge pages of each that are read: 128 MiB at the most */
/* For check, beside a busy machine. */
#define GENTLE_PROCESSES 4
#define GENTLE_WASTE 16
/* Memory whose page tables are walked in one look: see processes_look.h. */
#define LOOK_PAGES (16ULL << 20)
#define MIN_BYTES (8UL << 20)         /* smaller processes cannot waste much */
#define UNREADABLE_BYTES (64UL << 20) /* smaller ones that may not be read are not worth a word */
#define ANCESTORS 32

int resident_open(struct capture *c, struct resident *r)
{
	cgroup_mounts_read(&r->mounts);
	return proc_scope_open(c, &r->scope);
}

void resident_close(struct resident *r)
{
	proc_scope_free(&r->scope);
	str_free(&r->text);
	smaps_free(&r->maps);
	vec_free(&r->big);
}

static bool has_root(const struct resident *r, u32 pid)
{
	struct proc_stat st;

	for (int i = 0; i < ANCESTORS && pid; i++) {
		if (proc_scope_has_root(&r->scope, pid))
			return true;
		if (!r->scope.follow || proc_stat_read((int)pid, &st))
			return false;
		pid = (u32)st.ppid;
	}
	return false;
}

static bool thp_resident_in_scope(struct resident *r, u32 pid)
{
	if (proc_scope_is_self(&r->scope, pid) || (r->scope.by_task && !has_root(r, pid)))
		return false;
	return !proc_scope_tests(&r->scope) || proc_scope_test(&r->scope, pid);
}

static int by_size(const void *a, const void *b)
{
	const struct big *x = a, *y = b;

	return x->resident_bytes > y->resident_bytes ? -1 : x->resident_bytes < y->resident_bytes;
}

/* All processes by their resident memory, the biggest first. */
static int biggest_find(struct resident *r)
{
	_cleanup_proc_iter_ struct proc_iter it = {};
	struct proc_statm m;
	int pid, rc = proc_iter_open(&it);

	r->big.n = 0;
	while (!rc && proc_iter_next(&it, &pid)) {
		struct big b = {.pid = (u32)pid};

		if (proc_statm_read(pid, &m))
			continue;
		b.resident_bytes = m.resident_pages * (u64)sysconf(_SC_PAGESIZE);
		if (b.resident_bytes >= MIN_BYTES && thp_resident_in_scope(r, b.pid))
			rc = vec_push(&r->big, b);
	}
	if (r->big.n)
		qsort(r->big.v, r->big.n, sizeof(r->big.v[0]), by_size);
	return rc;
}

static void waste_fill(struct resident *r, u32 sample, struct thp_process *p)
{
	struct waste w;
	int rc = smaps_read((int)p->tgid, &r->text, &r->maps);

	if (!rc)
		rc = waste_estimate(proc_memory_task((int)p->tgid), &r->maps, sample, &w);
	if (rc == -EPERM || rc == -EACCES)
		r->unreadable++;
	if (rc)
		return;
	p->sampled = w.sampled;
	p->candidates = w.candidates;
	p->untouched = w.untouched;
	p->exact = w.exact;
	/* the second look at its page tables may have found more than the first */
	p->waste_bytes = MIN(w.waste_bytes, p->anon_huge_bytes);
	p->error_bytes = w.error_bytes;
}

/* The group that the memory is charged to, where records name groups of that hierarchy. */
static u64 cgroup_of(const struct capture *c, struct resident *r, u32 pid)
{
	u8 version = c->opt.cgroup_version;

	if (!version || r->mounts.memory.version != (version == SCOPE_CGROUP_V1 ? 1 : 2) ||
		cgroup_of_pid(&r->mounts, (int)pid, &r->group))
		return 0;
	return r->group.id;
}

static int thp_resident_process_look(struct capture *c, struct resident *r, u32 pid, u64 bytes)
{
	struct thp_process p = REC_INIT(struct thp_process, REC_THP_PROCESS, 0);
	struct smaps_sum sum;
	struct proc_stat st;
	int rc = smaps_rollup_read((int)pid, &r->text, &sum);

	if (rc == -EACCES || rc == -EPERM)
		r->unreadable += bytes >= UNREADABLE_BYTES;
	if (rc || !(sum.anon_huge_bytes + sum.shmem_huge_bytes + sum.file_huge_bytes) ||
		proc_stat_read((int)pid, &st))
		return 0;
	p.tgid = pid;
	p.start_ns = proc_start_ns(&st);
	p.rss_bytes = sum.rss_bytes;
	p.anon_huge_bytes = sum.anon_huge_bytes;
	p.shmem_huge_bytes = sum.shmem_huge_bytes;
	p.file_huge_bytes = sum.file_huge_bytes;
	p.cgroup = cgroup_of(c, r, pid);
	snprintf(p.comm, sizeof(p.comm), "%.15s", st.comm);
	if (p.anon_huge_bytes)
		waste_fill(r, c->opt.gentle ? GENTLE_WASTE : LOOK_WASTE, &p);
	rc = names_task(c->names, pid, 0, p.comm, p.cgroup);
	return rc ? rc : capture_emit(c, &p.h);
}

int resident_look(struct capture *c, struct resident *r)
{
	size_t limit = c->opt.gentle ? GENTLE_PROCESSES : LOOK_PROCESSES;
	u64 left = LOOK_PAGES;
	int rc = biggest_find(r);

	if (rc && rc != -ENOMEM)
		return 0; /* no /proc: survey said so */
	r->unreadable = r->left_out = 0;
	for (size_t i = 0; i < MIN(limit, r->big.n) && !rc; i++) {
		u64 pages = r->big.v[i].resident_bytes / (u64)sysconf(_SC_PAGESIZE);

		if (pages > left) {
			r->left_out++;
			continue;
		}
		left -= pages;
		rc = thp_resident_process_look(c, r, r->big.v[i].pid, r->big.v[i].resident_bytes);
	}
	if (!rc && c->ending && !r->told && r->left_out)
		rc = capture_note(c, NOTE_NOT_CHECKED,
			"the huge pages of %u of the biggest processes: walking their page tables "
			"would take long",
			r->left_out);
	if (!rc && c->ending && !r->told && r->unreadable)
		rc = capture_note(c, NOTE_NOT_CHECKED,
			"the huge pages of %u of the biggest processes: their memory may not be "
			"read (that takes CAP_SYS_PTRACE over them)",
			r->unreadable);
	r->told |= c->ending;
	return rc;
}
