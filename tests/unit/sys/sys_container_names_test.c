/* Tests of sys/group/container_names.h: names of containers in trees as kubelet and runtimes make
 * them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/group/container_names.h"
#include "sys/root.h"

#define A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define B "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define C "2123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define D "3123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define E "4123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define F "5123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "8b4a2e3c-1d5f-4a6b-9c7d-0123456789ab"
#define IN_PATH "8b4a2e3c_1d5f_4a6b_9c7d_0123456789ab"

static char root[] = "/tmp/memwhy-names-XXXXXX";

/* With the directories above it. */
static void file_make(const char *path, const char *text)
{
	char full[PATH_MAX];
	FILE *f;

	assert_true(snprintf(full, sizeof(full), "%s%s", root, path) < (int)sizeof(full));
	for (char *p = full + strlen(root) + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		(void)mkdir(full, 0700);
		*p = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int tree_make(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(root));
	file_make("/var/log/containers/web-6d4b_shop_nginx-proxy-" A ".log", "");
	file_make("/var/log/pods/shop_web-6d4b_" UID "/nginx-proxy/0.log", "");
	file_make("/run/containerd/io.containerd.runtime.v2.task/k8s.io/" B "/config.json",
		"{\"process\":{\"args\":[\"io.kubernetes.cri.container-name\",\"fake\"]},"
		"\"annotations\":{\"io.kubernetes.cri.container-name\":\"api\","
		"\"io.kubernetes.cri.sandbox-name\":\"api-0\",\"io.kubernetes.cri.sandbox-"
		"namespace\":"
		"\"prod\"}}");
	file_make("/var/lib/docker/containers/" C "/config.v2.json",
		"{\"Config\":{\"Labels\":{\"Name\":\"fake\",\"x\":\"\\\"Name\\\":\\\"fake\\\"\"}},"
		"\"Name\":\"/db_1\"}");
	file_make("/run/containers/storage/overlay-containers/" D "/userdata/config.json",
		"{\"annotations\":{\"io.kubernetes.container.name\":\"c\",\"io.kubernetes.pod."
		"name\":"
		"\"p\",\"io.kubernetes.pod.namespace\":\"n\"}}");
	file_make("/var/lib/containers/storage/overlay-containers/containers.json",
		"[{\"id\":\"" C "\",\"names\":[\"other\"]},{\"id\":\"" E
		"\",\"names\":[\"caf\\u00e9\",\"second\"],\"metadata\":\"{}\"}]");
	return sys_root_set(root);
}

static int tree_remove(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static void names_are(
	const char *id, const char *uid, const char *container, const char *pod, const char *space)
{
	struct container_names n;

	assert_true(container_names_find(id, uid, &n));
	assert_string_equal(n.container, container);
	assert_string_equal(n.pod, pod);
	assert_string_equal(n.space, space);
}

static void test_find(void **state)
{
	struct container_names n;

	(void)state;
	names_are(A, NULL, "nginx-proxy", "web-6d4b", "shop");
	names_are(A, IN_PATH, "nginx-proxy", "web-6d4b", "shop");
	names_are(NULL, IN_PATH, "", "web-6d4b", "shop");
	names_are(F, UID, "", "web-6d4b", "shop"); /* nothing tells of the container itself */
	names_are(B, NULL, "api", "api-0", "prod");
	names_are(C, NULL, "db_1", "", "");
	names_are(D, NULL, "c", "p", "n");
	names_are(E, NULL, "caf\xc3\xa9", "", "");
	assert_false(container_names_find(F, NULL, &n));
	assert_false(container_names_find(NULL, "8b4a2e3c-1d5f-4a6b-9c7d-0123456789ac", &n));
	assert_false(container_names_find(NULL, NULL, &n));
}

/* A file that is none of a runtime's: nobody writes to it, or it is longer than any of these. */
static void test_odd_files(void **state)
{
	static const char dir[] = "/var/lib/docker/containers/" F;
	struct container_names n;
	char path[PATH_MAX];

	(void)state;
	file_make("/var/lib/docker/containers/" F "/config.v2.json", "{\"Name\":\"/long\"}");
	snprintf(path, sizeof(path), "%s%s/config.v2.json", root, dir);
	names_are(F, NULL, "long", "", "");
	assert_int_equal(truncate(path, (4 << 20) + 1), 0);
	assert_false(container_names_find(F, NULL, &n));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(10);
	assert_false(container_names_find(F, NULL, &n));
	alarm(0);
	assert_int_equal(unlink(path), 0);
}

static void test_logs(void **state)
{
	static const char *const none[] = {"", "a", "a_b", "a_b-" A ".log", "a_b_c" A ".log",
		"a_b_c-" A ".txt", "-" A ".log", "a_b_c-" B ".log", A ".log"};
	struct container_names n = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		assert_false(container_log_parse(none[i], A, &n));
	assert_string_equal(n.pod, "");
	assert_true(container_log_parse("a_b_c-d-" A ".log", A, &n));
	assert_string_equal(n.container, "c-d");
	assert_false(container_pod_parse("a_b", UID, &n));
	assert_false(container_pod_parse("a_b_" UID "0", UID, &n));
}

/* What is no JSON, or is cut anywhere, or nested without end, gives nothing that is not there. */
static void test_damaged(void **state)
{
	static const char whole[] = "{\"Name\":\"/a\\u0062c\",\"x\":[\"Name\",{\"Name\":\"no\"}]}";
	struct container_names n = {};
	char deep[200], lone[] = "{\"Name\":\"/\\ud83d\\u0000x\\";

	(void)state;
	for (size_t cut = 0; cut < sizeof(whole); cut++) {
		n = (struct container_names){};
		container_state_parse(whole, cut, &n);
		assert_string_equal(
			n.container, cut < strlen("{\"Name\":\"/a\\u0062c\"") ? "" : "abc");
	}
	memset(deep, '[', sizeof(deep));
	n = (struct container_names){};
	container_state_parse(deep, sizeof(deep), &n);
	container_state_parse(lone, strlen(lone), &n);
	container_state_parse("]]]}\"Name\":\"x\"", 14, &n);
	assert_string_equal(n.container, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_odd_files),
		cmocka_unit_test(test_logs),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
