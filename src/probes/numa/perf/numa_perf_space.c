/* See numa_perf_space.h. */
#include "probes/numa/perf/numa_perf_space.h"

#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <xxhash.h>

#include "probes/numa/perf/numa_perf.h"
#include "sym/elffile.h"
#include "sym/rootfs.h"

#define INODE_OTHER (~0ULL) /* of no file: names are not looked up in what has this path now */
#define SPACES_MAX 65536    /* processes */

/* Its name and the release of its kernel; that it is the same boot is found out by the kernel's
 * address. */
static bool host_is_ours(const struct perfdata_host *h)
{
	struct utsname u;

	return !uname(&u) && h->hostname && h->release && !strcmp(h->hostname, u.nodename) &&
	       !strcmp(h->release, u.release);
}

void perf_spaces_init(struct perf_spaces *s, const struct perfdata_host *host, struct names *names)
{
	*s = (struct perf_spaces){.host = host, .names = names};
	groups_init(&s->by_pid, sizeof(u32), sizeof(struct process_map *));
	groups_init(&s->files, sizeof(XXH128_hash_t), sizeof(u32));
	groups_init(&s->build_ids, sizeof(XXH128_hash_t), sizeof(u32));
}

void perf_spaces_begin(struct perf_spaces *s)
{
	s->same_host = host_is_ours(s->host);
}

void perf_spaces_end(struct perf_spaces *s)
{
	if (!s->kernel_known)
		names_kernel_is_other(s->names);
}

void perf_spaces_free(struct perf_spaces *s)
{
	for (size_t i = 0; i < s->by_pid.n; i++) {
		struct process_map *m = *(struct process_map **)groups_value(&s->by_pid, i);

		if (m)
			process_map_free(m);
		free(m);
	}
	groups_free(&s->by_pid);
	groups_free(&s->files);
	groups_free(&s->build_ids);
}

/* No process of ours: pid 0 has no /proc, where another process may have its number now. */
static struct process_map *numa_perf_space_get(struct perf_spaces *s, u32 pid)
{
	struct process_map **m = groups_find(&s->by_pid, &pid);

	if (m || s->by_pid.n >= SPACES_MAX)
		return m ? *m : NULL;
	m = groups_get(&s->by_pid, &pid);
	if (!m)
		return NULL;
	*m = malloc(sizeof(**m));
	if (*m)
		process_map_init(*m, names_modules(s->names), 0);
	return *m;
}

/* The features that came since are taken into account: in a pipe they are records. */
static const struct perfdata_build_id *build_id_find(struct perf_spaces *s, const char *path)
{
	XXH128_hash_t key;
	u32 *slot;

	for (; s->build_ids_seen < s->host->build_ids.n; s->build_ids_seen++) {
		const char *name = s->host->build_ids.v[s->build_ids_seen].path;

		key = XXH3_128bits(name, strlen(name));
		slot = groups_get(&s->build_ids, &key);
		if (slot)
			*slot = (u32)s->build_ids_seen + 1;
	}
	key = XXH3_128bits(path, strlen(path));
	slot = groups_find(&s->build_ids, &key);
	return slot && *slot ? &s->host->build_ids.v[*slot - 1] : NULL;
}

static bool file_has_build_id(const char *path, const u8 *want, size_t len)
{
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	u8 id[BUILD_ID_MAX];
	int fd, n;

	if (root_open_file(ROOT_OURS, path, &fd) || elf_file_open(fd, &file))
		return false;
	n = elf_file_build_id(&file, id);
	/* Kernels before v5.11 cut longer ones, and fill shorter ones with zeroes. */
	return n > 0 && !memcmp(id, want, MIN((size_t)n, len));
}

