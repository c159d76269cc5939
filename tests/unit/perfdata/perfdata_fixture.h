/*
 * Makes perf.data files in memory, in either byte order, from what samples are to hold: what the
 * reader must find in them again. Used by the unit tests, by the fuzz target for its seeds, and by
 * tests/perfdata/make.c, whose files perf itself reads.
 */
#ifndef MEMWHY_TESTS_PERFDATA_FIXTURE_H
#define MEMWHY_TESTS_PERFDATA_FIXTURE_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "base/str.h"
#include "perfdata/perfdata.h"

#define MADE_ARRAY 8

/* What a sample is to hold; which of it is written says its event. */
struct made_sample {
	u64 id, ip, time, addr, stream_id, period;
	u32 pid, tid, cpu;
	u64 read[3 + 3 * MADE_ARRAY]; /* enabled, running, then value, id, lost of each */
	u64 n_read;
	u64 n_ips, ips[MADE_ARRAY];
	u32 raw_size;
	char raw[64];
	u64 n_branches, branch_index, branches[3 * MADE_ARRAY], counters[MADE_ARRAY];
	u64 user_abi, user[64], intr_abi, intr[64];
	u64 stack_size, stack_used;
	char stack[64];
	u64 weight, data_src, transaction, phys_addr, cgroup, data_page, code_page;
	u64 aux_size;
	char aux[64];
};

struct made_event {
	u32 pmu;
	u64 config, period, sample_type, read_format, flags, branch_type, regs_user, regs_intr;
	u32 stack_user;
	const char *name;
	u64 ids[4];
	size_t n_ids;
};

struct made {
	struct str s;
	bool swap;
	size_t data; /* where records begin */
};

static inline void put_bytes(struct made *m, const void *p, size_t n)
{
	str_addn(&m->s, p, n);
}

static inline void put_u16(struct made *m, u16 v)
{
	v = m->swap ? __builtin_bswap16(v) : v;
	put_bytes(m, &v, sizeof(v));
}

static inline void put_u32(struct made *m, u32 v)
{
	v = m->swap ? __builtin_bswap32(v) : v;
	put_bytes(m, &v, sizeof(v));
}

static inline void put_u64(struct made *m, u64 v)
{
	v = m->swap ? __builtin_bswap64(v) : v;
	put_bytes(m, &v, sizeof(v));
}

static inline void put_at_u64(struct made *m, size_t at, u64 v)
{
	v = m->swap ? __builtin_bswap64(v) : v;
	memcpy(m->s.buf + at, &v, sizeof(v));
}

static inline void put_u64s(struct made *m, const u64 *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put_u64(m, v[i]);
}

/* Text with its NUL, to a multiple of 8. */
static inline void put_text(struct made *m, const char *text)
{
	size_t n = strlen(text) + 1;

	put_bytes(m, text, n);
	put_bytes(m, "\0\0\0\0\0\0\0", -n & 7);
}

/* As perf's do_write_string. */
static inline void put_string(struct made *m, const char *text)
{
	size_t n = strlen(text) + 1, padded = (n + 63) & ~63UL;
	static const char zeros[64];

	put_u32(m, (u32)padded);
	put_bytes(m, text, n);
	put_bytes(m, zeros, padded - n);
}

/* Begins a record; made_end() writes its size. */
static inline size_t made_begin(struct made *m, u32 type, u16 misc)
{
	size_t at = m->s.len;

	put_u32(m, type);
	put_u16(m, misc);
	put_u16(m, 0);
	return at;
}

static inline void made_end(struct made *m, size_t at)
{
	u16 n = (u16)(m->s.len - at);

	n = m->swap ? __builtin_bswap16(n) : n;
	memcpy(m->s.buf + at + 6, &n, sizeof(n));
}

static inline void put_read(struct made *m, u64 format, const struct made_sample *s)
{
	bool group = format & PERFDATA_READ_GROUP;

	if (group)
		put_u64(m, s->n_read);
	else
		put_u64(m, s->read[2]);
	if (format & PERFDATA_READ_ENABLED)
		put_u64(m, s->read[0]);
	if (format & PERFDATA_READ_RUNNING)
		put_u64(m, s->read[1]);
	for (u64 i = 0; i < (group ? s->n_read : 1); i++) {
		if (group)
			put_u64(m, s->read[2 + 3 * i]);
		if (format & PERFDATA_READ_ID)
			put_u64(m, s->read[2 + 3 * i + 1]);
		if (format & PERFDATA_READ_LOST)
			put_u64(m, s->read[2 + 3 * i + 2]);
	}
}

