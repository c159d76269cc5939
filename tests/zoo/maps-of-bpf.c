/*
 * An agent that makes BPF maps much larger than it needs: their memory is the kernel's.
 * @state sick
 * @group 2
 * @who maps-of-bpf
 * @cause BPF map
 */
#include <linux/bpf.h>
#include <sys/syscall.h>

#include "zoo.h"

int main(void)
{
	for (int i = 0; i < 6; i++) {
		union bpf_attr a = {.map_type = i % 2 ? BPF_MAP_TYPE_HASH : BPF_MAP_TYPE_ARRAY,
			.key_size = 4,
			.value_size = 256,
			.max_entries = 250000};

		if (syscall(SYS_bpf, BPF_MAP_CREATE, &a, sizeof(a)) < 0)
			err(1, "bpf");
	}
	zoo_ready();
	zoo_wait();
}
