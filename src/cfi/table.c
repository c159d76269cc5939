/* See table.h. */
#include "cfi/table.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "cfi/plain.h"
#include "cfi/rule_set.h"
#include "cfi/signal.h"

/* CIEs at hand. Linkers put the FDEs of one object file behind each other. */
#define CIES 64
/* Bytes of instructions run for one byte of section, where FDEs are read and again where they are
 * run. A CIE that got lost among those at hand is run again. */
#define EFFORT_MAX 8
/* Work that an FDE is, beside its instructions, in bytes of them. */
#define FDE_EFFORT 8
/* Of section, that an FDE and a row take, about. */
#define FDE_BYTES 32
#define ROW_BYTES 4
/* Functions are aligned to at most so many bytes more. Nobody runs what is between them. */
#define PADDING_MAX 15

struct cie_slot {
	struct cfi_cie cie;
	struct cfi_state state;
	struct cfi_words words; /* the state, if it is plain */
	bool plain;
	enum { CIE_UNKNOWN, CIE_SOUND, CIE_REFUSED } is;
};

/* An FDE: its code, and where in the section its CIE and its instructions are. */
struct span {
	u32 start;
	u32 end;
	u32 cie;
	u32 at;
	u32 size;
};

struct cfi_compiler {
	const struct cfi_source *source;
	struct cfi_rule_set rules;
	VEC(struct span) spans;
	VEC(u64) order, other; /* of spans: start << 32 | number; other: where they are sorted to */
	VEC(u32) pc;           /* of sorted rows */
	VEC(u16) rule_of;
	struct cie_slot *cies;
	u64 effort;
	struct signal_finder signals;
	struct cfi_counts counts;
	struct cfi_table table;
};

void cfi_compiler_free(struct cfi_compiler *c)
{
	if (!c)
		return;
	cfi_rules_free(&c->rules);
	vec_free(&c->spans);
	vec_free(&c->order);
	vec_free(&c->other);
	vec_free(&c->pc);
	vec_free(&c->rule_of);
	free(c->cies);
	free(c);
}

int cfi_compiler_new(struct cfi_compiler **ret)
{
	_cleanup_cfi_compiler_ struct cfi_compiler *c = calloc(1, sizeof(*c));

	if (!c || cfi_rules_init(&c->rules))
		return -ENOMEM;
	c->cies = malloc(CIES * sizeof(*c->cies));
	if (!c->cies)
		return -ENOMEM;
	*ret = take_ptr(c);
	return 0;
}

/* About as much as honest files need, so that nothing is copied while it grows. What is not used
 * costs nothing. */
static int compiler_reserve(struct cfi_compiler *c)
{
	u64 n = c->source->eh_frame.size;

	return vec_reserve(&c->spans, n / FDE_BYTES) || vec_reserve(&c->pc, n / ROW_BYTES) ||
			       vec_reserve(&c->rule_of, n / ROW_BYTES)
		       ? -ENOMEM
		       : 0;
}

static void compiler_reset(struct cfi_compiler *c, const struct cfi_source *source)
{
	c->source = source;
	cfi_rules_reset(&c->rules);
	memset(c->cies, 0, CIES * sizeof(*c->cies));
	c->spans.n = c->pc.n = c->rule_of.n = 0;
	c->effort = 0;
	c->counts = (struct cfi_counts){};
	signal_finder_init(&c->signals, source);
}

static void cie_start(struct cfi_compiler *c, struct cie_slot *slot)
{
	slot->is = CIE_SOUND;
	c->effort += cfi_left(&slot->cie.instructions);
	cfi_state_init(&c->source->eh_frame, &slot->cie, &slot->state);
	slot->plain = slot->cie.code_align == CFI_PLAIN_CODE_ALIGN &&
		      slot->cie.data_align == CFI_PLAIN_DATA_ALIGN &&
		      cfi_state_plain(&slot->state, &slot->cie, &slot->words);
}

static void cie_read(struct cfi_compiler *c, u64 offset, struct cie_slot *slot)
{
	slot->is = CIE_REFUSED;
	c->effort += FDE_EFFORT;
	if (!cfi_cie_read(&c->source->eh_frame, offset, &slot->cie))
		cie_start(c, slot);
	slot->cie.offset = offset;
}

