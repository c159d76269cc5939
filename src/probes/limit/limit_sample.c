/* See limit_sample.h. */
#include "probes/limit/limit_sample.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"
#include "base/vec.h"
#include "capture/group.h"
#include "capture/names/names.h"
#include "capture/proc_scope.h"
#include "probes/limit/limit.h"
#include "probes/limit/limit_opts.h"
#include "sys/host.h"
#include "sys/keyvals.h"
#include "sys/memory/diskstats.h"
#include "sys/memory/pressure.h"
#include "sys/process/maps.h"
#include "sys/process/proc.h"
#include "sys/process/smaps.h"
#include "sys/process/tlb.h"
#include "sys/root.h"

#define EVERY_NS NSEC_PER_SEC
/* Looks come at twice the time of the last one, so that all together take this part of it. */
#define COST_PART 50
#define SLOW_NS (100 * NSEC_PER_MSEC)

struct limit_sampler {
	struct proc_scope scope;
	struct cgroup_mounts mounts;
	struct cgroup group;
	struct keyvals kv;
	struct str text;
	struct maps maps;
	struct smaps_all rss;
	struct host host;
	u64 begin_ns, next_ns;
	u32 refused, not_cleared;
	u32 cpus_left; /* which may still remember what was cleared */
	u64 slowest_ns;
	bool works;
	bool keeps_bits; /* --keep-bits */
};

/* All bits of its page tables that say "accessed", and nothing else. */
static int bits_clear(int pid)
{
	char path[PATH_MAX];
	int fd, rc = sys_path(path, "/proc/%d/clear_refs", proc_memory_task(pid));

	if (rc)
		return rc;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = write(fd, "1", 1) == 1 ? 0 : -errno;
	close(fd);
	return rc;
}

/* A part of what is mapped by others too. */
static u64 part(u64 bytes, u64 of, u64 all)
{
	return all ? (u64)((double)bytes * (double)MIN(of, all) / (double)all) : 0;
}

static void limit_sample_mapping_add(
	struct limit_mapped *r, const struct mapping *m, const struct smaps_rss *v)
{
	u64 touched = part(v->referenced_bytes, v->pss_bytes, v->rss_bytes);
	u64 anon = part(touched, v->anon_bytes, v->rss_bytes);

	r->rss_bytes += v->rss_bytes;
	if (m->kind == MAPPING_SHMEM || m->kind == MAPPING_HUGETLB || m->kind == MAPPING_VDSO)
		return;
	r->anon_bytes += anon;
	r->file_bytes += touched - anon;
}

/* A process that is gone is no error. */
static int limit_sample_process_add(struct limit_sampler *s, u32 pid, struct limit_mapped *r)
{
	int rc = proc_memory_read((int)pid, "smaps", &s->text);
	struct mapping_rss at = {};

	if (rc == -EACCES || rc == -EPERM)
		r->refused++;
	if (!rc)
		rc = maps_parse(str_get(&s->text), &s->maps);
	if (!rc)
		rc = smaps_all_parse(str_get(&s->text), &s->rss);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	r->processes++;
	while (mapping_rss_next(&s->maps, &s->rss, &at))
		limit_sample_mapping_add(r, at.map, at.rss);
	return 0;
}

/* Each process of the group: its bits are cleared (r NULL), or read. */
static int processes_each(struct limit_sampler *s, struct limit_mapped *r)
{
	_cleanup_proc_iter_ struct proc_iter it = {};
	int pid, rc = proc_iter_open(&it);

	while (!rc && proc_iter_next(&it, &pid)) {
		if (proc_scope_is_self(&s->scope, (u32)pid) ||
			!proc_scope_test(&s->scope, (u32)pid))
			continue;
		if (r)
			rc = limit_sample_process_add(s, (u32)pid, r);
		else if (bits_clear(pid) == -EACCES)
			s->not_cleared++;
	}
	return rc == -ENOMEM ? rc : 0;
}

static u64 stat_of(const struct limit_sampler *s, const char *v1, const char *v2)
{
	return keyvals_get_or(&s->kv, s->group.version == 1 ? v1 : v2, 0);
}

