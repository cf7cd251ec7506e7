# SPDX-License-Identifier: GPL-2.0-only
"""Each figure of a run as PNG or PDF, drawn by Chromium from figures/*.svg."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from ..pages import pdf, report
from ..runs.results import ResultsError

SCALE = 2  # pixels of a PNG for one of the drawing


def write(directory: Path, kind: str) -> list[Path]:
    """figures/NAME.png or .pdf beside each figures/NAME.svg, which are made anew."""
    program = pdf.chromium(Path(directory) / "figures", f"'apt-get install chromium', or open {directory}/figures/*.svg")
    report.write(directory)
    drawings = sorted((Path(directory) / "figures").glob("*.svg"))
    if not drawings:
        raise ResultsError(f"{directory}/figures: this run has no figure; take --csv")
    return [_draw(program, drawing, kind) for drawing in drawings]


def _draw(program: str, drawing: Path, kind: str) -> Path:
    path = drawing.with_suffix(f".{kind}")
    width, height = (round(float(n) + 0.5) for n in re.search(r'width="([\d.]+)" height="([\d.]+)"', drawing.read_text()).groups())
    with tempfile.TemporaryDirectory(prefix="numaplace-figure-") as folder:
        page = Path(folder) / "page.html"
        page.write_text(f"<style>@page {{ size: {width}px {height}px; margin: 0 }} body {{ margin: 0 }} "
                        f"svg {{ display: block }}</style>{drawing.read_text()}")
        asked = ["--screenshot={}", f"--window-size={width},{height}", f"--force-device-scale-factor={SCALE}",
                 "--hide-scrollbars"] if kind == "png" else ["--print-to-pdf={}", "--no-pdf-header-footer"]
        pdf.render(program, page, path, asked)
    return path
