"""A file as CLEVR publishes them, and scenes as a generator stores them: small, for tests to spoil."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from sightline.geometry import Viewpoint, cameras, masks
from sightline.scenes import Camera, Landmark, Object, Relation, Scene, Sighting, View

SIZE = (48, 32)

PUBLISHED: dict[str, Any] = {
    "info": {"date": "2/14/2017", "version": "1.0", "split": "val", "license": "CC-BY 4.0"},
    "scenes": [
        {
            "split": "val",
            "image_index": 7,
            "image_filename": "CLEVR_val_000007.png",
            "directions": {"left": [-0.66, -0.75, 0.0], "above": [0.0, 0.0, 1.0]},
            "objects": [
                {
                    "color": "green",
                    "size": "large",
                    "rotation": 269.86,
                    "shape": "cylinder",
                    "material": "rubber",
                    "3d_coords": [-1.1, 2.5, 0.7],
                    "pixel_coords": [229, 114, 10.8],
                },
                {
                    "color": "gray",
                    "size": "small",
                    "rotation": 30,
                    "shape": "sphere",
                    "material": "metal",
                    "3d_coords": [2.0, -1.5, 0.35],
                    "pixel_coords": [360, 180, 8.1],
                },
            ],
            "relationships": {"right": [[1], []], "behind": [[], [0]], "front": [[1], []], "left": [[], [0]]},
        },
        {"image_index": 8, "image_filename": "CLEVR_val_000008.png", "objects": [], "relationships": {}},
    ],
}


def camera(eye: tuple[float, float, float], up: tuple[float, float, float] = (0, 0, 1)) -> Camera:
    pose = cameras.look_at(eye, (0, 0, 0), up)
    return Camera(tuple(cameras.intrinsics(35.0, *SIZE).ravel()), tuple(pose.ravel()))


def thing(
    number: int, shape: str, color: str, place: tuple[float, float, float], yaw: float, height: float
) -> Object:
    c, s = math.cos(yaw), math.sin(yaw)
    x, y, z = place
    attributes = {
        "size": "medium",
        "color": color,
        "material": "metal",
        "rotation": repr(math.degrees(yaw)),
        "height": repr(height),
    }
    pose = (c, -s, 0.0, x, s, c, 0.0, y, 0.0, 0.0, 1.0, z, 0.0, 0.0, 0.0, 1.0)
    return Object(str(number), shape, attributes, pose, f"{shape}:medium")


def seen(view: str, number: int, left: int) -> Sighting:
    whole, visible = (np.zeros(SIZE[::-1], dtype=bool) for _ in range(2))
    whole[8:20, left : left + 10] = True
    visible[8:20, left : left + 6] = True
    box = (left, 8.0, left + 6.0, 20.0)
    marks = (Landmark("knob", left + 1.5, 9.25, "self_occluded"), Landmark("foot", None, None, "truncated"))
    turned = Viewpoint(30.0 * number, -5.0, 7.5, 0.25, (left + 5.0, 14.0), error=0.5)
    known = {"landmarks": marks, "viewpoint": turned} if number else {}
    return Sighting(view, str(number), box, masks.encode(visible), masks.encode(whole), 0.4, **known)


def generated(number: int, split: str = "train") -> Scene:
    """A container that holds a cube beside a cylinder, in two views."""
    views = (
        View("original", None, SIZE, "pixels", camera((10.4, -9.8, 6.6))),
        View("top", None, SIZE, "pixels", camera((0, 0, 13), (0, 1, 0))),
    )
    objects = (
        thing(0, "cube_container", "red", (0.0, 0.0, 0.0), 0.3, 1.0),
        thing(1, "cube", "blue", (0.0, 0.0, 0.05), 1.3, 0.45),
        thing(2, "cylinder", "cyan", (1.5, number / 10, 0.0), 0.0, 0.9),
    )
    return Scene(
        id=f"world/{number:06d}",
        split=split,
        source="world",
        views=views,
        objects=objects,
        sightings=tuple(seen(v, k, 5 + 9 * k) for v in ("original", "top") for k in range(3)),
        relations=(
            Relation("0", "2", "spatial", "left"),
            Relation("2", "0", "spatial", "right"),
            Relation("1", "2", "spatial", "left"),
            Relation("0", "1", "geometry", "contains"),
            Relation("0", "1", "geometry", "can_contain"),
            Relation("2", "0", "geometry", "can_support"),
            Relation("0", "1", "occlusion", "occludes", view="original"),
            Relation("0", "1", "depth", "same", ("same", "same"), view="top"),
        ),
    )


def put(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path
