/*
 * Fuzzes every parser of src/sys, and what reads names out of a group's path. The first byte
 * chooses the parser, the rest is its text. Beside what the sanitizers see, it holds the parsers to
 * what their headers promise of a result.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "event/cgroup_name.h"
#include "sys/cpu_time.h"
#include "sys/group/cgroup.h"
#include "sys/group/container_names.h"
#include "sys/group/pids_limit.h"
#include "sys/heap/glibc.h"
#include "sys/heap/heaps.h"
#include "sys/heap/managed.h"
#include "sys/idset.h"
#include "sys/kernel/kconfig.h"
#include "sys/kernel/klog.h"
#include "sys/kernel/kmsg.h"
#include "sys/kernel/tracefs.h"
#include "sys/keyvals.h"
#include "sys/memory/buddyinfo.h"
#include "sys/memory/counts.h"
#include "sys/memory/diskstats.h"
#include "sys/memory/extfrag.h"
#include "sys/memory/interrupts.h"
#include "sys/memory/oomlog.h"
#include "sys/memory/pagetypeinfo.h"
#include "sys/memory/pressure.h"
#include "sys/memory/slabinfo.h"
#include "sys/memory/swaps.h"
#include "sys/memory/sysvipc.h"
#include "sys/memory/thp.h"
#include "sys/memory/zoneinfo.h"
#include "sys/mounts.h"
#include "sys/process/fdlink.h"
#include "sys/process/maps.h"
#include "sys/process/numa_maps.h"
#include "sys/process/proc.h"
#include "sys/process/smaps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)           \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

static void fuzz_keyvals(const char *text, size_t n)
{
	_cleanup_keyvals_ struct keyvals kv = {};
	u64 v;

	(void)n;
	if (keyvals_parse(text, &kv)) {
		MUST(!kv.items.n);
		return;
	}
	MUST(kv.items.n && kv.items.n <= KEYVALS_MAX);
	MUST(keyvals_get(&kv, kv.items.v[0].name, &v) && v == kv.items.v[0].value);
}

static void fuzz_stat(const char *text, size_t n)
{
	struct proc_stat st;

	(void)n;
	if (!proc_stat_parse(text, &st))
		MUST(st.pid >= 0 && st.ppid >= 0 && strlen(st.comm) < PROC_COMM_MAX);
}

static void fuzz_status(const char *text, size_t n)
{
	struct proc_statm statm;
	u64 limit, hard;
	struct proc_status st;

	(void)n;
	proc_limit_parse(text, PROC_LIMIT_SPACE, &limit, &hard);
	if (!proc_statm_parse(text, &statm))
		MUST(proc_statm_anon_pages(&statm) <= statm.resident_pages);
	proc_status_parse(text, &st);
}

static void fuzz_cgroup(const char *text, size_t n)
{
	struct proc_cgroup cg;
	u64 limit;

	(void)n;
	if (!proc_cgroup_parse(text, &cg))
		MUST(strlen(cg.v2) < PATH_MAX && strlen(cg.v1_memory) < PATH_MAX);
	cgroup_limit_parse(text, &limit);
}

/* A path of a group: its parts lie within it, in order, and its short name is text as well. */
static void fuzz_cgroup_name(const char *text, size_t n)
{
	_cleanup_str_ struct str name = {};
	struct cgroup_part p = {.end = text}, container;
	const char *before = text;
	bool named = cgroup_name_add(&name, text), any = false, held = false;

	while (cgroup_part_next(text, &p)) {
		MUST(p.name >= before && p.name + p.length <= p.end && p.end <= text + n);
		MUST(p.length && !memchr(p.name, '/', p.length));
		MUST((p.kind == CGROUP_CONTAINER) == (p.runtime != NULL));
		cgroup_part_answers(&p, text);
		any |= p.kind != CGROUP_OTHER;
		held |= p.kind == CGROUP_CONTAINER;
		before = p.end;
	}
	MUST(named == any && (named || !name.len));
	MUST(strlen(str_get(&name)) == name.len && name.len <= n + 32);
	MUST(cgroup_container(text, &container) == held);
}

static void fuzz_cmdline(const char *text, size_t n)
{
	_cleanup_str_ struct str out = {}, program = {};
	u64 interrupts, ticks;

	proc_program_name("python3", text, n, &program);
	proc_program_name("java", text, n, &program);
	proc_heap_limit_environ("java", text, n);
	proc_heap_limit_go(text, n);
	interrupts_parse(text, "TLB", &interrupts);
	cpu_time_parse(text, &ticks);
	MUST(strlen(str_get(&out)) == out.len && out.len <= n);
}

