/* See unwind_pages.h. */
#include "capture/unwind_pages.h"

#include <bpf/bpf.h>
#include <string.h>
#include <sys/mman.h>

void unwind_pages_init(struct unwind_pages *p, int map, u32 max)
{
	*p = (struct unwind_pages){.map = map, .max = max};
}

void unwind_pages_free(struct unwind_pages *p)
{
	unwind_pages_commit(p);
	for (u32 i = 0; i < p->n; i++)
		munmap(p->pages[i], sizeof(struct unwind_page));
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

static int page_add(struct unwind_pages *p)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	void *page;
	int fd, rc;

	if (p->n == p->max)
		return -ENOSPC;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_page", sizeof(u32),
		sizeof(struct unwind_page), 1, &opts);
	if (fd < 0)
		return -errno;
	page = mmap(NULL, sizeof(struct unwind_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		rc = -errno;
		close(fd);
		return rc;
	}
	p->pages[p->n] = page;
	pending_add(p, fd);
	extents_give(&p->words, p->n++ * UNWIND_PAGE_WORDS, UNWIND_PAGE_WORDS);
	return 0;
}

int unwind_pages_prepare(struct unwind_pages *p)
{
	return page_add(p);
}

int unwind_pages_take(struct unwind_pages *p, u32 n, u32 *ret_start)
{
	for (;;) {
		int rc = extents_take(&p->words, n, ret_start);

		if (rc)
			rc = page_add(p);
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

void unwind_pages_write(struct unwind_pages *p, u32 start, const u32 *words, u32 n)
{
	while (n) {
		u32 at = start % UNWIND_PAGE_WORDS;
		u32 part = MIN(n, UNWIND_PAGE_WORDS - at);

		memcpy(p->pages[start / UNWIND_PAGE_WORDS]->words + at, words,
			part * sizeof(*words));
		start += part;
		words += part;
		n -= part;
	}
}

int unwind_pages_commit(struct unwind_pages *p)
{
	int rc = 0;

	for (u32 i = 0; i < p->n_pending; i++) {
		struct unwind_pending *u = &p->pending[i];

		if (u->threaded)
			pthread_join(u->thread, NULL);
		close(u->fd);
		rc = rc ? rc : u->rc;
	}
	p->n_pending = 0;
	return rc;
}
