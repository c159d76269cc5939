/* See recording.h. */
#include "cmd/recording.h"

#include <string.h>

/* What programs do is recorded by another command too. */
static bool was_recorded(const struct stream *s, const struct probe *p, const char *name)
{
	bool is = stream_probe_active(s, name);

	for (const char *const *w = p ? p->with_programs : NULL; w && *w && !is; w++)
		is = stream_probe_active(s, *w);
	return is;
}

/* What a program tells by itself it tells by stack. */
static bool has_stacks(const struct stream *s)
{
	bool has = s->session.options & SESSION_STACKS;

	for (size_t i = 0; i < probes_n && !has; i++)
		has = probes[i]->source && stream_probe_active(s, probes[i]->name);
	return has;
}

void recording_tell(const struct run *run, struct report *r)
{
	static const char *const costly[] = {
		"thread", "mapping", "size"}; /* collected only when asked for */
	const struct rec_session *s = &r->stream->session;
	const struct probe *of = probe_find(s->command);
	const struct options *o = run->o;

	if (!was_recorded(r->stream, probe_find(run->cmd->name), run->cmd->name)) {
		report_not_checked(r, "%s was not recorded: the file is of 'memwhy %.31s'",
			run->cmd->name, s->command);
		vec_each (t, &r->tables)
			(*t)->empty = "Not recorded.";
		return;
	}
	if (of && of->outstanding && strcmp(of->name, run->cmd->name) != 0)
		report_not_checked(r,
			"what %s does not show (flags, nodes, the sites of frees, movable pages) "
			"was not recorded: the file is of 'memwhy %s'",
			of->name, of->name);
	if (!o->each && s->options & SESSION_EACH) {
		report_note(r, "the recording is of single events: --each shows them");
		vec_each (t, &r->tables)
			(*t)->empty = "Recorded as single events: --each shows them.";
	}
	if (o->each && !(s->options & SESSION_EACH))
		report_not_checked(
			r, "single events were not recorded: that takes --each with --record");
	if (o->stacks && !has_stacks(r->stream))
		report_not_checked(
			r, "stacks were not recorded: that takes --stacks when recording");
	/* numa records each access with all of them. */
	for (size_t i = 0; o->by && !(of && of->takes_numa) && i < ARRAY_SIZE(costly); i++)
		if (strstr(o->by, costly[i]) && !strstr(s->by, costly[i]))
			report_not_checked(r,
				"the %s was not recorded: that takes --by %s when recording",
				costly[i], costly[i]);
}
