/* What is copied of the memory that arguments point to: bounded, and only what the tables of user
 * space say (syscalls_probe_config.copy). Pointers may be anything. */
#ifndef MEMWHY_PROBES_SYSCALLS_COPY_BPF_H
#define MEMWHY_PROBES_SYSCALLS_COPY_BPF_H

#include "probes/syscalls/syscalls_state.bpf.h"

/* The arguments of an execve, from its begin. By process: its id survives. */
struct exec_begun {
	u64 args[SYSCALLS_ARGS];
	u16 size[2];
	u16 flags;
	u8 reserved[2];
	char text[SYSCALLS_TEXT];
	char argv[2 * SYSCALLS_ARGV]; /* half of it is for what the verifier thinks */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, struct exec_begun);
} execs SEC(".maps");

static const struct exec_begun exec_zero = {};

/* The copies of a call. In a map, because the verifier does not track map values: on the stack its
 * states would multiply with each copy. */
struct copying {
	s64 ret;
	u64 kept[SYSCALLS_KEPT]; /* see begin_keep */
	u32 which;               /* of the copies */
	u32 at;
	u16 flags; /* what was cut, or could not be read */
	u8 how;    /* enum syscalls_copy */
	u8 reserved[5];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct copying);
} copyings SEC(".maps");

static __always_inline struct copying *copying_begin(s64 ret)
{
	u32 zero = 0;
	struct copying *c = bpf_map_lookup_elem(&copyings, &zero);

	if (c) {
		c->ret = ret;
		c->at = 0;
		c->which = 0;
		c->flags = 0;
	}
	return c;
}

static __always_inline u32 copy_failed(struct copying *c)
{
	c->flags |= SYSCALLS_FAULTED_0 << c->which;
	return 0;
}

static __always_inline void copy_cut(struct copying *c, bool cut)
{
	if (cut)
		c->flags |= SYSCALLS_CUT_0 << c->which;
}

/* `size` bytes, at most `most` of them. */
static __always_inline u32 copy_bytes(
	struct copying *c, char *to, u32 room, u64 from, u64 size, u32 most)
{
	if (most > room)
		most = room;
	if (size > most) {
		copy_cut(c, true);
		size = most;
	}
	/* for the verifier, which has lost the bound */
	asm volatile("%0 &= 127" : "+r"(size));
	if (size > room || (size && bpf_probe_read_user(to, size, (void *)from)))
		return copy_failed(c);
	return size;
}

static __always_inline u32 copy_text(struct copying *c, char *to, u32 room, u64 from)
{
	long n = bpf_probe_read_user_str(to, room, (void *)from);

	if (n < 0)
		return copy_failed(c);
	copy_cut(c, n == room);
	return n ? n - 1 : 0; /* 0 of "" until Linux 6.13, see strncpy_from_user_nofault() */
}

static __always_inline u32 copy_length(struct copying *c, char *to, u32 room, u64 from, u64 pointer)
{
	struct syscalls_length *l = (void *)to;
	u64 size;

	if (room < sizeof(*l) - SYSCALLS_ADDRESS + 16 || c->ret < 0 ||
		bpf_probe_read_user(&l->after, sizeof(l->after), (void *)pointer))
		return copy_failed(c);
	l->before = c->kept[0];
	size = l->after < l->before ? l->after : l->before;
	return 8 + copy_bytes(c, l->data, room - 8, from, size, SYSCALLS_ADDRESS);
}

/* The parts of a vector, with the beginning of the data of each, of which there are `left` bytes
 * (-1: all). Returns how many. */
