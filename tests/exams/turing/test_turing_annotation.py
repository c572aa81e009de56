"""Annotating against a slow reading of scenes, and every rule of it on one small scene."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.turing_reading import annotation as read_slowly
from sightline.errors import ConfigError, DataError
from sightline.exams.turing.annotations import annotation
from sightline.exams.turing.annotations.annotation import annotate
from sightline.exams.turing.annotations.columns import Annotation
from sightline.exams.turing.vocabulary.files import load_vocabulary
from sightline.exams.turing.vocabulary.vocabulary import (
    Attribute,
    AttributeSource,
    ObjectType,
    Region,
    RelationType,
    Vocabulary,
)
from sightline.geometry.masks import encode
from sightline.scenes import Object, Relation, Scene, Sighting, View
from sightline.store import Dataset
from sightline.store.convert import tables_from_scenes
from sightline.store.formats import named
from sightline.store.writer import write

REGIONS = (
    Region("image", (0, 0, 1, 1)),
    Region("left", (0, 0, 0.5, 1)),
    Region("middle", (1 / 3, 1 / 3, 2 / 3, 2 / 3)),
    Region("corner", (0.9, 0.9, 1, 1)),
)
SOURCES = (
    AttributeSource("attribute", "colour", ("red", "pink")),
    AttributeSource("attribute", "colour", ("blue",), absent="no"),
    AttributeSource("category", values=("man",)),
    AttributeSource("category", values=("man",), others=("child",)),
    AttributeSource("flag", "truncated"),
    AttributeSource("flag", "truncated", absent="no"),
    AttributeSource("occluded", above=0.3, covered=("near", "wears")),
    AttributeSource("occluded", above=0.3, absent="no"),
    AttributeSource("relation", "vrd", ("on", "wears")),
    AttributeSource("relation", "vrd", ("on",), reverse=("under",), absent="no"),
    AttributeSource("relation", "", ("on",), role="object", others=("car", "thing"), absent="no"),
    AttributeSource("relation", "vrd", ("on",), exactly=1, absent="no"),
    AttributeSource("relation", "vrd", ("on",), exactly=1),
    AttributeSource("relation", "vrd", ("on",), exactly=0, absent="no"),
    AttributeSource("relation", "occlusion", ("occludes", "mutual"), absent="no"),
    AttributeSource("relation", "occlusion", ("occluded",), role="object", exactly=2, absent="no"),
)
LINKS = (
    RelationType("on", "on", aspect="vrd", values=("on",), reverse=("under",)),
    RelationType("on or not", "on", aspect="vrd", values=("on",), absent="no"),
    RelationType("anyhow", "on", values=("on", "under")),
    RelationType("near", "near", ordered=False, aspect="vrd", values=("near",), subjects=("person",)),
    RelationType(
        "wears", "wear", aspect="vrd", values=("wears",), subjects=("person",), objects=("car",), absent="no"
    ),
    RelationType("closer", "closer than", aspect="depth", values=("closer",), reverse=("farther",)),
    RelationType("nearer", "nearer than", aspect="depth", values=("closer",), reverse=("farther",), order="strict"),
    RelationType("hides", "hiding", values=("occludes", "mutual"), absent="no"),
    RelationType("larger", "larger than", aspect="box", values=("larger",)),
    RelationType("taller", "taller than", aspect="box", values=("taller",), margin=0.5),
)
PERSON = ObjectType(
    "person",
    ("man", "child", "woman"),
    tuple(Attribute(f"a{i}", "a" if i < 3 else f"g{i}", f"a {i}", s) for i, s in enumerate(SOURCES)),
    frozenset({"a"}),
)
CAR = ObjectType("car", ("car",), PERSON.attributes[8:10])
WORDS = Vocabulary("words", (PERSON, CAR), LINKS, REGIONS)


def words(**changes: Any) -> Vocabulary:
    return replace(WORDS, **changes)


def annotation_of(
    scene: Scene, vocabulary: Vocabulary, *, view: str | None = None, closed: bool = False
) -> Annotation:
    """One scene's image alone."""
    data = Dataset.from_tables(tables_from_scenes([scene]))
    return annotate(data, vocabulary, view=view, closed=closed).image(0)


