"""What a dataset holds, counted by hand on a small one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from sightline.errors import DataError
from sightline.geometry import masks
from sightline.scenes import Object, Relation, Scene, Sighting, View, Viewpoint
from sightline.show.contents_page import overview
from sightline.store import Dataset, write_scenes
from sightline.store.contents import Contents, contents_of, count

MASK = masks.encode([[1] * 10] * 10)


def scene(number: int, split: str, things: dict[str, tuple[str, tuple[float, float, float, float]]]) -> Scene:
    seen = {key: Viewpoint(azimuth, 0, 0) for key, azimuth in (("a", 350.0), ("b", 91.0))}
    return Scene(
        id=f"s{number}",
        split=split,
        views=(View("0", size=(10, 10) if number < 3 else None),),
        objects=tuple(Object(k, c, {"color": "red" if k == "a" else "blue"}) for k, (c, _) in things.items()),
        sightings=tuple(
            Sighting(
                "0",
                k,
                box,
                MASK if k == "a" and number == 0 else None,
                flags=frozenset({"crowd"} if k == "c" else ()),
                viewpoint=seen.get(k) if number == 0 else None,
            )
            for k, (_, box) in things.items()
        ),
        relations=(Relation("a", "b", "vrd", "on"), Relation("b", "a", "depth", None, ("same", "closer")))
        * (number == 0),
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    made = [
        scene(0, "train", {"a": ("dog", (0, 0, 10, 10)), "b": ("car", (0, 0, 2, 5)), "c": ("dog", (0, 0, 1, 1))}),
        scene(1, "train", {"a": ("dog", (0, 0, 5, 5))}),
        scene(2, "test", {"a": ("car", (0, 0, 5, 4))}),
        scene(3, "test", {"a": ("car", (0, 0, 50, 4)), "b": ("dog", (0, 0, 9, 9))}),  # size never told
    ]
    return write_scenes(made, tmp_path_factory.mktemp("contents") / "data")


def test_everything_is_counted(data: Dataset) -> None:
    found = contents_of(data)
    assert (found.scenes, found.views, found.pictures, found.depth_maps) == (4, 4, 0, 0)
    assert found.splits == {"test": 2, "train": 2}
    assert (found.sizes.total, found.sizes.distinct, found.sizes.commonest) == (3, 1, {"10×10": 3})
    assert found.width is not None
    assert found.width.median == 10
    assert list(found.categories.items()) == [("dog", 4), ("car", 3)]
    assert (found.objects, found.boxes) == (7, 7)
    assert found.boxes_a_view == {1: 2, 2: 1, 3: 1}
    assert found.box_shares is not None  # 1, 0.1, 0.01, 0.25, 0.2: those in pixels of an unknown size are left out
    assert (found.box_shares.least, found.box_shares.median, found.box_shares.greatest) == (0.01, 0.2, 1.0)
    assert found.box_share_bins == {"0.001": 0, "0.003": 0, "0.01": 1, "0.03": 0, "0.1": 1, "0.3": 2, "1": 1}
    assert found.box_aspects is not None
    assert (found.box_aspects.least, found.box_aspects.greatest) == (0.4, 12.5)
    assert found.masks == {"visible": 1, "amodal": 0}
    assert found.flags == {"crowd": 1}
    assert found.attributes["color"].commonest == {"red": 4, "blue": 3}
    assert found.relations == {"vrd": {"on": 1}, "depth": {"no majority": 1}}
    assert found.relations_a_scene == {0: 3, 2: 1}
    assert (found.across, found.voted) == (0, 1)
    (pair,) = found.together
    assert (pair.first, pair.second, pair.scenes) == ("car", "dog", 2)
    assert pair.lift == pytest.approx(2 * 4 / (3 * 3))
    assert {azimuth: n for azimuth, n in found.viewpoints.items() if n} == {0: 1, 90: 1}


def test_some_scenes_are_counted_alone(data: Dataset) -> None:
    assert contents_of(data, ["s1", "s2"]).categories == {"car": 1, "dog": 1}
    assert contents_of(data, []).scenes == 0


def test_fractions_have_shares_without_a_size(tmp_path: Path) -> None:
    made = Scene(
        "n",
        views=(View("0", units="normalised"),),
        objects=(Object("a", "cat"),),
        sightings=(Sighting("0", "a", (0.0, 0.0, 0.5, 0.5)),),
    )
    found = contents_of(write_scenes([made], tmp_path / "d"))
    assert found.box_shares is not None
    assert found.box_shares.mean == 0.25
    assert found.box_aspects is None  # nobody knows whether the image is wide


@pytest.mark.parametrize(
    ("table", "column", "text"),
    [
        ("objects", "attributes", "[1]"),
        ("objects", "attributes", "{"),
        ("sightings", "viewpoint", "{}"),
        ("sightings", "viewpoint", '{"azimuth": "north"}'),
    ],
)
def test_a_damaged_column_is_named(data: Dataset, table: str, column: str, text: str) -> None:
    tables = data.tables()
    spoilt = tables.frame(table).with_columns(pl.lit(text).alias(column))
    with pytest.raises(DataError, match=f"{column}: damaged column"):
        count(replace(tables, **{table: spoilt}))


def test_json_has_a_key_for_everything(data: Dataset) -> None:
    document = contents_of(data).to_dict()
    assert set(document) == set(Contents.__dataclass_fields__)
    assert document["together"] == [{"first": "car", "second": "dog", "scenes": 2, "lift": pytest.approx(8 / 9)}]
    assert document["boxes_a_view"] == {"1": 2, "2": 1, "3": 1}


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("place", "scenes", "boxes", "categories", "commonest"),
    [
        ("coco-metric/instances_val2014_100.json", 100, 839, None, "person"),
        ("vrd", 4735, 32980, 100, "person"),
        ("2.5vrd", 10400, 36063, None, "/m/01g317"),
    ],
)
def test_real_data_is_counted(
    real_data: Path, place: str, scenes: int, boxes: int, categories: int | None, commonest: str | None
) -> None:
    from sightline.store import open_dataset

    found = contents_of(open_dataset(real_data / place))
    assert (found.scenes, found.boxes) == (scenes, boxes)
    assert categories is None or len(found.categories) == categories
    assert commonest is None or next(iter(found.categories)) == commonest
    assert sum(found.boxes_a_view.values()) == found.views
    assert sum(n * views for n, views in found.boxes_a_view.items()) == boxes


def test_relations_in_depth_by_their_names(tmp_path: Path) -> None:
    said = ("in the front of", "stand behind", "on", None)
    votes = [() if name else ("same", "closer") for name in said]
    one = replace(
        scene(1, "", {"a": ("dog", (0, 0, 5, 5)), "b": ("car", (0, 0, 2, 5))}),
        relations=tuple(
            Relation("a", "b", f"aspect{i}", name, vote)
            for i, (name, vote) in enumerate(zip(said, votes, strict=True))
        ),
    )
    rows = {
        row.head: row.cells[0].text for row in overview(contents_of(write_scenes([one], tmp_path / "d")), {}).rows
    }
    assert rows["relations"] == "4"
    assert rows["predicates"] == "3"
    assert rows["relations with behind or front"] == "2"
