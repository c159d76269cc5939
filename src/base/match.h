/* Patterns with * ? [a-z] [!a-z] and \ before any of these, over a whole name. */
#ifndef MEMWHY_BASE_MATCH_H
#define MEMWHY_BASE_MATCH_H

#include <stdbool.h>

/* In time of the product of both lengths at most. A [ that is not closed is that character. */
bool pattern_matches(const char *pattern, const char *name);

#endif
