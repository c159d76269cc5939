/* See numa_object.h. */
#include "probes/numa/try/numa_object.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/units.h"
#include "sys/process/maps.h"
#include "sys/process/move_pages.h"
#include "sys/process/proc.h"

#define DIRECTORY "/run/memwhy"
#define MAGIC 0x31797274616d756eULL /* "numatry1" */
#define PAGES_MAX (1UL << 26)       /* 256 GiB of small pages */

static int range_set(struct numa_object_pages *o, const struct mapping *m, u64 start, u64 end)
{
	u64 page = (u64)sysconf(_SC_PAGESIZE);

	o->start = start / page * page;
	o->end = (end + page - 1) / page * page;
	snprintf(o->name, sizeof(o->name), "%.63s", m && m->path[0] ? m->path : "anonymous memory");
	return 0;
}

/* "0x…": a range, or an address within a mapping. 1: it is something else. */
static int address_find(
	const struct maps *maps, const char *text, struct numa_object_pages *o, struct err *err)
{
	char *rest;
	u64 start = strtoull(text, &rest, 16), end = 0;
	const struct mapping *m;

	if (strncmp(text, "0x", 2) || rest == text)
		return 1;
	m = maps_find(maps, start);
	if (!m)
		return err_set(err, -EINVAL, "%.60s: nothing is mapped there", text);
	if (*rest == '-') {
		end = strtoull(rest + 1, &rest, 16);
	} else if (*rest == '+') {
		if (parse_size(rest + 1, &end))
			return err_set(err, -EINVAL, "%.60s: not a size after +", text);
		end += start;
		rest = "";
	} else {
		return range_set(o, m, m->start, m->end);
	}
	if (*rest || end <= start || end > m->end)
		return err_set(err, -EINVAL, "%.60s: not a range within one mapping", text);
	return range_set(o, m, start, end);
}

static bool numa_object_name_matches(const struct mapping *m, const char *text)
{
	size_t len = strlen(m->path), want = strlen(text);

	return want && len >= want && !strcmp(m->path + len - want, text) &&
	       (len == want || m->path[len - want - 1] == '/');
}

static int name_find(
	const struct maps *maps, const char *text, struct numa_object_pages *o, struct err *err)
{
	const struct mapping *found = NULL;

	vec_each (m, &maps->list) {
		if (!(m->prot & MAPPING_WRITE) || !numa_object_name_matches(m, text))
			continue;
		if (found) {
			err_set(err, -EINVAL, "%.60s: several mappings have that name", text);
			return err_hint(err, "name one by its address: 0x%llx", m->start);
		}
		found = m;
	}
	if (found)
		return range_set(o, found, found->start, found->end);
	err_set(err, -EINVAL, "%.60s: no writable mapping of process %d", text, o->pid);
	return err_hint(err, "0xADDRESS, 0xFROM-0xTO, [heap], or the name of a file");
}

int numa_object_find(int pid, const char *text, struct numa_object_pages *ret, struct err *err)
{
	_cleanup_maps_ struct maps maps = {};
	struct numa_object_pages o = {.pid = pid};
	struct proc_stat st;
	int rc = maps_read(pid, &maps);

	if (!rc)
		rc = proc_stat_read(pid, &st);
	if (rc)
		return err_errno(err, rc, "process %d", pid);
	o.starttime = st.starttime_ticks;
	rc = address_find(&maps, text, &o, err);
	if (rc == 1)
		rc = name_find(&maps, text, &o, err);
	if (!rc)
		*ret = o;
	return rc;
}

int numa_object_look(struct numa_object_pages *o, struct err *err)
{
	u64 page = (u64)sysconf(_SC_PAGESIZE);
	size_t n = (o->end - o->start) / page, kept = 0;
	int rc = 0;

	if (n > PAGES_MAX)
		return err_set(err, -E2BIG, "%zu pages: name a smaller range", n);
	o->addresses.n = o->nodes.n = 0;
	for (size_t i = 0; i < n && !rc; i++) {
		rc = vec_push(&o->addresses, o->start + i * page);
		rc = rc ? rc : vec_push(&o->nodes, -1);
	}
	if (!rc)
		rc = pages_ask(o->pid, o->addresses.v, n, o->nodes.v);
	if (rc)
		return err_errno(err, rc, "asking for the pages of process %d", o->pid);
	for (size_t i = 0; i < n; i++)
		if (o->nodes.v[i] >= 0) {
			o->addresses.v[kept] = o->addresses.v[i];
			o->nodes.v[kept++] = o->nodes.v[i];
		}
	o->addresses.n = o->nodes.n = kept;
	return 0;
}