static void fuzz_maps(const char *text, size_t n)
{
	_cleanup_maps_ struct maps maps = {};

	(void)n;
	if (maps_parse(text, &maps))
		return;
	for (size_t i = 0; i < maps.list.n; i++) {
		const struct mapping *m = &maps.list.v[i];

		MUST(m->start < m->end && (!i || m[-1].start <= m->start));
		MUST(m->path && strlen(m->path) <= n && m->kind < MAPPING_KINDS);
		MUST(mapping_kind_name(m->kind)[0]);
		MUST(maps_find(&maps, m->start));
	}
}

static void fuzz_numa_maps(const char *text, size_t n)
{
	_cleanup_numa_maps_ struct numa_maps maps = {};

	(void)n;
	if (numa_maps_parse(text, &maps))
		return;
	for (size_t i = 0; i < maps.list.n; i++) {
		const struct numa_map *m = &maps.list.v[i];

		MUST(m->policy[0] && strlen(m->policy) <= n && strlen(m->file) <= n);
		MUST((u64)m->node_first + m->node_count <= maps.nodes.n);
		numa_maps_find(&maps, m->start);
	}
	vec_each (p, &maps.nodes)
		MUST(p->node < 1024);
}

static void fuzz_buddyinfo(const char *text, size_t n)
{
	_cleanup_buddyinfo_ struct buddyinfo info = {};

	(void)n;
	if (buddyinfo_parse(text, &info))
		return;
	for (size_t i = 0; i < info.zones.n; i++) {
		const struct zone_blocks *zone = &info.zones.v[i];

		MUST(zone->orders && zone->orders <= PAGE_ORDERS_MAX);
		for (u32 order = 0; order <= zone->orders; order++) {
			extfrag_unusable(zone, order);
			extfrag_index(zone, order);
		}
	}
}

static void fuzz_pagetypeinfo(const char *text, size_t n)
{
	_cleanup_pagetypeinfo_ struct pagetypeinfo info = {};

	(void)n;
	if (pagetypeinfo_parse(text, &info))
		return;
	MUST(info.pageblock_order >= -1 && info.pageblock_order <= PAGE_ORDERS_MAX);
	for (size_t i = 0; i < info.free.n; i++)
		MUST(!(info.free.v[i].clamped >> info.free.v[i].orders));
}

static void fuzz_zoneinfo(const char *text, size_t n)
{
	_cleanup_zoneinfo_ struct zoneinfo info = {};

	(void)n;
	if (zoneinfo_parse(text, &info))
		return;
	MUST(info.zones.n <= ZONES_MAX);
	for (size_t i = 0; i < info.zones.n; i++)
		MUST(info.zones.v[i].protections <= ZONE_PROTECTION_MAX);
}

static void fuzz_pressure(const char *text, size_t n)
{
	struct pressure p;

	(void)n;
	if (!pressure_parse(text, &p))
		MUST(p.some.avg10 >= 0 && p.full.avg300 >= 0);
}

static void fuzz_mounts(const char *text, size_t n)
{
	_cleanup_mounts_ struct mounts mounts = {};
	struct cgroup_mounts found;

	(void)n;
	if (mounts_parse(text, &mounts))
		return;
	for (size_t i = 0; i < mounts.list.n; i++) {
		const struct mount *m = &mounts.list.v[i];

		MUST(m->root[0] && m->point[0] && m->fstype[0] && strlen(m->super_options) <= n);
		MUST(mounts_find(&mounts, m->fstype, NULL));
	}
	if (!cgroup_mounts_find(&mounts, &found))
		MUST(found.memory.version && found.memory.mount[0]);
}

static void fuzz_slabinfo(const char *text, size_t n)
{
	_cleanup_slabinfo_ struct slabinfo info = {};

	(void)n;
	if (!slabinfo_parse(text, 4096, &info))
		MUST(info.caches.n && strlen(info.caches.v[0].name) < SLAB_NAME_MAX);
}

static void fuzz_diskstats(const char *text, size_t n)
{
	struct disk_reads d = {.bytes = 1};

	(void)n;
	if (disk_reads_parse(text, &d))
		MUST(d.bytes == 1);
}

static void fuzz_swaps(const char *text, size_t n)
{
	_cleanup_swaps_ struct swaps swaps = {};
	struct zram_stat zram;

	if (!swaps_parse(text, &swaps))
		MUST(swaps.list.n <= SWAPS_MAX);
	vec_each (area, &swaps.list)
		MUST(area->path[0] && strlen(area->path) <= n);
	zram_stat_parse(text, &zram);
}

static void fuzz_tracepoint(const char *text, size_t n)
{
	_cleanup_tracepoint_format_ struct tracepoint_format format = {};

	(void)n;
	if (tracepoint_format_parse(text, &format))
		return;
	MUST(format.name[0] && format.fields.n <= TRACEPOINT_FIELDS_MAX);
	MUST(tracepoint_format_field(&format, format.fields.v[0].name) == format.fields.v);
}

