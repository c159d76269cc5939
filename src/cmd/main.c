/* Finds the command and hands over. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <unistd.h>

#include "base/closest.h"
#include "base/own_limits.h"
#include "base/progress.h"
#include "cmd/afterwards.h"
#include "cmd/command.h"
#include "cmd/help.h"
#include "cmd/own.h"

#define LARGE_BLOCK (256 << 10)

/* Operands beyond what the command takes, and a command to run where it takes none. */
static int operand_is_command(const struct command *cmd, const struct options *o, struct err *err)
{
	char word[HINT_WORD], first[HINT_WORD] = "";

	hint_word(word, o->operands[cmd->n_operands], "CMD");
	if (cmd->n_operands)
		hint_word(first, o->operands[0], "...");
	return err_hint(err, "a command to run goes after --: memwhy %s%s%s -- %s", cmd->name,
		cmd->n_operands ? " " : "", first, word);
}

static int check_operands(const struct command *cmd, const struct options *o, struct err *err)
{
	if ((u32)o->n_operands > cmd->n_operands) {
		err_set(err, -EINVAL, "%s: '%.40s' is not expected here", cmd->name,
			o->operands[cmd->n_operands]);
		if (o->stacks && !*o->stacks && strstr("user kernel both", o->operands[0]))
			return err_hint(
				err, "an optional value is joined: --stacks=%.10s", o->operands[0]);
		if (!cmd->takes_command)
			return err_hint(err, "memwhy %s --help shows what it takes", cmd->name);
		return operand_is_command(cmd, o, err);
	}
	if (o->argv && !cmd->takes_command && !cmd->operands_again)
		return err_set(err, -EINVAL, "%s runs no command", cmd->name);
	return 0;
}

/* Everything was written to stdout? */
static int flushed(int status)
{
	struct err err = {};

	progress_clear();
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	if (status || errno == EPIPE)
		return status;
	err_errno(&err, -errno, "writing to stdout");
	command_error(&err);
	return STATUS_DAMAGED;
}

/* Descriptors 0 to 2 that were closed: a file of ours must not take their place. */
static void descriptors_hold(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd < 3);
	if (fd >= 3)
		close(fd);
}

static int run_parsed(const struct command *cmd, struct options *o, int argc, char **argv)
{
	struct err err = {};
	int rest, rc = opt_parse(options_of(cmd, o->own), options_all(), o, argc, argv,
			  &o->n_operands, &rest, &err);

	o->operands = argv + 1;
	o->argv = !rc && rest < argc ? argv + rest : NULL;
	if (!rc && rest == argc && argc > 1 && !strcmp(argv[argc - 1], "--"))
		rc = err_set(&err, -EINVAL, "there is no command after --");
	if (!rc && o->help) {
		_cleanup_str_ struct str s = {};

		help_command(cmd, &s);
		fputs(str_get(&s), stdout);
		return STATUS_DONE;
	}
	if (!rc)
		rc = check_operands(cmd, o, &err);
	if (rc) {
		command_error(&err);
		return STATUS_USAGE;
	}
	rc = limits_raise(&err);
	if (rc) {
		command_error(&err);
		return command_status(rc);
	}
	if (!o->quiet)
		progress_enable(STDERR_FILENO);
	if (afterwards_wanted(cmd, o)) {
		rc = afterwards_run(cmd, o);
		if (rc >= 0)
			return rc;
	}
	return cmd->run(cmd, o);
}

static int run_command(const struct command *cmd, int argc, char **argv)
{
	struct options o = options_default;
	int status = own_alloc(&o) ? STATUS_INTERNAL : run_parsed(cmd, &o, argc, argv);

	own_free(&o);
	return status;
}

/* No command is near to an option. */
static int option_first(const char *option)
{
	static const char *const own[] = {"--version", "--help"};
	const char *near = strcmp(option, "-V") ? closest(option, own, ARRAY_SIZE(own)) : own[0];
	char word[HINT_WORD];
	struct err err = {};

	if (near) {
		err_set(&err, -EINVAL, "unknown option '%.40s'", option);
		err_hint(&err, "did you mean %s?", near);
	} else {
		err_set(&err, -EINVAL, "'%.40s' before the command", option);
		err_hint(&err, "memwhy COMMAND %s ...; 'memwhy help' lists the commands",
			hint_word(word, option, "-..."));
	}
	command_error(&err);
	return STATUS_USAGE;
}

static int dispatch(int argc, char **argv)
{
	_cleanup_str_ struct str s = {};
	const struct command *cmd;

	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		help_overview(&s);
		fputs(str_get(&s), argc < 2 ? stderr : stdout);
		return argc < 2 ? STATUS_USAGE : STATUS_DONE;
	}
	if (!strcmp(argv[1], "--version")) {
		puts("memwhy " MEMWHY_VERSION);
		return STATUS_DONE;
	}
	cmd = command_find(argv[1]);
	if (!cmd && argv[1][0] == '-')
		return option_first(argv[1]);
	if (!cmd)
		return command_unknown(argv[1]);
	return run_command(cmd, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	/* By itself glibc would take large arrays from its heap once one was freed, and keep what
	 * lies below others. */
	mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
	descriptors_hold();
	return flushed(dispatch(argc, argv));
}
