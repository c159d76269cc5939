/* See swap_sample.h. */
#include "probes/swap/swap_sample.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "capture/names/names.h"
#include "probes/swap/swap.h"
#include "sys/group/cgroup.h"
#include "sys/memory/swaps.h"
#include "sys/process/proc.h"
#include "sys/root.h"

#define NODES_MAX 64

/* Of /proc/vmstat; those that end in * are all that begin so. */
static const char *const vmstat_names[] = {"pswpin", "pswpout", "swap_ra*", "swpin_zero",
	"swpout_zero", "zswp*", "thp_swpout*", "workingset_refault*", "workingset_activate*",
	"workingset_restore*", NULL};
static const char *const node_names[] = {
	"workingset_refault*", "workingset_activate*", "workingset_restore*", NULL};
static const char *const meminfo_names[] = {
	"SwapTotal", "SwapFree", "SwapCached", "Zswap", "Zswapped", NULL};

struct owner {
	u32 tgid;
	bool is_there, is_new;
	u64 first, sent, cgroup;
	char comm[COMM_LEN];
};

struct counter {
	s32 node;
	u64 sent;
	char name[SWAP_COUNTER_LEN];
};

struct swap_state {
	struct keyvals kv;
	struct swaps swaps;
	struct cgroup_mounts mounts;
	struct cgroup group;
	VEC(struct owner) owners; /* by process id */
	VEC(struct counter) counters;
	u64 next_ns; /* owners are not looked for before */
	bool started;
};

static bool swap_sample_name_matches(const char *name, const char *const *patterns)
{
	for (; *patterns; patterns++) {
		size_t n = strlen(*patterns);

		if ((*patterns)[n - 1] == '*' ? !strncmp(name, *patterns, n - 1)
					      : !strcmp(name, *patterns))
			return true;
	}
	return false;
}

static int counter_send(
	struct capture *c, struct swap_state *s, s32 node, u16 flags, const char *name, u64 value)
{
	struct swap_counter r = REC_INIT(struct swap_counter, REC_SWAP_COUNTER, 0);
	struct counter new = {.node = node, .sent = value};
	int rc;

	vec_each (k, &s->counters) {
		if (k->node != node || strcmp(k->name, name))
			continue;
		if (k->sent == value)
			return 0;
		k->sent = value;
		goto send;
	}
	snprintf(new.name, sizeof(new.name), "%s", name);
	rc = vec_push(&s->counters, new);
	if (rc)
		return rc;
send:
	r.h.flags = flags;
	r.node = node;
	r.value = value;
	snprintf(r.name, sizeof(r.name), "%s", name);
	return capture_emit(c, &r.h);
}

static int counters_send(struct capture *c, struct swap_state *s, s32 node, u16 flags,
	const char *path, const char *const *names)
{
	int rc = 0;

	if (keyvals_read(path, &s->kv))
		return 0;
	vec_each (kv, &s->kv.items)
		if (!rc && strlen(kv->name) < SWAP_COUNTER_LEN &&
			swap_sample_name_matches(kv->name, names))
			rc = counter_send(c, s, node, flags, kv->name, kv->value);
	return rc;
}

/* Before 5.19 meminfo did not have it. */
static int zswap_send(struct capture *c, struct swap_state *s)
{
	u64 pool, pages, has;
	int rc;

	if (keyvals_get(&s->kv, "Zswap", &has) ||
		sys_read_u64(&pool, "/sys/kernel/debug/zswap/pool_total_size") ||
		sys_read_u64(&pages, "/sys/kernel/debug/zswap/stored_pages"))
		return 0;
	rc = counter_send(c, s, SWAP_NODE_ALL, 0, "Zswap", pool);
	return rc ? rc
		  : counter_send(
			    c, s, SWAP_NODE_ALL, 0, "Zswapped", pages * (u64)sysconf(_SC_PAGESIZE));
}

