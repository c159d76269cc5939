/* The code paths of `top`: where the faults and waits of an interval came from. */
#include <string.h>

#include "probes/faults/faults.h"
#include "top/top_view.h"

/* Rows of one interval: of what took most time, then of what came most often. */
#define PATHS_MOST 128

static const char *const whats[] = {
	[TOP_PATH_MINOR] = "minor fault",
	[TOP_PATH_MAJOR] = "major fault",
	[TOP_PATH_ALLOCATION] = "allocation",
	[TOP_PATH_CHARGE] = "charge",
};

static struct cell mapping_cell(struct report *r, const struct top_path_key *k)
{
	if (k->file[0])
		return cell_text(report_textn(r, k->file, sizeof(k->file)));
	return cell_text(mapping_kind_words(k->map));
}

static void path_row(struct report *r, struct table *t, const struct top_path_key *k,
	const struct top_path_sum *sum)
{
	struct cell *row = table_row(t);
	const char *name = report_program(r, k->tgid);

	if (!row)
		return;
	row[TOP_X_PID] = cell_u64(k->tgid);
	row[TOP_X_COMM] = cell_text(
		!strcmp(name, "?") ? report_textn(r, sum->comm, sizeof(sum->comm)) : name);
	row[TOP_X_WHAT] = cell_text(whats[k->what]);
	row[TOP_X_MAPPING] = mapping_cell(r, k);
	row[TOP_X_COUNT] = cell_u64(sum->count);
	if (sum->ns)
		row[TOP_X_TIME] = cell_u64(sum->ns);
	row[TOP_X_STACK] = cell_stack(k->stack);
}

struct ranked {
	const struct top_path_key *key;
	const struct top_path_sum *sum;
};

static int rank_compare(const void *a, const void *b)
{
	const struct top_path_sum *x = ((const struct ranked *)a)->sum,
				  *y = ((const struct ranked *)b)->sum;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->count < y->count ? 1 : x->count > y->count ? -1 : 0;
}

void top_paths_report(struct top_view *v, struct report *r)
{
	struct table *t = top_table(r, TOP_PATHS, "Where faults and waits came from");
	_cleanup_free_ struct ranked *all = calloc(v->paths.n + 1, sizeof(*all));

	if (!t || !all)
		return;
	for (size_t i = 0; i < v->paths.n; i++)
		all[i] = (struct ranked){groups_key(&v->paths, i), groups_value(&v->paths, i)};
	qsort(all, v->paths.n, sizeof(*all), rank_compare);
	for (size_t i = 0; i < MIN(v->paths.n, (size_t)PATHS_MOST); i++)
		path_row(r, t, all[i].key, all[i].sum);
}
