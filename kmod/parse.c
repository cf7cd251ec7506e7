// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpumask.h>
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/nodemask.h>
#include <linux/string.h>
#include <linux/topology.h>

#include "parse.h"

static int parse_pair(char *pair, const struct numaplace_key *keys, void *request,
		      unsigned long *seen)
{
	char *name = strsep(&pair, "=");
	unsigned int i;

	for (i = 0; keys[i].name; i++) {
		if (strcmp(name, keys[i].name))
			continue;
		if (__test_and_set_bit(i, seen))
			return -EINVAL;
		return keys[i].parse(pair, request + keys[i].offset);
	}
	return -EINVAL;
}

/**
 * numaplace_parse_line() - read one line into a request
 * @line: the line; a newline at its end is dropped, the text is cut up
 * @keys: what it may hold, ended by a key without a name; at most BITS_PER_LONG
 * @request: structure that the keys' offsets are in
 *
 * Return: 0, or -EINVAL for an unknown, repeated or missing key or a bad value.
 */
int numaplace_parse_line(char *line, const struct numaplace_key *keys, void *request)
{
	unsigned long seen = 0;
	size_t len = strlen(line);
	unsigned int i;
	char *pair;
	int err;

	if (len && line[len - 1] == '\n')
		line[len - 1] = '\0';
	while ((pair = strsep(&line, " \t"))) {
		if (!*pair)
			continue;
		err = parse_pair(pair, keys, request, &seen);
		if (err)
			return err;
	}
	for (i = 0; keys[i].name; i++)
		if (keys[i].required && !test_bit(i, &seen))
			return -EINVAL;
	return seen ? 0 : -EINVAL;
}

/* kstrto*() would take a sign and a newline. */
static bool is_number(const char *value)
{
	return value && isdigit(*value) && !strchr(value, '\n');
}

/* bitmap_parselist() would take blanks, groups and words besides. */
static bool is_list(const char *value)
{
	return *value && !value[strspn(value, "0123456789,-")];
}

/**
 * numaplace_parse_flag() - a bare word
 * @value: must be NULL
 * @field: a bool, set to true
 */
int numaplace_parse_flag(char *value, void *field)
{
	if (value)
		return -EINVAL;
	*(bool *)field = true;
	return 0;
}

/**
 * numaplace_parse_bool() - 0 or 1
 * @value: the text
 * @field: a bool
 */
int numaplace_parse_bool(char *value, void *field)
{
	if (!value || (strcmp(value, "0") && strcmp(value, "1")))
		return -EINVAL;
	*(bool *)field = *value == '1';
	return 0;
}

/**
 * numaplace_parse_pid() - a process or thread number
 * @value: the text
 * @field: a pid_t
 */
int numaplace_parse_pid(char *value, void *field)
{
	int nr;

	if (!is_number(value) || kstrtoint(value, 10, &nr) || nr <= 0)
		return -EINVAL;
	*(pid_t *)field = nr;
	return 0;
}

/**
 * numaplace_parse_u32() - a decimal number
 * @value: the text
 * @field: a u32
 */
int numaplace_parse_u32(char *value, void *field)
{
	if (!is_number(value) || kstrtou32(value, 10, field))
		return -EINVAL;
	return 0;
}

/**
 * numaplace_parse_u64() - a decimal number, or a hexadecimal one after 0x
 * @value: the text
 * @field: a u64
 */
int numaplace_parse_u64(char *value, void *field)
{
	bool hex = value && !strncmp(value, "0x", 2);

	if (!is_number(value) || kstrtou64(value, hex ? 16 : 10, field))
		return -EINVAL;
	return 0;
}

/**
 * numaplace_parse_node() - one node number
 * @value: the text
 * @field: an int
 *
 * Return: 0, -EINVAL for what is no number, -ENODEV for a node that cannot be.
 */
int numaplace_parse_node(char *value, void *field)
{
	u32 nid;
	int err = numaplace_parse_u32(value, &nid);

	if (err)
		return err;
	if (nid >= MAX_NUMNODES || !node_possible(nid))
		return -ENODEV;
	*(int *)field = nid;
	return 0;
}

/**
 * numaplace_parse_nodes() - a list of nodes as in 0-1,3 or the word any
 * @value: the text
 * @field: a nodemask_t
 *
 * Return: 0, -EINVAL for what is no list, -ENODEV for a node that cannot be.
 */
int numaplace_parse_nodes(char *value, void *field)
{
	nodemask_t *nodes = field;

	if (!value)
		return -EINVAL;
	if (!strcmp(value, "any")) {
		*nodes = node_possible_map;
		return 0;
	}
	if (!is_list(value))
		return -EINVAL;
	switch (bitmap_parselist(value, nodes_addr(*nodes), MAX_NUMNODES)) {
	case 0:
		break;
	case -ERANGE:
		return -ENODEV;
	default:
		return -EINVAL;
	}
	if (nodes_empty(*nodes))
		return -EINVAL;
	return nodes_subset(*nodes, node_possible_map) ? 0 : -ENODEV;
}

static int parse_cpus_of_nodes(char *value, struct cpumask *cpus)
{
	nodemask_t nodes;
	int nid, err = numaplace_parse_nodes(value, &nodes);

	if (err)
		return err;
	for_each_node_mask(nid, nodes)
		if (node_online(nid))
			cpumask_or(cpus, cpus, cpumask_of_node(nid));
	return cpumask_empty(cpus) ? -ENODEV : 0;
}

/**
 * numaplace_parse_cpus() - a list of CPUs as in 0-3,8 or all those of node:LIST
 * @value: the text
 * @field: a cpumask_var_t, allocated and empty
 *
 * Return: 0, -EINVAL for what is no list or has no CPU that could be used,
 * -ENODEV for nodes without CPUs.
 */
int numaplace_parse_cpus(char *value, void *field)
{
	struct cpumask *cpus = *(cpumask_var_t *)field;

	if (!value)
		return -EINVAL;
	if (!strncmp(value, "node:", 5))
		return parse_cpus_of_nodes(value + 5, cpus);
	if (!is_list(value))
		return -EINVAL;
	if (bitmap_parselist(value, cpumask_bits(cpus), nr_cpu_ids))
		return -EINVAL;
	return cpumask_intersects(cpus, cpu_active_mask) ? 0 : -EINVAL;
}

/**
 * numaplace_parse_word() - one of a few words
 * @value: the text, or NULL
 * @words: the words, ended by NULL
 * @field: an unsigned int, set to the index of the word
 */
int numaplace_parse_word(const char *value, const char *const *words, void *field)
{
	unsigned int i;

	for (i = 0; value && words[i]; i++) {
		if (!strcmp(value, words[i])) {
			*(unsigned int *)field = i;
			return 0;
		}
	}
	return -EINVAL;
}
