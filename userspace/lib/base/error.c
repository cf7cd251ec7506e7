// SPDX-License-Identifier: GPL-2.0-only
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

int np_fail(char *err, size_t err_len, int code, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(err, err_len, format, ap);
	va_end(ap);
	return code;
}
