/* See unwind_warm.h. */
#include "capture/unwind/unwind_warm.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/reader/reader.h"
#include "sym/program_kind.h"
#include "sym/rootfs.h"

#define FILES_MAX 128

struct warm {
	struct unwind_files *files;
	struct module_table *modules;
	VEC(char *) paths; /* each once, in the order they are looked at */
};

static const char *const dirs[] = {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64",
	"/usr/lib64", "/lib", "/usr/lib"};

/* By the name that mappings will have. 0 also where it is known, or not there. */
static int path_add(struct warm *w, const char *path)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	int rc;

	if (!real || w->paths.n == FILES_MAX)
		return 0;
	vec_each (known, &w->paths) {
		if (!strcmp(*known, real))
			return 0;
	}
	rc = vec_push(&w->paths, real);
	if (!rc)
		real = NULL;
	return rc;
}

static int library_add(struct warm *w, const char *name)
{
	char path[PATH_MAX];

	if (strchr(name, '/'))
		return path_add(w, name);
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		snprintf(path, sizeof(path), "%s/%s", dirs[i], name);
		if (!access(path, R_OK))
			return path_add(w, path);
	}
	return 0;
}

/* What it does not say, or says wrongly, is left for later. */
static int needed_add(struct warm *w, int fd)
{
	_cleanup_free_ char *names = malloc(READER_NEEDS_MAX);
	u32 n;
	int rc = 0;

	if (!names)
		return -ENOMEM;
	if (reader_needs(unwind_files_reader(w->files), fd, names, &n))
		return 0;
	for (const char *name = names; name < names + n && !rc; name += strlen(name) + 1)
		rc = library_add(w, name);
	return rc;
}

/* A script is read by its interpreter, which has the stacks. */
static int script_add(struct warm *w, const char *script)
{
	char path[PATH_MAX], name[PATH_MAX], found[PATH_MAX];
	_cleanup_close_ int fd = -1;
	int rc;

	if (regular_open(script, &fd) || !program_script(fd, path, name))
		return 0;
	rc = path_add(w, path);
	return !rc && *name && program_find(name, found) ? path_add(w, found) : rc;
}

static int file_warm(struct warm *w, const char *path)
{
	struct module_sight sight = {.pid = getpid(), .path = path};
	struct stat st;
	u32 module;
	int fd, rc;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return 0;
	sight.dev = st.st_dev;
	sight.ino = st.st_ino;
	rc = module_table_sight(w->modules, &sight, &module);
	if (!rc)
		rc = unwind_files_warm(w->files, module);
	if (rc || module_table_fd(w->modules, module, &fd))
		return rc == -ENOMEM ? rc : 0;
	return needed_add(w, fd);
}

int unwind_warm(struct unwind_files *files, struct module_table *modules, const char *name)
{
	struct warm w = {.files = files, .modules = modules};
	char path[PATH_MAX];
	int rc = program_find(name, path) ? path_add(&w, path) : 0;

	for (size_t i = 0; i < w.paths.n && !rc; i++) {
		rc = script_add(&w, w.paths.v[i]);
		rc = rc ? rc : file_warm(&w, w.paths.v[i]);
	}
	vec_each (known, &w.paths)
		free(*known);
	vec_free(&w.paths);
	return rc;
}
