/* See heap_inner.h. */
#include "probes/heap/heap_inner.h"

#include <errno.h>

#include "probes/heap/heap_opts.h"

static const struct opt source[] = {
	OPT(struct heap_opts, "sample", 0, OPT_SIZE, sample_bytes, "BYTES",
		"sample one allocation per BYTES on average: estimates at lower cost (default: "
		"every allocation)",
		NULL),
	OPT(struct heap_opts, "no-wait", 0, OPT_FLAG, no_wait, NULL,
		"with -- CMD: drop and count events rather than make the command wait", NULL),
	OPT(struct heap_opts, "events", 0, OPT_FLAG, events, NULL,
		"with --record and -- CMD: also record each allocation and free, so that any part "
		"of the run can be examined (heap --input FILE --from TIME --to TIME)",
		NULL),
	OPT(struct heap_opts, "allocator", 0, OPT_STRING, allocator, "NAME",
		"with -p: the file that provides malloc: jemalloc, tcmalloc, mimalloc, or a path "
		"(default: detected)",
		NULL),
};

static const struct opt faults[] = {
	OPT(struct heap_opts, "faults", 0, OPT_FLAG, faults, NULL,
		"with -- CMD: also page faults and resident memory, by the code that allocated it",
		NULL),
};

static const struct opt part[] = {
	OPT(struct heap_opts, "from", 0, OPT_DURATION, from_ns, "TIME",
		"with --input: only blocks allocated later than TIME after the start (recordings "
		"made with --events)",
		NULL),
	OPT(struct heap_opts, "to", 0, OPT_DURATION, to_ns, "TIME",
		"with --input: the state at TIME (recordings made with --events)", NULL),
};

/* --events goes into a recording. */
static int events_check(const struct request *r, const struct heap_opts *o, struct err *err)
{
	if (o->events && !r->record) {
		err_set(err, -EINVAL, "--events adds to a recording: it needs --record FILE");
		return err_hint(err, "memwhy heap --events --record FILE -- CMD");
	}
	if (o->events && r->pids)
		return err_set(err, -EINVAL,
			"--events works with -- CMD only: from a running process (-p) memwhy gets "
			"sums");
	if (o->events && o->sample_bytes)
		return err_set(err, -EINVAL,
			"--events records all allocations and cannot be combined with --sample");
	return 0;
}

static int heap_options_check(struct request *r, void *opts, struct err *err)
{
	const struct heap_opts *o = opts;
	int rc = events_check(r, o, err);

	if (rc)
		return rc;
	if (o->faults && !r->command)
		return err_set(err, -EINVAL, "--faults works with -- CMD only");
	if (o->faults && (o->sample_bytes || o->no_wait))
		return err_set(err, -EINVAL,
			"--faults needs every allocation and cannot be combined with --sample or "
			"--no-wait");
	if (o->no_wait && r->pids)
		return err_set(
			err, -EINVAL, "--no-wait works with -- CMD only: with -p nothing waits");
	if (o->allocator && request_is_tracked(r))
		return err_set(err, -EINVAL,
			"--allocator works with -p only: with -- CMD any allocator is tracked");
	if (o->from_ns)
		r->from_ns = o->from_ns;
	if (o->to_ns)
		r->to_ns = o->to_ns;
	return 0;
}

static const struct opt_group lent[] = {{"How to look", source, ARRAY_SIZE(source)}, {}};

static const struct opt_group groups[] = {
	{"Resident memory", faults, ARRAY_SIZE(faults)},
	{"A part of a recording", part, ARRAY_SIZE(part)},
	{},
};

const struct probe_options heap_options = {
	.size = sizeof(struct heap_opts),
	.groups = groups,
	.lent = lent,
	.check = heap_options_check,
};
