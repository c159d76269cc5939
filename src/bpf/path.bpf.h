/*
 * Where the last component of a path starts. A global function of numbers only, which the verifier
 * checks once and not on each path that leads to it.
 */
#ifndef MEMWHY_BPF_PATH_BPF_H
#define MEMWHY_BPF_PATH_BPF_H

#include "bpf/common.bpf.h"

#define PATH_LOOKED_AT 128

/* The place of the last '/' in the beginning of a path, in the memory of the process or of the
 * kernel; 0: there is none behind the first character, or the path cannot be read. */
__noinline u32 path_last(u64 path, u32 of_process)
{
	char text[PATH_LOOKED_AT] = {};
	u32 last = 0;
	long n;

	if (of_process)
		n = bpf_probe_read_user_str(text, sizeof(text), (void *)path);
	else
		n = bpf_probe_read_kernel_str(text, sizeof(text), (void *)path);
	if (n <= 0)
		return 0;
		/* Without branches: the verifier would follow each way through them. Behind the end
		 * are zeros. */
#pragma unroll
	for (u32 i = 1; i < PATH_LOOKED_AT; i++)
		last += (i - last) * ((((u32)(u8)text[i] ^ '/') - 1) >> 31);
	return last;
}

#endif
