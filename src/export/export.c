/* See export.h. */
#include "export/export.h"

#include <string.h>

const struct renderer exports[] = {
	{
		.name = "pprof",
		.help = "stacks as a profile for go tool pprof, Pyroscope and Parca (gzip)",
		.report = pprof_report,
	},
	{
		.name = "speedscope",
		.help = "stacks as a profile for speedscope.app (JSON)",
		.report = speedscope_report,
	},
};
const size_t exports_n = ARRAY_SIZE(exports);

const struct renderer *export_renderer(const char *name)
{
	for (size_t i = 0; i < exports_n; i++)
		if (!strcmp(exports[i].name, name))
			return &exports[i];
	return NULL;
}

bool export_of_records(const char *name)
{
	return !strcmp(name, "sqlite") || !strcmp(name, "perfetto");
}

bool export_is_binary(const char *name)
{
	return !strcmp(name, "pprof") || export_of_records(name);
}

bool export_of_stacks(const char *name)
{
	return export_renderer(name) || !strcmp(name, "folded");
}
