/*
 * Walks its own user stack in BPF by DWARF unwind tables, and holds the frames against libgcc's
 * backtrace(): at a depth of recursion, and there in a signal handler on a stack of its own.
 * usage: unwind OBJECT DEPTH [RUNS]: prints what it saw; with RUNS, also what a walk costs in the
 * kernel. unwind OBJECT DEPTH files: of the process nothing is told, so its tables are found by its
 * files. unwind OBJECT DEPTH late: it takes its stacks before it has tables, and walks the copies when
 * it has. unwind OBJECT libraries: only makes the tables of itself with 60 libraries. unwind
 * OBJECT tree: holds the kernel's tree of mappings against /proc/self/maps. unwind OBJECT fork: a
 * child that looks as its parent did. unwind OBJECT dropped: tables make room for others, and are
 * made again.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <glob.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "bpf/unwind.h"
#include "capture/reader/reader.h"
#include "capture/unwind/unwind_files.h"
#include "capture/unwind/unwind_late.h"
#include "capture/unwind/unwind_layouts.h"
#include "event/meta.h"
#include "sys/process/proc.h"

static struct loader {
	struct bpf_object *object;
	struct module_table *modules;
	struct unwind_files *files;
	struct reader *reader;
	struct unwind_layouts *layouts;
	struct process_map map;
} l;

static void die(const char *what, int rc)
{
	fprintf(stderr, "unwind: %s: %s\n", what, strerror(rc < 0 ? -rc : rc));
	exit(1);
}

static int map_fd(const char *name)
{
	return bpf_object__find_map_fd_by_name(l.object, name);
}

static u32 insns_of(const char *log)
{
	const char *at = strstr(log, "processed ");

	return at ? (u32)atoi(at + strlen("processed ")) : 0;
}

static void object_load(const char *path)
{
	static char log[1 << 16];
	LIBBPF_OPTS(bpf_object_open_opts, opts, .kernel_log_buf = log,
		.kernel_log_size = sizeof(log), .kernel_log_level = 4);
	u64 start;

	l.object = bpf_object__open_file(path, &opts);
	if (!l.object)
		die("cannot open the object", errno);
	if (bpf_map__set_max_entries(bpf_object__find_map_by_name(l.object, "user_stacks"), 64))
		die("a map", errno);
	start = clock_mono_ns();
	if (bpf_object__load(l.object)) {
		fputs(log, stderr);
		die("the kernel refuses the program", errno);
	}
	printf("loaded_ms=%.1f verified_insns=%u\n", (double)(clock_mono_ns() - start) / 1e6,
		insns_of(log));
}

static void process_publish(pid_t pid, const struct unwind_layout *layout)
{
	struct unwind_process value = {
		.first = layout->first, .n = layout->n, .state = UNWIND_READY};
	struct proc_stat st;
	u64 key = (u64)pid;

	if (proc_stat_read(pid, &st))
		die("stat", EIO);
	value.identity = unwind_identity(st.end_code, st.start_stack, st.start_brk);
	if (bpf_map_update_elem(map_fd("unwind_procs"), &key, &value, BPF_ANY))
		die("the process", errno);
}

static void process_forget(void)
{
	u64 key = (u64)getpid();

	if (bpf_map_delete_elem(map_fd("unwind_procs"), &key))
		die("the process", errno);
}

static const struct unwind_layout *tables_load(void)
{
	const struct unwind_layout *layout;
	const struct unwind_files_stats *stats;
	u64 start = clock_mono_ns();
	clock_t cpu = clock();

	if (module_table_new(0, &l.modules) || reader_open(&l.reader) ||
		unwind_files_open(l.modules, l.reader, map_fd("unwind_pages"),
			map_fd("unwind_rules"), map_fd("unwind_known"), UNWIND_PAGES_MAX,
			&l.files) ||
		unwind_layouts_open(map_fd("unwind_maps"), l.files, &l.layouts))
		die("the maps", EIO);
	process_map_init(&l.map, l.modules, getpid());
	if (process_map_read(&l.map) || unwind_layouts_use(l.layouts, &l.map, &layout))
		die("the tables", EIO);
	process_publish(getpid(), layout);
	stats = unwind_files_stats(l.files);
	printf("files=%u eh_frame_bytes=%llu words_bytes=%llu pages=%u mappings=%u "
	       "tables_ms=%.1f cpu_ms=%.1f\n",
		stats->files, stats->cfi_bytes, stats->words_bytes, stats->pages, layout->n,
		(double)(clock_mono_ns() - start) / 1e6,
		(double)(clock() - cpu) * 1e3 / CLOCKS_PER_SEC);
	return layout;
}

static int program_run(const char *name)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int rc = bpf_prog_test_run_opts(
		bpf_program__fd(bpf_object__find_program_by_name(l.object, name)), &opts);

	if (rc)
		die("running it", errno);
	return (int)opts.retval;
}

static double cost_ns(const char *name, int runs)
{
	int fd = bpf_program__fd(bpf_object__find_program_by_name(l.object, name));
	struct bpf_prog_info before = {}, after = {};
	u32 len = sizeof(before);

	bpf_obj_get_info_by_fd(fd, &before, &len);
	for (int i = 0; i < runs; i++)
		program_run(name);
	len = sizeof(after);
	bpf_obj_get_info_by_fd(fd, &after, &len);
	return (double)(after.run_time_ns - before.run_time_ns) /
	       (double)(after.run_cnt - before.run_cnt);
}

/* Frames become the addresses that they have here. */
static void frames_locate(struct user_stack *w)
{
	for (u32 i = 0; i < w->n; i++) {
		u64 f = w->frames[i];

		if (f & STACK_PLACE)
			w->frames[i] = process_map_address(
				&l.map, STACK_PLACE_MODULE(f), STACK_PLACE_OFFSET(f));
	}
}

