/* Built by the tests: prints the address of a function of its own, then waits for its input to
 * end, so that a test can look at it while it lives. */
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) int waiting_here(int x)
{
	char c;

	while (read(0, &c, 1) > 0)
		x++;
	return x;
}

int main(void)
{
	printf("%p\n", (void *)waiting_here);
	fflush(stdout);
	return waiting_here(0) < 0;
}
