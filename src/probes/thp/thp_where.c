/* See thp_where.h. */
#include "probes/thp/thp_where.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <string.h>

#include "base/str.h"
#include "capture/object.h"
#include "probes/thp/thp.h"
#include "sys/kernel_data.h"
#include "sys/keyvals.h"
#include "sys/root.h"

#include "thp.skel.h"

static const char *const counters[THP_WATCHES] = {
	[THP_WATCH_FAULT] = "thp_fault_alloc",
	[THP_WATCH_FALLBACK] = "thp_fault_fallback",
	[THP_WATCH_SPLIT_PMD] = "thp_split_pmd",
	[THP_WATCH_SPLIT_PAGE] = "thp_split_page",
};

enum { SYM_EVENTS, SYM_RUNQUEUES, SYM_ZONES, SYM_N };

/* What kallsyms said, and the counters of each CPU; found once, as every attempt to attach asks. */
static struct {
	bool symbols_known, tried;
	int error;
	u64 symbols[SYM_N];
	u64 *address; /* THP_WATCHES for each possible CPU; 0: the CPU is offline */
	int cpus;
} found;

static void symbols_find(void)
{
	static const char *const names[SYM_N] = {"vm_event_states", "runqueues", "vm_zone_stat"};

	if (!found.symbols_known)
		kernel_data_find(names, SYM_N, found.symbols);
	found.symbols_known = true;
}

u64 thp_where_free_pages(void)
{
	symbols_find();
	return found.symbols[SYM_ZONES];
}

/* A type of BTF's raw form, and how many bytes it takes. 0: of an unknown kind. */
static size_t type_size(const struct btf_type *t)
{
	static const size_t each[] = {
		[BTF_KIND_ARRAY] = sizeof(struct btf_array),
		[BTF_KIND_STRUCT] = sizeof(struct btf_member),
		[BTF_KIND_UNION] = sizeof(struct btf_member),
		[BTF_KIND_ENUM] = sizeof(struct btf_enum),
		[BTF_KIND_FUNC_PROTO] = sizeof(struct btf_param),
		[BTF_KIND_DATASEC] = sizeof(struct btf_var_secinfo),
		[BTF_KIND_ENUM64] = sizeof(struct btf_enum64),
	};
	u32 kind = btf_kind(t);

	switch (kind) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(*t) + 4;
	case BTF_KIND_ARRAY:
		return sizeof(*t) + each[kind];
	default:
		return kind > BTF_KIND_ENUM64
			       ? 0
			       : sizeof(*t) +
					 (kind < ARRAY_SIZE(each) ? each[kind] * btf_vlen(t) : 0);
	}
}

/* The kernel's BTF as one walks it: to the end of its types, or to what makes no sense. */
struct types {
	const char *at, *end, *names;
	size_t names_size;
};

static bool types_open(struct types *t, const struct str *raw)
{
	const struct btf_header *h = (const void *)raw->buf;

	if (raw->len < sizeof(*h) || h->magic != BTF_MAGIC ||
		(u64)h->hdr_len + h->type_off + h->type_len > raw->len ||
		(u64)h->hdr_len + h->str_off + h->str_len > raw->len || !h->str_len ||
		(h->hdr_len + h->type_off) % 4)
		return false;
	t->at = raw->buf + h->hdr_len + h->type_off;
	t->end = t->at + h->type_len;
	t->names = raw->buf + h->hdr_len + h->str_off;
	t->names_size = h->str_len;
	return !t->names[t->names_size - 1];
}

static const struct btf_type *types_next(struct types *t)
{
	const struct btf_type *type = (const void *)t->at;
	size_t left = (size_t)(t->end - t->at), size;

	if (left < sizeof(*type))
		return NULL;
	size = type_size(type);
	if (!size || size > left)
		return NULL;
	t->at += size;
	return type;
}

static bool type_is(const struct types *t, const struct btf_type *type, const char *name)
{
	return type->name_off < t->names_size && !strcmp(t->names + type->name_off, name);
}

/* Where two per-CPU variables lie, from the kernel's BTF: which 5.10 has without variables. */
static int btf_find(u64 *ret_events, u64 *ret_runqueues)
{
	_cleanup_str_ struct str raw = {};
	u32 id = 0, events = 0, runqueues = 0;
	const struct btf_type *type;
	struct types t;
	u64 at[2] = {UINT64_MAX, UINT64_MAX};

	if (sys_read(&raw, "/sys/kernel/btf/vmlinux") || !types_open(&t, &raw))
		return -ENODATA;
	while ((type = types_next(&t))) {
		id++;
		if (btf_is_var(type) && type_is(&t, type, "vm_event_states"))
			events = id;
		else if (btf_is_var(type) && type_is(&t, type, "runqueues"))
			runqueues = id;
		if (!btf_is_datasec(type) || !type_is(&t, type, ".data..percpu"))
			continue;
		for (u32 i = 0; i < btf_vlen(type); i++) {
			const struct btf_var_secinfo *v = btf_var_secinfos(type) + i;

			if (v->type == events)
				at[0] = v->offset;
			if (v->type == runqueues)
				at[1] = v->offset;
		}
	}
	if (at[0] == UINT64_MAX || at[1] == UINT64_MAX)
		return -ENODATA;
	*ret_events = at[0];
	*ret_runqueues = at[1];
	return 0;
}

