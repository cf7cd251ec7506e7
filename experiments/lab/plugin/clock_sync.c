// SPDX-License-Identifier: GPL-2.0-only
#include "clock_sync.h"
#include "host_time.h"
#include "qemu_clock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PS_PER_NS 1000ull

/*
 * A wait must be bounded: the slowest CPU may be waiting, in QEMU, for this one to
 * leave the code that it runs. So the wait lasts only while the slowest CPU advances,
 * or is runnable on the host.
 */
#define LONGEST_NS 1000000

/* Spin-wait: after PAUSE the synchronisation quantum is 1 us. */
#define SPINNING_PS 1000000

static uint32_t waiting; /* CPUs */

static uint64_t quantum_ps(const struct np_cpu *cpu)
{
	return cpu->spins ? SPINNING_PS * np_sim.config.scale :
			    np_sim.config.quantum_ns * PS_PER_NS;
}

/* The fence orders clock and waits: this CPU sees the waiting CPUs, or they see its clock. */
static uint64_t find_slowest(const struct np_cpu **which)
{
	uint64_t least = UINT64_MAX;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (unsigned int i = 0; i < np_sim.config.cpus; i++) {
		const struct np_cpu *cpu = &np_sim.cpu[i];
		uint64_t ps = np_read(cpu->ps);

		if (np_read(cpu->busy) && ps < least) {
			least = ps;
			*which = cpu;
		}
	}
	return least;
}

static uint64_t slowest(void)
{
	const struct np_cpu *which;

	return find_slowest(&which);
}

static void wake(uint64_t least)
{
	if (!np_read(waiting))
		return;
	for (unsigned int i = 0; i < np_sim.config.cpus; i++) {
		struct np_cpu *cpu = &np_sim.cpu[i];

		if (!np_read(cpu->waits) || np_read(cpu->wait_end_ps) > least)
			continue;
		np_write(cpu->waits, 0);
		syscall(SYS_futex, &cpu->waits, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
}

/*
 * Waits until the slowest CPU is within a quarter of a quantum. Returns false if it makes no
 * progress.
 */
static bool wait_for_others(struct np_cpu *cpu)
{
	const struct timespec longest = { .tv_nsec = LONGEST_NS };
	uint64_t before, least = UINT64_MAX;
	const struct np_cpu *which = cpu;
	bool moves = true;

	np_write(cpu->wait_end_ps, cpu->ps - quantum_ps(cpu) / 4);
	np_write(cpu->waits, 1);
	__atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST);
	do {
		before = least;
		least = find_slowest(&which);
		moves = least != before || np_host_runnable(np_read(which->state));
		if (least >= cpu->wait_end_ps || !moves)
			break;
		syscall(SYS_futex, &cpu->waits, FUTEX_WAIT_PRIVATE, 1, &longest, NULL, 0);
	} while (np_read(cpu->waits));
	np_write(cpu->waits, 0);
	__atomic_fetch_sub(&waiting, 1, __ATOMIC_SEQ_CST);
	return moves;
}

void np_clock_sync(struct np_cpu *cpu)
{
	uint64_t least;
	bool close = true;

	if (np_sim.config.exact) {
		if (cpu->ps > slowest() + quantum_ps(cpu))
			np_qemu_clock_leave(cpu);
		cpu->spins = false;
		return;
	}
	if (np_sim.booting || (cpu->ps < cpu->sync_ps && !cpu->spins))
		return;
	if (!cpu->state)
		np_write(cpu->state, np_host_open_state());
	least = slowest();
	wake(least);
	if (cpu->ps > least + quantum_ps(cpu))
		close = wait_for_others(cpu);
	/* A CPU whose wait was cut short checks again at its next call. */
	cpu->sync_ps = cpu->ps + (close ? quantum_ps(cpu) / 4 : 0);
	cpu->spins = false;
}

bool np_clock_sync_is_awaited(void)
{
	return np_read(waiting);
}

void np_clock_sync_leave(void)
{
	wake(slowest());
}
