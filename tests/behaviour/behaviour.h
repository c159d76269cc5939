/*
 * What the programs of this directory share. Each has modes, which do one thing that programs do,
 * print what came of it, and end with 0. What they print is the same at each run, unless somebody
 * who watches changes what they do.
 */
#ifndef BEHAVIOUR_H
#define BEHAVIOUR_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mode {
	const char *name;
	int (*run)(int argc, char **argv);
};

/* argv[1] names the mode, what follows is its own. */
static inline int mode_run(const struct mode *modes, int argc, char **argv)
{
	for (; modes->name; modes++)
		if (argc > 1 && !strcmp(argv[1], modes->name))
			return modes->run(argc - 2, argv + 2);
	fprintf(stderr, "%s: there is no such mode\n", argv[0]);
	return 125;
}

/* What must hold, or the program says where it does not. */
#define MUST(x)                                                                               \
	do {                                                                                  \
		if (!(x)) {                                                                   \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #x); \
			exit(124);                                                            \
		}                                                                             \
	} while (0)

/* Blocks of all sizes, which hold what was written to them. Returns their sum. */
static inline unsigned long churn(int rounds)
{
	unsigned char *blocks[16] = {0};
	unsigned long sum = 0;

	for (int i = 0; i < rounds; i++) {
		size_t size = 1 + (size_t)(i * 37 % 3000);
		unsigned char **b = &blocks[i % 16];

		if (*b)
			sum += **b;
		if (i % 3 == 0)
			*b = realloc(*b, size);
		else {
			free(*b);
			*b = i % 3 == 1 ? malloc(size) : calloc(1, size);
		}
		MUST(*b);
		memset(*b, i & 0xff, size);
	}
	for (int i = 0; i < 16; i++) {
		if (blocks[i])
			sum += *blocks[i];
		free(blocks[i]);
	}
	return sum;
}

#endif
