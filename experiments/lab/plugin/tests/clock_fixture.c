// SPDX-License-Identifier: GPL-2.0-only
#include "clock_fixture.h"

static struct np_lab_shared shared;

struct np_cpu *begin_with_one(void)
{
	begin();
	memset(shared.cpu, 0, sizeof(shared.cpu));
	np_sim.shared = &shared;
	fake_qemu_begin();
	for (unsigned int i = 0; i < np_sim.config.cpus; i++) {
		np_sim.cpu[i].drop_ps =
			UINT64_MAX; /* QEMU's translations are no matter of most cases */
		np_sim.cpu[i].state =
			-1; /* one thread is all of them here: it tells nothing of the others */
	}
	np_clock_resume(&np_sim.cpu[0]);
	return np_sim.cpu;
}

void end_with_one(void)
{
	for (unsigned int i = 0; i < np_sim.config.cpus; i++)
		np_clock_idle(&np_sim.cpu[i]);
	end();
}

void run(struct np_cpu *cpu, uint64_t ps)
{
	np_qemu_clock_thread(cpu);
	cpu->pending_ps += ps;
	np_clock_step(cpu);
	np_qemu_clock_thread(NULL);
}

void resume(struct np_cpu *cpu)
{
	qemu.has_work[cpu->index] = false;
	np_clock_resume(cpu);
}

uint64_t main_loop_ns(void)
{
	return cpus_get_virtual_clock();
}

uint64_t thread_ns(struct np_cpu *cpu)
{
	uint64_t ns;

	np_qemu_clock_thread(cpu);
	ns = cpus_get_virtual_clock();
	np_qemu_clock_thread(NULL);
	return ns;
}

void leave(struct np_cpu *cpu)
{
	np_qemu_clock_thread(cpu);
	fake_qemu_work();
	np_qemu_clock_thread(NULL);
}
