/*
 * The address map of one process: which module, and where in it, an instruction pointer lies in.
 * Fed mapping by mapping, from /proc/PID/maps or from mmap events, in the order they happened.
 * Must not know what is inside a module.
 */
#ifndef MEMWHY_SYM_PROCESS_MAP_H
#define MEMWHY_SYM_PROCESS_MAP_H

#include "sym/module.h"

struct map_ranges;

struct process_map {
	pid_t pid;
	struct module_table *modules; /* borrowed */
	struct map_ranges *ranges;    /* shared with forked maps until one changes */
};

/* Where an address lies. For MODULE_ID_ANON (and all that is no file) the offset of memory
 * without a file is the address itself; for the vdso it is the distance from its start. */
struct map_hit {
	u32 module;
	u64 offset; /* in the file */
};

void process_map_init(struct process_map *map, struct module_table *modules, pid_t pid);
void process_map_free(struct process_map *map);
/* Maps [start, end), over whatever was there. path NULL or "": no file; dev as makedev() of what
 * the kernel reports, ino 0 if not known. -EINVAL for an empty range. */
int process_map_add(struct process_map *map, u64 start, u64 end, u64 file_offset, u64 dev, u64 ino,
	const char *path);
/* munmap. */
int process_map_remove(struct process_map *map, u64 start, u64 end);
/* exec: nothing is mapped any more. */
void process_map_reset(struct process_map *map);
/* fork: an initialised child map becomes the same as the parent's. Cheap. */
void process_map_fork(struct process_map *child, const struct process_map *parent);
/* -ENOENT: nothing is mapped there. */
int process_map_find(const struct process_map *map, u64 ip, struct map_hit *ret);
/* The other way: the first address at which a module's offset is mapped; 0: it is not. */
u64 process_map_address(const struct process_map *map, u32 module, u64 offset);
/* The i-th mapping by address: i below process_map_count. */
void process_map_get(const struct process_map *map, size_t i, u64 *ret_start, u64 *ret_end,
	struct map_hit *ret_at_start);
size_t process_map_count(const struct process_map *map);

/* Adds the executable mappings of text in the form of /proc/PID/maps; what is not of that form is
 * skipped. Returns how many lines were skipped, or -errno. */
int process_map_parse(struct process_map *map, const char *text);
/* Replaces the map with what /proc/PID/maps says now. -ENOENT, -ESRCH: the process has ended, or
 * has no memory of its own; the map is unchanged. */
int process_map_read(struct process_map *map);

#define _cleanup_process_map_ _cleanup_(process_map_free)

#endif
