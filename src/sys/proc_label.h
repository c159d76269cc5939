/* How people know a process: its name and, of an interpreter or a virtual machine, what it runs. */
#ifndef MEMWHY_SYS_PROC_LABEL_H
#define MEMWHY_SYS_PROC_LABEL_H

#include "base/str.h"

/* out is cleared first: "nginx", "python3 worker.py", "java Server". args: n bytes of arguments,
 * each ended by a NUL. */
void proc_label(const char *comm, const char *args, size_t n, struct str *out);
/* 0, or -errno where it is gone; out is empty then. */
int proc_label_read(u32 pid, struct str *out);

#endif
