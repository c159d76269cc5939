/* What memwhy wrote before, and may therefore replace: see base/target.h. */
#ifndef MEMWHY_CMD_OURS_H
#define MEMWHY_CMD_OURS_H

#include "base/target.h"
#include "cmd/options.h"

/* --record FILE, or the operand of `record`; --out FILE. What is there must be a recording or a
 * report of memwhy, unless --force. */
struct target ours_recording(const struct options *o, const char *path);
struct target ours_report(const struct options *o);
/* Notes on a file that it is a report, which csv, folded and -q do not say themselves. Where the
 * file system keeps no such notes these are replaced with --force only. */
void ours_mark(int fd);

#endif
