"""Search poses for objects, in compiled loops: what stands where so far, and poses that are free and at rest."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.geometry.footprints import clear, holds, shifts, somewhere, turned, within
from sightline.worlds.bodies import STEP, Body, footing_rows, kernel, on_top, stands
from sightline.worlds.solids import Floats

TOUCH = 1e-6
"""Heights that differ by less touch, metres."""

COLLIDES, UNSEEN, FALLS = 0, 1, 2
"""What is wrong with a pose: rows of a count."""


class PlacementStage(NamedTuple):
    """Everything placed so far; row i of each array belongs to object i, in world coordinates.

    Attributes:
        outline: (n, k, 2) corners; `outlines` says how many.
        footing: (n, k, 2) hull of what the object stands on; `footings` says how many corners.
        cavity: (n, k, 2) corners; `cavities` says how many.
        disc: (n, 3) a circle around the outline: x, y, radius.
        levels: (n, 3) base, top, cavity's floor.
        grip: (n,) half of the smallest width of the base.
        load: (n, 3) mass, and mass times x and y, of the object with all it holds and carries.
        parent: (n,) −1 for the table.
    """

    outline: Floats
    outlines: NDArray[np.int64]
    footing: Floats
    footings: NDArray[np.int64]
    cavity: Floats
    cavities: NDArray[np.int64]
    disc: Floats
    levels: Floats
    grip: Floats
    load: Floats
    parent: NDArray[np.int64]


class PlacementRules(NamedTuple):
    """What a pose must respect; metres.

    Attributes:
        stability: How far inside the contact's hull the centre of mass stays, in half widths of the base.
        area: x range and y range of the middle of an object.
        turn: Least turn of an object and how far it may go beyond, radians.
        level: Height that objects stand at which are in or on no other.
        lenses: (m, 3, 4) projections of the cameras that see each object; `width`, `height` of their pictures.
        whole: (m,) how much each has in view: 2 all of it, 1 its middle, 0 nothing.
        eyes: (e, 3) where cameras stand that no object may reach.
    """

    area: tuple[float, float, float, float]
    turn: tuple[float, float]
    level: float
    gap: float
    clearance: float
    stability: float
    lenses: Floats
    whole: NDArray[np.int64]
    width: float
    height: float
    eyes: Floats


class PlacementSearch(NamedTuple):
    """The search for a place for one object.

    Attributes:
        stage: What stands there; changed.
        n: How many objects that are: the row the item is entered as.
        item: What is placed.
        rules: What a pose must respect.
        wrong: Counts of what was wrong, by COLLIDES, UNSEEN and FALLS; added to.
    """

    stage: PlacementStage
    n: int
    item: Body
    rules: PlacementRules
    wrong: NDArray[np.int64]


class PlacementHost(NamedTuple):
    """What an object is put into or onto: its row on the stage, its body, and its pose (x, y, z, yaw)."""

    row: int
    body: Body
    pose: Floats


def empty(objects: int, corners: int) -> PlacementStage:
    """A stage with room for that many objects of that many corners."""
    corner, three = (objects, corners, 2), (objects, 3)
    return PlacementStage(
        outline=np.empty(corner),
        outlines=np.zeros(objects, np.int64),
        footing=np.empty((objects, 6 * corners + 12, 2)),
        footings=np.zeros(objects, np.int64),
        cavity=np.empty(corner),
        cavities=np.zeros(objects, np.int64),
        disc=np.empty(three),
        levels=np.empty(three),
        grip=np.empty(objects),
        load=np.empty(three),
        parent=np.full(objects, -1),
    )


@kernel
def _free(stage: PlacementStage, n: int, low: float, high: float, rules: PlacementRules) -> bool:
    """Whether the outline in row n clears all others between two heights; standing in a cavity is clear."""
    for j in range(n):
        if low >= stage.levels[j, 1] - TOUCH or stage.levels[j, 0] >= high - TOUCH:
            continue
        apart = math.hypot(stage.disc[n, 0] - stage.disc[j, 0], stage.disc[n, 1] - stage.disc[j, 1])
        if apart > stage.disc[n, 2] + stage.disc[j, 2] + rules.gap:
            continue
        here, corners = stage.outline[n], stage.outlines[n]
        if clear(here, corners, stage.outline[j], stage.outlines[j], rules.gap):
            continue
        if (
            stage.cavities[j] > 0
            and low >= stage.levels[j, 2] - TOUCH
            and within(here, corners, stage.cavity[j], stage.cavities[j], rules.clearance)
        ):
            continue
        return False
    return True


@kernel
def _in_picture(rules: PlacementRules, lens: int, x: float, y: float, z: float) -> bool:
    p = rules.lenses[lens]
    w = p[2, 0] * x + p[2, 1] * y + p[2, 2] * z + p[2, 3]
    if w <= 0.0:
        return False
    u = p[0, 0] * x + p[0, 1] * y + p[0, 2] * z + p[0, 3]
    v = p[1, 0] * x + p[1, 1] * y + p[1, 2] * z + p[1, 3]
    return bool(0.0 <= u <= rules.width * w and 0.0 <= v <= rules.height * w)


@kernel
def _seen(item: Body, x: float, y: float, z: float, yaw: float, rules: PlacementRules) -> bool:
    """Whether the object's box, or its middle, is in the picture of each camera that asks for it."""
    c, s = math.cos(yaw), math.sin(yaw)
    for lens in range(len(rules.whole)):
        if rules.whole[lens] == 1 and not _in_picture(rules, lens, x, y, z + 0.5 * item.height):
            return False
        if rules.whole[lens] < 2:
            continue
        for i in range(2):
            for j in range(2):
                px, py = item.box[i], item.box[2 + j]
                for level in (z, z + item.height):
                    if not _in_picture(rules, lens, c * px - s * py + x, s * px + c * py + y, level):
                        return False
    return True


