/* See unwind_late.h. */
#include "capture/unwind/unwind_late.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "cfi/walk.h"
#include "event/wire.h"

#define BYTES_MAX (6UL << 20)
#define TRIM_BYTES (1UL << 20) /* are worth giving back to the kernel */
#define WAIT_NS NSEC_PER_SEC   /* for tables; whatever is drained by then has gone without them */

struct late {
	const struct unwind_layout *tried; /* the mappings that it was walked by, too early */
	u64 came_ns;
	struct unwind_copy copy; /* cut behind its bytes */
};

struct unwind_late {
	struct unwind_files *files;
	struct unwind_layouts *layouts;
	VEC(struct late *) waiting;
	size_t bytes;
	struct unwind_counts counts;
};

/* Whose code a walk is about. */
struct late_code {
	struct unwind_late *l;
	const struct unwind_layout *layout;
};

int unwind_late_open(
	struct unwind_files *files, struct unwind_layouts *layouts, struct unwind_late **ret)
{
	struct unwind_late *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->files = files;
	l->layouts = layouts;
	*ret = l;
	return 0;
}

void unwind_late_close(struct unwind_late *l)
{
	if (!l)
		return;
	vec_each (late, &l->waiting)
		free(*late);
	vec_free(&l->waiting);
	free(l);
}

static size_t late_bytes(const struct unwind_copy *copy)
{
	return offsetof(struct late, copy) + offsetof(struct unwind_copy, bytes) + copy->n;
}

int unwind_late_add(struct unwind_late *l, const struct unwind_copy *copy, size_t size)
{
	size_t bytes = late_bytes(copy);
	struct late *late;

	if (copy->n > sizeof(copy->bytes) || bytes - offsetof(struct late, copy) > size ||
		l->bytes + bytes > BYTES_MAX)
		return 0;
	late = calloc(1, MAX(bytes, sizeof(*late) - sizeof(copy->bytes)));
	if (!late)
		return -ENOMEM;
	memcpy(&late->copy, copy, bytes - offsetof(struct late, copy));
	late->came_ns = clock_mono_ns();
	if (vec_push(&l->waiting, late)) {
		free(late);
		return -ENOMEM;
	}
	l->bytes += bytes;
	return 0;
}

/* For cfi_walk. */
static int code_find(void *ctx, u64 ip, struct cfi_place *ret)
{
	const struct late_code *code = ctx;
	const struct unwind_mapping *m = unwind_layouts_find(code->l->layouts, code->layout, ip);

	if (!m)
		return CFI_STOP_NO_CODE;
	*ret = (struct cfi_place){
		.module = m->module,
		.offset = m->module ? ip - m->file : ip,
		.made = !m->blocks && m->rows == UNWIND_NO_FILE,
	};
	return unwind_files_rule(code->l->files, m, ip, &ret->rule);
}

/* By their numbers in DWARF: words of struct pt_regs. */
static void registers_of(const struct unwind_copy *copy, u64 registers[16])
{
	static const u8 word[16] = {
		10, 12, 11, 5, 13, 14, 4, UNWIND_REGS_SP, 9, 8, 7, 6, 3, 2, 1, 0};

	for (size_t i = 0; i < ARRAY_SIZE(word); i++)
		registers[i] = copy->regs[word[i]];
}

static int copy_walk(const struct late_code *code, const struct unwind_copy *copy,
	struct cfi_frame *frames, struct cfi_walk *ret)
{
	const struct cfi_code how = {.find = code_find, .ctx = (void *)code};
	u64 registers[16];

	registers_of(copy, registers);
	return cfi_walk_copy(&how, registers, copy->regs[UNWIND_REGS_IP], copy->bytes, copy->n,
		frames, STACK_DEPTH_MAX, ret);
}

/* As unwind_place() has it in bpf/unwind.bpf.h. The offset is that of the call, the frame behind
 * it. */
static u64 unwind_late_place_of(const struct cfi_frame *frame)
{
	u64 offset = frame->at.offset + !frame->exact;

	if (!frame->at.module || offset >> STACK_PLACE_SHIFT)
		return frame->ip;
	return STACK_PLACE | (u64)frame->at.module << STACK_PLACE_SHIFT | offset;
}

static void stack_put(struct unwind_late *l, int stacks, u32 id, const struct cfi_frame *frames,
	const struct cfi_walk *walk)
{
	struct user_stack stack = {.n = (u32)walk->n};

	stack.method = walk->stop != CFI_STOP_END ? STACK_CUT
		       : walk->guessed            ? STACK_GUESSED
						  : STACK_EXACT;
	stack.detail = walk->stop != CFI_STOP_END ? (u8)walk->stop : 0;
	for (u32 i = 0; i < stack.n; i++)
		stack.frames[i] = unwind_late_place_of(&frames[i]);
	stack.hash = id; /* its key has no other stack */
	if (bpf_map_update_elem(stacks, &id, &stack, BPF_EXIST))
		return;
	l->counts.stacks[stack.method][stack.detail]++;
}

/* true: it is done with. */
static bool late_try(struct late_code *code, struct late *late, int stacks, u64 now, int *rc)
{
	struct cfi_frame frames[STACK_DEPTH_MAX];
	struct cfi_walk walk;

	if (!code->layout || code->layout == late->tried)
		return now - late->came_ns > WAIT_NS;
	*rc = copy_walk(code, &late->copy, frames, &walk);
	late->tried = code->layout;
	if (walk.stop == CFI_STOP_NO_CODE) /* of a library that comes next, perhaps */
		return now - late->came_ns > WAIT_NS;
	if (!*rc && (walk.stop == CFI_STOP_END || walk.n > late->copy.had))
		stack_put(code->l, stacks, late->copy.stack, frames, &walk);
	return true;
}

int unwind_late_walk(struct unwind_late *l, int stacks, unwind_layout_fn *layout_of, void *ctx)
{
	size_t left = 0, held = l->bytes;
	u64 now = clock_mono_ns();
	int rc = 0;

	if (!l->waiting.n)
		return 0;
	vec_each (at, &l->waiting) {
		struct late *late = *at;
		struct late_code code = {l, layout_of(ctx, late->copy.identity)};

		if (rc || !late_try(&code, late, stacks, now, &rc)) {
			l->waiting.v[left++] = late;
			continue;
		}
		l->bytes -= late_bytes(&late->copy);
		free(late);
	}
	l->waiting.n = left;
	unwind_files_looked(l->files);
	if (held - l->bytes >= TRIM_BYTES)
		malloc_trim(0);
	return rc;
}

const struct unwind_counts *unwind_late_counts(const struct unwind_late *l)
{
	return &l->counts;
}
