/*
 * A file of settings: lines "name value", "name = value" or "name", a '#' begins a comment. It
 * becomes words as a command line has them ("--name=value"), so that one table knows all names.
 */
#ifndef MEMWHY_SERVE_CONFIG_FILE_H
#define MEMWHY_SERVE_CONFIG_FILE_H

#include "base/err.h"
#include "base/vec.h"

struct settings {
	VEC(char *)
	words; /* the first stands for the program's name; ends with a NULL that is not
		* counted */
};

/* -EINVAL with the line. `name`: of the file, for errors. */
int settings_parse(const char *text, const char *name, struct settings *ret, struct err *err);
void settings_free(struct settings *s);

#endif
