/*
 * Who has the machine's memory: for each row the few that have most of it, by what the kernel tells
 * cheaply. No page table is walked for it.
 */
#include <errno.h>
#include <string.h>

#include "base/greatest.h"
#include "base/units.h"
#include "probes/where/where_inner.h"
#include "sys/memory/slabinfo.h"
#include "sys/memory/sysvipc.h"
#include "sys/memory/vmallocinfo.h"
#include "sys/memory/zram.h"
#include "sys/process/proc.h"

#define OWNERS 8       /* of a row */
#define ASKED 64       /* processes that are asked for more: those with most memory */
#define ASKED_HUGE 256 /* … for huge pages: those with most that is mapped and not resident */
#define LEAST_HUGE_PAGES 512 /* in the least huge page */
#define GROUPS_MAX 256
#define LEAST_BYTES (1ULL << 20)
#define STACK_BYTES (16ULL << 10) /* of a thread (THREAD_SIZE of x86-64, 3.15 to 7.3) */
#define MAPS_IT "mapped, maybe shared"

int where_owner_send(struct capture *c, struct where *w, struct where_owner *o, const char *name)
{
	o->name = names_string(c->names, name);
	o->sample = w->sample;
	return o->name ? capture_emit(c, &o->h) : 0;
}

static struct where_owner owner_of(u32 row, u64 bytes)
{
	struct where_owner o = REC_INIT(struct where_owner, REC_WHERE_OWNER, 0);

	o.row = row;
	o.bytes = bytes;
	return o;
}

struct process {
	u32 pid;
	u64 anon_pages, resident_pages;
};

struct processes {
	VEC(struct process) list;
	struct top anon, resident, absent, tables, shared, huge, threads;
};

static int processes_read(struct where *w, struct processes *p)
{
	_cleanup_proc_iter_ struct proc_iter it = {};
	int pid, rc = proc_iter_open(&it);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	while (!rc && proc_iter_next(&it, &pid)) {
		struct process e = {.pid = (u32)pid};
		struct proc_statm m;

		if (proc_scope_is_self(&w->scope, e.pid) || proc_statm_read(pid, &m))
			continue;
		e.anon_pages = proc_statm_anon_pages(&m);
		e.resident_pages = m.resident_pages;
		top_offer(&p->anon, e.anon_pages, (u32)p->list.n);
		top_offer(&p->resident, e.resident_pages, (u32)p->list.n);
		if (m.size_pages >= m.resident_pages + LEAST_HUGE_PAGES)
			top_offer(&p->absent, m.size_pages - m.resident_pages, (u32)p->list.n);
		rc = vec_push(&p->list, e);
	}
	return rc;
}

static int where_owners_process_send(struct capture *c, struct where *w, u32 row, u32 pid,
	u64 bytes, u64 count, const char *detail)
{
	struct where_owner o = owner_of(row, bytes);

	if (proc_label_read(pid, &w->label))
		return 0;
	o.tgid = pid;
	o.count = count;
	o.detail = names_string(c->names, detail);
	return where_owner_send(c, w, &o, str_get(&w->label));
}

static void status_offer(struct processes *p, u32 at)
{
	struct proc_status st;

	if (proc_status_read((int)p->list.v[at].pid, &st))
		return;
	top_offer(&p->tables, st.vm_pte_bytes, at);
	top_offer(&p->shared, st.rss_shmem_bytes, at);
	top_offer(&p->huge, st.hugetlb_bytes, at);
	top_offer(&p->threads, st.threads, at);
}

/* Only some are asked for their status, which takes four times as long as statm. Huge pages of the
 * pool are mapped and in no process's resident memory. */
static void asked_offer(struct processes *p, bool huge)
{
	for (u32 i = 0; i < p->resident.n; i++)
		status_offer(p, p->resident.at[i]);
	for (u32 i = 0; huge && i < p->absent.n; i++)
		if (!top_has(&p->resident, p->absent.at[i]))
			status_offer(p, p->absent.at[i]);
}

static int top_send(struct capture *c, struct where *w, const struct processes *p,
	const struct top *of, u32 row, u64 least, const char *detail)
{
	int rc = 0;

	for (u32 i = 0; i < of->n && !rc; i++)
		if (of->key[i] >= least)
			rc = where_owners_process_send(
				c, w, row, p->list.v[of->at[i]].pid, of->key[i], 0, detail);
	return rc;
}

static int stacks_send(struct capture *c, struct where *w, const struct processes *p)
{
	const struct top *of = &p->threads;
	int rc = 0;

	for (u32 i = 0; i < of->n && !rc; i++)
		if (of->key[i] * STACK_BYTES >= LEAST_BYTES)
			rc = where_owners_process_send(c, w, WHERE_STACKS, p->list.v[of->at[i]].pid,
				of->key[i] * STACK_BYTES, of->key[i], "its threads");
	return rc;
}

