/* See object.h. */
#include "capture/object.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include "base/file.h"
#include "capture/attach.h"
#include "capture/embedded.h"
#include "capture/kbtf.h"
#include "capture/map_memory.h"
#include "sys/kernel/tracefs.h"

#define SCOPE_TASKS 16384
#define STACK_ENTRIES 16384
#define RECENT_STACKS 4096UL
#define RECENT_STACKS_CPU 256UL /* the kernel keeps 128 free ones ready on each CPU */
#define TABLE_BYTES (32UL << 20)
#define TABLE_ENTRIES 10240
#define GENTLE_ENTRIES 4096
#define STACKS_ENTRIES 65536 /* of a table whose keys have stacks, many a process */

/* libbpf's messages have no context argument. Of those since the last open the first line is kept,
 * and what the verifier said. */
static _Thread_local char first_line[160];
static _Thread_local struct verifier_said refusal;

static int log_line(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	_cleanup_free_ char *text = NULL;

	if (level != LIBBPF_WARN)
		return 0;
	if (vasprintf(&text, fmt, ap) < 0) {
		text = NULL;
		return 0;
	}
	verifier_read(text, &refusal);
	if (!first_line[0])
		snprintf(first_line, sizeof(first_line), "%.*s", (int)strcspn(text, "\n"), text);
	return 0;
}

const char *object_log(void)
{
	return first_line;
}

const struct verifier_said *object_refusal(void)
{
	return &refusal;
}

/* Writes the types an object needs where its open options said they would be. */
static int types_write(struct bpf_object *obj, int fd)
{
	struct btf *types;
	const void *raw;
	u32 size = 0;
	ssize_t n = 0;
	int rc = kbtf_extract(bpf_object__btf(obj), &types);

	if (rc)
		return rc;
	raw = btf__raw_data(types, &size);
	if (!raw)
		rc = -ENOMEM;
	else if (ftruncate(fd, 0) || (n = pwrite(fd, raw, size, 0)) < 0)
		rc = -errno;
	else if (n != (ssize_t)size)
		rc = -EFBIG; /* a limit on the size of files cut it (ulimit -f) */
	btf__free(types);
	return rc;
}

int object_types(void)
{
	int fd = memfd_create("memwhy-btf", MFD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int object_open_apart(const struct embedded *e, int types_fd, struct bpf_object **ret)
{
	_cleanup_free_ void *elf = NULL; /* libbpf keeps nothing of it */
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	struct bpf_program *prog;
	struct bpf_object *obj;
	char path[64];
	size_t size;
	int rc = e ? embedded_unpack(e, &elf, &size) : -ENOENT;

	if (rc)
		return rc;
	first_line[0] = '\0';
	refusal = (struct verifier_said){};
	libbpf_set_print(log_line);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", types_fd);
	opts.btf_custom_path = path;
	obj = bpf_object__open_mem(elf, size, &opts);
	if (!obj)
		return -errno;
	rc = types_write(obj, types_fd);
	if (rc) {
		bpf_object__close(obj);
		return rc;
	}
	bpf_object__for_each_program(prog, obj) bpf_program__set_autoload(prog, false);
	*ret = obj;
	return 0;
}

int object_open(const struct embedded *e, struct bpf_object **ret)
{
	static int fd = -1; /* read when the object is loaded, so it stays open */

	if (fd < 0)
		fd = object_types();
	return fd < 0 ? fd : object_open_apart(e, fd, ret);
}

/* Where a variable lies in the read-only data of the object. */
static int const_find(struct bpf_object *obj, const char *name, u32 *ret_offset, u32 *ret_size)
{
	const struct btf *btf = bpf_object__btf(obj);
	int sec = btf ? btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC) : -ENOENT;
	const struct btf_type *t = sec < 0 ? NULL : btf__type_by_id(btf, (u32)sec);
	const struct btf_var_secinfo *v = t ? btf_var_secinfos(t) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++, v++) {
		const struct btf_type *var = btf__type_by_id(btf, v->type);

		if (strcmp(btf__name_by_offset(btf, var->name_off), name))
			continue;
		*ret_offset = v->offset;
		*ret_size = v->size;
		return 0;
	}
	return -ENOENT;
}