/* Looked at once for each path and build-id. */
static bool file_is(struct perf_spaces *s, const char *path, const u8 *id, size_t len)
{
	XXH128_hash_t key;
	u8 zero = 0;
	u32 *slot;

	key = XXH3_128bits_withSeed(path, strlen(path), XXH3_64bits(id ? id : &zero, len));
	slot = groups_get(&s->files, &key);
	if (!slot)
		return false;
	if (!*slot) {
		*slot = file_has_build_id(path, id, len) ? 1 : 2;
		s->files_other += *slot == 2;
	}
	return *slot == 1;
}

/*
 * By which inode the file at this path is to be taken for the one that was mapped. 0: whatever has
 * the path now, as its build-id is the same. Without a build-id the inode must be the same, which
 * says something only on the same machine.
 */
static u64 inode_wanted(struct perf_spaces *s, const struct perfdata_mmap *m)
{
	const struct perfdata_build_id *b;
	const u8 *id = m->build_id_len ? m->build_id : NULL;
	size_t len = m->build_id_len;

	if (m->path[0] != '/' || m->path[1] == '/')
		return 0;
	b = id ? NULL : build_id_find(s, m->path);
	if (b && b->len) {
		id = b->id;
		len = b->len;
	}
	if (id)
		return file_is(s, m->path, id, len) ? 0 : INODE_OTHER;
	return s->same_host && m->ino ? m->ino : INODE_OTHER;
}

/* The address of a symbol of the running kernel; 0: not to be had. */
static u64 kernel_symbol(const char *name)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/kallsyms", "re");
	char line[256], symbol[128];
	unsigned long long address;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %*c %127s", &address, symbol) == 2 && !strcmp(symbol, name))
			return address;
	return 0;
}

/* perf writes "[kernel.kallsyms]_text" and the symbol's address in the offset. With KASLR it is
 * another at each boot. */
static void kernel_map(struct perf_spaces *s, const struct perfdata_mmap *m)
{
	static const char prefix[] = "[kernel.kallsyms]";

	if (s->kernel_known || strncmp(m->path, prefix, sizeof(prefix) - 1) != 0)
		return;
	s->kernel_known = true;
	if (!s->same_host || kernel_symbol(m->path + sizeof(prefix) - 1) != m->file_offset)
		names_kernel_is_other(s->names);
}

int perf_spaces_map(struct perf_spaces *s, const struct perfdata_record *r)
{
	const struct perfdata_mmap *m = &r->mmap;
	bool code = r->type == PERFDATA_MMAP2 ? m->prot & 4 : !(r->misc & PERFDATA_MISC_DATA);
	const char *path = numa_perf_path(m->path);
	struct process_map *map;
	int rc;

	if (m->pid == ~0U) {
		kernel_map(s, m);
		return 0;
	}
	s->changes += code;
	map = numa_perf_space_get(s, m->pid);
	if (!map || m->len > ~m->start)
		return 0;
	if (!s->same_host && path[0] == '[')
		path = ""; /* our vdso would give it wrong names */
	if (code)
		rc = process_map_add(map, m->start, m->start + m->len, m->file_offset,
			makedev(m->major, m->minor), inode_wanted(s, m), path);
	else
		rc = process_map_remove(map, m->start, m->start + m->len);
	return rc == -ENOMEM ? rc : 0;
}

int perf_spaces_fork(struct perf_spaces *s, u32 child, u32 parent)
{
	struct process_map *from = numa_perf_space_get(s, parent),
			   *to = numa_perf_space_get(s, child);

	s->changes++;
	if (from && to && from != to)
		process_map_fork(to, from);
	return from && to ? 0 : s->by_pid.n >= SPACES_MAX ? 0 : -ENOMEM;
}

void perf_spaces_forget(struct perf_spaces *s, u32 pid)
{
	struct process_map **m = groups_find(&s->by_pid, &pid);

	s->changes++;
	if (m && *m)
		process_map_reset(*m);
}

const struct process_map *perf_spaces_of(struct perf_spaces *s, u32 pid)
{
	struct process_map **m = groups_find(&s->by_pid, &pid);

	return m ? *m : NULL;
}
