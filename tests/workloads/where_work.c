/*
 * Holds a known amount of memory of one kind until its input ends: where_work KIND BYTES
 * [PATH]. Prints "ready" once it is there, for some kinds with a number: of a segment its id.
 * where_work resident FILE prints how many pages of the file are in memory.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/if_packet.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MESSAGE 65536

static int failed(const char *what)
{
	perror(what);
	return 1;
}

/* Written in full messages until it is all there; nobody reads. */
static int fill(int fd, size_t bytes)
{
	static char message[MESSAGE];

	memset(message, 1, sizeof(message));
	for (size_t done = 0; done < bytes; done += sizeof(message))
		if (write(fd, message, sizeof(message)) != sizeof(message))
			return -1;
	return 0;
}

static int hold_unix(size_t bytes)
{
	size_t each = 16 * MESSAGE;

	for (size_t done = 0; done < bytes; done += each) {
		int pair[2], room = 4 * (int)each;

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
			setsockopt(pair[0], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) ||
			fill(pair[0], each))
			return failed("socket");
	}
	puts("ready");
	return 0;
}

static int hold_pipes(size_t bytes)
{
	size_t each = 16 * MESSAGE;

	for (size_t done = 0; done < bytes; done += each) {
		int ends[2];

		if (pipe(ends) || fcntl(ends[1], F_SETPIPE_SZ, (int)each) < 0 ||
			fill(ends[1], each))
			return failed("pipe");
	}
	puts("ready");
	return 0;
}

/* A connection to ourselves over the loopback, which takes it all without being read. */
static int hold_tcp(size_t bytes)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(to);
	int one, other, listener = socket(AF_INET, SOCK_STREAM, 0), room = 4 << 20;

	setsockopt(listener, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	if (bind(listener, (void *)&to, sizeof(to)) || listen(listener, 64) ||
		getsockname(listener, (void *)&to, &n))
		return failed("listen");
	for (size_t done = 0; done < bytes; done += 16 * MESSAGE) {
		one = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(one, (void *)&to, sizeof(to)))
			return failed("connect");
		other = accept(listener, NULL, NULL);
		if (other < 0 || fill(one, 16 * MESSAGE))
			return failed("tcp");
	}
	puts("ready");
	return 0;
}

/* An array of the kernel's: of one value for all CPUs, or one each. It is charged to nobody else.
 */
static int hold_map(size_t bytes, int each_cpu)
{
	union bpf_attr a = {.map_type = each_cpu ? BPF_MAP_TYPE_PERCPU_ARRAY : BPF_MAP_TYPE_ARRAY,
		.key_size = 4,
		.value_size = 32768 - 8 * 8,
		.map_flags = 0};
	const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};

	if (!each_cpu)
		a.value_size = 4096;
	setrlimit(RLIMIT_MEMLOCK, &none); /* to 5.10 maps count as locked memory */
	a.max_entries = (unsigned)(bytes / (each_cpu ? 32768 : 4096));
	if (syscall(SYS_bpf, BPF_MAP_CREATE, &a, sizeof(a)) < 0)
		return failed("map");
	puts("ready");
	return 0;
}

/* A ring for packets, whose pages the network code takes for itself. */
static int hold_packets(size_t bytes)
{
	struct tpacket_req ring = {.tp_block_size = 65536,
		.tp_block_nr = (unsigned)(bytes / 65536),
		.tp_frame_size = 2048,
		.tp_frame_nr = (unsigned)(bytes / 2048)};
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof(ring)) ||
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED)
		return failed("packets");
	puts("ready");
	return 0;
}

/* Rings of io_uring, which nobody maps: of the most entries, 3,280,896 bytes each. */
static int hold_rings(size_t bytes)
{
	for (size_t done = 0; done < bytes; done += 3280896) {
		struct io_uring_params p = {};

		if (syscall(SYS_io_uring_setup, 32768, &p) < 0)
			return failed("io_uring_setup");
	}
	puts("ready");
	return 0;
}

/* Mapped, and not touched: with MAP_HUGETLB the pages are promised. */
static int hold_untouched(size_t bytes)
{
	if (mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_HUGETLB | MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0) == MAP_FAILED)
		return failed("mmap");
	puts("ready");
	return 0;
}

