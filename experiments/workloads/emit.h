/* SPDX-License-Identifier: GPL-2.0-only */
/* One JSON object a line out, one command a line in. */
#ifndef NP_EMIT_H
#define NP_EMIT_H

#include <jansson.h>
#include <stddef.h>

/* Prints event as one line on stdout, flushed, and releases it. */
void np_emit(json_t *event);

/* "PROGRAM: ..." on stderr, one line. Returns -1 so that callers can return it. */
int np_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Reads one line from stdin and cuts it at blanks. Returns the number of
 * words (0 for a blank line), or -1 at the end of the input.
 */
int np_read_words(char **words, size_t max);

/* A whole word as a number in [min, max]. Returns 0 or -1. */
int np_parse_double(const char *text, double min, double max, double *value);
int np_parse_count(const char *text, unsigned long long max, unsigned long long *value);

/* Bytes with an optional K, M or G, of 1024. Returns 0 or -1. */
int np_parse_bytes(const char *text, size_t *bytes);

/* Seconds of CLOCK_MONOTONIC; the second sleeps until then. */
double np_now(void);
void np_sleep_until(double when);

#endif
