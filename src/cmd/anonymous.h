/* --anonymize: recordings are copied without names before anything else reads them. */
#ifndef MEMWHY_CMD_ANONYMOUS_H
#define MEMWHY_CMD_ANONYMOUS_H

#include "cmd/options.h"
#include "probes/probe.h"

#define ANONYMOUS_MAX 2 /* recordings at once */

struct anonymizer;
struct log_writer;

struct anonymous {
	struct schema *schema; /* NULL: names are kept */
	struct anonymizer *names;
	struct log_writer *copies[ANONYMOUS_MAX];
	int made[ANONYMOUS_MAX]; /* files behind them; 0: none, or handed out */
	size_t n;
};

/* Opens room for copies of n recordings, if the options ask for them: before the right to open
 * files is given up. */
int anonymous_begin(struct anonymous *a, const struct options *o, size_t n, struct err *err);
/*
 * Puts a copy in the place of an open recording (*fd); the same names become the same words in all
 * of them. `of`: whose data it is, as for replay_fd(). ret_damage: what is missing in the
 * recording, which the copy has as a note; "": nothing. Without anonymous_begin() nothing happens.
 */
int anonymous_copy(struct anonymous *a, int *fd, const char *path, const struct probe *of,
	char ret_damage[160], struct err *err);
void anonymous_free(struct anonymous *a);

#endif
