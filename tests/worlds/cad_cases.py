"""CAD models as PASCAL3D+'s files have them, made for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.io

CORNERS = np.array([(x, y, z) for x in (-0.2, 0.2) for y in (-0.4, 0.4) for z in (-0.1, 0.1)])
SIDES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
FACES = np.array([t for a, b, c, d in SIDES for t in ((a, b, c), (a, c, d))])


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
