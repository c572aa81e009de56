"""CAD models over pictures: which edges are seen, and what is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.geometry import Viewpoint, project
from sightline.render.pose_masks import CadShape, cad_shape, silhouette
from sightline.scenes import Landmark
from sightline.show.model_overlay import RED, DrawnModel, model_overlay, visible_edges

SIZE = (120, 90)
EYE = Viewpoint(30.0, 25.0, 40.0, 0.0, (60.0, 45.0))
CORNERS = np.array([(x, y, z) for x in (-0.3, 0.3) for y in (-0.3, 0.3) for z in (-0.26, 0.26)])
QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
BOX = CadShape(
    CORNERS.astype(np.float32),
    np.array([half for a, b, c, d in QUADS for half in ((a, b, c), (a, c, d))], np.int32),
)


@pytest.mark.parametrize(("azimuth", "elevation", "seen"), [(30.0, 25.0, 9), (0.0, 0.0, 4), (30.0, 0.0, 7)])
def test_the_edges_of_a_box_are_those_one_sees(azimuth, elevation, seen):
    view = Viewpoint(azimuth, elevation, 1.6, 0.0, (120.0, 90.0), viewport=240)  # near: hidden edges lie well apart
    pieces = visible_edges(BOX, view, (240, 180))
    ends = project(CORNERS, view)
    hits = 0
    for a in range(8):
        for b in range(a):
            if (np.abs(CORNERS[a] - CORNERS[b]) > 0).sum() == 1:  # an edge, no diagonal
                middle = (ends[a] + ends[b]) / 2
                apart = np.linalg.norm(pieces.mean(axis=1) - middle, axis=1).min()
                hits += bool(apart < np.linalg.norm(ends[a] - ends[b]) / 11 + 0.5)
    assert hits == seen
    lengths = np.linalg.norm(pieces[:, 1] - pieces[:, 0], axis=1)
    assert lengths.max() <= np.linalg.norm(np.ptp(ends, axis=0)) / 5


def test_an_overlay_colours_what_the_model_covers_and_circles_landmarks_that_are_seen():
    grey = np.full((SIZE[1], SIZE[0], 3), 128, np.uint8)
    marks = (
        Landmark("a", 20.0, 70.0),
        Landmark("b", 100.0, 20.0, "occluded"),
        Landmark("c", None, None, "unknown"),
    )
    made = np.asarray(model_overlay(grey, [DrawnModel("cad/bus/city#1", EYE, wash=0.5, landmarks=marks)], 2.0))
    assert made.shape == (180, 240, 3)
    covered = silhouette(cad_shape("cad/bus/city#1"), EYE, SIZE) > 0
    inside = made[90, 120].astype(int)
    assert covered[45, 60]
    assert inside[2] > inside[0] + 40  # blue
    assert (made[5, 5] == 128).all()
    red = [int(RED[i : i + 2], 16) for i in (1, 3, 5)]
    near = np.abs(made.astype(int) - red).sum(axis=2) < 30
    rows, columns = np.nonzero(near)
    assert len(rows) > 10
    assert abs(rows.mean() - 140) < 2
    assert abs(columns.mean() - 40) < 2
