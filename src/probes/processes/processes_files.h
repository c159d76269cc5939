/*
 * Private to the processes probe: statm and stat of the processes that are read again and again
 * stay open, where somebody watches: one system call in place of three. The kernel binds an open
 * file to the process, not to its number.
 */
#ifndef MEMWHY_PROBES_PROCESSES_FILES_H
#define MEMWHY_PROBES_PROCESSES_FILES_H

#include "base/str.h"

#define PROCESS_FILES_MOST 512U /* of them all; fewer where few may be open */

enum process_file { PROCESS_STATM, PROCESS_STAT };

/* The open files of one process; zero it before its first use. */
struct process_files {
	int fds[2]; /* plus 1; 0: it is closed */
};

struct process_files_room {
	int proc; /* the directory /proc, open */
	u32 left; /* so many more may stay open */
};

/* All of the file. keeps: leave it open, if there is room. -ESRCH, or -ENOENT: the process is gone;
 * -EMFILE or -ENFILE says nothing of it. */
int process_file_read(struct process_files *f, enum process_file which,
	struct process_files_room *room, u32 pid, bool keeps, struct str *out);
void process_files_close(struct process_files *f, struct process_files_room *room);

#endif
