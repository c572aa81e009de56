"""COCOA: masks, depth order and who hides whom, in both forms; and what bad files say."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sightline.errors import DataError
from sightline.geometry import masks
from sightline.scenes import Scene
from sightline.store import check_tables
from sightline.store.convert import scenes_from_tables
from sightline.store.formats import detect, named
from sightline.store.tables import Tables

WIDTH, HEIGHT = 40, 20


def _square(x0: int, y0: int, x1: int, y1: int) -> list[float]:
    return [x0, y0, x1, y0, x1, y1, x0, y1]


def _region(order: int, name: str, box: tuple[int, int, int, int], **more: Any) -> dict[str, Any]:
    region = {"segmentation": _square(*box), "name": name, "order": order, "isStuff": 0, "occlude_rate": 0}
    return {**region, **more}


REGIONS = [
    _region(3, "wall ", (0, 0, 40, 10), isStuff=1),
    _region(1, "cat", (5, 5, 15, 15)),
    _region(2, "", (10, 8, 30, 18)),
    _region(4, "far", (35, 15, 39, 19)),
]
ONE = {"author": "a", "url": "https://x/COCO_val2014_000000000007.jpg", "image_id": 7, "id": 70, "regions": REGIONS}
RELEASE = {
    "images": [{"id": 7, "file_name": "COCO_val2014_000000000007.jpg", "width": WIDTH, "height": HEIGHT}],
    "annotations": [{"image_id": 7, "id": 70, "regions": REGIONS}, {"image_id": 7, "id": 71, "regions": []}],
}


def lay(folder: Path, content: object = ONE, name: str = "1.json", photo: str = "1.jpg") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(content))
    if photo:
        Image.new("RGB", (WIDTH, HEIGHT)).save(folder / photo)
    return folder


def read(path: Path, **options: Any) -> list[Scene]:
    tables = Tables.concat(named("cocoa").read(path, **options))
    assert check_tables(tables) == []
    return list(scenes_from_tables(tables))


def test_masks_order_and_relations(tmp_path: Path) -> None:
    folder = lay(tmp_path / "d")
    assert detect(folder).name == detect(folder / "1.json").name == "cocoa"
    (scene,) = read(folder)
    assert (scene.id, scene.views[0].size) == ("7", (WIDTH, HEIGHT))
    assert scene.views[0].image_ref == str(folder / "1.jpg")
    assert [(o.category, dict(o.attributes)) for o in scene.objects] == [
        ("wall", {"order": "3"}),
        ("cat", {"order": "1"}),
        ("unnamed", {"order": "2"}),
        ("far", {"order": "4"}),
    ]
    told = {(r.subject, r.object, r.aspect): r.predicate for r in scene.relations}
    assert told == {  # in depth: cat 2, box 3, wall 1, far 4
        ("2", "3", "occlusion"): "occludes",
        ("2", "3", "depth"): "closer",
        ("1", "2", "occlusion"): "occluded",
        ("1", "2", "depth"): "farther",
        ("1", "3", "occlusion"): "occluded",
        ("1", "3", "depth"): "farther",
        ("2", "4", "occlusion"): "none",
        ("3", "4", "occlusion"): "none",
        ("1", "4", "occlusion"): "none",
    }
    wall = scene.sightings[0]
    assert [set(s.flags) for s in scene.sightings[:2]] == [{"stuff"}, set()]
    # 40·10 pixels, less the cat's 10·5 and the box's 20·2 of which 5·2 lie under the cat already
    assert float(wall.occluded_fraction or 0) == pytest.approx((50 + 40 - 10) / 400)
    assert list(wall.box) == [0, 0, 40, 10]
    assert scene.sightings[1].occluded_fraction == 0.0


def test_the_release_says_the_same(tmp_path: Path) -> None:
    folder = lay(tmp_path / "r", RELEASE, "COCO_amodal_val2014.json", "")
    assert detect(folder).name == "cocoa"
    first, second = read(folder)
    (one,) = read(lay(tmp_path / "d"))
    assert (first.id, second.id, first.split) == ("validation/7", "validation/7-71", "validation")
    assert (first.objects, first.sightings, first.relations) == (one.objects, one.sightings, one.relations)
    assert [scene.views[0].image_ref for scene in (first, second)] == [None, None]
    photos = lay(tmp_path / "p", [], "x.txt", "COCO_val2014_000000000007.jpg")
    assert read(folder, images=photos, split="test")[0].id == "test/7"
    assert str(read(folder, images=photos)[0].views[0].image_ref) == str(photos / "COCO_val2014_000000000007.jpg")


def _at(key: str, value: Any, region: int = 1) -> Callable[[Any], None]:
    return lambda content: content["regions"][region].__setitem__(key, value)


FULL = {"size": [HEIGHT, WIDTH], "counts": [0, WIDTH * HEIGHT]}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_at("order", 3), "region 2, order: order stands twice"),
        (_at("order", 0), "region 2, order: not a whole number"),
        (_at("segmentation", []), "region 2, segmentation: region without an outline"),
        (_at("segmentation", [1, 2, "x", 4, 5, 6]), "region 2, segmentation: not a finite number"),
        (_at("segmentation", [1, 2, 3]), "region 2, segmentation: "),
        (_at("visible_mask", FULL), "region 2, visible_mask: visible part leaves the outline"),
        (_at("visible_mask", {"size": [3, 4], "counts": [12]}), "visible_mask: mask has another size"),
        (_at("isStuff", 2), "region 2, isStuff: not a whole number"),
        (_at("name", 7), "region 2, name: not text"),
        (lambda c: c.pop("image_id"), "image_id: key is missing"),
        (lambda c: c.__setitem__("regions", 3), "regions: not a list"),
        (lambda c: c["regions"].append(4), "region 5, regions: entry is not an object"),
    ],
)
def test_bad_regions(tmp_path: Path, spoil: Callable[[Any], None], message: str) -> None:
    content = copy.deepcopy(ONE)
    spoil(content)
    with pytest.raises(DataError, match=rf"1\.json, .*{message}"):
        read(lay(tmp_path / "d", content))


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing tells the image's size .*1\.jpg beside"):
        read(lay(tmp_path / "bare", photo=""))
    with pytest.raises(DataError, match="not COCOA"):
        read(lay(tmp_path / "list", []))
    with pytest.raises(DataError, match="images: not COCOA"):
        read(lay(tmp_path / "empty", {}))
    (tmp_path / "bare" / "1.jpg").write_text("<html>")
    with pytest.raises(DataError, match=r"1\.jpg: not a picture .*found 'text: <html>'"):
        read(tmp_path / "bare")


@pytest.mark.realdata
def test_real_drawings(real_data: Path) -> None:
    """Visible parts and shares are what the outlines in front leave over, pixel by pixel, and as the file says."""
    folder = real_data / "cocoa-demo"
    scenes = {scene.id: scene for scene in read(folder)}
    assert (len(scenes), sum(len(s.objects) for s in scenes.values())) == (5, 48)
    for file in sorted(folder.glob("*.json")):
        told = json.loads(file.read_text())
        scene = scenes[str(told["image_id"])]
        width, height = scene.views[0].require_size()
        assert scene.views[0].image().shape == (height, width, 3)
        whole = [masks.decode(s.amodal_mask or b"", height, width) for s in scene.sightings]
        order = [r["order"] for r in told["regions"]]
        for i, (seen, region) in enumerate(zip(scene.sightings, told["regions"], strict=True)):
            front = [w for w, place in zip(whole, order, strict=True) if place < order[i]]
            left = whole[i] & ~np.any(front, axis=0) if front else whole[i]
            assert (masks.decode(seen.visible_mask or b"", height, width) == left).all()
            assert seen.occluded_fraction == pytest.approx(region["occlude_rate"], abs=1e-6)
            assert whole[i].sum() == region["area"]
        for r in scene.relations:
            a, b = int(r.subject) - 1, int(r.object) - 1
            assert order[a] < order[b]
            assert (r.predicate == "none") == (not (whole[a] & whole[b]).any())
