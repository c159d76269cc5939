/* See program.h. */
#include "sym/program_kind.h"

#include <linux/binfmts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* The first word that is neither an option nor a variable. */
static void env_word(const char *line, char ret[PATH_MAX])
{
	for (line += strspn(line, " \t"); *line && *line != '\n'; line += strspn(line, " \t")) {
		size_t n = strcspn(line, " \t\n");

		if (*line != '-' && !memchr(line, '=', n)) {
			snprintf(ret, PATH_MAX, "%.*s", (int)n, line);
			return;
		}
		line += n;
	}
}

bool program_script(int fd, char ret[PATH_MAX], char ret_word[PATH_MAX])
{
	char line[BINPRM_BUF_SIZE + 1] = "";
	ssize_t n = pread(fd, line, BINPRM_BUF_SIZE, 0);
	const char *from = line + 2, *slash;
	size_t len;

	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	from += strspn(from, " \t");
	len = strcspn(from, " \t\n");
	if (!len || from + len == line + BINPRM_BUF_SIZE)
		return false;
	snprintf(ret, PATH_MAX, "%.*s", (int)len, from);
	if (!ret_word)
		return true;
	*ret_word = '\0';
	slash = strrchr(ret, '/');
	if (!strcmp(slash ? slash + 1 : ret, "env"))
		env_word(from + len, ret_word);
	return true;
}
