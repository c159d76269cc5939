/* See privilege.h. */
#include "record/privilege.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/capability.h>
#include <sys/prctl.h>

int privilege_drop(bool mapped_files, struct err *err)
{
	static const cap_value_t keep[] = {
		CAP_BPF, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG, CAP_CHECKPOINT_RESTORE};
	size_t n = ARRAY_SIZE(keep) - !mapped_files;
	cap_t now = cap_get_proc(), want = cap_init();
	int rc = now && want ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !rc; i++) {
		cap_flag_value_t has = CAP_CLEAR;

		if (cap_get_flag(now, keep[i], CAP_PERMITTED, &has) || has != CAP_SET)
			continue;
		if (cap_set_flag(want, CAP_PERMITTED, 1, &keep[i], CAP_SET) ||
			cap_set_flag(want, CAP_EFFECTIVE, 1, &keep[i], CAP_SET))
			rc = -errno;
	}
	if (!rc && (cap_set_proc(want) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)))
		rc = -errno;
	cap_free(now);
	cap_free(want);
	return rc ? err_errno(err, rc, "dropping capabilities") : 0;
}
