/* The metrics as text: which families there are, and what is in them. */
#include <string.h>

#include "base/clock.h"
#include "serve/kernel_counters.h"
#include "serve/sums.h"
#include "sys/memory/extfrag.h"

static const struct metric
	build = {"memwhy_build", METRIC_INFO, NULL, "Version of memwhy and of the kernel."},
	started = {"memwhy_start_time_seconds", METRIC_GAUGE, "seconds",
		"Start time of the service since the Unix epoch."},
	updated = {"memwhy_last_record_seconds", METRIC_GAUGE, "seconds",
		"Time of the latest record, on the monotonic clock (since boot)."},
	parts = {"memwhy_stall_seconds", METRIC_COUNTER, "seconds",
		"Time that tasks waited for memory, by cause: direct reclaim, reclaim in the "
		"task's control group, compaction, other."},
	stalls = {"memwhy_stall_duration_seconds", METRIC_HISTOGRAM, "seconds",
		"Allocations, and charges to a control group at its limit, that had to wait."},
	steps = {"memwhy_reclaim_duration_seconds", METRIC_HISTOGRAM, "seconds",
		"Rounds of reclaim by stalled tasks; allocstall_* counts those of kind direct."},
	compaction = {"memwhy_compaction_duration_seconds", METRIC_HISTOGRAM, "seconds",
		"Compaction runs in one zone, by who started them."},
	faults = {"memwhy_page_fault_duration_seconds", METRIC_HISTOGRAM, "seconds",
		"Page faults with a measured duration, except memwhy's own."},
	swap_ins = {"memwhy_swap_in_duration_seconds", METRIC_HISTOGRAM, "seconds",
		"Major page faults on anonymous memory."},
	thp_faults = {"memwhy_thp_fault_duration_seconds", METRIC_HISTOGRAM, "seconds",
		"Page faults that tried to allocate a huge page."},
	locks = {"memwhy_mmap_lock_wait_duration_seconds", METRIC_HISTOGRAM, "seconds",
		"Waits for mmap_lock, the lock of an address space."},
	sleeps = {"memwhy_dirty_throttle_sleeps", METRIC_COUNTER, NULL,
		"Sleeps of writers that the kernel throttled for too much dirty memory."},
	slept = {"memwhy_dirty_throttle_seconds", METRIC_COUNTER, "seconds",
		"Sleep time that the kernel imposed on throttled writers."},
	kills = {"memwhy_oom_kills_seen", METRIC_COUNTER, NULL,
		"OOM kills observed by the service."},
	daemon_kills = {"memwhy_daemon_kills_seen", METRIC_COUNTER, NULL,
		"Kills by systemd-oomd or a similar daemon (all of a group at once is one), "
		"observed by "
		"the service."},
	psi_time = {"memwhy_pressure_stall_seconds", METRIC_COUNTER, "seconds",
		"Time in which at least one task (some) or all tasks (full) waited, since boot "
		"(PSI)."},
	psi_share = {"memwhy_pressure_ratio", METRIC_GAUGE, "ratio",
		"Share of the last 10 seconds in which tasks waited, as averaged by the kernel "
		"(PSI)."},
	memory = {"memwhy_memory_bytes", METRIC_GAUGE, "bytes",
		"Memory, by the names in /proc/meminfo."},
	blocks = {"memwhy_free_blocks", METRIC_GAUGE, NULL,
		"Free blocks of 2^order pages in a zone."},
	free_bytes = {"memwhy_zone_free_bytes", METRIC_GAUGE, "bytes", "Free memory of a zone."},
	marks = {"memwhy_zone_watermark_bytes", METRIC_GAUGE, "bytes",
		"Watermarks of a zone, including the current boost."},
	unusable = {"memwhy_zone_unusable_ratio", METRIC_GAUGE, "ratio",
		"Share of a zone's free memory that is in blocks too small for this order."},
	index_ = {"memwhy_zone_fragmentation_index", METRIC_GAUGE, NULL,
		"Why an allocation of this order would fail: towards 0, lack of memory; towards 1, "
		"fragmentation; -1, it would succeed."},
	slab = {"memwhy_slab_watched_bytes", METRIC_GAUGE, "bytes",
		"Memory of the kernel's largest slab caches."},
	slab_idle = {"memwhy_slab_unused_bytes", METRIC_GAUGE, "bytes",
		"Part of memwhy_slab_watched_bytes that no object uses (lower bound)."},
	finding = {"memwhy_finding", METRIC_GAUGE, NULL,
		"Findings of memwhy check in the last interval, by rule and level."},
	cpu = {"memwhy_self_cpu_seconds", METRIC_COUNTER, "seconds",
		"CPU time of memwhy's process, and of its BPF programs in other tasks "
		"(estimated)."},
	rss = {"memwhy_self_memory_bytes", METRIC_GAUGE, "bytes",
		"Memory of memwhy: resident set, its peak, and BPF maps."},
	events = {"memwhy_events", METRIC_COUNTER, NULL, "Events counted by each probe."},
	lost = {"memwhy_lost_events", METRIC_COUNTER, NULL,
		"Events that each probe saw but could not count."},
	incidents = {"memwhy_incidents", METRIC_COUNTER, NULL,
		"Recordings of incidents: written, failed (for example, disk full), or skipped to "
		"leave --min-free on the disk."},
	kept = {"memwhy_incidents_kept", METRIC_GAUGE, NULL, "Recordings of incidents on disk."},
	kept_bytes = {"memwhy_incidents_kept_bytes", METRIC_GAUGE, "bytes",
		"Disk space used by recordings of incidents."},
	ring = {"memwhy_ring_bytes", METRIC_GAUGE, "bytes",
		"Memory used by the records of the last minutes."},
	ring_span = {"memwhy_ring_span_seconds", METRIC_GAUGE, "seconds",
		"How far back the records in memory reach."},
	pushes = {"memwhy_pushes", METRIC_COUNTER, NULL,
		"Profiles for --push: sent, refused by the server, or dropped because too many "
		"were waiting; and failed attempts that are retried."},
	spool = {"memwhy_push_spool_bytes", METRIC_GAUGE, "bytes",
		"Profiles waiting to be pushed."},
	requests = {"memwhy_http_requests", METRIC_COUNTER, NULL,
		"HTTP requests: answered, refused (malformed or not allowed), or dropped (too slow "
		"or too many)."};

