// SPDX-License-Identifier: GPL-2.0-only
#include "qemu_clock.h"
#include "clock.h"
#include "host_clock.h"
#include "host_time.h"
#include "in_flight.h"

#include <dlfcn.h>
#include <malloc.h>
#include <string.h>
#include <unistd.h>

#define REALTIME       0     /* QEMU_CLOCK_REALTIME: CLOCK_MONOTONIC, in ns */
#define VIRTUAL	       1     /* QEMU_CLOCK_VIRTUAL */
#define ALL_ATTRIBUTES (-1)  /* QEMU_TIMER_ATTR_ALL */
#define RDTSC_PS       10000 /* about 25 cycles: what RDTSC takes on processors of the last decade */
#define PS_PER_NS      1000ull
#define HOST_GHZ       4 /* of the TSC where times mean nothing, as lpj of experiments/lab/qemu.py */
/*
 * QEMU keeps a translation until the kernel drops it, and sets accessed bits when it makes one. The kernel clears them
 * without a drop, as a processor's TLB loses entries all the time. Less than DAMON's sampling interval of 5 ms.
 */
#define TRANSLATION_PS 4000000000ull
#define CLASS_PARENT_WORDS \
	12 /* of ObjectClass, which begins every class: never a slot of the accelerator's */

typedef int64_t clock_function(void);

/* QEMU's own functions, declared as in its headers; a CPU is a CPUState, the second argument of its work an address. */
static struct {
	clock_function *get_virtual_clock, *get_elapsed_ticks;
	int64_t (*deadline_ns_all)(int type, int attributes);
	bool (*run_timers)(int type);
	void *(*class_by_name)(const char *name);
	void *(*get_cpu)(int index);
	void (*async_run_on_cpu)(void *cpu, void (*work)(void *cpu, unsigned long data),
				 unsigned long data);
	void (*tlb_flush)(void *cpu);
	bool (*cpu_is_idle)(void *cpu);
	bool (*all_cpus_are_idle)(void);
	bool (*bql_locked)(void);
	clock_function *host_clock;
	void (*notify_event)(void);
	void (*timer_init_full)(void *timer, void *group, int type, int scale, int attributes,
				void (*call)(void *data), void *data);
	void (*timer_mod_ns)(void *timer, int64_t ns);
	void *(*on_run_or_stop)(void (*call)(void *data, bool running, int state), void *data);
} qemu;

static const struct {
	const char *name;
	void *found;
} needed[] = {
	{ "cpus_get_virtual_clock", &qemu.get_virtual_clock },
	{ "cpus_get_elapsed_ticks", &qemu.get_elapsed_ticks },
	{ "qemu_clock_deadline_ns_all", &qemu.deadline_ns_all },
	{ "qemu_clock_run_timers", &qemu.run_timers },
	{ "object_class_by_name", &qemu.class_by_name },
	{ "qemu_get_cpu", &qemu.get_cpu },
	{ "async_run_on_cpu", &qemu.async_run_on_cpu },
	{ "tlb_flush", &qemu.tlb_flush },
	{ "cpu_thread_is_idle", &qemu.cpu_is_idle },
	{ "all_cpu_threads_idle", &qemu.all_cpus_are_idle },
	{ "bql_locked", &qemu.bql_locked },
	{ "cpu_get_clock", &qemu.host_clock },
	{ "qemu_notify_event", &qemu.notify_event },
	{ "timer_init_full", &qemu.timer_init_full },
	{ "timer_mod_ns", &qemu.timer_mod_ns },
	{ "qemu_add_vm_change_state_handler", &qemu.on_run_or_stop },
};

static __thread struct np_cpu *self;
/* Of the one thread that runs all CPUs */
static __thread void **current_cpu;  /* QEMU's word: the CPU that it is at */
static __thread void *state_of_self; /* QEMU's */
static __thread bool asks_for_deadline;

const char *np_qemu_clock_find(void)
{
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
		void *found = dlsym(RTLD_DEFAULT, needed[i].name);

		if (!found)
			return needed[i].name;
		memcpy(needed[i].found, &found, sizeof(found));
	}
	return NULL;
}

/*
 * While all CPUs are halted the main loop moves the clock. Of other threads, and of a thread
 * without QEMU's lock, none may.
 */
static int64_t virtual_clock(void)
{
	if (asks_for_deadline) /* which is no reading of the guest's */
		return (self && self->busy ? self->ps + self->pending_ps : np_clock_now()) /
		       PS_PER_NS;
	if (self)
		return np_clock_of(self) / PS_PER_NS;
	if (np_sim.config.exact) /* the CPUs' thread runs all timers: the main loop finds none due */
		return np_sim.config.start_ns;
	if (gettid() != getpid() || !qemu.bql_locked())
		return np_clock_timers_ran() / PS_PER_NS;
	return np_clock_of_main_loop() / PS_PER_NS;
}

/* Where times mean nothing. */
static int64_t host_clock(void)
{
	bool main_loop = gettid() == getpid() && qemu.bql_locked() && !asks_for_deadline;

	return main_loop ? np_host_clock_of_main_loop() : np_host_clock_now();
}

static int64_t host_ticks(void)
{
	return np_host_clock_now() * HOST_GHZ;
}

static int64_t elapsed_ticks(void)
{
	uint64_t ps;

	if (self && self->busy)
		self->pending_ps += RDTSC_PS * np_sim.config.scale;
	ps = self ? np_clock_of(self) : np_clock_timers_ran();
	return ps * (np_sim.config.mhz / 1e6);
}

