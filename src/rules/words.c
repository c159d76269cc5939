/* What rules say alike: levels, cgroup limits. See facts.h. */
#include <string.h>
#include <sys/mman.h>

#include "base/units.h"
#include "probes/mmcalls/mmcalls.h"
#include "rules/facts.h"

const char *time_left_text(struct report *r, double seconds)
{
	return seconds < 120        ? report_text(r, "%.0f seconds", seconds)
	       : seconds < 2 * 3600 ? report_text(r, "%.0f minutes", seconds / 60)
				    : report_text(r, "%.0f hours", seconds / 3600);
}

int share_level(double share, double risk, double warning, double critical)
{
	return share >= critical  ? LEVEL_CRITICAL
	       : share >= warning ? LEVEL_WARNING
	       : share >= risk    ? LEVEL_RISK
				  : -1;
}

u64 min_free_next(const struct report *r, u64 now_kib, u32 pageblock_order)
{
	const struct rec_host *h = &r->stream->host;
	u64 block_kib = ((u64)h->page_bytes << pageblock_order) / 1024;
	u64 next = now_kib + 3 * block_kib * MAX(h->nodes, 1U);

	return h->memory_bytes && next * 1024 <= h->memory_bytes / 20 ? next : 0;
}

#define WALKED_LEAST 4   /* samples of a process */
#define WALKED_PART 0.15 /* of them: a smaller one does not say where they come from */

struct stack_told {
	struct report *r;
	struct finding *f;
	int n, most;
};

static void stack_line_tell(void *arg, const char *text)
{
	struct stack_told *t = arg;

	if (!strcmp(text, "?") || t->n >= t->most)
		return;
	finding_line(t->r, t->f->evidence, "%s%s", t->n++ ? "   from " : "at ", text);
}

void try_compact(struct report *r, struct finding *f, const struct facts *facts)
{
	u64 stalls = facts_delta(facts, "compact_stall"),
	    fails = facts_delta(facts, "compact_fail");

	if (fails && fails * 2 > stalls) {
		finding_line(r, f->try_,
			"Compaction fails in %llu of %llu runs, so another one is no use: let "
			"whatever fragments memory allocate its unmovable pages early, or reboot.",
			fails, stalls);
		finding_line(r, f->undo, "Nothing to undo.");
		return;
	}
	finding_line(r, f->try_, "Compact once: `echo 1 > /proc/sys/vm/compact_memory`");
	finding_line(r, f->undo, "Nothing to undo: it moves pages once.");
}

void finding_stack(struct report *r, struct finding *f, u32 stack, int n)
{
	struct stack_told t = {r, f, 0, n};

	stack_told_lines(r->stream, stack, stack_line_tell, &t);
	if (t.n < 2)
		finding_line(r, f->evidence,
			"   and no further: check unwinds by frame pointers, which this code "
			"lacks");
}

/* How many lines there are. */
static void line_count(void *arg, const char *text)
{
	*(int *)arg += strcmp(text, "?") != 0;
}

bool stack_has_caller(const struct report *r, u32 stack)
{
	int n = 0;

	stack_told_lines(r->stream, stack, line_count, &n);
	return n > 1;
}

bool finding_walked(
	struct report *r, struct finding *f, const struct process_path *path, const char *what)
{
	if (path->samples < WALKED_LEAST ||
		(double)path->count < WALKED_PART * (double)path->samples)
		return false;
	finding_line(r, f->evidence, "%s (%llu of %llu sampled faults):", what, path->count,
		path->samples);
	finding_stack(r, f, path->stack, 6);
	return true;
}

const char *mmcalls_name(struct report *r, u16 call, u16 advice)
{
	switch (call) {
	case MMCALLS_MUNMAP:
		return "munmap()";
	case MMCALLS_BRK:
		return "brk()";
	case MMCALLS_MREMAP:
		return "mremap()";
	case MMCALLS_MMAP:
		return "mmap()";
	case MMCALLS_MPROTECT:
		return "mprotect()";
	}
	switch (advice) {
	case MADV_DONTNEED:
		return "madvise(MADV_DONTNEED)";
	case MADV_FREE:
		return "madvise(MADV_FREE)";
	}
	return report_text(r, "madvise(%u)", advice);
}

