/*
 * One thread with a heap of generations: it protects pages, a write to one of them is a SIGSEGV,
 * and the handler notes the page and makes it writable again.
 * @state sick
 * @group 5
 * @who write-barrier
 * @cause mprotect.*signal
 */
#include <stdint.h>

#include "zoo.h"

#define PAGES 512UL
#define PAGE 4096UL

static char *heap;
static unsigned char dirty[PAGES];

static void written(int sig, siginfo_t *info, void *context)
{
	uintptr_t page = ((uintptr_t)info->si_addr - (uintptr_t)heap) / PAGE;

	(void)sig;
	(void)context;
	if (page >= PAGES)
		_exit(1);
	dirty[page] = 1;
	mprotect(heap + page * PAGE, PAGE, PROT_READ | PROT_WRITE);
}

static void collect(void)
{
	for (size_t i = 0; i < PAGES; i++)
		if (dirty[i]) {
			mprotect(heap + i * PAGE, PAGE, PROT_READ);
			dirty[i] = 0;
		}
}

int main(void)
{
	struct sigaction a = {.sa_sigaction = written, .sa_flags = SA_SIGINFO};
	unsigned x = 1;

	sigaction(SIGSEGV, &a, NULL);
	heap = zoo_memory(PAGES * PAGE);
	memset(heap, 1, PAGES * PAGE);
	memset(dirty, 1, sizeof(dirty));
	zoo_ready();
	while (!zoo_over) {
		collect();
		for (int i = 0; i < 200; i++) {
			x = x * 1103515245 + 12345;
			heap[(x >> 8) % (PAGES * PAGE)]++;
		}
	}
	return 0;
}
