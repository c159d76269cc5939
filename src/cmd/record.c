/* `memwhy record FILE [-- CMD]`: all probes into a file, for any command to report on later. */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "cmd/entries.h"
#include "cmd/ours.h"
#include "cmd/output.h"
#include "cmd/run.h"
#include "cmd/scope.h"

static int probes_choose(
	const char *words, const struct probe **list, size_t *ret_n, struct err *err)
{
	_cleanup_free_ char *copy = strdup(words);
	char *save = NULL;
	size_t n = 0;

	if (!copy)
		return -ENOMEM;
	for (char *w = strtok_r(copy, ",", &save); w && n < probes_n;
		w = strtok_r(NULL, ",", &save)) {
		list[n] = probe_find(w);
		if (!list[n]) {
			err_set(err, -EINVAL, "--probes: there is no probe '%.40s'", w);
			return err_hint(err, "'memwhy doctor' lists them");
		}
		if (list[n]->recorded_by) {
			err_set(err, -EINVAL, "--probes: %.40s is recorded by its own command", w);
			return err_hint(err, "%s", list[n]->recorded_by);
		}
		n++;
	}
	*ret_n = n;
	return n ? 0 : err_set(err, -EINVAL, "--probes needs a name");
}

/* Everything any command may want to see later. */
static void record_all(struct capture_options *opt, const struct options *o)
{
	opt->by = o->by ? o->by : "thread,mapping";
	opt->named = o->probes;
	if (!o->stacks)
		opt->user_stacks = opt->kernel_stacks = true;
}

static int record_session(const struct options *o, const struct probe *const *list, size_t n,
	struct capture_options *opt, const struct scope_words *words, struct pipeline *pipe,
	struct session_result *result, struct err *err)
{
	struct session_config cfg = {
		.command = "record",
		.scope_text = words->text,
		.probes = list,
		.n_probes = n,
		.lenient = !o->probes,
		.needs_privilege = true,
		.debug_info = !o->no_lines,
		.for_ns = o->for_ns,
		.interval_ns = o->interval_ns,
		.argv = o->argv,
	};

	record_all(opt, o);
	cfg.opt = *opt;
	return session_run(&cfg, &pipe->sink, result, err);
}

static void record_tell(const struct pipeline *p, const char *path)
{
	_cleanup_str_ struct str s = {};
	char seconds[UNIT_BUF];
	u64 lost = stream_lost(&p->stream), delivered = stream_delivered(&p->stream);

	str_addf(&s, "memwhy: recorded %llu events in %s to ", delivered,
		fmt_ns(seconds, p->stream.last_ns - p->stream.session.h.time_ns));
	str_add_escaped(&s, path);
	if (lost)
		str_addf(&s, " (%llu lost)", lost);
	str_add(&s, "\n");
	output_say(&s);
}

static int record_run(const struct options *o, struct session_result *result, struct err *err)
{
	_cleanup_free_ const struct probe **list = calloc(probes_n, sizeof(*list));
	_cleanup_free_ struct pipeline *pipe = calloc(1, sizeof(*pipe));
	const char *path = o->operands[0];
	const struct target to = ours_recording(o, path);
	struct capture_options opt = {};
	struct scope_words words;
	size_t n = 0;
	bool began = false;
	int rc = list && pipe ? pipeline_init(pipe) : -ENOMEM, closed;

	if (rc)
		return rc;
	for (size_t i = 0; i < probes_n; i++)
		if (!probes[i]->only_named || probes[i]->cheap)
			list[n++] = probes[i];
	if (o->probes)
		rc = probes_choose(o->probes, list, &n, err);
	if (!rc)
		rc = scope_from_options(o, &opt, &words, err);
	if (!rc) {
		rc = pipeline_log(pipe, &to, err);
		began = !rc;
	}
	if (!rc) {
		rc = record_session(o, list, n, &opt, &words, pipe, result, err);
		closed = pipeline_close_log(pipe, rc ? NULL : err);
		rc = rc ? rc : closed;
		if (!rc && !o->quiet)
			record_tell(pipe, path);
	}
	if (rc && began && !stream_delivered(&pipe->stream))
		unlink(path); /* or it would look like a quiet machine */
	scope_free(&opt);
	pipeline_destroy(pipe);
	return rc;
}

static int cmd_record(const struct command *cmd, struct options *o)
{
	struct session_result result = {};
	struct err err = {};
	int rc;

	if (!o->n_operands) {
		err_set(&err, -EINVAL, "record needs a file to write");
		err_hint(&err, "memwhy record FILE -- CMD");
		command_error(&err);
		return STATUS_USAGE;
	}
	rc = record_run(o, &result, &err);
	command_end(rc, &err, cmd->name);
	return run_status(rc, &result);
}

static const char *const examples[] = {
	"memwhy record run.mw -- ./job",
	"record a command and its children",
	"memwhy faults --input run.mw",
	"then ask anything of the file, on any machine",
	"memwhy record --for 30s -p 1234 db.mw",
	"thirty seconds of one process",
	NULL,
};

const struct command command_record = {
	.name = "record",
	.summary = "Record what all probes see, to report on later or elsewhere",
	.operands = "FILE",
	.n_operands = 1,
	.groups = GROUP_SCOPE | GROUP_RUN | GROUP_RECORD,
	.takes_command = true,
	.details =
		"Writes one file that any command can report on with --input, without privilege "
		"and on any machine: symbols travel in the file. A file that is cut off stays "
		"readable up to its last whole block.\n\n"
		"What fires all the time, such as each allocation of the kernel, is recorded only "
		"when it is named. Unless named, slab still records the sizes of the caches.",
	.examples = examples,
	.run = cmd_record,
};