static int processes_send(struct capture *c, struct where *w)
{
	_cleanup_free_ struct processes *p = calloc(1, sizeof(*p));
	u64 page = (u64)sysconf(_SC_PAGESIZE);
	u64 huge = keyvals_get_or(&w->meminfo, "Hugepagesize", 0);
	int rc = p ? 0 : -ENOMEM;

	if (rc)
		return rc;
	top_clear(&p->anon, OWNERS);
	top_clear(&p->resident, ASKED);
	top_clear(&p->absent, ASKED_HUGE);
	top_clear(&p->tables, OWNERS);
	top_clear(&p->shared, OWNERS);
	top_clear(&p->huge, OWNERS);
	top_clear(&p->threads, OWNERS);
	rc = processes_read(w, p);
	if (!rc)
		asked_offer(p, keyvals_get_or(&w->meminfo, "Hugetlb", 0) >
				       keyvals_get_or(&w->meminfo, "HugePages_Free", 0) * huge);
	for (u32 i = 0; i < p->anon.n && !rc; i++)
		rc = where_owners_process_send(c, w, WHERE_ANON, p->list.v[p->anon.at[i]].pid,
			p->anon.key[i] * page, 0, "");
	if (!rc)
		rc = top_send(c, w, p, &p->tables, WHERE_PAGE_TABLES, 1, "");
	if (!rc)
		rc = top_send(c, w, p, &p->shared, WHERE_SHARED, LEAST_BYTES, MAPS_IT);
	if (!rc)
		rc = top_send(c, w, p, &p->huge, WHERE_HUGETLB, 1, "");
	if (!rc)
		rc = stacks_send(c, w, p);
	vec_free(&p->list);
	return rc;
}

static int mounts_send(struct capture *c, struct where *w)
{
	const char *unlimited = NULL;
	int rc = 0;

	vec_each (m, &w->memfs.list) {
		struct where_owner o = owner_of(WHERE_TMPFS, m->used_bytes);

		unlimited = m->unlimited ? m->point : unlimited;
		if (rc || !m->used_bytes)
			continue;
		o.tgid = m->pid;
		if (m->pid)
			o.detail = names_string(c->names, "that process's mounts");
		rc = where_owner_send(c, w, &o, m->point);
	}
	if (!rc && unlimited && c->ending)
		rc = capture_note(c, NOTE_NOT_CHECKED,
			"how much memory the files in %.80s take: a tmpfs without a size limit "
			"does not report it, so they are in shared_memory",
			unlimited);
	return rc;
}

static int segment_send(struct capture *c, struct where *w, const struct shm_segment *g)
{
	struct where_owner o = owner_of(WHERE_SHARED, g->resident_bytes);
	char name[64], detail[128];

	snprintf(name, sizeof(name), "System V segment %llu", g->id);
	snprintf(detail, sizeof(detail), "%s, made by process %u%s",
		g->attached ? "attached" : "attached by nobody", g->creator_pid,
		g->perms & SHM_SEGMENT_REMOVED ? ", to be removed" : "");
	o.count = g->attached;
	o.detail = names_string(c->names, detail);
	return where_owner_send(c, w, &o, name);
}

static int segments_send(struct capture *c, struct where *w)
{
	struct shm_segments all = {};
	struct top top;
	int rc = shm_segments_read(&all);

	top_clear(&top, OWNERS);
	for (size_t i = 0; i < all.list.n; i++)
		top_offer(&top, all.list.v[i].resident_bytes, (u32)i);
	rc = rc == -ENOMEM ? rc : 0;
	for (u32 i = 0; i < top.n && !rc; i++)
		rc = segment_send(c, w, &all.list.v[top.at[i]]);
	shm_segments_free(&all);
	return rc;
}

static int slab_send(struct capture *c, struct where *w, const struct slab_cache *s)
{
	struct where_owner o = owner_of(WHERE_SLAB, s->total_bytes);

	o.count = s->num_objs;
	o.free_bytes =
		s->num_objs > s->active_objs ? (s->num_objs - s->active_objs) * s->object_bytes : 0;
	return where_owner_send(c, w, &o, s->name);
}

/* Blocks of more than two pages go to the page allocator, and count as slab (kmalloc_large_node(),
 * 5.8 to 6.18). */
static int large_send(struct capture *c, struct where *w, u64 in_caches)
{
	u64 slab = keyvals_get_or(&w->meminfo, "Slab", 0);
	struct where_owner o = owner_of(WHERE_SLAB, slab > in_caches ? slab - in_caches : 0);

	if (o.bytes < LEAST_BYTES)
		return 0;
	o.estimated = 1;
	return where_owner_send(c, w, &o, "large blocks of kmalloc");
}

static int slabs_send(struct capture *c, struct where *w)
{
	_cleanup_slabinfo_ struct slabinfo info = {};
	struct top top;
	u64 sum = 0;
	int rc = slabinfo_read(&info);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	top_clear(&top, OWNERS);
	for (size_t i = 0; i < info.caches.n; i++) {
		sum += info.caches.v[i].total_bytes;
		top_offer(&top, info.caches.v[i].total_bytes, (u32)i);
	}
	for (u32 i = 0; i < top.n && !rc; i++)
		rc = slab_send(c, w, &info.caches.v[top.at[i]]);
	return rc ? rc : large_send(c, w, sum);
}

