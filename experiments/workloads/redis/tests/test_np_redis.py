# SPDX-License-Identifier: GPL-2.0-only
"""np-redis against a real redis-server on a Unix socket: data, counts, digests, errors."""

import json
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from math import log
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[4] / "build" / "np-redis"
ELEMENTS = 700
WORKLOADS = ["lists", "keys", "zsets"]
Client = Callable[..., tuple[subprocess.CompletedProcess[str], list[dict]]]


def is_answering(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as attempt:
        return not attempt.connect_ex(str(path))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("redis")
    path = folder / "s"
    process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", "",
                                "--appendonly", "no", "--dir", folder, "--logfile", folder / "log"])
    deadline = time.monotonic() + 60
    while not is_answering(path):
        assert time.monotonic() < deadline and process.poll() is None, (folder / "log").read_text()
        time.sleep(0.02)
    yield path
    process.kill()
    process.wait()


@pytest.fixture
def client(server: Path) -> Client:
    run_redis_cli(server, "FLUSHALL")

    def run_client(workload: str, *words: str, **options: object):
        done = subprocess.run([PROGRAM, "--socket", server, "--workload", workload,
                               *(f"--{k.replace('_', '-')}={v}" for k, v in
                                 ({"elements": ELEMENTS, "pipeline": 16} | options).items()), *words],
                              capture_output=True, text=True, timeout=60)
        return done, [json.loads(line) for line in done.stdout.splitlines()]

    return run_client


