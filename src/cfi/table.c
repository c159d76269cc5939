/* See table.h. */
#include "cfi/table.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "cfi/program.h"
#include "cfi/rules.h"
#include "cfi/signal.h"

/* CIEs at hand. Linkers put the FDEs of one object file behind each other. */
#define CIES 64
/* Bytes of instructions run for one byte of section. A CIE that got lost among those at hand is
 * run again. */
#define EFFORT_MAX 8
/* Work that an FDE is, beside its instructions, in bytes of them. */
#define FDE_EFFORT 8
/* Functions are aligned to at most so many bytes more. Nobody runs what is between them. */
#define PADDING_MAX 15

struct cie_slot {
	struct cfi_cie cie;
	struct cfi_state state;
	enum { CIE_UNKNOWN, CIE_SOUND, CIE_REFUSED } is;
};

/* The rows of one FDE. */
struct span {
	u32 start;
	u32 end;
	u32 first;
	u32 n;
};

struct row {
	u32 pc;
	u16 rule;
};

struct builder {
	const struct cfi_source *source;
	struct cfi_rule_set rules;
	VEC(struct row) rows; /* span by span, as they come */
	VEC(struct span) spans;
	VEC(struct row) sorted;
	struct cie_slot *cies;
	u64 effort;
	struct signal_finder signals;
	struct cfi_counts counts;
};

static void builder_free(struct builder *b)
{
	cfi_rules_free(&b->rules);
	vec_free(&b->rows);
	vec_free(&b->spans);
	vec_free(&b->sorted);
	free(b->cies);
	signal_finder_free(&b->signals);
}
#define _cleanup_builder_ _cleanup_(builder_free)

/* NULL: there is no sound CIE there. */
static const struct cie_slot *cie_at(struct builder *b, u64 offset)
{
	struct cie_slot *slot = &b->cies[(offset / 4) % CIES];

	if (slot->is == CIE_UNKNOWN || slot->cie.offset != offset) {
		slot->is = CIE_REFUSED;
		b->effort += FDE_EFFORT;
		if (!cfi_cie_read(&b->source->eh_frame, offset, &slot->cie)) {
			slot->is = CIE_SOUND;
			b->effort += cfi_left(&slot->cie.instructions);
			cfi_state_init(&b->source->eh_frame, &slot->cie, &slot->state);
		}
		slot->cie.offset = offset;
	}
	return slot->is == CIE_SOUND ? slot : NULL;
}

static int span_fill(struct builder *b, struct cfi_program *p, struct span *span)
{
	struct cfi_row row;

	while (cfi_program_next(p, &row)) {
		u32 pc = (u32)(row.start - b->source->code_start);
		int rule = cfi_rules_number(&b->rules, &row.rule), rc;

		if (rule < 0)
			return rule;
		if (span->n && b->rows.v[b->rows.n - 1].rule == rule)
			continue;
		rc = vec_push(&b->rows, ((struct row){pc, (u16)rule}));
		if (rc)
			return rc;
		span->n++;
	}
	return 0;
}

static int fde_add(struct builder *b, const struct cfi_entry *entry)
{
	const struct cie_slot *slot = cie_at(b, entry->cie_offset);
	struct cfi_program program;
	struct cfi_fde fde;
	struct span span;
	int rc;

	if (!slot) {
		b->counts.refused[CFI_REFUSED_CIE]++;
		return 0;
	}
	if (cfi_fde_read(&b->source->eh_frame, entry, &slot->cie, &fde)) {
		b->counts.refused[CFI_REFUSED_FDE]++;
		return 0;
	}
	if (fde.start < b->source->code_start || fde.end > b->source->code_end) {
		b->counts.refused[CFI_REFUSED_OUTSIDE]++;
		return 0;
	}
	if (fde.start == fde.end)
		return 0;
	b->effort += FDE_EFFORT + cfi_left(&fde.instructions);
	cfi_program_start(&program, &b->source->eh_frame, &slot->cie, &slot->state, &fde);
	span = (struct span){
		.start = (u32)(fde.start - b->source->code_start),
		.end = (u32)(fde.end - b->source->code_start),
		.first = (u32)b->rows.n,
	};
	rc = span_fill(b, &program, &span);
	return rc ? rc : vec_push(&b->spans, span);
}

