/* See system_settings.h. Owns which settings are worth a record, and their names in records. */
#include "probes/system/system_settings.h"

#include <errno.h>
#include <string.h>

#include "sys/memory/thp.h"
#include "sys/root.h"
#include "sys/sysctl.h"

static const char *const sysctls[] = {
	"kernel.numa_balancing",
	"vm.admin_reserve_kbytes",
	"vm.compact_unevictable_allowed",
	"vm.compaction_proactiveness",
	"vm.defrag_mode",
	"vm.dirty_background_bytes",
	"vm.dirty_background_ratio",
	"vm.dirty_bytes",
	"vm.dirty_ratio",
	"vm.extfrag_threshold",
	"vm.max_map_count",
	"vm.min_free_kbytes",
	"vm.min_slab_ratio",
	"vm.min_unmapped_ratio",
	"vm.nr_hugepages",
	"vm.nr_overcommit_hugepages",
	"vm.oom_kill_allocating_task",
	"vm.overcommit_kbytes",
	"vm.overcommit_memory",
	"vm.overcommit_ratio",
	"vm.page-cluster",
	"vm.panic_on_oom",
	"vm.percpu_pagelist_high_fraction",
	"vm.swappiness",
	"vm.user_reserve_kbytes",
	"vm.vfs_cache_pressure",
	"vm.watermark_boost_factor",
	"vm.watermark_scale_factor",
	"vm.zone_reclaim_mode",
};

static const struct {
	const char *name, *path;
} words[] = {
	{"ksm/run", "/sys/kernel/mm/ksm/run"},
	{"lru_gen/enabled", "/sys/kernel/mm/lru_gen/enabled"},
	{"numa/demotion_enabled", "/sys/kernel/mm/numa/demotion_enabled"},
	{"zswap/enabled", "/sys/module/zswap/parameters/enabled"},
};

static struct system_value *sent_find(struct system_settings *s, const char *name)
{
	vec_each (v, &s->sent)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

static int setting_send(struct capture *c, struct system_settings *s, u16 source, const char *name,
	u64 value, const char *text)
{
	struct system_value r = REC_INIT(struct system_value, REC_SYSTEM_VALUE, 0);
	struct system_value *sent;
	int rc = 0;

	r.source = source;
	r.value = value;
	snprintf(r.name, sizeof(r.name), "%s", name);
	snprintf(r.text, sizeof(r.text), "%s", text);
	sent = sent_find(s, r.name);
	if (sent && sent->value == value && !strcmp(sent->text, r.text))
		return 0;
	if (sent)
		*sent = r;
	else
		rc = vec_push(&s->sent, r);
	return rc ? rc : capture_emit(c, &r.h);
}

static int sysctls_send(struct capture *c, struct system_settings *s)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sysctls) && !rc; i++) {
		u64 v;

		if (!sysctl_read_u64(sysctls[i], &v))
			rc = setting_send(c, s, SYSTEM_SYSCTL, sysctls[i], v, "");
	}
	return rc;
}

/* An empty word is a setting that this kernel does not have. */
static int word_send(
	struct capture *c, struct system_settings *s, const char *name, const char *word)
{
	return word[0] ? setting_send(c, s, SYSTEM_SETTING, name, 0, word) : 0;
}

struct thp_sender {
	struct capture *c;
	struct system_settings *s;
};

static int thp_setting(void *arg, const char *name, u64 value, const char *text)
{
	struct thp_sender *to = arg;
	char full[64];

	snprintf(full, sizeof(full), "thp/%s", name);
	return setting_send(to->c, to->s, SYSTEM_SETTING, full, value, text);
}

static int thp_send(struct capture *c, struct system_settings *s)
{
	struct thp_sender to = {c, s};
	struct thp thp;

	return thp_read(&thp) ? 0 : thp_settings_each(&thp, thp_setting, &to);
}

static int words_send(struct capture *c, struct system_settings *s)
{
	_cleanup_str_ struct str text = {};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(words) && !rc; i++) {
		if (sys_read(&text, "%s", words[i].path) || !text.len)
			continue;
		text.buf[strcspn(text.buf, " \n")] = '\0';
		rc = word_send(c, s, words[i].name, text.buf);
	}
	return rc;
}

int system_settings_send(struct capture *c, struct system_settings *s)
{
	int rc = sysctls_send(c, s);

	if (!rc)
		rc = thp_send(c, s);
	return rc ? rc : words_send(c, s);
}

void system_settings_free(struct system_settings *s)
{
	vec_free(&s->sent);
}
