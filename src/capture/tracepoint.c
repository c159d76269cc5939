/* See tracepoint.h. */
#include "capture/tracepoint.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/util.h"
#include "capture/kbtf.h"

/* From BTF, which is read once. -ENOENT: it does not tell. */
static int arguments_known(const char *tracepoint, u32 *ret)
{
	static struct groups all;
	static bool was_read;
	char key[KBTF_TRACEPOINT] = "";
	const u32 *n;

	if (!was_read && kbtf_tracepoints(&all))
		groups_clear(&all);
	was_read = true;
	snprintf(key, sizeof(key), "%.63s", tracepoint);
	n = groups_find(&all, key);
	if (!n)
		return -ENOENT;
	*ret = *n;
	return 0;
}

/* Attaching and detaching waits for grace periods: up to 16 ms each. */
static bool argument_try(const char *tracepoint, u32 number)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_LDX | BPF_MEM | BPF_DW,
			.dst_reg = BPF_REG_0,
			.src_reg = BPF_REG_1,
			.off = (s16)(number * sizeof(u64))},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	_cleanup_close_ int prog = bpf_prog_load(
		BPF_PROG_TYPE_RAW_TRACEPOINT, NULL, "GPL", insns, ARRAY_SIZE(insns), NULL);
	_cleanup_close_ int link = prog < 0 ? -1 : bpf_raw_tracepoint_open(tracepoint, prog);

	return link >= 0;
}

/* As argument_try, but once for each question: plans ask again at each attempt. */
static bool argument_tried(const char *tracepoint, u32 number)
{
	struct question {
		char tracepoint[KBTF_TRACEPOINT];
		u32 number;
	} question = {.number = number};
	static struct groups answers;
	enum { UNKNOWN, NO, YES } * answer;

	if (!answers.key_size)
		groups_init(&answers, sizeof(question), sizeof(*answer));
	snprintf(question.tracepoint, sizeof(question.tracepoint), "%.63s", tracepoint);
	answer = groups_get(&answers, &question);
	if (!answer)
		return argument_try(tracepoint, number);
	if (!*answer)
		*answer = argument_try(tracepoint, number) ? YES : NO;
	return *answer == YES;
}

bool tracepoint_has_argument(const char *tracepoint, u32 number)
{
	u32 n;

	return arguments_known(tracepoint, &n) ? argument_tried(tracepoint, number) : number < n;
}
