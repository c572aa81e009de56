"""The first hour of docs/quickstart.md, on few and small pictures: every command there works, in that order."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "quickstart.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS = FENCE.findall(PAGE)
COMMANDS = [
    shlex.split(line.removeprefix("$ sightline "))
    for language, body in BLOCKS
    for line in body.splitlines()
    if language == "console" and line.startswith("$ sightline ")
]


def photos(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True)
    for i, name in enumerate(names):
        noise = np.random.default_rng(i).integers(0, 255, (48, 64, 3), dtype=np.uint8)
        Image.fromarray(noise).save(folder / name)


def coco(folder: Path) -> None:
    names = ["1.jpg", "2.jpg"]
    photos(folder / "val2017", names)
    boxes = [[4, 5, 20, 30], [30, 8, 20, 20], [10, 20, 40, 25]]
    content = {
        "images": [{"id": i, "file_name": n, "width": 64, "height": 48} for i, n in enumerate(names)],
        "categories": [{"id": 1, "name": "cup"}, {"id": 2, "name": "plate"}],
        "annotations": [
            {"id": 3 * i + j, "image_id": i, "category_id": 1 + j % 2, "bbox": box, "area": 9.0, "iscrowd": 0}
            for i in range(len(names))
            for j, box in enumerate(boxes)
        ],
    }
    (folder / "annotations").mkdir()
    (folder / "annotations" / "instances_val2017.json").write_text(json.dumps(content))


def test_every_command_works_in_this_order(
    cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = next(body for language, body in BLOCKS if language == "python" and "class MyModel" in body)
    (tmp_path / "my_model.py").write_text(model)
    photos(tmp_path / "my-photos", ["a.jpg", "b.png"])
    coco(tmp_path / "coco")
    assert len(COMMANDS) >= 15
    for words in COMMANDS:
        if words[0] == "generate":  # as few and as small as can be asked about
            words = [*words[: words.index("--scenes") + 1], "2", "--size", "96x64", *words[-2:]]
        done = cli(*words)
        assert done.code == 0, (words, done.err)
    assert {p.name for p in tmp_path.iterdir()} >= {
        "first.png",
        "card.html",
        "photos.html",
        "own-card.html",
        "yolo",
    }
    for name in ("card.json", "own-card.json"):
        assert "my_model.py:MyModel" in (tmp_path / name).read_text()


def test_every_step_is_timed() -> None:
    """Each command has a row in the table of times."""
    rows = re.findall(r"^\| `([^`]+)`", PAGE, re.MULTILINE)
    for words in COMMANDS:
        if words[0] != "--version":
            assert any(row.split()[0] == words[0] for row in rows), words
