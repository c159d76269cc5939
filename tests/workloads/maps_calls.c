/*
 * Calls that change an address space, of a known number. usage: maps_calls WHAT [N]
 *   kinds    every kind of call, with mistakes
 *   threads  8 threads that each map N pieces and unmap all but one in eight
 *   churn    N pairs of mmap and munmap
 *   limits   RLIMIT_AS, RLIMIT_DATA, RLIMIT_MEMLOCK and a size that no address space has
 *   machine  more than memory and swap; more huge pages than there are
 *   count    mappings, until there are too many
 *   hostile  pointers to nothing, sizes of 2^63, names without end
 *   compat   N calls by int 0x80 whose numbers are mmap, mprotect, brk in the native table
 *   fork     children by fork, by vfork, and an exec
 * Prints "ready", waits for a line, works, prints for each call "NAME CALLS FAILED", then "VmSize
 * BEFORE AFTER" and "VmData BEFORE AFTER" in KiB and "done", and waits for the end of its input.
 * It makes no such call beside those (no malloc), so whoever counts from "ready" to "done" counts
 * these.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (1UL << 20)
#define PAGE 4096UL

enum call {
	C_MMAP,
	C_MUNMAP,
	C_MREMAP,
	C_BRK,
	C_MPROTECT,
	C_MADVISE,
	C_MEMFD,
	C_SHMGET,
	C_SHMAT,
	C_SHMDT,
	C_SHMCTL,
	C_SHM_OPEN,
	C_SHM_UNLINK,
	C_MLOCK,
	C_MUNLOCK,
	C_N,
};

static const struct {
	const char *name;
	long nr;
} calls[C_N] = {
	[C_MMAP] = {"mmap", SYS_mmap},
	[C_MUNMAP] = {"munmap", SYS_munmap},
	[C_MREMAP] = {"mremap", SYS_mremap},
	[C_BRK] = {"brk", SYS_brk},
	[C_MPROTECT] = {"mprotect", SYS_mprotect},
	[C_MADVISE] = {"madvise", SYS_madvise},
	[C_MEMFD] = {"memfd_create", SYS_memfd_create},
	[C_SHMGET] = {"shmget", SYS_shmget},
	[C_SHMAT] = {"shmat", SYS_shmat},
	[C_SHMDT] = {"shmdt", SYS_shmdt},
	[C_SHMCTL] = {"shmctl", SYS_shmctl},
	[C_SHM_OPEN] = {"shm_open", SYS_openat},
	[C_SHM_UNLINK] = {"shm_unlink", SYS_unlink},
	[C_MLOCK] = {"mlock", SYS_mlock},
	[C_MUNLOCK] = {"munlock", SYS_munlock},
};

static unsigned long made[C_N], failed[C_N];
static char text[8192];
static long n_arg;

#define ARG(i_, v_) [i_] = (unsigned long)(v_)

static long call_args(enum call c, const unsigned long a[6])
{
	long r = syscall(calls[c].nr, a[0], a[1], a[2], a[3], a[4], a[5]);

	__atomic_add_fetch(&made[c], 1, __ATOMIC_RELAXED);
	if (c == C_BRK ? a[0] && (unsigned long)r != a[0] : r == -1)
		__atomic_add_fetch(&failed[c], 1, __ATOMIC_RELAXED);
	return r;
}

#define CALL(c_, ...) call_args((c_), (const unsigned long[6]){__VA_ARGS__})

#define MAP(len_, prot_, flags_, fd_) \
	CALL(C_MMAP, 0, (unsigned long)(len_), (prot_), (flags_), (unsigned long)(fd_), 0)

#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

/* The number after a name in /proc/self/status, without allocating. */
static unsigned long status_of(const char *name)
{
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	const char *p;

	close(fd);
	text[n > 0 ? n : 0] = '\0';
	p = strstr(text, name);
	return p ? strtoul(p + strlen(name) + 1, NULL, 10) : 0;
}

