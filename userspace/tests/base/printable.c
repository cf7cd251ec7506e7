// SPDX-License-Identifier: GPL-2.0-only
/* What of text that others have written is printed. */
#include "../../lib/base/error.h"
#include "../../lib/base/printable.h"

#include <string.h>

#include "../fixture.h"

static void becomes(const char *text, const char *result)
{
	char copy[64];

	strcpy(copy, text);
	np_printable(copy);
	CU_ASSERT_STRING_EQUAL(copy, result);
}

TEST(text_stays)
{
	static const char *const plain[] = {
		"",
		" a~",
		"\302\240",
		"\303\244\303\237",
		"\340\240\200",
		"\342\202\254",
		"\355\237\277",
		"\357\277\275",
		"\360\237\230\200",
		"\364\217\277\277",
	};

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		becomes(plain[i], plain[i]);
}

TEST(errors_are_one_line)
{
	struct np_err err;

	CU_ASSERT_EQUAL(np_fail(&err, -1, "names \"%s\"", "\033[2J\nforged"), -1);
	CU_ASSERT_STRING_EQUAL(err.text, "names \"?[2J forged\"");
	np_fail(&err, -1, "%.2s", "a\303\244");
	CU_ASSERT_STRING_EQUAL(err.text, "a?");
}

TEST(control_characters)
{
	becomes("\001a\n\r\tb\033[2J\037\177", "?a ? b?[2J??");
	becomes("\302\200\302\2332J\302\237", "????2J??");
}

TEST(what_is_not_utf8)
{
	becomes("\233m", "?m"); /* a control character in Latin-1 */
	becomes("cut \303", "cut ?");
	becomes("cut \360\237\230", "cut ???");
	becomes("\300\233 \340\202\233", "?? ???");	      /* too long a form of one */
	becomes("\355\240\200 \364\220\200\200", "??? ????"); /* no characters */
	becomes("\342\033\254", "???");
}
