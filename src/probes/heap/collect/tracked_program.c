/* See tracked_program.h: the file, its processes and threads. What is in a ring: ring_reader.c. */
#include "probes/heap/collect/tracked_program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <x86intrin.h>

#include "base/util.h"
#include "bpf/shared.h"
#include "probes/heap/collect/filters.h"
#include "probes/heap/collect/ring_reader.h"
#include "probes/heap/events/event_writer.h"
#include "sys/keyvals.h"
#include "sys/process/maps.h"

/* Of a thread, or with tid 0 of a process. Untouched where it is gone. */
static void comm_read(u32 pid, u32 tid, char comm[COMM_LEN])
{
	char path[64], name[COMM_LEN] = "";
	_cleanup_close_ int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, tid ? tid : pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, name, sizeof(name) - 1);
	if (n <= 0)
		return;
	name[n - (name[n - 1] == '\n')] = '\0';
	memcpy(comm, name, sizeof(name));
}

#define NAME "memwhy-heap"

static int file_make(int *ret)
{
	int fd = (int)syscall(SYS_memfd_create, NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	/* Of this size for good: else the program could take pages away under the reader. */
	if (ftruncate(fd, (off_t)TRACK_FILE_BYTES) ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		close(fd);
		return -errno;
	}
	*ret = fd;
	return 0;
}

/* The same memory, opened once more for us. What the program was given is locked as long as anybody
 * has it open or mapped: the kernel lets go of the lock with the last mapping of the last fork. */
static int file_again(int program, int *ret)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", program);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (flock(program, LOCK_EX | LOCK_NB)) {
		close(fd);
		return -errno;
	}
	*ret = fd;
	return 0;
}

bool tracked_is_unused(const struct tracked_program *program)
{
	return !flock(program->file, LOCK_EX | LOCK_NB);
}

bool tracked_is_of(const struct tracked_program *program, u32 pid)
{
	_cleanup_maps_ struct maps maps = {};
	struct stat st;
	int rc = fstat(program->file, &st) ? -errno : maps_read((int)pid, &maps);

	vec_each (m, &maps.list)
		if (m->inode == st.st_ino && !strcmp(m->path, "/memfd:" NAME))
			return true;
	return rc == -EACCES;
}

/* What the kernel was told at boot (default_hugepagesz). */
static u64 huge_bytes(void)
{
	_cleanup_keyvals_ struct keyvals kv = {};
	static u64 bytes;

	if (!bytes)
		bytes = keyvals_read("/proc/meminfo", &kv)
				? TRACK_PAGE
				: MAX(keyvals_get_or(&kv, "Hugepagesize", 0), TRACK_PAGE);
	return bytes;
}

int tracked_open(
	u32 id, pid_t pid, u32 wait_ms, bool held, struct tracked_program **ret, int *ret_file)
{
	_cleanup_free_ struct tracked_program *i = calloc(1, sizeof(*i));
	_cleanup_close_ int fd = -1, ours = -1;
	void *at;
	int rc;

	if (!i)
		return -ENOMEM;
	rc = file_make(&fd);
	rc = rc ? rc : file_again(fd, &ours);
	if (rc)
		return rc;
	at = mmap(NULL, TRACK_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, ours,
		0);
	if (at == MAP_FAILED)
		return -errno;
	i->id = id;
	i->pid = pid;
	i->head = at;
	i->head->version = TRACK_VERSION;
	i->head->wait_ms = wait_ms;
	i->head->next_stack = 1;
	i->head->huge_bytes = huge_bytes();
	i->head->magic = TRACK_MAGIC;
	i->file = take_fd(ours);
	i->head->timed = i->held = held;
	rings_begin(&i->rings, i->head, i->file, held || !wait_ms);
	*ret_file = take_fd(fd);
	*ret = take_ptr(i);
	return 0;
}

int heap_process_look(struct heap_process *p, u64 now_ms)
{
	u64 begin_ms = p->start_ns / 1000000;
	u64 third = now_ms > begin_ms ? (now_ms - begin_ms) / 3 : 0;

	return account_look(&p->account, now_ms, MAX(now_ms - begin_ms - third, 1ULL));
}

#define NAME_WAIT_MS 100 /* a thread gets its name early; each wait is twice the last */

