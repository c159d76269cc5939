/* What TCGETS and its like say of a terminal, as strace writes it. Pure. */
#ifndef MEMWHY_SYS_TERMIOS_VALUE_H
#define MEMWHY_SYS_TERMIOS_VALUE_H

#include "base/str.h"

#define TERMIOS_FLAGS 16 /* bytes of struct termios that are looked at */

/* {c_iflag=ICRNL|IXON, c_oflag=..., c_cflag=..., c_lflag=..., ...} of the kernel's struct. */
void termios_add(struct str *s, const void *bytes);

#endif
