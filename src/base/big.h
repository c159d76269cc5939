/*
 * Arrays of many MiB that are read at random: VEC (base/vec.h) in huge pages, where the kernel
 * gives some to those that ask (madvise). With base pages each such read first waits for a walk of
 * the page tables, in a virtual machine of two. Small ones are like any VEC.
 *
 * Made, grown and freed by the functions below only.
 */
#ifndef MEMWHY_BASE_BIG_H
#define MEMWHY_BASE_BIG_H

#include "base/vec.h"

/* As vec_grow(). */
int big_grow(void **v, size_t *cap, size_t n, size_t more, size_t size);
void big_release(void *v, size_t cap, size_t size);

#define big_reserve(vec, more)                                                              \
	({                                                                                  \
		__auto_type res_ = (vec);                                                   \
		big_grow((void **)&res_->v, &res_->cap, res_->n, more, sizeof(res_->v[0])); \
	})

#define big_push(vec, item)                          \
	({                                           \
		__auto_type vec_ = (vec);            \
		int rc_ = big_reserve(vec_, 1);      \
		if (!rc_)                            \
			vec_->v[vec_->n++] = (item); \
		rc_;                                 \
	})

#define big_free(vec)                                                \
	({                                                           \
		__auto_type vec_ = (vec);                            \
		big_release(vec_->v, vec_->cap, sizeof(vec_->v[0])); \
		vec_->v = NULL;                                      \
		vec_->n = vec_->cap = 0;                             \
	})

#endif
