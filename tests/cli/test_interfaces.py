"""The interfaces others script against: exact keys, orders, names and figures; runs that survive anything."""

from __future__ import annotations

import fcntl
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

Cli = Callable[..., Any]

EVALUATOR_ROWS = [(name, label) for name in ("occlusion", "distance") for label in ("0", "1", "2", "3", "all")]
EVALUATOR = {
    "": ([1, 1, 0.5, 0, 0.75, 1, 0, 1, 0.5, 0.75], [0.5, 0.5, 0.5, 0, 0.5, 0.5, 0, 1, 0.5, 0.5]),
    "vertical=0:0.5": ([0, 0, 0.5, 0, 0.5, 0, 0, 0, 0.5, 0.5], [0, 0, 1, 0, 0.5, 0, 0, 0, 0.5, 0.5]),
}
"""Precision and recall the authors' evaluator prints, by window."""


@pytest.mark.realdata
@pytest.mark.parametrize("window", EVALUATOR)
def test_the_evaluator_case(cli: Cli, real_data: Path, window: str) -> None:
    rows = cli(*case(real_data), "--protocol", "official", "--window", window, "--json").json["rows"]
    assert [(r["relationship"], r["label"]) for r in rows] == EVALUATOR_ROWS
    assert [list(r) for r in rows] == [["relationship", "label", "precision", "recall", "f1"]] * 10
    assert ([r["precision"] for r in rows], [r["recall"] for r in rows]) == EVALUATOR[window]
    for row in rows:
        p, r = row["precision"], row["recall"]
        assert row["f1"] == pytest.approx(2 * p * r / (p + r) if p + r else 0)


@pytest.mark.realdata
@pytest.mark.parametrize("protocol", ["paper", "default"])
def test_undefined_scores_are_null_outside_the_official_protocol(cli: Cli, real_data: Path, protocol: str) -> None:
    done = cli(*case(real_data), "--protocol", protocol, "--json")
    rows = json.loads(done.out, parse_constant=pytest.fail)["rows"]
    assert [(r["relationship"], r["label"]) for r in rows] == EVALUATOR_ROWS
    assert rows[3]["precision"] is None  # nothing was mutual, and nobody said so


@pytest.mark.realdata
def test_stats_on_the_real_labels(cli: Cli, real_data: Path) -> None:
    told = cli("stats", real_data / "2.5vrd", "--json").json
    counts = {(s, p): told[s][p]["pairs"] for s in told for p in ("validation", "test")}
    assert list(counts.values()) == [6325, 23666, 6868, 24461]
    assert told["within_image"]["test"]["images"] == 4000
    assert told["within_image"]["test"]["objects"] == 13893
    shares = told["within_image"]["validation+test"]["difficulty"]
    assert [round(100 * x) for x in shares.values()] == [56, 16, 13, 10, 4]
    assert list(shares) == ["easy", "moderate", "difficult", "infeasible", "ambiguous"]


@pytest.mark.realdata
def test_audit_on_the_real_labels(cli: Cli, real_data: Path) -> None:
    told = cli("audit", real_data / "2.5vrd", "--json").json
    expected = {"bottom_edge": (0.857, 0.597), "area": (0.686, 0.612), "class_prior": (0.569, 0.744)}
    for rule, figures in expected.items():
        for setting, figure in zip(("within_image", "across_images"), figures, strict=True):
            found = told[setting][rule]
            assert found["low"] < figure < found["high"]
            if rule != "class_prior":  # its folds are drawn
                assert found["accuracy"] == pytest.approx(figure, abs=5e-4)
    assert told["within_image"]["majority"]["accuracy"] < 0.52


@pytest.mark.parametrize(
    ("gone", "left"),
    [
        ("across*", {"within_image": {"test", "validation", "validation+test"}}),  # one setting
        ("within*", {"across_images": {"test", "validation", "validation+test"}}),  # the other
        ("*validation*", {"within_image": {"test"}, "across_images": {"test"}}),  # one split
    ],
)
def test_part_of_the_files_will_do(
    cli: Cli, simulated: Path, tmp_path: Path, gone: str, left: dict[str, set[str]]
) -> None:
    labels = Path(shutil.copytree(simulated, tmp_path / "labels"))
    for path in labels.glob(gone):
        path.unlink()
    assert cli("import", labels, "--out", tmp_path / "data").code == 0
    for place in (labels, tmp_path / "data"):
        told = cli("stats", place, "--json").json
        assert set(told) == set(left)
        assert all(left[setting] <= set(told[setting]) for setting in left)
        assert set(cli("audit", place, "--json").json) == set(left)
        assert cli("check", place).code == 0
        runs = tmp_path / place.name / "runs"
        sat = cli(
            "exam", "relations", "--data", place, "--no-baselines", "--model", "size", "--out", runs, "--json"
        )
        subtasks = sat.json["models"][0]["scores"]["subtasks"]
        assert {name.split("/")[0] for name in subtasks} == set(left)
    assert cli("stats", labels).code == cli("audit", labels).code == 0


