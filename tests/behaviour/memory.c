/* What the functions of the allocator and of mappings promise, to the letter: what they return,
 * what errno is, what a wrong use ends in. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <obstack.h>
#define obstack_chunk_alloc malloc
#define obstack_chunk_free free
#endif

#include "behaviour.h"

#define PAGE 4096UL

static void *volatile sink;

static void say(const char *what, void *p)
{
	printf("%s: %s, %s\n", what, p ? "a block" : "none", p ? "" : strerror(errno));
	errno = 0;
}

static void result(long rc)
{
	printf("%ld, %s\n", rc, rc == -1 ? strerror(errno) : "");
	errno = 0;
}

static int nothing(int argc, char **argv)
{
	void *a = malloc(0), *b = malloc(0);

	printf("%d %d\n", a != NULL, a != b);
	free(a);
	free(b);
	free(NULL);
	a = realloc(NULL, 0);
	printf("%d\n", a != NULL);
	a = realloc(a, 0);
	printf("%d\n", a != NULL);
	return argc && argv;
}

static int too_much(int argc, char **argv)
{
	volatile size_t much = SIZE_MAX - 100, half = SIZE_MAX / 2;
	void *p = malloc(10);

	errno = 0;
	say("malloc", sink = malloc(much));
	say("calloc", sink = calloc(half, 3));
	say("realloc", sink = realloc(p, much));
	say("reallocarray", sink = reallocarray(p, half, 4));
	say("aligned_alloc", sink = aligned_alloc(64, much & ~63UL));
	say("memalign", sink = memalign(64, much));
	printf("%s\n", strerror(posix_memalign(&p, 64, much)));
	free(p);
	return argc && argv;
}

static int aligned(int argc, char **argv)
{
	unsigned long bad = 0;
	void *p;

	for (size_t align = 8; align <= 65536; align *= 2)
		for (size_t size = 1; size < 5000; size = size * 3 + 1) {
			MUST(!posix_memalign(&p, align, size));
			memset(p, 1, size);
			bad += (uintptr_t)p % align;
			free(p);
			p = aligned_alloc(align, (size + align - 1) / align * align);
			bad += (uintptr_t)p % align;
			p = realloc(p, size * 2);
			free(p);
			p = memalign(align, size);
			bad += (uintptr_t)p % align + (malloc_usable_size(p) < size);
			free(p);
		}
	printf("%lu, %s\n", bad, strerror(posix_memalign(&p, 3, 10)));
#ifdef __GLIBC__
	p = valloc(10);
	printf("%lu ", (uintptr_t)p % PAGE);
	free(p);
	p = pvalloc(10);
	printf("%lu %zu\n", (uintptr_t)p % PAGE, malloc_usable_size(p));
	free(p);
#endif
	return argc && argv;
}

/* What is in a block when it grows and shrinks. */
static int resize(int argc, char **argv)
{
	unsigned char *p = NULL;
	size_t had = 0;

	for (int i = 0; i < 400; i++) {
		size_t size = (size_t)(i * i * 31 % 300000 + 1);

		p = realloc(p, size);
		MUST(p);
		for (size_t k = 0; k < had && k < size; k += 97)
			MUST(p[k] == (unsigned char)k);
		for (size_t k = 0; k < size; k++)
			p[k] = (unsigned char)k;
		had = size;
	}
	free(p);
	printf("all as it was\n");
	return argc && argv;
}

static int zeroed(int argc, char **argv)
{
	for (int i = 1; i < 500; i++) {
		size_t n = (size_t)i * 613 % 70000;
		char *p = malloc(n), *q;

		memset(p, 0xaa, n);
		free(p);
		q = calloc(n, 1);
		for (size_t k = 0; k < n; k++)
			MUST(!q[k]);
		free(q);
	}
	printf("all are zero\n");
	return argc && argv;
}

static int keeps_errno(int argc, char **argv)
{
	void *p[3] = {malloc(10), malloc(100000), malloc(10000000)};

	errno = EXDEV;
	for (int i = 0; i < 3; i++)
		free(p[i]);
	printf("%s\n", strerror(errno));
	return argc && argv;
}

static void no_core(void)
{
	struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
}

static int freed_twice(int argc, char **argv)
{
	void *p = malloc(100);

	no_core();
	free(p);
	sink = p;
	free(sink);
	return argc && argv;
}

static int freed_wrong(int argc, char **argv)
{
	char *p = malloc(100);

	no_core();
	sink = p + 8;
	free(sink);
	return argc && argv;
}

static int usable(int argc, char **argv)
{
	for (size_t size = 1; size < 300000; size = size * 5 / 3 + 7) {
		unsigned char *p = malloc(size);
		size_t all = malloc_usable_size(p);

		MUST(all >= size);
		memset(p, 1, all);
		printf("%zu ", all);
		free(p);
	}
	printf("\n");
	return argc && argv;
}

static int told(int argc, char **argv)
{
#ifdef __GLIBC__
	void *p[100];
	struct mallinfo2 info;

	mallopt(M_MMAP_THRESHOLD, 64 << 10);
	for (int i = 0; i < 100; i++)
		p[i] = malloc(2000);
	sink = malloc(100000);
	info = mallinfo2();
	printf("%zu mapped\n", info.hblks);
	MUST(info.uordblks > 200000);
	for (int i = 0; i < 100; i++)
		free(p[i]);
	free(sink);
	malloc_trim(0);
	info = mallinfo2();
	printf("%zu mapped\n", info.hblks);
#else
	printf("nothing is told\n");
#endif
	return argc && argv;
}

