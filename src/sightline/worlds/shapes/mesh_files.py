"""Reading OBJ, GLB, STL and OFF files through trimesh: triangles, and the materials and textures on them."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError, MissingExtraError
from sightline.worlds.looks import LINEAR, Material, linear, srgb
from sightline.worlds.shapes.prisms import Indices
from sightline.worlds.solids import MOST_SLOTS, Floats, Slot, Triple

MOST_FACES: Final = 1_000_000
"""Triangles of a file at most."""

MOST_TEXELS: Final = 1024
"""Side of a texture that is kept; a larger one is averaged down."""

LARGEST_IMAGE: Final = 8192
"""Side of a texture in a file at most."""

SPECULAR: Final = 0.04
"""Reflectance of a surface that is no metal, seen head-on, as glTF has it."""

COMPRESSED: Final = ("KHR_draco_mesh_compression", "EXT_meshopt_compression")
"""Extensions of glTF that pack triangles."""

CLEAREST: Final = 0.9
"""Share of the light that a part of a file lets pass at most: it should be seen."""


class Triangles(NamedTuple):
    """What a mesh file holds.

    Attributes:
        vertices: (V, 3) float64 in the file's axes and unit; faces: (F, 3) int64.
        slots: Looks of its parts; paint: (F,) int64, the slot of every face.
        uv: (F, 3, 2) float64 as `Solid.uv`, or None.
    """

    vertices: Floats
    faces: Indices
    slots: tuple[Slot, ...]
    paint: Indices
    uv: Floats | None


def read_triangles(path: Path) -> Triangles:
    """Everything in a mesh file, as it stands there.

    Raises:
        DataError: The file is missing, cannot be read, or goes beyond the limits.
        MissingExtraError: trimesh is not installed.
    """
    try:
        trimesh = importlib.import_module("trimesh")
    except ImportError:
        raise MissingExtraError("trimesh", extra="worlds") from None
    if not path.is_file():
        raise DataError("no such file", file=path)
    _refuse_compressed(path)
    try:
        scene = trimesh.load_scene(path, process=False)
        placed = [scene.graph[node] for node in sorted(scene.graph.nodes_geometry)]
        parts = [(pose, scene.geometry[name]) for pose, name in placed if hasattr(scene.geometry[name], "faces")]
        corners = [(_moved(part.vertices, pose), np.array(part.faces, np.int64)) for pose, part in parts]
        looks = [_slot(part, path) for _, part in parts]
        count = sum(len(faces) for _, faces in corners)
        usable = all(np.isfinite(v).all() and f.min() >= 0 and f.max() < len(v) for v, f in corners if f.size)
        textured = any(slot.texture is not None for slot in looks)
        uv = [_uv(part, faces) for (_, part), (_, faces) in zip(parts, corners, strict=True)] if textured else []
    except DataError:
        raise
    except Exception as error:  # parsers of four formats raise whatever comes
        raise DataError(f"cannot be read as a mesh: {error}", file=path) from error
    if not count or not usable:
        raise DataError("holds no usable triangles", file=path, expected="faces over finite vertices")
    if count > MOST_FACES:
        raise DataError("too many triangles", file=path, expected=f"at most {MOST_FACES:,}", found=f"{count:,}")
    ends = np.cumsum([0, *(len(vertices) for vertices, _ in corners)])
    slots, paint = _few(looks, [len(faces) for _, faces in corners])
    return Triangles(
        np.concatenate([vertices for vertices, _ in corners]),
        np.concatenate([faces + end for (_, faces), end in zip(corners, ends, strict=False)]),
        slots,
        paint,
        np.concatenate(uv) if uv else None,
    )


def _refuse_compressed(path: Path) -> None:
    """DataError for a GLB whose triangles are packed: trimesh takes them for zeros."""
    with path.open("rb") as file:
        head = file.read(20)
        said = file.read(int.from_bytes(head[12:16], "little")) if head[:4] == b"glTF" else b"{}"
    try:
        required = json.loads(said).get("extensionsRequired", ())
        found = next((name for name in COMPRESSED if name in required), None)
    except (ValueError, AttributeError, TypeError, RecursionError):
        return  # damaged: trimesh says how
    if found is not None:
        raise DataError("the mesh is compressed", file=path, expected="a GLB without compression", found=found)


def _moved(vertices: Any, pose: Any) -> Floats:
    moved: Floats = np.asarray(vertices, np.float64) @ np.asarray(pose)[:3, :3].T + np.asarray(pose)[:3, 3]
    return moved


def _uv(part: Any, faces: Indices) -> Floats:
    """Of a part's corners; trimesh counts v upwards."""
    uv = getattr(part.visual, "uv", None)
    if uv is None or not len(uv):
        return np.zeros((len(faces), 3, 2))
    return np.asarray((np.asarray(uv, np.float64)[:, :2] * (1.0, -1.0) + (0.0, 1.0))[faces])


