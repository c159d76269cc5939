/* What kind of program a command runs. */
#ifndef MEMWHY_SYM_PROGRAM_KIND_H
#define MEMWHY_SYM_PROGRAM_KIND_H

#include <limits.h>
#include <stdbool.h>

/* Where exec finds it (PATH). False: nowhere. */
bool program_find(const char *name, char ret[PATH_MAX]);
/*
 * The interpreter of a script; false: it is none, or none that runs. As in fs/binfmt_script.c: a
 * name that does not end within the bytes that the kernel reads is refused, a relative one begins
 * where we are. ret_word, if not NULL: of env, the name of the program it runs; else "".
 */
bool program_script(int fd, char ret[PATH_MAX], char ret_word[PATH_MAX]);

#endif
