"""Truth of a view against a reading pixel by pixel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from reference import view_truth
from sightline.geometry import masks
from sightline.render.frames import Frame
from sightline.render.truth import depth_label, scene_relations, sightings, view_relations
from sightline.scenes import Depth

HEIGHT, WIDTH = 7, 9


def frame_of(surfaces: np.ndarray) -> Frame:
    """A frame from (n, H, W) depths of each object's own surface, inf where it is not; ties go to the first."""
    amodal = np.isfinite(surfaces)
    nearest = np.where(amodal.any(axis=0), surfaces.argmin(axis=0) + 1, 0).astype(np.int32)
    inside = amodal.any(axis=(1, 2))
    total = np.where(amodal, surfaces, 0.0).sum(axis=(1, 2))
    mean = np.where(inside, total / np.maximum(amodal.sum(axis=(1, 2)), 1), np.nan)
    depth = np.where(nearest > 0, surfaces.min(axis=0), np.nan).astype(np.float32)
    normals = np.zeros((*depth.shape, 3), np.float32)
    return Frame("original", nearest, depth, normals, amodal, mean, (nearest == 0).astype(np.uint8))


@st.composite
def frames(draw: st.DrawFn) -> Frame:
    """Up to four objects, each a block of pixels with holes, at depths that may lie in each other."""
    surfaces = []
    for _ in range(draw(st.integers(1, 4))):
        x0, x1 = sorted(draw(st.tuples(st.integers(0, WIDTH), st.integers(0, WIDTH))))
        y0, y1 = sorted(draw(st.tuples(st.integers(0, HEIGHT), st.integers(0, HEIGHT))))
        surface = np.full((HEIGHT, WIDTH), np.inf)
        surface[y0:y1, x0:x1] = draw(st.sampled_from([9.0, 9.1, 10.0, 12.0]))
        surface += draw(arrays(float, (HEIGHT, WIDTH), elements=st.sampled_from([0.0, 0.0, 2.0, np.inf])))
        surfaces.append(surface)
    return frame_of(np.stack(surfaces))


@settings(max_examples=60, deadline=None)
@given(frames())
def test_sightings_against_the_definitions(frame: Frame) -> None:
    n = len(frame.amodal)
    found = {s.object_id: s for s in sightings(frame, [f"o{i}" for i in range(n)])}
    for i in range(n):
        visible, amodal = view_truth.seen(frame, i)
        assert (f"o{i}" in found) == bool(amodal)
        if not amodal:
            continue
        told = found[f"o{i}"]
        assert told.view_id == "original"
        assert told.box == view_truth.box(visible or amodal)
        assert told.flags == view_truth.flags(frame, i)
        assert told.occluded_fraction == pytest.approx(1 - len(visible) / len(amodal))
        assert told.visible_mask == masks.encode(frame.ids == i + 1)
        assert told.amodal_mask == masks.encode(frame.amodal[i])


@settings(max_examples=60, deadline=None)
@given(frames(), st.sampled_from([0.0, 0.02, 0.2]))
def test_relations_against_the_definitions(frame: Frame, tolerance: float) -> None:
    names = [f"o{i}" for i in range(len(frame.amodal))]
    found = view_relations(frame, names, tolerance=tolerance)
    inside = [i for i in range(len(names)) if frame.amodal[i].any()]
    pairs = [(a, b) for a in inside for b in inside if a < b]
    expected = {
        (names[a], names[b], aspect): word
        for a, b in pairs
        for aspect, word in (
            ("depth", view_truth.depth(frame, a, b, tolerance)),
            ("occlusion", view_truth.occlusion(frame, a, b)),
        )
    }
    assert {(r.subject, r.object, r.aspect): r.predicate for r in found} == expected
    assert len(found) == len(expected)  # one row a pair and aspect
    assert {r.view for r in found} <= {"original"}


@pytest.mark.parametrize(
    ("first", "second", "tolerance", "label"),
    [
        (10.0, 10.0, 0.0, Depth.SAME),  # equal, without any tolerance
        (10.0, 10.2, 0.02, Depth.SAME),  # at the edge, of the smaller one
        (10.2, 10.0, 0.02, Depth.SAME),  # the other way round
        (10.0, 10.21, 0.02, Depth.CLOSER),  # past it
        (10.21, 10.0, 0.02, Depth.FARTHER),  # past it, the other way round
    ],
)
def test_depth_labels(first: float, second: float, tolerance: float, label: Depth) -> None:
    assert depth_label(first, second, tolerance) == label


def _column(pixels: int, of: int) -> Frame:
    """A near object over the first `pixels` of another one that has `of`."""
    surfaces = np.full((2, 1, of + 1), np.inf)
    surfaces[0, 0, :pixels] = 1.0
    surfaces[1, 0, :of] = 2.0
    return frame_of(surfaces)


@pytest.mark.parametrize(
    ("pixels", "of", "word"),
    [
        (3, 10, "none"),  # too few pixels
        (4, 10, "occludes"),  # just enough
        (4, 400, "occludes"),  # one in a hundred
        (4, 401, "none"),  # less than one in a hundred
        (10, 10, "occludes"),  # the whole of it
    ],
)
def test_where_hiding_begins(pixels: int, of: int, word: str) -> None:
    [_, occlusion] = view_relations(_column(pixels, of), ["near", "far"])
    assert (occlusion.subject, occlusion.object, occlusion.predicate) == ("near", "far", word)


def test_facts_of_the_scene_have_no_view() -> None:
    left, holds = scene_relations([(0, "left", 1), (1, "can_contain", 0)], ["a", "b"])
    assert (left.subject, left.aspect, left.predicate, left.object) == ("a", "spatial", "left", "b")
    assert (holds.subject, holds.aspect, holds.predicate, holds.object) == ("b", "geometry", "can_contain", "a")
    assert left.view is holds.view is None
