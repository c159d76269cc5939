/*
 * Memory policy without a kernel: names and errors of calls, what is wrong with a call, the head of
 * /proc/kcore, the table of page frames.
 */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/vec.h"
#include "capture/page_tables.h"
#include "probes/policy/policy_judge.h"
#include "sys/calls/mempolicy.h"
#include "sys/kernel/kcore.h"

static void assert_mode(u32 mode, const char *want)
{
	_cleanup_str_ struct str s = {};

	flags_add(&s, mempolicy_modes, mode);
	assert_string_equal(str_get(&s), want);
}

static void test_modes(void **state)
{
	(void)state;
	assert_mode(0, "MPOL_DEFAULT");
	assert_mode(2 | 1 << 15, "MPOL_BIND|MPOL_F_STATIC_NODES");
	assert_mode(3 | 1 << 14, "MPOL_INTERLEAVE|MPOL_F_RELATIVE_NODES");
	assert_mode(2 | 1 << 13, "MPOL_BIND|MPOL_F_NUMA_BALANCING");
	assert_mode(5, "MPOL_PREFERRED_MANY");
	assert_mode(6, "MPOL_WEIGHTED_INTERLEAVE");
	assert_mode(4, "MPOL_LOCAL");
	assert_mode(99, "0x63");
	assert_mode(UINT32_MAX, "MPOL_F_STATIC_NODES|MPOL_F_RELATIVE_NODES|"
				"MPOL_F_NUMA_BALANCING|0xffff1fff");
}

static void assert_nodes(const u64 *bits, u32 words, const char *want)
{
	_cleanup_str_ struct str s = {};

	mempolicy_nodes_add(&s, bits, words);
	assert_string_equal(str_get(&s), want);
}

static void test_nodes(void **state)
{
	u64 bits[MASK_WORDS] = {};

	(void)state;
	assert_nodes(bits, MASK_WORDS, "none");
	bits[0] = 0xb;
	assert_nodes(bits, MASK_WORDS, "0-1,3");
	bits[0] = 1ULL << 63;
	bits[1] = 1;
	assert_nodes(bits, MASK_WORDS, "63-64");
	assert_nodes(bits, 1, "63");
	memset(bits, 0xff, sizeof(bits));
	assert_nodes(bits, MASK_WORDS, "0-1023");
}

static void assert_error(struct mempolicy_args a, int error, const char *part)
{
	const char *text = mempolicy_error(&a, error);

	assert_non_null(text);
	if (!strstr(text, part))
		fail_msg("'%s' does not say '%s'", text, part);
}

static void test_errors(void **state)
{
	struct mempolicy_args bind = {.call = CALL_MBIND, .mode = MODE_BIND, .maxnode = 64};
	struct mempolicy_args a = bind;

	(void)state;
	assert_error(bind, EINVAL, "no node of the mask has memory");
	a.mode = 99;
	assert_error(a, EINVAL, "no such mode");
	a = bind, a.mode = MODE_BIND | 3 << 14;
	assert_error(a, EINVAL, "exclude each other");
	a = bind, a.mode = MODE_INTERLEAVE | 1 << 13;
	assert_error(a, EINVAL, "MPOL_F_NUMA_BALANCING");
	a = bind, a.maxnode = 0;
	assert_error(a, EINVAL, "maxnode is 0");
	a = bind, a.maxnode = 40000;
	assert_error(a, EINVAL, "32,768");
	a = bind, a.mask[0] = MASK_EMPTY;
	assert_error(a, EINVAL, "mask is empty, and");
	a.cut = true;
	assert_error(a, EINVAL, "maxnode cuts");
	a = bind, a.flags = 8;
	assert_error(a, EINVAL, "a flag that mbind does not have");
	a = bind, a.address = 1;
	assert_error(a, EINVAL, "beginning of a page");
	a = bind, a.address = 4096, a.bytes = UINT64_MAX - 5000;
	assert_error(a, EINVAL, "wraps around");
	a = bind, a.mode = MODE_DEFAULT;
	assert_error(a, EINVAL, "take no nodes");
	assert_error(bind, EFAULT, "not mapped");
	a = bind, a.mask[0] = MASK_UNREADABLE;
	assert_error(a, EFAULT, "node mask");
	assert_error(bind, EIO, "MPOL_MF_STRICT");
	assert_error(bind, EPERM, "CAP_SYS_NICE");
}

