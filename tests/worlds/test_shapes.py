"""Every built-in solid: dimensions, a closed surface, normals, names. GeoSpa's volumes against the closed form."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.errors import ConfigError, DataError
from sightline.worlds.shapes import (
    GEOSPA,
    INVENTED,
    KITCHEN,
    SCENE_SCALE,
    SHAPES,
    SIZES,
    Catalogue,
    register,
    solid,
)
from sightline.worlds.shapes.baked import load_solids, save_solids
from sightline.worlds.shapes.invented import RECIPES
from sightline.worlds.shapes.prisms import Mesh, container, prism
from sightline.worlds.solids import SEGMENTS, Cavity, Outline, Solid

BOX, ROUND = "box", "ellipse"
# shape: outside (kind, x, y, height), cavity (kind, x, y, depth); medium, model units
GEOSPA_TABLE = {
    "cube": ((BOX, 1.8, 1.8, 1.8), None),
    "cylinder": ((ROUND, 1.8, 1.8, 1.8), None),
    "short_cylinder": ((ROUND, 1.8, 1.8, 0.9), None),
    "long_cylinder": ((ROUND, 3.0, 2.0, 2.0), None),
    "rectangle": ((BOX, 4.0, 2.0, 2.0), None),
    "thin_rectangle": ((BOX, 2.0, 1.0, 2.0), None),
    "cube_container": ((BOX, 2.0, 2.0, 2.0), (BOX, 1.8, 1.8, 1.9)),
    "cube_cylinder": ((BOX, 2.0, 2.0, 2.0), (ROUND, 1.8, 1.8, 1.9)),
    "cylinder_container": ((ROUND, 2.0, 2.0, 2.0), (ROUND, 1.8, 1.8, 1.9)),
    "cylinder_rect_cont": ((ROUND, 2.0, 2.0, 2.2), (BOX, 1.0, 1.0, 2.1)),
    "ellipse_container": ((ROUND, 3.2, 2.2, 2.2), (ROUND, 2.88, 1.98, 2.09)),
    "ellipse_rect_cont": ((ROUND, 3.2, 2.2, 2.2), (BOX, 2.0, 1.0, 2.1)),
    "rectangle_cont": ((BOX, 4.4, 2.4, 2.2), (BOX, 4.19, 2.18, 2.1)),
    "rectangle_cylinder": ((BOX, 4.4, 2.4, 2.2), (ROUND, 3.0, 2.0, 2.1)),
}
KITCHEN_TABLE = {
    "bottle": (1.37, 1.37, 5.61),
    "can": (1.14, 1.14, 1.98),
    "donut": (1.68, 1.68, 0.69),
    "glass": (1.41, 1.41, 1.73),
    "milk_carton": (1.70, 1.69, 2.86),
    "mug": (1.93, 1.40, 1.67),
    "pill_bottle": (1.26, 1.26, 2.32),
    "plate": (4.73, 4.73, 0.56),
    "teapot": (5.20, 3.38, 2.62),
}
RINGS = {"quoit": 1, "tyre": 1, "oval_ring": 1}
HOLES = {"donut": 1, "mug": 1, "teapot": 1, **RINGS}  # through the ring, under the ears
NAMES = [f"{shape}:{size}" for shape in GEOSPA + KITCHEN for size in SIZES]


def assert_closed(faces: np.ndarray) -> None:
    edges = Counter((int(f[i]), int(f[(i + 1) % 3])) for f in faces for i in range(3))
    assert set(edges.values()) == {1}
    assert all((b, a) in edges for a, b in edges)


def euler(faces: np.ndarray) -> int:
    edges = {frozenset((int(f[i]), int(f[(i + 1) % 3]))) for f in faces for i in range(3)}
    return len(np.unique(faces)) - len(edges) + len(faces)


def volume(vertices: np.ndarray, faces: np.ndarray) -> float:
    a, b, c = vertices.astype(np.float64)[faces].transpose(1, 0, 2)
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def ground(kind: str, x: float, y: float, *, around: bool = False) -> float:
    """Area of a box, or of the polygon in (or around) an ellipse, in closed form."""
    if kind == BOX:
        return x * y
    inscribed = SEGMENTS / 2 * math.sin(2 * math.pi / SEGMENTS) * x * y / 4
    return inscribed / math.cos(math.pi / SEGMENTS) ** 2 if around else inscribed


def test_the_list_of_shapes_is_the_table() -> None:
    assert tuple(GEOSPA_TABLE) == GEOSPA
    assert tuple(KITCHEN_TABLE) == KITCHEN
    assert SHAPES == GEOSPA + KITCHEN + INVENTED


@pytest.mark.parametrize("name", NAMES)
def test_every_solid_fills_its_box_and_stands_centred_on_the_table(name: str) -> None:
    shape, size = name.split(":")
    table = KITCHEN_TABLE[shape] if shape in KITCHEN else GEOSPA_TABLE[shape][0][1:]
    x, y, z = np.array(table) * SCENE_SCALE * SIZES[size]
    made = solid(name)
    assert made.name == name
    np.testing.assert_allclose(made.vertices.min(axis=0), (-x / 2, -y / 2, 0.0), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(made.vertices.max(axis=0), (x / 2, y / 2, z), rtol=1e-6)
    assert made.height == pytest.approx(z, rel=1e-9)
    assert made.outline.half == pytest.approx((x / 2, y / 2), rel=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_surface_is_closed_and_faces_out(shape: str) -> None:
    made = solid(shape)
    assert (made.vertices.dtype, made.faces.dtype, made.normals.dtype) == (np.float32, np.int32, np.float32)
    assert_closed(made.faces)
    bars = len(RECIPES[shape].handles) if shape in RECIPES else 0  # each a closed surface of its own
    assert euler(made.faces) == 2 + 2 * bars - 2 * HOLES.get(shape, 0)
    assert volume(made.vertices, made.faces) > 0.0
    corners = made.vertices.astype(np.float64)[made.faces]
    facing = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(facing, axis=1)
    assert size.min() > 0.0
    np.testing.assert_allclose(np.linalg.norm(made.normals, axis=2), 1.0, atol=1e-6)
    along = np.einsum("fk,fck->fc", facing / size[:, None], made.normals)
    assert along.min() > math.cos(math.radians(36.0))


@pytest.mark.parametrize("shape", GEOSPA)
def test_geospa_volumes_and_outlines(shape: str) -> None:
    (kind, x, y, z), hollow = GEOSPA_TABLE[shape]
    made, k = solid(shape), SCENE_SCALE
    expected = ground(kind, x, y) * z
    assert made.outline == made.base == made.top == Outline(kind, (x * k / 2, y * k / 2))  # type: ignore[arg-type]
    if hollow is None:
        assert made.cavity is None
    else:
        kind, x, y, depth = hollow
        expected -= ground(kind, x, y, around=True) * depth
        assert made.cavity is not None
        assert made.cavity.outline == Outline(kind, (x * k / 2, y * k / 2))  # type: ignore[arg-type]
        assert made.cavity.depth == pytest.approx(depth * k)
    assert volume(made.vertices, made.faces) == pytest.approx(expected * k**3, rel=1e-5)


def test_round_walls_are_smooth_and_flat_ones_flat() -> None:
    cylinder, cube = solid("cylinder"), solid("cube")
    side = np.abs(cylinder.normals[..., 2]) < 0.5
    radial = cylinder.vertices[cylinder.faces][side][:, :2]
    np.testing.assert_allclose(
        cylinder.normals[side][:, :2], radial / np.linalg.norm(radial, axis=1)[:, None], atol=1e-6
    )
    assert np.sort(np.abs(cube.normals), axis=2)[..., :2].max() == 0.0


halves = st.tuples(st.floats(0.3, 3.0), st.floats(0.3, 3.0))
kinds = st.sampled_from([BOX, ROUND])


@settings(max_examples=60, deadline=None)
@given(kinds, halves, kinds, st.floats(0.1, 0.7), st.floats(0.1, 0.7), st.floats(0.1, 0.9))
def test_any_hollow_in_any_prism(
    outer: str, half: tuple[float, float], inner: str, fx: float, fy: float, deep: float
) -> None:
    outline = Outline(outer, half)  # type: ignore[arg-type]
    cavity = Cavity(Outline(inner, (half[0] * fx, half[1] * fy)), deep)  # type: ignore[arg-type]
    made = container(outline, 1.0, cavity)
    assert_closed(made.faces)
    assert euler(made.faces) == 2
    x, y = 2 * half[0], 2 * half[1]
    expected = ground(outer, x, y) - ground(inner, x * fx, y * fy, around=True) * deep
    assert volume(made.vertices, made.faces) == pytest.approx(expected, rel=1e-9)
    assert rim_area(made) == pytest.approx(
        ground(outer, x, y) - ground(inner, x * fx, y * fy, around=True), rel=1e-9
    )


def rim_area(mesh: Mesh) -> float:
    """Summed without signs: a triangle that reached over the hole would count too much."""
    level = (mesh.vertices[mesh.faces][:, :, 2] == 1.0).all(axis=1)
    a, b, c = mesh.vertices[mesh.faces[level]].transpose(1, 0, 2)
    return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)


def test_what_fits_the_ellipse_clears_the_walls() -> None:
    item = prism(Outline("ellipse", (0.9, 0.9)), 1.0).vertices[:SEGMENTS, :2]
    hollow = container(Outline("ellipse", (1.0, 1.0)), 1.0, Cavity(Outline("ellipse", (0.9, 0.9)), 0.5))
    wall = hollow.vertices[2 * SEGMENTS : 3 * SEGMENTS, :2]
    edge = np.roll(wall, -1, axis=0) - wall
    for turn in (0.0, math.pi / SEGMENTS, 1.0):
        c, s = math.cos(turn), math.sin(turn)
        x, y = (item @ np.array([(c, s), (-s, c)])).T[:, :, None]
        inside = edge[:, 0] * (y - wall[:, 1]) - edge[:, 1] * (x - wall[:, 0])
        assert inside.min() > -1e-12


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("cub", "unknown shape 'cub', did you mean 'cube'?"),  # near miss
        ("cube:smal", "unknown size 'smal', did you mean 'small'?"),  # near miss in the size
        ("tea_pot:large", "did you mean 'teapot'?"),  # kitchen
        ("zzz", "there are cube, cylinder"),  # nothing near
        ("cube:", "unknown size ''"),  # a colon and nothing
        ("cube:small:small", "unknown size 'small:small'"),  # too many colons
    ],
)
def test_unknown_names(name: str, says: str) -> None:
    with pytest.raises(ConfigError, match="unknown") as caught:
        solid(name)
    assert says in str(caught.value)


def test_a_solid_is_built_once_whatever_it_is_called() -> None:
    assert solid("mug") is solid("mug:medium")
    assert solid("mug") is not solid("mug:small")


def own(name: str, height: float = 1.0) -> Solid:
    mesh = prism(Outline("box", (0.5, 0.4)), height)
    outline = Outline("box", (0.5, 0.4))
    return Solid(
        name,
        mesh.vertices.astype(np.float32),
        mesh.faces.astype(np.int32),
        mesh.normals.astype(np.float32),
        outline=outline,
        base=outline,
        top=outline,
        height=height,
        cavity=Cavity(Outline("polygon", (0.1, 0.1), ((0.0, 0.0), (0.2, 0.0), (0.0, 0.2))), 0.25),
    )


def test_a_catalogue_takes_own_solids_in_three_sizes() -> None:
    catalogue = Catalogue([own("brick:medium")])
    large = catalogue.solid("brick:large")
    assert catalogue.shapes == (*SHAPES, "brick")
    assert large.height == 1.5
    assert large.outline.half == pytest.approx((0.75, 0.6))
    assert large.vertices[:, 2].max() == 1.5
    assert large.cavity is not None
    assert large.cavity.outline.points[1] == pytest.approx((0.3, 0.0))
    assert large.cavity.depth == 0.375
    assert catalogue.solid("cube").height == 0.9
    with pytest.raises(ConfigError, match="did you mean 'brick'"):
        catalogue.solid("brik")
    with pytest.raises(ConfigError, match="unknown shape 'brick'"):
        Catalogue().solid("brick")


@pytest.mark.parametrize(
    ("second", "says"),
    [
        (own("cube"), "built in"),  # a name that is taken
        (own("brick:small"), "medium"),  # not the size to add
        (own("brick", 2.0), "differs"),  # another solid of the same name
    ],
)
def test_a_catalogue_refuses(second: Solid, says: str) -> None:
    catalogue = Catalogue([own("brick")])
    with pytest.raises(ConfigError, match=says):
        catalogue.add(second)
    catalogue.add(own("brick"))


def test_registered_solids_are_found_by_name() -> None:
    register(own("registered_in_a_test"))
    assert solid("registered_in_a_test:small").height == 0.5


def test_solids_survive_a_file(tmp_path) -> None:
    path = tmp_path / "own.npz"
    kept = [own("brick:medium"), solid("mug"), solid("donut:small")]
    save_solids(path, kept)
    back = load_solids(path)
    assert list(back) == ["brick:medium", "mug:medium", "donut:small"]
    for before, after in zip(kept, back.values(), strict=True):
        for key in ("vertices", "faces", "normals"):
            np.testing.assert_array_equal(getattr(before, key), getattr(after, key))
            assert getattr(before, key).dtype == getattr(after, key).dtype
        for key in ("name", "outline", "base", "top", "height", "cavity"):
            assert getattr(before, key) == getattr(after, key)
    first = path.read_bytes()
    save_solids(path, kept)
    assert path.read_bytes() == first
    assert [p.name for p in tmp_path.iterdir()] == ["own.npz"]


@pytest.mark.parametrize("content", [None, b"", b"no solids", b"PK\x03\x04broken"])
def test_damaged_files_of_solids(tmp_path, content: bytes | None) -> None:
    path = tmp_path / "own.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=r"own\.npz"):
        load_solids(path)


def test_a_foreign_npz_is_refused(tmp_path) -> None:
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(DataError, match="cannot be read as solids"):
        load_solids(tmp_path / "other.npz")
