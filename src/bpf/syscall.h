/* What syscall.bpf.h and user space agree on: numbers of system calls, and which are wanted. */
#ifndef MEMWHY_BPF_SYSCALL_H
#define MEMWHY_BPF_SYSCALL_H

#include "base/types.h"

/* The way into the kernel. Each has its own table of numbers, but x32, which has the native one
 * (512 and up are its own). */
enum syscall_abi {
	SYSCALL_NATIVE,
	SYSCALL_COMPAT, /* int 0x80, and the fast ways of 32-bit programs */
	SYSCALL_X32,
	SYSCALL_ABIS,
};

/* What stands in the programs *_spare for the kernel's variable bpf_prog_active, until the loader
 * says what that is here. */
#define SYSCALL_PROG_ACTIVE 0x5ca1ab1e

#define SYSCALL_NUMBERS 1024
#define SYSCALL_WORDS (SYSCALL_NUMBERS / 64)

/* Constant to the programs. */
struct syscalls_config {
	u64 native[SYSCALL_WORDS]; /* wanted numbers, as bits; x32 too */
	u64 compat[SYSCALL_WORDS];
	u64 any[SYSCALL_WORDS];  /* in either: most calls that are not wanted are done with here */
	u64 ends[SYSCALL_WORDS]; /* any, and what the end of an execve may have for a number */
	u64 begins[SYSCALL_WORDS]; /* those that cannot do without their begin, in any ABI */
	u8 all;                    /* all are wanted, also those with a number that no table has */
	u8 timed;                  /* take the times of begin and end */
	u8 ends_only;              /* skip the entry of all other calls */
	u8 clobbers;               /* the instruction `syscall` leaves its mark in registers */
	u8 reserved[4];
};

/* Does a call of this number never return? As it begins, that is all there is. */
static inline int syscall_is_last(u32 abi, u32 nr)
{
	return abi == SYSCALL_COMPAT ? nr == 1 || nr == 252 : nr == 60 || nr == 231;
}

/* Do two tasks return from it? The new one's return is none of a call it made. */
static inline int syscall_is_fork(u32 abi, u32 nr)
{
	if (nr == 435) /* clone3 */
		return 1;
	return abi == SYSCALL_COMPAT ? nr == 2 || nr == 120 || nr == 190 : nr >= 56 && nr <= 58;
}

/* Its registers are gone when it ends: execve, execveat and the returns from signal handlers. */
static inline int syscall_loses_registers(u32 abi, u32 nr)
{
	if (abi == SYSCALL_COMPAT)
		return nr == 11 || nr == 358 || nr == 119 || nr == 173;
	return nr == 59 || nr == 322 || nr == 15 ||
	       (abi == SYSCALL_X32 && (nr == 513 || nr == 520 || nr == 545));
}

#endif
