"""Visual Relationship Detection: both forms say the same, what is left out is counted, and what bad files say."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st
from PIL import Image
from typer.testing import CliRunner

from sightline.cli import app
from sightline.errors import ConfigError, DataError
from sightline.scenes import Relation, Scene, View
from sightline.store import check_tables
from sightline.store.convert import scene_count, scenes_from_tables
from sightline.store.formats import detect, named, vrd
from sightline.store.tables import Tables

PERSON, HAT, HORSE = 0, 1, 2
WEAR, ON = 0, 1
ONE_FILE: dict[str, Any] = {
    "objects": ["person", "hat", "horse"],
    "predicates": ["wear", "on"],
    "train": [
        {
            "image": "a_b.jpg",
            "classes": [PERSON, HAT, HORSE],
            "boxes_xyxy": [[10, 20, 40, 90], [15, 20, 30, 30.5], [0, 50, 100, 120]],
            "relations_s_p_o": [[0, WEAR, 1], [0, ON, 2], [2, ON, 2], [0, WEAR, 1]],
        }
    ],
    "test": [{"image": "c.png", "classes": [], "boxes_xyxy": [], "relations_s_p_o": []}],
}


def _end(category: int, ymin: float, ymax: float, xmin: float, xmax: float) -> dict[str, Any]:
    return {"category": category, "bbox": [ymin, ymax, xmin, xmax]}


_RIDER, _HAT, _HORSE = _end(PERSON, 20, 90, 10, 40), _end(HAT, 20, 30.5, 15, 30), _end(HORSE, 50, 120, 0, 100)
RELEASE: dict[str, Any] = {
    "objects": ONE_FILE["objects"],
    "predicates": ONE_FILE["predicates"],
    "annotations_train": {
        "a_b.jpg": [
            {"predicate": WEAR, "subject": _RIDER, "object": _HAT},
            {"predicate": ON, "subject": _RIDER, "object": _HORSE},
            {"predicate": ON, "subject": _HORSE, "object": _HORSE},
            {"predicate": WEAR, "subject": _RIDER, "object": _HAT},
        ]
    },
    "annotations_test": {"c.png": []},
}


def one_file(folder: Path, content: object = ONE_FILE) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "vrd.json").write_text(json.dumps(content))
    return folder


def release(folder: Path, content: dict[str, Any] = RELEASE) -> Path:
    folder.mkdir(exist_ok=True)
    for name, value in content.items():
        (folder / f"{name}.json").write_text(json.dumps(value))
    return folder


def read(path: Path, **options: Any) -> list[Scene]:
    tables = Tables.concat(named("vrd").read(path, **options))
    assert check_tables(tables) == []
    return list(scenes_from_tables(tables))


@pytest.mark.parametrize("lay", [one_file, release])
def test_both_forms_say_the_same(tmp_path: Path, lay: Callable[[Path], Path]) -> None:
    folder = lay(tmp_path / "d")
    assert detect(folder).name == "vrd"
    empty, ride = read(folder)
    assert (ride.id, ride.split, ride.source) == ("train/a_b", "train", "vrd")
    assert ride.views == (View("0"),)  # pixels, and no size is invented
    assert [thing.category for thing in ride.objects] == ["person", "hat", "horse"]
    assert [s.box for s in ride.sightings] == [(10, 20, 40, 90), (15, 20, 30, 30.5), (0, 50, 100, 120)]
    assert ride.relations == (Relation("0", "1", "vrd", "wear"), Relation("0", "2", "vrd", "on"))
    assert (empty.id, empty.split, empty.objects) == ("test/c", "test", ())
    assert named("vrd").notes(folder) == [
        "train: 1 relations of an object to itself, left out",
        "train: 1 relations told again, left out",
        "test: 1 photos without any annotation, kept as scenes without objects",
    ]


def test_same_box_of_another_class_is_another_object(tmp_path: Path) -> None:
    content = copy.deepcopy(RELEASE)
    hat = _end(HAT, *_RIDER["bbox"])
    content["annotations_train"] = {"x.jpg": [{"predicate": ON, "subject": _RIDER, "object": hat}]}
    assert [o.category for o in read(release(tmp_path / "d", content))[1].objects] == ["person", "hat"]


def test_one_split_and_half_a_release(tmp_path: Path) -> None:
    folder = release(tmp_path / "d")
    assert [s.id for s in read(folder, split="test")] == ["test/c"]
    with pytest.raises(ConfigError, match="no split 'val' \\(it has train, test\\)"):
        read(folder, split="val")
    (folder / "annotations_train.json").unlink()
    assert [s.id for s in read(folder)] == ["test/c"]


def test_photos_bring_their_size(tmp_path: Path) -> None:
    pictures = tmp_path / "photos" / "sg_train_images"
    pictures.mkdir(parents=True)
    Image.new("RGB", (100, 120)).save(pictures / "a_b.jpg")
    empty, ride = read(one_file(tmp_path / "d"), images=tmp_path / "photos")
    assert (ride.views[0].size, Path(ride.views[0].image_ref or "").name) == ((100, 120), "a_b.jpg")
    assert (empty.views[0].size, empty.views[0].image_ref) == (None, None)
    (pictures / "a_b.jpg").write_bytes(b"no picture")
    assert read(one_file(tmp_path / "d"), images=tmp_path / "photos")[1].views[0].size is None


@pytest.mark.parametrize(
    ("size", "is_inside"),
    [
        ((100, 120), True),
        ((99, 119), True),  # drawing tools round
        ((98, 120), False),  # beyond the right edge
        ((100, 118), False),  # beyond the bottom edge
    ],
)
def test_boxes_beyond_the_photo_are_refused(tmp_path: Path, size: tuple[int, int], is_inside: bool) -> None:
    (tmp_path / "photos").mkdir()
    Image.new("RGB", size).save(tmp_path / "photos" / "a_b.jpg")
    if is_inside:
        assert read(one_file(tmp_path / "d"), images=tmp_path / "photos")[1].views[0].size == size
        return
    message = rf"row train\[0\], box: box leaves the image \(expected within the {size[0]} × {size[1]} pixels"
    with pytest.raises(DataError, match=message):
        read(one_file(tmp_path / "d"), images=tmp_path / "photos")


def _set(*way: Any) -> Callable[[Any], None]:
    """Puts the last of `way` at the place that the others lead to."""

    def spoil(content: Any) -> None:
        *path, key, value = way
        for step in path:
            content = content[step]
        content[key] = value

    return spoil


FIRST = ("train", 0)
ONE_FILE_ERRORS = [
    (_set(*FIRST, "classes", 1, 3), r"row train\[0\], classes\[1\]: unknown class number .*0 to 2, found 3"),
    (_set(*FIRST, "classes", 1, True), r"classes\[1\]: unknown class number"),  # True is no 1
    (_set(*FIRST, "classes", [0]), r"boxes_xyxy: not one box an object \(expected 1 boxes, found 3\)"),
    (_set(*FIRST, "boxes_xyxy", 2, [1, 2, 3]), r"boxes_xyxy\[2\]: box has not four numbers .*\[xmin, ymin"),
    (_set(*FIRST, "boxes_xyxy", 0, [40, 20, 10, 90]), r"boxes_xyxy\[0\]: box is reversed .*found \[40, 20, 10"),
    (_set(*FIRST, "boxes_xyxy", 0, [40, 20, 40, 90]), r"boxes_xyxy\[0\]: box is reversed or empty"),
    (
        _set(*FIRST, "boxes_xyxy", 0, [10, -20, 40, 90]),
        r"boxes_xyxy\[0\]: box leaves the image .*below 0 by over 1",
    ),
    (_set(*FIRST, "boxes_xyxy", 0, [0, 0, 1, float("nan")]), r"boxes_xyxy\[0\]: not a finite number"),
    (_set(*FIRST, "relations_s_p_o", 1, [0, ON, 3]), r"relations_s_p_o\[1\]: relation to an unknown.*found \[0, 1"),
    (_set(*FIRST, "relations_s_p_o", 1, [-1, ON, 0]), r"relations_s_p_o\[1\]: relation to an unknown object"),
    (_set(*FIRST, "relations_s_p_o", 1, [0, 2, 1]), r"relations_s_p_o\[1\]: unknown predicate number .*0 to 1, f"),
    (_set(*FIRST, "relations_s_p_o", 1, [0, 2]), r"relations_s_p_o\[1\]: not a triple"),
    (_set(*FIRST, "relations_s_p_o", None), r"relations_s_p_o: not a list"),
    (_set(*FIRST, "image", 7), "image: not a file name"),
    (_set("train", 0, []), r"row train\[0\], train: entry is not an object"),
    (_set("train", {}), "train: not a list"),
    (_set("train", [ONE_FILE["train"][0]] * 2), r"row train\[1\], image: photo stands twice .*found 'a_b.jpg'"),
    (_set("objects", ["a", "a", "b"]), "objects: name stands twice"),
    (_set("predicates", "on"), "predicates: not a list of names"),
    (lambda content: content["train"][0].pop("classes"), "classes: key is missing"),
    (lambda content: (content.pop("train"), content.pop("test")), "train or test: key is missing"),
]


@pytest.mark.parametrize(("spoil", "message"), ONE_FILE_ERRORS)
def test_bad_file(tmp_path: Path, spoil: Callable[[Any], None], message: str) -> None:
    content = copy.deepcopy(ONE_FILE)
    spoil(content)
    with pytest.raises(DataError, match=rf"vrd\.json, .*{message}"):
        read(one_file(tmp_path / "d", content))


RELATION = ("annotations_train", "a_b.jpg", 1)
RELEASE_ERRORS = [
    (_set(*RELATION, "subject", "category", 9), r"row a_b.jpg, \[1\]\.subject\.category: unknown class number"),
    (_set(*RELATION, "object", "bbox", [1, 2]), r"\[1\]\.object\.bbox: box has not four numbers .*\[ymin, ymax"),
    (_set(*RELATION, "object", "bbox", [9, 2, 1, 5]), r"\[1\]\.object\.bbox: box is reversed"),  # ymin > ymax
    (_set(*RELATION, "predicate", 2), r"\[1\]\.predicate: unknown predicate number .*0 to 1, found 2"),
    (_set(*RELATION, "object", None), r"\[1\]\.object: entry is not an object"),
    (_set("annotations_train", "a_b.jpg", {}), "row a_b.jpg, relations: not a list"),
]


@pytest.mark.parametrize(("spoil", "message"), RELEASE_ERRORS)
def test_bad_release(tmp_path: Path, spoil: Callable[[Any], None], message: str) -> None:
    content = json.loads(json.dumps(RELEASE))  # the rider is one object here, and may differ from place to place
    spoil(content)
    with pytest.raises(DataError, match=rf"annotations_train\.json, .*{message}"):
        read(release(tmp_path / "d", content))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("annotations_test", '{"a": [\n', r"annotations_test\.json, row 2: not JSON"),  # broken
        ("annotations_test", "[]", r"annotations_test\.json: not annotations"),
        ("objects", '{"a": 1}', r"objects\.json: not a list of names"),
        ("predicates", '["\\u00e9", "on"', r"predicates\.json, row 1: not JSON"),
    ],
)
def test_broken_files_of_a_release(tmp_path: Path, name: str, text: str, message: str) -> None:
    folder = release(tmp_path / "d")
    (folder / f"{name}.json").write_text(text)
    with pytest.raises(DataError, match=message):
        read(folder)


def test_no_vrd_here(tmp_path: Path) -> None:
    folder = release(tmp_path / "d")
    (folder / "predicates.json").unlink()
    assert not vrd.detect(folder)
    with pytest.raises(DataError, match=r"not a folder of Visual Relationship.*predicates\.json"):
        read(folder)


NASTY = [b"", b"-", b"9", b"]", b'"', b",", b"\xff", b"\0", b"null", b"1e999", b"{"]


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    lay=st.sampled_from([one_file, release]),
    which=st.integers(0, 3),
    at=st.integers(0, 999),
    cut=st.integers(0, 2),
    nasty=st.sampled_from(NASTY),
)
@example(lay=one_file, which=0, at=142, cut=1, nasty=b"-")  # a box that begins 20 pixels above the photo
def test_however_spoilt(
    tmp_path_factory: pytest.TempPathFactory, lay: Any, which: int, at: int, cut: int, nasty: bytes
) -> None:
    folder = lay(tmp_path_factory.mktemp("m"))
    files = sorted(folder.iterdir())
    file = files[which % len(files)]
    content = file.read_bytes()
    at %= len(content) + 1
    file.write_bytes(content[:at] + nasty + content[at + cut :])
    try:
        tables = Tables.concat(vrd.read(folder))
    except DataError as error:
        if error.file is None:
            raise
        event("refused")
    else:
        assert check_tables(tables) == []
        event("accepted")


def test_the_command_tells_what_it_leaves_out(tmp_path: Path) -> None:
    source, runner = release(tmp_path / "d"), CliRunner()
    done = runner.invoke(app, ["import", str(source), "--out", str(tmp_path / "o"), "--json"])
    told = json.loads(done.stdout)
    assert (done.exit_code, told["format"], told["scenes"], told["rows"]["relations"]) == (0, "vrd", 2, 2)
    assert told["notes"][0] == "train: 1 relations of an object to itself, left out"
    (source / "annotations_test.json").write_text("{")
    assert runner.invoke(app, ["import", str(source), "--out", str(tmp_path / "p")]).exit_code != 0
    assert not (tmp_path / "p").exists()


@pytest.mark.realdata
def test_real_annotations(real_data: Path) -> None:
    folder = real_data / "vrd"
    assert detect(folder).name == detect(folder / "vrd.json").name == "vrd"
    tables = Tables.concat(named("vrd").read(folder))
    assert check_tables(tables) == []
    photos = dict(tables.views["split"].value_counts().iter_rows())
    assert (photos, scene_count(tables)) == ({"train": 3780, "test": 955}, 4735)
    assert (tables.objects["category"].n_unique(), tables.relations["predicate"].n_unique()) == (100, 70)
    assert tables.objects.height == tables.sightings.height == 26_287 + 6_693
    assert tables.relations.height == 29_857 + 7_474 - 139
    assert tables.views["width"].null_count() == 4735
    assert named("vrd").notes(folder) == [
        "train: 105 relations of an object to itself, left out",
        "test: 34 relations of an object to itself, left out",
    ]


@pytest.mark.realdata
def test_real_annotations_laid_out_as_the_release(real_data: Path, tmp_path: Path) -> None:
    told = json.loads((real_data / "vrd" / "vrd.json").read_text())
    content: dict[str, Any] = {name: told[name] for name in ("objects", "predicates")}
    content["annotations_test"] = {
        photo["image"]: [
            {"predicate": p, "subject": _of(photo, s), "object": _of(photo, o)}
            for s, p, o in photo["relations_s_p_o"]
        ]
        for photo in told["test"]
    }
    one, other = (
        {(scene.id, _facts(scene)) for scene in read(path, split="test")}
        for path in (real_data / "vrd", release(tmp_path / "d", content))
    )
    assert one == other
    assert sum(len(facts) for _, facts in one) == 7_474 - 34


def _of(photo: dict[str, Any], place: int) -> dict[str, Any]:
    x0, y0, x1, y1 = photo["boxes_xyxy"][place]
    return _end(photo["classes"][place], y0, y1, x0, x1)


def _facts(scene: Scene) -> frozenset[tuple[Any, ...]]:
    things = {s.object_id: (scene.object(s.object_id).category, s.box) for s in scene.sightings}
    return frozenset((things[r.subject], r.predicate, things[r.object]) for r in scene.relations)
