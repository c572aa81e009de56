"""Segmentation by pose: silhouettes, overlaps of true, random, closest and predicted models, occlusion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sightline.geometry import Viewpoint, project
from sightline.geometry.masks import encode
from sightline.render.pose_masks import (
    CHOICES,
    PosedObject,
    cad_shape,
    chosen_overlaps,
    closest_model,
    drawn_overlaps,
    model_library,
    posed_objects,
    said_objects,
    silhouette,
)
from sightline.scenes import Object, Scene, Sighting, View
from sightline.worlds.shapes import register
from sightline.worlds.shapes.prisms import prism
from sightline.worlds.solids import Outline

SIZE = (96, 72)
LONG, LONGER, TALL, BOTTLE, LARGE = (
    f"blocks/{name}" for name in ("bus/1", "bus/2", "bus/3", "bottle/1", "bottle/2")
)


@pytest.fixture(autouse=True, scope="module")
def blocks():
    """Boxes of some sides in metres, known by name."""
    sides = {LONG: (1, 3, 1), LONGER: (1, 3.4, 1), TALL: (1, 1, 4), BOTTLE: (1, 1, 4), LARGE: (3, 3, 12)}
    for name, (x, y, z) in sides.items():
        foot = Outline("box", (x / 2, y / 2))
        register(prism(foot, z).solid(f"{name}:medium", outline=foot, base=foot, top=foot, height=z, cavity=None))


def eye(azimuth, distance=60.0, middle=(48.0, 36.0), elevation=20.0):
    return Viewpoint(azimuth, elevation, distance, 3.0, middle)


def inside_hull(points, size):
    """Pixels whose centres lie in the convex hull of points, edge by edge."""
    middle = points.mean(axis=0)
    order = np.argsort(np.arctan2(*(points - middle).T[::-1]))
    hull = [points[i] for i in order]
    changed = True
    while changed:
        changed = False
        for i in range(len(hull)):
            a, b, c = hull[i - 1], hull[i], hull[(i + 1) % len(hull)]
            if (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0]) <= 0:
                del hull[i]
                changed = True
                break
    xs, ys = np.meshgrid(np.arange(size[0]) + 0.5, np.arange(size[1]) + 0.5)
    mask = np.ones(xs.shape, bool)
    for a, b in zip(hull, hull[1:] + hull[:1], strict=True):
        mask &= (b[0] - a[0]) * (ys - a[1]) - (b[1] - a[1]) * (xs - a[0]) >= 0
    return mask


@pytest.mark.parametrize("azimuth", [0.0, 37.0, 200.0])
@pytest.mark.parametrize("name", [LONG, TALL])
def test_the_silhouette_of_a_box_is_the_hull_of_its_corners(azimuth, name):
    shape = cad_shape(name)
    assert np.linalg.norm(np.ptp(shape.vertices, axis=0)) == pytest.approx(1.0, abs=1e-6)
    drawn = silhouette(shape, eye(azimuth), SIZE)
    assert ((drawn > 0) == inside_hull(project(shape.vertices, eye(azimuth)), SIZE)).all()
    seen = 1 / drawn[drawn > 0]
    assert 59 < seen.min() < 60 < seen.max() < 61


def drawn(shape, view):
    return silhouette(cad_shape(shape), view, SIZE) > 0


def posed(shape=LONG, azimuth=30.0, **how):
    view = eye(azimuth, **how)
    return PosedObject(shape, shape.split("/")[1], shape, view, drawn(shape, view))


def iou(counts):
    """Of pictures together, by class, without occlusion and with it."""
    names = {name for one in counts for name in one}
    totals = {name: sum(one[name] for one in counts if name in one) for name in names}
    return {name: total[..., 0] / total[..., 1] for name, total in totals.items()}


def test_true_models_cover_what_is_seen_and_others_do_not():
    pictures = [[posed(LONG)], [posed(LONGER, 200.0)], [posed(TALL, 90.0)]]
    library = {"bus": (LONG, LONGER, TALL)}
    found = iou([chosen_overlaps(objects, library, (i,)) for i, objects in enumerate(pictures)])["bus"][:, 0]
    by_choice = dict(zip(CHOICES, found, strict=True))
    assert by_choice["true"] == 1.0
    assert 0.5 < by_choice["closest"] < 1.0
    randoms = [value for name, value in by_choice.items() if name.startswith("random")]
    assert len(randoms) == 5
    assert len(set(randoms)) > 1
    assert max(randoms) <= 1.0
    again = iou([chosen_overlaps(objects, library, (i,)) for i, objects in enumerate(pictures)])["bus"][:, 0]
    assert np.array_equal(found, again)


def test_pixels_are_counted_by_class_over_all_pictures():
    small, large = posed(distance=110.0), posed(TALL, distance=40.0)
    wrong = replace(small, shape=TALL)
    mask = drawn(TALL, small.viewpoint)
    shared = (mask & small.mask).sum() + large.mask.sum()
    whole = (mask | small.mask).sum() + large.mask.sum()
    assert iou([drawn_overlaps([wrong]), drawn_overlaps([large])])["bus"][0] == pytest.approx(shared / whole)


def test_two_of_a_class_in_one_picture_are_one_region():
    one, other = posed(middle=(40.0, 36.0)), posed(middle=(46.0, 36.0))
    region = one.mask | other.mask
    assert drawn_overlaps([one, other])["bus"][0].tolist() == [region.sum()] * 2


def test_occlusion_takes_what_is_hidden_away():
    front, rear = posed(middle=(40.0, 36.0)), posed(LARGE, middle=(46.0, 36.0))
    rear = replace(rear, mask=rear.mask & ~front.mask)  # four times as large, so as far away for the same size
    found = iou([drawn_overlaps([front, rear])])
    assert found["bus"].tolist() == [1.0, 1.0]
    assert found["bottle"][0] < 0.9
    assert found["bottle"][1] == 1.0


def test_azimuths_that_were_said_turn_the_true_model_and_what_was_not_found_is_left_out():
    objects = [replace(posed(), id="a"), replace(posed(TALL, middle=(70.0, 36.0)), id="b")]
    (turned,) = said_objects(objects, {"a": 75.0})
    assert (turned.viewpoint.azimuth, turned.viewpoint.elevation, turned.shape) == (75.0, 20.0, LONG)
    mask = drawn(LONG, eye(75.0))
    assert drawn_overlaps([turned])["bus"][0].tolist() == [(mask & turned.mask).sum(), (mask | turned.mask).sum()]
    assert drawn_overlaps([]) == {}


def test_the_closest_model_is_the_one_alike():
    among = (LONG, TALL, LONGER)
    assert [closest_model(name, among) for name in (LONG, LONGER)] == [LONGER, LONG]
    assert closest_model(f"{LONG}:medium", (LONG, TALL)) == TALL
    assert closest_model(LONG, (LONG,)) is None


def test_without_a_library_only_the_true_model_is_drawn():
    counts = chosen_overlaps([posed()], {})["bus"]
    assert counts[0, 0, 0] > 0
    assert not counts[1:].any()


def test_models_to_choose_from_are_the_data_s_own_or_one_a_sub_type():
    assert model_library([LONG, LONGER, BOTTLE, "cube"])["bus"] == (LONG, LONGER)
    assert model_library([LONG])["car"] == tuple(
        f"cad/car/{kind}#0" for kind in ("suv", "sedan", "hatchback", "pickup")
    )


def test_objects_of_scenes_are_drawn_as_the_models_they_are():
    name, view = "cad/bus/city#7:medium", eye(40.0)
    seen = Sighting("v", "0", (0, 0, 1, 1), visible_mask=encode(drawn(name, view)), viewpoint=view)
    bare = Sighting("v", "1", (0, 0, 1, 1), viewpoint=Viewpoint(0, 0))  # distance 0: no pose; and no mask
    things = (Object("0", "bus", shape=name), Object("1", "bus", shape=name))
    scene = Scene("s", views=(View("v", size=SIZE),), objects=things, sightings=(seen, bare))
    (one,) = posed_objects(scene, scene.views[0])
    assert (one.id, one.category, one.shape) == ("0", "bus", name)
    found = iou([chosen_overlaps([one], model_library([]))])["bus"][:, 0]
    assert found[0] == 1.0
    assert 0.6 < found[1:6].mean() < 1
    assert 0.7 < found[6] < 1
