/* See privilege.h. */
#include "record/privilege.h"

#include <linux/capability.h>
#include <unistd.h>

#include "cage/cage.h"

int privilege_drop(bool mapped_files, struct err *err)
{
	static const int keep[] = {
		CAP_BPF, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG, CAP_CHECKPOINT_RESTORE};

	return cage_capabilities(keep, ARRAY_SIZE(keep) - !mapped_files, err);
}

void privilege_drop_or_end(void)
{
	struct err err = {};

	if (privilege_drop(true, &err))
		_exit(1);
}
