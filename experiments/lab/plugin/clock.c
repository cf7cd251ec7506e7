// SPDX-License-Identifier: GPL-2.0-only
#include "clock.h"
#include "host_time.h"
#include "lock.h"
#include "clock_sync.h"
#include "contention.h"
#include "in_flight.h"
#include "qemu_clock.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAIT_NS	  50000 /* one wait for a woken CPU to resume, */
#define WAITS	  10	/* and how many while its thread does not even want a processor */
#define PS_PER_NS 1000ull
#define LOST_NS	  100000000 /* a woken CPU that has not run for so long is not on its way */

static uint64_t now_ps;	   /* of the most advanced clock */
static uint64_t read_ps;   /* the latest that a CPU has read */
static uint64_t timers_ps; /* up to which timers ran */
static unsigned int busy_cpus;
static uint32_t resumes; /* so far */
static uint32_t waiting; /* CPUs that wait for the next */
static uint8_t idle_lock;
static bool runs; /* false: QEMU has stopped the machine, or has not started it yet */

/* The present time in which all CPUs are halted: when it began, or the last timer was due, by both clocks. */
static struct {
	uint64_t host_ns, ps;
	bool counts; /* false: a CPU has been woken, and what the host takes to run it is nobody's time */
	bool at_deadline; /* a timer was due when the clock was last read */
} idle;

static void raise_to(uint64_t *clock, uint64_t ps)
{
	uint64_t old = np_read(*clock);

	while (ps > old && !__atomic_compare_exchange_n(clock, &old, ps, true, __ATOMIC_RELAXED,
							__ATOMIC_RELAXED))
		;
}

static void publish(struct np_cpu *cpu)
{
	struct np_lab_cpu *out = &np_sim.shared->cpu[cpu->index];

	cpu->cycles = cpu->busy_ps * (np_sim.config.mhz / 1e6);
	cpu->sim_ns = cpu->busy_ps / PS_PER_NS;
	cpu->stall_ns = cpu->stall_ps / PS_PER_NS;
	np_write(out->sequence, out->sequence + 1);
	__atomic_thread_fence(__ATOMIC_RELEASE);
#define X(name) np_write(out->name, cpu->name);
	NP_LAB_COUNTERS(X)
#undef X
	for (unsigned int node = 0; node < np_sim.config.nodes; node++)
		np_write(out->dram[node], cpu->dram[node]);
	__atomic_store_n(&out->sequence, out->sequence + 1, __ATOMIC_RELEASE);
}

static void charge_pending(struct np_cpu *cpu)
{
	np_write(cpu->ps, cpu->ps + cpu->pending_ps);
	np_write(cpu->busy_ps, cpu->busy_ps + cpu->pending_ps);
	cpu->pending_ps = 0;
	publish(cpu);
	raise_to(&now_ps, cpu->ps);
}

void np_clock_begin(uint64_t ns)
{
	now_ps = read_ps = timers_ps = ns * PS_PER_NS;
}

uint64_t np_clock_now(void)
{
	return np_read(now_ps);
}

uint64_t np_clock_timers_ran(void)
{
	return np_read(timers_ps);
}

uint64_t np_clock_of(const struct np_cpu *cpu)
{
	if (np_read(cpu->busy))
		raise_to(&read_ps, cpu->ps + cpu->pending_ps);
	return np_read(read_ps);
}

static void begin_idle(bool counts)
{
	idle.host_ns = np_host_ns();
	idle.ps = np_read(now_ps);
	idle.counts = counts;
	idle.at_deadline = false;
}

void np_clock_run(bool running)
{
	np_lock(&idle_lock);
	/* A restored machine's shared memory is that of the run that it was taken from. */
	for (unsigned int i = 0; running && i < np_sim.config.cpus; i++)
		publish(&np_sim.cpu[i]);
	runs = running;
	begin_idle(true);
	np_unlock(&idle_lock);
}

