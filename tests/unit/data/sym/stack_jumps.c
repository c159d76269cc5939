/* Nearly all of its time is in longjmp, where the caller's registers are in other registers. */
#include <setjmp.h>

static jmp_buf back;

__attribute__((noinline)) static void leave(int deep)
{
	volatile char block[64];

	block[deep] = 1;
	if (!deep)
		longjmp(back, 1);
	leave(deep - 1);
	block[deep] = 2;
}

int main(void)
{
	for (;;) {
		if (!setjmp(back))
			leave(3);
	}
}
