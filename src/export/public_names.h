/* Which names say nothing about whoever was recorded. */
#ifndef MEMWHY_EXPORT_PUBLIC_NAMES_H
#define MEMWHY_EXPORT_PUBLIC_NAMES_H

#include <stdbool.h>

#include "event/schema.h"

/* A file with code that every machine has: the C and C++ runtimes, well-known allocators, what
 * the kernel maps. By its path, or its name alone. */
bool public_module(const char *path);
/* A word for what has no name of its own: "[heap]", "anonymous", "main"; or a kernel thread. */
bool public_word(const char *text);
/* A part of a cgroup's path that every machine has: "system.slice". */
bool public_group(const char *part, size_t n);
/* A path of the kernel's own files, without anybody's name in it. */
bool public_path(const char *path);
/* Do the texts of this field come from the kernel or from memwhy itself? */
bool public_field(const struct kind *k, const struct field *f);

#endif