static __always_inline u32 copy_iov(u64 from, u64 count, u64 left, char *to, u32 most)
{
	u32 i;

	for (i = 0; i < most && i < count; i++) {
		struct syscalls_iov *v = (void *)(to + i * sizeof(*v));
		u64 n;

		if (bpf_probe_read_user(v, 2 * sizeof(u64), (void *)(from + i * 2 * sizeof(u64))))
			break;
		__builtin_memset((char *)v + 2 * sizeof(u64), 0, sizeof(*v) - 2 * sizeof(u64));
		n = v->len < left ? v->len : left;
		left -= left == -1ULL ? 0 : n;
		v->cut = n > SYSCALLS_DATA;
		n = v->cut ? SYSCALLS_DATA : n;
		asm volatile("%0 &= 63" : "+r"(n));
		if (n > SYSCALLS_DATA)
			break;
		v->got =
			n && bpf_probe_read_user(v->data, n, (void *)v->base) ? SYSCALLS_UNREAD : n;
	}
	return i;
}

struct user_msghdr_begin {
	u64 name;
	u32 name_len;
	u32 name_before; /* padding: what name_len was as the call began */
	u64 iov, iov_len;
};

/* struct msghdr, the parts of its vector, its address. */
static __always_inline u32 copy_msg(struct copying *c, char *to, u32 room, u64 from, u64 left)
{
	struct user_msghdr_begin *m = (void *)to;
	u32 iovs = (room - SYSCALLS_MSGHDR) / sizeof(struct syscalls_iov), n, at;

	if (bpf_probe_read_user(to, SYSCALLS_MSGHDR, (void *)from))
		return copy_failed(c);
	m->name_before = c->kept[0];
	if (iovs > SYSCALLS_IOVS)
		iovs = SYSCALLS_IOVS;
	n = copy_iov(m->iov, m->iov_len, left, to + SYSCALLS_MSGHDR, iovs);
	at = SYSCALLS_MSGHDR + n * sizeof(struct syscalls_iov);
	if (!m->name || !m->name_len || at + SYSCALLS_ADDRESS > room || c->ret < 0)
		return at;
	asm volatile("%0 &= 511" : "+r"(at));
	return at +
	       copy_bytes(c, to + at, SYSCALLS_ADDRESS, m->name, m->name_len, SYSCALLS_ADDRESS);
}

/* select: what was kept, and what is there now. */
static __always_inline u32 copy_sets(struct copying *c, const u64 *args, char *to, u32 room)
{
	struct syscalls_sets *s = (void *)to;

	if (room < sizeof(*s))
		return copy_failed(c);
	__builtin_memcpy(s, c->kept, sizeof(c->kept));
	__builtin_memset(s->found, 0, sizeof(s->found) + sizeof(s->left));
#pragma unroll
	for (u32 i = 0; i < 3; i++)
		if (args[1 + i])
			bpf_probe_read_user(&s->found[i], sizeof(u64), (void *)args[1 + i]);
	if (args[4])
		bpf_probe_read_user(s->left, sizeof(s->left), (void *)args[4]);
	return sizeof(*s);
}

/* pselect6: how its mask is given, and the mask. */
static __always_inline u32 copy_mask(struct copying *c, char *to, u32 room, u64 from)
{
	u64 *words = (void *)to;

	if (room < 3 * sizeof(*words) || bpf_probe_read_user(words, 16, (void *)from))
		return copy_failed(c);
	words[2] = 0;
	if (words[0] && bpf_probe_read_user(&words[2], sizeof(*words), (void *)words[0]))
		return copy_failed(c);
	return 3 * sizeof(*words);
}

