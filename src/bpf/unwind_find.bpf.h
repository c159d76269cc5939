/*
 * The maps of the walk over user stacks, and the searches in them: the stack's words, the mapping
 * that an instruction is in, its rule. See unwind.bpf.h.
 */
#if defined(USER_WALK) && !defined(MEMWHY_BPF_UNWIND_FIND_BPF_H)
#define MEMWHY_BPF_UNWIND_FIND_BPF_H

#include "bpf/unwind.h"

/* The maps are made by the loader, one for all objects. Sizes here are for who looks at the file.
 */

/* Tables: pages of words, made as they are needed. */
struct unwind_page_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct unwind_page));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_PAGES_MAX);
	__type(key, u32);
	__array(values, struct unwind_page_map);
} unwind_pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_RULES_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct cfi_rule);
} unwind_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_MAPPINGS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct unwind_mapping);
} unwind_maps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UNWIND_PROCESSES_MAX);
	__type(key, u64);
	__type(value, struct unwind_process);
} unwind_procs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, UNWIND_ASKS_BYTES);
} unwind_asks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, UNWIND_COPIES_BYTES);
} unwind_copies SEC(".maps");

/* Where one is made. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct unwind_copy);
} unwind_copy SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct unwind_counts);
} unwind_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct unwind_walk);
} unwind_walks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct user_stack);
} user_stacks SEC(".maps");

static __always_inline struct unwind_page *unwind_page_of(u32 word)
{
	u32 key = word / UNWIND_PAGE_WORDS, zero = 0;
	void *page = bpf_map_lookup_elem(&unwind_pages, &key);

	return page ? bpf_map_lookup_elem(page, &zero) : 0;
}

/* Takes in the words around too: below the return address are the caller's registers, mostly, and
 * above it is what small frames further up have. */
static __always_inline int unwind_read(void *ctx, u64 address, u64 *ret)
{
	struct unwind_walk *w = ctx;
	u64 at = address - w->window_start;

	if (at < sizeof(w->window) && !(at & 7)) {
		barrier_var(at); /* or the compiler leaves out the mask, which the verifier needs */
		*ret = w->window[(at / 8) & (UNWIND_WINDOW - 1)];
		return 0;
	}
	at = address - UNWIND_BELOW * 8;
	if (bpf_probe_read_user(w->window, sizeof(w->window), (void *)at)) {
		w->window_start = ~0ULL;
		return (int)bpf_probe_read_user(ret, sizeof(*ret), (void *)address);
	}
	w->window_start = at;
	*ret = w->window[UNWIND_BELOW];
	return 0;
}

/*
 * In searches w->zero is added to each new bound: to the verifier, which cannot know that it is 0,
 * all outcomes of a step are one then, any number. Else each would be one more case in which all
 * that follows must be right.
 */

static __always_inline struct unwind_mapping *unwind_mapping_at(u32 i)
{
	return bpf_map_lookup_elem(&unwind_maps, &i);
}

#define UNWIND_MAPPING_STEPS 17 /* UNWIND_MAPPINGS_MAX is 2^16 */

/* Makes w->mapping the one that ip is in. */
__noinline int unwind_mapping_find(u64 ip)
{
	u32 zero = 0, lo, hi, end;
	struct unwind_walk *w = bpf_map_lookup_elem(&unwind_walks, &zero);
	struct unwind_mapping *m;

	if (!w)
		return CFI_STOP_NO_CODE;
	zero = w->zero;
	lo = w->first + zero;
	hi = end = lo + w->n_mappings;
	for (u32 step = 0; step < UNWIND_MAPPING_STEPS && lo < hi; step++) {
		u32 mid = lo + (hi - lo) / 2;

		m = unwind_mapping_at(mid);
		if (!m)
			return CFI_STOP_NO_CODE;
		if (m->end > ip)
			hi = mid;
		else
			lo = mid + 1;
		lo += zero;
		hi += zero;
	}
	m = lo < end ? unwind_mapping_at(lo) : 0;
	if (!m || ip < m->start || ip >= m->end)
		return CFI_STOP_NO_CODE;
	w->mapping = *m;
	return 0;
}

/* The last of the rows from word `at` on, numbered to `last`, that does not begin behind pc; the
 * first one does not. */
static __always_inline u32 unwind_row_find(
	const struct unwind_page *page, u32 at, u32 last, u32 pc, u32 zero)
{
	u32 lo = 0; /* and not zero, of which the first comparison would tell something */

	for (u32 step = 0; step < 8 && lo < last; step++) {
		u32 mid = (lo + last + 1) / 2;

		if (page->words[(at + mid) & (UNWIND_PAGE_WORDS - 1)] >> 16 <= pc)
			lo = mid;
		else
			last = mid - 1;
		lo += zero;
		last += zero;
	}
	lo += zero;
	return page->words[(at + lo) & (UNWIND_PAGE_WORDS - 1)];
}

#define UNWIND_NO_RULE 0 /* CFI_RULE_NONE */

/* The number of the rule for ip, which w->mapping holds. */
__noinline int unwind_rule_find(u64 ip)
{
	u32 zero = 0, word, at, last;
	struct unwind_walk *w = bpf_map_lookup_elem(&unwind_walks, &zero);
	struct unwind_page *page;
	u64 pc, block;

	if (!w)
		return UNWIND_NO_RULE;
	pc = ip - w->mapping.bias;
	block = pc >> 8;
	if (block >= w->mapping.blocks)
		return UNWIND_NO_RULE;
	word = w->mapping.index + (u32)block;
	page = unwind_page_of(word);
	if (!page)
		return UNWIND_NO_RULE;
	word = page->words[word & (UNWIND_PAGE_WORDS - 1)];
	last = word & 0xff;
	at = w->mapping.rows + (word >> 8);
	page = unwind_page_of(at);
	if (!page)
		return UNWIND_NO_RULE;
	return unwind_row_find(page, at, last, pc & 0xff, w->zero) & 0xffff;
}

#endif
