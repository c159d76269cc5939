/* The long texts of the syscalls command's manual page: what it tells, and what it printed. */
#ifndef MEMWHY_PROBES_SYSCALLS_OUTPUT_H
#define MEMWHY_PROBES_SYSCALLS_OUTPUT_H

extern const char syscalls_details[];
extern const char syscalls_output[];

#endif