static int counters_sample(struct capture *c, struct swap_state *s)
{
	char path[64];
	int rc = counters_send(
		c, s, SWAP_NODE_ALL, SWAP_COUNTER_TOTAL, "/proc/vmstat", vmstat_names);

	for (int node = 0; node < NODES_MAX && !rc && !sys_exists("/sys/devices/system/node/node1");
		node++) {
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/vmstat", node);
		rc = counters_send(c, s, node, SWAP_COUNTER_TOTAL, path, node_names);
	}
	if (!rc)
		rc = counters_send(c, s, SWAP_NODE_ALL, 0, "/proc/meminfo", meminfo_names);
	return rc ? rc : zswap_send(c, s);
}

static int device_send(struct capture *c, const struct swap_area *area)
{
	struct swap_device r = REC_INIT(struct swap_device, REC_SWAP_DEVICE, 0);
	size_t n = strlen(area->path);
	struct zram_stat zram;

	r.size_bytes = area->size_bytes;
	r.used_bytes = area->used_bytes;
	r.priority = (s32)area->priority;
	r.is_file = area->is_file;
	if (!zram_stat_read(area->path, &zram)) {
		r.is_zram = 1;
		r.zram_data_bytes = zram.data_bytes;
		r.zram_compressed_bytes = zram.compressed_bytes;
		r.zram_memory_bytes = zram.memory_bytes;
	}
	snprintf(r.name, sizeof(r.name), "%s",
		area->path + (n < SWAP_NAME_LEN ? 0 : n - (SWAP_NAME_LEN - 1)));
	return capture_emit(c, &r.h);
}

static int devices_sample(struct capture *c, struct swap_state *s)
{
	int rc = 0;

	if (swaps_read(&s->swaps))
		return 0;
	vec_each (area, &s->swaps.list)
		if (!rc)
			rc = device_send(c, area);
	return rc;
}

static struct owner *owner_find(struct swap_state *s, u32 tgid)
{
	vec_each (o, &s->owners)
		if (o->tgid == tgid)
			return o;
	return NULL;
}

/* The group that the memory is charged to, where records name groups of that hierarchy. */
static u64 cgroup_of(const struct capture *c, struct swap_state *s, u32 tgid)
{
	u8 version = c->opt.cgroup_version;

	if (!version || s->mounts.memory.version != (version == SCOPE_CGROUP_V1 ? 1 : 2) ||
		cgroup_of_pid(&s->mounts, (int)tgid, &s->group))
		return 0;
	return s->group.id;
}

static int owner_send(struct capture *c, struct owner *o, u64 bytes)
{
	struct swap_owner r = REC_INIT(struct swap_owner, REC_SWAP_OWNER, 0);
	int rc;

	if (!o->is_new && o->sent == bytes)
		return 0;
	o->is_new = false;
	o->sent = bytes;
	r.tgid = o->tgid;
	r.cgroup = o->cgroup;
	r.swap_bytes = bytes;
	r.first_bytes = o->first;
	memcpy(r.comm, o->comm, sizeof(r.comm));
	rc = names_task(c->names, o->tgid, 0, o->comm, o->cgroup);
	return rc ? rc : capture_emit(c, &r.h);
}

static int owner_seen(struct capture *c, struct swap_state *s, u32 tgid, u64 bytes)
{
	struct owner *o = owner_find(s, tgid);
	struct owner new = {.tgid = tgid, .is_there = true, .is_new = true};
	char comm[PROC_COMM_MAX] = "";
	int rc;

	proc_comm_read((int)tgid, comm);
	comm[COMM_LEN - 1] = '\0';
	if (o && !strcmp(o->comm, comm)) {
		o->is_there = true;
		return owner_send(c, o, bytes);
	}
	strcpy(new.comm, comm);
	new.first = s->started ? 0 : bytes;
	new.cgroup = cgroup_of(c, s, tgid);
	if (o) { /* the number of another process, or it has a new name */
		new.first = o->first;
		*o = new;
		return owner_send(c, o, bytes);
	}
	rc = vec_push(&s->owners, new);
	return rc ? rc : owner_send(c, &s->owners.v[s->owners.n - 1], bytes);
}

