// SPDX-License-Identifier: GPL-2.0-only
/* Lines for the module's files, see fuzz_files.c; test_fuzz.py compares them with the ABI page. */
#include "fuzz_files.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COMMON	(BIT(EPERM) | BIT(E2BIG) | BIT(EINVAL) | BIT(ESRCH) | BIT(ENOMEM) | BIT(EINTR))
#define LONGEST 4096

/* What is said by write(2), and not by the ABI page. */
#define ADDRESS BIT(EFAULT)

const struct fuzz_file fuzz_files[FUZZ_FILES] = {
	[FUZZ_PLACE] = { "place", COMMON | ADDRESS | BIT(ENODEV) | BIT(EACCES) | BIT(EBUSY) },
	[FUZZ_RESTORE] = { "restore", COMMON | ADDRESS | BIT(EBUSY) },
	[FUZZ_MIGRATE] = { "migrate", COMMON | ADDRESS | BIT(ENODEV) | BIT(EACCES) },
};

/* A value of a key, NULL for none, and the error that it leads to for certain, or 0. */
struct value {
	const char *text;
	int error;
};

struct key {
	const char *name;
	bool required;
	const struct value *values, *broken; /* each ended by one with error -1 */
};

#define END { NULL, -1 }
static const struct value pids[] = { { "@target" }, { "@target" }, { "@target" },
				     { "@recent" }, { "@self" },   END };
/* 2 is a kernel thread. */
static const struct value no_pids[] = { { "0", EINVAL },      { "-1", EINVAL },
					{ "+1", EINVAL },     { "2147483648", EINVAL },
					{ "0x10", EINVAL },   { "99999999999999999999", EINVAL },
					{ "", EINVAL },	      { NULL, EINVAL },
					{ "4194305", ESRCH }, { "2147483647", ESRCH },
					{ "2", EINVAL },      END };
static const struct value no_placed[] = { { "0", EINVAL },	    { "-1", EINVAL },
					  { "2147483648", EINVAL }, { "", EINVAL },
					  { NULL, EINVAL },	    { "4194305", ESRCH },
					  { "2", ESRCH },	    END };
static const struct value whether[] = { { "0" }, { "1" }, END };
static const struct value not_whether[] = {
	{ "2", EINVAL }, { "", EINVAL }, { "01", EINVAL }, { NULL, EINVAL }, END
};
static const struct value which[] = { { "all" }, { "one" }, END };
static const struct value no_word[] = {
	{ "any", EINVAL }, { "", EINVAL }, { NULL, EINVAL }, { "ALL", EINVAL }, END
};
/* None of them, nor what it has in common with CPUs that tasks choose, is what a task chooses. */
static const struct value cpus[] = { { "0" },	   { "1" },	 { "2" },	 { "3" },
				     { "0-1" },	   { "2-3" },	 { "2,3,2" },	 { "0-3" },
				     { "node:0" }, { "node:1" }, { "node:0-1" }, { "node:any" },
				     { "00-01" },  END };
static const struct value no_cpus[] = { { "", EINVAL },		  { NULL, EINVAL },
					{ "8192", EINVAL },	  { "0-99999", EINVAL },
					{ "1-0", EINVAL },	  { "0-3:1/2", EINVAL },
					{ "0x1", EINVAL },	  { "node:", EINVAL },
					{ "node:-1", EINVAL },	  { "node:99999", ENODEV },
					{ "node:7", ENODEV },	  { "all", EINVAL },
					{ "4294967296", EINVAL }, { "node:node:0", EINVAL },
					{ "@long", EINVAL },	  END };
static const struct value caller[] = { { "caller" }, END };
static const struct value flag[] = { { NULL }, END };
static const struct value no_flag[] = { { "1", EINVAL }, { "", EINVAL }, END };
static const struct value from[] = { { "any" }, { "0" }, { "1" }, { "0-1" }, { "0,1" }, END };
static const struct value no_nodes[] = { { "", EINVAL },      { NULL, EINVAL },
					 { "1-0", EINVAL },   { "all", EINVAL },
					 { "7", ENODEV },     { "0-99999", ENODEV },
					 { "@long", EINVAL }, END };
