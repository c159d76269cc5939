/*
 * A closer look at one line: what another memwhy command says of that process or group. A process
 * of its own waits for the screen to ask, with the rights of whoever began top: it runs the
 * commands of closer_looks and nothing else, one at a time. Knows no terminal but the one it makes
 * for them.
 */
#ifndef MEMWHY_TOP_CLOSER_H
#define MEMWHY_TOP_CLOSER_H

#include <sys/types.h>

#include "base/str.h"

struct closer_look {
	char key;
	const char *what;     /* it shows */
	const char *cost;     /* to the machine, or to the process */
	bool asks;            /* the cost is agreed to first */
	bool of_groups;       /* it looks at control groups too */
	bool of_recordings;   /* it has something to say of a recording */
	const char *argv[10]; /* command and options, but for the scope */
};

extern const struct closer_look closer_looks[];
#define CLOSER_LOOKS 4

#define CLOSER_STOP 255
#define CLOSER_GROUP 512
#define CLOSER_BYTES (1U << 18) /* of what a look says, at most */

/* What the screen asks for. It is answered by a u32, and so many bytes of text. */
struct closer_ask {
	u32 pid; /* 0: the group */
	u16 cols;
	u8 look; /* index, or CLOSER_STOP: what is being looked at is to end now */
	u8 reserved;
	char group[CLOSER_GROUP];
};

/* For a process that was just forked: serves requests from the socket until that closes. input: the
 * recording that is looked at; NULL: none. */
void closer_serve(int socket, const char *input);

#endif
