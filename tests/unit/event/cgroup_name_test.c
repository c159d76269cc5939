/*
 * What paths of control groups say. The paths are those that the runtimes make (ids and UIDs
 * aside): docker and containerd with both cgroup drivers, CRI-O, podman with runc and crun, kind,
 * and systemd's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "event/cgroup_name.h"
#include "probes/probe.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID "1f2e3d4c-5b6a-4798-8877-665544332211"
#define UID_ "1f2e3d4c_5b6a_4798_8877_665544332211"
#define STATIC_POD "8dbc4d20e9a1d56a5a4ac7a4dd94fd1c"
#define USER "/user.slice/user-1000.slice/user@1000.service"

static const struct {
	const char *path, *name; /* NULL: the path itself is shown */
} paths[] = {
	/* docker: cgroupfs, systemd, rootless, in docker */
	{"/docker/" ID, "docker:0123456789ab"},
	{"/docker/" ID "/docker/" OTHER, "docker:fedcba987654"},
	{"/system.slice/docker-" ID ".scope", "docker:0123456789ab"},
	{"/system.slice/docker-" ID ".scope/system.slice/nginx.service",
		"docker:0123456789ab/nginx.service"},
	{"/system.slice/docker-" ID ".scope/init.scope", "docker:0123456789ab/init.scope"},
	{"/docker/" ID "/worker/1", "docker:0123456789ab/worker/1"},
	{USER "/user.slice/docker-" ID ".scope", "docker:0123456789ab"},
	{"/system.slice:docker:" ID, "docker:0123456789ab"},
	/* --cgroup-parent, ECS: the path does not tell whose */
	{"/batch/" ID, "container:0123456789ab"},
	{"/ecs/7bdfc73acd7e4cdfa5f1a1a5d4dc6d4b/" ID, "container:0123456789ab"},
	/* containerd under Kubernetes: systemd, cgroupfs, mixed up, kind */
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	 ".slice/cri-containerd-" ID ".scope",
		"containerd:0123456789ab"},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope",
		"containerd:0123456789ab"},
	{"/kubepods/besteffort/pod" UID "/" ID, "container:0123456789ab"},
	{"/kubepods/pod" UID "/" ID, "container:0123456789ab"},
	{"/system.slice/containerd.service/kubepods-burstable-pod" UID_ ".slice:cri-containerd:" ID,
		"containerd:0123456789ab"},
	{"/docker/" OTHER "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
	 "kubelet-kubepods-besteffort-pod" UID_ ".slice/cri-containerd-" ID ".scope",
		"containerd:0123456789ab"},
	{"/k8s.io/" ID, "containerd:0123456789ab"}, {"/default/" ID, "containerd:0123456789ab"},
	{"/system.slice/nerdctl-" ID ".scope", "containerd:0123456789ab"},
	/* pods without a container */
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice",
		"pod:" UID},
	{"/kubepods/burstable/pod" UID, "pod:" UID},
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" STATIC_POD ".slice",
		"pod:" STATIC_POD},
	{"/machine.slice/machine-libpod_pod_" ID ".slice", "pod:0123456789ab"},
	{"/libpod_parent/" ID, "pod:0123456789ab"},
	/* CRI-O, with crun and its monitor */
	{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice/crio-" ID
	 ".scope",
		"cri-o:0123456789ab"},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope/container",
		"cri-o:0123456789ab"},
	{"/kubepods/burstable/pod" UID "/crio-" ID, "cri-o:0123456789ab"},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-conmon-" ID ".scope",
		"pod:" UID "/crio-conmon-" ID ".scope"},
	/* podman: root, rootless, crun, in a pod, in a unit (quadlet), cgroupfs, monitor */
	{"/machine.slice/libpod-" ID ".scope", "podman:0123456789ab"},
	{"/machine.slice/libpod-" ID ".scope/container", "podman:0123456789ab"},
	{USER "/user.slice/libpod-" ID ".scope/container", "podman:0123456789ab"},
	{"/machine.slice/machine-libpod_pod_" OTHER ".slice/libpod-" ID ".scope",
		"podman:0123456789ab"},
	{"/system.slice/web.service/libpod-payload-" ID, "podman:0123456789ab"},
	{"/libpod_parent/" OTHER "/libpod-" ID, "podman:0123456789ab"},
	{"/machine.slice/libpod-conmon-" ID ".scope", "libpod-conmon-" ID ".scope"},
	/* systemd */
	{"/init.scope", "init.scope"}, {"/system.slice/nginx.service", "nginx.service"},
	{"/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service"},
	{"/system.slice/nginx.service/workers", "nginx.service/workers"},
	{"/user.slice/user-1000.slice/session-3.scope", "user@1000/session-3.scope"},
	{USER "/app.slice/app-org.gnome.Terminal.slice/vte-spawn-1.scope",
		"user@1000/vte-spawn-1.scope"},
	{USER "/init.scope", "user@1000/init.scope"}, {USER, "user@1000.service"},
	{"/system.slice/dev-disk-by\\x2duuid-1.swap", "dev-disk-by\\x2duuid-1.swap"},
	/* what names nobody, or nearly does */
	{"/", NULL}, {"", NULL}, {"/system.slice", NULL}, {"/user.slice/user-1000.slice", NULL},
	{"/memwhy-demo-1", NULL}, {"/kubepods/burstable", NULL},
	{"/kubepods.slice/kubepods-burstable.slice", NULL}, {"/docker/0123456789abcdef", NULL},
	{"/docker/" ID "0", NULL}, {"/a0" ID, NULL},
	{"/docker/0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", NULL},
	{"/podX", NULL}, {"/podcasts", NULL}, {"/pod", NULL}, {"/pod_", NULL},
	{"/kubepods/pod1f2e3d4c-5b6a-4798-8877-66554433221", NULL}, {"/-" ID, NULL},
	{"/:" ID, NULL}, {"/.service", NULL}, {"/.scope", NULL}, {"///", NULL},
	{"/user@.service/x.scope", "x.scope"},
	{"/system.slice/a\n\x1b[31m.service", "a\n\x1b[31m.service"}, /* renderers escape it */
};

