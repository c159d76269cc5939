/* See probe.h. */
#include "probes/probe.h"

#include <string.h>

const struct probe *const probes[] = {
#define PROBE(id_, ...) &probe_##id_,
#include "probes/probes.def"
#undef PROBE
};
const size_t probes_n = ARRAY_SIZE(probes);

const struct probe *probe_find(const char *name)
{
	for (size_t i = 0; i < probes_n; i++)
		if (!strcmp(probes[i]->name, name))
			return probes[i];
	return NULL;
}

size_t probe_index(const struct probe *p)
{
	size_t i = 0;

	while (i < probes_n && probes[i] != p)
		i++;
	return i;
}

void probe_enter(const struct probe *p, struct capture *c)
{
	size_t i = probe_index(p);

	c->probe = p->name;
	c->opts = c->opt.opts && i < probes_n ? c->opt.opts[i] : NULL;
}

bool probe_preloads(const struct probe *p, const struct capture *c)
{
	struct capture of_probe = *c;

	of_probe.probe = p->name;
	return p->source && !c->opt.program && capture_named(&of_probe);
}