static void test_errors_of_others(void **state)
{
	struct mempolicy_args get = {.call = CALL_GET_MEMPOLICY}, a = get;
	struct mempolicy_args move = {.call = CALL_MOVE_PAGES};
	struct mempolicy_args home = {.call = CALL_HOME_NODE};
	struct mempolicy_args migrate = {.call = CALL_MIGRATE_PAGES, .maxnode = 64};

	(void)state;
	a.flags = 8;
	assert_error(a, EINVAL, "a flag");
	a.flags = GET_MEMS_ALLOWED | GET_ADDR;
	assert_error(a, EINVAL, "no other flag");
	a = get, a.address = 4096;
	assert_error(a, EINVAL, "without MPOL_F_ADDR");
	a = get, a.flags = GET_NODE;
	assert_error(a, EINVAL, "interleav");
	assert_error(get, EINVAL, "nr_node_ids");
	assert_error(move, EACCES, "cpuset");
	assert_error(move, ENODEV, "target node");
	assert_error(move, ESRCH, "no such process");
	assert_error(home, EOPNOTSUPP, "MPOL_BIND");
	assert_error(home, ENOENT, "mbind comes first");
	assert_error(migrate, EINVAL, "none of the new nodes");
	migrate.mask[1] = MASK_EMPTY;
	assert_error(migrate, EINVAL, "mask of new nodes is empty");
	assert_error(migrate, ENOSYS, "no such call");
	assert_null(mempolicy_error(&move, 133));
	assert_null(mempolicy_error(&(struct mempolicy_args){.call = 1}, EINVAL));
}

#define BASE(...)                                                                            \
	(struct policy_call)                                                                 \
	{                                                                                    \
		.call = CALL_MBIND, .args = {4096, 8 * 4096, MODE_BIND, 1, 64, 0},           \
		.masks = {{.bits = {2}}}, .usable = {3}, .flags = POLICY_USABLE, __VA_ARGS__ \
	}

static const struct policy_config machine = {.nodes = 2, .memory = {3}, .node_pages = {1000, 100}};

static void assert_judged(struct policy_call e, u32 want)
{
	assert_int_equal(policy_judge(&e, &machine), want);
}

static void test_mistakes(void **state)
{
	struct policy_call e = BASE();

	(void)state;
	assert_judged(e, 0);
	e.masks[0].cut = 4;
	assert_judged(e, POLICY_CUT);
	e = BASE(.ret = -EINVAL);
	e.masks[0] = (struct policy_mask){.state = MASK_EMPTY};
	assert_judged(e, POLICY_EMPTY);
	e.args[2] = MODE_DEFAULT; /* takes none */
	assert_judged(e, 0);
	e = BASE();
	e.masks[0].bits[3] = 1;
	assert_judged(e, POLICY_UNUSABLE);
	e.args[2] |= MODE_RELATIVE_NODES; /* are counted within the usable ones */
	assert_judged(e, 0);
	e = BASE(.map = MAPPING_FILE);
	assert_judged(e, POLICY_PAGECACHE);
	e = BASE();
	e.args[1] = 101 * 4096;
	assert_judged(e, POLICY_SMALL);
	e.masks[0].bits[0] = 3;
	assert_judged(e, 0);
}

static void test_pages_elsewhere(void **state)
{
	struct policy_call e = BASE(.before = {.looked = 8, .on = 2, .at = {6, 2}});

	(void)state;
	assert_judged(e, 0); /* not known */
	e.flags |= POLICY_LOOKED;
	assert_judged(e, POLICY_STAYED);
	e.args[5] = MOVE_OWN;
	assert_judged(e, 0);
	e.flags |= POLICY_AFTER;
	e.after = (struct policy_pages){.looked = 8, .on = 7, .at = {1, 7}};
	assert_judged(e, POLICY_REMAINED);
	e.after = (struct policy_pages){.looked = 8, .on = 7, .at = {0, 7, [POLICY_ABSENT] = 1}};
	assert_judged(e, 0);
	assert_int_equal(policy_placed(&e).off_before, 6);
	e.args[1] = 80 * 4096; /* ten times what was looked at */
	assert_int_equal(policy_placed(&e).off_before, 60);
	assert_int_equal(policy_placed(&e).on_after, 70);
}

static void test_mistakes_of_others(void **state)
{
	struct policy_call e = {.call = CALL_SET_MEMPOLICY,
		.args = {MODE_INTERLEAVE, 1, 64},
		.masks[0].bits[0] = 3,
		.anon_pages = POLICY_LATE_BYTES >> 12};

	(void)state;
	assert_judged(e, POLICY_LATE);
	e.args[0] = MODE_LOCAL;
	assert_judged(e, 0);
	e = (struct policy_call){.call = CALL_MIGRATE_PAGES, .ret = 3, .masks[1].bits[0] = 1};
	assert_judged(e, POLICY_UNMOVED);
	e.masks[1] = (struct policy_mask){.state = MASK_EMPTY};
	assert_judged(e, POLICY_UNMOVED | POLICY_EMPTY);
	e = (struct policy_call){.call = CALL_MOVE_PAGES,
		.args = {0, 4, 1, 1, 1, MOVE_OWN},
		.flags = POLICY_STATUS,
		.status = {.looked = 4, .on = 4}};
	assert_judged(e, 0);
	e.status.on = 3;
	assert_judged(e, POLICY_UNMOVED);
	e.status.at[POLICY_PAGE_ENOENT] = 1; /* not there: nothing to move */
	assert_judged(e, 0);
	e.status.on = 2;
	e.args[3] = 0; /* it only asks */
	assert_judged(e, 0);
}

