/*
 * Packs an ELF file for memwhy to carry: `pack-object OUT IN [BEFORE...]`. In a BPF object, which line
 * of source an instruction came from, its text, and labels of branches are blanked, since nothing
 * reads them: more than half of the bytes; the kernel would check and keep the first for each program.
 * What the kernel and libbpf need of types stays. The rest is compressed as one zstd frame, which
 * refers to the objects BEFORE it, since objects have most of their bytes in common
 * (src/capture/embedded.h). Any other file is compressed as it is.
 */
#include <fcntl.h>
#include <gelf.h>
#include <linux/btf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define LEVEL 22
#define LABEL "LBB"

/* The heads of .BTF.ext and .BTF (linux/btf.h, and bpf/libbpf_internal.h of libbpf), and a line. */
struct ext_head {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t hdr_len, func_info_off, func_info_len, line_info_off, line_info_len;
};

struct section {
	char *data;
	size_t size;
};

static void fail(const char *what)
{
	fprintf(stderr, "pack-object: %s\n", what);
	exit(1);
}

static struct section file_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct section file;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		fail(path);
	file.size = (size_t)st.st_size;
	file.data = malloc(file.size);
	if (!file.data || read(fd, file.data, file.size) != st.st_size)
		fail(path);
	close(fd);
	return file;
}

/* The kernel's types name no string that begins with a tab, as lines of code do. */
static void strings_blank(struct section btf)
{
	struct btf_header *h = (struct btf_header *)btf.data;
	char *s, *end;

	if (btf.size < sizeof(*h) || h->magic != BTF_MAGIC ||
		(uint64_t)h->hdr_len + h->str_off + h->str_len > btf.size)
		fail("the head of .BTF is not as expected");
	s = btf.data + h->hdr_len + h->str_off;
	for (end = s + h->str_len; s < end;) {
		size_t len = strnlen(s, (size_t)(end - s));

		if (*s == '\t')
			memset(s, 0, len);
		s += len + 1;
	}
}

static void lines_blank(struct section ext)
{
	struct ext_head *h = (struct ext_head *)ext.data;

	if (ext.size < sizeof(*h) || h->magic != BTF_MAGIC || h->hdr_len < sizeof(*h) ||
		(uint64_t)h->hdr_len + h->line_info_off + h->line_info_len > ext.size)
		fail("the head of .BTF.ext is not as expected");
	memset(ext.data + h->hdr_len + h->line_info_off, 0, h->line_info_len);
	h->line_info_len = 0;
}

static struct section section_find(Elf *elf, struct section file, const char *wanted)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		fail("the names of sections cannot be read");
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name;

		if (!gelf_getshdr(scn, &sh))
			fail("a section header cannot be read");
		name = elf_strptr(elf, names, sh.sh_name);
		if (name && !strcmp(name, wanted) && sh.sh_offset <= file.size &&
			sh.sh_size <= file.size - sh.sh_offset)
			return (struct section){file.data + sh.sh_offset, sh.sh_size};
	}
	fail("not a BPF object with types");
	return file;
}

/* Labels of branches, which clang leaves in the table of symbols: nothing refers to them. */
static void labels_blank(struct section table, struct section strings)
{
	for (Elf64_Sym *s = (Elf64_Sym *)table.data, *end = s + table.size / sizeof(*s); s < end;
		s++) {
		if (ELF64_ST_TYPE(s->st_info) != STT_NOTYPE ||
			ELF64_ST_BIND(s->st_info) != STB_LOCAL || s->st_name >= strings.size ||
			strncmp(strings.data + s->st_name, LABEL, strlen(LABEL)))
			continue;
		memset(strings.data + s->st_name, 0,
			strnlen(strings.data + s->st_name, strings.size - s->st_name));
		memset(s, 0, sizeof(*s));
	}
}

static void object_blank(struct section file)
{
	GElf_Ehdr head;
	Elf *elf;

	if (elf_version(EV_CURRENT) == EV_NONE)
		fail("libelf is too old");
	elf = elf_memory(file.data, file.size);
	if (!elf || !gelf_getehdr(elf, &head))
		fail("not an ELF file");
	if (head.e_machine != EM_BPF) {
		elf_end(elf);
		return;
	}
	lines_blank(section_find(elf, file, ".BTF.ext"));
	strings_blank(section_find(elf, file, ".BTF"));
	labels_blank(section_find(elf, file, ".symtab"), section_find(elf, file, ".strtab"));
	elf_end(elf);
}

/* Adds the object in a file to the end of those before it. */
static void object_add(struct section *all, const char *path)
{
	struct section file = file_read(path);

	object_blank(file);
	all->data = realloc(all->data, all->size + file.size);
	if (!all->data)
		fail("no memory");
	memcpy(all->data + all->size, file.data, file.size);
	all->size += file.size;
	free(file.data);
}

int main(int argc, char **argv)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	struct section all = {};
	size_t before, cap, n;
	char *packed;
	FILE *out;

	if (argc < 3)
		fail("usage: pack-object OUT IN [BEFORE...]");
	for (int i = 3; i < argc; i++)
		object_add(&all, argv[i]);
	before = all.size;
	object_add(&all, argv[2]);
	cap = ZSTD_compressBound(all.size);
	packed = malloc(cap);
	n = packed && zstd ? ZSTD_compress_usingDict(zstd, packed, cap, all.data + before,
				     all.size - before, all.data, before, LEVEL)
			   : 0;
	if (!n || ZSTD_isError(n))
		fail("cannot compress");
	out = fopen(argv[1], "we");
	if (!out || fwrite(packed, 1, n, out) != n || fclose(out))
		fail(argv[1]);
	ZSTD_freeCCtx(zstd);
	free(packed);
	free(all.data);
	return 0;
}
