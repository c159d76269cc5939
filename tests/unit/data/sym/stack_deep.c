/* Built by the tests without frame pointers, at several levels: frames of every shape compilers
 * make, hundreds deep, without end. */
#include <alloca.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEPTH 500
#define NOINLINE __attribute__((noinline))

static volatile unsigned int sink;
static jmp_buf back;
static unsigned int seed = 1;

static unsigned int next(void)
{
	return seed = seed * 1103515245 + 12345;
}

NOINLINE static int compare(const void *a, const void *b)
{
	const unsigned int *x = a, *y = b;

	sink += *x;
	return *x < *y ? -1 : *x > *y;
}

NOINLINE static void sorted(void)
{
	unsigned int v[300];

	for (int i = 0; i < 300; i++)
		v[i] = next();
	qsort(v, 300, sizeof(*v), compare);
}

/* The clock is in the vdso, printing deep in libc. */
NOINLINE static void libraries(void)
{
	char text[200];
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	sink += (unsigned int)snprintf(text, sizeof(text), "%f %s %ld", now.tv_nsec / 3.0, "x",
		(long)now.tv_sec);
	free(strdup(text));
}

/* More alignment than the ABI gives. */
NOINLINE static unsigned int aligned(unsigned int n)
{
	_Alignas(64) volatile unsigned char block[256];

	memset((void *)block, (int)n, sizeof(block));
	return block[n % 256];
}

/* Aligned anew, with a size that is only known as it runs. */
NOINLINE static unsigned int aligned_and_sized(unsigned int n)
{
	_Alignas(32) volatile unsigned char block[64];
	volatile char *more = alloca(n % 512 + 1);

	block[n % 64] = (unsigned char)n;
	more[n % 512] = (char)n;
	return block[n % 64] + aligned(n) + (unsigned int)more[n % 512];
}

/* A frame of more than a page, and more arguments than there are registers. */
NOINLINE static unsigned int large(int a, int b, int c, int d, int e, int f, int g, int h)
{
	volatile char block[9000];

	block[a] = (char)b;
	return (unsigned int)(block[a] + c + d + e + f + g + h) + aligned_and_sized((unsigned int)h);
}

NOINLINE static void leave(void)
{
	longjmp(back, 1);
}

NOINLINE static void thrown(void)
{
	if (!setjmp(back))
		leave();
}

NOINLINE static unsigned int descend_sized(int n);

NOINLINE static unsigned int descend(int n)
{
	unsigned int a = next(), b = next(), c = next(), d = next(), r;

	if (!n) {
		sorted();
		libraries();
		thrown();
		return large(1, 2, 3, 4, 5, 6, 7, (int)(a % 1000));
	}
	r = descend_sized(n - 1);
	sink += a;
	return r + a * b + c * d;
}

NOINLINE static unsigned int descend_sized(int n)
{
	volatile char block[n % 64 + 1];
	unsigned int r;

	block[n % 64] = (char)n;
	r = n ? descend(n - 1) : descend(0);
	return r + (unsigned int)block[n % 64];
}

int main(void)
{
	for (;;)
		sink += descend(DEPTH - (int)(next() >> 16) % DEPTH);
}
