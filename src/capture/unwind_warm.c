/* See unwind_warm.h. */
#include "capture/unwind_warm.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "sym/moduleelf.h"
#include "sym/program.h"

#define FILES_MAX 128
#define DYNAMIC_BYTES (1U << 20)

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

/* A string of a section; NULL: it has no end. */
static const char *text_at(const Elf_Data *data, u64 at)
{
	const char *text = data->d_buf;

	return at < data->d_size && memchr(text + at, '\0', data->d_size - at) ? text + at : NULL;
}

static int needed_add(struct warm *w, const struct elf_file *file)
{
	struct elf_section dynamic, strings, interp;
	Elf_Data *data, *text;
	const char *name;
	GElf_Dyn entry;
	int rc = 0;

	if (!elf_section_find(file, ".interp", &interp) &&
		!elf_section_data(&interp, PATH_MAX, &data)) {
		name = text_at(data, 0);
		rc = name ? path_add(w, name) : 0;
	}
	if (rc || elf_section_find_type(file, SHT_DYNAMIC, &dynamic) ||
		elf_section_data(&dynamic, DYNAMIC_BYTES, &data) ||
		elf_section_at(file, dynamic.header.sh_link, &strings) ||
		elf_section_data(&strings, DYNAMIC_BYTES, &text))
		return rc;
	for (int i = 0; !rc && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
		name = entry.d_tag == DT_NEEDED ? text_at(text, entry.d_un.d_val) : NULL;
		rc = name ? library_add(w, name) : 0;
	}
	return rc;
}

static int file_warm(struct warm *w, const char *path)
{
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	struct module_sight sight = {.pid = getpid(), .path = path};
	struct stat st;
	u32 module;
	int rc;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return 0;
	sight.dev = st.st_dev;
	sight.ino = st.st_ino;
	rc = module_table_sight(w->modules, &sight, &module);
	if (!rc)
		rc = unwind_files_warm(w->files, module);
	if (rc || module_elf_open(w->modules, module, &file))
		return rc == -ENOMEM ? rc : 0;
	return needed_add(w, &file);
}

int unwind_warm(struct unwind_files *files, struct module_table *modules, const char *name)
{
	struct warm w = {.files = files, .modules = modules};
	char path[PATH_MAX];
	int rc = program_find(name, path) ? path_add(&w, path) : 0;

	for (size_t i = 0; i < w.paths.n && !rc; i++)
		rc = file_warm(&w, w.paths.v[i]);
	vec_each (known, &w.paths)
		free(*known);
	vec_free(&w.paths);
	return rc;
}