/* Copies what c says to `to`, which has `room` bytes (a constant). Returns the bytes. */
static __always_inline u32 copy_one(struct copying *c, const u64 *args, char *to, u32 room)
{
	u32 i = (c->how & SYSCALLS_COPY_ARG) - 1, n;
	u64 from, next, ret = c->ret > 0 ? c->ret : 0, left;

	if ((c->how & ~SYSCALLS_COPY_ARG) == SYSCALLS_COPY_SETS)
		return copy_sets(c, args, to, room);
	if (i >= SYSCALLS_ARGS || !args[i])
		return 0;
	from = args[i];
	next = i < SYSCALLS_ARGS - 1 ? args[i + 1] : 0;
	left = c->how & SYSCALLS_COPY_OUT ? ret : -1ULL;
	switch (c->how & SYSCALLS_COPY_HOW) {
	case SYSCALLS_COPY_TEXT:
		return copy_text(c, to, room < SYSCALLS_TEXT ? room : SYSCALLS_TEXT, from);
	case SYSCALLS_COPY_BYTES:
		return copy_bytes(c, to, room, from, next, SYSCALLS_DATA);
	case SYSCALLS_COPY_RESULT:
		return copy_bytes(c, to, room, from, ret, SYSCALLS_DATA);
	case SYSCALLS_COPY_4:
		if (c->how & SYSCALLS_COPY_OUT)
			return copy_mask(c, to, room, from);
		return copy_bytes(c, to, room, from, 4, 4);
	case SYSCALLS_COPY_8:
		return copy_bytes(c, to, room, from, 8, 8);
	case SYSCALLS_COPY_12:
		return copy_bytes(c, to, room, from, 12, 12);
	case SYSCALLS_COPY_16:
		n = c->how & SYSCALLS_COPY_OUT ? 112 : 16;
		return copy_bytes(c, to, room, from, n, n);
	case SYSCALLS_COPY_32:
		if (!(c->how & SYSCALLS_COPY_OUT))
			return copy_bytes(c, to, room, from, 32, 32);
		__builtin_memcpy(to, c->kept, 16);
		return 16 + copy_bytes(c, to + 16, room - 16, from, 16, 16);
	case SYSCALLS_COPY_64:
		n = c->how & SYSCALLS_COPY_OUT ? 127 : 64;
		return copy_bytes(c, to, room, from, n, n);
	case SYSCALLS_COPY_POLL:
		n = room < SYSCALLS_POLLS * 8 ? room / 8 * 8 : SYSCALLS_POLLS * 8;
		return copy_bytes(c, to, room, from, next < 64 ? next * 8 : 512, n);
	case SYSCALLS_COPY_EVENTS:
		n = room < SYSCALLS_EVENTS * 12 ? room / 12 * 12 : SYSCALLS_EVENTS * 12;
		return copy_bytes(c, to, room, from, ret < 64 ? ret * 12 : 768, n);
	case SYSCALLS_COPY_SOCK:
		return copy_bytes(c, to, room, from, next, SYSCALLS_ADDRESS);
	case SYSCALLS_COPY_LENGTH:
		return copy_length(c, to, room, from, next);
	case SYSCALLS_COPY_IOV:
		n = room / sizeof(struct syscalls_iov);
		n = n > SYSCALLS_IOVS ? SYSCALLS_IOVS : n;
		return copy_iov(from, next, left, to, n) * sizeof(struct syscalls_iov);
	case SYSCALLS_COPY_MSG:
		return room < SYSCALLS_MSGHDR ? 0 : copy_msg(c, to, room, from, left);
	}
	return 0;
}

/* What the table says of a call; which: SYSCALLS_COPIES for the length that it changes. */
static __always_inline u8 copy_how(const struct syscall_call *call, u32 which)
{
	u64 nr = call->nr;

	if (!config.copies || nr >= SYSCALLS_COPIED)
		return 0;
	asm volatile("%0 &= %1" : "+r"(nr) : "i"(SYSCALLS_COPIED - 1));
	return config.copy[call->abi == SYSCALL_COMPAT][nr][which];
}

static __always_inline void sets_keep(const u64 *args, struct thread *t)
{
#pragma unroll
	for (u32 i = 0; i < 3; i++)
		if (args[1 + i])
			bpf_probe_read_user(&t->kept[i], sizeof(u64), (void *)args[1 + i]);
	if (args[4])
		bpf_probe_read_user(&t->kept[3], 2 * sizeof(u64), (void *)args[4]);
}

