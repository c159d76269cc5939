/* What is different about raw tracepoints from kernel to kernel, found out by trying. */
#ifndef MEMWHY_CAPTURE_RAWTP_H
#define MEMWHY_CAPTURE_RAWTP_H

#include "base/util.h"

/*
 * Has the raw tracepoint at least n arguments? The kernel refuses to attach a program that reads
 * an argument that is not there. False where there is no such tracepoint, or nothing may be
 * attached.
 */
bool rawtp_has_args(const char *name, u32 n);

#endif
