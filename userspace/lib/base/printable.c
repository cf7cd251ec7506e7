// SPDX-License-Identifier: GPL-2.0-only
#include "printable.h"

#include <stddef.h>

/* Length of the character that begins here, or 0: it is none that can be printed. */
static size_t printable(const unsigned char *c)
{
	/* What the second byte may be: neither too long a form, a surrogate nor a control. */
	unsigned char low = *c == 0xc2 || *c == 0xe0 ? 0xa0 : *c == 0xf0 ? 0x90 : 0x80;
	unsigned char high = *c == 0xed ? 0x9f : *c == 0xf4 ? 0x8f : 0xbf;
	size_t len = *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : 4;

	if (*c < 0x80)
		return *c >= ' ' && *c != 0x7f;
	if (*c < 0xc2 || *c > 0xf4 || c[1] < low || c[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

void np_printable(char *text)
{
	while (*text) {
		size_t len = printable((unsigned char *)text);

		if (!len)
			*text = *text == '\n' || *text == '\t' ? ' ' : '?';
		text += len ? len : 1;
	}
}
