/*
 * Walks its own user stack in BPF by call-frame tables, and holds the frames against libgcc's
 * backtrace(): at a depth of recursion, and there in a signal handler on a stack of its own.
 * usage: unwind OBJECT DEPTH [RUNS]: prints what it saw; with RUNS, also what a walk costs in the
 * kernel.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "bpf/unwind.h"
#include "cfi/blocks.h"
#include "cfi/elf_table.h"
#include "cfi/walk.h"
#include "sym/vdso.h"
#include "sys/maps.h"

struct loader {
	struct bpf_object *object;
	struct cfi_rule_set rules;
	VEC(u32) words;
	struct unwind_process process;
	u64 section_bytes;
	u32 files;
};

static struct loader l;

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
	start = clock_mono_ns();
	if (bpf_object__load(l.object)) {
		fputs(log, stderr);
		die("the kernel refuses the program", errno);
	}
	printf("loaded_ms=%.1f verified_insns=%u\n", (double)(clock_mono_ns() - start) / 1e6,
		insns_of(log));
}

static int file_open(const struct mapping *m, struct elf_file *ret)
{
	void *image;
	size_t size;
	int fd;

	if (m->kind == MAPPING_VDSO) {
		if (strcmp(m->path, "[vdso]") || vdso_read(&image, &size))
			return -ENOENT;
		return elf_image_open(image, size, ret);
	}
	fd = open(m->path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : elf_file_open(fd, ret);
}

static void mapping_add(const struct mapping *m)
{
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	_cleanup_cfi_table_ struct cfi_table *table = NULL;
	u32 start = (u32)l.words.n;
	struct cfi_blocks blocks;
	struct unwind_mapping to = {.start = m->start, .end = m->end};
	u64 address;

	if (file_open(m, &file) || cfi_elf_compile(&file, &table, NULL) ||
		elf_file_address(&file, m->offset, &address))
		goto out;
	if (cfi_blocks_make(table, start, &l.rules, &blocks))
		die("no memory", ENOMEM);
	_Static_assert(UNWIND_PAGE_WORDS == CFI_PAGE_WORDS, "the layout's pages are the maps'");
	vec_each (word, &blocks.words) {
		if (vec_push(&l.words, *word))
			die("no memory", ENOMEM);
	}
	to.bias = m->start - (address - table->base);
	to.index = start;
	to.blocks = blocks.n_blocks;
	to.rows = start + blocks.rows;
	cfi_blocks_free(&blocks);
	l.section_bytes += table->counts.section_bytes;
	l.files++;
out:
	if (l.process.n < UNWIND_MAPPINGS_MAX)
		l.process.mappings[l.process.n++] = to;
}

/* Through a mapping: kernels to 5.15 want memory in one piece for a value that they copy. */
static void pages_write(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);

	for (u32 at = 0; at < l.words.n; at += UNWIND_PAGE_WORDS) {
		size_t n = MIN(l.words.n - at, (size_t)UNWIND_PAGE_WORDS);
		int fd = bpf_map_create(
			BPF_MAP_TYPE_ARRAY, NULL, 4, sizeof(struct unwind_page), 1, &opts);
		u32 key = at / UNWIND_PAGE_WORDS;
		void *page;

		if (fd < 0)
			die("a page", errno);
		page = mmap(NULL, sizeof(struct unwind_page), PROT_READ | PROT_WRITE, MAP_SHARED,
			fd, 0);
		if (page == MAP_FAILED)
			die("mapping a page", errno);
		memcpy(page, l.words.v + at, n * sizeof(u32));
		munmap(page, sizeof(struct unwind_page));
		if (bpf_map_update_elem(map_fd("unwind_pages"), &key, &fd, BPF_ANY))
			die("adding a page", errno);
		close(fd);
	}
}

static void tables_load(void)
{
	_cleanup_maps_ struct maps maps = {};
	u32 pid = (u32)getpid();
	u64 start = clock_mono_ns();

	if (cfi_rules_init(&l.rules) || maps_read((int)pid, &maps))
		die("the maps", EIO);
	vec_each (m, &maps.list) {
		if (m->prot & MAPPING_EXEC)
			mapping_add(m);
	}
	pages_write();
	for (u32 i = 0; i < l.rules.list.n; i++) {
		if (bpf_map_update_elem(map_fd("unwind_rules"), &i, &l.rules.list.v[i], BPF_ANY))
			die("the rules", errno);
	}
	if (bpf_map_update_elem(map_fd("unwind_processes"), &pid, &l.process, BPF_ANY))
		die("the process", errno);
	printf("files=%u eh_frame_bytes=%llu words_bytes=%zu rules=%zu tables_ms=%.1f\n", l.files,
		l.section_bytes, l.words.n * sizeof(u32), l.rules.list.n,
		(double)(clock_mono_ns() - start) / 1e6);
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
	struct unwind_walk *walks = calloc((size_t)libbpf_num_possible_cpus(), sizeof(*walks)), *w;
	void *expected[512];
	int n = backtrace(expected, ARRAY_SIZE(expected)), own = 0, all;
	cpu_set_t cpu;
	u32 zero = 0;

	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	if (!walks || sched_setaffinity(0, sizeof(cpu), &cpu))
		die("pinning", errno);
	program_run("unwind_self");
	if (bpf_map_lookup_elem(map_fd("unwind_walks"), &zero, walks))
		die("the walk", errno);
	w = walks;
	while (own < (int)w->n && w->ips[own] != (u64)(uintptr_t)expected[1])
		own++;
	all = MIN(own + n - 1, UNWIND_DEPTH_MAX);
	printf("%s: frames=%u expected=%d stop='%s' guessed=%u same=%d\n", where, w->n, all,
		cfi_stop_text((enum cfi_stop)w->stop), w->guessed,
		all == (int)w->n &&
			!memcmp(w->ips + own, expected + 1, (size_t)(all - own) * sizeof(u64)));
	if (runs) {
		int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);

		printf("walk_ns=%.0f kernel_walk_ns=%.0f kernel_frames=%d nothing_ns=%.0f\n",
			cost_ns("unwind_self", runs), cost_ns("kernel_walk", runs),
			program_run("kernel_walk") / 8, cost_ns("nothing", runs));
		close(stats);
	}
	free(walks);
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
	tables_load();
	return descend(atoi(argv[2]), argc > 3 ? atoi(argv[3]) : 0) < 0;
}
