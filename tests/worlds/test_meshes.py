"""Mesh files as shapes: four formats there and back, and everything that is refused."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from sightline.errors import ConfigError, DataError, MissingExtraError
from sightline.worlds.shapes import Catalogue, solid
from sightline.worlds.shapes.meshes import load_mesh
from sightline.worlds.shapes.surfaces import crease_normals, open_edges

trimesh = pytest.importorskip("trimesh", reason="mesh files need trimesh")

CUBE = np.array([(x, y, z) for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
SIDES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
FACES = np.array([t for a, b, c, d in SIDES for t in ((a, b, c), (a, c, d))])


def written(path: Path, vertices: np.ndarray, faces: np.ndarray) -> Path:
    trimesh.Trimesh(vertices, faces, process=False).export(path)
    return path


def volume(vertices: np.ndarray, faces: np.ndarray) -> float:
    a, b, c = vertices.astype(np.float64)[faces].transpose(1, 0, 2)
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


@pytest.mark.parametrize("kind", ["obj", "glb", "stl", "off"])
@pytest.mark.parametrize("shape", ["teapot", "cube_container"])
def test_a_solid_comes_back_from_every_format(tmp_path, kind: str, shape: str) -> None:
    before = solid(shape)
    # The file has another place and unit, which loading takes out again.
    path = written(tmp_path / f"thing.{kind}", before.vertices * 100 + (5, 6, 7), before.faces)
    after = load_mesh(path, height=before.height, up="z")
    assert after.name == "thing:medium"
    assert after.height == pytest.approx(before.height)
    assert after.vertices.shape == before.vertices.shape
    np.testing.assert_allclose(after.vertices.min(axis=0), before.vertices.min(axis=0), atol=1e-5)
    np.testing.assert_allclose(after.vertices.max(axis=0), before.vertices.max(axis=0), atol=1e-5)
    assert volume(after.vertices, after.faces) == pytest.approx(volume(before.vertices, before.faces), rel=1e-4)
    assert open_edges(after.faces) == 0
    assert after.outline.kind == "polygon"
    assert after.outline.half == pytest.approx(before.outline.half, rel=1e-4)
    assert after.base.half == pytest.approx(before.base.half, rel=0.05)
    assert after.cavity is None
    assert after.top is None  # the teapot ends in a knob, the container in a hole


def test_a_cube_in_the_files_own_unit(tmp_path) -> None:
    made = load_mesh(written(tmp_path / "box.off", CUBE * (2, 1, 3), FACES), scale=0.1, name="crate")
    assert made.name == "crate:medium"
    assert made.height == pytest.approx(0.3)
    assert made.outline == made.base == made.top
    assert np.array(made.outline.points) == pytest.approx(
        np.array([(-1, -0.5), (1, -0.5), (1, 0.5), (-1, 0.5)]) * 0.1
    )
    assert np.sort(np.abs(made.normals), axis=2)[..., :2].max() == pytest.approx(0.0, abs=1e-6)
    assert Catalogue([made]).solid("crate:small").height == pytest.approx(0.15)


def test_gltf_has_y_up(tmp_path) -> None:
    path = written(tmp_path / "tall.glb", CUBE * (1, 5, 2), FACES)
    made = load_mesh(path)
    assert made.height == pytest.approx(5.0)
    assert made.outline.half == pytest.approx((0.5, 1.0))
    assert volume(made.vertices, made.faces) == pytest.approx(10.0, rel=1e-5)


@pytest.mark.parametrize(
    ("vertices", "faces", "says"),
    [
        (CUBE, FACES[:-1], r"not watertight \(expected no open edges, found 3\)"),  # a hole
        (CUBE, np.vstack((FACES[:-1], FACES[-1:, ::-1])), "not watertight"),  # one face turned
        (CUBE, np.vstack((FACES, FACES[:1])), "not watertight"),  # a face twice
        (CUBE, FACES[:, ::-1], "inside out"),  # all faces turned
        (CUBE * (1, 1, 0), FACES, "holds|watertight|inside out or flat"),  # no volume
        (
            np.array([(1, 0, 1), (0, 1, 1), (-1, 0, 1), (0, -1, 1), (0, 0, 2), (0, 0, 0.0)]),
            np.array([(i, (i + 1) % 4, 4) for i in range(4)] + [((i + 1) % 4, i, 5) for i in range(4)]),
            "touches the table in a point",
        ),  # stands on a tip
    ],
)
def test_bad_surfaces_are_refused(tmp_path, vertices: np.ndarray, faces: np.ndarray, says: str) -> None:
    path = written(tmp_path / "bad.off", vertices, faces)
    with pytest.raises(DataError, match=says) as caught:
        load_mesh(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("thing.fbx", b"", r"unknown kind of mesh file \(expected \.obj"),  # a format we do not read
        ("gone.obj", None, "no such file"),  # not there
        ("thing.off", b"OFF\nthree blind mice\n", "cannot be read as a mesh|holds no usable"),  # not a mesh
        ("thing.glb", b"\x00" * 40, "cannot be read as a mesh"),  # not glTF
        ("thing.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\n", "cannot be read as a mesh|holds no usable"),  # no faces
    ],
)
def test_bad_files_are_refused(tmp_path, name: str, content: bytes | None, says: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=says):
        load_mesh(path)


@pytest.mark.parametrize(
    "sizes",
    [
        {"height": 1.0, "scale": 2.0},  # both
        {"height": -1.0},  # negative
        {"height": 0.0},  # nothing left
        {"scale": 0.0},  # nothing left
        {"scale": math.nan},  # no number
    ],
)
def test_impossible_sizes(tmp_path, sizes: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="mesh"):
        load_mesh(written(tmp_path / "box.off", CUBE, FACES), **sizes)


def test_without_trimesh_the_extra_is_named(tmp_path, monkeypatch) -> None:
    path = written(tmp_path / "box.off", CUBE, FACES)
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(MissingExtraError, match=r"sightline-exams\[worlds\]"):
        load_mesh(path)


def test_creases_are_kept_and_round_parts_smooth() -> None:
    n = 24  # 15° a step
    turn = 2 * np.pi * np.arange(n) / n
    ring = np.column_stack((np.cos(turn), np.sin(turn)))
    vertices = np.vstack([np.column_stack((ring, np.full(n, z))) for z in (0.0, 1.0)] + [[(0, 0, 0)], [(0, 0, 1)]])
    i, j = np.arange(n), (np.arange(n) + 1) % n
    faces = np.concatenate(
        [
            np.column_stack(t)
            for t in ((i, j, j + n), (i, j + n, i + n), (j, i, i * 0 + 2 * n), (i + n, j + n, i * 0 + 2 * n + 1))
        ]
    )
    normals = crease_normals(vertices, faces)
    np.testing.assert_allclose(normals[: 2 * n, :, :2], vertices[faces[: 2 * n], :2], atol=1e-6)
    np.testing.assert_allclose(
        normals[2 * n :],
        np.broadcast_to((0, 0, 1), (2 * n, 3, 3)) * np.repeat((-1, 1), n)[:, None, None],
        atol=1e-12,
    )
    faceted = crease_normals(vertices, faces, crease=10.0)
    assert np.abs(faceted[0] - faceted[0, 0]).max() < 1e-12
