/*
 * Forks children that touch some pages and end. usage: forks RATE SECONDS [LIFE [names]]: so many a
 * second, as far as the machine keeps up; each lives for LIFE seconds (0), with a name of its own if there
 * are to be names. Prints how many it made.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGES 16

static volatile char pages[PAGES * 4096];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* life: in seconds; who lives is not waited for. */
static int child_run(unsigned int life, const char *name)
{
	pid_t pid = fork();

	if (!pid) {
		if (name)
			prctl(PR_SET_NAME, name);
		for (int i = 0; i < PAGES; i++)
			pages[i * 4096]++;
		sleep(life);
		_exit(0);
	}
	return pid < 0 || (!life && waitpid(pid, NULL, 0) != pid);
}

int main(int argc, char **argv)
{
	double begun = now(), rate, seconds, since = 0;
	unsigned int life = argc > 3 ? (unsigned int)atoi(argv[3]) : 0;
	char name[32];
	long made = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: forks RATE SECONDS [LIFE [names]]\n");
		return 2;
	}
	if (life)
		signal(SIGCHLD, SIG_IGN);
	rate = atof(argv[1]);
	seconds = atof(argv[2]);
	for (; since < seconds; since = now() - begun) {
		if ((double)made >= since * rate) {
			usleep(500);
			continue;
		}
		snprintf(name, sizeof(name), "f%ld", made);
		if (child_run(life, argc > 4 ? name : NULL)) {
			perror("forks");
			return 1;
		}
		made++;
	}
	printf("%ld\n", made);
	return 0;
}
