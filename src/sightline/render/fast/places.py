"""Where a camera may stand: over the table, outside of things."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.render.fast.pack import Bodies, Eye, Pool
from sightline.worlds.layout import Layout, Shot


def check_camera(pool: Pool, layout: Layout, shot: Shot, bodies: Bodies, camera: Eye) -> None:
    """A DataError for a camera under the table or inside the matter of an object."""
    if camera.centre[2] <= 0.0:
        raise DataError("camera under the table", row=shot.name, expected="z > 0", found=float(camera.centre[2]))
    away2 = ((camera.centre - bodies.rows[:, [0, 1, 5]]) ** 2).sum(axis=1)
    for k in np.flatnonzero(away2 <= bodies.rows[:, 6] ** 2).tolist():
        if _inside(pool, bodies, k, camera.centre):
            raise DataError(
                "camera inside an object", row=shot.name, found=f"object {k}, {layout.objects[k].shape}"
            )


def _inside(pool: Pool, bodies: Bodies, k: int, point: NDArray[np.float64]) -> bool:
    """Whether a point lies within a body: a ray upwards leaves it once more than it enters."""
    row = bodies.rows[k].astype(np.float64)
    x, y, z = point - row[:3]
    x, y = row[3] * x + row[4] * y, row[3] * y - row[4] * x
    first, last = bodies.ranges[k, 2:]
    t = pool.meshes.tris[first:last].astype(np.float64)
    # Slightly off the vertical, so that the ray meets no edge of an upright prism.
    d = np.array((1.234e-3, 0.567e-3, 1.0))
    p = np.cross(d, t[:, 6:9])
    det = (p * t[:, 3:6]).sum(axis=1)
    det[det == 0.0] = np.inf
    s = np.array((x, y, z)) - t[:, :3]
    q = np.cross(s, t[:, 3:6])
    u, v, w = (p * s).sum(axis=1) / det, (q @ d) / det, (q * t[:, 6:9]).sum(axis=1) / det
    return bool(((u >= 0) & (v >= 0) & (u + v <= 1) & (w > 0)).sum() % 2)