static int vmalloc_send(struct capture *c, struct where *w)
{
	_cleanup_vmallocinfo_ struct vmallocinfo info = {};
	u64 page = (u64)sysconf(_SC_PAGESIZE);
	struct top top;
	int rc = vmallocinfo_read(&info);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	top_clear(&top, OWNERS);
	for (size_t i = 0; i < info.list.n; i++)
		if (!vmalloc_is_stack(info.list.v[i].caller))
			top_offer(&top, info.list.v[i].pages * page, (u32)i);
	for (u32 i = 0; i < top.n && !rc; i++) {
		struct where_owner o = owner_of(WHERE_VMALLOC, top.key[i]);

		o.count = info.list.v[top.at[i]].areas;
		rc = where_owner_send(c, w, &o, info.list.v[top.at[i]].caller);
	}
	return rc;
}

static int zram_send(struct capture *c, struct where *w)
{
	static const char *const uses[] = {[ZRAM_RAW] = "not swap, not mounted here",
		[ZRAM_SWAP] = "swap",
		[ZRAM_MOUNTED] = "mounted on ",
		[ZRAM_BELOW] = "below "};
	_cleanup_zram_devices_ struct zram_devices all = {};
	int rc = zram_devices_read(&all);

	vec_each (z, &all.list) {
		struct where_owner o = owner_of(WHERE_COMPRESSED, z->stat.memory_bytes);
		char detail[192], data[UNIT_BUF];

		snprintf(detail, sizeof(detail), "%s%s; stores %s", uses[z->use], z->on,
			fmt_bytes(data, z->stat.data_bytes));
		o.detail = names_string(c->names, detail);
		rc = rc ? rc : where_owner_send(c, w, &o, z->path);
	}
	return rc;
}

static bool is_below(const char *path, const char *group)
{
	size_t n = strcmp(group, "/") ? strlen(group) : 0;

	return !strncmp(path, group, n) && path[n] == '/';
}

/* Is there a group below this one? The list is by id. */
static bool has_children(const struct cgroup_ids *ids, const char *path)
{
	vec_each (g, &ids->list)
		if (is_below(g->path, path))
			return true;
	return false;
}

/* Of version 1 a group's own numbers; of version 2, where they include the groups below, those of
 * groups that have none below. */
static u64 cache_read(struct where *w, const struct cgroup_hierarchy *h, const char *path)
{
	struct cgroup cg = {.version = h->version};
	u64 file, shmem;
	int n = snprintf(cg.dir, sizeof(cg.dir), "%s%s", h->mount, strcmp(path, "/") ? path : "");

	if (n < 0 || (size_t)n >= sizeof(cg.dir) || cgroup_stat_read(&cg, &w->kv))
		return 0;
	file = keyvals_get_or(&w->kv, h->version == 1 ? "cache" : "file", 0);
	shmem = keyvals_get_or(&w->kv, "shmem", 0);
	return file > shmem ? file - shmem : 0;
}

int where_groups_send(struct capture *c, struct where *w, const char *below)
{
	_cleanup_cgroup_ids_ struct cgroup_ids ids = {};
	const struct cgroup_hierarchy *h = &w->mounts.memory;
	struct top top;
	int rc = 0;

	if (!h->version || cgroup_ids_load(h, &ids))
		return 0;
	if (ids.list.n > GROUPS_MAX)
		return capture_note(c, NOTE_NOT_CHECKED,
			"which control groups own the page cache: asking all %zu takes too long",
			ids.list.n);
	top_clear(&top, OWNERS);
	for (size_t i = 0; i < ids.list.n; i++)
		if ((!below || is_below(ids.list.v[i].path, below)) &&
			(h->version == 1 || !has_children(&ids, ids.list.v[i].path)))
			top_offer(&top, cache_read(w, h, ids.list.v[i].path), (u32)i);
	for (u32 i = 0; i < top.n && !rc; i++) {
		struct where_owner o = owner_of(WHERE_CACHE, top.key[i]);

		o.scope = below ? WHERE_GROUP : WHERE_MACHINE;
		o.cgroup = ids.list.v[top.at[i]].id;
		rc = names_cgroup(c->names, o.cgroup);
		if (!rc)
			rc = where_owner_send(c, w, &o, ids.list.v[top.at[i]].path);
	}
	return rc;
}

static int groups_of_machine_send(struct capture *c, struct where *w)
{
	return where_groups_send(c, w, NULL);
}

int where_owners_send(struct capture *c, struct where *w)
{
	static int (*const all[])(struct capture *, struct where *) = {processes_send, mounts_send,
		segments_send, slabs_send, vmalloc_send, zram_send, groups_of_machine_send};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all) && !rc; i++)
		rc = all[i](c, w);
	return rc;
}
