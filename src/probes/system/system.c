/* The system probe: the machine's own counters, totals and pressure, as they change. */
#include "probes/system/system.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "probes/probe.h"
#include "probes/system/system_counts.h"
#include "probes/system/system_settings.h"
#include "probes/system/system_threads.h"
#include "sys/keyvals.h"
#include "sys/memory/pressure.h"
#include "sys/memory/thp.h"
#include "sys/root.h"

#define EVERY_NS (250 * NSEC_PER_MSEC)
/* Drains come on top of the sampler's own period: not twice within this time. */
#define GAP_NS (EVERY_NS / 5)

/* Counters of /proc/vmstat that are sent; those that end in * are all that begin so. What counts
 * single pages at a high rate without saying why (pgalloc_*, pgfree, nr_*) is left out. */
static const char *const vmstat_names[] = {
	"allocstall_*",
	"balloon_*",
	"compact_*",
	"direct_map_level*",
	"drop_*",
	"htlb_*",
	"kswapd_*",
	"nr_vmscan_*",
	"numa_*",
	"oom_kill",
	"pageoutrun",
	"pgactivate",
	"pgdeactivate",
	"pgdemote_*",
	"pgfault",
	"pglazyfree*",
	"pgmajfault",
	"pgmigrate_*",
	"pgpgin",
	"pgpgout",
	"pgpromote_*",
	"pgscan_*",
	"pgsteal_*",
	"pswpin",
	"pswpout",
	"slabs_scanned",
	"swap_ra*",
	"swpin_zero",
	"swpout_zero",
	"thp_*",
	"unevictable_pgs_stranded",
	"workingset_*",
	"zone_reclaim_*",
	"zswp*",
	NULL,
};

/* Left out again: they change with every allocation, and numa_local and numa_other say the same
 * of the machine as a whole. */
static const char *const vmstat_not[] = {"numa_hit", "workingset_nodes", NULL};

/* Of /proc/meminfo all is sent but this, which never tells anything. */
static const char *const meminfo_not[] = {
	"Bounce",
	"NFS_Unstable",
	"VmallocChunk",
	"VmallocTotal",
	"WritebackTmp",
	NULL,
};

/* A value of a file that is sent. */
struct watched {
	char name[SYSTEM_NAME_LEN];
	u64 sent;
	u32 at; /* its line, by which it is found again */
	bool was_sent;
};

struct watched_file {
	const char *path;
	u16 source;
	const char *const *only, *const * not ; /* only NULL: all */
	struct keyvals kv;
	VEC(struct watched) list;
};

static const char *const resources[] = {
	[SYSTEM_MEMORY] = "memory",
	[SYSTEM_IO] = "io",
	[SYSTEM_CPU] = "cpu",
};

struct system {
	struct watched_file files[2];
	struct system_pressure pressure[ARRAY_SIZE(resources)]; /* as sent */
	struct system_settings settings;
	struct system_counts counts;
	struct system_threads threads;
	struct str text;
	u64 last_ns;
};

static bool system_name_matches(const char *name, const char *const *patterns)
{
	for (; *patterns; patterns++) {
		size_t n = strlen(*patterns);

		if ((*patterns)[n - 1] == '*' ? !strncmp(name, *patterns, n - 1)
					      : !strcmp(name, *patterns))
			return true;
	}
	return false;
}

/* Chooses the values at the first reading. */
static int file_choose(struct watched_file *f)
{
	int rc = 0;

	for (size_t i = 0; i < f->kv.items.n && !rc; i++) {
		const char *name = f->kv.items.v[i].name;
		struct watched w = {.at = (u32)i};

		if (strlen(name) >= sizeof(w.name) ||
			(f->only && !system_name_matches(name, f->only)) ||
			system_name_matches(name, f->not ))
			continue;
		strcpy(w.name, name);
		rc = vec_push(&f->list, w);
	}
	return rc;
}

static bool watched_find(const struct watched_file *f, const struct watched *w, u64 *ret)
{
	const struct keyval *item = &f->kv.items.v[w->at];

	if (w->at >= f->kv.items.n || strcmp(item->name, w->name) != 0)
		return keyvals_get(&f->kv, w->name, ret);
	*ret = item->value;
	return true;
}

static int watched_send(struct capture *c, const struct watched_file *f, struct watched *w)
{
	struct system_value r = REC_INIT(struct system_value, REC_SYSTEM_VALUE, 0);
	u64 now;

	if (!watched_find(f, w, &now) || (w->was_sent && now == w->sent))
		return 0;
	w->sent = now;
	w->was_sent = true;
	r.value = now;
	r.source = f->source;
	memcpy(r.name, w->name, sizeof(r.name));
	return capture_emit(c, &r.h);
}

static int file_sample(struct capture *c, struct watched_file *f)
{
	int rc = 0;

	if (keyvals_read(f->path, &f->kv))
		return 0;
	if (!f->list.n)
		rc = file_choose(f);
	for (size_t i = 0; i < f->list.n && !rc; i++)
		rc = watched_send(c, f, &f->list.v[i]);
	return rc;
}

/* The kernel gives two decimals. */
static u32 centipercent(double percent)
{
	return percent > 0 && percent < 1e6 ? (u32)(percent * 100 + 0.5) : 0;
}

static struct system_pressure pressure_record(u8 resource, const struct pressure *p)
{
	struct system_pressure r = REC_INIT(struct system_pressure, REC_SYSTEM_PRESSURE, 0);

