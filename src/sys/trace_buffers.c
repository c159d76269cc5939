/* See trace_buffers.h. Formats: kernel/trace/trace.c, 5.10 to 6.18. */
#include "sys/trace_buffers.h"

#include <dirent.h>
#include <stdint.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "sys/tracefs.h"

#define INSTANCES_MAX 256

void trace_buffers_free(struct trace_buffers *t)
{
	vec_free(&t->list);
}

u64 trace_buffer_size_parse(const char *text)
{
	char *end;
	u64 kb = strtoull(text, &end, 10);

	if (end == text || *text < '0' || *text > '9' || kb > UINT64_MAX >> 10)
		return 0;
	return kb << 10;
}

static u64 size_read(const char *dir, const char *name, struct str *text)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", dir, name);

	if (n < 0 || (size_t)n >= sizeof(path) || file_read(path, text))
		return 0;
	return trace_buffer_size_parse(str_get(text));
}

static bool is_on(const char *dir, struct str *text)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/tracing_on", dir);

	return n > 0 && (size_t)n < sizeof(path) && !file_read(path, text) &&
	       str_get(text)[0] == '1';
}

static int buffer_add(struct trace_buffers *ret, const char *dir, const char *instance)
{
	_cleanup_str_ struct str text = {};
	struct trace_buffer b = {};

	b.bytes = size_read(dir, "buffer_total_size_kb", &text);
	if (!b.bytes)
		return 0;
	b.cpu_bytes = size_read(dir, "buffer_size_kb", &text);
	b.on = is_on(dir, &text);
	snprintf(b.instance, sizeof(b.instance), "%s", instance);
	snprintf(b.directory, sizeof(b.directory), "%s", dir);
	return vec_push(&ret->list, b);
}

static int instances_add(struct trace_buffers *ret, const char *dir)
{
	char path[PATH_MAX];
	const struct dirent *e;
	int rc = 0;
	DIR *d;

	if (snprintf(path, sizeof(path), "%s/instances", dir) >= (int)sizeof(path))
		return 0;
	d = opendir(path);
	while (d && !rc && ret->list.n < INSTANCES_MAX && (e = readdir(d))) {
		char instance[PATH_MAX];

		if (e->d_name[0] == '.' || snprintf(instance, sizeof(instance), "%s/%s", path,
						   e->d_name) >= (int)sizeof(instance))
			continue;
		rc = buffer_add(ret, instance, e->d_name);
	}
	if (d)
		closedir(d);
	return rc;
}

int trace_buffers_read(struct trace_buffers *ret)
{
	char dir[PATH_MAX];
	int rc;

	ret->list.n = 0;
	if (tracefs_find(dir))
		return 0;
	ret->mounted = strncmp(dir, "/proc/", strlen("/proc/")) != 0;
	rc = buffer_add(ret, dir, "");
	return rc ? rc : instances_add(ret, dir);
}
