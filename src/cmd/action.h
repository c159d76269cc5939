/* What a probe's command does in place of a session (probe_action): run it, print what it reports.
 */
#ifndef MEMWHY_CMD_ACTION_H
#define MEMWHY_CMD_ACTION_H

#include "cmd/options.h"
#include "probes/probe.h"

bool action_wanted(const struct probe *p, const struct options *o);
/* An exit status. */
int action_run(const struct probe *p, struct options *o);

#endif
