/* What the running kernel's tracepoints pass to raw programs. */
#ifndef MEMWHY_CAPTURE_TRACEPOINT_H
#define MEMWHY_CAPTURE_TRACEPOINT_H

#include <stdbool.h>

#include "base/types.h"

/*
 * Has the tracepoint an argument of this number, from 0? As the kernel's BTF says; without it,
 * asked by attaching a program that reads it: false where that is not permitted. Alternatives in an
 * attach plan tell the same, but each that fails costs a load of all programs.
 */
bool tracepoint_has_argument(const char *tracepoint, u32 number);

#endif
