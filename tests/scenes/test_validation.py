"""Whole scenes pass, broken ones are named."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from sightline.errors import DataError
from sightline.scenes import Landmark, Object, Relation, Scene, Sighting, View, Viewpoint, validate

SCENE = Scene(
    id="s",
    views=(View("v", units="normalised"),),
    objects=(Object("a", "cup"), Object("b", "plate")),
    sightings=(Sighting("v", "a", (0.1, 0.1, 0.5, 0.5)), Sighting("v", "b", (0.2, 0.4, 0.9, 0.9))),
    relations=(Relation("a", "b", "depth", "closer", ("closer", "closer", "same")),),
)


def posed(viewpoint: Viewpoint | None, *landmarks: Landmark) -> dict[str, object]:
    return {"sightings": (Sighting("v", "a", (0, 0, 1, 1), viewpoint=viewpoint, landmarks=landmarks),)}


def test_a_whole_scene_comes_back_unchanged() -> None:
    assert validate(SCENE) is SCENE


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"objects": (Object("a", "cup"), Object("a", "cup"))}, "object id stands twice"),  # doubled object
        ({"views": (View("v"), View("v"))}, "view id stands twice"),  # doubled view
        ({"sightings": (Sighting("w", "a", (0, 0, 1, 1)),)}, "unknown view"),  # no such view
        ({"sightings": (Sighting("v", "z", (0, 0, 1, 1)),)}, "unknown object"),  # no such object
        ({"sightings": (Sighting("v", "a", (0.5, 0, 0.5, 1)),)}, "reversed or empty"),  # no width
        ({"sightings": (Sighting("v", "a", (0, 0.6, 1, 0.5)),)}, "reversed or empty"),  # upside down
        ({"sightings": (Sighting("v", "a", (0, 0, 1, 1.01)),)}, "leaves the image"),  # out of range
        ({"sightings": (Sighting("v", "a", (0, 0, 1, float("nan"))),)}, "not finite"),  # NaN
        (posed(Viewpoint(0.0, 91.0)), "elevation is not within"),  # beyond the pole
        (posed(Viewpoint(0.0, float("nan"))), "viewpoint is not finite"),  # NaN
        (posed(Viewpoint(0.0, 0.0, -1.0)), "distance is below 0"),  # negative distance
        (posed(Viewpoint(0.0, 0.0, 1.0, 0.0, (1.0, 2.0), focal=0.0)), "focal length"),  # no focal length
        (posed(Viewpoint(0.0, 0.0, coarse=(1.0,))), "not two numbers"),  # type: ignore[arg-type] # one angle
        (posed(None, Landmark("tail", None, None)), "visible landmark tail has no place"),  # no place
        (posed(None, Landmark("tail", 0.1, math.inf)), "tail is not finite"),  # at infinity
        (posed(None, *[Landmark("tail", 0.1, 0.1)] * 2), "tail stands twice"),  # doubled
        (posed(None, Landmark("tail", 0, 0, "lost")), "is lost, not one of visible"),  # type: ignore[arg-type]
        ({"relations": (Relation("a", "z", "depth", "closer"),)}, "unknown object"),  # dangling end
        (
            {"relations": (Relation("a", "b", "depth", "same", view="w"),)},
            "relation in an unknown view",
        ),  # no such view
        ({"relations": (Relation("a", "a", "depth", "same"),)}, "related to itself"),  # self-relation
        ({"relations": (Relation("a", "b", "depth", "nearer"),)}, "outside its range"),  # no such label
        ({"relations": (Relation("a", "b", "occlusion", "none", ("nope",)),)}, "outside its range"),  # no such vote
    ],
)
def test_a_broken_scene_is_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        validate(replace(SCENE, **change), file="f.json")  # type: ignore[arg-type]


def test_a_viewpoint_may_be_coarse_and_a_hidden_landmark_without_a_place() -> None:
    tail = Landmark("tail", None, None, "self_occluded")
    validate(replace(SCENE, **posed(Viewpoint(200.0, 5.0, coarse=(200.0, 5.0)), tail)))  # type: ignore[arg-type]


def test_an_end_in_another_scene_is_not_looked_for_here() -> None:
    validate(replace(SCENE, relations=(Relation("a", "far", "depth", "closer", object_scene="t"),)))


def test_a_missing_size_or_picture_is_told_not_invented() -> None:
    with pytest.raises(DataError, match="image size"):
        SCENE.views[0].require_size()
    with pytest.raises(DataError, match="no image"):
        SCENE.views[0].image()


def test_a_model_sees_no_truth() -> None:
    view = View("v", load_image=lambda: 1, load_depth=lambda: 2, load_ids=lambda: 3)  # type: ignore[arg-type,return-value]
    bare = view.without_truth()
    assert bare.load_image is not None
    assert bare.load_depth is None
    assert bare.load_ids is None