int object_const(struct bpf_object *obj, const char *name, size_t size, struct bpf_map **ret_map,
	u32 *ret_offset)
{
	struct bpf_map *map, *found = NULL;
	u32 offset, var_size;
	size_t data_size = 0;
	int rc = const_find(obj, name, &offset, &var_size);

	if (rc)
		return rc;
	bpf_object__for_each_map(map, obj)
	{
		const char *n = bpf_map__name(map);

		if (strstr(n, ".rodata") && !strstr(n, ".rodata.") &&
			bpf_map__initial_value(map, &data_size))
			found = map;
	}
	if (!found || var_size != size || offset + size > data_size)
		return -EINVAL;
	*ret_map = found;
	*ret_offset = offset;
	return 0;
}

int attach_set_const(struct bpf_object *obj, const char *name, const void *value, size_t size)
{
	struct bpf_map *map;
	size_t data_size;
	u32 offset;
	int rc = object_const(obj, name, size, &map, &offset);

	if (!rc)
		memcpy((char *)bpf_map__initial_value(map, &data_size) + offset, value, size);
	return rc;
}

int attach_set_entries(struct bpf_object *obj, const char *map, u32 entries)
{
	struct bpf_map *m = bpf_object__find_map_by_name(obj, map);

	return m ? bpf_map__set_max_entries(m, entries) : -ENOENT;
}

static u32 entries_fit(size_t most, size_t key_size, size_t value_size)
{
	size_t cpus = (size_t)MAX(1, libbpf_num_possible_cpus());
	size_t entry = key_size + 64 + cpus * value_size;
	size_t entries = TABLE_BYTES / entry;

	return (u32)(entries > most ? most : entries < 512 ? 512 : entries);
}

/* The kernel makes values one by one, which is a fifth of the start of `check`; and most keys are
 * of tasks. Who watches for hours is not to be woken too often because a table is filling up. */
static size_t gentle_entries(const struct capture *c)
{
	size_t least = c->opt.watch_ns ? GENTLE_ENTRIES : GENTLE_ENTRIES / 2;
	struct sysinfo now;
	size_t tasks = sysinfo(&now) ? GENTLE_ENTRIES : now.procs;

	return MIN(MAX(4 * tasks, least), (size_t)GENTLE_ENTRIES);
}

u32 attach_table_entries(const struct capture *c, size_t key_size, size_t value_size)
{
	size_t most = c->opt.gentle ? gentle_entries(c) : TABLE_ENTRIES;

	return entries_fit(most, key_size, value_size);
}

u32 attach_stacks_entries(const struct capture *c, size_t key_size, size_t value_size)
{
	bool many = !c->opt.gentle && !c->opt.few_stacks &&
		    (c->opt.user_stacks || c->opt.kernel_stacks);

	return many ? entries_fit(STACKS_ENTRIES, key_size, value_size)
		    : attach_table_entries(c, key_size, value_size);
}

static u32 ring_entries(const struct capture_options *opt)
{
	u32 size = 4096;

	while (opt->each && size < opt->ring_bytes && size < 1U << 30)
		size *= 2;
	return size;
}

/* Of version 2 the helper for ancestors is quickest; tracing programs have it since dbcc1ba26e43 in
 * 5.13. */
static u8 scope_by_cgroup(const struct capture_options *opt)
{
	static int has_helper = -1;

	if (!opt->scope.cgroup_id)
		return SCOPE_CGROUP_NONE;
	if (opt->cgroup_version != SCOPE_CGROUP_V2)
		return opt->cgroup_version;
	if (has_helper < 0)
		has_helper = libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT,
				     BPF_FUNC_get_current_ancestor_cgroup_id, NULL) == 1;
	return has_helper ? SCOPE_CGROUP_V2 : SCOPE_CGROUP_V2_WALK;
}

/* See bpf/recent.bpf.h. */
static bool stacks_are_recent(const struct capture_options *o)
{
	return o->gentle && o->plain_stacks && o->user_stacks;
}

static struct scope_config scope_to_config(const struct capture *c)
{
	const struct capture_options *opt = &c->opt;
	struct scope_config s = {
		.by_task = opt->scope.by_task || opt->scope.tasks.n,
		.by_comm = opt->scope.comm[0] != '\0',
		.by_cgroup = scope_by_cgroup(opt),
		.follow = opt->scope.follow,
		.cgroup_of = kbtf_available() || opt->cgroup_version != SCOPE_CGROUP_V1
				     ? opt->cgroup_version
				     : SCOPE_CGROUP_NONE,
		.user_stacks = opt->user_stacks,
		.kernel_stacks = opt->kernel_stacks,
		.each = opt->each,
		.by_thread = capture_by(c, "thread"),
		.recent = stacks_are_recent(opt),
		.except = opt->with_self ? 0 : (u32)getpid(),
		.task = opt->scope.tasks.n ? opt->scope.tasks.v[0] : 0,
		.wake_bytes = budget_ring(ring_entries(opt), c->shrink) / 4,
		.stack_every = opt->stack_every,
		.cgroup_level = opt->scope.cgroup_level,
		.cgroup_id = opt->scope.cgroup_id,
	};

