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

#define CFI_RULES_RECENT 256

struct cfi_rule_set {
	VEC(struct cfi_rule) list;
	u16 *slots; /* hash: number, or 0 */
	u32 n_slots;
	/* Those asked for last, by their hash. One that is not in use is CFI_NONE. */
	struct {
		u64 half[2];
		u32 number;
	} recent[CFI_RULES_RECENT];
};

int cfi_rules_init(struct cfi_rule_set *set);
/* As it was at first, without giving memory back. */
void cfi_rules_reset(struct cfi_rule_set *set);
void cfi_rules_free(struct cfi_rule_set *set);
int cfi_rules_search(struct cfi_rule_set *set, const struct cfi_rule *rule, u64 hash);

static inline u64 cfi_rule_hash(const struct cfi_rule *rule)
{
	u64 half[2];

	_Static_assert(sizeof(*rule) == sizeof(half), "rules have no padding");
	__builtin_memcpy(half, rule, sizeof(half));
	return (half[0] ^ half[1] * 0x9e3779b97f4a7c15ULL) * 0xd6e8feb86659fd93ULL;
}

/* The number of a rule, which gets one if it has none; -ENOMEM. */
static inline int cfi_rules_number(struct cfi_rule_set *set, const struct cfi_rule *rule)
{
	u64 hash = cfi_rule_hash(rule);
	u32 at = hash >> 56;

	if (!__builtin_memcmp(set->recent[at].half, rule, sizeof(*rule)))
		return (int)set->recent[at].number;
	return cfi_rules_search(set, rule, hash);
}

#endif