/* Pages of a file that are in memory, as mincore(2) and cachestat(2) have it; -1: no such call. */
static int resident_print(const char *path)
{
	struct {
		unsigned long long off, len;
	} range = {};
	unsigned long long stat[5] = {};
	int fd = open(path, O_RDONLY);
	struct stat st;
	unsigned char *in;
	size_t pages, n = 0;
	void *p;

	if (fd < 0 || fstat(fd, &st))
		return failed(path);
	pages = ((size_t)st.st_size + 4095) / 4096;
	in = calloc(1, pages + 1);
	p = mmap(NULL, pages * 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (!in || p == MAP_FAILED || mincore(p, pages * 4096, in))
		return failed("mincore");
	for (size_t i = 0; i < pages; i++)
		n += in[i] & 1;
	printf("%zu %lld\n", n, syscall(451, fd, &range, stat, 0) ? -1LL : (long long)stat[0]);
	free(in);
	return 0;
}

static int hold_segment(size_t bytes, int attached)
{
	int id = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
	void *p = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

	if (p == (void *)-1)
		return failed("segment");
	memset(p, 1, bytes);
	if (!attached)
		shmdt(p);
	printf("ready %d\n", id);
	return 0;
}

static int hold_memfd(size_t bytes)
{
	int fd = memfd_create("where_work", 0);

	if (fd < 0 || fill(fd, bytes))
		return failed("memfd");
	puts("ready");
	return 0;
}

static int hold_anonymous(size_t bytes, int flags, int lock)
{
	char *p;

	flags |= flags & MAP_SHARED ? MAP_ANONYMOUS : MAP_PRIVATE | MAP_ANONYMOUS;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (p == MAP_FAILED)
		return failed("mmap");
	memset(p, 1, bytes);
	if (lock && mlock(p, bytes))
		return failed("mlock");
	puts("ready");
	return 0;
}

/* Every eighth page of it is written to, in huge pages or not. */
static int hold_sparse(size_t bytes, int advice)
{
	const size_t huge = 2 << 20;
	char *p = mmap(
		NULL, bytes + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return failed("mmap");
	p += huge - (unsigned long)p % huge;
	if (madvise(p, bytes, advice))
		return failed("madvise");
	for (size_t at = 0; at < bytes; at += 8 * 4096UL)
		p[at] = 1;
	puts("ready");
	return 0;
}

/* A file that was removed: its pages stay until it is closed. */
static int hold_deleted(const char *path, size_t bytes)
{
	int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);

	if (fd < 0 || unlink(path) || fill(fd, bytes))
		return failed(path);
	puts("ready");
	return 0;
}

/* One page of each page table: as many bytes of tables as of memory. */
static int hold_tables(size_t bytes)
{
	size_t n = bytes / 4096, step = 2UL << 20;
	char *p = mmap(NULL, n * step, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return failed("mmap");
	madvise(p, n * step, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++)
		p[i * step] = 1;
	puts("ready");
	return 0;
}

/* Names that are not there, looked up in a directory; bytes: how many. They stay when we end. */
static int hold_names(const char *dir, size_t n)
{
	char path[4096];

	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/none-%zu", dir, i);
		if (!access(path, F_OK))
			return failed(path);
	}
	puts("ready");
	return 0;
}

static void *stay(void *unused)
{
	char end;

	while (read(STDIN_FILENO, &end, 1) > 0)
		;
	exit(0);
	return unused;
}

/* Blocks of malloc's, and only its second thread runs on. */
static int hold_headless(size_t bytes)
{
	pthread_t thread;

	for (size_t done = 0; done < bytes; done += MESSAGE) {
		char *block = malloc(MESSAGE);

		if (!block)
			return failed("malloc");
		memset(block, 1, MESSAGE);
	}
	if (pthread_create(&thread, NULL, stay, NULL))
		return failed("pthread_create");
	puts("ready");
	fflush(stdout);
	pthread_exit(NULL);
}

/* Buffers of perf events, which processes map and no counter has: of a page for the head, and a
 * power of two of pages; as many as it takes. */
static int hold_perf(size_t bytes)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_period = 1};
	size_t each = 4 << 20, page = 4096;

	for (size_t done = 0; done < bytes; done += each) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd < 0 || mmap(NULL, each + page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) ==
				      MAP_FAILED)
			return failed("perf");
	}
	puts("ready");
	return 0;
}

/* Files that the kernel itself cannot read, in no mount. */
static int hold_secret(size_t bytes)
{
	int fd = (int)syscall(SYS_memfd_secret, 0);
	char *p;

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		return failed("memfd_secret");
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return failed("mmap");
	memset(p, 1, bytes);
	puts("ready");
	return 0;
}

