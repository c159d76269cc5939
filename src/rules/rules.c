/* See rules.h. */
#include "rules/rules.h"

const struct view *const rules[] = {
#define RULE(id_) &rule_##id_,
#include "rules/rules.def"
#undef RULE
};
const size_t rules_n = ARRAY_SIZE(rules);
