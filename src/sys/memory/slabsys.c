/* See slabsys.h. */
#include "sys/memory/slabsys.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "sys/root.h"
#include "sys/scan.h"

int slabsys_parse(const char *text, u64 *ret)
{
	struct scan s;

	return scan_line(&text, &s) && scan_u64(&s, ret) ? 0 : -EINVAL;
}

static int file_number(const char *cache, const char *file, u64 *ret)
{
	_cleanup_str_ struct str text = {};
	int rc = sys_read(&text, "/sys/kernel/slab/%s/%s", cache, file);

	return rc ? rc : slabsys_parse(str_get(&text), ret);
}

int slabsys_read(const char *cache, struct slabsys *ret)
{
	struct slabsys s = {};
	int rc;

	if (!cache[0] || cache[0] == '.' || strchr(cache, '/'))
		return -EINVAL;
	rc = file_number(cache, "object_size", &s.object_size);
	if (rc)
		return rc;
	slabsys_read_held(cache, &s);
	file_number(cache, "reclaim_account", &s.reclaim_account);
	*ret = s;
	return 0;
}

int slabsys_read_held(const char *cache, struct slabsys *s)
{
	s->cpu_slabs = 0;
	file_number(cache, "cpu_slabs", &s->cpu_slabs);
	return file_number(cache, "aliases", &s->aliases);
}

bool slabsys_link(const char *cache, char ret[SLABSYS_LINK_MAX])
{
	char path[PATH_MAX];
	ssize_t n;

	if (sys_path(path, "/sys/kernel/slab/%s", cache))
		return false;
	n = readlink(path, ret, SLABSYS_LINK_MAX - 1);
	if (n <= 0)
		return false;
	ret[n] = '\0';
	return true;
}
