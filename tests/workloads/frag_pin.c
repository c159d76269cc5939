/*
 * frag_pin: fragments memory for certain. It takes MIB of memory in single pages, gives every
 * other page back, and keeps the rest where it is: the free half is all in single pages. With -k
 * it then makes the kernel allocate unmovable pages (the buffers of pipes), which can only go into
 * those holes once the free blocks of other types are used up: those are the fallbacks that
 * kmem:mm_page_alloc_extfrag tells of.
 *
 * What is kept is pinned by pipes (vmsplice), so compaction cannot move it; -u leaves it movable.
 * Takes at most half of the memory that is available, unless told with -f. To see all high orders
 * vanish, run it in a small guest with most of the guest's memory and -f.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#define MIB (1UL << 20)
#define PIPE_BYTES MIB /* an unprivileged process may ask for this much */

static size_t page;
static char *area;
static size_t n_pages;

static void die(const char *what)
{
	fprintf(stderr, "frag_pin: %s: %s\n", what, strerror(errno));
	exit(1);
}

static unsigned long available_mib(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	unsigned long kib = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %lu kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib / 1024;
}

/* A pipe that nobody reads; returns its writing end and how many pages it holds. */
static int pipe_new(size_t *ret_pages)
{
	int fds[2], size;

	if (pipe2(fds, O_NONBLOCK))
		die("pipe2");
	size = fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES);
	if (size < 0)
		size = fcntl(fds[1], F_GETPIPE_SZ);
	*ret_pages = (size_t)size / page;
	return fds[1];
}

static void area_take(size_t mib)
{
	n_pages = mib * MIB / page;
	area = mmap(
		NULL, n_pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		die("mmap");
	madvise(area, n_pages * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n_pages; i++)
		area[i * page] = 1;
}

/* The even pages go into pipes: their use count keeps them from being migrated. */
static void even_pin(void)
{
	size_t room = 0;
	int out = -1;

	for (size_t i = 0; i < n_pages; i += 2) {
		struct iovec one = {area + i * page, page};

		if (!room)
			out = pipe_new(&room);
		if (vmsplice(out, &one, 1, SPLICE_F_NONBLOCK) < 0)
			die("vmsplice");
		room--;
	}
}

static void odd_free(void)
{
	for (size_t i = 1; i < n_pages; i += 2)
		madvise(area + i * page, page, MADV_DONTNEED);
}

/* Pipe buffers are pages of the kernel: unmovable. */
static void kernel_take(size_t mib)
{
	char *data = calloc(1, PIPE_BYTES);
	size_t done = 0, want = mib * MIB;

	while (data && done < want) {
		size_t room;
		int out = pipe_new(&room);
		ssize_t n = write(out, data, room * page);

		if (n <= 0)
			die("filling a pipe");
		done += (size_t)n;
	}
	free(data);
}

/* Should memory run out after all, this process is the one to go. */
static void oom_first(void)
{
	FILE *f = fopen("/proc/self/oom_score_adj", "w");

	if (f) {
		fputs("1000", f);
		fclose(f);
	}
}

static void files_allow(size_t mib)
{
	struct rlimit r;

	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = 4 * mib + 64;
	if (r.rlim_max < r.rlim_cur)
		r.rlim_max = r.rlim_cur;
	if (setrlimit(RLIMIT_NOFILE, &r))
		die("too many pipes for the limit of open files");
}

int main(int argc, char **argv)
{
	unsigned long mib = 64, kernel_mib = 0, seconds = 0;
	bool force = false, movable = false;
	int opt;

	while ((opt = getopt(argc, argv, "fus:k:")) != -1) {
		if (opt == 'f')
			force = true;
		else if (opt == 'u')
			movable = true;
		else if (opt == 's')
			seconds = strtoul(optarg, NULL, 10);
		else if (opt == 'k')
			kernel_mib = strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	if (optind < argc)
		mib = strtoul(argv[optind], NULL, 10);
	if (!mib || (!force && mib + kernel_mib > available_mib() / 2)) {
		fprintf(stderr, "usage: frag_pin [-f] [-u] [-k KERNEL_MIB] [-s SECONDS] [MIB]\n");
		return 2;
	}
	page = (size_t)sysconf(_SC_PAGESIZE);
	oom_first();
	files_allow(mib + kernel_mib);
	area_take(mib);
	if (!movable)
		even_pin();
	odd_free();
	kernel_take(kernel_mib);
	printf("frag_pin: %lu MiB taken, every other page of them free; %lu MiB in the kernel\n",
		mib, kernel_mib);
	fflush(stdout);
	sleep((unsigned)seconds);
	return 0;
}
