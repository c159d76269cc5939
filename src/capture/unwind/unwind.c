/* See unwind.h. */
#include "capture/unwind/unwind.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "bpf/unwind.h"
#include "capture/kbtf.h"
#include "capture/names/names.h"
#include "capture/reader/reader.h"
#include "capture/unwind/unwind_files.h"
#include "capture/unwind/unwind_late.h"
#include "capture/unwind/unwind_layouts.h"
#include "capture/unwind/unwind_pages.h"
#include "capture/unwind/unwind_warm.h"
#include "sym/hash.h"
#include "sys/process/proc.h"

#define TRIES 3                     /* a process may exec while it is looked at */
#define AGAIN_NS (NSEC_PER_SEC / 2) /* not to be asked for the same process more often */

/* An address space and its copies: what children have that nobody has looked at. */
struct identity {
	u64 id;
	u32 uses;
	const struct unwind_layout *layout; /* of one of them */
	UT_hash_handle hh;
};

struct process {
	u32 tgid;
	u32 version; /* of its map, see names_map_version */
	struct identity *identity;
	const struct unwind_layout *layout; /* NULL: no room */
	u64 made_ns;
	bool asked; /* code was met that is in no mapping, and none is new */
	UT_hash_handle hh;
};

struct unwind {
	struct capture *c;
	struct unwind_files *files;
	struct unwind_layouts *layouts;
	struct unwind_late *late;
	struct ring_buffer *asks, *copies;
	int procs; /* map */
	struct process *processes;
	struct identity *identities;
	VEC(struct unwind_ask) asked;
};

static int on_ask(void *arg, void *data, size_t size)
{
	struct unwind *u = arg;
	const struct unwind_ask *ask = data;

	return size < sizeof(*ask) ? 0 : vec_push(&u->asked, *ask);
}

static int on_copy(void *arg, void *data, size_t size)
{
	struct unwind *u = arg;

	return unwind_late_add(u->late, data, size);
}

static void copies_take(void *copies)
{
	(void)ring_buffer__consume(copies); /* fails as the next time does, which says so */
}

static int maps_open(struct capture *c, struct unwind *u)
{
	struct module_table *modules = names_modules(c->names);
	int rc = unwind_maps_make(c);

	if (rc)
		return rc;
	u->procs = c->shared[SHARED_UNWIND_PROCS] - 1;
	rc = capture_reader_begin(c);
	if (rc)
		return rc;
	rc = unwind_files_open(modules, c->reader, c->shared[SHARED_UNWIND_PAGES] - 1,
		c->shared[SHARED_UNWIND_RULES] - 1, c->shared[SHARED_UNWIND_KNOWN] - 1,
		unwind_maps_pages(0), &u->files);
	if (!rc)
		rc = unwind_layouts_open(c->shared[SHARED_UNWIND_MAPS] - 1, u->files, &u->layouts);
	if (!rc)
		rc = unwind_late_open(u->files, u->layouts, &u->late);
	if (rc)
		return rc;
	u->asks = ring_buffer__new(c->shared[SHARED_UNWIND_ASKS] - 1, on_ask, u, NULL);
	u->copies =
		u->asks ? ring_buffer__new(c->shared[SHARED_UNWIND_COPIES] - 1, on_copy, u, NULL)
			: NULL;
	if (!u->copies)
		return -errno;
	/* A table may take longer than the ring has room for. */
	reader_meanwhile(c->reader, ring_buffer__epoll_fd(u->copies), copies_take, u->copies);
	return 0;
}

int unwind_open(struct capture *c, struct unwind **ret, const char **ret_why)
{
	struct unwind *u;
	int rc;

	if (!kbtf_available()) {
		*ret_why = "no kernel BTF";
		return -EOPNOTSUPP;
	}
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->c = c;
	rc = maps_open(c, u);
	if (rc) {
		*ret_why = strerror(-rc);
		unwind_close(u);
		return rc;
	}
	*ret = u;
	return 0;
}

static void identity_unuse(struct unwind *u, struct identity *id)
{
	if (--id->uses)
		return;
	bpf_map_delete_elem(u->procs, &id->id);
	unwind_layouts_unuse(u->layouts, id->layout);
	HASH_DEL(u->identities, id);
	free(id);
}

static void process_clear(struct unwind *u, struct process *p)
{
	if (p->identity)
		identity_unuse(u, p->identity);
	if (p->layout)
		unwind_layouts_unuse(u->layouts, p->layout);
	p->identity = NULL;
	p->layout = NULL;
}