/* As a call begins: what it will change, if it is one of those. */
static __always_inline void begin_keep(const struct syscall_call *call, struct thread *t)
{
	u8 how = copy_how(call, SYSCALLS_COPIES), i = how & SYSCALLS_KEEP_ARG;
	u64 args[SYSCALLS_ARGS], p;

	if (!how)
		return;
	syscall_args(call, args);
	/* without a variable index into the stack */
	p = i == 2 ? args[1] : i == 3 ? args[2] : i == 5 ? args[4] : args[5];
	__builtin_memset(t->kept, 0, sizeof(t->kept));
	if ((how & SYSCALLS_KEEP_WHAT) == SYSCALLS_KEEP_SETS)
		sets_keep(args, t);
	else if ((how & SYSCALLS_KEEP_WHAT) == SYSCALLS_KEEP_16)
		bpf_probe_read_user(t->kept, 2 * sizeof(u64), (void *)p);
	else
		bpf_probe_read_user(t->kept, sizeof(u32),
			(void *)(p + ((how & SYSCALLS_KEEP_WHAT) == SYSCALLS_KEEP_NAME ? 8 : 0)));
}

#define EXEC_ARGV 32 /* texts that are copied at most, as strace shows */

/* The texts of argv, one behind the other, as many as fit: one character more of each than is
 * shown, to know that there are more. */
static __always_inline u32 argv_copy(struct exec_begun *e, u64 argv, struct copying *c)
{
	u64 p = 0;
	u32 at = 0;
	long n;

#pragma clang loop unroll(disable)
	for (int i = 0; i <= EXEC_ARGV; i++) {
		if (bpf_probe_read_user(&p, sizeof(p), (void *)(argv + i * sizeof(p))) || !p)
			return at;
		if (i == EXEC_ARGV || at >= SYSCALLS_ARGV - 1)
			break;
		at &= SYSCALLS_ARGV - 1;
		n = bpf_probe_read_user_str(e->argv + at, SYSCALLS_DATA + 2, (void *)p);
		if (n <= 0)
			return at;
		at += n;
	}
	copy_cut(c, true);
	return at < SYSCALLS_ARGV ? at : SYSCALLS_ARGV;
}

static __always_inline void exec_copy(struct syscall_call *call)
{
	u32 tgid = call->pid_tgid >> 32;
	struct exec_begun *e;
	u64 args[SYSCALLS_ARGS];
	u8 first = copy_how(call, 0), second = copy_how(call, 1);
	struct copying *c = copying_begin(0);

	bpf_map_update_elem(&execs, &tgid, &exec_zero, BPF_ANY);
	e = bpf_map_lookup_elem(&execs, &tgid);
	if (!e || !c)
		return;
	syscall_args(call, args);
	__builtin_memcpy(e->args, args, sizeof(args));
	if (first)
		e->size[0] = copy_text(c, e->text, sizeof(e->text),
			(first & SYSCALLS_COPY_ARG) == 1 ? args[0] : args[1]);
	c->which = 1;
	if (second)
		e->size[1] = argv_copy(e, (second & SYSCALLS_COPY_ARG) == 2 ? args[1] : args[2], c);
	e->flags = c->flags;
}

/* Copies `n` bytes that are at most `most`, and as many as there is room for. */
static __always_inline u32 exec_text(
	char *to, u32 room, const char *from, u32 n, u16 cut, u16 *flags)
{
	if (n > room) {
		n = room;
		*flags |= cut;
	}
	asm volatile("%0 &= 511" : "+r"(n));
	if (n > room)
		return 0;
	bpf_probe_read_kernel(to, n, from);
	return n;
}

static __always_inline struct exec_begun *exec_of(const struct syscall_call *call)
{
	u32 tgid = call->pid_tgid >> 32;

	return call_is_exec(call) ? bpf_map_lookup_elem(&execs, &tgid) : 0;
}

#endif
