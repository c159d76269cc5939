/*
 * Walks its own user stack in BPF by call-frame tables, and holds the frames against libgcc's
 * backtrace(): at a depth of recursion, and there in a signal handler on a stack of its own.
 * usage: unwind OBJECT DEPTH [RUNS]: prints what it saw; with RUNS, also what a walk costs in the
 * kernel. unwind OBJECT DEPTH files: of the process nothing is told, so its tables are found by its
 * files. unwind OBJECT libraries: only makes the tables of itself and of 60 libraries more.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "bpf/unwind.h"
#include "capture/unwind_files.h"
#include "capture/unwind_layouts.h"
#include "cfi/walk.h"
#include "event/meta.h"
#include "sys/proc.h"

static struct loader {
	struct bpf_object *object;
	struct module_table *modules;
	struct unwind_files *files;
	struct unwind_layouts *layouts;
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

static void process_publish(const struct unwind_layout *layout)
{
	struct unwind_process value = {
		.first = layout->first, .n = layout->n, .state = UNWIND_READY};
	struct proc_stat st;
	u64 key = (u64)getpid();

	if (proc_stat_read(getpid(), &st))
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

static void tables_load(void)
{
	const struct unwind_layout *layout;
	const struct unwind_files_stats *stats;
	struct process_map map;
	u64 start = clock_mono_ns();
	clock_t cpu = clock();

	if (module_table_new(0, &l.modules) ||
		unwind_files_open(l.modules, map_fd("unwind_pages"), map_fd("unwind_rules"),
			map_fd("unwind_known"), UNWIND_PAGES_MAX, &l.files) ||
		unwind_layouts_open(map_fd("unwind_maps"), l.files, &l.layouts))
		die("the maps", EIO);
	process_map_init(&map, l.modules, getpid());
	if (process_map_read(&map) || unwind_layouts_use(l.layouts, &map, &layout))
		die("the tables", EIO);
	process_publish(layout);
	stats = unwind_files_stats(l.files);
	printf("files=%u eh_frame_bytes=%llu words_bytes=%llu pages=%u mappings=%u "
	       "tables_ms=%.1f cpu_ms=%.1f\n",
		stats->files, stats->cfi_bytes, stats->words_bytes, stats->pages, layout->n,
		(double)(clock_mono_ns() - start) / 1e6,
		(double)(clock() - cpu) * 1e3 / CLOCKS_PER_SEC);
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

/* The frames from this function's caller on are the same for both. */
static __attribute__((noinline)) int compare_here(const char *where, int runs)
{
	struct user_stack w;
	void *expected[512];
	int n = backtrace(expected, ARRAY_SIZE(expected)), own = 0, all;
	u32 key = (u32)program_run("unwind_self");

	if (bpf_map_lookup_elem(map_fd("user_stacks"), &key, &w))
		die("the stack", errno);
	while (own < (int)w.n && w.ips[own] != (u64)(uintptr_t)expected[1])
		own++;
	all = MIN(own + n - 1, STACK_DEPTH_MAX);
	printf("%s: frames=%u expected=%d method='%s' same=%d\n", where, w.n, all,
		stack_method_text((u16)(w.method | w.detail << 8)),
		all == (int)w.n &&
			!memcmp(w.ips + own, expected + 1, (size_t)(all - own) * sizeof(u64)));
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

/* Maps the code of so many libraries of this host, as if they were loaded. */
static void libraries_map(size_t n)
{
	glob_t found = {};

	glob("/usr/lib/x86_64-linux-gnu/*.so.*", 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc && n; i++) {
		int fd = open(found.gl_pathv[i], O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		struct stat st;

		if (fd < 0)
			continue;
		n -= !fstat(fd, &st) && mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC,
						MAP_PRIVATE, fd, 0) != MAP_FAILED;
		close(fd);
	}
	globfree(&found);
}

int main(int argc, char **argv)
{
	static char other_stack[1 << 18];
	const stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	if (argc < 3)
		die("usage: unwind OBJECT DEPTH [RUNS]", EINVAL);
	if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL))
		die("the signal", errno);
	object_load(argv[1]);
	if (!strcmp(argv[2], "libraries"))
		libraries_map(60);
	tables_load();
	if (!strcmp(argv[2], "libraries"))
		return 0;
	if (argc > 3 && !strcmp(argv[3], "files"))
		process_forget();
	return descend(atoi(argv[2]), argc > 3 ? atoi(argv[3]) : 0) < 0;
}