static void process_remove(struct unwind *u, struct process *p)
{
	u64 key = p->tgid;

	bpf_map_delete_elem(u->procs, &key);
	process_clear(u, p);
	HASH_DEL(u->processes, p);
	free(p);
}

void unwind_close(struct unwind *u)
{
	struct process *p, *tmp;

	if (!u)
		return;
	HASH_ITER (hh, u->processes, p, tmp)
		process_remove(u, p);
	vec_free(&u->asked);
	if (u->c->reader)
		reader_meanwhile(u->c->reader, -1, NULL, NULL);
	ring_buffer__free(u->asks);
	ring_buffer__free(u->copies);
	unwind_late_close(u->late);
	unwind_layouts_close(u->layouts);
	unwind_files_close(u->files);
	free(u);
}

static int identity_read(u32 tgid, u64 *ret)
{
	struct proc_stat st;
	int rc = proc_stat_read((int)tgid, &st);

	if (rc)
		return rc;
	if (st.start_stack <= 1)
		return -ESRCH; /* it has no memory of its own any more, or never had */
	*ret = unwind_identity(st.end_code, st.start_stack, st.start_brk);
	return 0;
}

static int publish(struct unwind *u, u64 key, const struct unwind_process *value)
{
	return bpf_map_update_elem(u->procs, &key, value, BPF_ANY) ? -errno : 0;
}

static struct identity *identity_find(const struct unwind *u, u64 id)
{
	struct identity *i;

	HASH_FIND(hh, u->identities, &id, sizeof(id), i);
	return i;
}

/* A child that is looked at for the first time has its parent's layout, until it is known to have
 * another. */
static int identity_use(
	struct unwind *u, u64 id, const struct unwind_layout *layout, struct identity **ret)
{
	struct identity *i = identity_find(u, id);

	if (!i) {
		i = calloc(1, sizeof(*i));
		if (!i)
			return -ENOMEM;
		i->id = id;
		HASH_ADD(hh, u->identities, id, sizeof(i->id), i);
	}
	unwind_layouts_share(layout);
	if (i->layout)
		unwind_layouts_unuse(u->layouts, i->layout);
	i->layout = layout;
	i->uses++;
	*ret = i;
	return 0;
}

/* What is mapped in a process. */
struct look {
	const struct unwind_layout *layout;
	u64 id;      /* the address space it was mapped in */
	u32 version; /* of its map */
	bool over;   /* it has ended: its layout is for stacks that wait, no program asks for it */
};

static int process_publish(struct unwind *u, struct process *p, const struct look *look, int rc)
{
	struct unwind_process value = {.identity = look->id, .state = UNWIND_NO_ROOM};

	if (!rc) {
		value.state = UNWIND_READY;
		value.first = look->layout->first;
		value.n = look->layout->n;
		rc = identity_use(u, look->id, look->layout, &p->identity);
		if (!rc && !look->over)
			rc = publish(u, look->id, &value);
	}
	if (!look->over)
		(void)publish(
			u, p->tgid, &value); /* else it has what its files or frame pointers tell */
	return rc == -ENOMEM ? rc : 0;
}

/* May what has ended stand for the address space that it asked for? It has the mappings that it was
 * seen to make, and may have executed something since; others that live in that space know better.
 */
static bool may_stand(const struct unwind *u, const struct process *p, u64 asked)
{
	const struct identity *i = asked ? identity_find(u, asked) : NULL;

	return asked && (!i || (i == p->identity && i->uses == 1));
}

/* An exec may come between. asked: its address space, when it asked. */
static int unwind_process_look(
	struct unwind *u, const struct process *p, u64 asked, struct look *ret)
{
	const struct process_map *map;
	u64 before = 0, after = 0;
	int rc;

	for (int i = 0; i < TRIES; i++) {
		ret->over = identity_read(p->tgid, &before) != 0;
		rc = names_follow(u->c->names);
		map = rc ? NULL : names_map(u->c->names, p->tgid);
		if (!map)
			return rc ? rc : -ENOMEM;
		ret->over |= identity_read(p->tgid, &after) != 0;
		if (!process_map_count(map) || (ret->over && !may_stand(u, p, asked)))
			return -ESRCH;
		if (!ret->over && after != before)
			continue;
		ret->version = names_map_version(u->c->names, p->tgid);
		ret->id = ret->over ? asked : after;
		/* It may end from here on: its first stacks wait for the tables. */
		return unwind_layouts_use(u->layouts, map, &ret->layout);
	}
	return -EAGAIN;
}