def _slot(part: Any, path: Path) -> Slot:
    """The look of one part of a file; the object's own where the file says nothing of it."""
    found = getattr(part.visual, "material", None)
    if getattr(part.visual, "kind", None) != "texture" or found is None:
        return Slot("body")
    physical = hasattr(found, "metallicFactor")
    image, base, material = _gltf_look(found) if physical else _obj_look(found)
    name = str(getattr(found, "name", None) or "body")
    if image is None or getattr(part.visual, "uv", None) is None:
        return Slot(name, _triple(base), material)
    texture = _texels(image, base, path)
    mean = LINEAR[texture].reshape(-1, 3).mean(axis=0)
    return Slot(name, _triple(mean), material, texture)


def _gltf_look(found: Any) -> tuple[Any, Floats, Material]:
    """Texture, linear colour and material as glTF has them: what is not said is 1, alpha counts where it blends."""
    tint = np.ones(4) if found.baseColorFactor is None else np.asarray(found.baseColorFactor, np.float64) / 255.0
    metal, rough = (1.0 if f is None else float(f) for f in (found.metallicFactor, found.roughnessFactor))
    clear = 1.0 - float(tint[3]) if found.alphaMode == "BLEND" else 0.0
    return found.baseColorTexture, *_seen_through(tint[:3], metal, rough, clear)


def _obj_look(found: Any) -> tuple[Any, Floats, Material]:
    """Texture, linear colour and material as MTL has them: `Kd`, `Ns`, `d` or `Tr`, `Pm` and `Pr` where said."""
    base = np.asarray(found.diffuse, np.float64)[:3]
    if found.image is not None and not base.any():
        base = np.full(3, 255.0)  # black beside a texture: as if nothing were said of the colour
    shiny = max(float(found.glossiness or 0.0), 0.0)
    metal = min(max(_number(found, "pm", 0.0), 0.0), 1.0)
    rough = _number(found, "pr", float(np.sqrt(2.0 / (2.0 + shiny))))
    thin = _number(found, "tr", 0.0) % 1.0  # some write 1 for what is opaque
    clear = 1.0 - _number(found, "d", 1.0 - thin)
    return found.image, *_seen_through(np.array(linear(_triple(base))), metal, rough, clear)


def _number(found: Any, key: str, default: float) -> float:
    """The last word of an MTL line as a number; the default where it is none."""
    try:
        number = float(found.kwargs[key][-1])
    except (KeyError, IndexError, TypeError, ValueError):
        return default
    return number if np.isfinite(number) else default


def _seen_through(base: Floats, metal: float, rough: float, clear: float) -> tuple[Floats, Material]:
    """Colour and material of a surface that covers what is behind it by a share 1 − `clear` alone.

    Panes tint what is seen through them, files lay the colour over it: so the clearer, the paler.
    """
    clear = min(max(clear, 0.0), CLEAREST)
    return base + clear * (1.0 - base), Material(metal, min(max(rough, 0.05), 1.0), SPECULAR, clear)


def _triple(values: Floats) -> Triple:
    r, g, b = values.tolist()
    return r, g, b


def _texels(image: Any, tint: Floats, path: Path) -> NDArray[np.uint8]:
    """An image as a texture, with its tint: averaged down to what is kept."""
    if max(image.size) > LARGEST_IMAGE:
        raise DataError("texture is too large", file=path, expected=f"sides ≤ {LARGEST_IMAGE}", found=image.size)
    small = image.convert("RGB").reduce(-(-max(image.size) // MOST_TEXELS))
    return srgb(LINEAR[np.asarray(small)] * tint)


def _few(looks: list[Slot], counts: list[int]) -> tuple[tuple[Slot, ...], Indices]:
    """Slots of parts and the slot of every face.

    Equal looks are one; beyond the limit the smallest part takes the look that is most like its own.
    """
    slots = list(dict.fromkeys(looks))  # two textures are never equal, nor a texture and a colour
    index = {slot: i for i, slot in enumerate(slots)}
    paint = np.repeat([index[look] for look in looks], counts)
    while len(slots) > MOST_SLOTS:
        sizes = np.bincount(paint, minlength=len(slots))
        least = int(sizes.argmin())
        others = [i for i in range(len(slots)) if i != least]
        into = min(others, key=lambda i: (_unlike(slots[i], slots[least]), -int(sizes[i])))
        paint[paint == least] = into
        paint[paint > least] -= 1
        del slots[least]
    names = [slot.name for slot in slots]
    return tuple(_named(slot, names, i) for i, slot in enumerate(slots)), paint


def _named(slot: Slot, names: list[str], i: int) -> Slot:
    again = names[:i].count(slot.name)
    return slot if not again else Slot(f"{slot.name}_{again + 1}", slot.color, slot.material, slot.texture)


def _unlike(a: Slot, b: Slot) -> float:
    """How different two looks are; one of the object's own is like none."""
    if a.color is None or b.color is None or a.material is None or b.material is None:
        return 10.0
    colors = float(np.abs(np.subtract(a.color, b.color)).sum())
    matter = abs(a.material.metallic - b.material.metallic) + abs(a.material.transmission - b.material.transmission)
    return colors + matter + (a.texture is not b.texture)
