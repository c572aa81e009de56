"""A world's own meshes, baked into the dataset's folder, so that it stands on its own wherever it is carried."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sightline.store import atomic_write
from sightline.store.manifest import SHAPES
from sightline.worlds.shapes import solid
from sightline.worlds.shapes.baked import save_solids


def baked(settings: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Settings of a world whose meshes are those of one file inside the dataset's folder, and that file's bytes.

    The file is named after its bytes, so that other meshes make another recipe. Without own meshes there is neither
    file nor bytes.
    """
    names = [name for name, mesh in (settings.get("meshes") or {}).items() if mesh is not None]
    if not names:
        return {**settings, "meshes": {}}, b""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "own.npz"
        save_solids(file, [solid(f"{name}:medium") for name in names])
        data = file.read_bytes()
    place = f"{SHAPES}/{hashlib.sha256(data).hexdigest()[:16]}.npz"
    return {**settings, "meshes": {name: {"file": place} for name in names}}, data


def keep(folder: Path, settings: Mapping[str, Any], data: bytes) -> None:
    """Write the baked meshes where the settings say."""
    for mesh in (settings.get("meshes") or {}).values():
        (folder / SHAPES).mkdir(exist_ok=True)
        atomic_write(folder / mesh["file"], data)


def found(folder: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with the meshes' files as they are reached from here."""
    meshes = settings.get("meshes") or {}
    return {**settings, "meshes": {name: {"file": str(folder / mesh["file"])} for name, mesh in meshes.items()}}
