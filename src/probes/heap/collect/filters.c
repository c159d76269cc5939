/* See filters.h. */
#include "probes/heap/collect/filters.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "base/vec.h"
#include "capture/embedded.h"
#include "capture/object.h"
#include "sys/process/proc.h"

/* Without address space randomisation several programs have one key, and share a place. */
struct filters_program {
	u64 key;
	struct filter_at at;
	u32 users;
};

struct filters {
	struct bpf_object *obj;
	struct bpf_link *link;
	int programs, marks;
	struct filter_row *over; /* FILTER_ROWS */
	u32 users[FILTER_ROWS];  /* keys */
	u16 generation[FILTER_ROWS];
	u16 generations; /* never 0 */
	u32 next;
	VEC(struct filters_program) known;
};

/* Programs get the descriptor of the marks: from here on only the kernel writes to them. */
static int marks_find(struct filters *f)
{
	int over = bpf_object__find_map_fd_by_name(f->obj, "over");
	void *at = mmap(NULL, FILTER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, over, 0);

	if (at == MAP_FAILED)
		return -errno;
	f->over = at;
	f->programs = bpf_object__find_map_fd_by_name(f->obj, "programs");
	f->marks = bpf_object__find_map_fd_by_name(f->obj, "marks");
	return bpf_map_freeze(f->marks) ? -errno : 0;
}

int filters_open(struct filters **ret)
{
	struct filters *f;
	struct bpf_program *prog;
	int rc = object_may_load();

	if (rc)
		return rc;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	rc = object_open(embedded_find("filters"), &f->obj);
	if (!rc) {
		prog = bpf_object__find_program_by_name(f->obj, "filters_note");
		rc = prog ? bpf_program__set_autoload(prog, true) : -ENOENT;
		rc = rc ? rc : bpf_object__load(f->obj);
		f->link = rc ? NULL : bpf_program__attach(prog);
		rc = rc ? rc : f->link ? marks_find(f) : -errno;
	}
	if (rc)
		filters_close(f);
	else
		*ret = f;
	return rc;
}

void filters_close(struct filters *f)
{
	if (!f)
		return;
	if (f->over)
		munmap(f->over, FILTER_BYTES);
	bpf_link__destroy(f->link);
	bpf_object__close(f->obj);
	vec_free(&f->known);
	free(f);
}

int filters_fd(const struct filters *f)
{
	return f ? f->marks : -1;
}

static struct filters_program *program_find(struct filters *f, u64 key)
{
	vec_each (p, &f->known)
		if (p->key == key)
			return p;
	return NULL;
}

/* One that nobody has, or where all are taken one that others have too. */
static struct filter_at place_choose(struct filters *f)
{
	u32 row = f->next++ % FILTER_ROWS;

	for (u32 i = 0; i < FILTER_ROWS && f->users[row]; i++)
		row = f->next++ % FILTER_ROWS;
	if (!f->users[row]) {
		memset(&f->over[row], 0, sizeof(f->over[row]));
		f->generations += f->generations == UINT16_MAX ? 2 : 1;
		f->generation[row] = f->generations;
	}
	return (struct filter_at){.row = row, .generation = f->generation[row]};
}

struct filter_at filters_add(struct filters *f, pid_t pid, u64 *ret_key)
{
	struct filters_program new = {.users = 1}, *p;
	struct filter_at none = {};
	struct proc_stat st;

	*ret_key = 0;
	if (!f || proc_stat_read((int)pid, &st) || st.start_stack <= 1)
		return none;
	p = program_find(f, st.start_stack);
	if (p) {
		p->users++;
		*ret_key = p->key;
		return p->at;
	}
	new.key = st.start_stack;
	new.at = place_choose(f);
	if (vec_push(&f->known, new))
		return none;
	if (bpf_map_update_elem(f->programs, &new.key, &new.at, BPF_ANY)) {
		f->known.n--;
		return none;
	}
	f->users[new.at.row]++;
	*ret_key = new.key;
	return new.at;
}

void filters_drop(struct filters *f, u64 key)
{
	struct filters_program *p = f && key ? program_find(f, key) : NULL;

	if (!p || --p->users)
		return;
	bpf_map_delete_elem(f->programs, &p->key);
	f->users[p->at.row]--;
	*p = f->known.v[--f->known.n];
}

void filters_forget(struct filters *f, u64 key, u32 pid)
{
	struct filters_program *p = f && key ? program_find(f, key) : NULL;

	if (p)
		__atomic_store_n(&f->over[p->at.row].mark[filter_place(pid)],
			filter_mark(p->at.generation, pid), __ATOMIC_RELEASE);
}
