/*
 * Describes one memory policy call in words: as source code has it, what it returned and what that
 * means, its effect, and its problems.
 */
#ifndef MEMWHY_PROBES_POLICY_WORDS_H
#define MEMWHY_PROBES_POLICY_WORDS_H

#include "base/str.h"
#include "probes/policy/policy.h"
#include "sys/calls/mempolicy.h"

/* "mbind"; a number for what is none of them. */
void policy_call_name_add(struct str *s, u32 call);
/* "mbind(0x7f4a2c000000, 64.0 MiB, MPOL_BIND, {0-1}, 3, MPOL_MF_MOVE)" */
void policy_call_add(struct str *s, const struct policy_call *e);
/* "ok", "EINVAL", "12 pages not moved" */
void policy_result_add(struct str *s, const struct policy_call *e);
/* "512 pages: node 0 512 -> node 1 512; moved 512"; nothing where nothing is known. */
void policy_effect_add(struct str *s, const struct policy_call *e);
/* What the error means; nothing where it succeeded, or that is not known. */
const char *policy_error_text(const struct policy_call *e);
/* "EINVAL"; a number for what has no name. */
void policy_errno_add(struct str *s, int error);
/* A few words for a bit of enum policy_warning; NULL: there is none. */
const char *policy_problem_name(u32 bit);
/* What is wrong, with the numbers of this call, and what to do about it. */
void policy_problem_add(struct str *s, const struct policy_call *e, u32 bit);
/* The flags of a call by name; NULL where it has none. */
const struct flag *policy_flag_table(u32 call);
const char *policy_map_name(u32 map);

#endif
