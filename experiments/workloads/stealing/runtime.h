/* SPDX-License-Identifier: GPL-2.0-only */
/* The two runtimes: one arena for all workers, or one for each node. */
#ifndef NP_STEALING_RUNTIME_H
#define NP_STEALING_RUNTIME_H

#include <functional>
#include <memory>
#include <sched.h>
#include <string>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>
#include <vector>

struct Node {
	int id;
	std::vector<int> cpus; /* that this process may use */
};

/*
 * Workers of an arena run on its CPUs: oneTBB's own binding is optional at run
 * time, this is not. They stay bound when they leave, as most come back.
 */
class Binding : public tbb::task_scheduler_observer {
public:
	Binding(tbb::task_arena &arena, const cpu_set_t &cpus);
	~Binding() override { observe(false); }
	void on_scheduler_entry(bool worker) override;

private:
	cpu_set_t cpus;
};

/*
 * Work comes in parts, one for each node, whichever runtime it is: so both do
 * the same work in the same order of operations. In the vanilla runtime any
 * worker may steal any of it; in the locality runtime a part, and all that it
 * spawns, stays with the workers of its node. The calling thread works too, in
 * the locality runtime on the first node; the thread that makes a runtime uses it.
 */
class Runtime {
public:
	/* With fewer workers than CPUs both runtimes have one arena. */
	Runtime(const std::vector<Node> &nodes, bool locality, int workers);
	~Runtime();

	/* Does every part once; returns when all are done. */
	void each_part(const std::function<void(int part)> &work);
	int parts() const { return count; }
	bool is_local() const { return arenas.size() > 1; }

private:
	void add_arena(int workers, bool with_caller, const cpu_set_t &cpus);

	int count;
	cpu_set_t caller; /* where it ran before */
	tbb::global_control limit;
	std::vector<std::unique_ptr<tbb::task_arena>> arenas;
	std::vector<std::unique_ptr<Binding>> bindings;
};

#endif
