/* Calls on address spaces in words: names, lines as strace has them, reasons. Private to the
 * view. */
#ifndef MEMWHY_PROBES_MAPS_WORDS_H
#define MEMWHY_PROBES_MAPS_WORDS_H

#include "base/str.h"
#include "probes/maps/maps.h"
#include "report/report.h"

const char *maps_call_name(u8 call); /* "mmap"; "unknown" */
const char *maps_kind_name(u8 kind); /* "anonymous"; NULL: not known */

/* "MADV_HUGEPAGE", "IPC_RMID"; NULL: the call has no such part. */
const char *maps_detail_name(struct report *r, u8 call, u32 detail);
/* "ENOMEM"; NULL for 0. */
const char *maps_error_name(struct report *r, u32 error);
/* Why it failed, and the limit it met; NULL: that is not known. */
const char *maps_why_text(struct report *r, u8 call, u32 error, u8 why, u64 limit);

/* errno of a call, 0: it succeeded. */
u32 maps_event_error(const struct maps_event *e);
/* "mmap(NULL, 4096, PROT_READ, ...) = 0x7f0000000000": names are as they were read. */
void maps_event_line(struct str *out, const struct maps_event *e);
/* The name of what the call is about, with its NUL; "" where there is none. */
void maps_event_name(const struct maps_event *e, char ret[MAPS_NAME_LEN]);
/* The address that the call names or returns, and its length; 0: it has none. */
u64 maps_event_address(const struct maps_event *e);
u64 maps_event_length(const struct maps_event *e);

#endif
