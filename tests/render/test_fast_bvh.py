"""The hierarchy of triangles and the rays that walk it, against looking at every triangle."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from fast_layouts import layout_of, numbers, things
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from reference import ray_casting
from sightline.render.fast import columns as col
from sightline.render.fast.bvh import LEAF, Tree, all_behind, build
from sightline.render.fast.pack import MOST_OBJECTS, Bodies, Meshes, Pool
from sightline.render.fast.rays import FAR, blocker, everything, look_at, met_surface, nearest, normal_at
from sightline.worlds.layout import Placed
from sightline.worlds.shapes import SHAPES, solid
from sightline.worlds.solids import Solid

CLOSE = 2e-5
"""Metres: a ray this near an edge may pass on either side of it in float32."""

POOL = Pool(solid)

SLIVER = 1e-3
"""A ray that begins in a prism and leaves it sooner than this (in its own lengths) has not met it."""

SLOT = Placed("lozenge_slot:largish", "red", "rubber", (0.0, 0.0, 0.0), 0.0)

SMALL = Placed("cube:small", "gray", "rubber", (0.0, 0.0, 0.0), 0.0)

# The 26th ray of seed 999937 begins 0.7 mm inside the block.
LEFT_AT_ONCE = [SMALL, SMALL, Placed("caddy_block:large", "gray", "rubber", (0.0, 0.0, 0.0), -0.515625)]
LEFT_AT_ONCE.append(replace(SMALL, position=(2.0, 0.0, 0.0)))


def check_tree(tree: Tree, vertices: np.ndarray, faces: np.ndarray) -> None:
    """Walk it from the root as a ray does that hits every box."""
    corner = vertices[faces].astype(np.float32)
    assert sorted(tree.order.tolist()) == list(range(len(faces)))

    def visit(node: int) -> tuple[int, list[int]]:
        skip, first, count = tree.links[node].tolist()
        if count:
            assert count <= LEAF
            after, mine = node + 1, list(range(first, first + count))
        else:
            after, mine = visit(node + 1)
            after, others = visit(after)
            mine = mine + others
        assert skip == after
        inside = corner[tree.order[mine]].reshape(-1, 3)
        assert np.array_equal(tree.bounds[node, :3], inside.min(axis=0))
        assert np.array_equal(tree.bounds[node, 3:], inside.max(axis=0))
        return after, mine

    end, all_of_them = visit(0)
    assert end == len(tree.links)
    assert all_of_them == list(range(len(faces)))


@pytest.mark.parametrize("name", SHAPES)
def test_trees_of_shapes(name: str) -> None:
    shape = solid(name)
    check_tree(build(shape.vertices, shape.faces), shape.vertices, shape.faces)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 70).flatmap(
        lambda n: arrays(np.float32, (n, 3, 3), elements=st.sampled_from([-1.0, 0.0, 1e-30, 1e-6, 0.3, 1.0, 1e5]))
    )
)
def test_trees_of_anything(soup: np.ndarray) -> None:
    """Also triangles that are points, lie in each other, or are sizes apart."""
    faces = np.arange(3 * len(soup), dtype=np.int32).reshape(-1, 3)
    check_tree(build(soup.reshape(-1, 3), faces), soup.reshape(-1, 3), faces)


@pytest.mark.parametrize("name", SHAPES)
def test_rows_of_boxes_reach_around_them(name: str) -> None:
    """Middle and half sides, as kernels read them: no corner is left out, and none added that would cost rays."""
    shape = solid(name)
    pool = Pool(solid)
    pool.know([name])
    rows, bounds = pool.meshes.nodes.astype(float), build(shape.vertices, shape.faces).bounds.astype(float)
    low, high = rows[:, :3] - rows[:, 3:6], rows[:, :3] + rows[:, 3:6]
    assert (low <= bounds[:, :3] - 1e-6).all()
    assert (high >= bounds[:, 3:] + 1e-6).all()
    assert max(abs(low - bounds[:, :3]).max(), abs(high - bounds[:, 3:]).max()) < 1e-5


@pytest.mark.parametrize("name", ["cube_container", "teapot", "hexa_bulge", "donut"])
def test_all_behind_against_every_vertex(name: str) -> None:
    made = solid(name)
    tree = build(made.vertices, made.faces)
    corners = made.vertices[made.faces[tree.order]]
    a, b, c = corners.astype(float).transpose(1, 0, 2)
    normal = np.cross(b - a, c - a)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-30)
    reach = (made.vertices.astype(float) @ normal.T).max(axis=0) - (a * normal).sum(axis=1)
    expected = reach <= 1e-3 * np.abs(made.vertices).max()
    assert np.array_equal(all_behind(tree, corners), expected)
    assert expected.any()
    assert expected.all() == (name == "hexa_bulge")  # the convex one


def test_packing_grows_with_the_faces_alone() -> None:
    """A bumpy ball of 1,000 faces, 16 times and 128 times as many: time for a face at most grows fourfold."""
    times = []
    for n in (23, 92, 256):
        shape = ball(n)
        Pool(lambda _, shape=shape: shape).know(["ball"])
        started = time.process_time()
        Pool(lambda _, shape=shape: shape).know(["ball"])
        times.append((time.process_time() - started) / len(shape.faces))
    assert max(times[1:]) < 4 * times[0] + 1e-6, times


def ball(n: int) -> Solid:
    """About 2 n² faces."""
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    theta, phi = np.pi * (i + 0.5) / n, 2 * np.pi * j / n
    radius = 1 + 0.05 * np.sin(9 * theta) * np.cos(7 * phi)
    xyz = radius[..., None] * np.stack(
        (np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)), -1
    )
    a, b = i[:-1] * n + j[:-1], i[:-1] * n + (j[:-1] + 1) % n
    faces = np.concatenate((np.stack((a, a + n, b), -1), np.stack((b, a + n, b + n), -1))).reshape(-1, 3)
    normals = np.repeat(xyz.reshape(-1, 1, 3)[faces[:, 0]], 3, axis=1)
    shape = solid("cube")
    return replace(
        shape,
        vertices=xyz.reshape(-1, 3).astype(np.float32),
        faces=faces.astype(np.int32),
        normals=normals.astype(np.float32),
        paint=np.zeros(0, np.uint8),
        closed=False,
    )


@pytest.mark.parametrize("count", [300, 2000])
@pytest.mark.parametrize("factor", [1.0, 0.9])
def test_trees_of_rows(count: int, factor: float) -> None:
    """Triangles all in one place, or each a little nearer to it: no cut is a good one."""
    corner = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0)], np.float32)
    vertices = (corner + 1.0) * (factor ** np.arange(count, dtype=np.float32))[:, None, None]
    faces = np.arange(3 * count, dtype=np.int32).reshape(-1, 3)
    check_tree(build(vertices.reshape(-1, 3), faces), vertices.reshape(-1, 3), faces)


def packed(objects: list[Placed]) -> tuple[Meshes, Bodies]:
    """The pool that all tests share, so its indices are those of a long run."""
    bodies = POOL.bodies(layout_of(objects))
    return POOL.meshes, bodies


def some_rays(seed: int, objects: list[Placed], count: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Rays of any length from around and among the objects, most of them towards one; some along the axes."""
    rng = np.random.default_rng(seed)
    aim = np.array([objects[i].position for i in rng.integers(0, len(objects), count)])
    aim = aim + rng.normal(0, 0.4, (count, 3)) + (0, 0, 0.4)
    origin = rng.normal(0, 1, (count, 3)) * rng.choice([0.5, 3.0, 8.0], (count, 1))
    direction = (aim - origin) * rng.choice([0.1, 1.0, 7.0], (count, 1))
    axes = np.eye(3)[rng.integers(0, 3, count)] * rng.choice([-1, 1], (count, 1))
    direction = np.where(rng.random((count, 1)) < 0.15, axes, direction)
    return origin.astype(np.float32), direction.astype(np.float32)


