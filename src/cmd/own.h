/*
 * The options that a command has because it is a probe's: memory for them, and their place among
 * those of every command. What they mean is the probe's affair.
 */
#ifndef MEMWHY_CMD_OWN_H
#define MEMWHY_CMD_OWN_H

#include "cmd/options.h"
#include "probes/probe.h"

/* The structs that options of probes write into, by number of the probe; NULL: it has none. */
int own_alloc(struct options *o);
void own_free(struct options *o);
/* Those of one; NULL: it has none. */
void *own_of(const struct options *o, const struct probe *p);

/* What a probe sees of the rest of the command line. ret->over_given is in buf. */
#define OVER_WORDS 128
void own_request(
	const struct options *o, const struct probe *p, char buf[OVER_WORDS], struct request *ret);
/* Which probes run beside it? */
void own_beside(const struct options *o, const struct probe *p, struct company *ret);
/* Is there a command, and can something be preloaded into it? */
bool own_is_tracked(const struct options *o);
/* Do the options of the command's probe go together? They may choose the part of a recording. */
int own_check(struct options *o, const struct probe *p, struct err *err);

#endif
