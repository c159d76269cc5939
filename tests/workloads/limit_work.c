/*
 * A known working set: limit_work ANON HOT FILE BYTES USED. Has so many bytes of anonymous memory
 * and touches some of them again and again; writes a file and reads the beginning of it again and
 * again. Prints "ready" once all is there; ends when its input does.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STEP 65536
#define PAUSE_MS 50

static char buffer[STEP];

static int file_make(const char *path, size_t bytes)
{
	int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);

	for (size_t done = 0; fd >= 0 && done < bytes; done += STEP)
		if (write(fd, buffer, STEP) != STEP)
			return -1;
	return fd < 0 || fdatasync(fd) ? -1 : fd;
}

static int input_has_ended(void)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	char c;

	return poll(&p, 1, PAUSE_MS) > 0 && read(STDIN_FILENO, &c, 1) <= 0;
}

int main(int argc, char **argv)
{
	size_t anon, hot, used;
	char *p;
	int fd;

	if (argc != 6)
		return 2;
	anon = strtoull(argv[1], NULL, 10);
	hot = strtoull(argv[2], NULL, 10);
	used = strtoull(argv[5], NULL, 10);
	p = mmap(NULL, anon + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fd = file_make(argv[3], strtoull(argv[4], NULL, 10));
	if (p == MAP_FAILED || fd < 0) {
		perror(argv[3]);
		return 1;
	}
	madvise(p, anon + 1, MADV_NOHUGEPAGE);
	memset(p, 1, anon);
	puts("ready");
	fflush(stdout);
	while (!input_has_ended()) {
		for (size_t i = 0; i < hot; i += 4096)
			p[i]++;
		for (size_t i = 0; i < used; i += STEP)
			if (pread(fd, buffer, STEP, (off_t)i) != STEP)
				return 1;
	}
	return 0;
}
