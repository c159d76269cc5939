/* See public_names.h. */
#include "export/public_names.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"

/* /lib, /usr/lib64, /lib/x86_64-linux-gnu: where a distribution has its libraries. */
static bool is_library_dir(const char *path, size_t n)
{
	static const char *const dirs[] = {"/usr/lib64", "/usr/lib", "/lib64", "/lib"};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		size_t len = strlen(dirs[i]);
		const char *arch = path + len + 1;

		if (n < len || strncmp(path, dirs[i], len) != 0)
			continue;
		if (n == len)
			return true;
		if (path[len] != '/' || memchr(arch, '/', n - len - 1))
			return false;
		return memmem(arch, n - len - 1, "-linux-gnu", strlen("-linux-gnu"));
	}
	return false;
}

bool public_module(const char *path)
{
	static const char *const libraries[] = {"ld-linux", "ld-musl-", "libc.so.", "libc-2.",
		"libc.musl-", "libm.so.", "libm-2.", "libpthread.so.", "libpthread-2.", "librt.so.",
		"librt-2.", "libdl.so.", "libdl-2.", "libgcc_s.so.", "libgcc_s-", "libstdc++.so.",
		"libc++.so.", "libc++abi.so.", "libjemalloc.so", "libtcmalloc.so",
		"libtcmalloc_minimal.so", "libmimalloc.so", "libmemwhy-track"};
	static const char *const mapped[] = {"[kernel]", "[vdso]", "[vsyscall]", "[vvar]"};
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < ARRAY_SIZE(mapped); i++)
		if (!strcmp(path, mapped[i]))
			return true;
	if (slash && !is_library_dir(path, (size_t)(slash - path)))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++)
		if (begins_with(name, libraries[i]))
			return true;
	return false;
}

/* "kswapd0", "swapper/1" */
static bool is_kernel_thread(const char *text)
{
	static const char *const threads[] = {
		"kswapd", "kcompactd", "khugepaged", "kthreadd", "swapper/"};

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		if (begins_with(text, threads[i])) {
			const char *rest = text + strlen(threads[i]);

			return !rest[strspn(rest, "0123456789")];
		}
	return false;
}

bool public_word(const char *text)
{
	static const char *const words[] = {"", "?", "-", "/", "[heap]", "[stack]", "heap", "stack",
		"[anon]", "anonymous", "file", "shared", "shared memory", "hugetlb", "vdso",
		"kernel", "none", "default", "local", "unknown", "main", "_start", "[unknown]",
		"tmpfs", "memwhy"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(text, words[i]))
			return true;
	return is_kernel_thread(text) || public_module(text);
}

bool public_group(const char *part, size_t n)
{
	static const char *const parts[] = {"system.slice", "user.slice", "machine.slice",
		"init.scope", "kubepods", "kubepods.slice", "docker", "unified"};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strlen(parts[i]) == n && !strncmp(part, parts[i], n))
			return true;
	return !n;
}

bool public_path(const char *path)
{
	static const char *const dirs[] = {"/proc/sys/", "/proc/pressure/", "/sys/kernel/",
		"/sys/bus/event_source/", "/sys/devices/system/"};
	static const char *const files[] = {"/proc/kallsyms", "/proc/meminfo", "/proc/vmstat",
		"/proc/zoneinfo", "/proc/buddyinfo", "/proc/pagetypeinfo", "/proc/slabinfo",
		"/proc/kpageflags", "/proc/kpagecount", "/proc/kpagecgroup", "/proc/vmallocinfo",
		"/proc/PID", "/dev/kmsg", "/sys/fs/cgroup"};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (begins_with(path, dirs[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (!strcmp(path, files[i]))
			return true;
	return false;
}

static const struct {
	const char *kind, *field; /* field NULL: all of the kind */
} fields[] = {
	{"host", NULL},
	{"enum", NULL},
	{"session", "command"},
	{"session", "by"},
	{"system_value", NULL},
	{"thp_value", NULL},
	{"swap_counter", NULL},
	{"maps_limit", NULL},
	{"slab_cache", NULL},
	{"frag_zone", "zone"},
	{"frag_pagetype", "zone"},
	{"oom_zone", "zone"},
	{"waits_dirty", "device"},
	{"policy_mapping", "policy"},
	{"policy_thread", "policy"},
	{"process_numa", "policy"},
	{"process_numa", "allowed_cpus"},
	{"count_event", "sum"},
	{"count_event", "hist"},
	{"count_event", "fields"},
	{"count_event", "set_1"},
	{"count_event", "set_2"},
	{"count_event", "set_3"},
	{"count_event", "set_4"},
	/* of any kind: names of memwhy's probes and of slab caches */
	{NULL, "probe"},
	{NULL, "cache"},
};

bool public_field(const struct kind *k, const struct field *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if ((!fields[i].kind || !strcmp(fields[i].kind, k->name)) &&
			(!fields[i].field || !strcmp(fields[i].field, f->name)))
			return true;
	return false;
}
