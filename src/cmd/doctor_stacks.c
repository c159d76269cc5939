/* See doctor_stacks.h. A session of a moment, whose note on stacks is all that is kept of it. */
#include "cmd/doctor_stacks.h"

#include <string.h>

#include "base/clock.h"
#include "cmd/scope.h"
#include "event/meta.h"
#include "record/session.h"

#define LOOK_NS (500 * NSEC_PER_MSEC)

struct sampled {
	struct sink sink;
	u64 events;
	char shares[190]; /* what a note has room for, behind what is put before it */
};

static int doctor_stacks_put(struct sink *sink, const struct rec *r)
{
	static const char begins[] = "user stacks: ";
	struct sampled *sampled = (struct sampled *)sink;
	const struct rec_note *note = (const struct rec_note *)r;

	if (r->kind == REC_LOSS && r->size >= sizeof(struct rec_loss))
		sampled->events = ((const struct rec_loss *)r)->seen;
	else if (r->kind == REC_NOTE && r->size >= sizeof(*note) && !r->flags &&
		 !strncmp(note->text, begins, sizeof(begins) - 1))
		snprintf(sampled->shares, sizeof(sampled->shares), "%s",
			note->text + sizeof(begins) - 1);
	return 0;
}

int doctor_stacks(struct sink *sink)
{
	const struct probe *const faults[] = {probe_find("faults")};
	struct capture c = {.sink = sink, .probe = "stacks"};
	struct sampled sampled = {.sink.put = doctor_stacks_put};
	const struct options o = options_default;
	struct session_result result = {};
	struct session_config cfg = {.command = "doctor",
		.scope_text = "this host",
		.probes = faults,
		.n_probes = 1,
		.for_ns = LOOK_NS,
		.unnamed = true};
	struct scope_words words;
	struct err err = {};
	int rc = scope_from_options(&o, &cfg.opt, &words, NULL);

	if (rc)
		return rc;
	cfg.opt.user_stacks = true;
	rc = session_run(&cfg, &sampled.sink, &result, &err);
	scope_free(&cfg.opt);
	if (rc || !sampled.events)
		return rc == -ENOMEM ? rc : 0;
	return capture_note(&c, NOTE_INFO, "user stacks in a session's first half second: %s",
		sampled.shares[0] ? sampled.shares : "all exact");
}
