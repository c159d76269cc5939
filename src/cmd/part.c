/* See part.h. */
#include "cmd/part.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"

static int tasks_parse(struct narrow_want *w, const char *text, struct err *err)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *word;

	if (!copy)
		return -ENOMEM;
	while ((word = strsep(&rest, ","))) {
		u64 pid;

		if (parse_u64(word, 1, 4194304, &pid)) { /* PID_MAX_LIMIT */
			err_set(err, -EINVAL, "-p: '%.40s' is not a process id", word);
			return err_hint(err, "give numbers separated by commas; names go with -c");
		}
		if (vec_push(&w->tasks, (u32)pid))
			return -ENOMEM;
	}
	return 0;
}

/* Does its view choose by time itself, event by event? */
static const char *parts_with(const struct probe *p)
{
	return p && p->view ? p->view->parts_with : NULL;
}

int part_from_options(
	const struct options *o, const struct probe *p, struct narrow_want *ret, struct err *err)
{
	int rc = o->pids ? tasks_parse(ret, o->pids, err) : 0;

	ret->comm = o->comm;
	ret->cgroup = o->cgroup;
	ret->container = o->container;
	if (!rc && o->cgroup && o->container)
		rc = err_set(err, -EINVAL, "-g and -C exclude each other");
	if (rc || parts_with(p))
		return rc;
	ret->from_ns = o->from_ns;
	ret->to_ns = o->to_ns;
	return 0;
}

int part_check(const struct options *o, const struct probe *p, struct err *err)
{
	bool of_recordings = p && p->source && p->bpf; /* -c, -g and -C are of others live, too */

	if (o->input || !(o->from_ns || o->to_ns ||
				(of_recordings && (o->comm || o->cgroup || o->container))))
		return 0;
	err_set(err, -EINVAL, "%s choose a part of a recording: they need --input FILE",
		o->from_ns || o->to_ns ? "--from and --to" : "-c, -g and -C");
	return err_hint(err, "record it with: memwhy %s --record FILE%s", p ? p->name : "check",
		parts_with(p) && (o->from_ns || o->to_ns) ? parts_with(p) : "");
}

void part_tell(const struct narrow *n, struct report *r)
{
	const struct narrow_want *w = &n->want;

	if (!narrow_wanted(w))
		return;
	report_note(r, "only part of the recording is shown; machine-wide counters and the events, "
		       "losses and cost in the header cover all of it");
	if (w->from_ns || w->to_ns)
		report_note(r, "sums were recorded about once a second: they may include or miss "
			       "up to a second at both ends of the part");
	if (n->unknown)
		report_not_checked(r,
			"%llu record%s of the recording do%s not say which task they belong to, "
			"and are left out",
			n->unknown, plural(n->unknown), n->unknown == 1 ? "es" : "");
	if (!n->kept && n->left_out)
		report_not_checked(r,
			"nothing in the recording belongs to that part: %llu record%s left out",
			n->left_out, plural(n->left_out));
}