/* Pieces of all kinds of memory. */
static void map_kinds(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), mem, shm;

	MAP(MIB, RW, ANON, -1);
	MAP(2 * MIB + 1, RW, ANON, -1);
	MAP(16 * MIB, PROT_NONE, ANON | MAP_NORESERVE, -1);
	MAP(MIB, RW, ANON | MAP_STACK, -1);
	MAP(MIB, RW, MAP_SHARED | MAP_ANONYMOUS, -1);
	MAP(8192, PROT_READ, MAP_PRIVATE, fd);
	MAP(8192, PROT_READ, MAP_SHARED, fd);
	mem = (int)CALL(C_MEMFD, ARG(0, "known"), MFD_CLOEXEC);
	if (ftruncate(mem, 4 * MIB))
		exit(1);
	MAP(4 * MIB, RW, MAP_SHARED, mem);
	shm = (int)CALL(C_SHM_OPEN, ARG(0, AT_FDCWD), ARG(1, "/dev/shm/memwhy-known"),
		ARG(2, O_RDWR | O_CREAT | O_CLOEXEC), ARG(3, 0600));
	if (ftruncate(shm, 2 * MIB))
		exit(1);
	MAP(2 * MIB, RW, MAP_SHARED, shm);
	CALL(C_SHM_UNLINK, ARG(0, "/dev/shm/memwhy-known"));
	close(open("/dev/shm-no-such-thing", O_RDONLY));
	close(fd);
}

/* Holes, what lies over another, what moves. */
static void map_over(void)
{
	unsigned long p = (unsigned long)MAP(MIB, RW, ANON, -1), q;

	CALL(C_MUNMAP, p + 16 * PAGE, 16 * PAGE);
	CALL(C_MUNMAP, p + 16 * PAGE, 16 * PAGE); /* nothing is there */
	CALL(C_MUNMAP, p, 64 * PAGE);             /* over a hole */
	CALL(C_MMAP, p + 32 * PAGE, 64 * PAGE, PROT_READ, ANON | MAP_FIXED, ARG(4, -1));
	CALL(C_MPROTECT, p + 64 * PAGE, 8 * PAGE, PROT_NONE);
	q = (unsigned long)MAP(MIB, RW, ANON, -1);
	CALL(C_MREMAP, q, MIB, MIB / 2);
	q = (unsigned long)CALL(C_MREMAP, q, MIB / 2, 8 * MIB, MREMAP_MAYMOVE);
	CALL(C_MADVISE, q, 8 * MIB, MADV_HUGEPAGE);
	CALL(C_MADVISE, q, 8 * MIB, MADV_DONTNEED);
	CALL(C_MLOCK, q, PAGE);
	CALL(C_MUNLOCK, q, PAGE);
}

static void heap(void)
{
	unsigned long start = (unsigned long)CALL(C_BRK, 0);

	CALL(C_BRK, start + 3 * MIB);
	CALL(C_BRK, start + MIB + 1);
	CALL(C_BRK, PAGE);           /* below the heap */
	CALL(C_BRK, 0x7ffffffff000); /* over everything else */
}

static void segments(void)
{
	long id = CALL(C_SHMGET, IPC_PRIVATE, 3 * MIB, IPC_CREAT | 0600);
	long p = CALL(C_SHMAT, (unsigned long)id), q = CALL(C_SHMAT, (unsigned long)id);

	CALL(C_SHMCTL, (unsigned long)id, IPC_STAT, ARG(2, text));
	CALL(C_SHMCTL, (unsigned long)id, IPC_RMID);
	CALL(C_SHMDT, (unsigned long)p);
	(void)q;
}

