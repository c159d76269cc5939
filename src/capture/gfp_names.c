/* See gfp.h. */
#include "capture/gfp_names.h"

#include <errno.h>
#include <string.h>

#include "sys/kernel/print_fmt.h"
#include "sys/kernel/tracefs.h"
#include "sys/root.h"

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

/*
 * As include/linux/gfp.h of 5.10, and gfp_types.h of 6.1 to 6.18, in the order of
 * include/trace/events/mmflags.h. GFP_ATOMIC lost a bit in 6.3, GFP_NOWAIT got one in 6.7, GFP_DMA
 * and GFP_DMA32 got underscores: both are here, and the first that fits is shown. Bits from
 * 0x800000 on differ from release to release: they have no name here.
 */
static const struct {
	u32 mask;
	const char *name;
} table[] = {
	{0x1c24ca, "GFP_TRANSHUGE"},
	{0x1c20ca, "GFP_TRANSHUGE_LIGHT"},
	{0x100cca, "GFP_HIGHUSER_MOVABLE"},
	{0x100cc2, "GFP_HIGHUSER"},
	{0x100cc0, "GFP_USER"},
	{0x400cc0, "GFP_KERNEL_ACCOUNT"},
	{0xcc0, "GFP_KERNEL"},
	{0xc40, "GFP_NOFS"},
	{0xa20, "GFP_ATOMIC"},
	{0x820, "GFP_ATOMIC"},
	{0xc00, "GFP_NOIO"},
	{0x2800, "GFP_NOWAIT"},
	{0x800, "GFP_NOWAIT"},
	{0x1, "__GFP_DMA"},
	{0x1, "GFP_DMA"},
	{0x2, "__GFP_HIGHMEM"},
	{0x4, "__GFP_DMA32"},
	{0x4, "GFP_DMA32"},
	{0x20, "__GFP_HIGH"},
	{0x200, "__GFP_ATOMIC"},
	{0x40, "__GFP_IO"},
	{0x80, "__GFP_FS"},
	{0x2000, "__GFP_NOWARN"},
	{0x4000, "__GFP_RETRY_MAYFAIL"},
	{0x8000, "__GFP_NOFAIL"},
	{0x10000, "__GFP_NORETRY"},
	{0x40000, "__GFP_COMP"},
	{0x100, "__GFP_ZERO"},
	{0x80000, "__GFP_NOMEMALLOC"},
	{0x20000, "__GFP_MEMALLOC"},
	{0x100000, "__GFP_HARDWALL"},
	{0x200000, "__GFP_THISNODE"},
	{0x10, "__GFP_RECLAIMABLE"},
	{0x8, "__GFP_MOVABLE"},
	{0x400000, "__GFP_ACCOUNT"},
	{0x1000, "__GFP_WRITE"},
	{0xc00, "__GFP_RECLAIM"},
	{0x400, "__GFP_DIRECT_RECLAIM"},
	{0x800, "__GFP_KSWAPD_RECLAIM"},
};

static int gfp_names_table_read(int (*fn)(void *arg, u64 mask, const char *name), void *arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		int rc = fn(arg, table[i].mask, table[i].name);

		if (rc < 0)
			return rc;
	}
	return (int)ARRAY_SIZE(table);
}

int gfp_read(int (*fn)(void *arg, u64 mask, const char *name), void *arg, const char **ret_method)
{
	_cleanup_str_ struct str text = {};
	char dir[PATH_MAX];
	int rc = tracefs_find(dir);

	if (!rc)
		rc = sys_read(&text, "%s/events/vmscan/mm_vmscan_direct_reclaim_begin/format", dir);
	*ret_method = rc ? "table of Linux 5.10 to 6.18" : "format of a tracepoint";
	return rc ? gfp_names_table_read(fn, arg) : gfp_parse(str_get(&text), fn, arg);
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
	const char *method;
	int rc = gfp_read(send ? name_send : name_count, c, &method);

	return capture_method(c, "names of allocation flags", rc < 0 ? NULL : method,
		rc < 0 ? "the format of vmscan:mm_vmscan_direct_reclaim_begin" : NULL);
}
