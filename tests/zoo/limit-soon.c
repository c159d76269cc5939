/*
 * A leak in a group: it will meet the limit in some tens of seconds.
 * @state sick
 * @group 8
 * @who limit-soon
 * @cause grow
 * @limit 600M
 * @needs v1
 * @check 10
 */
#include "zoo.h"

int main(void)
{
	zoo_ready();
	while (!zoo_over) {
		char *p = malloc(96 << 10);

		memset(p, 1, 96 << 10);
		usleep(10000);
	}
}
