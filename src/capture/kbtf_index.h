/*
 * The kernel's BTF as a whole: read through once, for all that ask, and then known by what types
 * it has where. The format is in Documentation/bpf/btf.rst of the kernel.
 */
#ifndef MEMWHY_CAPTURE_KBTF_INDEX_H
#define MEMWHY_CAPTURE_KBTF_INDEX_H

#include <bpf/btf.h>

#include "base/vec.h"

#define KBTF_TYPE_MAX (32U << 10) /* bytes of one type: members of the largest struct */
#define KBTF_TRACEPOINT_PREFIX "btf_trace_"
#define KBTF_ITERATOR_PREFIX "bpf_iter_"

struct kbtf_named {
	u32 id, name_off;
};

struct kbtf_index {
	int fd;
	char *map; /* the whole file where the kernel lets it be mapped (6.16), else NULL */
	size_t map_size;
	struct btf_header h;
	const char *strings; /* all of them: in the map, or */
	char *copy;
	VEC(u32) offsets;             /* of each type from the start of the types; [0] is void */
	VEC(struct kbtf_named) named; /* structs, unions and enums that have a name */
	VEC(u32) tracepoints;         /* typedefs btf_trace_NAME */
	VEC(u32) iterators;           /* functions bpf_iter_NAME */
	u32 percpu;                   /* the section of per-CPU variables; 0: none */
};

/* Is it of a kind that is wanted by its name, and has one? */
static inline bool kbtf_is_named(const struct btf_type *t)
{
	return t->name_off && (btf_is_composite(t) || btf_is_any_enum(t));
}

/* 0, or -errno: there is none, or it makes no sense. It stays until kbtf_forget() (kbtf.h). */
int kbtf_index_get(const struct kbtf_index **ret);
/* "" for what is no string. */
const char *kbtf_index_name(const struct kbtf_index *x, u32 off);
/* A type, in buf of KBTF_TYPE_MAX bytes. NULL: there is none, or it is larger. */
const struct btf_type *kbtf_index_type(const struct kbtf_index *x, u32 id, char *buf);

#endif
