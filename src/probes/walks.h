/* The BPF objects of probes once more, built to walk user stacks by themselves (unwind.bpf.h). */
#ifndef MEMWHY_PROBES_WALKS_H
#define MEMWHY_PROBES_WALKS_H

#include "probes/probe.h"

/* The object of a probe for this capture: the walking one where it can supply user stacks. */
void walk_choose(const struct capture *c, const struct probe *p, struct attach_spec *spec);
/* attach_open; where the walk's object does not load here, with the other one, which is said. */
int walk_attach(struct capture *c, const struct probe *p, struct attach_spec *spec,
	struct attached **ret, struct err *err);
/* For `doctor`: says how user stacks are had here. */
int walk_survey(struct capture *c);

#endif
