/* See trace_buffers.h. Formats: kernel/trace/trace.c, 5.10 to 6.18. */
#include "sys/kernel/trace_buffers.h"

#include <dirent.h>
#include <stdint.h>
#include <string.h>

#include "sys/kernel/tracefs.h"
#include "sys/root.h"
#include "sys/scan.h"

#define INSTANCES_MAX 256
#define TRACE_DIR "/sys/kernel/tracing"

void trace_buffers_free(struct trace_buffers *t)
{
	vec_free(&t->list);
}

u64 trace_buffer_size_parse(const char *text)
{
	struct scan s = scan_text(text);
	u64 kb;

	if (*text == ' ' || !scan_u64(&s, &kb) || scan_lit(&s, "(") || kb > UINT64_MAX >> 10)
		return 0;
	return kb << 10;
}

/* at: "" or "/instances/NAME" */
static u64 size_read(const char *at, const char *name, struct str *text)
{
	return sys_read(text, TRACE_DIR "%s/%s", at, name) ? 0
							   : trace_buffer_size_parse(str_get(text));
}

static int buffer_add(struct trace_buffers *ret, const char *dir, const char *instance)
{
	_cleanup_str_ struct str text = {};
	struct trace_buffer b = {};
	char at[NAME_MAX + sizeof("/instances/")] = "";
	int n;

	if (instance[0])
		snprintf(at, sizeof(at), "/instances/%s", instance);
	b.bytes = size_read(at, "buffer_total_size_kb", &text);
	n = snprintf(b.directory, sizeof(b.directory), "%s%s", dir, at);
	if (!b.bytes || n < 0 || (size_t)n >= sizeof(b.directory))
		return 0;
	b.cpu_bytes = size_read(at, "buffer_size_kb", &text);
	b.on = !sys_read(&text, TRACE_DIR "%s/tracing_on", at) && str_get(&text)[0] == '1';
	snprintf(b.instance, sizeof(b.instance), "%s", instance);
	return vec_push(&ret->list, b);
}

static int instances_add(struct trace_buffers *ret, const char *dir)
{
	char path[PATH_MAX];
	const struct dirent *e;
	DIR *d = sys_path(path, TRACE_DIR "/instances") ? NULL : opendir(path);
	int rc = 0;

	while (d && !rc && ret->list.n < INSTANCES_MAX && (e = readdir(d)))
		if (e->d_name[0] != '.')
			rc = buffer_add(ret, dir, e->d_name);
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
