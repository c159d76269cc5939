/* See names.h. */
#include "capture/names/names.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "base/answering.h"
#include "base/clock.h"
#include "base/units.h"
#include "capture/names/follow.h"
#include "capture/names/names_sent.h"
#include "capture/reader/reader.h"
#include "sym/perfmap.h"
#include "sys/process/proc.h"
#include "sys/root.h"

/* What an id takes besides its record: the entry that knows it was sent, and the one to find it. */
#define INTERN_BYTES 64
#define NAMELESS_MAX 65536

int names_put(struct names *n, struct rec *r)
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
	struct sym_options sym = {.dwarf = o->debug_info, .servers = o->servers};
	int rc;

	if (!n)
		return -ENOMEM;
	budget_init(&n->budget, 0, 0);
	sym.budget = &n->budget;
	n->sink = sink;
	n->opt = *o;
	groups_init(&n->strings, sizeof(XXH128_hash_t), sizeof(u32));
	groups_init(&n->tasks, sizeof(struct task_key), sizeof(struct task_value));
	groups_init(&n->cgroups, sizeof(u64), sizeof(u32));
	groups_init(&n->frames, sizeof(struct frame_key), sizeof(u32));
	groups_init(&n->told, sizeof(u32), sizeof(u64));
	groups_init(&n->stacks, sizeof(XXH128_hash_t), sizeof(u32));
	groups_init(&n->pairs, sizeof(struct stack_pair), sizeof(u32));
	hierarchy_find(n);
	rc = module_table_new(0, &n->modules);
	if (!rc)
		rc = perf_maps_new(&n->budget, &n->perf_maps);
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

void names_limit(struct names *n, u64 bytes)
{
	budget_limit(&n->budget, bytes);
}

int names_follow(struct names *n)
{
	return follow_take(n->follow);
}

/* While the process is there: it may end before its stacks are read, its names stay. */
static void made_sight(struct names *n, const struct process_map *map)
{
	u64 start, end;
	struct map_hit at;

	for (size_t i = 0; i < process_map_count(map); i++) {
		process_map_get(map, i, &start, &end, &at);
		if (at.module == MODULE_ID_ANON) {
			perf_maps_sight(n->perf_maps, (u32)map->pid);
			return;
		}
	}
}

const struct process_map *names_map(struct names *n, u32 tgid)
{
	const struct process_map *map = follow_map(n->follow, tgid);

	if (map)
		made_sight(n, map);
	return map;
}

u32 names_map_version(const struct names *n, u32 tgid)
{
	return follow_version(n->follow, tgid);
}

