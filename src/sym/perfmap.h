/*
 * Names of code that programs make at run time (Java, Node.js, .NET, Python with -X perf): they
 * write them to /tmp/perf-PID.map, a line for each function: address, size, name. Looked for in the
 * process's own root directory, by the process id that it has in its namespace. Anybody may write
 * to /tmp: a file counts only if it belongs to root, to us or to the user of the process, and its
 * owner's account in the budget pays for it.
 */
#ifndef MEMWHY_SYM_PERFMAP_H
#define MEMWHY_SYM_PERFMAP_H

#include "sym/names_budget.h"

struct perf_maps;

/* The budget is borrowed. */
int perf_maps_new(struct sym_budget *budget, struct perf_maps **ret);
void perf_maps_free(struct perf_maps *p);
/* Code without a file was seen in a process: opens its map, which outlives it. */
void perf_maps_sight(struct perf_maps *p, u32 pid);
/* Names will be asked for: files that have grown are read again, once. */
void perf_maps_pass_begin(struct perf_maps *p);
/* Gives back what is known of processes that had ended the last time: what they did may be reported
 * again. */
void perf_maps_forget_ended(struct perf_maps *p);
/* The function at an address of a process; good until the next call. -ENOENT. */
int perf_maps_find(
	struct perf_maps *p, u32 pid, u64 address, const char **ret_name, u64 *ret_offset);

/* The map of a process, to be read elsewhere: borrowed, good until the next call. -ENOENT: it has
 * none that counts. */
int perf_maps_file(struct perf_maps *p, u32 pid, int *ret_fd);
/* It could not be read within the budget: counted once for its owner. */
void perf_maps_leave_out(struct perf_maps *p, u32 pid);

/* The lines of one map. */
struct perf_map;

/* Reads one for the account of its owner, whom *ret_user names. *ret_bytes of the budget are taken
 * until the map is freed, also when this fails. -EFBIG, -ETIMEDOUT: over the budget. */
int perf_map_read(
	int fd, struct sym_budget *budget, struct perf_map **ret, u64 *ret_bytes, u32 *ret_user);

/* What is not of the form is left out. Takes the malloc()ed text, in every case; there is room for
 * a NUL behind its n bytes. */
int perf_map_parse(char *text, size_t n, struct perf_map **ret);
/* Bytes that a map of this text takes at most, with the text. */
u64 perf_map_bytes(const char *text, size_t n);
void perf_map_free(struct perf_map *m);
/* Where ranges overlap, the one that begins last, and of these the one written last. -ENOENT. */
int perf_map_find(const struct perf_map *m, u64 address, const char **ret_name, u64 *ret_offset);

#endif
