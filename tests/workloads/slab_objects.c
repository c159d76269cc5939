/*
 * Kernel objects of a known number. usage: slab_objects files|epoll|pipes N [DIR]
 * Prints "ready" and waits for a line, makes N objects, prints "made" and waits for a line, removes
 * them, prints "gone" and waits for the end of its input.
 *	files: N files on the tmpfs DIR (/dev/shm): N dentries, N shmem_inode_cache
 *	epoll: N descriptors watched by one epoll: N of the cache of struct epitem
 *	pipes: N pipes: N struct pipe_inode_info, 2N struct file
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *dir = "/dev/shm";
static int watcher, event;
static int (*pipes)[2];

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	_exit(1);
}

static void path_of(char path[256], long i)
{
	snprintf(path, 256, "%s/slab_objects.%d.%ld", dir, (int)getpid(), i);
}

static void files_make(long i)
{
	char path[256];
	int fd;

	path_of(path, i);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		fail(path);
	close(fd);
}

static void files_remove(long i)
{
	char path[256];

	path_of(path, i);
	unlink(path);
}

static void epoll_make(long i)
{
	struct epoll_event e = {.events = EPOLLIN};
	int fd = i ? dup(event) : event;

	if (fd < 0 || epoll_ctl(watcher, EPOLL_CTL_ADD, fd, &e))
		fail("epoll_ctl");
}

static void epoll_remove(long i)
{
	if (!i)
		close(watcher);
}

static void pipes_make(long i)
{
	if (pipe(pipes[i]))
		fail("pipe");
}

static void pipes_remove(long i)
{
	close(pipes[i][0]);
	close(pipes[i][1]);
}

static const struct kind {
	const char *name;
	void (*make)(long i);
	void (*remove)(long i);
} kinds[] = {
	{"files", files_make, files_remove},
	{"epoll", epoll_make, epoll_remove},
	{"pipes", pipes_make, pipes_remove},
};

static void wait_line(const char *said)
{
	char line[64];

	printf("%s\n", said);
	if (read(0, line, sizeof(line)) <= 0)
		_exit(1);
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0;
	struct rlimit most = {(rlim_t)2 * (rlim_t)n + 64, (rlim_t)2 * (rlim_t)n + 64};
	const struct kind *k = kinds;
	char line[64];

	while (argc > 1 && k < kinds + 3 && strcmp(k->name, argv[1]))
		k++;
	if (n <= 0 || k == kinds + 3)
		return 2;
	if (argc > 3)
		dir = argv[3];
	setvbuf(stdout, NULL, _IONBF, 0);
	if (k != kinds && setrlimit(RLIMIT_NOFILE, &most))
		fail("RLIMIT_NOFILE");
	watcher = epoll_create1(EPOLL_CLOEXEC);
	event = eventfd(0, EFD_CLOEXEC);
	pipes = calloc((size_t)n, sizeof(*pipes));
	if (watcher < 0 || event < 0 || !pipes)
		fail("setup");
	wait_line("ready");
	for (long i = 0; i < n; i++)
		k->make(i);
	wait_line("made");
	for (long i = 0; i < n; i++)
		k->remove(i);
	printf("gone\n");
	while (read(0, line, sizeof(line)) > 0)
		;
	return 0;
}
