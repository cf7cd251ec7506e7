// SPDX-License-Identifier: GPL-2.0-only
/*
 * A QEMU TCG plugin that gives a guest the caches, the memory and the time of
 * a described NUMA machine. This file joins QEMU's callbacks to the parts.
 */
#include "clock.h"
#include "host_clock.h"
#include "contention.h"
#include "host_time.h"
#include "in_flight.h"
#include "calls.h"
#include "instrument.h"
#include "marker.h"
#include "qemu_api.h"
#include "qemu_clock.h"
#include "registers.h"
#include "timing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define START_INSN_PS 3000 /* of the untimed start: about what TCG makes of the host's */

int qemu_plugin_version = NP_QEMU_API_VERSION;

struct np_machine_state np_sim;

static qemu_plugin_id_t own_id;
static uint32_t timed_insn_ps;

static void NP_QEMU_CPU_CALL(on_idle)
{
	np_clock_idle(&np_sim.cpu[vcpu]);
}

static void NP_QEMU_CPU_CALL(on_resume)
{
	np_clock_resume(&np_sim.cpu[vcpu]);
}

/* Where accesses are not seen, the guest may have asked a device for something whenever it halts. */
static void NP_QEMU_CPU_CALL(on_host_idle)
{
	np_in_flight_ask();
	np_qemu_clock_look();
}

/*
 * One that runs may ask, too: what it asks for just before it halts is not known to be asked for when
 * the main loop sees it halted.
 */
static void NP_QEMU_CPU_CALL(on_host_resume)
{
	np_in_flight_ask();
}

static void register_all(qemu_plugin_id_t id, qemu_plugin_vcpu_tb_trans_cb_t translate)
{
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate NP_NO_WORD);
	qemu_plugin_register_vcpu_idle_cb(id, on_idle NP_NO_WORD);
	qemu_plugin_register_vcpu_resume_cb(id, on_resume NP_NO_WORD);
}

__attribute__((format(printf, 1, 2))) static int refuse(const char *why, ...)
{
	va_list args;

	fputs("numaplace lab plugin: ", stderr);
	va_start(args, why);
	vfprintf(stderr, why, args);
	va_end(args);
	fputc('\n', stderr);
	return -1;
}

/* At QEMU's end. */
static void NP_QEMU_END_CALL(write_profile)
{
	const struct np_config *c = &np_sim.config;
	FILE *f = fopen(c->profile, "we");

	if (!f) {
		refuse("%s: cannot write the profile: %s", c->profile, strerror(errno));
		return;
	}
	np_profile_write_head(f);
	for (unsigned int i = 0; i < c->cpus; i++)
		np_profile_write(f, np_sim.cpu[i].profile, i, c->cpu_node[i], c->nodes);
	fprintf(f, "end\n");
	fclose(f);
}

/* QEMU has dropped all translated code and the calls in it, and all other calls. */
static void NP_QEMU_CALL(begin_timed)
{
	if (np_sim.config.profile[0])
		qemu_plugin_register_atexit_cb(own_id, write_profile, NULL);
	np_sim.insn_ps = timed_insn_ps;
	np_sim.booting = false;
	register_all(own_id, np_instrument);
	qemu_plugin_register_flush_cb(own_id, np_instrument_forget NP_NO_WORD);
}

static void end_start(void)
{
	if (np_sim.booting)
		qemu_plugin_reset(own_id, begin_timed NP_NO_WORD);
}

static void NP_QEMU_CPU_CALL(on_vcpu)
{
	static bool taken;

	np_qemu_clock_thread(&np_sim.cpu[vcpu]);
	np_write(np_sim.cpu[vcpu].state, np_host_open_state());
	if (__atomic_test_and_set(&taken, __ATOMIC_SEQ_CST))
		return;
	if ((np_sim.config.profile[0] || np_sim.config.tlb.first[0]) && !np_registers_find())
		refuse("this QEMU names its registers in another way than QEMU 10.0");
	else if (np_qemu_clock_take())
		return;
	else
		refuse("no slot of this QEMU's accelerator is its clock's: run with --functional, or use QEMU 10.0");
	_exit(1);
}

