# SPDX-License-Identifier: GPL-2.0-only
"""numaplace campaign: what it refuses, and whole campaigns whose ssh and srun are this computer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from experiments.commands.campaign import cli, state
from experiments.commands.run_request import read_options
from experiments.errors import UsageError
from experiments.paths import HERE
from tests.waiting import eventually

MAIN = "import sys; from experiments.commands.campaign.cli import main; sys.exit(main())"
# As `numaplace experiment run SUITE --out DIR OPTION..`: $5 is the folder, $7 the machine.
MEASURES = 'mkdir -p "$5"; echo "{}" >>"$5/results.jsonl"; [ "$7" != 2x2 ] || { echo no Redis >&2; exit 3; }'
STANDINS = {"ssh": 'for last; do :; done; case "$*" in *down*) echo refused >&2; exit 255;; esac; exec sh -c "$last"',
            "srun": 'echo "$*" >"$0.words"; while [ "$1" != sh ]; do shift; done; exec "$@"',
            "scancel": 'kill -TERM "$(cat "$0.job")"',
            "measures": MEASURES}


def start(folder: Path, *words: object, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE,
          **variables: str) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": f"{HERE.code}:{os.environ.get('PYTHONPATH', '')}", "PATH": f"{folder}/bin:{os.environ['PATH']}"}
    return subprocess.Popen([sys.executable, "-c", MAIN, *map(str, words)], cwd=folder, text=True, stdout=stdout, stderr=stderr,
                            env=environment | variables)


def campaign(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    process = start(folder, *words)
    out, said = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, out, said)


def write_program(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def programs(tmp_path: Path) -> dict[str, Path]:
    return {name: write_program(tmp_path / "bin" / name, text) for name, text in STANDINS.items()}


def describe(folder: Path, name: str, program: object, lab: str = "demo-2s", where: str = 'host = "h"') -> str:
    return f'["{name}"]\n{where}\nfolder = "{folder}/{name}"\nprogram = "{program}"\nlab = "{lab}"\n'


@pytest.mark.parametrize(("words", "said"), [
    (["none.toml", "sort"], "none.toml: No such file or directory: name a file of machines"),
    (["m.toml", "sorts"], "suite 'sorts' does not exist; there are: "),
    (["m.toml", "sort", "sort"], "suite 'sort' is given 2 times"),
    (["m.toml", "sort", "--functional"], "--functional is the lab's: give --lab MACHINE too"),
    (["status", "out"], "out is no campaign's folder: campaign.json: No such file or directory; name what --out named"),
    (["resume"], "resume takes the folder of a campaign and nothing else: numaplace campaign resume DIR"),
    (["report", "a", "b"], "report takes the folder of a campaign"),
])
def test_what_cannot_be_is_one_line(tmp_path: Path, words: list[str], said: str) -> None:
    machines = tmp_path / "m.toml"
    machines.write_text('[box]\nlab = "demo-2s"\n[box2]\n')
    done = campaign(tmp_path, *words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith(f"numaplace campaign: {said}")
    assert list(tmp_path.iterdir()) == [machines]


@pytest.mark.parametrize("text", ['{"name": "x"', '{"name": "x"}', "[]", '{"machines": [{"host": "h"}]}',
                                  '{"machines": [5], "name": "x"}', '{"machines": [], "name": "x", "suites": 5, "options": 5}',
                                  '{"machines": [], "name": "x", "suites": [5], "options": []}'])
def test_a_damaged_campaign_is_no_traceback(tmp_path: Path, text: str) -> None:
    (tmp_path / state.FILE).write_text(text)
    with pytest.raises(UsageError, match="campaign.json: is damaged"):
        state.read_campaign(tmp_path)


def test_options_of_a_run_are_passed_on() -> None:
    words = ["--placements", "none,tiering", "--repeats", "3", "--repeat-until-ci", "2%", "--quick", "--budget", "300h", "--no-calibrate"]
    told = cli.list_options(cli.make_parser().parse_args(["m.toml", "sort", *words]))
    given, read = (read_options(["run", "sort", *one]).list_words() for one in (words, told))
    assert read == given and "--budget" in given and "none,tiering" in given


def test_a_campaign_goes_on_where_a_machine_failed(tmp_path: Path, programs: dict[str, Path]) -> None:
    suite = tmp_path / "my suite.toml"
    suite.write_text((HERE.code / "experiments/suites/sort.toml").read_text().replace('"sort"', '"my suite"', 1))
    measures, later = programs["measures"], tmp_path / "later"
    down = describe(tmp_path, "box 4", measures, where='host = "down"')
    (tmp_path / "m.toml").write_text(
        describe(tmp_path, "box 1", measures) + describe(tmp_path, "box2", measures, "2x2", 'host = "h2"')
        + describe(tmp_path, "box 3", later, where='host = "h3"') + down)
    done = campaign(tmp_path, "m.toml", suite, "split", "--quick", "--out", "out")
    assert states(tmp_path / "out") == {"box 1": ["done"] * 2, "box2": ["skipped"] * 2, "box 3": ["failed"] * 2, "box 4": ["open"] * 2}
    assert done.returncode == 1 and done.stdout.count("\n") == 7, "a host that is not reached has one try"
    first, *_, last = done.stderr.splitlines()
    assert first.startswith("numaplace campaign: my suite on box 3 has failed: status 1: ") and "is not on this machine" in first
    assert last.startswith("numaplace campaign: 8 pieces: 2 done, 2 skipped, 2 failed, 2 open: numaplace campaign resume ")
    assert "refused" in campaign(tmp_path, "status", "out").stdout
    later.symlink_to(measures)
    again = campaign(tmp_path, "resume", "out")
    assert states(tmp_path / "out")["box 3"] == ["done"] * 2
    assert "box 1" not in again.stdout  # it was done
    assert (tmp_path / "out/runs/my suite@box 1/results.jsonl").read_text() == "{}\n"
    assert (tmp_path / "box 1").is_dir() and not (tmp_path / "out/runs/my suite@box 1.new").exists()


def test_a_job_of_slurm_has_its_node_alone(tmp_path: Path, programs: dict[str, Path]) -> None:
    (tmp_path / "m.toml").write_text(describe(tmp_path, "box", programs["measures"], where='slurm = ["--partition=numa"]'))
    assert campaign(tmp_path, "m.toml", "sort", "--out", "out").returncode == 0
    words = programs["srun"].with_name("srun.words").read_text()
    assert words.startswith("--exclusive --ntasks=1 --job-name=campaign-") and "-sort@box --partition=numa sh -c" in words


WAITS = 'trap \'kill $!; : >"{0}/undone"; exit 0\' TERM; mkfifo "{0}/never"; cat "{0}/never" & : >"{0}/began"; wait'


def test_a_campaign_that_is_ended_ends_its_jobs(tmp_path: Path, programs: dict[str, Path]) -> None:
    """The run undoes what it did, and the step is open."""
    program = write_program(tmp_path / "waits", WAITS.format(tmp_path))
    write_program(programs["srun"], f'echo $$ >"{programs["scancel"]}.job"; {STANDINS["srun"]}')
    (tmp_path / "m.toml").write_text(describe(tmp_path, "box", program, where='slurm = ["-N1"]'))
    running = start(tmp_path, "m.toml", "sort", "--out", "out")
    assert eventually((tmp_path / "began").exists, 60)
    beside = campaign(tmp_path, "resume", "out")
    assert beside.returncode == 2 and "has a campaign that runs" in beside.stderr
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130 and said.startswith("numaplace campaign: stopped; ") and said.count("\n") == 1
    assert eventually((tmp_path / "undone").exists)
    assert states(tmp_path / "out") == {"box": ["open"]}


def test_a_terminal_has_a_bar_of_the_steps_and_a_log_lines_alone(tmp_path: Path, programs: dict[str, Path]) -> None:
    (tmp_path / "m.toml").write_text(describe(tmp_path, "box", tmp_path / "none"))
    log = campaign(tmp_path, "m.toml", "sort", "split", "--out", "log").stdout
    shown = on_a_terminal(tmp_path, "m.toml", "sort", "split", "--out", "out")
    assert log.count("\n") == 2 and "/2" not in log and "\x1b" not in log
    assert "0/2" in shown and "2/2" in shown
    for line in log.splitlines():
        assert line.split(" s ")[1] in shown


def on_a_terminal(folder: Path, *words: object) -> str:
    """What is shown where the output is a terminal."""
    ours, theirs = os.openpty()
    with open(ours, "rb", buffering=0) as screen:
        process = start(folder, *words, stdout=theirs, stderr=theirs, TERM="xterm", COLUMNS="160")
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # EIO: nobody has the terminal any more
            while part := screen.read(4096):
                shown += part
        process.wait(60)
    return shown.decode()


def states(folder: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for piece in state.read_campaign(folder).list_pieces():
        found.setdefault(piece.machine.name, []).append(piece.read_state().word)
    return found


def test_a_suite_that_names_files_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text('[box]\nlab = "2x2"\n')
    (tmp_path / "prog.toml").write_text('name = "p"\nkind = "command"\nabout = "a"\ncommand = ["true"]\n')
    (tmp_path / "own.toml").write_text('name = "own"\nquestion = "?"\npaper = "none"\nmachines = ["2x2"]\ntakes = "s"\nrepeats = 1\n'
                                       'warmups = 0\nseed = 1\nnodes = 1\nresponses = []\n[factors]\nplacement = ["none"]\n'
                                       '[[workload]]\nfile = "prog.toml"\n')
    done = campaign(tmp_path, "m.toml", "own.toml")
    assert done.returncode == 2 and "prog.toml" in done.stderr and not (tmp_path / "results").exists()
