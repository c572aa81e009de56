"""Viewpoints and landmarks of generated objects: places, what hides them, and that nothing else changes."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fast_layouts import layout_of, thing

from reference import ray_casting
from sightline.generation.scene import as_taken, scene_from
from sightline.geometry import Viewpoint, geodesic, project, rotations
from sightline.geometry.cameras import intrinsics, look_at, orbit
from sightline.geometry.cameras import project as camera_pixels
from sightline.render.fast import FastRenderer
from sightline.render.landmarks import TOLERANCE, hidden_by_itself, ray_mesh
from sightline.render.sensor import bending, bent_places
from sightline.scenes import Camera, Scene, Sighting
from sightline.worlds.layout import Layout, Placed, Sensor, Shot
from sightline.worlds.shapes import solid

SIZE = (320, 240)
CAR = "cad/car/sedan:large"
RENDERER = FastRenderer()


def orbiting(a: float, e: float, distance: float = 6.0, *, aside: float = 0.0, roll: float = 0.0) -> Shot:
    """A camera around the middle of a car; `aside` moves its principal point, pixels."""
    k = intrinsics(70.0, *SIZE)
    k[0, 2] += aside
    pose = orbit(a, e, distance, (0.0, 0.0, solid(CAR).height / 2), roll)
    name = f"{a:g} {e:g} {aside:g}"
    return Shot(name, Camera(tuple(k.ravel().tolist()), tuple(pose.ravel().tolist())), SIZE)


def made(layout: Layout) -> Scene:
    frames = [RENDERER.frame(layout, shot, shade=False) for shot in layout.shots]
    return scene_from(layout, [as_taken(shot, frame) for shot, frame in zip(layout.shots, frames, strict=True)])


def states(sighting: Sighting) -> dict[str, str]:
    return {mark.name: mark.state for mark in sighting.landmarks}


CAMERAS = [(0.0, 15.0), (60.0, -1.0), (130.0, 40.0), (200.0, 5.0), (290.0, 70.0)]


def test_azimuth_and_elevation_are_where_the_camera_stands() -> None:
    yaw = 35.0
    car = thing(CAR, 0.0, 0.0, yaw=math.radians(yaw))
    scene = made(layout_of((car,), *(orbiting(a, e, roll=8.0) for a, e in CAMERAS)))
    assert len(scene.sightings) == len(CAMERAS)
    for (azimuth, elevation), seen in zip(CAMERAS, scene.sightings, strict=True):
        found = seen.viewpoint
        assert found is not None
        assert (found.elevation, found.theta) == (pytest.approx(elevation, abs=1e-4), pytest.approx(8.0, abs=1e-4))
        assert found.azimuth == pytest.approx((azimuth - yaw) % 360.0, abs=1e-4)
        assert found.distance == pytest.approx(6.0 / 1.5 * 3000.0 / 700.0, rel=1e-4)  # diagonals of 1.5 m
        assert found.principal == pytest.approx((160.0, 120.0), abs=1e-3)
        places = project(_cad_points(), found)
        gaps = [math.dist(p, (m.x, m.y)) for p, m in zip(places.tolist(), seen.landmarks, strict=True)]  # type: ignore[arg-type]
        assert found.error == pytest.approx(np.mean(gaps), abs=1e-3)


def _cad_points() -> np.ndarray:
    """Landmarks of the car, centred, by the diagonal of its box."""
    shape = solid(CAR)
    low, high = shape.vertices.min(axis=0), shape.vertices.max(axis=0)
    return (np.array(list(shape.landmarks.values())) - (low + high) / 2) / np.linalg.norm(high - low)


def test_places_and_states_are_those_of_rays() -> None:
    """Against rays cast at every triangle of every object, in the world."""
    objects = (
        thing(CAR, 0.0, 0.0, yaw=0.4),
        thing("cube:small", 0.35, -1.2, yaw=0.3),
        thing("cad/chair/office:medium", -1.0, -0.6, yaw=2.0),
    )
    layout = layout_of(objects, *(orbiting(a, e, aside=aside) for a, e in CAMERAS[:3] for aside in (0.0, 130.0)))
    counts: dict[str, int] = {}
    for shot in layout.shots:
        seen = made(replace(layout, shots=(shot,))).sightings
        for sighting in seen:
            index = int(sighting.object_id)
            if index == 1:
                assert (sighting.viewpoint, sighting.landmarks) == (None, ())
                continue
            expected = _states_by_rays(layout, index, shot)
            for mark, (place, allowed) in zip(sighting.landmarks, expected, strict=True):
                assert (mark.x, mark.y) == pytest.approx(place, abs=1e-3)
                assert mark.state in allowed
                counts[mark.state] = counts.get(mark.state, 0) + 1
    assert min(counts[state] for state in ("visible", "self_occluded", "occluded", "truncated")) >= 5


def _states_by_rays(layout: Layout, index: int, shot: Shot) -> list[tuple[tuple[float, float], set[str]]]:
    """Where each landmark is seen, and its states; both where a ray passes an edge closer than half a pixel."""
    placed = layout.objects[index]
    shape, pose = solid(placed.shape), placed.pose()
    points = np.array(list(shape.landmarks.values())) @ pose[:3, :3].T + pose[:3, 3]
    camera = np.array(shot.camera.world_to_camera).reshape(3, 4)
    eye = -camera[:, :3].T @ camera[:, 3]
    pixels = camera_pixels(np.array(shot.camera.k), camera, points)[:, :2]
    slack = TOLERANCE * float(np.linalg.norm(np.ptp(shape.vertices, axis=0)))
    out = []
    for point, (x, y) in zip(points, pixels.tolist(), strict=True):
        ways = np.array([point - eye])
        length = float(np.linalg.norm(ways))
        own = ray_casting.meet(ray_casting.corners(placed), eye[None], ways).t[0]
        if own < 1.0 - slack / length:
            allowed = {"self_occluded"}
        elif not (0.0 <= x < SIZE[0] and 0.0 <= y < SIZE[1]):
            allowed = {"truncated"}
        else:
            # The state is that of the pixel's centre: look along rays to its corners too.
            allowed = set()
            for dx, dy in ((0.0, 0.0), (-0.7, -0.7), (0.7, 0.7), (-0.7, 0.7), (0.7, -0.7)):
                k = np.array(shot.camera.k).reshape(3, 3)
                way = np.linalg.solve(k, (x + dx, y + dy, 1.0)) @ camera[:, :3]
                others = [ray_casting.corners(o) for i, o in enumerate(layout.objects) if i != index]
                depth = float(camera[2, :3] @ point + camera[2, 3])
                hit = min(ray_casting.meet(other, eye[None], way[None]).t[0] for other in others) < depth
                allowed.add("occluded" if hit else "visible")
        out.append(((x, y), allowed))
    return out


def test_what_is_taken_away_hides_nothing() -> None:
    layout = layout_of((thing(CAR, 0.0, 0.0), thing("cube:small", 0.0, -1.4)), orbiting(0.0, 5.0))
    hidden, shown = (states(made(one).sightings[0]) for one in (layout, layout.without(1)))
    assert "occluded" in hidden.values()
    assert "occluded" not in shown.values()
    assert {name for name in hidden if hidden[name] != "occluded"} == {n for n in hidden if hidden[n] == shown[n]}


def test_a_thing_whose_middle_is_behind_the_camera_has_no_viewpoint() -> None:
    k = intrinsics(10.0, *SIZE)  # beside the car's front seats, looking back along it
    pose = look_at((0.6, 0.1, 0.3), (0.5, 2.0, 0.3))
    shot = Shot("beside", Camera(tuple(k.ravel().tolist()), tuple(pose.ravel().tolist())), SIZE)
    (seen,) = made(layout_of((thing(CAR, 0.0, 0.0),), shot)).sightings
    assert seen.viewpoint is None
    behind = [m for m in seen.landmarks if m.x is None]
    assert {m.name for m in behind} >= {"left_front_wheel", "right_front_light"}
    assert {m.state for m in behind} <= {"self_occluded", "truncated"}


@pytest.mark.parametrize("distortion", [0.3, -0.2])
def test_a_lens_that_bends_moves_landmarks_too(distortion: float) -> None:
    rows, columns = bending(SIZE[1], SIZE[0], distortion)
    straight = np.column_stack((columns.ravel(), rows.ravel()))
    bent = bent_places(straight, SIZE, distortion)
    y, x = np.mgrid[0.5 : SIZE[1], 0.5 : SIZE[0]]
    np.testing.assert_allclose(bent, np.column_stack((x.ravel(), y.ravel())), atol=1e-6)
    shot = replace(orbiting(0.0, 10.0, 4.0), sensor=Sensor(distortion=distortion))
    straight_seen, seen = (
        made(layout_of((thing(CAR, 0.0, 0.0),), one)).sightings[0] for one in (replace(shot, sensor=None), shot)
    )
    before, after = (np.array([(m.x, m.y) for m in s.landmarks], float) for s in (straight_seen, seen))
    np.testing.assert_allclose(after, bent_places(before, SIZE, distortion), atol=1e-5)
    assert seen.viewpoint is not None
    assert seen.viewpoint.error is None
    assert straight_seen.viewpoint is not None
    assert seen.viewpoint.azimuth == straight_seen.viewpoint.azimuth


def test_a_wall_hides_what_is_behind_it_by_more_than_the_tolerance() -> None:
    wall = ray_mesh([(-1, 0, -1), (1, 0, -1), (0, 0, 1)], [(0, 1, 2)])
    points = [(0.0, 0.02, 0.0), (0.0, 0.05, 0.0), (0.0, -0.2, 0.0), (0.9, 0.5, 0.9)]
    assert hidden_by_itself(wall, [(0, -3, 0), (0, 3, 0)], points, 0.03).tolist() == [
        [False, True, False, False],
        [False, False, True, False],
    ]


@pytest.mark.realdata
def test_rays_agree_with_the_tables_of_real_models(real_data: Path) -> None:
    """A sample: benchmarks/landmark_visibility.py looks at all 62 models and all rows."""
    from sightline.worlds.shapes.pascal_models import read_cad_models

    right = total = 0
    for model in read_cad_models(real_data / "pascal3d" / "cad" / "tvmonitor.mat", visibility=True):
        table = model.visibility
        assert table is not None
        names = [name for name in table.names if name in model.landmarks]
        a, e = np.meshgrid(table.azimuths[::6], table.elevations[::6], indexing="ij")
        eyes = -3.0 * rotations(a.ravel(), e.ravel())[:, 2]
        hidden = hidden_by_itself(ray_mesh(model.vertices, model.faces), eyes, [model.landmarks[n] for n in names])
        told = table.seen[::6, ::6][..., [table.names.index(n) for n in names]].reshape(hidden.shape)
        right, total = right + int((told == ~hidden).sum()), total + told.size
    assert right / total > 0.94


def test_the_geodesic_between_stored_viewpoints_is_0_for_the_same_view() -> None:
    layout = layout_of((thing(CAR, 0.0, 0.0),), orbiting(20.0, 10.0))
    one, two = (made(layout).sightings[0].viewpoint for _ in range(2))
    assert isinstance(one, Viewpoint)
    assert one == two
    assert float(geodesic(one.rotation(), rotations(one.azimuth, one.elevation, one.theta))) == 0.0


def test_placed_objects_are_found_by_their_index() -> None:
    objects: tuple[Placed, ...] = (thing("cube:small", 1.0, 0.0), thing(CAR, 0.0, 0.0))
    scene = made(layout_of(objects, orbiting(0.0, 20.0)))
    assert {s.object_id: bool(s.landmarks) for s in scene.sightings} == {"0": False, "1": True}
