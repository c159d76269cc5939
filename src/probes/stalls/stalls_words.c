/* See stalls_words.h. */
#include "probes/stalls/stalls_words.h"

#include "base/units.h"
#include "base/util.h"
#include "sys/calls/syscalls.h"

#define NAME(names_, i_) ((i_) < ARRAY_SIZE(names_) && (names_)[i_] ? (names_)[i_] : "?")

const char *stalls_kind_name(u8 kind)
{
	static const char *const names[] = {
		[STALLS_ALLOCATION] = "allocation",
		[STALLS_CHARGE] = "charge",
	};

	return NAME(names, kind);
}

const char *stalls_outcome_name(u8 outcome)
{
	static const char *const names[] = {
		[STALLS_GOT] = "page",
		[STALLS_FAILED] = "failed",
		[STALLS_OOM] = "oom",
	};

	return NAME(names, outcome);
}

const char *stalls_step_name(u8 kind)
{
	static const char *const names[] = {
		[STALLS_WAKE] = "kswapd woken",
		[STALLS_COMPACT] = "compaction",
		[STALLS_DIRECT] = "reclaim",
		[STALLS_MEMCG] = "cgroup reclaim",
		[STALLS_NODE] = "node reclaim",
		[STALLS_RETRY] = "retry",
		[STALLS_KILL] = "OOM kill",
		[STALLS_SLEEP] = "sleep",
		[STALLS_MORE] = "more",
	};

	return NAME(names, kind);
}

const char *stalls_mode_name(u8 kind, u8 mode)
{
	static const char *const names[] = {"sync full", "sync", "async"};

	return kind == STALLS_COMPACT ? NAME(names, mode) : NULL;
}

const char *stalls_result_name(u8 kind, u8 result)
{
	if (kind == STALLS_COMPACT)
		return result & STALLS_COMPACT_PAGE ? "page" : "no page";
	if (kind == STALLS_DIRECT || kind == STALLS_MEMCG || kind == STALLS_NODE)
		return result ? "progress" : "no progress";
	if (kind == STALLS_RETRY)
		return result ? "as decided" : "after the OOM killer";
	return NULL;
}

const char *stalls_status_name(u8 kind, u8 result)
{
	static const char *const names[] = {"not_suitable_zone", "skipped", "deferred",
		"no_suitable_page", "continue", "complete", "partial_skipped", "contended",
		"success"};
	u8 status = result & (STALLS_COMPACT_PAGE - 1);

	return kind == STALLS_COMPACT ? NAME(names, status) : NULL;
}

void stalls_trigger_add(struct str *out, u8 trigger, u8 order, s32 number, u32 pageblock_order)
{
	const char *name = syscall_name(number);

	if (trigger == STALLS_FOR_FAULT)
		str_add(out, order >= pageblock_order ? "THP fault" : "page fault");
	else if (trigger == STALLS_FOR_SYSCALL && name)
		str_addf(out, "syscall %s", name);
	else if (trigger == STALLS_FOR_SYSCALL)
		str_addf(out, "syscall %d", number);
	else if (trigger == STALLS_FOR_KTHREAD)
		str_add(out, "kernel thread");
	else if (trigger == STALLS_FOR_KHUGEPAGED)
		str_add(out, "khugepaged");
}

static void compaction_add(
	struct str *out, const struct stream *s, const struct stalls_steps *t, u32 i)
{
	const char *zone = t->zones[i] ? stream_enum(s, STALLS_ZONE_SET, t->zone[i]) : NULL;
	char buf[UNIT_BUF];

	str_addf(out, "%s compaction ", stalls_mode_name(STALLS_COMPACT, t->mode[i]));
	if (t->zones[i] > 1)
		str_addf(out, "of %u zones ", t->zones[i]);
	else if (zone)
		str_addf(out, "of %s ", zone);
	str_addf(out, "%s", fmt_ns(buf, t->ns[i]));
	if (t->scanned[i] || t->done[i])
		str_addf(out, ", %u scanned, %u migrated", t->scanned[i], t->done[i]);
	if (t->failed[i])
		str_addf(out, ", %u not", t->failed[i]);
	str_addf(out, ": %s", stalls_status_name(STALLS_COMPACT, t->result[i]));
	if (t->result[i] & STALLS_COMPACT_PAGE)
		str_add(out, ", page");
}

static void step_add(
	struct str *out, const struct stream *s, const struct stalls_steps *t, u32 i, u32 n)
{
	u8 kind = t->kind[i];
	char buf[UNIT_BUF];

	if (kind == STALLS_COMPACT) {
		compaction_add(out, s, t, i);
	} else if (kind == STALLS_MORE) {
		str_addf(out, "%u more steps %s", n - i, fmt_ns(buf, t->ns[i]));
	} else {
		str_add(out, stalls_step_name(kind));
		if (kind != STALLS_WAKE)
			str_addf(out, " %s", fmt_ns(buf, t->ns[i]));
		if (kind == STALLS_DIRECT || kind == STALLS_MEMCG || kind == STALLS_NODE)
			str_addf(out, ", %u scanned, %u reclaimed", t->scanned[i], t->done[i]);
	}
	if (t->wait_ns[i])
		str_addf(out, " (slept %s)", fmt_ns(buf, t->wait_ns[i]));
}

void stalls_story_add(struct str *out, const struct stream *s, const struct stalls_event *e)
{
	for (u32 i = 0; i < MIN(e->n_steps, (u32)STALLS_ROOM); i++) {
		str_add(out, i ? "; " : "");
		step_add(out, s, &e->steps, i, e->n_steps);
	}
}
