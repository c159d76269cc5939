/* See kconfig.h. */
#include "sys/kernel/kconfig.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <zlib.h>

#include "sys/root.h"
#include "sys/scan.h"

#define KCONFIG_MAX (8UL << 20)

static int gz_read(gzFile gz, struct str *out)
{
	char buf[16384];
	int n;

	while ((n = gzread(gz, buf, sizeof(buf))) > 0) {
		if (out->len + (size_t)n > KCONFIG_MAX)
			return -EFBIG;
		str_addn(out, buf, (size_t)n);
	}
	if (n < 0)
		return -EBADMSG;
	return out->failed ? -ENOMEM : 0;
}

/* gzopen() reads a file that is not compressed as it is. */
static int config_read(const char *path, struct str *out)
{
	gzFile gz = gzopen(path, "rbe");
	int rc;

	if (!gz)
		return errno ? -errno : -ENOMEM;
	rc = gz_read(gz, out);
	/* A file cut short shows only here. */
	if (gzclose_r(gz) == Z_BUF_ERROR && !rc)
		rc = -EBADMSG;
	return rc;
}

int kconfig_load(struct str *out)
{
	struct utsname name;
	char path[PATH_MAX];
	int rc;

	str_clear(out);
	rc = sys_path(path, "/proc/config.gz");
	if (!rc)
		rc = config_read(path, out);
	if (rc != -ENOENT || uname(&name))
		return rc;
	rc = sys_path(path, "/boot/config-%s", name.release);
	return rc ? rc : config_read(path, out);
}

/* What is behind "CONFIG_<name>" at the cursor, or false. */
static bool option_match(struct scan *s, const char *name)
{
	struct scan at = *s;

	if (!scan_lit(&at, "CONFIG_") || scan_len(&at) < strlen(name) ||
		memcmp(at.p, name, strlen(name)) != 0)
		return false;
	at.p += strlen(name);
	*s = at;
	return true;
}

static bool line_match(struct scan s, const char *name, struct scan *ret_value)
{
	static const char no[] = "n";

	if (scan_lit(&s, "# ")) {
		*ret_value = scan_text(no);
		return option_match(&s, name) && scan_lit(&s, "is not set");
	}
	if (!option_match(&s, name) || scan_done(&s) || *s.p != '=')
		return false;
	s.p++;
	if (scan_len(&s) >= 2 && s.p[0] == '"' && s.end[-1] == '"') {
		s.p++;
		s.end--;
	}
	*ret_value = s;
	return true;
}

int kconfig_get(const char *config, const char *name, char *ret, size_t size)
{
	struct scan value;
	struct scan s;

	if (!strncmp(name, "CONFIG_", 7))
		name += 7;
	while (scan_line(&config, &s)) {
		if (!line_match(s, name, &value))
			continue;
		if (scan_len(&value) >= size)
			return -ERANGE;
		scan_copy(&value, ret, size);
		return 0;
	}
	return -ENOENT;
}
