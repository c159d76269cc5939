/* See render_facts.h. */
#include "render/render_facts.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/units.h"
#include "render/render_cell.h"

/* Most of the CPU time of a shorter session is that of its start. */
#define SHARE_MIN_NS (NSEC_PER_SEC / 2)

static void share_add(struct str *out, u64 part, u64 whole)
{
	static const struct column ratio = {.unit = UNIT_RATIO};
	struct cell share = cell_f64((double)part / (double)whole);

	cell_add(out, &ratio, &share, 0);
}

bool fact_kernel(struct str *out, const struct rec_host *h)
{
	if (!h->kernel[0])
		return false;
	str_add(out, "Linux ");
	str_add_escaped(out, h->kernel);
	return true;
}

bool fact_cpus(struct str *out, const struct rec_host *h)
{
	if (!h->cpus)
		return false;
	str_addf(out, "%u CPU%s, %u node%s", h->cpus, plural(h->cpus), h->nodes, plural(h->nodes));
	return true;
}

bool fact_interval(struct str *out, const struct stream *s)
{
	time_t wall = (time_t)(stream_wall_ns(s) / NSEC_PER_SEC);
	u64 ns = stream_interval_ns(s);
	bool look = ns < NSEC_PER_MSEC && wall; /* one look, which lasts no time to speak of */
	char buf[64];
	struct tm tm;

	if (!ns)
		return false;
	if (!look && ns < NSEC_PER_SEC)
		str_add(out, fmt_ns(buf, ns));
	else if (!look)
		str_addf(out, "%.1f s", (double)ns / NSEC_PER_SEC);
	if (wall && gmtime_r(&wall, &tm) &&
		strftime(buf, sizeof(buf),
			look ? "at %Y-%m-%d %H:%M:%S UTC" : " from %Y-%m-%d %H:%M:%S UTC", &tm))
		str_add(out, buf);
	return true;
}

bool fact_exit(struct str *out, const struct rec_exit *e)
{
	const char *name = sigabbrev_np((int)MIN(e->signal, 65U));

	if (!e->h.kind)
		return false;
	if (e->signal && name)
		str_addf(out, "killed by SIG%s", name);
	else if (e->signal)
		str_addf(out, "killed by signal %u", e->signal);
	else
		str_addf(out, "exit status %u", e->status);
	return true;
}

void fact_events(struct str *out, const struct stream_loss *l)
{
	str_add_escaped(out, l->probe);
	str_addc(out, ' ');
	count_add(out, l->delivered);
}

bool fact_loss(struct str *out, const struct stream_loss *l)
{
	u64 seen = l->seen ? l->seen : l->delivered + l->lost;

	if (!l->lost)
		return false;
	str_addf(out, "LOST: %s lost ", l->probe);
	count_add(out, l->lost);
	str_add(out, " of ");
	count_add(out, seen);
	str_add(out, " events (");
	share_add(out, l->lost, seen);
	str_addc(out, ')');
	if (l->reason[0])
		str_addf(out, ": %s", l->reason);
	return true;
}

void fact_cpu_cost(struct str *out, const struct stream *s)
{
	/* Cost counts from the start of the session, not of the interval. */
	u64 elapsed = s->has_session && s->last_ns > s->opened_ns ? s->last_ns - s->opened_ns
								  : stream_interval_ns(s);
	char buf[UNIT_BUF];

	/* Of a part of the recording the time that it cost is not known. */
	if (elapsed >= SHARE_MIN_NS && !s->part_from_ns && !s->part_to_ns) {
		share_add(out, s->cost.cpu_ns, elapsed);
		str_add(out, " of one CPU");
	} else {
		str_addf(out, "CPU %s", fmt_ns(buf, s->cost.cpu_ns));
	}
}

bool fact_bpf_cost(struct str *out, const struct stream *s)
{
	const struct rec_cost *c = &s->cost;
	char buf[UNIT_BUF];

	if (!c->bpf_runs)
		return false;
	str_addf(out, "BPF %s%s", c->h.flags & COST_ESTIMATED ? "about " : "",
		fmt_ns(buf, c->bpf_ns));
	str_addf(out, " (%s a run)", fmt_ns(buf, c->bpf_ns / c->bpf_runs));
	return true;
}

void fact_rss_cost(struct str *out, const struct stream *s)
{
	char buf[UNIT_BUF];

	str_addf(out, "RSS %s", fmt_bytes(buf, s->cost.rss_bytes));
}
