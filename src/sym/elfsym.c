/* See elfsym.h. */
#include "sym/elfsym.h"

#include <errno.h>
#include <string.h>

#define BUCKET_FEW 16
#define KEPT_PER_BYTE 2 /* of a symbol table: libelf's copy and struct elf_symbol */

/* A section's place in memory, and whether it holds code. */
struct section_span {
	u64 start;
	u64 end;
	bool code;
};
typedef VEC(struct section_span) section_spans;

static int spans_read(const struct elf_file *file, section_spans *ret)
{
	size_t n;
	int rc;

	if (elf_getshdrnum(file->elf, &n))
		return -ENOEXEC;
	for (size_t i = 0; i < n; i++) {
		struct section_span span = {};
		struct elf_section section;

		if (!elf_section_at(file, i, &section)) {
			span.start = section.header.sh_addr;
			span.end = span.start + section.header.sh_size;
			span.code = section.header.sh_flags & SHF_EXECINSTR;
		}
		rc = vec_push(ret, span);
		if (rc)
			return rc;
	}
	return 0;
}

static const struct section_span *span_of(const section_spans *spans, const GElf_Sym *sym)
{
	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE ||
		sym->st_shndx >= spans->n)
		return NULL;
	return &spans->v[sym->st_shndx];
}

static bool is_function(const GElf_Sym *sym, const struct section_span *span)
{
	switch (GELF_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE: /* labels of assembly */
		return span->code;
	default:
		return false;
	}
}

/* Names the linker and the assembler make are worth less than those of the source. */
static u8 symbol_rank(const GElf_Sym *sym, const char *name)
{
	u8 rank = 0;

	if (GELF_ST_TYPE(sym->st_info) != STT_NOTYPE)
		rank += 16;
	if (sym->st_size)
		rank += 8;
	if (GELF_ST_BIND(sym->st_info) == STB_GLOBAL)
		rank += 4;
	else if (GELF_ST_BIND(sym->st_info) == STB_WEAK)
		rank += 2;
	if (name[0] != '_')
		rank += 1;
	return rank;
}

static int symbol_add(struct elf_symbols *s, const GElf_Sym *sym, const section_spans *spans,
	const char *names, size_t names_len)
{
	const struct section_span *span = span_of(spans, sym);
	struct elf_symbol symbol = {.address = sym->st_value, .size = sym->st_size};

	if (!span || !is_function(sym, span))
		return 0;
	if (sym->st_name >= names_len || !names[sym->st_name])
		return 0;
	symbol.name = names + sym->st_name;
	/* $x, $d: where ARM code and data begin, not functions. */
	if (symbol.name[0] == '$')
		return 0;
	symbol.rank = symbol_rank(sym, symbol.name);
	symbol.sized = symbol.size;
	if (!symbol.size)
		symbol.size = span->end > symbol.address ? span->end - symbol.address : 1;
	if (symbol.size > UINT64_MAX - symbol.address)
		return 0;
	return vec_push(&s->list, symbol);
}

int elf_symbols_pay(struct elf_symbols *s, struct sym_budget *budget, u64 bytes)
{
	int rc = budget_take(budget, bytes);

	if (rc)
		return rc;
	s->budget = budget;
	s->user = budget->user;
	s->bytes += bytes;
	return 0;
}

int elf_symbols_hold(struct elf_symbols *s, struct sym_budget *budget, u64 size, char **ret)
{
	char *memory;
	int rc = elf_symbols_pay(s, budget, size);

	if (rc)
		return rc;
	memory = malloc(size + 1);
	if (!memory)
		return -ENOMEM;
	memory[size] = '\0';
	rc = vec_push(&s->names, memory);
	if (rc) {
		free(memory);
		return rc;
	}
	*ret = memory;
	return 0;
}

int elf_symbols_put(struct elf_symbols *s, u64 address, u64 size, const char *name)
{
	struct elf_symbol symbol = {.address = address, .size = size, .name = name, .sized = true};

	return size > UINT64_MAX - address ? 0 : vec_push(&s->list, symbol);
}

/* The string table that goes with a symbol table. */
static int names_copy(struct elf_symbols *s, const struct elf_file *file, u32 index,
	struct sym_budget *budget, const char **ret, size_t *ret_len)
{
	struct elf_section section;
	char *copy;
	u64 size;
	int rc = elf_section_at(file, index, &section);

	if (rc || section.header.sh_type != SHT_STRTAB)
		return -ENOEXEC;
	size = section.header.sh_size;
	rc = elf_symbols_hold(s, budget, size, &copy);
	if (!rc)
		rc = elf_section_copy(file, &section, copy);
	if (rc)
		return rc;
	*ret = copy;
	*ret_len = size;
	return 0;
}

int elf_symbols_add(
	struct elf_symbols *s, const struct elf_file *file, u32 type, struct sym_budget *budget)
{
	section_spans spans = {};
	struct elf_section table;
	const char *names;
	size_t names_len;
	Elf_Data *data;
	GElf_Sym sym;
	int rc = elf_section_find_type(file, type, &table);