/* Anonymous pages that only pipes have any more: given to them, and unmapped. */
static int hold_gifts(size_t bytes)
{
	size_t each = 16 * MESSAGE;

	for (size_t done = 0; done < bytes; done += each) {
		char *p = mmap(
			NULL, each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		struct iovec v = {.iov_base = p, .iov_len = each};
		int ends[2];

		if (p == MAP_FAILED || pipe(ends) ||
			fcntl(ends[1], F_SETPIPE_SZ, (int)each) != (int)each)
			return failed("pipe");
		memset(p, 1, each);
		if (vmsplice(ends[1], &v, 1, SPLICE_F_GIFT) != (ssize_t)each)
			return failed("vmsplice");
		munmap(p, each);
	}
	puts("ready");
	return 0;
}

static int hold_attached(size_t bytes)
{
	return hold_segment(bytes, 1);
}

static int hold_loose(size_t bytes)
{
	return hold_segment(bytes, 0);
}

static int hold_private(size_t bytes)
{
	return hold_anonymous(bytes, 0, 0);
}

/* Private memory whose pages a userfaultfd puts there: nothing ever touches it. */
static int hold_userfault(size_t bytes)
{
	static char filled[MESSAGE] __attribute__((aligned(4096)));
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register area = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(filled, 1, sizeof(filled));
	area.range.start = (unsigned long)p;
	area.range.len = bytes;
	if (fd < 0 || p == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) ||
		ioctl(fd, UFFDIO_REGISTER, &area))
		return failed("userfaultfd");
	for (size_t done = 0; done < bytes; done += sizeof(filled)) {
		struct uffdio_copy copy = {.dst = (unsigned long)(p + done),
			.src = (unsigned long)filled,
			.len = sizeof(filled)};

		if (ioctl(fd, UFFDIO_COPY, &copy))
			return failed("UFFDIO_COPY");
	}
	puts("ready");
	return 0;
}

static int hold_shared(size_t bytes)
{
	return hold_anonymous(bytes, MAP_SHARED, 0);
}

static int hold_locked(size_t bytes)
{
	return hold_anonymous(bytes, 0, 1);
}

static int hold_hugetlb(size_t bytes)
{
	return hold_anonymous(bytes, MAP_HUGETLB, 0);
}

static int hold_huge(size_t bytes)
{
	return hold_sparse(bytes, MADV_HUGEPAGE);
}

static int hold_small(size_t bytes)
{
	return hold_sparse(bytes, MADV_NOHUGEPAGE);
}

static int hold_array(size_t bytes)
{
	return hold_map(bytes, 0);
}

static int hold_percpu(size_t bytes)
{
	return hold_map(bytes, 1);
}

static int hold_kind(const char *kind, size_t bytes)
{
	static const struct {
		const char *name;
		int (*hold)(size_t);
	} kinds[] = {{"unix", hold_unix}, {"tcp", hold_tcp}, {"pipes", hold_pipes},
		{"segment", hold_loose}, {"attached", hold_attached}, {"memfd", hold_memfd},
		{"anonymous", hold_private}, {"shared", hold_shared}, {"locked", hold_locked},
		{"hugetlb", hold_hugetlb}, {"huge", hold_huge}, {"sparse", hold_small},
		{"reserved", hold_untouched}, {"tables", hold_tables}, {"vmalloc", hold_array},
		{"percpu", hold_percpu}, {"headless", hold_headless}, {"rings", hold_rings},
		{"packets", hold_packets}, {"perf", hold_perf}, {"secret", hold_secret},
		{"gifts", hold_gifts}, {"userfault", hold_userfault}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kind, kinds[i].name))
			return kinds[i].hold(bytes);
	fprintf(stderr, "where_work: no kind %s\n", kind);
	return 2;
}

static int hold(const char *kind, size_t bytes, const char *path)
{
	if (!strcmp(kind, "names") && path)
		return hold_names(path, bytes);
	if (!strcmp(kind, "deleted") && path)
		return hold_deleted(path, bytes);
	return hold_kind(kind, bytes);
}

int main(int argc, char **argv)
{
	char end;
	int rc = argc < 3 ? 2 : 0;

	if (!rc && !strcmp(argv[1], "resident"))
		return resident_print(argv[2]);
	if (!rc)
		rc = hold(argv[1], strtoull(argv[2], NULL, 10), argc > 3 ? argv[3] : NULL);
	fflush(stdout);
	while (!rc && read(STDIN_FILENO, &end, 1) > 0)
		;
	return rc;
}
