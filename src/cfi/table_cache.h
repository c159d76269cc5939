/*
 * The tables of the modules that stacks go through, made when first asked for and kept within a
 * budget: beyond it, what was not used for longest is dropped, and made again when needed. Files
 * with the same content (the libc of many containers) share one table.
 */
#ifndef MEMWHY_CFI_TABLE_CACHE_H
#define MEMWHY_CFI_TABLE_CACHE_H

#include "base/err.h"
#include "cfi/table.h"
#include "cfi/walk.h"
#include "sym/process_map.h"

struct cfi_tables;

struct cfi_tables_stats {
	u64 bytes;    /* of tables, now */
	u32 compiled; /* tables made, in all */
	u32 shared;   /* modules that another one's table was for */
	u32 dropped;  /* for the budget */
	u32 failed;   /* modules that have none */
};

/* modules: borrowed. */
int cfi_tables_new(struct module_table *modules, u64 max_bytes, struct cfi_tables **ret);
void cfi_tables_free(struct cfi_tables *t);

/*
 * The rule for code at an offset of a module's file (of the vdso: from its start). A rule of kind
 * CFI_NONE where nothing is known. Good until the next call. -errno where the module has no table,
 * the same each time: -ENOENT: no call-frame information; -ENOEXEC: no ELF file, or another
 * machine's; -EFBIG: over the budget alone; or why it cannot be read.
 */
int cfi_tables_find(struct cfi_tables *t, u32 module, u64 offset, const struct cfi_rule **ret);
/* The code of a process, for cfi_walk: find, with ctx a struct cfi_process. */
struct cfi_process {
	struct cfi_tables *tables;
	const struct process_map *map;
};
int cfi_process_find(void *ctx, u64 ip, struct cfi_place *ret);
/* Why a module has no table, in words; "" where it has one or was never asked for. */
const char *cfi_tables_problem(const struct cfi_tables *t, u32 module);
void cfi_tables_stats(const struct cfi_tables *t, struct cfi_tables_stats *ret);

static inline void cfi_tables_freep(struct cfi_tables **t)
{
	cfi_tables_free(*t);
}
#define _cleanup_cfi_tables_ _cleanup_(cfi_tables_freep)

#endif
