// SPDX-License-Identifier: GPL-2.0-only
/* Errors, arguments and JSON of all commands. */
#include "cmd.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/base/grow.h"
#include "../lib/base/printable.h"
#include "unknown_option.h"

bool np_json;

static void print_error(const char *format, va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof(text), format, ap);
	np_printable(text); /* words of files and of the command line */
	fprintf(stderr, "numaplace: %s\n", text);
}

void np_error(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	print_error(format, ap);
	va_end(ap);
}

int np_failed(int status, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	print_error(format, ap);
	va_end(ap);
	return status;
}

void np_json_print(json_t *j)
{
	json_dumpf(j, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
	putchar('\n');
	json_decref(j);
}

static int explain_arguments(const char *command, const char *unknown)
{
	if (unknown)
		return np_usage("%s: no option \"%s\"; see numaplace %s --help", command, unknown,
				command);
	return np_usage("%s: an argument is missing or one too many; see numaplace %s --help",
			command, command);
}

static bool wants_help(char **argv)
{
	for (char **arg = argv + 1; *arg && strcmp(*arg, "--"); arg++)
		if (!strcmp(*arg, "--help") || !strcmp(*arg, "-?") || !strcmp(*arg, "--usage"))
			return true;
	return false;
}

int np_args(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input)
{
	static char name[64];
	const char *command = argv[0];
	char **unknown;
	int e;

	snprintf(name, sizeof(name), "numaplace %s", command);
	argv[0] = name;
	/* argp's own errors take two lines; ARGP_NO_ERRS silences its help as well. */
	if ((flags & ARGP_NO_HELP) || !wants_help(argv))
		flags |= ARGP_NO_ERRS;
	e = argp_parse(argp, argc, argv, flags, NULL, input);
	if (!e)
		return NP_EXIT_OK;
	if (e == ECANCELED)
		return NP_EXIT_USAGE;
	unknown = np_unknown_option(argp, argv);
	if (unknown && !strcmp(*unknown, "-h")) { /* an option of no command, and argp's is -? */
		*unknown = (char *)"--help";
		return argp_parse(argp, argc, argv, flags & ~(unsigned int)ARGP_NO_ERRS, NULL,
				  input);
	}
	return explain_arguments(command, unknown ? *unknown : NULL);
}

int np_arg_number(const char *text, const char *what, unsigned long max, unsigned long *value)
{
	char *end;

	errno = 0;
	*value = strtoul(text, &end, 10);
	if (isdigit((unsigned char)*text) && !*end && !errno && *value <= max)
		return 0;
	return np_failed(ECANCELED, "%s \"%s\" is not a whole number from 0 to %lu", what, text,
			 max);
}

static int arg_pid(const char *text, pid_t *pid)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || value < 1 || value > 0x7fffffff)
		return np_failed(ECANCELED,
				 "\"%s\" is not a process id; `numaplace ps` lists the processes",
				 text);
	*pid = (pid_t)value;
	return 0;
}

int np_pids_add(struct np_pids *pids, pid_t pid)
{
	if (np_grow(&pids->pid, pids->n, sizeof(pid)))
		return ENOMEM;
	pids->pid[pids->n++] = pid;
	return 0;
}

int np_arg_add_pid(const char *text, struct np_pids *pids)
{
	pid_t pid = 0;
	int e = arg_pid(text, &pid);

	return e ? e : np_pids_add(pids, pid);
}

int np_arg_engine(const char *text, enum np_engine *engine)
{
	if (!np_engine_parse(text, engine))
		return 0;
	return np_failed(ECANCELED, "no engine \"%s\"; there are auto, module, syscall", text);
}

void np_catch(int signal, const struct sigaction *action)
{
	struct sigaction was;

	if (!sigaction(signal, NULL, &was) && was.sa_handler != SIG_IGN)
		sigaction(signal, action, NULL);
}

void np_catch_ends(void (*handler)(int signal), int flags)
{
	const struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	np_catch(SIGINT, &action);
	np_catch(SIGTERM, &action);
	np_catch(SIGHUP, &action);
}

volatile sig_atomic_t np_stopped;

static void note_signal(int signal)
{
	np_stopped = signal;
}

void np_stop_by_signals(int flags)
{
	np_catch_ends(note_signal, flags);
}

int np_cmd_machine(struct np_machine *m)
{
	struct np_err err;

	if (!np_machine_read(m, "", &err))
		return NP_EXIT_OK;
	return np_failed(NP_EXIT_CANNOT, "%s", err.text);
}

const struct np_engine_ops *np_cmd_engine(enum np_engine engine, int *status)
{
	struct np_err err;
	const struct np_engine_ops *ops = np_engine_get(engine, &err);

	*status = NP_EXIT_OK;
	if (!ops)
		*status = np_failed(NP_EXIT_CANNOT, "%s", err.text);
	return ops;
}