static int name_read(struct ring_reader *c, u64 now_ms)
{
	struct heap_process *p = c->process;
	struct thread_name name = {};

	memcpy(name.comm, p->comm, sizeof(name.comm));
	while (p->names.n <= c->thread)
		if (vec_push(&p->names, name))
			return -ENOMEM;
	/* of the first thread of a program, which just began, it was read with the program's */
	if (!p->foreign && c->tid && (c->name_wait_ms || p->parent || c->tid != p->pid))
		comm_read(p->pid, c->tid, p->names.v[c->thread].comm);
	c->name_wait_ms = c->name_wait_ms ? 2 * c->name_wait_ms : NAME_WAIT_MS;
	c->name_ms = now_ms + c->name_wait_ms;
	return 0;
}

static int ring_reader_new(struct tracked_program *program, u32 slot)
{
	u32 index = __atomic_load_n(&program->head->slot[slot].process, __ATOMIC_RELAXED);
	struct heap_process *p;
	struct ring_reader *c;
	int rc;

	if (index >= TRACK_PROCESSES)
		return 0; /* nonsense */
	p = program->processes[index];
	if (!p) {
		p = program->found(program, index, program->arg);
		if (!p)
			return -ENOMEM;
		program->processes[index] = p;
		program->n_alive++;
		program->n_ever++;
	}
	rc = ring_reader_open(program->head, slot, slot ? 0 : program->rings.main, p, &c);
	if (rc)
		return rc;
	rc = vec_push(&p->readers, c);
	if (rc) {
		ring_reader_close(c);
		return rc;
	}
	program->readers[slot] = c;
	program->n_readers++;
	if (!slot)
		program->rings.main = 0;
	program->n_slots = MAX(program->n_slots, slot + 1);
	return name_read(c, program->active_ms);
}

int tracked_find(struct tracked_program *program)
{
	u32 n = MIN(__atomic_load_n(&program->head->slots, __ATOMIC_ACQUIRE), (u32)TRACK_SLOTS);
	int rc = 0;

	for (u32 i = 0; i < n && !rc; i++)
		if (!program->readers[i] && __atomic_load_n(&program->head->slot[i].state,
						    __ATOMIC_ACQUIRE) == TRACK_TAKEN)
			rc = ring_reader_new(program, i);
	rings_prepare(&program->rings, program->n_readers);
	return rc;
}

/* A larger ring for a thread that had to wait, or of which what is held does not fit. */
static void rings_look(struct tracked_program *program, struct ring_reader *c)
{
	ring_reader_turn(c);
	if (c->left)
		rings_release(&program->rings, c->index, c->left);
	c->left = 0;
	if (ring_reader_wants(c, program->held))
		ring_reader_give(c, rings_take(&program->rings, c->index, c->grown));
}

/* What comes after `until` is left, unless its writer would have to wait soon. */
static s64 held_read(
	struct tracked_program *program, struct heap_process *p, u64 now_ms, news_buffer *news)
{
	u64 until = program->until, until_ms = MIN(program->until_ms, now_ms);
	bool full = false;
	s64 n;

	vec_each (c, &p->readers)
		full |= ring_reader_is_full(*c) || (*c)->given;
	if (full) {
		until = p->ahead = __rdtsc() >> TRACK_TIME_SHIFT;
		until_ms = now_ms;
	}
	n = ring_readers_read_until(p->readers.v, p->readers.n, until, until_ms, news);
	vec_each (c, &p->readers)
		program->waiting |= ring_reader_waits(*c);
	return n;
}

s64 tracked_read(struct tracked_program *program, u64 now_ms, news_buffer *news)
{
	/* Of what happened before, all rings are found, and all that came before it is in them. */
	u64 until = (__rdtsc() >> TRACK_TIME_SHIFT) - TRACK_EARLY;
	s64 words = 0;
	int rc = program->settled ? 0 : tracked_find(program);

	program->waiting = false;
	__atomic_add_fetch(&program->head->heartbeat, 1, __ATOMIC_RELAXED);
	for (u32 i = 0, left = program->n_alive; i < TRACK_PROCESSES && !rc && left; i++) {
		struct heap_process *p = program->processes[i];
		s64 n;

		if (!p)
			continue;
		left--;
		vec_each (c, &p->readers)
			rings_look(program, *c);
		n = program->held ? held_read(program, p, now_ms, news)
				  : ring_readers_read_until(
					    p->readers.v, p->readers.n, until, now_ms, news);
		if (n >= 0 && p->events)
			rc = event_writer_flush(p->events, false, news);
		if (n < 0)
			return n;
		words += n;
		vec_each (c, &p->readers)
			program->pressed |= ring_reader_was_pressed(*c);
	}
	if (words)
		program->active_ms = now_ms;
	return rc ? rc : words;
}

