/*
 * The few kernel types that BPF programs read, out of the kernel's BTF. libbpf would load all of
 * it for each object (5 MB, kept twice while parsing, and 10 ms and more); this streams through it
 * once, for all objects, and builds a BTF of just the types an object names.
 */
#ifndef MEMWHY_CAPTURE_KBTF_H
#define MEMWHY_CAPTURE_KBTF_H

#include "base/groups.h"

struct btf;

/* Can the kernel's BTF be read? */
bool kbtf_available(void);
/*
 * Builds a BTF with the kernel's structs, unions and enums that have the name of one in `local`
 * ("name___flavour" counts as "name"). Without kernel BTF it is empty: each relocation then finds
 * nothing. -ENOMEM, -EINVAL if the kernel's BTF makes no sense. Freed by the caller.
 */
int kbtf_extract(const struct btf *local, struct btf **ret);

/* Calls fn for each value of this enum. How many, 0: it is not known, or what fn returned below 0.
 */
int kbtf_enum(const char *name, int (*fn)(void *arg, u64 value, const char *name), void *arg);

/* The type id of the iterator bpf_iter_NAME, by its whole name; 0: there is none. */
u32 kbtf_iterator(const char *name);
/* Where a member of a struct begins, in bytes; below 0: it is not known. */
int kbtf_offset(const char *type, const char *member);

#define KBTF_TRACEPOINT 64 /* longest name of a tracepoint, with its NUL */

/* The number of arguments (u32) of each tracepoint, by its name in KBTF_TRACEPOINT bytes. */
int kbtf_tracepoints(struct groups *ret);
/* Where per-CPU variables lie in their section; all of them, or -ENODATA. */
int kbtf_percpu(const char *const *names, size_t n, u64 *ret);
/* The type id of one of them, as instructions of a program name it; 0: there is none. */
u32 kbtf_percpu_id(const char *name);
/* Frees what was kept of the kernel's BTF; the next that asks reads it again. */
void kbtf_forget(void);
/* Does the kernel's BTF have a type, member or enumerator of this name? */
bool kbtf_has_name(const char *name);
/* Do raw tracepoints run with preemption on? Known from BTF only: false without. */
bool kbtf_raw_is_preemptible(void);

#endif
