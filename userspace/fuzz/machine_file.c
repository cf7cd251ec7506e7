// SPDX-License-Identifier: GPL-2.0-only
/* A machine file, which users write. */
#include "../lib/files/machine_file.h"
#include "fuzz.h"

#define NUMBER(name, value) name " = { value = " value ", source = \"assumed: s\" }\n"

const char *const fuzz_seeds[] = {
	"name = \"m\"\nsummary = \"s\"\nsource = \"s\"\ncpus = 2\nmemory = \"2 MiB\"\ndistances = [[10, 20], [20, 10]]\n"
	"[[node]]\ncpus = \"0-1\"\nmemory = \"1 MiB\"\n[[node]]\ncpus = \"\"\nmemory = \"1 MiB\"\n"
	"[[cache]]\nlevel = 1\nsize = \"32 KiB\"\nways = 8\nline_bytes = 64\nshared_by_cpus = 1\nsource = \"s\"\n"
	"[model.line]\n" NUMBER("bytes", "64") "[model.core]\n" NUMBER("outstanding", "10") NUMBER(
		"mhz", "1") NUMBER("instructions_per_cycle",
				   "1") "[model.port]\n" NUMBER("bandwidth_mb_s",
								"0") NUMBER("remote_weight", "1")
		NUMBER("variability", "0.1") "[model.dram]\n" NUMBER("bandwidth_mb_s",
								     "5e3") NUMBER("latency_ns",
										   "80")
			NUMBER("variability", "1") "[[model.node]]\nnode = 1\n[model.node.dram]\n" NUMBER(
				"latency_ns",
				"110") "[[model.link]]\nbetween = [[0, 1]]\n" NUMBER("bandwidth_mb_s",
										     "1e3")
				NUMBER("latency_ns", "40") NUMBER("header_bytes", "8")
					NUMBER("variability", "0.1"),
	"name = \"m\"\nnode = [{}]\ncache = 3\n[model]\nline = 1\n",
	NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	struct np_err err = { "" };
	int fd = fuzz_file(data, size, path), e;
	json_t *file;

	file = np_machine_file_json(path, NULL, 0, &e, &err);
	FUZZ_CLAIM(file ? !e && json_array_size(json_object_get(file, "nodes")) : e && err.text[0]);
	json_decref(file);
	close(fd);
	return 0;
}
