/*
 * Protocol buffers, as far as it takes to write them: fields of messages appended to a str. It
 * knows the encoding and no message.
 */
#ifndef MEMWHY_EXPORT_PROTO_H
#define MEMWHY_EXPORT_PROTO_H

#include "base/str.h"

void proto_u64(struct str *s, u32 field, u64 value);
/* As int64 has it, negative numbers too. */
void proto_fixed64(struct str *s, u32 field, u64 value);
void proto_bytes(struct str *s, u32 field, const void *bytes, size_t n);
/* Text: bytes that are not UTF-8, and control characters, are written out (str_add_printable). */
void proto_text(struct str *s, u32 field, const char *text);
void proto_message(struct str *s, u32 field, const struct str *message);
/* A number without its field, for what is packed. */
void proto_varint(struct str *s, u64 value);

#endif
