/*
 * A file server that stops answering, and a process that depends on it:
 *
 *   hung_files DIR low    the lowest page of a process is a page of its file, not read yet
 *   hung_files DIR exec   a process runs a program from it
 *   hung_files DIR mount  a tmpfs is mounted below it
 *   hung_files DIR open   a process has a file of it open that is named as if it were deleted
 *
 * With one more word it goes on answering all but that: "open", "read", "readdir", or "beyond": to
 * read more than the first page of the file.
 *
 * It mounts itself on DIR (FUSE), prints "ready" once it answers no more, and ends with its input.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_NODE 2
#define DIRECTORY_NODE 3
#define NAME "file (deleted)"
#define LOWEST ((void *)0x10000)
#define GROWTH 262144
#define BUF (1 << 17)

static int device, program = -1;
static const char *what, *deaf; /* to which requests, in the end; NULL: all */
static char buf[BUF], content[BUF];

static void answer(unsigned long long unique, int error, const void *data, size_t n)
{
	struct fuse_out_header head = {.len = (unsigned)(sizeof(head) + n), error, unique};
	struct iovec parts[] = {{&head, sizeof(head)}, {(void *)data, n}};

	if (writev(device, parts, n ? 2 : 1) < 0)
		perror("answer");
}

static struct fuse_attr attributes(unsigned long long node)
{
	struct fuse_attr a = {.ino = node, .mode = S_IFDIR | 0755, .nlink = 1, .blksize = 4096};
	struct stat st;

	if (node == FILE_NODE && !fstat(program, &st)) {
		a.mode = S_IFREG | 0755;
		a.size = (unsigned long long)st.st_size;
	}
	return a;
}

static void lookup(const struct fuse_in_header *in)
{
	struct fuse_entry_out out = {
		.nodeid = strcmp((const char *)(in + 1), NAME) ? DIRECTORY_NODE : FILE_NODE};

	out.attr = attributes(out.nodeid);
	answer(in->unique, 0, &out, sizeof(out));
}

static void file_read(const struct fuse_in_header *in)
{
	const struct fuse_read_in *ask = (const void *)(in + 1);
	ssize_t n = pread(program, content, ask->size, (off_t)ask->offset);

	answer(in->unique, n < 0 ? -EIO : 0, content, n < 0 ? 0 : (size_t)n);
}

static void serve_one(const struct fuse_in_header *in)
{
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096};
	struct fuse_attr_out attr = {.attr = attributes(in->nodeid)};
	struct fuse_open_out opened = {};
	struct fuse_statfs_out all = {.st = {.blocks = 1, .bsize = 4096}};

	if (in->opcode == FUSE_INIT)
		answer(in->unique, 0, &init, sizeof(init));
	else if (in->opcode == FUSE_LOOKUP)
		lookup(in);
	else if (in->opcode == FUSE_GETATTR)
		answer(in->unique, 0, &attr, sizeof(attr));
	else if (in->opcode == FUSE_OPEN || in->opcode == FUSE_OPENDIR)
		answer(in->unique, 0, &opened, sizeof(opened));
	else if (in->opcode == FUSE_READ && strcmp(what, "low") != 0)
		file_read(in);
	else if (in->opcode == FUSE_STATFS)
		answer(in->unique, 0, &all, sizeof(all));
	else if (in->opcode != FUSE_READ && in->opcode != FUSE_FORGET)
		answer(in->unique, -ENOSYS, NULL, 0);
}

/* Grows, so that somebody looks at it; for a minute at most, so that nobody has to end it. */
static void grow(void)
{
	alarm(60);
	for (;;) {
		char *more = malloc(GROWTH);

		if (more)
			memset(more, 1, GROWTH);
		usleep(20000);
	}
}

static void depend(const char *dir)
{
	char path[512];
	int fd = -1;

	snprintf(path, sizeof(path), "%s/" NAME, dir);
	if (!strcmp(what, "mount")) {
		snprintf(path, sizeof(path), "%s/below", dir);
		_exit(mount("none", path, "tmpfs", 0, "size=1m") ? 1 : 0);
	}
	if (!strcmp(what, "exec")) {
		execl(path, path, "-", "grow", NULL);
		_exit(1);
	}
	fd = open(path, O_RDONLY);
	if (fd < 0 || (!strcmp(what, "low") && mmap(LOWEST, 4096, PROT_READ,
						       MAP_PRIVATE | MAP_FIXED, fd, 0) != LOWEST))
		_exit(1);
	grow();
}

/* Until it is quiet for a second; false: the child could not be made to depend on it. */
static int serve(pid_t child)
{
	struct pollfd p = {.fd = device, .events = POLLIN};
	int status;

	while (poll(&p, 1, 1000) > 0)
		if (read(device, buf, sizeof(buf)) > 0)
			serve_one((const void *)buf);
	return waitpid(child, &status, WNOHANG) != child || !status;
}

static bool is_deaf_to(const struct fuse_in_header *in)
{
	const struct fuse_read_in *ask = (const void *)(in + 1);

	switch (in->opcode) {
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		return !deaf || !strcmp(deaf, "open");
	case FUSE_READ:
		return !deaf || !strcmp(deaf, "read") || (!strcmp(deaf, "beyond") && ask->offset);
	case FUSE_READDIR:
		return !deaf || !strcmp(deaf, "readdir");
	default:
		return !deaf;
	}
}

/* false: it was unmounted. */
static bool hang_one(void)
{
	if (read(device, buf, sizeof(buf)) < 0)
		return errno != ENODEV;
	if (!is_deaf_to((const void *)buf))
		serve_one((const void *)buf);
	return true;
}

int main(int argc, char **argv)
{
	char options[128], byte;
	pid_t child;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[2], "grow"))
		grow();
	what = argv[2];
	deaf = argv[3];
	program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other",
		device);
	if (device < 0 || mount("hung", argv[1], "fuse", MS_NOSUID, options)) {
		perror("fuse");
		return 77;
	}
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(device); /* or its end would not end the mount */
		depend(argv[1]);
	}
	if (!serve(child)) {
		fputs("not made\n", stderr);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	/* requests are taken, and not answered */
	while (poll((struct pollfd[]){{0, POLLIN, 0}, {device, POLLIN, 0}}, 2, -1) >= 0) {
		struct pollfd input = {.fd = 0, .events = POLLIN};

		if (poll(&input, 1, 0) > 0 && read(0, &byte, 1) <= 0)
			break;
		if (poll(&(struct pollfd){.fd = device, .events = POLLIN}, 1, 0) > 0 && !hang_one())
			break;
	}
	kill(child, SIGKILL);
	close(device);
	return 0;
}
