/* See heap_tables.h. */
#include "probes/heap/view/heap_tables.h"

#include <stdint.h>

#include "base/units.h"
#include "probes/heap/heap.h"

void heap_part_tell(const struct event_replay *replay, u64 from_ns, u64 to_ns, struct report *r)
{
	char from[UNIT_BUF], to[UNIT_BUF];
	u32 damaged = event_replay_damaged(replay), full = event_replay_full(replay);
	bool ends = to_ns != UINT64_MAX;

	if (!event_replay_has(replay)) {
		report_not_checked(r, "events were not recorded: that takes --events with "
				      "--record");
		return;
	}
	report_note(r,
		"blocks allocated %s%s%s%s%s, as things stood %s; what programs map by "
		"themselves is known of the whole run only",
		from_ns ? "from " : "up to ",
		from_ns ? fmt_ns(from, from_ns)
		: ends  ? fmt_ns(to, to_ns)
			: "",
		from_ns && ends ? " to " : "", from_ns && ends ? fmt_ns(to, to_ns) : "",
		" after memwhy began", ends ? "then" : "at the end");
	if (damaged)
		report_not_checked(r,
			"of %u processes events are damaged or missing: the sums end there",
			damaged);
	if (full)
		report_not_checked(r,
			"what was live in %u processes would take more than half of this machine's "
			"memory: their sums end there; a later --from or an earlier --to takes "
			"less",
			full);
}

void heap_attached_tell(struct report *r, u32 tgid)
{
	if (tgid)
		report_note(r,
			"all of it is about blocks allocated since memwhy attached; memory mapped "
			"past malloc (mmap, brk) is shown by `memwhy maps --stacks=user -p %u`",
			tgid);
}
