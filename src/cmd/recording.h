/* What a report on a recording has to say of the recording itself. */
#ifndef MEMWHY_CMD_RECORDING_H
#define MEMWHY_CMD_RECORDING_H

#include "cmd/run.h"

/* Adds what was asked for and is not in it. */
void recording_tell(const struct run *run, struct report *r);

#endif