static void parts_fill(struct limit_sampler *s, struct limit_group *r)
{
	u64 file, kernel = 0;

	if (cgroup_stat_read(&s->group, &s->kv))
		return;
	r->anon_bytes = stat_of(s, "total_rss", "anon");
	r->shmem_bytes = stat_of(s, "total_shmem", "shmem");
	/* the swap cache is in `file` of version 2, and in none of version 1 */
	file = stat_of(s, "total_cache", "file");
	r->file_bytes = counter_rise(r->shmem_bytes + stat_of(s, "", "swapcached"), file);
	if (s->group.version == 1)
		sys_read_u64(&kernel, "%s/memory.kmem.usage_in_bytes", s->group.dir);
	else
		kernel = keyvals_get_or(&s->kv, "kernel",
				 keyvals_get_or(&s->kv, "slab", 0) +
					 keyvals_get_or(&s->kv, "kernel_stack", 0) +
					 keyvals_get_or(&s->kv, "pagetables", 0)) +
			 keyvals_get_or(&s->kv, "sock", 0);
	r->kernel_bytes = kernel;
	r->locked_bytes = stat_of(s, "total_unevictable", "unevictable");
	r->refault_total = stat_of(s, "total_workingset_refault_file", "workingset_refault_file") +
			   stat_of(s, "total_workingset_refault_anon", "workingset_refault_anon");
}

/* What swap is left for the group. */
static u64 swap_free(struct limit_sampler *s, const struct cgroup_memory *m)
{
	u64 free_bytes, used = m->swap_bytes, limit = m->swap_limit_bytes;

	if (keyvals_read("/proc/meminfo", &s->kv))
		return 0;
	free_bytes = keyvals_get_or(&s->kv, "SwapFree", 0);
	if (m->version == 2 && limit != CGROUP_NO_LIMIT)
		free_bytes = MIN(free_bytes, limit > used ? limit - used : 0);
	return free_bytes;
}

static void pressure_fill(struct limit_sampler *s, struct limit_group *r)
{
	struct pressure p;

	if (s->group.version == 2 && !pressure_read_cgroup(s->group.dir, "memory", &p))
		r->h.flags |= LIMIT_PRESSURE_GROUP;
	else if (!pressure_read("memory", &p))
		r->h.flags |= LIMIT_PRESSURE_MACHINE;
	else
		return;
	r->some_us = p.some.total_us;
	r->full_us = p.full.total_us;
}

static int group_send(struct capture *c, struct limit_sampler *s, u64 now)
{
	struct limit_group r = REC_INIT(struct limit_group, REC_LIMIT_GROUP, 0);
	struct disk_reads disks;
	struct cgroup_memory m;
	int rc;

	if (cgroup_memory_read(&s->group, &m))
		return c->ending ? capture_note(
					   c, NOTE_NOT_CHECKED, "how the group ended: it is gone")
				 : 0;
	r.cgroup = s->group.id;
	r.dir = names_string(c->names, s->group.dir);
	r.elapsed_ns = now - s->begin_ns;
	r.version = (u32)m.version;
	r.cpus = s->host.cpus;
	r.usage_bytes = m.usage_bytes;
	r.limit_bytes = m.limit_bytes;
	r.high_bytes = m.high_bytes;
	r.swap_bytes = m.swap_bytes;
	r.limit_hit_total = m.limit_hit_total;
	r.high_hit_total = m.high_hit_total;
	r.oom_total = m.oom_kill_total;
	parts_fill(s, &r);
	r.swap_free_bytes = swap_free(s, &m);
	pressure_fill(s, &r);
	if (c->opt.scope.by_task || c->opt.scope.tasks.n || c->opt.scope.comm[0])
		r.h.flags |= LIMIT_PARTIAL;
	if (!disk_reads_read(&s->text, &disks)) {
		r.read_bytes = disks.bytes;
		r.read_ns = disks.ns;
	}
	rc = names_cgroup(c->names, r.cgroup);
	return rc ? rc : capture_emit(c, &r.h);
}

static int mapped_send(struct capture *c, struct limit_sampler *s, u64 now)
{
	struct limit_mapped r = REC_INIT(struct limit_mapped, REC_LIMIT_MAPPED, 0);
	int rc = processes_each(s, &r);

	r.elapsed_ns = now - s->begin_ns;
	r.read_ns = clock_mono_ns() - now;
	s->slowest_ns = MAX(s->slowest_ns, r.read_ns);
	s->refused = r.refused;
	r.refused += s->not_cleared;
	s->next_ns = now + MAX(r.elapsed_ns, r.read_ns * COST_PART);
	return rc ? rc : capture_emit(c, &r.h);
}

