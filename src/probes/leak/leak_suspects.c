/* Findings: sites that keep what they allocate, where the evidence suffices. See leak_tables.h. */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "probes/leak/leak_tables.h"

#define SUSPECTS 3
#define MIN_OBJECTS 30

static struct leak_evidence evidence_of(const struct leak_suspect *x)
{
	return (struct leak_evidence){
		.judged = &x->judged,
		.live = x->site->objects,
		.bytes = x->site->bytes,
		.allocated = x->site->all_allocated,
		.stayed = x->stayed,
	};
}

static bool is_suspect(const struct leak_suspect *x)
{
	struct leak_evidence e = evidence_of(x);

	return leak_is_suspect(&e, x->key->cache.kind == LEAK_PAGES ? 0 : MIN_OBJECTS);
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
	return is_reclaimable(c, x->key) ? LEVEL_NOTE : leak_suspect_level(r, &x->judged);
}

static void tell_others(struct report *r, struct finding *f, const struct leak_caches *c,
	const struct leak_memory *m, const struct leak_suspect *x)
{
	const struct slab_usage *u = leak_usage(c, &x->key->cache);
	char a[UNIT_BUF];
	s64 grown;

	leak_tell_lives(r, f, x->site->all_freed, &x->site->lives);
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
	struct leak_evidence e = evidence_of(x);
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
	leak_tell_growth(r, f, &e);
	tell_others(r, f, c, m, x);
	leak_tell_stack(r, f, x->key->task.stack);
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
