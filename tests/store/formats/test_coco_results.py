"""COCO results: a detector's boxes as a dataset, with the names and sizes of the instances file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from typer.testing import CliRunner

from sightline.cli import app
from sightline.errors import DataError
from sightline.scenes import Scene
from sightline.store import check_tables
from sightline.store.convert import scenes_from_tables
from sightline.store.formats import detect, named
from sightline.store.tables import Tables

INSTANCES = {
    "images": [{"id": i, "file_name": f"{i}.jpg", "width": 40, "height": 20} for i in (4, 5)],
    "categories": [{"id": 3, "name": "cat", "supercategory": "animal"}],
    "annotations": [{"id": 1, "image_id": 4, "category_id": 3, "bbox": [0, 0, 1, 1]}],
}
RESULTS: list[dict[str, Any]] = [
    {"image_id": 4, "category_id": 3, "bbox": [1, 2, 10, 5], "score": 0.5},
    {"image_id": 4, "category_id": 3, "bbox": [-3, 2, 10, 50.5], "score": 1},
    {"image_id": 4, "category_id": 3, "bbox": [39, 2, 0, 5], "score": 0.25},
    {"image_id": 4, "category_id": 3, "segmentation": {"size": [20, 40], "counts": [21, 2, 777]}, "score": 0.125},
]


def lay(folder: Path, results: Any = RESULTS) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "instances.json").write_text(json.dumps(INSTANCES))
    (folder / "results.json").write_text(json.dumps(results))
    return folder / "results.json"


def read(path: Path, **options: Any) -> list[Scene]:
    tables = Tables.concat(named("coco-results").read(path, **options))
    assert check_tables(tables) == []
    return list(scenes_from_tables(tables))


def test_results_take_the_place_of_annotations(tmp_path: Path) -> None:
    file = lay(tmp_path / "d")
    assert detect(file).name == "coco-results"
    assert detect(file.parent).name == "coco"
    first, second = read(file, split="validation")
    assert (first.id, second.id, second.objects) == ("validation/4", "validation/5", ())
    assert [(o.id, o.category, o.attributes["score"]) for o in first.objects] == [
        ("1", "cat", "0.5"),
        ("2", "cat", "1.0"),
        ("4", "cat", "0.125"),  # the third has no width
    ]
    assert [list(s.box) for s in first.sightings] == [[1, 2, 11, 7], [0, 2, 7, 20], [1, 1, 2, 3]]
    assert [set(s.flags) for s in first.sightings] == [set(), {"cut"}, set()]
    assert first.sightings[2].visible_mask is not None
    assert named("coco-results").notes(file) == ["1 results left out: nothing of them lies in the image"]


def test_the_instances_file_may_lie_elsewhere(tmp_path: Path) -> None:
    file = lay(tmp_path / "d")
    moved = file.rename(tmp_path / "results.json")
    with pytest.raises(DataError, match=r"tell no names and sizes .*--instances FILE.*found '0 there'"):
        read(moved)
    words = ["import", moved, "--instances", tmp_path / "d/instances.json", "--out", tmp_path / "out", "--json"]
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == 0, done.output
    (tmp_path / "d/images").mkdir()
    Image.new("RGB", (40, 20)).save(tmp_path / "d/images/4.jpg")
    shown = read(moved, instances=tmp_path / "d/instances.json")  # photos lie beside the instances file
    assert [bool(scene.views[0].image_ref) for scene in shown] == [True, False]
    facts = json.loads(done.stdout)
    assert (facts["format"], facts["rows"]["sightings"]) == ("coco-results", 3)
    assert facts["notes"][0].startswith("1 results left out")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image_id": 6}, "result 1, image_id: unknown id"),
        ({"category_id": 6}, "result 1, category_id: unknown id"),
        ({"score": "high"}, "result 1, score: not a finite number"),
        ({"bbox": [1, 2, 3]}, "result 1, bbox: not a box"),
        ({"bbox": [1, 2, -3, 4]}, "result 1, bbox: not a box"),
        ({"segmentation": {"size": [4, 4], "counts": [16]}}, "result 1, segmentation: mask has another size"),
    ],
)
def test_bad_results(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=rf"results\.json, row {message}"):
        read(lay(tmp_path / "d", [{**RESULTS[0], **change}]))


def test_bad_lists(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="result 1, bbox: result without a place"):
        read(lay(tmp_path / "d", [{"image_id": 4, "category_id": 3, "score": 1}]))
    with pytest.raises(DataError, match="not COCO results"):
        read(lay(tmp_path / "d", {}))
    with pytest.raises(DataError, match="result 1, result: entry is not an object"):
        read(lay(tmp_path / "d", [3]))


@pytest.mark.realdata
@pytest.mark.parametrize("kind", ["bbox", "segm"])
def test_real_results(real_data: Path, kind: str) -> None:
    file = real_data / f"coco-metric/instances_val2014_fake{kind}100_results.json"
    told = json.loads(file.read_text())
    assert detect(file).name == "coco-results"
    found = {o.id: (s.id, o, seen) for s in read(file) for o, seen in zip(s.objects, s.sightings, strict=True)}
    assert len(found) == len(told) == 734
    for number, result in enumerate(told, start=1):
        scene, thing, seen = found[str(number)]
        assert (scene, float(thing.attributes["score"])) == (str(result["image_id"]), result["score"])
        if kind == "bbox":
            x, y, w, h = result["bbox"]
            assert seen.box == pytest.approx((x, y, x + w, y + h))
        else:
            assert (seen.visible_mask or b"").decode() == result["segmentation"]["counts"]
