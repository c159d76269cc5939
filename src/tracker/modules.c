/* See modules.h. */
#include "tracker/modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>

#include "tracker/forbid.h"
#include "tracker/real.h"

/* The file that was last seen at an address; an entry is of one address for good. */
#define SEEN 1024
#define PROBES 16
static struct seen {
	u64 start; /* 0: free */
	u64 id;
	u32 when; /* what forgotten was */
} seen[SEEN];
static u32 forgotten = 1;
static u64 others; /* of all changes of id */

#define HEAD_WORDS 128 /* of a file: headers and, mostly, its build id */

#define PATH_BYTES 1024
#define WORD_BYTES 7 /* of a path in a word, above the bits that are 0 */

/* Of a file whose head is mapped: at its base, or where a program with fixed addresses has it. */
static u64 head_of(const struct link_map *map)
{
	return map->l_addr ? map->l_addr : real_program();
}

static int loaded_read(const struct link_map *map, u64 place, struct loaded *ret)
{
	struct loaded o = {.start = head_of(map), .map = map};
	const ElfW(Ehdr) *e = (const void *)o.start;
	const ElfW(Phdr) * p;

	if (!o.start || place < o.start || e->e_ident[0] != 0x7f || e->e_ident[1] != 'E')
		return 0;
	p = (const void *)(o.start + e->e_phoff);
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

#if __has_include(<bits/dl_find_object.h>)
extern int _dl_find_object(void *place, struct dl_find_object *ret) __attribute__((weak));

/* Of a file with holes between its segments glibc tells of one segment: without the head, mostly.
 */
static int tracker_modules_is_whole(const struct loaded *o)
{
	u64 header = (u64)o->eh_frame_header;

	return o->start == head_of(o->map) && (!header || (header >= o->start && header < o->end));
}

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
	/* The head is looked at only where it is mapped, as a part of the same file. */
	if (!tracker_modules_is_whole(ret) && !_dl_find_object((void *)head_of(ret->map), &o) &&
		o.dlfo_link_map == ret->map)
		loaded_read(ret->map, place, ret);
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

int loaded_find(u64 place, struct loaded *ret)
{
	if (HAS_FAST)
		return find_fast(place, ret);
	for (const struct link_map *map = real_objects(); map; map = map->l_next)
		if (loaded_read(map, place, ret))
			return 1;
	return 0;
}

static u64 id_of(const struct loaded *o)
{
	const u64 *head = (const u64 *)o->start;
	u64 id = mix(0, o->start);

	for (const char *c = o->map->l_name; c && *c; c++)
		id = mix(id, (u8)*c);
	for (u32 i = 0; i < HEAD_WORDS; i++)
		id = mix(id, head[i]);
	return id;
}

void loaded_note(const struct loaded *o)
{
	u32 now = __atomic_load_n(&forgotten, __ATOMIC_ACQUIRE);

	for (u32 i = 0; i < PROBES; i++) {
		struct seen *s = &seen[(mix(0, o->start) + i) % SEEN];
		u64 start = 0, id, was;

		if (!__atomic_compare_exchange_n(
			    &s->start, &start, o->start, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) &&
			start != o->start)
			continue;
		if (start && s->when == now)
			return;
		id = id_of(o);
		was = __atomic_exchange_n(&s->id, id, __ATOMIC_ACQ_REL);
		if (was && was != id)
			__atomic_xor_fetch(&others, was ^ id, __ATOMIC_ACQ_REL);
		s->when = now;
		return;
	}
}

u64 loaded_others(void)
{
	return __atomic_load_n(&others, __ATOMIC_ACQUIRE);
}

void loaded_forget(void)
{
	__atomic_add_fetch(&forgotten, 1, __ATOMIC_ACQ_REL);
}

/* A line of /proc/self/maps: the path, if it is of the mapping that begins at `start`. 0: not so.
 */
static u32 tracker_modules_line_take(
	const char *line, const char *end, u64 start, char path[PATH_BYTES])
{
	u64 at = 0;
	u32 n = 0;

	for (; line < end && *line != '-'; line++)
		at = at << 4 | (u64)(*line <= '9' ? *line - '0' : *line - 'a' + 10);
	while (line < end && *line != '/')
		line++;
	if (at != start || end - line >= PATH_BYTES)
		return 0;
	while (line + n < end)
		path[n] = line[n], n++;
	return n;
}

/* What the kernel knows of a file that the program opened by a relative name. */
static u32 mapping_read(u64 start, char path[PATH_BYTES])
{
	long fd = may_call(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC), got;
	char text[2 * PATH_BYTES];
	u32 had = 0, n = 0;

	while (fd >= 0 && !n && had < sizeof(text) &&
		(got = may_call(SYS_read, fd, text + had, sizeof(text) - had)) > 0) {
		u32 line = 0;

		had += (u32)got;
		for (u32 i = 0; i < had && !n; i++)
			if (text[i] == '\n') {
				n = tracker_modules_line_take(text + line, text + i, start, path);
				line = i + 1;
			}
		for (u32 i = line; i < had; i++)
			text[i - line] = text[i];
		had -= line;
	}
	if (fd >= 0)
		may_call(SYS_close, fd);
	return n;
}

/* Of files whose paths and numbers can no longer be asked for. */
static struct known_file {
	u64 start;
	u64 dev, ino;
} known[SEEN / 8];
static u32 known_n;
static char known_program[PATH_BYTES];

/* The path of the program's own file. */
static u32 program_read(char path[PATH_BYTES])
{
	long n;

	if (!calls_are_forbidden()) {
		n = may_call(SYS_readlink, "/proc/self/exe", path, PATH_BYTES - 1);
		return n > 0 && path[0] == '/' ? (u32)n : 0;
	}
	for (n = 0; known_program[n]; n++)
		path[n] = known_program[n];
	return (u32)n;
}

/* The path of a file; the program itself has no name, or that it was called by. 0: it is no file,
 * or not known. */
static u32 path_read(const struct loaded *o, char path[PATH_BYTES])
{
	const char *name = o->map->l_name;
	u32 n = 0;

	if (name && *name == '/') {
		while (n < PATH_BYTES && name[n])
			path[n] = name[n], n++;
		return n < PATH_BYTES ? n : 0;
	}
	if (name && *name && o->map->l_prev)
		return calls_are_forbidden() ? 0 : mapping_read(o->start, path);
	return program_read(path);
}

static void file_numbers(const struct loaded *o, const char *path, u64 *ret_dev, u64 *ret_ino)
{
	struct stat st = {};

	may_call(SYS_stat, path, &st);
	*ret_dev = st.st_dev;
	*ret_ino = st.st_ino;
	for (u32 i = 0; i < known_n && calls_are_forbidden(); i++)
		if (known[i].start == o->start)
			*ret_dev = known[i].dev, *ret_ino = known[i].ino;
}

void loaded_prepare(void)
{
	const struct link_map *map = real_objects();
	char path[PATH_BYTES];
	u32 n = program_read(known_program);

	known_program[n] = 0;
	known_n = 0;
	for (; map && known_n < sizeof(known) / sizeof(known[0]); map = map->l_next) {
		struct loaded o = {.start = head_of(map), .map = map};
		struct known_file *f = &known[known_n];

		n = o.start ? path_read(&o, path) : 0;
		if (!n)
			continue;
		path[n] = 0;
		f->start = o.start;
		file_numbers(&o, path, &f->dev, &f->ino);
		known_n++;
	}
}

/* One part that is code. */
static int part_put(struct thread *t, const u64 head[5], const char *path, u32 n)
{
	u32 words = 5 + (n + WORD_BYTES - 1) / WORD_BYTES;
	u64 at;

	if (!thread_reserve_aside(t, words + 1, &at))
		return 0;
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
	return 1;
}

int loaded_tell(struct thread *t, const struct loaded *o)
{
	const ElfW(Ehdr) *e = (const void *)o->start;
	char path[PATH_BYTES];
	const ElfW(Phdr) * p;
	u32 n = path_read(o, path);
	u64 dev, ino;
	int ok = 1;

	if (!n || e->e_ident[0] != 0x7f || e->e_phentsize != sizeof(*p))
		return 1;
	path[n] = 0;
	file_numbers(o, path, &dev, &ino);
	p = (const void *)(o->start + e->e_phoff);
	for (u32 i = 0; i < e->e_phnum && ok; i++) {
		u64 start = o->map->l_addr + p[i].p_vaddr;
		u64 head[5] = {start, start + p[i].p_memsz, p[i].p_offset, dev, ino};

		if (p[i].p_type == PT_LOAD && p[i].p_flags & PF_X)
			ok = part_put(t, head, path, n);
	}
	return ok;
}
