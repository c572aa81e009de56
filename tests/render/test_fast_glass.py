"""Thin glass: what is seen through it, what is said of it, and the shadow it does not throw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fast_layouts import layout_of, shot, thing

from sightline.render.fast import FastRenderer
from sightline.worlds.layout import Layout, Placed
from sightline.worlds.looks import MATERIALS, Material
from sightline.worlds.shapes import Catalogue, solid
from sightline.worlds.solids import Slot, Solid

VIEW = shot((0.0, -8.0, 2.0), (0.0, 0.0, 0.5), focal=45.0, size=(72, 48))
PANES = {"clear": (1.0, 1.0, 1.0), "rosy": (1.0, 0.5, 0.5), "dark": (0.2, 0.2, 0.2)}


def pane(tint: tuple[float, float, float], name: str) -> Solid:
    """A thin upright sheet, two triangles, of glass without a coat."""
    cube = solid("thin_rectangle")
    flat = np.array([(-0.9, 0, 0), (0.9, 0, 0), (0.9, 0, 1.8), (-0.9, 0, 1.8)], np.float32)
    faces = np.array([(0, 1, 2), (0, 2, 3)], np.int32)
    normals = np.broadcast_to(np.array((0, -1, 0), np.float32), (2, 3, 3)).copy()
    slots = (Slot("pane", tint, Material(0.0, 1.0, 0.0, 0.9)),)
    return replace(
        cube,
        name=f"{name}:medium",
        vertices=flat,
        faces=faces,
        normals=normals,
        slots=slots,
        paint=np.zeros(0, np.uint8),
        closed=False,
    )


CATALOGUE = Catalogue([pane(tint, f"{name}_pane") for name, tint in PANES.items()])
RENDERER = FastRenderer(solid=CATALOGUE.solid)
BEHIND = thing("cube", 0.3, 1.5, color="green")


def radiance(layout: Layout) -> np.ndarray:
    RENDERER.frame(layout, VIEW)
    colour: np.ndarray = next(reversed(RENDERER._worked.values())).state.colour
    return colour


def scene(*objects: Placed) -> Layout:
    return layout_of(objects, VIEW)


def test_truth_is_of_the_pane() -> None:
    layout = scene(thing("clear_pane", 0.0, -1.0), BEHIND)
    frame = RENDERER.frame(layout, VIEW)
    inside = frame.amodal[0]
    assert inside.sum() > 200
    assert (frame.ids[inside] == 1).all()
    assert (frame.amodal[1] & inside).sum() > 50
    assert np.nanmax(frame.depth[inside]) < 7.5
    assert (frame.normals[inside] @ (0, -1, 0) > 0.999).all()


@pytest.mark.parametrize("name", ["clear", "rosy"])
def test_what_is_behind_is_seen_tinted(name: str) -> None:
    """What a cube changes behind a pane is 0.9 · tint of what it changes without: the pane's own light cancels."""
    glass = thing(f"{name}_pane", 0.0, -1.0)
    through = radiance(scene(glass, BEHIND)) - radiance(scene(glass))
    bare = radiance(scene(BEHIND)) - radiance(scene())
    amodal = RENDERER.frame(scene(glass, BEHIND), VIEW).amodal
    deep = amodal.all(axis=0)
    deep &= np.roll(deep, 2, 1) & np.roll(deep, -2, 1) & np.roll(deep, 2, 0) & np.roll(deep, -2, 0)
    assert deep.sum() > 30
    share = through[deep].mean(axis=0) / bare[deep].mean(axis=0)
    assert share == pytest.approx(0.9 * np.array(PANES[name]), rel=0.25)


def test_panes_multiply() -> None:
    """Behind two rosy panes there is less green than behind one, and red stays."""
    one = radiance(scene(thing("rosy_pane", 0.0, -1.0)))
    two = radiance(scene(thing("rosy_pane", 0.0, -1.0), thing("rosy_pane", 0.0, -0.5)))
    inside = RENDERER.frame(scene(thing("rosy_pane", 0.0, -1.0), thing("rosy_pane", 0.0, -0.5)), VIEW).amodal.all(
        axis=0
    )
    red, green = (float((two[inside][:, c] / one[inside][:, c]).mean()) for c in (0, 1))
    assert 0.8 < red < 1.1
    assert 0.4 < green < 0.75


@pytest.mark.parametrize(("name", "shadow"), [("clear", False), ("dark", True)])
def test_only_dark_panes_throw_shadows(name: str, shadow: bool) -> None:
    layout = scene(thing(f"{name}_pane", 0.0, 0.0, yaw=0.6))
    frame = RENDERER.frame(layout, VIEW)
    change = np.abs(radiance(layout) / np.maximum(radiance(layout.without(0)), 1e-6) - 1)
    assert (change[frame.ids == 0].max() > 0.2) == shadow


def test_glass_is_a_material_of_objects_too() -> None:
    """A glass cube shows its far side and the table."""
    assert MATERIALS["glass"].transmission == 0.9
    cube = Placed("cube", "white", "glass", (0.0, 0.0, 0.0), 0.3)
    red = thing("cube:small", 0.0, 1.5)
    with_it, without = radiance(scene(cube, red)), radiance(scene(cube))
    assert (np.abs(with_it - without).max(axis=2)[RENDERER.frame(scene(cube), VIEW).ids == 1] > 0.02).any()
