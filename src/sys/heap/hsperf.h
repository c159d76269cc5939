/*
 * The counters that a Java virtual machine (HotSpot) keeps in a file of shared memory,
 * /tmp/hsperfdata_USER/PID. Owns the format, version 2; the bytes are another process's.
 */
#ifndef MEMWHY_SYS_HSPERF_H
#define MEMWHY_SYS_HSPERF_H

#include "base/util.h"

bool hsperf_is_sound(const void *data, size_t n);
/* A counter of 8 bytes. false: there is none of this name. */
bool hsperf_number(const void *data, size_t n, const char *name, u64 *ret);
/* A text, cut where it is longer. */
bool hsperf_text(const void *data, size_t n, const char *name, char *ret, size_t size);

#endif
