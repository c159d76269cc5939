/* Findings in order of rank, and each piece of advice once. See report.h. */
#include <string.h>

#include "report/report.h"

static bool finding_before(const struct finding *a, const struct finding *b)
{
	bool a_note = a->level == LEVEL_NOTE, b_note = b->level == LEVEL_NOTE;

	/* What hurts is told after why it does, where both stand alone. */
	if (!a_note && !b_note && a->symptom != b->symptom)
		return b->symptom;
	if (a->level != b->level)
		return a->level > b->level;
	return a->cost_ns != b->cost_ns ? a->cost_ns > b->cost_ns : a->held_bytes > b->held_bytes;
}

static bool lines_have(const char *const lines[FINDING_LINES], const char *line)
{
	for (size_t i = 0; i < FINDING_LINES && lines[i]; i++)
		if (!strcmp(lines[i], line))
			return true;
	return false;
}

/* "Let kswapd start earlier:", before the command that does. */
static bool is_heading(const char *line)
{
	return line[0] && line[strlen(line) - 1] == ':';
}

/* The finding before `at` that gives the same command in its try_ or undo; at: none does. */
static size_t giver_find(const struct report *r, size_t at, bool undo, const char *line)
{
	size_t i = 0;

	while (i < at && !lines_have(undo ? r->findings.v[i].undo : r->findings.v[i].try_, line))
		i++;
	return i;
}

static void lines_once(struct report *r, size_t at, bool undo)
{
	struct finding *f = &r->findings.v[at];
	const char **lines = undo ? f->undo : f->try_, *kept[FINDING_LINES] = {};
	size_t n = 0;

	for (size_t i = 0; i < FINDING_LINES && lines[i]; i++) {
		size_t giver = strchr(lines[i], '`') ? giver_find(r, at, undo, lines[i]) : at;
		const char *line = lines[i];

		if (giver < at) {
			line = report_text(r, "The same as for finding %zu (%s).", giver + 1,
				r->findings.v[giver].rule);
			n -= n && is_heading(kept[n - 1]);
			kept[n] = NULL;
		}
		if (giver == at || !lines_have(kept, line))
			kept[n++] = line;
	}
	memcpy(lines, kept, sizeof(kept));
}

void report_rank(struct report *r)
{
	for (size_t i = 1; i < r->findings.n; i++) {
		struct finding f = r->findings.v[i];
		size_t at = i;

		for (; at && finding_before(&f, &r->findings.v[at - 1]); at--)
			r->findings.v[at] = r->findings.v[at - 1];
		r->findings.v[at] = f;
	}
	for (size_t i = r->findings.n; i-- > 1;) {
		lines_once(r, i, false);
		lines_once(r, i, true);
	}
	vec_each (f, &r->findings)
		if (f->try_[0] && !f->undo[0])
			f->undo[0] = "Nothing to undo.";
}
