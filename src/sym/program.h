/* What kind of program a command runs. */
#ifndef MEMWHY_SYM_PROGRAM_H
#define MEMWHY_SYM_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/* Where exec finds it (PATH). False: nowhere. */
bool program_find(const char *name, char ret[PATH_MAX]);
/*
 * Is `name`, looked for as exec does (PATH), an ELF program that no loader is asked to run, so that
 * nothing can be preloaded into it? False also where it is a script, or cannot be read.
 */
bool program_is_static(const char *name, char ret_path[PATH_MAX]);

#endif
