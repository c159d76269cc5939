/* Libraries: loaded, unloaded, in the place of others; functions looked up by name. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include "behaviour.h"

static const char *directory;

static void *load(const char *name, int flags)
{
	char path[4096];
	void *h;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	h = dlopen(path, flags);
	if (!h)
		fprintf(stderr, "%s\n", dlerror());
	MUST(h);
	return h;
}

static int plugin(void *h)
{
	int (*run)(int) = (int (*)(int))dlsym(h, "plugin_run");

	MUST(run);
	return run(3);
}

static int loop(int argc, char **argv)
{
	int sum = 0;

	for (int i = 0; i < 50; i++) {
		void *h = load("plugin_one.so", RTLD_NOW);

		sum += plugin(h);
		MUST(!dlclose(h));
		churn(10);
	}
	printf("%d\n", sum);
	return argc && argv;
}

/* Another where one was. */
static int replaced(int argc, char **argv)
{
	int sum = 0;

	for (int i = 0; i < 40; i++) {
		void *h = load(i % 2 ? "plugin_one.so" : "plugin_two.so", RTLD_LAZY);

		sum = sum * 3 % 100003 + plugin(h);
		dlclose(h);
	}
	printf("%d\n", sum);
	return argc && argv;
}

static void *loads(void *arg)
{
	for (int i = 0; i < 20; i++) {
		void *h = load(i % 2 ? "plugin_one.so" : "plugin_two.so", RTLD_NOW);

		*(int *)arg += plugin(h);
		dlclose(h);
	}
	return NULL;
}

static int in_threads(int argc, char **argv)
{
	int sums[4] = {0};
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		MUST(!pthread_create(&t[i], NULL, loads, &sums[i]));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("%d %d\n", sums[0] + sums[1], sums[2] == sums[3]);
	return argc && argv;
}

/* With a libc of its own, whose malloc is another one. */
static int apart(int argc, char **argv)
{
	char path[4096];
	void *h;

	snprintf(path, sizeof(path), "%s/plugin_one.so", directory);
	h = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
	MUST(h);
	printf("%d %lu\n", plugin(h), churn(100));
	return argc && argv;
}

static int missing(int argc, char **argv)
{
	char *text;

	printf("%d ", dlopen("/nowhere/lib.so", RTLD_NOW) != NULL);
	text = dlerror();
	printf("%s\n", text ? text : "no error");
	printf("%d ", dlsym(RTLD_DEFAULT, "there_is_no_such_function") != NULL);
	printf("%d\n", dlerror() != NULL);
	printf("%d\n", dlclose(dlopen(NULL, RTLD_NOW)));
	return argc && argv;
}

/* Functions by their names: each is one, and works. */
static int named(int argc, char **argv)
{
	void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc");
	void *(*next)(size_t) = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	void (*release)(void *) = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	void (*of_libc)(void *) = (void (*)(void *))dlsym(libc, "free");

	for (int i = 0; i < 100; i++) {
		release(allocate(10));
		free(next(20));
		of_libc(malloc(30));
	}
	printf("%lu\n", churn(10));
	return argc && argv;
}

static int objects;

static int object(struct dl_phdr_info *info, size_t size, void *arg)
{
	free(malloc(size));
	objects += info->dlpi_phnum > 0;
	return arg == NULL;
}

static int listed(int argc, char **argv)
{
	dl_iterate_phdr(object, argv);
	printf("%d\n", objects > 2);
	return argc;
}

static int thread_local(int argc, char **argv)
{
	void *h = load("plugin_one.so", RTLD_NOW);
	int *(*local)(void) = (int *(*)(void))dlsym(h, "plugin_local");

	*local() += 5;
	printf("%d\n", *local());
	return argc && argv;
}

/* It is still loaded when the program ends: its destructor speaks. */
static int at_exit(int argc, char **argv)
{
	load("plugin_one.so", RTLD_NOW | RTLD_GLOBAL);
	setenv("PLUGIN_SPEAKS", "1", 1);
	exit(argc && argv);
}

static int wrapped(int argc, char **argv)
{
	unsigned long (*wraps)(void) = (unsigned long (*)(void))dlsym(RTLD_DEFAULT, "wraps_seen");

	churn(1000);
	printf("wrapped: %d\n", wraps ? wraps() > 600 : -1);
	return argc && argv;
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = {
		{"loop", loop},
		{"replaced", replaced},
		{"threads", in_threads},
		{"apart", apart},
		{"missing", missing},
		{"named", named},
		{"listed", listed},
		{"local", thread_local},
		{"at-exit", at_exit},
		{"wrapped", wrapped},
		{0},
	};

	directory = getenv("BUILT");
	MUST(directory);
	return mode_run(modes, argc, argv);
}