/* NULL: there is no sound CIE there. */
static inline const struct cie_slot *cie_at(struct cfi_compiler *c, u64 offset)
{
	struct cie_slot *slot = &c->cies[(offset / 4) % CIES];

	if (slot->cie.offset != offset || slot->is == CIE_UNKNOWN)
		cie_read(c, offset, slot);
	return slot->is == CIE_SOUND ? slot : NULL;
}

static int fde_add(struct cfi_compiler *c, const struct cfi_entry *entry)
{
	const struct cie_slot *slot = cie_at(c, entry->cie_offset);
	struct cfi_fde fde;

	if (!slot) {
		c->counts.refused[CFI_REFUSED_CIE]++;
		return 0;
	}
	if (cfi_fde_read(&c->source->eh_frame, entry, &slot->cie, &fde)) {
		c->counts.refused[CFI_REFUSED_FDE]++;
		return 0;
	}
	if (fde.start < c->source->code_start || fde.end > c->source->code_end) {
		c->counts.refused[CFI_REFUSED_OUTSIDE]++;
		return 0;
	}
	if (fde.start == fde.end)
		return 0;
	c->effort += FDE_EFFORT;
	return vec_push(
		&c->spans, ((struct span){
				   .start = (u32)(fde.start - c->source->code_start),
				   .end = (u32)(fde.end - c->source->code_start),
				   .cie = (u32)entry->cie_offset,
				   .at = (u32)(fde.instructions.at - c->source->eh_frame.data),
				   .size = (u32)cfi_left(&fde.instructions),
			   }));
}

static bool effort_spent(struct cfi_compiler *c)
{
	if (c->effort <= EFFORT_MAX * c->source->eh_frame.size)
		return false;
	c->counts.refused[CFI_REFUSED_EFFORT] = 1;
	return true;
}

static int section_read(struct cfi_compiler *c)
{
	const struct cfi_section *section = &c->source->eh_frame;
	struct cfi_entry entry = {};
	int rc = 0;

	while (!rc) {
		switch (cfi_entry_read(section, entry.next, &entry)) {
		case CFI_ENTRY_END:
			return 0;
		case CFI_ENTRY_DAMAGED:
			c->counts.refused[CFI_REFUSED_ENTRY]++;
			return 0;
		case CFI_ENTRY_CIE:
			break;
		case CFI_ENTRY_FDE:
			c->counts.fdes++;
			rc = fde_add(c, &entry);
		}
		if (effort_spent(c))
			return rc;
	}
	return rc;
}

#define DIGIT_BITS 12

/* By one digit of where they start, stable. */
static void order_pass(const u64 *from, size_t n, u32 shift, u64 *to)
{
	u32 at[1 << DIGIT_BITS] = {}, sum = 0;

	shift += 32;
	for (size_t i = 0; i < n; i++)
		at[from[i] >> shift & (ARRAY_SIZE(at) - 1)]++;
	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		u32 count = at[i];

		at[i] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[at[from[i] >> shift & (ARRAY_SIZE(at) - 1)]++] = from[i];
}

/* Of those with the same start the first one stays. */
static void order_unique(struct cfi_compiler *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->order.n; i++) {
		if (n && c->order.v[n - 1] >> 32 == c->order.v[i] >> 32)
			c->counts.refused[CFI_REFUSED_OVERLAP]++;
		else
			c->order.v[n++] = c->order.v[i];
	}
	c->order.n = n;
}

/* Linkers leave them in the order of object files, and those have code in several places. */
static int spans_sort(struct cfi_compiler *c)
{
	u64 code = c->source->code_end - c->source->code_start;
	bool sorted = true;

	c->order.n = c->other.n = 0;
	if (vec_reserve(&c->order, c->spans.n) || vec_reserve(&c->other, c->spans.n))
		return -ENOMEM;
	for (size_t i = 0; i < c->spans.n; i++) {
		c->order.v[i] = (u64)c->spans.v[i].start << 32 | i;
		sorted &= !i || c->spans.v[i - 1].start < c->spans.v[i].start;
	}
	c->order.n = c->spans.n;
	for (u32 shift = 0; !sorted && code >> shift; shift += DIGIT_BITS) {
		__auto_type from = c->order;

		order_pass(from.v, from.n, shift, c->other.v);
		c->order = c->other;
		c->order.n = from.n;
		c->other = from;
	}
	order_unique(c);
	return 0;
}

