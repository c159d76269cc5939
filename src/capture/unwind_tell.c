/* How user stacks were had, in words: see unwind_tell in unwind.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/str.h"
#include "capture/unwind.h"
#include "capture/unwind_files.h"
#include "event/meta.h"

static int counts_read(const struct capture *c, struct unwind_counts *ret)
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
	return 0;
}

static u64 total_of(const struct unwind_counts *n)
{
	u64 sum = 0;

	for (int m = 0; m < UNWIND_METHODS; m++)
		for (int d = 0; d < UNWIND_DETAILS; d++)
			sum += n->stacks[m][d];
	return sum;
}

_Static_assert(
	CFI_STOP_NO_RULE == 2 && CFI_STOP_NO_CODE == 7 && CFI_STOP_DEPTH == 8 && CFI_STOPS == 9,
	"as stack_method_text and recordings have them");
_Static_assert(STACK_METHODS <= UNWIND_METHODS && CFI_STOPS <= UNWIND_DETAILS,
	"struct unwind_counts has room");

static void share_add(struct str *out, u64 part, u64 all, const char *what)
{
	if (part)
		str_addf(out, "%s%.*f %% %s", out->len ? ", " : "", part * 1000 < all ? 3 : 1,
			100.0 * (double)part / (double)all, what);
}

void unwind_tell(const struct unwind *u, struct capture *c)
{
	const struct unwind_files_stats *stats = unwind_stats(u);
	_cleanup_str_ struct str text = {};
	struct unwind_counts n;
	u64 all;

	c->probe = "stacks";
	if (counts_read(c, &n))
		return;
	all = total_of(&n);
	for (u16 m = STACK_EXACT; m < STACK_METHODS && n.stacks[STACK_EXACT][0] < all; m++) {
		str_clear(&text);
		for (u16 d = 0; d < UNWIND_DETAILS; d++)
			share_add(&text, n.stacks[m][d], all, stack_method_text((u16)(m | d << 8)));
		if (text.len)
			capture_note(c, NOTE_INFO, "user stacks: %s", str_get(&text));
	}
	if (stats->damaged) {
		str_clear(&text);
		str_add_escaped(&text, stats->damage);
		capture_note(c, NOTE_WARNING,
			"call-frame information of %u file%s is damaged (%.140s): code without "
			"it has frame pointers",
			stats->damaged, stats->damaged > 1 ? "s" : "", str_get(&text));
	}
	if (stats->refused)
		capture_note(c, NOTE_WARNING,
			"the call-frame tables of %u files had no room: stacks through them "
			"end there; a larger limit of memory holds more",
			stats->refused);
}
