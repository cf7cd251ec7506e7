/* SPDX-License-Identifier: GPL-2.0-only */
/* Options that several commands have, each in one place: its row of the table and its meaning. */
#ifndef NUMAPLACE_CMD_ARGS_H
#define NUMAPLACE_CMD_ARGS_H

#include "../lib/engine/move_range.h"
#include "../lib/engine/node_args.h"
#include "cmd.h"

/* Keys of options without a letter; a command's own begin at NP_KEY_OWN. */
enum {
	/* clang-format off */
	NP_KEY_MAX_STALL = 0x100, NP_KEY_RATE, NP_KEY_PREFERRED, NP_KEY_PREFERRED_MANY,
	NP_KEY_INTERLEAVE, NP_KEY_WEIGHTED, NP_KEY_LOCAL, NP_KEY_MEM, NP_KEY_CGROUP, NP_KEY_SHOW,
	NP_KEY_SNAPSHOT, NP_KEY_PLAN, NP_KEY_OVERRIDE, NP_KEY_LEAST_GAIN, NP_KEY_EXCLUDE, NP_KEY_ALL, NP_KEY_UNIT,
	NP_KEY_USER, NP_KEY_POLICY_TIMEOUT, NP_KEY_NODES, NP_KEY_OWN,
	/* clang-format on */
};

/* clang-format off */
#define NP_JSON_OPTION \
	{ "json", 'j', NULL, 0, "Print one JSON object", 0 }

/* Of a command that has no other option, and its parser. */
extern const struct argp_option np_json_only[];
error_t np_json_only_parse(int key, char *arg, struct argp_state *state);

#define NP_ENGINE_OPTION \
	{ "engine", 'e', "ENGINE", 0, "auto (the module if it is loaded), module, syscall", 0 }

#define NP_PACE_OPTIONS \
	{ "max-stall", NP_KEY_MAX_STALL, "TIME", 0, "Longest time that a task may be held up at " \
	  "once, about, such as 500us or 20ms (the module's: 1ms)", 0 }, \
	{ "rate", NP_KEY_RATE, "RATE", 0, "Move at most so much a second, such as 64MiB/s or " \
	  "2GiB/s; a bare number is MiB/s (no limit)", 0 }

#define NP_CGROUP_OPTION \
	{ "cgroup", NP_KEY_CGROUP, "PATH", 0, "The tasks of this cgroup (version 2) and of those " \
	  "below it, such as /system.slice/redis.service", 0 }

#define NP_UNIT_OPTION \
	{ "unit", NP_KEY_UNIT, "NAME", 0, "The tasks of this systemd unit, such as redis.service", 0 }
/* clang-format on */

/* Words of an option that may be repeated. */
struct np_words {
	const char **word;
	size_t n;
};

/*
 * The index of the node that the text names, or fallback where it is NULL. NP_EXIT_OK, or an exit
 * status after printing why.
 */
int np_arg_node(const struct np_machine *m, const char *command, const char *text, int fallback,
		int *node);

/* 0 or ENOMEM, as argp's parsers have it. The caller frees words->word. */
int np_words_add(struct np_words *words, const char *word);

struct np_common {
	struct np_pids pids;
	const char *cgroup, *unit;
	enum np_engine engine;
	struct np_throttle throttle;
};

/* For a command's parser: as argp's, ARGP_ERR_UNKNOWN for a key that is not above. */
int np_common_parse(int key, const char *arg, struct np_common *c);
void np_common_free(struct np_common *c);

/*
 * Adds the tasks of --cgroup and --unit to the pids. 0, or -errno with one line in err: -ENOENT no such
 * cgroup. It is no error that a cgroup has no task.
 */
int np_common_find(struct np_common *c, struct np_err *err);

/* The same. NP_EXIT_OK, or an exit status after printing why. */
int np_common_resolve(struct np_common *c);

/* CPUs and memory as numactl's options give them; -C, -N and -m are numactl's letters. */
/* clang-format off */
#define NP_BINDING_OPTIONS \
	{ "cpus", 'C', "LIST", 0, "Run on these CPUs only", 0 }, \
	{ "physcpubind", 0, NULL, OPTION_ALIAS, NULL, 0 }, \
	{ "cpunodebind", 'N', "NODES", 0, "Run on the CPUs of these nodes only", 0 }, \
	{ "mem", NP_KEY_MEM, "MODE:NODES", 0, "New memory comes from there: bind:NODES, " \
	  "preferred:NODE, preferred-many:NODES, interleave:NODES, weighted-interleave:NODES, " \
	  "local, default", 0 }, \
	{ "membind", 'm', "NODES", 0, "The same as --mem bind:NODES", 0 }, \
	{ "preferred", NP_KEY_PREFERRED, "NODE", 0, "The same as --mem preferred:NODE", 0 }, \
	{ "preferred-many", NP_KEY_PREFERRED_MANY, "NODES", 0, "The same as " \
	  "--mem preferred-many:NODES", 0 }, \
	{ "interleave", NP_KEY_INTERLEAVE, "NODES", 0, "The same as --mem interleave:NODES", 0 }, \
	{ "weighted-interleave", NP_KEY_WEIGHTED, "NODES", 0, "The same as " \
	  "--mem weighted-interleave:NODES", 0 }, \
	{ "localalloc", NP_KEY_LOCAL, NULL, 0, "The same as --mem local", 0 }
/* clang-format on */

struct np_binding_words {
	const char *cpus, *nodes;
	char mem[NP_LIST_LEN + 32]; /* "MODE:NODES", or "" */
};

/* As np_common_parse(). Saying CPUs or memory twice is an error. */
int np_binding_parse(int key, const char *arg, struct np_binding_words *w);
bool np_binding_given(const struct np_binding_words *w);

struct np_binding {
	struct bitmask *cpus; /* NULL: left alone */
	int mem_mode;	      /* -1: left alone */
	struct bitmask *mem_nodes;
};

/* Checks the words against the machine. 0, or -EINVAL with one line in err. */
int np_binding_resolve(const struct np_binding_words *w, const struct np_node_args *s,
		       struct np_binding *b, struct np_err *err);
void np_binding_free(struct np_binding *b);

#endif