static inline void put_identity(struct made *m, u64 t, const struct made_sample *s)
{
	if (t & PERFDATA_IDENTIFIER)
		put_u64(m, s->id);
	if (t & PERFDATA_IP)
		put_u64(m, s->ip);
	if (t & PERFDATA_TID) {
		put_u32(m, s->pid);
		put_u32(m, s->tid);
	}
	if (t & PERFDATA_TIME)
		put_u64(m, s->time);
	if (t & PERFDATA_ADDR)
		put_u64(m, s->addr);
	if (t & PERFDATA_ID)
		put_u64(m, s->id);
	if (t & PERFDATA_STREAM_ID)
		put_u64(m, s->stream_id);
	if (t & PERFDATA_CPU) {
		put_u32(m, s->cpu);
		put_u32(m, 0);
	}
	if (t & PERFDATA_PERIOD)
		put_u64(m, s->period);
}

static inline void put_branches(struct made *m, u64 type, const struct made_sample *s)
{
	put_u64(m, s->n_branches);
	if (type & PERFDATA_BRANCH_HW_INDEX)
		put_u64(m, s->branch_index);
	put_u64s(m, s->branches, 3 * s->n_branches);
	if (type & PERFDATA_BRANCH_COUNTERS)
		put_u64s(m, s->counters, s->n_branches);
}

static inline void put_regs(struct made *m, u64 mask, u64 abi, const u64 *v)
{
	put_u64(m, abi);
	if (abi)
		put_u64s(m, v, (size_t)__builtin_popcountll(mask));
}

static inline void put_stack(struct made *m, const struct made_sample *s)
{
	put_u64(m, s->stack_size);
	if (!s->stack_size)
		return;
	put_bytes(m, s->stack, s->stack_size);
	put_u64(m, s->stack_used);
}

static inline void put_raw(struct made *m, const struct made_sample *s)
{
	put_u32(m, s->raw_size);
	put_bytes(m, s->raw, s->raw_size);
}

static inline void put_sample(
	struct made *m, const struct made_event *e, const struct made_sample *s, u16 misc)
{
	size_t at = made_begin(m, PERFDATA_SAMPLE, misc);
	u64 t = e->sample_type;

	put_identity(m, t, s);
	if (t & PERFDATA_READ_VALUES)
		put_read(m, e->read_format, s);
	if (t & PERFDATA_CALLCHAIN) {
		put_u64(m, s->n_ips);
		put_u64s(m, s->ips, s->n_ips);
	}
	if (t & PERFDATA_RAW)
		put_raw(m, s);
	if (t & PERFDATA_BRANCH_STACK)
		put_branches(m, e->branch_type, s);
	if (t & PERFDATA_REGS_USER)
		put_regs(m, e->regs_user, s->user_abi, s->user);
	if (t & PERFDATA_STACK_USER)
		put_stack(m, s);
	if (t & (PERFDATA_WEIGHT | PERFDATA_WEIGHT_STRUCT))
		put_u64(m, s->weight);
	if (t & PERFDATA_DATA_SRC)
		put_u64(m, s->data_src);
	if (t & PERFDATA_TRANSACTION)
		put_u64(m, s->transaction);
	if (t & PERFDATA_REGS_INTR)
		put_regs(m, e->regs_intr, s->intr_abi, s->intr);
	if (t & PERFDATA_PHYS_ADDR)
		put_u64(m, s->phys_addr);
	if (t & PERFDATA_CGROUP_ID)
		put_u64(m, s->cgroup);
	if (t & PERFDATA_DATA_PAGE_SIZE)
		put_u64(m, s->data_page);
	if (t & PERFDATA_CODE_PAGE_SIZE)
		put_u64(m, s->code_page);
	if (t & PERFDATA_AUX_DATA) {
		put_u64(m, s->aux_size);
		put_bytes(m, s->aux, s->aux_size);
	}
	made_end(m, at);
}

/* What follows the body of the other records. */
static inline void put_trailer(
	struct made *m, const struct made_event *e, const struct made_sample *s)
{
	u64 t = e->sample_type;

