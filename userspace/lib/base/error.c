// SPDX-License-Identifier: GPL-2.0-only
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

#include "printable.h"

int np_fail(struct np_err *err, int code, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(err->text, sizeof(err->text), format, ap);
	va_end(ap);
	np_printable(err->text); /* it may quote a file, and be cut in a character */
	return code;
}