static void dropped_take(struct ring_reader *c)
{
	c->process->dropped += __atomic_exchange_n(&c->slot->dropped, 0, __ATOMIC_RELAXED);
}

/* Makes the ring as it was at first, but for the count of words, and gives its memory back. */
static void slot_release(struct tracked_program *program, struct ring_reader *c)
{
	const u32 slot = c->index, grown[] = {c->given, c->grown, c->left};
	struct track_slot *s = &program->head->slot[slot];

	dropped_take(c);
	rings_release(&program->rings, slot, 0);
	for (u32 i = 0; i < ARRAY_SIZE(grown); i++)
		if (grown[i])
			rings_release(&program->rings, slot, grown[i]);
	s->grown = 0;
	__atomic_store_n(&s->tail, c->tail, __ATOMIC_RELEASE);
	program->readers[slot] = NULL;
	program->n_readers--;
	ring_reader_close(c);
	__atomic_store_n(&s->state, TRACK_UNUSED, __ATOMIC_RELEASE);
}

int tracked_end(
	struct tracked_program *program, struct heap_process *p, u64 now_ms, news_buffer *news)
{
	int rc = tracked_find(program);
	bool last;

	if (!rc)
		rc = ring_readers_finish(p->readers.v, p->readers.n, now_ms, news);
	if (!rc && p->events)
		rc = event_writer_flush(p->events, true, news);
	event_writer_close(take_ptr(p->events));
	last = program->n_alive == 1 && tracked_is_unused(program);
	vec_each (c, &p->readers) {
		if (last) /* all of it goes, with the program */
			dropped_take(*c);
		else
			slot_release(program, *c);
	}
	p->readers.n = 0;
	p->ended = true;
	p->dropped += program->head->processes[p->index].missed;
	account_settle_all(&p->account);
	rc = rc ? rc : heap_process_look(p, now_ms);
	account_forget_blocks(&p->account);
	p->account.beat = NULL;
	mappings_forget(&p->mappings);
	filters_forget(program->filters, program->filters_key,
		program->head->processes[p->index].pid);
	program->processes[p->index] = NULL;
	program->n_alive--;
	program->over = !program->n_alive;
	program->active_ms = now_ms;
	__atomic_store_n(&program->head->processes[p->index].state, TRACK_UNUSED, __ATOMIC_RELEASE);
	return rc;
}

static bool thread_is_over(const struct heap_process *p, u32 tid)
{
	return !p->foreign && tid && syscall(SYS_tgkill, p->pid, tid, 0) && errno == ESRCH;
}

int tracked_sweep(struct tracked_program *program, u64 now_ms, news_buffer *news)
{
	int rc = 0;

	for (u32 i = 0, left = program->n_alive; i < TRACK_PROCESSES && !rc && left; i++) {
		struct heap_process *p = program->processes[i];

		left -= p != NULL;
		for (size_t k = 0; p && k < p->readers.n && !rc; k++) {
			struct ring_reader *c = p->readers.v[k];

			dropped_take(c);
			rings_look(program, c);
			if (now_ms >= c->name_ms)
				rc = name_read(c, now_ms);
			/* What it wrote last is read in its order, as what it rests on may be in
			 * a ring that is not yet read that far, or not yet found. */
			if (ring_reader_was_busy(c) || !thread_is_over(p, c->tid) ||
				ring_reader_waits(c))
				continue;
			rc = rc ? rc : ring_readers_finish(&c, 1, now_ms, news);
			p->readers.v[k--] = p->readers.v[--p->readers.n];
			slot_release(program, c);
		}
	}
	return rc;
}

void tracked_close(struct tracked_program *program)
{
	if (!program)
		return;
	__atomic_store_n(&program->head->off, TRACK_OFF_ENDED, __ATOMIC_RELEASE);
	filters_drop(program->filters, program->filters_key);
	for (u32 i = 0; i < program->n_slots; i++)
		ring_reader_close(program->readers[i]);
	munmap(program->head, TRACK_FILE_BYTES);
	close(program->file);
	residence_free(program->residence);
	free(program);
}
