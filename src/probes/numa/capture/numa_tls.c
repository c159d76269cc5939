/* See numa_tls.h. */
#include "probes/numa/capture/numa_tls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "capture/names/names.h"
#include "capture/reader/reader_variables.h"
#include "sym/hash.h"

#define NEAR (64ULL << 20) /* below a thread pointer: accesses there may be to such variables */
#define VARIABLES_MAX 1024 /* of a process */
#define TRIES 16           /* to read what the loader has not written yet */

struct tls_thread {
	UT_hash_handle hh;
	u64 pointer; /* 0: not known */
	u64 since_ns;
	u32 tid, tgid;
	u32 told; /* of the variables of the process, the first so many */
};

struct tls_variable {
	u64 at; /* to be added to the thread pointer, modulo 2^64 */
	u64 bytes, time_ns;
	u32 name, file;
};

struct tls_space {
	VEC(struct tls_variable) variables;
	size_t looked; /* of the mappings of files, the first so many were looked at */
	u32 tries;     /* of the next one */
};

void numa_tls_init(struct numa_tls *t)
{
	t->threads = NULL;
	groups_init(&t->spaces, sizeof(u32), sizeof(struct tls_space *));
}

static void space_free(struct tls_space *s)
{
	if (s)
		vec_free(&s->variables);
	free(s);
}

void numa_tls_free(struct numa_tls *t)
{
	struct tls_thread *thread, *next;

	for (size_t i = 0; i < t->spaces.n; i++)
		space_free(*(struct tls_space **)groups_value(&t->spaces, i));
	groups_free(&t->spaces);
	HASH_ITER (hh, t->threads, thread, next) {
		HASH_DEL(t->threads, thread);
		free(thread);
	}
}

void numa_tls_drop(struct numa_tls *t, u32 tgid)
{
	struct tls_space **at = groups_find(&t->spaces, &tgid);

	if (!at)
		return;
	space_free(*at);
	*at = NULL;
}

static struct tls_space *numa_tls_space_get(struct numa_tls *t, u32 tgid)
{
	struct tls_space **at = groups_get(&t->spaces, &tgid);

	if (at && !*at)
		*at = calloc(1, sizeof(**at));
	return at ? *at : NULL;
}

static struct tls_thread *thread_get(struct numa_tls *t, u32 tid)
{
	struct tls_thread *thread;

	HASH_FIND(hh, t->threads, &tid, sizeof(tid), thread);
	if (thread)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->tid = tid;
	HASH_ADD(hh, t->threads, tid, sizeof(tid), thread);
	if (thread->hh.tbl)
		return thread;
	free(thread);
	return NULL;
}

static void thread_set(struct tls_thread *thread, u32 tgid, u64 pointer, u64 since_ns)
{
	thread->tgid = tgid;
	thread->pointer = pointer;
	thread->since_ns = since_ns;
	thread->told = 0;
}

int numa_tls_thread(struct numa_tls *t, u32 tgid, u32 tid, u64 pointer, u64 time_ns)
{
	struct tls_thread *thread = thread_get(t, tid);

	if (!thread)
		return -ENOMEM;
	thread_set(thread, tgid, pointer, time_ns);
	return 0;
}

void numa_tls_thread_drop(struct numa_tls *t, u32 tid)
{
	struct tls_thread *thread;

	HASH_FIND(hh, t->threads, &tid, sizeof(tid), thread);
	if (!thread)
		return;
	HASH_DEL(t->threads, thread);
	free(thread);
}

static bool is_program(u32 tgid, int fd)
{
	struct stat program, st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/exe", tgid);
	return !stat(path, &program) && !fstat(fd, &st) && st.st_ino == program.st_ino &&
	       st.st_dev == program.st_dev;
}

static bool word_read(u32 tgid, u64 address, u64 *ret)
{
	struct iovec here = {ret, sizeof(*ret)}, there = {(void *)address, sizeof(*ret)};

	return process_vm_readv((pid_t)tgid, &here, 1, &there, 1, 0) == sizeof(*ret);
}

/* Where the blocks of a file begin, as seen from thread pointers. -EAGAIN: the loader has not said
 * it yet. */