bool looks_too(const struct report *r, u32 tgid)
{
	return !strncmp(stream_comm(r->stream, tgid, 0), "memwhy", 6);
}

const char *cgroup_directory(struct report *r, u32 version, const char *path)
{
	return report_text(r, "/sys/fs/cgroup%s%s", version == 1 ? "/memory" : "",
		strcmp(path, "/") ? path : "");
}

void cgroup_tell_limit(struct report *r, struct finding *f, const struct cgroup_usage *cg,
	const char *dir, u64 bytes)
{
	const char *file = cg->version == 1               ? "memory.limit_in_bytes"
			   : cg->h.flags & CGROUP_BY_HIGH ? "memory.high"
							  : "memory.max";
	/* Of version 1 that of memory and swap together is never below that of memory. */
	bool both = cg->version == 1 && cg->swap_limit_bytes != CGROUP_USAGE_NONE &&
		    cg->swap_limit_bytes && cg->swap_limit_bytes < bytes;

	bytes = (bytes + 4095) & ~4095ULL;
	if (both)
		finding_line(
			r, f->try_, "`echo %llu > %s/memory.memsw.limit_in_bytes`", bytes, dir);
	finding_line(r, f->try_, "`echo %llu > %s/%s`", bytes, dir, file);
	finding_line(r, f->undo, "`echo %llu > %s/%s`", cg->limit_bytes, dir, file);
	if (both)
		finding_line(r, f->undo, "`echo %llu > %s/memory.memsw.limit_in_bytes`",
			cg->swap_limit_bytes, dir);
	if (cg->version == 1) /* version 2 reclaims, and then kills */
		finding_line(r, f->undo,
			"The kernel refuses that (EBUSY) while more is in use that it cannot "
			"reclaim: shrink or stop what runs inside first.");
}

void cgroup_tell_raise(struct report *r, struct finding *f, const struct cgroup_usage *cg,
	const char *dir, const char *verify)
{
	finding_line(r, f->try_,
		cg->swap_bytes > cg->limit_bytes / 2
			? "Raise the limit by what is in swap, or shrink what runs inside:"
			: "Raise the limit by half, or shrink what runs inside:");
	cgroup_tell_limit(
		r, f, cg, dir, cg->limit_bytes + MAX(cg->limit_bytes / 2, cg->swap_bytes));
	finding_line(r, f->verify, "`memwhy %s --for 30s -g %s`", verify, dir);
}

#define SWAPPINESS "vm.swappiness"
#define SPARING 1 /* anonymous memory, up to this */
#define EAGER 100 /* beyond it the kernel swaps rather than drop files */
#define DEFAULT 60

void swappiness_tell(struct report *r, struct finding *f, const struct facts *facts, bool swaps)
{
	u64 now = facts_last(facts, SWAPPINESS), anon = facts_last(facts, "AnonPages"),
	    files = facts_last(facts, "Active(file)") + facts_last(facts, "Inactive(file)"),
	    room = MIN(facts_last(facts, "SwapFree"), anon);
	char a[UNIT_BUF];

	if (!facts_known(facts, SWAPPINESS) ||
		(swaps ? now <= EAGER || files < anon / 4 : now > SPARING || room < files / 4))
		return;
	f->title =
		swaps ? report_text(r, "%s, while %s of file cache stays, with " SWAPPINESS " %llu",
				f->title, fmt_bytes(a, files), now)
		      : report_text(r,
				"%s, as " SWAPPINESS
				" %llu lets no anonymous memory go to swap, which has room for %s",
				f->title, now, fmt_bytes(a, room));
	finding_line(r, f->try_,
		swaps ? "Evict file pages before swapping, the default:"
		      : "Let unused memory go to swap, the default:");
	finding_line(r, f->try_, "`sysctl -w " SWAPPINESS "=%d`", DEFAULT);
	finding_line(r, f->undo, "`sysctl -w " SWAPPINESS "=%llu`", now);
}

const char *processes_text(struct report *r, u32 named, u32 n, u32 last)
{
	return report_text(r, "%s (%u processes, the last of them pid %u)",
		report_program(r, named ? named : last), n, last);
}
