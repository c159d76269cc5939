/* See rights.h. */
#include "sys/rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <unistd.h>

#include "base/str.h"
#include "sys/root.h"

static bool rights_have(cap_value_t cap)
{
	cap_flag_value_t has = CAP_CLEAR;
	cap_t now = cap_get_proc();

	if (now)
		cap_get_flag(now, cap, CAP_EFFECTIVE, &has);
	cap_free(now);
	return has == CAP_SET;
}

bool rights_are_root(void)
{
	return rights_have(CAP_SYS_ADMIN);
}

bool rights_over_others(void)
{
	return rights_have(CAP_SYS_PTRACE);
}

int rights_over_others_hint(struct err *err)
{
	return err->code != -EACCES && err->code != -EPERM
		       ? err->code
		       : err_hint(err, "it belongs to another user or has more privileges: run "
				       "memwhy as root, or with CAP_SYS_PTRACE");
}

bool rights_kernel_is_locked(void)
{
	_cleanup_str_ struct str text = {};

	return !sys_read(&text, "/sys/kernel/security/lockdown") &&
	       strstr(str_get(&text), "[confidentiality]");
}

/* Root there has no rights over the kernel. The first namespace maps all users to themselves. */
static bool is_in_user_namespace(void)
{
	_cleanup_str_ struct str text = {};
	unsigned inside, outside, n;

	return !sys_read(&text, "/proc/self/uid_map") &&
	       sscanf(str_get(&text), "%u %u %u", &inside, &outside, &n) == 3 &&
	       (inside || outside || n != UINT32_MAX);
}

enum refused_by {
	REFUSED_BY_LOCKDOWN,
	REFUSED_BY_NAMESPACE,
	REFUSED_FOR_BPF, /* that capability is missing, … */
	REFUSED_FOR_PERFMON,
	REFUSED_FOR_BOTH,
	REFUSED_TO_USER,
	REFUSED_OTHERWISE,
};

static enum refused_by bpf_refused_by(void)
{
	bool all = rights_have(CAP_SYS_ADMIN), bpf = all || rights_have(CAP_BPF),
	     perfmon = all || rights_have(CAP_PERFMON);

	if (rights_kernel_is_locked())
		return REFUSED_BY_LOCKDOWN;
	if (!(bpf && perfmon) && geteuid())
		return REFUSED_TO_USER;
	if (is_in_user_namespace())
		return REFUSED_BY_NAMESPACE;
	if (bpf)
		return perfmon ? REFUSED_OTHERWISE : REFUSED_FOR_PERFMON;
	return perfmon ? REFUSED_FOR_BPF : REFUSED_FOR_BOTH;
}

const char *rights_needs(void)
{
	static const char *const needs[] = {
		[REFUSED_BY_LOCKDOWN] = "a kernel without lockdown=confidentiality",
		[REFUSED_BY_NAMESPACE] = "root outside of this user namespace",
		[REFUSED_FOR_BPF] = "CAP_BPF, which root lacks here",
		[REFUSED_FOR_PERFMON] = "CAP_PERFMON, which root lacks here",
		[REFUSED_FOR_BOTH] = "CAP_BPF and CAP_PERFMON, which root lacks here",
		[REFUSED_TO_USER] = RIGHTS_ROOT,
		[REFUSED_OTHERWISE] = "that no security module or seccomp filter refuses it",
	};

	return needs[bpf_refused_by()];
}

int rights_hint(struct err *err)
{
	static const char cap[] =
		"root lacks %s here: in a container, add %s to its capabilities";
	enum refused_by by = bpf_refused_by();

	switch (by) {
	case REFUSED_BY_LOCKDOWN:
		return err_hint(err, "the kernel is locked down, for root too "
				     "(/sys/kernel/security/lockdown is confidentiality): boot "
				     "without lockdown=confidentiality");
	case REFUSED_BY_NAMESPACE:
		return err_hint(err, "root of a user namespace has no rights over the kernel: run "
				     "it outside of the container, as root");
	case REFUSED_FOR_BPF:
		return err_hint(err, cap, "CAP_BPF", "it");
	case REFUSED_FOR_PERFMON:
		return err_hint(err, cap, "CAP_PERFMON", "it");
	case REFUSED_FOR_BOTH:
		return err_hint(err, cap, "CAP_BPF and CAP_PERFMON", "both");
	case REFUSED_OTHERWISE:
		return err_hint(err, "CAP_BPF and CAP_PERFMON are there: a security module or a "
				     "seccomp filter (of a container) refuses bpf()");
	case REFUSED_TO_USER:
		break;
	}
	return err_hint(err, "run it as root (sudo), or with CAP_BPF, CAP_PERFMON and "
			     "CAP_SYS_PTRACE: 'memwhy doctor' explains how");
}
