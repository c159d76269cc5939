/* See names.h. */
#include "capture/names.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "base/groups.h"
#include "base/clock.h"
#include "capture/follow.h"
#include "sym/perfmap.h"
#include "sym/symbolizer.h"
#include "sys/cgroup.h"
#include "sys/proc.h"

/* What was sent, by content. */
struct frame_key {
	u32 space; /* enum frame_space */
	u32 module;
	u64 offset;
	u32 is_return; /* not the innermost frame of its stack: the call is before it */
	u32 tgid;      /* of code without a file, which is another one in each process; else 0 */
};

struct task_key {
	u32 tgid, tid;
};

struct task_value {
	u64 cgroup;
	char comm[COMM_LEN];
};

struct names {
	struct sink *sink;
	struct names_options opt;
	struct module_table *modules;
	struct symbolizer *symbolizer;
	struct perf_maps *perf_maps;
	struct follow *follow;
	struct groups strings; /* 128-bit hash -> id */
	struct groups tasks;   /* task_key -> task_value */
	struct groups cgroups; /* id -> 1 */
	struct groups frames;  /* frame_key -> id */
	struct groups stacks;  /* 128-bit hash of frame ids -> id */
	size_t resolved;       /* frames whose symbols were sent */
	bool other_kernel;
	struct cgroup_hierarchy hierarchy;
	struct cgroup_ids cgroup_ids;
};

static int names_put(struct names *n, struct rec *r)
{
	r->time_ns = clock_mono_ns();
	return n->sink->put(n->sink, r);
}

static void hierarchy_find(struct names *n)
{
	struct cgroup_mounts *m = calloc(1, sizeof(*m));

	if (m && !cgroup_mounts_read(m))
		n->hierarchy = n->opt.cgroup_version == SCOPE_CGROUP_V1 ? m->memory : m->unified;
	free(m);
}

int names_open(struct sink *sink, const struct names_options *o, struct names **ret)
{
	struct names *n = calloc(1, sizeof(*n));
	struct sym_options sym = {.dwarf = o->debug_info};
	int rc;

	if (!n)
		return -ENOMEM;
	n->sink = sink;
	n->opt = *o;
	groups_init(&n->strings, sizeof(XXH128_hash_t), sizeof(u32));
	groups_init(&n->tasks, sizeof(struct task_key), sizeof(struct task_value));
	groups_init(&n->cgroups, sizeof(u64), sizeof(u32));
	groups_init(&n->frames, sizeof(struct frame_key), sizeof(u32));
	groups_init(&n->stacks, sizeof(XXH128_hash_t), sizeof(u32));
	hierarchy_find(n);
	rc = module_table_new(0, &n->modules);
	if (!rc)
		rc = perf_maps_new(&n->perf_maps);
	if (!rc)
		rc = symbolizer_open(&sym, n->modules, &n->symbolizer);
	if (!rc)
		rc = follow_open(n->modules, o->user_stacks, &n->follow);
	if (rc) {
		names_close(n);
		return rc;
	}
	*ret = n;
	return 0;
}

int names_follow(struct names *n)
{
	return follow_take(n->follow);
}

void names_drained(struct names *n)
{
	follow_named(n->follow);
}

const struct process_map *names_map(struct names *n, u32 tgid)
{
	return follow_map(n->follow, tgid);
}

u32 names_map_version(const struct names *n, u32 tgid)
{
	return follow_version(n->follow, tgid);
}

/* The id of a key in a dictionary: *ret_new when it was not there. 0: no memory. */
static u32 intern(struct groups *g, const void *key, bool *ret_new)
{
	u32 *id = groups_get(g, key);

	if (!id)
		return 0;
	*ret_new = !*id;
	if (!*id)
		*id = (u32)g->n;
	return *id;
}

u32 names_string(struct names *n, const char *text)
{
	size_t len = text ? strlen(text) : 0, size = (sizeof(struct rec_string) + len + 8) & ~7UL;
	_cleanup_free_ struct rec_string *r = NULL;
	XXH128_hash_t hash;
	bool is_new = false;
	u32 id;

	if (!len || size > REC_MAX_SIZE)
		return 0;
	hash = XXH3_128bits(text, len);
	id = intern(&n->strings, &hash, &is_new);
	if (!id || !is_new)
		return id;
	r = calloc(1, size);
	if (!r)
		return 0;
	r->h.size = (u32)size;
	r->h.kind = REC_STRING;
	r->id = id;
	r->length = (u32)len;
	memcpy(r->text, text, len);
	return names_put(n, &r->h) ? 0 : id;
}

