"""Every sub-type of the CAD library: closed parts, budget, landmarks, symmetry, variants."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from sightline.errors import ConfigError, DataError
from sightline.worlds import arrange, load_world
from sightline.worlds.cad import CAD, SUBTYPES
from sightline.worlds.cad.model import draft, parse_name
from sightline.worlds.shapes import Catalogue, solid
from sightline.worlds.shapes.surfaces import symmetry
from sightline.worlds.solids import CONTINUOUS, Solid

FEW = ("bottle", "diningtable", "tvmonitor")  # plain things
SIDES = ("left", "right")
WHEELS = {f"{side}_{end}_wheel" for side in SIDES for end in ("front", "back")}
LANDMARKS = {
    "aeroplane": {f"{side}_{part}" for side in SIDES for part in ("elevator", "wing")}
    | {"noselanding", "rudder_lower", "rudder_upper", "tail"},
    "bicycle": WHEELS
    | {f"{side}_{part}" for side in SIDES for part in ("handle", "pedal_center")}
    | {"head_center", "seat_back", "seat_front"},
    "boat": {"head", "head_down", "head_left", "head_right", "tail_left", "tail_right", "tail"},
    "bottle": {"mouth", "body", "body_left", "body_right", "bottom", "bottom_left", "bottom_right"},
    "bus": WHEELS
    | {f"body_{end}_{side}_{at}" for end in ("front", "back") for side in SIDES for at in ("lower", "upper")},
    "car": WHEELS
    | {f"upper_{side}_{part}" for side in SIDES for part in ("windshield", "rearwindow")}
    | {f"{side}_{part}" for side in SIDES for part in ("front_light", "back_trunk")},
    "chair": {f"{part}_upper_{side}" for part in ("back", "seat", "leg") for side in SIDES}
    | {f"{part}_lower_{side}" for part in ("seat", "leg") for side in SIDES},
    "diningtable": {f"{part}_{at}_{side}" for part in ("leg", "top") for at in ("upper", "lower") for side in SIDES}
    | {f"top_{way}" for way in ("up", "down", "left", "right")},
    "motorbike": WHEELS
    | {"back_seat", "front_seat", "head_center", "headlight_center", "left_handle_center", "right_handle_center"},
    "sofa": {f"{part}_{side}" for part in ("front_bottom", "seat_bottom", "seat_top") for side in SIDES}
    | {f"{side}_bottom_back" for side in SIDES}
    | {f"top_{side}_corner" for side in SIDES},
    "train": {
        f"{at}_{side}_{end}"
        for at in ("head", "mid1", "mid2", "tail")
        for side in SIDES
        for end in ("bottom", "top")
    }
    | {"head_top"},
    "tvmonitor": {f"{end}_{at}_{side}" for end in ("front", "back") for at in ("bottom", "top") for side in SIDES},
}
ROUND = {f"top_{way}" for way in ("up", "down", *SIDES)}
ABSENT = {  # what the official models of that form lack too
    "cad/chair/office": {f"leg_{at}_{side}" for at in ("upper", "lower") for side in SIDES},
    "cad/diningtable/round": LANDMARKS["diningtable"] - ROUND,
    **{f"cad/diningtable/{form}": ROUND for form in ("rectangular", "square", "trestle")},
    **{f"cad/boat/{form}": {"tail"} for form in ("motor", "sailing", "rowing", "ship")},
}
CROSSED = {"train": ("tail_",)}  # the official models name the tail's sides as a viewer of the tail has them


@cache
def model(name: str) -> Solid:
    return Catalogue().solid(name)


@pytest.mark.parametrize("name", CAD)
def test_every_part_is_closed_and_faces_out(name: str) -> None:
    for i, part in enumerate(draft(name).parts):
        edges = Counter(edge for a, b, c in part.faces.tolist() for edge in ((a, b), (b, c), (c, a)))
        assert set(edges.values()) == {1}, (i, part.slot, "an edge runs twice the same way")
        assert all((b, a) in edges for a, b in edges), (i, part.slot, "an edge has one face only")
        a, b, c = part.vertices[part.faces].transpose(1, 0, 2)
        assert np.einsum("ij,ij->", a, np.cross(b, c)) > 0.0, (i, part.slot, "faces in")


@pytest.mark.parametrize("name", [*CAD, "cad/sofa/three_seat#49", "cad/sofa/two_seat#56", "cad/train/steam#48"])
def test_what_is_seen_first_faces_the_viewer(name: str) -> None:
    """A surface folded through itself shows its inside, which is not drawn: depth is then of what lies behind."""
    made, rng = model(name), np.random.default_rng(7)
    corners = made.vertices[made.faces].astype(np.float64)
    a, one, two = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    for aim in corners[rng.integers(len(corners), size=60)].mean(axis=1):
        away = rng.normal(size=3)
        eye = made.vertices.mean(axis=0) + 2.0 * away / np.linalg.norm(away)
        ahead = (aim - eye) / np.linalg.norm(aim - eye)
        across = np.cross(eye - a, one)
        slope = np.einsum("ij,ij->i", one, np.cross(ahead, two))  # above 0 where a face looks at the eye
        with np.errstate(divide="ignore", invalid="ignore"):
            u = np.einsum("ij,ij->i", eye - a, np.cross(ahead, two)) / slope
            v, far = across @ ahead / slope, np.einsum("ij,ij->i", two, across) / slope
            met = (u > 0) & (v > 0) & (u + v < 1) & (far > 0)
        assert met.any()
        assert far[met & (slope > 0)].min() - far[met].min() < 5e-4  # of a model whose diagonal is 1


@pytest.mark.parametrize("name", CAD)
def test_frame_budget_and_slots(name: str) -> None:
    made, (category, _, _) = model(name), parse_name(name)
    fewest = 200 if category in FEW else 1500
    assert fewest <= len(made.faces) <= 8000
    assert made.closed
    low, high = made.vertices.min(axis=0), made.vertices.max(axis=0)
    np.testing.assert_allclose((low + high)[:2], 0.0, atol=1e-6)
    assert low[2] == pytest.approx(0.0, abs=1e-6)
    assert np.linalg.norm(high - low) == pytest.approx(1.0, abs=1e-5)
    assert np.isfinite(made.normals).all()


@pytest.mark.parametrize("name", CAD)
def test_landmarks_are_on_the_surface_and_left_is_where_the_viewer_of_the_front_has_it(name: str) -> None:
    made, (category, _, _) = model(name), parse_name(name)
    marks = made.landmarks
    assert set(marks) <= LANDMARKS[category]
    if category != "train":
        assert set(marks) == LANDMARKS[category] - ABSENT.get(name, set())
    corners = made.vertices[made.faces].astype(np.float64)
    for key, point in marks.items():
        assert _apart(np.array(point), corners) < 1e-5, key
        side = "left" if "left" in key else "right" if "right" in key else None
        if side and draft(name).mirror:
            crossed = key.startswith(CROSSED.get(category, ("-",)))
            assert (point[0] < 0.0) == ((side == "left") != crossed), key


def _apart(point: np.ndarray, corners: np.ndarray) -> float:
    """How far a point is from lying in a triangle: its three triangles with their sides then fill them exactly."""
    a, b, c = corners.transpose(1, 0, 2) - point
    parts = [np.linalg.norm(np.cross(p, q), axis=1) for p, q in ((a, b), (b, c), (c, a))]
    whole = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    return float(np.min((sum(parts) - whole) / np.linalg.norm(b - a, axis=1)))


@pytest.mark.parametrize("name", CAD)
def test_declared_symmetry_is_that_of_the_mesh(name: str) -> None:
    made, said = model(name), draft(name)
    assert symmetry(made) == said.symmetry == made.symmetry
    assert _alike(made, np.diag((-1.0, 1.0, 1.0))) == said.mirror
    for steps in (2, 4):
        c, s = np.cos(2 * np.pi / steps), np.sin(2 * np.pi / steps)
        turn = np.array([(c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)])
        assert _alike(made, turn) == (said.symmetry == CONTINUOUS or said.symmetry % steps == 0)


def _alike(made: Solid, change: np.ndarray) -> bool:
    """Whether every moved vertex comes to lie within 2 % of the diagonal of a vertex of its slot."""
    for slot in range(len(made.slots)):
        there = made.vertices[np.unique(made.faces[made.paint == slot])].astype(np.float64)
        moved = there[:: max(1, len(there) // 100)] @ change.T
        if (((moved[:, None] - there) ** 2).sum(axis=2).min(axis=1, initial=4.0) > 0.02**2).any():
            return False
    return True


@pytest.mark.parametrize("category", SUBTYPES)
def test_variants_differ_and_names_fix_the_mesh(category: str) -> None:
    for subtype in SUBTYPES[category]:
        name = f"cad/{category}/{subtype}"
        zero, other = (np.concatenate([part.vertices for part in draft(one).parts]) for one in (name, f"{name}#5"))
        assert zero.shape != other.shape or np.abs(zero - other).max() > 1e-3
    draft.cache_clear()
    first, again = model(name), Catalogue().solid(f"{name}#0")
    for field in ("vertices", "faces", "normals", "paint"):
        assert np.array_equal(getattr(first, field), getattr(again, field))
    assert (first.landmarks, first.slots) == (again.landmarks, again.slots)


@pytest.mark.realdata
def test_landmarks_are_those_of_the_official_models(real_data: Path) -> None:
    io = pytest.importorskip("scipy.io")
    data = real_data / "pascal3d" / "cad"
    for file in (
        data / f"{category}.mat" for category in ("train", "sofa", "tvmonitor", "diningtable")
    ):  # the small ones
        official = io.loadmat(file)[file.stem]
        names = {str(n[0]) for n in official["pnames"][0, 0].ravel()}
        assert names == LANDMARKS[file.stem], file.stem


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("cad/bus/citty", "unknown sub-type 'citty' of bus, did you mean 'city'?"),  # near miss
        ("cad/buss/city", "unknown category 'buss', did you mean 'bus'?"),  # near miss in the category
        ("cad/bus", "expected cad/CATEGORY/SUBTYPE"),  # no sub-type
        ("cad/bus/city#-1", "expected cad/CATEGORY/SUBTYPE"),  # no variant
        ("cad/bus/city:smal", "unknown size 'smal'"),  # size
    ],
)
def test_unknown_names(name: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        solid(name)
    assert says in str(caught.value)


def test_worlds_draw_variants_of_sub_types_and_named_ones(tmp_path: Path) -> None:
    file = tmp_path / "cars.yaml"
    file.write_text(
        "shapes: {cad/car/sedan: 3, cad/bicycle/road#4: 1}\nvariants: [10, 14]\nobjects: [2, 3]\ntries: 50\n"
    )
    world = load_world(file)
    assert world.forms("cad/car/sedan") == tuple(f"cad/car/sedan#{i}" for i in range(10, 14))
    assert "cad/bicycle/road#4:small" in world.solids()
    drawn = [o.shape.partition(":")[0] for i in range(6) for o in arrange(world, 0, i).objects]
    assert set(drawn) <= {*world.forms("cad/car/sedan"), "cad/bicycle/road#4"}
    assert len(set(drawn)) >= 4
    assert arrange(world, 0, 1) == arrange(world, 0, 1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("shapes: [cad/car/sedann]", "did you mean 'cad/car/sedan'"),  # near miss
        ("shapes: ['cad/car/sedan#x']", "unknown shape 'cad/car/sedan#x'"),  # no number
        ("shapes: [cad/car/sedan]\nvariants: [3, 3]", "range is empty"),  # no variant at all
        ("shapes: [cad/car/sedan]\nvariants: [-1, 3]", "variants"),  # below 0
    ],
)
def test_worlds_refuse_unknown_models(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "cars.yaml"
    file.write_text(text + "\n")
    with pytest.raises(DataError) as caught:
        load_world(file)
    assert says in str(caught.value)
