/*
 * See real.h. Symbols are looked up in the loader's own list of objects, not by dlsym(): that one
 * may itself ask for memory, and is in another library on older systems.
 */
#include "tracker/real.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>

#include "tracker/calls.h"

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));
extern unsigned long getauxval(unsigned long type) __attribute__((weak));
extern struct r_debug _r_debug __attribute__((weak));
extern void *__libc_stack_end __attribute__((weak)); /* of glibc's loader */

struct object {
	u64 base;
	const ElfW(Sym) * symbols;
	const char *strings;
	const u32 *gnu_hash;
	const u32 *sysv_hash;
	const u16 *versions; /* NULL: none */
};

/* Of a symbol: it is one of an older interface, for programs that were linked with that. */
#define VERSION_OLD 0x8000

#define NEW_ONLY 0
#define OLD_TOO 1

/* Some loaders relocate these pointers in place, others do not. */
static const void *object_pointer(const struct object *o, u64 at)
{
	return (const void *)(at < o->base ? at + o->base : at);
}

static void object_read(struct object *o, const struct link_map *map)
{
	*o = (struct object){.base = map->l_addr};
	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
		const void *p = object_pointer(o, d->d_un.d_ptr);

		if (d->d_tag == DT_SYMTAB)
			o->symbols = p;
		else if (d->d_tag == DT_STRTAB)
			o->strings = p;
		else if (d->d_tag == DT_GNU_HASH)
			o->gnu_hash = p;
		else if (d->d_tag == DT_HASH)
			o->sysv_hash = p;
		else if (d->d_tag == DT_VERSYM)
			o->versions = p;
	}
}

static void *symbol_value(const struct object *o, u32 i, const char *name, int old)
{
	const ElfW(Sym) *s = &o->symbols[i];
	void *at = (void *)(o->base + s->st_value);

	if (!s->st_shndx || !s->st_value || !text_equal(o->strings + s->st_name, name))
		return NULL;
	if (!old && o->versions && o->versions[i] & VERSION_OLD)
		return NULL;
	if (ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC)
		return ((void *(*)(void))at)();
	return at;
}

static void *gnu_lookup(const struct object *o, const char *name, int old)
{
	u32 n_buckets = o->gnu_hash[0], first = o->gnu_hash[1], n_bloom = o->gnu_hash[2];
	const u32 *buckets = o->gnu_hash + 4 + 2 * n_bloom, *chain = buckets + n_buckets;
	u32 hash = 5381, at;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	at = n_buckets ? buckets[hash % n_buckets] : 0;
	for (; at >= first && at; at++) {
		u32 h = chain[at - first];
		void *found = (h | 1) == (hash | 1) ? symbol_value(o, at, name, old) : NULL;

		if (found || h & 1)
			return found;
	}
	return NULL;
}

static void *object_search(const struct object *o, const char *name, int old)
{
	if (!o->symbols || !o->strings)
		return NULL;
	if (o->gnu_hash)
		return gnu_lookup(o, name, old);
	for (u32 i = 0; o->sysv_hash && i < o->sysv_hash[1]; i++) {
		void *found = symbol_value(o, i, name, old);

		if (found)
			return found;
	}
	return NULL;
}

/* glibc's libc_malloc_debug.so has only old ones. */
static void *object_lookup(const struct object *o, const char *name)
{
	void *found = object_search(o, name, NEW_ONLY);

	return found ? found : object_search(o, name, OLD_TOO);
}

/* The program's headers, how many, and what its addresses were moved by. */
static const ElfW(Phdr) * program_headers(u64 *ret_n, u64 *ret_base)
{
	const ElfW(Phdr) *p = getauxval ? (const void *)getauxval(AT_PHDR) : NULL;

	*ret_n = p ? getauxval(AT_PHNUM) : 0;
	*ret_base = 0;
	for (u64 i = 0; i < *ret_n; i++)
		if (p[i].p_type == PT_PHDR)
			*ret_base = (u64)p - p[i].p_vaddr;
	return p;
}

uint64_t real_program(void)
{
	u64 n, base;
	const ElfW(Phdr) *p = program_headers(&n, &base);

	for (u64 i = 0; i < n; i++)
		if (p[i].p_type == PT_LOAD && !p[i].p_offset)
			return base + p[i].p_vaddr;
	return 0;
}

