"""CLEVR scenes: there and back again, which way the lists point, and what bad files say."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clevr_cases import PUBLISHED, SIZE, generated, put
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image

from sightline.errors import DataError, SightlineError
from sightline.scenes import Relation, Scene, View
from sightline.store import check_tables, write_scenes
from sightline.store.convert import scenes_from_tables, tables_from_scenes
from sightline.store.formats import clevr, detect, named
from sightline.store.tables import Tables


def read(path: Path, **options: Any) -> list[Scene]:
    tables = Tables.concat(clevr.read(path, **options))
    assert check_tables(tables) == []
    return list(scenes_from_tables(tables))


def sent(scenes: list[Scene], path: Path) -> dict[str, Any]:
    clevr.write(tables_from_scenes(scenes), path)
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def unordered(scene: Scene) -> Scene:
    return replace(scene, relations=tuple(sorted(scene.relations, key=repr)))


def test_a_published_file_comes_in(tmp_path: Path) -> None:
    first, second = read(put(tmp_path / "s.json", PUBLISHED))
    assert (first.id, first.split, first.source, second.id) == ("val/000007", "val", "clevr", "val/000008")
    assert first.views == (View("0"),)  # no size is invented
    assert not first.sightings
    assert not second.objects
    cylinder, ball = first.objects
    assert (cylinder.category, cylinder.shape, ball.attributes["color"]) == ("cylinder", None, "gray")
    assert [round(v, 6) for v in ball.pose[3::4]] == [2.0, -1.5, 0.35, 1.0]
    assert ball.pose[4] == pytest.approx(0.5)  # sin 30°: counter-clockwise about z
    facts = {(r.subject, r.predicate, r.object) for r in first.relations}
    assert facts == {("1", "right", "0"), ("0", "behind", "1"), ("1", "front", "0"), ("0", "left", "1")}
    assert {r.aspect for r in first.relations} == {"spatial"}


def test_a_published_file_goes_out_as_it_came(tmp_path: Path) -> None:
    after = sent(read(put(tmp_path / "s.json", PUBLISHED)), tmp_path / "out.json")["scenes"]
    for before, now in zip(PUBLISHED["scenes"], after, strict=True):
        assert now["objects"] == before["objects"]
        assert now["image_index"] == before["image_index"]
        assert now["split"] == "val"
    assert after[0]["relationships"] == PUBLISHED["scenes"][0]["relationships"]  # and no empty "contains"


def test_generated_scenes_come_back(tmp_path: Path) -> None:
    before = [generated(k) for k in (3, 4, 11)]
    sent(before, tmp_path / "s.json")
    assert detect(tmp_path / "s.json").name == "clevr"
    assert list(map(unordered, read(tmp_path / "s.json"))) == list(map(unordered, before))


def test_which_way_the_lists_point(tmp_path: Path) -> None:
    told = sent([generated(3)], tmp_path / "s.json")["scenes"][0]["relationships"]
    assert told["left"] == [[], [], [0, 1]]  # 0 and 1 are left of 2
    assert told["right"] == [[2], [], []]
    assert told["contains"] == [[1], [], []]  # 0 contains 1
    assert told["can_contain"] == [[1], [], []]
    assert told["can_support"] == [[], [], [0]]
    assert told["supports"] == told["front"] == told["behind"] == [[], [], []]


def test_what_an_object_says(tmp_path: Path) -> None:
    scene = sent([generated(3)], tmp_path / "s.json")["scenes"][0]
    assert (scene["image_index"], scene["split"]) == (3, "train")
    container, cube, _ = scene["objects"]
    assert {k: container[k] for k in ("shape", "size", "color", "material")} == {
        "shape": "cube_container",
        "size": "medium",
        "color": "red",
        "material": "metal",
    }
    assert container["3d_coords"] == [0.0, 0.0, 0.5]  # half the height above the base
    assert cube["3d_coords"] == pytest.approx([0.0, 0.0, 0.05 + 0.225])
    assert cube["rotation"] == pytest.approx(np.degrees(1.3))
    x, y, depth = container["pixel_coords"]  # the camera looks at the origin, half a metre below the centre
    assert x == pytest.approx(SIZE[0] / 2)
    assert y < SIZE[1] / 2
    assert 15 < depth < np.linalg.norm((10.4, 9.8, 6.6))
    left, behind = (np.array(scene["directions"][name]) for name in ("left", "behind"))
    assert left @ (10.4, -9.8, 0) == pytest.approx(0, abs=1e-9)
    assert behind @ (10.4, -9.8, 0) == pytest.approx(-np.hypot(10.4, 9.8))
    assert np.cross(behind, left)[2] == pytest.approx(1)  # left of where the camera looks


def test_directions_are_those_of_the_original_camera_or_none(tmp_path: Path) -> None:
    scene = generated(3)
    swapped = replace(scene, views=scene.views[::-1])
    alone = replace(scene, views=scene.views[1:], sightings=scene.sightings[3:], relations=())
    a, b = (sent([s], tmp_path / "s.json")["scenes"][0] for s in (scene, swapped))
    assert a["directions"] == b["directions"]
    assert a["objects"][2]["pixel_coords"] != b["objects"][2]["pixel_coords"]  # those are of the first view
    assert "directions" not in sent([alone], tmp_path / "s.json")["scenes"][0]


def test_lists_are_there_though_nothing_holds(tmp_path: Path) -> None:
    scene = replace(generated(3), relations=())
    told = sent([scene], tmp_path / "s.json")["scenes"][0]["relationships"]
    assert set(told) == {"left", "right", "front", "behind", "contains", "supports", "can_contain", "can_support"}
    assert all(lists == [[], [], []] for lists in told.values())


def test_pictures_are_found_again(tmp_path: Path) -> None:
    def picture(shade: int) -> Callable[[], Any]:
        return lambda: np.full((*SIZE[::-1], 3), shade, dtype=np.uint8)

    scene = generated(3)
    views = tuple(replace(v, load_image=picture(50 * k)) for k, v in enumerate(scene.views))
    data = write_scenes([replace(scene, views=views)], tmp_path / "data")
    clevr.write(data.tables(), tmp_path / "s.json")
    (again,) = read(tmp_path / "s.json", images=tmp_path / "data" / "images")
    for k, view in enumerate(again.views):
        with Image.open(view.image_ref) as found:
            assert found.getpixel((0, 0)) == (50 * k,) * 3
    (published, _) = PUBLISHED["scenes"]
    (tmp_path / "val").mkdir()
    Image.new("RGB", (480, 320)).save(tmp_path / "val" / published["image_filename"])
    one = put(tmp_path / "one.json", {"scenes": [published]})
    assert read(one, images=tmp_path)[0].views[0].size == (480, 320)  # told by the picture
    published = {**published, "image_filename": "../data/x.png"}
    with pytest.raises(DataError, match="scene 0, image_filename: picture is missing"):
        read(put(one, {"scenes": [published]}), images=tmp_path)


def test_folders_and_splits(tmp_path: Path) -> None:
    (tmp_path / "scenes").mkdir()
    put(tmp_path / "scenes" / "CLEVR_val_scenes.json", PUBLISHED)
    other = {"scenes": [{"image_index": 7, "objects": []}]}
    put(tmp_path / "scenes" / "CLEVR_x_scenes.json", other)
    assert [s.id for s in read(tmp_path, split="x")] == ["val/000007", "val/000008", "x/000007"]
    assert detect(tmp_path).name == "clevr"
    (scene,) = read(tmp_path / "scenes" / "CLEVR_x_scenes.json")
    assert (scene.id, scene.split) == ("000007", "")
    (tmp_path / "none").mkdir()
    with pytest.raises(DataError, match="folder has no CLEVR scenes"):
        read(tmp_path / "none")


def test_parts_cover_all_scenes_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent([generated(k) for k in range(5)], tmp_path / "s.json")
    monkeypatch.setattr(clevr, "_SCENES_A_PART", 2)
    assert [part.views["scene_id"].n_unique() for part in named("clevr").read(tmp_path / "s.json")] == [2, 2, 1]


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        ({"pose": None}, "world/000003, pose: CLEVR needs every object's place .*none of 1"),
        ({"attributes": {"size": "small", "color": "red"}}, "world/000003, material: .*none of 1"),
    ],
)
def test_scenes_that_do_not_fit_are_refused(tmp_path: Path, spoil: dict[str, Any], says: str) -> None:
    scene = generated(3)
    objects = (scene.objects[0], replace(scene.objects[1], **spoil), scene.objects[2])
    with pytest.raises(DataError, match=says):
        sent([replace(scene, objects=objects)], tmp_path / "s.json")
    assert not (tmp_path / "s.json").exists()


def test_a_camera_is_needed_and_must_see(tmp_path: Path) -> None:
    scene = generated(3)
    blind = replace(scene, views=(replace(scene.views[0], camera=None), scene.views[1]))
    with pytest.raises(DataError, match="camera: CLEVR needs the first view's camera"):
        sent([blind], tmp_path / "s.json")
    far = list(scene.objects[0].pose)
    far[3], far[7] = 30.0, -30.0
    behind = replace(scene.objects[0], id="9", pose=tuple(far))
    with pytest.raises(DataError, match=r"object is behind the camera .*found '9'"):
        sent([replace(scene, objects=(*scene.objects, behind))], tmp_path / "s.json")


def extended() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return sent([generated(3)], Path(folder) / "s.json")


EXTENDED = extended()


def change(base: dict[str, Any], *path: Any, to: Any = None, drop: bool = False) -> dict[str, Any]:
    """A copy with one place of scene 0 changed."""
    content = copy.deepcopy(base)
    place: Any = content["scenes"][0]
    for step in path[:-1]:
        place = place[step]
    if drop:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return content


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ([1], "not CLEVR scenes .*found 'list'"),
        ({"info": {}}, "scenes: key is missing"),
        ({"scenes": [3]}, "scene 0, scenes: entry is not an object .*found 3"),
        ({"scenes": [PUBLISHED["scenes"][0]] * 2}, "row scene 1, image_index: scene stands twice"),
        (change(PUBLISHED, "objects", drop=True), "scene 0, objects: key is missing"),
        (change(PUBLISHED, "objects", to={}), "scene 0, objects: not a list"),
        (change(PUBLISHED, "objects", 1, to=5), r"scene 0, objects\[1\]: entry is not an object"),
        (change(PUBLISHED, "image_index", to=-1), "scene 0, image_index: not a whole number"),
        (change(PUBLISHED, "objects", 1, "color", to=3), r"scene 0, objects\[1\].color: not text .*found 3"),
        (change(PUBLISHED, "objects", 1, "shape", drop=True), r"objects\[1\].shape: not text"),
        (change(PUBLISHED, "objects", 1, "rotation", to="x"), r"objects\[1\].rotation: not a finite number"),
        (change(PUBLISHED, "objects", 1, "3d_coords", to=[1, 2]), r"objects\[1\].3d_coords: .*3 numbers"),
        (change(PUBLISHED, "objects", 1, "3d_coords", 2, to=float("nan")), r"3d_coords: not a finite"),
        (change(PUBLISHED, "relationships", to=[]), "relationships: not an object"),
        (change(PUBLISHED, "relationships", "left", to=[[]]), "left: not one list .*2 lists, found 1"),
        (change(PUBLISHED, "relationships", "left", 0, to=[2]), r"left\[0\]: .*from 0 to 1, found \[2\]"),
        (change(PUBLISHED, "relationships", "left", 0, to=[True]), r"left\[0\]: not a list of object indices"),
        (change(PUBLISHED, "relationships", "left", 0, to=[0]), r"left\[0\]: object related to itself"),
        (change(PUBLISHED, "relationships", "left", 0, to=[1, 1]), r"left\[0\]: index stands twice"),
        (change(EXTENDED, "sightline", to=4), "sightline: not an object"),
        (change(EXTENDED, "sightline", "id", drop=True), "sightline.id: not text"),
        (change(EXTENDED, "sightline", "views", to=[]), "sightline.views: scene has no view"),
        (change(EXTENDED, "sightline", "objects", to=[]), "sightline.objects: not one entry an object .*3 entries"),
        (change(EXTENDED, "objects", 0, "3d_coords", 2, to=0.6), r"objects\[0\].3d_coords: centre contradicts"),
        (change(EXTENDED, "sightline", "objects", 0, "pose", to=[0]), r"sightline.objects\[0\].pose: .*16 numbers"),
        (change(EXTENDED, "sightline", "objects", 1, "id", to="0"), "object id stands twice .*found '0'"),
        (change(EXTENDED, "sightline", "views", 0, "size", to=[0, 3]), r"views\[0\].size: not an image size"),
        (change(EXTENDED, "sightline", "views", 0, "units", to="cm"), r"views\[0\].units: unknown units"),
        (change(EXTENDED, "sightline", "views", 0, "camera", "k", to=[1]), r"views\[0\].camera.k: .*9 numbers"),
        (change(EXTENDED, "sightline", "sightings", 0, "object", to=9), r"sightings\[0\].object: .*from 0 to 2"),
        (change(EXTENDED, "sightline", "sightings", 0, "view", to="x"), r"view: .*original, top, found 'x'"),
        (change(EXTENDED, "sightline", "sightings", 0, "box", to=[5, 5, 5, 9]), "box: box is reversed or empty"),
        (change(EXTENDED, "sightline", "sightings", 0, "amodal", to="0"), r"sightings\[0\].amodal: run lengths do"),
        (change(EXTENDED, "sightline", "sightings", 0, "occluded_fraction", to=2), "share is out of range"),
        (change(EXTENDED, "sightline", "relations", 0, "subject", to="7"), "relation of an unknown object"),
        (change(EXTENDED, "sightline", "relations", 0, "predicate", to="over"), "label outside its range"),
    ],
)
def test_bad_files_say_what_is_wrong_and_where(tmp_path: Path, content: object, says: str) -> None:
    path = put(tmp_path / "s.json", content)
    with pytest.raises(DataError, match=says) as caught:
        read(path)
    assert caught.value.file in (path, str(path))


PATHS: list[tuple[Any, ...]] = []


def _walk(value: Any, way: tuple[Any, ...] = ()) -> None:
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value[:2]):
        PATHS.append((*way, key))
        if isinstance(inner, dict | list):
            _walk(inner, (*way, key))


_walk(EXTENDED)
VALUES = st.sampled_from(
    [None, True, -1, 0, 1, 10**400, 0.5, float("inf"), "", "x", "\ud800", "\0", [], [0], {}, [[]]]
)


EMPTY: dict[str, Any] = {}


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PATHS), VALUES), min_size=1, max_size=2))
@example([(("info",), EMPTY), (("info", "view"), EMPTY)])
def test_spoilt_files_are_read_or_refused(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    content = copy.deepcopy(EXTENDED)
    for way, value in changes:
        place: Any = content
        with suppress(TypeError, KeyError, IndexError):  # an earlier change took the place away
            for step in way[:-1]:
                place = place[step]
            place[way[-1]] = copy.deepcopy(value)  # a later change may go into it; drawn values are shared
    with tempfile.TemporaryDirectory() as folder:
        path = put(Path(folder) / "in.json", content)
        try:
            scenes = list(scenes_from_tables(Tables.concat(clevr.read(path))))
        except SightlineError:
            return
        with suppress(DataError):  # a first view without a camera is read but not written
            sent(scenes, Path(folder) / "out.json")
            again = list(scenes_from_tables(Tables.concat(clevr.read(Path(folder) / "out.json"))))
            assert list(map(unordered, again)) == list(map(unordered, scenes))


def test_relations_that_lists_cannot_hold_are_kept(tmp_path: Path) -> None:
    scene = generated(3)
    odd = (
        Relation("0", "1", "spatial", "left", ("left", "left")),
        Relation("0", "1", "vrd", None),
        Relation("0", "5", "depth", "closer", (), "world/other"),
    )
    sent([replace(scene, relations=odd)], tmp_path / "s.json")
    (again,) = (s for part in clevr.read(tmp_path / "s.json") for s in scenes_from_tables(part))
    assert again.relations == odd
