/* What the compiler calls by itself, in our own copies: the library needs no libc. */
#include "tracker/calls.h"

void *memcpy(void *to, const void *from, size_t n)
{
	char *t = to;

	__asm__ volatile("rep movsb" : "+D"(t), "+S"(from), "+c"(n) : : "memory");
	return to;
}

void *memset(void *to, int c, size_t n)
{
	char *t = to;

	__asm__ volatile("rep stosb" : "+D"(t), "+c"(n) : "a"(c) : "memory");
	return to;
}

int memcmp(const void *a, const void *b, size_t n);

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}