static int block_find(u32 tgid, const struct numa_data_range *r, int fd,
	const struct reader_variables *v, u64 *ret)
{
	u64 bias, word;
	int rc = v->word_error;

	if (is_program(tgid, fd)) {
		*ret = -v->tls.below;
		return 0;
	}
	rc = rc ? rc : elf_variables_bias(&v->file, r->offset, r->start, &bias);
	if (rc)
		return rc;
	if (!word_read(tgid, v->word_address + bias, &word))
		return -ESRCH;
	if (!word)
		return -EAGAIN;
	*ret = word - v->word_offset;
	/* Blocks are below the thread pointer, near it. */
	return -*ret <= NEAR && -*ret >= v->tls.bytes ? 0 : -ENOENT;
}

static int variables_add(struct capture *c, const struct numa_data_range *r,
	const struct elf_variables *v, const struct elf_tls *tls, u64 block,
	struct tls_space *space)
{
	u32 file = names_string(c->names, r->path);

	for (size_t i = 0; i < v->list.n && space->variables.n < VARIABLES_MAX; i++) {
		const struct elf_variable *e = &v->list.v[i];
		struct tls_variable made = {.at = block + e->address,
			.bytes = e->size,
			.time_ns = r->time_ns,
			.file = file};

		if (e->address > tls->bytes || e->size > tls->bytes - e->address)
			continue;
		made.name = names_string(c->names, e->name);
		if (vec_push(&space->variables, made))
			return -ENOMEM;
	}
	return 0;
}

/* -EAGAIN: later. */
static int range_look(
	struct capture *c, u32 tgid, const struct numa_data_range *r, struct tls_space *space)
{
	_cleanup_reader_variables_ struct reader_variables v = {};
	_cleanup_close_ int fd = -1;
	u64 block;
	int rc = numa_data_open(tgid, r, &fd);

	rc = rc ? rc : reader_variables(c->reader, fd, STT_TLS, 1, &v);
	rc = rc ? rc : v.tls_error;
	rc = rc ? rc : block_find(tgid, r, fd, &v, &block);
	return rc ? rc : variables_add(c, r, &v.variables, &v.tls, block, space);
}

/* A file may be mapped in several pieces. */
static bool was_before(const struct numa_data_range *ranges, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (ranges[k].inode == ranges[i].inode && !strcmp(ranges[k].path, ranges[i].path))
			return true;
	return false;
}

/* Of files that cannot be read, or have no such variables, there are none. */
static int space_look(
	struct capture *c, const struct numa_data *d, u32 tgid, struct tls_space *space)
{
	size_t n;
	const struct numa_data_range *ranges = numa_data_ranges(d, tgid, &n);

	for (; space->looked < n; space->looked++) {
		int rc = was_before(ranges, space->looked)
				 ? 0
				 : range_look(c, tgid, &ranges[space->looked], space);

		if (rc == -ENOMEM)
			return rc;
		if (rc == -EAGAIN && ++space->tries < TRIES)
			return 0;
		space->tries = 0;
	}
	return 0;
}

static int thread_tell(struct capture *c, u32 tid, struct tls_thread *t, const struct tls_space *s)
{
	int rc = 0;

	for (; t->told < s->variables.n && !rc; t->told++) {
		const struct tls_variable *v = &s->variables.v[t->told];
		struct numa_variable r = REC_INIT(
			struct numa_variable, REC_NUMA_VARIABLE, MAX(t->since_ns, v->time_ns));

		r.tgid = t->tgid;
		r.tid = tid;
		r.start = t->pointer + v->at;
		r.bytes = v->bytes;
		r.name = v->name;
		r.file = v->file;
		r.section = NUMA_TLS;
		rc = capture_emit(c, &r.h);
	}
	return rc;
}

int numa_tls_sample(struct numa_tls *t, const struct numa_data *d, struct capture *c,
	const struct numa_sample *s, u64 pointer)
{
	struct tls_thread *thread = thread_get(t, s->tid);
	struct tls_space *space;
	int rc;

	if (!thread)
		return -ENOMEM;
	if (thread->tgid != s->tgid || (pointer && pointer != thread->pointer))
		thread_set(
			thread, s->tgid, pointer, thread->tgid == s->tgid ? thread->since_ns : 0);
	if (s->address >= thread->pointer || thread->pointer - s->address > NEAR)
		return 0;
	space = numa_tls_space_get(t, s->tgid);
	if (!space)
		return -ENOMEM;
	rc = space_look(c, d, s->tgid, space);
	return rc ? rc : thread_tell(c, s->tid, thread, space);
}
