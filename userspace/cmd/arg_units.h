/* SPDX-License-Identifier: GPL-2.0-only */
/* Times, sizes and rates as options hold them: 0, or ECANCELED after printing the error. */
#ifndef NUMAPLACE_ARG_UNITS_H
#define NUMAPLACE_ARG_UNITS_H

/* "20ms", "500us", "1s", from min to max microseconds; only 0 needs no unit. */
int np_arg_microseconds(const char *text, const char *what, unsigned int min, unsigned int max,
			unsigned int *us);

/* np_arg_microseconds() in seconds, from 1 ms to an hour. */
int np_arg_seconds(const char *text, const char *what, double *seconds);

/* np_arg_microseconds() in milliseconds, rounded up, from 0. */
int np_arg_milliseconds(const char *text, const char *what, unsigned int max, unsigned long *ms);

/* "512KiB", "64M", "2 GiB", "1T" in MiB, from 0; a bare number is MiB. */
int np_arg_size(const char *text, const char *what, double max_mib, double *mib);

/* The same a second, "64MiB/s"; the "/s" may be left out. */
int np_arg_rate(const char *text, const char *what, double max_mib, double *mib);

/* A number from 0 to max, such as 1.05. */
int np_arg_real(const char *text, const char *what, double max, double *value);

#endif
