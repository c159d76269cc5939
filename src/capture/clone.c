/* See clone.h. */
#include "capture/clone.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "capture/object.h"
#include "sys/root.h"

#define SAMPLES_PMU "/sys/bus/event_source/devices/%s/%s"

/* A copy of the object's read-only data with this configuration, as a map that cannot be written.
 */
static int rodata_make(const struct clone_source *src, const void *config, int *ret_old)
{
	struct bpf_object *obj = attach_object(src->attached);
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_RDONLY_PROG);
	_cleanup_free_ char *data = NULL;
	_cleanup_close_ int fd = -1;
	const void *from;
	struct bpf_map *map;
	size_t size;
	u32 offset, zero = 0;
	int rc = object_const(obj, src->config, src->config_size, &map, &offset);

	if (rc)
		return rc;
	from = bpf_map__initial_value(map, &size);
	data = malloc(size);
	if (!data)
		return -ENOMEM;
	memcpy(data, from, size);
	memcpy(data + offset, config, src->config_size);
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "clone.rodata", sizeof(u32),
		bpf_map__value_size(map), 1, &opts);
	if (fd < 0 || bpf_map_update_elem(fd, &zero, data, 0) || bpf_map_freeze(fd))
		return -errno;
	attach_keep_bytes(src->attached, object_map_bytes(fd));
	*ret_old = bpf_map__fd(map);
	return take_fd(fd);
}

static const struct clone_type {
	u32 prog, attach;
} types[] = {
	[CLONE_RAW] = {BPF_PROG_TYPE_RAW_TRACEPOINT, 0},
	[CLONE_TRACEPOINT] = {BPF_PROG_TYPE_TRACEPOINT, 0},
	[CLONE_SOFTWARE] = {BPF_PROG_TYPE_PERF_EVENT, 0},
	[CLONE_KPROBE] = {BPF_PROG_TYPE_KPROBE, 0},
	[CLONE_FENTRY] = {BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY},
	[CLONE_UPROBE] = {BPF_PROG_TYPE_KPROBE, 0},
	[CLONE_CALLED] = {BPF_PROG_TYPE_TRACEPOINT, 0},
};

static int fentry_target(const struct clone_event *e, struct bpf_prog_load_opts *opts)
{
	int id = libbpf_find_vmlinux_btf_id(
		e->name, e->returns ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY);

	if (id < 0)
		return id;
	opts->expected_attach_type = e->returns ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY;
	opts->attach_btf_id = (u32)id;
	return 0;
}

/*
 * Where the functions of the program begin, and their types. The verifier looks at a global one by
 * itself, but only where it knows by these that it is global; without, it would follow each call,
 * and give up. Only who prepares a load is told them.
 */
static VEC(struct bpf_func_info) functions;

static int functions_keep(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	u32 n = opts->func_info_cnt;

	(void)prog;
	(void)cookie;
	functions.n = 0;
	if (n && opts->func_info_rec_size != sizeof(*functions.v))
		return -EINVAL;
	if (vec_reserve(&functions, n))
		return -ENOMEM;
	if (n)
		memcpy(functions.v, opts->func_info, n * sizeof(*functions.v));
	functions.n = n;
	return 0;
}

int clone_prepare(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = functions_keep);
	static int handler = -1;

	if (handler < 0)
		handler = libbpf_register_prog_handler(
			CLONE_SECTION, BPF_PROG_TYPE_TRACEPOINT, 0, &opts);
	return MIN(handler, 0);
}

