/*
 * Structures that runtimes and allocators keep about their heaps, recognised by relations between
 * their numbers, without symbols or version numbers. Each function looks at bytes of another
 * process and says whether they are such a structure. 64 bit.
 *
 * Which versions that was held against, docs/where.md says. Others are read where they look the
 * same.
 */
#ifndef MEMWHY_SYS_HEAPS_H
#define MEMWHY_SYS_HEAPS_H

#include "base/util.h"

/* system == total_reserve, committed + unmapped == system, committed == total_commit -
 * total_decommit. */
struct heap_tcmalloc {
	u64 system_bytes, free_bytes, unmapped_bytes, committed_bytes;
};
bool heap_tcmalloc_find(const u64 *words, size_t n, struct heap_tcmalloc *ret);

/* Go: gcController. Fields: in use, released, free; bytes ever allocated and freed; and memory that
 * the runtime may use, which together with the released memory is all of the heap's mappings (that
 * many bytes) and a little more. If several candidates fit, including the one in ret, the largest
 * wins. */
struct heap_go {
	u64 used_bytes, released_bytes, free_bytes, live_bytes;
};
bool heap_go_find(const u64 *words, size_t n, u64 mapped_bytes, struct heap_go *ret);

/* A pool of CPython's allocator, by its first bytes. */
#define HEAP_PYTHON_HEAD 48
struct heap_python {
	u32 pool_bytes, arena, block_bytes, blocks;
};
bool heap_python_pool(const void *head, struct heap_python *ret);

/* A segment of mimalloc at this address, by its first bytes. */
#define HEAP_MIMALLOC_HEAD 49152
#define HEAP_MIMALLOC_ALIGN (32ULL << 20)
#define HEAP_MIMALLOC_SLICE (64ULL << 10)
#define HEAP_MIMALLOC_SLICES 512
struct heap_mimalloc {
	u64 bytes, used_bytes;
	u8 idle[HEAP_MIMALLOC_SLICES]; /* 1: a slice with no block in use */
};
bool heap_mimalloc_segment(const u64 *words, size_t n, struct heap_mimalloc *ret);

/* A chunk of V8's at this address. */
#define HEAP_V8_HEAD 64
#define HEAP_V8_ALIGN (256ULL << 10)
struct heap_v8 {
	u64 bytes, used_bytes;
	bool young;
};
bool heap_v8_chunk(const u64 *words, u64 address, struct heap_v8 *ret);

/* An arena of jemalloc's, HEAP_JEMALLOC_ARENA bytes from its start. */
#define HEAP_JEMALLOC_ARENA 87136
#define HEAP_JEMALLOC_UNKNOWN (-2)
struct heap_jemalloc {
	u64 active_bytes, dirty_bytes, muzzy_bytes, retained_bytes, used_bytes;
	s64 decay_ms; /* of dirty pages; -1: never; HEAP_JEMALLOC_UNKNOWN */
};
bool heap_jemalloc_arena(const u64 *words, size_t n, struct heap_jemalloc *ret);
/* Quick: may the two words at HEAP_JEMALLOC_DIRTY from the start be an arena's? */
#define HEAP_JEMALLOC_DIRTY 20480
bool heap_jemalloc_may_be(const u64 *two);

#endif