/* Sizes that wrap, as in the kernel. */
static void test_ranges(void **state)
{
	struct policy_call e = BASE();

	(void)state;
	e.args[1] = UINT64_MAX;
	assert_int_equal(policy_range_pages(&e), 0);
	e.args[1] = 1;
	assert_int_equal(policy_range_pages(&e), 1);
	e.args[1] = 1ULL << 63;
	assert_int_equal(policy_range_pages(&e), 1ULL << 51);
}

struct core {
	Elf64_Ehdr h;
	Elf64_Phdr ph[4];
	Elf64_Nhdr note;
	char name[12], text[96];
};

static struct core core_make(const char *text)
{
	struct core c = {
		.h = {.e_phoff = offsetof(struct core, ph),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 4},
		.ph = {{.p_type = PT_NOTE,
			       .p_offset = offsetof(struct core, note),
			       .p_filesz = sizeof(struct core) - offsetof(struct core, note)},
			{.p_type = PT_LOAD, .p_vaddr = 0xffffffff81000000, .p_paddr = 0x1000000},
			{.p_type = PT_LOAD, .p_vaddr = 0xffffa00000000000, .p_paddr = UINT64_MAX},
			{.p_type = PT_LOAD, .p_vaddr = 0xffff888100001000, .p_paddr = 0x1000}},
		.note = {.n_namesz = 11, .n_descsz = sizeof(c.text)},
		.name = "VMCOREINFO",
	};

	memcpy(c.h.e_ident, ELFMAG, SELFMAG);
	snprintf(c.text, sizeof(c.text), "%s", text);
	return c;
}

static void test_kcore(void **state)
{
	struct core c =
		core_make("A=1\nNUMBER(pgtable_l5_enabled)=1\nNUMBER(sme_mask)=140737488355328\n");
	struct kcore k;

	(void)state;
	assert_int_equal(kcore_parse(&c, sizeof(c), &k), 0);
	assert_int_equal(k.page_offset, 0xffff888100000000);
	assert_int_equal(k.sme_mask, 0x800000000000);
	assert_true(k.five_levels);
	for (size_t n = 0; n < offsetof(struct core, text); n++)
		assert_int_equal(kcore_parse(&c, n, &k), -ENODATA);
	c.ph[2] = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = 0xffffa00000000000, .p_paddr = 4096};
	assert_int_equal(kcore_parse(&c, sizeof(c), &k), -ENODATA); /* memory in two places */
	c = core_make("NUMBER(phys_base)=0\n");
	assert_int_equal(kcore_parse(&c, sizeof(c), &k), -ENODATA);
	c = core_make("NUMBER(pgtable_l5_enabled)=0\n");
	assert_int_equal(kcore_parse(&c, sizeof(c), &k), 0);
	assert_false(k.five_levels);
	c.h.e_phnum = 60000;
	assert_int_equal(kcore_parse(&c, sizeof(c), &k), -ENODATA);
	c = core_make("NUMBER(pgtable_l5_enabled)=0\n");
	c.note.n_descsz = UINT32_MAX;
	assert_int_equal(kcore_parse(&c, sizeof(c), &k), -ENODATA);
}

static void zone_add(struct zoneinfo *z, u32 node, u64 start, u64 spanned)
{
	struct zoneinfo_zone zone = {.id = {.node = node},
		.start_pfn = start,
		.spanned_pages = spanned,
		.present_pages = spanned};

	assert_int_equal(vec_push(&z->zones, zone), 0);
}

static void test_frames(void **state)
{
	static u8 frames[PLACE_FRAMES];
	_cleanup_zoneinfo_ struct zoneinfo z = {};
	u32 shift = 99;

	(void)state;
	place_frames_fill(&z, frames, &shift);
	assert_int_equal(shift, 0);
	assert_int_equal(frames[0], 0);
	zone_add(&z, 0, 1, 4095);
	zone_add(&z, 0, 4096, 94208);
	zone_add(&z, 1, 98304, 98272);
	place_frames_fill(&z, frames, &shift);
	assert_int_equal(shift, 4); /* 196576 >> 4 is the first below 16384 */
	assert_int_equal(frames[0], 1);
	assert_int_equal(frames[(98304 >> 4) - 1], 1);
	assert_int_equal(frames[98304 >> 4], 2);
	assert_int_equal(frames[196575 >> 4], 2);
	assert_int_equal(frames[(196575 >> 4) + 1], 0);
	zone_add(&z, 1, 1000, 16); /* within node 0: not told apart */
	place_frames_fill(&z, frames, &shift);
	assert_int_equal(frames[1000 >> 4], 0);
	assert_int_equal(frames[(1000 >> 4) - 1], 1);
	zone_add(&z, 2, 1ULL << 40, 1ULL << 30);
	place_frames_fill(&z, frames, &shift);
	assert_int_equal(frames[(1ULL << 40) >> shift], 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_errors_of_others),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_pages_elsewhere),
		cmocka_unit_test(test_mistakes_of_others),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_kcore),
		cmocka_unit_test(test_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