static int section_read(struct builder *b)
{
	const struct cfi_section *section = &b->source->eh_frame;
	u64 effort_max = EFFORT_MAX * section->size;
	struct cfi_entry entry = {};
	int rc = 0;

	while (!rc) {
		switch (cfi_entry_read(section, entry.next, &entry)) {
		case CFI_ENTRY_END:
			return 0;
		case CFI_ENTRY_DAMAGED:
			b->counts.refused[CFI_REFUSED_ENTRY]++;
			return 0;
		case CFI_ENTRY_CIE:
			break;
		case CFI_ENTRY_FDE:
			b->counts.fdes++;
			rc = fde_add(b, &entry);
		}
		if (b->effort > effort_max) {
			b->counts.refused[CFI_REFUSED_EFFORT]++;
			return rc;
		}
	}
	return rc;
}

static int spans_compare(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* Mostly they are sorted. Of those with the same start the first one stays. */
static void spans_sort(struct builder *b)
{
	size_t n = 0;
	bool sorted = true;

	for (size_t i = 1; i < b->spans.n && sorted; i++)
		sorted = b->spans.v[i - 1].start < b->spans.v[i].start;
	if (sorted)
		return;
	qsort(b->spans.v, b->spans.n, sizeof(*b->spans.v), spans_compare);
	for (size_t i = 0; i < b->spans.n; i++) {
		if (n && b->spans.v[n - 1].start == b->spans.v[i].start)
			b->counts.refused[CFI_REFUSED_OVERLAP]++;
		else
			b->spans.v[n++] = b->spans.v[i];
	}
	b->spans.n = n;
}

static int row_emit(struct builder *b, u32 pc, u16 rule)
{
	struct row *last = b->sorted.n ? &b->sorted.v[b->sorted.n - 1] : NULL;

	if (last && last->pc == pc) {
		last->rule = rule;
		return 0;
	}
	if (last ? last->rule == rule : rule == CFI_RULE_NONE)
		return 0;
	return vec_push(&b->sorted, ((struct row){pc, rule}));
}

/* Code that no FDE is for. */
static int gap_emit(struct builder *b, u32 start, u32 end)
{
	u64 base = b->source->code_start, from, to;
	int rc = start < end ? row_emit(b, start, CFI_RULE_NONE) : 0, rule;

	while (!rc && signal_find(&b->signals, base + start, base + end, &from, &to)) {
		rule = cfi_rules_number(&b->rules, &signal_rule);
		if (rule < 0)
			return rule;
		rc = row_emit(b, (u32)(from - base), (u16)rule);
		if (!rc && to < base + end)
			rc = row_emit(b, (u32)(to - base), CFI_RULE_NONE);
		start = (u32)(to - base);
	}
	return rc;
}

static int span_emit(struct builder *b, const struct span *span, u32 end)
{
	for (u32 i = span->first; i < span->first + span->n && b->rows.v[i].pc < end; i++) {
		int rc = row_emit(b, b->rows.v[i].pc, b->rows.v[i].rule);

		if (rc)
			return rc;
	}
	return 0;
}

static int spans_emit(struct builder *b)
{
	u32 code_end = (u32)(b->source->code_end - b->source->code_start), at = 0;
	int rc;

	for (size_t i = 0; i < b->spans.n; i++) {
		const struct span *span = &b->spans.v[i];
		u32 next = i + 1 < b->spans.n ? span[1].start : code_end;

		if (!at || span->start - at > PADDING_MAX) {
			rc = gap_emit(b, at, span->start);
			if (rc)
				return rc;
		}
		if (span->end > next)
			b->counts.refused[CFI_REFUSED_OVERLAP]++;
		at = MIN(span->end, next);
		rc = span_emit(b, span, at);
		if (rc)
			return rc;
	}
	return gap_emit(b, at, code_end);
}

static void code_count(struct builder *b)
{
	u32 end = (u32)(b->source->code_end - b->source->code_start), pc = end;

	for (size_t i = b->sorted.n; i--; pc = b->sorted.v[i].pc) {
		const struct cfi_rule *rule = &b->rules.list.v[b->sorted.v[i].rule];
		u32 n = pc - b->sorted.v[i].pc;

		b->counts.code[rule->kind] += n;
		if (rule->kind == CFI_UNSUPPORTED)
			b->counts.unsupported[(u8)rule->arg] += n;
	}
	b->counts.code[CFI_NONE] += pc;
	b->counts.section_bytes = b->source->eh_frame.size;
}

/* One block: the table, rules, pcs, numbers of rules. */
static int table_make(struct builder *b, struct cfi_table **ret)
{
	size_t n = b->sorted.n, n_rules = b->rules.list.n;
	size_t bytes = sizeof(struct cfi_table) + n_rules * sizeof(struct cfi_rule) +
		       n * (sizeof(u32) + sizeof(u16));
	struct cfi_table *t = malloc(bytes);
	struct cfi_rule *rules = (void *)(t + 1);
	u32 *pc = (void *)(rules + n_rules);
	u16 *rule_of = (void *)(pc + n);

	if (!t)
		return -ENOMEM;
	code_count(b);
	*t = (struct cfi_table){
		.rows = {.pc = pc, .rule_of = rule_of, .rules = rules, .n = (u32)n},
		.n_rules = (u32)n_rules,
		.base = b->source->code_start,
		.bytes = bytes,
		.counts = b->counts,
	};
	memcpy(rules, b->rules.list.v, n_rules * sizeof(*rules));
	for (size_t i = 0; i < n; i++) {
		pc[i] = b->sorted.v[i].pc;
		rule_of[i] = b->sorted.v[i].rule;
	}
	*ret = t;
	return 0;
}

int cfi_table_compile(const struct cfi_source *source, struct cfi_table **ret)
{
	_cleanup_builder_ struct builder b = {.source = source};
	int rc;

	if (source->code_end <= source->code_start ||
		source->code_end - source->code_start > UINT32_MAX)
		return -EINVAL;
	signal_finder_init(&b.signals, source);
	b.cies = calloc(CIES, sizeof(*b.cies));
	if (!b.cies)
		return -ENOMEM;
	rc = cfi_rules_init(&b.rules);
	if (!rc)
		rc = section_read(&b);
	if (rc)
		return rc;
	spans_sort(&b);
	rc = spans_emit(&b);
	return rc ? rc : table_make(&b, ret);
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

const char *cfi_why_text(enum cfi_why why)
{
	static const char *const texts[CFI_WHYS] = {
		[CFI_WHY_REGISTER] = "the frame is relative to an unknown register",
		[CFI_WHY_EXPRESSION] = "the frame is given by another expression",
		[CFI_WHY_RETURN] = "the return address is not where calls leave it",
		[CFI_WHY_RANGE] = "an offset is out of range",
		[CFI_WHY_INSTRUCTION] = "an instruction is unknown or cut",
		[CFI_WHY_SIGNAL] = "a signal frame of another form",
		[CFI_WHY_NESTING] = "states are remembered too deep",
		[CFI_WHY_RULES] = "the file has too many different rules",
	};

	return why < CFI_WHYS ? texts[why] : "";
}

const char *cfi_refusal_text(enum cfi_refusal refusal)
{
	static const char *const texts[CFI_REFUSALS] = {
		[CFI_REFUSED_ENTRY] = "the section ends in a damaged entry",
		[CFI_REFUSED_CIE] = "entries of a damaged or unknown CIE",
		[CFI_REFUSED_FDE] = "damaged entries",
		[CFI_REFUSED_OUTSIDE] = "entries for what is not code",
		[CFI_REFUSED_OVERLAP] = "entries for code that another one is for",
		[CFI_REFUSED_EFFORT] = "the section takes too much work",
	};

	return refusal < CFI_REFUSALS ? texts[refusal] : "";
}
