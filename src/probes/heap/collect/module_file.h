/*
 * A file that code of a program is from, as its library told of it (TRACK_MODULE of
 * tracker/ring.h). The library makes no call for one that was loaded while the program ran: so what
 * the kernel knows of it is read from /proc/PID/maps.
 */
#ifndef MEMWHY_PROBES_HEAP_COLLECT_MODULE_FILE_H
#define MEMWHY_PROBES_HEAP_COLLECT_MODULE_FILE_H

#include <stdbool.h>

#include "base/types.h"

struct heap_process;

#define MODULE_WORDS 256
#define MODULE_PATH 1025

struct module_file {
	u64 start, end, offset, dev, ino; /* ino 0: not known */
	char path[MODULE_PATH];
};

/* false: it is none. */
bool module_file_read(const u64 *words, u32 n, struct module_file *ret);
/* Completes one that was just told: returns how many words it has then, n at most MODULE_WORDS.
 * cwd: where the program began; NULL: not known. */
u32 module_file_complete(
	struct heap_process *p, const char *cwd, u64 words[MODULE_WORDS], u32 n, u64 now_ms);

#endif