/* The frames from this function's caller on are the same for both. */
static __attribute__((noinline)) int compare_here(const char *where, int runs)
{
	struct user_stack w;
	void *expected[512];
	int n = backtrace(expected, ARRAY_SIZE(expected)), own = 0, all;
	u32 key = (u32)program_run("unwind_self");

	if (bpf_map_lookup_elem(map_fd("user_stacks"), &key, &w))
		die("the stack", errno);
	frames_locate(&w);
	while (own < (int)w.n && w.frames[own] != (u64)(uintptr_t)expected[1])
		own++;
	all = MIN(own + n - 1, STACK_DEPTH_MAX);
	printf("%s: frames=%u expected=%d method='%s' same=%d\n", where, w.n, all,
		stack_method_text((u16)(w.method | w.detail << 8)),
		all == (int)w.n &&
			!memcmp(w.frames + own, expected + 1, (size_t)(all - own) * sizeof(u64)));
	if (runs) {
		int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);

		printf("walk_ns=%.0f kernel_walk_ns=%.0f kernel_frames=%d nothing_ns=%.0f\n",
			cost_ns("unwind_self", runs), cost_ns("kernel_walk", runs),
			program_run("kernel_walk") / 8, cost_ns("nothing", runs));
		close(stats);
	}
	return n;
}

static void on_signal(int signal)
{
	(void)signal;
	compare_here("in a signal handler", 0);
}

static __attribute__((noinline)) int descend(int depth, int runs)
{
	volatile char block[64];
	int n;

	block[depth % 64] = (char)depth;
	if (depth) {
		n = descend(depth - 1, runs);
	} else {
		n = compare_here("here", runs);
		raise(SIGUSR1);
	}
	return n + block[depth % 64];
}

/* Calls a function through code that has a frame pointer and no call-frame information. */
static int (*code_make(void))(int (*fn)(const char *where, int runs), const char *where)
{
	/* push rbp; mov rbp, rsp; mov rax, rdi; mov rdi, rsi; xor esi, esi; call rax; pop rbp; ret
	 */
	static const u8 code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x31,
		0xf6, 0xff, 0xd0, 0x5d, 0xc3};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		die("memory", errno);
	memcpy(page, code, sizeof(code));
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC))
		die("code", errno);
	return (int (*)(int (*)(const char *, int), const char *))page;
}

