/* See thp_host.h. */
#include "probes/thp/thp_host.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "capture/value_names.h"
#include "probes/thp/thp.h"
#include "probes/thp/thp_resident.h"
#include "sys/keyvals.h"
#include "sys/memory/thp.h"
#include "sys/memory/zoneinfo.h"
#include "sys/root.h"

#define EVERY_NS NSEC_PER_SEC
#define WATCHED_NS (5 * NSEC_PER_SEC) /* of settings, in sessions that last */
/* Drains come on top of the sampler's own period: not twice within this time. */
#define GAP_NS (EVERY_NS / 10)
/* Processes may end before the capture: they are looked at this long after the begin, twice as
 * long, four times, … */
#define LOOK_NS NSEC_PER_SEC

struct host {
	VEC(struct thp_value) sent;
	struct keyvals vmstat;
	struct zoneinfo zones;
	struct resident resident;
	u64 begin_ns, last_ns, look_ns, settings_ns;
	bool total_sent;
};

/* A value on its way: what the callbacks of readers need. */
struct sender {
	struct capture *c;
	struct host *h;
	u64 size;
};

static struct thp_value *sent_find(struct host *h, u16 source, const char *name)
{
	vec_each (v, &h->sent)
		if (v->source == source && !strcmp(v->name, name))
			return v;
	return NULL;
}

/* What has not changed is not sent again, but for memory, whose samples are counted. */
static int value_send(struct sender *to, u16 source, const char *name, u64 value, const char *text)
{
	struct thp_value r = REC_INIT(struct thp_value, REC_THP_VALUE, 0), *sent;
	int rc = 0;

	r.source = source;
	r.value = value;
	snprintf(r.name, sizeof(r.name), "%s", name);
	snprintf(r.text, sizeof(r.text), "%s", text);
	sent = sent_find(to->h, source, r.name);
	if (sent && sent->value == value && !strcmp(sent->text, r.text) && source != THP_MEMORY)
		return 0;
	if (sent)
		*sent = r;
	else
		rc = vec_push(&to->h->sent, r);
	return rc ? rc : capture_emit(to->c, &r.h);
}

static int setting_send(void *arg, const char *name, u64 value, const char *text)
{
	return value_send(arg, THP_SETTING, name, value, text);
}

static int stat_send(void *arg, const char *name, u64 value)
{
	struct sender *to = arg;
	char full[THP_NAME_LEN * 2];

	snprintf(full, sizeof(full), "%llukB/%s", to->size >> 10, name);
	return value_send(to, THP_SIZE, full, value, "");
}

static int settings_send(struct sender *to)
{
	struct thp thp;
	int rc = thp_read(&thp);

	if (rc)
		return 0; /* said when it was opened */
	rc = thp_settings_each(&thp, setting_send, to);
	for (u32 i = 0; i < thp.sizes && !rc; i++) {
		to->size = thp.size[i].bytes;
		rc = thp_stats_each(to->size, stat_send, to);
		if (rc == -ENOENT)
			rc = 0; /* since 6.10 */
	}
	return rc;
}

static int counters_send(struct sender *to)
{
	struct keyvals *kv = &to->h->vmstat;
	int rc = 0;

	if (keyvals_read("/proc/vmstat", kv))
		return 0;
	for (size_t i = 0; i < kv->items.n && !rc; i++) {
		const char *name = kv->items.v[i].name;

		if (!strncmp(name, "thp_", 4) || !strncmp(name, "compact_", 8))
			rc = value_send(to, THP_VMSTAT, name, kv->items.v[i].value, "");
	}
	return rc;
}

static void zones_sum(const struct zoneinfo *info, u64 *ret_free, u64 *ret_high)
{
	*ret_free = *ret_high = 0;
	vec_each (z, &info->zones) {
		if (!z->managed_pages)
			continue;
		*ret_free += z->free_pages;
		*ret_high += z->high_pages;
	}
}

static u64 high_of(u64 pages)
{
	return pages ? pages + (1 << THP_ORDER) : 0;
}

u64 thp_host_high_pages(void)
{
	_cleanup_zoneinfo_ struct zoneinfo info = {};
	u64 free = 0, high = 0;

	if (!zoneinfo_read(&info))
		zones_sum(&info, &free, &high);
	return high_of(high);
}

