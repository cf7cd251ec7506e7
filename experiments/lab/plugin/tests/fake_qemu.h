/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions of QEMU that the plugin finds by name, with a clock class that the tests fill. */
#ifndef NP_FAKE_QEMU_H
#define NP_FAKE_QEMU_H

#include "fixture.h"

#define FAKE_WORDS 40

struct fake_qemu {
	void *class[FAKE_WORDS];       /* "tcg-accel-ops" */
	size_t clock_word, ticks_word; /* which of its words QEMU asks */
	uint64_t deadline_ns;	       /* when the only timer is due; UINT64_MAX: there is none */
	unsigned int timers_ran;
	uint64_t ran_ns;	/* QEMU's clock when the timer ran */
	int timer_wakes;	/* the CPU that the timer gives work, or -1 */
	unsigned int work_seen; /* so often yet; then the CPU has none. 0: it has as long as it has */
	bool has_work[4];	/* by CPU */
	void (*work)(void *cpu, unsigned long data); /* asked for, not done yet */
	unsigned long work_data;
	unsigned int tlb_flushes;
	bool locked;
	unsigned int notified;		/* times that the main loop was told to look */
	void (*host_timer)(void *data); /* of the host's time: called by the tests */
	uint64_t host_timer_ns;		/* when it is due */
	void (*run_or_stop)(void *data, bool running, int state); /* to be told */
};

extern struct fake_qemu qemu;

/* QEMU's state of the CPU that this thread is at: qemu_get_cpu() of its index. */
extern __thread void *current_cpu;
void *qemu_get_cpu(int index);

/* No timer, no work, empty words; the plugin's clocks are taken. */
void fake_qemu_begin(void);

/* The work that was asked for, as the CPU's thread does it when it leaves the block. */
void fake_qemu_work(void);

/* What QEMU reads in this thread. */
int64_t cpus_get_virtual_clock(void);
int64_t cpus_get_elapsed_ticks(void);

/* As the main loop does. */
bool qemu_clock_run_timers(int type);

#endif
