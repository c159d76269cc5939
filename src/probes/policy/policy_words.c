/* See policy_words.h. */
#include "probes/policy/policy_words.h"

#include <string.h>

#include "base/units.h"
#include "probes/policy/policy_judge.h"
#include "sys/calls/syscalls.h"

void policy_call_name_add(struct str *s, u32 call)
{
	const char *name = syscall_name(call);

	if (name)
		str_add(s, name);
	else
		str_addf(s, "call %u", call);
}

void policy_errno_add(struct str *s, int error)
{
	const char *name = strerrorname_np(error);

	if (name)
		str_add(s, name);
	else
		str_addf(s, "error %d", error);
}

const struct flag *policy_flag_table(u32 call)
{
	return call == CALL_MBIND           ? mempolicy_mbind_flags
	       : call == CALL_GET_MEMPOLICY ? mempolicy_get_flags
	       : call == CALL_MOVE_PAGES    ? mempolicy_move_flags
					    : NULL;
}

const char *policy_map_name(u32 map)
{
	return map == MAPPING_VDSO ? "kernel's own" : mapping_kind_words(map);
}

static void bytes_add(struct str *s, u64 bytes)
{
	char buf[UNIT_BUF];

	str_add(s, fmt_bytes(buf, bytes));
}

static void pointer_add(struct str *s, u64 p)
{
	if (p)
		str_addf(s, "0x%llx", (unsigned long long)p);
	else
		str_add(s, "NULL");
}

static bool mask_is_known(const struct policy_mask *m)
{
	u64 any = m->state;

	for (u32 i = 0; i < MASK_WORDS; i++)
		any |= m->bits[i];
	return any != 0;
}

/* "{0-1}", "NULL"; "{0}..." where the rest of it could not be read; a pointer where the kernel
 * does not look at it either (maxnode). */
static void policy_words_mask_add(struct str *s, const struct policy_mask *m, u64 pointer)
{
	if (!pointer || !mask_is_known(m)) {
		pointer_add(s, pointer);
		return;
	}
	str_addc(s, '{');
	if (!(m->state & MASK_EMPTY))
		mempolicy_nodes_add(s, m->bits, MASK_WORDS);
	str_add(s, m->state & MASK_UNREADABLE ? "}..." : "}");
	if (m->state & MASK_BEYOND)
		str_add(s, "+");
}

static void policy_words_range_add(struct str *s, const struct policy_call *e)
{
	pointer_add(s, e->args[0]);
	str_add(s, ", ");
	bytes_add(s, e->args[1]);
	str_add(s, ", ");
}

static void policy_words_mode_add(struct str *s, u64 mode)
{
	if (mode >> 32)
		str_addf(s, "0x%llx", (unsigned long long)mode);
	else
		flags_add(s, mempolicy_modes, (u32)mode);
}

#define ULL(v_) ((unsigned long long)(v_))

void policy_call_add(struct str *s, const struct policy_call *e)
{
	const u64 *a = e->args;

	policy_call_name_add(s, e->call);
	str_addc(s, '(');
	switch (e->call) {
	case CALL_MBIND:
		policy_words_range_add(s, e);
		policy_words_mode_add(s, a[2]);
		str_add(s, ", ");
		policy_words_mask_add(s, &e->masks[0], a[3]);
		str_addf(s, ", %llu, ", ULL(a[4]));
		flags_add(s, mempolicy_mbind_flags, (u32)a[5]);
		break;
	case CALL_SET_MEMPOLICY:
		policy_words_mode_add(s, (u32)a[0]);
		str_add(s, ", ");
		policy_words_mask_add(s, &e->masks[0], a[1]);
		str_addf(s, ", %llu", ULL(a[2]));
		break;
	case CALL_GET_MEMPOLICY:
		pointer_add(s, a[0]);
		str_add(s, ", ");
		if (e->ret >= 0)
			policy_words_mask_add(s, &e->masks[0], a[1]);
		else
			pointer_add(s, a[1]);
		str_addf(s, ", %llu, ", ULL(a[2]));
		pointer_add(s, a[3]);
		str_add(s, ", ");
		flags_add(s, mempolicy_get_flags, a[4]);
		break;
	case CALL_MIGRATE_PAGES:
		str_addf(s, "%d, %llu, ", (s32)a[0], ULL(a[1]));
		policy_words_mask_add(s, &e->masks[0], a[2]);
		str_add(s, ", ");
		policy_words_mask_add(s, &e->masks[1], a[3]);
		break;
	case CALL_MOVE_PAGES:
		str_addf(s, "%d, %llu, ", (s32)a[0], ULL(a[1]));
		for (int i = 2; i < 5; i++) {
			pointer_add(s, a[i]);
			str_add(s, ", ");
		}
		flags_add(s, mempolicy_move_flags, (u32)a[5]);
		break;
	case CALL_HOME_NODE:
		policy_words_range_add(s, e);
		str_addf(s, "%llu, 0x%llx", ULL(a[2]), ULL(a[3]));
		break;
	}
	str_addc(s, ')');
}

