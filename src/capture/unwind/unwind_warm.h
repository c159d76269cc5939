/*
 * The files of a program that is about to be run: itself, its loader and the libraries that these
 * name, where they usually are. A guess, to save time later: the loader decides. Must not run
 * anything.
 */
#ifndef MEMWHY_CAPTURE_UNWIND_WARM_H
#define MEMWHY_CAPTURE_UNWIND_WARM_H

#include "capture/unwind/unwind_files.h"

/* Makes their tables. name: as a shell would look it up. -ENOMEM. */
int unwind_warm(struct unwind_files *files, struct module_table *modules, const char *name);

#endif
