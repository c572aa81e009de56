"""Generated scenes through COCO: several views, amodal masks, what the objects are, and back."""

from __future__ import annotations

import copy
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clevr_cases import SIZE, generated, put
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools import mask as oracle

from sightline.errors import DataError, SightlineError
from sightline.geometry import masks
from sightline.scenes import Relation, Scene
from sightline.store import check_tables, write_scenes
from sightline.store.convert import scenes_from_tables, tables_from_scenes
from sightline.store.formats import coco
from sightline.store.tables import Tables

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def read(path: Path, **options: Any) -> list[Scene]:
    tables = Tables.concat(coco.read(path, **options))
    assert check_tables(tables) == []
    return list(scenes_from_tables(tables))


def sent(scenes: list[Scene], path: Path) -> dict[str, Any]:
    coco.write(tables_from_scenes(scenes), path)
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def test_generated_scenes_come_back(tmp_path: Path) -> None:
    before = [generated(k) for k in (3, 4, 11)]
    sent(before, tmp_path / "c.json")
    assert read(tmp_path / "c.json") == before


def test_what_is_written(tmp_path: Path) -> None:
    content = sent([generated(3)], tmp_path / "c.json")
    assert [image["sightline"]["view"] for image in content["images"]] == ["original", "top"]
    assert len(content["annotations"]) == 6  # three objects in two views
    first = content["annotations"][0]
    assert first["occluded_fraction"] == 0.4
    for key, expected in (("segmentation", 72), ("amodal_segmentation", 120)):
        assert oracle.decode(first[key]).sum() == expected
        assert first[key]["size"] == list(SIZE[::-1])
    assert first["area"] == 72
    hides = next(r for r in content["relations"] if r["aspect"] == "occlusion")
    same = next(r for r in content["relations"] if r["aspect"] == "depth")
    images = [image["id"] for image in content["images"]]
    assert (hides["image_id"], hides["view"]) == (images[0], "original")
    assert (same["image_id"], same["view"]) == (images[1], "top")  # by the annotations of its own view


def test_an_object_seen_in_one_view_only_and_one_in_none(tmp_path: Path) -> None:
    scene = generated(3)
    gone = [s for s in scene.sightings if s.object_id != "2" and (s.view_id, s.object_id) != ("original", "1")]
    content = sent([replace(scene, sightings=tuple(gone))], tmp_path / "c.json")
    (again,) = read(tmp_path / "c.json")
    assert [o.id for o in again.objects] == ["0", "1"]  # nothing shows 2: it is left out, with its relations
    assert again.relations == tuple(r for r in scene.relations if "2" not in (r.subject, r.object))
    across = next(r for r in content["relations"] if r["predicate"] == "contains")
    assert across["object_image_id"] != across["image_id"]


def test_pictures_are_found_below_the_dataset(tmp_path: Path) -> None:
    scene = generated(3)
    views = tuple(
        replace(v, load_image=lambda k=k: np.full((*SIZE[::-1], 3), k, dtype=np.uint8))
        for k, v in enumerate(scene.views)
    )
    data = write_scenes([replace(scene, views=views)], tmp_path / "data")
    coco.write(data.tables(), tmp_path / "c.json")
    tables = Tables.concat(coco.read(tmp_path / "c.json", images=tmp_path / "data" / "images"))
    (again,) = scenes_from_tables(tables)
    assert [int(view.image()[0, 0, 0]) for view in again.views] == [0, 1]


def test_parts_never_tear_a_scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent([generated(k) for k in range(3)], tmp_path / "c.json")
    monkeypatch.setattr(coco, "_IMAGES_A_PART", 1)
    assert [part.views.height for part in coco.read(tmp_path / "c.json")] == [2, 2, 2]


def test_amodal_masks_of_plain_coco(tmp_path: Path) -> None:
    """As polygons too, and without the extension."""
    note = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 3, 3], "occluded_fraction": 0.25}
    note["amodal_segmentation"] = [[0, 0, 4, 0, 4, 4, 0, 4]]
    content = {"images": [{"id": 1, "width": 8, "height": 6}], "annotations": [note]}
    content["categories"] = [{"id": 1, "name": "cup"}]
    (scene,) = read(put(tmp_path / "c.json", content))
    (seen,) = scene.sightings
    assert (seen.visible_mask, seen.occluded_fraction) == (None, 0.25)
    assert masks.decode(seen.amodal_mask or b"", 6, 8).sum() == 16


