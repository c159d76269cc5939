/* See gfp.h. */
#include "capture/gfp.h"

#include <errno.h>
#include <string.h>

#include "sys/print_fmt.h"
#include "sys/root.h"
#include "sys/tracefs.h"

/* The text behind the delimiter of the list of flags; NULL when there is no such list. */
static const char *list_begin(const char *format)
{
	const char *p = strstr(format, "__print_flags(");

	if (!p)
		return NULL;
	p = strstr(p, "\"|\"");
	return p ? p + 3 : NULL;
}

int gfp_parse(const char *format, int (*fn)(void *arg, u64 mask, const char *name), void *arg)
{
	const char *list = list_begin(format);
	int n = list ? print_fmt_entries(list, false, fn, arg) : 0;

	return n ? n : -EINVAL;
}

int gfp_read(int (*fn)(void *arg, u64 mask, const char *name), void *arg)
{
	_cleanup_str_ struct str text = {};
	char dir[PATH_MAX];
	int rc = tracefs_find(dir);

	if (!rc)
		rc = sys_read(&text, "%s/events/vmscan/mm_vmscan_direct_reclaim_begin/format", dir);
	return rc ? rc : gfp_parse(str_get(&text), fn, arg);
}

static int name_send(void *arg, u64 mask, const char *name)
{
	return capture_enum(arg, GFP_SET, mask, name);
}

static int name_count(void *arg, u64 mask, const char *name)
{
	(void)arg;
	(void)mask;
	(void)name;
	return 0;
}

int gfp_tell(struct capture *c, bool send)
{
	int rc = gfp_read(send ? name_send : name_count, c);
	char missing[64];

	snprintf(missing, sizeof(missing), "%.30s; tracefs, mounted, as root", strerror(-rc));
	return capture_method(c, "names of allocation flags",
		rc < 0 ? NULL : "format of a tracepoint", rc < 0 ? missing : NULL);
}
