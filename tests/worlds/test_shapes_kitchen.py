"""The kitchen set: what is committed is what the recipes make, and its outlines are true to its surfaces."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.geometry.footprints import area, within
from sightline.worlds.shapes import KITCHEN, solid
from sightline.worlds.shapes.baked import load_solids, save_solids
from sightline.worlds.shapes.catalogue import KITCHEN_FILE
from sightline.worlds.solids import Outline, Solid

FLAT = {"can", "glass", "mug", "pill_bottle", "plate"}  # end in something level
HOLLOW = {"glass", "mug"}


def size(made: Solid) -> tuple[float, float]:
    """Volume and area of the surface."""
    a, b, c = made.vertices.astype(np.float64)[made.faces].transpose(1, 0, 2)
    surface = np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6), float(surface)


def assert_alike(a: Outline | None, b: Outline | None) -> None:
    assert (a is None) == (b is None)
    if a is not None and b is not None:
        assert a.kind == b.kind
        np.testing.assert_allclose(a.polygon(), b.polygon(), atol=1e-6)


@pytest.mark.parametrize("shape", KITCHEN)
def test_the_recipe_makes_what_is_committed(shape: str) -> None:
    pytest.importorskip("manifold3d", reason="baking needs manifold3d")
    from bake_kitchen import bake

    fresh, kept = bake(shape), solid(shape)
    assert len(fresh.faces) == len(kept.faces)
    assert size(fresh) == pytest.approx(size(kept), rel=1e-5)
    for key in ("outline", "base", "top"):
        assert_alike(getattr(fresh, key), getattr(kept, key))
    assert fresh.height == kept.height
    assert (fresh.cavity is None) == (kept.cavity is None)
    if fresh.cavity is not None and kept.cavity is not None:
        assert_alike(fresh.cavity.outline, kept.cavity.outline)
        assert fresh.cavity.depth == pytest.approx(kept.cavity.depth)


def test_baking_twice_makes_the_same_bytes(tmp_path) -> None:
    pytest.importorskip("manifold3d", reason="baking needs manifold3d")
    from bake_kitchen import bake

    for name in ("a.npz", "b.npz"):
        save_solids(tmp_path / name, [bake("mug"), bake("teapot")])
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_the_file_is_small_and_scenes_are_rich() -> None:
    assert KITCHEN_FILE.stat().st_size <= 2_000_000
    assert list(load_solids(KITCHEN_FILE)) == [f"{shape}:medium" for shape in KITCHEN]
    counts = [len(solid(shape).faces) for shape in KITCHEN]
    assert min(counts) >= 1_500
    assert max(counts) <= 5_000
    assert np.mean(counts) * 3 > 10_000


@pytest.mark.parametrize("shape", KITCHEN)
def test_outlines_hold_the_surface(shape: str) -> None:
    made = solid(shape)
    points = made.vertices.astype(np.float64)
    # An ellipse becomes the polygon inside it, which its own vertices may leave by the sagitta.
    slack = 1e-6 if made.outline.kind == "polygon" else 6e-4
    assert inside(points[:, :2], made.outline, slack)
    foot = points[points[:, 2] < 1e-4 * made.height, :2]
    assert len(foot) >= 3
    assert inside(foot, made.base, slack)
    assert area(made.base.polygon()) > 0.1 * area(made.outline.polygon())


@pytest.mark.parametrize("shape", KITCHEN)
def test_a_top_is_flat_but_for_its_cavity(shape: str) -> None:
    made = solid(shape)
    assert (made.top is not None) == (shape in FLAT)
    assert (made.cavity is not None) == (shape in HOLLOW)
    if made.top is not None:
        corners = made.vertices.astype(np.float64)[made.faces]
        level = corners[(corners[:, :, 2] > made.height * (1 - 1e-6)).all(axis=1)]
        flat = np.abs(np.cross(level[:, 1] - level[:, 0], level[:, 2] - level[:, 0])[:, 2]).sum() / 2
        hollow = area(made.cavity.outline.polygon()) if made.cavity else 0.0
        assert flat + hollow > 0.8 * area(made.top.polygon())


@pytest.mark.parametrize("shape", sorted(HOLLOW))
def test_a_cavity_is_empty_down_to_its_floor(shape: str) -> None:
    made = solid(shape)
    assert made.cavity is not None
    assert made.top is not None
    hollow = made.cavity.outline.polygon()
    floor = made.height - made.cavity.depth
    corners = made.vertices.astype(np.float64)[made.faces]
    assert inside(hollow, made.top, -1e-6)  # a rim is left
    # No surface crosses the hollow: above the floor every triangle keeps out of it.
    for triangle in corners[(corners[:, :, 2] > floor + 1e-6).any(axis=1)]:
        assert apart(hollow, triangle[:, :2]) > -1e-6
    bottom = corners[np.abs(corners[:, :, 2] - floor).max(axis=1) < 1e-6]
    covered = np.abs(np.cross(bottom[:, 1] - bottom[:, 0], bottom[:, 2] - bottom[:, 0])[:, 2]).sum() / 2
    assert covered >= area(hollow)


def inside(points: np.ndarray, outline: Outline, slack: float) -> bool:
    corners = outline.polygon()
    return within(np.ascontiguousarray(points), len(points), corners, len(corners), -slack)


def apart(hollow: np.ndarray, triangle: np.ndarray) -> float:
    """Widest gap along the normals of all edges, both ways; a triangle may be seen edge on."""
    edge = np.concatenate([np.roll(p, -1, axis=0) - p for p in (hollow, triangle)])
    edge = edge[np.linalg.norm(edge, axis=1) > 1e-9]
    normal = np.column_stack((edge[:, 1], -edge[:, 0])) / np.linalg.norm(edge, axis=1)[:, None]
    normal = np.concatenate((normal, -normal))
    return float(((triangle @ normal.T).min(axis=0) - (hollow @ normal.T).max(axis=0)).max())


def test_only_a_round_hull_about_the_origin_is_an_ellipse() -> None:
    pytest.importorskip("manifold3d", reason="baking needs manifold3d")
    from bake_kitchen import region

    turn = 2 * np.pi * np.arange(48) / 48
    curve = np.column_stack((2 * np.cos(turn), np.sin(turn)))
    assert region(curve).kind == "ellipse"
    assert region(curve).half == pytest.approx((2.0, 1.0))
    assert region(curve + np.array((0.1, 0.0))).kind == "polygon"
    assert region(curve[::4]).kind == "polygon"
