/* See unwind_pages.h. */
#include "capture/unwind/unwind_pages.h"

#include <bpf/bpf.h>
#include <string.h>
#include <sys/mman.h>

/* What is expected is what an untrusted file says. */
#define EXPECT_MAX (8ULL * UNWIND_PAGE_WORDS)
#define ALL_BYTES (UNWIND_PAGES_MAX * sizeof(struct unwind_page))

/* Addresses for all pages, and nothing there. */
static void *nothing_map(void *at)
{
	return mmap(at, ALL_BYTES, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0), -1, 0);
}

int unwind_pages_init(struct unwind_pages *p, int map, u32 max)
{
	void *at = nothing_map(NULL);

	*p = (struct unwind_pages){.map = map, .max = max};
	if (at == MAP_FAILED)
		return -errno;
	p->at = at;
	return 0;
}

void unwind_pages_free(struct unwind_pages *p)
{
	unwind_pages_commit(p);
	if (p->at)
		munmap(p->at, ALL_BYTES);
	for (u32 i = 0; i < p->n; i++)
		close(p->fds[i]);
	extents_free(&p->words);
}

static void *pending_run(void *arg)
{
	struct unwind_pending *u = arg;

	u->rc = bpf_map_update_elem(u->map, &u->key, &u->fd, BPF_ANY) ? -errno : 0;
	return NULL;
}

static void pending_add(struct unwind_pages *p, int fd)
{
	struct unwind_pending *u = &p->pending[p->n_pending++];

	*u = (struct unwind_pending){.map = p->map, .fd = fd, .key = p->n};
	u->threaded = !pthread_create(&u->thread, NULL, pending_run, u);
	if (!u->threaded)
		pending_run(u);
}

static int unwind_page_add(struct unwind_pages *p)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd;

	if (p->n == p->max)
		return -ENOSPC;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_page", sizeof(u32),
		sizeof(struct unwind_page), 1, &opts);
	if (fd < 0)
		return -errno;
	p->fds[p->n] = fd;
	pending_add(p, fd);
	extents_give(&p->words, p->n++ * UNWIND_PAGE_WORDS, UNWIND_PAGE_WORDS);
	return 0;
}

int unwind_pages_prepare(struct unwind_pages *p)
{
	return unwind_page_add(p);
}

void unwind_pages_expect(struct unwind_pages *p, u64 words)
{
	u64 room = 0;

	vec_each (extent, &p->words.free)
		room += extent->n;
	words = MIN(words, EXPECT_MAX);
	for (; room < words && p->n < p->max; room += UNWIND_PAGE_WORDS)
		if (unwind_page_add(p)) /* then taking them fails too, and says so */
			return;
}

int unwind_pages_take(struct unwind_pages *p, u32 n, u32 *ret_start)
{
	for (;;) {
		int rc = extents_take(&p->words, n, ret_start);

		if (rc)
			rc = unwind_page_add(p);
		else
			return 0;
		if (rc)
			return rc;
	}
}

void unwind_pages_give(struct unwind_pages *p, u32 start, u32 n)
{
	extents_give(&p->words, start, n);
}

int unwind_pages_map(struct unwind_pages *p, u32 start, u32 n, u32 **ret)
{
	for (u32 i = start / UNWIND_PAGE_WORDS; n && i <= (start + n - 1) / UNWIND_PAGE_WORDS;
		i++) {
		if (!p->mapped[i] && mmap(p->at + i, sizeof(*p->at), PROT_READ | PROT_WRITE,
					     MAP_SHARED | MAP_FIXED, p->fds[i], 0) == MAP_FAILED)
			return -errno;
		p->mapped[i] = true;
	}
	*ret = p->at->words + start;
	return 0;
}

void unwind_pages_unmap(struct unwind_pages *p)
{
	if (p->at)
		nothing_map(p->at);
	memset(p->mapped, 0, sizeof(p->mapped));
}

int unwind_pages_commit(struct unwind_pages *p)
{
	int rc = 0;

	for (u32 i = 0; i < p->n_pending; i++) {
		struct unwind_pending *u = &p->pending[i];

		if (u->threaded)
			pthread_join(u->thread, NULL);
		rc = rc ? rc : u->rc;
	}
	p->n_pending = 0;
	unwind_pages_unmap(p);
	return rc;
}
