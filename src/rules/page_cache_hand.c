/*
 * Pages of files that somebody gave back, or had pushed out, by hand, and that are read again:
 * nobody needed room. Processes of one program are told together where none of them is the one:
 * each may be short.
 */
#include <errno.h>
#include <stdio.h>

#include "base/units.h"
#include "rules/page_cache.h"

#define BY_HAND 4      /* told */
#define HAND_TIMES 2   /* seconds in which it was seen */
#define ONE_PART 0.7   /* a pair that has this part is told alone */
#define PAIRS_MAX 1024 /* that are looked at */
#define PROGRAM_LEN 48

struct hand_key {
	char victim[PROGRAM_LEN], evictor[PROGRAM_LEN];
	u64 cgroup; /* of the victim */
	u32 call;
	u32 own; /* each process has its own pages pushed out */
};

struct hand {
	u64 pages, most_pages;
	u32 times;
	struct pair most; /* the pair with most of the pages */
	u32 victims, evictors;
	struct reader reader; /* all of the victims */
	bool told;
};

const char *page_cache_hand_text(u32 call)
{
	switch (call) {
	case CACHE_CALL_FADVISE:
		return "posix_fadvise (POSIX_FADV_DONTNEED)";
	case CACHE_CALL_MADVISE:
		return "madvise (MADV_PAGEOUT)";
	case CACHE_CALL_PROCESS_MADVISE:
		return "process_madvise (MADV_PAGEOUT)";
	case CACHE_CALL_GROUP:
		return "a write to a file of a control group (memory.reclaim, memory.force_empty, "
		       "or a lowered limit)";
	}
	return NULL;
}

/* One that nothing is known of is a program of its own. */
static void program_put(struct report *r, u32 tgid, char ret[PROGRAM_LEN])
{
	if (stream_task(r->stream, tgid, 0))
		snprintf(ret, PROGRAM_LEN, "%s", report_program(r, tgid));
	else
		snprintf(ret, PROGRAM_LEN, "%u", tgid);
}

static struct hand_key page_cache_hand_key_of(
	struct report *r, const struct reader *victim, const struct pair *p)
{
	struct hand_key k = {
		.cgroup = victim->cgroup, .call = p->call, .own = p->victim == p->evictor};

	program_put(r, p->victim, k.victim);
	program_put(r, p->evictor, k.evictor);
	return k;
}

/* Was there a pair of the same hand with this victim, or this evictor, before? */
static bool was_before(const struct page_cache *s, const u32 *hands, size_t at, bool victims)
{
	const struct pair *p = groups_key(&s->pairs, at);

	for (size_t i = 0; i < at; i++) {
		const struct pair *q = groups_key(&s->pairs, i);

		if (hands[i] == hands[at] &&
			(victims ? q->victim == p->victim : q->evictor == p->evictor))
			return true;
	}
	return false;
}

static void hand_add(struct hand *h, const struct page_cache *s, const u32 *hands, size_t at)
{
	const struct pair *p = groups_key(&s->pairs, at);
	const struct lost *l = groups_value(&s->pairs, at);
	const struct reader *victim = groups_find(&s->sums.by, &p->victim);

	h->pages += l->pages;
	h->times += l->times;
	if (l->pages > h->most_pages) {
		h->most_pages = l->pages;
		h->most = *p;
	}
	h->evictors += !was_before(s, hands, at, false);
	if (was_before(s, hands, at, true))
		return;
	h->victims++;
	h->reader.read += victim->read;
	h->reader.written += victim->written;
	h->reader.refaults += victim->refaults;
	h->reader.refault_ns += victim->refault_ns;
	h->reader.cgroup = victim->cgroup;
}

static u32 page_cache_hand_number_of(const struct groups *g, const void *value)
{
	u32 i = 0;

	while (i < g->n && groups_value(g, i) != value)
		i++;
	return i + 1;
}

/* Fills ret by struct hand_key, and which of them each pair is of, counted from 1. */
static int hands_make(
	const struct page_cache *s, struct report *r, struct groups *ret, u32 hands[PAIRS_MAX])
{
	for (size_t i = 0; i < s->pairs.n && i < PAIRS_MAX; i++) {
		const struct pair *p = groups_key(&s->pairs, i);
		const struct reader *victim = groups_find(&s->sums.by, &p->victim);
		struct hand_key k;
		struct hand *h;

		if (!p->call || !victim)
			continue;
		k = page_cache_hand_key_of(r, victim, p);
		h = groups_get(ret, &k);
		if (!h)
			return -ENOMEM;
		hands[i] = page_cache_hand_number_of(ret, h);
		hand_add(h, s, hands, i);
	}
	return 0;
}

static bool is_one(const struct hand *h)
{
	return (double)h->most_pages >= ONE_PART * (double)h->pages;
}

static const char *page_cache_hand_who_of(struct report *r, const struct hand *h, bool victim)
{
	u32 tgid = victim ? h->most.victim : h->most.evictor;
	u32 n = victim ? h->victims : h->evictors;

	return n > 1 && !is_one(h) ? processes_text(r, tgid, n, tgid) : report_process(r, tgid);
}

