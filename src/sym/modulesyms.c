/* See modulesyms.h. */
#include "sym/modulesyms.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/stat.h>

#include "sym/debugimage.h"
#include "sym/gosymbols.h"
#include "sym/minidebug.h"
#include "sym/moduleelf.h"

/* From the fullest table there is. */
static enum sym_source symbols_load(
	struct module_syms *ms, const struct elf_file *debug, struct sym_budget *budget)
{
	_cleanup_elf_file_ struct elf_file mini = {.fd = -1};
	enum sym_source source = SYM_NONE;
	u64 bytes = 0;

	if (!elf_symbols_add(&ms->symbols, &ms->file, SHT_SYMTAB, budget))
		return SYM_TABLE;
	if (debug->elf && !elf_symbols_add(&ms->symbols, debug, SHT_SYMTAB, budget))
		return SYM_TABLE;
	/* The mini table leaves out what the dynamic one has. */
	if (!minidebug_open(&ms->file, budget, &mini, &bytes) &&
		!elf_symbols_add(&ms->symbols, &mini, SHT_SYMTAB, budget))
		source = SYM_TABLE;
	if (!elf_symbols_add(&ms->symbols, &ms->file, SHT_DYNSYM, budget) && !source)
		source = SYM_DYNAMIC;
	budget_give_back(budget, budget->user, bytes);
	return source;
}

/* Whose file it is, who then pays for it. */
static void owner_set(const struct elf_file *file, struct sym_budget *budget)
{
	struct stat st;

	budget_user(budget, file->fd >= 0 && !fstat(file->fd, &st) ? st.st_uid : 0);
}

/* A file of its own with the names of another's. */
static int debug_open(const struct debug_search *search, const struct elf_file *program,
	struct sym_budget *budget, struct elf_file *ret)
{
	int rc;

	if (search->opener->fetch) /* which have a limit of time of their own */
		return debugfile_open(search, program, ret);
	budget_begin(budget, UINT64_MAX);
	rc = debugfile_open(search, program, ret);
	(void)budget_end(budget);
	return rc;
}

/* What was not read, and why, is told by user: of a file once, however often it is read. */
static void left_out_tell(struct module_syms *ms, int fd, struct sym_budget *budget)
{
	struct stat st = {};

	if (ms->left_out || (ms->info.debug_error != -EFBIG && ms->info.debug_error != -ETIMEDOUT))
		return;
	ms->left_out = true;
	if (fd >= 0)
		(void)fstat(fd, &st);
	budget_leave_out(budget, (u64)st.st_size);
}

/* Where it was not the file that took too long. */
static void late_note(struct module_syms *ms, int rc, const struct sym_budget *budget)
{
	if (rc != -ETIMEDOUT || !budget_spent(budget))
		return;
	ms->late = true;
	ms->user = budget->user;
}

bool module_syms_wanted(const struct module_syms *ms, const struct sym_budget *budget)
{
	return !ms->loaded || (ms->late && budget_is_back(budget, ms->user));
}

static void dwarf_load(struct module_syms *ms, const struct elf_file *file,
	const struct debug_search *search, struct sym_budget *budget)
{
	_cleanup_elf_file_ struct elf_file alt = {.fd = -1};
	bool has_alt = !debugfile_open_alt(search, file, &alt);

	ms->info.debug_error = dwarf_info_open(file, has_alt ? &alt : NULL, budget, &ms->dwarf);
	if (!ms->info.debug_error)
		ms->info.source = SYM_DWARF;
	else if (ms->info.debug_error == -ETIMEDOUT)
		malloc_trim(0);
	late_note(ms, ms->info.debug_error, budget);
}

void module_syms_abandon_dwarf(struct module_syms *ms, const struct sym_budget *budget)
{
	dwarf_info_close(ms->dwarf);
	ms->dwarf = NULL;
	ms->info.source = ms->symbols_source;
	ms->info.debug_error = -ETIMEDOUT;
	late_note(ms, -ETIMEDOUT, budget);
	/* It may have been much; the limit of memory is to be there for other modules. */
	malloc_trim(0);
}

/* What a Go program keeps for its own stacks is there when all else was stripped: names where there
 * is no full table, lines where there is no debug information. */
static void go_load(struct module_syms *ms, bool want_lines, struct sym_budget *budget)
{
	bool names = ms->symbols_source != SYM_TABLE;

	if (!names && (ms->dwarf || !want_lines))
		return;
	owner_set(&ms->file, budget);
	budget_begin(budget, UINT64_MAX);
	if (!go_symbols_load(&ms->symbols, &ms->file, names, budget, &ms->go) && names) {
		ms->symbols_source = SYM_TABLE;
		if (!ms->dwarf)
			ms->info.source = SYM_TABLE;
	}
	(void)budget_end(budget);
	if (!want_lines)
		ms->go.n = 0;
}

static void module_syms_read(struct module_syms *ms, const struct debug_search *search,
	bool want_dwarf, struct sym_budget *budget)
{
	_cleanup_elf_file_ struct elf_file debug = {.fd = -1};
	bool own = debug_image_possible(&ms->file);
	struct elf_section symtab;

	owner_set(&ms->file, budget);
	if (budget_spent(budget) && !budget->users[budget->user].trusted) {
		ms->info.debug_error = -ETIMEDOUT;
		late_note(ms, -ETIMEDOUT, budget);
		return;
	}
	/* A file with all its symbols is only searched for if lines are wanted. */
	if (!own && (want_dwarf || elf_section_find_type(&ms->file, SHT_SYMTAB, &symtab)))
		(void)debug_open(search, &ms->file, budget, &debug);
	owner_set(debug.elf ? &debug : &ms->file, budget);
	budget_begin(budget, UINT64_MAX);
	ms->symbols_source = ms->info.source = symbols_load(ms, &debug, budget);
	late_note(ms, budget_end(budget), budget);
	if (want_dwarf && (own || debug.elf))
		dwarf_load(ms, own ? &ms->file : &debug, search, budget);
	go_load(ms, want_dwarf, budget);
}

void module_syms_load(struct module_syms *ms, const struct sym_file *file, bool want_dwarf,
	struct sym_budget *budget)
{
	struct debug_search search = {
		.path = file->path,
		.other_root = file->other_root,
		.max_bytes = budget->bytes_max,
		.opener = file->opener,
	};
	int rc;

	module_syms_free(ms);
	ms->loaded = true;
	ms->file.fd = -1;
	ms->info.debug_error = -ENOENT;
	if (file->kind != MODULE_FILE && file->kind != MODULE_VDSO)
		return;
	ms->info.error =
		file->error ? file->error : module_elf_take(file->kind, file->fd, &ms->file);
	if (ms->info.error)
		return;
	rc = elf_file_build_id(&ms->file, ms->info.build_id);
	ms->info.build_id_len = rc > 0 ? (u8)rc : 0;
	module_syms_read(ms, &search, want_dwarf, budget);
	left_out_tell(ms, file->fd, budget);
	if (elf_symbols_finish(&ms->symbols)) {
		elf_symbols_free(&ms->symbols);
		ms->go.n = 0;
	}
	elf_file_keep_segments(&ms->file);
}

void module_syms_free(struct module_syms *ms)
{
	if (!ms->loaded)
		return;
	dwarf_info_close(ms->dwarf);
	elf_symbols_free(&ms->symbols);
	elf_file_close(&ms->file);
	*ms = (struct module_syms){.left_out = ms->left_out};
}
