/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages of a service to its manager, see sd_notify(3). */
#ifndef NUMAPLACE_LIB_SD_NOTIFY_H
#define NUMAPLACE_LIB_SD_NOTIFY_H

/*
 * Sends "READY=1", "STATUS=...", .. to $NOTIFY_SOCKET; nothing where there is none.
 * libsystemd would be a dependency for one datagram.
 */
void np_notify(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
