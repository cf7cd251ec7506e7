// SPDX-License-Identifier: GPL-2.0-only
/* A model's machine from text: one line for the machine, each node and each link. */
#include "fields.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_LEN 1024
#define BLANKS	 " \t"

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

static int set_number(struct reader *r, void *base, enum np_model_scope scope, char *word)
{
	const struct np_model_field *field = np_model_field_next(scope, NULL);
	char *value = strchr(word, '='), *end;

	if (!value)
		return fault(r, "expected key=value, not", word);
	*value++ = '\0';
	while (field && strcmp(field->member, word))
		field = np_model_field_next(scope, field);
	if (!field)
		return fault(r, "there is no key", word);
	*np_model_member(field, base) = strtod(value, &end);
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
static int set_words(struct reader *r, void *base, enum np_model_scope scope, char **save)
{
	char *word;
	int result = 0;

	while (!result && (word = strtok_r(NULL, BLANKS, save))) {
		if (scope == NP_SCOPE_MODEL && !strncmp(word, "name=", 5))
			result = set_name(r, word + 5);
		else
			result = set_number(r, base, scope, word);
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
	return set_words(r, &r->m->node[r->m->n_nodes++], NP_SCOPE_NODE, save);
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
	return result ? result : set_words(r, l, NP_SCOPE_LINK, save);
}

static int read_line(struct reader *r, char *line)
{
	char *save = NULL, *word = strtok_r(line, BLANKS, &save);

	if (!word || *word == '#')
		return 0;
	if (!strcmp(word, "machine"))
		return set_words(r, r->m, NP_SCOPE_MODEL, &save);
	if (!strcmp(word, "node"))
		return read_node(r, &save);
	if (!strcmp(word, "link"))
		return read_link(r, &save);
	return fault(r, "expected machine, node or link, not", word);
}

int np_model_parse(struct np_model *m, const char *text, char *err, size_t err_len)
{
	struct reader r = { .m = m, .err = err, .err_len = err_len };
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

static void print_members(FILE *f, enum np_model_scope scope, const void *base)
{
	const struct np_model_field *field = NULL;

	while ((field = np_model_field_next(scope, field)))
		if (np_model_value(field, base) != 0)
			fprintf(f, " %s=%.12g", field->member, np_model_value(field, base));
	putc('\n', f);
}

void np_model_print(const struct np_model *m, FILE *f)
{
	fprintf(f, "machine name=%s", m->name);
	print_members(f, NP_SCOPE_MODEL, m);
	for (size_t i = 0; i < m->n_nodes; i++) {
		fprintf(f, "node %zu", i);
		print_members(f, NP_SCOPE_NODE, &m->node[i]);
	}
	for (size_t i = 0; i < m->n_links; i++) {
		fprintf(f, "link %d %d", m->link[i].node[0], m->link[i].node[1]);
		print_members(f, NP_SCOPE_LINK, &m->link[i]);
	}
}
