/* --by and what else the probe and its view take from the command line alike. */
#ifndef MEMWHY_PROBES_COUNT_KEYS_H
#define MEMWHY_PROBES_COUNT_KEYS_H

#include "base/err.h"
#include "probes/count/count_filter.h"

struct count_keys {
	u32 n;
	u32 n_fields; /* of them */
	struct {
		u8 from; /* COUNT_FIELD, or what every event has */
		char name[FILTER_NAME];
	} keys[COUNT_KEYS];
};

/* by NULL or "event": none. stacks: "stack" is among them anyhow. -EINVAL: err says which is too
 * many or too long. */
int count_keys_parse(const char *by, bool stacks, struct count_keys *ret, struct err *err);
/* Is it among them? */
bool count_keys_have(const struct count_keys *k, u8 from);

#endif