	if (!(e->flags & PERFDATA_FLAG_SAMPLE_ID_ALL))
		return;
	if (t & PERFDATA_TID) {
		put_u32(m, s->pid);
		put_u32(m, s->tid);
	}
	if (t & PERFDATA_TIME)
		put_u64(m, s->time);
	if (t & PERFDATA_ID)
		put_u64(m, s->id);
	if (t & PERFDATA_STREAM_ID)
		put_u64(m, s->stream_id);
	if (t & PERFDATA_CPU) {
		put_u32(m, s->cpu);
		put_u32(m, 0);
	}
	if (t & PERFDATA_IDENTIFIER)
		put_u64(m, s->id);
}

/* Bit n of the flags is bit n of the u64 here, and bit 7 - n % 8 of byte n / 8 there. */
static inline u64 flags_swapped(u64 v)
{
	u64 r = 0;

	for (int i = 0; i < 64; i++)
		if (v >> i & 1)
			r |= 1ULL << (i / 8 * 8 + 7 - i % 8);
	return r;
}

/* 128 bytes: PERF_ATTR_SIZE_VER7. */
static inline void put_attr(struct made *m, const struct made_event *e)
{
	u64 flags = m->swap ? flags_swapped(e->flags) : e->flags;

	put_u32(m, e->pmu);
	put_u32(m, 128);
	put_u64(m, e->config);
	put_u64(m, e->period);
	put_u64(m, e->sample_type);
	put_u64(m, e->read_format);
	put_bytes(m, &flags, sizeof(flags));
	put_u64(m, 0);
	put_u64(m, 0x1111);
	put_u64(m, 0x2222);
	put_u64(m, e->branch_type);
	put_u64(m, e->regs_user);
	put_u32(m, e->stack_user);
	put_u32(m, 0);
	put_u64(m, e->regs_intr);
	for (int i = 0; i < 3; i++)
		put_u64(m, 0);
}

/* The head, events and their ids; records follow. */
static inline void made_file(struct made *m, const struct made_event *e, size_t n)
{
	size_t at = 104;

	put_bytes(m, m->swap ? PERFDATA_MAGIC_SWAPPED : PERFDATA_MAGIC, 8);
	put_u64(m, 104);
	put_u64(m, 144);
	put_u64(m, 104);
	put_u64(m, n * 144);
	for (int i = 0; i < 8; i++)
		put_u64(m, 0);
	at += n * 144;
	for (size_t i = 0; i < n; i++) {
		put_attr(m, &e[i]);
		put_u64(m, at);
		put_u64(m, e[i].n_ids * 8);
		at += e[i].n_ids * 8;
	}
	for (size_t i = 0; i < n; i++)
		put_u64s(m, e[i].ids, e[i].n_ids);
	m->data = m->s.len;
	put_at_u64(m, 40, m->data);
}

/* There are no more records. */
static inline void made_records_end(struct made *m)
{
	put_at_u64(m, 48, m->s.len - m->data);
}

/* Features come after the records: their sections first, in the order of their numbers. */
static inline void made_features(struct made *m, u64 set)
{
	put_at_u64(m, 72, set);
	for (int i = 0; i < __builtin_popcountll(set); i++) {
		put_u64(m, 0);
		put_u64(m, 0);
	}
}

/* The i-th feature of the set: what was written since m->s.len was at `from`. */
static inline void made_feature(struct made *m, size_t table, int i, size_t from)
{
	put_at_u64(m, table + 16 * (size_t)i, from);
	put_at_u64(m, table + 16 * (size_t)i + 8, m->s.len - from);
}

static inline void made_pipe(struct made *m, const struct made_event *e, size_t n)
{
	put_bytes(m, m->swap ? PERFDATA_MAGIC_SWAPPED : PERFDATA_MAGIC, 8);
	put_u64(m, 16);
	m->data = 16;
	for (size_t i = 0; i < n; i++) {
		size_t at = made_begin(m, PERFDATA_ATTR, 0);

		put_attr(m, &e[i]);
		put_u64s(m, e[i].ids, e[i].n_ids);
		made_end(m, at);
		if (!e[i].name)
			continue;
		at = made_begin(m, PERFDATA_EVENT_UPDATE, 0);
		put_u64(m, 2);
		put_u64(m, e[i].ids[0]);
		put_text(m, e[i].name);
		made_end(m, at);
	}
}