static const struct value to[] = { { "0" }, { "1" }, END };
static const struct value no_node[] = { { "-1", EINVAL },	  { "0-1", EINVAL },
					{ "any", EINVAL },	  { "", EINVAL },
					{ "7", ENODEV },	  { "1023", ENODEV },
					{ "1024", ENODEV },	  { "4294967295", ENODEV },
					{ "4294967296", EINVAL }, END };
static const struct value start[] = { { "@start" }, { "@start" }, { "0" }, { "0x1000" }, END };
static const struct value end[] = {
	{ "@end" }, { "@end" }, { "0xfffffffffffff000" }, { "0x7ffffffff000" }, END
};
static const struct value no_address[] = { { "0x1001", EINVAL },
					   { "1", EINVAL },
					   { "0x10000000000000000", EINVAL },
					   { "0x", EINVAL },
					   { "-4096", EINVAL },
					   { "", EINVAL },
					   { NULL, EINVAL },
					   END };
static const struct value stall[] = { { "0" },	   { "100" },	  { "1000" },
				      { "20000" }, { "1000000" }, END };
static const struct value no_stall[] = {
	{ "99", EINVAL }, { "1000001", EINVAL }, { "4294967296", EINVAL }, { "", EINVAL }, END
};
static const struct value limit[] = { { "0" }, { "1" }, { "18446744073709551615" }, END };
static const struct value no_limit[] = {
	{ "18446744073709551616", EINVAL }, { "", EINVAL }, { "1.5", EINVAL }, END
};

/* clang-format off */
static const struct key keys[FUZZ_FILES][14] = {
	[FUZZ_PLACE] = {
		{ "pid", true, pids, no_pids },
		{ "threads", false, which, no_word },
		{ "cpus", false, cpus, no_cpus },
		{ "mem", false, caller, no_word },
		{ "inherit", false, whether, not_whether },
	},
	[FUZZ_RESTORE] = {
		{ "pid", false, pids, no_placed },
		{ "tid", false, pids, no_placed },
		{ "all", false, flag, no_flag },
	},
	[FUZZ_MIGRATE] = {
		{ "pid", true, pids, no_pids },
		{ "from", true, from, no_nodes },
		{ "to", true, to, no_node },
		{ "start", false, start, no_address },
		{ "end", false, end, no_address },
		{ "max_stall_us", false, stall, no_stall },
		{ "shared", false, whether, not_whether },
		{ "files", false, whether, not_whether },
		{ "split", false, whether, not_whether },
		{ "dry", false, whether, not_whether },
		{ "limit", false, limit, no_limit },
	},
};
/* clang-format on */

static void add(struct fuzz_line *line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line->n += vsnprintf(line->text + line->n, sizeof(line->text) - line->n, format, args);
	va_end(args);
}

static void add_value(struct fuzz_draw *draw, struct fuzz_line *line, const char *text)
{
	unsigned int i;
	pid_t pid;

	if (!strcmp(text, "@target")) {
		add(line, "%d", shared->target[fuzz_random(draw, FUZZ_TARGETS)]);
	} else if (!strcmp(text, "@recent")) {
		/* There are few at the beginning. */
		pid = shared->recent[fuzz_random(draw, FUZZ_RECENT)];
		add(line, "%d", pid > 0 ? pid : shared->target[0]);
	} else if (!strcmp(text, "@self")) {
		add(line, "%d", getpid());
	} else if (!strcmp(text, "@start")) {
		add(line, "%#lx", (unsigned long)shared->memory);
	} else if (!strcmp(text, "@end")) {
		add(line, "%#lx", (unsigned long)shared->memory + FUZZ_MEMORY);
	} else if (!strcmp(text, "@long")) {
		for (i = fuzz_random(draw, 900); i; i--)
			add(line, "0-1,");
		add(line, "x");
	} else {
		add(line, "%s", text);
	}
}

