/*
 * Private to the processes probe: statm and stat of the processes that are read again and again
 * stay open, where somebody watches: one system call in place of three. The kernel binds an open
 * file to the process, not to its number.
 */
#ifndef MEMWHY_PROBES_PROCESSES_FILES_H
#define MEMWHY_PROBES_PROCESSES_FILES_H

#include "base/str.h"

#define PROCESS_FILES_MOST 512 /* of them all */

enum process_file { PROCESS_STATM, PROCESS_STAT };

/* Of one process; to be zeroed before its first use. */
struct process_files {
	int fds[2]; /* plus 1; 0: it is closed */
};

/* All of the file, from the directory /proc. keeps: leave it open, if there is room. -ESRCH, or
 * -ENOENT: the process is gone. */
int process_file_read(struct process_files *f, enum process_file which, int proc, u32 pid,
	bool keeps, struct str *out);
void process_files_close(struct process_files *f);

#endif
