/* See where_ledger.h. And the reading of it: the group that was asked for, and those above it. */
#include "probes/where/where_ledger.h"

#include <errno.h>
#include <string.h>

#include "base/greatest.h"
#include "base/less.h"
#include "capture/group.h"
#include "probes/where/where_inner.h"
#include "sys/root.h"

#define OWNERS 8
#define LEVELS 64

struct group_row {
	u32 row;
	const char *name;
};

/* Of version 2: kernel memory that memory.stat tells apart. All but sockets are a part of `kernel`
 * (MEMCG_KMEM, mm/memcontrol.c, 5.18 to 6.18). */
static const struct group_row kernel_rows[] = {
	{WHERE_SLAB, "slab"},
	{WHERE_STACKS, "kernel_stack"},
	{WHERE_PAGE_TABLES, "pagetables"},
	{WHERE_SECONDARY, "sec_pagetables"},
	{WHERE_PERCPU, "percpu"},
	{WHERE_VMALLOC, "vmalloc"},
	{WHERE_COMPRESSED, "zswap"},
};

/* `file` has shared memory and the swap cache in it; what of the latter is mapped is `anon` too. */
static void version_2(const struct keyvals *stat, struct where_ledger *l)
{
	u64 shmem = keyvals_get_or(stat, "shmem", 0), kernel, told = 0, v;

	where_set(l, WHERE_ANON, keyvals_get_or(stat, "anon", 0));
	where_set(l, WHERE_SHARED, shmem);
	where_set(l, WHERE_CACHE,
		u64_less(keyvals_get_or(stat, "file", 0),
			shmem + keyvals_get_or(stat, "swapcached", 0)));
	for (size_t i = 0; i < ARRAY_SIZE(kernel_rows); i++) {
		if (!keyvals_get(stat, kernel_rows[i].name, &v))
			continue;
		where_set(l, kernel_rows[i].row, v);
		told += v;
	}
	if (keyvals_get(stat, "kernel", &kernel))
		where_set(l, WHERE_KERNEL, u64_less(kernel, told));
	if (keyvals_get(stat, "sock", &v))
		where_set(l, WHERE_SOCKETS, v);
	if (keyvals_get(stat, "hugetlb", &v)) /* with memory_hugetlb_accounting */
		where_set(l, WHERE_HUGETLB, v);
}

static void version_1(const struct keyvals *stat, u64 kernel_bytes, struct where_ledger *l)
{
	u64 shmem = keyvals_get_or(stat, "total_shmem", 0);

	where_set(l, WHERE_ANON, keyvals_get_or(stat, "total_rss", 0));
	where_set(l, WHERE_SHARED, shmem);
	where_set(l, WHERE_CACHE, u64_less(keyvals_get_or(stat, "total_cache", 0), shmem));
	if (kernel_bytes)
		where_set(l, WHERE_KERNEL, kernel_bytes);
}

static u64 either(const struct keyvals *stat, int version, const char *v1, const char *v2)
{
	return keyvals_get_or(stat, version == 1 ? v1 : v2, 0);
}

void where_ledger_group(int version, u64 usage_bytes, u64 kernel_bytes, const struct keyvals *stat,
	struct where_ledger *l)
{
	l->scope = WHERE_GROUP;
	l->total_bytes = usage_bytes;
	l->known = l->estimated = l->known_parts = 0;
	if (version == 1)
		version_1(stat, kernel_bytes, l);
	else
		version_2(stat, l);
	where_set_part(l, WHERE_P_FILE_LRU,
		either(stat, version, "total_active_file", "active_file") +
			either(stat, version, "total_inactive_file", "inactive_file"));
	where_set_part(l, WHERE_P_DIRTY, either(stat, version, "total_dirty", "file_dirty"));
	where_set_part(
		l, WHERE_P_WRITEBACK, either(stat, version, "total_writeback", "file_writeback"));
	where_set_part(
		l, WHERE_P_UNEVICTABLE, either(stat, version, "total_unevictable", "unevictable"));
	where_set_part(l, WHERE_P_SWAP, either(stat, version, "total_swap", ""));
	where_set_part(l, WHERE_P_RECLAIMABLE_SLAB, either(stat, version, "", "slab_reclaimable"));
}

