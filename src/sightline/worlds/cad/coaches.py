"""Long rounded bodies on wheels, as buses, trains and vans have them: the body, its panes, its wheel arches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sightline.worlds.cad.parts import Part, both, loft, patch, slab
from sightline.worlds.solids import Floats

PROUD = 0.03
"""Thickness of panes and stripes, half of it outside the body, metres."""


@dataclass(frozen=True, slots=True)
class Coach:
    """A body along y; metres.

    Attributes:
        front: y of its front face; `back` of its back face.
        half: Half of its width up to `belt`; above, the sides lean in by `lean` in all.
        low: z of its underside; `high` of its roof.
        edge: Radius of the edges along the roof; `nose` of those around front and back.
        bow: How far the middle of the front stands before its sides; `rake` how far its top stands back; `tail` how
            far the middle of the back stands behind its sides.
    """

    front: float
    back: float
    half: float
    low: float
    belt: float
    high: float
    lean: float = 0.06
    edge: float = 0.25
    nose: float = 0.18
    bow: float = 0.12
    rake: float = 0.1
    tail: float = 0.0

    def side(self, z: float) -> float:
        """Half width at a height."""
        return self.half - self.lean * max(z - self.belt, 0.0) / (self.high - self.belt)

    def section(self, y: float, bottom: float, shrink: float = 0.0) -> Floats:
        """The ring at a place, (22, 3), from the middle of the right side over the roof."""
        top, edge = self.high, self.edge
        bottom = min(bottom, top - edge - 0.02)
        x1 = self.side(top - edge)
        turn = np.linspace(0.0, np.pi / 2.0, 5)
        corner = np.column_stack((x1 - edge + edge * np.cos(turn), top - edge + edge * np.sin(turn)))
        crown = 0.15 * edge
        over = [*corner, ((x1 - edge) * 0.5, top + 0.75 * crown), (0.0, top + crown)]
        under = [(self.half * 0.98, bottom), ((x1 - edge), bottom), ((x1 - edge) * 0.5, bottom), (0.0, bottom)]
        right = np.array(
            [*under[::-1], (self.half, bottom + 0.05), (self.half, max(self.belt, bottom + 0.1)), *over]
        )
        left = right[1:-1][::-1] * (-1.0, 1.0)
        ring = np.concatenate((right[5:], left, right[:5]))
        middle = np.array((0.0, (self.low + top) / 2.0))
        reach = np.array((self.half, (top - self.low) / 2.0))
        ring = middle + (ring - middle) * (1.0 - shrink / reach)
        return np.column_stack((ring[:, 0], np.full(len(ring), y), ring[:, 1]))

    def body(
        self,
        slot: str,
        wheels: Sequence[tuple[float, float, float]] = (),
        lines: Mapping[str, Sequence[tuple[float, float]]] | None = None,
    ) -> Part:
        """The body with an arch over each wheel: y and z of its axle, and the arch's radius.

        `lines` tell how ``high``, ``half`` or ``low`` change: (y, value) points from front to back.
        """
        turn = np.linspace(0.0, np.pi / 2.0, 5)
        ends = [(self.nose * (1 - np.sin(t)), self.nose * (1 - np.cos(t))) for t in turn]
        places: list[tuple[float, float | None, float]] = [(self.front + dy, None, shrink) for shrink, dy in ends]
        places += [(y, bottom, 0.0) for y, bottom in self._underside(wheels, lines or {})]
        places += [(self.back - dy, None, shrink) for shrink, dy in ends[::-1]]
        rings = []
        for y, bottom, shrink in places:
            here = replace(self, **{key: _along(line, y) for key, line in (lines or {}).items()})
            rings.append(here.section(y, here.low if bottom is None else bottom, shrink))
        return loft(slot, rings, crease=45.0).bent(self.swept)

    def _underside(
        self, wheels: Sequence[tuple[float, float, float]], lines: Mapping[str, Sequence[tuple[float, float]]]
    ) -> list[tuple[float, float | None]]:
        """Places along the body with the height of its underside there, where that is not its own."""
        arches: list[tuple[float, float | None]] = []
        for y, z, radius in wheels:
            angle = np.linspace(0.0, np.pi, 9)
            circle = [(float(y - radius * np.cos(a)), float(z + radius * np.sin(a))) for a in angle]
            arches += [(circle[0][0] - 0.005, None), *((u, max(v, self.low)) for u, v in circle)]
            arches.append((circle[-1][0] + 0.005, None))
        turns = {y for line in lines.values() for y, _ in line}
        for y in {y + d for y in turns for d in (-0.04, 0.04)}:
            inside = self.front + self.nose < y < self.back - self.nose
            if inside and all(abs(y - axle) > radius + 0.02 for axle, _, radius in wheels):
                arches.append((y, None))
        return sorted(arches, key=lambda place: place[0])

    def over(
        self,
        slot: str,
        lines: Mapping[str, Sequence[tuple[float, float]]],
        x: tuple[float, float],
        y: tuple[float, float],
    ) -> Part:
        """A pane that lies on a sloping nose, between two x and two y; `lines` as in `body`."""
        grid = []
        for at in np.linspace(*y, 5):
            ring = replace(self, **{key: _along(line, at) for key, line in lines.items()}).section(at, self.low)
            up = ring[ring[:, 2] > self.belt]
            up = up[np.argsort(up[:, 0])]
            grid.append([(u, at, np.interp(u, up[:, 0], up[:, 2])) for u in np.linspace(*x, 9)])
        return slab(slot, grid, 2.0 * PROUD, crease=60.0).bent(self.swept)

    def swept(self, points: Floats) -> Floats:
        """Bow and rake the front, and bow the back: what is near them moves, the middle stays."""
        x, y, z = points.T
        near = np.clip(1.0 - (y - self.front) / (0.25 * (self.back - self.front)), 0.0, 1.0) ** 2
        up = np.clip((z - self.belt) / (self.high - self.belt), 0.0, 1.2)
        far = np.clip(1.0 - (self.back - y) / (0.25 * (self.back - self.front)), 0.0, 1.0) ** 2
        across = 1.0 - (x / self.half) ** 2
        points[:, 1] += near * (self.rake * up - self.bow * across) + far * self.tail * across
        return points

    def panes(self, slot: str, y0: float, y1: float, z0: float, z1: float) -> list[Part]:
        """A pane or stripe on both sides."""
        x0, x1 = self.side(z0), self.side(z1)
        grid = patch([(x0, y0, z0), (x0, y1, z0), (x1, y1, z1), (x1, y0, z1)], 4, 2)
        return both(slab(slot, grid, PROUD).bent(self.swept))

    def row(
        self, slot: str, y0: float, y1: float, z0: float, z1: float, many: int, gap: float = 0.12
    ) -> list[Part]:
        """A row of equal panes on both sides."""
        step = (y1 - y0 + gap) / many
        return [p for i in range(many) for p in self.panes(slot, y0 + i * step, y0 + (i + 1) * step - gap, z0, z1)]

    def face(
        self, slot: str, z0: float, z1: float, x0: float, x1: float, *, back: bool = False, proud: float = PROUD
    ) -> Part:
        """A pane on the front or the back, from x0 to x1 across."""
        y = self.back if back else self.front
        grid = patch([(x0, y, z0), (x1, y, z0), (x1, y, z1), (x0, y, z1)], 7 if x1 - x0 > 0.8 * self.half else 3, 2)
        return slab(slot, grid, proud).bent(self.swept)


def _along(line: Sequence[tuple[float, float]], y: float) -> float:
    """The value at a place of a line of (y, value) points, its corners cut round."""
    places, values = zip(*line, strict=True)
    return float(np.mean([np.interp(y + d, places, values) for d in (-0.05, 0.0, 0.05)]))