static int end_tell(struct capture *c, const struct limit_sampler *s)
{
	int rc = 0;

	if (s->refused + s->not_cleared)
		rc = capture_note(c, NOTE_NOT_CHECKED,
			"what %u processes of the group touch through their page tables: they may "
			"not be looked at",
			MAX(s->refused, s->not_cleared));
	if (!rc && s->cpus_left)
		rc = capture_note(c, NOTE_NOT_CHECKED,
			"what was touched on %u CPUs, in part: memwhy could not run there, and "
			"they may remember which pages they had accessed before",
			s->cpus_left);
	if (!rc && s->slowest_ns > SLOW_NS)
		rc = capture_note(c, NOTE_INFO,
			"reading the mappings of the group's processes took up to %llu ms, in "
			"which their page faults may have waited",
			s->slowest_ns / NSEC_PER_MSEC);
	return rc;
}

/* All processes of the group begin anew. */
static int bits_clear_all(struct limit_sampler *s)
{
	int rc = processes_each(s, NULL);

	return rc ? rc : tlb_forget(&s->host.cpus_online, &s->cpus_left);
}

static int limit_open(struct capture *c, void *state, struct err *err)
{
	struct limit_sampler *s = state;
	int rc;

	if (!capture_named(c))
		return 0;
	if (!c->opt.scope.cgroup_id)
		return capture_missing(
			c, "memory of the group", "no group was asked for", "-g or -C");
	cgroup_mounts_read(&s->mounts);
	rc = proc_scope_open(c, &s->scope);
	if (!rc)
		rc = capture_group(c, &s->mounts, &s->group);
	if (rc == -ENOENT || rc == -EOPNOTSUPP)
		return err_set(err, rc, "limit: the group has no memory controller");
	s->keeps_bits = c->opts && OPTS_OF(struct limit_opts, c->opts)->keep_bits;
	host_read(&s->host);
	if (!rc && !s->keeps_bits)
		rc = bits_clear_all(s);
	s->works = !rc;
	s->begin_ns = clock_mono_ns();
	if (!rc && s->keeps_bits)
		rc = capture_missing(c, "pages touched through page tables",
			"accessed bits were left as they are", "memwhy limit without --keep-bits");
	else if (!rc)
		rc = capture_method(c, "pages touched through page tables",
			"accessed bits, by clear_refs and smaps", NULL);
	if (!rc)
		rc = capture_method(c, "memory of the group", "memory.stat", NULL);
	return rc ? err_errno(err, rc, "limit") : 0;
}

static int limit_sample(struct capture *c, void *state)
{
	struct limit_sampler *s = state;
	u64 now = clock_mono_ns();
	int rc;

	if (!s->works || (now < s->next_ns && !c->ending))
		return 0;
	rc = group_send(c, s, now);
	if (s->keeps_bits)
		s->next_ns = now + now - s->begin_ns;
	else if (!rc)
		rc = mapped_send(c, s, now);
	return rc || !c->ending ? rc : end_tell(c, s);
}

static void limit_close(void *state)
{
	struct limit_sampler *s = state;

	proc_scope_free(&s->scope);
	keyvals_free(&s->kv);
	str_free(&s->text);
	maps_free(&s->maps);
	smaps_all_free(&s->rss);
}

static int limit_survey(struct capture *c)
{
	int rc = sys_exists("/proc/self/clear_refs");

	if (rc)
		return capture_missing(c, "pages touched through page tables",
			"there is no /proc/PID/clear_refs",
			"a kernel with CONFIG_PROC_PAGE_MONITOR");
	return capture_method(c, "pages touched through page tables",
		"accessed bits, by clear_refs and smaps", NULL);
}

const struct probe_sampler limit_sampler = {
	.size = sizeof(struct limit_sampler),
	.every_ns = EVERY_NS,
	.open = limit_open,
	.sample = limit_sample,
	.close = limit_close,
	.survey = limit_survey,
};
