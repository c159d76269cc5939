/*
 * User stacks by our own walk. The kernel's (bpf_get_stackid) ends with a page fault wherever the
 * outermost frame was left by code without frame pointers, as libc's is: the register holds a small
 * number then (argc, mostly). That fault costs more than the rest of the walk, and is traced once
 * more. Here such a number is told from a frame.
 *
 * bpf_loop came with 5.17, and an object that names a callback does not load before: objects whose
 * events are many are built with and without USER_WALK, and the loader takes the one that loads.
 */
#ifdef USER_WALK

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct user_stack);
} user_stacks SEC(".maps");

#define X86_USER_CS 0x33
#define FRAME_MIN 65536          /* vm.mmap_min_addr; addresses of code and frames lie between */
#define FRAME_MAX 0x7fffffffeff0 /* the end of the address space, less a frame */
#define HASH_STEP 0x9e3779b97f4a7c15

struct user_walk {
	u64 fp;
	u64 hash;
	struct user_stack *out; /* NULL: only the hash is wanted */
};

static long user_frame(u32 i, struct user_walk *w)
{
	u64 frame[2];

	if (w->fp & 7 || w->fp < FRAME_MIN || w->fp > FRAME_MAX ||
		bpf_probe_read_user(frame, sizeof(frame), (void *)w->fp) || frame[1] < FRAME_MIN ||
		frame[1] > FRAME_MAX)
		return 1;
	if (w->out && i < STACK_DEPTH_MAX - 1)
		w->out->ips[i + 1] = frame[1];
	w->fp = frame[0];
	w->hash = (w->hash ^ frame[1]) * HASH_STEP;
	w->hash ^= w->hash >> 32;
	return 0;
}

/* Follows the frame pointers up from (ip, fp); returns a hash of the addresses. */
static __always_inline u64 user_walk(u64 ip, u64 fp, struct user_stack *out)
{
	struct user_walk w = {.fp = fp, .hash = ip * HASH_STEP, .out = out};

	if (out)
		out->ips[0] = ip;
	bpf_loop(STACK_DEPTH_MAX - 1, user_frame, &w, 0);
	return w.hash;
}

static const struct user_stack user_stack_zero = {};

/* Key of a walked stack in user_stacks; 0: there is no room, or another stack has its key. */
static __always_inline u32 user_stack_key(u64 ip, u64 fp)
{
	u64 hash = user_walk(ip, fp, 0);
	u32 key = (u32)hash | STACK_WALKED;
	struct user_stack *s = bpf_map_lookup_elem(&user_stacks, &key);

	if (s)
		return s->hash == hash ? key : 0;
	bpf_map_update_elem(&user_stacks, &key, &user_stack_zero, BPF_NOEXIST);
	s = bpf_map_lookup_elem(&user_stacks, &key);
	if (!s || (s->hash && s->hash != hash))
		return 0;
	user_walk(ip, fp, s);
	s->hash = hash;
	return key;
}

/* false: not for this walk (32-bit code). *ret_id is 0 for a kernel thread. */
static __noinline bool user_stack_take(long *ret_id)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	u64 fp = 0, ip_cs[2] = {};

	bpf_probe_read_kernel(&fp, sizeof(fp), &regs->rbp);
	bpf_probe_read_kernel(ip_cs, sizeof(ip_cs), &regs->rip);
	*ret_id = 0;
	if ((u16)ip_cs[1] != X86_USER_CS)
		return !(ip_cs[1] & 3);
	*ret_id = user_stack_key(ip_cs[0], fp);
	if (!*ret_id)
		count_add(lost_stack);
	return true;
}

#endif
