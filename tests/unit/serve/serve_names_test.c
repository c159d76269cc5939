/* What a container is called: looked for once it has a group, kept, and told in metrics and by the
 * number of the group, also when the node has forgotten it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <cmocka.h>

#include "data/sys/fixture.h"
#include "event/meta.h"
#include "serve/metrics.h"
#include "serve/tally.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define GROUP 77
#define LOG "/var/log/containers/web-1_shop_front-" ID ".log"

static void group_feed(struct metrics *m, u64 id, const char *path)
{
	char bytes[sizeof(struct rec_cgroup) + 256] = "";
	struct rec_cgroup *r = (struct rec_cgroup *)bytes;

	*r = REC_INIT(struct rec_cgroup, REC_CGROUP, 1);
	r->id = id;
	r->length = (u32)strlen(path);
	memcpy(r->path, path, strlen(path));
	r->h.size = (u32)((sizeof(*r) + strlen(path) + 7) & ~7UL);
	metrics_feed(m, &r->h);
}

static char tree[PATH_MAX];

static bool exposes(struct metrics *m, const char *words)
{
	_cleanup_str_ struct str out = {};

	metrics_expose(m, EXPOSITION_CLASSIC, &(struct serve_counts){}, &out);
	return strstr(str_get(&out), words) != NULL;
}

static void names_are(struct metrics *m, const char *container, const char *pod, const char *space)
{
	const char *const want[] = {container, pod, space};
	const char *const *names = metrics_names(m, GROUP);

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		assert_int_equal(names[i] != NULL, want[i] != NULL);
		if (want[i])
			assert_string_equal(names[i], want[i]);
	}
}

static struct metrics *begin(void)
{
	struct metrics *m;

	fixture_make(tree);
	assert_int_equal(metrics_new(1000, &m), 0);
	metrics_settle(m);
	return m;
}

static void end(struct metrics *m)
{
	metrics_free(m);
	fixture_remove(tree);
}

static void test_kept(void **state)
{
	struct metrics *m = begin();
	char path[PATH_MAX];

	(void)state;
	fixture_put_text(LOG, "");
	group_feed(m, GROUP, "/kubepods/pod1/" ID);
	names_are(m, "front", "web-1", "shop");
	assert_int_equal(sys_path(path, LOG), 0);
	assert_int_equal(unlink(path), 0);
	names_are(m, "front", "web-1", "shop"); /* not looked for again */
	group_feed(m, GROUP + 1, "/user.slice");
	assert_null(metrics_names(m, GROUP + 1)[0]);
	assert_null(metrics_names(m, GROUP + 2)[0]);
	end(m);
}

/* A kill may come before its runtime has written down what it is. */
static void test_late(void **state)
{
	struct metrics *m = begin();

	(void)state;
	group_feed(m, GROUP, "/kubepods/pod1/" ID);
	names_are(m, NULL, NULL, NULL);
	fixture_put_text(LOG, "");
	names_are(m, "front", "web-1", "shop");
	end(m);
}

/* Containers without a name, of which as many are looked for as an interval allows. */
static void looks_use_up(struct metrics *m)
{
	char path[128];

	for (u64 i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "/kubepods/pod1/%064llx", i);
		group_feed(m, GROUP + 100 + i, path);
	}
}

/* The name of a killed container is looked for however many were before, and takes no look from
 * the next interval's. */
static void test_kill_after_many(void **state)
{
	struct metrics *m = begin();
	char path[PATH_MAX];

	(void)state;
	looks_use_up(m);
	group_feed(m, GROUP, "/kubepods/pod1/" ID);
	fixture_put_text(LOG, "");
	names_are(m, "front", "web-1", "shop");
	/* The next one is not looked for: what it was called is gone when it is asked for. */
	group_feed(m, GROUP + 1, "/kubepods/pod2/" ID);
	assert_int_equal(sys_path(path, LOG), 0);
	assert_int_equal(unlink(path), 0);
	assert_null(metrics_names(m, GROUP + 1)[0]);
	end(m);
}

/* … and however often it was looked for in vain. */
static void test_kill_after_long(void **state)
{
	struct metrics *m = begin();

	(void)state;
	group_feed(m, GROUP, "/kubepods/pod1/" ID);
	for (u32 i = 0; i < 10; i++)
		names_are(m, NULL, NULL, NULL);
	fixture_put_text(LOG, "");
	names_are(m, "front", "web-1", "shop");
	end(m);
}

/* A disk that is slow: opening a directory waits until the test says so. */
static sem_t opening, may_go;
static bool slow;

DIR *opendir(const char *path)
{
	int fd;

	if (slow) {
		sem_post(&opening);
		sem_wait(&may_go);
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? NULL : fdopendir(fd);
}

static void *feeder(void *m)
{
	group_feed(m, GROUP, "/kubepods/pod1/" ID);
	return NULL;
}

static void test_slow_disk(void **state)
{
	struct metrics *m = begin();
	pthread_t thread;

	(void)state;
	fixture_put_text(LOG, "");
	sem_init(&opening, 0, 0);
	sem_init(&may_go, 0, 0);
	slow = true;
	alarm(20);
	assert_int_equal(pthread_create(&thread, NULL, feeder, m), 0);
	sem_wait(&opening);
	assert_true(exposes(m, "memwhy_start_time_seconds")); /* a scrape does not wait for it */
	slow = false;
	sem_post(&may_go);
	pthread_join(thread, NULL);
	alarm(0);
	names_are(m, "front", "web-1", "shop");
	end(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_kill_after_many),
		cmocka_unit_test(test_kill_after_long),
		cmocka_unit_test(test_slow_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
