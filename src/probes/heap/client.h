/* The programs that ask for their file, at the collector's socket. */
#ifndef MEMWHY_PROBES_HEAP_CLIENT_H
#define MEMWHY_PROBES_HEAP_CLIENT_H

#include <sys/socket.h>
#include <unistd.h>

#include "probes/heap/image.h"

bool client_may(const struct ucred *who);
/* It did not wait for an answer. */
bool client_has_gone(int client);
int client_send(int to, int file);
/* Of processes that have not ended: what this pid was before its exec; else the one that started
 * it, where that is known. 0: none. ppid: 0 where it is not known. */
u32 client_before(struct heap_process *const *all, size_t n, pid_t pid, pid_t ppid);

#endif