static inline void put_round(struct made *m)
{
	made_end(m, made_begin(m, PERFDATA_FINISHED_ROUND, 0));
}

static inline void put_comm(struct made *m, const struct made_event *e, const struct made_sample *s,
	const char *comm, bool exec)
{
	size_t at = made_begin(m, PERFDATA_COMM, exec ? PERFDATA_MISC_EXEC : 0);

	put_u32(m, s->pid);
	put_u32(m, s->tid);
	put_text(m, comm);
	put_trailer(m, e, s);
	made_end(m, at);
}

/* s is of the child. */
static inline void put_fork(struct made *m, const struct made_event *e, const struct made_sample *s,
	u32 parent, u32 parent_thread)
{
	size_t at = made_begin(m, PERFDATA_FORK, 0);

	put_u32(m, s->pid);
	put_u32(m, parent);
	put_u32(m, s->tid);
	put_u32(m, parent_thread);
	put_u64(m, s->time);
	put_trailer(m, e, s);
	made_end(m, at);
}

/* An executable mapping; with a build-id if it is given. */
static inline void put_mmap2(struct made *m, const struct made_event *e,
	const struct made_sample *s, u64 start, u64 len, const char *path, const char *build_id)
{
	size_t at = made_begin(m, PERFDATA_MMAP2,
		(u16)(PERFDATA_MODE_USER | (build_id ? PERFDATA_MISC_BUILD_ID : 0)));

	put_u32(m, s->pid);
	put_u32(m, s->tid);
	put_u64(m, start);
	put_u64(m, len);
	put_u64(m, 0x1000);
	if (build_id) {
		put_bytes(m, "\x14\0\0\0", 4);
		put_bytes(m, build_id, 20);
	} else {
		put_u32(m, 8);
		put_u32(m, 1);
		put_u64(m, 4711);
		put_u64(m, 3);
	}
	put_u32(m, 5);
	put_u32(m, 2);
	put_text(m, path);
	put_trailer(m, e, s);
	made_end(m, at);
}

/* Records in `from` as one stream of zstd, in compressed records of at most `piece` bytes. */
static inline void put_compressed(struct made *m, const struct str *from, size_t piece, bool v2)
{
	size_t cap = ZSTD_compressBound(from->len);
	char *packed = malloc(cap);
	size_t n = packed ? ZSTD_compress(packed, cap, from->buf, from->len, 1) : 0;

	for (size_t at = 0; at < n; at += piece) {
		size_t len = MIN(piece, n - at);
		size_t rec = made_begin(m, v2 ? PERFDATA_COMPRESSED2 : PERFDATA_COMPRESSED, 0);

		if (v2)
			put_u64(m, len);
		put_bytes(m, packed + at, len);
		if (v2)
			put_bytes(m, "\0\0\0\0\0\0\0", -len & 7);
		made_end(m, rec);
	}
	free(packed);
}

/* The bytes as a file; as a pipe could be, it is read from its beginning. */
static inline int made_fd(const void *p, size_t n)
{
	int fd = memfd_create("perf.data", MFD_CLOEXEC);

	if (fd < 0 || write(fd, p, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET))
		abort();
	return fd;
}

static inline int made_open(const struct made *m, const struct perfdata_options *o,
	struct perfdata **ret, struct err *err)
{
	return perfdata_open_fd("t.data", made_fd(m->s.buf, m->s.len), o, ret, err);
}

static inline u64 made_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline void made_fill(u64 *seed, u64 *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i] = made_random(seed);
}

/* Anything that a kernel could write. */
static inline void made_any(struct made_sample *s, u64 *seed)
{
	u64 *words = (u64 *)(void *)s;

	for (size_t i = 0; i < sizeof(*s) / 8; i++)
		words[i] = made_random(seed);
	s->n_read = made_random(seed) % (MADE_ARRAY + 1);
	s->n_ips = made_random(seed) % (MADE_ARRAY + 1);
	s->n_branches = made_random(seed) % (MADE_ARRAY + 1);
	s->raw_size = (u32)(made_random(seed) % 8 * 8 + 4);
	s->user_abi = made_random(seed) % 3;
	s->intr_abi = made_random(seed) % 3;
	s->stack_size = made_random(seed) % 9 * 8;
	s->stack_used = s->stack_size ? made_random(seed) % (s->stack_size + 1) : 0;
	s->aux_size = made_random(seed) % 9 * 8;
}

#endif
