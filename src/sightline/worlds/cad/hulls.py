"""Hulls of boats and ships: decked or open, with sheer, a raked stem and a transom; what follows their sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sightline.worlds.cad.parts import Part, both, loft, slab, tube
from sightline.worlds.solids import Floats, Triple


@dataclass(frozen=True, slots=True)
class Hull:
    """A hull along y, its bow towards −y, standing on z = 0; metres.

    Places on it are (s, t): s from 0 at the bow to 1 at the stern, t from 0 at the keel to 1 at the gunwale.

    Attributes:
        length: From stem to stern at deck level; `beam` its greatest width.
        side: Height of the gunwale amidships; `bow` and `stern` what it gains at the ends.
        transom: Width of the stern in beams.
        rake: How far the stem's foot stands behind its head; `overhang` the same at the stern.
        bilge: Form of the sections: 1 round, less flatter, more like a V.
        fine: Form of the bow from above: larger is sharper.
    """

    length: float
    beam: float
    side: float
    bow: float
    stern: float
    transom: float = 0.8
    rake: float = 0.5
    overhang: float = 0.0
    bilge: float = 0.6
    fine: float = 0.9

    def sheer(self, s: float) -> float:
        """Height of the gunwale."""
        return float(self.side + self.bow * (1.0 - s) ** 2.4 + self.stern * s**3)

    def half(self, s: float) -> float:
        """Half width at the gunwale."""
        wide = np.sin(0.5 * np.pi * min(1.0, s / 0.58)) ** self.fine
        narrow = 1.0 - (1.0 - self.transom) * max(0.0, (s - 0.58) / 0.42) ** 2
        return float(max(wide * narrow, 0.02) * self.beam / 2.0)

    def at(self, s: float, t: float, wall: float = 0.0) -> Triple:
        """Point of the right side, or of the inner face of a wall that thick."""
        half, top = self.half(s), self.sheer(s)
        half = max(half - wall, 0.3 * half)
        turn = 0.5 * np.pi * t
        power = self.bilge + (1.3 - self.bilge) * (1.0 - s) ** 2
        x = half * np.sin(turn) ** power
        z = top - (top - wall) * np.cos(turn) ** 1.15
        y = self.length * (s - 0.5) + (1.0 - z / top) * (self.rake * (1.0 - s) ** 2 - self.overhang * s**4)
        return (float(x), float(y), float(z))

    def body(self, slot: str, wall: float = 0.0, start: float = 0.0, camber: float = 0.0) -> Part:
        """The hull, decked at the gunwale, or open with a wall that thick."""
        stations = start + (1.0 - start) * np.linspace(0.0, 1.0, 21) ** 1.4
        levels = np.linspace(0.0, 1.0, 9)
        rings = []
        for s in stations.tolist():
            right = [self.at(s, t) for t in levels]
            inner = [self.at(s, t, wall) for t in levels] if wall else []
            deck = [] if wall else [(0.0, self.length * (s - 0.5), self.sheer(s) + camber * self.half(s))]
            left = [(-x, y, z) for x, y, z in right[:0:-1]]
            hollow = [*((-x, y, z) for x, y, z in inner[::-1]), *inner[1:]]
            rings.append([*right, *deck, *left] if not wall else [*left, *right, *hollow[::-1]])
        return loft(slot, rings, crease=45.0)

    def deck(
        self, slot: str, s0: float, s1: float, drop: float = 0.0, thick: float = 0.04, inset: float = 0.94
    ) -> Part:
        """A plate from side to side, `drop` below the gunwale."""
        rows = []
        for s in np.linspace(s0, s1, 13).tolist():
            z = self.sheer(s) - drop
            low = float(np.arccos(np.clip(drop / self.sheer(s), 0.0, 1.0) ** (1.0 / 1.15)) / (0.5 * np.pi))
            x, y, _ = self.at(s, low)
            rows.append([(u * inset * x, y, z) for u in np.linspace(-1.0, 1.0, 5)])
        return slab(slot, rows, thick)

    def band(self, slot: str, s0: float, s1: float, t0: float, t1: float, thick: float) -> list[Part]:
        """A stripe along both sides."""
        grid = [[self.at(s, t) for t in np.linspace(t0, t1, 3)] for s in np.linspace(s0, s1, 15).tolist()]
        return both(slab(slot, grid, thick))

    def rail(self, slot: str, s0: float, s1: float, high: float, radius: float, posts: int = 0) -> list[Part]:
        """A rail along both gunwales, `high` above them, on posts."""

        def place(s: float, rise: float) -> Triple:
            x, y, z = self.at(s, 1.0)
            return (x * 0.95, y, z + rise)

        parts = [tube(slot, [place(s, high) for s in np.linspace(s0, s1, 12).tolist()], radius, sides=6)]
        stands = np.linspace(s0, s1, posts).tolist() if posts else []
        parts += [tube(slot, [place(s, 0.0), place(s, high)], radius * 0.8, sides=5) for s in stands]
        return both(*parts)

    def landmarks(self) -> dict[str, Triple]:
        """PASCAL3D+'s points of a boat with a transom: its stem, its shoulders and its quarters."""
        marks = {"head": (0.0, *self.at(0.0, 1.0)[1:]), "head_down": (0.0, *self.at(0.0, 0.3)[1:])}
        for name, s in (("head", 0.27), ("tail", 1.0)):
            x, y, z = self.at(s, 1.0)
            marks |= {f"{name}_left": (-x, y, z), f"{name}_right": (x, y, z)}
        return marks


def belt(path: Floats, f0: float, f1: float, grow: float = 0.0) -> tuple[Floats, Floats]:
    """Cut a piece out of a straight `post`, from f0 to f1 of its height, for windows: its path and sizes.

    `path` has the rows (y, z, size along x, size along y) of its two ends.
    """
    ends = np.array([path[0] * (1 - f) + path[1] * f for f in (f0, f1)])
    return np.column_stack((np.zeros(2), ends[:, :2])), ends[:, 2:] + grow
