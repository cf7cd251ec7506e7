// SPDX-License-Identifier: GPL-2.0-only
/* A model's machine from text: one line for the machine, each node and each link. */
#include "model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_LEN 1024
#define BLANKS	 " \t"

struct field {
	const char *name;
	size_t offset;
};

#define NODE_FIELD(name)                                    \
	{                                                   \
#name, offsetof(struct np_model_node, name) \
	}
#define LINK_FIELD(name)                                    \
	{                                                   \
#name, offsetof(struct np_model_link, name) \
	}

static const struct field machine_fields[] = {
	{"line_bytes", offsetof(struct np_model, line_bytes)},
	{NULL, 0},
};

static const struct field node_fields[] = {
	NODE_FIELD(core_outstanding),	NODE_FIELD(core_bytes_per_s), NODE_FIELD(port_bytes_per_s),
	NODE_FIELD(port_remote_weight), NODE_FIELD(port_variability), NODE_FIELD(dram_bytes_per_s),
	NODE_FIELD(dram_latency_ns),	NODE_FIELD(dram_variability), NODE_FIELD(dram_local_share),
	NODE_FIELD(local_entries),	NODE_FIELD(remote_entries),   NODE_FIELD(local_overflow_loss),
	NODE_FIELD(remote_overflow_loss), NODE_FIELD(local_overflow_share),
	NODE_FIELD(stream_loss),	NODE_FIELD(cache_latency_ns),
	{NULL, 0},
};

static const struct field link_fields[] = {
	LINK_FIELD(bytes_per_s),
	LINK_FIELD(latency_ns),
	LINK_FIELD(header_bytes),
	LINK_FIELD(variability),
	{NULL, 0},
};

struct reader {
	struct np_model *m;
	unsigned int line;
	char *err;
	size_t err_len;
};

static int fault(struct reader *r, const char *why, const char *word)
{
	snprintf(r->err, r->err_len, "line %u: %s '%s'", r->line, why, word);
	return -EINVAL;
}

static int set_number(struct reader *r, void *base, const struct field *field, char *word)
{
	char *value = strchr(word, '='), *end;

	if (!value)
		return fault(r, "expected key=value, not", word);
	*value++ = '\0';
	while (field->name && strcmp(field->name, word))
		field++;
	if (!field->name)
		return fault(r, "there is no key", word);
	*(double *)((char *)base + field->offset) = strtod(value, &end);
	return end == value || *end ? fault(r, "not a number:", value) : 0;
}

static int set_name(struct reader *r, const char *name)
{
	if (!*name || strlen(name) >= sizeof(r->m->name))
		return fault(r, "the name must have 1 to 63 letters:", name);
	strcpy(r->m->name, name);
	return 0;
}

/* The rest of a line: key=value words. */
static int set_words(struct reader *r, void *base, const struct field *fields, char **save)
{
	char *word;
	int result = 0;

	while (!result && (word = strtok_r(NULL, BLANKS, save))) {
		if (fields == machine_fields && !strncmp(word, "name=", 5))
			result = set_name(r, word + 5);
		else
			result = set_number(r, base, fields, word);
	}
	return result;
}

static int read_index(struct reader *r, char **save, int *index)
{
	char *word = strtok_r(NULL, BLANKS, save), *end;
	long value;

	if (!word)
		return fault(r, "a node's number is missing after", "node or link");
	value = strtol(word, &end, 10);
	if (end == word || *end || value < 0 || value >= NP_MODEL_NODES)
		return fault(r, "not a node's number:", word);
	*index = (int)value;
	return 0;
}

static int read_node(struct reader *r, char **save)
{
	int index, result = read_index(r, save, &index);

	if (result)
		return result;
	if ((size_t)index != r->m->n_nodes)
		return fault(r, "nodes must come in order, without a gap:", "node");
	return set_words(r, &r->m->node[r->m->n_nodes++], node_fields, save);
}

static int read_link(struct reader *r, char **save)
{
	struct np_model_link *l;
	int result;

	if (r->m->n_links == NP_MODEL_LINKS)
		return fault(r, "too many of", "link");
	l = &r->m->link[r->m->n_links++];
	result = read_index(r, save, &l->node[0]);
	if (!result)
		result = read_index(r, save, &l->node[1]);
	return result ? result : set_words(r, l, link_fields, save);
}

static int read_line(struct reader *r, char *line)
{
	char *save = NULL, *word = strtok_r(line, BLANKS, &save);

	if (!word || *word == '#')
		return 0;
	if (!strcmp(word, "machine"))
		return set_words(r, r->m, machine_fields, &save);
	if (!strcmp(word, "node"))
		return read_node(r, &save);
	if (!strcmp(word, "link"))
		return read_link(r, &save);
	return fault(r, "expected machine, node or link, not", word);
}

int np_model_parse(struct np_model *m, const char *text, char *err, size_t err_len)
{
	struct reader r = {.m = m, .err = err, .err_len = err_len};
	char line[LINE_LEN];
	int result = 0;

	memset(m, 0, sizeof(*m));
	while (*text && !result) {
		size_t length = strcspn(text, "\n");

		r.line++;
		if (length >= sizeof(line))
			return fault(&r, "the line is too long, at most", "1023 letters");
		memcpy(line, text, length);
		line[length] = '\0';
		text += length + (text[length] == '\n');
		result = read_line(&r, line);
	}
	return result ? result : np_model_prepare(m, err, err_len);
}
