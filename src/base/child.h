/* A process for one piece of work, which this one talks to over a Unix socket. */
#ifndef MEMWHY_BASE_CHILD_H
#define MEMWHY_BASE_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * type: of the socket, SOCK_STREAM or SOCK_SEQPACKET. work runs in the child, with its end. The
 * child gets `signal` (0: none) as the thread that begins it ends, and inherits all else that is
 * open: work closes it. 0 or -errno.
 */
int child_begin(int type, int signal, void (*work)(int socket), pid_t *ret_pid, int *ret_socket);
/* Has it ended by itself? It stays a zombie, so that its number is nobody else's. */
bool child_has_ended(pid_t pid);
/* Closes the socket, which ends the child, and waits for it. */
void child_end(pid_t pid, int socket);

/* In the child: of what is open the socket stays, as 0, and there is /dev/null to write to; no
 * signal, as of a key at the terminal, ends it but SIGKILL. */
void child_shut_in(const char *name, int socket);

#endif
