/* See tracepoint.h. */
#include "capture/tracepoint.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <unistd.h>

#include "base/file.h"
#include "base/util.h"

bool tracepoint_has_argument(const char *tracepoint, u32 number)
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