/* As in unwind.bpf.c. */
struct asked {
	u64 address, start, end;
};

static int asked_map(void)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, l.object)
	{
		if (strstr(bpf_map__name(map), ".bss"))
			return bpf_map__fd(map);
	}
	die("the question", ENOENT);
	return -1;
}

/* Does the kernel's tree have a mapping of these bounds there? All 0: none. */
static bool tree_has(int map, u64 address, u64 start, u64 end)
{
	struct asked asked = {.address = address};
	u32 zero = 0;

	if (bpf_map_update_elem(map, &zero, &asked, BPF_ANY))
		die("asking", errno);
	program_run("tree");
	if (bpf_map_lookup_elem(map, &zero, &asked))
		die("the answer", errno);
	return asked.start == start && asked.end == end;
}

/* All of maps, at their first and last byte; and what is before and behind is not there. */
static int tree_compare(void)
{
	u64 start, end, before = 0, n = 0, bad = 0;
	_cleanup_str_ struct str maps = {};
	int map = asked_map();

	for (int i = 0; i < 400; i++) /* so that trees have levels; no two are one */
		mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (file_read("/proc/self/maps", &maps))
		die("the mappings", EIO);
	for (const char *at = str_get(&maps);
		sscanf(at, "%llx-%llx", &start, &end) == 2 && !(start >> 47); n++) {
		bad += !tree_has(map, start, start, end) || !tree_has(map, end - 1, start, end);
		bad += start != before && !tree_has(map, start - 1, 0, 0);
		before = end;
		at = strchr(at, '\n') + 1; /* the last one, [vsyscall], is none */
	}
	printf("mappings=%llu bad=%llu\n", n, bad);
	return bad || n < 400;
}

/* Until the mappings of this process were changed as often as those of another one. */
static void mappings_change(u32 until)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; (u32)program_run("changes") != until; i++)
		if (i > 100000 || mprotect(page, 4096, i % 2 ? PROT_READ : PROT_NONE))
			die("the mappings", ERANGE);
}

/* What is noted of a process, each CPU has for itself. */
static void cpu_stay(void)
{
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu))
		die("the CPU", errno);
}

/* A fork that has code of its own, and as many changes of its mappings as its parent: what was
 * noted of the parent must not be taken for the child's. */
static int fork_compare(void)
{
	u32 changes;
	int status;
	pid_t child;

	process_forget();
	cpu_stay();
	changes = (u32)program_run("changes");
	if (!changes)
		die("this kernel does not count changes of mappings", ENOTSUP);
	mappings_change(changes + 2000);
	compare_here("its parent", 0);
	changes = (u32)program_run("changes");
	fflush(stdout);
	child = fork();
	if (!child) {
		int (*code)(int (*)(const char *, int), const char *) = code_make();

		mappings_change(changes);
		exit(code(compare_here, "in a fork") < 0);
	}
	return waitpid(child, &status, 0) != child || status;
}

/* The tables of all libraries of this host, one after the other, in the room that there is. */
static void libraries_warm(void)
{
	glob_t found = {};

	glob("/usr/lib/x86_64-linux-gnu/*.so.*", 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct module_sight sight = {.pid = getpid(), .path = found.gl_pathv[i]};
		struct stat st;
		u32 module;

		if (stat(sight.path, &st))
			continue;
		sight.dev = st.st_dev;
		sight.ino = st.st_ino;
		if (!module_table_sight(l.modules, &sight, &module))
			unwind_files_warm(l.files, module);
	}
	globfree(&found);
	unwind_files_commit(l.files);
}

static const struct timespec rest = {.tv_sec = 1, .tv_nsec = 100000000};

/* What a loader does, in another process, so that the mappings of this one stay as they were noted:
 * at each byte from `in` the next thing. */