void numa_object_count(const struct numa_object_pages *o, u64 *ret_pages, size_t n)
{
	memset(ret_pages, 0, n * sizeof(*ret_pages));
	vec_each (node, &o->nodes)
		if (*node >= 0 && (size_t)*node < n)
			ret_pages[*node]++;
}

int numa_object_move(struct numa_object_pages *o, const int *targets, int *ret_why, struct err *err)
{
	size_t n = o->addresses.n;
	int *status = calloc(n + 1, sizeof(*status));
	int rc = status ? pages_move(o->pid, o->addresses.v, targets, n, status) : -ENOMEM;

	*ret_why = 0;
	for (size_t i = 0; i < n && !rc && !*ret_why; i++)
		if (status[i] < 0)
			*ret_why = status[i];
	free(status);
	if (!rc)
		rc = pages_ask(o->pid, o->addresses.v, n, o->nodes.v);
	return rc ? err_errno(err, rc, "moving pages of process %d", o->pid) : 0;
}

struct saved {
	u64 magic, pid, starttime, start, end, pages;
	char name[64];
};

static void numa_object_path_of(int pid, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, DIRECTORY "/numa-try-%d", pid);
}

static int saved_write(FILE *f, const struct numa_object_pages *o)
{
	struct saved s = {MAGIC, (u64)o->pid, o->starttime, o->start, o->end, o->addresses.n, ""};
	size_t n = o->addresses.n;

	memcpy(s.name, o->name, sizeof(s.name));
	if (fwrite(&s, sizeof(s), 1, f) != 1 || fwrite(o->addresses.v, sizeof(u64), n, f) != n ||
		fwrite(o->nodes.v, sizeof(int), n, f) != n || fflush(f))
		return -EIO;
	return 0;
}

int numa_object_save(const struct numa_object_pages *o, struct err *err)
{
	char path[PATH_MAX];
	struct stat st;
	FILE *f;
	int fd, rc;

	numa_object_path_of(o->pid, path);
	if (mkdir(DIRECTORY, 0700) && errno != EEXIST)
		return err_errno(err, -errno, DIRECTORY);
	if (lstat(DIRECTORY, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
		st.st_mode & 0022)
		return err_set(err, -EPERM, DIRECTORY " is not a directory of ours alone");
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && errno == EEXIST) {
		err_set(err, -EEXIST, "pages of process %d were already moved", o->pid);
		return err_hint(err, "memwhy numa try -p %d --undo", o->pid);
	}
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return err_errno(err, -errno, "%s", path);
	rc = saved_write(f, o);
	if (fclose(f) && !rc)
		rc = -EIO;
	if (rc)
		unlink(path);
	return rc ? err_errno(err, rc, "%s", path) : 0;
}

static int saved_read(FILE *f, int pid, struct numa_object_pages *o)
{
	struct saved s;
	int rc = 0;

	if (fread(&s, sizeof(s), 1, f) != 1 || s.magic != MAGIC || s.pid != (u64)pid ||
		s.pages > PAGES_MAX)
		return -EINVAL;
	*o = (struct numa_object_pages){
		.pid = pid, .starttime = s.starttime, .start = s.start, .end = s.end};
	snprintf(o->name, sizeof(o->name), "%.63s", s.name);
	for (u64 i = 0, a; i < s.pages && !rc; i++)
		rc = fread(&a, sizeof(a), 1, f) == 1 ? vec_push(&o->addresses, a) : -EINVAL;
	for (u64 i = 0; i < s.pages && !rc; i++) {
		int node;

		rc = fread(&node, sizeof(node), 1, f) == 1 ? vec_push(&o->nodes, node) : -EINVAL;
	}
	return rc;
}

int numa_object_load(int pid, struct numa_object_pages *ret, struct err *err)
{
	struct numa_object_pages o = {};
	char path[PATH_MAX];
	struct proc_stat st;
	FILE *f;
	int rc;

	numa_object_path_of(pid, path);
	f = fopen(path, "re");
	if (!f)
		return err_set(err, -ENOENT, "nothing of process %d was moved by numa try", pid);
	rc = saved_read(f, pid, &o);
	fclose(f);
	if (!rc && (proc_stat_read(pid, &st) || st.starttime_ticks != o.starttime)) {
		unlink(path);
		numa_object_free(&o);
		return err_set(
			err, -ESRCH, "process %d is not the one whose pages were moved", pid);
	}
	if (rc) {
		numa_object_free(&o);
		return err_errno(err, rc, "%s", path);
	}
	*ret = o;
	return 0;
}

void numa_object_forget(int pid)
{
	char path[PATH_MAX];

	numa_object_path_of(pid, path);
	unlink(path);
}

void numa_object_free(struct numa_object_pages *o)
{
	vec_free(&o->addresses);
	vec_free(&o->nodes);
}