/* What get_mempolicy found. */
static void answer_add(struct str *s, const struct policy_call *e)
{
	if (!(e->flags & POLICY_ANSWER)) {
		str_add(s, "ok");
		return;
	}
	if (e->args[4] & GET_NODE)
		str_addf(s, "node %d", e->answer);
	else
		flags_add(s, mempolicy_modes, (u32)e->answer);
}

void policy_result_add(struct str *s, const struct policy_call *e)
{
	if (e->ret < 0 && e->ret >= -4095)
		policy_errno_add(s, (int)-e->ret);
	else if (e->ret < 0)
		str_addf(s, "%lld", (long long)e->ret);
	else if (e->ret > 0)
		str_addf(s, "%lld not moved", (long long)e->ret);
	else if (e->call == CALL_GET_MEMPOLICY)
		answer_add(s, e);
	else
		str_add(s, "ok");
}

const char *policy_error_text(const struct policy_call *e)
{
	bool ranged = e->call == CALL_MBIND || e->call == CALL_HOME_NODE;
	struct mempolicy_args a = {
		.call = e->call,
		.mode = policy_mode(e),
		.flags = e->call == CALL_HOME_NODE ? e->args[3] : policy_call_flags(e),
		.maxnode = e->args[e->call == CALL_MBIND           ? 4
				   : e->call == CALL_MIGRATE_PAGES ? 1
								   : 2],
		.address = ranged                          ? e->args[0]
			   : e->call == CALL_GET_MEMPOLICY ? e->args[3]
							   : 0,
		.bytes = ranged ? e->args[1] : 0,
		.mask = {e->masks[0].state, e->masks[1].state},
		.cut = e->masks[0].cut || e->masks[1].cut,
	};

	if (e->ret >= 0 || e->ret < -4095)
		return NULL;
	if (e->flags & POLICY_REFUSED)
		return "seccomp or a tracer refused it before the kernel saw it";
	return mempolicy_error(&a, (int)-e->ret);
}

/* "node 0 100, node 2 28, not there yet 4": nothing is left out that is not 0. */
static void pages_add(struct str *s, const struct policy_pages *p)
{
	static const char *const others[POLICY_PLACES - POLICY_NODES] = {
		[POLICY_ABSENT - POLICY_NODES] = "not there yet",
		[POLICY_SWAPPED - POLICY_NODES] = "in swap",
		[POLICY_BEYOND - POLICY_NODES] = "nodes from 64 on",
		[POLICY_NOT_KNOWN - POLICY_NODES] = "not known",
		[POLICY_PAGE_ENOENT - POLICY_NODES] = "ENOENT",
		[POLICY_PAGE_EACCES - POLICY_NODES] = "EACCES",
		[POLICY_PAGE_EBUSY - POLICY_NODES] = "EBUSY",
		[POLICY_PAGE_EFAULT - POLICY_NODES] = "EFAULT",
		[POLICY_PAGE_EIO - POLICY_NODES] = "EIO",
		[POLICY_PAGE_EINVAL - POLICY_NODES] = "EINVAL",
		[POLICY_PAGE_ENOMEM - POLICY_NODES] = "ENOMEM",
		[POLICY_PAGE_ERROR - POLICY_NODES] = "other errors",
	};
	const char *between = "";

	for (u32 i = 0; i < POLICY_PLACES; i++) {
		if (!p->at[i] || (i >= POLICY_NODES && !others[i - POLICY_NODES]))
			continue;
		if (i < POLICY_NODES)
			str_addf(s, "%snode %u %u", between, i, p->at[i]);
		else
			str_addf(s, "%s%s %u", between, others[i - POLICY_NODES], p->at[i]);
		between = ", ";
	}
	if (!between[0])
		str_add(s, "none");
}

