# SPDX-License-Identifier: GPL-2.0-only
"""Boots side by side. Each works in a folder of its own below the run's, and what they made is gathered in the run's.

The manifest is the first boot's: another begins when it is there, so that all plan with one contention model.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...errors import ExperimentError
from ..records import manifest, results
from ..records.record import Record
from .boot_shares import Share
from .host_load import HostLoad

POLL = 0.5  # s
Process = subprocess.Popen[bytes]


class Lane:
    """Holds one boot that runs: it starts as the object is made."""

    def __init__(self, share: Share, folder: Path, start: Callable[[Share, Path], Process]) -> None:
        self.share, self.folder = share, folder
        self.host = HostLoad(folder)
        self.child = start(share, folder)

    def has_ended(self) -> bool:
        """Checks whether the boot is over, and reads the host's load meanwhile."""
        over = self.child.poll() is not None
        self.host.look(results.count_records(self.folder))
        return over


def run_boots(out: Path, shares: Sequence[Share], jobs: int, start: Callable[[Share, Path], Process],
              stop: Callable[[Process], None], tell: Callable[[int], None], is_late: Callable[[], bool] = lambda: False) -> tuple[int, int]:
    """Runs a boot for each share, at most `jobs` at a time, in folders below `out`. Returns the status of the last that failed, else 0, and
    its number. start: starts the boot of a share in its folder; stop: ends it.

    None begins after one that did not make its share, or later than is_late() says; those that run make theirs. tell: called every
    POLL seconds with the number of observations that all boots have made."""
    waiting, lanes, status, boot, made_before = list(shares), list[Lane](), 0, shares[-1].boot, results.count_records(out)
    try:
        while lanes or waiting:
            if waiting and len(lanes) < jobs and (not lanes or find_manifest(out)):  # the first boot's manifest is the others' too
                share = waiting.pop(0)
                lanes.append(Lane(share, hand_out_records(out, share), start))
            if lanes and is_late():
                waiting.clear()
            for lane in [lane for lane in lanes if lane.has_ended()]:
                lanes.remove(lane)
                lane.host.write()
                if lane.child.returncode:
                    status, boot = lane.child.returncode, lane.share.boot
                if lane.share.has_left(results.read_records(lane.folder)):
                    waiting.clear()
            tell(max(made_before, sum(map(results.count_records, list_folders(out)))))
            time.sleep(POLL)
    finally:
        for lane in lanes:
            stop(lane.child)
            lane.host.write()
        gather_records(out)
    return status, boot


def hand_out_records(out: Path, share: Share) -> Path:
    """Makes a boot's folder, with the run's manifest and its records of this share, so that the boot goes on with them. Returns it."""
    folder, manifest_path = out / f"boot-{share.boot + 1}", find_manifest(out)
    folder.mkdir()
    if manifest_path:
        shutil.copyfile(manifest_path, folder / manifest.NAME)
    records = [record for record in results.read_records(out) if share.contains(record)]
    if records:
        results.rewrite_records(folder, records)
    return folder


def find_manifest(out: Path) -> Path | None:
    """Returns the path of the run's manifest, or of that of its first boot; None while no boot has written one."""
    found = (folder / manifest.NAME for folder in (out, *list_folders(out)))
    return next((path for path in found if path.exists()), None)


def gather_records(out: Path) -> None:
    """Collects records, manifests and logs of all boots in the run's folder, also of a run that was killed, and removes their folders.
    ExperimentError: a manifest cannot be read."""
    records, merged = results.read_records(out), _read_manifest(out)
    for folder in list_folders(out):
        known = {_identify_record(record) for record in records}
        records += [record for record in results.read_records(folder) if _identify_record(record) not in known]
        merged = _merge_boots(merged, _read_manifest(folder))
    if records:  # a file without any would count as a run's
        results.rewrite_records(out, sorted(records, key=lambda record: record["started"]))
    if merged:
        manifest.write_manifest(out, merged)
    for folder in list_folders(out):
        for log in folder.glob("*.log"):
            log.rename(out / name_log(log.name, int(folder.name.removeprefix("boot-")) - 1))
        shutil.rmtree(folder)


def _read_manifest(folder: Path) -> dict[str, Any]:
    """Reads the folder's manifest; {} where it has none yet. ExperimentError: it cannot be read."""
    found = manifest.read(folder)
    if not found and (folder / manifest.NAME).exists():
        raise ExperimentError(f"{folder / manifest.NAME} is damaged: put back the one of the run, or begin the run anew in another folder")
    return found


def list_folders(out: Path) -> list[Path]:
    return sorted(out.glob("boot-[0-9]*"), key=lambda path: int(path.name.removeprefix("boot-")))


def name_log(name: str, boot: int) -> str:
    """Returns a log's name for a boot: 'lab.log' of the first one, 'lab-2.log' of the second."""
    stem, _, end = name.rpartition(".")
    return f"{stem}-{boot + 1}.{end}" if boot else name


def _identify_record(record: Record) -> tuple[str, str]:
    return record["boot_id"], record["started"]


def _merge_boots(first: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Returns the manifest `first` with those boots of `other` that it lacks; the other one where either is {}."""
    if not other:  # a boot that failed before its run began
        return first
    known = {boot["boot_id"] for boot in first.get("boots", [])}
    new = [boot for boot in other.get("boots", []) if boot["boot_id"] not in known]
    return (first or other) | {"boots": first.get("boots", []) + new}
