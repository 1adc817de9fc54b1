/* RFC 3629 by the table of well-formed sequences; no locale is asked. */
#include "utf8.h"

size_t
utf8_char(const char *text, size_t len, uint32_t *ret)
{
	static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *p = (const unsigned char *)text;
	size_t n = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	uint32_t c;

	if (n == 1) {
		*ret = p[0];
		return 1;
	}
	if (p[0] < 0xc0 || p[0] >= 0xf8 || len < n)
		return 0;
	c = p[0] & (0x7f >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < lowest[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*ret = c;
	return n;
}

bool
utf8_misleads(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x180e ||
	    (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	    (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
	    (c >= 0xe0000 && c <= 0xe0fff) || (c >= 0xd800 && c < 0xe000) || (c & 0xfffe) == 0xfffe;
}