@kernel
def _reaches_eye(stage: PlacementStage, n: int, low: float, high: float, rules: PlacementRules) -> bool:
    """Whether the outline in row n, between two heights, comes nearer than the gap to a camera."""
    for e in range(len(rules.eyes)):
        x, y, z = rules.eyes[e, 0], rules.eyes[e, 1], rules.eyes[e, 2]
        beside = low - rules.gap <= z <= high + rules.gap
        if beside and holds(stage.outline[n], stage.outlines[n], x, y, -rules.gap):
            return True
    return False


@kernel
def _borne(stage: PlacementStage, parent: int, mass: float, x: float, y: float, stability: float) -> bool:
    """Whether everything below still stands with that mass at that place on it."""
    j = parent
    while j >= 0:
        total = stage.load[j, 0] + mass
        mx, my = (stage.load[j, 1] + mass * x) / total, (stage.load[j, 2] + mass * y) / total
        if not holds(stage.footing[j], stage.footings[j], mx, my, stability * stage.grip[j]):
            return False
        j = stage.parent[j]
    return True


@kernel
def _fits(search: PlacementSearch, x: float, y: float, z: float, yaw: float, parent: int) -> bool:
    """Whether a pose is borne, seen and free; its outline then stands in row n, else the fault is counted."""
    stage, n, item, rules, wrong = search
    mx, my = _centre(item, x, y, yaw)
    if not _borne(stage, parent, item.mass, mx, my, rules.stability):
        wrong[FALLS] += 1
        return False
    if not _seen(item, x, y, z, yaw, rules):
        wrong[UNSEEN] += 1
        return False
    stage.outlines[n] = turned(item.outline, yaw, x, y, stage.outline[n])
    stage.disc[n, 0], stage.disc[n, 1], stage.disc[n, 2] = x, y, item.radius
    if not _free(stage, n, z, z + item.height, rules) or _reaches_eye(stage, n, z, z + item.height, rules):
        wrong[COLLIDES] += 1
        return False
    return True


@kernel
def _enter(search: PlacementSearch, x: float, y: float, z: float, yaw: float, parent: int) -> Floats:
    """Complete row n, whose outline and footing stand, and load those below; the pose."""
    stage, n, item, _, _ = search
    stage.cavities[n] = turned(item.cavity, yaw, x, y, stage.cavity[n])
    stage.levels[n, 0], stage.levels[n, 1], stage.levels[n, 2] = z, z + item.height, z + item.floor
    stage.grip[n], stage.parent[n] = item.grip, parent
    mx, my = _centre(item, x, y, yaw)
    stage.load[n, 0] = stage.load[n, 1] = stage.load[n, 2] = 0.0
    j = n
    while j >= 0:
        stage.load[j, 0] += item.mass
        stage.load[j, 1] += item.mass * mx
        stage.load[j, 2] += item.mass * my
        j = stage.parent[j]
    return np.array((x, y, z, yaw))


@kernel
def _centre(item: Body, x: float, y: float, yaw: float) -> tuple[float, float]:
    """The centre of mass, seen from above."""
    c, s = math.cos(yaw), math.sin(yaw)
    return c * item.com[0] - s * item.com[1] + x, s * item.com[0] + c * item.com[1] + y


