"""What check_tables finds, against a slow reading of the rules for votes and pairs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_scenes import altered, plain_scenes

from sightline.errors import DataError
from sightline.scenes import Object, Relation, Scene, Sighting, View, words
from sightline.store import Tables, check_tables, tables_from_scenes
from sightline.store.check import notes

DEPTH = words("depth")


def _scene(**changes: object) -> Scene:
    scene = Scene(
        "s",
        "test",
        "made",
        (View("0", size=(100, 50)),),
        (Object("1", "cup"), Object("2", "mug")),
        (Sighting("0", "1", (0.0, 0.0, 100.0, 50.0)), Sighting("0", "2", (1.0, 1.0, 2.0, 2.0))),
        (Relation("1", "2", "depth", "closer", ("closer", "closer", "same")),),
    )
    return replace(scene, **changes)  # type: ignore[arg-type]


def _boxed(*box: float, units: str = "pixels", size: tuple[int, int] | None = (100, 50)) -> Scene:
    view = View("0", size=size, units=units)  # type: ignore[arg-type]
    return _scene(views=(view,), sightings=(Sighting("0", "1", box),))  # type: ignore[arg-type]


def _related(*relations: Relation) -> Scene:
    return _scene(relations=relations)


def _voted(predicate: str | None, *votes: str, aspect: str = "depth") -> Scene:
    return _related(Relation("1", "2", aspect, predicate, votes))


CLOSER = Relation("1", "2", "depth", "closer")


@pytest.mark.parametrize(
    ("scene", "problem"),
    [
        (_scene(), None),  # all is well
        (_scene(views=(View("0"), View("0"))), "row s, views.view_id: view id stands twice (found '0')"),
        (
            _scene(objects=(Object("1", "a"), Object("2", "b"), Object("1", "c"))),
            "row s, objects.object_id: object id stands twice (found '1')",
        ),
        (
            _scene(sightings=(Sighting("0", "1", (0, 0, 1, 1)), Sighting("0", "1", (0, 0, 1, 1)))),
            "row s, sightings.object_id: object is seen twice in one view (found '1')",
        ),
        (
            _scene(sightings=(Sighting("9", "1", (0, 0, 1, 1)),)),
            "row s, sightings.view_id: sighting in an unknown view (found '9')",
        ),
        (
            _scene(sightings=(Sighting("0", "9", (0, 0, 1, 1)),)),
            "row s, sightings.object_id: sighting of an unknown object (found '9')",
        ),
        (
            _related(Relation("9", "2", "depth", "same")),
            "row s, relations.subject: relation of an unknown object (found '9')",
        ),
        (
            _related(Relation("1", "9", "depth", "same")),
            "row s, relations.object: relation to an unknown object (found '9')",
        ),
        (
            _related(Relation("1", "2", "depth", "same", object_scene="t")),
            "row s, relations.object: relation to an unknown object (found 't 2')",
        ),  # across scenes
        (
            _boxed(3, 0, 1, 1),
            "row s, sightings.box: box is reversed or empty (expected x0 < x1 and y0 < y1, "
            "found '(3.0, 0.0, 1.0, 1.0)')",
        ),
        (
            _boxed(0, 1, 1, 1),
            "row s, sightings.box: box is reversed or empty (expected x0 < x1 and y0 < y1, "
            "found '(0.0, 1.0, 1.0, 1.0)')",
        ),  # no height
        (_boxed(0, 0, float("nan"), 1), "row s, sightings.box: box is not finite (found '(0.0, 0.0, NaN, 1.0)')"),
        (_boxed(0, 0, float("inf"), 1), "row s, sightings.box: box is not finite (found '(0.0, 0.0, inf, 1.0)')"),
        (
            _boxed(0, 0, 1.1, 1, units="normalised", size=None),
            "row s, sightings.box: normalised box leaves the image (expected within [0, 1], "
            "found '(0.0, 0.0, 1.1, 1.0)')",
        ),
        (_boxed(0, 0, 1, 1, units="normalised", size=None), None),  # the whole image
        (
            _boxed(0, 0, 102, 50),
            "row s, sightings.box: box leaves the image"
            " (expected within 100 × 50 pixels, found '(0.0, 0.0, 102.0, 50.0)')",
        ),
        (
            _boxed(-2, 0, 100, 50),
            "row s, sightings.box: box leaves the image"
            " (expected within 100 × 50 pixels, found '(-2.0, 0.0, 100.0, 50.0)')",
        ),
        (_boxed(-0.5, 0, 101, 50), None),  # by no more than a pixel: drawing tools round
        (_boxed(0, 0, 999, 999, size=None), None),  # no size known: nothing to leave
        (
            _voted("nearer"),
            "row s, relations.predicate: label outside its range"
            " (expected one of unsure, closer, farther, same, found 'nearer')",
        ),
        (
            _voted("occludes", aspect="depth"),
            "row s, relations.predicate: label outside its range"
            " (expected one of unsure, closer, farther, same, found 'occludes')",
        ),  # a word of the other aspect
        (
            _voted("closer", "closer", "closer", "none"),
            "row s, relations.votes: vote outside its range"
            " (expected one of unsure, closer, farther, same, found 'closer, closer, none')",
        ),
        (_voted("closer"), None),  # a label without votes
        (_voted(None, "closer", "closer", "same", "same"), None),  # half is no majority
        (
            _voted("same", "closer", "closer", "same"),
            "row s, relations.predicate: votes contradict the label"
            " (expected closer from votes closer, closer, same, found 'same')",
        ),
        (
            _voted(None, "closer"),
            "row s, relations.predicate: votes contradict the label"
            " (expected closer from votes closer, found 'no label')",
        ),
        (
            _voted("closer", "closer", "same"),
            "row s, relations.predicate: votes contradict the label"
            " (expected no label from votes closer, same, found 'closer')",
        ),
        (
            _related(CLOSER, CLOSER),
            "row s, relations.object: pair stands twice, maybe the other way round (found '1 – 2 (depth)')",
        ),
        (
            _related(CLOSER, Relation("2", "1", "depth", "farther")),
            "row s, relations.object: pair stands twice, maybe the other way round (found '2 – 1 (depth)')",
        ),
        (_related(CLOSER, Relation("1", "2", "occlusion", "none")), None),  # another aspect
        (_related(Relation("1", "2", "vrd", "on"), Relation("1", "2", "vrd", "in")), None),  # free predicates may
        (
            _related(Relation("1", "1", "depth", "same")),
            "row s, relations.object: object related to itself (found '1 – 1 (depth)')",
        ),
        (_related(Relation("1", "1", "vrd", "has")), None),  # a free predicate may
        (
            _scene(objects=(Object("1", "a", pose=(1.0,)), Object("2", "b"))),
            "row s, objects.pose: pose is not a 4×4 matrix (expected 16 numbers, found '1')",
        ),
        (
            _scene(sightings=(Sighting("0", "1", (0, 0, 1, 1), occluded_fraction=1.5),)),
            "row s, sightings.occluded_fraction: share is out of range (expected within [0, 1], found '1.5')",
        ),
        (
            _scene(views=(View("0", size=(0, 5)),), sightings=()),
            "row s, views.width: image size is not a size"
            " (expected two numbers above 0, or neither, found '0 × 5')",
        ),
    ],
)
def test_one_fault(scene: Scene, problem: str | None) -> None:
    assert [str(e) for e in check_tables(tables_from_scenes([scene]))] == ([] if problem is None else [problem])


NULL = pl.lit(None, dtype=pl.String)
TABLES = tables_from_scenes([_scene()])


@pytest.mark.parametrize(
    ("tables", "problem"),
    [
        (altered(TABLES, "views", "units", pl.lit("feet")), "views.units: unknown units"),
        (altered(TABLES, "views", "height", pl.lit(None, dtype=pl.Int32)), "image size is not a size"),
        (altered(TABLES, "sightings", "x0", pl.lit(None, dtype=pl.Float64)), "sightings.x0: value is missing"),
        (altered(TABLES, "objects", "category", NULL), "objects.category: value is missing"),
        (altered(TABLES, "relations", "subject", NULL), "relations.subject: value is missing"),
        (altered(TABLES, "views", "camera", pl.lit("{")), "views.camera: not JSON"),
        (altered(TABLES, "sightings", "viewpoint", pl.lit("[]")), "sightings.viewpoint: not a viewpoint"),
        (
            altered(TABLES, "sightings", "viewpoint", pl.lit('{"azimuth":1}')),
            "sightings.viewpoint: not a viewpoint",
        ),
        (
            altered(TABLES, "sightings", "viewpoint", pl.lit('{"azimuth":1,"elevation":-91}')),
            "sightings.viewpoint: elevation is not within",
        ),
        (altered(TABLES, "sightings", "landmarks", pl.lit("[1]")), "landmarks: not a list of landmarks"),
        (
            altered(TABLES, "sightings", "landmarks", pl.lit('[{"name":"tail","x":null,"y":2}]')),
            "landmarks: visible landmark tail has no place",
        ),
        (altered(TABLES, "objects", "scene_id", pl.lit("t")), "row t, objects.scene_id: rows of a scene"),
        (
            Tables.concat(
                [
                    TABLES,
                    altered(
                        Tables(TABLES.views, *(f.clear() for _, f in list(TABLES.frames())[1:])),
                        "views",
                        "split",
                        pl.lit("train"),
                    ),
                ]
            ),
            "views of one scene differ in split",
        ),
    ],
)
def test_faults_no_scene_can_have(tables: Tables, problem: str) -> None:
    assert any(problem in str(e) for e in check_tables(tables))


def test_pairs_across_scenes_are_one_pair_either_way() -> None:
    a = _scene(id="a", relations=(Relation("1", "2", "depth", "same", object_scene="b"),))
    b = _scene(id="b", relations=(Relation("2", "1", "depth", "same", object_scene="a"),))
    other = _scene(id="b", relations=(Relation("1", "2", "depth", "same", object_scene="a"),))
    assert [e.problem for e in check_tables(tables_from_scenes([a, b]))] == [
        "pair stands twice, maybe the other way round"
    ]
    assert check_tables(tables_from_scenes([a, other])) == []  # 1 of a with 2 of b; 1 of b with 2 of a


def test_many_faults_are_counted_not_listed() -> None:
    tables = altered(tables_from_scenes(plain_scenes(50)), "sightings", "x1", pl.lit(-1.0))
    errors = check_tables(tables, limit=10)
    assert len(errors) == 11
    assert str(errors[-1]) == "sightings.box: box is reversed or empty: 140 more"


def test_notes() -> None:
    assert notes(tables_from_scenes([_scene()])) == []
    assert notes(tables_from_scenes([_boxed(0, 0, 1, 1, size=None)])) == ["pixel boxes but no image size: 1 view"]
    assert notes(tables_from_scenes([_boxed(0, 0, 1, 1, size=None, units="normalised")])) == []


def test_empty_tables_are_sound() -> None:
    assert check_tables(Tables.build()) == []


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(DEPTH), max_size=7), st.none() | st.sampled_from(DEPTH))
def test_strict_majority(votes: list[str], label: str | None) -> None:
    most = Counter(votes).most_common(1)
    majority = most[0][0] if most and most[0][1] > len(votes) / 2 else None
    errors = check_tables(tables_from_scenes([_voted(label, *votes)]))
    assert bool(errors) == (bool(votes) and majority != label)


ENDS = st.tuples(st.sampled_from("ab"), st.sampled_from("12"))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(ENDS, ENDS).filter(lambda p: p[0] != p[1]), max_size=6))
def test_pairs_that_stand_twice(pairs: list[tuple[tuple[str, str], tuple[str, str]]]) -> None:
    scenes = {name: _scene(id=name, relations=()) for name in "ab"}
    for (scene, subject), (other, thing) in pairs:
        relation = Relation(subject, thing, "depth", "same", (), None if other == scene else other)
        scenes[scene] = replace(scenes[scene], relations=(*scenes[scene].relations, relation))
    errors = check_tables(tables_from_scenes(scenes.values()))
    assert len(errors) == len(pairs) - len({frozenset(p) for p in pairs})


@pytest.mark.realdata
def test_real_labels_are_sound(real_data: Path) -> None:
    from sightline.store.formats import FORMATS

    tables = Tables.concat(FORMATS["2.5vrd"].read(real_data / "2.5vrd"))
    found: list[DataError] = check_tables(tables)
    assert tables.relations.height > 50_000
    assert found == []
