/* See give_back.h. What each setting does was measured (docs/where.md). */
#include "analysis/give_back.h"

#include <string.h>

#include "base/str.h"
#include "base/units.h"

/* Of what the process has: less than that is usual. */
#define KEPT_PART 0.1
#define FREE_PART 0.3

struct way {
	const char *allocator;
	const char *call;    /* for gdb; NULL: there is none that gives back what threads freed */
	const char *setting; /* at the start of the program */
};

static const struct way ways[] = {
	{"jemalloc", "call (int)mallctl(\"arena.4096.purge\", 0, 0, 0, 0)",
		"MALLOC_CONF=background_thread:true,dirty_decay_ms:1000"},
	{"tcmalloc", "call (void)MallocExtension_ReleaseFreeMemory()",
		"TCMALLOC_AGGRESSIVE_DECOMMIT=t"},
	{"mimalloc", NULL, "MIMALLOC_DECOMMIT_DELAY=0"},
};

bool give_back_matters(const struct give_back *g, u64 has_bytes)
{
	double has = (double)has_bytes;

	return (double)g->kept_bytes >= KEPT_PART * has ||
	       (double)(g->kept_bytes + g->between_bytes) >= FREE_PART * has;
}

static bool is_redis(const struct give_back *g)
{
	return begins_with(g->process, "redis-server");
}

static void pages_tell(
	struct report *r, struct finding *f, const struct give_back *g, const struct way *w)
{
	char buf[UNIT_BUF];

	fmt_bytes(buf, g->kept_bytes);
	if (is_redis(g))
		finding_line(r, f->try_, "Give back %s now: `redis-cli MEMORY PURGE`", buf);
	else if (w->call)
		finding_line(r, f->try_,
			"Give back %s now; the program can make this call itself after freeing "
			"much (" GDB_CALLS "): `gdb -p %u -batch -ex %s`",
			buf, g->tgid, w->call);
	finding_line(r, f->try_,
		"Give back %s as it frees, from its next start on: `env %s COMMAND`", buf,
		w->setting);
	finding_line(r, f->undo,
		"Start it without the setting; what was given back is faulted in again as the "
		"program allocates.");
}

/* other: something else of it can be given back. */
static void between_tell(struct report *r, struct finding *f, const struct give_back *g, bool other)
{
	char buf[UNIT_BUF];

	fmt_bytes(buf, g->between_bytes);
	finding_line(r, f->evidence,
		"%s of it is free blocks on pages that also hold live ones: these pages cannot be "
		"given back",
		buf);
	if (!is_redis(g)) {
		finding_line(r, f->try_,
			"No setting gives back %s %s: only moving its blocks or a restart does.",
			other ? "the other" : "these", buf);
		return;
	}
	finding_line(r, f->try_,
		"Let redis move its blocks; with the system's jemalloc it says that it cannot: "
		"`redis-cli CONFIG SET activedefrag yes`");
	finding_line(r, f->undo, "`redis-cli CONFIG SET activedefrag no`");
	finding_line(r, f->try_,
		"If it cannot, only a restart gives back these %s. Save its data and stop it: "
		"`redis-cli SHUTDOWN SAVE`",
		buf);
	finding_line(r, f->undo, "A restart needs no undo.");
}

bool give_back_tell(struct report *r, struct finding *f, const struct give_back *g)
{
	bool pages = g->kept_bytes >= g->between_bytes / 8;
	const struct way *w = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		w = strcmp(ways[i].allocator, g->allocator) ? w : &ways[i];
	if (!w)
		return false;
	f->why = g->between_bytes > g->kept_bytes
			 ? "A page returns to the kernel only when no block on it is in use: a few "
			   "live blocks can keep many pages."
			 : "Allocators keep freed pages for a while, as returning them and "
			   "faulting them in again costs time.";
	if (g->decay_ms >= 0 && !strcmp(g->allocator, "jemalloc"))
		finding_line(r, f->evidence,
			"dirty_decay_ms is %lld; without background_thread, decay happens only "
			"while the program allocates",
			(long long)g->decay_ms);
	if (pages)
		pages_tell(r, f, g, w);
	if (g->between_bytes >= g->kept_bytes / 8)
		between_tell(r, f, g, pages);
	finding_line(r, f->verify, "`memwhy where -p %u`", g->tgid);
	return true;
}
