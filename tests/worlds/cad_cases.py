"""Files with CAD models, made for tests: PASCAL3D+'s .mat, meshes with landmarks, furniture catalogues."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import yaml

CORNERS = np.array([(x, y, z) for x in (-0.2, 0.2) for y in (-0.4, 0.4) for z in (-0.1, 0.1)])
SIDES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
FACES = np.array([t for a, b, c, d in SIDES for t in ((a, b, c), (a, c, d))])
OBJ = (
    "mtllib box.mtl\nusemtl red\n"
    + "".join(f"v {x} {y} {z}\n" for x, y, z in CORNERS.tolist())
    + "".join(f"f {a} {b} {c}\n" for a, b, c in (FACES + 1).tolist())
)
MTL = "newmtl red\nKd 1 0 0\nmap_Kd ../../secret.png\n"
OFF = (
    f"OFF\n{len(CORNERS)} {len(FACES)} 0\n"
    + "".join(f"{x} {y} {z}\n" for x, y, z in CORNERS.tolist())
    + "".join(f"3 {a} {b} {c}\n" for a, b, c in FACES.tolist())
)


def model(**changes: Any) -> dict[str, Any]:
    """A box as a CAD model with three landmarks, one of which it has not."""
    whole: dict[str, Any] = {
        "vertices": CORNERS,
        "faces": (FACES + 1).astype(np.uint16),
        "pnames": np.array([["nose", "left", "tail"]], dtype=object),
        "azimuth_extent": np.zeros((0, 0)),
        "nose": np.array([[0.0, -0.4, 0.0]]),
        "left": np.array([[0.2, 0.0, 0.0]]),
        "tail": np.zeros((0, 0)),
        "azimuth": np.array([[0, 90]]),
        "elevation": np.array([[-90, 0, 90]]),
    }
    rows = [(a, e) for a in (0, 90) for e in (-90, 0, 90)]
    table = np.empty((1, 6), dtype=[(k, object) for k in ("azimuth", "elevation", "flag")])
    for i, (a, e) in enumerate(rows):
        table[0, i] = (float(a), float(e), np.array([[a == 0], [e == 0], [0]], np.uint8))
    return {k: v for k, v in {**whole, "visibility": table, **changes}.items() if v is not None}


def saved(path: Path, *models: dict[str, Any]) -> Path:
    names = list(dict.fromkeys(name for one in models for name in one))
    rows = np.empty((1, len(models)), dtype=[(name, object) for name in names])
    for i, one in enumerate(models):
        rows[0, i] = tuple(one.get(name, np.zeros((0, 0))) for name in names)
    scipy.io.savemat(path, {path.stem: rows}, do_compression=True)
    return path


def glb(faces: np.ndarray = FACES) -> bytes:
    """The box as binary glTF: one mesh with positions and faces."""
    places, corners = CORNERS.astype("<f4").tobytes(), faces.astype("<u2").tobytes()
    views = [
        {"buffer": 0, "byteOffset": 0, "byteLength": len(places)},
        {"buffer": 0, "byteOffset": len(places), "byteLength": len(corners)},
    ]
    limits = {"min": CORNERS.min(axis=0).tolist(), "max": CORNERS.max(axis=0).tolist()}
    document = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "buffers": [{"byteLength": len(places + corners)}],
        "bufferViews": views,
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": len(CORNERS), "type": "VEC3", **limits},
            {"bufferView": 1, "componentType": 5123, "count": faces.size, "type": "SCALAR"},
        ],
    }
    text, data = json.dumps(document).encode(), places + corners
    text, data = text + b" " * (-len(text) % 4), data + b"\0" * (-len(data) % 4)
    parts = b"".join(struct.pack("<I4s", len(p), kind) + p for kind, p in ((b"JSON", text), (b"BIN\0", data)))
    return struct.pack("<4sII", b"glTF", 2, 12 + len(parts)) + parts


def lay_meshes(folder: Path) -> Path:
    """A mesh of each kind, with a file of landmarks."""
    (folder / "bus").mkdir(parents=True)
    (folder / "sedan.obj").write_text(OBJ)
    (folder / "box.mtl").write_text("newmtl red\nKd 1 0 0\n")
    (folder / "bus" / "long.off").write_text(OFF)
    (folder / "lamp.glb").write_bytes(glb())
    notes = {
        "sedan.obj": {"category": "car", "front": "x", "landmarks": {"nose": [0.2, 0.0, 0.0]}},
        "bus/long.off": {"category": "bus", "up": "y", "rotate": [0, 0, 15], "landmarks": {"tail": [0, 0.4, 0]}},
    }
    (folder / "landmarks.yaml").write_text(yaml.safe_dump(notes))
    return folder


def catalogue(path: Path, pieces: list[dict[str, str]], **files: str) -> Path:
    """A furniture catalogue with these pieces, the box among its models."""
    lines = [f"{key}#{i}={value}" for i, piece in enumerate(pieces, start=1) for key, value in piece.items()]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("PluginFurnitureCatalog.properties", "id=all\n" + "\n".join(lines))
        for name, text in {"m/box.obj": OBJ, "m/box.mtl": MTL, **files}.items():
            archive.writestr(name, text)
    return path


def piece(**changes: str) -> dict[str, str]:
    whole = {"id": "Us#arm chair", "name": "Arm chair 2", "model": "/m/box.obj"}
    return {**whole, "width": "40", "depth": "30", "height": "120", **changes}
