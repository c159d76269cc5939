/*
 * What CPUs remember of page tables (their TLBs). A CPU sets the accessed bit of a page when it loads
 * the translation, not at each use, and clear_refs flushes no translation (clear_refs_write(),
 * fs/proc/task_mmu.c): a program that has a CPU to itself may use a page all the time, and the bit
 * stays clear.
 */
#ifndef MEMWHY_SYS_PROCESS_TLB_H
#define MEMWHY_SYS_PROCESS_TLB_H

#include "sys/idset.h"

/*
 * Makes these CPUs drop the translations of all other processes: some children go to each CPU once.
 * x86 keeps those of the last six address spaces per CPU, and reuses the oldest slot for a new one
 * (TLB_NR_DYN_ASIDS, choose_new_asid(), arch/x86/mm/tlb.c). It takes some 50 us a CPU, and as long as
 * their tasks let others wait; after half a second it gives up.
 *
 * ret_left: CPUs that were not reached, as they are outside of our cpuset or too busy. Out of its reach
 * are address spaces with a slot on all CPUs (AMD, since 6.15, for programs that run on four and more).
 * -EAGAIN, -ENOMEM: a child could not be started.
 */
int tlb_forget(const struct idset *cpus, u32 *ret_left);

#endif
