/* Frames and stacks of the kernel and of processes, sent once each. See names.h. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include <xxhash.h>

#include "capture/names/follow.h"
#include "capture/names/names_sent.h"
#include "sym/perfmap.h"

#define PAIRS_MAX (1U << 18)

/* The address of a place in a process. What has ended may have none any more. */
static u64 place_address(struct names *n, const struct frame_key *key, u32 tgid)
{
	const struct process_map *map = follow_map(n->follow, tgid);
	u64 offset =
		key->offset - key->is_return; /* what is behind a call may be behind the code */
	u64 address = map ? process_map_address(map, key->module, offset) : 0;

	return address ? address + key->is_return : 0;
}

/* address 0: where tgid has it. */
static u32 frame_id(struct names *n, const struct frame_key *key, u64 address, u32 tgid)
{
	const struct module *m = module_table_get(n->modules, key->module);
	struct rec_frame r = REC_INIT(struct rec_frame, REC_FRAME, 0);
	bool is_new = false;
	u32 id = names_intern(n, &n->frames, key, sizeof(r), &is_new);

	if (!id || !is_new)
		return id;
	r.h.flags = (u16)key->space;
	r.id = id;
	r.module = names_string(n, m ? m->path : NULL);
	r.offset = key->offset;
	r.address = address ? address : place_address(n, key, tgid);
	return names_put(n, &r.h) ? 0 : id;
}

static u32 kernel_frame(struct names *n, u64 ip, bool is_return)
{
	struct frame_key key = {
		.space = FRAME_KERNEL,
		.module = MODULE_ID_KERNEL,
		.offset = ip,
		.is_return = is_return,
	};

	return frame_id(n, &key, ip, 0);
}

static u32 user_frame(struct names *n, const struct process_map *map, u64 ip, bool is_return)
{
	struct frame_key key = {.space = FRAME_USER, .offset = ip, .is_return = is_return};
	struct map_hit hit;

	if (map && !process_map_find(map, ip, &hit)) {
		key.module = hit.module;
		key.offset = hit.offset;
	}
	if (key.module == MODULE_ID_ANON) {
		key.tgid = (u32)map->pid;
		perf_maps_sight(n->perf_maps, key.tgid);
	}
	return frame_id(n, &key, ip, 0);
}

/* A frame of a walk that knew its file. */
static u32 place_frame(struct names *n, u32 tgid, u64 frame, bool is_return)
{
	struct frame_key key = {
		.space = FRAME_USER,
		.module = STACK_PLACE_MODULE(frame),
		.offset = STACK_PLACE_OFFSET(frame),
		.is_return = is_return,
	};

	return frame_id(n, &key, 0, tgid);
}

/* A user stack's addresses and flags (of REC_STACK); false: it is not there. */
static bool user_stack_read(const struct stack_maps *maps, u32 stack, struct user_stack *ret)
{
	u32 id = stack - 1;

	if (stack & STACK_WALKED)
		return !bpf_map_lookup_elem(maps->user_stacks, &stack, ret) &&
		       ret->n <= STACK_DEPTH_MAX;
	if (!stack || bpf_map_lookup_elem(maps->stacks, &id, ret->frames))
		return false;
	ret->method = STACK_BY_FRAME_POINTERS;
	ret->detail = STACK_KERNEL;
	while (ret->n < STACK_DEPTH_MAX && ret->frames[ret->n])
		ret->n++;
	return true;
}

static u32 kernel_frames(struct names *n, const struct stack_maps *maps, u32 stack, u32 *ids)
{
	u64 ips[STACK_DEPTH_MAX] = {};
	u32 id = stack - 1, count = 0;

	if (!stack || bpf_map_lookup_elem(maps->stacks, &id, ips))
		return 0;
	for (; count < STACK_DEPTH_MAX && ips[count]; count++)
		ids[count] = kernel_frame(n, ips[count], count > 0);
	return count;
}

/* The map that addresses of a stack are named by. Of a program that has just begun mappings may
 * have come since events were last taken. */
static const struct process_map *stack_map(struct names *n, u32 tgid, u64 address)
{
	const struct process_map *map = follow_map(n->follow, tgid);
	struct map_hit hit;

	if (map && !process_map_find(map, address, &hit))
		return map;
	return follow_take(n->follow) ? map : follow_map(n->follow, tgid);
}

/* Does a walk by frame pointers end here? Code without them has anything where the next frame is
 * looked for, other at each call: once that is no code, what follows says nothing. Nor does the
 * innermost address of a process of which nothing is known any more, of which who watches, and who
 * looks for causes, would keep another one for each. */
