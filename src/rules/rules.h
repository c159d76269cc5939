/*
 * The rules of `memwhy check`. A rule is a view that adds findings instead of tables: it is fed
 * the same records, looks for one trouble, and says nothing where the evidence is thin. It knows
 * the wire structs of the probes it looks at and no other rule. One rule is one file and one row
 * in rules.def.
 */
#ifndef MEMWHY_RULES_RULES_H
#define MEMWHY_RULES_RULES_H

#include "report/view.h"

#define RULE(id_) extern const struct view rule_##id_;
#include "rules/rules.def"
#undef RULE

extern const struct view *const rules[];
extern const size_t rules_n;

/* A rule that a command other than check reports with its own view; NULL: none. */
const struct view *rule_beside(const char *command);

#endif