@settings(max_examples=25, deadline=None)
@given(st.lists(things(), min_size=1, max_size=4), st.integers(0, 2**32 - 1))
@example(objects=LEFT_AT_ONCE, seed=999937)
def test_nearest_against_every_triangle(objects: list[Placed], seed: int) -> None:
    meshes, bodies = packed(objects)
    origins, directions = some_rays(seed, objects)
    triangles = [ray_casting.corners(o) for o in objects]
    meetings = [ray_casting.meet(t, origins.astype(float), directions.astype(float)) for t in triangles]
    hits = np.stack([m.t for m in meetings])
    mask = everything(bodies.rows)
    assert mask == 2 ** len(objects) - 1
    for i, (o, d) in enumerate(zip(origins, directions, strict=True)):
        t, body, face, u, v = nearest(meshes.nodes, meshes.tris, bodies.rows, mask, *o, *d, FAR)
        truth = hits[:, i].min()
        if np.isinf(truth):
            assert (body, t) == (-1, FAR) or _doubtful(objects, o, d)
            continue
        length = float(np.linalg.norm(d))
        if body < 0 or abs(t - truth) * length > CLOSE * (1 + truth * length):
            first = int(hits[:, i].argmin())
            leaves = truth < SLIVER and bodies.rows[first, col.PRISM] and ray_casting.within(triangles[first], o)
            assert leaves or _doubtful(objects, o, d) or _grazes(triangles, meetings, i, d), (t, truth)
            continue
        assert hits[body, i] * length <= truth * length + CLOSE * (1 + truth * length)
        first, last = bodies.ranges[body, 2:]
        assert first <= face < last
        met = meetings[body]
        mine = solid(objects[body].shape).normals[met.face[i]]
        smooth = np.array((1 - met.u[i] - met.v[i], met.u[i], met.v[i])) @ mine @ objects[body].pose()[:3, :3].T
        found = normal_at(meshes.tris, bodies.rows, body, face, u, v, *d)
        if not np.allclose(found, smooth / np.linalg.norm(smooth), atol=2e-3):
            assert _doubtful(objects, o, d)


