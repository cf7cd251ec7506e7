// SPDX-License-Identifier: GPL-2.0-only
/* A machine file and its [penalty], which users write, or a shape. */
#include "../lib/files/machine_file.h"
#include "../lib/files/machine_shape.h"
#include "../lib/files/penalty.h"
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
	"[penalty]\nremote_per_mpki = { value = 0.1, source = \"assumed: s\" }\nlocal_per_mpki = { value = 0, "
	"source = \"assumed: s\" }\n\n[[penalty.task]]\nname = \"a\"\nmethod = \"flip\"\nmpki = { value = 3, "
	"source = \"assumed: s\" }\npenalty = { value = 1.5, source = \"assumed: s\" }\n",
	"name = \"m\"\n[[penalty.task]]\nname = \"b\\\"\"\npenalty = { value = 2, source = \"assumed: s\" }\n[x]\n",
	"2x2",
	"4x2:512M",
	"2x2+1:1G",
	"16x15:1024G",
	"1x1:2048K+3",
	NULL,
};

/* [penalty] is read also from a file that has nothing else. */
static void read_penalties(const char *path)
{
	struct np_err err = { "" };
	struct np_penalties p;

	if (np_penalties_read(&p, path, &err))
		FUZZ_CLAIM(err.text[0] && !p.n && !p.task);
	for (size_t i = 0; i < p.n; i++)
		FUZZ_CLAIM(p.task[i].penalty >= 0.01 && p.task[i].key.name[0] &&
			   (p.task[i].method == NP_PROVENANCE_RUNS ||
			    p.task[i].method == NP_PROVENANCE_FLIP));
	np_penalties_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64], *shape = fuzz_string(data, size);
	struct np_err err = { "" };
	int fd = fuzz_file(data, size, path), e;
	json_t *file = np_machine_file_json(np_machine_shape_is(shape) ? shape : path, NULL, 0, &e,
					    &err);

	FUZZ_CLAIM(file ? !e && json_array_size(json_object_get(file, "nodes")) :
			  e && err.text[0] && !strchr(err.text, '\n'));
	json_decref(file);
	read_penalties(path);
	free(shape);
	close(fd);
	return 0;
}