	r.resource = resource;
	r.has_full = p->has_full;
	r.some_avg10 = centipercent(p->some.avg10);
	r.some_avg60 = centipercent(p->some.avg60);
	r.some_avg300 = centipercent(p->some.avg300);
	r.some_total_us = p->some.total_us;
	r.full_avg10 = centipercent(p->full.avg10);
	r.full_avg60 = centipercent(p->full.avg60);
	r.full_avg300 = centipercent(p->full.avg300);
	r.full_total_us = p->full.total_us;
	return r;
}

static int pressure_sample(struct capture *c, struct system *s, u8 resource)
{
	struct system_pressure r, *sent = &s->pressure[resource];
	struct pressure p;

	if (sys_read(&s->text, "/proc/pressure/%s", resources[resource]) ||
		pressure_parse(str_get(&s->text), &p))
		return 0;
	r = pressure_record(resource, &p);
	if (!memcmp(sent, &r, sizeof(r)))
		return 0;
	*sent = r;
	return capture_emit(c, &r.h);
}

/* A missing: what would provide it, for the reasons that there can be. */
static const char *pressure_missing(int rc)
{
	return rc == -EOPNOTSUPP ? "switched off: boot with psi=1"
	       : rc == -ENOENT   ? "the kernel has no PSI: it needs CONFIG_PSI=y"
				 : strerror(-rc);
}

static int survey_file(struct capture *c, const char *data, const char *path)
{
	int rc = sys_exists("%s", path);

	return capture_method(c, data, rc ? NULL : path, rc ? strerror(-rc) : NULL);
}

static int system_survey(struct capture *c)
{
	struct pressure p;
	struct thp thp;
	int psi = pressure_read("memory", &p), huge = thp_read(&thp);
	int rc = survey_file(c, "event counters", "/proc/vmstat");

	if (!rc)
		rc = survey_file(c, "memory totals", "/proc/meminfo");
	if (!rc)
		rc = capture_method(c, "pressure (PSI)", psi ? NULL : "/proc/pressure",
			psi ? pressure_missing(psi) : NULL);
	if (!rc)
		rc = capture_method(c, "huge page settings",
			huge ? NULL : "/sys/kernel/mm/transparent_hugepage",
			huge ? "the kernel has no transparent huge pages" : NULL);
	return rc;
}

static int system_open(struct capture *c, void *state, struct err *err)
{
	struct system *s = state;
	int rc = system_survey(c);

	s->files[0] = (struct watched_file){
		.path = "/proc/vmstat",
		.source = SYSTEM_VMSTAT,
		.only = vmstat_names,
		.not = vmstat_not,
	};
	s->files[1] = (struct watched_file){
		.path = "/proc/meminfo",
		.source = SYSTEM_MEMINFO,
		.not = meminfo_not,
	};
	if (!rc)
		rc = system_threads_find(&s->threads);
	if (!rc)
		rc = system_settings_send(c, &s->settings);
	return rc ? err_errno(err, rc, "system") : 0;
}

static int system_sample(struct capture *c, void *state)
{
	struct system *s = state;
	u64 now = clock_mono_ns();
	u64 gap_ns = c->opt.watch_ns ? c->opt.watch_ns * 9 / 10 : GAP_NS;
	int rc = 0;

	if (!c->ending && s->last_ns && now < s->last_ns + gap_ns)
		return 0;
	s->last_ns = now;
	for (size_t i = 0; i < ARRAY_SIZE(s->files) && !rc; i++)
		rc = file_sample(c, &s->files[i]);
	for (u8 i = SYSTEM_MEMORY; i < ARRAY_SIZE(resources) && !rc; i++)
		rc = pressure_sample(c, s, i);
	if (!rc)
		rc = system_threads_send(c, &s->threads);
	if (!rc)
		rc = system_counts_send(c, &s->counts, now);
	if (!rc && c->ending)
		rc = system_settings_send(c, &s->settings);
	return rc;
}

static void system_close(void *state)
{
	struct system *s = state;

	for (size_t i = 0; i < ARRAY_SIZE(s->files); i++) {
		keyvals_free(&s->files[i].kv);
		vec_free(&s->files[i].list);
	}
	system_settings_free(&s->settings);
	system_counts_free(&s->counts);
	system_threads_free(&s->threads);
	str_free(&s->text);
}

static const struct probe_sampler sampler = {
	.size = sizeof(struct system),
	.every_ns = EVERY_NS,
	.open = system_open,
	.sample = system_sample,
	.close = system_close,
	.survey = system_survey,
};

static const struct kind kinds[] = {
	RECORD_KIND(REC_SYSTEM_VALUE, struct system_value, "system_value", SYSTEM_VALUE_FIELDS,
		"a counter, total or setting of the machine, sent when it has changed"),
	RECORD_KIND(REC_SYSTEM_PRESSURE, struct system_pressure, "system_pressure",
		SYSTEM_PRESSURE_FIELDS,
		"pressure stall information of one resource, sent when it has changed"),
};

const struct probe probe_system = {
	.name = "system",
	.summary = "The machine's memory counters, totals, pressure and settings",
	.details = "Reads /proc/vmstat, /proc/meminfo and /proc/pressure four times a second, and "
		   "the settings of memory management at the start and the end. It feeds `memwhy "
		   "check` and has no command of its own.",
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.sampler = &sampler,
	.cheap = true,
};
