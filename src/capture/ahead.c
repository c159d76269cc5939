/* See ahead.h. */
#include "capture/ahead.h"

#include <bpf/libbpf.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "base/util.h"

#define THREADS_MAX 3

struct job {
	const void *key;
	struct bpf_object *obj; /* NULL: the place is free */
	enum { WAITS, LOADS, LOADED } state;
	int types_fd, rc;
};

struct ahead {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t threads[THREADS_MAX];
	int n_threads;
	bool over;
	struct job jobs[AHEAD_JOBS];
};

static void job_drop(struct job *j)
{
	if (!j->obj)
		return;
	bpf_object__close(j->obj);
	close(j->types_fd);
}

static struct job *job_find(struct ahead *a, const void *key)
{
	for (int i = 0; i < AHEAD_JOBS; i++)
		if (a->jobs[i].obj && a->jobs[i].key == key)
			return &a->jobs[i];
	return NULL;
}

static struct job *job_waiting(struct ahead *a)
{
	for (int i = 0; i < AHEAD_JOBS; i++)
		if (a->jobs[i].obj && a->jobs[i].state == WAITS)
			return &a->jobs[i];
	return NULL;
}

/* With the lock, which it leaves meanwhile. */
static void job_load(struct ahead *a, struct job *j)
{
	int rc;

	j->state = LOADS;
	pthread_mutex_unlock(&a->lock);
	rc = bpf_object__load(j->obj);
	pthread_mutex_lock(&a->lock);
	j->rc = rc;
	j->state = LOADED;
	pthread_cond_broadcast(&a->changed);
}

static void *loader(void *arg)
{
	struct ahead *a = arg;

	pthread_mutex_lock(&a->lock);
	while (!a->over) {
		struct job *j = job_waiting(a);

		if (j)
			job_load(a, j);
		else
			pthread_cond_wait(&a->changed, &a->lock);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

struct ahead *ahead_begin(void)
{
	int cpus = 0;
	cpu_set_t set;
	sigset_t all, old;
	struct ahead *a;

	if (!sched_getaffinity(0, sizeof(set), &set))
		cpus = CPU_COUNT(&set);
	a = cpus > 1 ? calloc(1, sizeof(*a)) : NULL;
	if (!a)
		return NULL;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (a->n_threads < MIN(cpus - 1, THREADS_MAX) &&
		!pthread_create(&a->threads[a->n_threads], NULL, loader, a))
		a->n_threads++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (a->n_threads)
		return a;
	ahead_end(a);
	return NULL;
}

void ahead_put(struct ahead *a, const void *key, struct bpf_object *obj, int types_fd)
{
	int i = 0;

	pthread_mutex_lock(&a->lock);
	while (i < AHEAD_JOBS && a->jobs[i].obj)
		i++;
	if (i < AHEAD_JOBS) {
		a->jobs[i] = (struct job){.key = key, .obj = obj, .types_fd = types_fd};
		pthread_cond_broadcast(&a->changed);
	}
	pthread_mutex_unlock(&a->lock);
	if (i == AHEAD_JOBS)
		job_drop(&(struct job){.obj = obj, .types_fd = types_fd});
}

struct bpf_object *ahead_take(struct ahead *a, const void *key)
{
	struct bpf_object *obj = NULL;
	struct job *j, *other;
	int rc = 0;

	if (!a)
		return NULL;
	pthread_mutex_lock(&a->lock);
	j = job_find(a, key);
	while (j && j->state != LOADED) {
		other = j->state == WAITS ? j : job_waiting(a);
		if (other)
			job_load(a, other);
		else
			pthread_cond_wait(&a->changed, &a->lock);
	}
	if (j) {
		obj = j->obj;
		rc = j->rc;
		j->obj = NULL;
		close(j->types_fd);
	}
	pthread_mutex_unlock(&a->lock);
	if (!rc)
		return obj;
	bpf_object__close(obj);
	return NULL;
}

void ahead_end(struct ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->over = true;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
	for (int i = 0; i < a->n_threads; i++)
		pthread_join(a->threads[i], NULL);
	for (int i = 0; i < AHEAD_JOBS; i++)
		job_drop(&a->jobs[i]);
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->changed);
	free(a);
}