static void test_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_str_ struct str s = {};
		bool named = cgroup_name_add(&s, paths[i].path);

		if (named != (paths[i].name != NULL) ||
			(named && strcmp(str_get(&s), paths[i].name)))
			fail_msg("%s: %s, not %s", paths[i].path, named ? str_get(&s) : "no name",
				paths[i].name ? paths[i].name : "none");
		if (!named)
			assert_int_equal(s.len, 0);
	}
}

static void test_container(void **state)
{
	struct cgroup_part p;

	(void)state;
	assert_true(cgroup_container(
		"/docker/" OTHER "/kubepods/pod" UID "/" ID "/system.slice/a.service", &p));
	assert_memory_equal(p.name, ID, 64);
	assert_int_equal(p.length, 64);
	assert_string_equal(p.runtime, "container");
	assert_string_equal(p.end, "/system.slice/a.service");
	assert_false(cgroup_container("/kubepods/pod" UID, &p));
	assert_false(cgroup_container("/system.slice/a.service", &p));
}

/* Does any part of the path answer, and which? */
static enum cgroup_part_kind answers(const char *path, const char *word)
{
	struct cgroup_part p = {.end = path};

	while (cgroup_part_next(path, &p))
		if (cgroup_part_answers(&p, word))
			return p.kind;
	return CGROUP_OTHER;
}

static void test_answers(void **state)
{
	static const char pod[] = "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope";
	static const char unit[] = "/system.slice/web@1.service/libpod-payload-" ID;

	(void)state;
	assert_int_equal(answers(pod, "0123"), CGROUP_CONTAINER);
	assert_int_equal(answers(pod, "0123456789AB"), CGROUP_CONTAINER);
	assert_int_equal(answers(pod, ID), CGROUP_CONTAINER);
	assert_int_equal(answers(pod, "cri-o:0123456789ab"), CGROUP_CONTAINER);
	assert_int_equal(answers(pod, UID), CGROUP_POD);
	assert_int_equal(answers(pod, "1f2e3d4c-5b"), CGROUP_POD);
	assert_int_equal(answers(pod, "pod:1f2e"), CGROUP_POD);
	assert_int_equal(answers(unit, "web@1.service"), CGROUP_UNIT);
	assert_int_equal(answers(unit, "web@1"), CGROUP_UNIT);
	assert_int_equal(answers(unit, "podman:0123456789"), CGROUP_CONTAINER);

	assert_int_equal(answers(pod, "012"), CGROUP_OTHER); /* too few digits */
	assert_int_equal(answers(pod, ""), CGROUP_OTHER);
	assert_int_equal(answers(pod, ":"), CGROUP_OTHER);
	assert_int_equal(answers(pod, ID "0"), CGROUP_OTHER);
	assert_int_equal(answers(pod, "1234"), CGROUP_OTHER);
	assert_int_equal(answers(pod, "docker:0123456789ab"), CGROUP_OTHER);
	assert_int_equal(answers(pod, "pod:0123456789ab"), CGROUP_OTHER);
	assert_int_equal(answers(unit, "web"), CGROUP_OTHER);
	assert_int_equal(answers(unit, "web@1.scope"), CGROUP_OTHER);
	assert_int_equal(answers("/system.slice", "system.slice"), CGROUP_OTHER);
}

static size_t columns_check(const struct view_table *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_cols; i++) {
		const struct column *c = (const void *)((const char *)t->cols + i * t->stride);

		if (!strstr(c->name, "cgroup") || c->type != CELL_TEXT)
			continue;
		if (c->unit != UNIT_CGROUP)
			fail_msg("%s: %s", t->name, c->name);
		n++;
	}
	return n;
}

/* Every column of cgroups says that it is one, or text would show its paths. */
static void test_columns(void **state)
{
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < probes_n; i++) {
		const struct view *v = probes[i]->view;

		for (size_t set = 0; v && v->tables[set]; set++)
			for (const struct view_table *t = v->tables[set]; t->name; t++)
				n += columns_check(t);
	}
	assert_true(n > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_container),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_columns),
	};

	return cmocka_run_group_tests_name("cgroup_name", tests, NULL, NULL);
}