@kernel
def _beside(pose: Floats, tx: float, ty: float, turn: float) -> tuple[float, float, float]:
    """A place and turn in the parent's frame, in the world: x, y, yaw."""
    c, s = math.cos(pose[3]), math.sin(pose[3])
    return c * tx - s * ty + pose[0], s * tx + c * ty + pose[1], (pose[3] + turn) % (2.0 * math.pi)


@kernel
def settle_on_table(search: PlacementSearch, draws: Floats) -> Floats:
    """Enter the item at the first of the drawn poses that is free; (x, y, z, yaw), or nothing.

    Args:
        search: For the item's place.
        draws: (tries, 3) numbers in [0, 1) for x, y and turn.
    """
    stage, n, item, rules, _ = search
    x0, x1, y0, y1 = rules.area
    for k in range(len(draws)):
        x, y = x0 + draws[k, 0] * (x1 - x0), y0 + draws[k, 1] * (y1 - y0)
        yaw = rules.turn[0] + rules.turn[1] * draws[k, 2]
        if _fits(search, x, y, rules.level, yaw, -1):
            stage.footings[n] = turned(item.base, yaw, x, y, stage.footing[n])
            return _enter(search, x, y, rules.level, yaw, -1)
    return np.empty(0)


@kernel
def settle_inside(search: PlacementSearch, draws: Floats, host: PlacementHost, turns: Floats) -> Floats:
    """Enter the item on the floor of the host's cavity, like `settle_on_table`.

    Args:
        search: For the item's place.
        draws: (tries, 5) numbers in [0, 1).
        host: The container.
        turns: Turns that fit, see `bodies.turns_within`.
    """
    stage, n, item, rules, _ = search
    parent, container, pose = host
    local = np.empty_like(item.outline)
    moves, spare = np.empty((len(container.cavity) + 4, 2)), np.empty((len(container.cavity) + 4, 2))
    z = pose[2] + container.floor
    for k in range(len(draws)):
        known = turns[int(draws[k, 0] * len(turns))]
        turn = known + (draws[k, 1] - 0.5) * STEP
        turned(item.outline, turn, 0.0, 0.0, local)
        corners = shifts(local, len(local), container.cavity, container.cavity_sides, rules.clearance, moves, spare)
        if corners == 0:
            turn = known
            turned(item.outline, turn, 0.0, 0.0, local)
            corners = shifts(
                local, len(local), container.cavity, container.cavity_sides, rules.clearance, moves, spare
            )
        tx, ty = somewhere(moves, corners, draws[k, 2], draws[k, 3], draws[k, 4])
        x, y, yaw = _beside(pose, tx, ty, turn)
        if _fits(search, x, y, z, yaw, parent):
            stage.footings[n] = turned(item.base, yaw, x, y, stage.footing[n])
            return _enter(search, x, y, z, yaw, parent)
    return np.empty(0)


@kernel
def settle_on_top(search: PlacementSearch, draws: Floats, host: PlacementHost, known: Floats) -> Floats:
    """Enter the item on the host's top, like `settle_inside`; `known` poses see `bodies.perches`."""
    stage, n, item, rules, _ = search
    parent, supporter, pose = host
    footing = np.empty((footing_rows(supporter, item), 2))
    z = pose[2] + supporter.height
    for k in range(len(draws)):
        perch = known[int(draws[k, 0] * len(known))]
        turn = perch[0] + (draws[k, 1] - 0.5) * STEP
        u = min(1.0, max(-1.0, perch[1] + (draws[k, 2] - 0.5) * 0.5))
        v = min(1.0, max(-1.0, perch[2] + (draws[k, 3] - 0.5) * 0.5))
        fits, tx, ty = on_top(supporter, item, turn, u, v)
        corners = stands(supporter, item, turn, tx, ty, rules.stability, footing) if fits else 0
        if corners == 0:
            turn = perch[0]
            fits, tx, ty = on_top(supporter, item, turn, perch[1], perch[2])
            corners = stands(supporter, item, turn, tx, ty, rules.stability, footing)
        x, y, yaw = _beside(pose, tx, ty, turn)
        if _fits(search, x, y, z, yaw, parent):
            stage.footings[n] = turned(footing[:corners], pose[3], pose[0], pose[1], stage.footing[n])
            return _enter(search, x, y, z, yaw, parent)
    return np.empty(0)
