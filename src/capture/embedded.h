/*
 * The ELF files that memwhy was built with, packed by tools/pack-object.c: the BPF object of each
 * probe, by its name, and the one that walks user stacks, NAME_walk (unwind.bpf.h); and the preload
 * library, EMBEDDED_TRACKER. Knows no libbpf.
 */
#ifndef MEMWHY_CAPTURE_EMBEDDED_H
#define MEMWHY_CAPTURE_EMBEDDED_H

#include "base/types.h"
#include "base/util.h"

#define EMBEDDED_TRACKER "tracker"

struct embedded {
	const char *name;
	const char *data, *end; /* as packed */
	const char *after;      /* it is packed as what differs from this one; "": from none */
};

/* NULL: there is none of this name. */
const struct embedded *embedded_find(const char *name);
/* The ELF file; to be freed. -EBADMSG: the packed bytes are damaged, -ENOMEM. */
int embedded_unpack(const struct embedded *e, void **ret, size_t *ret_size);

#endif
