/* See privilege.h. */
#include "record/privilege.h"

#include <linux/capability.h>

#include "cage/cage.h"

int privilege_drop(bool mapped_files, bool samples, struct err *err)
{
	int keep[6] = {CAP_BPF, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG};
	unsigned n = 4;

	if (mapped_files)
		keep[n++] = CAP_CHECKPOINT_RESTORE;
	if (samples)
		keep[n++] = CAP_PERFMON;
	return cage_capabilities(keep, n, err);
}
