/*
 * Code without frame pointers that takes new memory all the time: by functions of names that are
 * known. no_frames grow|again|map|open SECONDS: keeps all of it, or fills one buffer, gives it back
 * and fills it again, while another thread waits; or maps, or opens a file, where a limit allows no
 * more, by a function of libc without a frame, and by one with a frame.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define BUFFER (16UL << 20)

static char *kept, *buffer;

__attribute__((noipa)) static void entry_keep(size_t size)
{
	char *entry = malloc(size);

	memset(entry, 1, size);
	*(char **)entry = kept;
	kept = entry;
}

__attribute__((noipa)) static int request_answer(int i)
{
	entry_keep(3000 + (size_t)i % 100);
	return i + 1;
}

__attribute__((noipa)) static int buffer_fill(void)
{
	for (size_t i = 0; i < BUFFER; i += 4096)
		buffer[i] = 1;
	return buffer[0];
}

__attribute__((noipa)) static int request_compute(void)
{
	int n = buffer_fill();

	madvise(buffer, BUFFER, MADV_DONTNEED);
	return n + 1;
}

__attribute__((noipa)) static int request_map(void)
{
	return mmap(NULL, 1UL << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}

__attribute__((noipa)) static int request_open(void)
{
	return open("/dev/null", O_RDONLY) < 0;
}

/* Does not return. */
static void meet_limit(int resource, rlim_t limit, int (*request)(void))
{
	struct rlimit l = {limit, limit};
	unsigned n = 0;

	setrlimit(resource, &l);
	for (;;) {
		n += (unsigned)request();
		usleep(2000 + n % 2);
	}
}

static void *wait_for_ever(void *arg)
{
	pause();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int n = 0;

	if (argc != 3)
		return 2;
	alarm((unsigned)atoi(argv[2]));
	if (!strcmp(argv[1], "map"))
		meet_limit(RLIMIT_AS, 512UL << 20, request_map);
	if (!strcmp(argv[1], "open"))
		meet_limit(RLIMIT_NOFILE, 16, request_open);
	buffer = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffer == MAP_FAILED || madvise(buffer, BUFFER, MADV_NOHUGEPAGE) ||
		pthread_create(&thread, NULL, wait_for_ever, NULL))
		return 1;
	for (int i = 0;; i++) {
		n += strcmp(argv[1], "grow") ? request_compute() : request_answer(i);
		if (i % 16 == 0 || n < 0)
			usleep(10000);
	}
}
