// SPDX-License-Identifier: GPL-2.0-only
#include "fixture.h"
#include "../contended.h"

#include <unistd.h>

struct np_machine_state np_sim;
uint64_t host_ns;

uint64_t __wrap_np_host_ns(void);

uint64_t __wrap_np_host_ns(void)
{
	return host_ns;
}

int read_text(const char *text, struct np_config *c, char *err, size_t err_len)
{
	char path[] = "/tmp/numaplace-plugin-XXXXXX";
	int fd = mkstemp(path), ret;

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	close(fd);
	ret = np_config_read(path, c, err, err_len);
	unlink(path);
	return ret;
}

void begin(void)
{
	begin_with("");
}

void begin_with(const char *lines)
{
	char err[512], text[2048];

	host_ns += 1000000000; /* later than all that the test before has left to wait for */
	snprintf(text, sizeof(text), "%s%s", lines, CONFIG);
	if (read_text(text, &np_sim.config, err, sizeof(err))) {
		fprintf(stderr, "%s\n", err);
		abort();
	}
	np_sim.cpu = aligned_alloc(_Alignof(struct np_cpu), 4 * sizeof(*np_sim.cpu));
	if (!np_sim.cpu || np_hierarchy_init(&np_sim.hierarchy, &np_sim.config))
		abort();
	memset(np_sim.cpu, 0, 4 * sizeof(*np_sim.cpu));
	for (unsigned int i = 0; i < 4; i++) {
		np_sim.cpu[i].index = i;
		np_sim.cpu[i].node = np_sim.config.cpu_node[i];
		np_sim.cpu[i].l1 = &np_sim.hierarchy.cpu[i].l1;
		if (np_tlb_init(&np_sim.cpu[i]))
			abort();
	}
	if (np_contention_init())
		abort();
	np_contended_forget();
}

void end(void)
{
	np_contention_exit();
	for (unsigned int i = 0; i < 4; i++)
		np_tlb_free(&np_sim.cpu[i]);
	np_hierarchy_free(&np_sim.hierarchy);
	free(np_sim.cpu);
}

struct np_result use(unsigned int cpu, uint32_t line, bool store)
{
	struct np_private *p = &np_sim.hierarchy.cpu[cpu];
	bool writable;

	np_hierarchy_invalidate(p);
	if (np_l1_hit(&p->l1, line, store, &writable))
		return (struct np_result) { SERVED_L1, 0, 0, { -1, -1 }, -1, false };
	return np_hierarchy_access(&np_sim.hierarchy, cpu, line, store);
}
