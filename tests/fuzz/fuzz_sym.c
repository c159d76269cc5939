/*
 * Fuzzing src/sym. The first byte chooses: 'k' the kernel's symbols, 'e' an ELF file with all
 * that hangs on it (symbols, DWARF, mini debug data), 'w' the content of the debug sections, around
 * which a sound ELF file is made (else few inputs would get that far), 'd' a mangled name, 'm'
 * text of maps, 'p' a perf-PID.map, 'g' the table of a Go program.
 *
 * clang -g -O1 -fsanitize=fuzzer,address,undefined …
 */
#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/str.h"
#include "sym/demangle.h"
#include "sym/gotable.h"
#include "sym/kallsyms.h"
#include "sym/perfmap.h"
#include "sym/process_map.h"
#include "sym/symbolizer.h"

#define ADDRESSES 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_kallsyms(const char *text, size_t n)
{
	struct kallsyms k = {};
	struct kallsyms_hit hit;
	struct err err;
	size_t piece = 1 + (n ? (u8)text[0] : 0);
	int rc = 0;

	for (size_t at = 0; at < n && !rc; at += piece)
		rc = kallsyms_feed(&k, text + at, MIN(piece, n - at));
	if (!rc && !kallsyms_finish(&k, &err)) {
		for (size_t i = 0; i < k.list.n; i++) {
			if (kallsyms_find(&k, k.list.v[i].address, &hit))
				continue;
			if (hit.offset || (hit.module && hit.module[0] != '['))
				abort();
		}
		kallsyms_find(&k, ~0ULL, &hit);
		kallsyms_find(&k, 0, &hit);
	}
	kallsyms_free(&k);
}

static int memfd_of(const void *data, size_t n)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, n) != (ssize_t)n)
		abort();
	return fd;
}

static void frames_touch(const struct sym_frames *frames)
{
	size_t bytes = 0;

	if (!frames->n || frames->v[frames->n - 1].inlined)
		abort();
	for (size_t i = 0; i < frames->n; i++) {
		const struct sym_frame *f = &frames->v[i];

		bytes += strlen(f->module);
		bytes += f->function ? strlen(f->function) : 0;
		bytes += f->file ? strlen(f->file) : 0;
	}
	__asm__ volatile("" ::"r"(bytes));
}

static void fuzz_elf(const void *data, size_t n, u64 step)
{
	struct sym_options opts = {
		.dwarf = true,
		.max_debug_bytes = 16 << 20,
		.max_debug_ns = 2 * NSEC_PER_SEC,
	};
	struct module_table *modules;
	struct symbolizer *s;
	struct sym_frames frames;
	struct module_sight sight = {.pid = getpid()};
	char path[32];
	int fd = memfd_of(data, n);
	u32 id;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	sight.path = path;
	if (module_table_new(0, &modules) || symbolizer_open(&opts, modules, &s))
		abort();
	if (module_table_sight(modules, &sight, &id))
		abort();
	for (u64 i = 0; i < ADDRESSES; i++) {
		if (symbolizer_resolve_user(s, id, i * step, i & 1, &frames))
			abort();
		frames_touch(&frames);
	}
	symbolizer_close(s);
	module_table_free(modules);
	close(fd);
}

static const char *const debug_sections[] = {".debug_info", ".debug_abbrev", ".debug_line",
	".debug_str", ".debug_line_str", ".debug_ranges", ".debug_rnglists", ".debug_addr"};
#define DEBUG_SECTIONS ARRAY_SIZE(debug_sections)

/* A program that is all code, at address 0, and the given sections. */
struct wrapper {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[DEBUG_SECTIONS + 2];
	char names[256];
	char code[8192];
};

static void wrapper_init(struct wrapper *w)
{
	*w = (struct wrapper){
		.header =
			{
				.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB,
					EV_CURRENT},
				.e_type = ET_DYN,
				.e_machine = EM_X86_64,
				.e_version = EV_CURRENT,
				.e_phoff = offsetof(struct wrapper, segment),
				.e_shoff = offsetof(struct wrapper, sections),
				.e_ehsize = sizeof(Elf64_Ehdr),
				.e_phentsize = sizeof(Elf64_Phdr),
				.e_phnum = 1,
				.e_shentsize = sizeof(Elf64_Shdr),
				.e_shnum = DEBUG_SECTIONS + 2,
				.e_shstrndx = DEBUG_SECTIONS + 1,
			},
		.segment =
			{
				.p_type = PT_LOAD,
				.p_flags = PF_X | PF_R,
				.p_offset = 0,
				.p_vaddr = 0,
				.p_filesz = sizeof(*w),
			},
		.sections[DEBUG_SECTIONS + 1] =
			{
				.sh_type = SHT_STRTAB,
				.sh_offset = offsetof(struct wrapper, names),
				.sh_size = sizeof(w->names),
			},
	};
}

