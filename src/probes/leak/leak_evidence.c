/* See leak_evidence.h. */
#include "probes/leak/leak_evidence.h"

#include <stdlib.h>

#include "base/units.h"

#define SUSPECTS 3
#define MIN_BYTES (256ULL << 10)
#define MIN_SECONDS 10.0
#define MIN_STAYED 0.8 /* of what was there after the first third */
#define DAY 86400.0

static bool is_suspect(const struct leak_evidence *e)
{
	return (s64)e->bytes >= (s64)MIN_BYTES && e->judged->seconds >= MIN_SECONDS &&
	       e->live >= e->least && e->stayed >= MIN_STAYED;
}

static int by_growth(const void *a, const void *b)
{
	s64 x = ((const struct leak_evidence *)a)->judged->now,
	    y = ((const struct leak_evidence *)b)->judged->now;

	return x < y ? 1 : x > y ? -1 : 0;
}

void leak_suspects_tell(struct report *r, struct leak_evidence *v, size_t n, const char *what,
	leak_tell_fn *tell, const void *arg)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		if (is_suspect(&v[i]))
			v[found++] = v[i];
	if (found)
		qsort(v, found, sizeof(*v), by_growth);
	for (size_t i = 0; i < found && i < SUSPECTS; i++)
		tell(r, &v[i], arg);
	if (found > SUSPECTS)
		report_note(r, "%zu more %s grow steadily: they are in the table", found - SUSPECTS,
			what);
}

int leak_suspect_level(const struct report *r, const struct leak_judgement *j)
{
	u64 memory = r->stream->host.memory_bytes;

	return memory && (double)j->now * DAY > (double)memory ? LEVEL_WARNING : LEVEL_RISK;
}

void leak_tell_thirds(struct report *r, struct finding *f, const struct leak_judgement *j)
{
	char a[UNIT_BUF], b[UNIT_BUF], c[UNIT_BUF];

	finding_line(r, f->evidence,
		"grew in each of %u parts of that time: by %s, %s and %s in its thirds", LEAK_PARTS,
		fmt_bytes(a, (u64)j->thirds[0]), fmt_bytes(b, (u64)j->thirds[1]),
		fmt_bytes(c, (u64)j->thirds[2]));
}

void leak_tell_growth(struct report *r, struct finding *f, const struct leak_evidence *e)
{
	char a[UNIT_BUF];

	finding_line(r, f->evidence, "%llu outstanding (%s) of %llu allocated in %.0f s", e->live,
		fmt_bytes(a, e->bytes), e->allocated, e->judged->seconds);
	leak_tell_thirds(r, f, e->judged);
	finding_line(r, f->evidence, "of what was live after the first third, %.0f %% still is",
		100 * e->stayed);
}

void leak_tell_lives(struct report *r, struct finding *f, u64 freed, const struct durations *lives)
{
	char a[UNIT_BUF];

	if (lives->count)
		finding_line(r, f->evidence,
			"those that were freed (%llu) lived for a median of %s (estimated)", freed,
			fmt_ns(a, hist_quantile(&lives->hist, 0.5, lives->max_ns)));
}

struct lines {
	struct report *r;
	struct finding *f;
	int n;
};

static void leak_evidence_line_add(void *arg, const char *text)
{
	struct lines *l = arg;

	if (l->n++ < 3)
		finding_line(l->r, l->f->evidence, "%s%s", l->n == 1 ? "at " : "   from ", text);
}

void leak_tell_stack(struct report *r, struct finding *f, u32 stack)
{
	struct lines lines = {r, f, 0};

	stack_told_lines(r->stream, stack, leak_evidence_line_add, &lines);
}
