/* The vdso: code that the kernel maps into each process, the same to all of them. */
#ifndef MEMWHY_SYM_VDSO_H
#define MEMWHY_SYM_VDSO_H

#include "base/util.h"

/* A malloc()ed copy of this process's own. -ENOENT when the kernel gives none. */
int vdso_read(void **ret, size_t *ret_size);

#endif
