/*
 * Getting at the very file that a process has mapped: by the mapping itself, by the process's
 * view of the path, by ours; and being sure that it is the same one. Private to module.c.
 */
#ifndef MEMWHY_SYM_MODULE_OPEN_H
#define MEMWHY_SYM_MODULE_OPEN_H

#include "sym/module.h"

/* root_fd: the root of the process. -ESTALE: there is a file by that name, but another one. */
int module_open_first(const struct module_sight *sight, int root_fd, int *ret_fd);
/* Opens the file again; -ESTALE if it is not the one of the stamp. */
int module_open_again(const char *path, int root_fd, const struct module_stamp *stamp, int *ret_fd);
/* A file without a name that is no ELF file. */
bool module_is_made(int fd);
int module_stamp_read(int fd, struct module_stamp *ret);

#endif
