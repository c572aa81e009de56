"""Light by fine sums straight from the definitions, in float64."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reference.ray_casting import meet
from sightline.worlds.layout import Light

Floats = NDArray[np.float64]


def _middles(n: int) -> Floats:
    return (np.arange(n) + 0.5) / n


def lamp_points(light: Light, n: int) -> Floats:
    """(n², 3): the middles of a lamp's squares."""
    u, v, _ = light.axes()
    s = (_middles(n) - 0.5) * light.size
    grid = s[:, None, None] * u + s[None, :, None] * v
    return np.asarray(light.position) + grid.reshape(-1, 3)


def _lamp_sum(light: Light, point: Floats, normal: Floats, n: int) -> tuple[Floats, Floats]:
    """Directions to the lamp's points, and radiance · cos · cos / r² · area of each (of white)."""
    to = lamp_points(light, n) - point
    r = np.linalg.norm(to, axis=1)
    way = to / r[:, None]
    here, there = np.maximum(way @ normal, 0), np.maximum(-(way @ light.axes()[2]), 0)
    radiance = light.power / (math.pi * light.size**2)
    return way, radiance * here * there / r**2 * (light.size / n) ** 2


def irradiance(light: Light, point: Floats, normal: Floats, n: int = 100) -> Floats:
    """RGB irradiance of a surface from a lamp with nothing between them, watts a square metre."""
    return np.asarray(light.color) * _lamp_sum(light, point, normal, n)[1].sum()


def highlight(light: Light, point: Floats, normal: Floats, view: Floats, alpha: float, n: int = 200) -> float:
    """Radiance of a white lamp in a GGX mirror of reflectance 1, masked after Smith with correlated heights."""
    way, arriving = _lamp_sum(light, point, normal, n)
    half = way + view
    half /= np.linalg.norm(half, axis=1, keepdims=True)
    nl, nv = np.maximum(way @ normal, 1e-9), float(view @ normal)
    density = alpha**2 / (math.pi * ((half @ normal) ** 2 * (alpha**2 - 1) + 1) ** 2)
    masked = 1 / (1 + _slope(nl, alpha) + _slope(np.array(nv), alpha))
    return float((density * masked / (4 * nl * nv) * arriving).sum())


def _slope(cosine: Floats, alpha: float) -> Floats:
    """Smith's Λ of GGX."""
    return np.asarray((np.sqrt(1 + alpha**2 * (1 / cosine**2 - 1)) - 1) / 2)


def mirror_albedo(alpha: float, cosine: float, *, half: bool = False, n: int = 1000) -> float:
    """Share of even light that a GGX mirror of reflectance 1 throws towards a view (Smith, heights independent).

    A sum over half vectors: their density times the Jacobian 4 (v · h) of mirroring. The light comes from all
    around, or only from the half of directions on the view's side of the normal.
    """
    view = np.array((math.sqrt(1 - cosine**2), 0.0, cosine))
    x = _middles(n)[:, None]
    # tan² θ = α² x / (1 − x) spreads the half vectors as GGX does: density · cos θ is even in (x, φ).
    z = np.sqrt((1 - x) / (1 - x + alpha**2 * x))
    turn = 2 * math.pi * _middles(n)[None, :]
    side = np.sqrt(1 - z**2)
    facet = np.stack((side * np.cos(turn), side * np.sin(turn), z + 0 * turn), axis=-1)
    vh = facet @ view
    way = 2 * vh[..., None] * facet - view
    good = (vh > 0) & (way[..., 2] > 0)
    nl = np.where(good, way[..., 2], 1.0)
    masked = 1 / (1 + _slope(np.array(cosine), alpha)) / (1 + _slope(nl, alpha))
    if half:
        good &= way[..., 0] > 0
    return float(np.where(good, masked * vh / (cosine * facet[..., 2]), 0.0).mean())


def hiding(meshes: Sequence[Floats], targets: Floats, point: Floats, normal: Floats) -> NDArray[np.int64]:
    """For each target over the surface's horizon the first mesh, by number, that hides it, or −1."""
    to = targets - point
    to = to[to @ normal > 0]
    hidden = np.stack([meet(mesh, point, to).t < 1 for mesh in meshes])
    return np.where(hidden.any(axis=0), hidden.argmax(axis=0), -1)


def sky_share(meshes: Sequence[Floats], point: Floats, normal: Floats, n: int = 40) -> float:
    """Share of the sky over a surface, weighted by the cosine, that no mesh hides; there is no table."""
    radius, turn = np.sqrt(_middles(n))[:, None], 2 * math.pi * _middles(n)[None, :]
    local = np.stack((radius * np.cos(turn), radius * np.sin(turn), np.sqrt(1 - radius**2) + 0 * turn), axis=-1)
    aside = np.cross(normal, (0.0, 1.0, 0.0) if abs(normal[2]) > 0.9 else (0.0, 0.0, 1.0))
    aside /= np.linalg.norm(aside)
    directions = local.reshape(-1, 3) @ np.stack((aside, np.cross(normal, aside), normal))
    hidden = np.stack([np.isfinite(meet(mesh, point, directions).t) for mesh in meshes])
    return float((~hidden.any(axis=0)).mean())
