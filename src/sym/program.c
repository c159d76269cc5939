/* See program.h. */
#include "sym/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sym/elffile.h"

bool program_find(const char *name, char ret[PATH_MAX])
{
	const char *dirs = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(ret, PATH_MAX, "%s", name) < PATH_MAX;
	for (const char *d = dirs ? dirs : "/bin:/usr/bin"; *d; d += *d == ':') {
		size_t n = strcspn(d, ":");

		if (snprintf(ret, PATH_MAX, "%.*s/%s", n ? (int)n : 1, n ? d : ".", name) <
				PATH_MAX &&
			!access(ret, X_OK))
			return true;
		d += n;
	}
	return false;
}

bool program_is_static(const char *name, char ret_path[PATH_MAX])
{
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	bool interpreted = false;
	size_t n = 0;
	int fd;

	if (!program_find(name, ret_path))
		return false;
	fd = open(ret_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || elf_file_open(fd, &file) || elf_getphdrnum(file.elf, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;

		if (gelf_getphdr(file.elf, (int)i, &p))
			interpreted |= p.p_type == PT_INTERP;
	}
	return !interpreted;
}
