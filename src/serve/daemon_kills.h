/*
 * What a daemon does at once is one kill: systemd-oomd ends all processes of a group, by as many
 * signals as it takes. Remembers the latest, and knows a signal that belongs to one of them.
 */
#ifndef MEMWHY_SERVE_DAEMON_KILLS_H
#define MEMWHY_SERVE_DAEMON_KILLS_H

#include <stdbool.h>

#include "probes/oom/oom.h"

#define DAEMON_KILLS 64 /* that are remembered */

struct daemon_kills {
	struct {
		char comm[COMM_LEN]; /* the daemon */
		u64 subject;         /* the group, or the process */
		u64 last_ns;         /* signal; 0: free */
	} v[DAEMON_KILLS];
};

/* Does a kill begin with this signal? It is remembered either way. */
bool daemon_kill_begins(struct daemon_kills *d, const struct daemon_kill *r);

#endif
