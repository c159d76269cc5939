/*
 * What a command of -- CMD is started with to be tracked: the preload library (preload_file.h), and
 * the name of the socket at which each program it runs asks for the file to write to.
 */
#ifndef MEMWHY_CAPTURE_PRELOAD_H
#define MEMWHY_CAPTURE_PRELOAD_H

#include "base/err.h"
#include "base/types.h"
#include "capture/preload_file.h"
#include "tracker/ring.h"

struct preload {
	int socket; /* listening; -1: none */
	struct track_tokens tokens;
	struct preload_file file;
	char *old; /* LD_PRELOAD as it was; NULL: it was not set */
	bool open;
};

/* Sets our own environment, for the command to inherit. loads: without, the command itself cannot
 * load the library, and its loader is not asked to. */
int preload_open(struct preload *p, bool loads, struct err *err);
/* Our environment as it was before. */
void preload_started(struct preload *p);
void preload_close(struct preload *p);

#endif
