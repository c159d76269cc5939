/* How user stacks were had, in words: see unwind_tell in unwind.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "base/str.h"
#include "capture/unwind/unwind.h"
#include "capture/unwind/unwind_files.h"
#include "event/meta.h"

/* What waited for its tables was counted as not ready, and is what it became. */
static void late_count(const struct unwind *u, struct unwind_counts *counts)
{
	const struct unwind_counts *late = unwind_late_ones(u);
	u64 *not_ready = &counts->stacks[STACK_BY_FRAME_POINTERS][STACK_NOT_READY];

	for (int m = 0; m < UNWIND_METHODS; m++) {
		for (int d = 0; d < UNWIND_DETAILS; d++) {
			counts->stacks[m][d] += late->stacks[m][d];
			*not_ready -= MIN(late->stacks[m][d], *not_ready);
		}
	}
}

static int counts_read(const struct unwind *u, const struct capture *c, struct unwind_counts *ret)
{
	int cpus = MAX(1, libbpf_num_possible_cpus());
	_cleanup_free_ struct unwind_counts *v = calloc((size_t)cpus, sizeof(*v));
	u32 zero = 0;

	if (!v)
		return -ENOMEM;
	if (bpf_map_lookup_elem(c->shared[SHARED_UNWIND_COUNTS] - 1, &zero, v))
		return -errno;
	*ret = (struct unwind_counts){};
	for (int i = 0; i < cpus; i++)
		for (int m = 0; m < UNWIND_METHODS; m++)
			for (int d = 0; d < UNWIND_DETAILS; d++)
				ret->stacks[m][d] += v[i].stacks[m][d];
	late_count(u, ret);
	return 0;
}

_Static_assert(
	CFI_STOP_NO_RULE == 2 && CFI_STOP_NO_CODE == 7 && CFI_STOP_DEPTH == 8 && CFI_STOPS == 9,
	"as stack_method_text and recordings have them");
_Static_assert(STACK_METHODS <= UNWIND_METHODS && CFI_STOPS <= UNWIND_DETAILS,
	"struct unwind_counts has room");

/* Of a method: how many stacks, and why, if there is a reason: the most frequent one. */
struct share {
	u64 n, of_reason;
	const char *reason;
};

static struct share unwind_tell_share_of(const struct unwind_counts *counts, u16 method)
{
	struct share s = {};

	for (u16 d = 0; d < UNWIND_DETAILS; d++) {
		u64 n = counts->stacks[method][d];
		const char *reason = strstr(stack_method_text((u16)(method | d << 8)), ": ");

		s.n += n;
		if (n <= s.of_reason)
			continue;
		s.of_reason = n;
		s.reason = reason ? reason + 2 : NULL;
	}
	return s;
}

static void share_add(struct str *out, const struct share *s, u64 all, const char *what)
{
	if (!s->n)
		return;
	str_addf(out, "%s%.*f %% %s", out->len ? ", " : "", s->n * 1000 < all ? 3 : 1,
		100.0 * (double)s->n / (double)all, what);
	if (s->reason)
		str_addf(out, " (%s%s)", s->of_reason < s->n ? "mostly: " : "", s->reason);
}

bool unwind_shares(const struct unwind_counts *counts, struct str *ret)
{
	static const char *const whats[STACK_METHODS] = {
		[STACK_EXACT] = "exact",
		[STACK_GUESSED] = "complete, some frames by frame pointer",
		[STACK_CUT] = "cut short",
		[STACK_BY_FRAME_POINTERS] = "by frame pointers only",
	};
	struct share shares[STACK_METHODS];
	u64 all = 0;

	for (u16 m = 0; m < STACK_METHODS; m++) {
		shares[m] = unwind_tell_share_of(counts, m);
		all += shares[m].n;
	}
	str_clear(ret);
	for (u16 m = 0; m < STACK_METHODS; m++)
		share_add(ret, &shares[m], all, whats[m]);
	return shares[STACK_EXACT].n < all;
}

void unwind_tell(const struct unwind *u, struct capture *c)
{
	const struct unwind_files_stats *stats = unwind_stats(u);
	_cleanup_str_ struct str text = {};
	struct unwind_counts counts;

	c->probe = "stacks";
	if (counts_read(u, c, &counts))
		return;
	if (unwind_shares(&counts, &text))
		capture_note(c, NOTE_INFO, "user stacks: %s", str_get(&text));
	if (stats->damaged) {
		str_clear(&text);
		str_add_escaped(&text, stats->damage);
		capture_note(c, NOTE_WARNING,
			"call-frame information of %u file%s is damaged (%.140s): stacks through "
			"them follow frame pointers",
			stats->damaged, stats->damaged > 1 ? "s" : "", str_get(&text));
	}
	if (stats->unread) {
		str_clear(&text);
		str_add_escaped(&text, stats->unread_file);
		capture_note(c, NOTE_WARNING,
			"the call-frame information of %u file%s was not read (%.100s): the "
			"unprivileged process that reads it crashed or took too long; stacks "
			"through them follow frame pointers",
			stats->unread, stats->unread > 1 ? "s" : "", str_get(&text));
	}
	if (stats->refused)
		capture_note(c, NOTE_WARNING,
			"there was no room for the unwind tables of %u files: stacks through them "
			"end there; a larger --max-memory holds more",
			stats->refused);
}
