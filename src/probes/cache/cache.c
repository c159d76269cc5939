/*
 * The cache probe: who has pages read into the page cache, and whose come back after they were
 * pushed out. It looks only while the kernel pushes pages out to make room, or reads them back.
 */
#include "probes/cache/cache.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "capture/names/names.h"
#include "probes/probe.h"
#include "sys/keyvals.h"
#include "sys/process/proc.h"
#include "sys/root.h"

#define EVERY_NS NSEC_PER_SEC
/* Nearly all of the time: what is pushed out while nobody looks is not known to have come back. */
#define LENGTH_NS (EVERY_NS - 20 * NSEC_PER_MSEC)
/* Pages a second: fewer hurt nobody. */
#define MANY_REFAULTS 200.0
#define MANY_STOLEN 5000.0
#define MANY_READ 8192.0 /* KiB from disks: what is given back by hand is neither of these */
#define MUCH_READ 8      /* pages looked at, since the tables were read: 2 MiB */

struct cache_pace {
	u64 time_ns, refaults, stolen, read_kib; /* when it was last asked */
};

static const struct attach_hook hooks[] = {
	{
		.data = "pages that come into the page cache and go",
		.required = true,
		.needs = "the filemap tracepoints and kernel BTF",
		.methods = {{"raw tracepoints mm_filemap_*, sampled", {"page_comes", "page_goes"},
			{}, 0}},
	},
};

#define FRESH_NS (NSEC_PER_SEC / 2) /* tables are read once a second */
#define ASKED_KEPT 64
#define AHEAD_KEPT 8

/* What /proc said of a process that reads, and sysfs of the device. */
struct cache_asked {
	u64 read_ns, bytes, times, faults;
	u32 tgid;
	bool known;
};

struct cache_ahead {
	u64 read_ns, bytes;
	u32 device, file;
};

struct cache_state {
	struct cache_pace pace;
	struct cache_asked asked[ASKED_KEPT];
	struct cache_ahead ahead[AHEAD_KEPT];
};

static struct cache_pace pace_now(void)
{
	_cleanup_keyvals_ struct keyvals vm = {};
	struct cache_pace p = {.time_ns = clock_mono_ns()};

	if (keyvals_read("/proc/vmstat", &vm))
		return p;
	p.refaults = keyvals_get_or(&vm, "workingset_refault_file", 0);
	p.stolen = keyvals_get_or(&vm, "pgsteal_file", 0);
	p.read_kib = keyvals_get_or(&vm, "pgpgin", 0);
	return p;
}

static bool cache_due(struct capture *c)
{
	struct cache_pace *last = &((struct cache_state *)c->state)->pace, now = pace_now();
	double seconds = (double)(now.time_ns - last->time_ns) / 1e9;
	bool many = last->time_ns &&
		    ((double)(now.refaults - last->refaults) >= MANY_REFAULTS * seconds ||
			    (double)(now.stolen - last->stolen) >= MANY_STOLEN * seconds ||
			    (double)(now.read_kib - last->read_kib) >= MANY_READ * seconds);

	*last = now;
	return many;
}

static int cache_done(struct capture *c, u64 on_ns, u64 covered_ns)
{
	struct cache_sampled r = REC_INIT(struct cache_sampled, REC_CACHE_SAMPLED, 0);

	r.bursts = 1;
	r.on_ns = on_ns;
	r.covered_ns = covered_ns;
	return capture_emit(c, &r.h);
}

/* The file that sets how far it is read ahead: of a partition that of its disk; of what is no disk
 * (btrfs, NFS) its own. */
static int read_ahead_path(u32 device, char *path, size_t size)
{
	u32 major = device >> 20, minor = device & 0xfffff;
	_cleanup_str_ struct str text = {};
	const char *up = "", *name;
	u64 n;

	if (!sys_read_u64(&n, "/sys/dev/block/%u:%u/partition", major, minor))
		up = "/..";
	if (sys_read(&text, "/sys/dev/block/%u:%u%s/uevent", major, minor, up)) {
		snprintf(path, size, "/sys/class/bdi/%u:%u/read_ahead_kb", major, minor);
		return 0;
	}
	name = strstr(str_get(&text), "DEVNAME=");
	if (!name)
		return -ENOENT;
	name += strlen("DEVNAME=");
	/* "cciss/c0d0" is "cciss!c0d0" there: such are left out */
	snprintf(path, size, "/sys/block/%.*s/bdi/read_ahead_kb", (int)strcspn(name, "\n"), name);
	return 0;
}

static bool is_fresh(u64 read_ns)
{
	return read_ns && clock_mono_ns() - read_ns < FRESH_NS;
}

/* How far the device is read ahead; NULL: not known. */
static const struct cache_ahead *ahead_of(struct capture *c, u32 device)
{
	struct cache_ahead *a = &((struct cache_state *)c->state)->ahead[device % AHEAD_KEPT];
	char path[64];
	u64 kib = 0;

	if (a->device != device || !is_fresh(a->read_ns)) {
		*a = (struct cache_ahead){.device = device, .read_ns = clock_mono_ns()};
		if (!read_ahead_path(device, path, sizeof(path)) && !sys_read_u64(&kib, "%s", path))
			a->file = names_string(c->names, path);
		a->bytes = kib << 10;
	}
	return a->file ? a : NULL;
}