/* Whether nothing can happen before the next timer. Else the main loop looks again soon. */
static bool skips(uint64_t left)
{
	if (left == NP_QEMU_CLOCK_NEVER || np_sim.booting || np_sim.config.follow)
		return false;
	if (!np_in_flight_any())
		return true;
	np_qemu_clock_look_again(NP_IN_FLIGHT_GRACE_NS);
	return false;
}

/*
 * The clock goes to where the host's is, or at once to the next timer, at most to the next timer, and on from there: what the
 * host is late for a timer is nobody's time, and neither is what it takes to run a CPU that the
 * timer woke. What woke a CPU before a timer was due is a device, whose time is the host's.
 *
 * lost: a CPU has work and its thread was not told, as happens to work that another thread queues
 * while it goes to sleep. Time goes on, and the next timer's interrupt wakes it.
 */
static void follow_host(bool lost)
{
	uint64_t ps = idle.ps + (np_host_ns() - idle.host_ns) * PS_PER_NS, now = np_read(now_ps),
		 left;
	bool woken = np_qemu_clock_any_has_work() && !lost;

	if (woken) {
		idle.counts = false;
		if (idle.at_deadline)
			return;
	}
	left = np_qemu_clock_left_ps();
	idle.at_deadline = (ps >= now && ps - now >= left) || (!woken && skips(left));
	raise_to(&now_ps, idle.at_deadline ? now + left : ps);
	if (idle.at_deadline) {
		idle.host_ns = np_host_ns();
		idle.ps = np_read(now_ps);
	}
}

uint64_t np_clock_of_main_loop(void)
{
	np_lock(&idle_lock);
	if (runs && !busy_cpus) {
		bool lost = !idle.counts && np_host_ns() - idle.host_ns > LOST_NS;

		if (lost)
			begin_idle(true);
		if (idle.counts)
			follow_host(lost);
		raise_to(&timers_ps, np_read(now_ps));
		raise_to(&read_ps, np_read(now_ps));
	}
	np_write(np_sim.shared->now_ns, np_read(now_ps) / PS_PER_NS);
	np_unlock(&idle_lock);
	return np_read(timers_ps);
}

void np_clock_skip(struct np_cpu *cpu, uint64_t ps)
{
	raise_to(&now_ps, now_ps + ps);
	raise_to(&read_ps, now_ps);
	cpu->ps = now_ps;
}

static void wait_for_resume(uint32_t before)
{
	const struct timespec longest = { .tv_nsec = WAIT_NS };

	__atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &resumes, FUTEX_WAIT_PRIVATE, before, &longest, NULL, 0);
	__atomic_fetch_sub(&waiting, 1, __ATOMIC_SEQ_CST);
}

