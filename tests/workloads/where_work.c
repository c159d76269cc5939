/*
 * Holds a known amount of memory of one kind until its input ends: where_work KIND BYTES. Prints
 * "ready" once it is there, for some kinds with a number: of a segment its id.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
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

static int hold_segment(size_t bytes)
{
	int id = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
	void *p = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

	if (p == (void *)-1)
		return failed("segment");
	memset(p, 1, bytes);
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
	char *p = mmap(
		NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return failed("mmap");
	memset(p, 1, bytes);
	if (lock && mlock(p, bytes))
		return failed("mlock");
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

static int hold(const char *kind, size_t bytes, const char *path)
{
	if (!strcmp(kind, "unix"))
		return hold_unix(bytes);
	if (!strcmp(kind, "pipes"))
		return hold_pipes(bytes);
	if (!strcmp(kind, "segment"))
		return hold_segment(bytes);
	if (!strcmp(kind, "memfd"))
		return hold_memfd(bytes);
	if (!strcmp(kind, "anonymous"))
		return hold_anonymous(bytes, 0, 0);
	if (!strcmp(kind, "locked"))
		return hold_anonymous(bytes, 0, 1);
	if (!strcmp(kind, "hugetlb"))
		return hold_anonymous(bytes, MAP_HUGETLB, 0);
	if (!strcmp(kind, "tables"))
		return hold_tables(bytes);
	if (!strcmp(kind, "names") && path)
		return hold_names(path, bytes);
	if (!strcmp(kind, "deleted") && path)
		return hold_deleted(path, bytes);
	fprintf(stderr, "where_work: no kind %s\n", kind);
	return 2;
}

int main(int argc, char **argv)
{
	char end;
	int rc = argc < 3 ? 2
			  : hold(argv[1], strtoull(argv[2], NULL, 10), argc > 3 ? argv[3] : NULL);

	fflush(stdout);
	while (!rc && read(STDIN_FILENO, &end, 1) > 0)
		;
	return rc;
}
