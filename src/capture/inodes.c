/* See inodes.h. */
#include "capture/inodes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "capture/embedded.h"
#include "capture/object.h"

#define TRIES 3 /* of a file system that changes meanwhile */

struct inodes {
	struct bpf_object *obj;
	int prog, walk, found, groups;
	struct groups seen; /* of one walk */
};

int inodes_open(struct inodes **ret)
{
	struct inodes *s = calloc(1, sizeof(*s));
	struct bpf_program *prog;
	int rc = s ? object_may_load() : -ENOMEM;

	if (!rc)
		rc = object_open(embedded_find("inodes"), &s->obj);
	if (!rc) {
		prog = bpf_object__find_program_by_name(s->obj, "inodes_run");
		rc = prog ? bpf_program__set_autoload(prog, true) : -ENOENT;
		if (!rc)
			rc = bpf_object__load(s->obj);
		if (!rc)
			s->prog = bpf_program__fd(prog);
	}
	if (rc) {
		inodes_close(s);
		return rc;
	}
	s->walk = bpf_object__find_map_fd_by_name(s->obj, "walk");
	s->found = bpf_object__find_map_fd_by_name(s->obj, "found");
	s->groups = bpf_object__find_map_fd_by_name(s->obj, "groups");
	groups_init(&s->seen, sizeof(u64), sizeof(struct inodes_group));
	*ret = s;
	return 0;
}

void inodes_close(struct inodes *s)
{
	if (!s)
		return;
	groups_free(&s->seen);
	bpf_object__close(s->obj);
	free(s);
}

static int inodes_program_run(struct inodes *s, struct inodes_walk *w)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	u32 zero = 0;
	int rc;

	if (bpf_map_update_elem(s->walk, &zero, w, BPF_ANY))
		return -errno;
	rc = bpf_prog_test_run_opts(s->prog, &opts);
	if (!rc && bpf_map_lookup_elem(s->walk, &zero, w))
		rc = -errno;
	return rc;
}

static int files_take(struct inodes *s, u32 n, const struct inodes_taker *t)
{
	struct inodes_file f;
	int rc = 0;

	for (u32 i = 0; i < n && !rc; i++) {
		if (bpf_map_lookup_elem(s->found, &i, &f))
			return -errno;
		f.n = MIN(f.n, (u16)INODES_PATH);
		f.path[INODES_PATH - 1] = '\0';
		rc = t->file(t->arg, &f);
	}
	return rc;
}

/* Takes them out of the map. to NULL: forgets them. */
static int groups_take(struct inodes *s, struct groups *to)
{
	struct inodes_group g, *sum;
	u64 id;

	while (!bpf_map_get_next_key(s->groups, NULL, &id)) {
		if (!bpf_map_lookup_elem(s->groups, &id, &g) && to) {
			sum = groups_get(to, &id);
			if (!sum)
				return -ENOMEM;
			sum->files += g.files;
			sum->pages += g.pages;
			if (g.dying && !sum->dying) {
				sum->dying = 1;
				memcpy(sum->name, g.name, sizeof(sum->name));
				sum->name[INODES_NAME - 1] = '\0';
			}
		}
		if (bpf_map_delete_elem(s->groups, &id))
			return -errno;
	}
	return 0;
}

/* Once over the list. */
static int walk_once(
	struct inodes *s, struct inodes_walk *w, const struct inodes_taker *t, bool *ret_late)
{
	int rc = 0;

	*ret_late = false;
	do {
		rc = inodes_program_run(s, w);
		if (!rc)
			rc = files_take(s, w->found, t);
		*ret_late = clock_ns(CLOCK_THREAD_CPUTIME_ID) > t->until_ns;
	} while (!rc && !w->ended && !*ret_late);
	return rc;
}

int inodes_walk(struct inodes *s, int fd, enum inodes_of of, const struct inodes_taker *t,
	struct inodes_sum *ret)
{
	struct inodes_walk w = {};
	bool late = false;
	int rc = 0;

	for (int i = 0; i < TRIES && !rc && !late && w.ended != 1; i++) {
		w = (struct inodes_walk){
			.fd = (u32)fd, .of = of, .least = t->least, .pinned = t->pinned};
		t->begin(t->arg);
		rc = groups_take(s, NULL);
		if (!rc)
			rc = walk_once(s, &w, t, &late);
	}
	if (!rc)
		rc = groups_take(s, t->groups);
	*ret = (struct inodes_sum){w.sb, w.looked, w.files, w.pages, w.ended != 1};
	return rc;
}

u64 inodes_of(struct inodes *s, int fd, enum inodes_of of)
{
	struct inodes_walk w = {.fd = (u32)fd, .of = of, .peek = 1};

	return inodes_program_run(s, &w) ? 0 : w.sb;
}

void inodes_path(const struct inodes_file *f, char *ret, size_t size)
{
	size_t at = f->n, len = 0;

	ret[0] = '\0';
	while (at && len + 1 < size) {
		size_t start = at - 1; /* the zero behind the name */
		int n;

		while (start && f->path[start - 1])
			start--;
		at = start;
		if (f->path[start] == '/' && !f->path[start + 1])
			continue;
		n = snprintf(ret + len, size - len, "/%s", f->path + start);
		len += n < 0 ? 0 : (size_t)n;
	}
}
