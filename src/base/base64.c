/* See base64.h. */
#include "base/base64.h"

#include "base/types.h"

void base64_add(struct str *out, const void *data, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *in = data;

	for (size_t i = 0; i < n; i += 3) {
		u32 bits = (u32)in[i] << 16;

		bits |= i + 1 < n ? (u32)in[i + 1] << 8 : 0;
		bits |= i + 2 < n ? (u32)in[i + 2] : 0;
		str_addc(out, digits[bits >> 18]);
		str_addc(out, digits[bits >> 12 & 63]);
		str_addc(out, i + 1 < n ? digits[bits >> 6 & 63] : '=');
		str_addc(out, i + 2 < n ? digits[bits & 63] : '=');
	}
}
