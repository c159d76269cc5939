/*
 * Writers that the kernel makes sleep because too many pages wait to be written to disk
 * (balance_dirty_pages): who writes, to which device, for how long.
 */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/waits/waits.h"
#include "rules/facts.h"
#include "rules/rules.h"

#define ROUND_BYTES (64ULL << 20)
#define TIGHT_PART 50 /* of available memory: a limit below that is small; the usual is a fifth */

struct device {
	char name[16];
};

struct writes {
	u64 sleeps, ns, max_ns, pages;
	u32 tgid, processes;
	u64 tgid_ns, tgid_pages;
	u64 owner; /* of most of it */
};

struct writer_key {
	char device[16];
	u32 tgid;
	u32 reserved;
};

struct writer {
	u64 ns, pages;
	u32 stack;
};

struct state {
	struct rule_sums sums; /* struct device -> struct writes */
	struct groups writers;
};

static int dirty_throttling_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct state *s = v;

	(void)o;
	(void)err;
	rule_sums_init(&s->sums, sizeof(struct device), sizeof(struct writes));
	groups_init(&s->writers, sizeof(struct writer_key), sizeof(struct writer));
	return 0;
}

static int dirty_throttling_rule_feed(void *v, const struct rec *rec)
{
	const struct waits_dirty *r = (const void *)rec;
	struct writer_key k = {};
	struct state *s = v;
	struct device d = {};
	struct writer *writer;
	struct writes *w;

	if (rec->kind != REC_WAITS_DIRTY)
		return facts_feed(&s->sums.facts, rec);
	snprintf(d.name, sizeof(d.name), "%.15s", r->device);
	memcpy(k.device, d.name, sizeof(k.device));
	k.tgid = r->tgid;
	w = groups_get(&s->sums.by, &d);
	writer = groups_get(&s->writers, &k);
	if (!w || !writer)
		return -ENOMEM;
	w->processes += !writer->ns;
	writer->ns += r->total_ns;
	writer->pages += r->dirtied_pages;
	writer->stack = r->stack ? r->stack : writer->stack;
	w->sleeps += r->count;
	w->ns += r->total_ns;
	w->max_ns = MAX(w->max_ns, r->max_ns);
	w->pages += r->dirtied_pages;
	w->owner = r->owner;
	if (writer->ns >= w->tgid_ns) {
		w->tgid = r->tgid;
		w->tgid_ns = writer->ns;
		w->tgid_pages = writer->pages;
	}
	return 0;
}

static void tell_limits(struct report *r, struct finding *f, const struct facts *facts)
{
	u64 bytes = facts_last(facts, "vm.dirty_bytes");
	u64 background = facts_last(facts, "vm.dirty_background_bytes");
	char a[UNIT_BUF], b[UNIT_BUF];

	if (facts_known(facts, "Dirty"))
		finding_line(r, f->evidence, "%s are dirty, %s being written, at the end",
			fmt_bytes(a, facts_last(facts, "Dirty")),
			fmt_bytes(b, facts_last(facts, "Writeback")));
	if (bytes)
		finding_line(r, f->evidence,
			"writers are slowed above the midpoint of vm.dirty_background_bytes (%s) "
			"and vm.dirty_bytes (%s)",
			fmt_bytes(a, background), fmt_bytes(b, bytes));
	else
		finding_line(r, f->evidence,
			"writers are slowed above the midpoint of vm.dirty_background_ratio (%llu "
			"%%) and vm.dirty_ratio (%llu %%) of available memory",
			facts_last(facts, "vm.dirty_background_ratio"),
			facts_last(facts, "vm.dirty_ratio"));
}

/* The limit, and not the device, is what is small. */
static bool is_tight(const struct facts *facts)
{
	u64 bytes = facts_last(facts, "vm.dirty_bytes");

	return bytes && bytes < facts_last(facts, "MemAvailable") / TIGHT_PART;
}

/* Where the limit is small, a larger one takes up a burst; nothing but less writing helps against
 * a stream that the disk cannot take. */
static void dirty_throttling_tell_try(
	struct report *r, struct finding *f, const struct facts *facts)
{
	u64 bytes = facts_last(facts, "vm.dirty_bytes");
	u64 room = (facts_last(facts, "MemAvailable") / 5) & ~(ROUND_BYTES - 1);