/* Room for so many rows more. */
static int rows_reserve(struct cfi_compiler *c, size_t more)
{
	c->rule_of.n = c->pc.n;
	return vec_reserve(&c->pc, more) || vec_reserve(&c->rule_of, more) ? -ENOMEM : 0;
}

/* One more at most. */
static inline void row_emit(struct cfi_compiler *c, u32 pc, u16 rule)
{
	size_t n = c->pc.n;

	if (n && c->pc.v[n - 1] == pc) {
		c->rule_of.v[n - 1] = rule;
		return;
	}
	if (n ? c->rule_of.v[n - 1] == rule : rule == CFI_RULE_NONE)
		return;
	c->pc.v[n] = pc;
	c->rule_of.v[n] = rule;
	c->pc.n = n + 1;
}

/* Code that no FDE is for. */
static int gap_emit(struct cfi_compiler *c, u32 start, u32 end)
{
	u64 base = c->source->code_start, from, to;
	int rule;

	if (rows_reserve(c, 1 + 2 * SIGNAL_FOUND_MAX))
		return -ENOMEM;
	if (start < end)
		row_emit(c, start, CFI_RULE_NONE);
	while (signal_find(&c->signals, base + start, base + end, &from, &to)) {
		rule = cfi_rules_number(&c->rules, cfi_rule_words(&signal_rule));
		if (rule < 0)
			return rule;
		row_emit(c, (u32)(from - base), (u16)rule);
		if (to < base + end)
			row_emit(c, (u32)(to - base), CFI_RULE_NONE);
		start = (u32)(to - base);
	}
	return 0;
}

/* 1: it is odd, and its rows are to be made. */
static int plain_emit(
	struct cfi_compiler *c, const struct cie_slot *slot, const struct span *span, u32 end)
{
	size_t n = c->pc.n;
	int last = n ? c->rule_of.v[n - 1] : CFI_RULE_NONE;
	struct cfi_plain plain;
	u64 pc = span->start, by; /* behind that of any row there is */

	plain.now = plain.initial = slot->words;
	cfi_plain_start(&plain, c->source->eh_frame.data + span->at, span->size);
	do {
		int rule;

		by = cfi_plain_next(&plain);
		if (plain.odd)
			return 1;
		rule = cfi_rules_number(&c->rules, plain.now);
		if (rule < 0)
			return rule;
		if (rule != last) {
			c->pc.v[n] = (u32)pc;
			c->rule_of.v[n++] = (u16)rule;
		}
		last = rule;
		pc += by;
	} while (by && pc < end);
	c->pc.n = n;
	return 0;
}

static int program_emit(
	struct cfi_compiler *c, const struct cie_slot *slot, const struct span *span, u32 end)
{
	const struct cfi_section *section = &c->source->eh_frame;
	u64 base = c->source->code_start;
	struct cfi_fde fde = {.start = base + span->start,
		.end = base + span->end,
		.instructions = cfi_bytes_of(section, span->at, span->size)};
	struct cfi_program program;
	struct cfi_row row;

	cfi_program_start(&program, section, &slot->cie, &slot->state, &fde);
	while (cfi_program_next(&program, &row) && row.start < base + end) {
		int rule = cfi_rules_number(&c->rules, cfi_rule_words(&row.rule));

		if (rule < 0)
			return rule;
		row_emit(c, (u32)(row.start - base), (u16)rule);
	}
	return 0;
}

static int span_emit(struct cfi_compiler *c, const struct span *span, u32 end)
{
	const struct cie_slot *slot = cie_at(c, span->cie);
	/* An instruction makes a row at most, and what is behind the last one. */
	int rc = slot ? rows_reserve(c, span->size + 1) : 0;

	if (!slot || rc)
		return rc;
	c->effort += span->size;
	rc = slot->plain && !c->source->general ? plain_emit(c, slot, span, end) : 1;
	return rc == 1 ? program_emit(c, slot, span, end) : rc;
}

