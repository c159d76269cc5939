/* See walks.h. */
#include "probes/walks.h"

#include <string.h>

#include "walk_list.h"

/* The objects, as they were built. */
#define WALK(probe_, file_)               \
	__asm__(".section .rodata\n"      \
		".balign 16\n"            \
		"walk_" #probe_ ":\n"     \
		".incbin \"" file_ "\"\n" \
		"walk_" #probe_ "_end:\n" \
		".byte 0\n"               \
		".previous\n");           \
	extern const char walk_##probe_[], walk_##probe_##_end[];
WALKS
#undef WALK

static const struct {
	const char *probe, *elf, *end;
} walks[] = {
#define WALK(probe_, file_) {#probe_, walk_##probe_, walk_##probe_##_end},
	WALKS
#undef WALK
};

void walk_choose(const struct capture *c, const struct probe *p, struct attach_spec *spec)
{
	for (size_t i = 0; i < ARRAY_SIZE(walks) && c->unwind; i++) {
		if (strcmp(walks[i].probe, p->name))
			continue;
		spec->elf = walks[i].elf;
		spec->elf_size = (size_t)(walks[i].end - walks[i].elf);
		return;
	}
	spec->elf = p->bpf->elf(&spec->elf_size);
}

int walk_attach(struct capture *c, const struct probe *p, struct attach_spec *spec,
	struct attached **ret, struct err *err)
{
	struct err first = {};
	size_t size;
	int rc = attach_open(c, spec, ret, &first);

	if (rc && rc != -EPERM && spec->elf != p->bpf->elf(&size)) {
		spec->elf = p->bpf->elf(&spec->elf_size);
		rc = attach_open(c, spec, ret, &first);
		if (!rc)
			capture_note(c, NOTE_WARNING,
				"user stacks are followed by frame pointers, which most programs "
				"lack: this kernel does not load its programs with the walk by "
				"call-frame tables");
	}
	if (rc && err)
		*err = first;
	return rc;
}
