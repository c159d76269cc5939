/* Threads: how they begin, end, share and give memory to each other. */
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "behaviour.h"

static void *work(void *arg)
{
	return (void *)(churn(200) + (uintptr_t)arg);
}

static unsigned long together(int n)
{
	pthread_t t[512];
	unsigned long sum = 0;
	void *each;

	for (int i = 0; i < n; i++)
		MUST(!pthread_create(&t[i], NULL, work, (void *)(uintptr_t)i));
	for (int i = 0; i < n; i++) {
		pthread_join(t[i], &each);
		sum += (uintptr_t)each;
	}
	return sum;
}

static int join(int argc, char **argv)
{
	printf("%lu\n", together(argc ? atoi(argv[0]) : 8));
	return 0;
}

static int one_after_another(int argc, char **argv)
{
	unsigned long sum = 0;

	for (int i = 0; i < 300; i++)
		sum += together(1);
	printf("%lu\n", sum);
	return argc && argv[0][0] == 'x';
}

static sem_t done;

static void *detached(void *arg)
{
	churn(100);
	sem_post(&done);
	return arg;
}

static int detach(int argc, char **argv)
{
	pthread_attr_t attr;
	pthread_t t;

	sem_init(&done, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < 50; i++)
		MUST(!pthread_create(&t, &attr, detached, argv));
	for (int i = 0; i < 50; i++)
		sem_wait(&done);
	printf("50 are done\n");
	return argc;
}

static pthread_t first;

static void *outlives(void *arg)
{
	pthread_join(first, NULL);
	printf("%lu after the first thread\n", churn(1000));
	exit(arg ? 3 : 0);
}

static int first_ends(int argc, char **argv)
{
	pthread_t t;

	first = pthread_self();
	MUST(!pthread_create(&t, NULL, outlives, argv));
	churn(argc + 10);
	pthread_exit(NULL);
}

static void cleaned(void *p)
{
	free(p);
	printf("cleaned up\n");
}

static void *waits(void *arg)
{
	void *p = malloc(1000);

	pthread_cleanup_push(cleaned, p);
	sem_post(&done);
	for (;;)
		pause();
	pthread_cleanup_pop(1);
	return arg;
}

static int cancel(int argc, char **argv)
{
	pthread_t t;
	void *result;

	sem_init(&done, 0, 0);
	MUST(!pthread_create(&t, NULL, waits, argv));
	sem_wait(&done);
	pthread_cancel(t);
	pthread_join(t, &result);
	printf("cancelled: %d\n", result == PTHREAD_CANCELED);
	return argc;
}

static pthread_key_t key;
static int freed;

static void key_free(void *p)
{
	__atomic_add_fetch(&freed, 1, __ATOMIC_RELAXED);
	free(p);
	if (freed % 3 == 0)
		pthread_setspecific(key, malloc(10));
}

static void *keeps(void *arg)
{
	pthread_setspecific(key, malloc(100));
	return arg;
}

static int keys(int argc, char **argv)
{
	pthread_t t;

	pthread_key_create(&key, key_free);
	for (int i = 0; i < 20; i++) {
		MUST(!pthread_create(&t, NULL, keeps, argv));
		pthread_join(t, NULL);
	}
	printf("freed %d\n", freed);
	return argc;
}

/* On a stack of the program's own, which is gone once the thread has ended. */
static int own_stack(int argc, char **argv)
{
	size_t size = 256 << 10;
	unsigned long sum = 0;

	for (int i = 0; i < 30; i++) {
		void *stack = mmap(
			NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		pthread_attr_t attr;
		pthread_t t;
		void *each;

		pthread_attr_init(&attr);
		MUST(stack != MAP_FAILED && !pthread_attr_setstack(&attr, stack, size));
		MUST(!pthread_create(&t, &attr, work, argv ? NULL : &attr));
		pthread_join(t, &each);
		munmap(stack, size);
		sum += (uintptr_t)each + churn(10);
	}
	printf("%lu\n", sum);
	return argc;
}

static int small_stack(int argc, char **argv)
{
	pthread_attr_t attr;
	unsigned long sum = 0;

	pthread_attr_init(&attr);
	MUST(!pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN));
	for (int i = 0; i < 30; i++) {
		pthread_t t;
		void *each;

		MUST(!pthread_create(&t, &attr, work, argv ? NULL : &attr));
		pthread_join(t, &each);
		sum += (uintptr_t)each;
	}
	printf("%lu\n", sum);
	return argc;
}