static int cgroup_send(struct names *n, u64 id)
{
	const char *path = cgroup_ids_path(&n->cgroup_ids, id);
	size_t size;
	_cleanup_free_ struct rec_cgroup *r = NULL;

	if (!path && !cgroup_ids_load(&n->hierarchy, &n->cgroup_ids))
		path = cgroup_ids_path(&n->cgroup_ids, id);
	if (!path)
		return 0; /* removed meanwhile: its id is all there is */
	size = (sizeof(*r) + strlen(path) + 8) & ~7UL;
	r = size > REC_MAX_SIZE ? NULL : calloc(1, size);
	if (!r)
		return -ENOMEM;
	r->h.size = (u32)size;
	r->h.kind = REC_CGROUP;
	r->id = id;
	r->length = (u32)strlen(path);
	memcpy(r->path, path, strlen(path));
	return names_put(n, &r->h);
}

int names_cgroup(struct names *n, u64 id)
{
	bool is_new = false;

	return id && intern(&n->cgroups, &id, &is_new) && is_new ? cgroup_send(n, id) : 0;
}

static int task_send(struct names *n, u32 tgid, u32 tid, const char *comm, u64 cgroup)
{
	struct task_key key = {tgid, tid};
	struct task_value *v = groups_get(&n->tasks, &key);
	struct rec_task r = REC_INIT(struct rec_task, REC_TASK, 0);
	const char *renamed = tid ? NULL : follow_comm(n->follow, tgid);

	if (!v)
		return -ENOMEM;
	cgroup = cgroup ? cgroup : v->cgroup; /* 0: the caller does not know it */
	comm = renamed ? renamed : comm; /* what was counted may have begun under another name */
	if (v->comm[0] && v->cgroup == cgroup && !strncmp(v->comm, comm, COMM_LEN))
		return 0;
	v->cgroup = cgroup;
	snprintf(v->comm, sizeof(v->comm), "%s", comm);
	names_cgroup(n, cgroup);
	r.tgid = tgid;
	r.tid = tid;
	r.cgroup = cgroup;
	memcpy(r.comm, v->comm, sizeof(r.comm));
	return names_put(n, &r.h);
}

/* A thread's process has a name too, which is that of its first thread. */
static int process_send(struct names *n, u32 tgid, u32 tid, const char *comm, u64 cgroup)
{
	struct task_key key = {tgid, 0};
	char name[PROC_COMM_MAX];

	if (tid != tgid && groups_find(&n->tasks, &key))
		return 0;
	if (tid != tgid && !proc_comm_read((int)tgid, name))
		comm = name;
	return task_send(n, tgid, 0, comm, cgroup);
}

int names_task(struct names *n, u32 tgid, u32 tid, const char *comm, u64 cgroup)
{
	int rc = tid ? process_send(n, tgid, tid, comm, cgroup) : 0;

	return rc ? rc : task_send(n, tgid, tid, comm, cgroup);
}

static u32 frame_id(struct names *n, const struct frame_key *key, u64 address)
{
	const struct module *m = module_table_get(n->modules, key->module);
	struct rec_frame r = REC_INIT(struct rec_frame, REC_FRAME, 0);
	bool is_new = false;
	u32 id = intern(&n->frames, key, &is_new);

	if (!id || !is_new)
		return id;
	r.h.flags = (u16)key->space;
	r.id = id;
	r.module = names_string(n, m ? m->path : NULL);
	r.offset = key->offset;
	r.address = address;
	return names_put(n, &r.h) ? 0 : id;
}

static u32 kernel_frame(struct names *n, u64 ip, bool is_return)
{
	struct frame_key key = {
		.space = FRAME_KERNEL,
		.module = MODULE_ID_KERNEL,
		.offset = ip,
		.is_return = is_return,
	};

	return frame_id(n, &key, ip);
}

static u32 user_frame(struct names *n, const struct process_map *map, u64 ip, bool is_return)
{
	struct frame_key key = {.space = FRAME_USER, .offset = ip, .is_return = is_return};
	struct map_hit hit;

	if (map && !process_map_find(map, ip, &hit)) {
		key.module = hit.module;
		key.offset = hit.offset;
	}
	if (key.module == MODULE_ID_ANON) {
		key.tgid = (u32)map->pid;
		perf_maps_sight(n->perf_maps, key.tgid);
	}
	return frame_id(n, &key, ip);
}

