/*
 * A program that locks all of a large buffer in memory and then sleeps.
 * @state sick
 * @group 3
 * @who mlock-idle
 * @cause lock
 * @big yes
 */
#include "zoo.h"

int main(void)
{
	size_t n = 3072 * MIB;

	if (mlock(zoo_memory(n), n))
		err(1, "mlock");
	zoo_ready();
	zoo_wait();
}
