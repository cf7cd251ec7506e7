/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of QEMU's plugin interface that is used here, in version 4, which QEMU 10.0 to 11.0 take,
 * or 7, which is QEMU 11.1's. Distributions ship no header for it, so it is declared from its
 * documentation.
 */
#ifndef NP_QEMU_API_H
#define NP_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef NP_QEMU_API_VERSION
#define NP_QEMU_API_VERSION 4
#endif

/*
 * Since version 7 a call is given the word that it was registered with, and before the plugin's
 * number. No such call here needs either.
 */
#define NP_UNUSED __attribute__((unused))
#if NP_QEMU_API_VERSION >= 7
#define NP_WORD			 , NP_UNUSED void *word
#define NP_NO_WORD		 , NULL
#define NP_QEMU_CALL(name)	 name(NP_UNUSED void *word)
#define NP_QEMU_CPU_CALL(name)	 name(NP_UNUSED unsigned int vcpu, NP_UNUSED void *word)
#define NP_QEMU_BLOCK_CALL(name) name(struct qemu_plugin_tb *tb, NP_UNUSED void *word)
#define NP_QEMU_END_CALL(name)	 name(NP_UNUSED void *word)
#else
#define NP_WORD
#define NP_NO_WORD
#define NP_QEMU_CALL(name)	 name(NP_UNUSED qemu_plugin_id_t id)
#define NP_QEMU_CPU_CALL(name)	 name(NP_UNUSED qemu_plugin_id_t id, NP_UNUSED unsigned int vcpu)
#define NP_QEMU_BLOCK_CALL(name) name(NP_UNUSED qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
#define NP_QEMU_END_CALL(name)	 name(NP_UNUSED qemu_plugin_id_t id, NP_UNUSED void *word)
#endif

#define NP_EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
struct qemu_plugin_register;

/* GLib's, which QEMU is linked with. */
typedef struct {
	uint8_t *data;
	unsigned int len;
} GByteArray;

typedef struct {
	char *data;
	unsigned int len;
} GArray;

GByteArray *g_byte_array_new(void);
uint8_t *g_byte_array_free(GByteArray *array, int free_segment);
char *g_array_free(GArray *array, int free_segment);
unsigned int g_array_get_element_size(GArray *array);

/* Its begin: the array's elements are as long as this QEMU's are. */
typedef struct {
	struct qemu_plugin_register *handle;
	const char *name, *feature;
} qemu_plugin_reg_descriptor;

typedef struct {
	const char *target_name;
	struct {
		int min;
		int cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus;
		int max_vcpus;
	} system;
} qemu_info_t;

enum qemu_plugin_cb_flags {
	QEMU_PLUGIN_CB_NO_REGS,
	QEMU_PLUGIN_CB_R_REGS,
};

enum qemu_plugin_mem_rw {
	QEMU_PLUGIN_MEM_R = 1,
	QEMU_PLUGIN_MEM_W,
	QEMU_PLUGIN_MEM_RW,
};

typedef void NP_QEMU_CALL((*qemu_plugin_simple_cb_t));
typedef void NP_QEMU_END_CALL((*qemu_plugin_udata_cb_t));
typedef void NP_QEMU_CPU_CALL((*qemu_plugin_vcpu_simple_cb_t));
typedef void (*qemu_plugin_vcpu_udata_cb_t)(unsigned int vcpu, void *data);
typedef void NP_QEMU_BLOCK_CALL((*qemu_plugin_vcpu_tb_trans_cb_t));
typedef void (*qemu_plugin_vcpu_mem_cb_t)(unsigned int vcpu, qemu_plugin_meminfo_t info,
					  uint64_t vaddr, void *data);

NP_EXPORT extern int qemu_plugin_version;
NP_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
				  char **argv);

void qemu_plugin_reset(qemu_plugin_id_t id, qemu_plugin_simple_cb_t cb NP_WORD);
void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id,
				       qemu_plugin_vcpu_simple_cb_t cb NP_WORD);
void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id,
				       qemu_plugin_vcpu_simple_cb_t cb NP_WORD);
void qemu_plugin_register_vcpu_resume_cb(qemu_plugin_id_t id,
					 qemu_plugin_vcpu_simple_cb_t cb NP_WORD);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   qemu_plugin_vcpu_tb_trans_cb_t cb NP_WORD);
void qemu_plugin_register_flush_cb(qemu_plugin_id_t id, qemu_plugin_simple_cb_t cb NP_WORD);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_udata_cb_t cb, void *data);

void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_plugin_vcpu_udata_cb_t cb,
					  enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    qemu_plugin_vcpu_udata_cb_t cb,
					    enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_plugin_vcpu_mem_cb_t cb,
				      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
				      void *data);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest, size_t len);

/* Of the CPU whose callback calls; the descriptors only where a CPU begins. */
GArray *qemu_plugin_get_registers(void);
#if NP_QEMU_API_VERSION >= 7
bool qemu_plugin_read_register(struct qemu_plugin_register *handle, GByteArray *buf);
#else
int qemu_plugin_read_register(struct qemu_plugin_register *handle, GByteArray *buf);
#endif
bool qemu_plugin_read_memory_vaddr(uint64_t addr, GByteArray *data, size_t len);

bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t vaddr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *address);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *address);

#endif
