/* The records every stream begins with: the host, and the session. */
#ifndef MEMWHY_RECORD_ORIGIN_H
#define MEMWHY_RECORD_ORIGIN_H

#include "capture/capture.h"

/* Is there what nothing works without? */
int origin_check(struct err *err);
int origin_send(struct capture *c, const char *command, const char *scope);
/* The session again: the interval begins, or began at begin_ns. */
int origin_begin(struct capture *c, const char *command, const char *scope, u64 begin_ns);

#endif
