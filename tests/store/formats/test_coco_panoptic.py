"""COCO panoptic: pixels become masks, and what bad files say."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from PIL import Image

from sightline.errors import DataError
from sightline.geometry import masks
from sightline.scenes import Scene
from sightline.store import check_tables
from sightline.store.convert import scenes_from_tables
from sightline.store.formats import coco_panoptic, detect, named
from sightline.store.tables import Tables

WIDTH, HEIGHT, CAT, SKY = 6, 4, 70000, 300
CONTENT: dict[str, Any] = {
    "images": [{"id": 9, "file_name": "9.jpg", "width": WIDTH, "height": HEIGHT}],
    "categories": [
        {"id": 17, "name": "cat", "supercategory": "animal", "isthing": 1},
        {"id": 187, "name": "sky", "supercategory": "sky", "isthing": 0},
    ],
    "annotations": [
        {
            "image_id": 9,
            "file_name": "9.png",
            "segments_info": [
                {"id": CAT, "category_id": 17, "iscrowd": 1, "bbox": [1, 1, 2, 2], "area": 4},
                {"id": SKY, "category_id": 187, "iscrowd": 0, "bbox": [0, 0, 6, 1], "area": 6},
            ],
        }
    ],
}


def drawn() -> NDArray[np.int32]:
    ids = np.zeros((HEIGHT, WIDTH), dtype=np.int32)
    ids[1:3, 1:3], ids[0] = CAT, SKY
    return ids


def lay(folder: Path, content: Any = CONTENT, ids: NDArray[np.int32] | None = None) -> Path:
    place = folder / "annotations"
    (place / "panoptic_val2017").mkdir(parents=True)
    (place / "panoptic_val2017.json").write_text(json.dumps(content))
    ids = drawn() if ids is None else ids
    pixels = np.stack([ids & 255, ids >> 8 & 255, ids >> 16], axis=-1).astype(np.uint8)
    Image.fromarray(pixels).save(place / "panoptic_val2017/9.png")
    return folder


def read(path: Path, **options: Any) -> list[Scene]:
    tables = Tables.concat(named("coco-panoptic").read(path, **options))
    assert check_tables(tables) == []
    return list(scenes_from_tables(tables))


def test_segments_become_objects(tmp_path: Path) -> None:
    folder = lay(tmp_path / "d")
    file = folder / "annotations/panoptic_val2017.json"
    assert detect(folder).name == detect(file).name == "coco-panoptic"
    (scene,) = read(folder)
    assert (scene.id, scene.split) == ("validation/9", "validation")
    assert [(o.id, o.category, dict(o.attributes)) for o in scene.objects] == [
        (str(CAT), "cat", {"coco_category_id": "17", "supercategory": "animal"}),
        (str(SKY), "sky", {"coco_category_id": "187", "supercategory": "sky"}),
    ]
    assert [list(s.box) for s in scene.sightings] == [[1, 1, 3, 3], [0, 0, 6, 1]]
    assert [set(s.flags) for s in scene.sightings] == [{"crowd"}, {"stuff"}]
    assert scene.views[0].stuff_classes == ("sky",)
    assert (scene.views[0].stuff() == (drawn() == SKY)).all()
    mask = masks.decode(scene.sightings[0].visible_mask or b"", HEIGHT, WIDTH)
    assert (mask == (drawn() == CAT)).all()
    (folder / "val2017").mkdir()
    Image.new("RGB", (WIDTH, HEIGHT)).save(folder / "val2017/9.jpg")
    assert read(file)[0].views[0].image_ref == str(folder / "val2017/9.jpg")
    (folder / "annotations/instances_val2017.json").write_text(
        '{"images": [], "annotations": [], "categories": []}'
    )
    assert detect(folder).name == "coco"  # COCO's own folder holds both
    assert len(read(folder, split="validation")) == 1


@given(arrays(np.int32, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.integers(0, 3)))
def test_run_lengths_are_those_of_each_mask(ids: NDArray[np.int32]) -> None:
    found = coco_panoptic.segment_counts(ids)
    assert set(found) == set(np.unique(ids).tolist())
    for value, counts in found.items():
        assert (masks.mask_from_counts(counts, *ids.shape) == (ids == value)).all()


def _first(key: str, value: Any) -> Callable[[Any], None]:
    return lambda content: content["annotations"][0]["segments_info"][0].__setitem__(key, value)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_first("id", 5), r"annotations\[0\], file_name: pixels of an unknown segment .*found 70000"),
        (_first("category_id", 5), "segment 70000, category_id: unknown id"),
        (_first("iscrowd", 2), "segment 70000, iscrowd: not a whole number"),
        (_first("id", SKY), "id: id stands twice"),
        (lambda c: c["annotations"][0].__setitem__("file_name", "x.png"), "file_name: PNG is missing"),
        (lambda c: c["annotations"].append(c["annotations"][0]), "image_id: image stands twice"),
        (lambda c: c["annotations"][0].__setitem__("segments_info", 3), "segments_info: not a list"),
        (lambda c: c["images"][0].__setitem__("width", 7), r"PNG of another size .*7×4 pixels, found 'RGB of 6×4'"),
        (
            lambda c: c["annotations"][0]["segments_info"].append({"id": 8, "category_id": 17}),
            "segment 8, id: segment has no pixel",
        ),
    ],
)
def test_bad_files(tmp_path: Path, spoil: Callable[[Any], None], message: str) -> None:
    content = copy.deepcopy(CONTENT)
    spoil(content)
    with pytest.raises(DataError, match=rf"panoptic_val2017\.json, .*{message}"):
        read(lay(tmp_path / "d", content))


def test_a_broken_png_and_no_folder(tmp_path: Path) -> None:
    folder = lay(tmp_path / "d")
    png = folder / "annotations/panoptic_val2017/9.png"
    png.write_bytes(png.read_bytes()[:40])
    with pytest.raises(DataError, match="file_name: PNG cannot be read"):
        read(folder)
    png.unlink()
    png.parent.rmdir()
    assert coco_panoptic.notes(folder) == [
        "panoptic_val2017.json: left out, its folder panoptic_val2017 of PNG files is not there"
    ]
    with pytest.raises(DataError, match="no panoptic annotations"):
        read(folder)


@pytest.mark.realdata
def test_real_segments_have_the_area_and_box_the_file_tells(real_data: Path) -> None:
    folder = real_data / "coco-lightly"
    scenes = {s.id: s for s in read(folder / "panoptic_segmentation", images=folder / "images")}
    file = folder / "panoptic_segmentation/annotations/panoptic_val2017.json"
    told = json.loads(file.read_text())["annotations"]
    assert len(scenes) == len(told) == 100
    flagged = {(s.id, seen.object_id) for s in scenes.values() for seen in s.sightings if "stuff" in seen.flags}
    stuff = {o.category for s in scenes.values() for o in s.objects if (s.id, o.id) in flagged}
    assert {"road", "pavement-merged"} <= stuff
    assert "car" not in stuff
    for annotation in told:
        seen = {s.object_id: s for s in scenes[f"validation/{annotation['image_id']}"].sightings}
        for segment in annotation["segments_info"]:
            sighting = seen[str(segment["id"])]
            x, y, w, h = segment["bbox"]
            assert list(sighting.box) == [x, y, x + w, y + h]
            assert masks.area(masks.decompress(sighting.visible_mask or b"")) == segment["area"]
