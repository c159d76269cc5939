/* See recording.h. */
#include "cmd/recording.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cage/cage.h"

#include "base/units.h"
#include "export/export.h"

#define PEEK_RECORDS 20000 /* probes say at the start what they have */

/* A cheap sampler runs in `record` also where the probe's programs, which take its name, do not. */
static bool is_sampled_alone(const struct probe *p)
{
	return p->only_named && p->cheap && p->bpf && p->sampler;
}

/* Were its events looked at, and not just the settings that its sampler reads beside them? */
static bool has_events(const struct stream *s, const struct probe *p)
{
	bool has = !is_sampled_alone(p);

	for (size_t i = 0; !has && i < p->bpf->n_hooks; i++)
		has = stream_knows(s, p->name, p->bpf->hooks[i].data);
	return has;
}

static bool is_recorded(const struct stream *s, const struct probe *p)
{
	return p && stream_probe_active(s, p->name) && (has_events(s, p) || p->sampler->alone) &&
	       !(p->source && s->session.options & SESSION_NO_SUMS);
}

static bool cmd_recording_in_bursts(const struct stream *s, const struct probe *p)
{
	bool gentle = s->session.options & SESSION_GENTLE || !strcmp(s->session.command, "check");

	return gentle && p->only_named && p->bpf && p->bpf->bursts;
}

u64 recording_memory(const struct options *o)
{
	return o->max_bytes == UINT64_MAX ? RECORDING_BYTES : o->max_bytes;
}

/* Private memory that can be written: what malloc and mmap give. Sanitizers map far more. */
static void bound_set(u64 more)
{
#ifndef __SANITIZE_ADDRESS__
	unsigned long pages = 0;
	struct rlimit limit;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%*u %*u %*u %*u %*u %lu", &pages) == 1 &&
		!getrlimit(RLIMIT_DATA, &limit)) {
		limit.rlim_cur =
			MIN((rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + more, limit.rlim_cur);
		setrlimit(RLIMIT_DATA, &limit);
	}
	if (f)
		fclose(f);
#else
	(void)more;
#endif
}

int recording_too_large(const char *path, const struct options *o, struct err *err)
{
	char bytes[UNIT_BUF];

	err_set(err, -EFBIG, "%.200s: to report on it takes more than %s of memory", path,
		fmt_bytes(bytes, recording_memory(o)));
	return err_hint(err, "--max-memory SIZE lets it take more");
}

int recording_enter(const int *fds, size_t n, const struct probe *of, const struct options *o,
	bool *ret_unfiltered, struct err *err)
{
	enum cage cage = CAGE_INPUT;
	int rc;

	/* perf.data names files of this host, which have the symbols. */
	for (size_t i = 0; i < n; i++)
		if (replay_is_foreign(fds[i], of))
			cage = CAGE_FILES;
	tzset();
	bound_set(recording_memory(o));
	rc = cage_enter(cage, err);
	*ret_unfiltered = rc == -EOPNOTSUPP;
	if (*ret_unfiltered)
		*err = (struct err){};
	return *ret_unfiltered ? 0 : rc;
}

void recording_unfiltered(struct report *r)
{
	report_note(r, "read without a filter of system calls: this kernel has none");
}

bool recording_has(const struct stream *s, const struct probe *p)
{
	return is_recorded(s, p) || (p && p->over && is_recorded(s, probe_find(p->over)));
}

static int peek_read(struct log_reader *reader, struct stream *s, struct err *err)
{
	const struct rec *r;
	int rc = 1;

	for (int i = 0; i < PEEK_RECORDS && rc == 1; i++) {
		rc = log_reader_next(reader, NULL, &r, err);
		if (rc == 1 && stream_feed(s, r))
			rc = -ENOMEM;
	}
	/* what is damaged further on is told when all of it is read */
	return s->has_session ? 0 : rc < 0 ? rc : -ENODATA;
}

int recording_peek(int fd, const char *path, struct stream *ret, struct err *err)
{
	struct log_reader *reader;
	struct stat st;
	int rc = 0;

	if (!fstat(fd, &st) && !S_ISREG(st.st_mode))
		rc = -ESPIPE;
	if (!rc) {
		fd = replay_again(fd);
		rc = fd < 0 ? err_errno(err, fd, "cannot read %s", path)
			    : log_reader_open_fd(fd, path, &reader, err);
	}
	if (rc)
		return rc;
	rc = stream_init(ret);
	if (!rc) {
		rc = peek_read(reader, ret, err);
		if (rc)
			stream_destroy(ret);
	}
	log_reader_close(reader);
	return rc;
}

const struct command *recording_of(const char *name, struct err *err)
{
	const struct probe *p = probe_find(name);

	if (p && p->view)
		return command_find(p->name);
	err_set(err, -EINVAL, "--of: '%.40s' is not a command with tables", name);
	err_hint(err, "'memwhy help' lists the commands; those of a probe have tables");
	return NULL;
}

int recording_of_unknown(const struct stream *s, const char *path, const char *what,
	bool (*fits)(const struct probe *p), struct err *err)
{
	_cleanup_str_ struct str has = {};

	for (size_t i = 0; i < probes_n; i++)
		if (probes[i]->view && recording_has(s, probes[i]) && (!fits || fits(probes[i])))
			str_addf(&has, "%s%s", has.len ? ", " : "", probes[i]->name);
	err_set(err, -EINVAL, "%.200s is of 'memwhy %.31s': --of COMMAND says what to %s", path,
		s->session.command, what);
	return err_hint(err, "it has: %s", has.len ? str_get(&has) : "nothing of the kind");
}

