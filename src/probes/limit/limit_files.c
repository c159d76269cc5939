/* See limit_files.h. */
#include "probes/limit/limit_files.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "base/clock.h"

#define BATCH 4096
#define DATA_READS "file pages that are read"
#define DATA_WRITES "file pages that are written"
#define DATA_ADDS "file pages that come into the page cache"

const struct attach_hook limit_hooks[LIMIT_HOOKS] = {
	{
		.data = DATA_READS,
		.needs = "the tracepoint mm_filemap_get_pages or kprobes, and kernel BTF",
		.methods = {{"raw tracepoint mm_filemap_get_pages", {"file_read"}, {}, 0},
			{"kprobe on folio_mark_accessed", {"folio_accessed"}, {}, 0},
			{"kprobe on mark_page_accessed", {"page_accessed"}, {}, 0}},
	},
	{
		.data = DATA_WRITES,
		.needs = "the writeback tracepoints and kernel BTF",
		.methods = {{"raw tracepoint writeback_dirty_folio", {"folio_written"}, {}, 0},
			{"raw tracepoint writeback_dirty_page", {"page_written"}, {}, 0}},
	},
	{
		.data = DATA_ADDS,
		.needs = "the filemap tracepoints and kernel BTF",
		.methods = {{"raw tracepoint mm_filemap_add_to_page_cache", {"page_comes"}, {}, 0}},
	},
};

/* A batch of the map at a time. */
struct walk {
	struct limit_page *pages;
	struct limit_use *uses;
};

static void walk_free(struct walk *w)
{
	free(w->pages);
	free(w->uses);
}

typedef void (*page_fn)(int map, const struct limit_page *p, const struct limit_use *u, void *arg);

static int limit_files_pages_each(int map, page_fn fn, void *arg)
{
	_cleanup_(walk_free) struct walk w = {
		calloc(BATCH, sizeof(*w.pages)), calloc(BATCH, sizeof(*w.uses))};
	u32 at = 0;
	bool first = true, more = true;

	if (!w.pages || !w.uses)
		return -ENOMEM;
	while (more) {
		u32 n = BATCH;

		if (bpf_map_lookup_batch(map, first ? NULL : &at, &at, w.pages, w.uses, &n, NULL)) {
			if (errno != ENOENT)
				return -errno;
			more = false;
		}
		first = false;
		for (u32 i = 0; i < n; i++)
			fn(map, &w.pages[i], &w.uses[i], arg);
	}
	return 0;
}

int limit_prepare(struct bpf_object *obj, const struct capture *c)
{
	(void)c;
	return attach_set_entries(obj, "pages", LIMIT_ROOM);
}

struct kept {
	u32 mask;
	VEC(struct limit_page) gone;
	u64 n;
	bool failed;
};

static void limit_files_keep(
	int map, const struct limit_page *p, const struct limit_use *u, void *arg)
{
	struct kept *k = arg;

	(void)map;
	(void)u;
	if (!(limit_page_hash(limit_file_hash(p->ino, p->dev), p->index) & k->mask))
		k->n++;
	else if (vec_push(&k->gone, *p))
		k->failed = true;
}

/* Drops the pages that are no longer among those to be followed. */
static int share_apply(struct attached *a, struct limit_state *s, struct limit_share *now)
{
	int map = attach_map(a, "pages"), share = attach_map(a, "share"), rc = 0;
	u32 zero = 0;

	do {
		struct kept k = {.mask = now->mask};

		rc = limit_files_pages_each(map, limit_files_keep, &k);
		vec_each (p, &k.gone)
			bpf_map_delete_elem(map, p);
		vec_free(&k.gone);
		if (rc || k.failed)
			return rc ? rc : -ENOMEM;
		now->made = k.n;
		if (k.n > LIMIT_ROOM / 2)
			now->mask = now->mask << 1 | 1;
	} while (now->made > LIMIT_ROOM / 2);
	now->next = LIMIT_ROOM / 2 + LIMIT_ROOM / 4;
	s->mask = now->mask;
	return bpf_map_update_elem(share, &zero, now, BPF_ANY) ? -errno : 0;
}

