// SPDX-License-Identifier: GPL-2.0-only
#include "host_clock.h"
#include "cpu.h"
#include "in_flight.h"
#include "qemu_clock.h"

#define PS_PER_NS 1000ull

static uint64_t skipped_ns;
static bool runs;

uint64_t np_host_clock_now(void)
{
	return np_qemu_clock_host_ns() + np_read(skipped_ns);
}

/* A restored machine goes on from the time of the one that it was taken from. */
void np_host_clock_run(bool running)
{
	uint64_t now = np_host_clock_now();

	if (running && now < np_sim.config.start_ns)
		np_write(skipped_ns, skipped_ns + np_sim.config.start_ns - now);
	runs = running;
}

uint64_t np_host_clock_of_main_loop(void)
{
	uint64_t left = NP_QEMU_CLOCK_NEVER;

	if (runs && !np_sim.config.follow && !np_qemu_clock_any_has_work())
		left = np_qemu_clock_left_ps();
	if (left && left != NP_QEMU_CLOCK_NEVER) {
		if (np_in_flight_any())
			np_qemu_clock_look_again(NP_IN_FLIGHT_GRACE_NS);
		else
			np_write(skipped_ns, skipped_ns + left / PS_PER_NS);
	}
	np_write(np_sim.shared->now_ns, np_host_clock_now());
	return np_host_clock_now();
}
