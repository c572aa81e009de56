"""Rows of the verification page, and figures that benchmarks left in docs/results/."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"
WORLDS = RESULTS / "worlds"
SHARED = Path(os.environ.get("SIGHTLINE_DATA", ROOT.parent / "shared" / "data"))


@dataclass(frozen=True)
class Row:
    """One line of a table; `command` where it is not the one of the others."""

    what: str
    theirs: str
    ours: str
    difference: str
    command: str = ""


def numbers(what: str, theirs: float, ours: float, digits: int = 1, unit: str = "") -> Row:
    """A row of two figures and their difference."""
    gap = round(ours, digits) - theirs
    shown = "0" if abs(gap) < 0.5 * 10**-digits else f"{gap:+,.{digits}f}"
    return Row(what, f"{theirs:,.{digits}f}{unit}", f"{ours:,.{digits}f}{unit}", shown)


def asked(what: str, target: str, measured: str) -> Row:
    """A row of what was asked for and what was measured."""
    ours, theirs = figure(measured), figure(target)
    reached = f"{ours - theirs:+.1f}" if "dB" in what else f"× {ours / theirs:.1f}"
    return Row(what, f"{target} asked", f"{ours:,.10g}", reached)


def stored(name: str, folder: Path = WORLDS) -> list[dict[str, str]]:
    """Rows of the tables in a result file, by column."""
    if not (folder / name).is_file():
        raise SystemExit(f"{folder / name} is not there: {WRITERS[name]} writes it")
    rows: list[dict[str, str]] = []
    header: list[str] = []
    for line in (folder / name).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            header = []
        elif not header:
            header = cells
        elif set(line) - set("|-: "):
            rows.append(dict(zip(header, cells, strict=True)))
    return rows


def figure(text: str) -> float:
    """The number in a cell."""
    return float(re.sub(r"[^0-9.]", "", text))


WRITERS = {
    "blender_agreement.md": "python benchmarks/blender_agreement.py > FILE",
    "truth.md": "make truth",
    "at_rest.md": "python benchmarks/at_rest.py > FILE",
    "speed.md": "python benchmarks/render.py --write",
    "painted.md": "python benchmarks/render.py --painted --write",
    "clipping.md": "python benchmarks/clipping.py --scenes 24 --write",
    "cuda.md": "python benchmarks/render_cuda.py --kernels --write FILE",
    "pose.md": "python benchmarks/pose.py --write",
    **dict.fromkeys(
        ("priors.md", "share.md", "table3.md", "table4.md"), "python docs/pages/viewpoint_results.py --write"
    ),
    "table2.md": "python docs/pages/viewpoint_models.py --write",
    "coverage.md": "python benchmarks/interval_coverage.py",
}