	finding_line(r, f->try_,
		"Write less, or to another device; what is not read again soon can be written with "
		"O_DIRECT, or by a job that is itself throttled (a cgroup with io.max).");
	if (!bytes || bytes >= room / 2)
		return;
	finding_line(r, f->try_,
		"If writes come in bursts that the disk absorbs later, allow more dirty memory "
		"(vm.dirty_bytes is now %llu):",
		bytes);
	finding_line(r, f->try_, "`sysctl -w vm.dirty_bytes=%llu`", room);
	finding_line(r, f->undo, "`sysctl -w vm.dirty_bytes=%llu`", bytes);
}

static void dirty_throttling_tell(
	struct report *r, struct state *s, const char *device, const struct writes *w, int level)
{
	struct finding *f = report_finding(r, level, "dirty-throttling");
	u64 page = r->stream->host.page_bytes;
	char a[UNIT_BUF], b[UNIT_BUF], c[UNIT_BUF];
	struct writer_key k = {.tgid = w->tgid};
	const struct writer *writer;
	const char *owner = w->owner > 1 ? stream_cgroup(r->stream, w->owner) : NULL;

	if (!f)
		return;
	snprintf(k.device, sizeof(k.device), "%s", device);
	writer = groups_find(&s->writers, &k);
	f->cost_ns = w->ns;
	f->tgid = w->tgid;
	f->title = report_text(r,
		"%s writes faster than device %s absorbs%s and is put to sleep (dirty throttling, "
		"balance_dirty_pages): %s",
		report_process(r, w->tgid), device,
		is_tight(&s->sums.facts)
			? report_text(r, " while vm.dirty_bytes allows only %s to be dirty,",
				  fmt_bytes(a, facts_last(&s->sums.facts, "vm.dirty_bytes")))
			: "",
		report_share_text(r, w->ns));
	f->confidence = "high: every sleep was seen, with the length the kernel set";
	finding_line(r, f->evidence, "%llu sleeps of %u process%s, together %s, longest %s",
		w->sleeps, w->processes, w->processes == 1 ? "" : "es", fmt_ns(a, w->ns),
		fmt_ns(b, w->max_ns));
	finding_line(r, f->evidence,
		"%s of it in %s, which wrote %s to the page cache in that time",
		report_text(r, "%.0f %%", 100.0 * (double)w->tgid_ns / (double)MAX(w->ns, 1ULL)),
		report_process(r, w->tgid), fmt_bytes(c, w->tgid_pages * page));
	if (writer && writer->stack)
		finding_stack(r, f, writer->stack, 3);
	if (owner)
		finding_line(r, f->evidence, "the dirty pages are charged to cgroup %s",
			report_cgroup(r, owner));
	tell_limits(r, f, &s->sums.facts);
	f->why = "Written data stays in the page cache until it is on disk. When too much is "
		 "dirty, the kernel makes writers sleep, so that they write no faster than the "
		 "disk; others that write to the same device wait with them.";
	dirty_throttling_tell_try(r, f, &s->sums.facts);
	if (!f->undo[0])
		finding_line(r, f->undo, "Nothing to undo.");
	finding_line(r, f->verify, "`memwhy check --for 30s`");
}

static int dirty_throttling_rule_report(void *v, struct report *r)
{
	struct state *s = v;

	for (size_t i = 0; i < s->sums.by.n; i++) {
		const struct device *d = groups_key(&s->sums.by, i);
		const struct writes *w = groups_value(&s->sums.by, i);
		int level = share_level(report_share(r, w->ns), 0.05, 0.2, 4);

		if (level >= 0)
			dirty_throttling_tell(r, s, d->name, w, level);
	}
	return 0;
}

static void dirty_throttling_rule_reset(void *v)
{
	struct state *s = v;

	rule_sums_reset(&s->sums);
	groups_clear(&s->writers);
}

static void dirty_throttling_rule_destroy(void *v)
{
	struct state *s = v;

	rule_sums_destroy(&s->sums);
	groups_free(&s->writers);
}

const struct view rule_dirty_throttling = {
	.size = sizeof(struct state),
	.init = dirty_throttling_rule_init,
	.feed = dirty_throttling_rule_feed,
	.report = dirty_throttling_rule_report,
	.reset = dirty_throttling_rule_reset,
	.destroy = dirty_throttling_rule_destroy,
};