def test_unknown_ends_are_refused(tmp_path: Path) -> None:
    scene = replace(generated(3), relations=(Relation("0", "9", "vrd", "on"),))
    with pytest.raises(DataError, match="relation of an unknown object"):
        sent([scene], tmp_path / "c.json")


def extended() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return sent([generated(3)], Path(folder) / "c.json")


EXTENDED = extended()


@pytest.mark.parametrize(
    ("section", "row", "key", "value", "says"),
    [
        ("images", 0, (), 3, "image 1, sightline: not an object"),
        ("images", 0, ("scene",), None, "image 1, scene: not text"),
        ("images", 1, ("view",), "original", "image 2, sightline: view stands twice .*'original'"),
        ("images", 1, ("split",), "test", "image 2, sightline: views of one scene differ in split"),
        ("images", 0, ("camera",), [], "image 1, sightline.camera: not a camera"),
        ("images", 0, ("camera", "k"), [1.0], "sightline.camera.k: not a camera .*9 numbers"),
        ("annotations", 0, (), [], "annotation 1, sightline: not an object"),
        ("annotations", 0, ("object",), 0, "annotation 1, object: not text"),
        ("annotations", 0, ("object",), "1", "object differs from view to view .*found '1'"),
        ("annotations", 0, ("attributes",), {"a": 1}, "sightline.attributes: attributes are not words"),
        ("annotations", 0, ("pose",), [1.0], "sightline.pose: pose is not a 4×4 matrix"),
    ],
)
def test_bad_extensions_say_where(
    tmp_path: Path, section: str, row: int, key: tuple[str, ...], value: Any, says: str
) -> None:
    content = copy.deepcopy(EXTENDED)
    place, way = content[section][row], ("sightline", *key)
    for step in way[:-1]:
        place = place[step]
    place[way[-1]] = value
    with pytest.raises(DataError, match=says):
        read(put(tmp_path / "c.json", content))


@pytest.mark.parametrize(
    ("section", "key", "value", "says"),
    [
        ("annotations", "occluded_fraction", 1.5, "annotation 1, occluded_fraction: share is out of range"),
        (
            "annotations",
            "amodal_segmentation",
            {"size": [1, 1], "counts": "0"},
            "amodal_segmentation: mask has another",
        ),
        ("relations", "view", "side", "relation 1, view: unknown view .*original, top"),
    ],
)
def test_bad_values_say_where(tmp_path: Path, section: str, key: str, value: Any, says: str) -> None:
    content = copy.deepcopy(EXTENDED)
    content[section][0][key] = value
    with pytest.raises(DataError, match=says):
        read(put(tmp_path / "c.json", content))


VALUES = st.sampled_from([None, True, 0, 2, 0.5, "", "1", "top", [], [1.0], {}, {"scene": "x", "view": "y"}])
KEYS = [
    ("images", ("sightline",)),
    ("images", ("sightline", "scene")),
    ("images", ("sightline", "view")),
    ("images", ("sightline", "camera")),
    ("annotations", ("sightline",)),
    ("annotations", ("sightline", "object")),
    ("annotations", ("sightline", "shape")),
    ("annotations", ("amodal_segmentation",)),
    ("relations", ("view",)),
    ("annotations", ("image_id",)),
    ("relations", ("object_image_id",)),
]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 1), VALUES), min_size=1, max_size=2))
def test_spoilt_extensions_are_read_or_refused(changes: list[tuple[tuple[str, tuple[str, ...]], int, Any]]) -> None:
    content = copy.deepcopy(EXTENDED)
    for (section, way), row, value in changes:
        place = content[section][row]
        for step in way[:-1]:
            place = place[step] if isinstance(place.get(step), dict) else {}
        place[way[-1]] = copy.deepcopy(value)  # a later change may go into it; drawn values are shared
    with tempfile.TemporaryDirectory() as folder:
        try:
            tables = Tables.concat(coco.read(put(Path(folder) / "c.json", content)))
        except SightlineError:
            return
        assert check_tables(tables) == []