	memcpy(s.comm, opt->scope.comm, sizeof(s.comm));
	return s;
}

const char *object_fork_program(void)
{
	return kbtf_available() ? "scope_fork" : "scope_fork_classic";
}

/* Where tracefs says the child's id is. -EOPNOTSUPP: it does not, and there is no BTF either. */
static int fork_prepare(struct bpf_object *obj)
{
	struct tracepoint_format format = {};
	const struct tracepoint_field *f;
	char dir[PATH_MAX];
	int rc = tracefs_find(dir);
	u32 offset;

	if (kbtf_available())
		return 0;
	if (!rc)
		rc = tracepoint_format_read(dir, "sched", "sched_process_fork", &format);
	f = rc ? NULL : tracepoint_format_field(&format, "child_pid");
	offset = f ? f->offset : 0;
	tracepoint_format_free(&format);
	return offset ? attach_set_const(obj, "fork_child_offset", &offset, sizeof(offset))
		      : -EOPNOTSUPP;
}

/* Objects that walk user stacks by themselves (unwind.bpf.h) have a map of their own for them. */
static int stacks_prepare(struct bpf_object *obj, const struct capture *c)
{
	u32 entries = c->opt.gentle ? STACK_ENTRIES / 8 : STACK_ENTRIES;
	size_t cpus = (size_t)MAX(1, libbpf_num_possible_cpus());
	size_t recent = MIN(MAX(RECENT_STACKS, RECENT_STACKS_CPU * cpus),
		TABLE_BYTES / (sizeof(struct recent_stack) + 64));
	int rc = attach_set_entries(obj, "stacks", entries);

	if (!rc && stacks_are_recent(&c->opt) && bpf_object__find_map_by_name(obj, "recent_stacks"))
		rc = attach_set_entries(obj, "recent_stacks", (u32)recent);
	if (!rc && c->opt.user_stacks && bpf_object__find_map_by_name(obj, "user_stacks"))
		rc = attach_set_entries(obj, "user_stacks", entries);
	return rc;
}

const char *const object_shared_names[SHARED_MAPS] = {
	[SHARED_STACKS] = "stacks",
	[SHARED_USER_STACKS] = "user_stacks",
	[SHARED_RECENT_STACKS] = "recent_stacks",
	[SHARED_RECENT_WALKS] = "recent_walks",
	[SHARED_TASKS] = "scope_tasks",
	[SHARED_SELF] = "scope_self",
	[SHARED_UNWIND_PAGES] = "unwind_pages",
	[SHARED_UNWIND_RULES] = "unwind_rules",
	[SHARED_UNWIND_MAPS] = "unwind_maps",
	[SHARED_UNWIND_PROCS] = "unwind_procs",
	[SHARED_UNWIND_ASKS] = "unwind_asks",
	[SHARED_UNWIND_COPIES] = "unwind_copies",
	[SHARED_UNWIND_COPY] = "unwind_copy",
	[SHARED_UNWIND_COUNTS] = "unwind_counts",
	[SHARED_UNWIND_WALKS] = "unwind_walks",
	[SHARED_UNWIND_KNOWN] = "unwind_known",
};

static int shared_reuse(struct bpf_object *obj, const struct capture *c)
{
	int rc = 0;

	for (size_t i = 0; i < SHARED_MAPS && !rc; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(obj, object_shared_names[i]);

		if (map && c->shared[i])
			rc = bpf_map__reuse_fd(map, c->shared[i] - 1);
	}
	return rc;
}

u32 object_share(struct bpf_object *obj, struct capture *c)
{
	u32 owned = 0;

	for (size_t i = 0; i < SHARED_MAPS; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(obj, object_shared_names[i]);
		int fd = map && !c->shared[i] ? fcntl(bpf_map__fd(map), F_DUPFD_CLOEXEC, 3) : -1;

		if (fd < 0)
			continue;
		c->shared[i] = fd + 1;
		owned |= 1U << i;
		if (i == SHARED_SELF)
			(void)capture_self_send(c);
	}
	return owned;
}

