"""Rows of the verification page about viewpoints: real boxes, poses from landmarks, landmarks that are hidden."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from _verification_rows import RESULTS, ROOT, SHARED, Row, figure, numbers, stored
from sightline.exams.viewpoint.files import score_view_files
from sightline.stats.viewed_boxes import ViewRules

VIEWPOINT = RESULTS / "viewpoint"


def viewpoint_rows() -> Iterator[Row]:
    sys.path.append(str(ROOT / "tests"))
    from exams.viewpoint.rcnn_boxes import RIGID, detections_of, truth_of
    from reference import viewpoint_scores

    folder = SHARED / "pascal3d"
    truth = [row for row in truth_of(folder) if row["class"] in RIGID]
    said = [row for name in RIGID for row in detections_of(folder, name)]
    theirs = viewpoint_scores.scores(truth, said, (), plus=1)
    with tempfile.TemporaryDirectory() as place:
        files = [Path(place) / name for name in ("truth.json", "detections.json")]
        for file, rows in zip(files, (truth, said), strict=True):
            file.write_text(json.dumps(rows))
        ours = score_view_files(*files, ViewRules((), inclusive=True)).to_dict()
    for name in (*RIGID, "mean"):
        one, other = 100 * theirs[name]["ap"], 100 * ours[name]["ap"]
        same = "within 1e-9" if abs(one - other) < 1e-9 else f"{other - one:+.2g}"
        yield Row(name, f"{one:.4f}", f"{other:.4f}", same)


def pose_rows() -> Iterator[Row]:
    """Poses from landmarks beside OpenCV's: angles over all views, and poses a second."""
    for row in stored("pose.md", VIEWPOINT):
        cells = [row[name] for name in ("solvePnP, ITERATIVE", "solvePnP, SQPNP", "solve_viewpoints")]
        if not cells[0].endswith("a second"):
            continue  # the table of views with six landmarks or more
        noise = f"{row['noise, px']} px"
        (iterative, slow), (sqpnp, _), (ours, fast) = (
            cell.removesuffix(" a second").split(", ", 1) for cell in cells
        )
        yield Row(f"{noise}: median / 90 %, ITERATIVE", iterative, ours, "–")
        yield Row(f"{noise}: median / 90 %, SQPNP", sqpnp, ours, "–")
        yield Row(f"{noise}: poses a second, ITERATIVE", slow, fast, f"{figure(fast) / figure(slow):.1f} times")


def landmark_rows() -> Iterator[Row]:
    """Landmarks that a model itself hides: agreement with the tables of models that chose nothing."""
    text = " ".join((VIEWPOINT / "landmarks.md").read_text(encoding="utf-8").split())
    found = re.search(r"the (\d+) other models agree in \*\*([\d.]+) %\*\*", text)
    assert found is not None, "landmarks.md tells no agreement"
    yield numbers(f"answers of {found[1]} models told alike (95 % asked)", 100.0, float(found[2]), unit=" %")
