/*
 * The operators new and delete of C++. Those of libstdc++ and libc++ come to malloc and free: they
 * are left alone. A library that has both, as jemalloc, tcmalloc and mimalloc, does not go that
 * way, or for some of them only; what one gives the other takes there, so the block is malloc's.
 */
#include "tracker/foreign_blocks.h"
#include "tracker/real.h"

#define EXPORT __attribute__((visibility("default")))
#define STEP __attribute__((noinline))
#define FRAME ((const u64 *)__builtin_frame_address(0))

struct operator
{
	void *real; /* NULL: there is none */
	enum { UNKNOWN, OTHERS, ALLOCATORS } whose;
};

static STEP void operator_find(struct operator* o, const char *name)
{
	int allocator = 0;

	o->real = real_function(name, &allocator);
	__atomic_store_n(&o->whose, o->real && !allocator ? OTHERS : ALLOCATORS, __ATOMIC_RELEASE);
}

static inline int is_allocators(struct operator* o, const char *name)
{
	if (unlikely(__atomic_load_n(&o->whose, __ATOMIC_ACQUIRE) == UNKNOWN))
		operator_find(o, name);
	return o->whose == ALLOCATORS;
}

static void *aligned(size_t align, size_t size)
{
	if (!real.memalign && !real.aligned_alloc)
		real_find();
	return real.memalign        ? real.memalign(align, size)
	       : real.aligned_alloc ? real.aligned_alloc(align, size)
				    : NULL;
}

/* They are declared nowhere but here. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* Where there is no memory the real one throws, or knows what else to do. */
#define NEW(name, take, params, args)                                     \
	static struct operator real_##name;                               \
	static STEP void *told_##name params                              \
	{                                                                 \
		void *p = take;                                           \
                                                                          \
		if (!p && real_##name.real)                               \
			p = ((void *(*)params)real_##name.real)args;      \
		if (p)                                                    \
			block_told(FRAME, p, size);                       \
		return p;                                                 \
	}                                                                 \
	EXPORT void *name params                                          \
	{                                                                 \
		return is_allocators(&real_##name, #name)                 \
			       ? told_##name args                         \
			       : ((void *(*)params)real_##name.real)args; \
	}

#define DELETE(name, params, args)                               \
	static struct operator real_##name;                      \
	EXPORT void name params                                  \
	{                                                        \
		if (!is_allocators(&real_##name, #name)) {       \
			((void(*) params)real_##name.real) args; \
			return;                                  \
		}                                                \
		if (p)                                           \
			block_freed(p);                          \
		real.free(p);                                    \
	}

/* nothrow: a reference, to a value of which only the type matters. */
NEW(_Znwm, real.malloc(size), (size_t size), (size))
NEW(_Znam, real.malloc(size), (size_t size), (size))
NEW(_ZnwmRKSt9nothrow_t, real.malloc(size), (size_t size, void *nothrow), (size, nothrow))
NEW(_ZnamRKSt9nothrow_t, real.malloc(size), (size_t size, void *nothrow), (size, nothrow))
NEW(_ZnwmSt11align_val_t, aligned(align, size), (size_t size, size_t align), (size, align))
NEW(_ZnamSt11align_val_t, aligned(align, size), (size_t size, size_t align), (size, align))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, aligned(align, size),
	(size_t size, size_t align, void *nothrow), (size, align, nothrow))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, aligned(align, size),
	(size_t size, size_t align, void *nothrow), (size, align, nothrow))

DELETE(_ZdlPv, (void *p), (p))
DELETE(_ZdaPv, (void *p), (p))
DELETE(_ZdlPvm, (void *p, size_t size), (p, size))
DELETE(_ZdaPvm, (void *p, size_t size), (p, size))
DELETE(_ZdlPvRKSt9nothrow_t, (void *p, void *nothrow), (p, nothrow))
DELETE(_ZdaPvRKSt9nothrow_t, (void *p, void *nothrow), (p, nothrow))
DELETE(_ZdlPvSt11align_val_t, (void *p, size_t align), (p, align))
DELETE(_ZdaPvSt11align_val_t, (void *p, size_t align), (p, align))
DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t size, size_t align), (p, size, align))
DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t size, size_t align), (p, size, align))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t align, void *nothrow),
	(p, align, nothrow))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t align, void *nothrow),
	(p, align, nothrow))