bool object_is_shared(struct bpf_object *obj, const struct capture *c)
{
	for (size_t i = 0; i < SHARED_MAPS; i++)
		if (!c->shared[i] && bpf_object__find_map_by_name(obj, object_shared_names[i]))
			return false;
	return true;
}

bool object_owns(u32 bits, const char *map)
{
	for (size_t i = 0; i < SHARED_MAPS; i++)
		if (!strcmp(map, object_shared_names[i]))
			return bits >> i & 1;
	return true;
}

int object_prepare(struct bpf_object *obj, const struct capture *c)
{
	struct scope_config s = scope_to_config(c);
	bool walks = s.by_cgroup == SCOPE_CGROUP_V1 || s.by_cgroup == SCOPE_CGROUP_V2_WALK;
	int rc = walks && !kbtf_available() ? -EOPNOTSUPP : 0;

	if (!rc)
		rc = attach_set_const(obj, "scope", &s, sizeof(s));

	if (!rc && s.follow)
		rc = fork_prepare(obj);
	if (!rc && s.by_task)
		rc = attach_set_entries(obj, "scope_tasks", SCOPE_TASKS);
	if (!rc && (s.user_stacks || s.kernel_stacks))
		rc = stacks_prepare(obj, c);
	if (!rc)
		rc = attach_set_entries(obj, "ring", ring_entries(&c->opt));
	return rc ? rc : shared_reuse(obj, c);
}

int object_may_load(void)
{
	struct bpf_insn prog[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "memwhy_may", "GPL", prog, 2, NULL);

	if (fd < 0)
		return errno == EPERM ? -EPERM : 0;
	close(fd);
	return 0;
}

static void counts_sum(struct probe_counts *sum, const struct probe_counts *v)
{
	sum->seen += v->seen;
	sum->lost_ring += v->lost_ring;
	sum->lost_map += v->lost_map;
	sum->lost_state += v->lost_state;
	sum->lost_busy += v->lost_busy;
	sum->lost_stack += v->lost_stack;
	sum->lost_task += v->lost_task;
	sum->lost_scope += v->lost_scope;
	sum->rescued += v->rescued;
	sum->unpaired += v->unpaired;
}

int attach_counts(struct attached *a, struct probe_counts *ret)
{
	_cleanup_free_ struct probe_counts *v =
		calloc((size_t)MAX(1, libbpf_num_possible_cpus()), sizeof(*v));
	struct bpf_map *map = bpf_object__find_map_by_name(attach_object(a), "probe_counts");
	struct probe_counts sum = {};
	u64 missed;

	if (!v)
		return -ENOMEM;
	for (u32 k = 0; k < bpf_map__max_entries(map); k++) {
		if (bpf_map_lookup_elem(bpf_map__fd(map), &k, v))
			return -errno;
		for (int i = 0; i < libbpf_num_possible_cpus(); i++)
			counts_sum(&sum, &v[i]);
	}
	missed = attach_missed(a);
	missed -= MIN(missed, sum.rescued);
	sum.lost_busy += missed;
	sum.seen += missed;
	*ret = sum;
	return 0;
}

u64 object_map_bytes(int fd)
{
	_cleanup_str_ struct str s = {};
	char path[64];
	const char *p;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (file_read(path, &s))
		return 0;
	p = strstr(str_get(&s), "memlock:");
	return p ? strtoull(p + 8, NULL, 10) : 0;
}

static void cost_add(int fd, u64 *ns, u64 *runs)
{
	struct bpf_prog_info info = {};
	u32 len = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
		return;
	*ns += info.run_time_ns;
	*runs += info.run_cnt;
}

int attach_cost(struct attached *a, u64 *ret_ns, u64 *ret_runs, u64 *ret_map_bytes)
{
	struct bpf_program *prog;
	struct bpf_map *map;
	u64 ns = 0, runs = 0, bytes;
	int fd;

	bpf_object__for_each_program(prog, attach_object(a))
		cost_add(bpf_program__fd(prog), &ns, &runs);
	for (size_t i = 0; (fd = attach_kept(a, i)) >= 0; i++)
		cost_add(fd, &ns, &runs);
	*ret_ns = ns;
	*ret_runs = runs;
	if (!ret_map_bytes)
		return 0;
	bytes = attach_keep_bytes(a, 0);
	bpf_object__for_each_map(map, attach_object(a))
	{
		if (object_owns(attach_owned(a), bpf_map__name(map)))
			bytes += object_map_bytes(bpf_map__fd(map));
	}
	*ret_map_bytes = bytes;
	return 0;
}
