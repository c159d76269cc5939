/* Findings: sites that keep what they allocate, where the evidence suffices. See leak_tables.h. */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "probes/leak/leak_tables.h"

#define SUSPECTS 3
#define MIN_BYTES (256LL << 10)
#define MIN_OBJECTS 30
#define MIN_SECONDS 10.0
#define MIN_STAYED 0.8 /* of what was there after the first third */
#define DAY 86400.0

static bool is_suspect(const struct leak_suspect *x)
{
	return (s64)x->site->bytes >= MIN_BYTES && x->judged.seconds >= MIN_SECONDS &&
	       (x->key->cache.kind == LEAK_PAGES || x->site->objects >= MIN_OBJECTS) &&
	       x->stayed >= MIN_STAYED;
}

static int by_growth(const void *a, const void *b)
{
	const struct leak_suspect *const *x = a, *const *y = b;

	return (*x)->judged.now < (*y)->judged.now   ? 1
	       : (*x)->judged.now > (*y)->judged.now ? -1
						     : 0;
}

static bool is_reclaimable(const struct leak_caches *c, const struct leak_key *k)
{
	const struct slab_usage *u = leak_usage(c, &k->cache);

	return u && u->reclaimable;
}

static int level_of(
	const struct report *r, const struct leak_caches *c, const struct leak_suspect *x)
{
	u64 memory = r->stream->host.memory_bytes;

	if (is_reclaimable(c, x->key))
		return LEVEL_NOTE;
	return memory && (double)x->judged.now * DAY > (double)memory ? LEVEL_WARNING : LEVEL_RISK;
}

struct lines {
	struct report *r;
	struct finding *f;
	int n;
};

static void line_add(void *arg, const char *text)
{
	struct lines *l = arg;

	if (l->n++ < 3)
		finding_line(l->r, l->f->evidence, "%s%s", l->n == 1 ? "at " : "   from ", text);
}

static void tell_growth(struct report *r, struct finding *f, const struct leak_suspect *x)
{
	const struct leak_judgement *j = &x->judged;
	char a[UNIT_BUF], b[UNIT_BUF], c[UNIT_BUF];

	finding_line(r, f->evidence, "%llu outstanding (%s) of %llu allocated in %.0f s",
		x->site->objects, fmt_bytes(a, x->site->bytes), x->site->all_allocated, j->seconds);
	finding_line(r, f->evidence,
		"grew in each of %u parts of that time: by %s, %s and %s in its thirds", LEAK_PARTS,
		fmt_bytes(a, (u64)j->thirds[0]), fmt_bytes(b, (u64)j->thirds[1]),
		fmt_bytes(c, (u64)j->thirds[2]));
	finding_line(r, f->evidence, "of what was there after the first third, %.0f %% still is",
		100 * x->stayed);
}

static void tell_others(struct report *r, struct finding *f, const struct leak_caches *c,
	const struct leak_memory *m, const struct leak_suspect *x)
{
	const struct slab_usage *u = leak_usage(c, &x->key->cache);
	const struct durations *lives = &x->site->lives;
	char a[UNIT_BUF];
	s64 grown;

	if (lives->count)
		finding_line(r, f->evidence,
			"those that were freed (%llu) lived %s in the median (estimated)",
			x->site->all_freed,
			fmt_ns(a, hist_quantile(&lives->hist, 0.5, lives->max_ns)));
	if (u)
		finding_line(r, f->evidence,
			"/proc/slabinfo: the cache as a whole has %lld objects more than before",
			(s64)(u->active_objects - u->first_active_objects));
	if (x->key->cache.kind == LEAK_PAGES && leak_memory_grown(m, &grown))
		finding_line(r, f->evidence,
			"/proc/meminfo: all that is neither free nor on LRU lists %s by %s",
			grown < 0 ? "shrank" : "grew",
			fmt_bytes(a, (u64)(grown < 0 ? -grown : grown)));
}

static void tell_next(struct report *r, struct finding *f, const struct leak_suspect *x)
{
	u64 longer = (u64)x->judged.seconds * 5;

	if (!x->key->task.stack)
		finding_line(r, f->try_,
			"The code path: `memwhy leak --kernel --stacks=kernel --for %.0fs`",
			x->judged.seconds);
	finding_line(r, f->try_,
		"Whose doing it is: `memwhy leak --kernel --by process,cache,site --for %.0fs`",
		x->judged.seconds);
	finding_line(r, f->try_,
		"Longer, to tell a leak from what fills: `memwhy leak --kernel --for %llus`",
		longer);
	finding_line(r, f->undo, "Nothing to undo.");
	if (x->key->cache.name[0] && !strchr(x->key->cache.name, '\''))
		finding_line(r, f->verify, "`grep '^%.31s ' /proc/slabinfo`", x->key->cache.name);
	else
		finding_line(r, f->verify, "`memwhy leak --kernel --for %.0fs`", x->judged.seconds);
}

static void tell(struct report *r, const struct leak_caches *c, const struct leak_memory *m,
	const struct leak_suspect *x)
{
	struct finding *f = report_finding(r, level_of(r, c, x), "leak");
	const char *site = leak_site_text(r, x->key);
	struct lines lines = {r, f, 0};
	char a[UNIT_BUF];

	if (!f)
		return;
	f->title = report_text(r, "Suspect: %s%s%s keeps what it allocates, %s a minute",
		leak_cache_text(r, &x->key->cache), site ? " at " : "", site ? site : "",
		fmt_bytes(a, (u64)x->judged.now * 60));
	f->confidence = report_text(r,
		"medium: every allocation was followed, but %.0f s cannot tell a leak from a cache "
		"that fills",
		x->judged.seconds);
	tell_growth(r, f, x);
	tell_others(r, f, c, m, x);
	stack_lines(r->stream, x->key->task.stack, false, line_add, &lines);
	f->why = is_reclaimable(c, x->key)
			 ? "What is allocated here stays. The kernel gives this cache back when "
			   "memory is short, so it is likely one that fills."
			 : "What is allocated here stays, and the kernel cannot take it back: it "
			   "belongs to whoever asked for it.";
	tell_next(r, f, x);
}

void leak_suspects_report(struct report *r, const struct leak_caches *c,
	const struct leak_memory *m, const struct leak_suspect *v, size_t n)
{
	_cleanup_free_ const struct leak_suspect **best = calloc(n + 1, sizeof(*best));
	size_t found = 0;

	for (size_t i = 0; best && i < n; i++)
		if (is_suspect(&v[i]))
			best[found++] = &v[i];
	if (found)
		qsort(best, found, sizeof(*best), by_growth);
	for (size_t i = 0; i < found && i < SUSPECTS; i++)
		tell(r, c, m, best[i]);
	if (found > SUSPECTS)
		report_note(
			r, "%zu more sites grow steadily: they are in the table", found - SUSPECTS);
}
