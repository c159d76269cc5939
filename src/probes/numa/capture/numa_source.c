/* See numa_source.h. */
#include "probes/numa/capture/numa_source.h"

#include "probes/numa/numa_opts.h"

#include <errno.h>
#include <string.h>

static const char *const names[] = {"hardware", "hint", "first-touch"};

int numa_source_next(const char **list)
{
	const char *at = *list;
	size_t len = strcspn(at, ",");

	if (!*at)
		return 0;
	*list = at + len + (at[len] == ',');
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == len && !memcmp(at, names[i], len))
			return 1 << i;
	return -EINVAL;
}

int numa_sources_check(const struct capture *c, struct err *err)
{
	const char *at = OPTS_OF(struct numa_opts, c->opts)->source
				 ? OPTS_OF(struct numa_opts, c->opts)->source
				 : NUMA_SOURCES_DEFAULT,
		   *word = at;
	int rc;

	while ((rc = numa_source_next(&at)) > 0)
		word = at;
	if (!rc)
		return 0;
	err_set(err, -EINVAL, "--source: '%.*s' is none", (int)MIN(strcspn(word, ","), 40UL), word);
	return err_hint(err, "hardware, hint, first-touch, or several with commas, best first");
}

const char *numa_wanted_name(u32 wanted)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (wanted == 1U << i)
			return names[i];
	return "";
}
