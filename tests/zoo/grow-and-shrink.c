/*
 * A batch job: each request builds 60 MiB, uses it and frees it.
 * @state healthy
 * @group 8
 */
#include "zoo.h"

int main(void)
{
	zoo_ready();
	while (!zoo_over) {
		char *p[60];

		for (int i = 0; i < 60; i++) {
			p[i] = malloc(MIB);
			memset(p[i], 1, MIB);
			usleep(20000);
		}
		for (int i = 0; i < 60; i++)
			free(p[i]);
		usleep(100000);
	}
}
