/*
 * Runs code that it made itself, and names it in /tmp/perf-PID.map as compilers at run time do.
 * usage: jit [UID]: the file then belongs to that user. jit memfd: the code lies in a file without
 * a name, which is mapped once to write it and once to run it, as .NET does. Waits for a line on
 * its input, makes 10 system calls (getppid) from there, prints "done", and waits for another line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};

static volatile long sink;

static void __attribute__((noinline)) called(void)
{
	sink += syscall(SYS_getppid);
}

static void name_it(const void *at, const char *owner)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "w");
	if (!f) {
		perror(path);
		exit(1);
	}
	fprintf(f, "not a line\n%lx %zx made::at run time(int)\n", (unsigned long)at, sizeof(code));
	fclose(f);
	if (owner && chown(path, (uid_t)atoi(owner), (gid_t)-1)) {
		perror("chown");
		exit(1);
	}
}

static void *made_plain(void)
{
	void *at = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : memcpy(at, code, sizeof(code));
}

static void *made_twice(void)
{
	int fd = memfd_create("doublemapper", MFD_CLOEXEC);
	void *to, *at;

	if (fd < 0 || ftruncate(fd, 8192))
		return NULL;
	to = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 4096);
	if (to == MAP_FAILED || at == MAP_FAILED)
		return NULL;
	memcpy(to, code, sizeof(code));
	return at;
}

int main(int argc, char **argv)
{
	int twice = argc > 1 && !strcmp(argv[1], "memfd");
	void *at = twice ? made_twice() : made_plain();
	void (*run)(void (*)(void));

	if (!at)
		return 1;
	run = (void (*)(void (*)(void)))at;
	name_it(at, argc > 1 && !twice ? argv[1] : NULL);
	printf("ready\n");
	fflush(stdout);
	while (getchar() > '\n')
		;
	for (int i = 0; i < 10; i++)
		run(called);
	printf("done\n");
	fflush(stdout);
	while (getchar() > '\n')
		;
	return 0;
}