@pytest.mark.parametrize("boxes", ["detected", "perfect"])
def test_detected_boxes(cli: Cli, simulated: Path, tmp_path: Path, boxes: str) -> None:
    found = jittered(simulated, tmp_path / "found.csv")
    words = ("--boxes", boxes, "--detections", found, "--out", tmp_path, "--json")
    exam = ("exam", "relations", "--data", simulated, "--no-baselines", "--model", "bottom_edge", *words)
    scores = {p: cli(*exam, "--protocol", p).json["models"][0] for p in ("default", "paper", "official")}
    depth = {p: s["scores"]["subtasks"]["within_image/depth"]["micro"]["all"] for p, s in scores.items()}
    assert all(0.4 < s["recall"]["value"] <= 1 for s in depth.values())
    assert (depth["default"]["recall"]["value"] > 0.8) == (boxes == "perfect")
    rows = pl.read_ndjson(tmp_path / scores["default"]["run"] / "records.jsonl")
    assert rows.select("scene_id", "cluster_id", "item").null_count().row(0) == (0, 0, 0)
    assert rows["item"].is_unique().all()


HOSTILE = [
    "../../../etc/{}",  # leads out of a folder
    'a,"b" {}',  # what CSV quotes
    "猫🐱 {}",  # not ASCII
    "x" * 3000 + "{}",  # longer than a file name may be
    "a>b|c{}",  # what joins ids of ours
]


@pytest.mark.parametrize("pattern", HOSTILE)
def test_hostile_names_are_only_names(cli: Cli, simulated: Path, tmp_path: Path, pattern: str) -> None:
    labels, back = tmp_path / "labels", tmp_path / "back"
    labels.mkdir()
    for path in simulated.glob("*_test.csv"):
        frame = pl.read_csv(path, infer_schema=False)
        names = [c for c in frame.columns if c.startswith("image_id")]
        frame.with_columns(pl.format(pattern, c).alias(c) for c in names).write_csv(labels / path.name)
    found = jittered(labels, tmp_path / "found.csv")
    assert cli("import", labels, "--out", tmp_path / "data").code == 0
    assert cli("check", tmp_path / "data").code == 0
    assert cli("export", "2.5vrd", tmp_path / "data", "--out", back).code == 0
    for path in labels.iterdir():
        a, b = (pl.read_csv(p / path.name, infer_schema=False) for p in (labels, back))
        assert a.sort(a.columns).equals(b.sort(b.columns))
    words = ("--no-baselines", "--model", "size", "--boxes", "perfect", "--detections", found)
    sat = cli("exam", "relations", "--data", tmp_path / "data", *words, "--out", tmp_path / "runs", "--json").json
    assert sat["models"][0]["scores"]["subtasks"]["within_image/depth"]["micro"]["all"]["f1"]["value"] > 0.7
    made = {"labels", "back", "found.csv", "data", "runs"}
    assert {p.name for p in tmp_path.iterdir()} == made


def test_a_model_is_named_as_it_likes(cli: Cli, simulated: Path, tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 150) / ("e" * 150)
    deep.mkdir(parents=True)
    (deep / "m.py").write_text(
        "import numpy as np\nfrom sightline import Judgements\n"
        "class M:\n    name = '../<b>[red]x[/] :x:'\n"
        "    def relate(self, p): return Judgements(np.ones(len(p), np.int8), np.zeros(len(p), np.int8))\n"
    )
    words = ("exam", "relations", "--data", simulated, "--no-baselines", "--model", f"{deep / 'm.py'}:M")
    done = cli(*words, "--limit", 4, "--out", tmp_path / "runs")
    assert done.code == 0, done.err
    assert "../<b>[red]x[/] :x:" in done.out
    (run,) = (tmp_path / "runs" / "relations").iterdir()
    assert len(run.name) < 128


SLOW = (
    "import time\nfrom pathlib import Path\nimport numpy as np\nfrom sightline import Judgements\n"
    "class Slow:\n    asked = 0\n    def relate(self, p):\n        self.asked += 1\n"
    "        while self.asked > 25 and Path(__file__).with_name('hold').exists(): time.sleep(0.005)\n"
    "        return Judgements(np.ones(len(p), np.int8), np.zeros(len(p), np.int8))\n"
)
"""Answers 25 items, then thinks for as long as a file named hold lies beside it."""


