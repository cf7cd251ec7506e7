// SPDX-License-Identifier: GPL-2.0-only
#include "counters_table.h"

#include <stdio.h>
#include <string.h>

#include "../lib/counters/events.h"
#include "cmd.h"

/* The columns of numbers, of a table and in JSON. */
struct column {
	const char *name, *title;
	int event; /* NP_EVENTS: derived */
	struct np_count (*derived)(const struct np_reading *r);
	int digits; /* after the point */
};

static const struct column columns[] = {
	{ "cycles", "CYCLES", NP_CYCLES, NULL, 0 },
	{ "instructions", "INSTR", NP_INSTRUCTIONS, NULL, 0 },
	{ "ipc", "IPC", NP_EVENTS, np_reading_ipc, 3 },
	{ "cpi", "CPI", NP_EVENTS, np_reading_cpi, 3 },
	{ "llc_references", "LLC-REF", NP_LLC_REFERENCES, NULL, 0 },
	{ "llc_misses", "LLC-MISS", NP_LLC_MISSES, NULL, 0 },
	{ "mpki", "MPKI", NP_EVENTS, np_reading_mpki, 3 },
	{ "local_dram", "LOC-DRAM", NP_LOCAL_DRAM, NULL, 0 },
	{ "remote_dram", "REM-DRAM", NP_REMOTE_DRAM, NULL, 0 },
	{ "remote_cache", "REM-CACHE", NP_REMOTE_CACHE, NULL, 0 },
	{ "local_share", "LOCAL", NP_EVENTS, np_reading_local_share, 4 },
};

#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static struct np_count cell(const struct np_counters_row *row, const struct column *c)
{
	return c->derived ? c->derived(&row->r) : row->r.event[c->event];
}

/* "perf", or "none"; of a sum more than one. */
static const char *sources(const struct np_counters_row *row, char *text, size_t len)
{
	text[0] = '\0';
	for (int e = 0; e < NP_EVENTS; e++) {
		const char *s = row->r.event[e].source;

		if (s && !strstr(text, s))
			snprintf(text + strlen(text), len - strlen(text), "%s%s",
				 text[0] ? "+" : "", s);
	}
	return text[0] ? text : "none";
}

/* The least share of the time that an event of the row was counted. */
static double counted(const struct np_counters_row *row)
{
	double least = 1;

	for (int e = 0; e < NP_EVENTS; e++)
		if (row->r.event[e].source && row->r.event[e].share < least)
			least = row->r.event[e].share;
	return least;
}

/* Seven characters: 999999, 12.3M, 4.56G. */
static const char *short_number(double v, char *text, size_t len)
{
	static const char unit[] = "kMGTP";
	int u = -1;

	if (v < 999999.5) {
		snprintf(text, len, "%.0f", v);
		return text;
	}
	while (v >= 999.5 && unit[u + 1]) {
		v /= 1000;
		u++;
	}
	snprintf(text, len, v < 9.995 ? "%.2f%c" : v < 99.95 ? "%.1f%c" : "%.0f%c", v, unit[u]);
	return text;
}

static void note(struct np_counters_table *rows, const char *line)
{
	const char *kept = np_why("%s", line);

	for (size_t i = 0; i < rows->n_said; i++)
		if (rows->said[i] == kept)
			return;
	if (rows->n_said == sizeof(rows->said) / sizeof(rows->said[0]))
		return;
	rows->said[rows->n_said++] = kept;
	fprintf(stderr, "numaplace: %s\n", kept);
}

/* One line for all the events that are missing for the same reason. */
static void explain_row(struct np_counters_table *rows, const struct np_counters_row *row)
{
	for (int first = 0; first < NP_EVENTS; first++) {
		const char *why = row->r.event[first].why;
		char line[NP_ERR_LEN + 128] = "";
		bool said_before = row->r.event[first].source != NULL;

		for (int e = 0; e < first; e++)
			said_before |= row->r.event[e].why == why;
		if (said_before)
			continue;
		for (int e = first; e < NP_EVENTS; e++)
			if (row->r.event[e].why == why)
				snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s%s",
					 line[0] ? ", " : "", np_event_name((enum np_event)e));
		snprintf(line + strlen(line), sizeof(line) - strlen(line),
			 ": not available on this CPU because %s", why);
		note(rows, line);
	}
}

static void explain(struct np_counters_table *rows, const struct np_counters_row *row, size_t n)
{
	if (!rows->begun && rows->user_only)
		fprintf(stderr, "numaplace: only user code is counted, because sysctl "
				"kernel.perf_event_paranoid is above 1\n");
	for (size_t i = 0; i < n; i++)
		explain_row(rows, &row[i]);
	fflush(stderr);
}