static int64_t probe(void)
{
	return 0x6e756d61; /* no time */
}

/* Puts `own` into the word of the class that `ask` calls, an empty one or a filled one. */
static bool take(void **class, size_t words, bool filled, clock_function *ask, clock_function *own)
{
	for (size_t i = CLASS_PARENT_WORDS; i < words; i++) {
		void *before = class[i];

		if ((before != NULL) != filled)
			continue;
		class[i] = probe;
		if (ask() == probe()) {
			class[i] = own;
			return true;
		}
		class[i] = before;
	}
	return false;
}

static void run_or_stop(void *data, bool running, int state)
{
	if (np_sim.config.clock_alone)
		np_host_clock_run(running);
	else
		np_clock_run(running);
}

bool np_qemu_clock_take(void)
{
	void **class = qemu.class_by_name("tcg-accel-ops");
	size_t words = class ? malloc_usable_size(class) / sizeof(*class) : 0;

	bool alone = np_sim.config.clock_alone;
	clock_function *clock = alone ? host_clock : virtual_clock,
		       *ticks = alone ? host_ticks : elapsed_ticks;

	qemu.on_run_or_stop(run_or_stop, NULL);
	return (take(class, words, false, qemu.get_virtual_clock, clock) ||
		take(class, words, true, qemu.get_virtual_clock, clock)) &&
	       (take(class, words, false, qemu.get_elapsed_ticks, ticks) ||
		take(class, words, true, qemu.get_elapsed_ticks, ticks));
}

void np_qemu_clock_thread(struct np_cpu *cpu)
{
	self = cpu;
	state_of_self = cpu ? qemu.get_cpu(cpu->index) : NULL;
}

unsigned int np_qemu_clock_switch(void)
{
	if (!current_cpu)
		current_cpu = dlsym(RTLD_DEFAULT, "current_cpu"); /* of this thread */
	for (unsigned int i = 0; *current_cpu != state_of_self && i < np_sim.config.cpus; i++)
		if (qemu.get_cpu(i) == *current_cpu)
			np_qemu_clock_thread(&np_sim.cpu[i]);
	return self->index;
}

bool np_qemu_clock_has_work(const struct np_cpu *cpu)
{
	return !qemu.cpu_is_idle(qemu.get_cpu(cpu->index));
}

bool np_qemu_clock_any_has_work(void)
{
	return !qemu.all_cpus_are_idle();
}

uint64_t np_qemu_clock_host_ns(void)
{
	return qemu.host_clock();
}

uint64_t np_qemu_clock_left_ps(void)
{
	int64_t ns;

	asks_for_deadline = true;
	ns = qemu.deadline_ns_all(VIRTUAL, ALL_ATTRIBUTES);
	asks_for_deadline = false;
	return ns < 0 ? NP_QEMU_CLOCK_NEVER : ns * PS_PER_NS;
}

void np_qemu_clock_look(void)
{
	qemu.notify_event();
}

static bool
	looks_again; /* a timer is set, which the main loop must not put off each time that it asks */

static void looked(void *data)
{
	looks_again = false;
	np_in_flight_looked();
}

void np_qemu_clock_look_again(uint64_t host_ns)
{
	static char timer[256]
		__attribute__((aligned(16))); /* a QEMUTimer, of 64 bytes in QEMU 10 */
	static bool ready;

	if (!ready)
		qemu.timer_init_full(timer, NULL, REALTIME, 1, 0, looked, NULL);
	ready = true;
	if (looks_again)
		return;
	looks_again = true;
	qemu.timer_mod_ns(timer, np_host_ns() + host_ns);
}

/* All CPUs, which one thread runs, have halted: the clock goes to the next timer. */
static void skip(struct np_cpu *cpu)
{
	uint64_t left = np_qemu_clock_left_ps();

	if (left == NP_QEMU_CLOCK_NEVER)
		return;
	np_clock_skip(cpu, left);
	np_qemu_clock_leave(cpu);
}

static void drop_translations(struct np_cpu *cpu, void *cpu_state)
{
	if (cpu->ps < cpu->drop_ps)
		return;
	cpu->drop_ps = cpu->ps + TRANSLATION_PS;
	qemu.tlb_flush(cpu_state);
}

/* QEMU calls it outside translated code, with its lock. */
static void run_due(void *cpu_state, unsigned long index)
{
	struct np_cpu *cpu = &np_sim.cpu[index];
	uint64_t ps;

	cpu->asked = false;
	drop_translations(cpu, cpu_state);
	if (np_sim.config.exact) {
		np_qemu_clock_thread(cpu);
		if (!np_qemu_clock_any_has_work())
			skip(cpu);
	}
	ps = np_clock_of(cpu);
	qemu.run_timers(VIRTUAL);
	np_clock_ran_timers(cpu, ps);
}

void np_qemu_clock_leave(struct np_cpu *cpu)
{
	if (cpu->asked)
		return;
	cpu->asked = true;
	qemu.async_run_on_cpu(qemu.get_cpu(cpu->index), run_due, cpu->index);
}

void np_qemu_clock_step(struct np_cpu *cpu)
{
	if (!cpu->asked && (cpu->ps >= cpu->drop_ps || !np_qemu_clock_left_ps()))
		np_qemu_clock_leave(cpu);
}
