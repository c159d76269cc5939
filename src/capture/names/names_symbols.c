/* Symbols of frames: of one module after the other, by a reader where there is one. See names.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <xxhash.h>

#include "base/clock.h"
#include "base/progress.h"
#include "capture/names/names_sent.h"
#include "capture/reader/reader_names.h"
#include "sym/perfmap.h"
#include "sym/rootfs.h"

#define REST_MOST_NS (300 * NSEC_PER_SEC)
#define REST_WATCHED_NS (20 * NSEC_PER_SEC) /* somebody waits for the names */

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

/* The build id of a file whose symbols were looked for, once. */
static int module_send(struct names *n, const char *path, const u8 *build_id, u32 length)
{
	struct rec_module r = REC_INIT(struct rec_module, REC_MODULE, 0);
	u64 hash, *told;

	if (!path || !length || length > sizeof(r.build_id))
		return 0;
	r.path = names_string(n, path);
	r.length = length;
	memcpy(r.build_id, build_id, length);
	hash = XXH3_64bits(r.build_id, length) | 1;
	told = r.path ? groups_get(&n->told, &r.path) : NULL;
	if (!told || *told == hash)
		return 0;
	*told = hash;
	return names_put(n, &r.h);
}

static int frame_symbolize(struct names *n, size_t i)
{
	struct frame_key key = *(const struct frame_key *)groups_key(&n->frames, i);
	u32 id = *(const u32 *)groups_value(&n->frames, i);
	struct sym_frame made = {};
	struct sym_frames f = {&made, 1};

	if ((key.tgid && !made_resolve(n, &key, &made)) || !frame_resolve(n, &key, &f))
		return symbol_send(n, id, &f);
	return 0;
}

/* A frame that has no symbol yet, by its place in the dictionary. */
struct pending {
	u32 module, tgid, frame;
};

static int by_module(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	return x->frame < y->frame ? -1 : x->frame > y->frame;
}

/* Frames of one module: of code made at run time, those of one process. */
struct pending_group {
	struct names *n;
	const struct pending *v;
	size_t count;
	size_t before, all; /* of all groups, for who waits */
	const struct pending *asked;
};

static int group_here(struct pending_group *g)
{
	int rc = 0;

	for (size_t i = 0; i < g->count && !rc; i++) {
		progress_step("finding names of functions", g->before + i, g->all);
		rc = frame_symbolize(g->n, g->v[i].frame);
	}
	return rc;
}

static int on_named(void *arg, u32 place, const struct sym_frames *frames)
{
	struct pending_group *g = arg;
	const struct pending *p = &g->asked[place];

	progress_step("finding names of functions", g->before + (size_t)(p - g->v), g->all);
	return symbol_send(g->n, *(const u32 *)groups_value(&g->n->frames, p->frame), frames);
}

/* False: there is nothing to be read. */
static bool group_module(struct pending_group *g, struct reader_module *ret)
{
	struct names *n = g->n;
	const struct module *m = module_table_get(n->modules, g->v->module);

	*ret = (struct reader_module){.fd = -1, .root_fd = ROOT_OURS};
	if (!m)
		return false;
	ret->id = m->id;
	ret->kind = m->kind;
	ret->path = m->path;
	ret->root_fd = module_table_root(n->modules, m->id);
	if (m->kind == MODULE_ANON)
		return g->v->tgid && !perf_maps_file(n->perf_maps, g->v->tgid, &ret->fd);
	if (m->kind == MODULE_FILE)
		return !module_table_fd(n->modules, m->id, &ret->fd);
	return m->kind == MODULE_VDSO;
}

static bool names_symbols_is_left_out(int error)
{
	return error == -EFBIG || error == -ETIMEDOUT;
}

static void left_out_count(
	struct pending_group *g, const struct reader_module *m, const struct reader_names_ret *got)
{
	struct sym_budget *budget = &g->n->budget;
	struct stat st = {};

	if (m->kind == MODULE_ANON && names_symbols_is_left_out(got->error))
		perf_maps_leave_out(g->n->perf_maps, g->v->tgid);
	if (!names_symbols_is_left_out(got->debug_error))
		return;
	if (m->fd >= 0)
		(void)fstat(m->fd, &st);
	budget_user(budget, st.st_uid);
	budget_leave_out(budget, (u64)st.st_size);
}