static void wake_waiting(void)
{
	if (np_read(waiting))
		syscall(SYS_futex, &resumes, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Halted CPUs that have got something to do since they were last looked at: `cpu` gave it to them. */
static void note_woken(struct np_cpu *cpu)
{
	if (np_read(busy_cpus) == np_sim.config.cpus)
		return;
	for (unsigned int i = 0; i < np_sim.config.cpus; i++) {
		struct np_cpu *other = &np_sim.cpu[i];

		if (other == cpu || np_read(other->busy) || np_read(other->woken) ||
		    !np_qemu_clock_has_work(other))
			continue;
		np_write(other->wake_ps, cpu->ps + cpu->pending_ps);
		__atomic_store_n(&other->woken, true, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&other->busy, __ATOMIC_SEQ_CST) ||
		    !np_qemu_clock_has_work(other))
			np_write(other->woken, false); /* has resumed, or halted again since */
		else
			cpu->woke = true;
	}
}

/* One whose work another thread has taken away again does not come. */
static const struct np_cpu *find_woken(void)
{
	for (unsigned int i = 0; i < np_sim.config.cpus; i++) {
		struct np_cpu *cpu = &np_sim.cpu[i];

		if (!np_read(cpu->woken))
			continue;
		if (np_qemu_clock_has_work(cpu))
			return cpu;
		np_write(cpu->woken, false);
	}
	return NULL;
}

/*
 * Ends when all that were woken have resumed. As they may need QEMU's lock of a CPU that waits for
 * this one, ends too when the thread of one of them has not wanted a processor for a while.
 */
static void wait_for_woken(struct np_cpu *cpu)
{
	unsigned int waits = 0;

	cpu->woke = false;
	if (np_sim.config.exact) {
		np_qemu_clock_leave(cpu);
		return;
	}
	while (waits < WAITS && !np_clock_sync_is_awaited()) {
		uint32_t before = np_read(resumes);
		const struct np_cpu *other = find_woken();

		if (!other)
			return;
		wait_for_resume(before);
		if (!np_host_runnable(np_read(other->state)))
			waits++;
	}
}

void np_clock_step(struct np_cpu *cpu)
{
	if (!cpu->busy)
		np_clock_resume(cpu);
	np_hierarchy_invalidate(&np_sim.hierarchy.cpu[cpu->index]);
	np_l1_new_epoch(cpu->l1);
	charge_pending(cpu);
	cpu->step_ps = cpu->ps + np_sim.step_ps;
	np_write(cpu->spins_on, 0);
	/* CPUs are not held together yet: what one has slept through is over when the timed part begins. */
	if (np_sim.booting && cpu->ps < np_read(read_ps))
		np_write(cpu->ps, np_read(read_ps));
	if (cpu->woke)
		wait_for_woken(cpu);
	np_contention_advance(np_read(now_ps));
	np_clock_sync(cpu);
	np_qemu_clock_step(cpu);
}

void np_clock_charge(struct np_cpu *cpu)
{
	if (cpu->ps + cpu->pending_ps >= cpu->step_ps)
		np_clock_step(cpu);
	else
		charge_pending(cpu);
}

void np_clock_interrupt(struct np_cpu *cpu)
{
	if (!cpu->busy)
		return;
	charge_pending(cpu);
	note_woken(cpu);
	if (cpu->woke)
		wait_for_woken(cpu);
}

/* The CPU waits at its next step: it has QEMU's lock here, which the woken need. */
void np_clock_ran_timers(struct np_cpu *cpu, uint64_t ps)
{
	raise_to(&timers_ps, ps);
	note_woken(cpu);
}

void np_clock_idle(struct np_cpu *cpu)
{
	bool last;

	if (!cpu->busy)
		return;
	charge_pending(cpu);
	np_lock(&idle_lock);
	np_write(cpu->busy, false);
	np_write(busy_cpus, busy_cpus - 1);
	last = !busy_cpus;
	if (last)
		begin_idle(!np_qemu_clock_any_has_work());
	np_unlock(&idle_lock);
	if (!np_sim.config.exact)
		np_clock_sync_leave();
	if (!last)
		return;
	if (np_sim.config.exact)
		np_qemu_clock_leave(cpu);
	else
		np_qemu_clock_look();
}

/* Where another CPU woke it, at that one's clock, which may be behind the most advanced one. */
void np_clock_resume(struct np_cpu *cpu)
{
	uint64_t ps;

	if (cpu->busy)
		return;
	np_lock(&idle_lock);
	ps = np_read(now_ps);
	if (__atomic_load_n(&cpu->woken, __ATOMIC_ACQUIRE) && np_read(cpu->wake_ps) < ps)
		ps = np_read(cpu->wake_ps);
	if (ps > cpu->ps)
		np_write(cpu->ps, ps);
	__atomic_store_n(&cpu->busy, true, __ATOMIC_SEQ_CST);
	np_write(cpu->woken, false);
	np_write(busy_cpus, busy_cpus + 1);
	__atomic_add_fetch(&resumes, 1, __ATOMIC_SEQ_CST);
	np_unlock(&idle_lock);
	wake_waiting();
	cpu->sync_ps = cpu->ps;
}