static int share_settle(struct attached *a, struct limit_state *s)
{
	struct limit_share now;
	u32 zero = 0;

	if (bpf_map_lookup_elem(attach_map(a, "share"), &zero, &now))
		return -errno;
	return now.mask == s->mask ? 0 : share_apply(a, s, &now);
}

static u64 uses_read(struct attached *a)
{
	int cpus = MAX(1, libbpf_num_possible_cpus());
	_cleanup_free_ struct limit_counts *v = calloc((size_t)cpus, sizeof(*v));
	u32 zero = 0;
	u64 sum = 0;

	if (!v || bpf_map_lookup_elem(attach_map(a, "limit_counts"), &zero, v))
		return 0;
	for (int i = 0; i < cpus; i++)
		sum += v[i].uses;
	return sum;
}

int limit_settle(
	struct capture *c, struct attached *a, const struct stack_maps *stacks, u64 *events)
{
	struct limit_state *s = c->state;
	u64 uses = uses_read(a);

	(void)stacks;
	*events += uses - s->uses;
	s->uses = uses;
	return share_settle(a, s);
}

struct sums {
	struct limit_files *r;
	u32 begin, now;
};

static u32 age_slot(u32 ticks)
{
	u32 slot = 0, seconds = ticks >> LIMIT_SECOND_SHIFT;

	while (seconds && slot < LIMIT_AGES - 1) {
		seconds >>= 1;
		slot++;
	}
	return slot;
}

void limit_use_add(const struct limit_use *u, u32 begin, u32 now, struct limit_files *r)
{
	bool reused = u->seconds > 1 || (u->seconds && u->found);
	u32 since = u->first > begin ? u->first - begin : 0;
	u64 part = now > begin ? (u64)since * LIMIT_PARTS / (now - begin) : 0;

	r->followed++;
	r->again += u->added > 1 || (u->found && u->added);
	if (!u->seconds) {
		r->ahead++;
		return;
	}
	r->age[age_slot(now > u->last ? now - u->last : 0)]++;
	r->reused += reused;
	r->once += !reused;
	if (reused)
		r->first[MIN(part, (u64)LIMIT_PARTS - 1)]++;
}

static void limit_files_page_add(
	int map, const struct limit_page *p, const struct limit_use *u, void *arg)
{
	struct sums *s = arg;

	(void)map;
	(void)p;
	limit_use_add(u, s->begin, s->now, s->r);
}

static u16 limit_files_flags_of(const struct attached *a)
{
	return (u16)((attach_uses(a, DATA_READS) ? LIMIT_READS_KNOWN : 0) |
		     (attach_uses(a, DATA_WRITES) ? LIMIT_WRITES_KNOWN : 0) |
		     (attach_uses(a, DATA_ADDS) ? LIMIT_ADDS_KNOWN : 0));
}

int limit_snapshot(struct capture *c, struct attached *a, const struct stack_maps *stacks)
{
	struct limit_files r = REC_INIT(struct limit_files, REC_LIMIT_FILES, 0);
	struct limit_state *s = c->state;
	u64 now = clock_mono_ns();
	struct sums sums = {
		&r, (u32)(c->counting_ns >> LIMIT_TICK_SHIFT), (u32)(now >> LIMIT_TICK_SHIFT)};
	int rc = limit_files_pages_each(attach_map(a, "pages"), limit_files_page_add, &sums);

	(void)stacks;
	if (rc)
		return rc;
	r.h.flags = limit_files_flags_of(a);
	r.elapsed_ns = c->counting_ns && now > c->counting_ns ? now - c->counting_ns : 0;
	r.stride = s->mask + 1;
	r.page_bytes = (u32)sysconf(_SC_PAGESIZE);
	r.room = LIMIT_ROOM;
	return capture_emit(c, &r.h);
}
