/*
 * What waits unread in UNIX sockets, from the kernel's socket diagnostics (sock_diag(7), as ss(8)
 * asks it): of the network namespace we are in. Owns the messages.
 */
#ifndef MEMWHY_SYS_UNIX_QUEUES_H
#define MEMWHY_SYS_UNIX_QUEUES_H

#include "base/vec.h"

struct unix_socket {
	u32 inode, peer;   /* peer: inode of the other side, 0: none */
	u8 type;           /* SOCK_STREAM, … */
	u32 unread_bytes;  /* payload, without what the kernel adds */
	u32 charged_bytes; /* of what it sent and nobody has read yet, with what the kernel adds */
};

/* To be zeroed before its first use. */
struct unix_sockets {
	VEC(struct unix_socket) list; /* by inode, once it was read */
};

void unix_sockets_free(struct unix_sockets *s);
/* Adds what one message of the kernel's answer says. False: it is no such message. */
bool unix_socket_parse(const void *message, size_t n, struct unix_socket *ret);
/* -EOPNOTSUPP where the kernel has no such diagnostics (CONFIG_UNIX_DIAG), -ENOMEM, -errno. */
int unix_sockets_read(struct unix_sockets *ret);
/*
 * Pages behind the queues of connected sockets. A message of a page or more is put into pages of
 * its own, which no counter of the kernel knows; a smaller one is in slab (unix_stream_sendmsg(),
 * net/unix/af_unix.c, 3.11 to 6.18). Which it is shows in how much more was charged than there is
 * payload: with small messages at least half as much again. Up to 6 % off: what of a large message
 * is in slab depends on its size.
 */
u64 unix_sockets_pages_bytes(const struct unix_sockets *s);

#endif