@pytest.mark.parametrize(
    ("blow", "workers"),
    [
        (signal.SIGKILL, 0),  # killed at once
        (signal.SIGKILL, 2),  # killed, and its workers must not go on without it
        (signal.SIGINT, 0),  # Ctrl-C
    ],
)
def test_a_killed_exam_resumes_exactly(
    simulated: Path, tmp_path: Path, cli: Cli, blow: signal.Signals, workers: int
) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    words = ["exam", "relations", "--data", simulated, "--no-baselines", "--model", f"{tmp_path / 'slow.py'}:Slow"]
    whole = Path(cli(*words, "--out", tmp_path / "whole", "--json").json["models"][0]["run"])
    run = tmp_path / "cut" / "relations" / whole.name
    command = [sys.executable, "-m", "sightline", *map(str, words), "--out", str(tmp_path / "cut")]
    command += ["--workers", str(workers)]
    (tmp_path / "hold").touch()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and lines(run / "records.jsonl") < 25:
            time.sleep(0.002)
        refused = cli(*words, "--out", tmp_path / "cut")  # a second writer, while the first is at it
        process.send_signal(blow)
        _, err = process.communicate()
    wait_until_nobody_writes(run)
    (tmp_path / "hold").unlink()
    assert process.returncode == (130 if blow == signal.SIGINT else -signal.SIGKILL)
    assert "Traceback" not in err
    if blow == signal.SIGINT:
        assert f"interrupted: 25 answered items kept in {run.parent}; the same command goes on where it was" in err
    assert refused.code == 2
    assert "another process is writing this run" in refused.err
    assert lines(run / "records.jsonl") == 25
    status = json.loads((run / "manifest.json").read_text())["status"]
    assert status == ("stopped" if blow == signal.SIGINT else "running")
    assert cli(*words, "--out", tmp_path / "cut").code == 0
    for name in ("records.jsonl", "metrics.json"):
        assert (run / name).read_bytes() == (whole / name).read_bytes()


def wait_until_nobody_writes(run: Path) -> None:
    """A worker needs a moment to see that its parent is gone; one that never does fails here."""
    last = time.monotonic() + 20
    with (run / "records.jsonl").open("rb") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                assert time.monotonic() < last, "somebody goes on writing"
                time.sleep(0.02)
            else:
                return


def case(real_data: Path) -> list[object]:
    folder = real_data / "2.5vrd" / "evaluator_case"
    files = (("--objects", "objects"), ("--truth", "vrd"), ("--predictions", "prediction"))
    return ["score", "relations", *(w for option, name in files for w in (option, folder / f"{name}.csv"))]


def jittered(labels: Path, path: Path) -> Path:
    """The annotated boxes, a little displaced, as a detections file."""
    objects = pl.read_csv(labels / "within_image_objects_test.csv", schema_overrides={"image_id": pl.String})
    sides = ["xmin", "xmax", "ymin", "ymax"]
    shift = np.random.default_rng(0).normal(0, 0.005, (objects.height, 4))
    boxes = np.clip(objects.select(sides).to_numpy() + shift, 0, 1)
    frame = objects.select("image_id", "entity").with_columns(
        *(pl.Series(side, boxes[:, i]) for i, side in enumerate(sides)), score=pl.lit(0.5)
    )
    frame.write_csv(path)
    return path


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_score_viewpoint(cli: Cli, tmp_path: Path) -> None:
    box = [10, 10, 50, 40]
    truth = [
        {"image": "a", "class": "car", "box": box, "azimuth": 10.0, "difficult": False},
        {"image": "b", "class": "car", "box": box, "azimuth": 100.0, "difficult": False},
        {"image": "b", "class": "bottle", "box": box, "azimuth": None, "difficult": True},
    ]
    said = [{"score": 1.0, **{k: row[k] for k in ("image", "class", "box", "azimuth")}} for row in truth]
    said[1]["azimuth"] = 280.0
    for name, rows in (("t", truth), ("d", said)):
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
    words = ["score", "viewpoint", "--truth", tmp_path / "t.json", "--detections", tmp_path / "d.json"]
    told = cli(*words, "--views", "4,24", "--difficult", "remove", "--inclusive", "--json").json
    car = {"ap": 1.0, "avp": {"4": 0.75, "24": 0.75}}  # the first is right, the second not: (1 + 1/2) / 2
    bottle = {"ap": None, "avp": {"4": None, "24": None}}
    assert told == {"bottle": bottle, "car": car, "mean": {**car, "without_bottle": car}}
    assert list(cli(*words, "--json").json["car"]["avp"]) == ["4", "8", "16", "24"]
    printed = cli(*words, "--within", "20", "--rotation", "30", "--intervals", "--difficult", "ignore").out
    assert "AVP, 24 views" in printed
    assert "AVP, 20°" in printed
    assert "[" in printed
    for views in ("4,x", "0", ""):
        refused = cli(*words, "--views", views, "--json")
        assert (refused.code, refused.out) == (2, "")
        assert "views" in refused.err
    (tmp_path / "d.json").write_text(json.dumps([said[0] | {"score": None}]))
    failed = cli(*words, "--json")
    assert (failed.code, failed.out) == (2, "")
    assert "d.json, row 1, score" in failed.err