static void one(struct exposition *e, const char *label, const char *value, u64 n)
{
	_cleanup_str_ struct str l = {};

	label_add(&l, label, value);
	exposition_u64(e, str_get(&l), n);
}

static void one_seconds(struct exposition *e, const char *label, const char *value, u64 ns)
{
	_cleanup_str_ struct str l = {};

	label_add(&l, label, value);
	exposition_seconds(e, str_get(&l), ns);
}

static void durations_expose(
	struct exposition *e, const char *label, const char *value, const struct durations *d)
{
	_cleanup_str_ struct str l = {};

	if (label)
		label_add(&l, label, value);
	exposition_histogram(e, str_get(&l), d->hist.slots, AGG_SLOTS, d->total_ns);
}

static void stalls_expose(const struct sums *s, struct exposition *e)
{
	static const char *const words[] = {
		"direct_reclaim", "cgroup_reclaim", "compaction", "other"};
	static const struct {
		u8 step;
		const char *name;
	} rounds[] = {{STALLS_DIRECT, "direct"}, {STALLS_MEMCG, "cgroup"}, {STALLS_NODE, "node"}};

	exposition_family(e, &parts);
	for (size_t i = 0; i < STALL_PARTS; i++)
		one_seconds(e, "kind", words[i], s->stall_parts_ns[i]);
	exposition_family(e, &stalls);
	durations_expose(e, "kind", "allocation", &s->stalls[GROUP_ALLOCATION]);
	durations_expose(e, "kind", "cgroup_charge", &s->stalls[GROUP_CHARGE]);
	exposition_family(e, &steps);
	for (size_t i = 0; i < ARRAY_SIZE(rounds); i++)
		durations_expose(e, "kind", rounds[i].name, &s->steps[rounds[i].step]);
}

static void waits_expose(const struct sums *s, struct exposition *e)
{
	static const char *const who[COMPACTION_KIND_N] = {
		"other", "direct", "khugepaged", "kcompactd", "proactive", "requested"};

	exposition_family(e, &compaction);
	for (size_t i = 0; i < COMPACTION_KIND_N; i++)
		durations_expose(e, "kind", who[i], &s->compaction[i]);
	exposition_family(e, &faults);
	durations_expose(e, "kind", "minor", &s->faults[GROUP_MINOR]);
	durations_expose(e, "kind", "major", &s->faults[GROUP_MAJOR]);
	exposition_family(e, &swap_ins);
	durations_expose(e, NULL, NULL, &s->swap_ins);
	exposition_family(e, &thp_faults);
	durations_expose(e, NULL, NULL, &s->thp_faults);
	exposition_family(e, &locks);
	durations_expose(e, "for", "read", &s->lock_waits[0]);
	durations_expose(e, "for", "write", &s->lock_waits[1]);
	exposition_family(e, &sleeps);
	exposition_u64(e, NULL, s->dirty_sleeps);
	exposition_family(e, &slept);
	exposition_seconds(e, NULL, s->dirty_ns);
	exposition_family(e, &kills);
	exposition_u64(e, NULL, s->oom_kills);
	exposition_family(e, &daemon_kills);
	exposition_u64(e, NULL, s->daemon_kills);
}

