/* SPDX-License-Identifier: GPL-2.0-only */
/* A lock of one byte. Held briefly, by threads that the host may interrupt. */
#ifndef NP_LOCK_H
#define NP_LOCK_H

#include <sched.h>
#include <stdint.h>

static inline void np_lock(uint8_t *lock)
{
	unsigned int tries = 0;

	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) {
		if (++tries % 64 == 0)
			sched_yield();
		else
			__builtin_ia32_pause();
	}
}

static inline void np_unlock(uint8_t *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

#endif
