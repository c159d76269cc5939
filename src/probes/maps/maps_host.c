/* See maps_host.h. */
#include "probes/maps/maps_host.h"

#include <stdint.h>
#include <string.h>

#include "capture/kbtf.h"
#include "sys/keyvals.h"
#include "sys/sysctl.h"

/* "shm" is said as the sysctl has it, with a dot in it; the rest is of /proc/meminfo. */
static const char *const names[] = {"vm.max_map_count", "vm.overcommit_memory",
	"vm.overcommit_ratio", "vm.overcommit_kbytes", "kernel.shmmax", "kernel.shmall",
	"kernel.shmmni", "CommitLimit", "Committed_AS", "MemTotal", "SwapTotal"};

struct maps_host {
	struct keyvals kv;
	u64 sent[ARRAY_SIZE(names)];
	bool known[ARRAY_SIZE(names)];
};

void maps_limits_set(struct maps_config *config)
{
	_cleanup_keyvals_ struct keyvals kv = {};
	u64 value;

	if (!sysctl_read_u64("vm.max_map_count", &value))
		config->max_map_count = (u32)MIN(value, (u64)UINT32_MAX);
	config->overcommit = 1; /* not known: nothing is said of it */
	if (!sysctl_read_u64("vm.overcommit_memory", &value))
		config->overcommit = (u8)value;
	if (keyvals_read("/proc/meminfo", &kv) || !keyvals_get(&kv, "MemTotal", &value))
		config->overcommit = config->overcommit ? config->overcommit : 1;
	else
		config->commit_pages = (value + keyvals_get_or(&kv, "SwapTotal", 0)) / MAPS_PAGE;
}

static int limit_send(struct capture *c, struct maps_host *h, size_t i, u64 value)
{
	struct maps_limit r = REC_INIT(struct maps_limit, REC_MAPS_LIMIT, 0);

	if (h->known[i] && h->sent[i] == value)
		return 0;
	h->known[i] = true;
	h->sent[i] = value;
	r.value = value;
	strcpy(r.name, names[i]);
	return capture_emit(c, &r.h);
}

static int maps_host_sample(struct capture *c, void *state)
{
	struct maps_host *h = state;
	bool meminfo = !keyvals_read("/proc/meminfo", &h->kv);
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names) && !rc; i++) {
		u64 value;

		if (strchr(names[i], '.') ? !sysctl_read_u64(names[i], &value)
					  : meminfo && keyvals_get(&h->kv, names[i], &value))
			rc = limit_send(c, h, i, value);
	}
	return rc;
}

static int limits_tell(struct capture *c)
{
	return capture_method(c, "limits", "/proc/sys/vm, /proc/meminfo", NULL);
}

static int maps_host_survey(struct capture *c)
{
	bool btf = kbtf_available();
	int rc = capture_method(c, MAPS_DATA_GROWTH, btf ? "mm->total_vm around each call" : NULL,
		btf ? NULL : "the kernel's BTF; growth comes from arguments and results");

	return rc ? rc : limits_tell(c);
}

/* Growth is of the calls, which are looked at only where they were asked for. */
static int maps_host_open(struct capture *c, void *state, struct err *err)
{
	int rc = capture_named(c) ? maps_host_survey(c) : limits_tell(c);

	(void)state;
	return rc ? err_errno(err, rc, "maps") : 0;
}

static void maps_host_close(void *state)
{
	keyvals_free(&((struct maps_host *)state)->kv);
}

const struct probe_sampler maps_sampler = {
	.size = sizeof(struct maps_host),
	.open = maps_host_open,
	.sample = maps_host_sample,
	.close = maps_host_close,
	.survey = maps_host_survey,
};