static void print_text_row(double seconds, const struct np_counters_row *row)
{
	char text[64];

	printf("%8.2f %-7s %-4s ", seconds, sources(row, text, sizeof(text)), row->scope);
	if (row->id < 0)
		printf("%7s", "");
	else
		printf("%7d", row->id);
	if (row->node < 0)
		printf(" %4s", "-");
	else
		printf(" %4d", row->node);
	for (size_t i = 0; i < N_COLUMNS; i++) {
		struct np_count c = cell(row, &columns[i]);
		int width = columns[i].digits == 3 ? 7 : 9;

		if (!c.source)
			printf(" %*s", width, "-");
		else if (columns[i].digits == 4)
			printf(" %*.1f%%", width - 1, c.value * 100);
		else if (columns[i].digits)
			printf(" %*.*f", width, columns[i].digits, c.value);
		else
			printf(" %*s", width, short_number(c.value, text, sizeof(text)));
	}
	printf(" %6.0f%% %s\n", counted(row) * 100, row->name);
}

static void print_text_header(void)
{
	printf("%8s %-7s %-4s %7s %4s", "TIME", "SOURCE", "WHAT", "ID", "NODE");
	for (size_t i = 0; i < N_COLUMNS; i++)
		printf(" %*s", columns[i].digits == 3 ? 7 : 9, columns[i].title);
	printf(" %7s %s\n", "COUNTED", "NAME");
}

static json_t *json_cell(const struct np_count *c)
{
	if (c->source)
		return json_pack("{s:f,s:s,s:f}", "value", c->value, "source", c->source, "counted",
				 c->share);
	return json_pack("{s:n,s:o}", "value", "why", np_json_text(c->why));
}

static json_t *json_row(const struct np_counters_row *row)
{
	json_t *j = json_pack("{s:s,s:o,s:o}", "what", row->scope, "id",
			      row->id < 0 ? json_null() : json_integer(row->id), "node",
			      row->node < 0 ? json_null() : json_integer(row->node));

	if (row->name[0])
		json_object_set_new(j, "name", np_json_text(row->name));
	for (size_t i = 0; i < N_COLUMNS; i++) {
		struct np_count c = cell(row, &columns[i]);

		json_object_set_new(j, columns[i].name, json_cell(&c));
	}
	return j;
}

/* One line an interval, so that a program can read along. */
static void print_json(const struct np_counters_table *rows, double seconds,
		       const struct np_counters_row *row, size_t n)
{
	json_t *list = json_array(), *j;

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_row(&row[i]));
	j = json_pack("{s:f,s:f,s:b,s:o}", "time_s", seconds, "interval_s",
		      n ? row->r.seconds : 0.0, "user_only", rows->user_only, "rows", list);
	json_dumpf(j, stdout, JSON_COMPACT | JSON_REAL_PRECISION(10));
	putchar('\n');
	json_decref(j);
}

void np_counters_table_begin(struct np_counters_table *rows)
{
	if (!rows->begun && np_json)
		print_json(rows, 0, NULL, 0);
	else if (!rows->begun)
		print_text_header();
	rows->begun = true;
	fflush(stdout);
}

void np_counters_table_print(struct np_counters_table *rows, double seconds,
			     const struct np_counters_row *row, size_t n)
{
	if (np_json) {
		print_json(rows, seconds, row, n);
	} else {
		explain(rows, row, n);
		np_counters_table_begin(rows);
		for (size_t i = 0; i < n; i++)
			print_text_row(seconds, &row[i]);
	}
	fflush(stdout);
}

static void print_names(const struct np_event_names *names)
{
	if (!names->part[0]) {
		printf("not available: %s", names->why);
		return;
	}
	for (size_t i = 0; i < NP_EVENT_PARTS && names->part[i]; i++)
		printf("%s`%s`", i ? " + " : "", names->part[i]);
}

void np_counters_table_print_table(void)
{
	puts("| processor | event | libpfm4's name |\n|---|---|---|");
	for (const struct np_uarch *u = np_uarchs; u->title; u++) {
		printf("| **%s** | | %s%s%s%s%s |\n", u->title, u->pmu ? "`" : "",
		       u->pmu ? u->pmu : "", u->pmu ? "`" : "", u->remark ? ": " : "",
		       u->remark ? u->remark : "");
		for (int e = NP_LLC_REFERENCES; e < NP_EVENTS; e++) {
			printf("| | `%s` | ", np_event_name((enum np_event)e));
			print_names(&u->event[e]);
			puts(" |");
		}
	}
}
