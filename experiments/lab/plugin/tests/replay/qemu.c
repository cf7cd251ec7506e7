// SPDX-License-Identifier: GPL-2.0-only
/* QEMU's side of the plugin interface, without QEMU. */
#include "qemu.h"

#include "../../../guest/shared.h"

#include <stdlib.h>
#include <string.h>

#if NP_QEMU_API_VERSION >= 7
#define ID_OF_CALL  NULL
#define READ_RESULT bool
#else
#define ID_OF_CALL  1
#define READ_RESULT int
#endif

#define CODE   0x401000 /* where a program's block is */
#define LENGTH 3	/* of each instruction */
#define NOP    "\x0f\x1f\x00"

struct replay_qemu replay_qemu;

static const uint8_t marker[] = { NP_LAB_MARKER(NP_LAB_START_ENDS) };

struct qemu_plugin_hwaddr {
	uint64_t physical;
};

void qemu_plugin_register_flush_cb(qemu_plugin_id_t id, qemu_plugin_simple_cb_t cb NP_WORD)
{
}

void qemu_plugin_reset(qemu_plugin_id_t id, qemu_plugin_simple_cb_t cb NP_WORD)
{
	replay_qemu.when_reset = cb;
}

/* No CPU starts. */
void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_simple_cb_t cb NP_WORD)
{
}

void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_simple_cb_t cb NP_WORD)
{
}

void qemu_plugin_register_vcpu_resume_cb(qemu_plugin_id_t id,
					 qemu_plugin_vcpu_simple_cb_t cb NP_WORD)
{
}

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   qemu_plugin_vcpu_tb_trans_cb_t cb NP_WORD)
{
	replay_qemu.translate = cb;
}

void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_plugin_vcpu_udata_cb_t cb,
					  enum qemu_plugin_cb_flags flags, void *data)
{
	replay_qemu.run_block = cb;
	replay_qemu.block_word = data;
}

void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    qemu_plugin_vcpu_udata_cb_t cb,
					    enum qemu_plugin_cb_flags flags, void *data)
{
	if (replay_qemu.translates_marker) {
		replay_qemu.run_marker = cb;
		return;
	}
	replay_qemu.enter[replay_qemu.slots] =
		cb; /* the plugin asks for an instruction's accesses last */
	replay_qemu.entry_word[replay_qemu.slots] = data;
}

void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_plugin_vcpu_mem_cb_t cb,
				      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
				      void *data)
{
	replay_qemu.access_memory[replay_qemu.slots] = cb;
	replay_qemu.slot[replay_qemu.slots++] = data;
}

/* Nothing here keeps a profile, which needs these. */
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_udata_cb_t cb, void *data)
{
}

GArray *qemu_plugin_get_registers(void)
{
	return NULL;
}

READ_RESULT qemu_plugin_read_register(struct qemu_plugin_register *handle, GByteArray *buf)
{
	return 0;
}

bool qemu_plugin_read_memory_vaddr(uint64_t addr, GByteArray *data, size_t len)
{
	return false;
}

GByteArray *g_byte_array_new(void)
{
	return NULL;
}

uint8_t *g_byte_array_free(GByteArray *array, int free_segment)
{
	return NULL;
}

unsigned int g_array_get_element_size(GArray *array)
{
	return 0;
}

char *g_array_free(GArray *array, int free_segment)
{
	return NULL;
}

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb)
{
	return replay_qemu.translates_marker ? 1 : replay_qemu.instructions;
}

struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index)
{
	return (struct qemu_plugin_insn *)(CODE + 4 * index);
}

uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn)
{
	return (uintptr_t)insn | (uint64_t)replay_qemu.of_kernel << 63;
}

size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest, size_t len)
{
	size_t index = ((uintptr_t)insn - CODE) / 4;
	const void *from = replay_qemu.translates_marker ? (const char *)marker :
			   LENGTH * index < strlen(replay_qemu.code) ?
							   replay_qemu.code + LENGTH * index :
							   NOP;
	size_t size = replay_qemu.translates_marker ? sizeof(marker) : LENGTH;

	size = size < len ? size : len;
	memcpy(dest, from, size);
	return size;
}

bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info)
{
	return info & STORE;
}

struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t vaddr)
{
	static struct qemu_plugin_hwaddr found;

	found.physical = vaddr & 0x3fffffff;
	return &found;
}

bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *address)
{
	return false;
}

uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *address)
{
	return address->physical;
}

/*
 * Of QEMU's own functions the plugin calls three here: no timer is ever due, and a CPU that is asked to leave its code,
 * so that QEMU drops its translations, does not.
 */

int64_t qemu_clock_deadline_ns_all(int type, int attributes)
{
	return -1;
}

void *qemu_get_cpu(int index);
void async_run_on_cpu(void *cpu, void (*work)(void *cpu, unsigned long data), unsigned long data);

void *qemu_get_cpu(int index)
{
	return NULL;
}

void async_run_on_cpu(void *cpu, void (*work)(void *cpu, unsigned long data), unsigned long data)
{
}

#define NEVER_CALLED(name) \
	void name(void); \
	void name(void) \
	{ \
		abort(); \
	}

NEVER_CALLED(cpus_get_virtual_clock)
NEVER_CALLED(cpus_get_elapsed_ticks)
NEVER_CALLED(qemu_clock_run_timers)
NEVER_CALLED(object_class_by_name)
NEVER_CALLED(tlb_flush)
NEVER_CALLED(cpu_thread_is_idle)
NEVER_CALLED(all_cpu_threads_idle)
NEVER_CALLED(bql_locked)
NEVER_CALLED(qemu_add_vm_change_state_handler)
NEVER_CALLED(cpu_get_clock)
NEVER_CALLED(qemu_notify_event)
NEVER_CALLED(timer_init_full)
NEVER_CALLED(timer_mod_ns)

void replay_translate(void)
{
	replay_qemu.slots = 0;
	memset(replay_qemu.enter, 0, sizeof(replay_qemu.enter));
	replay_qemu.translate(ID_OF_CALL, NULL);
}

void replay_reset(void)
{
	replay_qemu.when_reset(ID_OF_CALL);
}
