/* See rights.h. */
#include "sys/rights.h"

#include <linux/capability.h>
#include <sys/capability.h>

bool rights_are_root(void)
{
	cap_flag_value_t has = CAP_CLEAR;
	cap_t now = cap_get_proc();

	if (now)
		cap_get_flag(now, CAP_SYS_ADMIN, CAP_EFFECTIVE, &has);
	cap_free(now);
	return has == CAP_SET;
}

int rights_hint(struct err *err)
{
	return err_hint(err, "run it as root (sudo), or with CAP_BPF, CAP_PERFMON and "
			     "CAP_SYS_PTRACE: 'memwhy doctor' tells how");
}
