/* Findings: sites that keep what they allocate, where the evidence suffices. See leak_tables.h. */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "probes/leak/leak_evidence.h"
#include "probes/leak/leak_tables.h"

#define MIN_OBJECTS 30

/* What is known of the kernel as a whole. */
struct whole {
	const struct leak_caches *caches;
	const struct leak_memory *memory;
};

static struct leak_evidence evidence_of(const struct leak_suspect *x)
{
	return (struct leak_evidence){
		.of = x,
		.judged = &x->judged,
		.live = x->site->objects,
		.bytes = x->site->bytes,
		.allocated = x->site->all_allocated,
		.least = x->key->cache.kind == LEAK_PAGES ? 0 : MIN_OBJECTS,
		.stayed = x->stayed,
	};
}

static bool is_reclaimable(const struct leak_caches *c, const struct leak_key *k)
{
	const struct slab_usage *u = leak_usage(c, &k->cache);

	return u && u->reclaimable;
}

static int leak_suspects_level_of(
	const struct report *r, const struct leak_caches *c, const struct leak_suspect *x)
{
	return is_reclaimable(c, x->key) ? LEVEL_NOTE : leak_suspect_level(r, &x->judged);
}

static void tell_others(
	struct report *r, struct finding *f, const struct whole *w, const struct leak_suspect *x)
{
	const struct slab_usage *u = leak_usage(w->caches, &x->key->cache);
	char a[UNIT_BUF];
	s64 grown;

	leak_tell_lives(r, f, x->site->all_freed, &x->site->lives);
	if (u)
		finding_line(r, f->evidence,
			"/proc/slabinfo: the whole cache has %lld more objects than before",
			(s64)(u->active_objects - u->first_active_objects));
	if (x->key->cache.kind == LEAK_PAGES && leak_memory_grown(w->memory, &grown))
		finding_line(r, f->evidence,
			"/proc/meminfo: memory neither free nor on LRU lists %s by %s",
			grown < 0 ? "shrank" : "grew",
			fmt_bytes(a, (u64)(grown < 0 ? -grown : grown)));
}

static void leak_suspects_tell_next(
	struct report *r, struct finding *f, const struct leak_suspect *x)
{
	u64 longer = (u64)x->judged.seconds * 5;

	if (!x->key->task.stack)
		finding_line(r, f->try_,
			"The code path: `memwhy leak --kernel --stacks=kernel --for %.0fs`",
			x->judged.seconds);
	finding_line(r, f->try_,
		"Who does it: `memwhy leak --kernel --by process,cache,site --for %.0fs`",
		x->judged.seconds);
	finding_line(r, f->try_,
		"Longer, to tell a leak from a cache that fills: `memwhy leak --kernel --for "
		"%llus`",
		longer);
	finding_line(r, f->undo, "Nothing to undo.");
	if (x->key->cache.name[0] && !strchr(x->key->cache.name, '\''))
		finding_line(r, f->verify, "`grep %s /proc/slabinfo`",
			report_text(r, "^%.31s ", x->key->cache.name));
	else
		finding_line(r, f->verify, "`memwhy leak --kernel --for %.0fs`", x->judged.seconds);
}

static void leak_site_tell(struct report *r, const struct leak_evidence *e, const void *arg)
{
	const struct leak_suspect *x = e->of;
	const struct whole *w = arg;
	struct finding *f = report_finding(r, leak_suspects_level_of(r, w->caches, x), "leak");
	const char *site = leak_site_text(r, x->key);
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
	leak_tell_growth(r, f, e);
	tell_others(r, f, w, x);
	leak_tell_stack(r, f, x->key->task.stack);
	f->why = is_reclaimable(w->caches, x->key)
			 ? "What is allocated here stays. The kernel shrinks this cache when "
			   "memory is short, so it is likely just filling."
			 : "What is allocated here stays, and the kernel cannot reclaim it: only "
			   "its owner can free it.";
	leak_suspects_tell_next(r, f, x);
}

void leak_suspects_report(struct report *r, const struct leak_caches *c,
	const struct leak_memory *m, const struct leak_suspect *suspects, size_t n)
{
	_cleanup_free_ struct leak_evidence *v = calloc(n + 1, sizeof(*v));
	struct whole whole = {c, m};

	for (size_t i = 0; v && i < n; i++)
		v[i] = evidence_of(&suspects[i]);
	if (v)
		leak_suspects_tell(r, v, n, "sites", leak_site_tell, &whole);
}
