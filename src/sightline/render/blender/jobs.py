"""Jobs for Blender: layouts written to a folder as plain JSON and arrays, and what comes back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.geometry.cameras import SENSOR_MM
from sightline.render.blender.worker import TABLE_METRES, VERSION
from sightline.render.sky import lights_of
from sightline.worlds.layout import Layout, Light, Placed, Shot
from sightline.worlds.looks import COLORS, MATERIALS, linear
from sightline.worlds.shapes import solid as built_in
from sightline.worlds.solids import Solid
from sightline.worlds.surroundings import Wall, mean_colour

Floats = NDArray[np.float64]
Value = TypeVar("Value")

_BAKED_METRES = 12.0
"""Half side of the picture of the ground that mirrors and bounced light see; beyond it its border goes on."""

_FLIP = np.diag((1.0, -1.0, -1.0))
"""OpenCV looks along +z with y down, Blender along −z with y up."""


@dataclass(frozen=True, slots=True)
class BlenderSettings:
    """How Cycles renders a job. Paths have at most 8 bounces, 4 of each kind; no caustics, nothing clamped.

    Attributes:
        samples: Paths a pixel.
        denoise: Let OpenImageDenoise finish the picture.
        threads: 0 takes every core.
        seed: Of Cycles' noise.
        image: Render the picture.
        passes: Take ids, depth and normals at pixel centres.
        amodal: With the passes, take the mask of every object alone; costs one pass an object.
    """

    samples: int = 16
    denoise: bool = True
    threads: int = 0
    seed: int = 0
    image: bool = True
    passes: bool = False
    amodal: bool = False


def write(
    folder: Path,
    work: Sequence[tuple[Layout, Sequence[Shot]]],
    settings: BlenderSettings,
    solid: Callable[[str], Solid] = built_in,
) -> int:
    """Write a job: `work` lists layouts with the shots to take, `solid` knows the shapes they name.

    Returns how many views it will give.
    """
    names = sorted({placed.shape for layout, _ in work for placed in layout.objects})
    index = {name: i for i, name in enumerate(names)}
    arrays: dict[str, NDArray[Any]] = {}
    for i, name in enumerate(names):
        shape = solid(name)
        parts: dict[str, NDArray[Any]] = {
            "vertices": shape.vertices,
            "faces": shape.faces,
            "normals": shape.normals,
            "paint": shape.paint,
        }
        if shape.uv is not None:
            parts["uv"] = shape.uv
            parts |= {f"texture_{j}_": s.texture for j, s in enumerate(shape.slots) if s.texture is not None}
        arrays |= {f"{part}{i}": array for part, array in parts.items()}
    np.savez(folder / "meshes.npz", **arrays)  # type: ignore[arg-type]
    job: dict[str, Any] = {
        "version": VERSION,
        "settings": asdict(settings),
        "meshes": len(names),
        "layouts": [_layout(layout, shots, index, solid) for layout, shots in work],
    }
    _write_around(folder, work, job["layouts"])
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    return sum(len(shots) for _, shots in work)


def _layout(
    layout: Layout, shots: Sequence[Shot], index: dict[str, int], solid: Callable[[str], Solid]
) -> dict[str, Any]:
    return {
        "table": layout.table,
        "ambient": layout.ambient,
        "objects": [_object(placed, index, solid) for placed in layout.objects],
        "lights": [_light(light) for light in lights_of(layout)],
        "shots": [_shot(shot) for shot in shots],
    }


def _write_around(
    folder: Path, work: Sequence[tuple[Layout, Sequence[Shot]]], stored: list[dict[str, Any]]
) -> None:
    """Write what cameras and light see of ground, walls and sky, where they are more than a grey table."""
    number = 0
    for i, (layout, shots) in enumerate(work):
        if layout.surroundings.is_plain:
            number += len(shots)
            continue
        from sightline.render.fast.backdrops import baked_ground, baked_sky, seen_around

        file = f"around{i}.npz"
        np.savez(folder / file, ground=baked_ground(layout, _BAKED_METRES), sky=baked_sky(layout))
        walls = [_wall(wall) for wall in layout.surroundings.walls]
        stored[i]["around"] = {"file": file, "half": _BAKED_METRES, "walls": walls}
        for shot, view in zip(shots, stored[i]["shots"], strict=True):
            view["around"] = f"seen{number}.npz"
            albedo, behind = seen_around(layout, shot, TABLE_METRES / 4)
            np.savez(folder / view["around"], albedo=albedo, behind=behind)
            number += 1


def _wall(wall: Wall) -> dict[str, Any]:
    c, s = math.cos(wall.azimuth), math.sin(wall.azimuth)
    x, y, half = c * wall.distance, s * wall.distance, TABLE_METRES
    ends = ((x + s * half, y - c * half), (x - s * half, y + c * half))
    heights = (0.0, wall.height)
    corners = [(*ends[a], heights[b]) for a, b in ((1, 0), (0, 0), (0, 1), (1, 1))]  # the front faces the origin
    return {"corners": corners, "color": mean_colour(wall.pattern)}


def _object(placed: Placed, index: dict[str, int], solid: Callable[[str], Solid]) -> dict[str, Any]:
    material = _known(MATERIALS, placed.material, "material")
    color = linear(_known(COLORS, placed.color, "colour"))
    looks = [slot.look(color, material) for slot in solid(placed.shape).slots]
    return {
        "looks": [asdict(matter) | {"color": tint} for tint, matter in looks],
        "mesh": index[placed.shape],
        "pose": placed.pose().ravel().tolist(),
    }


def _known(table: dict[str, Value], name: str, kind: str) -> Value:
    if name not in table:
        raise ConfigError(f"unknown {kind} {name!r}; there are {', '.join(table)}")
    return table[name]


def _light(light: Light) -> dict[str, Any]:
    u, v, normal = light.axes()
    pose = np.eye(4)
    pose[:3] = np.column_stack((u, -v, -normal, light.position))
    return asdict(light) | {"pose": pose.ravel().tolist()}


def _shot(shot: Shot) -> dict[str, Any]:
    lens, shift = blender_lens(shot)
    pose = blender_pose(np.array(shot.camera.world_to_camera).reshape(3, 4))
    return {"size": shot.size, "lens": lens, "shift": shift, "pose": pose.ravel().tolist()}


def blender_lens(shot: Shot) -> tuple[float, tuple[float, float]]:
    """Focal length in mm on the sensor's width, and the shift of the principal point in widths, y up.

    >>> from sightline.geometry.cameras import intrinsics
    >>> from sightline.scenes.types import Camera
    >>> camera = Camera(tuple(intrinsics(35.0, 480, 320).ravel().tolist()), (0.0,) * 12)
    >>> blender_lens(Shot("top", camera))
    (35.0, (0.0, 0.0))
    """
    k = np.array(shot.camera.k, dtype=np.float64).reshape(3, 3)
    if abs(k[0, 0] - k[1, 1]) > 1e-6 * k[0, 0] or k[0, 1] != 0.0:
        raise ConfigError(f"view {shot.name!r}: Blender renders square pixels without skew, K is {k.tolist()}")
    width, height = shot.size
    shift = (float(width / 2 - k[0, 2]) / width, float(k[1, 2] - height / 2) / width)
    return float(k[0, 0]) * SENSOR_MM / width, shift


def blender_pose(world_to_camera: Floats) -> Floats:
    """Where something stands that looks along its own −z with y up, object→world, 4×4.

    >>> from sightline.geometry.cameras import look_at
    >>> blender_pose(look_at((0, 0, 13), (0, 0, 0), up=(0, 1, 0)))[:3] + 0.0
    array([[ 1.,  0.,  0.,  0.], [ 0.,  1.,  0.,  0.], [ 0.,  0.,  1., 13.]])
    """
    rotation, shift = world_to_camera[:, :3], world_to_camera[:, 3]
    pose = np.eye(4)
    pose[:3, :3] = rotation.T @ _FLIP
    pose[:3, 3] = -rotation.T @ shift
    return pose
