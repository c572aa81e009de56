"""ADE20K's full annotation: what becomes of every key, who hides whom, and what bad files say."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from PIL import Image

from sightline.errors import ConfigError, DataError
from sightline.geometry import masks
from sightline.scenes import Scene, View
from sightline.store import check_tables
from sightline.store.convert import scene_count, scenes_from_tables
from sightline.store.formats import ade20k, detect, named
from sightline.store.tables import Tables

WIDTH, HEIGHT = 40, 20
ROAD, CAR, WHEEL, TREE, CAT = 0, 2, 3, 7, 8
SEEN, BEHIND = 255, 128


def _thing(number: int, name: str, **more: Any) -> dict[str, Any]:
    told = {
        "id": number,
        "name": name,
        "name_ndx": 5,
        "hypernym": [name, "entity"],
        "raw_name": name.split(",")[0],
        "attributes": [],
        "depth_ordering_rank": number + 1,
        "occluded": [],
        "crop": "0",
        "parts": {"hasparts": [], "ispartof": [], "part_level": 0},
        "instance_mask": f"X/instance_{number:03d}_X.png",
        "polygon": {"x": [1, 2, 3], "y": [1, 2, 3]},
    }
    return told | more


ANNOTATION: dict[str, Any] = {
    "filename": "X.jpg",
    "folder": "ADE20K_2021_17_01/images/ADE/validation/urban/street",
    "imsize": [HEIGHT, WIDTH, 3],
    "scene": ["outdoor", "urban", "street"],
    "object": [
        _thing(ROAD, "road, route", occluded="yes", crop="1"),
        _thing(
            CAR,
            "car, auto",
            occluded="yes",
            crop="1",
            attributes="parked, red ",
            raw_name="my  car",
            parts={"hasparts": WHEEL, "ispartof": [], "part_level": 0},
        ),
        _thing(WHEEL, "wheel", occluded="no", parts={"hasparts": [], "ispartof": CAR, "part_level": 1}),
        _thing(TREE, "tree", attributes=["bare"]),
        _thing(CAT, "cat", crop="1"),
    ],
}
BOXES = {
    ROAD: (0, 10, 40, 20),
    CAR: (10, 5, 30, 15),
    WHEEL: (12, 12, 15, 15),
    TREE: (20, 0, 24, 12),
    CAT: (4, 12, 6, 14),
}


def drawn() -> dict[int, NDArray[np.uint8]]:
    """Tree before car before road; the cat is wholly behind the road; the wheel hides nothing of its car."""
    whole = {number: np.zeros((HEIGHT, WIDTH), dtype=bool) for number in BOXES}
    for number, (x0, y0, x1, y1) in BOXES.items():
        whole[number][y0:y1, x0:x1] = True
    before = {ROAD: (CAR, TREE), CAR: (TREE,), WHEEL: (), TREE: (), CAT: (ROAD,)}
    pictures = {}
    for number, mask in whole.items():
        behind = np.zeros_like(mask)
        for other in before[number]:
            behind |= whole[other]
        pictures[number] = np.where(mask, np.where(behind, BEHIND, SEEN), 0).astype(np.uint8)
    return pictures


def lay(folder: Path, annotation: object = ANNOTATION, *, encoding: str = "utf-8", photo: bool = True) -> Path:
    home = folder / "images" / "ADE" / "validation"
    (home / "X").mkdir(parents=True)
    (home / "X.json").write_bytes(json.dumps({"annotation": annotation}, ensure_ascii=False).encode(encoding))
    for number, pixels in drawn().items():
        Image.fromarray(pixels).save(home / "X" / f"instance_{number:03d}_X.png")
    if photo:
        Image.new("RGB", (WIDTH, HEIGHT)).save(home / "X.jpg")
    return folder


def read(path: Path, **options: Any) -> list[Scene]:
    tables = Tables.concat(named("ade20k").read(path, **options))
    assert check_tables(tables) == []
    return list(scenes_from_tables(tables))


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    (scene,) = read(lay(tmp_path_factory.mktemp("ade")))
    return scene


def test_scene_and_view(street: Scene) -> None:
    assert (street.id, street.split, street.source) == ("validation/urban/street/X", "validation", "ade20k")
    (view,) = street.views
    assert (view.id, view.size, view.units, Path(view.image_ref or "").name) == (
        "0",
        (WIDTH, HEIGHT),
        "pixels",
        "X.jpg",
    )


def test_names_and_attributes(street: Scene) -> None:
    assert [(o.id, o.category) for o in street.objects] == [
        ("0", "road"),
        ("2", "car"),
        ("3", "wheel"),
        ("7", "tree"),
        ("8", "cat"),
    ]
    assert street.object("2").attributes == {
        "name": "car, auto",
        "raw_name": "my car",
        "hypernyms": "car, auto; entity",
        "attributes": "parked, red",
        "parked": "yes",
        "red": "yes",
        "crop": "1",
        "depth_order": "3",
    }
    assert street.object("7").attributes["bare"] == "yes"
    assert "attributes" not in street.object("3").attributes


def test_masks_boxes_and_flags(street: Scene) -> None:
    seen = {int(s.object_id): s for s in street.sightings}
    pictures = drawn()
    for number, sighting in seen.items():
        assert sighting.visible_mask == masks.encode(pictures[number] == SEEN)
        if sighting.amodal_mask is not None:
            assert sighting.amodal_mask == masks.encode(pictures[number] > 0)
    assert {
        number: s.box for number, s in seen.items()
    } == BOXES  # of the cat, of which nothing is seen, the outline
    assert {number for number, s in seen.items() if s.amodal_mask is None} == {TREE}  # nobody said, nothing hidden
    assert seen[TREE].occluded_fraction is None
    assert seen[WHEEL].occluded_fraction == 0.0  # the annotator said so
    assert seen[CAR].occluded_fraction == pytest.approx(4 * 7 / 200)
    assert {number: set(s.flags) for number, s in seen.items()} == {
        ROAD: {"occluded", "truncated", "stuff"},
        CAR: {"occluded"},  # crop is 1, but the edge is far
        WHEEL: {"part"},
        TREE: {"occluded_unknown"},  # at the edge, but crop is 0
        CAT: {"occluded_unknown", "hidden"},
    }


def test_relations(street: Scene) -> None:
    assert [(r.subject, r.predicate, r.object) for r in street.relations if r.aspect == "part"] == [
        ("2", "has_part", "3")  # told by both, kept once
    ]
    assert {(r.subject, r.predicate, r.object) for r in street.relations if r.aspect == "occlusion"} == {
        ("0", "occluded", "2"),
        ("0", "occluded", "7"),
        ("2", "occluded", "7"),
        ("0", "occludes", "8"),
    }
    assert len(street.relations) == 5


@settings(max_examples=60, deadline=None)
@given(rows=arrays(np.uint8, (4, 6), elements=st.sampled_from([0, BEHIND, SEEN])))
def test_any_mask(tmp_path_factory: pytest.TempPathFactory, rows: NDArray[np.uint8]) -> None:
    folder = lay(
        tmp_path_factory.mktemp("m"), ANNOTATION | {"imsize": [4, 6, 3], "object": _thing(0, "a")}, photo=False
    )
    Image.fromarray(rows).save(folder / "images/ADE/validation/X/instance_000_X.png")
    (scene,) = read(folder)
    assert [s.visible_mask for s in scene.sightings] == ([masks.encode(rows == SEEN)] if rows.any() else [])
    if (rows == BEHIND).any():
        assert scene.sightings[0].amodal_mask == masks.encode(rows > 0)
        assert scene.sightings[0].occluded_fraction == pytest.approx((rows == BEHIND).sum() / (rows > 0).sum())


@pytest.mark.parametrize(
    ("pixels", "predicate"),
    [
        (1, None),  # 1 of 200 pixels: less than 1 %
        (2, "occludes"),
    ],
)
def test_a_sloppy_edge_hides_nothing(tmp_path: Path, pixels: int, predicate: str | None) -> None:
    left, right = _thing(0, "left"), _thing(1, "right")
    folder = lay(tmp_path / "d", ANNOTATION | {"object": [left, right]})
    a, b = (np.zeros((HEIGHT, WIDTH), dtype=np.uint8) for _ in range(2))
    a[:, :10] = b[:, 10:20] = SEEN
    a[:pixels, 9], b[:pixels, 9] = SEEN, BEHIND
    b[:pixels, 19] = 0  # 200 pixels again
    for number, mask in enumerate((a, b)):
        Image.fromarray(mask).save(folder / f"images/ADE/validation/X/instance_{number:03d}_X.png")
    (scene,) = read(folder)
    assert [r.predicate for r in scene.relations] == ([predicate] if predicate else [])


def test_hiding_each_other(tmp_path: Path) -> None:
    folder = lay(tmp_path / "d", ANNOTATION | {"object": [_thing(0, "left"), _thing(1, "right")]})
    a = np.full((HEIGHT, WIDTH), SEEN, dtype=np.uint8)
    a[:5] = BEHIND
    b = np.where(a == SEEN, BEHIND, SEEN).astype(np.uint8)
    for number, mask in enumerate((a, b)):
        Image.fromarray(mask).save(folder / f"images/ADE/validation/X/instance_{number:03d}_X.png")
    (scene,) = read(folder)
    assert [r.predicate for r in scene.relations] == ["mutual"]


def test_an_object_that_stands_alone_and_one_without_pixels(tmp_path: Path) -> None:
    folder = lay(tmp_path / "d", ANNOTATION | {"object": _thing(0, "ghost")})  # no list, as the files write it
    Image.new("L", (WIDTH, HEIGHT)).save(folder / "images/ADE/validation/X/instance_000_X.png")
    (scene,) = read(folder)
    assert ([o.category for o in scene.objects], scene.sightings) == (["ghost"], ())


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_both_encodings(tmp_path: Path, encoding: str) -> None:
    annotation = ANNOTATION | {"object": [_thing(ROAD, "café")]}
    (scene,) = read(lay(tmp_path / "d", annotation, encoding=encoding))
    assert scene.objects[0].category == "café"


def test_splits_and_photos(tmp_path: Path) -> None:
    folder = lay(tmp_path / "d", photo=False)
    assert detect(folder).name == detect(folder / "images/ADE/validation/X.json").name == "ade20k"
    assert named("ade20k").notes(folder) == ["1 annotations without their photo beside: kept, without a picture"]
    assert read(folder)[0].views == (View("0", size=(WIDTH, HEIGHT), stuff_classes=("road",)),)
    assert read(folder, split="train") == []
    assert [s.split for s in read(folder, split="validation")] == ["validation"]
    bare = lay(tmp_path / "e", ANNOTATION | {"folder": "mine"})
    assert [(s.id, s.split) for s in read(bare, split="train")] == [("train/X", "train")]
    assert [(s.id, s.split) for s in read(bare)] == [("X", "")]
    assert named("ade20k").notes(bare) == []
    with pytest.raises(ConfigError, match="no import option 'images'"):
        read(bare, images=bare)


def _set(*way: Any) -> Callable[[Any], None]:
    """Puts the last of `way` at the place that the others lead to."""

    def spoil(content: Any) -> None:
        *path, key, value = way
        for step in path:
            content = content[step]
        content[key] = value

    return spoil


ERRORS = [
    (_set("object", 1, "instance_mask", "X/gone.png"), "row object 2, instance_mask: file is missing .*gone.png"),
    (_set("object", 1, "instance_mask", "../X.jpg"), "row object 2, instance_mask: mask lies elsewhere"),
    (_set("object", 1, "instance_mask", "X.jpg"), r"instance_mask: mask of another size or kind .*'RGB of 40×20'"),
    (_set("object", 1, "instance_mask", "X.json"), "instance_mask: picture cannot be read"),
    (_set("object", 1, "parts", "hasparts", [5]), r"object 2, parts\.hasparts: relation to an unknown.*found 5"),
    (_set("object", 1, "parts", "ispartof", CAR), r"object 2, parts\.ispartof: relation to an unknown"),  # itself
    (_set("object", 1, "parts", []), "object 2, parts: not parts"),
    (_set("object", 1, "id", ROAD), r"row object\[1\], id: id stands twice"),
    (_set("object", 1, "id", "2"), r"row object\[1\], id: not a whole number"),
    (_set("object", 1, "occluded", "maybe"), "occluded: not a mark .*yes, no or"),
    (_set("object", 1, "crop", "2"), "crop: not a mark .*0 or 1"),
    (_set("object", 1, "depth_ordering_rank", "x"), "depth_ordering_rank: not a whole number"),
    (_set("object", 1, "attributes", [3]), "attributes: not text"),
    (lambda a: a["object"][1].update(name=[], raw_name=""), "object 2, name: object without a name"),
    (_set("object", 1, 3), r"row object\[1\], object: entry is not an object"),
    (_set("imsize", [HEIGHT]), "imsize: not an image size"),
    (_set("imsize", [HEIGHT, WIDTH + 1, 3]), r"instance_mask: mask of another size.*41×20.*found 'L of 40×20'"),
    (lambda a: a.pop("object"), "object: key is missing"),
]


@pytest.mark.parametrize(("spoil", "message"), ERRORS)
def test_bad_annotation(tmp_path: Path, spoil: Callable[[Any], None], message: str) -> None:
    annotation = copy.deepcopy(ANNOTATION)
    spoil(annotation)
    with pytest.raises(DataError, match=rf"X\.json, .*{message}"):
        read(lay(tmp_path / "d", annotation))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{\n", r"X\.json, row 2: not JSON"),
        ("[]", r"X\.json, annotation: not an annotation"),
        ('{"annotation": 3}', r"X\.json, annotation: not an annotation"),
    ],
)
def test_broken_json(tmp_path: Path, text: str, message: str) -> None:
    folder = lay(tmp_path / "d")
    (folder / "images/ADE/validation/X.json").write_text(text)
    with pytest.raises(DataError, match=message):
        read(folder)


def test_bad_masks_and_folders(tmp_path: Path) -> None:
    folder = lay(tmp_path / "d")
    mask = folder / "images/ADE/validation/X/instance_002_X.png"
    whole = mask.read_bytes()
    Image.fromarray(np.full((HEIGHT, WIDTH), 7, dtype=np.uint8)).save(mask)
    with pytest.raises(DataError, match=r"object 2, instance_mask: mask has other values .*found '7'"):
        read(folder)
    mask.write_bytes(whole[:60])  # the header is whole, the pixels are not
    with pytest.raises(DataError, match="object 2, instance_mask: picture cannot be read"):
        read(folder)
    mask.write_bytes(whole)
    other = folder / "images/ADE/training"
    (folder / "images/ADE/validation").rename(other)
    other.joinpath("X.json").with_name("Y.json").write_bytes(other.joinpath("X.json").read_bytes())
    with pytest.raises(DataError, match=r"Y\.json, row annotation, filename: photo stands twice"):
        read(folder)
    (tmp_path / "empty").mkdir()
    assert not ade20k.detect(tmp_path / "empty")
    with pytest.raises(DataError, match="no ADE20K annotation"):
        read(tmp_path / "empty")


@pytest.mark.realdata
def test_real_photos(real_data: Path) -> None:
    assert detect(real_data / "ade20k").name == "ade20k"
    tables = Tables.concat(named("ade20k").read(real_data / "ade20k"))
    assert check_tables(tables) == []
    assert (scene_count(tables), tables.objects.height, tables.sightings.height) == (3, 139, 139)
    kinds = dict(tables.relations.group_by("aspect").len().iter_rows())
    assert kinds == {"part": 30, "occlusion": 91}
    scenes = {scene.id.rpartition("_")[2]: scene for scene in scenes_from_tables(tables)}
    walkers = [o for s in scenes.values() for o in s.objects if o.attributes.get("walking") == "yes"]
    assert [o.category for o in walkers] == ["person"] * 3
    truncated = {s.object_id for s in scenes["00016964"].sightings if "truncated" in s.flags}
    assert truncated == {"5", "16"}  # a van and a lamp post at the right edge
    for scene in scenes.values():
        assert scene.id.startswith("train/urban/street/")
        assert scene.views[0].image().shape[:2] == scene.views[0].require_size()[::-1]


@pytest.mark.realdata
def test_real_masks_agree_with_the_class_map(real_data: Path) -> None:
    """X_seg.png is not read: it must say the same, class by class, in red and green."""
    (file,) = (real_data / "ade20k").rglob("ADE_train_00016964.json")
    (scene,) = read(file)
    told = json.loads(file.read_text())["annotation"]["object"]
    seg = np.asarray(Image.open(file.with_name(f"{file.stem}_seg.png"))).astype(int)
    classes = seg[..., 0] // 10 * 256 + seg[..., 1]
    ours, parts = np.zeros_like(classes), np.zeros(classes.shape, dtype=bool)
    for sighting, thing in zip(scene.sightings, told, strict=True):
        assert sighting.visible_mask is not None
        mask = masks.decode(sighting.visible_mask, *classes.shape)
        if thing["parts"]["part_level"]:
            parts |= mask
        else:
            ours[mask] = thing["name_ndx"]
    apart = ours != classes
    assert not (apart & ~(parts & (ours == 0))).any()  # where a part sticks out, the map counts it for the whole
    assert apart.sum() < 300