static int limit_send(struct capture *c, struct where *w, const struct cgroup *cg)
{
	struct where_limit r = REC_INIT(struct where_limit, REC_WHERE_LIMIT, 0);
	struct cgroup_memory m;
	int rc;

	if (cgroup_memory_read(cg, &m))
		return 0; /* the root of version 2 */
	r.sample = w->sample;
	r.level = cg->level;
	r.cgroup = cg->id;
	r.of_cgroup = w->group.id;
	r.usage_bytes = m.usage_bytes;
	r.limit_bytes = m.limit_bytes;
	r.high_bytes = m.high_bytes;
	r.swap_bytes = m.swap_bytes;
	r.limit_hit_total = m.limit_hit_total;
	rc = names_cgroup(c->names, cg->id);
	return rc ? rc : capture_emit(c, &r.h);
}

/* From the group up to the root of what is mounted. */
static int limits_send(struct capture *c, struct where *w)
{
	_cleanup_free_ struct cgroup *cg = malloc(sizeof(*cg));
	char path[PATH_MAX];
	int rc = cg ? 0 : -ENOMEM;

	snprintf(path, sizeof(path), "%s", cgroup_path(&w->group));
	for (u32 i = 0; i < LEVELS && !rc; i++) {
		char *slash = strrchr(path, '/');

		if (cgroup_resolve(&w->mounts, path, cg))
			return 0;
		rc = limit_send(c, w, cg);
		if (!slash || !strcmp(path, "/"))
			break;
		*(slash == path ? slash + 1 : slash) = '\0';
	}
	return rc;
}

static int members_send(struct capture *c, struct where *w)
{
	_cleanup_proc_iter_ struct proc_iter it = {};
	u64 page = (u64)sysconf(_SC_PAGESIZE);
	struct top top;
	int pid, rc = proc_iter_open(&it);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	top_clear(&top, OWNERS);
	while (proc_iter_next(&it, &pid)) {
		struct proc_statm m;

		if (!proc_scope_is_self(&w->scope, (u32)pid) &&
			proc_scope_test(&w->scope, (u32)pid) && !proc_statm_read(pid, &m))
			top_offer(&top, proc_statm_anon_pages(&m), (u32)pid);
	}
	for (u32 i = 0; i < top.n && !rc; i++) {
		struct where_owner o = REC_INIT(struct where_owner, REC_WHERE_OWNER, 0);

		o.scope = WHERE_GROUP;
		o.row = WHERE_ANON;
		o.tgid = top.at[i];
		o.bytes = top.key[i] * page;
		if (!proc_label_read(o.tgid, &w->label))
			rc = where_owner_send(c, w, &o, str_get(&w->label));
	}
	return rc;
}

static int none_tell(struct capture *c, const struct cgroup *cg)
{
	bool root = cg->version == 2 && !strcmp(cgroup_path(cg), "/");

	return capture_note(c, NOTE_NOT_CHECKED, "what is charged to the group: %s",
		root ? "the kernel does not count this for the root; memwhy where shows the machine"
		     : "it has no memory controller");
}

int where_group_send(struct capture *c, struct where *w)
{
	struct where_ledger l = REC_INIT(struct where_ledger, REC_WHERE_LEDGER, 0);
	struct cgroup_memory m;
	u64 kernel = 0;
	int rc = w->group.id ? 0 : capture_group(c, &w->mounts, &w->group);

	if (rc == -ENOMEM)
		return rc;
	if (!rc)
		rc = cgroup_memory_read(&w->group, &m);
	if (!rc)
		rc = cgroup_stat_read(&w->group, &w->kv);
	if (rc)
		return c->ending ? none_tell(c, &w->group) : 0;
	if (w->group.version == 1)
		sys_read_u64(&kernel, "%s/memory.kmem.usage_in_bytes", w->group.dir);
	where_ledger_group(w->group.version, m.usage_bytes, kernel, &w->kv, &l);
	l.sample = w->sample;
	l.cgroup = w->group.id;
	where_set_part(&l, WHERE_P_SWAP, m.swap_bytes);
	rc = names_cgroup(c->names, l.cgroup);
	if (!rc)
		rc = capture_emit(c, &l.h);
	if (!rc)
		rc = limits_send(c, w);
	if (!rc)
		rc = members_send(c, w);
	return rc ? rc : where_groups_send(c, w, cgroup_path(&w->group));
}
