/* The ELF file of a module: what is in a module table, opened to be read. */
#ifndef MEMWHY_SYM_MODULEELF_H
#define MEMWHY_SYM_MODULEELF_H

#include "sym/elffile.h"
#include "sym/module.h"

/* With a descriptor of its own. For the vdso, this process's. */
int module_elf_open(struct module_table *modules, u32 id, struct elf_file *ret);
/* The same of a file that is open; fd is borrowed, and not looked at for the vdso. */
int module_elf_take(enum module_kind kind, int fd, struct elf_file *ret);

#endif
