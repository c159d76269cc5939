/* Finds the command and hands over. */
#include <errno.h>
#include <string.h>

#include "base/closest.h"
#include "base/vec.h"
#include "cmd/command.h"
#include "cmd/help.h"

static int unknown_command(const char *name)
{
	VEC(const char *) names = {};
	struct err err = {};
	size_t n;
	const struct command *all = commands(&n);
	const char *near;

	for (size_t i = 0; i < n; i++)
		if (vec_push(&names, all[i].name))
			break;
	near = closest(name, names.v, names.n);
	vec_free(&names);
	err_set(&err, -EINVAL, "unknown command '%.40s'", name);
	if (near)
		err_hint(&err, "did you mean 'memwhy %s'?", near);
	else
		err_hint(&err, "'memwhy help' lists the commands");
	command_error(&err);
	return STATUS_USAGE;
}

/* Operands beyond what the command takes, and a command to run where it takes none. */
static int check_operands(const struct command *cmd, const struct options *o, struct err *err)
{
	if ((u32)o->n_operands > cmd->n_operands) {
		err_set(err, -EINVAL, "%s: '%.40s' is not expected here", cmd->name,
			o->operands[cmd->n_operands]);
		return err_hint(err, cmd->takes_command ? "a command to run goes after --: memwhy %s -- %s"
							: "memwhy %s --help (%s)",
			cmd->name, o->operands[cmd->n_operands]);
	}
	if (o->argv && !cmd->takes_command)
		return err_set(err, -EINVAL, "%s runs no command", cmd->name);
	return 0;
}

static int run_command(const struct command *cmd, int argc, char **argv)
{
	struct options o = options_default;
	struct err err = {};
	int rest, rc = opt_parse(options_of(cmd->groups), &o, argc, argv, &o.n_operands, &rest, &err);

	o.operands = argv + 1;
	o.argv = rest < argc ? argv + rest : NULL;
	if (!rc && o.help) {
		_cleanup_str_ struct str s = {};

		help_command(cmd, &s);
		fputs(str_get(&s), stdout);
		return STATUS_DONE;
	}
	if (!rc)
		rc = check_operands(cmd, &o, &err);
	if (rc) {
		command_error(&err);
		return STATUS_USAGE;
	}
	return cmd->run(cmd, &o);
}

int main(int argc, char **argv)
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
	if (!cmd)
		return unknown_command(argv[1]);
	return run_command(cmd, argc - 1, argv + 1);
}