static void mistakes(void)
{
	MAP(1UL << 63, RW, ANON, -1);
	MAP(0, RW, ANON, -1);
	MAP(PAGE, PROT_READ, MAP_PRIVATE, 999);
	CALL(C_MUNMAP, 1, PAGE);
	CALL(C_MPROTECT, 0x10000, PAGE, PROT_READ);
	CALL(C_MREMAP, 0x10000, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
	CALL(C_MADVISE, 0, PAGE, 12345);
	CALL(C_SHMAT, ARG(0, -7));
	CALL(C_SHMDT, 0x10000);
	CALL(C_SHMGET, IPC_PRIVATE, 0, 0600);
	CALL(C_SHM_OPEN, ARG(0, AT_FDCWD), ARG(1, "/dev/shm/memwhy/no/such"), O_RDONLY);
	CALL(C_MEMFD, 0x10, 0);
}

static void kinds(void)
{
	map_kinds();
	map_over();
	heap();
	segments();
	mistakes();
}

#define THREADS 8

static pthread_barrier_t barrier;

static void *thread_work(void *arg)
{
	unsigned long kept = 0;

	(void)arg;
	pthread_barrier_wait(&barrier);
	for (long i = 0; i < n_arg; i++) {
		unsigned long len = ((unsigned long)i % 7 + 1) * PAGE;
		unsigned long p = (unsigned long)MAP(len, RW, ANON, -1);

		if (i % 8)
			CALL(C_MUNMAP, p, len);
		else
			kept += len;
	}
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return (void *)kept;
}

static pthread_t threads_of[THREADS];

static void threads_start(void)
{
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads_of[i], NULL, thread_work, NULL))
			exit(1);
}

/* The threads were there before, and end with the process. */
static void threads(void)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	CALL(C_BRK, 0); /* alone, it sees what all have done */
}

static void churn(void)
{
	for (long i = 0; i < n_arg; i++)
		CALL(C_MUNMAP, (unsigned long)MAP(MIB, RW, ANON, -1), MIB);
}

static void limit_set(int resource, unsigned long bytes)
{
	struct rlimit rl;

	if (getrlimit(resource, &rl))
		exit(1);
	rl.rlim_cur = bytes < rl.rlim_max ? bytes : rl.rlim_max;
	if (setrlimit(resource, &rl))
		exit(1);
}

static void limits(void)
{
	unsigned long p = (unsigned long)MAP(MIB, RW, ANON, -1);

	limit_set(RLIMIT_DATA, status_of("VmData:") * 1024 + MIB);
	MAP(4 * MIB, RW, ANON, -1);
	CALL(C_BRK, (unsigned long)CALL(C_BRK, 0) + 4 * MIB);
	limit_set(RLIMIT_DATA, RLIM_INFINITY);
	limit_set(RLIMIT_AS, status_of("VmSize:") * 1024 + MIB);
	MAP(4 * MIB, PROT_READ, ANON, -1);
	CALL(C_MREMAP, p, MIB, 4 * MIB, MREMAP_MAYMOVE);
	limit_set(RLIMIT_AS, RLIM_INFINITY);
	MAP(1UL << 48, RW, ANON, -1);
	limit_set(RLIMIT_MEMLOCK, 64 * 1024);
	if (setresuid(65534, 65534, 65534))
		exit(1);
	CALL(C_MLOCK, p, MIB);
}

/* 16 TiB; half of it in huge pages, of which no machine has so many free. */
static void machine(void)
{
	MAP(1UL << 44, RW, ANON, -1);
	MAP(1UL << 43, RW, ANON | MAP_HUGETLB, -1);
}

static void count(void)
{
	while (MAP(PAGE, made[C_MMAP] & 1 ? PROT_READ : RW, ANON, -1) != -1)
		;
}

/* The kernel has no objection to 2^62 bytes. */
static void segment_of(unsigned long key, unsigned long size, unsigned long flags)
{
	long id = CALL(C_SHMGET, key, size, flags);

	if (id >= 0)
		CALL(C_SHMCTL, (unsigned long)id, IPC_RMID);
}

