"""The demo's own scenes, small; `make demo` shows them in full."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sightline
from sightline.api import run_folders
from sightline.cli.demo_command import write_index
from sightline.cli.demo_worlds import show_worlds
from sightline.exams.run import Run
from sightline.store.encodings import decode


@pytest.mark.long
def test_everything_is_made_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs, seen = show_worlds(tmp_path / "worlds", tmp_path / "runs", scenes=3, size="60x40")
    taken = {Run.open(folder).exam for folder in run_folders([runs])}
    assert taken == {"relations", "statements", "viewpoint", "context"}
    files = [file for _, file in seen]
    assert all(file.stat().st_size > 0 for file in files)
    assert {file.name for file in files} == {
        "geospa.png",
        "geospa.html",
        "kitchen.png",
        "kitchen.html",
        "street.png",
        "street.html",
        "room.png",
        "room.html",
        "views.png",
        "views.html",
        "phone.png",
        "counterfactual.png",
        "canonical.png",
        "geospa-stats.html",
    }
    assert len(json.loads((tmp_path / "worlds" / "geospa.scenes.json").read_text())["scenes"]) == 3
    assert [len(sightline.open(tmp_path / "worlds" / name)) for name in ("geospa", "kitchen")] == [3, 1]
    streets = sightline.open(tmp_path / "worlds" / "street")
    assert any(relation.object_scene for scene in streets for relation in scene.relations)
    ideal, phone = np.split(decode("image", tmp_path / "worlds" / "phone.png").astype(int), 2, axis=1)
    assert 1 < np.abs(ideal - phone).mean() < 60  # the same room, taken otherwise
    pictures = decode("image", tmp_path / "worlds" / "counterfactual.png")
    before, after, marked = np.split(pictures, 3, axis=1)
    assert (before != after).any()
    assert (marked != after).any()
    printed = capsys.readouterr().out
    for word in (
        "generate geospa/train",
        "generate street --scenes 2 --views original --pairs",
        "--sensor phone",
        "across two streets: ",
        "--overlay none,boxes,stuff",
        "look ",
        "check ",
        "export clevr",
        "exam relations",
        "--no-truth",
        "exam statements",
        "exam context",
        "--boxes detected --model small_depth+small_detector",
        "exam viewpoint --data",
        "--boxes detected --model viewnet",
        "--boxes detected --model small_depth+viewnet",
        "without(",
    ):
        assert word in printed
    said = [json.loads(line) for line in (tmp_path / "worlds" / "said" / "test.jsonl").read_text().splitlines()]
    assert {line["label"] for line in said} == {0, 1}
    for folder in run_folders([runs]):
        assert Run.open(folder).status == "finished"
    write_index(tmp_path / "index.html", seen)
    page = (tmp_path / "index.html").read_text()
    assert page.count("<img ") == 8
    assert 'href="worlds/geospa.html"' in page


def test_the_index_escapes(tmp_path: Path) -> None:
    write_index(tmp_path / "index.html", [("<b> & co", tmp_path / "a #1.html")])
    page = (tmp_path / "index.html").read_text()
    assert "&lt;b&gt; &amp; co" in page
    assert 'href="a%20%231.html"' in page
