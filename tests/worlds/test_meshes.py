"""Mesh files as shapes: four formats there and back, and everything that is refused."""

from __future__ import annotations

import json
import math
import re
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sightline.errors import ConfigError, DataError, MissingExtraError
from sightline.worlds import load_world
from sightline.worlds.bodies import body_of
from sightline.worlds.looks import LINEAR, MATERIALS, Material, linear
from sightline.worlds.shapes import Catalogue, mesh_files, repair, solid
from sightline.worlds.shapes.meshes import load_mesh
from sightline.worlds.shapes.surfaces import crease_normals, open_edges
from sightline.worlds.solids import Cavity, Outline, Slot

trimesh = pytest.importorskip("trimesh", reason="mesh files need trimesh")

CUBE = np.array([(x, y, z) for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
SIDES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
DULL = math.sqrt(2 / 3)
"""Roughness of an MTL material that says nothing of it: `Ns` 1."""
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
    ("vertices", "faces"),
    [
        (CUBE, FACES[:-1]),  # a hole
        (CUBE, np.vstack((FACES[:-1], FACES[-1:, ::-1]))),  # one face turned
        (CUBE, np.vstack((FACES, FACES[:1]))),  # a face twice
        (CUBE, np.vstack((FACES, [(0, 0, 1)]))),  # a face without area
        (CUBE, FACES[:, ::-1]),  # all faces turned
        (CUBE[FACES].reshape(-1, 3), np.arange(36).reshape(-1, 3)),  # corners for each face
        (
            np.vstack((CUBE, CUBE * 0.25 + (2.0, 0.0, 0.0))),
            np.vstack((FACES, FACES[:, ::-1] + 8)),
        ),  # two pieces, one inside out
        (
            np.vstack((CUBE, CUBE * 0.25 + (0.3, 0.3, 0.3))),
            np.vstack((FACES, FACES[:, ::-1] + 8)),
        ),  # a hollow stays one
    ],
)
def test_surfaces_are_repaired(tmp_path, vertices: np.ndarray, faces: np.ndarray) -> None:
    made = load_mesh(written(tmp_path / "bad.off", vertices, faces))
    assert made.closed
    assert open_edges(made.faces) == 0
    inner = 2 * 0.25**3 if len(vertices) == 16 and vertices[8, 0] < 1 else 0.0
    whole = 1.0 + 0.25**3 if len(vertices) == 16 else 1.0
    assert volume(made.vertices, made.faces) == pytest.approx(whole - inner, rel=1e-5)


@pytest.mark.parametrize(
    ("vertices", "faces", "says"),
    [
        (CUBE * (1, 1, 0), FACES, "holds|flat"),  # no volume
        (
            np.array([(1, 0, 1), (0, 1, 1), (-1, 0, 1), (0, -1, 1), (0, 0, 2), (0, 0, 0.0)]),
            np.array([(i, (i + 1) % 4, 4) for i in range(4)] + [((i + 1) % 4, i, 5) for i in range(4)]),
            "touches the table in a point",
        ),  # stands on a tip
    ],
)
def test_surfaces_that_cannot_stand_are_refused(
    tmp_path, vertices: np.ndarray, faces: np.ndarray, says: str
) -> None:
    path = written(tmp_path / "bad.off", vertices, faces)
    with pytest.raises(DataError, match=says) as caught:
        load_mesh(path)
    assert str(path) in str(caught.value)


def test_thin_cloth_lies_where_it_is_nearly_lowest(tmp_path) -> None:
    """A sheet of 30 × 20 cm, 4 mm high, of which two corners hang lowest: they alone would be no base."""
    rows, columns = 12, 10
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"))
    height = 1.0 + 3.0 * np.random.default_rng(0).random(len(x))
    height[:2] = 0.0
    cells = [i * columns + j for i in range(rows - 1) for j in range(columns - 1)]
    faces = [t for a in cells for t in ((a, a + columns, a + 1), (a + 1, a + columns, a + columns + 1))]
    vertices = np.column_stack((x * 300 / (rows - 1), y * 200 / (columns - 1), height))
    made = load_mesh(written(tmp_path / "cloth.off", vertices, np.array(faces)), scale=0.001)
    assert not made.closed
    assert np.ptp(made.base.polygon(), axis=0) == pytest.approx((0.3, 0.2), rel=0.15)


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


@pytest.mark.parametrize("extension", ["KHR_draco_mesh_compression", "EXT_meshopt_compression"])
def test_compressed_gltf_is_refused_by_name(tmp_path, extension: str) -> None:
    """Without a decoder trimesh makes zeros of it, and the mesh seemed flat."""
    plain = written(tmp_path / "box.glb", CUBE, FACES).read_bytes()
    length = int.from_bytes(plain[12:16], "little")
    told = json.loads(plain[20 : 20 + length])
    told["extensionsUsed"] = told["extensionsRequired"] = [extension]
    text = json.dumps(told).encode()
    text += b" " * (-len(text) % 4)
    sizes = [(20 + len(text) + len(plain) - 20 - length).to_bytes(4, "little"), len(text).to_bytes(4, "little")]
    path = tmp_path / "packed.glb"
    path.write_bytes(plain[:8] + sizes[0] + sizes[1] + plain[16:20] + text + plain[20 + length :])
    with pytest.raises(DataError, match=rf"the mesh is compressed .expected a GLB without.*{extension}"):
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


def test_what_stays_open_is_a_sheet(tmp_path) -> None:
    """A box without a lid, one side of it turned: wound alike, and not closed by force."""
    top = (CUBE[FACES][..., 2] > 0.5).all(axis=1)
    faces = FACES[~top]
    faces[0] = faces[0, ::-1]
    made = load_mesh(written(tmp_path / "box.off", CUBE, faces))
    assert not made.closed
    assert (len(made.faces), open_edges(made.faces)) == (10, 4)
    mass = body_of(made)
    assert mass.mass == pytest.approx(0.5)  # half its prism
    assert mass.com == pytest.approx((0.0, 0.0), abs=1e-6)


def test_a_small_hole_is_filled_and_painted_like_its_neighbours(tmp_path) -> None:
    ball = trimesh.creation.icosphere(4)
    gone = np.isin(np.arange(len(ball.faces)), ball.vertex_faces[0])  # the five faces about a vertex
    rim, vertices = np.unique(ball.faces[gone]), np.array(ball.vertices)
    vertices[rim] = (vertices[rim] + vertices[0]) / 2
    path = painted_file(tmp_path / "ball.glb", [(vertices, ball.faces[~gone], "skin", (9, 90, 200), None)])
    made = load_mesh(path)
    assert made.closed
    assert len(made.paint) == len(made.faces)
    assert [slot.name for slot in made.slots] == ["skin"]


def painted_file(
    path: Path, parts: list[tuple[np.ndarray, np.ndarray, str, tuple[int, int, int], np.ndarray | None]]
):
    """A file of parts with a colour or a picture each."""
    meshes = {}
    for i, (vertices, faces, name, color, picture) in enumerate(parts):
        image = None if picture is None else Image.fromarray(picture)
        material = trimesh.visual.material.PBRMaterial(
            name=name,
            baseColorFactor=[*color, 255],
            metallicFactor=0.25,
            roughnessFactor=0.5,
            baseColorTexture=image,
        )
        mesh = trimesh.Trimesh(vertices, faces, process=False)
        uv = vertices[:, [0, 2]] if picture is not None else None
        mesh.visual = trimesh.visual.TextureVisuals(uv=uv, material=material)
        meshes[f"part {i}"] = mesh
    trimesh.Scene(meshes).export(path)
    return path


def test_materials_of_a_file_are_kept(tmp_path) -> None:
    parts = [
        (CUBE, FACES, "hull", (255, 0, 51), None),
        (CUBE + np.array((0, 0, 1)), FACES, "mast", (51, 51, 51), None),
    ]
    glb = load_mesh(painted_file(tmp_path / "ship.glb", parts), up="z")
    hull, mast = glb.slots
    assert (hull.name, mast.name) == ("hull", "mast")
    assert hull.color == pytest.approx((1.0, 0.0, 0.2), abs=0.003)  # glTF's factors are linear
    assert hull.material == Material(0.25, 0.5, 0.04)
    low = glb.vertices[glb.faces][..., 2].max(axis=1) <= glb.height / 2 + 1e-6
    assert np.array_equal(glb.paint == 0, low)
    obj = load_mesh(painted_file(tmp_path / "ship.obj", parts), up="z")
    assert {slot.name for slot in obj.slots} == {"hull", "mast"}
    red = next(slot for slot in obj.slots if slot.name == "hull")
    assert red.color == pytest.approx((1.0, 0.0, linear((51, 51, 51))[2]), abs=0.003)  # OBJ's are sRGB
    assert red.material is not None
    assert red.material.metallic == 0.0


def obj_file(folder: Path, look: str) -> Path:
    """A cube of one material, whose lines of the MTL file are `look`."""
    corners = "".join(f"v {x} {y} {z}\nvt {x} {z}\n" for x, y, z in CUBE)
    faces = "".join(f"f {a}/{a} {b}/{b} {c}/{c}\n" for a, b, c in FACES + 1)
    (folder / "look.mtl").write_text(f"newmtl pane\n{look}\n", encoding="utf-8")
    path = folder / "box.obj"
    path.write_text(f"mtllib look.mtl\nusemtl pane\n{corners}{faces}", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("look", "clear", "metal", "rough"),
    [
        ("Kd 0.5 0.5 0.5", 0.0, 0.0, DULL),  # nothing said
        ("Kd 0.5 0.5 0.5\nd 0.25", 0.75, 0.0, DULL),  # opacity
        ("Kd 0.5 0.5 0.5\nd -halo 0.25", 0.75, 0.0, DULL),  # with its option
        ("Kd 0.5 0.5 0.5\nTr 0.75", 0.75, 0.0, DULL),  # its opposite
        ("Kd 0.5 0.5 0.5\nd 1.0\nTr 1.0", 0.0, 0.0, DULL),  # both: opacity counts
        ("Kd 0.5 0.5 0.5\nTr 1.0", 0.0, 0.0, DULL),  # meant as opacity
        ("Kd 0.5 0.5 0.5\nd 0", 0.9, 0.0, DULL),  # nothing is quite invisible
        ("Kd 0.5 0.5 0.5\nd thick", 0.0, 0.0, DULL),  # no number
        ("Kd 0.5 0.5 0.5\nPm 0.5\nPr 0.25", 0.0, 0.5, 0.25),  # of the physical kind
        ("Kd 0.5 0.5 0.5\nNs 30", 0.0, 0.0, 0.25),  # shininess
    ],
)
def test_materials_of_mtl_files(tmp_path, look: str, clear: float, metal: float, rough: float) -> None:
    [slot] = load_mesh(obj_file(tmp_path, look)).slots
    assert slot.material is not None
    assert slot.material.transmission == pytest.approx(clear)
    assert (slot.material.metallic, slot.material.roughness) == pytest.approx((metal, rough))
    grey = linear((127.5, 127.5, 127.5))[0]
    assert slot.color == pytest.approx([grey + clear * (1 - grey)] * 3, abs=0.003)  # the clearer the paler


@pytest.mark.parametrize(("mode", "clear"), [(None, 0.0), ("OPAQUE", 0.0), ("MASK", 0.0), ("BLEND", 0.6)])
def test_alpha_of_gltf_counts_where_it_blends(tmp_path, mode: str | None, clear: float) -> None:
    material = trimesh.visual.material.PBRMaterial(
        name="pane", baseColorFactor=[255, 255, 255, 102], metallicFactor=0.0, alphaMode=mode
    )
    mesh = trimesh.Trimesh(CUBE, FACES, process=False)
    mesh.visual = trimesh.visual.TextureVisuals(material=material)
    trimesh.Scene([mesh]).export(tmp_path / "pane.glb")
    [slot] = load_mesh(tmp_path / "pane.glb").slots
    assert slot.material is not None
    assert slot.material.transmission == pytest.approx(clear, abs=0.003)


def test_black_beside_a_texture_is_not_laid_over_it(tmp_path) -> None:
    Image.new("RGB", (4, 4), (200, 90, 20)).save(tmp_path / "wood.png")
    [slot] = load_mesh(obj_file(tmp_path, "Kd 0 0 0\nmap_Kd wood.png")).slots
    assert slot.texture is not None
    assert slot.color == pytest.approx(linear((200, 90, 20)), abs=0.01)


def test_a_texture_is_kept_where_it_was(tmp_path) -> None:
    """Red left, blue right, white above: found again at the corners of the front."""
    picture = np.zeros((8, 8, 3), np.uint8)
    picture[:, :4], picture[:, 4:], picture[:2] = (200, 0, 0), (0, 0, 200), 255
    made = load_mesh(
        painted_file(tmp_path / "sign.glb", [(CUBE, FACES, "front", (255, 255, 255), picture)]), up="z"
    )
    [slot] = made.slots
    assert slot.texture is not None
    assert np.array_equal(slot.texture, picture)
    assert slot.color == pytest.approx(LINEAR[picture].mean(axis=(0, 1)), abs=0.01)
    assert made.uv is not None
    corners = made.vertices[made.faces]
    np.testing.assert_allclose(made.uv[..., 0], corners[..., 0] + 0.5, atol=1e-6)
    np.testing.assert_allclose(made.uv[..., 1], 1.0 - corners[..., 2], atol=1e-6)


def test_large_textures_are_averaged_down(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(mesh_files, "MOST_TEXELS", 4)
    picture = np.repeat(np.repeat(np.arange(0, 160, 10, dtype=np.uint8).reshape(4, 4, 1), 3, 0), 3, 1)
    picture = np.broadcast_to(picture, (12, 12, 3)).copy()
    path = painted_file(tmp_path / "sign.glb", [(CUBE, FACES, "front", (255, 255, 255), picture)])
    assert load_mesh(path).slots[0].texture.shape == (4, 4, 3)
    monkeypatch.setattr(mesh_files, "LARGEST_IMAGE", 8)
    with pytest.raises(DataError, match=r"texture is too large \(expected sides ≤ 8"):
        load_mesh(path)


def test_turning_many_leaves_grows_with_their_number() -> None:
    """Each was compared with all others: a tree of 200,000 triangles took most of its time so."""
    times = []
    for count in (2_000, 16_000):
        rng = np.random.default_rng(0)
        corners = rng.uniform(-1.0, 1.0, (count, 1, 3)) + 0.01 * rng.normal(size=(count, 4, 3))
        faces = np.arange(4 * count).reshape(-1, 4)[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3)
        started = time.process_time()
        turned = repair._wound(corners.reshape(-1, 3), faces)
        times.append((time.process_time() - started) / count)
        assert 0.2 < (turned != faces).any(axis=1).mean() < 0.8  # those that looked inwards
    assert times[1] < 2.5 * times[0], times


def test_many_materials_become_eight(tmp_path) -> None:
    """Equal looks share a slot, and the smallest of the others joins the likest."""
    grey = [(CUBE + np.array((0, 0, i)), FACES, f"c{i}", (20 * i, 20 * i, 20 * i), None) for i in range(10)]
    same = [(CUBE + np.array((0, 0, i + 10)), FACES, "c9", (180, 180, 180), None) for i in range(2)]
    made = load_mesh(painted_file(tmp_path / "tower.glb", grey + same))
    assert len(made.slots) == 8
    assert (np.bincount(made.paint) > 0).all()


def test_too_many_triangles(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(mesh_files, "MOST_FACES", 11)
    with pytest.raises(DataError, match=r"too many triangles \(expected at most 11, found '12'\)"):
        load_mesh(written(tmp_path / "box.off", CUBE, FACES))


@pytest.mark.parametrize(
    ("options", "half", "height"),
    [
        ({"rotate": (0, 0, 90)}, (1.0, 0.5), 3.0),  # about z
        ({"rotate": (90, 0, 0)}, (0.5, 1.5), 2.0),  # laid down
        ({"rotate": (90, 0, 90)}, (1.5, 0.5), 2.0),  # one after the other
        ({"rotate": [[0, -1, 0], [1, 0, 0], [0, 0, 1]]}, (1.0, 0.5), 3.0),  # a matrix
        ({"front": "x"}, (1.0, 0.5), 3.0),  # a quarter
        ({"front": "y"}, (0.5, 1.0), 3.0),  # half a turn
        ({"up": "y"}, (0.5, 1.5), 2.0),  # another axis up
    ],
)
def test_any_rotation(tmp_path, options, half, height) -> None:
    path = written(tmp_path / "box.off", CUBE * (1, 2, 3), FACES)
    made = load_mesh(path, landmarks={"tip": (1.0, 2.0, 3.0), "middle": (0.5, 1.0, 1.5)}, **options)
    assert made.outline.half == pytest.approx(half)
    assert made.height == pytest.approx(height)
    assert made.landmarks["middle"] == pytest.approx((0.0, 0.0, height / 2))
    assert np.abs(made.vertices - made.landmarks["tip"]).max(axis=1).min() < 1e-6  # a corner stays one
    assert made.symmetry == 2


def test_the_front_comes_to_minus_y(tmp_path) -> None:
    path = written(tmp_path / "box.off", CUBE, FACES)
    for front, point in {"-y": (0.5, 0, 0.5), "x": (1, 0.5, 0.5), "y": (0.5, 1, 0.5), "-x": (0, 0.5, 0.5)}.items():
        made = load_mesh(path, front=front, landmarks={"nose": point})
        assert made.landmarks["nose"] == pytest.approx((0.0, -0.5, 0.5)), front


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rotate": (1.0, 2.0)}, "rotated by three angles"),  # two angles
        ({"rotate": "upright"}, "rotated by three angles"),  # a word
        ({"rotate": np.diag((1.0, 1.0, -1.0))}, "rotated by three angles"),  # a mirror
        ({"rotate": np.eye(3) * 2}, "rotated by three angles"),  # it grows
        ({"slots": {"glas": Slot("glas")}}, "no part 'glas'"),  # no such part
        ({"cavity": Cavity(Outline("box", (0.6, 0.2)), 0.1)}, "cavity is larger"),  # too wide
        ({"cavity": Cavity(Outline("box", (0.2, 0.2)), 1.1)}, "cavity is larger"),  # too deep
    ],
)
def test_options_that_cannot_be(tmp_path, options, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        load_mesh(written(tmp_path / "box.off", CUBE, FACES), **options)


def test_a_world_says_all_of_it(tmp_path) -> None:
    parts = [(CUBE, FACES, "hull", (255, 0, 0), None), (CUBE * 0.5 + (0, 0, 1), FACES, "mast", (9, 9, 9), None)]
    painted_file(tmp_path / "ship.glb", parts)
    world = tmp_path / "harbour.yaml"
    mesh = (
        "{file: ship.glb, height: 1.2, up: z, front: x, rotate: [0, 0, 30], landmarks: {bow: [1, 0.5, 0.5]},"
        " cavity: {kind: box, size: [0.3, 0.2], depth: 0.1},"
        " slots: {mast: {color: [255, 255, 255], material: metal},"
        " hull: {material: {roughness: 0.3, metallic: 0.5, transmission: 0.2}}}}"
    )
    world.write_text(f"shapes: [tests_ship]\nmeshes:\n  tests_ship: {mesh}\n")
    load_world(world)
    made = solid("tests_ship")
    lacquer = Material(metallic=0.5, roughness=0.3, specular=0.04, transmission=0.2)
    assert made.slots == (Slot("hull", None, lacquer), Slot("mast", (1.0, 1.0, 1.0), MATERIALS["metal"]))
    assert made.cavity == Cavity(Outline("box", (0.15, 0.1)), 0.1)
    assert made.top is not None
    assert list(made.landmarks) == ["bow"]


@pytest.mark.parametrize(
    ("mesh", "says"),
    [
        ("{file: box.off, slots: {hull: {}}}", "meshes.tests_box: the mesh has no part 'hull'"),  # no such part
        (
            "{file: box.off, slots: {body: {color: rot}}}",
            "slots.body.color: unknown colour 'rot'",
        ),  # no such colour
        ("{file: box.off, slots: {body: {color: [0, 0, 300]}}}", "slots.body.color: not a colour"),  # too bright
        ("{file: box.off, slots: {body: {material: wool}}}", "body.material: unknown material 'wool'"),  # unknown
        ("{file: box.off, slots: {body: {material: {metallic: 1}}}}", "material.roughness: field is missing"),
        ("{file: box.off, slots: {body: {material: {roughness: 2}}}}", "roughness: number out of range"),  # > 1
        (
            "{file: box.off, slots: {body: {material: {roughness: 1, gloss: 1}}}}",
            "material.gloss: unknown field 'gloss'",
        ),  # no such number
        ("{file: box.off, slots: {body: {material: [1, 2]}}}", "body.material: unknown material [1, 2]"),  # a list
        ("{file: box.off, rotate: 3}", "rotated by three angles"),  # no rotation
        ("{file: box.off, front: z}", "unknown axis 'z'"),  # no front
        ("{file: box.off, cavity: {kind: box, size: [1, 1]}}", "cavity.depth: field is missing"),  # half said
    ],
)
def test_a_world_is_refused_with_the_field(tmp_path, mesh: str, says: str) -> None:
    written(tmp_path / "box.off", CUBE, FACES)
    (tmp_path / "w.yaml").write_text(f"shapes: [tests_box]\nmeshes: {{tests_box: {mesh}}}\n")
    with pytest.raises(DataError, match=re.escape(says)):
        load_world(tmp_path / "w.yaml")
