/* Capabilities, and the right to have any again. See cage.h. */
#include <errno.h>
#include <linux/capability.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include "cage/cage.h"

/* Without CAP_SETPCAP the set stays, which with no_new_privs gives nothing to anybody. */
static int bounding_drop(void)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			return errno == EPERM ? 0 : -errno;
	return 0;
}

static int keep_add(cap_t want, cap_t now, cap_value_t cap)
{
	cap_flag_value_t has = CAP_CLEAR;

	if (cap_get_flag(now, cap, CAP_PERMITTED, &has) || has != CAP_SET)
		return 0;
	return cap_set_flag(want, CAP_PERMITTED, 1, &cap, CAP_SET) ||
			       cap_set_flag(want, CAP_EFFECTIVE, 1, &cap, CAP_SET)
		       ? -errno
		       : 0;
}

int cage_capabilities(const int *keep, unsigned n, struct err *err)
{
	cap_t now = cap_get_proc(), want = cap_init();
	int rc = now && want ? bounding_drop() : -ENOMEM;

	for (unsigned i = 0; i < n && !rc; i++)
		rc = keep_add(want, now, keep[i]);
	if (!rc && (cap_set_proc(want) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)))
		rc = -errno;
	cap_free(now);
	cap_free(want);
	return rc ? err_errno(err, rc, "dropping capabilities") : 0;
}
