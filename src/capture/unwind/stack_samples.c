/* See stack_samples.h. */
#include "capture/unwind/stack_samples.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "capture/names/names.h"
#include "capture/perf_ring.h"
#include "capture/reader/reader.h"
#include "capture/unwind/sample_opener.h"
#include "cfi/walk.h"
#include "sys/process/proc.h"

#define THREADS 4
#define THREADS_LOOKED_AT 256
#define RING_PAGES 32 /* of data: 17 samples */
#define RING_PAGES_LEAST 4
/* Of .eh_frame: compiling it takes about 10 ms a MB. */
#define FILE_BYTES_MOST (4UL << 20)
#define BYTES_MOST (8UL << 20)
/* Of a larger one the functions that are met, each by itself: some 30 us and 0.5 KiB. */
#define FUNCTIONS_MOST 512

#define IP PERF_REG_X86_IP

/* As perf_event_open(2) lays it out, where abi is not 0. */
struct sample {
	struct perf_event_header h;
	u32 pid, tid;
	u64 address;
	u64 abi;
	u64 registers[SAMPLE_REGISTERS];
	u64 size;
	u8 stack[]; /* size bytes, then how many of them are sound */
};

/* Of one function of a large file. */
struct function_table {
	u64 asked;               /* the address that it was asked for with */
	struct cfi_table *table; /* NULL: there is none */
};

/* Of a module: how to unwind its code. */
struct file_table {
	u32 module;
	struct cfi_table *table;  /* NULL: there is none, or it is too large to be made here */
	struct elf_file segments; /* of it only these */
	struct reader_file large; /* size 0: it is not */
	VEC(struct function_table) functions;
};

struct stack_samples {
	struct capture *c;
	u32 tgid;
	struct perf_ring rings[THREADS];
	u32 n_rings;
	VEC(struct file_table) files;
	u64 bytes;       /* of .eh_frame, so far */
	u32 n_functions; /* of large files, so far */
	VEC(struct stack_sample) list;
	size_t most;
	const struct process_map *map; /* while samples are taken */
};

struct thread {
	int tid;
	u64 faults;
};

/* ret: the n of its threads with most faults, the first one first. */
static u32 threads_find(u32 tgid, struct thread ret[THREADS])
{
	_cleanup_proc_iter_ struct proc_iter it = {};
	struct proc_stat st;
	u32 n = 0, looked = 0;
	int tid;

	if (proc_iter_open_tasks((int)tgid, &it))
		return 0;
	while (looked++ < THREADS_LOOKED_AT && proc_iter_next(&it, &tid)) {
		u32 at = n;

		if (proc_task_stat_read((int)tgid, tid, &st))
			continue;
		while (at && ret[at - 1].faults < st.minflt)
			at--;
		if (at == THREADS)
			continue;
		n = MIN(n + 1, (u32)THREADS);
		memmove(ret + at + 1, ret + at, (n - at - 1) * sizeof(*ret));
		ret[at] = (struct thread){tid, st.minflt};
	}
	return n;
}

/* The kernel limits what may be mapped without privilege (perf_event_mlock_kb). */
static int stack_samples_ring_open(
	struct sample_opener *opener, int tid, u64 every, struct perf_ring *ret)
{
	int rc = -EPERM;

	for (u32 pages = RING_PAGES; rc == -EPERM && pages >= RING_PAGES_LEAST; pages /= 2) {
		int fd = sample_opener_open(opener, tid, every);

		if (fd < 0)
			return fd;
		rc = perf_ring_map(fd, pages, ret);
	}
	return rc;
}

int stack_samples_open(struct capture *c, struct sample_opener *opener, u32 tgid, u64 every,
	struct stack_samples **ret)
{
	struct stack_samples *s = calloc(1, sizeof(*s));
	struct thread threads[THREADS];
	u32 n = threads_find(tgid, threads);
	int rc = s ? -ESRCH : -ENOMEM;

	for (u32 i = 0; i < n && s; i++) {
		rc = stack_samples_ring_open(opener, threads[i].tid, every, &s->rings[s->n_rings]);
		s->n_rings += !rc;
	}
	if (!s || !s->n_rings) {
		free(s);
		return rc;
	}
	s->c = c;
	s->tgid = tgid;
	*ret = s;
	return 0;
}

static void stack_samples_file_read(struct stack_samples *s, struct file_table *f)
{
	struct reader *reader = s->c->reader;
	struct reader_file from = {};
	int fd;

	if (!reader || module_table_fd(names_modules(s->c->names), f->module, &fd) ||
		reader_look(reader, fd, &from))
		return;
	f->segments.segments.v = from.segments.v;
	f->segments.segments.n = from.segments.n;
	memset(&from.segments, 0, sizeof(from.segments));
	if (from.size > FILE_BYTES_MOST || s->bytes + from.size > BYTES_MOST) {
		reader_skip(reader);
		f->large = from;
	} else if (!reader_table(reader, &from, &f->table)) {
		s->bytes += from.size;
	}
}

/* NULL: not known. */
static const struct cfi_rule *function_rule(
	struct stack_samples *s, struct file_table *f, u64 address)
{
	struct function_table function = {.asked = address};
	const struct cfi_rule *rule;
	int fd;

