/* See numa_data.h. */
#include "probes/numa/capture/numa_data.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/names/names.h"
#include "capture/reader/reader_variables.h"
#include "sym/rootfs.h"

#define VARIABLE_BYTES 16 /* smaller ones are not told apart */
#define RANGES_MAX 1024   /* of one process */

struct numa_data_space {
	VEC(struct numa_data_range) list;
};

void numa_data_init(struct numa_data *d)
{
	groups_init(&d->spaces, sizeof(u32), sizeof(struct numa_data_space *));
}

static void space_free(struct numa_data_space *s)
{
	if (!s)
		return;
	vec_each (r, &s->list)
		free(r->path);
	vec_free(&s->list);
	free(s);
}

void numa_data_free(struct numa_data *d)
{
	for (size_t i = 0; i < d->spaces.n; i++)
		space_free(*(struct numa_data_space **)groups_value(&d->spaces, i));
	groups_free(&d->spaces);
}

static struct numa_data_space *space_find(const struct numa_data *d, u32 tgid)
{
	struct numa_data_space **at = groups_find(&d->spaces, &tgid);

	return at ? *at : NULL;
}

static struct numa_data_space *numa_data_space_get(struct numa_data *d, u32 tgid)
{
	struct numa_data_space **at = groups_get(&d->spaces, &tgid);

	if (at && !*at)
		*at = calloc(1, sizeof(**at));
	return at ? *at : NULL;
}

void numa_data_drop(struct numa_data *d, u32 tgid)
{
	struct numa_data_space **at = groups_find(&d->spaces, &tgid);

	if (!at)
		return;
	space_free(*at);
	*at = NULL;
}

const struct numa_data_range *numa_data_ranges(const struct numa_data *d, u32 tgid, size_t *ret_n)
{
	const struct numa_data_space *s = space_find(d, tgid);

	*ret_n = s ? s->list.n : 0;
	return s ? s->list.v : NULL;
}

static int numa_data_range_add(
	struct numa_data_space *s, const struct numa_data_range *r, const char *path)
{
	struct numa_data_range copy = *r;

	if (s->list.n >= RANGES_MAX)
		return 0;
	copy.path = strdup(path);
	if (!copy.path || vec_push(&s->list, copy)) {
		free(copy.path);
		return -ENOMEM;
	}
	return 0;
}

int numa_data_mapping(struct numa_data *d, const struct numa_mapping *m, const char *path)
{
	struct numa_data_range r = {.start = m->start,
		.end = m->start + m->bytes,
		.offset = m->offset,
		.inode = m->inode,
		.time_ns = m->h.time_ns};
	struct numa_data_space *s;

	if (m->kind == MAPPING_FILE && path && path[0] == '/' && m->prot & 2 && !m->shared) {
		s = numa_data_space_get(d, m->tgid);
		return s ? numa_data_range_add(s, &r, path) : -ENOMEM;
	}
	s = m->kind == MAPPING_ANON ? space_find(d, m->tgid) : NULL;
	if (!s)
		return 0;
	/* .bss goes on where the file's bytes end. */
	vec_each (data, &s->list)
		if (data->end == m->start)
			data->end = r.end;
	return 0;
}

void numa_data_fork(struct numa_data *d, u32 child, u32 parent)
{
	struct numa_data_space *from, *to;

	numa_data_drop(d, child);
	to = numa_data_space_get(d, child);
	from = space_find(d, parent);
	if (!from || !to)
		return;
	/* Of those told, the analysis knows that the child has them too. */
	vec_each (r, &from->list)
		if (numa_data_range_add(to, r, r->path))
			break;
}

/* As the process sees it; of one that has ended, as we do, if it is the same file. */
int numa_data_open(u32 tgid, const struct numa_data_range *r, int *ret_fd)
{
	int root = ROOT_OURS, fd, rc;
	bool own = !root_open((pid_t)tgid, &root);
	struct stat st;

	rc = root_open_file(own ? root : ROOT_OURS, r->path, &fd);
	if (own)
		close(root);
	if (rc)
		return rc;
	if (fstat(fd, &st) || st.st_ino != r->inode) {
		close(fd);
		return -ESTALE;
	}
	*ret_fd = fd;
	return 0;
}

static int variables_send(struct capture *c, u32 tgid, const struct numa_data_range *r,
	const struct elf_variables *v, u64 bias)
{
	u32 file = names_string(c->names, r->path);
	int rc = 0;

	for (size_t i = 0; i < v->list.n && !rc; i++) {
		struct numa_variable var =
			REC_INIT(struct numa_variable, REC_NUMA_VARIABLE, r->time_ns);

		var.tgid = tgid;
		var.start = v->list.v[i].address + bias;
		var.bytes = v->list.v[i].size;
		var.section = v->list.v[i].bss ? NUMA_BSS : NUMA_DATA;
		if (var.start < r->start || var.start >= r->end)
			continue;
		var.name = names_string(c->names, v->list.v[i].name);
		var.file = file;
		rc = capture_emit(c, &var.h);
	}
	return rc;
}

/* A file that cannot be read has no variables: its accesses are of its data as a whole. */
static int range_tell(
	struct numa_data *d, struct capture *c, u32 tgid, const struct numa_data_range *r)
{
	_cleanup_reader_variables_ struct reader_variables v = {};
	_cleanup_close_ int fd = -1;
	u64 bias;
	int rc = numa_data_open(tgid, r, &fd);

	rc = rc ? rc : reader_variables(c->reader, fd, STT_OBJECT, VARIABLE_BYTES, &v);
	if ((rc == -EBADMSG || rc == -ESRCH) && !d->unread) {
		d->unread = true;
		rc = capture_note(c, NOTE_WARNING,
			"variables of some files have no names: the process that read the files "
			"died, or took too long");
		return rc;
	}
	rc = rc ? rc : elf_variables_bias(&v.file, r->offset, r->start, &bias);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	return variables_send(c, tgid, r, &v.variables, bias);
}

int numa_data_sample(struct numa_data *d, struct capture *c, u32 tgid, u64 address)
{
	struct numa_data_space *s = space_find(d, tgid);

	if (!s)
		return 0;
	vec_each (r, &s->list)
		if (!r->told && address >= r->start && address < r->end) {
			r->told = true;
			return range_tell(d, c, tgid, r);
		}
	return 0;
}
