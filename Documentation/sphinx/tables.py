# SPDX-License-Identifier: GPL-2.0-only
"""Tables of the reference pages, from the tables that the code uses: `tables.py PROGRAM FOLDER`."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from experiments.host import host_nodes  # noqa: E402
from experiments.runner.suite import designs, suite  # noqa: E402

METRICS = ROOT / "userspace/lib/daemon/metrics.c"
METRIC = re.compile(r'\b(?:(counter|gauge)\(out, "(\w+)",[^"]*|head\(out, "(\w+)", "(\w+)",\s*)((?:"[^"]*"\s*)+)\)')


def format_table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def format_code(*names: object) -> str:
    return ", ".join(f"`{name}`" for name in names)


def read_help(program: str, *words: str) -> str:
    done = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True)
    return done.stdout


def list_commands(text: str, indent: int) -> list[str]:
    """Lists the commands in help text, indented by `indent`; argparse indents them by four and lists options after them."""
    text = text.split("\noptions:")[0]
    return re.findall(rf"^ {{{indent}}}([a-z][a-z-]*)(?:  ?\S.*| .*)?$", text, re.MULTILINE)


def make_commands(program: str) -> str:
    """Makes the page of the program's help texts: its own, each command's, and each sub-command's."""
    text = read_help(program)
    parts = [f"```text\n{text}```\n"]
    for name in list_commands(text, indent=2):
        command_help = read_help(program, name)
        parts.append(f"\n## {name}\n\n```text\n{command_help}```\n")
        for sub in list_commands(command_help, indent=4) if command_help.startswith("usage:") else []:
            parts.append(f"\n### {name} {sub}\n\n```text\n{read_help(program, name, sub)}```\n")
    return "".join(parts)


def make_policies(program: str) -> str:
    done = subprocess.run([program, "policies"], capture_output=True, text=True, check=True)
    return f"```text\n{done.stdout}```\n"


def make_metrics(_: str) -> str:
    rows = []
    for kind, name, head_name, head_kind, words in METRIC.findall(METRICS.read_text(encoding="utf-8")):
        rows.append([format_code(name or head_name), kind or head_kind, "".join(re.findall(r'"([^"]*)"', words))])
    return format_table(["`numaplace_daemon_`..", "type", "meaning"], rows)


def make_machines(program: str) -> str:
    done = subprocess.run([program, "lab", "list"], capture_output=True, text=True, check=True)
    rows = re.findall(r"^(\S+) +(\d+) nodes, (\d+) CPUs, (\d+) MiB: (.*)$", done.stdout, re.MULTILINE)
    return format_table(["machine", "nodes", "CPUs", "MiB", "describes"], [[format_code(name), *rest] for name, *rest in rows])


def make_model_fields(program: str) -> str:
    return subprocess.run([program, "machine", "--fields"], capture_output=True, text=True, check=True).stdout


def make_suites(_: str) -> str:
    found = [suite.load_suite(name) for name in suite.list_names()]
    return format_table(["suite", "question", "answers to", "machines of the lab", "takes"],
                        [[format_code(s.name), s.question, s.paper, format_code(*s.machines), s.takes] for s in found])


def make_parameters(_: str) -> str:
    """Makes the table of parameters by kind of workload: type, values, and the suites that have each value."""
    kinds = {"str": "text", "int": "whole number", "float": "number"}
    suites = [suite.load_suite(name) for name in suite.list_names()]
    rows = []
    for kind, keys in suite.PARAMETERS.items():
        for key, wanted in keys.items():
            values: dict[object, list[str]] = {}
            for one_suite in suites:
                if key in one_suite.parameters[kind]:
                    values.setdefault(one_suite.parameters[kind][key], []).append(one_suite.name)
            used = "; ".join(f"`{value}`: {', '.join(users)}" for value, users in values.items())
            rows.append([format_code(f"{kind}.{key}"), kinds[wanted.__name__], used])
    return format_table(["parameter", "type", "value, and suites that have it"], rows)


def describe_relative_levels(one_suite: suite.Suite) -> list[str]:
    """Returns what of the machine a suite's levels are on real machines: sizes, spread and memory-only."""
    real = suite.replace_levels(one_suite, one_suite.real)
    values = [*(v for levels in real.levels.values() for v in levels), *(v for kind in real.parameters.values() for v in kind.values())]
    values += [v for case in real.levels.get("case", []) for v in case.values()]
    sizes = sorted({v for v in values if suite.is_size(v)}, key=lambda v: (v.split()[1], float(v.split()[0])))
    nodes = host_nodes.select_usable(1, one_suite.name, among=host_nodes.list_lab_nodes("cxl-3n"))
    alone = any(nodes[k].memory_only for w in designs.expand_suite(real, nodes).workloads for t in w.tasks for k in t.memory_on)
    return [cell or "–" for cell in (format_code(*sizes), format_code(*real.levels.get("spread", ())), "yes" if alone else "")]


def make_levels(_: str) -> str:
    rows = [[format_code(s.name), *describe_relative_levels(s)] for s in map(suite.load_suite, suite.list_names())]
    return format_table(["suite", "sizes of the machine", "`spread`", "`memory-only`"], rows)


TABLES: tuple[Callable[[str], str], ...] = (make_commands, make_policies, make_metrics, make_machines, make_model_fields,
                                            make_suites, make_parameters, make_levels)


def main(program: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for make in TABLES:
        (folder / f"{make.__name__.removeprefix('make_')}.md").write_text(make(program), encoding="utf-8")


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]))