/* How much a process asked for; NULL: it has ended, or may not be asked. */
static const struct cache_asked *asked_of(struct capture *c, u32 tgid)
{
	struct cache_asked *a = &((struct cache_state *)c->state)->asked[tgid % ASKED_KEPT];
	_cleanup_keyvals_ struct keyvals io = {};
	char path[64];
	struct proc_stat st;

	if (a->tgid == tgid && is_fresh(a->read_ns))
		return a->known ? a : NULL;
	*a = (struct cache_asked){.tgid = tgid, .read_ns = clock_mono_ns()};
	snprintf(path, sizeof(path), "/proc/%u/io", tgid);
	if (keyvals_read(path, &io) || proc_stat_read((int)tgid, &st))
		return NULL;
	a->known = true;
	a->bytes = keyvals_get_or(&io, "rchar", 0);
	a->times = keyvals_get_or(&io, "syscr", 0) + st.majflt;
	a->faults = st.minflt + st.majflt;
	return a;
}

/* Of who reads much. It has a key for each device, file and flag, and all are read at once. */
static void reader_take(struct capture *c, u32 device, struct cache_agg *r)
{
	const struct cache_asked *asked = asked_of(c, r->tgid);
	const struct cache_ahead *ahead = asked ? ahead_of(c, device) : NULL;

	if (!asked)
		return;
	r->asked_bytes = asked->bytes;
	r->asks = asked->times;
	r->faults = asked->faults;
	if (!ahead)
		return;
	r->read_ahead_bytes = ahead->bytes;
	r->read_ahead_file = ahead->file;
}

static int cache_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct cache_key *k = key;
	const struct agg_value *v = value;
	struct cache_agg r = REC_INIT(struct cache_agg, REC_CACHE_AGG, 0);

	names_added(c->names, stacks, k, v, &r);
	r.evictor = k->evictor;
	r.flags = k->flags;
	r.call = k->call;
	r.count = v->count;
	r.total_ns = v->total_ns;
	r.file_lost = v->sum[CACHE_FILE_LOST];
	r.device = k->device;
	if (!(k->flags & CACHE_WRITTEN) && v->count >= MUCH_READ)
		reader_take(c, k->device, &r);
	return capture_emit(c, &r.h);
}

static void cache_file_add(void *sum, const void *cpu)
{
	struct cache_file_value *s = sum;
	const struct cache_file_value *v = cpu;
	u64 count = s->count + v->count;

	if (v->name[0])
		*s = *v;
	s->count = count;
}

static void file_subtract(void *sum, const void *last)
{
	((struct cache_file_value *)sum)->count -= ((const struct cache_file_value *)last)->count;
}

static const struct table_values file_values = {
	sizeof(struct cache_file_value), cache_file_add, file_subtract};

static int file_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct cache_file_key *k = key;
	const struct cache_file_value *v = value;
	struct cache_file r = REC_INIT(struct cache_file, REC_CACHE_FILE, 0);
	char name[2 * CACHE_NAME + 2];
	bool top = !strcmp(v->directory, "/");

	(void)stacks;
	if (!v->count)
		return 0;
	snprintf(name, sizeof(name), "%.*s%s%.*s", top ? 0 : CACHE_NAME, v->directory,
		v->name[0] ? "/" : "", CACHE_NAME, v->name);
	r.tgid = k->tgid;
	r.evictor = k->evictor;
	r.name = v->name[0] ? names_string(c->names, name) : 0;
	r.count = v->count;
	return capture_emit(c, &r.h);
}

static const struct probe_bursts bursts = {
	.length_ns = LENGTH_NS,
	.every_ns = EVERY_NS,
	.map = "burst",
	.due = cache_due,
	.done = cache_done,
	.always = true,
};

static const struct probe_bpf bpf = {
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.state_size = sizeof(struct cache_state),
	.tables = {{"table", sizeof(struct cache_key), table_key_tgid, cache_added},
		{"files", sizeof(struct cache_file_key), table_key_tgid, file_added, &file_values,
			.derived = true}},
	.bursts = &bursts,
	.needs_btf = true,
	.optional = true,
};

static const struct kind kinds[] = {
	RECORD_KIND(REC_CACHE_AGG, struct cache_agg, "cache_agg", CACHE_AGG_FIELDS,
		"pages put into the page cache, sampled"),
	RECORD_KIND(REC_CACHE_FILE, struct cache_file, "cache_file", CACHE_FILE_FIELDS,
		"of which files pages were read back, sampled"),
	RECORD_KIND(REC_CACHE_SAMPLED, struct cache_sampled, "cache_sampled", CACHE_SAMPLED_FIELDS,
		"for how long such pages were counted, and what that stands for"),
};

const struct probe probe_cache = {
	.name = "cache",
	.summary = "Who fills the page cache, and whose pages go for it, sampled",
	.details = "While the kernel pushes pages of files out, or reads many, it follows one "
		   "page in 64 of each file into the page cache and out of it. It feeds `memwhy "
		   "check` and has no command of its own.",
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.aside = true,
	.cheap = true,
	.only_named = true,
};
