/* The limit probe: puts its programs and its sampler together, with the schema. */
#include "probes/limit/limit.h"

#include <errno.h>

#include "base/util.h"
#include "event/schema.h"
#include "probes/limit/limit_files.h"
#include "probes/limit/limit_opts.h"
#include "probes/limit/limit_sample.h"
#include "probes/limit/limit_view.h"
#include "probes/probe.h"

/* Where memwhy may run no programs, the rest of the group is known all the same. */
static const struct probe_bpf bpf = {
	.hooks = limit_hooks,
	.n_hooks = LIMIT_HOOKS,
	.state_size = sizeof(struct limit_state),
	.prepare = limit_prepare,
	.settle = limit_settle,
	.snapshot = limit_snapshot,
	.needs_btf = true,
	.optional = true,
};

static int limit_opts_check(struct request *r, void *opts, struct err *err)
{
	(void)opts;
	if (r->input || r->cgroup || r->container)
		return 0;
	err_set(err, -EINVAL, "limit needs a control group: -g or -C");
	return err_hint(err, "memwhy limit -g GROUP --for 10m");
}

static const struct opt own[] = {
	OPT(struct limit_opts, "keep-bits", 0, OPT_FLAG, keep_bits, NULL,
		"do not clear the accessed bits of the group's pages: what it touches through "
		"mappings is then not known, and there is no advice",
		NULL),
};

static const struct opt_group own_groups[] = {{"Use of mappings", own, ARRAY_SIZE(own)}, {}};

static const struct probe_options own_options = {
	.size = sizeof(struct limit_opts),
	.groups = own_groups,
	.check = limit_opts_check,
};

static const struct kind kinds[] = {
	RECORD_KIND(REC_LIMIT_GROUP, struct limit_group, "limit_group", LIMIT_GROUP_FIELDS,
		"a control group by its memory controller"),
	RECORD_KIND(REC_LIMIT_MAPPED, struct limit_mapped, "limit_mapped", LIMIT_MAPPED_FIELDS,
		"what the processes of a group have touched through their page tables"),
	RECORD_KIND(REC_LIMIT_FILES, struct limit_files, "limit_files", LIMIT_FILES_FIELDS,
		"pages of files that a group uses, sampled by page"),
};

const struct probe probe_limit = {
	.name = "limit",
	.summary = "How much memory does a control group need? A limit that fits",
	.details = limit_details,
	.examples = (const char *const[]){"memwhy limit -g /system.slice/nginx.service --for 10m",
		"what a service used in ten minutes, and the limit that fits",
		"memwhy limit -C 3f2a --for 10m", "the same of a container",
		"memwhy limit -g /build -i 60s --for 10m",
		"each minute, by all that was seen since the start",
		"memwhy limit -g /build --table ages --for 10m",
		"pages of files by how long they have not been used", NULL},
	.output = limit_output,
	.options = &own_options,
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.sampler = &limit_sampler,
	.view = &limit_view,
	.recorded_by = "memwhy limit -g GROUP --record FILE",
	.only_named = true,
};
