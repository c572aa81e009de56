"""Generated scenes as a dataset of the BOP challenge for 6D poses, in millimetres.

A scene is a folder ``<split>/<number>`` with ``scene_camera.json``, ``scene_gt.json`` and ``scene_gt_info.json``;
each view is an image of it: ``rgb/000000.png``, ``depth/000000.png`` (16 bits, times ``depth_scale`` millimetres),
``mask_visib/000000_000001.png`` and, where hidden parts are known, ``mask``. Numbers of scenes and objects are
BOP's own; ``sightline.json`` at the top tells which scene, view and kind of object each stands for.

An object's kind is its shape, or its category where it has none. A model's origin is half the object's height above
the object's own, as BOP's is the middle of a model's box. Models themselves are not written.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sightline.errors import DataError
from sightline.files import staged_folder
from sightline.geometry import masks
from sightline.scenes import Camera, Object, Scene, Sighting, View
from sightline.store.blobs import Blobs
from sightline.store.convert import scenes_from_tables
from sightline.store.encodings import encode
from sightline.store.formats.clevr_write import height_of, middle
from sightline.store.formats.jsonio import write_json
from sightline.store.tables import Tables
from sightline.text import counted, file_name

_KEY: Final = "sightline.json"
_FINE, _COARSE = 0.1, 1.0  # millimetres a step of the depth map
_STEPS: Final = 0xFFFF
_NO_BOX: Final = [-1, -1, -1, -1]

Entry = dict[str, Any]
Mask = NDArray[np.bool_]


def write(tables: Tables | Iterable[Tables], path: str | Path, *, blobs: Blobs | None = None) -> None:
    """Write a folder of scenes with poses, cameras, pictures, depth and masks.

    Args:
        tables: Scenes whose views have a camera and a size, and whose seen objects have a pose.
        path: The folder, which must not exist or be empty; it appears whole or not at all.
        blobs: Where the pictures are.

    Raises:
        DataError: Naming the scene and what it lacks.
    """
    whole = tables if isinstance(tables, Tables) else Tables.concat(tables)
    kinds = {name: number for number, name in enumerate(sorted(_kinds(whole)), start=1)}
    key: Entry = {"objects": {number: name for name, number in kinds.items()}, "scenes": []}
    with staged_folder(path, owned=(), marker=_KEY, overwrite=False) as stage:
        for number, scene in enumerate(scenes_from_tables(whole, blobs=blobs), start=1):
            split = file_name(scene.split) or "test"
            _write_scene(stage / split / f"{number:06d}", scene, kinds)
            views = [view.id for view in scene.views]
            key["scenes"].append({"split": split, "number": number, "scene_id": scene.id, "views": views})
        write_json(stage / _KEY, key)


def left_out(tables: Tables) -> list[str]:
    """What scenes hold that BOP has no place for."""
    unseen = tables.objects.join(tables.sightings, on=["scene_id", "object_id"], how="anti").height
    lost = {
        "unseen object": unseen,
        "relation": tables.relations.height,
        "stuff map": tables.views["stuff"].count(),
    }
    lost |= {"viewpoint": tables.sightings["viewpoint"].count()}
    lost |= {"object with landmark": tables.sightings["landmarks"].count()}
    return [counted(n, thing) for thing, n in lost.items() if n]


def _kinds(tables: Tables) -> set[str]:
    return {shape or category for shape, category in tables.objects.select("shape", "category").iter_rows()}


def _write_scene(folder: Path, scene: Scene, kinds: dict[str, int]) -> None:
    cameras: dict[str, Entry] = {}
    poses: dict[str, list[Entry]] = {}
    facts: dict[str, list[Entry]] = {}
    for number, view in enumerate(scene.views):
        camera, size = view.camera, view.size
        if camera is None or size is None:
            missing = "camera" if camera is None else "size"
            raise DataError(f"BOP needs every view's {missing}", row=f"{scene.id}, view {view.id}", field=missing)
        name = f"{number:06d}"
        if view.load_image is not None:
            _save(folder / "rgb" / f"{name}.png", encode("image", view.image())[0])
        depth, scale = _write_depth(folder, name, view)
        cameras[str(number)] = _camera(camera, scale)
        seen = scene.seen_in(view.id)
        poses[str(number)] = [_pose(scene, scene.object(one.object_id), camera, kinds) for one in seen]
        facts[str(number)] = [
            _facts(folder, f"{name}_{index:06d}.png", one, size, depth) for index, one in enumerate(seen)
        ]
    write_json(folder / "scene_camera.json", cameras)
    write_json(folder / "scene_gt.json", poses)
    write_json(folder / "scene_gt_info.json", facts)


def _write_depth(folder: Path, name: str, view: View) -> tuple[Mask | None, float]:
    """Where depth is known, None without a map; and the millimetres of a step."""
    if view.load_depth is None:
        return None, _COARSE
    millimetres = view.depth().astype(np.float64) * 1000
    farthest = float(np.nanmax(millimetres)) if np.isfinite(millimetres).any() else 0.0
    scale = _FINE if farthest <= _STEPS * _FINE else _COARSE
    steps = np.rint(millimetres / scale)
    known: Mask = (steps >= 1) & (steps <= _STEPS)  # False for NaN too
    buffer = io.BytesIO()
    Image.fromarray(np.where(known, steps, 0).astype(np.uint16)).save(buffer, format="png")
    _save(folder / "depth" / f"{name}.png", buffer.getvalue())
    return known, scale


def _camera(camera: Camera, scale: float) -> Entry:
    outside = np.asarray(camera.world_to_camera, dtype=np.float64).reshape(3, 4)
    return {
        "cam_K": list(camera.k),
        "depth_scale": scale,
        "cam_R_w2c": outside[:, :3].ravel().tolist(),
        "cam_t_w2c": (outside[:, 3] * 1000).tolist(),
    }


def _pose(scene: Scene, thing: Object, camera: Camera, kinds: dict[str, int]) -> Entry:
    """Model → camera: rotation row by row, and translation in millimetres."""
    if thing.pose is None:
        raise DataError(
            "BOP needs every seen object's pose", row=scene.id, field="pose", found=f"none of {thing.id}"
        )
    outside = np.asarray(camera.world_to_camera, dtype=np.float64).reshape(3, 4)
    turn = np.asarray(thing.pose, dtype=np.float64).reshape(4, 4)[:3, :3]
    turn = turn / np.linalg.norm(turn, axis=0)  # a pose may scale: BOP's rotations do not
    centre = np.asarray(middle(thing.pose, height_of(thing)))
    return {
        "obj_id": kinds[thing.shape or thing.category],
        "cam_R_m2c": (outside[:, :3] @ turn).ravel().tolist(),
        "cam_t_m2c": ((outside[:, :3] @ centre + outside[:, 3]) * 1000).tolist(),
    }


def _facts(folder: Path, name: str, seen: Sighting, size: tuple[int, int], depth: Mask | None) -> Entry:
    """Boxes and counts of pixels of one sighting, whose masks are written."""
    visible, whole = (_mask(rle, size) for rle in (seen.visible_mask, seen.amodal_mask))
    for place, mask in (("mask_visib", visible), ("mask", whole)):
        if mask is not None:
            buffer = io.BytesIO()
            Image.fromarray(mask.astype(np.uint8) * 255).save(buffer, format="png")
            _save(folder / place / name, buffer.getvalue())
    everything = visible if whole is None else whole
    if visible is None or everything is None:
        return {"bbox_obj": _NO_BOX, "bbox_visib": _NO_BOX}
    pixels, shown = int(everything.sum()), int(visible.sum())
    return {
        "bbox_obj": _box(everything),
        "bbox_visib": _box(visible),
        "px_count_all": pixels,
        "px_count_valid": pixels if depth is None else int((everything & depth).sum()),
        "px_count_visib": shown,
        "visib_fract": shown / pixels if pixels else 0.0,
    }


def _mask(rle: bytes | None, size: tuple[int, int]) -> Mask | None:
    return None if rle is None else masks.decode(rle, size[1], size[0])


def _box(mask: Mask) -> list[int]:
    """x, y, width, height of the pixels in a mask; −1 where there are none."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return _NO_BOX
    return [int(columns[0]), int(rows[0]), int(columns[-1] - columns[0] + 1), int(rows[-1] - rows[0] + 1)]


def _save(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