static int memory_send(struct sender *to)
{
	u64 free, high;
	int rc = 0;

	if (zoneinfo_read(&to->h->zones))
		return 0;
	zones_sum(&to->h->zones, &free, &high);
	if (!to->h->total_sent)
		rc = value_send(to, THP_MEMORY, "total", (u64)sysconf(_SC_PHYS_PAGES), "");
	to->h->total_sent = true;
	if (!rc)
		rc = value_send(to, THP_MEMORY, "high", high_of(high), "");
	return rc ? rc : value_send(to, THP_MEMORY, "free", free, "");
}

static int result_send(void *arg, u64 value, const char *name)
{
	return capture_enum(arg, THP_RESULT_SET, value, name);
}

static int result_count(void *arg, u64 value, const char *name)
{
	(void)arg;
	(void)value;
	(void)name;
	return 0;
}

/* The kernel adds and moves its names with every other release. */
static const struct value_names results = {
	"huge_memory", "mm_collapse_huge_page", "scan_result", "SCAN_", NULL};

static int thp_host_tell(struct capture *c, bool send)
{
	const char *method;
	int named = value_names_read(&results, send ? result_send : result_count, c, &method);
	struct thp thp;
	int rc = thp_read(&thp);
	char missing[96];

	rc = capture_method(c, "settings and sizes", rc ? NULL : "transparent_hugepage in /sys",
		rc ? "the kernel has no transparent huge pages" : NULL);
	snprintf(missing, sizeof(missing), "tracefs (%.40s) or the kernel's BTF", strerror(-named));
	if (!rc)
		rc = capture_method(c, "names of results", named < 0 ? NULL : method,
			named < 0 ? missing : NULL);
	if (!rc)
		rc = capture_method(c, "huge pages of processes",
			sys_exists("/proc/self/smaps_rollup") ? NULL : "smaps, process_vm_readv",
			"the kernel has no smaps_rollup: it needs CONFIG_PROC_PAGE_MONITOR=y");
	return rc;
}

static int host_survey(struct capture *c)
{
	return thp_host_tell(c, false);
}

static int thp_host_open(struct capture *c, void *state, struct err *err)
{
	struct host *h = state;
	int rc = thp_host_tell(c, true);

	h->begin_ns = clock_mono_ns();
	h->look_ns = h->begin_ns + LOOK_NS;
	if (!rc)
		rc = resident_open(c, &h->resident);
	return rc ? err_errno(err, rc, "thp") : 0;
}

/* Memory of processes is read at the end and, unless that would disturb, at growing distances. */
static bool look_is_due(const struct capture *c, const struct host *h, u64 now_ns)
{
	return c->ending || ((h->resident.scope.by_task || !c->opt.gentle) && now_ns >= h->look_ns);
}

static int thp_host_sample(struct capture *c, void *state)
{
	struct host *h = state;
	struct sender to = {.c = c, .h = h};
	u64 now = clock_mono_ns();
	int rc;

	if (!c->ending && h->last_ns && now < h->last_ns + GAP_NS)
		return 0;
	rc = counters_send(&to);
	if (!rc)
		rc = memory_send(&to);
	if (!rc && (c->ending || now >= h->settings_ns)) {
		h->settings_ns =
			now + (c->opt.watch_ns || c->opt.sample_ns ? WATCHED_NS : EVERY_NS / 2);
		rc = settings_send(&to);
	}
	if (!rc && look_is_due(c, h, now)) {
		h->look_ns = now + MAX(LOOK_NS, now - h->begin_ns);
		rc = resident_look(c, &h->resident);
	}
	h->last_ns = now;
	return rc;
}

static void thp_host_close(void *state)
{
	struct host *h = state;

	vec_free(&h->sent);
	keyvals_free(&h->vmstat);
	zoneinfo_free(&h->zones);
	resident_close(&h->resident);
}

const struct probe_sampler thp_sampler = {
	.size = sizeof(struct host),
	.every_ns = EVERY_NS,
	.open = thp_host_open,
	.sample = thp_host_sample,
	.close = thp_host_close,
	.survey = host_survey,
};