/* A user stack's addresses and flags (of REC_STACK); false: it is not there. */
static bool user_stack_read(const struct stack_maps *maps, u32 stack, struct user_stack *ret)
{
	u32 id = stack - 1;

	if (stack & STACK_WALKED)
		return !bpf_map_lookup_elem(maps->user_stacks, &stack, ret) &&
		       ret->n <= STACK_DEPTH_MAX;
	if (!stack || bpf_map_lookup_elem(maps->stacks, &id, ret->ips))
		return false;
	ret->method = STACK_BY_FRAME_POINTERS;
	ret->detail = STACK_KERNEL;
	while (ret->n < STACK_DEPTH_MAX && ret->ips[ret->n])
		ret->n++;
	return true;
}

static u32 kernel_frames(struct names *n, const struct stack_maps *maps, u32 stack, u32 *ids)
{
	u64 ips[STACK_DEPTH_MAX] = {};
	u32 id = stack - 1, count = 0;

	if (!stack || bpf_map_lookup_elem(maps->stacks, &id, ips))
		return 0;
	for (; count < STACK_DEPTH_MAX && ips[count]; count++)
		ids[count] = kernel_frame(n, ips[count], count > 0);
	return count;
}

/* Frames of a user stack appended to ids; returns how many ids there are then. called: the
 * innermost one is a return address too. */
static u32 user_frames(
	struct names *n, u32 tgid, const struct user_stack *user, bool called, u32 *ids, u32 at)
{
	const struct process_map *map = follow_map(n->follow, tgid);

	for (u32 i = 0; i < user->n; i++)
		ids[at++] = user_frame(n, map, user->ips[i], called || i > 0);
	return at;
}

/* As REC_STACK has them. */
static u16 stack_flags(const struct user_stack *user)
{
	return (u16)(user->method | user->detail << 8);
}

static u32 stack_send(struct names *n, const u32 *ids, u32 count, u16 flags)
{
	size_t size = (sizeof(struct rec_stack) + count * sizeof(u32) + 7) & ~7UL;
	XXH128_hash_t hash = XXH3_128bits_withSeed(ids, count * sizeof(*ids), flags);
	_cleanup_free_ struct rec_stack *r = NULL;
	bool is_new = false;
	u32 id = intern(&n->stacks, &hash, &is_new);

	if (!id || !is_new)
		return id;
	r = calloc(1, size);
	if (!r)
		return 0;
	r->h.size = (u32)size;
	r->h.kind = REC_STACK;
	r->h.flags = flags;
	r->id = id;
	r->n = count;
	memcpy(r->frames, ids, count * sizeof(*ids));
	return names_put(n, &r->h) ? 0 : id;
}

u32 names_stack(struct names *n, const struct stack_maps *maps, u32 tgid, u32 ustack, u32 kstack)
{
	u32 ids[2 * STACK_DEPTH_MAX], count = kernel_frames(n, maps, kstack, ids);
	struct user_stack user = {};

	if (user_stack_read(maps, ustack, &user))
		count = user_frames(n, tgid, &user, false, ids, count);
	return count ? stack_send(n, ids, count, stack_flags(&user)) : 0;
}

u32 names_callers(struct names *n, const struct stack_maps *maps, u32 tgid, u32 ustack)
{
	struct user_stack user = {};
	u32 ids[STACK_DEPTH_MAX], count = 0;

	if (user_stack_read(maps, ustack, &user))
		count = user_frames(n, tgid, &user, true, ids, 0);
	return count ? stack_send(n, ids, count, stack_flags(&user)) : 0;
}

u32 names_user_stack(struct names *n, const struct process_map *const *maps, size_t n_maps,
	const u64 *ips, u32 count)
{
	u32 ids[2 * STACK_DEPTH_MAX];

	count = MIN(count, (u32)ARRAY_SIZE(ids));
	for (u32 i = 0; i < count; i++) {
		const struct process_map *map = n_maps ? maps[0] : NULL;
		struct map_hit hit;

		for (size_t k = 0; k < n_maps; k++)
			if (!process_map_find(maps[k], ips[i], &hit)) {
				map = maps[k];
				break;
			}
		ids[i] = user_frame(n, map, ips[i], true);
	}
	return count ? stack_send(n, ids, count, STACK_EXACT) : 0;
}

