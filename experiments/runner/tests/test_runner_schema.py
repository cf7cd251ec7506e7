# SPDX-License-Identifier: GPL-2.0-only
"""What a run writes is what the schemas say, no more and no less; runs of other formats are read or refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.analysis.runs.results import ResultsError, read_results
from experiments.analysis.tests import synthetic
from experiments.commands.experiment.cli import main
from experiments.runner.observe import compute_cost, make_page_sample
from experiments.runner.records import record as keys
from experiments.runner.records import results
from experiments.runner.tests import schemas
from experiments.runner.tests.test_runner_observe_static import CACHETEST, SUITE

APPLIED = {"decisions": [{"pid": 1, "result": {"migrate": {"moved": 6, "ns": 9, "bytes": 24576}}}]}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of this machine; a warm-up and two observations."""
    folder = tmp_path_factory.mktemp("schema")
    (folder / "small.toml").write_text(SUITE.format(design="cachetest", factors=CACHETEST, repeats=1))
    assert main(["run", str(folder / "small.toml"), "--out", str(folder / "out")]) == 0
    return folder / "out"


def renamed(value: dict[str, Any], key: str) -> dict[str, Any]:
    return {f"{name}_now" if name == key else name: one for name, one in value.items()}


@pytest.mark.parametrize("name", ["results", "manifest"])
def test_a_schema_is_one_of_its_draft(name: str) -> None:
    found = schemas.read_schema(name)
    schemas.VALIDATOR.check_schema(found)
    assert found["$schema"] == schemas.VALIDATOR.META_SCHEMA["$id"] and found["$id"] == f"urn:numaplace:{name}:{results.FORMAT}"


def test_a_run_is_as_the_schemas_say(run: Path) -> None:
    found = results.read_records(run)
    assert len(found) == 4 and [fault for record in found for fault in schemas.list_faults("results", record)] == []
    written = json.loads((run / "manifest.json").read_text())
    assert schemas.list_faults("manifest", written) == []
    assert written.keys() == schemas.read_schema("manifest")["properties"].keys()


def test_what_a_policy_adds_to_a_record_is_in_the_schema() -> None:
    record = synthetic.observation("cross", "n-mass", 1) | {
        "apply": APPLIED, "cost": compute_cost(APPLIED, 0.5, 0.1), "apply_at": [1.0, 1.5], "host_load": 0.5,
        "samples": [make_page_sample(["left"], [{"pages": {"0": 5}}], None), make_page_sample(["left"], [{"pages": {"1": 5}}], APPLIED)]}
    assert schemas.list_faults("results", record) == []
    for key in ("cost", "apply_at", "samples", "host_load"):
        assert schemas.list_faults("results", renamed(record, key))


@pytest.mark.parametrize("records", [synthetic.make_full(1), synthetic.make_timed(1)], ids=["functional", "timed"])
def test_the_records_of_other_tests_are_as_the_schema_says(records: list[dict[str, Any]]) -> None:
    assert [fault for record in records for fault in schemas.list_faults("results", record)] == []
    assert schemas.list_faults("manifest", synthetic.MANIFEST) == schemas.list_faults("manifest", synthetic.TIMED) == []


def test_a_key_with_another_name_is_a_fault(run: Path) -> None:
    for name, value in (("results", results.read_records(run)[0]), ("manifest", json.loads((run / "manifest.json").read_text()))):
        for key in value:
            assert schemas.list_faults(name, renamed(value, key)), key
    record = results.read_records(run)[0]
    for part in ("tasks", "metrics"):
        for key in record[part][0]:
            assert schemas.list_faults("results", record | {part: [renamed(record[part][0], key)]}), key


def test_a_value_of_another_kind_is_a_fault(run: Path) -> None:
    record = results.read_records(run)[0]
    for key, value in (("repeat", "1"), ("platform", "lab"), ("metrics", {}), ("marks", [1]), ("seconds", -1), ("apply", [])):
        fault, = schemas.list_faults("results", record | {key: value})
        assert fault.startswith(f"$.{key}"), fault


def test_a_run_of_a_newer_format_is_refused(run: Path, tmp_path: Path) -> None:
    written = json.loads((run / "manifest.json").read_text())
    assert written["format"] == results.FORMAT == 1
    with pytest.raises(ResultsError, match="manifest.json: of format 2, and this numaplace reads 1: take a newer numaplace"):
        read_results(synthetic.write(tmp_path, synthetic.make_full(1), written | {"format": 2}))


@pytest.mark.parametrize(("kind", "name"), [(keys.Record, ""), (keys.Metric, "metric"), (keys.Task, "task"), (keys.Cost, "cost"),
                                            (keys.Sample, "sample"), (keys.Series, "series")])
def test_the_type_of_a_record_has_the_keys_of_the_schema(kind: type, name: str) -> None:
    found = schemas.read_schema("results")
    found = found["$defs"][name] if name else found
    assert kind.__annotations__.keys() == found["properties"].keys()
    assert kind.__required_keys__ == set(found["required"])