static int symbol_take(void *arg, u64 value, const char *name)
{
	(void)value;
	MUST(strlen(name) < TRACEPOINT_NAME_MAX);
	++*(int *)arg;
	return 0;
}

static void fuzz_symbols(const char *text, size_t n)
{
	int taken = 0, rc = tracepoint_symbols_parse(text, symbol_take, &taken);

	(void)n;
	MUST(rc == (taken ? taken : -EINVAL));
}

static void fuzz_smaps(const char *text, size_t n)
{
	struct smaps_sum sum;
	struct smaps_all all = {};
	struct smaps maps = {};

	(void)n;
	smaps_rollup_parse(text, &sum);
	smaps_all_parse(text, &all);
	vec_each (m, &all.list)
		MUST(m->start < m->end);
	smaps_all_free(&all);
	if (smaps_parse(text, &maps))
		MUST(!maps.list.n);
	vec_each (m, &maps.list)
		MUST(m->start < m->end && m->anon_huge_bytes);
	smaps_free(&maps);
}

static void fuzz_words(const char *text, size_t n)
{
	static struct idset set;
	char word[THP_CHOICE_MAX];
	char value[8];

	(void)n;
	if (!thp_choice_parse(text, word))
		MUST(word[0] && strlen(word) < sizeof(word));
	if (!idset_parse(text, &set))
		MUST(idset_count(&set) || idset_next(&set, 0) == IDSET_MAX);
	if (!kconfig_get(text, "CONFIG_A", value, sizeof(value)))
		MUST(strlen(value) < sizeof(value));
}

static void fuzz_oomlog(const char *text, size_t n)
{
	static struct kmsg_record r;
	static struct oomlog log;
	const char *p = text;

	(void)n;
	log = (struct oomlog){};
	while (*p) {
		enum oomlog_event event;

		const char *line_of_syslog = p;

		/* As records of /dev/kmsg or lines of syslog(2) where they are, else as bare lines. */
		if (kmsg_parse(p, &r) && klog_parse(&line_of_syslog, &r)) {
			size_t line = MIN(strcspn(p, "\n"), sizeof(r.text) - 1);

			memcpy(r.text, p, line);
			r.text[line] = '\0';
		}
		MUST(strlen(r.text) < KMSG_TEXT_MAX);
		event = oomlog_feed(&log, r.text);
		MUST(log.n_tasks <= OOMLOG_TASKS && log.n_zones <= OOMLOG_ZONES);
		MUST(strnlen(log.kill.oom_path, OOMLOG_PATH) < OOMLOG_PATH);
		MUST(strnlen(log.kill.victim_comm, OOMLOG_COMM) < OOMLOG_COMM);
		for (u32 i = 0; i < log.n_zones; i++)
			MUST(log.zones[i].orders <= PAGE_ORDERS_MAX);
		for (u32 i = 1; i < log.n_tasks; i++)
			MUST(strnlen(log.tasks[i].comm, OOMLOG_COMM) < OOMLOG_COMM);
		if (event == OOMLOG_KILL)
			MUST(log.told);
		p += strcspn(p, "\n");
		p += *p == '\n';
	}
}

static void fuzz_held(const char *text, size_t n)
{
	struct shm_segments segments = {};
	struct msg_queues queues;
	char path[PATH_MAX];
	int v2;
	u64 v;

	(void)n;
	if (!pids_path_parse(text, path, &v2))
		MUST(strlen(path) < sizeof(path));
	MUST(!shm_segments_parse(text, &segments) && segments.list.n <= SHM_SEGMENTS_MAX);
	shm_segments_free(&segments);
	msg_queues_parse(text, &queues);
	for (const struct count_spec *s = counts; s->name; s++)
		count_parse(text, s, &v);
	MUST(fdlink_parse(text, &v) < FD_KINDS);
}

static void fuzz_containers(const char *text, size_t n)
{
	struct container_names names = {};

	container_state_parse(text, n, &names);
	container_list_parse(text, n, "abcd", &names);
	container_log_parse(text, "abcd", &names);
	container_pod_parse(text, "abcd", &names);
	MUST(strnlen(names.container, CONTAINER_NAME_MAX) < CONTAINER_NAME_MAX);
	MUST(strnlen(names.pod, CONTAINER_NAME_MAX) < CONTAINER_NAME_MAX);
	MUST(strnlen(names.space, CONTAINER_NAME_MAX) < CONTAINER_NAME_MAX);
}

static void fuzz_java(const char *text, size_t n)
{
	struct managed m = {};

	MUST(managed_java(text, n, &m) != -EINVAL && m.list.n <= 8);
	managed_free(&m);
}

#define FUZZ_HEAP 0x10000ULL