@st.composite
def random_scenes(draw: st.DrawFn) -> tuple[list[Scene], str]:
    """Up to five scenes with two views each, of the kinds `size`, `boxes` or `normalised`; ids not in order."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["size", "boxes", "normalised"]))
    return [_random_scene(rng, f"s{i}", kind) for i in rng.permutation(draw(st.integers(1, 5)))], kind


def _random_scene(rng: np.random.Generator, name: str, kind: str) -> Scene:
    size = None if kind == "boxes" or (kind == "normalised" and rng.random() < 0.5) else (9, 6)
    units = "normalised" if kind == "normalised" else "pixels"
    views = tuple(View(v, size=size, units=units) for v in ("v0", "v1"))  # type: ignore[arg-type]
    objects = [_random_object(rng, str(i)) for i in range(rng.integers(0, 6))]
    sightings = [_random_sighting(rng, v, o) for v in views for o in objects if rng.random() < 0.9]
    ids = [o.id for o in objects]
    relations = [_random_relation(rng, ids, name) for _ in range(rng.integers(0, 16)) if ids]
    return Scene(name, "train", "made", views, tuple(objects), tuple(sightings), tuple(relations))


def _random_object(rng: np.random.Generator, name: str) -> Object:
    attributes = {"colour": str(rng.choice(["red", "blue", "grey"]))} if rng.random() < 0.7 else {}
    return Object(name, str(rng.choice(["man", "child", "woman", "car", "thing"])), attributes | {"other": "red"})


def _random_sighting(rng: np.random.Generator, view: View, thing: Object) -> Sighting:
    x0, y0 = rng.integers(-1, 8), rng.integers(-1, 5)
    box = tuple(float(v) for v in (x0, y0, x0 + rng.integers(0, 5), y0 + rng.integers(0, 4)))
    if view.units == "normalised":
        box = tuple(v / 9 for v in box)
    mask = None
    if view.size is not None and rng.random() < 0.5:
        mask = encode(rng.random((6, 9)) < rng.choice([0.0, 0.03, 0.6, 0.95]))
    flags = [f for f in ("hidden", "group", "crowd", "truncated", "truncated_unknown") if rng.random() < 0.15]
    share = None if rng.random() < 0.4 else float(rng.choice([0.0, 0.3, 0.5]))
    return Sighting(view.id, thing.id, box, mask, None, share, frozenset(flags))  # type: ignore[arg-type]


def _random_relation(rng: np.random.Generator, ids: list[str], scene: str) -> Relation:
    aspect, said = [
        ("vrd", ["on", "under", "near", "wears", "beside", None]),
        ("depth", ["closer", "farther", "same", "unsure", None]),
        ("occlusion", ["none", "occludes", "occluded", "mutual", None]),
    ][rng.integers(3)]
    where = [None, None, None, scene, "elsewhere"][rng.integers(5)]
    view = [None, None, "v0", "v1"][rng.integers(4)]
    subject, thing = rng.choice(ids, 2)
    return Relation(str(subject), str(thing), aspect, said[rng.integers(len(said))], (), where, view)


def same(found: Annotation, expected: Annotation) -> None:
    for field in fields(Annotation):
        a, b = getattr(found, field.name), getattr(expected, field.name)
        if isinstance(b, np.ndarray):
            np.testing.assert_array_equal(a, b, err_msg=field.name)
        else:
            assert a == b


@settings(max_examples=60, deadline=None)
@given(made=random_scenes(), view=st.sampled_from([None, "v1"]), closed=st.booleans(), block=st.integers(1, 6))
def test_annotating_agrees_with_a_slow_reading(
    made: tuple[list[Scene], str], view: str | None, closed: bool, block: int
) -> None:
    scenes, kind = made
    vocabulary = words(extent="boxes") if kind == "boxes" else WORDS
    dataset = Dataset.from_tables(tables_from_scenes(scenes))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(annotation, "_BLOCK", block)
        columns = annotate(dataset, vocabulary, view=view, closed=closed)
    ordered = sorted(scenes, key=lambda scene: scene.id)
    assert list(columns.ids) == [scene.id for scene in ordered]
    for i, scene in enumerate(ordered):
        same(columns.image(i), read_slowly(scene, vocabulary, view, closed))
        assert not (columns.image(i).holds & columns.image(i).fails).any()
    same(annotation_of(ordered[0], vocabulary, view=view, closed=closed), columns.image(0))


def scene(*relations: Relation, name: str = "s", split: str = "", **changes: Any) -> Scene:
    """A man and a child in front of a wall, which is of no type."""
    objects = (Object("m", "man"), Object("w", "wall"), Object("c", "child"))
    sightings = (
        Sighting("v", "m", (0, 0, 4, 8)),
        Sighting("v", "w", (0, 0, 10, 10)),
        Sighting("v", "c", (5, 0, 9, 5)),
    )
    made = Scene(name, split, "", (View("v", size=(10, 10)),), objects, sightings, relations)
    return replace(made, **changes)


def only(**changes: Any) -> Vocabulary:
    """A vocabulary of persons with the given attributes or links."""
    sources = changes.pop("sources", ())
    attributes = tuple(Attribute(f"a{i}", f"g{i}", "a", source) for i, source in enumerate(sources))
    return words(types=(ObjectType("person", ("man", "child"), attributes),), **{"links": (), **changes})


def verdict(yes: bool, no: bool) -> str:
    return {(True, False): "yes", (False, True): "no", (False, False): "open"}[bool(yes), bool(no)]


ON, CLOSER = RelationType("r", "r", values=("on",)), RelationType("r", "r", values=("closer",))
LARGER = RelationType("r", "r", aspect="box", values=("larger",))


@pytest.mark.parametrize(
    ("link", "told", "closed", "expected"),
    [
        (ON, ("vrd", "on"), False, "yes open"),  # said of one order, silent of the other
        (ON, ("vrd", "on"), True, "yes no"),  # silence read as no
        (replace(ON, absent="no"), ("vrd", "on"), False, "yes no"),  # by the vocabulary
        (replace(ON, aspect="other"), ("vrd", "on"), False, "open open"),  # another aspect
        (ON, ("vrd", "by"), False, "open open"),  # another word does not deny
        (replace(ON, reverse=("under",)), ("vrd", "under"), False, "open yes"),  # told backwards
        (replace(ON, ordered=False), ("vrd", "on"), False, "yes yes"),  # unordered
        (ON, ("vrd", None), True, "open open"),  # no majority
        (CLOSER, ("depth", "closer"), False, "yes no"),  # one answer a pair
        (CLOSER, ("depth", "farther"), False, "no yes"),  # told backwards, the vocabulary need not say how
        (CLOSER, ("depth", "same"), False, "no no"),  # neither
        (CLOSER, ("depth", "unsure"), True, "open open"),  # which is not silence
        (CLOSER, ("depth", None), True, "open open"),  # no majority
        (ON, ("depth", None), True, "no no"),  # no majority about another question
        (CLOSER, ("occlusion", "none"), False, "open open"),  # an answer to another question
        (replace(CLOSER, subjects=("car",)), ("depth", "closer"), True, "open open"),  # never asked of persons
        (replace(CLOSER, order="strict"), ("depth", "closer"), False, "yes no"),  # a strict order
        (replace(CLOSER, order="strict"), ("depth", "same"), True, "open open"),  # level, so ambiguous
        (replace(ON, order="strict"), ("vrd", "by"), True, "open open"),  # silence says neither
        (LARGER, ("vrd", "on"), False, "open open"),  # 32 against 20, but 12 if drawn two pixels smaller
        (replace(LARGER, values=("taller",), margin=0.1), ("vrd", "on"), False, "yes no"),  # 8 against 5
        (replace(LARGER, values=("taller",), margin=0.2), ("vrd", "on"), False, "open open"),  # not if drawn lower
        (replace(LARGER, margin=0.6), ("vrd", "on"), True, "open open"),  # not by that much
    ],
)
def test_links(link: RelationType, told: tuple[str, str | None], closed: bool, expected: str) -> None:
    """Expected of (man, child), then of (child, man); told is of (man, child)."""
    found = annotation_of(scene(Relation("m", "c", *told)), only(links=(link,)), closed=closed)
    pairs = [verdict(found.holds[pair][0], found.fails[pair][0]) for pair in ((0, 1), (1, 0))]
    assert " ".join(pairs) == expected


@pytest.mark.parametrize(
    ("source", "closed", "expected"),
    [
        (AttributeSource("attribute", "hat", ("yes",)), False, "yes open"),  # the child has no such fact
        (AttributeSource("attribute", "hat", ("no",)), False, "no open"),  # another value denies
        (AttributeSource("attribute", "hat", ("yes",), absent="no"), False, "yes no"),  # silence by the vocabulary
        (AttributeSource("attribute", "hat", ("yes",)), True, "yes no"),  # silence by the caller
        (AttributeSource("category", values=("man",)), False, "yes no"),  # category
        (AttributeSource("category", values=("man",), others=("boy",)), False, "yes open"),  # a child may be either
        (AttributeSource("flag", "truncated"), False, "yes open"),  # flag
        (AttributeSource("flag", "depiction"), True, "no open"),  # flagged as unknown, which is not silence
        (AttributeSource("occluded", above=0.2), False, "no open"),  # exactly that share is not above it
        (AttributeSource("occluded", above=0.1), True, "yes no"),  # above it
        (AttributeSource("relation", "vrd", ("on",)), False, "yes open"),  # of something that is of no type
        (AttributeSource("relation", "vrd", ("on",), role="object"), True, "no yes"),  # the other side
        (
            AttributeSource("relation", "vrd", ("under",), reverse=("on",), role="object"),
            True,
            "yes no",
        ),  # the same
        (AttributeSource("relation", "vrd", ("on",), others=("wall",)), True, "yes no"),  # partner's category
        (AttributeSource("relation", "vrd", ("on",), others=("tree",)), True, "no no"),  # no such partner
        (AttributeSource("relation", "vrd", ("on",), exactly=2), True, "yes no"),  # two
        (AttributeSource("relation", "vrd", ("on",), exactly=2), False, "open open"),  # two at least
        (AttributeSource("relation", "vrd", ("on",), exactly=1), False, "no open"),  # more than one
        (AttributeSource("relation", "depth", ("farther",)), False, "open yes"),  # told backwards
        (AttributeSource("relation", "occlusion", ("occludes",)), True, "open open"),  # no majority
    ],
)
def test_sources(source: AttributeSource, closed: bool, expected: str) -> None:
    """Expected of the man, then of the child."""
    told = (
        Relation("m", "c", "vrd", "on"),
        Relation("m", "c", "vrd", "on", view="v"),
        Relation("m", "w", "vrd", "on"),
        Relation("c", "m", "vrd", "on", view="another"),
        Relation("c", "m", "vrd", "on", object_scene="another"),
        Relation("m", "c", "depth", "closer"),
        Relation("m", "c", "occlusion", None),
    )
    base = scene(*told)
    man, wall, child = base.sightings
    man = replace(man, flags=frozenset({"truncated"}), occluded_fraction=0.2)
    child = replace(child, flags=frozenset({"depiction_unknown"}))
    objects = (replace(base.objects[0], attributes={"hat": "yes"}), *base.objects[1:])
    found = annotation_of(
        replace(base, sightings=(man, wall, child), objects=objects), only(sources=(source,)), closed=closed
    )
    assert " ".join(verdict(found.yes[i, 0], found.no[i, 0]) for i in (0, 1)) == expected


def test_one_of_an_exclusive_group_denies_the_others() -> None:
    kinds = tuple(
        Attribute(v, "hat", v, AttributeSource("attribute", v, ("yes",))) for v in ("cap", "hood", "bonnet")
    )
    objects = (Object("m", "man", {"cap": "yes"}), Object("w", "wall"), Object("c", "child", {"cap": "no"}))
    kind = ObjectType("person", ("man", "child"), kinds, frozenset({"hat"}))
    found = annotation_of(scene(objects=objects), words(types=(kind,), links=()))
    assert [[verdict(found.yes[i, k], found.no[i, k]) for k in range(3)] for i in (0, 1)] == [
        ["yes", "no", "no"],
        ["no", "open", "open"],
    ]


PIXEL = np.zeros((10, 10), dtype=bool)
PIXEL[4, 4] = True
PATCH = np.zeros((10, 10), dtype=bool)
PATCH[2:8, 3:9] = True


@pytest.mark.parametrize(
    ("view", "extent", "box", "mask", "expected"),
    [
        (View("v", size=(10, 10)), "size", (0, 0, 6, 6), None, "image left middle"),  # by the box
        (View("v", size=(10, 10)), "size", (0, 0, 4, 4), None, "image left middle?"),  # by less than two pixels
        (View("v", size=(10, 10)), "size", (5, 0, 9, 3), None, "image"),  # regions and boxes are half-open
        (View("v", size=(10, 10)), "size", (8, 8, 30, 30), None, "image corner?"),  # reaching out of the image
        (View("v", size=(10, 10)), "size", (9, 9, 30, 30), None, "image? corner?"),  # by a pixel
        (View("v", size=(10, 10)), "size", (10, 0, 12, 3), None, ""),  # outside: no object of the image
        (View("v", size=(10, 10)), "size", (3, 3, 3, 9), None, ""),  # nor is a box without area
        (View("v", size=(10, 10)), "size", (0, 0, 10, 10), PIXEL, "image? left? middle?"),  # by the mask
        (View("v", size=(10, 10)), "size", (0, 0, 10, 10), PATCH, "image left? middle?"),  # 36 pixels, 12 and 18
        (View("v", size=(10, 10)), "size", (0, 0, 10, 10), np.zeros((10, 10)), ""),  # an empty mask: not visible
        (View("v"), "boxes", (16, 16, 20, 18), None, "image"),  # the wall's box reaches to (20, 20)
        (View("v"), "boxes", (19, 19, 20, 20), None, "image corner"),  # likewise
        (View("v", size=(40, 40)), "boxes", (16, 16, 20, 18), None, "image left middle"),  # a size told counts
        (View("v", units="normalised"), "size", (0.4, 0.4, 0.45, 0.9), None, "image left middle"),  # as they are
        (View("v", units="normalised"), "boxes", (0.4, 0.0, 0.45, 0.2), None, "image left"),  # likewise
        (View("v", size=(10, 10), units="normalised"), "size", (0, 0, 1, 1), PIXEL, "image? left? middle?"),  # mask
        (View("v", units="normalised"), "size", (0.497, 0.4, 0.9, 0.9), None, "image left? middle"),  # hardly
    ],
)
def test_regions_an_object_is_seen_in(
    view: View, extent: Any, box: tuple[float, ...], mask: Any, expected: str
) -> None:
    rle = None if mask is None else encode(mask)
    wall = Sighting("v", "w", (0, 0, 1, 1) if view.units == "normalised" else (0, 0, 20, 20))
    seen = (Sighting("v", "m", box, rle), wall)  # type: ignore[arg-type]
    found = annotation_of(scene(views=(view,), sightings=seen), only(extent=extent))
    assert found.glimpsed is not None
    assert not (found.seen & found.glimpsed).any()
    marked = [
        (region.name, "?" if found.glimpsed[:, k].any() else "")
        for k, region in enumerate(REGIONS)
        if (found.seen | found.glimpsed)[:, k].any()
    ]
    names = [name + mark for name, mark in marked]
    assert " ".join(names) == expected
    assert found.objects == (("m",) if expected else ())


def test_hidden_objects_are_left_out_and_groups_are_crowds() -> None:
    man, wall, child = scene().sightings
    hidden, group = replace(man, flags=frozenset({"hidden"})), replace(child, flags=frozenset({"group"}))
    found = annotation_of(scene(sightings=(hidden, wall, group)), only())
    assert found.objects == ("c",)
    assert found.crowd.tolist() == [True]


def made(*scenes: Scene) -> Dataset:
    return Dataset.from_tables(tables_from_scenes(scenes))


def test_which_scenes() -> None:
    two = made(scene(name="b", split="test"), scene(name="a", split="train"), scene(name="c", split="train"))
    assert list(annotate(two, WORDS).ids) == ["a", "b", "c"]
    assert list(annotate(two, WORDS, split="train").ids) == ["a", "c"]
    assert list(annotate(two, WORDS, scenes=["c", "b"]).ids) == ["b", "c"]
    assert list(annotate(two, WORDS, split="train", scenes=["c", "b"]).ids) == ["c"]


def test_an_image_without_objects_stays() -> None:
    columns = annotate(made(scene(name="a", objects=(), sightings=()), scene(name="b")), WORDS)
    assert columns.starts.tolist() == [0, 0, 2]
    assert columns.pair_starts.tolist() == [0, 0, 4]


@pytest.mark.parametrize(
    ("dataset", "options", "error", "message"),
    [
        (made(scene()), {"split": "dev"}, ConfigError, "no split 'dev'"),
        (made(scene()), {"scenes": ["s", "t"]}, DataError, "no such scene .found 't'"),
        (made(scene()), {"view": "top"}, DataError, "no scene is left with view 'top'"),
        (made(scene()), {"scenes": []}, DataError, "no scene is left"),
        (made(scene(views=(View("v"),))), {}, DataError, "row s, size: the view's size was never told"),
        (made(scene(Relation("m", "x", "vrd", "on"))), {}, DataError, "row s, object: relation with an object"),
        (made(scene(sightings=(Sighting("v", "m", (0, 0, 1, 1), b"12"),))), {}, DataError, "row s, visible_mask"),
        (made(scene(sightings=(Sighting("v", "m", (0, 0, 1, 1), b"1~"),))), {}, DataError, "row s, visible_mask"),
        (made(scene(sightings=(Sighting("v", "m", (0, 0, 1, 1), b"1d"),))), {}, DataError, "row s, visible_mask"),
    ],
)
def test_what_cannot_be_annotated(dataset: Dataset, options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        annotate(dataset, WORDS, **options)


def test_a_size_that_nobody_needs_may_be_missing() -> None:
    assert len(annotate(made(scene(views=(View("v"),), sightings=())), WORDS)) == 1


def test_generated_scenes(generated: Path) -> None:
    colours = [AttributeSource("attribute", "color", (c,)) for c in ("red", "blue")]
    attributes = tuple(Attribute(s.values[0], "color", s.values[0], s) for s in colours)
    attributes += (
        Attribute("inside", "place", "in", AttributeSource("relation", "geometry", ("contains",), "object")),
    )
    dataset = Dataset.open(generated)
    categories = tuple(sorted(dataset.tables().objects["category"].unique()))
    links = (RelationType("left", "left of", aspect="spatial", values=("left",), absent="no"), LINKS[5], LINKS[7])
    vocabulary = words(types=(ObjectType("object", categories, attributes),), links=links)
    for view in (None, "top"):
        columns = annotate(dataset, vocabulary, view=view)
        for i, one in enumerate(dataset):
            same(columns.image(i), read_slowly(one, vocabulary, view, closed=False))
        assert len(columns) == 6


def test_a_damaged_shard_is_told(tmp_path: Path) -> None:
    write(tables_from_scenes([scene()]), tmp_path / "d")
    (file,) = (tmp_path / "d" / "objects").glob("*.parquet")
    file.write_bytes(b"?" * file.stat().st_size)
    with pytest.raises(DataError, match="shard is damaged: its bytes are not those that were written"):
        annotate(Dataset.open(tmp_path / "d"), WORDS)


@pytest.mark.realdata
def test_scenes_of_vrd(real_data: Path) -> None:
    tables = next(iter(named("vrd").read(real_data / "vrd")))
    dataset, vocabulary = Dataset.from_tables(tables), load_vocabulary("vrd")
    some = list(islice(dataset, 0, 160, 20))
    for closed in (False, True):
        columns = annotate(dataset, vocabulary, closed=closed, scenes=[one.id for one in some])
        for i, one in enumerate(some):
            same(columns.image(i), read_slowly(one, vocabulary, None, closed))


@pytest.mark.realdata
def test_pairs_of_25vrd(real_data: Path) -> None:
    parts = list(named("2.5vrd").read(real_data / "2.5vrd"))
    dataset = Dataset.from_tables(type(parts[0]).concat(parts))
    things = ObjectType(
        "thing", tuple(dataset.scan("objects").select(pl.col("category").unique()).collect()["category"])
    )
    closer = RelationType("closer", "closer than", aspect="depth", values=("closer",), reverse=("farther",))
    columns = annotate(dataset, words(types=(things,), links=(closer,)), split="test")
    within = dataset.scan("relations").filter(pl.col("object_scene").is_null(), pl.col("aspect") == "depth")
    told = within.filter(pl.col("scene_id").str.contains("/test/")).collect()["predicate"].value_counts()
    counts = dict(told.iter_rows())
    held, failed = (int(np.bitwise_count(side).sum()) for side in (columns.holds, columns.fails))
    assert held == counts["closer"] + counts["farther"]
    assert failed == held + 2 * counts["same"]
