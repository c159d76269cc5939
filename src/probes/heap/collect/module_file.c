/* See module_file.h. */
#include "probes/heap/collect/module_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "probes/heap/account/process.h"
#include "tracker/ring.h"

enum { START, END, OFFSET, DEV, INO, PATH };

#define WORD_BYTES 7 /* of a path in a word, above the bits that are 0 */
#define MAPS_MS 20   /* many threads tell of the same files at a time */

bool module_file_read(const u64 *words, u32 n, struct module_file *ret)
{
	u32 length = 0;

	*ret = (struct module_file){};
	if (n < PATH)
		return false;
	for (u32 i = PATH; i < n; i++)
		for (u32 k = 1; k <= WORD_BYTES && length < sizeof(ret->path) - 1; k++)
			ret->path[length++] = (char)(words[i] >> 8 * k);
	ret->start = words[START] >> TRACK_ARG_SHIFT;
	ret->end = words[END] >> TRACK_ARG_SHIFT;
	ret->offset = words[OFFSET] >> TRACK_ARG_SHIFT;
	ret->dev = words[DEV] >> TRACK_ARG_SHIFT;
	ret->ino = words[INO] >> TRACK_ARG_SHIFT;
	return ret->start < ret->end;
}

static u32 path_write(u64 words[MODULE_WORDS], const char *path)
{
	u32 n = PATH;

	for (size_t left = strlen(path); left && n < MODULE_WORDS; n++) {
		words[n] = 0;
		for (u32 k = 1; k <= WORD_BYTES && left; k++, left--)
			words[n] |= (u64)(u8)*path++ << 8 * k;
	}
	return n;
}

static const struct mapping *mapping_at(struct heap_process *p, u64 address, u64 now_ms)
{
	if (!p->maps_ms || now_ms - p->maps_ms > MAPS_MS) {
		p->maps_ms = maps_read((int)p->pid, &p->maps) ? 0 : now_ms;
		if (!p->maps_ms)
			maps_free(&p->maps);
	}
	return maps_find(&p->maps, address);
}

static bool is_of_name(const char *path, const char *name)
{
	const char *last = strrchr(name, '/'), *end = strrchr(path, '/');

	if (strlen(path) >= MODULE_PATH || !end)
		return false;
	return name[0] == '/' ? !strcmp(path, name) : !strcmp(end + 1, last ? last + 1 : name);
}

/* Of one that was opened by a relative name and is gone by now. */
static u32 path_guess(const struct heap_process *p, const char *cwd, u64 words[MODULE_WORDS],
	u32 n, const char *name)
{
	char link[32], at[MODULE_PATH] = "", path[2 * MODULE_PATH];

	while (!strncmp(name, "./", 2))
		name += 2;
	snprintf(link, sizeof(link), "/proc/%u/cwd", p->pid);
	if (readlink(link, at, sizeof(at) - 1) < 0 && cwd)
		snprintf(at, sizeof(at), "%s", cwd);
	if (at[0] != '/' || !strchr(name, '.'))
		return n;
	snprintf(path, sizeof(path), "%s/%s", at, name);
	return strlen(path) < MODULE_PATH ? path_write(words, path) : n;
}

u32 module_file_complete(
	struct heap_process *p, const char *cwd, u64 words[MODULE_WORDS], u32 n, u64 now_ms)
{
	const struct mapping *m;
	struct module_file f;

	if (!module_file_read(words, n, &f) || f.ino || p->foreign)
		return n;
	m = mapping_at(p, f.start, now_ms);
	/* By now it may be another one, unless its name is the same. */
	if (!m || !m->inode || !is_of_name(m->path, f.path))
		return f.path[0] == '/' || (m && !m->inode)
			       ? n
			       : path_guess(p, cwd, words, n, f.path);
	words[DEV] = makedev(m->dev_major, m->dev_minor) << TRACK_ARG_SHIFT;
	words[INO] = m->inode << TRACK_ARG_SHIFT;
	return path_write(words, m->path);
}
