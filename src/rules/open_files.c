/* Open files: of whoever has most, and of whoever will soon have as many as its limit allows. */
#include "base/units.h"
#include "rules/facts.h"
#include "rules/holdings.h"
#include "rules/rules.h"
#include "sys/process/fdlink.h"

#define MANY_FILES 10000
#define FILES_WARNING 100000
#define SOON_FILES 1000 /* fewer may be a start */
#define GROWN 300       /* between two looks */
#define SOON_S 600.0

static u64 files(const struct held_process *p)
{
	return p->files;
}

/* " (12 sockets)": what its open files are; "" where that was not looked at. */
static const char *kinds_text(struct report *r, const struct held_process *p)
{
	static const char *const names[FD_KINDS] = {"files", "pipe ends", "sockets", "epolls",
		"event and timer descriptors", "watches", "userfaultfds", "BPF maps",
		"BPF programs", "io_urings", "perf events", "memfds", "shared memory",
		"device buffers", "removed files", "others"};
	_cleanup_str_ struct str text = {};
	u64 looked_at = 0, n;

	for (u32 i = 0; i < FD_KINDS; i++)
		looked_at += p->kinds[i];
	for (u32 limit = p->files > 10 ? (u32)(looked_at / 20) : 0, i = 0; i < FD_KINDS; i++) {
		if (p->kinds[i] <= limit)
			continue;
		/* Of very many the first ones stand for all. */
		n = p->files > looked_at ? (u64)((double)p->files * p->kinds[i] / (double)looked_at)
					 : p->kinds[i];
		str_addf(&text, "%s%s%llu %s", text.len ? ", " : "",
			n > p->kinds[i] ? "about " : "", n, names[i]);
	}
	return text.len ? report_text(r, " (%s)", str_get(&text)) : "";
}

static void tell_how(struct report *r, struct finding *x, const struct held_process *p)
{
	finding_line(r, x->try_, "Count what it keeps open, by target:");
	finding_line(r, x->try_,
		"`ls -l /proc/%u/fd | awk '{print $NF}' | sed 's/[0-9]*$//' | sort | uniq -c | "
		"sort -rn | head`",
		p->tgid);
	finding_line(r, x->try_, "See where it opens them: `memwhy leak --kernel --for 30s -p %u`",
		p->tgid);
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`ls /proc/%u/fd | wc -l`", p->tgid);
}

/* Seconds until it has as many as its limit allows, as fast as it opened them between the looks. */
static double seconds_left(const struct held_both *p)
{
	u64 grown = counter_rise(p->first.files, p->last.files);
	double seconds = (double)(p->last.h.time_ns - p->first.h.time_ns) / 1e9;

	if (p->first.start_ns != p->last.start_ns || grown < GROWN || p->last.files < SOON_FILES ||
		!p->last.files_max || seconds <= 0)
		return HELD_NEVER_S;
	return (double)counter_rise(p->last.files, p->last.files_max) * seconds / (double)grown;
}

/* Who will soon be refused: no memory to speak of, but then accept(), open() and the like fail. */
static u32 tell_soon(struct report *r, const struct held *h)
{
	const struct held_both *soonest = NULL;
	const struct held_process *p;
	struct finding *x = NULL;
	double left = SOON_S;
	char a[UNIT_BUF], b[UNIT_BUF];

	for (size_t i = 0; i < h->processes.n; i++) {
		const struct held_both *both = groups_value(&h->processes, i);

		if (seconds_left(both) < left) {
			soonest = both;
			left = seconds_left(both);
		}
	}
	if (soonest)
		x = report_finding(r, LEVEL_RISK, "open-files");
	if (!x)
		return 0;
	p = &soonest->last;
	x->tgid = p->tgid;
	x->losses = LOSS_KERNEL;
	x->held_bytes = p->files * held_file_bytes(p);
	x->title = report_text(r,
		"%s opens ever more files: %s open%s, and its limit of %llu is reached in %s",
		held_name(r, p), fmt_count(a, p->files), kinds_text(r, p), p->files_max,
		fmt_ns(b, (u64)(left * 1e9)));
	x->confidence = "medium: two readings, at the start and at the end; whether it continues "
			"is not known";
	finding_line(r, x->evidence, "%llu more within %s; RLIMIT_NOFILE is %llu",
		p->files - soonest->first.files, fmt_ns(a, p->h.time_ns - soonest->first.h.time_ns),
		p->files_max);
	x->why = "At the limit open(), accept() and socket() fail with EMFILE, however much memory "
		 "is free. A program that never closes what it opens only gets there later with a "
		 "larger limit.";
	tell_how(r, x, p);
	return p->tgid;
}

static void tell_files(struct report *r, const struct held *h, u32 told)

{
	struct held_top t = held_most(h, files);
	u64 n = t.bytes, slab = facts_last(&h->facts, "Slab");
	u64 each = t.most ? held_file_bytes(&t.most->last) : 0;
	u64 bytes = slab ? MIN(n * each, slab) : n * each;
	struct finding *x;
	const struct held_process *p;
	char a[UNIT_BUF], b[UNIT_BUF];

	if (n < MANY_FILES || (t.most->last.tgid == told && n < FILES_WARNING))
		return;
	x = report_finding(r,
		MAX(held_level(r, bytes), (int)(n >= FILES_WARNING ? LEVEL_RISK : LEVEL_NOTE)),
		"open-files");
	if (!x)
		return;
	p = &t.most->last;
	x->held_bytes = bytes;
	x->losses = LOSS_KERNEL; /* in slab caches, or in pages that no counter has */
	x->grown_bytes = counter_rise(t.first_bytes * each, n * each);
	x->tgid = p->tgid;
	x->title = report_text(r, "%s has %s files open%s: about %s of kernel memory",
		held_who(r, &t), fmt_count(a, n), kinds_text(r, p), fmt_bytes(b, bytes));
	x->confidence = report_text(
		r, "high for the count; the memory is estimated at %llu bytes each", each);
	/* That one is summed over CPUs now and then. */
	if (n <= facts_last(&h->facts, "file/open"))
		finding_line(r, x->evidence, "%llu of all %llu open files of the machine", n,
			facts_last(&h->facts, "file/open"));
	finding_line(r, x->evidence, "unreclaimable slab is %s",
		fmt_bytes(a, facts_last(&h->facts, "SUnreclaim")));
	if (n > t.first_bytes)
		finding_line(
			r, x->evidence, "%llu more than a few seconds before", n - t.first_bytes);
	x->why = "Each open file is a kernel object with its inode, and buffers if it is a pipe or "
		 "a socket. A program that never closes them holds them until it ends.";
	tell_how(r, x, p);
}

static int open_files_rule_report(void *v, struct report *r)
{
	const struct held *h = v;

	tell_files(r, h, tell_soon(r, h));
	return 0;
}

const struct view rule_open_files = HELD_RULE(open_files_rule_report);
