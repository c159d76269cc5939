/* See thp.h. */
#include "sys/memory/thp.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "sys/root.h"
#include "sys/scan.h"

#define THP_DIR "/sys/kernel/mm/transparent_hugepage"

#define THP_FIELD(name, member) SCAN_FIELD(name, struct thp, member)

static const struct scan_field numbers[] = {
	THP_FIELD("use_zero_page", use_zero_page),
	THP_FIELD("shrink_underused", shrink_underused),
	THP_FIELD("hpage_pmd_size", pmd_size_bytes),
	THP_FIELD("khugepaged/defrag", khugepaged_defrag),
	THP_FIELD("khugepaged/max_ptes_none", max_ptes_none),
	THP_FIELD("khugepaged/max_ptes_shared", max_ptes_shared),
	THP_FIELD("khugepaged/max_ptes_swap", max_ptes_swap),
	THP_FIELD("khugepaged/pages_to_scan", pages_to_scan),
	THP_FIELD("khugepaged/scan_sleep_millisecs", scan_sleep_ms),
	THP_FIELD("khugepaged/alloc_sleep_millisecs", alloc_sleep_ms),
	THP_FIELD("khugepaged/pages_collapsed", pages_collapsed_total),
	THP_FIELD("khugepaged/full_scans", full_scans_total),
};

int thp_choice_parse(const char *text, char ret[THP_CHOICE_MAX])
{
	return scan_choice(text, ret, THP_CHOICE_MAX);
}

static int choice_read(const char *dir, const char *name, char ret[THP_CHOICE_MAX])
{
	_cleanup_str_ struct str text = {};
	int rc = sys_read(&text, THP_DIR "/%s%s", dir, name);

	return rc ? rc : thp_choice_parse(str_get(&text), ret);
}

/* "hugepages-64kB" */
static bool size_parse(const char *name, u64 *ret_bytes)
{
	struct scan s = scan_text(name);
	u64 kb;

	return scan_lit(&s, "hugepages-") && scan_u64(&s, &kb) && scan_lit(&s, "kB") &&
	       scan_done(&s) && !__builtin_mul_overflow(kb, 1024ULL, ret_bytes);
}

static int thp_by_bytes(const void *a, const void *b)
{
	const struct thp_size *x = a;
	const struct thp_size *y = b;

	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static void sizes_read(struct thp *thp)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *dir = sys_path(path, THP_DIR) ? NULL : opendir(path);

	if (!dir)
		return;
	while (thp->sizes < THP_SIZES_MAX && (entry = readdir(dir))) {
		struct thp_size size = {};
		char sub[NAME_MAX + 2];

		if (!size_parse(entry->d_name, &size.bytes))
			continue;
		snprintf(sub, sizeof(sub), "%s/", entry->d_name);
		choice_read(sub, "enabled", size.enabled);
		choice_read(sub, "shmem_enabled", size.shmem_enabled);
		thp->size[thp->sizes++] = size;
	}
	closedir(dir);
	qsort(thp->size, thp->sizes, sizeof(thp->size[0]), thp_by_bytes);
}

int thp_read(struct thp *ret)
{
	struct thp thp = {};
	int rc = choice_read("", "enabled", thp.enabled);

	if (rc)
		return rc;
	choice_read("", "defrag", thp.defrag);
	choice_read("", "shmem_enabled", thp.shmem_enabled);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct scan name = scan_text(numbers[i].name);
		u64 v = THP_UNKNOWN;

		sys_read_u64(&v, THP_DIR "/%s", numbers[i].name);
		scan_store(&numbers[i], 1, &name, v, &thp);
	}
	sizes_read(&thp);
	*ret = thp;
	return 0;
}

static int size_each(const struct thp_size *size,
	int (*fn)(void *arg, const char *name, u64 value, const char *text), void *arg)
{
	char name[64];
	int rc = 0;

	snprintf(name, sizeof(name), "hugepages-%llukB/enabled", size->bytes >> 10);
	if (size->enabled[0])
		rc = fn(arg, name, 0, size->enabled);
	snprintf(name, sizeof(name), "hugepages-%llukB/shmem_enabled", size->bytes >> 10);
	return rc || !size->shmem_enabled[0] ? rc : fn(arg, name, 0, size->shmem_enabled);
}

int thp_settings_each(const struct thp *thp,
	int (*fn)(void *arg, const char *name, u64 value, const char *text), void *arg)
{
	int rc = fn(arg, "enabled", 0, thp->enabled);

	if (!rc && thp->defrag[0])
		rc = fn(arg, "defrag", 0, thp->defrag);
	if (!rc && thp->shmem_enabled[0])
		rc = fn(arg, "shmem_enabled", 0, thp->shmem_enabled);
	for (size_t i = 0; i < ARRAY_SIZE(numbers) && !rc; i++) {
		u64 v = *(const u64 *)((const char *)thp + numbers[i].offset);

		if (v != THP_UNKNOWN)
			rc = fn(arg, numbers[i].name, v, "");
	}
	for (u32 i = 0; i < thp->sizes && !rc; i++)
		rc = size_each(&thp->size[i], fn, arg);
	return rc;
}

int thp_stats_each(u64 bytes, int (*fn)(void *arg, const char *name, u64 value), void *arg)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *dir = sys_path(path, THP_DIR "/hugepages-%llukB/stats", bytes >> 10) ? NULL
										  : opendir(path);
	int rc = dir ? 0 : -ENOENT;
	u64 v;

	while (!rc && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' &&
			!sys_read_u64(&v, THP_DIR "/hugepages-%llukB/stats/%s", bytes >> 10,
				entry->d_name))
			rc = fn(arg, entry->d_name, v);
	if (dir)
		closedir(dir);
	return rc;
}
