// SPDX-License-Identifier: GPL-2.0-only
#include "contended.h"
#include "clock.h"
#include "clock_sync.h"
#include "lock.h"

#include <string.h>

#define LINES	    4096       /* that the table holds, one for each remainder of their numbers */
#define LATE_PS	    2000000ull /* a CPU that is further behind has not been held to the others yet */
#define PATIENCE_PS 10000000000ull /* for which a line that CPUs only read stays contended */
#define SPINS	    8		   /* reads of one line and of no other contended one, each */
#define SPIN_PS	    50000ull /* at most so long after the last, are a loop that waits for it */

struct contended {
	uint8_t lock;
	bool live;	     /* else it has changed hands once */
	uint32_t line;	     /* running number + 1; 0: free */
	uint64_t there_ps;   /* when its last owner had it, or wrote it last */
	uint64_t changed_ps; /* when it changed hands last */
};

static struct contended table[LINES];
static uint64_t live[LINES / 64]; /* a bit for each of table[], which is in reach of every miss */

static struct contended *entry_of(uint32_t line)
{
	return &table[line % LINES];
}

static uint64_t span(uint64_t ps)
{
	return ps * np_sim.config.scale;
}

static void set_live(struct contended *e, bool on)
{
	size_t i = e - table;

	e->live = on;
	if (on)
		__atomic_fetch_or(&live[i / 64], 1ull << i % 64, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&live[i / 64], ~(1ull << i % 64), __ATOMIC_RELAXED);
}

static bool may_be_live(uint32_t line)
{
	size_t i = line % LINES;

	return np_read(live[i / 64]) >> i % 64 & 1;
}

bool np_contended_is(uint32_t line)
{
	return may_be_live(line) && np_read(entry_of(line)->line) == line + 1;
}

/* Whether the entry is this line's and live, now that it has changed hands at `now`. */
static bool enter(struct contended *e, uint32_t line, uint64_t now)
{
	bool recent = e->line && e->changed_ps + span(NP_CONTENDED_PS) > now;

	if (e->line != line + 1) {
		if (recent)
			return false;
		set_live(e, false);
		np_write(e->line, line + 1);
		e->there_ps = 0;
	} else if (recent && !e->live) {
		set_live(e, true);
	}
	np_write(e->changed_ps, now);
	return e->live;
}

bool np_contended_changed(const struct np_cpu *cpu, uint32_t line)
{
	const struct contended *e = entry_of(line);

	return np_read(e->line) == line + 1 &&
	       np_read(e->changed_ps) + span(NP_CONTENDED_PS) > cpu->ps + cpu->pending_ps;
}

/* What they have found in the line is not there any more. */
static void end_spinning(uint32_t line)
{
	for (unsigned int i = 0; i < np_sim.config.cpus; i++)
		if (np_read(np_sim.cpu[i].spins_on) == line + 1)
			np_write(np_sim.cpu[i].spins_on, 0);
}

static bool reads_again(const struct np_cpu *cpu, uint32_t line, uint64_t now)
{
	return cpu->read_line == line + 1 && now <= cpu->read_ps + span(SPIN_PS);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * When a line arrives that its owner had or wrote at e->there_ps. A line that the CPU polls is
 * requested when the CPU loses its copy, any other line at the access.
 */
static uint64_t arrival(const struct np_cpu *cpu, const struct contended *e, uint32_t line,
			uint64_t cost_ps, bool store)
{
	uint64_t now = cpu->ps + cpu->pending_ps;

	/* One that waits for it is behind because its thread was. */
	if (e->there_ps > now + span(LATE_PS) && cpu->read_line != line + 1)
		return now + cost_ps;
	if (!store && reads_again(cpu, line, now))
		return later(now, e->there_ps + cost_ps);
	return later(now, e->there_ps) + cost_ps;
}

uint64_t np_contended_take(struct np_cpu *cpu, uint32_t line, uint64_t cost_ps, bool store)
{
	struct contended *e = entry_of(line);
	uint64_t now = cpu->ps + cpu->pending_ps, there = 0;

	np_lock(&e->lock);
	if (enter(e, line, now)) {
		there = arrival(cpu, e, line, cost_ps, store);
		if (store)
			e->there_ps = there;
		cpu->close_ps = now + span(NP_CONTENDED_PS);
	}
	np_unlock(&e->lock);
	return there;
}

uint64_t np_contended_find(struct np_cpu *cpu, uint32_t line)
{
	struct contended *e = entry_of(line);
	uint64_t there = cpu->ps + cpu->pending_ps;

	np_lock(&e->lock);
	if (e->live && e->line == line + 1)
		there = arrival(cpu, e, line, 0, false);
	np_unlock(&e->lock);
	return there;
}

static bool any_spins_on(uint32_t line)
{
	for (unsigned int i = 0; i < np_sim.config.cpus; i++)
		if (np_read(np_sim.cpu[i].spins_on) == line + 1)
			return true;
	return false;
}

/* Whether the line has not changed hands for so long that it is nobody's but this CPU's. */
static bool expires(const struct contended *e, uint32_t line, uint64_t now, bool waits)
{
	uint64_t age = now > e->changed_ps ? now - e->changed_ps : 0;

	return age > span(NP_CONTENDED_PS) &&
	       ((!waits && !any_spins_on(line)) || age > span(PATIENCE_PS));
}

/* Whether its copy is as good as it was: where one is on the way out, another CPU has written the line. */
static bool has_copy(const struct np_cpu *cpu, uint32_t line)
{
	return np_l1_find(cpu->l1, line) >= 0 &&
	       !np_read(np_sim.hierarchy.cpu[cpu->index].invalidations.n);
}

/* Whether the CPU only waits for the line to be written: until it is, the CPU does nothing that others see. */
static bool spins(struct np_cpu *cpu, uint32_t line, bool reads)
{
	cpu->reads = reads && reads_again(cpu, line, cpu->ps) ? cpu->reads + 1 : 0;
	cpu->read_line = reads ? line + 1 : 0;
	cpu->read_ps = cpu->ps;
	return cpu->reads >= SPINS && has_copy(cpu, line);
}

/* Notes the use of a line. Returns false where it is not contended any more. */
static bool note(struct np_cpu *cpu, uint32_t line, bool store, bool hit)
{
	struct contended *e = entry_of(line);
	bool waits, is;

	np_lock(&e->lock);
	waits = spins(cpu, line, hit && !store);
	is = e->live && e->line == line + 1;
	if (is && expires(e, line, cpu->ps, waits)) {
		set_live(e, false);
		is = false;
	}
	if (is && store) {
		e->there_ps = later(cpu->ps, e->there_ps);
		end_spinning(line);
	}
	np_write(cpu->spins_on, is && waits ? line + 1 : 0);
	np_unlock(&e->lock);
	return is;
}

/* What a reader finds holds for as long as the nearest CPU's store takes to reach it. */
static uint64_t lookahead_ps(void)
{
	const struct np_config *c = &np_sim.config;

	return 1000 * (c->c2c.local_ns > 0 ? c->c2c.local_ns : c->llc.latency_ns);
}

void np_contended_use(struct np_cpu *cpu, uint32_t line, bool store, bool hit)
{
	np_clock_charge(cpu);
	if (note(cpu, line, store, hit))
		np_clock_sync_hold(cpu, store ? 0 : lookahead_ps());
	else
		np_l1_set_contended(cpu->l1, line, false);
}

void np_contended_forget(void)
{
	memset(table, 0, sizeof(table));
	memset(live, 0, sizeof(live));
}