	if (!rc)
		rc = elf_symbols_pay(s, budget, KEPT_PER_BYTE * table.header.sh_size);
	if (!rc)
		rc = elf_section_data(&table, UINT64_MAX, &data);
	if (!rc)
		rc = names_copy(s, file, table.header.sh_link, budget, &names, &names_len);
	if (!rc)
		rc = spans_read(file, &spans);
	for (int i = 0; !rc && gelf_getsym(data, i, &sym); i++)
		rc = symbol_add(s, &sym, &spans, names, names_len);
	vec_free(&spans);
	return rc;
}

/* By address; at one address the longest first, so that what comes later is inside; among equals
 * the best name last. */
static int symbol_compare(const void *pa, const void *pb)
{
	const struct elf_symbol *a = pa, *b = pb;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->sized != b->sized)
		return a->sized ? 1 : -1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return strcmp(b->name, a->name);
}

/* A label without a size reaches to the next symbol; one inside of a function whose size is known
 * is no function. */
static void labels_finish(struct elf_symbols *s)
{
	u64 sized_end = 0;
	size_t kept = 0;

	for (size_t i = 0; i < s->list.n; i++) {
		struct elf_symbol sym = s->list.v[i];
		size_t next = i + 1;

		if (sym.sized) {
			sized_end = MAX(sized_end, sym.address + sym.size);
		} else {
			while (next < s->list.n && s->list.v[next].address == sym.address)
				next++;
			if (next < s->list.n) /* the sort puts what has a size last */
				sym.size = MIN(sym.size, s->list.v[next].address - sym.address);
			if (sym.address < sized_end || s->list.v[next - 1].sized)
				continue;
		}
		s->list.v[kept++] = sym;
	}
	s->list.n = kept;
}

/* Few, or where the file is hostile all. */
static void bucket_sort(struct elf_symbol *v, size_t n)
{
	if (n > BUCKET_FEW) {
		qsort(v, n, sizeof(*v), symbol_compare);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		struct elf_symbol sym = v[i];
		size_t at = i;

		for (; at > 0 && symbol_compare(&v[at - 1], &sym) > 0; at--)
			v[at] = v[at - 1];
		v[at] = sym;
	}
}

/* Functions lie side by side, so their addresses say about where each belongs; a sort that only
 * compares takes several times as long, which is the most of what a large library's names cost. */
static int symbols_sort(struct elf_symbols *s)
{
	_cleanup_free_ size_t *ends = NULL;
	struct elf_symbol *sorted;
	u64 low = UINT64_MAX, high = 0;
	size_t n = s->list.n, begin = 0;
	int shift = 0;

	vec_each (sym, &s->list) {
		low = MIN(low, sym->address);
		high = MAX(high, sym->address);
	}
	while ((high - low) >> shift >= n)
		shift++;
	ends = calloc(n, sizeof(*ends));
	sorted = reallocarray(NULL, n, sizeof(*sorted));
	if (!ends || !sorted) {
		free(sorted);
		return -ENOMEM;
	}
	vec_each (sym, &s->list)
		ends[(sym->address - low) >> shift]++;
	for (size_t i = 1; i < n; i++)
		ends[i] += ends[i - 1];
	vec_each (sym, &s->list)
		sorted[--ends[(sym->address - low) >> shift]] = *sym;
	/* Each end is its bucket's beginning now. */
	for (size_t i = 1; i <= n; i++) {
		size_t end = i < n ? ends[i] : n;

		bucket_sort(sorted + begin, end - begin);
		begin = end;
	}
	free(s->list.v);
	s->list.v = sorted;
	s->list.cap = n;
	return 0;
}

int elf_symbols_finish(struct elf_symbols *s)
{
	u64 reach = 0;
	int rc;

	if (!s->list.n)
		return 0;
	rc = symbols_sort(s);
	if (rc)
		return rc;
	labels_finish(s);
	s->reach.n = 0;
	rc = vec_reserve(&s->reach, s->list.n);
	if (rc)
		return rc;
	vec_each (sym, &s->list) {
		reach = MAX(reach, sym->address + sym->size);
		s->reach.v[s->reach.n++] = reach;
	}
	return 0;
}

const struct elf_symbol *elf_symbols_find(const struct elf_symbols *s, u64 address)
{
	size_t lo = 0, hi = s->list.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->list.v[mid].address > address)
			hi = mid;
		else
			lo = mid + 1;
	}
	while (lo-- > 0 && s->reach.v[lo] > address) {
		const struct elf_symbol *sym = &s->list.v[lo];

		if (address - sym->address < sym->size)
			return sym;
	}
	return NULL;
}

void elf_symbols_free(struct elf_symbols *s)
{
	vec_each (n, &s->names)
		free(*n);
	vec_free(&s->names);
	vec_free(&s->list);
	vec_free(&s->reach);
	if (s->budget)
		budget_give_back(s->budget, s->user, s->bytes);
	s->budget = NULL;
	s->bytes = 0;
}
