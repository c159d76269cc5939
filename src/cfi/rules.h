/* The different rules of one table, each with a number. */
#ifndef MEMWHY_CFI_RULES_H
#define MEMWHY_CFI_RULES_H

#include "base/vec.h"
#include "cfi/rule.h"

/* Numbers that every set has. */
enum {
	CFI_RULE_NONE,
	CFI_RULE_TOO_MANY, /* stands for what got no number */
};

struct cfi_rule_set {
	VEC(struct cfi_rule) list;
	u16 *slots; /* hash: number, or 0 */
	u32 n_slots;
};

int cfi_rules_init(struct cfi_rule_set *set);
void cfi_rules_free(struct cfi_rule_set *set);
/* The number of a rule, which gets one if it has none; -ENOMEM. */
int cfi_rules_number(struct cfi_rule_set *set, const struct cfi_rule *rule);

#endif