static int map_shared(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	int ret = fd < 0 || fstat(fd, &st) ? -errno : 0;

	if (!ret && st.st_size < NP_LAB_SHARED_SIZE)
		ret = -ENOSPC;
	if (!ret) {
		np_sim.shared = mmap(NULL, NP_LAB_SHARED_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
				     fd, 0);
		ret = np_sim.shared == MAP_FAILED ? -errno : 0;
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

static int init_profiles(void)
{
	static struct np_profile profiles[NP_LAB_MAX_CPUS];
	int ret = 0;

	for (unsigned int i = 0; np_sim.config.profile[0] && i < np_sim.config.cpus && !ret; i++) {
		np_sim.cpu[i].profile = &profiles[i];
		ret = np_profile_init(&profiles[i]);
	}
	return ret;
}

static int init_cpus(void)
{
	const struct np_config *c = &np_sim.config;
	size_t size = c->cpus * sizeof(*np_sim.cpu);

	np_sim.cpu = aligned_alloc(_Alignof(struct np_cpu), size);
	if (!np_sim.cpu)
		return -ENOMEM;
	memset(np_sim.cpu, 0, size);
	for (unsigned int i = 0; i < c->cpus; i++) {
		np_sim.cpu[i].index = i;
		np_sim.cpu[i].node = c->cpu_node[i];
		np_sim.cpu[i].translations.epoch = NP_TRANSLATION_EPOCH;
		np_sim.cpu[i].l1 = &np_sim.hierarchy.cpu[i].l1;
		if (np_tlb_init(&np_sim.cpu[i]))
			return -ENOMEM;
	}
	np_sim.insn_ps = 1e6 / c->mhz / c->ipc;
	np_sim.step_ps = NP_CLOCK_STEP_PS * c->scale;
	return np_contention_init();
}

static void init_shared(void)
{
	memset(np_sim.shared, 0, sizeof(*np_sim.shared));
	np_sim.shared->version = NP_LAB_VERSION;
	np_sim.shared->cpus = np_sim.config.cpus;
	np_sim.shared->nodes = np_sim.config.nodes;
	np_sim.shared->line_bytes = np_sim.config.line_bytes;
	snprintf(np_sim.shared->counters, sizeof(np_sim.shared->counters), "%s",
		 NP_LAB_COUNTERS(NP_LAB_NAME));
	np_sim.shared->magic = NP_LAB_MAGIC;
	np_clock_begin(np_sim.config.start_ns);
}

static int init(const char *path, int vcpus)
{
	const struct np_config *c = &np_sim.config;
	char err[512];
	int ret;

	if (np_config_read(path, &np_sim.config, err, sizeof(err)))
		return refuse("%s", err);
	if (!c->clock_alone && c->cpus != (unsigned int)vcpus)
		return refuse("%s: cpu_node names %u CPUs and the machine has %d", path, c->cpus,
			      vcpus);
	ret = map_shared(c->shared);
	if (ret)
		return refuse("%s: cannot map the shared memory: %s", c->shared, strerror(-ret));
	if (c->clock_alone)
		return 0;
	if (np_hierarchy_init(&np_sim.hierarchy, c) || init_cpus() || init_profiles())
		return refuse("out of memory");
	init_shared();
	np_calls_begin(end_start);
	timed_insn_ps = np_sim.insn_ps;
	np_sim.insn_ps = START_INSN_PS;
	np_sim.booting = true;
	return 0;
}

/* Where times mean nothing. In a QEMU whose clock cannot be taken, idle time passes as it does for the host. */
static void NP_QEMU_CPU_CALL(on_host_vcpu)
{
	static bool taken;

	if (!__atomic_test_and_set(&taken, __ATOMIC_SEQ_CST))
		np_qemu_clock_take();
}

static void skip_idle_time(qemu_plugin_id_t id)
{
	qemu_plugin_register_vcpu_init_cb(id, on_host_vcpu NP_NO_WORD);
	qemu_plugin_register_vcpu_idle_cb(id, on_host_idle NP_NO_WORD);
	qemu_plugin_register_vcpu_resume_cb(id, on_host_resume NP_NO_WORD);
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	const char *missing;

	if (!info->system_emulation || strcmp(info->target_name, "x86_64"))
		return refuse("simulates x86_64 machines only");
	if (argc != 1 || strncmp(argv[0], "config=", 7))
		return refuse("needs one argument, config=FILE");
	missing = np_qemu_clock_find();
	if (init(argv[0] + 7, info->system.smp_vcpus))
		return -1;
	if (np_sim.config.clock_alone) {
		if (!missing)
			skip_idle_time(id);
		return 0;
	}
	if (!np_calls_can_tell_stores())
		return refuse("this QEMU tells loads from stores in another way than QEMU 10.0");
	if (missing)
		return refuse("this QEMU does not export %s, without which its clocks cannot be simulated: run with "
			      "--functional, or use Debian's QEMU 10.0",
			      missing);
	if (np_sim.config.tlb.first[0] && (missing = np_guest_pages_find()))
		return refuse("this QEMU does not export %s, without which page tables cannot be read: take [model.tlb] out of "
			      "the machine file, or use Debian's QEMU 10.0",
			      missing);
	own_id = id;
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu NP_NO_WORD);
	register_all(id, np_instrument_start);
	return 0;
}
