/* See vmallocinfo.h. */
#include "sys/memory/vmallocinfo.h"

#include "base/groups.h"
#include "sys/root.h"
#include "sys/scan.h"

void vmallocinfo_free(struct vmallocinfo *info)
{
	vec_free(&info->list);
}

struct vmalloc_sums {
	u64 areas, pages;
};

/* "0x0-0x1   20480 alloc_large+0xb8/0x400 [module] pages=4 vmalloc N0=4" (vmalloc_info_show(),
 * mm/vmalloc.c, 5.10 to 6.18). What has no caller has no name. */
static bool vmallocinfo_line_parse(struct scan s, char caller[VMALLOC_CALLER_MAX], u64 *ret_pages)
{
	struct scan word, name;
	u64 bytes;

	if (!scan_word(&s, &word) || !scan_u64(&s, &bytes) || !scan_word(&s, &name))
		return false;
	for (const char *p = name.p; p < name.end; p++)
		if (*p == '+')
			name.end = p;
	scan_copy(&name, caller, VMALLOC_CALLER_MAX);
	while (scan_word(&s, &word))
		if (scan_len(&word) > 6 && !memcmp(word.p, "pages=", 6)) {
			word.p += 6;
			return scan_u64(&word, ret_pages);
		}
	return false;
}

static int sums_list(const struct groups *sums, struct vmallocinfo *ret)
{
	int rc = 0;

	ret->list.n = 0;
	for (size_t i = 0; i < sums->n && !rc; i++) {
		const struct vmalloc_sums *v = groups_value(sums, i);
		struct vmalloc_caller c = {.areas = v->areas, .pages = v->pages};

		memcpy(c.caller, groups_key(sums, i), sizeof(c.caller));
		rc = vec_push(&ret->list, c);
	}
	return rc;
}

int vmallocinfo_parse(const char *text, struct vmallocinfo *ret)
{
	struct groups sums;
	struct scan line;
	int rc = 0;

	groups_init(&sums, VMALLOC_CALLER_MAX, sizeof(struct vmalloc_sums));
	while (!rc && scan_line(&text, &line)) {
		char caller[VMALLOC_CALLER_MAX] = {};
		struct vmalloc_sums *v;
		u64 pages;

		if (!vmallocinfo_line_parse(line, caller, &pages))
			continue;
		v = sums.n < VMALLOC_CALLERS_MAX ? groups_get(&sums, caller)
						 : groups_find(&sums, caller);
		if (!v && sums.n < VMALLOC_CALLERS_MAX)
			rc = -ENOMEM;
		if (!v)
			continue;
		v->areas++;
		v->pages += pages;
	}
	if (!rc)
		rc = sums_list(&sums, ret);
	groups_free(&sums);
	return rc;
}

int vmallocinfo_read(struct vmallocinfo *ret)
{
	_cleanup_str_ struct str text = {};
	int rc = sys_read(&text, "/proc/vmallocinfo");

	return rc ? rc : vmallocinfo_parse(str_get(&text), ret);
}

bool vmalloc_is_stack(const char *caller)
{
	/* alloc_thread_stack_node() (kernel/fork.c, 4.9 to 6.18) */
	static const char *const names[] = {"alloc_thread_stack_node", "dup_task_struct",
		"copy_process", "kernel_clone", "fork_idle"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(caller, names[i], strlen(names[i])))
			return true;
	return false;
}
