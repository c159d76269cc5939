/* Which finding the cursor is on, or somebody reads, from one interval to the next. See ui.h. */
#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "top/ui.h"

#define PID "(pid "

/* Bytes of a title before its first number; that of a process is a part of its name. */
static size_t words_length(const char *title)
{
	const size_t pid = strlen(PID);
	size_t n = 0;

	for (; title[n]; n++)
		if (isdigit((unsigned char)title[n]) && (!n || title[n - 1] == ' ') &&
			(n < pid || memcmp(title + n - pid, PID, pid) != 0))
			break;
	return n;
}

static bool words_are_same(const struct finding *a, const struct finding *b)
{
	size_t n = words_length(a->title);

	return n == words_length(b->title) && !memcmp(a->title, b->title, n);
}

/* Some are of a process in a group, not of the group, whose culprit may be another one later. */
static bool names_process(const struct finding *f)
{
	return memmem(f->title, words_length(f->title), PID, strlen(PID));
}

static bool finding_is_same(const struct finding *a, const struct finding *b)
{
	if (strcmp(a->rule, b->rule) != 0 || a->cgroup != b->cgroup)
		return false;
	if (a->cgroup)
		return a->tgid == b->tgid || (!names_process(a) && !names_process(b));
	return a->tgid == b->tgid && (a->tgid || words_are_same(a, b));
}

/* Among several that could be the same. */
static int likeness(const struct finding *a, const struct finding *b)
{
	return !strcmp(a->title, b->title) ? 4 : (a->tgid == b->tgid) * 2 + words_are_same(a, b);
}

/* The finding in another interval; NULL: it does not have it. */
static const struct finding *finding_find(const struct scene *s, const struct finding *wanted)
{
	const struct finding *best = NULL;

	vec_each (f, &s->findings)
		if (finding_is_same(f, wanted) &&
			(!best || likeness(f, wanted) > likeness(best, wanted)))
			best = f;
	return best;
}

void ui_finding_take(struct ui *ui, const struct finding *f)
{
	arena_free(&ui->finding_texts);
	ui->finding_texts = (struct arena){};
	ui->finding = finding_copy(&ui->finding_texts, f);
	ui->finding_ns = ui->scene.end_ns;
	ui->finding_wall_ns = ui->scene.wall_ns;
}

void ui_finding_follow(struct ui *ui)
{
	const struct finding *same =
		ui->finding.rule ? finding_find(&ui->scene, &ui->finding) : NULL;

	if (same)
		ui_finding_take(ui, same);
}

/* At the top of a list that is not looked at it stays there: the worst is first. */
void ui_findings_keep(struct ui *ui, const struct scene *next)
{
	enum ui_mode mode = ui->mode == UI_HELP ? ui->back : ui->mode;
	const struct finding *same;

	if (ui->findings.at >= ui->scene.findings.n ||
		(!ui->findings.at && mode != UI_FINDINGS && mode != UI_FINDING))
		return;
	same = finding_find(next, &ui->scene.findings.v[ui->findings.at]);
	if (same)
		ui->findings.at = (size_t)(same - next->findings.v);
}