static void pressure_labels(struct str *l, u8 resource, bool full)
{
	static const char *const names[] = {"", "memory", "io", "cpu"};

	label_add(l, "resource", names[resource]);
	label_add(l, "kind", full ? "full" : "some");
}

static void pressure_expose(const struct sums *s, struct exposition *e, bool share)
{
	exposition_family(e, share ? &psi_share : &psi_time);
	for (u8 r = SYSTEM_MEMORY; r <= SYSTEM_CPU; r++)
		for (int full = 0; full < 1 + s->pressure[r].has_full; full++) {
			const struct system_pressure *p = &s->pressure[r];
			_cleanup_str_ struct str l = {};

			if (!p->h.size)
				continue;
			pressure_labels(&l, r, full);
			if (share)
				exposition_f64(e, str_get(&l),
					(full ? p->full_avg10 : p->some_avg10) / 10000.0);
			else
				exposition_seconds(e, str_get(&l),
					(full ? p->full_total_us : p->some_total_us) * 1000);
		}
}

static void zone_labels(struct str *l, const struct frag_zone *z)
{
	label_add_u64(l, "node", z->node);
	label_add(l, "zone", z->zone);
}

static void zone_orders(const struct frag_zone *z, struct exposition *e, const struct metric *what)
{
	struct zone_blocks b = {.orders = MIN(z->orders, (u32)PAGE_ORDERS_MAX)};

	memcpy(b.blocks, z->free_blocks, sizeof(b.blocks));
	for (u32 order = 0; order < b.orders; order++) {
		_cleanup_str_ struct str l = {};

		zone_labels(&l, z);
		label_add_u64(&l, "order", order);
		if (what == &blocks)
			exposition_u64(e, str_get(&l), b.blocks[order]);
		else if (what == &unusable)
			exposition_f64(e, str_get(&l), extfrag_unusable(&b, order) / 1000.0);
		else
			exposition_f64(e, str_get(&l), extfrag_index(&b, order) / 1000.0);
	}
}

static void zone_marks(const struct sums *s, const struct frag_zone *z, struct exposition *e)
{
	const struct {
		const char *name;
		u64 pages;
	} all[] = {{"min", z->min_pages}, {"low", z->low_pages}, {"high", z->high_pages}};

	for (size_t i = 0; z->flags & FRAG_MARKS && i < ARRAY_SIZE(all); i++) {
		_cleanup_str_ struct str l = {};

		zone_labels(&l, z);
		label_add(&l, "mark", all[i].name);
		exposition_u64(e, str_get(&l), all[i].pages * s->host.page_bytes);
	}
}

static void zones_expose(const struct sums *s, struct exposition *e)
{
	const struct metric *const by_order[] = {&blocks, &unusable, &index_};

	for (size_t i = 0; i < ARRAY_SIZE(by_order); i++) {
		exposition_family(e, by_order[i]);
		vec_each (z, &s->zones)
			zone_orders(z, e, by_order[i]);
	}
	exposition_family(e, &free_bytes);
	vec_each (z, &s->zones) {
		_cleanup_str_ struct str l = {};

		zone_labels(&l, z);
		if (z->flags & FRAG_MARKS)
			exposition_u64(e, str_get(&l), z->free_pages * s->host.page_bytes);
	}
	exposition_family(e, &marks);
	vec_each (z, &s->zones)
		zone_marks(s, z, e);
}

static void memory_expose(const struct sums *s, struct exposition *e)
{
	u64 bytes = 0, used = 0;

	exposition_family(e, &memory);
	vec_each (v, &s->memory)
		if (strncmp(v->name, "HugePages_", 10) != 0) /* a number of pages, not bytes */
			one(e, "kind", v->name, v->value);
	vec_each (c, &s->slab) {
		bytes += c->bytes;
		used += MIN(c->used_bytes, c->bytes);
	}
	if (!s->slab.n)
		return;
	exposition_family(e, &slab);
	exposition_u64(e, NULL, bytes);
	exposition_family(e, &slab_idle);
	exposition_u64(e, NULL, bytes - used);
}

