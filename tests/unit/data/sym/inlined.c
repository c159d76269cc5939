/* Built by the tests: C with calls inlined several levels deep, and some that are not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline __attribute__((always_inline)) unsigned int mix(unsigned int a, unsigned int b)
{
	a ^= b << 7;
	a *= 2654435761u;
	return a ^ (a >> 13);
}

static inline __attribute__((always_inline)) unsigned int mix_twice(unsigned int a, unsigned int b)
{
	unsigned int c = mix(a, b);

	if (c & 1)
		c = mix(c, a);
	return c;
}

static inline __attribute__((always_inline)) unsigned int sum(const unsigned char *p, size_t n)
{
	unsigned int h = 1;

	for (size_t i = 0; i < n; i++) {
		unsigned int k = p[i];

		{
			unsigned int nested = mix_twice(h, k);

			h += nested;
		}
	}
	return h;
}

__attribute__((noinline)) unsigned int hash_text(const char *text)
{
	return sum((const unsigned char *)text, strlen(text));
}

__attribute__((noinline, cold)) void fail(const char *why)
{
	fprintf(stderr, "failed: %s\n", why);
	exit(1);
}

static __attribute__((noinline)) int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

__attribute__((noinline)) int sort_and_check(int *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare);
	for (size_t i = 1; i < n; i++) {
		if (v[i - 1] > v[i])
			fail("not sorted");
		v[i] ^= (int)mix((unsigned int)v[i], (unsigned int)i) & 1;
	}
	return v[n / 2];
}

int main(int argc, char **argv)
{
	int v[] = {5, 3, argc, 9, 1};

	for (int i = 0; i < argc; i++)
		v[i % 5] += (int)(hash_text(argv[i]) & 3);
	printf("%d\n", sort_and_check(v, sizeof(v) / sizeof(v[0])));
	return 0;
}