static const struct value *choose(struct fuzz_draw *draw, const struct value *values)
{
	unsigned int n = 0;

	while (values[n].error >= 0)
		n++;
	return values + fuzz_random(draw, n);
}

static void add_key(struct fuzz_draw *draw, struct fuzz_line *line, const struct key *key)
{
	const struct value *value = choose(draw, fuzz_random(draw, 24) ? key->values : key->broken);

	add(line, "%s%s", line->n ? fuzz_random(draw, 8) ? " " : "\t " : "", key->name);
	if (value->text) {
		add(line, "=");
		add_value(draw, line, value->text);
	}
	if (value->error)
		line->claims |= BIT(value->error);
}

/* Adds the keys in an order that is drawn. Returns which, as bits. */
static unsigned int add_keys(struct fuzz_draw *draw, struct fuzz_line *line, unsigned int file)
{
	unsigned int i, n = 0, added = 0, first;

	while (keys[file][n].name)
		n++;
	first = fuzz_random(draw, n);
	for (i = 0; i < n; i++) {
		unsigned int at = (first + i) % n;
		const struct key *key = &keys[file][at];
		unsigned int part = file == FUZZ_MIGRATE ? 4 : 2;

		if (key->required ? !fuzz_random(draw, 40) : fuzz_random(draw, part)) {
			if (key->required)
				line->claims |= BIT(EINVAL);
			continue;
		}
		add_key(draw, line, key);
		added |= BIT(at);
	}
	return added;
}

/* One thing that no line may have, or blanks up to the longest line or past it. */
static void spoil(struct fuzz_draw *draw, struct fuzz_line *line, unsigned int file,
		  unsigned int added)
{
	static const char controls[] = "\x00\x01\x0b\x1b\x7f\x80\xff";
	size_t longer = LONGEST + fuzz_random(draw, 3) - 1;
	unsigned int what = fuzz_random(draw, 8);

	if (what < 2 && line->n < longer) {
		memset(line->text + line->n, ' ', longer - line->n);
		line->n = longer;
		return;
	}
	if (what == 2) {
		memset(line->text + line->n, 'x', 65536);
		line->n += 65536;
	} else if (what == 3) {
		add(line, " what=1");
	} else if (what == 4 && added & 1) {
		add(line, " %s=1", keys[file][0].name);
	} else if (what == 5) {
		add(line, "\npid=1");
	} else if (what == 6) {
		add(line, " =");
	} else {
		line->text[line->n++] = controls[fuzz_random(draw, 7)];
	}
	line->claims |= BIT(EINVAL);
}

/**
 * fuzz_line() - a line for a file, most often one of its grammar
 */
void fuzz_line(struct fuzz_draw *draw, struct fuzz_line *line, unsigned int file)
{
	unsigned int added;

	line->n = 0;
	line->claims = 0;
	added = add_keys(draw, line, file);
	if (!added || (file == FUZZ_PLACE && !(added & (BIT(2) | BIT(3)))) ||
	    (file == FUZZ_RESTORE && added & (added - 1)))
		line->claims |= BIT(EINVAL);
	if (!fuzz_random(draw, 12))
		spoil(draw, line, file, added);
	else if (!fuzz_random(draw, 3))
		add(line, "\n");
	if (line->n > LONGEST)
		line->claims = BIT(E2BIG);
}

/**
 * fuzz_print_grammar() - the tables, a line for each file: its name, keys and errors
 */
void fuzz_print_grammar(void)
{
	unsigned int file, i;

	for (file = 0; file < FUZZ_FILES; file++) {
		printf("%s", fuzz_files[file].name);
		for (i = 0; keys[file][i].name; i++)
			printf(" %s", keys[file][i].name);
		for (i = 1; i < 64; i++)
			if (fuzz_files[file].errors & ~ADDRESS & BIT(i))
				printf(" %s", strerrorname_np(i));
		printf("\n");
	}
}
