/* See pages_host.h. */
#include "probes/pages/pages_host.h"

#include <bpf/btf.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "capture/gfp_names.h"
#include "capture/kbtf.h"
#include "probes/pages/pages.h"
#include "sys/memory/zoneinfo.h"
#include "sys/sysctl.h"

#define SLOTS_MAX (1U << 20) /* 8 MiB; one page each on a machine of 4 GiB */

#define SLOTS_BURST (1U << 15) /* more pages are not drained in a burst */

u32 pages_drained_slots(bool burst)
{
	long pages = sysconf(_SC_PHYS_PAGES);
	u32 slots = 4096, most = burst ? SLOTS_BURST : SLOTS_MAX;

	while (slots < most && (long)slots < pages)
		slots *= 2;
	return slots;
}

/* "MIGRATE_UNMOVABLE" -> "Unmovable", as /proc/pagetypeinfo writes it. False for what is no type:
 * counts and marks (MIGRATE_PCPTYPES, MIGRATE_TYPES, __MIGRATE_TYPE_END). */
static bool pages_host_type_name(const char *enumerator, char ret[32])
{
	static const char prefix[] = "MIGRATE_";
	size_t n = 0;

	if (strncmp(enumerator, prefix, sizeof(prefix) - 1))
		return false;
	enumerator += sizeof(prefix) - 1;
	if (strstr(enumerator, "TYPES"))
		return false;
	for (; enumerator[n] && n < 31; n++)
		ret[n] = (char)(n && strcmp(enumerator, "CMA") ? tolower(enumerator[n])
							       : enumerator[n]);
	ret[n] = '\0';
	return n > 0;
}

static int types_each(const struct btf *btf, struct capture *c)
{
	int id = btf__find_by_name_kind(btf, "migratetype", BTF_KIND_ENUM), n = 0;
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(btf, (u32)id);
	const struct btf_enum *e = t ? btf_enum(t) : NULL;
	char name[32];

	for (int i = 0; t && i < btf_vlen(t); i++, e++) {
		if (!pages_host_type_name(btf__name_by_offset(btf, e->name_off), name))
			continue;
		n++;
		if (c)
			capture_enum(c, "migratetype", (u64)e->val, name);
	}
	return n ? 0 : -ENOENT;
}

/* The names of the running kernel's enum migratetype; c NULL: only whether they are there. */
static int types_send(struct capture *c)
{
	struct btf *want = btf__new_empty(), *have;
	int rc = want ? btf__add_enum(want, "migratetype", 4) : -ENOMEM;

	if (rc >= 0)
		rc = kbtf_extract(want, &have);
	btf__free(want);
	if (rc)
		return rc;
	rc = types_each(have, c);
	btf__free(have);
	return rc;
}

static void types_tell(struct capture *c, int rc)
{
	capture_method(c, "names of migratetypes", rc ? NULL : "kernel BTF",
		rc ? "the kernel's BTF (/sys/kernel/btf/vmlinux)" : NULL);
}

struct host_state {
	struct zoneinfo zones;
};

static int pages_host_open(struct capture *c, void *state, struct err *err)
{
	(void)state;
	(void)err;
	if (capture_named(c)) { /* check shows no flags, and `record` asks for them by name */
		gfp_tell(c, true);
		types_tell(c, types_send(c));
	}
	return 0;
}

static int pages_host_sample(struct capture *c, void *state)
{
	struct host_state *s = state;
	struct pages_lists r = REC_INIT(struct pages_lists, REC_PAGES_LISTS, 0);

	if (!sysctl_read_u64("vm.percpu_pagelist_high_fraction", &r.fraction))
		r.flags |= PAGES_HIGH_FRACTION;
	else if (!sysctl_read_u64("vm.percpu_pagelist_fraction", &r.fraction))
		r.flags |= PAGES_OLD_FRACTION;
	if (!zoneinfo_read(&s->zones)) {
		r.flags |= PAGES_LIMITS;
		vec_each (z, &s->zones.zones) {
			r.lists += z->pcp_cpus;
			r.high_pages += z->pcp_high_pages;
			r.count_pages += z->pcp_count_pages;
			r.batch_pages = MAX(r.batch_pages, z->pcp_batch_pages);
		}
	}
	return r.flags ? capture_emit(c, &r.h) : 0;
}

static void pages_host_close(void *state)
{
	zoneinfo_free(&((struct host_state *)state)->zones);
}

static int host_survey(struct capture *c)
{
	gfp_tell(c, false);
	types_tell(c, types_send(NULL));
	return 0;
}

const struct probe_sampler pages_sampler = {
	.size = sizeof(struct host_state),
	.open = pages_host_open,
	.sample = pages_host_sample,
	.close = pages_host_close,
	.survey = host_survey,
};
