/*
 * What a command of -- CMD is started with to be tracked: the preload library, and the name of the
 * socket at which each program it runs asks for the file to write to. The library is part of
 * memwhy: it is the file beside memwhy (or in ../lib/memwhy) where that is the same, since
 * everybody can open it there; else a file in memory, which lives as long as memwhy does.
 */
#ifndef MEMWHY_CAPTURE_PRELOAD_H
#define MEMWHY_CAPTURE_PRELOAD_H

#include "base/err.h"
#include "base/types.h"

struct preload {
	int socket;  /* listening; -1: none */
	int library; /* the file in memory; -1: none */
	char *old;   /* LD_PRELOAD as it was; NULL: it was not set */
	bool open;
};

/* Sets our own environment, for the command to inherit. */
int preload_open(struct preload *p, struct err *err);
/* Our environment as it was before. */
void preload_started(struct preload *p);
void preload_close(struct preload *p);
/* Is the library's file a usable one? For `doctor`: where it is, or NULL. */
const char *preload_path(void);

#endif
