/* The nearest of a set of names, for "did you mean". */
#ifndef MEMWHY_BASE_CLOSEST_H
#define MEMWHY_BASE_CLOSEST_H

#include <stddef.h>

/* The name within an edit distance of max(2, length / 3), or NULL. */
const char *closest(const char *name, const char *const *names, size_t n);

#endif
