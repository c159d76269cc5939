/* See system_counts.h. */
#include "probes/system/system_counts.h"

#include <string.h>

#include "base/clock.h"
#include "probes/system/system.h"
#include "sys/memory/counts.h"
#include "sys/root.h"

/* Drains come on top of the sampler's own period, hence less than a second. */
#define EVERY_NS (900 * NSEC_PER_MSEC)
#define WATCHED_NS (4 * EVERY_NS) /* by somebody, who sees none of them: only findings need them \
				   */

static int system_counts_room_make(struct system_counts *s)
{
	int rc = 0;

	for (const struct count_spec *spec = counts + s->sent.n; spec->name && !rc; spec++)
		rc = vec_push(&s->sent, 0);
	return rc;
}

static int count_send(struct capture *c, const struct count_spec *spec, u64 value, u64 *sent)
{
	struct system_value r = REC_INIT(struct system_value, REC_SYSTEM_VALUE, 0);

	if (spec->pages)
		value *= (u64)sysconf(_SC_PAGESIZE);
	if (*sent == value + 1)
		return 0;
	*sent = value + 1;
	r.source = SYSTEM_COUNT;
	r.value = value;
	snprintf(r.name, sizeof(r.name), "%s", spec->name);
	return capture_emit(c, &r.h);
}

int system_counts_send(struct capture *c, struct system_counts *s, u64 now_ns)
{
	const char *path = NULL;
	bool there = false;
	int rc;

	if (!c->ending && now_ns < s->next_ns)
		return 0;
	s->next_ns = now_ns + (c->opt.watch_ns ? WATCHED_NS : EVERY_NS);
	rc = system_counts_room_make(s);
	for (size_t i = 0; counts[i].name && !rc; i++) {
		u64 value;

		if (!path || strcmp(path, counts[i].path)) {
			path = counts[i].path;
			there = !sys_read(&s->text, "%s", path);
		}
		if (there && count_parse(str_get(&s->text), &counts[i], &value))
			rc = count_send(c, &counts[i], value, &s->sent.v[i]);
	}
	return rc;
}

void system_counts_free(struct system_counts *s)
{
	vec_free(&s->sent);
	str_free(&s->text);
}
