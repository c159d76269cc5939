/* What the socket calls take: families, protocols, options by name, and addresses. Pure. */
#ifndef MEMWHY_SYS_SOCKET_VALUE_H
#define MEMWHY_SYS_SOCKET_VALUE_H

#include "base/str.h"

/* "IPPROTO_TCP" or "NETLINK_ROUTE", as the family has it. */
void protocol_add(struct str *s, u32 family, u32 protocol);
/* "SOL_SOCKET". */
void socket_level_add(struct str *s, u32 level);
/* "SO_REUSEADDR". */
void socket_option_add(struct str *s, u32 level, u32 option);
/* {sa_family=AF_INET, ...} of n bytes; false: they are too few to be an address. */
bool sockaddr_add(struct str *s, const void *p, u32 n);

#endif
