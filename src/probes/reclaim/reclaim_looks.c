/* See reclaim_looks.h. The columns are those of bcc's drsnoop and of vmscan.bt. */
#include "probes/reclaim/reclaim_looks.h"

#include "base/clock.h"
#include "base/str.h"

const char drsnoop_head[] = "COMM           PID     LAT(ms) PAGES";
const char vmscan_head[] = "TIME         S-SLABms  D-RECLAIMms  M-RECLAIMms KSWAPD WRITEPAGE";

void drsnoop_line(const struct reclaim_stall *e, struct str *out)
{
	_cleanup_str_ struct str comm = {};
	char name[COMM_LEN];

	if (e->kind != RECLAIM_DIRECT)
		return;
	snprintf(name, sizeof(name), "%.14s", e->comm);
	str_add_escaped(&comm, name);
	str_addf(out, "%-14s %-6u %8.2f %5llu\n", str_get(&comm), e->tgid,
		(double)e->ns / (double)NSEC_PER_MSEC, e->returned);
}

void vmscan_feed(struct vmscan_sums *v, const struct rec *rec)
{
	const struct reclaim_agg *stall = (const void *)rec;

	if (rec->kind == REC_RECLAIM_AGG && stall->kind == RECLAIM_DIRECT)
		v->direct_ns += stall->total_ns;
	else if (rec->kind == REC_RECLAIM_AGG && stall->kind == RECLAIM_MEMCG)
		v->memcg_ns += stall->total_ns;
	else if (rec->kind == REC_RECLAIM_SHRINKER)
		v->shrinker_ns += ((const struct reclaim_shrinker *)rec)->total_ns;
	else if (rec->kind == REC_RECLAIM_KSWAPD)
		v->kswapd_wakes += ((const struct reclaim_kswapd *)rec)->runs;
	else if (rec->kind == REC_RECLAIM_WRITTEN)
		v->written_pages += ((const struct reclaim_written *)rec)->pages;
}

void vmscan_line(struct report *r, const struct vmscan_sums *v, struct str *out)
{
	str_addf(out, "%-10s %10llu %12llu %12llu %6llu %9llu\n",
		report_clock(r, r->stream->last_ns), v->shrinker_ns / NSEC_PER_MSEC,
		v->direct_ns / NSEC_PER_MSEC, v->memcg_ns / NSEC_PER_MSEC, v->kswapd_wakes,
		v->written_pages);
}