/* Was one of the same rule and level written before? */
static bool finding_is_first(const struct sums *s, const struct sums_finding *f)
{
	for (const struct sums_finding *g = s->findings.v; g < f; g++)
		if (g->level == f->level && !strcmp(g->rule, f->rule))
			return false;
	return true;
}

static void findings_expose(const struct sums *s, struct exposition *e)
{
	exposition_family(e, &finding);
	vec_each (f, &s->findings) {
		_cleanup_str_ struct str l = {};
		u64 n = 0;

		if (!finding_is_first(s, f))
			continue;
		vec_each (g, &s->findings)
			n += g->level == f->level && !strcmp(g->rule, f->rule);
		label_add(&l, "rule", f->rule);
		label_add(&l, "level", finding_level_name(f->level));
		exposition_u64(e, str_get(&l), n);
	}
}

static void self_expose(
	const struct sums *s, struct exposition *e, const struct serve_counts *counts)
{
	exposition_family(e, &cpu);
	one_seconds(e, "where", "process", s->cost.cpu_ns);
	one_seconds(e, "where", "bpf", s->cost.bpf_ns);
	exposition_family(e, &rss);
	one(e, "kind", "rss", counts->rss_bytes);
	one(e, "kind", "rss_peak", s->cost.rss_bytes);
	one(e, "kind", "bpf_maps", s->cost.bpf_bytes);
	exposition_family(e, &events);
	vec_each (l, &s->losses)
		one(e, "probe", l->probe, l->delivered);
	exposition_family(e, &lost);
	vec_each (l, &s->losses)
		one(e, "probe", l->probe, l->lost);
}

static void incidents_expose(struct exposition *e, const struct serve_counts *c)
{
	exposition_family(e, &incidents);
	one(e, "result", "written", c->incidents);
	one(e, "result", "failed", c->incidents_failed);
	one(e, "result", "skipped", c->incidents_skipped);
	exposition_family(e, &kept);
	exposition_u64(e, NULL, c->incidents_kept);
	exposition_family(e, &kept_bytes);
	exposition_u64(e, NULL, c->incident_bytes);
	exposition_family(e, &ring);
	exposition_u64(e, NULL, c->ring_bytes);
	exposition_family(e, &ring_span);
	exposition_seconds(e, NULL, c->ring_span_ns);
}

static void pushes_expose(struct exposition *e, const struct push_counts *c)
{
	exposition_family(e, &pushes);
	one(e, "result", "sent", c->sent);
	one(e, "result", "refused", c->refused);
	one(e, "result", "dropped", c->dropped);
	one(e, "result", "retried", c->failures);
	exposition_family(e, &spool);
	exposition_u64(e, NULL, c->spool_bytes);
}

static void service_expose(struct exposition *e, const struct serve_counts *c)
{
	if (c->keeps)
		incidents_expose(e, c);
	if (c->pushes)
		pushes_expose(e, &c->push);
	exposition_family(e, &requests);
	one(e, "result", "answered", c->requests);
	one(e, "result", "refused", c->refused);
	one(e, "result", "dropped", c->dropped);
}

static void build_expose(const struct sums *s, struct exposition *e)
{
	_cleanup_str_ struct str l = {};

	label_add(&l, "version", MEMWHY_VERSION);
	label_add(&l, "kernel", s->host.kernel);
	exposition_family(e, &build);
	exposition_u64(e, str_get(&l), 1);
	exposition_family(e, &started);
	exposition_seconds(e, NULL, s->started_wall_ns);
	exposition_family(e, &updated);
	exposition_seconds(e, NULL, s->last_ns);
}

void sums_expose(struct sums *s, struct exposition *e, const struct serve_counts *counts)
{
	build_expose(s, e);
	stalls_expose(s, e);
	waits_expose(s, e);
	kernel_counters_expose(s, e);
	pressure_expose(s, e, false);
	pressure_expose(s, e, true);
	memory_expose(s, e);
	zones_expose(s, e);
	findings_expose(s, e);
	self_expose(s, e, counts);
	service_expose(e, counts);
	s->fixed_series = e->series;
	tally_expose(s->tally, e);
}
