/* For `doctor`: how complete the user stacks are of what runs on this host now. */
#ifndef MEMWHY_CMD_DOCTOR_STACKS_H
#define MEMWHY_CMD_DOCTOR_STACKS_H

#include "event/sink.h"

/* Gives up privileges, as any session. Sends a note, or nothing where stacks are unavailable. */
int doctor_stacks(struct sink *sink);

#endif