/* The kernel's word for it: field 28 of /proc/PID/stat; the second is in parentheses. */
static u64 stack_of_kernel(void)
{
	long fd = call(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC), n;
	char text[1024];
	u32 field = 2;
	u64 value = 0;

	n = fd < 0 ? 0 : call(SYS_read, fd, text, sizeof(text));
	if (fd >= 0)
		call(SYS_close, fd);
	for (long i = n - 1; i >= 0; i--)
		if (text[i] == ')') {
			for (; i < n && field <= 28; i++)
				if (text[i] == ' ')
					field++;
				else if (field == 28 && text[i] >= '0' && text[i] <= '9')
					value = 10 * value + (u64)(text[i] - '0');
			break;
		}
	return value;
}

uint64_t real_stack(void)
{
	static u64 stack;
	static int looked;

	if (!looked) {
		stack = &__libc_stack_end ? (u64)__libc_stack_end : stack_of_kernel();
		looked = 1;
	}
	return stack;
}

/* Where loaders leave it for debuggers: in the dynamic section of the program. */
static const struct r_debug *debug_of_program(void)
{
	u64 n, base;
	const ElfW(Phdr) *p = program_headers(&n, &base);
	const ElfW(Dyn) *d = NULL;

	for (u64 i = 0; i < n; i++)
		if (p[i].p_type == PT_DYNAMIC)
			d = (const void *)(base + p[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_DEBUG)
			return (const void *)d->d_un.d_ptr;
	return NULL;
}

const struct link_map *real_objects(void)
{
	const struct r_debug *d = &_r_debug ? &_r_debug : NULL;

	if (!d || !d->r_map)
		d = debug_of_program();
	return d ? d->r_map : NULL;
}

/* In the first object behind us that has it. */
void *real_function(const char *name, int *ret_allocator)
{
	const struct link_map *map = real_objects();

	while (map && map->l_ld != _DYNAMIC)
		map = map->l_next;
	for (map = map ? map->l_next : NULL; map; map = map->l_next) {
		struct object o;
		void *found;

		object_read(&o, map);
		found = object_lookup(&o, name);
		if (found) {
			*ret_allocator = object_lookup(&o, "malloc") != NULL;
			return found;
		}
	}
	return NULL;
}

static void *first_malloc(size_t size)
{
	real_find();
	return real.malloc == first_malloc ? NULL : real.malloc(size);
}

static void *first_calloc(size_t n, size_t size)
{
	real_find();
	return real.calloc == first_calloc ? NULL : real.calloc(n, size);
}

static void *first_realloc(void *p, size_t size)
{
	real_find();
	return real.realloc == first_realloc ? NULL : real.realloc(p, size);
}

static void first_free(void *p)
{
	real_find();
	if (real.free != first_free)
		real.free(p);
}

struct real real = {
	.malloc = first_malloc,
	.calloc = first_calloc,
	.realloc = first_realloc,
	.free = first_free,
};

#define FIND(member, name)                                             \
	do {                                                           \
		int allocator_;                                        \
		void *found_ = real_function(name, &allocator_);       \
		if (found_)                                            \
			real.member = (__typeof__(real.member))found_; \
	} while (0)

void real_find(void)
{
	FIND(usable_size, "malloc_usable_size");
	FIND(memalign, "memalign");
	FIND(aligned_alloc, "aligned_alloc");
	FIND(posix_memalign, "posix_memalign");
	FIND(valloc, "valloc");
	FIND(pvalloc, "pvalloc");
	FIND(dlclose, "dlclose");
	FIND(prctl, "prctl");
	FIND(mlockall, "mlockall");
	FIND(mmap, "mmap");
	FIND(munmap, "munmap");
	FIND(mprotect, "mprotect");
	FIND(pkey_mprotect, "pkey_mprotect");
	FIND(madvise, "madvise");
	FIND(shmat, "shmat");
	FIND(shmdt, "shmdt");
	FIND(mremap, "mremap");
	FIND(brk, "brk");
	FIND(sbrk, "sbrk");
	FIND(free, "free");
	FIND(realloc, "realloc");
	FIND(calloc, "calloc");
	FIND(malloc, "malloc");
}