/* One allocates, another frees. */
#define PASSED 20000
static void *passed[64];
static sem_t room, filled;

static void *frees(void *arg)
{
	unsigned long sum = 0;

	for (int i = 0; i < PASSED; i++) {
		sem_wait(&filled);
		sum += *(unsigned char *)passed[i % 64];
		free(passed[i % 64]);
		sem_post(&room);
	}
	*(unsigned long *)arg = sum;
	return NULL;
}

static int pass(int argc, char **argv)
{
	unsigned long sum = 0;
	pthread_t t;

	sem_init(&room, 0, 64);
	sem_init(&filled, 0, 0);
	MUST(!pthread_create(&t, NULL, frees, &sum));
	for (int i = 0; i < PASSED; i++) {
		sem_wait(&room);
		MUST((passed[i % 64] = malloc(1 + (size_t)i % 500)));
		*(unsigned char *)passed[i % 64] = (unsigned char)i;
		sem_post(&filled);
	}
	pthread_join(t, NULL);
	printf("%lu\n", sum);
	return argc && argv;
}

static pthread_mutex_t lock;

static void *dies_with_lock(void *arg)
{
	pthread_mutex_lock(&lock);
	free(malloc(100));
	return arg;
}

static int robust(int argc, char **argv)
{
	pthread_mutexattr_t attr;
	pthread_t t;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&lock, &attr);
	MUST(!pthread_create(&t, NULL, dies_with_lock, argv));
	pthread_join(t, NULL);
	printf("lock: %s\n", strerror(pthread_mutex_lock(&lock)));
	return argc;
}

static void *ends_all(void *arg)
{
	churn(100);
	exit(arg ? 7 : 0);
}

static int exit_in_thread(int argc, char **argv)
{
	pthread_t t;

	MUST(!pthread_create(&t, NULL, ends_all, argv));
	for (;;)
		churn(argc + 10);
}

static __thread char local[4000];

static void *uses_local(void *arg)
{
	memset(local, 5, sizeof(local));
	churn(50);
	for (size_t i = 0; i < sizeof(local); i++)
		MUST(local[i] == 5);
	return arg;
}

static int thread_local(int argc, char **argv)
{
	pthread_t t[10];

	for (int i = 0; i < 10; i++)
		MUST(!pthread_create(&t[i], NULL, uses_local, argv));
	for (int i = 0; i < 10; i++)
		pthread_join(t[i], NULL);
	printf("local is %d here\n", local[9]);
	return argc;
}

static void *named(void *arg)
{
	char name[16] = "";

	prctl(PR_SET_NAME, "of its own");
	churn(10);
	pthread_getname_np(pthread_self(), name, sizeof(name));
	printf("%s\n", name);
	return arg;
}

static int names(int argc, char **argv)
{
	pthread_t t;

	MUST(!pthread_create(&t, NULL, named, argv));
	pthread_join(t, NULL);
	return argc;
}

static pthread_barrier_t barrier;

static void *meets(void *arg)
{
	for (int i = 0; i < 50; i++) {
		churn(5);
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

static int meet(int argc, char **argv)
{
	pthread_t t[5];

	pthread_barrier_init(&barrier, NULL, 5);
	for (int i = 0; i < 5; i++)
		MUST(!pthread_create(&t[i], NULL, meets, argv));
	for (int i = 0; i < 5; i++)
		pthread_join(t[i], NULL);
	printf("met 50 times\n");
	return argc;
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = {
		{"join", join},
		{"one-after-another", one_after_another},
		{"detach", detach},
		{"first-ends", first_ends},
		{"cancel", cancel},
		{"keys", keys},
		{"own-stack", own_stack},
		{"small-stack", small_stack},
		{"pass", pass},
		{"robust", robust},
		{"exit", exit_in_thread},
		{"local", thread_local},
		{"names", names},
		{"meet", meet},
		{0},
	};

	return mode_run(modes, argc, argv);
}
