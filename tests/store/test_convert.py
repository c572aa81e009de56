from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from made_scenes import SCENES, altered, plain_scene, plain_scenes

from sightline.errors import ConfigError, DataError
from sightline.scenes import Scene, View
from sightline.store import SCHEMAS, Tables, scenes_from_tables, tables_from_scenes


@settings(max_examples=30, deadline=None)
@given(SCENES)
def test_scenes_survive_tables(made: tuple[Scene, ...]) -> None:
    tables = tables_from_scenes(made)
    assert all(frame.schema == SCHEMAS[name] for name, frame in tables.frames())
    assert list(scenes_from_tables(tables)) == sorted(made, key=lambda s: s.id)


def test_rows_may_come_in_any_order_of_scenes() -> None:
    made = plain_scenes(9)
    shuffled = tables_from_scenes([made[i] for i in (4, 2, 8, 0, 6, 1, 7, 3, 5)])
    assert list(scenes_from_tables(shuffled)) == made


def test_many_blocks() -> None:
    tables = tables_from_scenes(Scene(f"{i:05d}", views=(View("0"),)) for i in range(4_500))
    assert [s.id for s in scenes_from_tables(tables)] == [f"{i:05d}" for i in range(4_500)]


def test_scenes_come_lazily() -> None:
    assert next(scenes_from_tables(tables_from_scenes(plain_scenes(3)))).id == "s0000"


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        ([Scene("a")], "scene has no view"),  # split and source would be lost
        ([plain_scene(1), plain_scene(1)], "scene id stands twice"),  # one id, two scenes
    ],
)
def test_scenes_that_have_no_tables(made: list[Scene], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        tables_from_scenes(made)


def test_pixels_in_memory_need_a_place() -> None:
    with pytest.raises(ConfigError, match="depth only in memory"):
        tables_from_scenes([Scene("a", views=(View("0", load_depth=lambda: None),))])  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize("table", ["objects", "sightings", "relations"])
def test_rows_without_a_view_are_an_error(table: str) -> None:
    tables = tables_from_scenes([plain_scene(1), plain_scene(2)])
    frames = dict(tables.frames())
    frames["views"] = frames["views"].head(1)
    for other in ("objects", "sightings", "relations"):
        if other != table:
            frames[other] = frames[other].head(3)
    with pytest.raises(DataError, match=f"{table}.scene_id: rows of a scene that has no view .*s0002"):
        list(scenes_from_tables(Tables(**frames)))


@pytest.mark.parametrize(
    ("table", "column", "text"),
    [
        ("views", "camera", "{"),  # not JSON
        ("views", "camera", '{"k": [1]}'),  # a key is missing
        ("objects", "attributes", "{'a': 1}"),  # Python, not JSON
        ("sightings", "landmarks", '[{"nom": 1}]'),  # an unknown key
        ("sightings", "viewpoint", "[]"),  # another type
    ],
)
def test_bad_json_names_the_scene(table: str, column: str, text: str) -> None:
    tables = altered(tables_from_scenes([plain_scene(5)]), table, column, pl.lit(text))
    with pytest.raises(DataError, match="row s0005"):
        list(scenes_from_tables(tables))
