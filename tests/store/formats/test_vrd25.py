"""2.5VRD in and out: bad inputs, round trips, the real files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from format_cases import VRD25, lay
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.errors import DataError
from sightline.scenes import ASPECTS, Object, Relation, Scene, Sighting, View, words
from sightline.store import tables_from_scenes
from sightline.store.formats import vrd25
from sightline.store.tables import Tables

OBJECTS, PAIRS = "within_image_objects_test.csv", "within_image_vrd_test.csv"
ACROSS = "across_images_vrd_validation.csv"


def same(one: Tables, other: Tables) -> bool:
    return all(frame.equals(other.frame(name)) for name, frame in one.frames())


def test_reads_both_settings(tmp_path: Path) -> None:
    across_part, within_part = sorted(vrd25.read(lay(tmp_path, VRD25)), key=lambda part: part.views["source"][0])
    assert within_part.views.select("scene_id", "split", "source", "view_id", "units").rows() == [
        ("within_image/test/p", "test", "within_image", "0", "normalised"),
        ("within_image/test/q", "test", "within_image", "0", "normalised"),  # an image without a pair is kept
    ]
    assert within_part.views.select("image", "width", "height").row(0) == (None, None, None)
    assert within_part.objects.select("object_id", "category").rows()[2] == ("7", "/m/02")
    assert within_part.sightings.select("x0", "y0", "x1", "y1").row(0) == (0.1, 0.2, 0.5, 0.6)
    assert within_part.relations.drop("scene_id", "view_id").rows() == [
        ("0", "1", None, "depth", "closer", ["closer", "closer", "farther"]),
        ("0", "1", None, "occlusion", "none", ["none", "none", "none", "occludes", "occludes"]),
        ("7", "1", None, "depth", None, ["closer", "farther"]),
        ("7", "1", None, "occlusion", "mutual", ["mutual", "mutual", "none"]),
    ]
    assert across_part.relations.drop("view_id").rows() == [
        ("across_images/validation/p", "0", "a", "across_images/validation/r", "depth", "farther", ["farther"] * 3)
    ]


@pytest.mark.parametrize(
    ("file", "old", "new", "row", "field"),
    [
        (OBJECTS, "p,1,/m/02,0,1", "p,1,/m/02,1,0", 3, "xmin, xmax"),  # reversed in x
        (OBJECTS, "0.25,0.75", "0.75,0.25", 3, "ymin, ymax"),  # reversed in y
        (OBJECTS, "0.1,0.5,0.2", "0.1,0.1,0.2", 2, "xmin, xmax"),  # empty
        (OBJECTS, "0.3,0.9", "0.3,1.9", 4, "xmax"),  # out of range
        (OBJECTS, "0.3,0.9", "-0.3,0.9", 4, "xmin"),  # negative
        (OBJECTS, "0.3,0.9", "nan,0.9", 4, "xmin"),  # NaN
        (OBJECTS, "p,7,/m/02", "p,1,/m/02", 4, "image_id, object_id"),  # object twice
        (OBJECTS, "p,7,/m/02", "p,7,", 4, "entity"),  # no class
        (OBJECTS, "p,7,", "p,8,", 3, "image_id_1, object_id_1"),  # a pair's object is gone
        (OBJECTS, ",entity", ",class", 1, "entity"),  # missing column
        (OBJECTS, ",entity", ",entity,entity", 1, "entity"),  # doubled column
        (PAIRS, "p,0,p,1", "p,0,p,9", 2, "image_id_2, object_id_2"),  # unknown object
        (PAIRS, "p,0,p,1", "x,0,p,1", 2, "image_id_1, object_id_1"),  # unknown image
        (PAIRS, "p,0,p,1", "p,0,p,0", 2, "image_id_1, object_id_1, image_id_2, object_id_2"),  # with itself
        (PAIRS, "p,7,p,1", "p,0,p,1", 3, "image_id_1, object_id_1, image_id_2, object_id_2"),  # pair twice
        (PAIRS, "p,7,p,1", "p,1,p,0", 3, "image_id_1, object_id_1, image_id_2, object_id_2"),  # twice, reversed
        (PAIRS, "p,0,p,1", "p,0,q,0", 2, "image_id_1, image_id_2"),  # two images within
        (PAIRS, "p,1,1,0", "p,1,4,0", 2, "distance"),  # label out of range
        (PAIRS, "p,1,1,0", "p,1,1,-2", 2, "occlusion"),  # label out of range
        (PAIRS, "p,1,1,0", "p,1,,0", 2, "distance"),  # no label
        (PAIRS, '"1,1,2"', '"1,1,5"', 2, "raw_distance"),  # vote out of range
        (PAIRS, '"1,1,2"', '"1,1,-1"', 2, "raw_distance"),  # nobody votes −1
        (PAIRS, '"1,1,2"', "", 2, "raw_distance"),  # no votes
        (PAIRS, '"1,1,2"', '"1,2,2"', 2, "distance"),  # votes contradict
        (PAIRS, '"1,1,2"', '"1,1,2,2"', 2, "distance"),  # half is no majority
        (PAIRS, '-1,3,"1,2"', '-1,3,"1,1"', 3, "distance"),  # a majority where none is told
        (PAIRS, '"3,3,0"', '"3,0,0"', 3, "occlusion"),  # votes contradict
        (PAIRS, "raw_distance", "raw", 1, "raw_distance"),  # missing column
        (PAIRS, ",raw_distance", ",note,raw_distance", 1, "note"),  # extra column
        (ACROSS, "p,0,r,a", "p,0,p,0", 2, "image_id_1, object_id_1, image_id_2, object_id_2"),  # with itself
        (ACROSS, '2,0,"2,2,2","0,0,0"', '2,1,"2,2,2","1,1,1"', 2, "occlusion"),  # occlusion across images
        (ACROSS, '"0,0,0"', '"0,0,3"', 2, "raw_occlusion"),  # a vote for it
    ],
)
def test_bad_rows(tmp_path: Path, file: str, old: str, new: str, row: int, field: str) -> None:
    assert VRD25[file].count(old) >= 1
    folder = lay(tmp_path, VRD25 | {file: VRD25[file].replace(old, new, 1)})
    with pytest.raises(DataError) as caught:
        list(vrd25.read(folder))
    named = PAIRS if field == "image_id_1, object_id_1" else file  # a lost object shows in the pairs
    assert (caught.value.file, caught.value.row, caught.value.field) == (folder / named, row, field)


def test_one_image_in_an_across_file(tmp_path: Path) -> None:
    objects = VRD25["across_images_objects_validation.csv"] + "p,1,/m/01,0.1,0.2,0.1,0.2\n"
    pairs = VRD25[ACROSS].replace("p,0,r,a", "p,0,p,1")
    folder = lay(tmp_path, {"across_images_objects_validation.csv": objects, ACROSS: pairs})
    with pytest.raises(DataError, match="one image") as caught:
        list(vrd25.read(folder))
    assert (caught.value.row, caught.value.field) == (2, "image_id_1, image_id_2")


@pytest.mark.parametrize("file", [OBJECTS, PAIRS])
@pytest.mark.parametrize("content", ["", "header"])
def test_empty_files(tmp_path: Path, file: str, content: str) -> None:
    folder = lay(tmp_path, VRD25 | {file: content and VRD25[file].splitlines()[0]})
    with pytest.raises(DataError) as caught:
        list(vrd25.read(folder))
    assert caught.value.file == folder / file


def test_half_pairs_are_left_out_and_told(tmp_path: Path) -> None:
    folder = lay(tmp_path, {name: text for name, text in VRD25.items() if name != OBJECTS})
    assert [part.views["source"][0] for part in vrd25.read(folder)] == ["across_images"]
    assert vrd25.notes(folder) == [f"{PAIRS}: left out, {OBJECTS} is not there"]
    assert vrd25.detect(folder)


def test_no_complete_pair_is_an_error(tmp_path: Path) -> None:
    assert not vrd25.detect(tmp_path)
    with pytest.raises(DataError, match="no complete pair"):
        list(vrd25.read(lay(tmp_path, {PAIRS: VRD25[PAIRS]})))


def test_photos_are_referred_to_where_they_are(tmp_path: Path) -> None:
    photos = lay(tmp_path / "photos", {"p.jpg": b"", "other.jpg": b""})
    folder = lay(tmp_path / "data", {name: VRD25[name] for name in (OBJECTS, PAIRS)})
    (part,) = vrd25.read(folder, images=photos)
    assert part.views["image"].to_list() == [str(photos / "p.jpg"), None]
    for nothing in (tmp_path / "nowhere", folder):
        with pytest.raises(DataError, match="photos"):
            list(vrd25.read(folder, images=nothing))


def test_round_trip_keeps_rows_and_ids(tmp_path: Path) -> None:
    tables = Tables.concat(vrd25.read(lay(tmp_path / "in", VRD25)))
    vrd25.write(tables, tmp_path / "out")
    assert same(tables, Tables.concat(vrd25.read(tmp_path / "out")))
    for name in VRD25:
        assert_same_cells(tmp_path / "in" / name, tmp_path / "out" / name)


def assert_same_cells(one: Path, other: Path) -> None:
    """The same rows in the same order, numbers by value and all else letter by letter."""
    number = pl.col("^[xy](min|max)$").cast(pl.Float64)
    first, second = (pl.read_csv(path, infer_schema=False).with_columns(number) for path in (one, other))
    assert first.equals(second)


@pytest.mark.parametrize(
    ("table", "column", "value", "at", "problem"),
    [
        ("views", "source", "elsewhere", 0, "does not fit"),  # not a setting
        ("views", "split", "dev", 0, "does not fit"),  # not a split
        ("views", "units", "pixels", 0, "does not fit"),  # pixels
        ("sightings", "x0", 0.95, 0, "reversed"),  # reversed box
        ("sightings", "x0", float("nan"), 0, "without a box"),  # NaN
        ("sightings", "object_id", "99", 0, "without a box"),  # object not seen
        ("objects", "category", "a\nb", 0, "control"),  # a cell that could not be read back
        ("objects", "category", "", 0, "control"),  # nor this
        ("relations", "object", "99", -1, "unknown object"),  # no such object
        ("relations", "predicate", "behind", 0, "outside its range"),  # not a word of ours
        ("relations", "predicate", None, 0, "contradict"),  # not what the votes say
        ("relations", "votes", [], 0, "without votes"),  # no votes
        ("relations", "votes", ["closer", "perhaps"], 0, "vote outside"),  # not a word of ours
        ("relations", "aspect", "vrd", 0, "without votes"),  # depth without its occlusion
    ],
)
def test_what_does_not_fit_is_not_written(
    tmp_path: Path, table: str, column: str, value: Any, at: int, problem: str
) -> None:
    tables = Tables.concat(vrd25.read(lay(tmp_path / "in", VRD25)))
    frames = dict(tables.frames())
    frame = frames[table]
    cells = frame[column].to_list()
    cells[at] = value
    frames[table] = frame.with_columns(pl.Series(column, cells, dtype=frame.schema[column]))
    with pytest.raises(DataError, match=problem):
        vrd25.write(Tables(**frames), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_nothing_to_write(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no scenes"):
        vrd25.write(Tables.build(), tmp_path / "out")
    tables = Tables.concat(vrd25.read(lay(tmp_path / "in", VRD25)))
    bare = Tables(tables.views, tables.objects, tables.sightings, tables.relations.clear())
    with pytest.raises(DataError, match="no depth or occlusion labels"):
        vrd25.write(bare, tmp_path / "out")


IDS = st.text(st.characters(exclude_categories=("Cc", "Cs"), max_codepoint=0x3FF), min_size=1, max_size=5)


def _majority(votes: list[str]) -> str | None:
    return next((vote for vote in votes if 2 * votes.count(vote) > len(votes)), None)


@st.composite
def datasets(draw: st.DrawFn) -> Tables:
    """Scenes of one setting and split with at least one pair."""
    setting, split = draw(st.sampled_from(vrd25.SETTINGS)), draw(st.sampled_from(vrd25.SPLITS))
    images = draw(st.lists(IDS, min_size=2, max_size=4, unique=True))
    things = [(image, i) for image in images for i in draw(st.lists(IDS, min_size=2, max_size=3, unique=True))]
    span = st.tuples(st.floats(0, 1), st.floats(0, 1)).filter(lambda ends: ends[0] != ends[1]).map(sorted)
    spans = [(draw(span), draw(span)) for _ in things]
    possible = [
        (a, b)
        for n, a in enumerate(things)
        for b in things[n + 1 :]
        if (a[0] == b[0]) == (setting == "within_image")
    ]
    pairs = draw(st.lists(st.sampled_from(possible), min_size=1, max_size=5, unique=True))
    pairs = [(b, a) if draw(st.booleans()) else (a, b) for a, b in pairs]
    across = setting == "across_images"
    relations = []
    for (image, subject), (other, thing) in pairs:
        for aspect in ["depth"] if across else ASPECTS:
            votes = draw(st.lists(st.sampled_from(words(aspect)), min_size=1, max_size=6))
            target = f"{setting}/{split}/{other}" if across else None
            relations.append(
                (f"{setting}/{split}/{image}", subject, thing, target, aspect, _majority(votes), votes)
            )
    scene_ids = [f"{setting}/{split}/{image}" for image, _ in things]
    object_ids = [i for _, i in things]
    categories = [draw(IDS) for _ in things]
    return Tables.build(
        views=pl.DataFrame({"scene_id": scene_ids})
        .unique(maintain_order=True)
        .with_columns(view_id=pl.lit("0"), split=pl.lit(split), source=pl.lit(setting), units=pl.lit("normalised")),
        objects=pl.DataFrame({"scene_id": scene_ids, "object_id": object_ids, "category": categories}),
        sightings=pl.DataFrame(
            {
                "scene_id": scene_ids,
                "view_id": "0",
                "object_id": object_ids,
                "x0": [x[0] for x, _ in spans],
                "y0": [y[0] for _, y in spans],
                "x1": [x[1] for x, _ in spans],
                "y1": [y[1] for _, y in spans],
            }
        ),
        relations=pl.DataFrame(
            relations,
            schema={
                "scene_id": pl.String,
                "subject": pl.String,
                "object": pl.String,
                "object_scene": pl.String,
                "aspect": pl.String,
                "predicate": pl.String,
                "votes": pl.List(pl.String),
            },
            orient="row",
        ),
    )


@settings(max_examples=40, deadline=None)
@given(datasets())
def test_round_trip_of_any_dataset(tmp_path_factory: pytest.TempPathFactory, tables: Tables) -> None:
    folder = tmp_path_factory.mktemp("vrd25")
    vrd25.write(tables, folder)
    assert same(tables, Tables.concat(vrd25.read(folder)))


@pytest.mark.realdata
def test_real_files(real_data: Path, tmp_path: Path) -> None:
    folder = real_data / "2.5vrd"
    parts = {(p.views["source"][0], p.views["split"][0]): p for p in vrd25.read(folder)}
    depth = {key: part.relations.filter(pl.col("aspect") == "depth").height for key, part in parts.items()}
    assert depth == {
        ("within_image", "validation"): 6_325,
        ("within_image", "test"): 23_666,
        ("across_images", "validation"): 6_868,
        ("across_images", "test"): 24_461,
    }
    test = parts["within_image", "test"]
    with_pair = test.relations["scene_id"].n_unique()
    assert test.views.height - with_pair == 13
    assert test.objects.height == 13_893
    assert vrd25.notes(folder) == [
        "across_images_vrd_train.csv: left out, across_images_objects_train.csv is not there"
    ]
    tables = Tables.concat(parts.values())
    vrd25.write(tables, tmp_path)
    assert same(tables, Tables.concat(vrd25.read(tmp_path)))
    for setting, split in parts:
        for kind in ("objects", "vrd"):
            name = f"{setting}_{kind}_{split}.csv"
            assert_same_cells(folder / name, tmp_path / name)


def test_generated_scenes_are_fitted_and_score_the_same(tmp_path: Path) -> None:
    """Splits, pixels, labels without votes: read back, a rule gets the same score as on the scenes themselves."""
    import sightline as sl

    data = sl.generate("geospa/val_default", tmp_path / "scenes", scenes=4, size=(96, 64))
    vrd25.write(data.tables(), tmp_path / "out")
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "within_image_objects_validation.csv",
        "within_image_vrd_validation.csv",
    ]
    back = sl.open(tmp_path / "out")
    scores = [
        sl.examine("bottom_edge", one, sl.RelationsExam(split=split), out=tmp_path / split, baselines=False)[
            0
        ].scores
        for one, split in ((data, "val_default"), (back, "validation"))
    ]
    path = ("subtasks", "within_image/depth", "micro", "all", "f1")
    one, other = (of.at(*path) for of in scores)
    assert one is not None
    assert one == other


def fitting(**changes: Any) -> Tables:
    """Two scenes of another source, in pixels, with a pair within the first and one across both."""
    views = tuple(View(name, size=(200, 100)) for name in ("a", "b"))
    cups = (Object("0", "cup"), Object("1", "mug"), Object("2", "can"))
    seen = (
        Sighting("a", "0", (20, 10, 100, 50)),
        Sighting("a", "1", (0, 0, 10, 10)),
        Sighting("a", "2", (0, 0, 10, 10), flags=frozenset({"hidden"})),
        Sighting("b", "0", (1, 1, 2, 2)),
    )
    told = (
        Relation("0", "1", "depth", "closer"),
        Relation("0", "1", "occlusion", "none", ("none", "none", "occludes")),
        Relation("1", "0", "depth", "farther"),  # the same, the other way round
        Relation("0", "2", "depth", "closer"),  # nobody sees the can
        Relation("0", "2", "occlusion", "none"),
        Relation("1", "0", "spatial", "left"),
        Relation("0", "1", "depth", "farther", view="b"),  # in another view
        Relation("0", "1", "depth", "farther", object_scene="t"),
    )
    given: dict[str, Any] = {"split": "val_default", "views": views, "relations": told, "source": "made"} | changes
    other = replace(Scene("s", objects=cups, sightings=seen, **given), id="t", relations=())
    return tables_from_scenes([Scene("s", objects=cups, sightings=seen, **given), other])


def test_scenes_of_another_source(tmp_path: Path) -> None:
    vrd25.write(fitting(), tmp_path)
    rows = {file.name: file.read_text().splitlines()[1:] for file in tmp_path.iterdir()}
    assert rows == {
        "within_image_objects_validation.csv": ["s,0,cup,0.1,0.5,0.1,0.5", "s,1,mug,0.0,0.05,0.0,0.1"],
        "within_image_vrd_validation.csv": ['s,0,s,1,1,0,1,"0,0,1"'],
        "across_images_objects_validation.csv": [
            f"{scene},{row}" for scene in "st" for row in ("0,cup,0.1,0.5,0.1,0.5", "1,mug,0.0,0.05,0.0,0.1")
        ],
        "across_images_vrd_validation.csv": ["s,0,t,1,2,0,2,0"],
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"split": "kitchen"},
            "2.5VRD has no such split .*begin with train, val or test.*kitchen",
        ),  # none of three
        ({"views": (View("a"), View("b"))}, "the format needs the image size"),  # of pixels a fraction
        ({"relations": (Relation("0", "1", "depth", "closer"),)}, "no depth and occlusion labels"),  # one of two
    ],
)
def test_scenes_that_cannot_be_fitted(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        vrd25.write(fitting(**changes), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