static void hand_try(struct report *r, struct finding *f, const struct hand *h)
{
	u32 evictor = h->most.evictor;

	if (h->most.call == CACHE_CALL_FADVISE)
		finding_line(r, f->try_,
			"Drop only what is not read again: no POSIX_FADV_DONTNEED on files that "
			"are read more than once, or only behind a backup's or a log's stream.");
	else
		finding_line(r, f->try_,
			"Let %s leave pages in use alone, or stop it: once memory is short, the "
			"kernel itself evicts what is used least.",
			report_process(r, evictor));
	if (h->evictors > 1 && !is_one(h))
		finding_line(r, f->try_,
			"Where it does so: `memwhy syscalls --stacks=user --for 10s -c %s`",
			stream_comm(r->stream, evictor, 0));
	else
		finding_line(r, f->try_,
			"Where it does so: `memwhy syscalls --stacks=user --for 10s -p %u`",
			evictor);
	finding_line(r, f->undo, "Allow it again.");
	finding_line(r, f->verify, "`memwhy check --for 30s`");
}

/* Somebody gives pages back, or has them pushed out, that are read again. */
static void tell_hand(struct report *r, const struct page_cache *s, const struct hand *h)
{
	double rate = page_cache_second(s, h->pages);
	struct finding *f = report_finding(
		r, rate >= REFAULTS_WARNING ? LEVEL_WARNING : LEVEL_RISK, "page-cache");
	const char *call = page_cache_hand_text(h->most.call);
	char a[UNIT_BUF];

	if (!f)
		return;
	f->tgid = h->most.evictor;
	f->cgroup = h->reader.cgroup;
	f->losses = LOSS_REFAULT | LOSS_RECLAIM;
	f->title =
		h->most.evictor == h->most.victim
			? report_text(r,
				  "%s drops pages of its files from the page cache and reads them "
				  "again, %.0f a second: by %s",
				  page_cache_hand_who_of(r, h, true), rate, call)
			: report_text(r,
				  "%s evicts file pages that %s reads again, %.0f a second: by %s",
				  page_cache_hand_who_of(r, h, false),
				  page_cache_hand_who_of(r, h, true), rate, call);
	f->confidence = "high: the call that dropped them was seen; pages are sampled, one in 64";
	finding_line(r, f->evidence, "%s a second is read back this way",
		fmt_bytes(a, (u64)(rate * (double)r->stream->host.page_bytes)));
	page_cache_tell_reads(r, f, s, page_cache_hand_who_of(r, h, true), &h->reader);
	if (h->most.call != CACHE_CALL_FADVISE) /* that one leaves the kernel no trace of them */
		page_cache_tell_cost(r, f, s, &h->reader);
	if (facts_known(&s->sums.facts, "MemAvailable"))
		finding_line(r, f->evidence, "%s of memory is available",
			fmt_bytes(a, facts_last(&s->sums.facts, "MemAvailable")));
	f->why = "Pages dropped on request are gone, even while memory is free: the next reader "
		 "waits for the disk again.";
	hand_try(r, f, h);
}

/* A habit, or much at once: one file that was given back too early is neither. */
static bool is_by_hand(const struct page_cache *s, const struct hand *h)
{
	return (double)h->pages >= PAIR_PART * (double)h->reader.refaults &&
	       page_cache_second(s, h->pages) >=
		       (h->times >= HAND_TIMES ? REFAULTS_RISK : REFAULTS_WARNING);
}

/* Those with most pages. */
static struct hand *next(const struct page_cache *s, const struct groups *hands)
{
	struct hand *best = NULL;

	for (size_t i = 0; i < hands->n; i++) {
		struct hand *h = groups_value(hands, i);

		if (!h->told && is_by_hand(s, h) && (!best || h->pages > best->pages))
			best = h;
	}
	return best;
}

static bool has_victim(
	const struct page_cache *s, const struct groups *hands, const u32 *of, u32 victim)
{
	for (size_t i = 0; i < s->pairs.n && i < PAIRS_MAX; i++) {
		const struct pair *p = groups_key(&s->pairs, i);
		const struct hand *h = of[i] ? groups_value(hands, of[i] - 1) : NULL;

		if (h && h->told && p->victim == victim)
			return true;
	}
	return false;
}

int page_cache_tell_by_hand(struct report *r, const struct page_cache *s, u32 victim)
{
	u32 of[PAIRS_MAX] = {};
	struct groups hands;
	struct hand *h;
	int rc;

	groups_init(&hands, sizeof(struct hand_key), sizeof(struct hand));
	rc = hands_make(s, r, &hands, of);
	for (int n = 0; n < BY_HAND && !rc && (h = next(s, &hands)); n++) {
		tell_hand(r, s, h);
		h->told = true;
	}
	if (!rc)
		rc = has_victim(s, &hands, of, victim);
	groups_free(&hands);
	return rc;
}
