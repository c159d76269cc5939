/* See filter.h. */
#include "cage/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define X32 0x40000000 /* calls by the other numbers of this architecture (asm/unistd.h) */

struct program {
	VEC(struct sock_filter) code;
	bool failed;
};

static void rule_add(struct filter *f, struct filter_rule rule)
{
	f->failed |= vec_push(&f->rules, rule) != 0;
}

void filter_calls(struct filter *f, u32 action, const u32 *calls, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rule_add(f,
			(struct filter_rule){.call = calls[i], .action = action, .always = true});
}

void filter_test(struct filter *f, u32 action, u32 call, struct filter_test test)
{
	rule_add(f, (struct filter_rule){.call = call, .action = action, .test = test});
}

static void put(struct program *p, u16 code, u8 yes, u8 no, u32 k)
{
	struct sock_filter op = BPF_JUMP(code, k, yes, no);

	p->failed |= vec_push(&p->code, op) != 0;
}

static void put_return(struct program *p, u32 action)
{
	put(p, BPF_RET | BPF_K, 0, 0, action);
}

static void put_load(struct program *p, size_t offset)
{
	put(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (u32)offset);
}

static void put_rule(struct program *p, const struct filter_rule *r)
{
	const struct filter_test *t = &r->test;

	if (!r->always) {
		put_load(p, offsetof(struct seccomp_data, args) + t->argument * sizeof(u64));
		if (t->mask != UINT32_MAX)
			put(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, t->mask);
		put(p, BPF_JMP | BPF_JEQ | BPF_K, t->is_not, !t->is_not, t->value);
	}
	put_return(p, r->action);
}

/* The first rule in [from, to) of another call than the one at `at`. */
static size_t call_end(const struct filter *f, size_t at, size_t to)
{
	size_t i = at;

	while (i < to && f->rules.v[i].call == f->rules.v[at].call)
		i++;
	return i;
}

/* The call's number is in the accumulator, the rules are in its order: halves until one call is
 * left. */
static void put_search(struct program *p, const struct filter *f, size_t from, size_t to)
{
	size_t middle = from + (to - from) / 2, jump;

	while (middle > from && f->rules.v[middle].call == f->rules.v[middle - 1].call)
		middle--;
	if (middle == from)
		middle = call_end(f, from, to);
	if (middle == to) {
		put(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, f->rules.v[from].call);
		put_return(p, f->action);
		for (size_t i = from; i < to; i++)
			put_rule(p, &f->rules.v[i]);
		if (!f->rules.v[to - 1].always)
			put_return(p, f->action);
		return;
	}
	put(p, BPF_JMP | BPF_JGE | BPF_K, 0, 1, f->rules.v[middle].call);
	jump = p->code.n;
	put(p, BPF_JMP | BPF_JA, 0, 0, 0);
	put_search(p, f, from, middle);
	if (!p->failed)
		p->code.v[jump].k = (u32)(p->code.n - jump - 1);
	put_search(p, f, middle, to);
}

static int by_call(const void *a, const void *b)
{
	const struct filter_rule *x = a, *y = b;

	return x->call != y->call ? (x->call < y->call ? -1 : 1) : 0;
}

static void program_make(struct program *p, const struct filter *f)
{
	put_load(p, offsetof(struct seccomp_data, arch));
	put(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 2, AUDIT_ARCH_X86_64);
	put_load(p, offsetof(struct seccomp_data, nr));
	put(p, BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32);
	put_return(p, FILTER_FAIL(ENOSYS));
	put_search(p, f, 0, f->rules.n);
}

int filter_load(struct filter *f, bool all_threads)
{
	struct program p = {.failed = f->failed || !f->rules.n};
	struct sock_fprog prog;
	long rc = -ENOMEM;

	if (!p.failed) {
		qsort(f->rules.v, f->rules.n, sizeof(f->rules.v[0]), by_call);
		program_make(&p, f);
	}
	vec_free(&f->rules);
	prog = (struct sock_fprog){(unsigned short)p.code.n, p.code.v};
	if (!p.failed) {
		rc = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
			     ? -errno
			     : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				       all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0, &prog);
		rc = rc == -1 ? -errno : rc > 0 ? -EBUSY : rc;
	}
	vec_free(&p.code);
	return (int)rc;
}
