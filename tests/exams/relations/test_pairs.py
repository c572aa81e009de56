"""From stored relations to annotated pairs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sightline.errors import DataError
from sightline.exams.relations import pair_table
from sightline.scenes import Object, Relation, Scene, Sighting, View
from sightline.store import tables_from_scenes

SCENE = Scene(
    "s",
    split="test",
    views=(View("first", size=(10, 20)), View("second", size=(10, 20))),
    objects=(Object("a", "cup"), Object("b", "plate")),
    sightings=(
        Sighting("second", "a", (0, 0, 1, 1)),
        Sighting("first", "a", (0, 0, 5, 10)),
        Sighting("first", "b", (5, 10, 10, 20)),
    ),
    relations=(
        Relation("a", "b", "depth", "closer", ("closer", "closer", "same")),
        Relation("a", "b", "occlusion", None, ("none", "mutual")),
    ),
)


def test_labels_votes_and_boxes_come_through() -> None:
    table = pair_table(tables_from_scenes([SCENE]), "within_image", "test")
    assert table.depth.tolist() == [1]
    assert table.occlusion.tolist() == [-1]
    assert table.depth_votes.tolist() == [[0, 2, 0, 1]]
    assert table.occlusion_votes.tolist() == [[1, 0, 0, 1]]
    assert table.boxes_a.tolist() == [[0, 0, 0.5, 0.5]]  # of the first view, as fractions of the image
    assert table.boxes_b.tolist() == [[0.5, 0.5, 1, 1]]


def test_a_relation_to_another_scene_is_across_images() -> None:
    far = replace(SCENE, id="t", relations=())
    near = replace(SCENE, relations=(Relation("a", "b", "depth", "farther", ("farther",), object_scene="t"),))
    stored = tables_from_scenes([near, far])
    assert len(pair_table(stored, "within_image", "test")) == 0
    table = pair_table(stored, "across_images", "test")
    assert table.clusters.tolist() == ["s|t"]
    assert table.depth.tolist() == [2]


TWICE = Relation("b", "a", "depth", "farther")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"relations": (SCENE.relations[0], SCENE.relations[0])}, "two depth labels"),  # said twice
        ({"relations": (SCENE.relations[0], TWICE)}, "two depth labels"),  # said again the other way round
        ({"relations": (Relation("a", "b", "depth", "nearer"),)}, "'nearer'"),  # no such label
        ({"relations": (Relation("a", "b", "depth", "same", ("near",)),)}, "depth votes.*'near'"),  # no such vote
        ({"sightings": SCENE.sightings[:2]}, "not seen"),  # an end without a box
        ({"views": (View("first"), View("second"))}, "image size is unknown"),  # pixels of nobody knows what
    ],
)
def test_what_cannot_be_judged_is_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        pair_table(tables_from_scenes([replace(SCENE, **change)]), "within_image", "test")  # type: ignore[arg-type]


def test_unlabelled_keeps_the_question_and_drops_the_answer() -> None:
    table = pair_table(tables_from_scenes([SCENE]), "within_image", "test")
    bare = table.unlabelled()
    assert (bare.boxes_a == table.boxes_a).all()
    assert bare.depth.tolist() == bare.occlusion.tolist() == [-1]
    assert not bare.depth_votes.any()
    assert not bare.occlusion_votes.any()


def _seen_twice() -> Scene:
    """Both objects in both views, which see the pair differently."""
    return replace(
        SCENE,
        sightings=(*SCENE.sightings, Sighting("second", "b", (2, 2, 3, 3))),
        relations=tuple(
            Relation("a", "b", aspect, word, view=view)
            for view, depth, occlusion in (("second", "farther", "none"), ("first", "closer", "occludes"))
            for aspect, word in (("depth", depth), ("occlusion", occlusion))
        ),
    )


def test_of_several_views_the_first_is_asked_about() -> None:
    table = pair_table(tables_from_scenes([_seen_twice()]), "within_image", "test")
    assert table.depth.tolist() == [1]
    assert table.occlusion.tolist() == [1]
    assert table.boxes_a.tolist() == [[0, 0, 0.5, 0.5]]


@pytest.mark.parametrize(
    ("view", "hidden", "pairs"),
    [
        ("first", "a", 0),  # the subject
        ("first", "b", 0),  # the object
        ("second", "a", 1),  # hidden, but not where it is asked about
    ],
)
def test_nobody_is_asked_about_what_does_not_show(view: str, hidden: str, pairs: int) -> None:
    scene = _seen_twice()
    seen = tuple(
        replace(s, flags=frozenset({"hidden"})) if (s.view_id, s.object_id) == (view, hidden) else s
        for s in scene.sightings
    )
    table = pair_table(tables_from_scenes([replace(scene, sightings=seen)]), "within_image", "test")
    assert len(table) == pairs
