# SPDX-License-Identifier: GPL-2.0-only
"""The contention model that a run's policies plan with: where no machine file has one, it is measured, once a boot.

The measured file stands where numaplace keeps its state: /run/numaplace for root, $XDG_RUNTIME_DIR/numaplace for
others. It ends with the boot there, as what it says may: firmware settings, memory and the lab's machine change between
boots. In a lab machine the folder is the guest's own, so that no other machine finds the file. The manifest has its
text, which outlives the boot: a resumed run plans with the model of its first part.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..calibrate import in_lab
from ..errors import CannotError, ExperimentError
from ..host import host_nodes, state
from ..host.process import start_process
from ..host.tool import DERIVED, Numaplace, take_last_line

if TYPE_CHECKING:
    from .suite.knowledge import Knowledge
    from .suite.suite import Suite

NEED = "contention model"  # as `numaplace policies` says it
INSTALLED = Path("/etc/numaplace/machine.toml")
LOG = "calibrate.log"
SWITCHED_OFF = "calibration was switched off"
NO_TIMES = "times mean nothing in a functional lab machine, so it cannot be calibrated"


def choose_model(suite: Suite, numaplace: Numaplace, platform: str, out: Path, begun: dict[str, Any] | None,
                 scratch: Path) -> dict[str, Any] | None:
    """Chooses the contention model of a run, calibrating the machine where it has none, and has numaplace plan with it.

    Returns the manifest's `model`; None where no policy of the suite needs one, or nothing is remote. begun: that of the run to resume, or
    None; out: folder of the log; scratch: of a resumed model. CannotError or ExperimentError: the machine cannot be calibrated."""
    needing = numaplace.list_needing(suite.policies, NEED)
    if not needing or sum(node.usable for node in host_nodes.list_nodes()) < 2:
        return None
    origin = numaplace.read_model_origin()
    if origin != DERIVED:
        return _describe_model(origin, Path(os.environ.get("NUMAPLACE_MACHINE_FILE") or INSTALLED))
    if begun and begun["calibrated"]:
        numaplace.model = scratch / "model.toml"
        numaplace.model.write_text(begun["text"], encoding="utf-8")
        return begun
    why = SWITCHED_OFF if not suite.calibrate else NO_TIMES if platform == "lab-functional" else None
    if why or begun:  # a run without calibration is resumed without
        return _describe_model(origin) | {"why": begun["why"] if begun else why}
    numaplace.model = _measure_in_this_boot(suite, numaplace, platform, needing, out)
    return _describe_model(numaplace.read_model_origin(), numaplace.model) | {"calibrated": True}


@contextmanager
def falsify_links(numaplace: Numaplace, known: Knowledge, scratch: Path) -> Iterator[None]:
    """Has numaplace plan, within the block, with links wrong by known.links percent, a file in `scratch`. CannotError: no machine file."""
    if not known.links:
        yield
        return
    true_model = numaplace.model
    file = true_model or Path(os.environ.get("NUMAPLACE_MACHINE_FILE") or INSTALLED)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise CannotError(f"#links: the machine file {file}: {error.strerror}: make one with 'numaplace calibrate-machine'") from None
    numaplace.model = scratch / "links-wrong.toml"
    numaplace.model.write_text(known.falsify_model(text), encoding="utf-8")
    try:
        yield
    finally:
        numaplace.model = true_model


def _describe_model(origin: str, file: Path | None = None) -> dict[str, Any]:
    """Describes a model for the manifest, None for what no machine file says. The caller sets `calibrated`, and `why` it is not."""
    text = file.read_text(encoding="utf-8") if file and file.exists() else None
    return {"origin": origin, "calibrated": False, "why": None, "file": str(file) if text else None,
            "sha256": hashlib.sha256(text.encode()).hexdigest() if text else None, "text": text}


def _measure_in_this_boot(suite: Suite, numaplace: Numaplace, platform: str, needing: list[str], out: Path) -> Path:
    """Calibrates the machine, unless that was done in this boot. Returns the path of its file. Errors: as of _calibrate()."""
    machine = re.sub(r"[^A-Za-z0-9.-]", "-", host_nodes.read_machine_name())
    path = _find_folder() / f"calibrated-{machine}-{state.read_boot_id()}.toml"
    if path.exists():
        print(f"{suite.name}: plans with {path}, calibrated earlier in this boot", flush=True)
        return path
    print(f"{suite.name}: first calibrates this machine, once a boot, for {', '.join(needing)}: takes some minutes",
          flush=True)
    partial = path.with_suffix(f".{os.getpid()}")
    try:
        _calibrate(numaplace.program, partial, platform, needing, out / LOG)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    print(f"{suite.name}: plans with {path}, calibrated now", flush=True)
    return path


def _find_folder() -> Path:
    """Finds, or makes, the folder where numaplace keeps its state until the next boot. CannotError or ExperimentError: there is none."""
    base = "/run" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR")
    if not base:
        raise CannotError("no folder for the calibration of this boot: XDG_RUNTIME_DIR is not set; set it to a private "
                          "folder, or run as root")
    folder = Path(base) / "numaplace"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise ExperimentError(f"folder {folder} cannot be made: {error.strerror}") from None
    return folder


def _calibrate(program: Path, file: Path, platform: str, needing: list[str], log: Path) -> None:
    """Calibrates the machine into a file, in the lab at several tries. CannotError or ExperimentError, with the policies `needing`."""
    options, tries = (in_lab.list_options(), in_lab.TRIES) if platform == "lab-timed" else ([], 1)
    command: list[str | Path] = [program, "calibrate-machine", file, *options]
    with open(log, "wb") as log_file:
        for _ in range(tries):
            status = _run_for_status(command, log_file)
            if status != ExperimentError.status:  # a measurement that failed may succeed
                break
    if status:
        kind = CannotError if status == CannotError.status else ExperimentError
        raise kind(f"{take_last_line(log.read_text(errors='replace')) or 'numaplace calibrate-machine said nothing'}: "
                   f"this machine is not calibrated, and {', '.join(needing)} would plan with assumed bandwidths; stop "
                   "what else runs and try again, name a machine file by NUMAPLACE_MACHINE_FILE, or take --no-calibrate "
                   f"(all of it: {log})")


def _run_for_status(command: list[str | Path], log_file: Any) -> int:
    """Runs a command, whose output goes to the log, and returns its exit status. An exception meanwhile interrupts it first."""
    child = start_process(command, signal.SIGINT, stdin=subprocess.DEVNULL, stdout=log_file, stderr=log_file)
    try:
        return child.wait()
    finally:
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
            child.wait()