static struct process *unwind_process_get(struct unwind *u, u32 tgid)
{
	struct process *p;

	HASH_FIND(hh, u->processes, &tgid, sizeof(tgid), p);
	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->tgid = tgid;
	HASH_ADD(hh, u->processes, tgid, sizeof(tgid), p);
	return p;
}

static int process_make(struct unwind *u, u32 tgid, u64 asked)
{
	struct process *p = unwind_process_get(u, tgid), old;
	struct look look = {};
	int rc;

	if (!p)
		return -ENOMEM;
	rc = unwind_process_look(u, p, asked, &look);
	if (rc && rc != -ENOSPC) {
		process_remove(u, p);
		return rc == -ENOMEM ? rc : 0;
	}
	old = *p; /* given up when the new ones are in use: they share most */
	p->layout = look.layout;
	p->identity = NULL;
	p->version = look.version;
	p->made_ns = clock_mono_ns();
	p->asked = false;
	rc = process_publish(u, p, &look, rc);
	process_clear(u, &old);
	return rc;
}

int unwind_process(struct unwind *u, u32 tgid)
{
	return process_make(u, tgid, 0);
}

int unwind_program(struct unwind *u, const char *name)
{
	int rc = unwind_warm(u->files, names_modules(u->c->names), name);

	return rc ? rc : unwind_files_commit(u->files);
}

int unwind_fd(const struct unwind *u)
{
	return ring_buffer__epoll_fd(u->asks);
}

static bool space_changed(const struct process *p)
{
	u64 id;

	return !p->identity || identity_read(p->tgid, &id) || id != p->identity->id;
}

static int ask_take(struct unwind *u, const struct unwind_ask *ask)
{
	struct process *p;

	HASH_FIND(hh, u->processes, &ask->tgid, sizeof(ask->tgid), p);
	if (!p || !ask->again || p->version != names_map_version(u->c->names, p->tgid) ||
		space_changed(p))
		return process_make(u, ask->tgid, ask->identity);
	p->asked = true; /* there is nothing new: to be allowed to ask again later */
	return 0;
}

/* Follows what has changed by itself, and forgets what has ended. */
static int changes_take(struct unwind *u)
{
	struct process *p, *tmp;
	u64 now = clock_mono_ns();
	int rc = 0;

	HASH_ITER (hh, u->processes, p, tmp) {
		u32 version = names_map_version(u->c->names, p->tgid);

		if (!version)
			process_remove(u, p);
		else if (version != p->version || (p->asked && now - p->made_ns > AGAIN_NS))
			rc = rc ? rc : process_make(u, p->tgid, p->identity ? p->identity->id : 0);
	}
	return rc;
}

static const struct unwind_layout *layout_of(void *ctx, u64 id)
{
	const struct identity *i = identity_find(ctx, id);

	return i ? i->layout : NULL;
}

/* The map of stacks is that of the first object that was loaded. */
static int late_walk(struct unwind *u)
{
	int stacks = u->c->shared[SHARED_USER_STACKS] - 1;

	return stacks < 0 ? 0 : unwind_late_walk(u->late, stacks, layout_of, u);
}

int unwind_take(struct unwind *u)
{
	int rc = ring_buffer__consume(u->asks);

	if (rc >= 0)
		rc = ring_buffer__consume(u->copies);
	rc = rc < 0 ? rc : names_follow(u->c->names);
	vec_each (ask, &u->asked) {
		if (!rc)
			rc = ask_take(u, ask);
	}
	u->asked.n = 0;
	rc = rc ? rc : late_walk(u); /* changes_take() forgets what has ended */
	rc = rc ? rc : changes_take(u);
	return rc ? rc : late_walk(u);
}

u64 unwind_pages_bytes(u32 shrink)
{
	return unwind_maps_pages(shrink) * UNWIND_PAGE_COST;
}

void unwind_limit(struct unwind *u, u32 shrink)
{
	unwind_files_limit(u->files, unwind_maps_pages(shrink));
}

const struct unwind_counts *unwind_late_ones(const struct unwind *u)
{
	return unwind_late_counts(u->late);
}

const struct unwind_files_stats *unwind_stats(const struct unwind *u)
{
	return unwind_files_stats(u->files);
}

u64 unwind_bytes(const struct unwind *u)
{
	return unwind_maps_bytes(u->c) +
	       (u64)unwind_files_stats(u->files)->pages * UNWIND_PAGE_COST;
}