def run_redis_cli(server: Path, *words: object) -> str:
    return subprocess.run(["redis-cli", "-s", server, *map(str, words)], capture_output=True, text=True,
                          check=True).stdout.strip()


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("pipeline", [1, 16, 100000 // 7])
def test_every_element_is_what_the_client_expects(client: Client, workload: str, pipeline: int) -> None:
    done, events = client(workload, "load", "verify", "update", "verify", "update", "verify",
                          pipeline=pipeline)
    assert done.returncode == 0, done.stderr
    changes, checks = events[0::2], events[1::2]
    expected = ELEMENTS * (1 if workload == "keys" else 3)
    for check in checks:
        assert check["ok"] and check["elements"] == check["expected"] == expected
    assert [c["phase"] for c in changes] == ["load", "update", "update"]
    assert len({c["digest"] for c in checks}) == len(checks)
    for change in changes:
        assert change["errors"] == 0 and change["ops"] > expected
        latency = change["latency_us"]
        order = [latency[k] for k in ("min", "p50", "p90", "p99", "p999", "max")]
        assert order == sorted(order) and order[0] > 0 and order[-1] / 1e6 <= change["seconds"]
        assert change["ops_per_second"] == pytest.approx(change["ops"] / change["seconds"])


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_seed_alone_makes_the_data(client: Client, workload: str) -> None:
    def compute_digest(seed: int, pipeline: int) -> str:
        return client(workload, "load", "update", "verify", seed=seed, pipeline=pipeline)[1][-1]["digest"]

    assert compute_digest(5, 1) == compute_digest(5, 64) != compute_digest(6, 64)


def test_what_stands_in_the_server(client: Client, server: Path) -> None:
    client("lists", "load", "update")
    assert [run_redis_cli(server, "LLEN", f"mylist{k}") for k in (1, 2, 3)] == [str(ELEMENTS)] * 3
    client("zsets", "load", "update")
    assert [run_redis_cli(server, "ZCARD", f"myzset{k}") for k in (1, 2, 3)] == [str(ELEMENTS)] * 3
    client("keys", "load", "update")
    assert run_redis_cli(server, "DBSIZE") == str(ELEMENTS)
    assert run_redis_cli(server, "GET", run_redis_cli(server, "RANDOMKEY")) == "2"


def test_tokens_are_counted_as_python_counts_them(client: Client, server: Path, tmp_path: Path) -> None:
    words = "the cat and the dog and the end\n\n of  the\tlist\n".split(" ")
    (tmp_path / "text").write_text(" ".join(words))
    done, events = client("tokens", "load", "verify", "update", "verify", text=tmp_path / "text")
    assert done.returncode == 0, done.stderr
    expected = Counter(" ".join(words).split())
    assert events[1]["elements"] == events[3]["elements"] == len(expected) and events[3]["ok"]
    assert events[0]["ops"] == 1 + 2 * sum(expected.values()) and events[2]["ops"] == 2 * sum(expected.values())
    assert {word: int(run_redis_cli(server, "GET", word)) for word in expected} == {
        word: 2 * n for word, n in expected.items()}


def test_a_text_that_another_process_has_loaded_is_updated(client: Client) -> None:
    client("tokens", "load", elements=100)
    done, events = client("tokens", "update", "verify", elements=100)
    assert done.returncode == 0 and events[0]["ops"] > 0, done.stderr


def test_a_text_that_nobody_has_loaded_is_not_right(client: Client) -> None:
    assert client("tokens", "verify", elements=100)[0].returncode == 1


def test_a_made_text_has_zipf_s_words(client: Client, server: Path) -> None:
    """1001 words whose rank's logarithm is uniform: the first comes ln 2 / ln 1002 of the time."""
    done, events = client("tokens", "load", "verify", elements=13000)
    assert done.returncode == 0, done.stderr
    assert 500 < events[1]["expected"] <= 1001
    keys = run_redis_cli(server, "KEYS", "*").splitlines()
    counts = sorted(map(int, run_redis_cli(server, "MGET", *keys).split()), reverse=True)
    assert sum(counts) == 13000
    expected = 13000 * log(2) / log(1002)
    assert counts[0] == pytest.approx(expected, abs=5 * expected ** 0.5)


ANY = "one of its keys"
DAMAGE = {
    "tokens": [("SET", "one-more", 1), ("INCR", ANY)],
    "lists": [("LSET", "mylist2", 10, "other"), ("RPOP", "mylist3"), ("LPUSH", "mylist1", "one-more")],
    "keys": [("SET", "one-more", 1), ("INCR", ANY)],
    "zsets": [("ZADD", "myzset1", 5, "one-more"), ("ZPOPMIN", "myzset3")],
}


@pytest.mark.parametrize("workload, command", [(w, c) for w, commands in DAMAGE.items() for c in commands])
def test_damage_is_detected(client: Client, server: Path, workload: str, command: tuple) -> None:
    process = subprocess.Popen([PROGRAM, "--socket", server, "--workload", workload, "--elements", "200",
                                "--pipeline", "32"], text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def send_command(line: str) -> dict:
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    assert json.loads(process.stdout.readline())["event"] == "ready"
    send_command("load 64")
    assert send_command("update")["pipeline"] == 32
    assert send_command("verify")["ok"]
    run_redis_cli(server, *(run_redis_cli(server, "RANDOMKEY") if word == ANY else word for word in command))
    check = send_command("verify")
    _out, said = process.communicate(timeout=20)
    assert not check["ok"]
    assert check["mismatches"] == 1 if ANY in command else check["mismatches"] > 0 or check["elements"] != check["expected"]
    assert process.returncode == 1 and "the server's data are wrong" in said


def test_failing_commands_are_counted(client: Client, server: Path) -> None:
    limit = run_redis_cli(server, "CONFIG", "GET", "maxmemory").splitlines()[1]
    run_redis_cli(server, "CONFIG", "SET", "maxmemory", "1")
    try:
        done, events = client("keys", "load")
    finally:
        run_redis_cli(server, "CONFIG", "SET", "maxmemory", limit)
    assert done.returncode == 1 and events[0]["errors"] == ELEMENTS
    assert f"{ELEMENTS} of {ELEMENTS + 1} commands failed, the first with: OOM" in done.stderr


@pytest.mark.parametrize("options, said", [
    (["--workload", "lists"], "--socket and --workload are needed"),
    (["--socket", "s", "--workload", "hashes"], "there is none of that name"),
    (["--socket", "s", "--workload", "keys", "--elements", "0"], "from 1 to"),
    (["--socket", "s", "--workload", "keys", "--pipeline", "-1"], "from 1 to"),
    (["--socket", "s", "--workload", "keys", "--max-length", "1"], "at least 3 characters"),
])
def test_bad_options_get_one_line(options: list[str], said: str) -> None:
    done = subprocess.run([PROGRAM, *options], capture_output=True, text=True)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1


def test_no_server_and_bad_phase(tmp_path: Path, client: Client) -> None:
    done = subprocess.run([PROGRAM, "--socket", tmp_path / "none", "--workload", "keys"],
                          capture_output=True, text=True)
    assert done.returncode == 1 and "is redis-server running with --unixsocket" in done.stderr
    done, _events = client("keys", "unload")
    assert done.returncode == 1 and "'unload' is not 'load [PIPELINE]'" in done.stderr