def _doubtful(objects: list[Placed], origin: np.ndarray, direction: np.ndarray) -> bool:
    """Whether the ray passes so near an edge of some body that either answer will do."""
    return any(
        ray_casting.edge_distance(ray_casting.corners(o), origin, direction) < _slack(o.shape) for o in objects
    )


@cache
def _slack(shape: str) -> float:
    """Metres from an edge of a shape within which a ray may pass on either side of it.

    More than `CLOSE` where shadow rays meet an ellipse and the mesh has a polygon of n corners in its place: a
    polygon in the ellipse stays a·(1 − cos π/n) behind it, one around it has corners so far outside.
    """
    made = solid(shape)
    corners = np.unique(np.round(made.vertices[:, :2].astype(float), 5), axis=0)
    slack = CLOSE
    for outline in (made.outline, *([made.cavity.outline] if made.cavity else [])):
        if outline.kind == "ellipse":
            n = (abs(np.linalg.norm(corners / outline.half, axis=1) - 1.0) < 0.01).sum()
            slack = max(slack, 1.01 * max(outline.half) * (1.0 / np.cos(np.pi / n) - 1.0))
    return slack


def _grazes(
    triangles: list[np.ndarray], meetings: list[ray_casting.Meeting], ray: int, direction: np.ndarray
) -> bool:
    """Whether the ray runs nearly along the face it meets, so that its length is ill determined."""
    body = int(np.argmin([m.t[ray] for m in meetings]))
    a, b, c = triangles[body][meetings[body].face[ray]]
    flat = np.cross(b - a, c - a)
    return bool(abs(flat @ direction) < 1e-2 * np.linalg.norm(flat) * np.linalg.norm(direction))


@settings(max_examples=25, deadline=None)
@given(st.lists(things(), min_size=1, max_size=4), st.integers(0, 2**32 - 1), numbers(0.1, 3.0), st.integers(0, 15))
@example(objects=[SLOT], seed=2, reach=1.0, mask=1)  # a ray that begins in a prism of nobody's making
@example(objects=[SLOT], seed=324, reach=1.0, mask=1)  # one between a wide ellipse and the polygon of its mesh
def test_blockers_against_every_triangle(objects: list[Placed], seed: int, reach: float, mask: int) -> None:
    """The first body of the mask, by number, that the ray meets at all."""
    meshes, bodies = packed(objects)
    origins, directions = some_rays(seed, objects)
    mask &= 2 ** len(objects) - 1
    triangles = [ray_casting.corners(o) for o in objects]
    hits = [ray_casting.meet(t, origins.astype(float), directions.astype(float)).t for t in triangles]
    for i, (o, d) in enumerate(zip(origins, directions, strict=True)):
        found = blocker(meshes.nodes, meshes.tris, bodies.rows, mask, *o, *d, np.float32(reach))
        truth = next((k for k, t in enumerate(hits) if mask >> k & 1 and t[i] < reach), -1)
        if found >= 0 and bodies.rows[found, col.PRISM] and ray_casting.within(triangles[found], o):
            continue  # a prism stops a ray at once that begins in it, a mesh where it leaves
        if found != truth:
            at_the_end = any(abs(t[i] - reach) < 1e-4 or t[i] < SLIVER for t in hits)
            assert at_the_end or _doubtful(objects, o, d), (found, truth)