/* Each section's length stands before the first one, in two bytes each. */
static void fuzz_dwarf(const u8 *data, size_t n)
{
	struct str file = {};
	struct wrapper w;
	size_t at = 2 * DEBUG_SECTIONS, name_at = 1;

	if (n < at)
		return;
	wrapper_init(&w);
	for (size_t i = 0; i < DEBUG_SECTIONS; i++) {
		size_t len = MIN((size_t)(data[2 * i] | data[2 * i + 1] << 8), n - at);

		w.sections[i + 1] = (Elf64_Shdr){
			.sh_type = len ? SHT_PROGBITS : SHT_NOBITS,
			.sh_name = (u32)name_at,
			.sh_offset = sizeof(w) + at - 2 * DEBUG_SECTIONS,
			.sh_size = len,
		};
		strcpy(w.names + name_at, debug_sections[i]);
		name_at += strlen(debug_sections[i]) + 1;
		at += len;
	}
	str_addn(&file, (const char *)&w, sizeof(w));
	str_addn(&file, (const char *)data + 2 * DEBUG_SECTIONS, n - 2 * DEBUG_SECTIONS);
	fuzz_elf(file.buf, file.len, 8);
	str_free(&file);
}

static void fuzz_demangle(const char *text, size_t n)
{
	char *name = strndup(text, n), *readable;

	if (!name)
		return;
	readable = demangle(name);
	if (readable && strlen(readable) > DEMANGLE_OUT_MAX)
		abort();
	free(readable);
	free(name);
}

static void fuzz_maps(const char *text, size_t n)
{
	struct module_table *modules;
	struct process_map map, child = {};
	struct map_hit hit;
	char *copy = strndup(text, n);

	if (!copy || module_table_new(4, &modules))
		abort();
	/* No process: paths must not lead to files of this host. */
	process_map_init(&map, modules, 0x7ffffff0);
	process_map_parse(&map, copy);
	process_map_fork(&child, &map);
	for (u64 at = 0; at < 0x20000; at += 0x1000) {
		if (!process_map_find(&map, at, &hit) && !module_table_get(modules, hit.module))
			abort();
	}
	process_map_remove(&map, 0x3000, 0x5000);
	if (!process_map_find(&map, 0x4000, &hit))
		abort();
	process_map_free(&map);
	process_map_free(&child);
	module_table_free(modules);
	free(copy);
}

static void fuzz_perf_map(const char *text, size_t n)
{
	char *copy = malloc(n + 1);
	const char *name;
	struct perf_map *m;
	u64 offset;

	if (!copy)
		abort();
	memcpy(copy, text, n);
	if (perf_map_parse(copy, n, &m))
		abort();
	for (u64 at = 0; at < 0x10000; at += 0x7f)
		if (!perf_map_find(m, at, &name, &offset) && (!strlen(name) || offset > at))
			abort();
	perf_map_find(m, ~0ULL, &name, &offset);
	perf_map_free(m);
}

static void go_line_touch(const struct go_table *t, u64 address)
{
	const char *file;
	u32 line;

	if (!go_table_line(t, address, &file, &line) && (!strlen(file) || !line))
		abort();
}

/* In memory that ends where the table does. */
static void fuzz_go(const void *bytes, size_t n)
{
	u8 *copy = memcpy(malloc(n + !n), bytes, n);
	struct go_function f;
	struct go_table t;

	if (go_table_text_field(copy, n) >= 0 && !go_table_open(copy, n, n & 1, &t)) {
		for (u64 i = 0; i <= t.n; i++) {
			if (go_table_function(&t, i, &f))
				continue;
			if (!strlen(f.name) || f.start >= f.end)
				abort();
			go_line_touch(&t, f.start);
			go_line_touch(&t, f.end - 1);
		}
		go_line_touch(&t, 0);
		go_line_touch(&t, ~0ULL);
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *rest = (const char *)data + 1;

	if (!size)
		return 0;
	switch (data[0]) {
	case 'k':
		fuzz_kallsyms(rest, size - 1);
		break;
	case 'e':
		fuzz_elf(rest, size - 1, size / ADDRESSES + 1);
		break;
	case 'w':
		fuzz_dwarf(data + 1, size - 1);
		break;
	case 'd':
		fuzz_demangle(rest, size - 1);
		break;
	case 'm':
		fuzz_maps(rest, size - 1);
		break;
	case 'p':
		fuzz_perf_map(rest, size - 1);
		break;
	case 'g':
		fuzz_go(rest, size - 1);
		break;
	}
	return 0;
}
