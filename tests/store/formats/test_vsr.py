"""VSR: statements become objects and labels, and what bad lines say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from sightline.errors import DataError
from sightline.scenes import Scene
from sightline.store import check_tables
from sightline.store.convert import scenes_from_tables
from sightline.store.formats import detect, named
from sightline.store.tables import Tables

LINES: list[dict[str, Any]] = [
    {
        "image": "7.jpg",
        "caption": "The parking meter is at the right side of the train.",
        "relation": "at the right side of",
        "label": 0,
        "vote_true_validator_id": "[2]",
        "vote_false_validator_id": "[3, 4]",
        "reference_frame": 1.0,
    },
    {
        "image": "8.jpg",
        "caption": "The cat is on the person.",
        "relation": "on",
        "label": 1,
        "reference_frame": None,
    },
    {"image": "7.jpg", "caption": "The pizza has as a part the café.", "relation": "has as a part", "label": 1},
]


def lay(folder: Path, lines: list[Any] = LINES, name: str = "all.jsonl") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def read(path: Path, **options: Any) -> list[Scene]:
    tables = Tables.concat(named("vsr").read(path, **options))
    assert check_tables(tables) == []
    return list(scenes_from_tables(tables))


def test_statements_become_objects_with_labels(tmp_path: Path) -> None:
    folder = lay(tmp_path / "d")
    assert detect(folder).name == detect(folder / "all.jsonl").name == "vsr"
    first, second = read(folder)
    assert [(o.id, o.category) for o in first.objects] == [
        ("1s", "parking meter"),
        ("1o", "train"),
        ("2s", "pizza"),
        ("2o", "café"),
    ]
    assert dict(first.objects[0].attributes) == {
        "statement": LINES[0]["caption"],
        "relation": "at the right side of",
        "label": "false",
        "votes_true": "1",
        "votes_false": "2",
        "reference_frame": "1",
    }
    assert [(r.subject, r.predicate, r.object, r.aspect) for r in first.relations] == [
        ("2s", "has as a part", "2o", "vsr")  # a false statement is no relation
    ]
    assert (second.id, [o.category for o in second.objects]) == ("8", ["cat", "person"])
    assert second.views[0].image_ref is None
    (tmp_path / "photos/train2017").mkdir(parents=True)
    Image.new("RGB", (6, 5)).save(tmp_path / "photos/train2017/8.jpg")
    shown = read(folder, images=tmp_path / "photos")[1].views[0]
    assert (shown.size, Path(shown.image_ref or "").name) == ((6, 5), "8.jpg")


def test_splits_by_file_name(tmp_path: Path) -> None:
    folder = lay(lay(tmp_path / "d", name="dev.jsonl"), LINES[:1], "test.jsonl")
    assert [s.id for s in read(folder)] == ["test/7", "validation/7", "validation/8"]
    assert [s.id for s in read(folder, split="test")] == ["test/7"]
    assert [s.id for s in read(folder, split="testing")] == ["test/7"]
    assert [s.id for s in read(folder / "test.jsonl", split="mine")] == ["mine/7"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": 2}, "label: not a whole number"),
        ({"label": True}, "label: not a whole number"),
        ({"relation": "under"}, "caption: not a statement of two things .*'under' in between"),
        ({"relation": ""}, "caption: not a statement"),
        ({"caption": "The cat is on"}, "caption: not a statement"),
        ({"caption": 3}, "caption: not text"),
        ({"image": ""}, "image: not a file name"),
        ({"vote_true_validator_id": "[1"}, "not JSON"),
        ({"vote_true_validator_id": 3}, "vote_true_validator_id: not a list of people"),
        ({"reference_frame": "x"}, "reference_frame: not a finite number"),
    ],
)
def test_bad_lines(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=rf"all\.jsonl, row 2.*{message}"):
        read(lay(tmp_path / "d", [LINES[0], {**LINES[1], **change}]))


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="row 1, caption: key is missing"):
        read(lay(tmp_path / "d", [{"image": "x"}]) / "all.jsonl")
    with pytest.raises(DataError, match=r"there are no statements .*\.jsonl file with image, caption"):
        read(lay(tmp_path / "d", [{"image": "x"}]))


@pytest.mark.realdata
def test_real_statements(real_data: Path) -> None:
    told = [json.loads(line) for line in (real_data / "vsr/all_vsr_validated_data.jsonl").read_text().splitlines()]
    scenes = {scene.id: scene for scene in read(real_data / "vsr")}
    assert len(scenes) == len({line["image"] for line in told}) == 6259
    said = {
        (scene.id, o.attributes["statement"]): o.attributes["label"]
        for scene in scenes.values()
        for o in scene.objects
        if "statement" in o.attributes
    }
    assert said == {
        (line["image"].removesuffix(".jpg"), line["caption"]): "true" if line["label"] else "false" for line in told
    }
    assert sum(len(scene.relations) for scene in scenes.values()) == 5621