/* From the run queue of a CPU to its counters. The events of /proc/vmstat are in the order of enum
 * vm_event_item, which begins with PGPGIN (mm/vmstat.c: vmstat_text, from 5.10 to 7.3). */
static int distances_find(const struct keyvals *vmstat, struct thp_where *w)
{
	u64 events, runqueues;
	size_t first = vmstat->items.n;
	int rc = btf_find(&events, &runqueues);

	if (rc) {
		symbols_find();
		events = found.symbols[SYM_EVENTS];
		runqueues = found.symbols[SYM_RUNQUEUES];
		if (!events || !runqueues)
			return rc;
	}
	for (size_t i = 0; i < vmstat->items.n; i++) {
		const char *name = vmstat->items.v[i].name;

		if (!strcmp(name, "pgpgin"))
			first = i;
		for (size_t k = 0; k < THP_WATCHES && i > first; k++)
			if (!strcmp(name, counters[k]))
				w->distance[k] = (s64)(events - runqueues + 8 * (i - first));
	}
	for (size_t k = 0; k < THP_WATCHES; k++)
		if (!w->distance[k])
			return -ENODATA;
	return 0;
}

static int where_open(struct bpf_object **ret, int *ret_prog, int *ret_map)
{
	size_t size;
	const void *elf = thp_bpf__elf_bytes(&size);
	struct bpf_program *prog;
	struct bpf_object *obj;
	int rc = object_open(elf, size, &obj);

	if (rc)
		return rc;
	prog = bpf_object__find_program_by_name(obj, "where_find");
	rc = prog ? bpf_program__set_autoload(prog, true) : -ENOENT;
	if (!rc)
		rc = bpf_object__load(obj);
	if (rc) {
		bpf_object__close(obj);
		return rc;
	}
	*ret = obj;
	*ret_prog = bpf_program__fd(prog);
	*ret_map = bpf_object__find_map_fd_by_name(obj, "where");
	return 0;
}

/* Asks one CPU, and adds its counters to the sums. */
static int cpu_ask(int prog, int map, int cpu, u64 sums[THP_WATCHES])
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = (u32)cpu);
	struct thp_where w;
	u32 zero = 0;
	int rc = bpf_prog_test_run_opts(prog, &opts);

	if (rc == -ENXIO)
		return 0; /* offline; its counters were added to those of another */
	if (rc)
		return rc;
	if (bpf_map_lookup_elem(map, &zero, &w))
		return -errno;
	if (!w.rq || w.cpu != (u32)cpu)
		return -ENODATA;
	for (size_t k = 0; k < THP_WATCHES; k++) {
		found.address[(size_t)cpu * THP_WATCHES + k] = w.rq + (u64)w.distance[k];
		sums[k] += w.value[k];
	}
	return 0;
}

/* Are these the counters? All CPUs together they must say what /proc/vmstat says. */
static int sums_prove(
	const struct keyvals *before, const struct keyvals *after, const u64 sums[THP_WATCHES])
{
	for (size_t k = 0; k < THP_WATCHES; k++)
		if (sums[k] < keyvals_get_or(before, counters[k], UINT64_MAX) ||
			sums[k] > keyvals_get_or(after, counters[k], 0))
			return -ENODATA;
	return 0;
}

static int where_find(void)
{
	_cleanup_keyvals_ struct keyvals before = {}, after = {};
	struct bpf_object *obj = NULL;
	u64 sums[THP_WATCHES] = {};
	struct thp_where w = {};
	int prog = -1, map = -1;
	u32 zero = 0;
	int rc = keyvals_read("/proc/vmstat", &before);

	found.cpus = libbpf_num_possible_cpus();
	found.address = calloc((size_t)MAX(1, found.cpus) * THP_WATCHES, sizeof(u64));
	if (!rc && !found.address)
		rc = -ENOMEM;
	if (!rc)
		rc = distances_find(&before, &w);
	if (!rc)
		rc = where_open(&obj, &prog, &map);
	if (rc)
		return rc;
	if (bpf_map_update_elem(map, &zero, &w, BPF_ANY))
		rc = -errno;
	for (int cpu = 0; cpu < found.cpus && !rc; cpu++)
		rc = cpu_ask(prog, map, cpu, sums);
	if (!rc)
		rc = keyvals_read("/proc/vmstat", &after);
	bpf_object__close(obj);
	return rc ? rc : sums_prove(&before, &after, sums);
}

int thp_where_aim(struct perf_event_attr *attr, int cpu)
{
	u64 address;

	if (!found.tried)
		found.error = where_find();
	found.tried = true;
	if (found.error)
		return found.error;
	if (cpu >= found.cpus || attr->config >= THP_WATCHES)
		return -EINVAL;
	address = found.address[(size_t)cpu * THP_WATCHES + attr->config];
	if (!address)
		return -ENODEV;
	attr->config = 0;
	attr->bp_type = HW_BREAKPOINT_W;
	attr->bp_addr = address;
	attr->bp_len = HW_BREAKPOINT_LEN_8;
	return 0;
}
