"""Rows of the verification page about viewpoints: real boxes, poses from landmarks, landmarks that are hidden."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from _paper_viewpoint import TABLE_3, TABLE_4
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


COMMONEST = {
    "bottle": 99, "train": 74, "tvmonitor": 71, "sofa": 66, "bus": 45, "chair": 36, "diningtable": 36, "car": 24,
    "motorbike": 21, "bicycle": 19, "aeroplane": 19, "boat": 17,
}  # fmt: skip
"""Per cent of real objects in the commonest of eight views, counted apart from this code."""


def prior_rows() -> Iterator[Row]:
    """Real poses in the commonest of eight views, by class."""
    rows = {row["class"]: row for row in stored("priors.md", VIEWPOINT)}
    for name, share in COMMONEST.items():
        yield numbers(name, share, float(rows[name]["commonest of 8 views"]), 0, " %")


def share_rows() -> Iterator[Row]:
    """AVP of right boxes with a share q of right views: 8 views."""
    for row in stored("share.md", VIEWPOINT):
        yield numbers(row[""], float(row["expected of AVP"]), float(row["AVP, 8 views"]), 3)


def third_rows() -> Iterator[Row]:
    """Normalised AP by third of occlusion, means over classes."""
    mean = next(row for row in stored("table3.md", VIEWPOINT) if row["class"] == "mean")
    for third, theirs in zip(("0–1/3", "1/3–2/3", "2/3–1"), TABLE_3["mean"], strict=True):
        yield numbers(f"{third} of the landmarks hidden", theirs, first(mean[f"{third}, ours"]), unit=" %")


def detection_rows() -> Iterator[Row]:
    """Table 2: AP, and AVP with as many sections as the model has, means over classes."""
    for row in stored("table2.md", VIEWPOINT):
        if row.get("the paper", "–") == "–":
            continue  # the network, and the table by class
        theirs, ours = row["the paper"].split(" / "), row["ours"].split(" / ")
        for measure, told, value in zip(("AP", "AVP"), theirs, ours if len(ours) > 1 else ours * 2, strict=False):
            what = f"{row['']}: {measure}"
            if value == "–":
                yield Row(what, f"{told} %", "–", "not measured yet")
            else:
                yield numbers(what, float(told), float(value), unit=" %")


def network_rows() -> Iterator[Row]:
    """Accuracy at π/6 of the networks in given boxes of views of new variants, as asked for."""
    for file in sorted(VIEWPOINT.glob("network-*.json")):
        scores = json.loads(file.read_text(encoding="utf-8"))
        if "splits" in scores:
            reached = 100 * scores["splits"]["val"]["given"]["accuracy_pi_6"]["mean"]["value"]
            name = file.stem.removeprefix("network-")
            yield numbers(f"{name}: accuracy at π/6 on val (90 % asked)", 90.0, reached, unit=" %")


def segmentation_rows() -> Iterator[Row]:
    """IoU of drawn models, means over classes: real CAD models without occlusion."""
    means = [row for row in stored("table4.md", VIEWPOINT) if row["class"] == "mean"]
    paper, ours, aware = means[:3]
    for name in ("true CAD model", "random CAD model"):
        yield numbers(name, first(paper[name]), first(ours[name]), unit=" %")
    for n in (4, 8, 16, 24):
        name = f"right of {n} views"
        yield numbers(
            f"{name} (the paper: VDPM's)", first(TABLE_4[f"VDPM, {n} views"]["mean"]), first(ours[name]), unit=" %"
        )
    told = first(ours["closest other CAD model"])
    yield Row("closest other CAD model", "–", f"{told:.1f} %", "ours alone")
    told = first(aware["true CAD model"])
    yield Row("true CAD model, nearer objects drawn over farther ones", "–", f"{told:.1f} %", "ours alone")


def first(cell: str) -> float:
    """The figure before an interval or a standard deviation."""
    return float(cell.split()[0])
