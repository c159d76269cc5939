/* See heap_faults.h. */
#include "probes/heap/collect/heap_faults.h"

#include "probes/heap/collect/collector.h"
#include "probes/heap/residence/fault_events.h"
#include "probes/heap/heap_opts.h"

int heap_faults_open(struct capture *c, struct collector *collector, struct err *err)
{
	struct fault_events *f = NULL;
	int rc = OPTS_OF(struct heap_opts, c->opts)->faults
			 ? fault_events_open((pid_t)c->opt.scope.tasks.v[0], &f)
			 : 0;

	if (rc) {
		err_errno(err, rc, "--faults: events of page faults");
		return err_hint(err, "that needs perf_event_open: kernel.perf_event_paranoid of at "
				     "most 2, or CAP_PERFMON or root");
	}
	if (!f)
		return 0;
	collector_count(collector, f);
	return capture_method(c, "page faults, by who asked for the memory",
		fault_events_user_only(f) ? "software events of the task, of user mode"
					  : "software events of the task",
		NULL);
}

static void faults_tell(struct capture *c, const struct collector_faults *f)
{
	if (f->user_only)
		capture_note(c, NOTE_WARNING,
			"page faults in kernel mode (read(2) into new memory) are not counted: "
			"that takes kernel.perf_event_paranoid of at most 1, or CAP_PERFMON");
	if (f->lost)
		capture_note(c, NOTE_WARNING,
			"%llu records of page faults were lost: memwhy did not read in time",
			f->lost);
	if (f->strangers)
		capture_note(c, NOTE_INFO,
			"%llu page faults belong to processes that allocated nothing under the "
			"tracker, or to a program before its exec",
			f->strangers);
}

void heap_faults_tell(struct capture *c, const struct collector *collector)
{
	struct collector_faults f;

	if (collector_faults(collector, &f))
		faults_tell(c, &f);
}
