"""Painted parts, landmarks and symmetry of solids, and their way through files and sizes."""

from __future__ import annotations

import tracemalloc
from dataclasses import fields, replace

import numpy as np
import pytest

from sightline.errors import ConfigError, DataError
from sightline.worlds.looks import Material
from sightline.worlds.shapes import Catalogue, load_solids, save_solids, solid
from sightline.worlds.shapes.prisms import prism
from sightline.worlds.shapes.surfaces import symmetry
from sightline.worlds.solids import CONTINUOUS, MOST_SLOTS, Outline, Slot, Solid

GLASS = Slot("glass", (0.1, 0.2, 0.3), Material(0.0, 0.1, 0.04))


def painted(name: str = "crate:medium") -> Solid:
    """A cube with one textured face, one of another look, and a landmark."""
    picture = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    cube = solid("cube")
    slots = (Slot("body"), GLASS, Slot("screen", (0.5, 0.5, 0.5), GLASS.material, picture))
    uv = np.random.default_rng(0).random((12, 3, 2)).astype(np.float32)
    paint = np.array([0] * 8 + [1, 1, 2, 2], np.uint8)
    return replace(cube, name=name, slots=slots, paint=paint, uv=uv, landmarks={"tip": (0.1, 0.2, 0.9)}, symmetry=1)


def alike(a: Solid, b: Solid) -> bool:
    values = [(getattr(a, f.name), getattr(b, f.name)) for f in fields(Solid)]
    values += [(x.texture, y.texture) for x, y in zip(a.slots, b.slots, strict=True)]
    return all(np.array_equal(x, y) if isinstance(x, np.ndarray) else x == y for x, y in values)


def test_painted_solids_come_back_from_a_file(tmp_path) -> None:
    before = [painted(), solid("mug"), replace(solid("cube"), name="sheet:medium", closed=False)]
    save_solids(tmp_path / "own.npz", before)
    after = load_solids(tmp_path / "own.npz")
    assert all(alike(a, b) for a, b in zip(before, after.values(), strict=True))
    save_solids(tmp_path / "again.npz", after.values())
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "own.npz").read_bytes()


def test_sizes_keep_paint_and_move_landmarks() -> None:
    made = painted()
    small = Catalogue([made]).solid("crate:small")
    assert small.landmarks == {"tip": (0.05, 0.1, 0.45)}
    assert np.array_equal(small.vertices * 2, painted().vertices)
    kept = ("faces", "normals", "paint", "uv", "slots", "symmetry", "closed")
    assert all(getattr(small, name) is getattr(made, name) for name in kept)


@pytest.mark.parametrize(
    "changes",
    [
        {"paint": np.zeros(12, np.uint8)},  # another part
        {"slots": (Slot("body"), GLASS, Slot("glass_2"))},  # another look
        {"landmarks": {}},  # no landmark
        {"uv": None},  # no texture coordinates
        {"symmetry": 4},  # another symmetry
    ],
)
def test_a_catalogue_tells_painted_solids_apart(changes) -> None:
    catalogue = Catalogue([painted()])
    catalogue.add(painted())
    with pytest.raises(ConfigError, match="already there and differs"):
        catalogue.add(replace(painted(), **changes))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"slots": ()}, "wrong number of slots"),  # none
        ({"slots": tuple(Slot(f"s{i}") for i in range(MOST_SLOTS + 1))}, "wrong number of slots"),  # too many
        ({"paint": np.zeros(11, np.uint8)}, "paint does not fit"),  # a face without
        ({"paint": np.full(12, 3, np.uint8)}, "paint does not fit"),  # a slot that is not there
    ],
)
def test_paint_that_cannot_be(changes, says: str) -> None:
    with pytest.raises(DataError, match=says):
        replace(painted(), **changes)


@pytest.mark.parametrize(
    "name",
    [
        "cube",
        "rectangle",
        "cylinder",
        "cylinder_rect_cont",
        "long_cylinder",
        "mug",
        "plate",
        "tri_slab",
        "hexa_cup",
    ],
)
def test_declared_symmetry_is_that_of_the_mesh(name: str) -> None:
    assert symmetry(solid(name)) == solid(name).symmetry


@pytest.mark.parametrize("name", ["cube", "rectangle", "cylinder"])
@pytest.mark.parametrize("stretch", [1e-3, 30.0, 1e5])
def test_height_makes_no_difference_to_symmetry(name: str, stretch: float) -> None:
    """Nor does it take memory in proportion."""
    plain = solid(name)
    tall = replace(plain, vertices=plain.vertices * np.array((1.0, 1.0, stretch), np.float32))
    tracemalloc.start()
    assert symmetry(tall) == plain.symmetry
    assert tracemalloc.get_traced_memory()[1] < 5e8
    tracemalloc.stop()


@pytest.mark.parametrize("corners", [3, 4, 5, 6, 8, 64])
def test_symmetry_of_regular_prisms(corners: int) -> None:
    turn = 2 * np.pi * np.arange(corners) / corners
    points = np.column_stack((np.cos(turn), np.sin(turn)))
    outline = Outline("polygon", (1.0, 1.0), tuple((float(x), float(y)) for x, y in points))
    plain = prism(outline, 0.3).solid("p:medium", outline=outline, base=outline, top=None, height=0.3)
    expected = CONTINUOUS if corners == 64 else corners
    assert symmetry(plain) == expected
    paint = np.zeros(len(plain.faces), np.uint8)
    paint[:2] = 1  # one wall of another look
    assert symmetry(replace(plain, slots=(Slot("body"), GLASS), paint=paint)) == 1
