/* SPDX-License-Identifier: GPL-2.0-only */
/* Text that others have written, as a terminal and a log can print it. */
#ifndef NUMAPLACE_LIB_PRINTABLE_H
#define NUMAPLACE_LIB_PRINTABLE_H

/*
 * Each byte of a control character (below 0x20, 0x7f, U+0080 to U+009F), and each that is not
 * of UTF-8, becomes '?'; the end of a line and a tabulator become a blank.
 */
void np_printable(char *text);

#endif