static void looked_add(struct str *s, u64 looked, u64 pages)
{
	if (looked < pages)
		str_addf(s, " (%llu of %llu pages looked at)", ULL(looked), ULL(pages));
}

static void places_add(struct str *s, const struct policy_call *e)
{
	if (!(e->flags & POLICY_LOOKED))
		return;
	str_add(s, e->flags & POLICY_AFTER ? "before: " : "pages: ");
	pages_add(s, &e->before);
	if (e->flags & POLICY_AFTER) {
		str_add(s, "; after: ");
		pages_add(s, &e->after);
	}
	looked_add(s, e->before.looked, policy_range_pages(e));
}

static void status_add(struct str *s, const struct policy_call *e)
{
	if (!(e->flags & POLICY_STATUS))
		return;
	str_add(s, s->len ? "; " : "");
	if (e->wanted.looked) {
		str_add(s, "asked for: ");
		pages_add(s, &e->wanted);
		str_add(s, "; ");
	}
	str_add(s, "status: ");
	pages_add(s, &e->status);
	looked_add(s, e->status.looked, policy_range_pages(e));
}

void policy_effect_add(struct str *s, const struct policy_call *e)
{
	size_t from = s->len;

	places_add(s, e);
	status_add(s, e);
	if (e->moved || e->unmoved)
		str_addf(s, "%smoved %llu, not moved %llu", s->len > from ? "; " : "",
			ULL(e->moved), ULL(e->unmoved));
}

static const char *const problems[POLICY_WARNING_N] = {
	"maxnode cuts nodes off",
	"empty node mask",
	"nodes left out",
	"pages stay elsewhere",
	"pages remain elsewhere",
	"page cache of a file",
	"memory was there before",
	"more than the nodes have",
	"pages not moved",
};

const char *policy_problem_name(u32 bit)
{
	for (u32 i = 0; i < POLICY_WARNING_N; i++)
		if (bit == 1U << i)
			return problems[i];
	return NULL;
}

/* The nodes of a mask that cannot be used. */
static void unusable_add(struct str *s, const struct policy_call *e)
{
	const struct policy_mask *m = &e->masks[e->call == CALL_MIGRATE_PAGES];
	u64 out[MASK_WORDS];

	for (u32 i = 0; i < MASK_WORDS; i++)
		out[i] = m->bits[i] & ~e->usable[i];
	mempolicy_nodes_add(s, out, MASK_WORDS);
}

/* The nodes that maxnode cuts off: bits of the word that its last bit is in. */
static void cut_add(struct str *s, const struct policy_call *e)
{
	u64 maxnode = e->args[e->call == CALL_MBIND ? 4 : e->call == CALL_MIGRATE_PAGES ? 1 : 2];
	u64 word = maxnode > 1 ? (maxnode - 2) / 64 : 0, cut[MASK_WORDS] = {};

	if (word < MASK_WORDS)
		cut[word] = e->masks[0].cut | e->masks[1].cut;
	mempolicy_nodes_add(s, cut, MASK_WORDS);
}

static void stayed_add(struct str *s, const struct policy_call *e)
{
	str_addf(s,
		"%u of %u pages looked at are on other nodes and stay there: the policy is for "
		"pages that are allocated from now on. MPOL_MF_MOVE moves those that are there.",
		policy_off(&e->before), e->before.looked);
}