	vec_each (known, &f->functions) {
		rule = known->table ? cfi_table_find(known->table, address) : NULL;
		if (rule && rule->kind != CFI_NONE)
			return rule;
		if (known->asked == address)
			return rule;
	}
	if (s->n_functions >= FUNCTIONS_MOST ||
		module_table_fd(names_modules(s->c->names), f->module, &fd))
		return NULL;
	s->n_functions++;
	reader_function_table(s->c->reader, fd, &f->large, address, &function.table);
	if (vec_push(&f->functions, function)) {
		cfi_table_free(function.table);
		return NULL;
	}
	return function.table ? cfi_table_find(function.table, address) : NULL;
}

static struct file_table *file_get(struct stack_samples *s, u32 module)
{
	struct file_table f = {.module = module, .segments = {.fd = -1}};

	vec_each (known, &s->files)
		if (known->module == module)
			return known;
	stack_samples_file_read(s, &f);
	if (vec_push(&s->files, f))
		return NULL;
	return &s->files.v[s->files.n - 1];
}

/* For cfi_walk. */
static int code_find(void *ctx, u64 ip, struct cfi_place *ret)
{
	struct stack_samples *s = ctx;
	const struct module *module;
	struct file_table *f;
	struct map_hit hit;
	u64 address;

	if (process_map_find(s->map, ip, &hit))
		return CFI_STOP_NO_CODE;
	*ret = (struct cfi_place){.module = hit.module, .offset = hit.offset};
	module = module_table_get(names_modules(s->c->names), hit.module);
	if (!module || module->kind != MODULE_FILE)
		return 0;
	f = file_get(s, hit.module);
	if (!f)
		return -ENOMEM;
	if (elf_file_address(&f->segments, hit.offset, &address))
		return 0;
	if (f->table)
		ret->rule = cfi_table_find(f->table, address);
	else if (f->large.size)
		ret->rule = function_rule(s, f, address);
	return 0;
}

/* By their numbers in DWARF: of asm/perf_regs.h, with r8 to r15 moved to behind ip. */
static void registers_of(const struct sample *e, u64 ret[16])
{
	static const u8 from[16] = {PERF_REG_X86_AX, PERF_REG_X86_DX, PERF_REG_X86_CX,
		PERF_REG_X86_BX, PERF_REG_X86_SI, PERF_REG_X86_DI, PERF_REG_X86_BP, PERF_REG_X86_SP,
		IP + 1, IP + 2, IP + 3, IP + 4, IP + 5, IP + 6, IP + 7, IP + 8};

	for (u32 i = 0; i < ARRAY_SIZE(from); i++)
		ret[i] = e->registers[from[i]];
}

/* As in REC_STACK. */
static u16 walk_method(const struct cfi_walk *walk)
{
	if (walk->stop != CFI_STOP_END)
		return (u16)(STACK_CUT | walk->stop << 8);
	return walk->guessed ? STACK_GUESSED : STACK_EXACT;
}

/* Its id; 0: there is no caller, or no memory. */
static u32 stack_walk(struct stack_samples *s, const struct sample *e, size_t sound)
{
	struct cfi_frame frames[STACK_SAMPLES_DEPTH];
	u64 registers[16], ips[STACK_SAMPLES_DEPTH];
	const struct cfi_code code = {code_find, s};
	struct cfi_walk walk;

	registers_of(e, registers);
	if (cfi_walk_copy(&code, registers, e->registers[IP], e->stack, sound, frames,
		    ARRAY_SIZE(frames), &walk) ||
		walk.n < 2)
		return 0;
	for (size_t i = 0; i < walk.n; i++)
		ips[i] = frames[i].ip;
	return names_addresses(s->c->names, NULL, 0, s->map, ips, (u32)walk.n, walk_method(&walk));
}

static int stack_sample_take(void *arg, const struct perf_event_header *head)
{
	struct stack_samples *s = arg;
	const struct sample *e = (const void *)head;
	struct stack_sample sample;
	u64 sound;

	/* The thread may have ended before it was opened, and its id be another process's. */
	if (head->type != PERF_RECORD_SAMPLE || head->size < sizeof(*e) || e->pid != s->tgid ||
		s->list.n >= s->most || e->abi != PERF_SAMPLE_REGS_ABI_64 ||
		head->size < sizeof(*e) + e->size + sizeof(sound) || e->size > SAMPLE_STACK_BYTES)
		return 0;
	memcpy(&sound, e->stack + e->size, sizeof(sound));
	sample = (struct stack_sample){e->address, stack_walk(s, e, MIN(sound, e->size))};
	return vec_push(&s->list, sample);
}

int stack_samples_take(struct stack_samples *s, size_t most)
{
	int rc = 0;

	s->most = most;
	s->map = names_map(s->c->names, s->tgid);
	for (u32 i = 0; i < s->n_rings && s->map && !rc; i++)
		rc = perf_ring_read(&s->rings[i], stack_sample_take, s);
	s->map = NULL;
	return rc;
}

const struct stack_sample *stack_samples_get(const struct stack_samples *s, size_t *ret_n)
{
	*ret_n = s->list.n;
	return s->list.v;
}

void stack_samples_close(struct stack_samples *s)
{
	if (!s)
		return;
	for (u32 i = 0; i < s->n_rings; i++)
		perf_ring_close(&s->rings[i]);
	vec_each (f, &s->files) {
		cfi_table_free(f->table);
		vec_free(&f->segments.segments);
		vec_each (function, &f->functions)
			cfi_table_free(function->table);
		vec_free(&f->functions);
	}
	vec_free(&s->files);
	vec_free(&s->list);
	free(s);
}