static void dropped_loader(const struct unwind_layout *layout, int in, int out)
{
	const struct unwind_files_stats *stats = unwind_files_stats(l.files);
	char go;

	unwind_files_limit(l.files, stats->pages);
	unwind_layouts_unuse(l.layouts, layout);
	nanosleep(&rest, NULL);
	if (read(in, &go, 1) != 1)
		die("reading", errno);
	libraries_warm();
	dprintf(1, "dropped=%u pages=%u\n", stats->dropped, stats->pages);
	if (write(out, "", 1) != 1 || read(in, &go, 1) != 1)
		die("the other process", errno);
	nanosleep(&rest, NULL);
	if (unwind_layouts_use(l.layouts, &l.map, &layout))
		die("the tables", EIO);
	process_publish(getppid(), layout);
	exit(write(out, "", 1) != 1);
}

/* Tables that nobody uses make room for others. Until they are made again, stacks are not called
 * exact. */
static int dropped_compare(const struct unwind_layout *layout)
{
	int to[2], from[2];
	char done;

	process_forget();
	cpu_stay();
	compare_here("looked up", 0);
	if (pipe(to) || pipe(from))
		die("a pipe", errno);
	fflush(stdout);
	if (!fork())
		dropped_loader(layout, to[0], from[1]);
	compare_here("unused", 0);
	fflush(stdout);
	if (write(to[1], "", 1) != 1 || read(from[0], &done, 1) != 1)
		die("the loader", errno);
	compare_here("dropped", 0);
	fflush(stdout);
	if (write(to[1], "", 1) != 1 || read(from[0], &done, 1) != 1)
		die("the loader", errno);
	compare_here("made again", 0);
	return 0;
}

/* The libraries that this process has, by what they are. */
struct loaded {
	struct {
		dev_t dev;
		ino_t ino;
	} v[64];
	size_t n;
};

static int loaded_add(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct loaded *loaded = ctx;
	struct stat st;

	(void)size;
	if (info->dlpi_name[0] != '/' || stat(info->dlpi_name, &st))
		return 0; /* the program, the vdso */
	if (loaded->n == ARRAY_SIZE(loaded->v))
		die("libraries", E2BIG);
	loaded->v[loaded->n].dev = st.st_dev;
	loaded->v[loaded->n++].ino = st.st_ino;
	return 0;
}

static bool loaded_has(const struct loaded *loaded, const struct stat *st)
{
	for (size_t i = 0; i < loaded->n; i++)
		if (loaded->v[i].dev == st->st_dev && loaded->v[i].ino == st->st_ino)
			return true;
	return false;
}

/* Maps the code of libraries of this host, as if they were loaded, until it has n. */
static void libraries_map(size_t n)
{
	struct loaded loaded = {};
	glob_t found = {};

	dl_iterate_phdr(loaded_add, &loaded);
	n -= loaded.n;
	glob("/usr/lib/x86_64-linux-gnu/*.so.*", 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc && n; i++) {
		int fd = open(found.gl_pathv[i], O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		struct stat st;

		if (fd < 0)
			continue;
		if (!fstat(fd, &st) && !loaded_has(&loaded, &st))
			n -= mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
				     0) != MAP_FAILED;
		close(fd);
	}
	globfree(&found);
	if (n)
		die("this host has fewer libraries", ENOENT);
}

/* Stacks of before there were tables: here, and in a signal handler on the same stack. */
static struct early {
	u32 key;
	int n;
	void *expected[512];
	size_t size;
	struct unwind_copy copy;
} early[2];

static int early_copied(void *arg, void *data, size_t size)
{
	struct early *e = arg;

	if (size > sizeof(e->copy))
		die("a copy", EFBIG);
	memcpy(&e->copy, data, size);
	e->size = size;
	return 0;
}

