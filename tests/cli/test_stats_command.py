"""``sightline stats`` on data of any kind, and what commands say that need more than the data has."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sightline.scenes import Object, Relation, Scene, Sighting, View
from sightline.store import write_scenes

Cli = Callable[..., Any]


def coco(relations: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """Four photos of 100 × 100 with a cup and a dog each, boxes in pixels."""
    things = [
        {"id": 10 * i + k, "image_id": i, "category_id": k + 1, "bbox": box, "area": 100, "iscrowd": k}
        for i in range(1, 5)
        for k, box in enumerate(([2, 2, 40, 50], [30, 30, 40, 60]))
    ]
    return {
        "images": [{"id": i, "file_name": f"{i}.jpg", "width": 100, "height": 100} for i in range(1, 5)],
        "annotations": things,
        "categories": [{"id": 1, "name": "cup"}, {"id": 2, "name": "<dog>"}],
        **({} if relations is None else {"relations": relations}),
    }


def closer(number: int) -> dict[str, Any]:
    """A depth label that nobody voted on."""
    ends = {"subject_id": 10 * number, "object_id": 10 * number + 1}
    return {"id": number, "image_id": number, **ends, "aspect": "depth", "predicate": "closer", "votes": []}


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    path = tmp_path / "instances.json"
    path.write_text(json.dumps(coco()))
    return path


def test_stats_of_photos_with_boxes(cli: Cli, photos: Path) -> None:
    told = cli("stats", photos, "--json").json
    assert list(told) == ["contents"]
    contents = told["contents"]
    assert (contents["scenes"], contents["boxes"], contents["relations"]) == (4, 8, {})
    assert contents["categories"] == {"<dog>": 4, "cup": 4}
    assert contents["together"] == [{"first": "<dog>", "second": "cup", "scenes": 4, "lift": 1.0}]
    printed = cli("stats", photos).out
    for words in ("scenes", "cup", "Categories that go together", "share of the image", "crowd"):
        assert words in printed
    assert "rater" not in printed


def test_a_page_of_statistics(cli: Cli, photos: Path, tmp_path: Path) -> None:
    told = cli("stats", photos, "--out", tmp_path / "page" / "stats.html", "--json").json
    assert told["written"] == [str(tmp_path / "page" / f"stats.{kind}") for kind in ("html", "json", "md")]
    page = (tmp_path / "page" / "stats.html").read_text()
    assert "<title>instances.json · Sightline dataset statistics</title>" in page
    assert page.count("<svg") >= 3
    assert "&lt;dog&gt;" in page
    assert "<dog>" not in page
    assert not re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', page)
    assert "rater" not in page
    kept = json.loads((tmp_path / "page" / "stats.json").read_text())
    assert kept["parts"][0]["document"] == told["contents"]
    assert "sightline stats" in (tmp_path / "page" / "stats.md").read_text()


def test_the_page_is_html(cli: Cli, photos: Path, tmp_path: Path) -> None:
    told = cli("stats", photos, "--out", tmp_path / "stats.pdf")
    assert told.code == 2
    assert "the page is a .html file, not 'stats.pdf'" in told.err


def test_labels_without_votes_have_no_raters(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "instances.json").write_text(json.dumps(coco([closer(i) for i in range(1, 5)])))
    told = cli("stats", tmp_path / "instances.json", "--json").json
    assert list(told) == ["within_image"]
    split = told["within_image"][""]
    assert (split["pairs"], split["depth"]["closer"]) == (4, 1.0)
    assert split["contents"]["categories"] == {"<dog>": 4, "cup": 4}
    printed = cli("stats", tmp_path / "instances.json", "--out", tmp_path / "stats.html").out
    assert "depth: closer" in printed
    for text in (printed, (tmp_path / "stats.html").read_text(), (tmp_path / "stats.md").read_text()):
        assert "rater" not in text
        assert "no majority" not in text


def test_rated_pairs_keep_their_keys_beside_the_contents(cli: Cli, simulated: Path) -> None:
    told = cli("stats", simulated, "--json").json
    assert set(told) == {"within_image", "across_images"}
    test = told["within_image"]["test"]
    keys = {"images", "objects", "pairs", "depth", "occlusion", "difficulty", "votes_per_pair", "agreement"}
    assert keys <= set(test)
    assert test["contents"]["scenes"] == test["images"]
    assert test["contents"]["boxes"] == test["objects"]
    printed = cli("stats", simulated).out
    assert "Fleiss" in printed
    assert "pairs of images" in printed
    assert told["across_images"]["test"]["image_pairs"] > 0
    assert test["image_pairs"] == 0


NO_RELATIONS = "no depth or occlusion relations here, "


@pytest.mark.parametrize("command", [("audit",), ("exam", "relations", "--data")])
@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("boxes", "but 8 boxes: `sightline exam relations --no-truth` measures how consistent"),
        ("sizeless", "but 8 boxes without the sizes of their images"),
        ("folder", "nor boxes to ask about: `sightline import` reads some with COCO, YOLO, VOC"),
    ],
)
def test_a_refusal_says_what_would_do(
    cli: Cli, tmp_path: Path, command: tuple[str, ...], kind: str, says: str
) -> None:
    place = tmp_path / "data"
    place.mkdir()
    if kind == "folder":
        Image.fromarray(np.zeros((8, 8, 3), dtype=np.uint8)).save(place / "a.png")
    elif kind == "boxes":
        (place / "instances.json").write_text(json.dumps(coco()))
    else:
        seen = {"classes": [0, 0], "boxes_xyxy": [[0, 0, 5, 5], [9, 9, 30, 30]], "relations_s_p_o": [[0, 0, 1]]}
        labels = [{"image": f"{i}.jpg", **seen} for i in range(4)]
        (place / "vrd.json").write_text(json.dumps({"objects": ["cup"], "predicates": ["on"], "train": labels}))
    told = cli(*command, place, *(() if command == ("audit",) else ("--out", tmp_path / "runs")))
    assert told.code == 2
    assert NO_RELATIONS + says in told.err.replace("\n", " ")


def test_a_refusal_names_the_split_that_has_relations(cli: Cli, tmp_path: Path) -> None:
    def scene(split: str, *relations: Relation) -> Scene:
        boxes = {"a": (0.1, 0.1, 0.5, 0.5), "b": (0.4, 0.4, 0.9, 0.9)}
        return Scene(
            id=split,
            split=split,
            views=(View("0", units="normalised"),),
            objects=tuple(Object(key, "cup") for key in boxes),
            sightings=tuple(Sighting("0", key, box) for key, box in boxes.items()),
            relations=relations,
        )

    write_scenes([scene("test"), scene("train", Relation("a", "b", "depth", "closer"))], tmp_path / "data")
    told = cli("audit", tmp_path / "data", "--split", "test")
    assert told.code == 2
    assert "no depth or occlusion relations in split 'test'; there are some in 'train'" in told.err


@pytest.mark.parametrize(
    ("exam", "says"),
    [
        (
            "predicates",
            "a dataset made by `sightline generate`; photos with boxes suit `exam relations --no-truth`",
        ),
        ("turing", "4 images to learn from, and a chance must rest on 30: give more training images"),
    ],
)
def test_other_exams_say_what_would_do(cli: Cli, photos: Path, tmp_path: Path, exam: str, says: str) -> None:
    told = cli("exam", exam, "--data", photos, "--out", tmp_path / "runs")
    assert told.code == 2
    assert says in told.err.replace("\n", " ")
