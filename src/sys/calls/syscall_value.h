/* Structures that system calls take and fill, as strace writes them. Pure: bytes to text. */
#ifndef MEMWHY_SYS_SYSCALL_VALUE_H
#define MEMWHY_SYS_SYSCALL_VALUE_H

#include "base/str.h"

/* The structure that an argument of this kind (enum syscall_arg) points to, of which n bytes are
 * known; `cut`: of a list there is more. false: they are too few, or it is no structure. */
bool syscall_value_add(struct str *s, u8 arg, const void *p, u32 n, bool cut);
/* What poll says: [{fd=3, revents=POLLIN}] of n bytes. */
void poll_result_add(struct str *s, const void *p, u32 n);
/* NULL, or 0x7f00. */
void pointer_add(struct str *s, u64 v);

/* What the socket calls take: families, protocols, options by name, and addresses
 * (socket_value.c). */

/* "IPPROTO_TCP" or "NETLINK_ROUTE", as the family has it. */
void protocol_add(struct str *s, u32 family, u32 protocol);
/* "SOL_SOCKET". */
void socket_level_add(struct str *s, u32 level);
/* "SO_REUSEADDR". */
void socket_option_add(struct str *s, u32 level, u32 option);
/* {sa_family=AF_INET, ...} of n bytes; false: they are too few to be an address. */
bool sockaddr_add(struct str *s, const void *p, u32 n);

/* What TCGETS and its like say of a terminal (termios_value.c). */
#define TERMIOS_FLAGS 16 /* bytes of struct termios that are looked at */

/* {c_iflag=ICRNL|IXON, c_oflag=..., c_cflag=..., c_lflag=..., ...} of the kernel's struct. */
void termios_add(struct str *s, const void *bytes);

#endif
