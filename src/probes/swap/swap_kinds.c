/* See swap_kinds.h. */
#include "probes/swap/swap_kinds.h"

#include "base/util.h"
#include "probes/swap/swap.h"

static const struct field agg_fields[] = {
	FIELD(struct swap_agg, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct swap_agg, tid, FIELD_U32, UNIT_ID, "thread; 0: not counted by thread"),
	FIELD(struct swap_agg, stack, FIELD_U32, UNIT_STACK, "where it was begun"),
	FIELD(struct swap_agg, type, FIELD_U8, UNIT_ID,
		"0 swap-in, 1 swap-out, 3 swap-in from zswap"),
	FIELD(struct swap_agg, who, FIELD_U8, UNIT_ID, "0 task, 1 kswapd, 2 other kernel thread"),
	FIELD(struct swap_agg, count, FIELD_U64, UNIT_COUNT, "reads or writes"),
	FIELD(struct swap_agg, pages, FIELD_U64, UNIT_PAGES, "their pages"),
	FIELD(struct swap_agg, waits, FIELD_U64, UNIT_COUNT, "page faults that had to read"),
	FIELD(struct swap_agg, total_ns, FIELD_U64, UNIT_NS, "their time"),
	FIELD(struct swap_agg, max_ns, FIELD_U64, UNIT_NS, "the longest since the start"),
	FIELD(struct swap_agg, cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD_ARRAY(struct swap_agg, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
	FIELD_ARRAY(struct swap_agg, hist, FIELD_U32, UNIT_COUNT, AGG_SLOTS,
		"log2 histogram of the waits' ns"),
};

static const struct field event_fields[] = {
	FIELD(struct swap_event, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct swap_event, tid, FIELD_U32, UNIT_ID, "thread"),
	FIELD(struct swap_event, ustack, FIELD_U32, UNIT_STACK, "where it was begun"),
	FIELD(struct swap_event, ns, FIELD_U64, UNIT_NS, "of a wait: its time"),
	FIELD(struct swap_event, cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD(struct swap_event, pages, FIELD_U32, UNIT_PAGES, "pages read or written"),
	FIELD(struct swap_event, reads, FIELD_U32, UNIT_COUNT, "of a wait: its reads"),
	FIELD(struct swap_event, type, FIELD_U8, UNIT_ID,
		"0 swap-in, 1 swap-out, 2 wait, 3 swap-in from zswap"),
	FIELD(struct swap_event, who, FIELD_U8, UNIT_ID, "as in swap_agg"),
	FIELD_ARRAY(struct swap_event, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
};

static const struct field device_fields[] = {
	FIELD(struct swap_device, size_bytes, FIELD_U64, UNIT_BYTES, "size"),
	FIELD(struct swap_device, used_bytes, FIELD_U64, UNIT_BYTES, "in use"),
	FIELD(struct swap_device, priority, FIELD_S32, UNIT_NONE, "higher is used first"),
	FIELD(struct swap_device, is_file, FIELD_U8, UNIT_ID, "1: a swap file"),
	FIELD(struct swap_device, is_zram, FIELD_U8, UNIT_ID, "1: zram_* are known"),
	FIELD(struct swap_device, zram_data_bytes, FIELD_U64, UNIT_BYTES,
		"stored in zram, before compression"),
	FIELD(struct swap_device, zram_compressed_bytes, FIELD_U64, UNIT_BYTES,
		"the same after compression"),
	FIELD(struct swap_device, zram_memory_bytes, FIELD_U64, UNIT_BYTES, "memory that it takes"),
	FIELD_ARRAY(struct swap_device, name, FIELD_CHARS, UNIT_NONE, SWAP_NAME_LEN,
		"path, or the end of it"),
};

static const struct field owner_fields[] = {
	FIELD(struct swap_owner, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct swap_owner, cgroup, FIELD_U64, UNIT_CGROUP,
		"control group that its memory is charged to; 0: not known"),
	FIELD(struct swap_owner, swap_bytes, FIELD_U64, UNIT_BYTES, "VmSwap"),
	FIELD(struct swap_owner, first_bytes, FIELD_U64, UNIT_BYTES,
		"the same at the start; 0 for a process without"),
	FIELD_ARRAY(struct swap_owner, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "its name"),
};

static const struct field counter_fields[] = {
	FIELD(struct swap_counter, value, FIELD_U64, UNIT_NONE,
		"flags 1: events since boot, in pages or as the kernel counts; otherwise bytes"),
	FIELD(struct swap_counter, node, FIELD_S32, UNIT_ID, "NUMA node; -1: the machine"),
	FIELD_ARRAY(struct swap_counter, name, FIELD_CHARS, UNIT_NONE, SWAP_COUNTER_LEN,
		"name in vmstat or meminfo"),
};

const struct kind swap_kinds[SWAP_KINDS] = {
	KIND(REC_SWAP_AGG, struct swap_agg, "swap_agg", agg_fields,
		"swap I/O of one task and place, since the last such record"),
	KIND(REC_SWAP_EVENT, struct swap_event, "swap", event_fields, "one read, write or wait"),
	KIND(REC_SWAP_DEVICE, struct swap_device, "swap_device", device_fields,
		"a swap device or file as it is"),
	KIND(REC_SWAP_OWNER, struct swap_owner, "swap_owner", owner_fields,
		"a process and its memory in swap, when that has changed; 0: none any more"),
	KIND(REC_SWAP_COUNTER, struct swap_counter, "swap_counter", counter_fields,
		"a counter or size, when it has changed"),
};
