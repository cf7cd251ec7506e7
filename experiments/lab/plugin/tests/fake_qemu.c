// SPDX-License-Identifier: GPL-2.0-only
#include "fake_qemu.h"
#include "../qemu_clock.h"

#define HOST_TICKS 77 /* of a clock that is not taken */

struct fake_qemu qemu;
__thread void *current_cpu;
static void **class; /* on the heap: the plugin asks the allocator for its size */

bool qemu_clock_run_timers(int type);
int64_t qemu_clock_deadline_ns_all(int type, int attributes);
void *object_class_by_name(const char *name);
void async_run_on_cpu(void *cpu, void (*work)(void *cpu, unsigned long data), unsigned long data);
void tlb_flush(void *cpu);
bool cpu_thread_is_idle(void *cpu);
bool all_cpu_threads_idle(void);
bool bql_locked(void);
void *qemu_add_vm_change_state_handler(void (*call)(void *data, bool running, int state),
				       void *data);
int64_t cpu_get_clock(void);
void qemu_notify_event(void);
void timer_init_full(void *timer, void *group, int type, int scale, int attributes,
		     void (*call)(void *data), void *data);
void timer_mod_ns(void *timer, int64_t ns);

static int64_t ask(size_t word)
{
	int64_t (*slot)(void);

	if (!class[word])
		return HOST_TICKS;
	memcpy(&slot, &class[word], sizeof(slot));
	return slot();
}

int64_t cpus_get_virtual_clock(void)
{
	return ask(qemu.clock_word);
}

int64_t cpus_get_elapsed_ticks(void)
{
	return ask(qemu.ticks_word);
}

int64_t qemu_clock_deadline_ns_all(int type, int attributes)
{
	uint64_t now = cpus_get_virtual_clock();

	if (qemu.deadline_ns == UINT64_MAX)
		return -1;
	return qemu.deadline_ns > now ? qemu.deadline_ns - now : 0;
}

bool qemu_clock_run_timers(int type)
{
	uint64_t now = cpus_get_virtual_clock();

	if (qemu.deadline_ns > now)
		return false;
	qemu.deadline_ns = UINT64_MAX;
	qemu.timers_ran++;
	qemu.ran_ns = now;
	if (qemu.timer_wakes >= 0)
		qemu.has_work[qemu.timer_wakes] = true;
	return true;
}

void *object_class_by_name(const char *name)
{
	return strcmp(name, "tcg-accel-ops") ? NULL : class;
}

void *qemu_get_cpu(int index)
{
	return &qemu.has_work[index];
}

void async_run_on_cpu(void *cpu, void (*work)(void *cpu, unsigned long data), unsigned long data)
{
	qemu.work = work;
	qemu.work_data = data;
}

void tlb_flush(void *cpu)
{
	qemu.tlb_flushes++;
}

bool cpu_thread_is_idle(void *cpu)
{
	bool *has_work = cpu, had = *has_work;

	if (had && qemu.work_seen && !--qemu.work_seen)
		*has_work = false;
	return !had;
}

bool all_cpu_threads_idle(void)
{
	for (unsigned int i = 0; i < 4; i++)
		if (qemu.has_work[i])
			return false;
	return true;
}

bool bql_locked(void)
{
	return qemu.locked;
}

void *qemu_add_vm_change_state_handler(void (*call)(void *data, bool running, int state),
				       void *data)
{
	qemu.run_or_stop = call;
	return data;
}

int64_t cpu_get_clock(void)
{
	return host_ns;
}

void qemu_notify_event(void)
{
	qemu.notified++;
}

void timer_init_full(void *timer, void *group, int type, int scale, int attributes,
		     void (*call)(void *data), void *data)
{
	qemu.host_timer = call;
}

void timer_mod_ns(void *timer, int64_t ns)
{
	qemu.host_timer_ns = ns;
}

void fake_qemu_begin(void)
{
	if (!class)
		class = malloc(sizeof(qemu.class));
	if (!class || np_qemu_clock_find())
		abort();
	if (!qemu.clock_word)
		qemu.clock_word = 24, qemu.ticks_word = 26;
	memcpy(class, qemu.class, sizeof(qemu.class));
	qemu.deadline_ns = UINT64_MAX;
	qemu.timer_wakes = -1;
	qemu.timers_ran = 0;
	qemu.tlb_flushes = 0;
	qemu.work = NULL;
	qemu.work_seen = 0;
	qemu.notified = 0;
	qemu.locked = true;
	memset(qemu.has_work, 0, sizeof(qemu.has_work));
	current_cpu = NULL;
	np_qemu_clock_thread(NULL);
	if (!np_qemu_clock_take())
		abort();
	qemu.run_or_stop(NULL, true, 0);
}

void fake_qemu_work(void)
{
	void (*work)(void *, unsigned long) = qemu.work;

	qemu.work = NULL;
	if (work)
		work(qemu_get_cpu(qemu.work_data), qemu.work_data);
}
