/* What the policy probe's records look like on disk. */
#ifndef MEMWHY_PROBES_POLICY_KINDS_H
#define MEMWHY_PROBES_POLICY_KINDS_H

#include "event/schema.h"

#define POLICY_KINDS 5

extern const struct kind policy_kinds[POLICY_KINDS];

#endif
