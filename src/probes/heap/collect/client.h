/* The programs that ask for their file, at the collector's socket. */
#ifndef MEMWHY_PROBES_HEAP_COLLECT_CLIENT_H
#define MEMWHY_PROBES_HEAP_COLLECT_CLIENT_H

#include <sys/socket.h>
#include <unistd.h>

#include "probes/heap/collect/tracked_program.h"

/* Connected, and has not yet shown its token: a program of the command soon does, others never. */
#define CLIENTS 256

struct clients {
	int fd[CLIENTS]; /* -1: free */
	u32 next;
	u32 dropped; /* to make room for another, before it said anything */
};

void clients_init(struct clients *c);
void clients_close(struct clients *c);
/* One that has connected, in the place of the oldest. Returns its number. */
u32 clients_add(struct clients *c, int fd);
/* Did it show the token? Then its descriptor is the caller's; else it is closed or, where nothing
 * was said yet, still there. */
bool clients_take(struct clients *c, u32 number, const struct track_tokens *t, int *ret_fd);
/* It did not wait for an answer. */
bool client_has_gone(int client);
int client_send(int to, int file, int marks, const struct track_tokens *t);
/* Among processes that have not ended: what this pid was before its exec; else the one that started
 * it, if known. 0: none. ppid: 0 where it is not known. */
u32 client_before(struct heap_process *const *all, size_t n, pid_t pid, pid_t ppid);

#endif