static void remained_add(struct str *s, const struct policy_call *e)
{
	str_addf(s,
		"%u of %u pages looked at are on other nodes after it, though it said to move "
		"them. ",
		policy_off(&e->after), e->after.looked);
	if (e->unmoved)
		str_addf(s, "The kernel tried and failed for %llu (in use, or no memory there). ",
			ULL(e->unmoved));
	else if (!(e->args[5] & MOVE_ALL))
		str_add(s, "MPOL_MF_MOVE leaves out pages that other processes map too; "
			   "MPOL_MF_MOVE_ALL (CAP_SYS_NICE) does not. ");
	str_add(s, "With MPOL_MF_STRICT the call would say so (EIO).");
}

static void pagecache_add(struct str *s, const struct policy_call *e)
{
	char file[POLICY_FILE + 1] = "";

	memcpy(file, e->file, POLICY_FILE);
	str_add(s, "The range maps the file ");
	str_add_escaped(s, file);
	str_add(s, e->flags & POLICY_SHARED
			   ? ": the policy has no effect. "
			   : ": the policy is only for the process's own copies of its pages. ");
	str_add(s, "Pages of the page cache are allocated where the thread that reads them first "
		   "runs, under that thread's own policy (set_mempolicy).");
}

static void late_add(struct str *s, const struct policy_call *e)
{
	str_add(s, "The process had ");
	bytes_add(s, e->anon_pages << 12);
	str_add(s,
		" of anonymous memory by then, which stays where it is: this policy is for pages "
		"that the thread allocates from now on. Set it first, or move pages with "
		"migrate_pages or mbind.");
}

static void small_add(struct str *s, const struct policy_call *e)
{
	u64 needs = e->call == CALL_MBIND ? policy_range_pages(e) : e->anon_pages;

	str_add(s, e->call == CALL_MBIND ? "The range has " : "The process already has ");
	bytes_add(s, needs < 1ULL << 52 ? needs << 12 : UINT64_MAX);
	str_add(s, ", more than the memory of node ");
	mempolicy_nodes_add(s, e->masks[0].bits, MASK_WORDS);
	str_add(s,
		". MPOL_BIND takes no page from elsewhere: reclaim and the OOM killer come first. "
		"MPOL_PREFERRED_MANY falls back to other nodes.");
}

static void unmoved_add(struct str *s, const struct policy_call *e)
{
	if (e->ret > 0)
		str_addf(s,
			"The kernel could not move %lld pages (locked, in use, or no memory on "
			"the target nodes). ",
			(long long)e->ret);
	if (e->call == CALL_MIGRATE_PAGES) {
		str_add(s, "`memwhy policy show` shows where the pages are now.");
		return;
	}
	str_add(s, "Of the pages that were looked at, ");
	pages_add(s, &e->status);
	str_add(s, ". ENOENT: not there yet; EACCES: mapped by other processes too (that takes "
		   "MPOL_MF_MOVE_ALL); EBUSY: in use; EFAULT: not mapped, or the zero page.");
}

void policy_problem_add(struct str *s, const struct policy_call *e, u32 bit)
{
	switch (bit) {
	case POLICY_CUT:
		str_add(s, "The mask also has node ");
		cut_add(s, e);
		str_add(s,
			", which the kernel does not look at: maxnode has to be one more than the "
			"bits of the mask.");
		return;
	case POLICY_EMPTY:
		str_add(s, "There is no node in the mask, and the call needs one.");
		return;
	case POLICY_UNUSABLE:
		str_add(s, "The kernel leaves out node ");
		unusable_add(s, e);
		str_add(s, ", without a word: no memory, or not allowed by the cpuset.");
		return;
	case POLICY_STAYED:
		stayed_add(s, e);
		return;
	case POLICY_REMAINED:
		remained_add(s, e);
		return;
	case POLICY_PAGECACHE:
		pagecache_add(s, e);
		return;
	case POLICY_LATE:
		late_add(s, e);
		return;
	case POLICY_SMALL:
		small_add(s, e);
		return;
	case POLICY_UNMOVED:
		unmoved_add(s, e);
		return;
	}
}
