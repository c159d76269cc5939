/*
 * Recordings without the names of whoever was recorded: records in, the same records out, with
 * texts replaced by "program-1", "function-12", "file-3", "group-2". The same name becomes the same
 * word, in all recordings that one anonymizer saw. All texts are replaced but those that are known
 * to be the kernel's, memwhy's own or of well-known libraries (public_names.h): what it does not
 * know, it hides. It knows records by their schema, and no probe's meaning.
 */
#ifndef MEMWHY_EXPORT_ANONYMIZE_H
#define MEMWHY_EXPORT_ANONYMIZE_H

#include "event/schema.h"
#include "event/sink.h"

struct anonymizer;

/* NULL: no memory. The schema must outlive it. */
struct anonymizer *anonymizer_new(const struct schema *schema);
void anonymizer_free(struct anonymizer *a);
/* A recording begins, which goes through twice: first all of it into this sink, which learns what
 * its texts are the names of … */
struct sink *anonymizer_learn(struct anonymizer *a);
/* … then all of it into this one, which hands it on. */
struct sink *anonymizer_pass(struct anonymizer *a, struct sink *next);

#endif