static int spans_emit(struct cfi_compiler *c)
{
	u32 code_end = (u32)(c->source->code_end - c->source->code_start), at = 0;
	int rc = 0;

	c->effort = 0;
	for (size_t i = 0; i < c->order.n && !rc && !effort_spent(c); i++) {
		const struct span *span = &c->spans.v[(u32)c->order.v[i]];
		u32 next = i + 1 < c->order.n ? (u32)(c->order.v[i + 1] >> 32) : code_end;

		if (!at || span->start - at > PADDING_MAX)
			rc = gap_emit(c, at, span->start);
		if (span->end > next)
			c->counts.refused[CFI_REFUSED_OVERLAP]++;
		at = MIN(span->end, next);
		if (!rc)
			rc = span_emit(c, span, at);
	}
	return rc ? rc : gap_emit(c, at, code_end);
}

static size_t table_bytes(size_t n_rules, size_t n)
{
	return sizeof(struct cfi_table) + n_rules * sizeof(struct cfi_rule) +
	       n * (sizeof(u32) + sizeof(u16));
}

int cfi_compiler_run(
	struct cfi_compiler *c, const struct cfi_source *source, const struct cfi_table **ret)
{
	int rc;

	if (source->code_end <= source->code_start ||
		source->code_end - source->code_start > UINT32_MAX ||
		source->eh_frame.size > UINT32_MAX)
		return -EINVAL;
	compiler_reset(c, source);
	rc = compiler_reserve(c);
	if (!rc)
		rc = section_read(c);
	if (!rc)
		rc = spans_sort(c);
	if (!rc)
		rc = spans_emit(c);
	signal_finder_free(&c->signals);
	if (rc)
		return rc;
	c->counts.section_bytes = source->eh_frame.size;
	c->table = (struct cfi_table){
		.rows = {.pc = c->pc.v,
			.rule_of = c->rule_of.v,
			.rules = c->rules.list.v,
			.n = (u32)c->pc.n},
		.n_rules = (u32)c->rules.list.n,
		.base = source->code_start,
		.bytes = table_bytes(c->rules.list.n, c->pc.n),
		.counts = c->counts,
	};
	*ret = &c->table;
	return 0;
}

/* One block: the table, rules, pcs, numbers of rules. */
static int table_copy(const struct cfi_table *from, struct cfi_table **ret)
{
	struct cfi_table *t = malloc(from->bytes);
	struct cfi_rule *rules = (void *)(t + 1);
	u32 n = from->rows.n, *pc = (void *)(rules + from->n_rules);
	u16 *rule_of = (void *)(pc + n);

	if (!t)
		return -ENOMEM;
	*t = *from;
	t->rows.pc = pc;
	t->rows.rule_of = rule_of;
	t->rows.rules = rules;
	memcpy(rules, from->rows.rules, from->n_rules * sizeof(*rules));
	if (n) {
		memcpy(pc, from->rows.pc, n * sizeof(*pc));
		memcpy(rule_of, from->rows.rule_of, n * sizeof(*rule_of));
	}
	*ret = t;
	return 0;
}

int cfi_table_compile(const struct cfi_source *source, struct cfi_table **ret)
{
	_cleanup_cfi_compiler_ struct cfi_compiler *c = NULL;
	const struct cfi_table *table;
	int rc = cfi_compiler_new(&c);

	if (!rc)
		rc = cfi_compiler_run(c, source, &table);
	return rc ? rc : table_copy(table, ret);
}

void cfi_table_free(struct cfi_table *table)
{
	free(table);
}

const struct cfi_rule *cfi_table_find(const struct cfi_table *table, u64 address)
{
	const struct cfi_rule *rule = NULL;

	if (address >= table->base && address - table->base <= UINT32_MAX)
		rule = cfi_rows_find(&table->rows, (u32)(address - table->base));
	return rule ? rule : &table->rows.rules[CFI_RULE_NONE];
}

const char *cfi_refusal_text(enum cfi_refusal refusal)
{
	static const char *const texts[CFI_REFUSALS] = {
		[CFI_REFUSED_ENTRY] = "the section ends in a damaged entry",
		[CFI_REFUSED_CIE] = "entries of a damaged or unknown CIE",
		[CFI_REFUSED_FDE] = "damaged entries",
		[CFI_REFUSED_OUTSIDE] = "entries for addresses outside of code",
		[CFI_REFUSED_OVERLAP] = "entries that overlap others",
		[CFI_REFUSED_EFFORT] = "the section takes too much work",
	};

	return refusal < CFI_REFUSALS ? texts[refusal] : "";
}
