/* The records every stream begins with: the host, and the session. */
#ifndef MEMWHY_RECORD_ORIGIN_H
#define MEMWHY_RECORD_ORIGIN_H

#include "capture/capture.h"

int origin_send(struct capture *c, const char *command, const char *scope);
/* The session again: its command is about to be let go, and with it the interval begins. */
int origin_begin(struct capture *c, const char *command, const char *scope);

#endif