static void hostile(void)
{
	static const unsigned long words[] = {
		0, 1, 0x1000, 1UL << 47, 1UL << 63, ~0UL, ~0UL << 12, 0xdeadbeef00000000};
	unsigned long last = sizeof(words) / sizeof(words[0]);
	unsigned long p = (unsigned long)MAP(PAGE, RW, ANON, -1);

	/* A name that ends with its page, and no NUL in it. */
	memset((void *)p, 'A', PAGE);
	memcpy((void *)p, "/dev/shm/\033[31m", 14);
	CALL(C_MEMFD, p, 0);
	CALL(C_SHM_OPEN, ARG(0, AT_FDCWD), p, O_RDONLY);
	((char *)p)[40] = '\0';
	CALL(C_SHM_OPEN, ARG(0, AT_FDCWD), p, O_RDONLY);
	for (unsigned long i = 0; i < last; i++) {
		for (unsigned long k = 0; k < last; k++) {
			MAP(words[i], words[k], words[k], -1);
			CALL(C_MPROTECT, words[i] | 1, words[k], RW);
			CALL(C_MREMAP, words[i] | 1, words[k], words[i], words[k]);
			segment_of(words[i], words[k] | 1UL << 62, words[k]);
			CALL(C_SHMCTL, words[i], words[k] | 1UL << 20, words[i]);
			CALL(C_MEMFD, words[i] | 1UL << 63, words[k]);
		}
		CALL(C_MADVISE, 1, words[i], ARG(2, -1));
		CALL(C_BRK, 1UL << 63 | words[i]);
	}
}

static sig_atomic_t no_compat;

static void on_fault(int sig)
{
	(void)sig;
	no_compat = 1;
	_exit(3);
}

/* link, unlink and chdir of 32-bit programs, of a name that cannot be read. */
static void compat(void)
{
	static const int numbers[] = {9, 10, 12};

	signal(SIGSEGV, on_fault);
	for (long i = 0; i < n_arg; i++) {
		long r;

		__asm__ volatile("int $0x80"
				 : "=a"(r)
				 : "a"(numbers[i % 3]), "b"(16), "c"(16), "d"(0)
				 : "memory", "r8", "r9", "r10", "r11");
		if (r != -EFAULT && r != -ENOSYS)
			exit(1);
	}
	MAP(PAGE, RW, ANON, -1);
}

static int vfork_child(void *arg)
{
	(void)arg;
	CALL(C_MUNMAP, (unsigned long)MAP(MIB, RW, ANON, -1), MIB);
	MAP(MIB, RW, ANON, -1); /* the parent's address space */
	_exit(0);
}

static void fork_all(void)
{
	static char stack[65536];
	int st;

	MAP(5 * MIB, RW, ANON, -1);
	if (!fork()) {
		MAP(7 * MIB, RW, ANON, -1);
		_exit(0);
	}
	wait(&st);
	clone(vfork_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	wait(&st);
	CALL(C_BRK, 0);
}

static void say(const char *s)
{
	if (write(1, s, strlen(s)) < 0)
		exit(1);
}

static void numbers_say(const unsigned long size[2], const unsigned long data[2])
{
	for (int i = 0; i < C_N; i++) {
		snprintf(text, sizeof(text), "%s %lu %lu\n", calls[i].name, made[i], failed[i]);
		say(text);
	}
	snprintf(text, sizeof(text), "VmSize %lu %lu\nVmData %lu %lu\ndone\n", size[0], size[1],
		data[0], data[1]);
	say(text);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} whats[] = {{"kinds", kinds}, {"threads", threads}, {"churn", churn}, {"limits", limits},
		{"machine", machine}, {"count", count}, {"hostile", hostile}, {"compat", compat},
		{"fork", fork_all}};
	unsigned long size[2], data[2];
	void (*run)(void) = NULL;
	char line[64];

	for (size_t i = 0; argc > 1 && i < sizeof(whats) / sizeof(whats[0]); i++)
		if (!strcmp(argv[1], whats[i].name))
			run = whats[i].run;
	n_arg = argc > 2 ? atol(argv[2]) : 1000;
	if (!run)
		return 2;
	if (run == threads)
		threads_start();
	snprintf(text, sizeof(text), "%d %lu", 1, 1UL); /* its tables are there then */
	say("ready\n");
	if (read(0, line, sizeof(line)) <= 0)
		return 1;
	size[0] = status_of("VmSize:");
	data[0] = status_of("VmData:");
	run();
	size[1] = status_of("VmSize:");
	data[1] = status_of("VmData:");
	numbers_say(size, data);
	while (read(0, line, sizeof(line)) > 0)
		;
	_exit(no_compat ? 3 : 0);
}