/* What has nothing in swap any more is told, and forgotten. */
static int owners_gone(struct capture *c, struct swap_state *s)
{
	size_t n = 0;
	int rc = 0;

	vec_each (o, &s->owners) {
		if (o->is_there)
			s->owners.v[n++] = *o;
		else if (!rc)
			rc = owner_send(c, o, 0);
	}
	s->owners.n = n;
	return rc;
}

static int owners_sample(struct capture *c, struct swap_state *s)
{
	_cleanup_proc_iter_ struct proc_iter it = {};
	struct proc_status st;
	int pid, rc = proc_iter_open(&it);

	if (rc)
		return 0;
	vec_each (o, &s->owners)
		o->is_there = false;
	while (!rc && proc_iter_next(&it, &pid))
		if (!capture_is_self(c, (u32)pid) && !proc_status_read(pid, &st) &&
			st.vm_swap_bytes)
			rc = owner_seen(c, s, (u32)pid, st.vm_swap_bytes);
	return rc ? rc : owners_gone(c, s);
}

/* All processes are read: no more than one cpu's hundredth. */
#define COST_PART 100

static int swap_sample(struct capture *c, void *state)
{
	struct swap_state *s = state;
	u64 now = clock_mono_ns(), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int rc = counters_sample(c, s);

	if (!rc)
		rc = devices_sample(c, s);
	if (rc || (!c->ending && now < s->next_ns))
		return rc;
	rc = owners_sample(c, s);
	s->started = true;
	s->next_ns = now + (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu) * COST_PART;
	return rc;
}

static int swap_sample_survey(struct capture *c)
{
	int rc = sys_exists("/proc/swaps");
	const char *missing = rc ? "the kernel has no swap: it needs CONFIG_SWAP=y" : NULL;

	capture_method(c, "swap devices", rc ? NULL : "/proc/swaps", missing);
	capture_method(c, "owners of swap", rc ? NULL : "VmSwap of /proc/PID/status", missing);
	return capture_method(c, "refaults, zswap", "/proc/vmstat, /proc/meminfo", NULL);
}

static int sample_open(struct capture *c, void *state, struct err *err)
{
	struct swap_state *s = state;
	int rc = swap_sample_survey(c);

	cgroup_mounts_read(&s->mounts);
	return rc ? err_errno(err, rc, "swap") : 0;
}

static void sample_close(void *state)
{
	struct swap_state *s = state;

	keyvals_free(&s->kv);
	swaps_free(&s->swaps);
	vec_free(&s->owners);
	vec_free(&s->counters);
}

const struct probe_sampler swap_sampler = {
	.size = sizeof(struct swap_state),
	.open = sample_open,
	.sample = swap_sample,
	.close = sample_close,
	.survey = swap_sample_survey,
};

static bool kernel_has(const char *function)
{
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *line = NULL;
	char path[PATH_MAX];
	size_t cap = 0, n = strlen(function);
	ssize_t len;

	if (sys_path(path, "/proc/kallsyms"))
		return false;
	f = fopen(path, "re");
	while (f && (len = getline(&line, &cap, f)) > 0)
		if ((size_t)len > n + 1 && line[len - 2 - (ssize_t)n] == ' ' &&
			!strncmp(line + len - 1 - n, function, n))
			return true;
	return false;
}

bool swap_takes_pages(void)
{
	_cleanup_swaps_ struct swaps swaps = {};
	struct zram_stat zram;

	if (swaps_read(&swaps))
		return false;
	vec_each (area, &swaps.list)
		if (!zram_stat_read(area->path, &zram))
			return kernel_has("bdev_read_page");
	return false;
}

bool swap_has_zswap(void)
{
	_cleanup_keyvals_ struct keyvals kv = {};
	_cleanup_str_ struct str on = {};

	if (!sys_read(&on, "/sys/module/zswap/parameters/enabled") && str_get(&on)[0] == 'Y')
		return true;
	return !keyvals_read("/proc/meminfo", &kv) && keyvals_get_or(&kv, "Zswapped", 0);
}
