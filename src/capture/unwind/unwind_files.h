/*
 * Call-frame tables of files in BPF maps: each file's is compiled when it is first asked for, and
 * is one for all processes, also where it has several names (the libc of many containers). Tables
 * lie in pages of words that are made as they are needed, up to a limit; beyond it, tables that no
 * process uses are dropped, and then files are refused. Must not know processes.
 */
#ifndef MEMWHY_CAPTURE_UNWIND_FILES_H
#define MEMWHY_CAPTURE_UNWIND_FILES_H

#include "base/util.h"
#include "bpf/unwind.h"
#include "sym/module.h"

struct unwind_files;
struct reader;

struct unwind_files_stats {
	u32 files;        /* tables made */
	u32 dropped;      /* to make room */
	u32 refused;      /* files that there was no room for, each time one was asked for */
	u32 pages;        /* of 1 MiB */
	u32 damaged;      /* tables made of what is sound of damaged information … */
	char damage[160]; /* … and the first one: its file, and what was left out */
	u32 unread; /* files that cost the process that read them, or that none is left for … */
	char unread_file[104]; /* … and the first one */
	u64 cfi_bytes;         /* .eh_frame of the tables that are there */
	u64 words_bytes;       /* of the tables that are there */
};

/* reader: reads the files; borrowed. pages, rules, known: descriptors of the maps, borrowed.
 * max_pages: at most UNWIND_PAGES_MAX. */
int unwind_files_open(struct module_table *modules, struct reader *reader, int pages, int rules,
	int known, u32 max_pages, struct unwind_files **ret);
struct reader *unwind_files_reader(struct unwind_files *f);
void unwind_files_limit(struct unwind_files *f, u32 max_pages);
void unwind_files_close(struct unwind_files *f);
/* Makes the table of a module before a process uses it. -ENOMEM. */
int unwind_files_warm(struct unwind_files *f, u32 module);
/*
 * Where code of a module that is mapped with this offset of its file at `start`, up to to->end, has
 * its table, and which file it is. What has no table keeps 0 blocks. The table is used once more;
 * to be given back with unwind_files_unuse. -ENOMEM.
 */
int unwind_files_use(
	struct unwind_files *f, u32 module, u64 offset, u64 start, struct unwind_mapping *to);
void unwind_files_unuse(struct unwind_files *f, const struct unwind_mapping *m);
/* The rule for ip, which a mapping in use holds; NULL: it has none. Good until
 * unwind_files_looked(), which is to be called in the end. -errno: the table cannot be read. */
int unwind_files_rule(struct unwind_files *f, const struct unwind_mapping *m, u64 ip,
	const struct cfi_rule **ret);
void unwind_files_looked(struct unwind_files *f);
/* Makes what was added since visible to BPF programs: to be called before mappings are. */
int unwind_files_commit(struct unwind_files *f);
const struct unwind_files_stats *unwind_files_stats(const struct unwind_files *f);

#endif
