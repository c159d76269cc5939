/* See rules.h. */
#include "cfi/rule_set.h"

#include <errno.h>
#include <string.h>

#define RULES_MAX 65536 /* numbers have 16 bits */
#define SLOTS_FIRST 1024
/* Looks at the hash for one rule. Files made so that rules collide get no more than that. */
#define PROBES_MAX 256

/* The slot that holds the rule, or the free one where it belongs; NULL: too many collide. */
static u16 *slot_find(const struct cfi_rule_set *set, const struct cfi_rule *rule, u64 hash)
{
	u32 at = (u32)(hash >> 32) ^ (u32)(hash >> 20);

	for (u32 i = 0; i < PROBES_MAX; i++) {
		u16 *slot = &set->slots[(at + i) & (set->n_slots - 1)];

		if (!*slot || !memcmp(&set->list.v[*slot], rule, sizeof(*rule)))
			return slot;
	}
	return NULL;
}

static int slots_make(struct cfi_rule_set *set, u32 n)
{
	u16 *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(set->slots);
	set->slots = slots;
	set->n_slots = n;
	for (size_t i = 1; i < set->list.n; i++) {
		u64 hash = cfi_words_hash(cfi_rule_words(&set->list.v[i]));
		u16 *slot = slot_find(set, &set->list.v[i], hash);

		if (slot)
			*slot = (u16)i;
	}
	return 0;
}

int cfi_rules_init(struct cfi_rule_set *set)
{
	struct cfi_rule none = {}, many = {.kind = CFI_UNSUPPORTED, .arg = CFI_WHY_RULES};

	*set = (struct cfi_rule_set){};
	if (vec_push(&set->list, none) || vec_push(&set->list, many))
		return -ENOMEM;
	return slots_make(set, SLOTS_FIRST);
}

void cfi_rules_reset(struct cfi_rule_set *set)
{
	set->list.n = CFI_RULE_TOO_MANY + 1;
	memset(set->slots, 0, set->n_slots * sizeof(*set->slots));
	memset(set->recent, 0, sizeof(set->recent));
}

void cfi_rules_free(struct cfi_rule_set *set)
{
	vec_free(&set->list);
	free(set->slots);
}

static int rule_add(struct cfi_rule_set *set, const struct cfi_rule *rule, u16 *slot)
{
	int rc = vec_push(&set->list, *rule);

	if (rc)
		return rc;
	*slot = (u16)(set->list.n - 1);
	if (set->list.n * 2 > set->n_slots)
		rc = slots_make(set, set->n_slots * 4);
	return rc ? rc : (int)set->list.n - 1;
}

int cfi_rules_search(struct cfi_rule_set *set, struct cfi_words words, u64 hash)
{
	u32 at = hash >> (64 - CFI_RECENT_BITS);
	struct cfi_rule rule;
	int number;
	u16 *slot;

	memcpy(&rule, &words, sizeof(rule));
	if (rule.kind == CFI_NONE)
		return CFI_RULE_NONE;
	slot = slot_find(set, &rule, hash);
	if (slot && *slot)
		number = *slot;
	else if (!slot || set->list.n == RULES_MAX)
		return CFI_RULE_TOO_MANY;
	else
		number = rule_add(set, &rule, slot);
	if (number < 0)
		return number;
	set->recent[at].words = words;
	set->recent[at].number = (u32)number;
	return number;
}
