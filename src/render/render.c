/* The list of formats. See render.h. */
#include "render/render.h"

#include <string.h>

#include "render/renderers.h"

const struct renderer renderers[] = {
	{
		.name = "text",
		.help = "tables and findings for people (the default)",
		.report = text_report,
		.rows = text_rows,
		.end = text_end,
	},
	{
		.name = "wide",
		.help = "as text, with all columns and nothing shortened",
		.report = wide_report,
		.rows = wide_rows,
		.end = text_end,
	},
	{
		.name = "json",
		.help = "one object with everything",
		.report = json_report,
		.rows = json_rows,
		.end = json_end,
	},
	{
		.name = "jsonl",
		.help = "one object a row, then one with the rest, marked \"end\": true",
		.report = jsonl_report,
		.rows = jsonl_rows,
		.end = jsonl_end,
	},
	{
		.name = "csv",
		.help = "comma-separated values; of several tables each row says whose it is",
		.report = csv_report,
		.rows = csv_rows,
	},
	{
		.name = "folded",
		.help = "stacks as lines \"comm;outer;inner weight\", for flame graphs",
		.report = folded_report,
	},
	{
		.name = "html",
		.help = "one page with tables and pictures, for a browser; needs no network",
		.report = html_report,
		.end = html_end,
	},
};
const size_t renderers_n = ARRAY_SIZE(renderers);

const struct renderer *renderer_find(const char *name)
{
	for (size_t i = 0; i < renderers_n; i++)
		if (!strcmp(renderers[i].name, name))
			return &renderers[i];
	return NULL;
}
