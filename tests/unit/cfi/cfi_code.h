/* How much code has which rules, of a table whose code ends at an address. */
#ifndef MEMWHY_TESTS_CFI_CODE_H
#define MEMWHY_TESTS_CFI_CODE_H

#include "cfi/table.h"

/* Bytes of code. */
struct cfi_code {
	u64 by_kind[CFI_KINDS]; /* of their rule */
	u64 unsupported[CFI_WHYS];
};

static inline struct cfi_code cfi_code_of(const struct cfi_table *table, u64 end)
{
	const struct cfi_rows *rows = &table->rows;
	u32 pc = (u32)(end - table->base);
	struct cfi_code code = {};

	for (u32 i = rows->n; i--; pc = rows->pc[i]) {
		const struct cfi_rule *rule = &rows->rules[rows->rule_of[i]];
		u32 n = pc - rows->pc[i];

		code.by_kind[rule->kind] += n;
		if (rule->kind == CFI_UNSUPPORTED)
			code.unsupported[(u8)rule->arg] += n;
	}
	code.by_kind[CFI_NONE] += pc;
	return code;
}

#endif
