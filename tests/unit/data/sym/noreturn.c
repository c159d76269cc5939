/* Built by the tests: a function that ends in a call, and the one right behind it. */
#include <stdlib.h>

__attribute__((noinline, noreturn)) void never_returns(int x)
{
	exit(x);
}

__attribute__((noinline, noreturn)) void calls_last(int x)
{
	never_returns(x + 1);
}

__attribute__((noinline)) int follows(int x)
{
	return x * 3;
}

int main(int argc, char **argv)
{
	(void)argv;
	if (follows(argc) > 100)
		calls_last(argc);
	return 0;
}
