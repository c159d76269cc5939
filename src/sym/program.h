/* What kind of program a command runs. */
#ifndef MEMWHY_SYM_PROGRAM_H
#define MEMWHY_SYM_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/* Where exec finds it (PATH). False: nowhere. */
bool program_find(const char *name, char ret[PATH_MAX]);

#endif
