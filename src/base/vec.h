/*
 * A growable array of any type. `VEC(struct row) rows = {}; vec_push(&rows, row);`
 * vec_push returns 0 or -ENOMEM (nothing is changed then).
 */
#ifndef MEMWHY_BASE_VEC_H
#define MEMWHY_BASE_VEC_H

#include <errno.h>

#include "base/util.h"

#define VEC(type)           \
	struct {            \
		type *v;    \
		size_t n;   \
		size_t cap; \
	}

/* The next capacity with room for n elements. */
static inline size_t vec_capacity(size_t cap, size_t n)
{
	size_t want = cap ? cap * 2 : 16;

	while (want < n)
		want *= 2;
	return want;
}

/* Makes room for `more` elements of `size` bytes behind the first n. */
static inline int vec_grow(void **v, size_t *cap, size_t n, size_t more, size_t size)
{
	size_t want;
	void *grown;

	if (n + more <= *cap)
		return 0;
	want = vec_capacity(*cap, n + more);
	grown = reallocarray(*v, want, size);
	if (!grown)
		return -ENOMEM;
	*v = grown;
	*cap = want;
	return 0;
}

/* Room for `more` elements, to be filled in place: 0 or -ENOMEM. */
#define vec_reserve(vec, more)                                                              \
	({                                                                                  \
		__auto_type res_ = (vec);                                                   \
		vec_grow((void **)&res_->v, &res_->cap, res_->n, more, sizeof(res_->v[0])); \
	})

#define vec_push(vec, item)                          \
	({                                           \
		__auto_type vec_ = (vec);            \
		int rc_ = vec_reserve(vec_, 1);      \
		if (!rc_)                            \
			vec_->v[vec_->n++] = (item); \
		rc_;                                 \
	})

/* Both must come from one declaration: each VEC() is a type of its own. */
#define vec_swap(a, b)                \
	({                            \
		__auto_type a_ = (a); \
		__auto_type b_ = (b); \
		__auto_type t_ = *a_; \
		*a_ = *b_;            \
		*b_ = t_;             \
	})

#define vec_free(vec)                     \
	({                                \
		__auto_type vec_ = (vec); \
		free(vec_->v);            \
		vec_->v = NULL;           \
		vec_->n = vec_->cap = 0;  \
	})

#define vec_each(p, vec) \
	for (__typeof__(*(vec)->v) *p = (vec)->v; p && p < (vec)->v + (vec)->n; p++)

#endif
