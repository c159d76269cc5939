/* See command.h. */
#include "record/heap_command.h"

#include <errno.h>

#include "sys/rights.h"

int command_prepare(const struct session_config *cfg, struct capture *c,
	struct preload_program *program, struct err *err)
{
	bool wanted = false;
	enum preload_why why;

	for (size_t i = 0; i < cfg->n_probes && cfg->argv; i++)
		wanted |= probe_preloads(cfg->probes[i], c);
	if (!wanted)
		return 0;
	why = preload_check_command(cfg->argv[0], cfg->opt.as_other ? &cfg->opt.as : NULL, program);
	if (!preload_is_in_vain(why))
		return preload_open(&c->preload, why != PRELOAD_CLASS, err);
	c->opt.program = program;
	c->opt.program_why = preload_why_text(why);
	return 0;
}

void command_refused(const struct capture *c, struct err *err)
{
	if (!c->opt.program)
		return;
	err_set(err, -EPERM,
		"nothing can be preloaded into '%.60s': %s; and probes at its allocator are not "
		"permitted",
		c->opt.command[0], c->opt.program_why);
	rights_hint(err);
}
