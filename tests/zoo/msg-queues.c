/* A producer fills System V message queues that no consumer takes from.
 * @state sick
 * @group 1
 * @who msg-queues
 * @cause message queue
 */
#include <sys/ipc.h>
#include <sys/msg.h>

#include "zoo.h"

#define QUEUES 8000

static int ids[QUEUES];

static void end(void)
{
	for (int i = 0; i < QUEUES; i++)
		if (ids[i] >= 0)
			msgctl(ids[i], IPC_RMID, NULL);
}

static void fill(int id)
{
	static struct {
		long type;
		char text[4000];
	} m = {.type = 1};

	memset(m.text, 'x', sizeof(m.text));
	while (!msgsnd(id, &m, sizeof(m.text), IPC_NOWAIT))
		;
}

int main(void)
{
	memset(ids, -1, sizeof(ids));
	atexit(end);
	for (int i = 0; i < QUEUES; i++) {
		ids[i] = msgget(IPC_PRIVATE, 0600 | IPC_CREAT);
		if (ids[i] < 0)
			err(1, "msgget");
		fill(ids[i]);
	}
	zoo_ready();
	zoo_wait();
	return 0;
}
