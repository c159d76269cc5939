/* `memwhy check`: what is wrong here, and what to do. */
#include "cmd/entries.h"
#include "cmd/run.h"
#include "base/clock.h"

static int check(const struct command *cmd, struct options *o)
{
	(void)cmd;
	(void)o;
	return STATUS_INTERNAL;
}

const struct command command_check = {
	.name = "check",
	.summary = "What is wrong with memory here, and what to do about it?",
	.groups = GROUP_SCOPE | GROUP_RUN | GROUP_OUTPUT | GROUP_CHECK,
	.takes_command = true,
	.run = check,
};
