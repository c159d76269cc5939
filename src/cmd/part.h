/* The part of a recording that the options ask for: -p, -c, -g, -C, --from and --to with --input.
 */
#ifndef MEMWHY_CMD_PART_H
#define MEMWHY_CMD_PART_H

#include "cmd/options.h"
#include "probes/probe.h"
#include "record/narrow.h"
#include "report/report.h"

/* p: the probe of the command, NULL: none. *ret is to be freed by narrow_want_free, also when this
 * failed. */
int part_from_options(
	const struct options *o, const struct probe *p, struct narrow_want *ret, struct err *err);
/* Are the options about a part of a recording, with no recording given? -EINVAL and err. */
int part_check(const struct options *o, const struct probe *p, struct err *err);
/* Says what the numbers are of. */
void part_tell(const struct narrow *n, struct report *r);

#endif
