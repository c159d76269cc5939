/* See client.h. */
#include "probes/heap/collect/client.h"

#include <errno.h>
#include <string.h>

#include "base/fd_pass.h"

int client_send(int to, int file, int marks, const struct track_tokens *t)
{
	struct track_answer answer = {.version = TRACK_VERSION};

	memcpy(answer.token, t->answer, sizeof(answer.token));
	return fds_send(to, &answer, sizeof(answer), (int[]){file, marks}, 2);
}

bool client_has_gone(int client)
{
	char byte;

	return !recv(client, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT);
}

void clients_init(struct clients *c)
{
	*c = (struct clients){};
	memset(c->fd, -1, sizeof(c->fd));
}

void clients_close(struct clients *c)
{
	for (u32 i = 0; i < CLIENTS; i++)
		if (c->fd[i] >= 0)
			close(take_fd(c->fd[i]));
}

u32 clients_add(struct clients *c, int fd)
{
	u32 number = c->next++ % CLIENTS;

	if (c->fd[number] >= 0) {
		close(c->fd[number]);
		c->dropped++;
	}
	c->fd[number] = fd;
	return number;
}

/* In a time that does not tell how much of it is right. */
static bool token_is(const char *shown, const char *token)
{
	u8 other = 0;

	for (u32 i = 0; i < TRACK_TOKEN; i++)
		other |= (u8)(shown[i] ^ token[i]);
	return !other;
}

bool clients_take(struct clients *c, u32 number, const struct track_tokens *t, int *ret_fd)
{
	char shown[TRACK_TOKEN + 1];
	ssize_t n;

	if (number >= CLIENTS || c->fd[number] < 0)
		return false;
	n = recv(c->fd[number], shown, sizeof(shown), MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n == TRACK_TOKEN && token_is(shown, t->ask)) {
		*ret_fd = take_fd(c->fd[number]);
		return true;
	}
	close(take_fd(c->fd[number]));
	return false;
}

u32 client_before(struct heap_process *const *all, size_t n, pid_t pid, pid_t ppid)
{
	u32 parent = 0;

	for (size_t i = n; i > 0; i--) {
		const struct heap_process *p = all[i - 1];

		if (p->foreign)
			continue;
		if (p->pid == (u32)pid && !p->ended && !p->gone)
			return p->id;
		if (ppid && !parent && !p->ended && p->pid == (u32)ppid)
			parent = p->id;
	}
	return parent;
}