struct fuzz_bytes {
	const char *bytes;
	size_t n;
	u32 left; /* times that it may be read */
};

/* What structures say never adds up to more than they can have. */
static void fuzz_heaps(const char *text, size_t n)
{
	size_t whole = n / sizeof(u64);
	_cleanup_free_ u64 *words = malloc(MAX(n, (size_t)HEAP_V8_HEAD));
	struct heap_tcmalloc tc;
	struct heap_go go = {};
	struct heap_python py;
	struct heap_v8 v8;

	MUST(words);
	memset(words, 0, HEAP_V8_HEAD);
	memcpy(words, text, n);
	if (heap_tcmalloc_find(words, whole, &tc))
		MUST(tc.committed_bytes >= tc.free_bytes && tc.system_bytes &&
			tc.committed_bytes <= tc.system_bytes);
	if (heap_go_find(words, whole, 1ULL << 36, &go))
		MUST(go.used_bytes + go.released_bytes + go.free_bytes <= 1ULL << 36);
	if (heap_python_pool(words, &py))
		MUST((u64)py.blocks * py.block_bytes < py.pool_bytes);
	if (heap_v8_chunk(words, words[4] & ~(HEAP_V8_ALIGN - 1), &v8))
		MUST(v8.used_bytes <= v8.bytes);
}

/* Large ones, that are zero but for words that the text puts somewhere. */
static void fuzz_large_heaps(const char *text, size_t n)
{
	const size_t whole = HEAP_JEMALLOC_ARENA / sizeof(u64);
	_cleanup_free_ u64 *words = calloc(whole, sizeof(u64));
	struct heap_mimalloc mi;
	struct heap_jemalloc je;

	MUST(words);
	for (size_t i = 0; i + 12 <= n; i += 12) {
		u32 at;

		memcpy(&at, text + i, sizeof(at));
		memcpy(words + at % whole, text + i + 4, sizeof(u64));
	}
	if (heap_mimalloc_segment(words, HEAP_MIMALLOC_HEAD / sizeof(u64), &mi))
		MUST(mi.used_bytes <= mi.bytes);
	if (heap_jemalloc_arena(words, whole, &je))
		MUST(je.used_bytes <= je.active_bytes && je.decay_ms >= HEAP_JEMALLOC_UNKNOWN);
}

/* All that its words are taken for: a whole heap, whatever they say. */
static int fuzz_memory(void *arg, u64 address, void *buf, size_t n)
{
	const struct fuzz_bytes *b = arg;

	if (!b->left || address < FUZZ_HEAP || address - FUZZ_HEAP > b->n ||
		n > b->n - (address - FUZZ_HEAP))
		return -ENODATA;
	((struct fuzz_bytes *)arg)->left--;
	memcpy(buf, b->bytes + (address - FUZZ_HEAP), n);
	return 0;
}

static u64 fuzz_resident(void *arg, u64 start, u64 end)
{
	(void)arg;
	return end - start;
}

static void fuzz_glibc(const char *text, size_t n)
{
	struct fuzz_bytes bytes = {text, n, 100000};
	struct glibc_memory m = {&bytes, fuzz_memory, fuzz_resident};
	struct glibc_arenas arenas = {};
	_cleanup_free_ u64 *words = malloc(n + !n);
	u64 at;

	MUST(words);
	memcpy(words, text, n);
	at = glibc_find(words, n / sizeof(u64), FUZZ_HEAP);
	if (at)
		MUST(glibc_read(&m, at, FUZZ_HEAP, &arenas) != -ENOMEM);
	MUST(arenas.list.n <= GLIBC_ARENAS_MAX);
	glibc_arenas_free(&arenas);
}

static void (*const fuzz_targets[])(const char *text, size_t n) = {
	fuzz_keyvals,
	fuzz_stat,
	fuzz_status,
	fuzz_cgroup,
	fuzz_cgroup_name,
	fuzz_cmdline,
	fuzz_maps,
	fuzz_numa_maps,
	fuzz_buddyinfo,
	fuzz_pagetypeinfo,
	fuzz_zoneinfo,
	fuzz_pressure,
	fuzz_mounts,
	fuzz_slabinfo,
	fuzz_tracepoint,
	fuzz_words,
	fuzz_symbols,
	fuzz_smaps,
	fuzz_oomlog,
	fuzz_swaps,
	fuzz_held,
	fuzz_diskstats,
	fuzz_containers,
	fuzz_java,
	fuzz_heaps,
	fuzz_large_heaps,
	fuzz_glibc,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size)
		return 0;
	/* On the heap and no longer than it must be: so the sanitizer sees one byte too far. */
	text = malloc(size);
	MUST(text);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	fuzz_targets[data[0] % ARRAY_SIZE(fuzz_targets)](text, size - 1);
	free(text);
	return 0;
}