int clone_load(const struct clone_source *src, const struct clone_event *e, const void *config)
{
	const struct bpf_program *p =
		bpf_object__find_program_by_name(attach_object(src->attached), src->prog);
	size_t n = p ? bpf_program__insn_cnt(p) : 0;
	_cleanup_free_ struct bpf_insn *insns = calloc(MAX(n, 1UL), sizeof(*insns));
	LIBBPF_OPTS(bpf_prog_load_opts, opts);
	_cleanup_close_ int data = -1;
	int old = -1, fd, rc = e->how == CLONE_FENTRY ? fentry_target(e, &opts) : 0;

	if (rc || !p || !insns)
		return rc ? rc : p ? -ENOMEM : -ENOENT;
	if (functions.n > 1) {
		opts.func_info = functions.v;
		opts.func_info_cnt = (u32)functions.n;
		opts.func_info_rec_size = sizeof(*functions.v);
		opts.prog_btf_fd = (u32)bpf_object__btf_fd(attach_object(src->attached));
	}
	data = rodata_make(src, config, &old);
	if (data < 0)
		return data;
	memcpy(insns, bpf_program__insns(p), n * sizeof(*insns));
	for (size_t i = 0; i < n; i++)
		if (insns[i].code == (BPF_LD | BPF_IMM | BPF_DW) &&
			insns[i].src_reg == BPF_PSEUDO_MAP_VALUE && insns[i].imm == old)
			insns[i].imm = data;
	fd = bpf_prog_load(types[e->how].prog, src->prog, "GPL", insns, n, &opts);
	return fd < 0 ? -errno : fd;
}

static int perf_open(struct attached *a, struct perf_event_attr *attr, int cpu, int prog)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	int rc;

	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return attach_keep_link(a, fd);
}

static int software_open(struct attached *a, const struct clone_event *e, int prog)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = e->number,
		.freq = e->hz != 0,
		.sample_period = e->hz ? e->hz : 1,
	};
	int rc = 0;

	for (int cpu = 0; cpu < libbpf_num_possible_cpus() && !rc; cpu++) {
		rc = perf_open(a, &attr, cpu, prog);
		if (rc == -ENODEV) /* the CPU is offline */
			rc = 0;
	}
	return rc;
}

/*
 * Tracepoints and probes run their programs on all CPUs, wherever the perf event is, and also while
 * it is disabled; enabled, it would count as well. kprobes and uprobes are kinds of perf events
 * whose numbers /sys has.
 */
static int probe_open_pmu(struct attached *a, const struct clone_event *e, int prog)
{
	const char *pmu = e->how == CLONE_KPROBE ? "kprobe" : "uprobe";
	struct perf_event_attr attr = {.size = sizeof(attr), .disabled = 1};
	_cleanup_str_ struct str bit = {};
	u64 type;
	int rc = sys_read_u64(&type, SAMPLES_PMU, pmu, "type");

	if (!rc && e->returns) /* "config:0" */
		rc = sys_read(&bit, SAMPLES_PMU, pmu, "format/retprobe");
	if (rc)
		return rc;
	attr.type = (u32)type;
	if (e->returns) {
		const char *colon = strchr(str_get(&bit), ':');

		attr.config = 1ULL << (colon ? strtoul(colon + 1, NULL, 10) & 63 : 0);
	}
	attr.config1 = (u64)(uintptr_t)e->name; /* kprobe_func, uprobe_path */
	attr.config2 = e->number;               /* offset */
	return perf_open(a, &attr, 0, prog);
}

static int clone_event_open(struct attached *a, const struct clone_event *e, int prog)
{
	struct perf_event_attr tracepoint = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(tracepoint),
		.config = e->number,
		.disabled = 1,
	};
	int fd;

	switch (e->how) {
	case CLONE_TRACEPOINT:
		return perf_open(a, &tracepoint, 0, prog);
	case CLONE_SOFTWARE:
		return software_open(a, e, prog);
	case CLONE_KPROBE:
	case CLONE_UPROBE:
		return probe_open_pmu(a, e, prog);
	default:
		fd = bpf_raw_tracepoint_open(e->how == CLONE_RAW ? e->name : NULL, prog);
		return fd < 0 ? -errno : attach_keep_link(a, fd);
	}
}

int clone_put(const struct clone_source *src, const struct clone_event *e, int prog)
{
	int fd = attach_map(src->attached, e->name);

	return bpf_map_update_elem(fd, &(u32){(u32)e->number}, &prog, BPF_ANY) ? -errno : 0;
}

int clone_attach(const struct clone_source *src, const struct clone_event *e, const void *config)
{
	int prog = clone_load(src, e, config), rc;

	if (prog < 0)
		return prog;
	rc = clone_event_open(src->attached, e, prog);
	if (rc) {
		close(prog);
		return rc;
	}
	return attach_keep_prog(src->attached, prog);
}
