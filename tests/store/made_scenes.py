"""Scenes made up by Hypothesis, and small plain ones."""

from __future__ import annotations

import polars as pl
from hypothesis import strategies as st

from sightline.scenes import Camera, Landmark, Object, Relation, Scene, Sighting, View, Viewpoint, words
from sightline.store import Tables

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(max_size=6)
NAMES = st.text(min_size=1, max_size=6)
MASKS = st.none() | st.binary(max_size=8)
STATES = st.sampled_from(["visible", "self_occluded", "occluded", "truncated", "unknown"])


def _numbers(n: int) -> st.SearchStrategy[tuple[float, ...]]:
    return st.lists(NUMBERS, min_size=n, max_size=n).map(tuple)


CAMERAS = st.builds(Camera, _numbers(9), _numbers(12))
PAIRS = st.none() | st.tuples(NUMBERS, NUMBERS)
VIEWPOINTS = st.builds(Viewpoint, *[NUMBERS] * 4, PAIRS, NUMBERS, NUMBERS, PAIRS, st.none() | NUMBERS)
LANDMARKS = st.builds(Landmark, TEXTS, st.none() | NUMBERS, st.none() | NUMBERS, STATES)


def _view(view_id: str) -> st.SearchStrategy[View]:
    return st.builds(
        View,
        id=st.just(view_id),
        image_ref=st.none() | NAMES.filter(lambda t: not t.startswith("blob:")),
        size=st.none() | st.tuples(st.integers(1, 9999), st.integers(1, 9999)),
        units=st.sampled_from(["pixels", "normalised"]),
        camera=st.none() | CAMERAS,
        load_image=st.none(),
        load_depth=st.none(),
        load_ids=st.none(),
        load_amodal=st.none(),
    )


def _object(object_id: str) -> st.SearchStrategy[Object]:
    return st.builds(
        Object,
        id=st.just(object_id),
        category=TEXTS,
        attributes=st.dictionaries(TEXTS, TEXTS, max_size=2),
        pose=st.none() | _numbers(16),
        shape=st.none() | TEXTS,
    )


def _sighting(views: list[str], objects: list[str]) -> st.SearchStrategy[Sighting]:
    return st.builds(
        Sighting,
        view_id=st.sampled_from(views),
        object_id=st.sampled_from(objects),
        box=_numbers(4),
        visible_mask=MASKS,
        amodal_mask=MASKS,
        occluded_fraction=st.none() | st.floats(0, 1),
        flags=st.frozensets(TEXTS, max_size=2),
        landmarks=st.lists(LANDMARKS, max_size=2).map(tuple),
        viewpoint=st.none() | VIEWPOINTS,
    )


def _relation(views: list[str], objects: list[str]) -> st.SearchStrategy[Relation]:
    return st.builds(
        Relation,
        subject=st.sampled_from(objects),
        object=st.sampled_from(objects),
        aspect=st.sampled_from(["depth", "vrd"]),
        predicate=st.none() | TEXTS,
        votes=st.lists(TEXTS, max_size=3).map(tuple),
        object_scene=st.none() | TEXTS,
        view=st.none() | st.sampled_from(views),
    )


@st.composite
def scenes(draw: st.DrawFn, scene_id: str) -> Scene:
    """A scene with any field filled or not; at least one view."""
    views = draw(st.lists(NAMES, min_size=1, max_size=2, unique=True))
    objects = draw(st.lists(TEXTS, max_size=3, unique=True))
    return Scene(
        id=scene_id,
        split=draw(st.sampled_from(["", "train", "test"])),
        source=draw(TEXTS),
        views=tuple(draw(_view(v)) for v in views),
        objects=tuple(draw(_object(o)) for o in objects),
        sightings=tuple(draw(st.lists(_sighting(views, objects), max_size=3))) if objects else (),
        relations=tuple(draw(st.lists(_relation(views, objects), max_size=3))) if objects else (),
    )


SCENES = st.lists(TEXTS, max_size=5, unique=True).flatmap(lambda ids: st.tuples(*(scenes(i) for i in ids)))


def plain_scene(number: int, split: str = "test") -> Scene:
    """Three objects, three depth pairs with votes."""
    labels = words("depth")
    return Scene(
        id=f"s{number:04d}",
        split=split,
        source="made",
        views=(View("0", size=(640, 480)),),
        objects=tuple(Object(str(k), f"class{(number + k) % 4}") for k in range(3)),
        sightings=tuple(Sighting("0", str(k), (k * 10.0, number % 7, k * 10.0 + 5, 100.0)) for k in range(3)),
        relations=tuple(
            Relation(str(a), str(b), "depth", labels[1 + number % 2], (labels[1 + number % 2],) * 3)
            for a, b in ((0, 1), (1, 2), (0, 2))
        ),
    )


def plain_scenes(n: int) -> list[Scene]:
    """n plain scenes, every third one in validation."""
    return [plain_scene(i, "validation" if i % 3 == 0 else "test") for i in range(n)]


def same(a: Tables, b: Tables) -> bool:
    """Whether two sets of tables are equal cell by cell."""
    return all(frame.equals(b.frame(name)) for name, frame in a.frames())


def altered(tables: Tables, table: str, column: str, value: pl.Expr) -> Tables:
    """The tables with one column replaced."""
    frames = dict(tables.frames())
    frames[table] = frames[table].with_columns(value.alias(column))
    return Tables(**frames)
