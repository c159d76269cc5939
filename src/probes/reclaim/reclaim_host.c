/* See reclaim_host.h. */
#include "probes/reclaim/reclaim_host.h"

#include <fcntl.h>
#include <string.h>

#include "capture/gfp.h"
#include "probes/reclaim/reclaim.h"
#include "sys/keyvals.h"
#include "sys/root.h"

#define BTF "/sys/kernel/btf/vmlinux"

bool reclaim_has_btf(void)
{
	return !sys_exists(BTF);
}

/* Do these bytes stand in the file? It is read through a window: BTF has megabytes. */
static bool file_has(const char *path, const char *bytes, size_t n)
{
	char window[16384];
	size_t have = 0;
	ssize_t got;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && (got = read(fd, window + have, sizeof(window) - have)) > 0) {
		have += (size_t)got;
		if (memmem(window, have, bytes, n))
			return true;
		if (have >= n) { /* its beginning may be at the end */
			memmove(window, window + have - (n - 1), n - 1);
			have = n - 1;
		}
	}
	return false;
}

/* Since tracepoints are guarded by SRCU-fast instead of preempt_disable(), each of them uses the
 * type of that guard: class_srcu_fast_notrace_t (include/linux/tracepoint.h of 7.3). */
bool reclaim_raw_is_preemptible(void)
{
	static const char name[] =
		"\0class_srcu_fast_notrace_t"; /* and a NUL, as BTF has its names */
	char path[PATH_MAX];

	return !sys_path(path, BTF) && file_has(path, name, sizeof(name));
}

bool reclaim_has_lru_gen(void)
{
	_cleanup_str_ struct str text = {};

	/* "0x0007": bit 0 is the LRU itself (Documentation/admin-guide/mm/multigen_lru.rst) */
	return !sys_read(&text, "/sys/kernel/mm/lru_gen/enabled") &&
	       strtoul(str_get(&text), NULL, 0) & 1;
}

u32 reclaim_nodes(void)
{
	_cleanup_str_ struct str text = {};
	const char *p;
	size_t n;

	if (sys_read(&text, "/sys/devices/system/node/possible"))
		return 1;
	p = str_get(&text); /* "0-3", "0,2": the last number is the highest */
	n = strcspn(p, "\n");
	while (n && p[n - 1] >= '0' && p[n - 1] <= '9')
		n--;
	return (u32)MIN(strtoul(p + n, NULL, 10), 1023UL) + 1;
}

/* Of a kernel variable, from lines of "address type name"; 0 where it is hidden or not there. */
static u64 kernel_data(const char *name)
{
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *line = NULL;
	char path[PATH_MAX];
	size_t cap = 0, n = strlen(name);
	ssize_t len;

	if (sys_path(path, "/proc/kallsyms"))
		return 0;
	f = fopen(path, "re");
	while (f && (len = getline(&line, &cap, f)) > 0) {
		const char *at = line + strcspn(line, " ");

		if ((size_t)(line + len - at) == n + 4 && !strncmp(at + 3, name, n))
			return strtoull(line, NULL, 16);
	}
	return 0;
}

u64 reclaim_free_pages_address(void)
{
	static u64 address;
	static bool known;

	/* once: every attempt to load the programs asks, and kallsyms is long */
	if (!known)
		address = kernel_data("vm_zone_stat");
	known = true;
	return address;
}

/* Counters of /proc/vmstat that no event tells. */
enum counter { KSWAPD_WAITS, PAGES_WRITTEN, COUNTERS };

struct sampler_state {
	struct keyvals vmstat;
	u64 last[COUNTERS];
	bool known;
};

static int sampler_open(struct capture *c, void *state, struct err *err)
{
	(void)state;
	(void)err;
	gfp_tell(c, true);
	return 0;
}

static bool system_wide(const struct scope *s)
{
	return !s->by_task && !s->tasks.n && !s->comm[0] && !s->cgroup_id;
}

/* throttle_direct_reclaim() puts tasks to sleep before the first tracepoint. */
static int waits_send(struct capture *c, u64 count)
{
	struct reclaim_throttle r = REC_INIT(struct reclaim_throttle, REC_RECLAIM_THROTTLE, 0);

	r.kind = RECLAIM_DIRECT;
	r.node = RECLAIM_NODE_UNKNOWN;
	r.reason = RECLAIM_THROTTLE_KSWAPD;
	r.count = count;
	return capture_emit(c, &r.h);
}

static int written_send(struct capture *c, u64 pages)
{
	struct reclaim_written r = REC_INIT(struct reclaim_written, REC_RECLAIM_WRITTEN, 0);

	r.pages = pages;
	return capture_emit(c, &r.h);
}

static int sampler_sample(struct capture *c, void *state)
{
	static const struct {
		const char *name;
		int (*send)(struct capture *c, u64 added);
	} counters[COUNTERS] = {
		[KSWAPD_WAITS] = {"pgscan_direct_throttle", waits_send},
		[PAGES_WRITTEN] = {"nr_vmscan_write", written_send},
	};
	struct sampler_state *s = state;
	int rc = 0;

	if (!system_wide(&c->opt.scope) || keyvals_read("/proc/vmstat", &s->vmstat))
		return 0;
	for (size_t i = 0; i < COUNTERS && !rc; i++) {
		u64 now = 0, before = s->last[i];

		keyvals_get(&s->vmstat, counters[i].name, &now);
		s->last[i] = now;
		if (s->known && now > before)
			rc = counters[i].send(c, now - before);
	}
	s->known = true;
	return rc;
}

static void sampler_close(void *state)
{
	keyvals_free(&((struct sampler_state *)state)->vmstat);
}

static int sampler_survey(struct capture *c)
{
	gfp_tell(c, false);
	return 0;
}

const struct probe_sampler reclaim_sampler = {
	.size = sizeof(struct sampler_state),
	.open = sampler_open,
	.sample = sampler_sample,
	.close = sampler_close,
	.survey = sampler_survey,
};