static int part_ask(struct pending_group *g, const struct reader_module *m, u32 count, bool last)
{
	struct names *n = g->n;
	_cleanup_free_ struct reader_place *places = calloc(count, sizeof(*places));
	const struct reader_names_how how = {
		.lines = n->opt.debug_info,
		.last = last,
		.sparing = n->opt.sparing,
		.servers = n->opt.servers,
		.bytes_max = n->budget.bytes_max,
		.bytes_others = n->budget.words_bytes,
		.ns_max = n->budget.ns_max,
		.named = on_named,
		.arg = g,
	};
	struct reader_names_ret got;
	int rc;

	if (!places)
		return -ENOMEM;
	for (u32 i = 0; i < count; i++) {
		const struct frame_key *key = groups_key(&n->frames, g->asked[i].frame);

		places[i].offset = key->offset;
		places[i].flags = key->is_return ? SYM_RETURN_ADDRESS : 0;
	}
	rc = reader_names(n->opt.reader, m, places, count, &how, &got);
	if (rc)
		return rc;
	budget_others(&n->budget, got.bytes_held);
	left_out_count(g, m, &got);
	return module_send(n, m->path, got.build_id, got.build_id_len);
}

/* A reader that dies takes the rest of its file's names with it, and nothing else. */
static int group_ask(struct pending_group *g, bool last)
{
	struct reader_module m;
	int rc = 0;

	if (!group_module(g, &m))
		return 0;
	for (size_t i = 0; i < g->count && !rc;) {
		u32 count = (u32)MIN(g->count - i, READER_PLACES_MAX);

		g->asked = g->v + i;
		i += count;
		rc = part_ask(g, &m, count, last && i == g->count);
	}
	if (rc != -EBADMSG && rc != -ESRCH)
		return rc;
	g->n->unread++;
	return 0;
}

static int group_symbolize(struct pending_group *g, bool last)
{
	u32 module = g->v->module;
	const struct module *m;
	int rc;

	if (g->n->opt.reader && module != MODULE_ID_KERNEL)
		return group_ask(g, last);
	rc = group_here(g);
	m = module_table_get(g->n->modules, module);
	if (m && !rc)
		rc = module_send(g->n, m->path, m->build_id, m->build_id_len);
	if (last)
		symbolizer_forget(g->n->symbolizer, module);
	return rc;
}

static int groups_symbolize(struct names *n, const struct pending *v, size_t count, bool last)
{
	int rc = 0;

	for (size_t i = 0; i < count && !rc;) {
		struct pending_group g = {
			.n = n, .v = v + i, .count = 1, .before = i, .all = count};

		while (i + g.count < count && v[i + g.count].module == g.v->module &&
			v[i + g.count].tgid == g.v->tgid)
			g.count++;
		rc = group_symbolize(&g, last);
		if (!rc && n->opt.capture && n->opt.capture->ending)
			rc = capture_leaves(n->opt.capture);
		i += g.count;
	}
	return rc;
}

static u64 rest_most(const struct names *n)
{
	return n->opt.capture && n->opt.capture->opt.watch_ns ? REST_WATCHED_NS : REST_MOST_NS;
}

bool names_rest(const struct names *n)
{
	return clock_mono_ns() < n->rest_ns;
}

int names_symbolize(struct names *n, bool last)
{
	VEC(struct pending) pending = {};
	u64 begun = clock_mono_ns(), now;
	int rc = 0;

	if (n->opt.unnamed || n->resolved == n->frames.n)
		return 0;
	if (budget_pass_begin(&n->budget))
		symbolizer_forget_all(n->symbolizer);
	perf_maps_pass_begin(n->perf_maps);

	for (size_t i = n->resolved; i < n->frames.n && !rc; i++) {
		const struct frame_key *key = groups_key(&n->frames, i);

		rc = vec_push(&pending, ((struct pending){key->module, key->tgid, (u32)i}));
	}
	if (pending.n)
		qsort(pending.v, pending.n, sizeof(*pending.v), by_module);
	if (!rc)
		rc = groups_symbolize(n, pending.v, pending.n, last);
	budget_pass_end(&n->budget);
	perf_maps_forget_ended(n->perf_maps);
	n->resolved = n->frames.n;
	now = clock_mono_ns();
	n->rest_ns = now + MIN((now - begun) * n->opt.rest, rest_most(n));
	vec_free(&pending);
	return rc;
}