u32 names_addresses(struct names *n, const u64 *kernel, u32 n_kernel, const struct process_map *map,
	const u64 *user, u32 n_user)
{
	u32 ids[4 * STACK_DEPTH_MAX], count = 0;

	for (u32 i = 0; i < n_kernel && count < ARRAY_SIZE(ids); i++)
		ids[count++] = kernel_frame(n, kernel[i], i > 0);
	for (u32 i = 0; i < n_user && count < ARRAY_SIZE(ids); i++)
		ids[count++] = user_frame(n, map, user[i], i > 0);
	return count ? stack_send(n, ids, count,
			       n_user ? STACK_BY_FRAME_POINTERS | STACK_KERNEL << 8 : STACK_EXACT)
		     : 0;
}

void names_kernel_is_other(struct names *n)
{
	n->other_kernel = true;
}

struct module_table *names_modules(struct names *n)
{
	return n->modules;
}

u32 names_kernel_symbol(struct names *n, u64 address)
{
	return kernel_frame(n, address, false);
}

/* The name that its program gave to code made at run time. */
static int made_resolve(struct names *n, const struct frame_key *key, struct sym_frame *ret)
{
	int rc = perf_maps_find(n->perf_maps, key->tgid, key->offset - key->is_return,
		&ret->function, &ret->offset);

	ret->offset += key->is_return;
	return rc;
}

static int frame_resolve(struct names *n, const struct frame_key *key, struct sym_frames *ret)
{
	unsigned int flags = key->is_return ? SYM_RETURN_ADDRESS : 0;

	if (key->space == FRAME_KERNEL && n->other_kernel)
		return -ENOENT;
	if (key->space == FRAME_KERNEL)
		return symbolizer_resolve_kernel(n->symbolizer, key->offset, flags, ret);
	return symbolizer_resolve_user(n->symbolizer, key->module, key->offset, flags, ret);
}

static int symbol_send(struct names *n, u32 frame, const struct sym_frames *f)
{
	size_t size = sizeof(struct rec_symbol) + f->n * sizeof(struct sym_line);
	_cleanup_free_ struct rec_symbol *r = NULL;

	if (!f->v[f->n - 1].function || size > REC_MAX_SIZE)
		return 0; /* module and offset, which were sent, are all there is */
	r = calloc(1, (size + 7) & ~7UL);
	if (!r)
		return -ENOMEM;
	r->h.size = (u32)((size + 7) & ~7UL);
	r->h.kind = REC_SYMBOL;
	r->frame = frame;
	r->n = (u32)f->n;
	for (size_t i = 0; i < f->n; i++)
		r->lines[i] = (struct sym_line){
			.function = names_string(n, f->v[i].function),
			.file = names_string(n, f->v[i].file),
			.line = f->v[i].line,
			.offset = (u32)f->v[i].offset,
		};
	return names_put(n, &r->h);
}

int names_symbolize(struct names *n)
{
	int rc = 0;

	for (; n->resolved < n->frames.n && !rc; n->resolved++) {
		struct frame_key key =
			*(const struct frame_key *)groups_key(&n->frames, n->resolved);
		u32 id = *(const u32 *)groups_value(&n->frames, n->resolved);
		struct sym_frame made = {};
		struct sym_frames f = {&made, 1};

		if (key.tgid && !made_resolve(n, &key, &made))
			rc = symbol_send(n, id, &f);
		else if (!frame_resolve(n, &key, &f))
			rc = symbol_send(n, id, &f);
	}
	return rc;
}

void names_tell(struct names *n, struct capture *c)
{
	const struct err *kernel = symbolizer_kernel_error(n->symbolizer);

	c->probe = "names";
	if (follow_lost(n->follow))
		capture_note(c, NOTE_WARNING,
			"%llu changes of address spaces were missed: some frames may "
			"have no or a wrong name",
			follow_lost(n->follow));
	if (kernel)
		capture_note(c, NOTE_WARNING, "what is of the kernel has no name: %s: %s",
			kernel->msg, kernel->hint);
	if (symbolizer_exhausted(n->symbolizer))
		capture_note(c, NOTE_INFO,
			"some names were left out: the budget for debug information was "
			"used up (--no-lines needs less)");
}

void names_close(struct names *n)
{
	if (!n)
		return;
	follow_close(n->follow);
	symbolizer_close(n->symbolizer);
	perf_maps_free(n->perf_maps);
	module_table_free(n->modules);
	groups_free(&n->strings);
	groups_free(&n->tasks);
	groups_free(&n->cgroups);
	groups_free(&n->frames);
	groups_free(&n->stacks);
	cgroup_ids_free(&n->cgroup_ids);
	free(n);
}
