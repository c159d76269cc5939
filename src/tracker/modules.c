/* See modules.h. */
#include "tracker/modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>

#include "tracker/real.h"

#define TOLD 1024 /* told[i]: start of a file by its hash; one that falls out is told again */
static u64 told[TOLD];

#define PATH_BYTES 1024
#define WORD_BYTES 7 /* of a path in a word, above the bits that are 0 */

#if __has_include(<bits/dl_find_object.h>)
extern int _dl_find_object(void *place, struct dl_find_object *ret) __attribute__((weak));

/* Without locks, also while another thread loads a library. */
static int find_fast(u64 place, struct loaded *ret)
{
	struct dl_find_object o;

	if (_dl_find_object((void *)place, &o))
		return 0;
	*ret = (struct loaded){
		.start = (u64)o.dlfo_map_start,
		.end = (u64)o.dlfo_map_end,
		.eh_frame_header = o.dlfo_eh_frame,
		.map = o.dlfo_link_map,
	};
	return 1;
}
#define HAS_FAST (_dl_find_object != NULL)
#else
static int find_fast(u64 place, struct loaded *ret)
{
	return 0;
}
#define HAS_FAST 0
#endif

/* Of a file whose head is mapped at its base, as that of every shared object. */
static int loaded_read(const struct link_map *map, u64 place, struct loaded *ret)
{
	const ElfW(Ehdr) *e = (const void *)map->l_addr;
	struct loaded o = {.start = map->l_addr, .map = map};
	const ElfW(Phdr) * p;

	if (!map->l_addr || place < map->l_addr || e->e_ident[0] != 0x7f || e->e_ident[1] != 'E')
		return 0;
	p = (const void *)(map->l_addr + e->e_phoff);
	for (u32 i = 0; i < e->e_phnum; i++) {
		u64 start = map->l_addr + p[i].p_vaddr, end = start + p[i].p_memsz;

		if (p[i].p_type == PT_LOAD && end > o.end)
			o.end = end;
		if (p[i].p_type == PT_GNU_EH_FRAME)
			o.eh_frame_header = (const void *)start;
	}
	if (place >= o.end)
		return 0;
	*ret = o;
	return 1;
}

int loaded_find(u64 place, struct loaded *ret)
{
	if (HAS_FAST)
		return find_fast(place, ret);
	for (const struct link_map *map = real_objects(); map; map = map->l_next)
		if (loaded_read(map, place, ret))
			return 1;
	return 0;
}

/* The path of a file; the program itself has no name, or that it was called by. 0: it is no file.
 */
static u32 path_read(const struct loaded *o, char path[PATH_BYTES])
{
	const char *name = o->map->l_name;
	u32 n = 0;
	long rc;

	if (name && *name == '/') {
		while (n < PATH_BYTES && name[n])
			path[n] = name[n], n++;
		return n < PATH_BYTES ? n : 0;
	}
	if (name && *name && o->map->l_prev)
		return 0;
	rc = call(SYS_readlink, "/proc/self/exe", path, PATH_BYTES - 1);
	return rc > 0 && path[0] == '/' ? (u32)rc : 0;
}

/* One part that is code. */
static void part_put(struct thread *t, const u64 head[5], const char *path, u32 n)
{
	u32 words = 5 + (n + WORD_BYTES - 1) / WORD_BYTES;
	u64 at;

	if (!thread_reserve(t, words + 1, &at))
		return;
	for (u32 i = 0; i < 5; i++)
		thread_put(t, at + 1 + i, head[i] << TRACK_ARG_SHIFT);
	for (u32 i = 5; i < words; i++) {
		u64 word = 0;

		for (u32 k = 0; k < WORD_BYTES && (i - 5) * WORD_BYTES + k < n; k++)
			word |= (u64)(u8)path[(i - 5) * WORD_BYTES + k] << 8 * (k + 1);
		thread_put(t, at + 1 + i, word);
	}
	thread_put(t, at,
		(u64)words << TRACK_VALUE_SHIFT | TRACK_MODULE << TRACK_ARG_SHIFT | TRACK_EXTRA);
}

void loaded_tell(struct thread *t, const struct loaded *o)
{
	const ElfW(Ehdr) *e = (const void *)o->start;
	u64 *seen = &told[(o->start >> 12) % TOLD];
	char path[PATH_BYTES];
	const ElfW(Phdr) * p;
	struct stat st = {};
	u32 n;

	if (*seen == o->start)
		return;
	*seen = o->start;
	n = path_read(o, path);
	if (!n || e->e_ident[0] != 0x7f || e->e_phentsize != sizeof(*p))
		return;
	path[n] = 0;
	call(SYS_stat, path, &st);
	p = (const void *)(o->start + e->e_phoff);
	for (u32 i = 0; i < e->e_phnum; i++) {
		u64 start = o->map->l_addr + p[i].p_vaddr;
		u64 head[5] = {start, start + p[i].p_memsz, p[i].p_offset, st.st_dev, st.st_ino};

		if (p[i].p_type == PT_LOAD && p[i].p_flags & PF_X)
			part_put(t, head, path, n);
	}
}

void loaded_forget(void)
{
	for (u32 i = 0; i < TOLD; i++)
		told[i] = 0;
}
