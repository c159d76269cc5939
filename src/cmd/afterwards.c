/* See afterwards.h. */
#include "cmd/afterwards.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/entries.h"
#include "cmd/output.h"
#include "cmd/own.h"
#include "cmd/unnamed.h"
#include "export/export.h"
#include "probes/probe.h"

bool afterwards_wanted(const struct command *cmd, const struct options *o)
{
	if (!(cmd->groups & GROUP_RUN) || !(cmd->groups & GROUP_OUTPUT))
		return false;
	return o->anonymize || (export_of_records(o->format) && !(cmd->groups & GROUP_TOP));
}

static bool is_page(const struct options *o)
{
	return !strcmp(o->format, "html");
}

static int cmd_afterwards_options_check(
	const struct command *cmd, const struct options *o, struct err *err)
{
	bool part = o->from_ns || o->to_ns; /* of a heap it is one of events, not of records */
	const char *no = o->interval_ns                                       ? "--interval"
			 : part && cmd->probe && cmd->probe->view->parts_with ? "--from, --to"
			 : o->like                                            ? "--like"
			 : o->sort                                            ? "--sort"
			 : !is_page(o)                                        ? NULL
			 : o->by                                              ? "--by"
			 : o->fields                                          ? "--fields"
			 : o->table                                           ? "--table"
									      : NULL;

	if (cmd->groups & GROUP_TOP)
		return err_set(err, -EINVAL, "%s takes no --anonymize", cmd->name);
	if (!is_page(o) && !export_of_records(o->format) && !export_of_stacks(o->format)) {
		err_set(err, -EINVAL, "--anonymize: -o %s is not made of a recording", o->format);
		return err_hint(err,
			"it works with -o html, pprof, speedscope, folded, sqlite and perfetto");
	}
	if (no)
		return err_set(err, -EINVAL, "-o %s%s takes no %s", o->format,
			o->anonymize ? " --anonymize" : "", no);
	if (export_of_records(o->format) &&
		(o->by || o->fields || o->table || o->limit != UINT64_MAX))
		return err_set(err, -EINVAL,
			"-o %s has all records: it takes no --by, --fields, --table, --limit",
			o->format);
	if (o->argv && !o->out) {
		err_set(err, -EINVAL, "-o %s%s is made after the run", o->format,
			o->anonymize ? " --anonymize" : "");
		return err_hint(err, "--out FILE says where to");
	}
	return 0;
}

/* Can what comes last be written at all? */
static int output_try(const struct options *o, struct err *err)
{
	struct output out;
	int rc = output_open_bytes(o, &out, err);

	return rc || !out.close ? rc : output_close(&out, err);
}

static void signals_block(sigset_t *ret_old)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, ret_old);
}

static void signal_heard(int sig)
{
	(void)sig;
}

/* The child may hear the same twice, from its group and from its parent: the second, when the
 * session has ended, must not keep it from closing the recording. A command finds them as ever. */
static void signals_hear(void)
{
	static const int sigs[] = {SIGINT, SIGTERM};

	for (size_t i = 0; i < ARRAY_SIZE(sigs); i++)
		if (signal(sigs[i], signal_heard) == SIG_IGN)
			signal(sigs[i], SIG_IGN);
}

/* What only this process was told is handed on: at Ctrl-C the child hears it by itself. */
static int child_wait(pid_t child)
{
	int status = 0;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	while (waitpid(child, &status, WNOHANG) == 0) {
		siginfo_t info;
		int sig = sigwaitinfo(&set, &info);

		if ((sig == SIGINT || sig == SIGTERM) && info.si_code <= 0)
			kill(child, sig);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool has_bytes(const char *path)
{
	struct stat st;

	return !stat(path, &st) && st.st_size > 0;
}

/* A part of a recording that there was. */
static void part_hand(const struct options *o, struct options *as)
{
	as->pids = o->pids;
	as->comm = o->comm;
	as->cgroup = o->cgroup;
	as->container = o->container;
	as->from_ns = o->from_ns;
	as->to_ns = o->to_ns;
}

static int made(const struct command *of, const struct options *o, const char *recording)
{
	const struct command *cmd = is_page(o) ? &command_report : &command_export;
	char *operands[] = {(char *)(uintptr_t)recording, NULL};
	struct options as = options_default;
	int status = own_alloc(&as) ? STATUS_INTERNAL : STATUS_DONE;

	as.operands = operands;
	as.n_operands = 1;
	as.out = o->out;
	as.force = true; /* this run tried it, and left it empty */
	as.anonymize = o->anonymize;
	as.limit = o->limit;
	as.quiet = o->quiet;
	as.max_bytes = o->max_bytes;
	if (o->input)
		part_hand(o, &as);
	if (!is_page(o)) {
		as.to = o->format;
		as.of = of->probe && !export_of_records(o->format) ? of->name : NULL;
		as.by = o->by;
		as.fields = o->fields;
		as.table = o->table;
	}
	status = status ? status : cmd->run(cmd, &as);
	own_free(&as);
	return status;
}

/* The child's options: it records, and its own report goes nowhere. */
static void recording_options(struct options *o, const char *path, int fd)
{
	if (export_of_stacks(o->format) && !o->stacks)
		o->stacks = "";
	o->record = path;
	o->record_fd = fd;
	o->out = "/dev/null";
	o->format = "text";
	o->anonymize = false;
	o->by = o->fields = o->table = NULL;
	o->limit = UINT64_MAX;
}

static int record_and_make(const struct command *cmd, struct options *o, const char *path, int fd,
	const struct rlimit *files)
{
	pid_t parent = getpid(), child;
	int status, last;
	sigset_t old;

	signals_block(&old);
	child = fork();
	if (child < 0) {
		struct err err = {};

		sigprocmask(SIG_SETMASK, &old, NULL);
		err_errno(&err, -errno, "no process to record in");
		command_error(&err);
		return STATUS_INTERNAL;
	}
	if (!child) {
		signals_hear();
		sigprocmask(SIG_SETMASK, &old, NULL);
		setrlimit(RLIMIT_FSIZE, files);
		prctl(PR_SET_PDEATHSIG, SIGINT);
		if (getppid() != parent)
			_exit(STATUS_INTERRUPTED);
		recording_options(o, path, fd);
		return -1;
	}
	status = child_wait(child);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (!has_bytes(path))
		return status;
	last = made(cmd, o, path);
	return status ? status : last;
}

int afterwards_run(const struct command *cmd, struct options *o)
{
	struct rlimit files = {RLIM_INFINITY, RLIM_INFINITY};
	struct err err = {};
	char path[32];
	int fd = 0, rc = cmd_afterwards_options_check(cmd, o, &err);

	rc = rc ? rc : output_try(o, &err);
	if (!rc && o->input)
		return made(cmd, o, o->input);
	getrlimit(RLIMIT_FSIZE, &files);
	if (!rc && !o->record) {
		rc = unnamed_open(&fd, &err);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (!rc)
		return record_and_make(cmd, o, o->record ? o->record : path, fd, &files);
	command_error(&err);
	return command_status(rc);
}