static __attribute__((noinline)) void early_take(struct early *e)
{
	struct ring_buffer *ring = ring_buffer__new(map_fd("unwind_copies"), early_copied, e, NULL);

	if (!ring)
		die("the ring", errno);
	e->n = backtrace(e->expected, ARRAY_SIZE(e->expected));
	e->key = (u32)program_run("unwind_self");
	if (ring_buffer__consume(ring) != 1)
		die("no copy came", ENOENT);
	ring_buffer__free(ring);
}

static void early_signal(int signal)
{
	(void)signal;
	early_take(&early[1]);
}

static __attribute__((noinline)) int early_descend(int depth)
{
	volatile char block[64];
	int n = 0;

	block[depth % 64] = (char)depth;
	if (depth) {
		n = early_descend(depth - 1);
	} else {
		early_take(&early[0]);
		raise(SIGUSR1);
	}
	return n + block[depth % 64];
}

static const struct unwind_layout *late_layout(void *ctx, u64 identity)
{
	struct proc_stat st;

	if (proc_stat_read(getpid(), &st) ||
		identity != unwind_identity(st.end_code, st.start_stack, st.start_brk))
		die("the address space", ESTALE);
	return ctx;
}

/* The frames from early_take's caller on are the same. */
static void early_compare(const char *where, const struct early *e)
{
	struct user_stack w;
	int own = 0, all;

	if (bpf_map_lookup_elem(map_fd("user_stacks"), &e->key, &w))
		die("the stack", errno);
	frames_locate(&w);
	while (own < (int)w.n && w.frames[own] != (u64)(uintptr_t)e->expected[1])
		own++;
	all = MIN(own + e->n - 1, STACK_DEPTH_MAX);
	printf("%s: frames=%u expected=%d method='%s' same=%d\n", where, w.n, all,
		stack_method_text((u16)(w.method | w.detail << 8)),
		all == (int)w.n &&
			!memcmp(w.frames + own, e->expected + 1, (size_t)(all - own) * sizeof(u64)));
}

static int late_compare(int depth)
{
	const struct sigaction action = {.sa_handler = early_signal};
	const struct unwind_layout *layout;
	struct unwind_late *late;

	backtrace(early[0].expected, 1); /* loads what it needs */
	if (sigaction(SIGUSR1, &action, NULL))
		die("the signal", errno);
	early_descend(depth);
	layout = tables_load();
	early_compare("too early", &early[0]);
	if (unwind_late_open(l.files, l.layouts, &late))
		die("memory", ENOMEM);
	for (size_t i = 0; i < ARRAY_SIZE(early); i++) {
		/* cut short, it is none: it claims more bytes than came */
		if (unwind_late_add(late, &early[i].copy, early[i].size - 1) ||
			unwind_late_add(late, &early[i].copy, early[i].size))
			die("a copy", EIO);
	}
	if (unwind_late_walk(late, map_fd("user_stacks"), late_layout, (void *)layout))
		die("walking", EIO);
	early_compare("late", &early[0]);
	early_compare("late, in a signal handler", &early[1]);
	printf("walked=%llu\n", unwind_late_counts(late)->stacks[STACK_EXACT][0]);
	unwind_late_close(late);
	return 0;
}

int main(int argc, char **argv)
{
	static char other_stack[1 << 18];
	const stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	const struct unwind_layout *layout;

	if (argc < 3)
		die("usage: unwind OBJECT DEPTH [RUNS]", EINVAL);
	if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL))
		die("the signal", errno);
	object_load(argv[1]);
	if (argc > 3 && !strcmp(argv[3], "late"))
		return late_compare(atoi(argv[2]));
	if (!strcmp(argv[2], "libraries"))
		libraries_map(60);
	layout = tables_load();
	if (!strcmp(argv[2], "libraries"))
		return 0;
	if (!strcmp(argv[2], "tree"))
		return tree_compare();
	if (!strcmp(argv[2], "fork"))
		return fork_compare();
	if (!strcmp(argv[2], "dropped"))
		return dropped_compare(layout);
	if (argc > 3 && !strcmp(argv[3], "files"))
		process_forget();
	return descend(atoi(argv[2]), argc > 3 ? atoi(argv[3]) : 0) < 0;
}