u32 names_intern(struct names *n, struct groups *g, const void *key, size_t bytes, bool *ret_new)
{
	u32 *id = groups_find(g, key);

	if (!id && !budget_take_word(&n->budget, bytes + INTERN_BYTES))
		id = groups_get(g, key);
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
	id = names_intern(n, &n->strings, &hash, size, &is_new);
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

static int cgroup_send(struct names *n, u64 id, const char *path)
{
	size_t size = (sizeof(struct rec_cgroup) + strlen(path) + 8) & ~7UL;
	_cleanup_free_ struct rec_cgroup *r = NULL;

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
	const char *path;
	bool is_new = false;

	if (!id || !names_intern(n, &n->cgroups, &id, sizeof(struct rec_cgroup), &is_new))
		return 0;
	if (!is_new)
		return 0;
	path = cgroup_ids_path(&n->cgroup_ids, id);
	if (!path && !cgroup_ids_renew(&n->hierarchy, &n->cgroup_ids, false))
		path = cgroup_ids_path(&n->cgroup_ids, id);
	if (path)
		return cgroup_send(n, id, path);
	return n->nameless.n < NAMELESS_MAX ? vec_push(&n->nameless, id) : 0;
}

int names_cgroup_now(struct names *n, u64 id)
{
	int rc = names_cgroup(n, id);

	for (size_t i = n->nameless.n; i-- && !rc;) {
		const char *path;

		if (n->nameless.v[i] != id)
			continue;
		if (!cgroup_ids_renew(&n->hierarchy, &n->cgroup_ids, true) &&
			(path = cgroup_ids_path(&n->cgroup_ids, id))) {
			n->nameless.v[i] = n->nameless.v[--n->nameless.n];
			rc = cgroup_send(n, id, path);
		}
		break;
	}
	return rc;
}

/* Those that are not found now were removed: their ids are all there is. last: there will be no
 * other walk, so this one does not wait. */
static int nameless_send(struct names *n, bool last)
{
	int rc = 0;

	if (!n->nameless.n || cgroup_ids_renew(&n->hierarchy, &n->cgroup_ids, last) == -EAGAIN)
		return 0;
	vec_each (id, &n->nameless) {
		const char *path = cgroup_ids_path(&n->cgroup_ids, *id);

		if (path && !rc)
			rc = cgroup_send(n, *id, path);
	}
	n->nameless.n = 0;
	return rc;
}

int names_drained(struct names *n, bool last)
{
	int rc = nameless_send(n, last);

	follow_named(n->follow);
	return rc ? rc : names_tasks_forget(n);
}

void names_kernel_is_other(struct names *n)
{
	n->other_kernel = true;
}

struct module_table *names_modules(struct names *n)
{
	return n->modules;
}

/* What the budget did not allow, by user. */
static void left_out_tell(const struct names *n, struct capture *c)
{
	char all[UNIT_BUF], share[UNIT_BUF], files[UNIT_BUF], who[32];
	const struct sym_budget *b = &n->budget;

	fmt_bytes(all, b->bytes_max);
	fmt_bytes(share, b->bytes_max / BUDGET_SHARE);
	for (u32 i = 0; i < b->n_users; i++) {
		const struct budget_user *u = &b->users[i];

		if (!u->files_out)
			continue;
		snprintf(who, sizeof(who), u->uid == BUDGET_OTHERS ? "more users" : "user %u",
			u->uid);
		capture_note(c, NOTE_INFO,
			"%llu files of %s (%s) were left out, in part or in whole: memory "
			"for names is %s, of which a user has %s and %llu s (in a long session "
			"more; --max-memory allows more memory, --no-lines needs less)",
			u->files_out, who, fmt_bytes(files, u->bytes_out), all,
			u->trusted ? all : share,
			b->ns_max / NSEC_PER_SEC / (u->trusted ? 1 : BUDGET_SHARE));
	}
	if (b->words_out)
		capture_note(c, NOTE_WARNING,
			"%llu names and stacks were left out: dictionaries may use half of the "
			"memory for names, which is %s (--max-memory allows more)",
			b->words_out, all);
}

/* Whose names, files and sizes are missing is not known: nobody could look. */
static void unanswered_tell(struct capture *c)
{
	const char *first;
	u64 n = answering_missed(&first);

	c->probe = "files";
	if (n)
		capture_note(c, NOTE_NOT_CHECKED,
			"their server (NFS, FUSE) did not answer in time (%llu requests, the "
			"first for '%.200s'): what was to be read there is not known",
			n, first);
}

static void servers_tell(const struct debuginfod *d, struct capture *c)
{
	if (d->broken_off)
		capture_note(c, NOTE_WARNING,
			"debuginfod: requested the debug files of %u modules and got %u, then "
			"stopped: out of time, or interrupted",
			d->asked, d->had);
	else if (d->asked)
		capture_note(c, NOTE_INFO,
			"debuginfod: requested the debug files of %u modules and got %u", d->asked,
			d->had);
}

int names_tell_readers(struct names *n, struct capture *c)
{
	if (n->unread_told || !n->opt.reader || !reader_is_gone(n->opt.reader))
		return 0;
	n->unread_told = true;
	c->probe = "names";
	return capture_note(c, NOTE_WARNING,
		"the processes that read files of programs have died: functions of files that were "
		"not read before have no names until memwhy is started again");
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
		capture_note(c, NOTE_WARNING, "kernel code has no names: %s: %s", kernel->msg,
			kernel->hint);
	left_out_tell(n, c);
	if (n->unread)
		capture_note(c, NOTE_WARNING,
			"the functions of %llu files have no names: the process that read them "
			"died, or took too long (--no-lines may help)",
			n->unread);
	if (n->opt.servers)
		servers_tell(n->opt.servers, c);
	unanswered_tell(c);
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
	groups_free(&n->told);
	groups_free(&n->stacks);
	groups_free(&n->pairs);
	cgroup_ids_free(&n->cgroup_ids);
	vec_free(&n->nameless);
	free(n);
}
