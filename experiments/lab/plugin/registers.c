// SPDX-License-Identifier: GPL-2.0-only
#include "registers.h"
#include "qemu_api.h"

#include <string.h>

static struct qemu_plugin_register *found[NP_REGISTERS];

bool np_registers_find(void)
{
	static const char *const name[NP_REGISTERS] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp",
							"rsi", "rdi", "r8",  "r9",  "r10", "r11",
							"r12", "r13", "r14", "r15" };
	GArray *all = qemu_plugin_get_registers();
	unsigned int size = g_array_get_element_size(all), n = 0;

	for (unsigned int i = 0; i < all->len; i++) {
		const qemu_plugin_reg_descriptor *one = (void *)(all->data + i * size);

		for (unsigned int reg = 0; reg < NP_REGISTERS; reg++)
			if (!strcmp(one->name, name[reg])) {
				found[reg] = one->handle;
				n++;
			}
	}
	g_array_free(all, true);
	return n == NP_REGISTERS;
}

uint64_t np_registers_read(unsigned int number)
{
	GByteArray *bytes = g_byte_array_new();
	uint64_t value = 0;

	if (qemu_plugin_read_register(found[number], bytes) > 0 && bytes->len >= sizeof(value))
		memcpy(&value, bytes->data, sizeof(value));
	g_byte_array_free(bytes, true);
	return value;
}
