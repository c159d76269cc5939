/* See rules.h. */
#include "rules/rules.h"

#include <string.h>

const struct view *const rules[] = {
#define RULE(id_) &rule_##id_,
#include "rules/rules.def"
#undef RULE
};
const size_t rules_n = ARRAY_SIZE(rules);

static const struct {
	const char *command;
	const struct view *rule;
} beside[] = {{"faults", &rule_growth}};

const struct view *rule_beside(const char *command)
{
	for (size_t i = 0; i < ARRAY_SIZE(beside); i++)
		if (!strcmp(beside[i].command, command))
			return beside[i].rule;
	return NULL;
}
