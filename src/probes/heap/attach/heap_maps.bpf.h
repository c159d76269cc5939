/* The maps of the programs at allocators, and what user space has set. */
#ifndef MEMWHY_PROBES_HEAP_ATTACH_MAPS_BPF_H
#define MEMWHY_PROBES_HEAP_ATTACH_MAPS_BPF_H

#include "bpf/common.bpf.h"
#include "probes/heap/attach/attached.h"

const volatile struct heap_config config = {};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HEAP_ATTACHED_MAX);
	__type(key, u32);
	__type(value, struct heap_process_now);
} heap_processes SEC(".maps");

/* 1: all probes are there, and everything counts. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} heap_gate SEC(".maps");

/* The number of a process, by its id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HEAP_ATTACHED_MAX);
	__type(key, u32);
	__type(value, u32);
} heap_numbers SEC(".maps");

/* Those that live, by tid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, struct heap_thread_now);
} heap_threads SEC(".maps");

/* Those that ended, by id, until user space has read them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, u64);
	__type(value, struct heap_thread_sums);
} heap_ended SEC(".maps");

/* By id, until it has ended and nothing it allocated is left. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, u64);
	__type(value, struct heap_thread_gone);
} heap_gone SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct heap_block);
} heap_live SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct heap_site_key);
	__type(value, struct heap_site_now);
} heap_sites SEC(".maps");

/* Empty. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} heap_nothing SEC(".maps");

/*
 * Never does anything; but since it is there the program runs on the stack of the task. Since 6.13
 * programs of this type have a stack of the CPU else (bpf_enable_priv_stack,
 * kernel/bpf/verifier.c), of which nothing keeps a second task out that comes to a uprobe when the
 * first was preempted in one (uprobe_prog_run, kernel/trace/bpf_trace.c): the kernel panics. Those
 * with tail calls have not.
 */
static __always_inline void stack_of_task(void *ctx)
{
	if (config.never)
		bpf_tail_call(ctx, &heap_nothing, 0);
}

static const struct heap_site_now site_new = {.min_bytes = 0xffffffff};
static const struct heap_thread_now thread_zero = {};
static const struct heap_thread_gone gone_zero = {};

#define add(to_, n_) ((void)__sync_fetch_and_add(&(to_), n_))

#endif
