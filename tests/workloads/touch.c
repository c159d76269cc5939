/*
 * Page faults of a known number. usage: touch MIB [FILE]
 * Prints "ready", waits for a line, touches MIB of fresh anonymous memory page by page and reads
 * FILE's pages through a mapping, prints "MINOR MAJOR" as getrusage counted them from before the
 * wait until then, and waits for the end of its input. Nothing faults while it waits, so whoever
 * attaches at "ready" and leaves after the numbers sees exactly these faults.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static __attribute__((noinline)) void touch_pages(volatile char *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 4096)
		p[i] = 1;
}

static __attribute__((noinline)) void touch_anonymous(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	madvise(p, bytes, MADV_NOHUGEPAGE);
	touch_pages(p, bytes);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) unsigned read_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	unsigned sum = 0;
	const volatile char *p;

	if (fd < 0 || fstat(fd, &st))
		exit(1);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		exit(1);
	for (off_t i = 0; i < st.st_size; i += 4096)
		sum += (unsigned char)p[i];
	return sum;
}

int main(int argc, char **argv)
{
	struct rusage before, after;
	char line[64], text[64];

	if (argc < 2)
		return 2;
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("ready\n");
	/* The code and stack that printing needs are there then. */
	getrusage(RUSAGE_SELF, &after);
	if (write(2, text, (size_t)snprintf(text, sizeof(text), "%ld %ld\n", after.ru_minflt, 0L)) <
		0)
		return 1;
	getrusage(RUSAGE_SELF, &before);
	if (read(0, line, sizeof(line)) <= 0)
		return 1;
	touch_anonymous((size_t)atol(argv[1]) << 20);
	if (argc > 2)
		read_file(argv[2]);
	getrusage(RUSAGE_SELF, &after);
	if (write(1, text,
		    (size_t)snprintf(text, sizeof(text), "%ld %ld\n",
			    after.ru_minflt - before.ru_minflt,
			    after.ru_majflt - before.ru_majflt)) < 0)
		return 1;
	while (read(0, line, sizeof(line)) > 0)
		;
	_exit(0);
}