const struct probe *recording_probe(const struct stream *s)
{
	const struct probe *of = probe_find(s->session.command);

	if (of && of->view)
		return of;
	for (size_t i = 0; i < probes_n; i++)
		if (probes[i]->source && stream_probe_active(s, probes[i]->name))
			return probes[i];
	return NULL;
}

/* What a program tells by itself it tells by stack. */
bool recording_has_stacks(const struct stream *s)
{
	bool has = s->session.options & SESSION_STACKS;

	for (size_t i = 0; i < probes_n && !has; i++)
		has = probes[i]->source && stream_probe_active(s, probes[i]->name);
	return has;
}

int recording_lacks(
	const struct stream *s, const char *path, const struct probe *p, struct err *err)
{
	const char *of = s->session.command;

	err_set(err, -EINVAL, "%.200s%s%s was not recorded: the file is of 'memwhy %.31s'",
		path ? path : "", path ? ": " : "", p->name, of);
	if (p->recorded_by)
		err_hint(err, "to record it: '%s'", p->recorded_by);
	else if (!strcmp(of, "record"))
		err_hint(err, "to record it: 'memwhy record --probes %s FILE'", p->name);
	else
		err_hint(err, "to record it: 'memwhy %s --record FILE'", p->name);
	return err->code;
}

bool recording_is_of_events(
	const struct stream *s, const struct probe *p, const struct options *o, struct err *err)
{
	bool bare = export_of_stacks(o->format) || !p || !p->sampler;

	if (!p || !p->view || !p->view->each || o->each || !bare ||
		!(s->session.options & SESSION_EACH))
		return false;
	err_set(err, -EINVAL,
		"the recording has single events only, not the sums that were asked for");
	err_hint(err, "to see them: 'memwhy %s --each --input FILE'", p->name);
	return true;
}

/* An empty table of what was not looked at is no "no". */
static void empty_say(struct report *r, const char *text)
{
	vec_each (t, &r->tables)
		(*t)->empty = text;
}

/* Is that all that there is to say of it? */
static bool absence_tell(struct report *r, const struct probe *p)
{
	const struct stream *s = r->stream;
	struct err why = {};

	if (!recording_has(s, p)) {
		recording_lacks(s, NULL, p, &why);
		report_not_checked(r, "%s; %s", why.msg, why.hint);
		empty_say(r, "Not recorded.");
		if (r->has_findings && !r->findings.n)
			r->verdict = report_text(r, "%s was not recorded.", p->name);
		return true;
	}
	if (cmd_recording_in_bursts(s, p)) {
		report_note(r, "'memwhy %.31s' looks at %s in bursts only, when there is reason to",
			s->session.command, p->name);
		empty_say(r, "Not seen in bursts, if there were any.");
	} else if (!has_events(s, p)) {
		report_not_checked(r,
			"the events of %s were not recorded; to record them: 'memwhy record "
			"--probes %s FILE'",
			p->name, p->name);
		empty_say(r, "Not recorded.");
	}
	return false;
}

/* Did the session say of its events how they are obtained, or why not? */
static bool was_looked_for(const struct stream *s, const struct probe *p)
{
	vec_each (m, &s->methods) {
		bool of_events = strcmp(m->probe, p->name) == 0;

		for (size_t i = 0; of_events && p->only_named && i < p->bpf->n_hooks; i++)
			if (!strcmp(m->data, p->bpf->hooks[i].data))
				return true;
		if (of_events && !p->only_named)
			return true;
	}
	vec_each (n, &s->notes)
		if (!strcmp(n->probe, p->name) && n->level == NOTE_NOT_CHECKED)
			return true;
	return false;
}

void recording_tell_check(struct report *r)
{
	_cleanup_str_ struct str names = {};
	size_t n = 0;

	for (size_t i = 0; i < probes_n; i++) {
		const struct probe *p = probes[i];

		/* what is looked at only when named, check looks at in bursts */
		if (!p->cheap || (p->only_named && !(p->bpf && p->bpf->bursts)) ||
			was_looked_for(r->stream, p))
			continue;
		str_addf(&names, "%s%s", n++ ? ", " : "", p->name);
	}
	r->unrecorded = n > 0;
	if (n)
		report_not_checked(r, "not recorded: %s; the file is of 'memwhy %.31s'",
			str_get(&names), r->stream->session.command);
}

void recording_tell(const struct run *run, struct report *r)
{
	static const char *const costly[] = {
		"thread", "mapping", "size"}; /* collected only when asked for */
	const struct rec_session *s = &r->stream->session;
	const struct probe *of = probe_find(s->command);
	const struct probe *shown = probe_find(run->cmd->name);
	const struct options *o = run->o;

	if (!shown) /* what is over time: it shows what there is */
		return;
	if (absence_tell(r, shown))
		return;
	if (of && of->coarse && strcmp(of->name, run->cmd->name) != 0)
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
	if (o->stacks && !recording_has_stacks(r->stream))
		report_not_checked(
			r, "stacks were not recorded: that takes --stacks when recording");
	for (size_t i = 0; o->by && !(of && of->has_all_keys) && i < ARRAY_SIZE(costly); i++)
		if (strstr(o->by, costly[i]) && !strstr(s->by, costly[i]))
			report_not_checked(r,
				"the %s was not recorded: that takes --by %s when recording",
				costly[i], costly[i]);
}