static int strings(int argc, char **argv)
{
	char *line = NULL, *text = NULL, *path;
	size_t size = 0, length = 0;
	FILE *f = open_memstream(&text, &length);

	for (int i = 0; i < 2000; i++)
		fprintf(f, "%d,", i);
	fclose(f);
	f = fmemopen(text, length, "r");
	printf("%zu %zd\n", length, getdelim(&line, &size, '9', f));
	fclose(f);
	free(text);
	MUST(asprintf(&text, "%s|%5000d", line, 1) > 5000);
	printf("%zu\n", strlen(text));
	path = realpath("/", NULL);
	printf("%s %s\n", path, strndup(text, 5));
	free(text);
	free(line);
	free(path);
	return argc && argv;
}

static int mappings(int argc, char **argv)
{
	char *p = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	     *q;

	memset(p, 7, 8 * PAGE);
	MUST(mmap(p + PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
		p + PAGE);
	MUST(!munmap(p + 3 * PAGE, PAGE));
	printf("%d %d %d\n", p[0], p[PAGE], p[4 * PAGE]);
	q = mremap(p + 4 * PAGE, 4 * PAGE, 400 * PAGE, MREMAP_MAYMOVE);
	printf("%d %d\n", q[0], q[399 * PAGE]);
	MUST(!madvise(q, PAGE, MADV_DONTNEED));
	printf("%d %d\n", q[0], q[PAGE]);
	result(munmap(p + 1, PAGE));
	result((long)mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	result((long)mremap(p, PAGE, 2 * PAGE, MREMAP_FIXED, p));
	return argc && argv;
}

static int breaks(int argc, char **argv)
{
	char *from = sbrk(0), *at = sbrk(100000);

	printf("%d\n", at >= from);
	memset(at, 1, 100000);
	at = sbrk(0);
	printf("%d %d\n", brk(at + PAGE), (int)((char *)sbrk(0) - at));
	printf("%d\n", brk(at));
	result((long)sbrk(INTPTR_MAX / 2));
	return argc && argv;
}

static int by_files(int argc, char **argv)
{
	int fd = open("a file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *p;

	MUST(!ftruncate(fd, 3 * PAGE));
	p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	memset(p, 'x', 3 * PAGE);
	MUST(!msync(p, 3 * PAGE, MS_SYNC) && !munmap(p, 3 * PAGE));
	p = mmap64(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 2 * PAGE);
	printf("%c descriptor %d\n", *p, fd);
	fd = memfd_create("one", MFD_ALLOW_SEALING);
	MUST(!ftruncate(fd, PAGE) && !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK));
	result(ftruncate(fd, 0));
	return argc && argv;
}

/* Code that is made at run time. */
static int code(int argc, char **argv)
{
	static const unsigned char add[] = {0x8d, 0x04, 0x37, 0xc3}; /* lea (%rdi,%rsi),%eax; ret */
	unsigned char *p =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(p, add, sizeof(add));
	MUST(!mprotect(p, PAGE, PROT_READ | PROT_EXEC));
	printf("%d\n", ((int (*)(int, int))(void *)p)(argc + 40, 2));
	return argv == NULL;
}

/* An allocation that a handler of a fault makes, for an access within a block. */
static char *guarded;

static void opens(int sig)
{
	free(malloc((size_t)sig));
	mprotect(guarded, PAGE, PROT_READ | PROT_WRITE);
}

static int guards(int argc, char **argv)
{
	struct sigaction a = {.sa_handler = opens};
	int sum = 0;

	sigaction(SIGSEGV, &a, NULL);
	guarded = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 50; i++) {
		mprotect(guarded, PAGE, PROT_NONE);
		*(volatile char *)guarded = (char)i;
		sum += *guarded;
		churn(5);
	}
	printf("%d\n", sum);
	return argc && argv;
}

static int much(int argc, char **argv)
{
	void **list = NULL;
	unsigned long n = 0;

	for (int i = 0; i < 200000; i++) {
		void **p = malloc(24);

		*p = list;
		list = p;
	}
	while (list) {
		void **next = *list;

		free(list);
		list = next;
		n++;
	}
	printf("%lu\n", n);
	return argc && argv;
}

static int stacks_of_objects(int argc, char **argv)
{
#ifdef __GLIBC__
	struct obstack o;

	obstack_init(&o);
	for (int i = 0; i < 2000; i++)
		obstack_grow(&o, "object", 6);
	obstack_1grow(&o, 0);
	printf("%zu\n", strlen(obstack_finish(&o)));
	obstack_free(&o, NULL);
#else
	printf("there are none\n");
#endif
	return argc && argv;
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = {
		{"nothing", nothing},
		{"too-much", too_much},
		{"aligned", aligned},
		{"resize", resize},
		{"zeroed", zeroed},
		{"errno", keeps_errno},
		{"freed-twice", freed_twice},
		{"freed-wrong", freed_wrong},
		{"usable", usable},
		{"told", told},
		{"strings", strings},
		{"mappings", mappings},
		{"breaks", breaks},
		{"files", by_files},
		{"code", code},
		{"guards", guards},
		{"much", much},
		{"obstacks", stacks_of_objects},
		{0},
	};

	return mode_run(modes, argc, argv);
}
