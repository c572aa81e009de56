"""Segmentation by pose: silhouettes, pooled IoU, random, closest and predicted models, occlusion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sightline.errors import ConfigError
from sightline.exams.viewpoint.segmentation import (
    CadShape,
    PosedObject,
    cad_shape,
    closest_model,
    pooled_iou,
    pose_segmentation,
    posed_objects,
    silhouette,
)
from sightline.geometry import Viewpoint, project
from sightline.geometry.masks import encode
from sightline.scenes import Object, Scene, Sighting, View

SIZE = (96, 72)
QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


def block(x, y, z):
    """A box of these sides, scaled to diagonal 1."""
    sides = np.array([x, y, z]) / np.linalg.norm([x, y, z])
    corners = np.array([(i, j, k) for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (-0.5, 0.5)]) * sides
    faces = [half for a, b, c, d in QUADS for half in ((a, b, c), (a, c, d))]
    return CadShape(corners.astype(np.float32), np.array(faces, np.int32))


LONG, LONGER, TALL = block(1, 3, 1), block(1, 3.4, 1), block(1, 1, 4)
SHAPES = {"bus": [LONG, LONGER, TALL], "bottle": [TALL]}


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
@pytest.mark.parametrize("shape", [LONG, TALL])
def test_the_silhouette_of_a_box_is_the_hull_of_its_corners(azimuth, shape):
    drawn = silhouette(shape, eye(azimuth), SIZE)
    assert ((drawn > 0) == inside_hull(project(shape.vertices, eye(azimuth)), SIZE)).all()
    seen = 1 / drawn[drawn > 0]
    assert 59 < seen.min() < 60 < seen.max() < 61


def posed(image="a", model=0, azimuth=30.0, said=None, category="bus", **how):
    view = eye(azimuth, **how)
    mask = silhouette(SHAPES[category][model], view, SIZE) > 0
    return PosedObject(image, category, model, view, mask, said)


def test_true_models_cover_what_is_seen_and_others_do_not():
    objects = [
        posed("a", 0, 30.0, 75.0),
        posed("b", 1, 200.0, 200.0),
        posed("c", 2, 90.0),
        posed("d", 0, 10.0, 190.0),
    ]
    found = pose_segmentation(objects, SHAPES)
    assert found.true == {"bus": 1.0}
    mean, spread = found.random["bus"]
    assert 0.3 < mean < 0.95
    assert spread > 0
    assert pose_segmentation(objects, SHAPES).random == found.random
    assert 0.5 < found.closest["bus"] < 1.0
    turned = replace(objects[0], viewpoint=replace(objects[0].viewpoint, azimuth=75.0))
    back = replace(objects[3], viewpoint=replace(objects[3].viewpoint, azimuth=190.0))
    assert found.predicted == pooled_iou([turned, objects[1], back], SHAPES)  # the one not found is left out


def test_iou_is_pooled_over_the_pixels_of_a_class():
    small, large = posed("a", distance=110.0), posed("b", 2, distance=40.0)
    wrong = replace(small, model=2)
    mask = silhouette(TALL, small.viewpoint, SIZE) > 0
    shared = (mask & small.mask).sum() + large.mask.sum()
    whole = (mask | small.mask).sum() + large.mask.sum()
    assert pooled_iou([wrong, large], SHAPES)["bus"] == pytest.approx(shared / whole)


def test_occlusion_takes_what_is_hidden_away():
    front, rear = posed("a", middle=(40.0, 36.0)), posed("a", 0, category="bottle", middle=(46.0, 36.0))
    rear = replace(rear, diagonal=3.0)  # three times as large, so three times as far away for the same size
    rear = replace(rear, mask=rear.mask & ~front.mask)
    plain, aware = (pooled_iou([front, rear], SHAPES, occlusion) for occlusion in (False, True))
    assert plain["bus"] == aware["bus"] == aware["bottle"] == 1.0
    assert plain["bottle"] < 0.9


def test_the_closest_model_is_the_one_alike():
    models = [LONG, TALL, LONGER]
    assert [closest_model(models, i, range(3)) for i in (0, 2)] == [2, 0]
    assert closest_model(models, 0, [0, 1]) == 1
    assert closest_model(models, 0, [0]) is None


def test_objects_of_scenes_are_drawn_as_the_models_they_are():
    names = ["cad/bus/city#7:medium", "cad/bus/mini#1:medium"]
    scenes = []
    for i, name in enumerate(names):
        view = eye(40.0 + 90 * i)
        mask = silhouette(cad_shape(name), view, SIZE) > 0
        seen = Sighting("v", "0", (0, 0, 1, 1), visible_mask=encode(mask), viewpoint=view)
        bare = Sighting("v", "1", (0, 0, 1, 1), viewpoint=Viewpoint(0, 0))  # no pose, no mask
        things = (Object("0", "bus", shape=name), Object("1", "bus"))
        scenes.append(Scene(f"s{i}", views=(View("v", size=SIZE),), objects=things, sightings=(seen, bare)))
    objects, shapes, library = posed_objects(scenes, {("s1", "0"): 310.0})
    assert [(o.image, o.model, o.azimuth) for o in objects] == [("s0", 0, None), ("s1", 1, 310.0)]
    assert np.linalg.norm(np.ptp(shapes["bus"][0].vertices, axis=0)) == pytest.approx(1.0, abs=1e-6)
    assert len(library["bus"]) == 4
    found = pose_segmentation(objects, shapes, library)
    assert found.true == {"bus": 1.0}
    assert found.random["bus"][0] < 1
    assert 0.7 < found.closest["bus"] < 1
    assert 0.6 < found.predicted["bus"] < 1  # a bus turned by 180° looks much alike


def test_a_model_that_is_not_there_is_refused():
    with pytest.raises(ConfigError, match="no model 1 of the class 'bottle'"):
        pose_segmentation([replace(posed(category="bottle"), model=1)], SHAPES)
