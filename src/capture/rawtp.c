/* See rawtp.h. */
#include "capture/rawtp.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>

bool rawtp_has_args(const char *name, u32 n)
{
	/* r0 = ctx->args[n - 1]; r0 = 0; return r0 */
	struct bpf_insn insns[] = {
		{.code = BPF_LDX | BPF_MEM | BPF_DW,
			.dst_reg = 0,
			.src_reg = 1,
			.off = (s16)((n - 1) * sizeof(u64))},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	_cleanup_close_ int prog = bpf_prog_load(
		BPF_PROG_TYPE_RAW_TRACEPOINT, NULL, "GPL", insns, ARRAY_SIZE(insns), NULL);
	_cleanup_close_ int link = prog < 0 ? -1 : bpf_raw_tracepoint_open(name, prog);

	return link >= 0;
}
