/* See pages_pace.h. */
#include "probes/pages/pages_pace.h"

#include <string.h>

#include "base/clock.h"
#include "probes/pages/pages.h"
#include "sys/keyvals.h"

#define BUSY_PAGES 10000 /* a second: 40 MB/s */

static u64 pages_allocated(void)
{
	_cleanup_keyvals_ struct keyvals vm = {};
	u64 sum = 0;

	if (keyvals_read("/proc/vmstat", &vm))
		return 0;
	vec_each (v, &vm.items)
		if (!strncmp(v->name, "pgalloc_", 8))
			sum += v->value;
	return sum;
}

bool pages_busy(struct capture *c)
{
	struct pages_pace *p = c->state;
	u64 now = clock_mono_ns(), pages = pages_allocated();
	double seconds = (double)(now - p->time_ns) / 1e9;
	bool busy = p->time_ns && (double)(pages - p->pages) >= BUSY_PAGES * seconds;

	p->time_ns = now;
	p->pages = pages;
	return busy;
}

int pages_sampled_send(struct capture *c, u64 on_ns, u64 covered_ns)
{
	struct pages_sampled r = REC_INIT(struct pages_sampled, REC_PAGES_SAMPLED, 0);

	r.bursts = 1;
	r.on_ns = on_ns;
	r.covered_ns = covered_ns;
	return capture_emit(c, &r.h);
}
