/* See rights.h. */
#include "sys/rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/capability.h>

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

int rights_hint(struct err *err)
{
	return err_hint(err, "run it as root (sudo), or with CAP_BPF, CAP_PERFMON and "
			     "CAP_SYS_PTRACE: 'memwhy doctor' explains how");
}
