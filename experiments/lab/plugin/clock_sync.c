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

enum kind {
	BUSY = 1, /* CPUs that are not halted */
	WORKING,  /* those of them that do not only read a contended line */
};

static uint32_t waiting; /* CPUs */
static uint32_t held;	 /* those of them that wait for working CPUs */

struct slowest {
	uint64_t ps[WORKING + 1]; /* by kind */
	const struct np_cpu *which[WORKING + 1];
};

static uint64_t quantum_ps(const struct np_cpu *cpu)
{
	return cpu->spins || cpu->ps < cpu->close_ps ? SPINNING_PS * np_sim.config.scale :
						       np_sim.config.quantum_ns * PS_PER_NS;
}

static void note_slowest(struct slowest *s, enum kind kind, const struct np_cpu *cpu, uint64_t ps)
{
	if (ps >= s->ps[kind])
		return;
	s->ps[kind] = ps;
	s->which[kind] = cpu;
}

/* The fence orders clock and waits: this CPU sees the waiting CPUs, or they see its clock. */
static struct slowest find_slowest(void)
{
	struct slowest s = { .ps = { [BUSY] = UINT64_MAX, [WORKING] = UINT64_MAX } };

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (unsigned int i = 0; i < np_sim.config.cpus; i++) {
		const struct np_cpu *cpu = &np_sim.cpu[i];
		uint64_t ps = np_read(cpu->ps);

		if (!np_read(cpu->busy))
			continue;
		note_slowest(&s, BUSY, cpu, ps);
		if (!np_read(cpu->spins_on))
			note_slowest(&s, WORKING, cpu, ps);
	}
	return s;
}

static void wake(const struct slowest *s)
{
	if (!np_read(waiting))
		return;
	for (unsigned int i = 0; i < np_sim.config.cpus; i++) {
		struct np_cpu *cpu = &np_sim.cpu[i];
		uint32_t kind = np_read(cpu->waits);

		if (!kind || np_read(cpu->wait_end_ps) > s->ps[kind] ||
		    !__atomic_compare_exchange_n(&cpu->waits, &kind, 0, false, __ATOMIC_SEQ_CST,
						 __ATOMIC_SEQ_CST))
			continue;
		syscall(SYS_futex, &cpu->waits, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
}

/* Waits until the slowest CPU of a kind is at `end_ps`. Returns false if it makes no progress. */
static bool wait_for(struct np_cpu *cpu, enum kind kind, uint64_t end_ps)
{
	const struct timespec longest = { .tv_nsec = LONGEST_NS };
	uint64_t before, least = UINT64_MAX;
	bool moves = true;

	np_write(cpu->wait_end_ps, end_ps);
	__atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&held, kind == WORKING, __ATOMIC_SEQ_CST);
	for (;;) {
		struct slowest s;

		np_write(cpu->waits, kind);
		s = find_slowest();
		before = least;
		least = s.ps[kind];
		if (least >= end_ps)
			break;
		moves = least != before || np_host_runnable(np_read(s.which[kind]->state));
		if (!moves)
			break;
		syscall(SYS_futex, &cpu->waits, FUTEX_WAIT_PRIVATE, kind, &longest, NULL, 0);
	}
	np_write(cpu->waits, 0);
	__atomic_fetch_sub(&held, kind == WORKING, __ATOMIC_SEQ_CST);
	__atomic_fetch_sub(&waiting, 1, __ATOMIC_SEQ_CST);
	return moves;
}

void np_clock_sync(struct np_cpu *cpu)
{
	uint64_t quantum = quantum_ps(cpu);
	struct slowest s;
	bool close = true;

	if (np_sim.config.exact) {
		if (cpu->ps > find_slowest().ps[BUSY] + quantum)
			np_qemu_clock_leave(cpu);
		cpu->spins = false;
		return;
	}
	if (np_sim.booting || (cpu->ps < cpu->sync_ps && !cpu->spins && !np_read(held)))
		return;
	if (!cpu->state)
		np_write(cpu->state, np_host_open_state());
	s = find_slowest();
	wake(&s);
	/* Until the slowest is within a quarter of a quantum. */
	if (cpu->ps > s.ps[BUSY] + quantum)
		close = wait_for(cpu, BUSY, cpu->ps - quantum / 4);
	/* A CPU whose wait was cut short checks again at its next call. */
	cpu->sync_ps = cpu->ps + (close ? quantum / 4 : 0);
	cpu->spins = false;
}

void np_clock_sync_hold(struct np_cpu *cpu, uint64_t ahead_ps)
{
	struct slowest s = find_slowest();
	uint64_t end_ps = cpu->ps > ahead_ps ? cpu->ps - ahead_ps : 0;

	if (np_sim.config.exact) {
		if (end_ps > s.ps[WORKING])
			np_qemu_clock_leave(cpu);
		return;
	}
	wake(&s);
	/* One whose wait was cut short is not held again before its next step. */
	if (end_ps > s.ps[WORKING] && cpu->ps >= cpu->unheld_ps && !wait_for(cpu, WORKING, end_ps))
		cpu->unheld_ps = cpu->step_ps;
}

bool np_clock_sync_is_awaited(void)
{
	return np_read(waiting) > np_read(held);
}

void np_clock_sync_leave(void)
{
	const struct slowest s = find_slowest();

	wake(&s);
}