@settings(max_examples=25, deadline=None)
@given(st.lists(things(), min_size=1, max_size=4), st.integers(0, 2**32 - 1))
@example([SLOT], 0)
@example([SMALL, replace(SMALL, shape="cube:largish")], 0)  # faces of two in one plane
def test_surfaces_as_light_meets_them(objects: list[Placed], seed: int) -> None:
    """Prisms as such are where their triangles are, and turned the same way, but for round sides that are round."""
    meshes, bodies = packed(objects)
    scene = (meshes.nodes, meshes.tris, bodies.rows, everything(bodies.rows))
    triangles = [ray_casting.corners(o) for o in objects]
    for o, d in zip(*some_rays(seed, objects), strict=True):
        if any(ray_casting.within(t, o) for t in triangles):
            continue  # a mesh is met from inside too, a prism is not
        t, body, face, u, v = nearest(*scene, *o, *d, FAR)
        found, k, look, _, *normal = met_surface(*scene, *o, *d, FAR)
        if k != body:
            touch = min(k, body) >= 0 and abs(found - t) * np.linalg.norm(d) <= CLOSE * (1 + t * np.linalg.norm(d))
            assert touch or _doubtful(objects, o, d), (found, k, t, body)
        elif k >= 0:
            turned = normal_at(meshes.tris, bodies.rows, body, face, u, v, *d)
            length = float(np.linalg.norm(d))
            grazing = max(abs(float(np.dot(normal, d))) / length, 1e-3)
            apart = (_slack(objects[k].shape) + CLOSE * (1 + t * length)) / grazing
            near = abs(found - t) * length <= apart and np.dot(normal, turned) > 0.99
            assert near or _doubtful(objects, o, d), (found, t, normal, turned)
            assert look == look_at(meshes.tris, face)


@pytest.mark.parametrize("name", ["cube_container", "rectangle_cylinder", "cylinder_rect_cont", "long_cylinder"])
def test_a_prism_is_all_behind_its_outside(name: str) -> None:
    """What light leaves outwards does not meet the body again; from the walls of a cavity it may."""
    meshes, bodies = packed([Placed(name, "red", "metal", (0.3, -0.2, 0.0), 0.7)])
    scene = (meshes.nodes, meshes.tris, bodies.rows, 1)
    assert bodies.rows[0, col.PRISM]
    middle, height = np.array((0.3, -0.2, 0.0), np.float32), bodies.rows[0, col.HEIGHT]
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(200):
        o = middle + rng.normal(0, 3, 3).astype(np.float32)
        o[2] = height + abs(o[2]) + np.float32(0.1)
        d = middle + rng.normal(0, 0.2, 3).astype(np.float32) - o
        t, body, face, *_ = nearest(*scene, *o, *d, FAR)
        found, k, _, behind, *_ = met_surface(*scene, *o, *d, FAR)
        if body == k == 0 and abs(found - t) < 1e-4:
            assert behind == (meshes.tris[face, col.OPEN] != 0)
            inside += not behind
    assert inside > 4 or not bodies.rows[0, col.HOLLOW]


def test_a_body_taken_away_is_not_met() -> None:
    meshes, bodies = packed([Placed("cube", "red", "rubber", (float(i), 0.0, 0.0), 0.0) for i in range(3)])
    rows = bodies.rows.copy()
    rows[1, col.PRESENT] = 0.0
    mask = everything(rows)
    assert mask == 0b101
    ray = np.array((-5.0, 0.1, 0.2, 1.0, 0.0, 0.0), np.float32)
    for left, first in ((0b101, 0), (0b100, 2), (0b000, -1)):
        assert nearest(meshes.nodes, meshes.tris, rows, left, *ray, FAR)[1] == first


def test_as_many_bodies_as_fit_a_mask() -> None:
    """The last one is met behind all the others once they are masked."""
    line = [Placed("cube:small", "red", "rubber", (0.5 * i, 0.0, 0.0), 0.0) for i in range(MOST_OBJECTS)]
    meshes, bodies = packed(line)
    mask = everything(bodies.rows)
    assert mask == 2**MOST_OBJECTS - 1
    ray = np.array((-5.0, 0.1, 0.2, 1.0, 0.0, 0.0), np.float32)
    for k in (0, 30, 31, 32, 61):
        t, body, *_ = nearest(meshes.nodes, meshes.tris, bodies.rows, mask >> k << k, *ray, FAR)
        assert (body, t) == (k, pytest.approx(5.0 + 0.5 * k - 0.225, abs=1e-4))
