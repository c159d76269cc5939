/* See proto.h. */
#include "export/proto.h"

#include <string.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

void proto_varint(struct str *s, u64 value)
{
	char bytes[10];
	size_t n = 0;

	for (; value > 0x7f; value >>= 7)
		bytes[n++] = (char)(value | 0x80);
	bytes[n++] = (char)value;
	str_addn(s, bytes, n);
}

static void tag_add(struct str *s, u32 field, enum wire_type type)
{
	proto_varint(s, (u64)field << 3 | type);
}

void proto_u64(struct str *s, u32 field, u64 value)
{
	tag_add(s, field, WIRE_VARINT);
	proto_varint(s, value);
}

void proto_fixed64(struct str *s, u32 field, u64 value)
{
	tag_add(s, field, WIRE_FIXED64);
	str_addn(s, (const char *)&value, sizeof(value)); /* little-endian, as this machine */
}

void proto_bytes(struct str *s, u32 field, const void *bytes, size_t n)
{
	tag_add(s, field, WIRE_BYTES);
	proto_varint(s, n);
	if (n)
		str_addn(s, bytes, n);
}

void proto_text(struct str *s, u32 field, const char *text)
{
	_cleanup_str_ struct str safe = {};

	str_add_printable(&safe, text);
	proto_bytes(s, field, str_get(&safe), safe.len);
	s->failed |= safe.failed;
}

void proto_message(struct str *s, u32 field, const struct str *message)
{
	proto_bytes(s, field, str_get(message), message->len);
	s->failed |= message->failed;
}