static bool walk_ends(
	const struct names *n, const struct process_map *map, u64 address, bool innermost)
{
	bool gentle = n->opt.capture && n->opt.capture->opt.gentle;
	struct map_hit hit;

	if (innermost && !gentle)
		return false;
	return !map || process_map_find(map, address, &hit);
}

/* Frames of a user stack appended to ids; returns how many ids there are then. called: the
 * innermost one is a return address too. */
static u32 user_frames(
	struct names *n, u32 tgid, const struct user_stack *user, bool called, u32 *ids, u32 at)
{
	const struct process_map *map = NULL;

	for (u32 i = 0; i < user->n; i++) {
		u64 frame = user->frames[i];
		bool is_return = called || i > 0;

		if (frame & STACK_PLACE) {
			ids[at++] = place_frame(n, tgid, frame, is_return);
			continue;
		}
		map = map ? map : stack_map(n, tgid, frame);
		if (walk_ends(n, map, frame - is_return, i == 0))
			break;
		ids[at++] = user_frame(n, map, frame, is_return);
	}
	return at;
}

/* As REC_STACK has them. */
static u16 stack_flags(const struct user_stack *user)
{
	return (u16)(user->method | user->detail << 8);
}

static u32 stack_send(struct names *n, const u32 *ids, u32 count, u16 flags)
{
	size_t size = (sizeof(struct rec_stack) + count * sizeof(u32) + 7) & ~7UL;
	XXH128_hash_t hash = XXH3_128bits_withSeed(ids, count * sizeof(*ids), flags);
	_cleanup_free_ struct rec_stack *r = NULL;
	bool is_new = false;
	u32 id = names_intern(n, &n->stacks, &hash, size, &is_new);

	if (!id || !is_new)
		return id;
	r = calloc(1, size);
	if (!r)
		return 0;
	r->h.size = (u32)size;
	r->h.kind = REC_STACK;
	r->h.flags = flags;
	r->id = id;
	r->n = count;
	memcpy(r->frames, ids, count * sizeof(*ids));
	return names_put(n, &r->h) ? 0 : id;
}

/* Are all frames places in files, which are the same in every process? */
static bool stack_is_anyones(const struct user_stack *user)
{
	for (u32 i = 0; i < user->n; i++)
		if (!(user->frames[i] & STACK_PLACE))
			return false;
	return true;
}

/* Under churn the same few stacks come by with each process. */
u32 names_stack(struct names *n, const struct stack_maps *maps, u32 tgid, u32 ustack, u32 kstack)
{
	struct stack_pair pair = {ustack, kstack};
	const u32 *known = groups_find(&n->pairs, &pair);
	u32 ids[2 * STACK_DEPTH_MAX], count, id, *keep;
	struct user_stack user = {};

	if (known)
		return *known;
	count = kernel_frames(n, maps, kstack, ids);
	if (user_stack_read(maps, ustack, &user))
		count = user_frames(n, tgid, &user, false, ids, count);
	id = count ? stack_send(n, ids, count, stack_flags(&user)) : 0;
	if (!id || n->pairs.n == PAIRS_MAX || !stack_is_anyones(&user))
		return id;
	keep = groups_get(&n->pairs, &pair);
	if (keep)
		*keep = id;
	return id;
}

u32 names_callers(struct names *n, const struct stack_maps *maps, u32 tgid, u32 ustack)
{
	struct user_stack user = {};
	u32 ids[STACK_DEPTH_MAX], count = 0;

	if (user_stack_read(maps, ustack, &user))
		count = user_frames(n, tgid, &user, true, ids, 0);
	return count ? stack_send(n, ids, count, stack_flags(&user)) : 0;
}

u32 names_user_stack(struct names *n, const struct process_map *map, const u64 *ips, u32 count)
{
	u32 ids[2 * STACK_DEPTH_MAX];

	count = MIN(count, (u32)ARRAY_SIZE(ids));
	for (u32 i = 0; i < count; i++)
		ids[i] = user_frame(n, map, ips[i], true);
	return count ? stack_send(n, ids, count, STACK_EXACT) : 0;
}

u32 names_addresses(struct names *n, const u64 *kernel, u32 n_kernel, const struct process_map *map,
	const u64 *user, u32 n_user, u16 method)
{
	u32 ids[4 * STACK_DEPTH_MAX], count = 0;

	for (u32 i = 0; i < n_kernel && count < ARRAY_SIZE(ids); i++)
		ids[count++] = kernel_frame(n, kernel[i], i > 0);
	for (u32 i = 0; i < n_user && count < ARRAY_SIZE(ids); i++)
		ids[count++] = user_frame(n, map, user[i], i > 0);
	return count ? stack_send(n, ids, count, n_user ? method : STACK_EXACT) : 0;
}

u32 names_kernel_symbol(struct names *n, u64 address)
{
	return kernel_frame(n, address, false);
}
