/* What refuses BPF programs, said for root with and without capabilities, and for a user. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/types.h"
#include "data/sys/fixture.h"
#include "sys/rights.h"
#include "sys/root.h"

#define LOCKDOWN "/sys/kernel/security/lockdown"
#define UID_MAP "/proc/self/uid_map"
#define FIRST "         0          0 4294967295\n"

/* In a child of user `uid` that has these capabilities only: is its need, and a part of its hint,
 * as they should be? */
static bool is_said(uid_t uid, const char *caps, const char *needs, const char *hint)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		cap_t c = cap_from_text(caps);
		struct err err = {.code = -EPERM};

		if (!c || cap_setuid(uid) || cap_set_proc(c))
			_exit(2);
		cap_free(c);
		rights_hint(&err);
		if (!strcmp(rights_needs(), needs) && strstr(err.hint, hint))
			_exit(0);
		fprintf(stderr, "%s; %s\n", rights_needs(), err.hint);
		_exit(1);
	}
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static void the_cause_is_named(void **state)
{
	char tree[PATH_MAX];

	(void)state;
	if (geteuid())
		fixture_skip("only root can have less");
	fixture_make(tree);
	assert_int_equal(chmod(tree, 0755), 0);
	fixture_put_text(UID_MAP, FIRST);
	assert_true(is_said(0, "cap_bpf=ep", "CAP_PERFMON, which root lacks here",
		"root lacks CAP_PERFMON here: in a container, add it"));
	assert_true(
		is_said(0, "cap_perfmon=ep", "CAP_BPF, which root lacks here", "lacks CAP_BPF here:"));
	assert_true(is_said(0, "cap_syslog=ep", "CAP_BPF and CAP_PERFMON, which root lacks here",
		"add both"));
	assert_true(is_said(0, "cap_bpf,cap_perfmon=ep",
		"that no security module or seccomp filter refuses it", "refuses bpf()"));
	assert_true(is_said(0, "cap_sys_admin=ep",
		"that no security module or seccomp filter refuses it", "refuses bpf()"));
	assert_true(is_said(1000, "=", RIGHTS_ROOT, "run it as root (sudo)"));
	fixture_put_text(UID_MAP, "         0     100000      65536\n");
	assert_true(is_said(0, "cap_sys_admin=ep", "root outside of this user namespace",
		"outside of the container"));
	fixture_put_text(UID_MAP, FIRST);
	fixture_put_text(LOCKDOWN, "none [integrity] confidentiality\n");
	assert_false(rights_kernel_is_locked());
	fixture_put_text(LOCKDOWN, "none integrity [confidentiality]\n");
	assert_true(rights_kernel_is_locked());
	assert_true(is_said(0, "cap_sys_admin=ep", "a kernel without lockdown=confidentiality",
		"/sys/kernel/security/lockdown"));
	assert_true(is_said(1000, "=", "a kernel without lockdown=confidentiality",
		"boot without lockdown=confidentiality"));
	fixture_remove(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cause_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
