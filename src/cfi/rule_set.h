/* The different rules of one table, or of all, each with a number. */
#ifndef MEMWHY_CFI_RULE_SET_H
#define MEMWHY_CFI_RULE_SET_H

#include "base/vec.h"
#include "cfi/rule.h"

/* Numbers that every set has. */
enum {
	CFI_RULE_NONE,
	CFI_RULE_TOO_MANY, /* stands for what got no number */
};

#define CFI_RECENT_BITS 10

struct cfi_rule_set {
	VEC(struct cfi_rule) list;
	u16 *slots; /* hash: number, or 0 */
	u32 n_slots;
	/* Those asked for last, by their hash. One that is not in use is CFI_NONE. */
	struct {
		struct cfi_words words;
		u32 number;
	} recent[1 << CFI_RECENT_BITS];
};

int cfi_rules_init(struct cfi_rule_set *set);
/* As it was at first, without giving memory back. */
void cfi_rules_reset(struct cfi_rule_set *set);
void cfi_rules_free(struct cfi_rule_set *set);
int cfi_rules_search(struct cfi_rule_set *set, struct cfi_words words, u64 hash);

static inline struct cfi_words cfi_rule_words(const struct cfi_rule *rule)
{
	struct cfi_words words;

	_Static_assert(sizeof(*rule) == sizeof(words), "rules have no padding");
	__builtin_memcpy(&words, rule, sizeof(words));
	return words;
}

static inline u64 cfi_words_hash(struct cfi_words w)
{
	return (w.head ^ w.at * 0x9e3779b97f4a7c15ULL) * 0xd6e8feb86659fd93ULL;
}

/* The number of a rule, which gets one if it has none; -ENOMEM. */
static inline int cfi_rules_number(struct cfi_rule_set *set, struct cfi_words words)
{
	u64 hash = cfi_words_hash(words);
	u32 at = hash >> (64 - CFI_RECENT_BITS);

	if (set->recent[at].words.head == words.head && set->recent[at].words.at == words.at)
		return (int)set->recent[at].number;
	return cfi_rules_search(set, words, hash);
}

#endif
