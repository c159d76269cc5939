/*
 * Reading numbers from bytes that others wrote, one after the other. Never reads past the end:
 * a number that is cut, or too large, makes the reader `bad` for good, and every number 0. No libc.
 */
#ifndef MEMWHY_CFI_BYTES_H
#define MEMWHY_CFI_BYTES_H

#include "base/types.h"

/* A section: its bytes, and the address they have when the file is loaded. */
struct cfi_section {
	const u8 *data;
	u64 size;
	u64 address;
};

struct cfi_bytes {
	const u8 *at;
	const u8 *end;
	u8 bad;
};

/* From offset on, at most n bytes. */
static inline struct cfi_bytes cfi_bytes_of(const struct cfi_section *s, u64 offset, u64 n)
{
	struct cfi_bytes b = {};

	if (offset >= s->size) {
		b.bad = offset > s->size;
		return b;
	}
	b.at = s->data + offset;
	b.end = b.at + (n < s->size - offset ? n : s->size - offset);
	return b;
}

static inline u64 cfi_left(const struct cfi_bytes *b)
{
	return (u64)(b->end - b->at);
}

/* The address of the next byte. */
static inline u64 cfi_address(const struct cfi_bytes *b, const struct cfi_section *s)
{
	return s->address + (u64)(b->at - s->data);
}

static inline u64 cfi_fail(struct cfi_bytes *b)
{
	b->bad = 1;
	b->at = b->end;
	return 0;
}

/* n bytes: 1, 2, 4 or 8, little-endian as x86-64 is. */
static inline u64 cfi_uint(struct cfi_bytes *b, u32 n)
{
	const u8 *at = b->at;
	u64 all;
	u32 half;
	u16 two;

	if (cfi_left(b) < n)
		return cfi_fail(b);
	b->at += n;
	switch (n) {
	case 8:
		__builtin_memcpy(&all, at, sizeof(all));
		return all;
	case 4:
		__builtin_memcpy(&half, at, sizeof(half));
		return half;
	case 2:
		__builtin_memcpy(&two, at, sizeof(two));
		return two;
	}
	return *at;
}

static inline u8 cfi_u8(struct cfi_bytes *b)
{
	if (b->at == b->end)
		return (u8)cfi_fail(b);
	return *b->at++;
}

static inline u64 cfi_sign(u64 value, u32 bits)
{
	u64 sign = 1ULL << (bits - 1);

	return bits < 64 ? (value ^ sign) - sign : value;
}

static inline u64 cfi_uleb(struct cfi_bytes *b)
{
	u64 value = 0;

	for (u32 shift = 0; shift < 70; shift += 7) {
		u8 byte = cfi_u8(b);

		if (b->bad || (shift == 63 && byte > 1))
			break;
		value |= (u64)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	return cfi_fail(b);
}

static inline s64 cfi_sleb(struct cfi_bytes *b)
{
	u64 value = 0;

	for (u32 shift = 0; shift < 70; shift += 7) {
		u8 byte = cfi_u8(b);

		if (b->bad || (shift == 63 && byte != 0 && byte != 0x7f))
			break;
		value |= (u64)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return (s64)(shift < 57 ? cfi_sign(value, shift + 7) : value);
	}
	return (s64)cfi_fail(b);
}

static inline void cfi_skip(struct cfi_bytes *b, u64 n)
{
	if (cfi_left(b) < n)
		cfi_fail(b);
	else if (n) /* at may be NULL */
		b->at += n;
}

/* Cuts off the next n bytes. */
static inline struct cfi_bytes cfi_take(struct cfi_bytes *b, u64 n)
{
	struct cfi_bytes taken = {.at = b->at, .end = b->at};

	cfi_skip(b, n);
	if (b->bad)
		taken.bad = 1;
	else
		taken.end = b->at;
	return taken;
}

/* Encodings of addresses (DWARF for the LSB, exception headers). */
enum {
	CFI_PE_FORMAT = 0x0f,
	CFI_PE_ABSOLUTE = 0x00,
	CFI_PE_ULEB = 0x01,
	CFI_PE_U2 = 0x02,
	CFI_PE_U4 = 0x03,
	CFI_PE_U8 = 0x04,
	CFI_PE_SLEB = 0x09,
	CFI_PE_S2 = 0x0a,
	CFI_PE_S4 = 0x0b,
	CFI_PE_S8 = 0x0c,
	CFI_PE_BASE = 0x70,
	CFI_PE_PC = 0x10,
	CFI_PE_DATA = 0x30,
	CFI_PE_INDIRECT = 0x80,
	CFI_PE_OMIT = 0xff,
};

static inline u64 cfi_number(struct cfi_bytes *b, u8 format)
{
	switch (format) {
	case CFI_PE_ABSOLUTE:
	case CFI_PE_U8:
	case CFI_PE_S8:
		return cfi_uint(b, 8);
	case CFI_PE_ULEB:
		return cfi_uleb(b);
	case CFI_PE_U2:
		return cfi_uint(b, 2);
	case CFI_PE_U4:
		return cfi_uint(b, 4);
	case CFI_PE_SLEB:
		return (u64)cfi_sleb(b);
	case CFI_PE_S2:
		return cfi_sign(cfi_uint(b, 2), 16);
	case CFI_PE_S4:
		return cfi_sign(cfi_uint(b, 4), 32);
	}
	return cfi_fail(b);
}

/* An encoded address that needs no memory but the section's. `data` is the base of those relative
 * to data. */
static inline u64 cfi_pointer(
	struct cfi_bytes *b, const struct cfi_section *s, u8 encoding, u64 data)
{
	u64 base = 0;

	switch (encoding & (CFI_PE_BASE | CFI_PE_INDIRECT)) {
	case 0:
		break;
	case CFI_PE_PC:
		base = cfi_address(b, s);
		break;
	case CFI_PE_DATA:
		base = data;
		break;
	default:
		return cfi_fail(b);
	}
	return base + cfi_number(b, encoding & CFI_PE_FORMAT);
}

#endif
