/* See losses.h. */
#include "probes/losses.h"

#include "base/util.h"
#include "capture/capture.h"

const char *losses_table_full(const struct capture *c)
{
	if (c->opt.max_bytes && c->shrink)
		return "table full: larger --max-memory";
	return c->opt.user_stacks || c->opt.kernel_stacks
		       ? "table full: -p, -c or -g, or without --stacks"
		       : "table full: narrower scope (-p, -c, -g)";
}

const char *losses_reason(const struct capture *c, const struct probe_counts *n)
{
	const struct {
		u64 lost;
		const char *reason;
	} all[] = {
		{n->lost_ring, "ring full: larger --ring-size"},
		{n->lost_map, losses_table_full(c)},
		{n->lost_state, "no memory to track a thread: narrower scope (-p, -c, -g)"},
		{n->lost_busy, "arrived while its BPF program was running"},
	};
	size_t most = 0;

	for (size_t i = 1; i < ARRAY_SIZE(all); i++)
		if (all[i].lost > all[most].lost)
			most = i;
	return all[most].reason;
}
